"""A graph in shards on workers of Dask: answers beside one graph's, batches that come again, workers that are killed."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

distributed = pytest.importorskip("distributed")

import dask
import dask.bag
import pandas
import pyarrow
import pyarrow.parquet
from distributed import Client

import everedge
import everedge.cluster

KERNELS = ("bfs", "sssp", "wcc", "kcore", "pagerank")


@contextlib.contextmanager
def some_workers(count: int) -> Iterator[Client]:
    # A worker that is gone is noticed soon, and no task is given up for it.
    with dask.config.set({"distributed.comm.timeouts.connect": "3s", "distributed.scheduler.allowed-failures": 20}):
        cluster = distributed.LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None)
        try:
            with Client(cluster, direct_to_workers=True) as client:
                yield client
        finally:
            # It stumbles over workers that were killed just before.
            with contextlib.suppress(KeyError):
                cluster.close()


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """Two workers, each a process with one thread."""
    with some_workers(2) as client:
        yield client


@pytest.fixture
def killable() -> Iterator[Client]:
    """Two workers of which none comes back after this test: who starts them gives one up that is killed while it starts."""
    with some_workers(2) as client:
        yield client


def wait_for_both(client: Client) -> None:
    """Wait for the workers that were killed, if they come back."""
    with contextlib.suppress(TimeoutError):
        client.wait_for_workers(2, timeout=10)


def one_graph(directed: bool, weighted: bool = False) -> everedge.Graph:
    return everedge.Graph("one", medium="dram", directed=directed, weighted=weighted, ids="dense")


def check_same(graph: everedge.cluster.Graph, one: everedge.Graph) -> None:
    with one.snapshot() as s:
        for kernel in KERNELS:
            if kernel in ("bfs", "sssp") and not s.num_vertices:
                continue
            found, expected = getattr(graph, kernel)(), getattr(s, kernel)()
            assert np.array_equal(found.ids, expected.ids), kernel
            if kernel == "pagerank":
                np.testing.assert_allclose(found.values, expected.values, rtol=1e-6)
            else:
                assert np.array_equal(found.values, expected.values), kernel
            assert all(sent <= (8 * found.report.ghosts) + graph.num_shards**2 for sent in found.report.bytes_sent)
        for degree in ("degree", "in_degree", "out_degree"):
            assert np.array_equal(getattr(graph, degree)().values, getattr(s, degree)().values)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("shards", [1, 2, 5])
def test_answers_are_those_of_one_graph(client: Client, tmp_path: Path, shards: int, directed: bool) -> None:
    random_numbers = np.random.default_rng(shards)
    src, dst = random_numbers.zipf(1.6, (2, 3000)).astype(np.int64) % 700
    weight = random_numbers.integers(1, 9, src.size).astype(np.float32)
    with (
        everedge.cluster.Graph(
            client, tmp_path / "g", shards=shards, directed=directed, weighted=True
        ) as graph,
        one_graph(directed, weighted=True) as one,
    ):
        check_same(graph, one)
        half = src.size // 2
        for part in (slice(0, half), slice(half, None)):
            graph.add_edges(src[part], dst[part], weight[part])
            one.add_edges(src[part], dst[part], weight[part])
        check_same(graph, one)
        graph.delete_edges(src[::3], dst[::3])
        one.delete_edges(src[::3], dst[::3])
        # Far ids, and one that only leads to itself.
        graph.add_edges([5, 900], [4003, 900], [0.5, 1])
        one.add_edges([5, 900], [4003, 900], [0.5, 1])
        check_same(graph, one)
        assert graph.num_vertices == one.snapshot().num_vertices
        assert graph.version == 4


def test_it_is_there_when_it_is_opened_again(client: Client, tmp_path: Path) -> None:
    with everedge.cluster.Graph(client, tmp_path / "g", shards=3, directed=False) as graph:
        graph.add_edges([0, 1, 2], [1, 2, 3])
    with pytest.raises(everedge.ClosedError):
        graph.bfs(source=0)
    with everedge.cluster.Graph(client, tmp_path / "g") as graph:
        assert (graph.num_shards, graph.version, graph.directed, graph.weighted) == (3, 1, False, False)
        assert graph.bfs(source=3).to_dict() == {0: 3, 1: 2, 2: 1, 3: 0}
        with pytest.raises(everedge.InUseError):
            everedge.cluster.Graph(client, tmp_path / "g", wait=1)
    with pytest.raises(everedge.InvalidInputError, match="has 3 shards, not 2"):
        everedge.cluster.Graph(client, tmp_path / "g", shards=2)
    with pytest.raises(everedge.InvalidInputError, match="created with directed=False"):
        everedge.cluster.Graph(client, tmp_path / "g", directed=True)


def test_a_batch_of_a_name_comes_once(client: Client, tmp_path: Path) -> None:
    with everedge.cluster.Graph(client, tmp_path / "g") as graph:
        assert graph.add_edges([0, 1], [1, 2], name="monday") == 1
        assert graph.add_edges([0, 1], [1, 2], name="monday") == 1
        assert graph.add_edges([0, 1], [1, 2]) == 2
        assert graph.out_degree().to_dict() == {0: 2, 1: 2, 2: 0}
        with pytest.raises(everedge.InvalidInputError, match="another name"):
            graph.add_edges([0], [1], name="monday")
        with pytest.raises(everedge.InvalidInputError, match="another name"):
            graph.delete_edges([0, 1], [1, 2], name="monday")


def test_bad_input_is_refused_and_changes_nothing(client: Client, tmp_path: Path) -> None:
    with everedge.cluster.Graph(client, tmp_path / "g") as graph:
        for src, dst, weight in (
            ([-1], [2], None),
            (["a"], ["b"], None),
            ([1 << 31], [2], None),
            ([1, 2], [3], None),
            ([1], [2], [0.5]),
        ):
            with pytest.raises(everedge.InvalidInputError):
                graph.add_edges(src, dst, weight)
        assert graph.version == 0
        with pytest.raises(everedge.InvalidInputError, match="no vertices"):
            graph.bfs()
        graph.add_edges([0], [1])
        for source in (7, "a", -1):
            with pytest.raises(everedge.InvalidInputError, match="is not in the graph"):
                graph.bfs(source=source)  # type: ignore[arg-type]
        with pytest.raises(everedge.KernelError, match="damping"):
            graph.pagerank(damping=2)
    with (
        everedge.cluster.Graph(client, tmp_path / "w", weighted=True) as weighted,
        pytest.raises(everedge.InvalidInputError, match="give one an edge"),
    ):
        weighted.add_edges([0], [1])


def test_edges_that_no_shard_could_take_get_no_version(client: Client, tmp_path: Path) -> None:
    pairs = dask.bag.from_sequence([(0, 1), (1, 2)], npartitions=1)
    triples = dask.bag.from_sequence([(0, 1, 0.5), (1, 2, 2)], npartitions=1)
    with everedge.cluster.Graph(client, tmp_path / "w", weighted=True) as graph:
        with pytest.raises(everedge.InvalidInputError, match="give one an edge"):
            graph.ingest(pairs)
        for weight in (np.nan, np.inf):
            with pytest.raises(everedge.InvalidInputError, match="finite"):
                graph.add_edges([0], [1], np.array([weight], np.float32))
        graph.ingest(triples)
        assert graph.sssp(source=0).to_dict() == {0: 0, 1: 0.5, 2: 2.5}
        graph.ingest(pairs, delete=True)
        assert (graph.version, graph.degree().values.sum()) == (2, 0)
    with everedge.cluster.Graph(client, tmp_path / "g") as graph:
        with pytest.raises(everedge.InvalidInputError, match="leave them out"):
            graph.ingest(triples)
        with pytest.raises(everedge.InvalidInputError, match="has no weights"):
            graph.ingest(pairs, weight="hours")
        graph.ingest(pairs)
        assert graph.version == 1


def sources(path: Path, src: Any, dst: Any) -> Iterator[tuple[str, Any]]:
    """Return the same edges in every form that workers read."""
    table = pyarrow.table({"src": src, "dst": dst})
    (path / "folder").mkdir()
    for part in range(3):
        rows = table.slice(part * 400, 400)
        pyarrow.parquet.write_table(rows, path / "folder" / f"{part}.parquet", row_group_size=90)
    pyarrow.parquet.write_table(table, path / "all.parquet")
    yield "a file", path / "all.parquet"
    yield "a folder", str(path / "folder")
    yield "files", [path / "folder" / f"{part}.parquet" for part in range(3)]
    yield "a pattern", str(path / "folder" / "*.parquet")
    pairs = list(zip(src.tolist(), dst.tolist(), strict=True))
    yield "a bag of tuples", dask.bag.from_sequence(pairs, npartitions=3)
    dicts = [{"src": u, "dst": v} for u, v in pairs]
    yield "a bag of dicts", dask.bag.from_sequence(dicts, npartitions=2)
    frame = pandas.DataFrame({"src": src, "dst": dst})
    yield "a frame", frame
    yield "a table", table
    yield "a dict", {"src": src, "dst": dst}
    frames = [dask.delayed(frame.iloc[at : at + 500]) for at in range(0, len(frame), 500)]
    yield "a bag of frames", dask.bag.from_delayed([dask.delayed(lambda one: [one])(one) for one in frames])
    dataframes = pytest.importorskip("dask.dataframe")
    yield "a dataframe", dataframes.from_pandas(frame, npartitions=4)


def test_every_source_brings_the_same_edges(client: Client, tmp_path: Path) -> None:
    random_numbers = np.random.default_rng(7)
    src, dst = random_numbers.integers(0, 60, (2, 1200))
    with one_graph(directed=True) as one:
        one.add_edges(src, dst)
        expected = one.snapshot().pagerank().values
    for number, (what, source) in enumerate(sources(tmp_path, src, dst)):
        with everedge.cluster.Graph(client, tmp_path / f"g{number}") as graph:
            done = graph.ingest(source, batch=250, name="load")
            assert done.edges == src.size, what
            assert done.version == done.batches == graph.version, what
            again = graph.ingest(source, batch=250, name="load")
            assert (again, graph.version) == (done, done.version), what
            np.testing.assert_allclose(graph.pagerank().values, expected, rtol=1e-6, err_msg=what)
            graph.ingest(source, delete=True)
            assert graph.degree().values.sum() == 0, what


def test_a_source_that_is_none_is_refused(client: Client, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.parquet").write_text("no parquet")
    pyarrow.parquet.write_table(pyarrow.table({"a": [1]}), tmp_path / "other.parquet")
    with everedge.cluster.Graph(client, tmp_path / "g") as graph:
        for source, message in (
            (tmp_path / "empty", "no Parquet files"),
            (tmp_path / "missing.parquet", "missing.parquet"),
            (tmp_path / "text.parquet", "no Parquet file"),
            (tmp_path / "other.parquet", "no column 'src', only a"),
            (dask.bag.from_sequence([(1,)]), "a tuple"),
            (dask.bag.from_sequence([(-1, 2)]), "not negative"),
        ):
            with pytest.raises((everedge.EveredgeError, OSError), match=message):
                graph.ingest(source)
        assert graph.version == 0


def workers_of(client: Client) -> list[int]:
    return list(client.run(os.getpid, on_error="ignore").values())


class Killer:
    """Kills a worker at random moments while its block runs."""

    def __init__(self, client: Client, seed: int, seconds: float, kills: int = 1) -> None:
        self._random = random.Random(seed)
        self._seconds = seconds
        self._workers = workers_of(client)
        self._kills = kills
        self._thread = threading.Thread(target=self._work)

    def _work(self) -> None:
        for _ in range(self._kills):
            time.sleep(self._random.random() * self._seconds)
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._random.choice(self._workers), signal.SIGKILL)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._thread.join()


RUNS = int(os.environ.get("EVEREDGE_CLUSTER_KILLS", "4"))


@pytest.mark.parametrize("seed", range(RUNS))
def test_a_worker_that_is_killed_loses_nothing(killable: Client, tmp_path: Path, seed: int) -> None:
    """No acknowledged batch is lost, none comes twice, and no answer is wrong."""
    random_numbers = np.random.default_rng(seed)
    src, dst = random_numbers.integers(0, 300, (2, 6000))
    bag = dask.bag.from_sequence(list(zip(src.tolist(), dst.tolist(), strict=True)), npartitions=6)
    wait_for_both(killable)
    with (
        everedge.cluster.Graph(killable, tmp_path / "g", shards=3, directed=bool(seed % 2)) as graph,
        one_graph(directed=bool(seed % 2)) as one,
    ):
        with Killer(killable, seed, 0.4):
            done = graph.ingest(bag, batch=200)
        assert (done.edges, done.batches, graph.version) == (6000, 30, 30)
        wait_for_both(killable)
        with Killer(killable, seed, 0.3):
            more = [graph.add_edges(src[at : at + 50], dst[at : at + 50]) for at in range(0, 500, 50)]
        assert more == list(range(31, 41))
        one.add_edges(src, dst)
        one.add_edges(src[:500], dst[:500])
        wait_for_both(killable)
        with Killer(killable, seed, 0.5):
            for _ in range(3):
                check_same(graph, one)
        expected = Counter(src.tolist()) + Counter(src[:500].tolist())
        if graph.directed:
            assert graph.out_degree().to_dict() == {v: expected[v] for v in graph.out_degree().ids.tolist()}
    wait_for_both(killable)


def test_a_kernel_goes_on_where_it_was_saved(
    killable: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from everedge.cluster import _graph

    monkeypatch.setattr(_graph, "_SAVE_SECONDS", 0.1)

    def kill() -> None:
        while len({file.parent for file in (tmp_path / "g").rglob("*.npy")}) < 2:
            time.sleep(0.01)
        os.kill(workers_of(killable)[0], signal.SIGKILL)

    path = np.arange(2000)
    with everedge.cluster.Graph(killable, tmp_path / "g", shards=2, directed=True) as graph:
        graph.add_edges(path[:-1], path[1:])
        killing = threading.Thread(target=kill)
        killing.start()
        depths = graph.bfs(source=0)
        killing.join()
        assert np.array_equal(depths.values, path)
        # A loss may be met more than once.
        assert depths.report.tries >= 2
        assert depths.report.iterations == 2000
        assert len(depths.report.bytes_sent) < 2000
        until = time.monotonic() + 10
        while list((tmp_path / "g").rglob("*.npy")) and time.monotonic() < until:
            time.sleep(0.01)
        assert not list((tmp_path / "g").rglob("*.npy"))
    wait_for_both(killable)


@pytest.mark.parametrize("directed", [False, True])
def test_a_graph_that_grows_has_the_same_edges(client: Client, tmp_path: Path, directed: bool) -> None:
    random_numbers = np.random.default_rng(5)
    src, dst = random_numbers.integers(0, 200, (2, 2000))
    weight = random_numbers.integers(1, 9, src.size).astype(np.float32)
    with (
        everedge.cluster.Graph(client, tmp_path / "g", shards=2, directed=directed, weighted=True) as graph,
        one_graph(directed, weighted=True) as one,
    ):
        graph.add_edges(src, dst, weight)
        graph.delete_edges(src[::5], dst[::5])
        one.add_edges(src, dst, weight)
        one.delete_edges(src[::5], dst[::5])
        graph.grow()
        assert (graph.num_shards, graph.version) == (4, 2)
        check_same(graph, one)
        graph.add_edges([3, 900], [4, 901], [1, 2])
        one.add_edges([3, 900], [4, 901], [1, 2])
        check_same(graph, one)
        assert not list((tmp_path / "g").glob("*-of-2"))
    with (
        everedge.cluster.Graph(client, tmp_path / "g") as graph,
        one_graph(directed, weighted=True) as one,
    ):
        assert (graph.num_shards, graph.version) == (4, 3)
        reading = threading.Thread(target=lambda: [graph.degree() for _ in range(20)])
        reading.start()
        graph.grow()
        reading.join()
        assert graph.num_shards == 8
        one.add_edges(src, dst, weight)
        one.delete_edges(src[::5], dst[::5])
        one.add_edges([3, 900], [4, 901], [1, 2])
        check_same(graph, one)


def test_growing_that_does_not_end_changes_nothing(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from everedge.cluster import _places

    with everedge.cluster.Graph(client, tmp_path / "g", shards=2) as graph:
        graph.add_edges([0, 1, 2], [1, 2, 3])
        places = _places.Places
        all_ = places.all

        def fail(self: Any, method: str, *arguments: Any) -> list[Any]:
            if method == "split":
                raise MemoryError
            return all_(self, method, *arguments)

        monkeypatch.setattr(places, "all", fail)
        with pytest.raises(MemoryError):
            graph.grow()
        monkeypatch.undo()
        assert graph.num_shards == 2
        assert graph.bfs(source=0).to_dict() == {0: 0, 1: 1, 2: 2, 3: 3}
        graph.grow()
        assert graph.bfs(source=0).to_dict() == {0: 0, 1: 1, 2: 2, 3: 3}


@pytest.mark.parametrize("lost", ["versions", "another"])
def test_what_was_asked_before_a_loss_does_not_answer_after_it(killable: Client, tmp_path: Path, lost: str) -> None:
    wait_for_both(killable)
    with everedge.cluster.Graph(killable, tmp_path / "g", shards=2) as graph:
        graph.add_edges([0, 1, 2, 3], [1, 2, 3, 4])
        assert graph.bfs(source=0).values.max() == 4
        graph.add_edges([1, 2], [5, 6])
        of_versions = graph._open.versions.address
        addresses = [place.address for place in graph._open.shards]
        address = of_versions if lost == "versions" else next(one for one in addresses if one != of_versions)
        os.kill(killable.run(os.getpid)[address], signal.SIGKILL)
        graph.add_edges([6], [7])
        assert graph.bfs(source=0).to_dict() == {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 2, 6: 3, 7: 4}
        assert graph.out_degree().to_dict() == {0: 1, 1: 2, 2: 2, 3: 1, 4: 0, 5: 0, 6: 1, 7: 0}
    wait_for_both(killable)


def test_threads_ask_and_change_while_a_worker_is_killed(killable: Client, tmp_path: Path) -> None:
    wait_for_both(killable)
    wrong: list[object] = []
    with everedge.cluster.Graph(killable, tmp_path / "g", shards=3) as graph:
        graph.add_edges([0], [1])

        def ask() -> None:
            try:
                for _ in range(15):
                    depths = graph.bfs(source=0)
                    # Batch k adds the edge from k to k + 1: every version is a path.
                    if depths.values.tolist() != list(range(len(depths.values))):
                        wrong.append(depths.to_dict())
            except BaseException as error:
                wrong.append(error)

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        with Killer(killable, 3, 1.0):
            versions = [graph.add_edges([k], [k + 1]) for k in range(1, 40)]
        for thread in threads:
            thread.join()
        assert not wrong
        assert versions == list(range(2, 41))
        assert graph.bfs(source=0).values.tolist() == list(range(41))
    wait_for_both(killable)


def test_another_opening_does_not_disturb_growing(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from everedge.cluster import _places

    with everedge.cluster.Graph(client, tmp_path / "g", shards=2) as graph:
        graph.add_edges([0, 1, 2], [1, 2, 3])
        all_ = _places.Places.all

        def disturbed(self: Any, method: str, *arguments: Any, **named: Any) -> list[Any]:
            if method == "split":
                with pytest.raises(everedge.InUseError):
                    everedge.cluster.Graph(client, tmp_path / "g", wait=1)
            return all_(self, method, *arguments, **named)

        monkeypatch.setattr(_places.Places, "all", disturbed)
        graph.grow()
        assert graph.bfs(source=0).to_dict() == {0: 0, 1: 1, 2: 2, 3: 3}
    with everedge.cluster.Graph(client, tmp_path / "g") as graph:
        assert (graph.num_shards, graph.bfs(source=0).to_dict()) == (4, {0: 0, 1: 1, 2: 2, 3: 3})


def test_versions_that_are_behind_the_shards_are_an_error(client: Client, tmp_path: Path) -> None:
    with everedge.cluster.Graph(client, tmp_path / "g") as graph:
        graph.add_edges([0], [1])
        copy = (tmp_path / "g" / "versions").read_bytes()
        graph.add_edges([1], [2])
    whole = (tmp_path / "g" / "versions").read_bytes()
    (tmp_path / "g" / "versions").write_bytes(copy)
    with pytest.raises(everedge.CorruptionError, match="ends with version 1, and a shard has version 2"):
        everedge.cluster.Graph(client, tmp_path / "g")
    (tmp_path / "g" / "versions").write_bytes(whole)
    with everedge.cluster.Graph(client, tmp_path / "g") as graph:
        assert graph.bfs(source=0).to_dict() == {0: 0, 1: 1, 2: 2}


def test_a_client_that_ends_without_closing_leaves_all_that_was_acknowledged(client: Client, tmp_path: Path) -> None:
    with Client(client.scheduler.address, set_as_default=False) as other:
        graph = everedge.cluster.Graph(other, tmp_path / "g")
        graph.add_edges([0, 1], [1, 2])
    with everedge.cluster.Graph(client, tmp_path / "g") as graph:
        assert graph.bfs(source=0).to_dict() == {0: 0, 1: 1, 2: 2}


def test_opening_removes_nothing(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "g"
    with everedge.cluster.Graph(client, path, shards=2) as graph:
        graph.add_edges([0, 1, 2, 3], [1, 2, 3, 4])
        graph.grow()
    for copy in ("shard-0-of-4.copy", "shard-0-of-2", "shard-0-of-8"):
        shutil.copytree(path / "shard-0-of-4", path / copy)
    manifest = path / "shard-1-of-4" / "graph" / "manifest.toml"
    whole = manifest.read_bytes()
    manifest.unlink()
    # A shard that came of growing has applied nothing, and is not new.
    with pytest.raises(everedge.InvalidInputError, match=r"manifest\.toml"):
        everedge.cluster.Graph(client, path)
    manifest.write_bytes(whole)
    versions = (path / "versions").read_bytes()
    (path / "versions").write_bytes(b"")
    with pytest.raises(everedge.CorruptionError, match="how many shards"):
        everedge.cluster.Graph(client, path)
    (path / "versions").write_bytes(versions)
    with everedge.cluster.Graph(client, path) as graph:
        assert graph.bfs(source=0).to_dict() == {0: 0, 1: 1, 2: 2, 3: 3, 4: 4}
    assert all((path / copy).exists() for copy in ("shard-0-of-4.copy", "shard-0-of-2", "shard-0-of-8"))


def test_a_shard_that_no_worker_has_is_named(client: Client, tmp_path: Path) -> None:
    with everedge.cluster.Graph(client, tmp_path / "g", shards=2) as graph:
        graph.add_edges([0], [1])
    (tmp_path / "g" / "shard-1-of-2").rename(tmp_path / "away")
    with pytest.raises(everedge.cluster.ShardLostError, match="shard-1-of-2"):
        everedge.cluster.Graph(client, tmp_path / "g")
    (tmp_path / "away").rename(tmp_path / "g" / "shard-1-of-2")
    (tmp_path / "g" / "versions").rename(tmp_path / "versions")
    with pytest.raises(everedge.NotAGraphError, match="versions"):
        everedge.cluster.Graph(client, tmp_path / "g")


def test_a_shard_that_goes_away_is_waited_for_and_named(killable: Client, tmp_path: Path) -> None:
    """Also in the session that has made the graph: no empty shard takes its place."""
    wait_for_both(killable)
    with everedge.cluster.Graph(killable, tmp_path / "g", shards=2, wait=2) as graph:
        graph.add_edges([0, 1, 2, 3], [1, 2, 3, 4])
        address = next(place.address for place in graph._open.shards if place.address != graph._open.versions.address)
        (name,) = [place.name for place in graph._open.shards if place.address == address]
        (tmp_path / "g" / name).rename(tmp_path / "away")
        os.kill(killable.run(os.getpid)[address], signal.SIGKILL)
        for _ in range(2):
            with pytest.raises(everedge.cluster.ShardLostError, match=name):
                graph.bfs(source=0)
            with pytest.raises(everedge.cluster.ShardLostError, match=name):
                graph.add_edges([4], [5])
        assert not (tmp_path / "g" / name).exists()
        (tmp_path / "away").rename(tmp_path / "g" / name)
        assert graph.bfs(source=0).to_dict() == {0: 0, 1: 1, 2: 2, 3: 3, 4: 4}
        assert graph.add_edges([4], [5]) == 2
    wait_for_both(killable)


def test_growing_that_is_interrupted_after_it_counts_goes_on(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from everedge.cluster import _places

    def interrupt(self: Any) -> None:
        raise KeyboardInterrupt

    with everedge.cluster.Graph(client, tmp_path / "g", shards=2) as graph:
        graph.add_edges([0, 1, 2], [1, 2, 3])
        monkeypatch.setattr(_places.Places, "_release", interrupt)
        with pytest.raises(KeyboardInterrupt):
            graph.grow()
        monkeypatch.undo()
        assert graph.bfs(source=0).to_dict() == {0: 0, 1: 1, 2: 2, 3: 3}
        assert graph.add_edges([3], [4]) == 2
        assert (graph.num_shards, graph.bfs(source=0).to_dict()) == (4, {0: 0, 1: 1, 2: 2, 3: 3, 4: 4})
    with everedge.cluster.Graph(client, tmp_path / "g") as graph:
        assert (graph.num_shards, graph.version, graph.num_edges) == (4, 2, 4)


@pytest.mark.parametrize("layout", ["adjacency", "pma", "blocks"])
def test_of_parallel_edges_the_newest_goes_first_after_growing(client: Client, tmp_path: Path, layout: Any) -> None:
    with everedge.cluster.Graph(client, tmp_path / "g", shards=1, weighted=True, layout=layout) as graph:
        graph.add_edges([0, 0, 0, 0], [1, 1, 1, 1], [47, 40, 33, 1])
        for nearest in (33, 40, 47):
            graph.delete_edges([0], [1])
            graph.grow()
            assert graph.sssp(source=0)[1] == nearest


def test_batches_of_one_name_are_told_apart(client: Client, tmp_path: Path) -> None:
    with everedge.cluster.Graph(client, tmp_path / "g", weighted=True) as graph:
        graph.add_edges([1, 1], [0, 3], [1, 1], name="ends")
        graph.add_edges([2, 3], [3, 2], [0.5, 9], name="weights")
        for src, dst, weight, name in (([1, 1], [1, 2], [1, 1], "ends"), ([2, 3], [3, 2], [9, 0.5], "weights")):
            with pytest.raises(everedge.InvalidInputError, match="another name"):
                graph.add_edges(src, dst, weight, name=name)
        assert graph.add_edges([3, 2], [2, 3], [9, 0.5], name="weights") == 2
        with pytest.raises(everedge.InvalidInputError, match="is a text"):
            graph.add_edges([0], [1], [1], name=5)  # type: ignore[arg-type]


def test_what_is_read_once_is_read_whole(client: Client, tmp_path: Path) -> None:
    edges = [(0, 1), (1, 2), (2, 3)]
    table = pyarrow.table({"src": [0, 1, 2], "dst": [1, 2, 3]})
    for number, source in enumerate(
        (zip([0, 1, 2], [1, 2, 3], strict=True), iter(edges), (edge for edge in edges), table.to_reader())
    ):
        with everedge.cluster.Graph(client, tmp_path / str(number)) as graph:
            assert graph.ingest(source).edges == 3
            assert graph.bfs(source=0).to_dict() == {0: 0, 1: 1, 2: 2, 3: 3}


def test_a_folder_is_read_as_other_programs_read_it(client: Client, tmp_path: Path) -> None:
    table = pyarrow.table({"src": [0, 1], "dst": [1, 2]})
    for name in ("a.parquet", "below/b.PARQUET", "_temporary/0/a.parquet", ".hidden.parquet", "_delta_log/x.parquet"):
        (tmp_path / "folder" / name).parent.mkdir(parents=True, exist_ok=True)
        pyarrow.parquet.write_table(table, tmp_path / "folder" / name)
    (tmp_path / "folder" / "_SUCCESS").touch()
    with everedge.cluster.Graph(client, tmp_path / "g") as graph:
        assert graph.ingest(tmp_path / "folder").edges == 4
        (tmp_path / "folder" / "c.parquet.gz").touch()
        with pytest.raises(everedge.FileError, match=r"c\.parquet\.gz"):
            graph.ingest(tmp_path / "folder")
        for missing in ("no.parquet", "s3://bucket/edges"):
            with pytest.raises(everedge.FileError, match=missing):
                graph.ingest(missing)
    one = one_graph(directed=True)
    one.add_edges([0, 1], [1, 2])
    with one.snapshot() as snapshot:
        snapshot.export(tmp_path / "export", format="parquet")
    with everedge.cluster.Graph(client, tmp_path / "h") as graph:
        assert graph.ingest(tmp_path / "export").edges == 2


def test_weights_are_read_or_refused(client: Client, tmp_path: Path) -> None:
    dataframes = pytest.importorskip("dask.dataframe")
    frame = pandas.DataFrame({"src": [0, 1, 2], "dst": [1, 2, 0], "weight": [3, 4, 5]})
    pyarrow.parquet.write_table(pyarrow.table(frame), tmp_path / "f.parquet")
    sources = (frame, dataframes.from_pandas(frame, npartitions=2), tmp_path / "f.parquet")
    with (
        everedge.cluster.Graph(client, tmp_path / "g") as graph,
        everedge.cluster.Graph(client, tmp_path / "w", weighted=True) as weighted,
    ):
        for source in sources:
            with pytest.raises(everedge.InvalidInputError, match="no weights"):
                graph.ingest(source)
            weighted.ingest(source)
            assert weighted.sssp(source=0).to_dict() == {0: 0, 1: 3, 2: 7}
            weighted.ingest(source, delete=True)
        with pytest.raises(everedge.FileError, match="no column 'from', only src, dst, weight"):
            weighted.ingest(frame, src="from")


def test_a_graph_that_cannot_be_is_not_made(client: Client, tmp_path: Path) -> None:
    options: list[dict[str, Any]] = [{"layout": "x"}, {"medium": "dram"}, {"directed": "yes"}, {"wait": -1}, {"replicas": 0}]
    for given in options:
        with pytest.raises(everedge.InvalidInputError, match=next(iter(given))):
            everedge.cluster.Graph(client, tmp_path / "g", **given)
    with pytest.raises(everedge.InvalidInputError, match="own disks"):
        everedge.cluster.Graph(client, "s3://bucket/g")
    with pytest.raises(everedge.NotAGraphError, match="no worker has a graph"):
        everedge.cluster.Graph(client, tmp_path / "g", create=False)
    with everedge.Graph(tmp_path / "one") as one:
        one.add_edges([0], [1])
    (tmp_path / "file").touch()
    for name in ("one", "file"):
        with pytest.raises(everedge.NotAGraphError, match="something else"):
            everedge.cluster.Graph(client, tmp_path / name)
    assert not (tmp_path / "g").exists()
    with everedge.cluster.Graph(client, tmp_path / "g") as graph:
        graph.add_edges([0], [1])
        with pytest.raises(everedge.InvalidInputError, match="threads"):
            graph.pagerank(threads=-1)
    with everedge.cluster.Graph(client, tmp_path / "g", create=False) as graph:
        assert graph.version == 1


def test_a_client_that_is_closed_first_and_a_graph_that_is_forgotten(client: Client, tmp_path: Path) -> None:
    with Client(client.scheduler.address, set_as_default=False) as other:
        graph = everedge.cluster.Graph(other, tmp_path / "g")
        graph.add_edges([0], [1])
    with pytest.raises(everedge.ClosedError, match="client"):
        graph.bfs(source=0)
    assert "closed" in repr(graph)
    graph.close()
    forgotten = everedge.cluster.Graph(client, tmp_path / "g")
    forgotten.add_edges([1], [2])
    del forgotten
    with everedge.cluster.Graph(client, tmp_path / "g") as graph:
        assert graph.bfs(source=0).to_dict() == {0: 0, 1: 1, 2: 2}


def test_an_ingest_that_is_interrupted_brings_nothing_more_in(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(part: int) -> Iterator[tuple[int, int]]:
        for number in range(200):
            time.sleep(0.01)
            yield part, number

    bag = dask.bag.from_sequence(range(4), npartitions=4).map(slow).flatten()
    done, calls = everedge.cluster.Graph._done, []

    def interrupted(self: everedge.cluster.Graph, futures: Any) -> Any:
        calls.append(1)
        if len(calls) > 5:
            raise KeyboardInterrupt
        return done(self, futures)

    with everedge.cluster.Graph(client, tmp_path / "g") as graph:
        monkeypatch.setattr(everedge.cluster.Graph, "_done", interrupted)
        with pytest.raises(KeyboardInterrupt):
            graph.ingest(bag, name="load", batch=10)
        monkeypatch.undo()
        version = graph.version
        time.sleep(3)
        assert graph.version == version
        assert graph.ingest(bag, name="load", batch=10).edges == 800
        assert graph.num_edges == 800


@pytest.mark.parametrize("directed", [False, True])
def test_edges_go_to_one_machine(client: Client, tmp_path: Path, directed: bool) -> None:
    src, dst = np.random.default_rng(3).integers(0, 80, (2, 700))
    weight = np.arange(700, dtype=np.float32)
    with (
        everedge.cluster.Graph(client, tmp_path / "g", shards=3, directed=directed, weighted=True) as graph,
        everedge.Graph("one", medium="dram", directed=directed, weighted=True, ids="dense") as one,
    ):
        graph.add_edges(src, dst, weight)
        assert graph.num_edges == graph.to_parquet(tmp_path / "out") == 700
        assert len(list((tmp_path / "out").iterdir())) == 3
        one.ingest(tmp_path / "out")
        check_same(graph, one)
        with pytest.raises(everedge.InvalidInputError, match="has files"):
            graph.to_parquet(tmp_path / "out")


ENDLESS = """
import sys, everedge.cluster
from distributed import Client
graph = everedge.cluster.Graph(Client(sys.argv[1], direct_to_workers=True), sys.argv[2], shards=2)
for k in range(10**6):
    graph.add_edges([k], [k + 1])
    print(k, flush=True)
"""


def test_a_client_that_is_killed_leaves_a_graph_that_opens(client: Client, tmp_path: Path) -> None:
    for _ in range(4):
        command = [sys.executable, "-c", ENDLESS, client.scheduler.address, str(tmp_path / "g")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as other:
            assert other.stdout is not None
            acknowledged = [int(other.stdout.readline()) for _ in range(20)][-1]
            other.kill()
        with everedge.cluster.Graph(client, tmp_path / "g", wait=20) as graph:
            depths = graph.bfs(source=0).to_dict()
            assert depths == {v: v for v in range(len(depths))}
            assert len(depths) >= acknowledged + 2
        shutil.rmtree(tmp_path / "g")


def test_an_id_that_is_too_large_for_the_workers_is_told(tmp_path: Path) -> None:
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, memory_limit="1GiB", dashboard_address=None) as cluster,
        Client(cluster, direct_to_workers=True) as client,
        everedge.cluster.Graph(client, tmp_path / "g") as graph,
    ):
        graph.add_edges([0, 1], [1, (1 << 27) + 5])
        with pytest.raises(everedge.KernelError, match=r"largest id is 134217733, of 3 vertices: .* smaller numbers"):
            graph.bfs(source=0)
        assert graph.out_degree()[1] == 1
