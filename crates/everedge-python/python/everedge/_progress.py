"""A line that shows how far an ingest or a kernel is."""

from __future__ import annotations

import os
import shutil
import sys
import time

from everedge._reports import Progress

_BAR_WIDTH = 24
_SECONDS_BETWEEN = 0.1


def is_watched() -> bool:
    """Return whether somebody looks: standard error is a terminal or a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


class Bar:
    """Draws one line on standard error over and over; wiped at the end of its `with` block."""

    def __init__(self) -> None:
        self._drawn_at = 0.0
        self._width = 0

    def __call__(self, progress: Progress) -> None:
        """Draw how far an ingest is, at most ten times a second."""
        self._show(line(progress))

    def show_steps(self, kernel: str, done: int, total: int) -> None:
        """Draw how many steps a kernel has done, of `total` if that is not 0; likewise."""
        self._show(steps(kernel, done, total))

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._width:
            self._draw("")
            sys.stderr.write("\r")

    def _show(self, text: str) -> None:
        now = time.monotonic()
        if now - self._drawn_at >= _SECONDS_BETWEEN:
            self._drawn_at = now
            self._draw(text[: shutil.get_terminal_size().columns - 1])

    def _draw(self, text: str) -> None:
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)


def line(progress: Progress) -> str:
    """Return the line for `progress`.

    >>> line(Progress("data/edges.txt", 30, 40, 1000))
    'edges.txt  ██████████████████        75 %  1,000 edges'
    >>> line(Progress("-", 30, None, 1000))
    '-  1,000 edges'
    """
    name, edges = os.path.basename(progress.file), f"{progress.edges:,} edges"
    if not progress.bytes_total:
        return f"{name}  {edges}"
    share = min(progress.bytes_read / progress.bytes_total, 1)
    return f"{name}  {_bar(share)}  {share * 100:.0f} %  {edges}"


def steps(kernel: str, done: int, total: int) -> str:
    """Return the line for a kernel that has done so many steps.

    >>> steps("pagerank", 15, 20)
    'pagerank  ██████████████████        15 of 20'
    >>> steps("kcore", 3, 0)
    'kcore  step 3'
    """
    if done and total:
        return f"{kernel}  {_bar(min(done / total, 1))}  {done:,} of {total:,}"
    return f"{kernel}  step {done:,}" if done else kernel


def _bar(share: float) -> str:
    return ("█" * round(share * _BAR_WIDTH)).ljust(_BAR_WIDTH)
