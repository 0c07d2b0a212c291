"""Files and tables of edges: what is told of them, and how far they are taken in."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeGuard, cast

import numpy as np

from everedge import _native
from everedge._columns import ArrowColumn, ArrowPiece
from everedge._errors import EveredgeError, InvalidInputError
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

Table: TypeAlias = "ArrowColumn | ArrowPiece"
"""A table: a frame of pandas or polars, or what else hands itself out through the Arrow PyCapsule interface."""

Source: TypeAlias = "File | Table"
"""A file, or a table."""


def is_table(source: object) -> TypeGuard[Table]:
    """Return whether it is taken as a table of edges. A graph is none, though its edges are: it has directions, too."""
    from everedge._reading import Reading

    return isinstance(source, ArrowColumn | ArrowPiece) and not isinstance(source, Reading)


def _taken(files: tuple[Source, ...]) -> list[str | _native.Table]:
    """Return the paths of files, and the tables, which are read here to their ends."""
    taken: list[str | _native.Table] = []
    for number, source in enumerate(files, 1):
        if not is_table(source):
            taken.append(os.fspath(cast("File", source)))
            continue
        try:
            table = _native.Table(source, f"table {number}")
        except (ArithmeticError, NotImplementedError, TypeError, ValueError) as error:
            if isinstance(error, EveredgeError):
                raise
            raise InvalidInputError(f"table {number} has no form that Arrow knows: {error}") from error
        if table.row_count() == 0:
            raise InvalidInputError("a table has no rows: there are no edges in it")
        taken.append(table)
    return taken


_NUMBERS = {"float32", "float64", *(f"{sign}{bits}" for sign in ("int", "uint") for bits in (8, 16, 32, 64))}
"""Types of columns that may hold weights, as pandas and polars write them, without regard to case."""


def _narrowed(table: Any, columns: tuple[Column, Column, Column], unweighted: bool) -> tuple[Any, tuple[Column, Column, Column]]:
    """Return a frame with the named columns alone, and where they are; columns of numbers stay where one may hold weights.

    What other columns hold is nobody's business: Arrow may not even know their types.
    """
    kind = type(table).__module__.partition(".")[0]
    is_frame = kind in ("pandas", "polars") and type(table).__name__ == "DataFrame"
    if not is_frame or columns[0] is None or columns[1] is None:
        return table, columns
    names = list(table.columns)
    places = [column if isinstance(column, int) else names.index(column) if names.count(column) == 1 else None for column in columns]
    if any(column is not None and (place is None or place >= len(names)) for column, place in zip(columns, places, strict=True)):
        # Whoever reads it says what is wrong.
        return table, columns
    kept = list(dict.fromkeys(place for place in places if place is not None))
    if columns[2] is None and not unweighted:
        kept += [place for place, one in enumerate(table.dtypes) if place not in kept and str(one).lower() in _NUMBERS]
    part = table.iloc[:, kept] if kind == "pandas" else table[:, kept]
    src, dst, weight = (None if place is None else kept.index(place) for place in places)
    return part, (src, dst, weight)


def file_options(
    files: tuple[Source, ...],
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
) -> tuple[list[str | _native.Table], _native.IngestOptions]:
    """Return the paths of files and the tables, and what is told of them, checked."""
    if not files:
        raise InvalidInputError("no files: name one at least")
    for file in files:
        if type(file).__name__ == "LazyFrame":
            raise InvalidInputError("a LazyFrame has no rows yet: give its collect()")
        if not isinstance(file, str | os.PathLike) and not is_table(file):
            raise not_a_path("files: files (str or PathLike) and tables of Arrow", file)
    if batch < 1:
        raise InvalidInputError(f"batch={batch}: it must be 1 or more")
    if header is not None and not isinstance(header, bool):
        raise InvalidInputError(f"header={header!r}: it is True, False or None")
    check_columns(src=src, dst=dst, weight=weight)
    src, dst, weight = (_place_of(column, files) for column in (src, dst, weight))
    if len(files) == 1:
        table, (src, dst, weight) = _narrowed(files[0], (src, dst, weight), unweighted)
        files = (table,)
    return _taken(files), {
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


def _place_of(column: Column, files: tuple[Source, ...]) -> Column:
    """Return the place of a column that a number labels, as in frames that were made without names."""
    columns = getattr(files[0], "columns", ())
    labels = [] if callable(columns) else list(columns)
    if not isinstance(column, int) or not any(isinstance(label, int | np.integer) for label in labels):
        return column
    if column not in labels:
        raise InvalidInputError(f"no column has the label {column}; there are {', '.join(map(repr, labels))}")
    return labels.index(column)


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
    progress: bool | Callable[[Progress], object] | None, sources: list[str | _native.Table], bar: Bar | None = None
) -> Iterator[Callable[[int, int, int | None, int], None] | None]:
    """Give what is to be told how far an ingest of `sources` is, `None` if nobody wants to know."""
    from everedge._reports import Progress

    with bar or Bar() as bar:
        tell = bar.show_ingest if is_shown(progress) else progress if callable(progress) else None

        def told(file: int, bytes_read: int, bytes_total: int | None, edges: int) -> None:
            if tell is not None:
                source = sources[file]
                name = source if isinstance(source, str) else source.name
                tell(Progress(name, bytes_read, bytes_total, edges))

        yield None if tell is None else told


def option_word(value: bool | int | str) -> str:
    """Return a value of an option as its word."""
    return str(value).lower() if isinstance(value, bool) else str(value)
