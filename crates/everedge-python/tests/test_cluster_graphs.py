"""Answers over shards beside one machine's on real graphs, which are tried where their folder is.

EVEREDGE_CLUSTER_WORKERS=2,4,8 tries all of them with so many workers; without it the smaller ones are tried with two.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

distributed = pytest.importorskip("distributed")

from distributed import Client
from test_cluster import check_same

import everedge
import everedge.cluster

DATA = Path(__file__).parents[4] / "shared" / "data"
WORKERS = [int(count) for count in os.environ.get("EVEREDGE_CLUSTER_WORKERS", "2").split(",")]
BYTES_MAX = 1 << 62 if "EVEREDGE_CLUSTER_WORKERS" in os.environ else 1 << 18
UNDIRECTED = ("facebook_combined", "ca-GrQc", "email-Enron", "musae-github", "deezer-RO", "road-", "philadelphia")
ENDINGS = (".txt.gz", ".csv.gz", ".el.gz", ".gr.gz", ".cedge.gz", ".e", ".mtx", ".el", ".txt")


def graphs() -> Iterator[Path]:
    """Return the file of edges of each graph whose format says what is what."""
    for path in sorted(DATA.rglob("*")):
        if path.is_file() and path.name.endswith(ENDINGS) and path.stat().st_size <= BYTES_MAX:
            yield path


@pytest.fixture(scope="module", params=WORKERS)
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    with (
        distributed.LocalCluster(n_workers=request.param, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster, direct_to_workers=True) as client,
    ):
        yield client


@pytest.mark.parametrize("path", graphs(), ids=lambda path: str(path.relative_to(DATA)))
def test_answers_on_a_real_graph_are_those_of_one_machine(client: Client, tmp_path: Path, path: Path) -> None:
    directed = not any(word in str(path) for word in UNDIRECTED)
    with everedge.Graph("read", medium="dram", directed=directed) as read:
        try:
            read.ingest(path)
        except everedge.EveredgeError as error:
            pytest.skip(f"no edges: {error}")
        edges = read.snapshot().edges()
    ids = np.unique(np.concatenate([np.asarray(edges.src), np.asarray(edges.dst)]))
    src, dst = (np.searchsorted(ids, np.asarray(end)) for end in (edges.src, edges.dst))
    weight = getattr(edges, "weight", None)
    if weight is not None and (np.asarray(weight) < 0).any():
        weight = np.abs(np.asarray(weight))
    with (
        everedge.cluster.Graph(client, tmp_path / "g", directed=directed, weighted=weight is not None) as graph,
        everedge.Graph("one", medium="dram", directed=directed, weighted=weight is not None, ids="dense") as one,
    ):
        one.add_edges(src, dst, weight)
        table = {"src": src, "dst": dst} | ({} if weight is None else {"weight": weight})
        graph.ingest(table, batch=max(1, src.size // 7))
        check_same(graph, one)
