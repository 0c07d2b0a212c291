"""What edges come from: each source as parts that workers read by themselves."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from everedge import _columns
from everedge._columns import MAX_VERTEX_ID
from everedge._errors import FileError, InvalidInputError
from everedge.cluster._staging import Columns


@dataclass(frozen=True)
class Names:
    """What the columns of a source are called."""

    src: str
    dst: str
    weight: str | None
    are_deleted: bool
    """Whether edges are deleted, which have no weights then."""

    @property
    def wanted(self) -> list[str]:
        """Those that are read."""
        return [name for name in (self.src, self.dst, self.weight) if name is not None]

    def check(self, there: Iterable[object], what: str) -> None:
        """Raise `FileError` or `InvalidInputError` if a column is missing, or weights would be left out."""
        columns = [str(name) for name in there]
        if missing := [name for name in self.wanted if name not in columns]:
            shown = ", ".join(columns[:20])
            raise FileError(f"{what} has no column {missing[0]!r}, only {shown}: say which by src=, dst= and weight=")
        if self.weight is None and not self.are_deleted and "weight" in columns:
            raise InvalidInputError(
                f"{what} has a column 'weight', and the graph has no weights: leave it out, or make the graph with weighted=True"
            )


class Part:
    """A part of a source, which a worker reads."""

    def tables(self, names: Names) -> Iterator[Columns]:
        """Return its edges, some at a time; `names` are those of the columns."""
        raise NotImplementedError


class ParquetPart(Part):
    """Some row groups of a Parquet file, which every worker sees at the same path."""

    def __init__(self, path: str, groups: range) -> None:
        self.path = path
        self.groups = groups

    def tables(self, names: Names) -> Iterator[Columns]:
        """Return a row group at a time."""
        import pyarrow.parquet

        with pyarrow.parquet.ParquetFile(self.path) as file:
            names.check(file.schema_arrow.names, f"`{self.path}`")
            for group in self.groups:
                try:
                    table = columns_of(file.read_row_group(group, columns=names.wanted), names)
                except (OSError, ValueError, TypeError) as error:
                    raise FileError(f"`{self.path}`, row group {group}: {error}") from error
                yield table


class TablesPart(Part):
    """What a partition of a Dask collection holds: a table, or an iterable of tables or of edges."""

    def __init__(self, held: Any) -> None:
        self.held = held

    def tables(self, names: Names) -> Iterator[Columns]:
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


def columns_of(table: Any, names: Names) -> Columns:
    """Return columns of a table by name: a mapping, a frame, or whatever is indexed by name."""
    names.check(_columns_in(table), "the table")
    return checked_columns(table[names.src], table[names.dst], None if names.weight is None else table[names.weight])


def _columns_in(table: Any) -> Iterable[object]:
    if hasattr(table, "column_names"):
        return list(table.column_names)
    return list(table.columns if hasattr(table, "columns") else table)


def checked_columns(src: Any, dst: Any, weight: Any) -> Columns:
    """Return columns of dense ids, and weights. Raises `InvalidInputError` as `Graph.add_edges`."""
    ends = [_columns.names(column, what) for column, what in ((src, "src"), (dst, "dst"))]
    _columns.check_lengths(*ends)
    for column, what in zip(ends, ("src", "dst"), strict=True):
        if isinstance(column, list):
            raise InvalidInputError(f"{what}: ids of a graph in shards are integers, not texts: give each text a number first")
        if column.size and column.max() > MAX_VERTEX_ID:
            row = int((column > MAX_VERTEX_ID).argmax())
            raise InvalidInputError(
                f"{what}, row {row}: {column[row]}: ids of a graph in shards are at most {MAX_VERTEX_ID}: give each a smaller number"
            )
    u, v = (_columns.dense(column, what) for column, what in zip(ends, ("src", "dst"), strict=True))
    return u, v, None if weight is None else _columns.weights(weight, u.size, round_weights=False)


def parquet_parts(path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], groups_of_part: int = 8) -> list[Part]:
    """Return parts of Parquet files: of a file, of all in a folder, of a pattern, or of several of these."""
    import pyarrow.parquet

    given = [path] if isinstance(path, str | os.PathLike) else list(path)
    files: list[str] = []
    for one in [os.fspath(one) for one in given]:
        if "://" in one:
            raise FileError(f"`{one}`: files are read from paths that the client and all workers see; for others give a Dask dataframe")
        if os.path.isfile(os.path.join(one, "manifest.json")) and os.path.isdir(os.path.join(one, "edges")):
            # What `export` has written; the ids of vertices lie beside.
            one = os.path.join(one, "edges")
        if os.path.isdir(one):
            found = _files_below(one)
        else:
            found = sorted(glob.glob(one, recursive=True)) or [one]
        if not found:
            raise FileError(f"`{one}` has no Parquet files")
        files += [os.path.abspath(file) for file in found]
    parts: list[Part] = []
    for file in files:
        try:
            count = pyarrow.parquet.read_metadata(file).num_row_groups
        except FileNotFoundError as error:
            raise FileError(f"`{file}` is not there: the client and all workers read it at this path") from error
        except (pyarrow.ArrowInvalid, OSError) as error:
            raise FileError(f"`{file}` is no Parquet file: {error}") from error
        parts += [ParquetPart(file, range(at, min(at + groups_of_part, count))) for at in range(0, count, groups_of_part)]
    return parts


def _files_below(folder: str) -> list[str]:
    """Return the Parquet files below a folder; what begins with a dot or an underscore is not meant for readers."""
    found = []
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        found += [os.path.join(place, name) for name in files if not name.startswith((".", "_"))]
    parquet = [file for file in found if file.lower().endswith((".parquet", ".pq", ".parq"))]
    if others := sorted(file for file in set(found) - set(parquet) if ".parquet" in os.path.basename(file).lower()):
        raise FileError(f"`{others[0]}` is no plain Parquet file, as its name says: name the files to read")
    return sorted(parquet)


def _columns_of_edges(edges: list[Any], names: Names) -> Columns:
    if isinstance(edges[0], dict):
        for edge in edges:
            names.check(edge, "an edge")
        columns = [[edge[name] for edge in edges] for name in names.wanted]
        return checked_columns(columns[0], columns[1], columns[2] if names.weight is not None else None)
    if not all(isinstance(edge, tuple | list) for edge in edges) or len({len(edge) for edge in edges}) != 1 or not 2 <= len(edges[0]) <= 3:
        raise InvalidInputError("an edge is a tuple (src, dst) or (src, dst, weight), all of one length, or a dict")
    columns = [list(column) for column in zip(*edges, strict=True)]
    return checked_columns(columns[0], columns[1], columns[2] if len(columns) == 3 else None)
