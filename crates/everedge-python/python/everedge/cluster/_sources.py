"""What edges come from: each source as parts that workers read by themselves."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from typing import Any


import numpy as np

from everedge import _columns
from everedge._errors import FileError, InvalidInputError
from everedge.cluster._staging import Columns


class Part:
    """A part of a source, which a worker reads."""

    def tables(self, names: tuple[str, str, str | None]) -> Iterator[Columns]:
        """Return its edges, some at a time; `names` are those of the columns."""
        raise NotImplementedError


class ParquetPart(Part):
    """Some row groups of a Parquet file, which every worker sees at the same path."""

    def __init__(self, path: str, groups: range) -> None:
        self.path = path
        self.groups = groups

    def tables(self, names: tuple[str, str, str | None]) -> Iterator[Columns]:
        """Return a row group at a time."""
        import pyarrow.parquet

        with pyarrow.parquet.ParquetFile(self.path) as file:
            wanted = [name for name in names if name is not None]
            if missing := [name for name in wanted if name not in file.schema_arrow.names]:
                raise FileError(
                    f"`{self.path}` has no column {missing[0]!r}, only {', '.join(file.schema_arrow.names)}: say which by src=,"
                    " dst= and weight="
                )
            for group in self.groups:
                yield columns_of(file.read_row_group(group, columns=wanted), names)


class TablesPart(Part):
    """What a partition of a Dask collection holds: a table, or an iterable of tables or of edges."""

    def __init__(self, held: Any) -> None:
        self.held = held

    def tables(self, names: tuple[str, str, str | None]) -> Iterator[Columns]:
        """Return a table at a time, or all edges that are given one by one."""
        if _is_frame(self.held) or isinstance(self.held, dict):
            yield columns_of(self.held, names)
            return
        edges = []
        for item in self.held:
            if _is_frame(item):
                yield columns_of(item, names)
            else:
                edges.append(item)
        if edges:
            yield _columns_of_edges(edges, names)


def batches_of(tables: Iterable[Columns], edges: int) -> Iterator[Columns]:
    """Return the edges of tables, in order, in batches of so many; the last one may have fewer."""
    waiting: list[Columns] = []
    count = 0
    for table in tables:
        waiting.append(table)
        count += table[0].size
        while count >= edges:
            whole = _joined(waiting)
            yield _cut(whole, 0, edges)
            waiting, count = [_cut(whole, edges, count)], count - edges
    if count:
        yield _joined(waiting)


def _joined(tables: list[Columns]) -> Columns:
    src, dst, weights = zip(*tables, strict=True)
    return np.concatenate(src), np.concatenate(dst), None if weights[0] is None else np.concatenate(weights)


def _cut(table: Columns, start: int, end: int) -> Columns:
    src, dst, weights = table
    return src[start:end], dst[start:end], None if weights is None else weights[start:end]


def _is_frame(held: object) -> bool:
    return hasattr(held, "__arrow_c_stream__") or hasattr(held, "columns")


def columns_of(table: Any, names: tuple[str, str, str | None]) -> Columns:
    """Return columns of a table by name: a mapping, a frame, or whatever is indexed by name."""
    src, dst, weight = (None if name is None else table[name] for name in names)
    return checked_columns(src, dst, weight)


def checked_columns(src: Any, dst: Any, weight: Any) -> Columns:
    """Return columns of dense ids, and weights. Raises `InvalidInputError` as `Graph.add_edges`."""
    ends = [_columns.names(column, what) for column, what in ((src, "src"), (dst, "dst"))]
    _columns.check_lengths(*ends)
    u, v = (_columns.dense(column, what) for column, what in zip(ends, ("src", "dst"), strict=True))
    return u, v, None if weight is None else _columns.weights(weight, u.size, round_weights=False)


def parquet_parts(path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], groups_of_part: int = 8) -> list[Part]:
    """Return parts of Parquet files: of a file, of all in a folder, of a pattern, or of several of these."""
    import pyarrow.parquet

    given = [path] if isinstance(path, str | os.PathLike) else list(path)
    files: list[str] = []
    for one in [os.fspath(one) for one in given]:
        if os.path.isdir(one):
            found = sorted(glob.glob(os.path.join(glob.escape(one), "**", "*.parquet"), recursive=True))
        else:
            found = sorted(glob.glob(one)) or [one]
        if not found:
            raise FileError(f"`{one}` has no Parquet files")
        files += [os.path.abspath(file) for file in found]
    parts: list[Part] = []
    for file in files:
        try:
            count = pyarrow.parquet.read_metadata(file).num_row_groups
        except pyarrow.ArrowInvalid as error:
            raise FileError(f"`{file}` is no Parquet file: {error}") from error
        parts += [ParquetPart(file, range(at, min(at + groups_of_part, count))) for at in range(0, count, groups_of_part)]
    return parts


def _columns_of_edges(edges: list[Any], names: tuple[str, str, str | None]) -> Columns:
    if isinstance(edges[0], dict):
        src, dst, weight = (None if name is None else [edge[name] for edge in edges] for name in names)
        return checked_columns(src, dst, weight)
    if len({len(edge) for edge in edges}) != 1 or not 2 <= len(edges[0]) <= 3:
        raise InvalidInputError("an edge is a tuple (src, dst) or (src, dst, weight), all of one length, or a dict")
    columns = [list(column) for column in zip(*edges, strict=True)]
    return checked_columns(columns[0], columns[1], columns[2] if len(columns) == 3 else None)
