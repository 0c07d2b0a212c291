"""Ctrl-C while a graph is sealed, and while a sealed one is asked."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import everedge
from test_sealed import filled, large, sealed


@contextmanager
def interrupts() -> Iterator[None]:
    """A shell starts what runs in the background with the signal ignored."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def test_interrupt_ends_a_sealing_and_leaves_nothing(path: Path) -> None:
    graph = everedge.Graph("graph", medium="dram", ids="dense")
    graph.add_edges(*large())
    with interrupts(), graph.snapshot() as s:
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            # On a busy machine it may come before the call does.
            threading.Timer(0.03, os.kill, (os.getpid(), signal.SIGINT)).start()
            s.seal(path)
        assert time.monotonic() - start < 2
        assert not path.exists()
        assert s.seal(path).edges == 2_000_000


def test_interrupt_ends_the_sealing_of_files(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "edges.bin"
    np.stack(large(), axis=1).astype(np.uint32).tofile(file)

    def stop(progress: everedge.Progress) -> None:
        raise error

    for error in (RuntimeError("enough"), KeyboardInterrupt()):
        with pytest.raises(type(error), match="enough|^interrupted in `.*edges.bin`$") as raised:
            everedge.seal(file, path, progress=stop)
        assert getattr(raised.value, "edges_acknowledged", 0) == 0
        assert not path.exists()
    is_read = threading.Event()

    def read(progress: everedge.Progress) -> None:
        if progress.bytes_read == progress.bytes_total and not is_read.is_set():
            is_read.set()
            threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT)).start()

    with interrupts(), pytest.raises(KeyboardInterrupt):
        everedge.seal(file, path, progress=read)
    assert is_read.is_set() and not path.exists()


def test_interrupt_ends_a_kernel(path: Path) -> None:
    chunks = sealed(filled(), path)
    with interrupts():
        with pytest.raises(KeyboardInterrupt):
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            chunks.pagerank(iterations=2**32 - 2)
    assert len(chunks.pagerank()) == 60
