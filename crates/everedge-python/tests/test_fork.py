"""What a forked child may do with what its parent opened: nothing, and it is told so."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import everedge

SECONDS_MAX = 60
"""A child that takes longer hangs."""


def in_child(work: Callable[[], None]) -> None:
    """Run `work` in a forked child; fail with what it wrote if it fails or hangs."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(reader)
            work()
            code = 0
        except BaseException:
            os.write(writer, traceback.format_exc().encode())
        finally:
            os._exit(code)
    os.close(writer)
    code = exit_code_of(child)
    with os.fdopen(reader) as said:
        assert code == 0, said.read() or f"the child ended with {code}"


def exit_code_of(child: int) -> int:
    """Wait for a child, but not for ever; return its exit code."""
    end = time.monotonic() + SECONDS_MAX
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail(f"the child did not end within {SECONDS_MAX} s")


def run_script(code: str) -> None:
    """Run a program of its own, but not for ever."""
    run = [sys.executable, "-c", code]
    limit = 2 * SECONDS_MAX
    done = subprocess.run(run, timeout=limit, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def refused(call: Callable[[], object]) -> None:
    with pytest.raises(everedge.ForkedError, match="forked from it"):
        call()


@pytest.mark.parametrize("layout", ["adjacency", "pma", "blocks"])
def test_every_call_of_a_child_is_refused_and_the_parent_goes_on(path: Path, layout: str) -> None:
    graph = everedge.Graph(path, layout=layout)  # type: ignore[arg-type]
    graph.add_edges([0, 1], [1, 2])
    s = graph.snapshot()
    assert s.bfs(0)[2] == 2

    def work() -> None:
        refused(lambda: graph.add_edges([2], [3]))
        refused(lambda: graph.delete_edges([0], [1]))
        refused(lambda: graph.add_vertices([9]))
        refused(lambda: graph.delete_vertex(0))
        refused(lambda: graph.ingest(__file__))
        for call in (graph.snapshot, graph.sync, graph.stats, graph.compact, graph.verify):
            refused(call)
        refused(lambda: s.bfs(0))
        refused(s.pagerank)
        refused(s.edges)
        refused(lambda: s.num_edges)
        assert "forked" in repr(graph) and "forked" in repr(s)

    in_child(work)
    graph.add_edges([2], [3])
    assert graph.verify().ok
    assert graph.snapshot().num_edges == 3 and s.num_edges == 2
    s.close()
    graph.close()
    with everedge.Graph(path) as again:
        assert again.snapshot().num_edges == 3 and again.verify().ok


def test_a_child_closes_nothing(path: Path) -> None:
    graph = everedge.Graph(path)
    graph.add_edges([0], [1])
    s = graph.snapshot()

    def work() -> None:
        with graph, s:
            pass
        graph.close()

    in_child(work)
    graph.add_edges([1], [2])
    assert graph.verify().ok and s.num_edges == 1
    with pytest.raises(everedge.InUseError):
        everedge.Graph(path)


def test_a_sealed_graph_is_refused_to_a_child_too(path: Path) -> None:
    graph = everedge.Graph("graph", medium="dram")
    graph.add_edges([0, 1], [1, 2])
    graph.snapshot().seal(path)
    chunks = everedge.Chunks(path)
    assert chunks.bfs(0)[2] == 2

    def work() -> None:
        for call in (chunks.pagerank, chunks.stats, chunks.verify, chunks.degree):
            refused(call)
        assert "forked" in repr(chunks)
        chunks.close()
        assert everedge.Chunks(path).num_edges == 2

    in_child(work)
    assert chunks.bfs(0)[2] == 2


def test_a_child_that_shuts_python_down_ends_and_takes_nothing_with_it(path: Path) -> None:
    code = f"""
import everedge, os, sys
graph = everedge.Graph({str(path)!r})
graph.add_edges(range(1000), range(1, 1001))
s = graph.snapshot()
assert s.bfs(0)[10] == 10
child = os.fork()
if child == 0:
    del s
    sys.exit(7)  # collects all that is left
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
graph.add_edges([0], [5])
assert s.num_edges == 1000 and graph.snapshot().num_edges == 1001
assert graph.verify().ok
s.close()
graph.close()
"""
    run_script(code)
    with everedge.Graph(path) as again:
        assert again.snapshot().num_edges == 1001


def test_a_child_forked_while_threads_write_does_not_hang(path: Path) -> None:
    """Threads of the parent may hold any lock at the fork."""
    graph = everedge.Graph(path, ids="dense", durability="none")
    graph.add_edges([0], [1])
    is_over = threading.Event()
    counts = [0, 0]

    def write(k: int) -> None:
        while not is_over.is_set():
            graph.add_edges([k], [k + 1])
            graph.stats()
            counts[k] += 1

    writers = [threading.Thread(target=write, args=(k,)) for k in range(2)]
    for writer in writers:
        writer.start()

    def work() -> None:
        refused(lambda: graph.add_edges([7], [8]))
        refused(graph.snapshot)
        graph.close()

    try:
        for _ in range(20):
            in_child(work)
    finally:
        is_over.set()
        for writer in writers:
            writer.join()
    assert graph.snapshot().num_edges == 1 + sum(counts)
    assert graph.verify().ok


def add_in_worker(_: int) -> str:
    assert SHARED is not None
    try:
        SHARED.add_edges([1], [2])
    except everedge.ForkedError as error:
        return str(error)
    return "added"


SHARED: everedge.Graph | None = None


def test_workers_of_multiprocessing_are_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = everedge.Graph(path)
    graph.add_edges([0], [1])
    monkeypatch.setattr(f"{__name__}.SHARED", graph)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        answers = pool.map_async(add_in_worker, range(8)).get(SECONDS_MAX)
    assert all("forked from it" in answer for answer in answers)
    assert graph.snapshot().num_edges == 1


@pytest.mark.parametrize(
    "before",
    [
        "",
        "one_of_its_own('first')",
    ],
    ids=["fresh", "after-a-kernel"],
)
def test_a_child_has_graphs_of_its_own(tmp_path: Path, before: str) -> None:
    code = f"""
import everedge, numpy as np, os, signal
def one_of_its_own(name):
    with everedge.Graph(os.path.join({str(tmp_path)!r}, name)) as graph:
        graph.add_edges(np.arange(100_000), np.arange(1, 100_001))
        with graph.snapshot() as s:
            assert s.bfs(0)[1000] == 1000
            assert len(s.pagerank()) == 100_001
        assert graph.verify().ok
{before}
child = os.fork()
if child == 0:
    signal.alarm({SECONDS_MAX})
    one_of_its_own("second")
    os._exit(0)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
assert code == 0, code
one_of_its_own("third")
"""
    run_script(code)
    with everedge.Graph(tmp_path / "second") as graph:
        assert graph.snapshot().num_edges == 100_000


def test_handles_are_not_pickled(path: Path) -> None:
    graph = everedge.Graph(path)
    graph.add_edges([0], [1])
    for handle in (graph, graph.snapshot()):
        with pytest.raises(TypeError, match="path, and open it there"):
            pickle.dumps(handle)


def test_versions_and_transactions_are_refused_too_and_answers_stay(path: Path) -> None:
    graph = everedge.Graph(path)
    graph.add_edges(["a", "b"], ["b", "c"])
    graph.commit("monday")
    timeline = graph.timeline
    window, monday = timeline.window(), timeline.at("monday")
    transaction = graph.transaction()
    assert transaction.has_edge("a", "b")
    depths, steps = monday.bfs("a"), window.bfs("a")

    def work() -> None:
        for call in (lambda: timeline.versions, lambda: len(timeline), lambda: timeline.at(1), window.bfs, window.wcc):
            refused(call)
        for call in (lambda: timeline.difference(1, 1), lambda: timeline.keep(1), lambda: monday.num_edges, monday.scc):
            refused(call)
        for call in (lambda: transaction.has_edge("a", "b"), transaction.commit, lambda: graph.timeline):
            refused(call)
        transaction.close()
        monday.close()
        timeline.close()
        assert depths["c"] == 2 and depths.top(1) == [("c", 2)] and steps.of("c").tolist() == [2]
        # What the parent has open may be read here, opened anew.
        with everedge.Timeline(path) as again:
            assert again.at("monday").num_edges == 2

    in_child(work)
    assert len(timeline) == 1 and monday.num_edges == 2 and window.bfs("a").of("c").tolist() == [2]
    transaction.add_edges("c", "d")
    assert transaction.commit().inserted == 1
    transaction.close()


def depth_of(path: str) -> everedge.Values[Any]:
    with everedge.Graph(path, mode="r") as graph, graph.snapshot() as s:
        return s.bfs("a")


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_other_processes_open_the_path_and_give_answers_back(path: Path, method: str) -> None:
    graph = everedge.Graph(path)
    graph.add_edges(["a", "b"], ["b", "c"])
    with multiprocessing.get_context(method).Pool(1) as pool:
        answer = pool.map_async(depth_of, [str(path)]).get(SECONDS_MAX)[0]
        with pytest.raises(TypeError, match="path, and open it there"):
            pool.apply(depth_of, [graph])
    assert answer.to_dict() == {"a": 0, "b": 1, "c": 2}
    graph.add_edges("c", "d")
