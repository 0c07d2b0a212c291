"""A line that shows how far an ingest is."""

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
        """Draw `progress`, at most ten times a second."""
        now = time.monotonic()
        if now - self._drawn_at >= _SECONDS_BETWEEN:
            self._drawn_at = now
            self._draw(line(progress)[: shutil.get_terminal_size().columns - 1])

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._width:
            self._draw("")
            sys.stderr.write("\r")

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
    bar = ("█" * round(share * _BAR_WIDTH)).ljust(_BAR_WIDTH)
    return f"{name}  {bar}  {share * 100:.0f} %  {edges}"
