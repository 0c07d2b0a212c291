"""Bars that show how far an ingest or a kernel is."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqdm import tqdm

    from everedge._reports import Progress


UNBOUNDED = (1 << 32) - 1
"""What a kernel says that ends when it is exact enough."""


def is_watched() -> bool:
    """Return whether somebody looks: standard error is a terminal or a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


class Bar:
    """A bar on standard error, or a widget of a notebook; gone at the end of its `with` block.

    It appears, and tqdm is imported, when there is something to show.
    """

    def __init__(self) -> None:
        self._bar: tqdm[Any] | None = None
        self._file: str | None = None

    def show_ingest(self, progress: Progress) -> None:
        """Show how much of a file is read, and how many edges are acknowledged."""
        if self._bar is None or progress.file != self._file:
            self._begin(os.path.basename(progress.file), progress.bytes_total, is_bytes=True)
            self._file = progress.file
        assert self._bar is not None
        self._bar.set_postfix_str(f"{progress.edges:,} edges", refresh=False)
        self._bar.update(progress.bytes_read - self._bar.n)

    def show_steps(self, kernel: str, done: int, total: int) -> None:
        """Show how many steps a kernel has done, of `total` if that is not 0 and is a number of steps.

        They follow what was read of files.
        """
        if total >= UNBOUNDED:
            total = 0
        if self._bar is None or self._file is not None:
            self._begin(kernel, total or None, is_bytes=False)
            self._file = None
        assert self._bar is not None
        self._bar.total = total or None
        self._bar.update(done - self._bar.n)

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end()

    def _begin(self, what: str, total: int | None, *, is_bytes: bool) -> None:
        from tqdm.auto import tqdm

        self._end()
        unit = "B" if is_bytes else " steps"
        self._bar = tqdm(
            desc=what,
            total=total,
            unit=unit,
            unit_scale=is_bytes,
            unit_divisor=1024,
            leave=False,
            dynamic_ncols=True,
        )

    def _end(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
