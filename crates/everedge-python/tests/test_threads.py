"""Threads: who asks while another closes, and what collects an open graph."""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import everedge


def fresh(path: Path | None = None, count: int = 1000) -> everedge.Graph:
    graph = everedge.Graph(path) if path else everedge.Graph("graph", medium="dram")
    graph.add_edges(np.arange(count), (np.arange(count) * 7 + 1) % count)
    return graph


class Pausing:
    """A native object whose call waits until it is let go on, and then answers as the object does."""

    def __init__(self, native: object, call: str) -> None:
        self._native, self._call = native, call
        self.has_begun, self.may_end = threading.Event(), threading.Event()

    def __getattr__(self, name: str) -> object:
        found = getattr(self._native, name)
        if name != self._call:
            return found

        def paused(*args: object) -> object:
            answer = found(*args)
            self.has_begun.set()
            assert self.may_end.wait(20)
            return answer

        return paused


def answer_while(ask: Callable[[], object], pausing: Pausing, then: Callable[[], object]) -> object:
    """Return what `ask` returns in another thread, if `then` is done while it runs."""
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask)
        assert pausing.has_begun.wait(20)
        try:
            then()
        finally:
            pausing.may_end.set()
        return asked.result(20)


def test_a_kernel_ends_though_its_snapshot_is_closed() -> None:
    s = fresh().snapshot()
    expected = s.bfs(0).to_dict()
    again = fresh().snapshot()
    again._native = pausing = Pausing(again._native, "run")  # type: ignore[assignment]

    def close() -> None:
        again.close()
        # Nobody begins another question.
        with pytest.raises(everedge.ClosedError, match="the snapshot is closed"):
            again.bfs(0)

    answer = answer_while(lambda: again.bfs(0), pausing, close)
    assert isinstance(answer, everedge.Values) and answer.to_dict() == expected
    # The last question has closed it.
    with pytest.raises(everedge.ClosedError):
        again.num_edges  # noqa: B018


def test_a_window_is_answered_though_its_timeline_is_closed() -> None:
    graph = fresh()
    graph.commit("monday")
    timeline = graph.timeline
    timeline._native = pausing = Pausing(timeline._native, "window")  # type: ignore[assignment]
    window = timeline.window()
    answer = answer_while(lambda: window.bfs(0), pausing, timeline.close)
    assert isinstance(answer, everedge.WindowValues) and len(answer.ids) == 1000
    for ask in (window.bfs, timeline.at, lambda: timeline.difference(1, 1)):
        with pytest.raises(everedge.ClosedError):
            ask(*([0] if ask == window.bfs else [1] if ask == timeline.at else []))
    graph.close()


def test_a_question_that_an_interrupt_has_lost_holds_nothing() -> None:
    s = fresh().snapshot()
    s._asking().__enter__()
    gc.collect()
    s.close()
    with pytest.raises(everedge.ClosedError):
        s.num_edges  # noqa: B018


def test_one_snapshot_answers_many_threads_alike() -> None:
    graph = everedge.Graph("graph", medium="dram")
    graph.add_edges([str(k) for k in range(500)], [str(k * 7 % 500) for k in range(500)])
    s = graph.snapshot()

    def ask(_: int) -> tuple[object, ...]:
        return s.bfs("1").to_dict(), s.neighbors("3").tolist(), s.wcc().top(3), s.vertices.tolist(), s.pagerank()["7"]

    with ThreadPoolExecutor(8) as pool:
        first, *others = pool.map(ask, range(24))
    assert all(other == first for other in others)


def test_readers_refresh_while_others_read(path: Path) -> None:
    writer = fresh(path)
    reader = everedge.Graph(path, mode="r")
    is_over = threading.Event()
    counts: list[int] = []

    def read() -> None:
        while not is_over.is_set():
            with reader.snapshot() as s:
                counts.append(len(s.edges()[0]))

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        for k in range(20):
            writer.add_edges([k], [k + 1])
            reader.refresh()
        is_over.set()
        for one in readers:
            one.result(20)
    assert counts and set(counts) <= set(range(1000, 1021))
    assert reader.snapshot().num_edges == 1020


def test_refresh_shows_a_graph_that_has_come_to_the_place(path: Path) -> None:
    import shutil

    writer = fresh(path)
    reader = everedge.Graph(path, mode="r")
    writer.close()
    shutil.rmtree(path)
    writer = everedge.Graph(path)
    writer.add_edges([7], [8])
    assert reader.refresh() and reader.stats().edges == 1
    writer.add_edges([8], [9])
    assert reader.refresh() and not reader.refresh() and reader.stats().edges == 2


def test_a_slow_refresh_does_not_take_the_place_of_a_newer_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from everedge import _graph

    class Native:
        """Holds the slow thread up once it has opened the graph."""

        class Graph:
            @staticmethod
            def open_read_only(path: str) -> object:
                opened = real.Graph.open_read_only(path)
                if threading.current_thread() is slow:
                    is_open.set()
                    go_on.wait(20)
                return opened

    real = _graph._native
    is_open, go_on = threading.Event(), threading.Event()
    writer = fresh(path)
    reader = everedge.Graph(path, mode="r")
    monkeypatch.setattr(_graph, "_native", Native)
    slow = threading.Thread(target=reader.refresh)
    slow.start()
    assert is_open.wait(20)
    writer.add_edges([1], [2])
    assert reader.refresh()
    edges = reader.stats().edges
    go_on.set()
    slow.join(20)
    assert reader.stats().edges == edges
    monkeypatch.undo()
    # Versions are something new, too.
    assert not reader.refresh()
    writer.commit("monday")
    assert reader.refresh() and not reader.refresh()
    assert reader.stats().versions == 1


def test_a_new_graph_is_made_where_it_was_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with everedge.Graph("lazy") as graph:
        monkeypatch.chdir(tmp_path / "elsewhere")
        graph.add_edges([1], [2])
    assert (tmp_path / "lazy").is_dir() and not (tmp_path / "elsewhere" / "lazy").exists()


@pytest.mark.parametrize("work", ["close", "create"])
def test_a_signal_handler_may_close_the_graph(tmp_path: Path, work: str) -> None:
    script = """
import os, signal, sys, threading, time
import everedge

work, fifo = sys.argv[1:]
graph = everedge.Graph("graph")
if work == "close":
    graph.add_edges(range(300_000), range(1, 300_001))
signal.signal(signal.SIGALRM, lambda number, frame: graph.close())
if work == "close":
    # While it is closed, if the machine is so fast.
    signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
    graph.close()
    signal.setitimer(signal.ITIMER_REAL, 0)
else:
    os.mkfifo(fifo)
    end = os.open(fifo, os.O_RDWR)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    threading.Timer(0.8, lambda: os.write(end, b"1 2\\n" * 100) and os.close(end)).start()
    try:
        graph.ingest(fifo, format="edge-list")
    except everedge.ClosedError:
        print("closed meanwhile")
try:
    graph.stats()
except everedge.ClosedError:
    print("closed")
"""
    ran = subprocess.run(
        [sys.executable, "-c", script, work, str(tmp_path / "fifo")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ran.stdout.splitlines()[-1] == "closed", ran.stdout


def test_another_thread_may_collect_it(path: Path) -> None:
    box: list[object] = [graph := fresh(path), graph.snapshot()]
    del graph

    def collect() -> None:
        box.clear()
        gc.collect()

    thread = threading.Thread(target=collect)
    thread.start()
    thread.join()
    # Nothing holds the directory.
    with everedge.Graph(path) as again:
        assert again.stats().edges == 1000


@pytest.mark.parametrize(
    "end",
    [
        "",
        "graph.commit('a'); timeline = graph.timeline; window = timeline.window()",
        "threading.Thread(target=lambda: s.pagerank(iterations=200)).start()",
        "threading.Thread(target=lambda: s.pagerank(iterations=1 << 30), daemon=True).start(); time.sleep(0.2)",
        "threading.Thread(target=write, daemon=True).start(); time.sleep(0.2)",
        "atexit.register(graph.close)",
        "cycle = [graph, s]; cycle.append(cycle)",
    ],
    ids=["open", "timeline", "thread", "daemon", "writing-daemon", "atexit", "cycle"],
)
def test_a_program_ends_without_close(path: Path, end: str) -> None:
    code = f"""
import atexit, everedge, numpy as np, threading, time
graph = everedge.Graph({str(path)!r})
graph.add_edges(np.arange(1000), np.arange(1, 1001))
s = graph.snapshot()
def write():
    while True:
        graph.add_edges([1], [2])
{end}
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    with everedge.Graph(path) as graph:
        assert graph.verify().ok and graph.stats().edges >= 1000


def test_answers_go_to_other_processes_and_handles_do_not() -> None:
    graph = everedge.Graph("graph", medium="dram")
    graph.add_edges(["ann", "bob"], ["bob", "eve"])
    graph.commit("monday")
    s = graph.snapshot()
    for answer in (s.bfs("ann"), s.wcc(), s.cdlp(), s.out_degree()):
        again = pickle.loads(pickle.dumps(answer))
        assert type(again) is type(answer) and again.to_dict() == answer.to_dict() and again.top(2) == answer.top(2)
    path = pickle.loads(pickle.dumps(s.shortest_path("ann", "eve")))
    assert path.length == 2
    steps = pickle.loads(pickle.dumps(graph.timeline.window().bfs("ann")))
    assert steps.of("eve").tolist() == [2]
    assert pickle.loads(pickle.dumps(graph.stats())) == graph.stats()
    with graph.transaction() as t:
        for handle in (graph, s, graph.timeline, graph.timeline.window(), t):
            with pytest.raises(TypeError, match="pass (the graph's|its) path, and open it there|is open in one process"):
                pickle.dumps(handle)
