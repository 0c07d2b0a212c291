"""Answers over shards beside one machine's on real graphs, which are tried where their folder is.

EVEREDGE_CLUSTER_WORKERS=2,4,8 tries all of them with so many workers; without it the smaller ones are tried with two.
"""

from __future__ import annotations

import gzip
import itertools
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

distributed = pytest.importorskip("distributed")

from distributed import Client
from test_cluster import check_same

import everedge
import everedge.cluster

DATA = Path(__file__).parents[4] / "shared" / "data"
WORKERS = [int(count) for count in os.environ.get("EVEREDGE_CLUSTER_WORKERS", "2").split(",")]
BYTES_MAX = 1 << 62 if "EVEREDGE_CLUSTER_WORKERS" in os.environ else 1 << 16
UNDIRECTED = ("facebook_combined", "ca-GrQc", "email-Enron", "musae-github", "deezer-RO", "road-", "philadelphia", "undir")
ENDINGS = (".txt.gz", ".csv.gz", ".el.gz", ".gr.gz", ".cedge.gz", ".e", ".mtx", ".el", ".txt")


def files(*endings: str) -> list[Path]:
    """Return the files that are tried, of those that end in one of these."""
    found = (path for path in sorted(DATA.rglob("*")) if path.is_file() and path.name.endswith(endings))
    return [path for path in found if path.stat().st_size <= BYTES_MAX]


def is_directed(path: Path) -> bool:
    return not any(word in str(path) for word in UNDIRECTED)


def named(path: Path) -> str:
    return str(path.relative_to(DATA))


@pytest.fixture(scope="module", params=WORKERS)
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    with (
        distributed.LocalCluster(n_workers=request.param, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster, direct_to_workers=True) as client,
    ):
        yield client


@pytest.mark.parametrize("path", files(*ENDINGS), ids=named)
def test_answers_on_a_real_graph_are_those_of_one_machine(client: Client, tmp_path: Path, path: Path) -> None:
    directed = is_directed(path)
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
    check(client, tmp_path, src, dst, weight, directed=directed)


def check(client: Client, path: Path, src: Any, dst: Any, weight: Any = None, *, directed: bool) -> None:
    """Check that shards answer as one machine does about edges between dense ids."""
    with (
        everedge.cluster.Graph(client, path / "g", directed=directed, weighted=weight is not None) as graph,
        everedge.Graph("one", medium="dram", directed=directed, weighted=weight is not None, ids="dense") as one,
    ):
        one.add_edges(src, dst, weight)
        table = {"src": src, "dst": dst} | ({} if weight is None else {"weight": weight})
        graph.ingest(table, batch=max(1, src.size // 7))
        check_same(graph, one)


def lists_of(path: Path) -> Iterator[tuple[int, list[int]]]:
    """Return each vertex of a file that has a line for each, and what its edges lead to."""
    if path.suffix == ".zst":
        text = subprocess.run(["zstd", "-dc", path], check=True, capture_output=True, text=True).stdout
        for line in text.splitlines():
            # Kind and time stand between.
            vertex, _, _, *lists = line.split("\t")
            yield int(vertex), [int(one) for one in " ".join(lists).split()]
    else:
        for line in path.read_text().splitlines():
            vertex, *others = map(int, line.split())
            yield vertex, others


@pytest.mark.parametrize("path", files("-input", ".adj.zst"), ids=named)
def test_answers_on_lists_are_those_of_one_machine(client: Client, tmp_path: Path, path: Path) -> None:
    directed, src, dst = is_directed(path), [], []
    for vertex, others in lists_of(path):
        # An undirected edge stands at both ends.
        kept = others if directed else [other for other in others if vertex <= other]
        src += [vertex] * len(kept)
        dst += kept
    check(client, tmp_path, np.array(src), np.array(dst), directed=directed)


@pytest.mark.parametrize("path", files(".stream.gz"), ids=named)
def test_answers_while_a_graph_changes_are_those_of_one_machine(client: Client, tmp_path: Path, path: Path) -> None:
    with gzip.open(path, "rt") as file:
        changes = [line.split() for line in file]
    with (
        everedge.cluster.Graph(client, tmp_path / "g", directed=True) as graph,
        everedge.Graph("one", medium="dram", directed=True, ids="dense") as one,
    ):
        for state in range(8):
            some = changes[state * len(changes) // 8 : (state + 1) * len(changes) // 8]
            for kind, run in itertools.groupby(some, key=lambda change: change[2]):
                src, dst = np.array([[int(end) for end in change[3:5]] for change in run]).T
                for graph_ in (graph, one):
                    (graph_.add_edges if kind == "+" else graph_.delete_edges)(src, dst)
            check_same(graph, one)
