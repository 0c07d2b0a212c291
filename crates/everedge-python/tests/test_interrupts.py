"""Ctrl-C while a graph is changed, checked, opened or closed: it is heard at once, and nothing is left half done."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

import everedge
from test_sealed_interrupted import interrupts

BEFORE = 0.03
"""Seconds from the call to the signal."""
HEARD = 1.0
"""A tenth of a second, on a machine that does nothing else."""
EDGES = 3_000_000
Layout = Literal["adjacency", "pma", "blocks"]
LAYOUTS: tuple[Layout, ...] = ("adjacency", "pma", "blocks")


def _edges(seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    src, dst = (random.random((2, EDGES)) ** 3 * 300_000).astype(np.uint32)
    return src, dst


def _interrupt(call: Callable[[], object]) -> bool:
    """Call, and return whether the signal came before the end."""
    sent: list[float] = []

    def send() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(BEFORE, send)
    try:
        timer.start()
        call()
        timer.join()
        # It is heard here, if not before.
        time.sleep(HEARD)
    except KeyboardInterrupt:
        assert time.monotonic() - sent[0] < HEARD
        return True
    return False


@pytest.fixture(autouse=True)
def _heard() -> Iterator[None]:
    with interrupts():
        yield


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_interrupted_goes_on_to_its_end(path: Path, layout: Layout) -> None:
    """Also the first batch of a new graph, and the closing. A batch that had not begun is not there at all."""
    graph = everedge.Graph(path, layout=layout, medium="pmem", emulate_pmem=True)
    batches = [_edges(seed) for seed in (1, 2)]
    for batch in batches:
        assert _interrupt(lambda batch=batch: graph.add_edges(*batch))
    # It waits for the batches.
    graph.close()
    graph = everedge.Graph(path)
    assert graph.stats().edges in (0, EDGES, 2 * EDGES)
    graph.add_edges(*batches[0])
    edges = graph.stats().edges
    assert _interrupt(lambda: graph.delete_edges(*batches[0]))
    assert _interrupt(graph.commit)
    assert _interrupt(graph.verify)
    assert _interrupt(graph.compact)
    assert _interrupt(graph.close)
    with everedge.Graph(path) as graph:
        assert graph.stats().edges in (edges - EDGES, edges)
        assert len(graph.timeline) == 1
        assert graph.verify().ok


def test_an_opening_that_is_interrupted_leaves_the_graph_to_the_next(path: Path) -> None:
    """A graph that was not closed takes long to open: its log is read again."""
    everedge.Graph(path).close()
    edges = _edges(3)
    child = os.fork()
    if child == 0:
        graph = everedge.Graph(path)
        graph.add_edges(*edges)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    _interrupt(lambda: everedge.Graph(path))
    with everedge.Graph(path) as graph:
        assert graph.stats().edges == EDGES


def test_a_child_waits_for_nothing_of_its_parent(tmp_path: Path) -> None:
    graph = everedge.Graph(tmp_path / "parent", layout="blocks")
    graph.add_edges([0], [1])
    assert _interrupt(lambda: graph.add_edges(*_edges(4)))
    child = os.fork()
    if child == 0:
        with everedge.Graph(tmp_path / "child") as own:
            own.add_edges([0], [1])
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    graph.close()


def test_a_sealed_graph_is_changed_to_the_end(path: Path) -> None:
    graph = everedge.Graph("graph", medium="dram", ids="dense")
    graph.add_edges([0, 1], [1, 299_999])
    graph.snapshot().seal(path)
    with everedge.Chunks(path) as sealed:
        edges = _edges(5)
        assert _interrupt(lambda: sealed.add_edges(*edges))
        assert sealed.num_edges in (2, EDGES + 2)
