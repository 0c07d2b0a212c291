"""Files of edges: what is told of them, and how far they are taken in."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, TypeAlias

from everedge import _native
from everedge._columns import ArrowColumn
from everedge._errors import FileError, InvalidInputError
from everedge._guiding import not_a_path
from everedge._progress import Bar, is_watched

if TYPE_CHECKING:
    from everedge._reports import Progress

IdChoice: TypeAlias = Literal["auto", "dense", "integer", "text", "map"]
"""What the ids of a graph are."""

Column: TypeAlias = "int | str | None"
"""A column of a table, by number from 0 or by name; `None` to look for it."""


File: TypeAlias = "str | os.PathLike[str]"
"""Where a file is."""

Source: TypeAlias = "File | ArrowColumn"
"""A file, or a table: a frame of pandas or polars, or what else hands itself out through the Arrow PyCapsule interface."""


@contextmanager
def on_disk(sources: tuple[Source, ...]) -> Iterator[tuple[File, ...]]:
    """Give a file in place of each source: tables go to files, which are gone at the end; needs pyarrow for those."""
    files = tuple(source for source in sources if not isinstance(source, ArrowColumn))
    if len(files) == len(sources):
        yield files
        return
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="everedge-") as directory:
        places = [os.path.join(directory, f"table-{number}.arrow") for number, _ in enumerate(sources, 1)]
        try:
            yield tuple(_file_of(source, place) for source, place in zip(sources, places, strict=True))
        except FileError as error:
            # Nobody knows the file.
            error.args = (re.sub(f"`{re.escape(directory)}/(table)-([0-9]+).arrow`", r"\1 \2", str(error)),)
            raise


def _file_of(source: Source, place: str) -> File:
    if not isinstance(source, ArrowColumn):
        return source
    import pyarrow
    from pyarrow import ipc

    table = pyarrow.RecordBatchReader.from_stream(source).read_all()
    if table.num_rows == 0:
        raise InvalidInputError("a table has no rows: there are no edges in it")
    # A file has one dictionary for all batches.
    options = ipc.IpcWriteOptions(unify_dictionaries=True)
    with ipc.new_file(place, table.schema, options=options) as writer:
        writer.write_table(table)
    return place


def file_options(
    files: tuple[File, ...],
    *,
    format: str | None,
    ids: IdChoice,
    header: bool | None,
    delimiter: str | None,
    delete: bool = False,
    batch: int = 1 << 16,
    drop_self_loops: bool,
    skip_nulls: bool,
    round_weights: bool,
    unweighted: bool,
    src: Column,
    dst: Column,
    weight: Column,
) -> tuple[list[str], _native.IngestOptions]:
    """Return the paths of files, and what is told of them, checked."""
    if not files:
        raise InvalidInputError("no files: name one at least")
    for file in files:
        if not isinstance(file, str | os.PathLike):
            raise not_a_path("files: files (str or PathLike) and tables of Arrow", file)
    if batch < 1:
        raise InvalidInputError(f"batch={batch}: it must be 1 or more")
    if header is not None and not isinstance(header, bool):
        raise InvalidInputError(f"header={header!r}: it is True, False or None")
    check_columns(src=src, dst=dst, weight=weight)
    return [os.fspath(file) for file in files], {
        "format": None if format == "auto" else format,
        "ids": ids,
        "header": header,
        "delimiter": delimiter,
        "delete": delete,
        "batch": batch,
        "drop_self_loops": drop_self_loops,
        "skip_nulls": skip_nulls,
        "round_weights": round_weights,
        "unweighted": unweighted,
        "src": src,
        "dst": dst,
        "weight": weight,
    }


def check_columns(**columns: Column) -> None:
    """Refuse what names no column."""
    for name, column in columns.items():
        is_number = isinstance(column, int) and not isinstance(column, bool) and column >= 0
        if not (column is None or is_number or isinstance(column, str)):
            raise InvalidInputError(f"{name}={column!r}: a column has a number from 0 or a name")


def is_shown(progress: bool | Callable[[Progress], object] | None) -> bool:
    """Return whether a bar is to be drawn."""
    return is_watched() if progress is None else progress is True


@contextmanager
def told_of(
    progress: bool | Callable[[Progress], object] | None, paths: list[str], bar: Bar | None = None
) -> Iterator[Callable[[int, int, int | None, int], None] | None]:
    """Give what is to be told how far an ingest of `paths` is, `None` if nobody wants to know."""
    from everedge._reports import Progress

    with bar or Bar() as bar:
        tell = bar.show_ingest if is_shown(progress) else progress if callable(progress) else None

        def told(file: int, bytes_read: int, bytes_total: int | None, edges: int) -> None:
            if tell is not None:
                tell(Progress(paths[file], bytes_read, bytes_total, edges))

        yield None if tell is None else told


def option_word(value: bool | int | str) -> str:
    """Return a value of an option as its word."""
    return str(value).lower() if isinstance(value, bool) else str(value)
