"""Sealed graphs: files that are only read, within a budget of memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import cached_property, partial
from types import TracebackType
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from everedge import _kernels, _native
from everedge._columns import ArrowColumn, Id
from everedge._errors import EveredgeError, InvalidInputError
from everedge._files import (
    IdChoice,
    Source,
    file_options,
    is_shown,
    on_disk,
    option_word,
    told_of,
)
from everedge._progress import Bar
from everedge._reports import Progress, SealReport, Stats, Verification
from everedge._snapshot import Snapshot
from everedge._values import Values, Vertices


class Chunks(_kernels.Methods):
    """A sealed graph: a directory that opens at once, however large it is, and is only read.

    `Snapshot.seal` makes one of a graph or a version, `everedge.seal` of files. The kernels are methods, and
    functions that take it, with the parameters that they have for a snapshot.

    - `memory` is how many bytes a kernel may take, with its arrays: a number, or a text with K, M or G for powers
      of 1,024, such as `"2G"` or `"2 GB"`; half of what is free unless given. What is left of it keeps the parts
      of the graph that are read most. Beside it come the ids of the vertices, 12 bytes each (strings as Python
      keeps them), from the first answer by vertex on, and answers as long as they are kept.

    Vertices have new numbers, those with the most in-neighbors first, and the ids that they had before: `ids` and
    `values` of an answer are aligned, and look-ups go by id. Ids that were used as they are come as `uint64`.

    Any number of processes and threads may read it. In a forked child every call on it but `close` raises
    `ForkedError`.

    Raises `NotAGraphError`, `InvalidInputError` for a graph that is not sealed, `CorruptionError`,
    `VersionError`, `IoError`. A kernel raises `InvalidInputError` if the memory is too small for it, with the least
    that would do, and `CorruptionError` if what it reads is damaged.

    >>> import everedge, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "sealed")
    >>> graph = everedge.Graph("example", medium="dram")
    >>> graph.add_edges(["app", "app", "lib"], ["lib", "libc", "libc"])
    >>> with graph.snapshot() as s:
    ...     s.seal(path).edges
    3
    >>> with everedge.Chunks(path, memory="64M") as sealed:
    ...     depth = sealed.bfs(source="app")
    >>> int(depth["libc"])
    1
    """

    def __init__(self, path: str | os.PathLike[str], memory: int | str | None = None) -> None:
        self._path = os.fspath(path)
        self._native = _native.Chunks.open(self._path, _memory_word(memory))
        self._vertices: Vertices | None = None

    @property
    def path(self) -> str:
        """The directory, as it was given."""
        return self._path

    @property
    def num_vertices(self) -> int:
        """The number of vertices."""
        return self._native.vertex_count()

    @property
    def num_edges(self) -> int:
        """The number of edges; an undirected one counts once."""
        return self._native.edge_count()

    @property
    def directed(self) -> bool:
        """Whether edges have a direction."""
        return self._native.is_directed()

    @property
    def weighted(self) -> bool:
        """Whether edges carry a weight."""
        return self._native.is_weighted()

    @property
    def vertices(self) -> npt.NDArray[Any]:
        """External ids in ascending order of vertex numbers; shape `[num_vertices]`.

        `uint64` if they are integers, else objects (`str`). Cost: all ids are read, once.
        """
        # What keeps no arrays leaves the most room.
        with self._view("one-hop") as view:
            return view.vertices

    def out_degree(self) -> Values[np.uint32]:
        """Return the number of edges that leave each vertex. Cost: 12 bytes a vertex are read."""
        with self._view("bfs") as view:
            return view.out_degree()

    def in_degree(self) -> Values[np.uint32]:
        """Return the number of edges that enter each vertex.

        Cost: 12 bytes a vertex are read; every edge in a graph without in-neighbors.
        """
        with self._view("bfs") as view:
            return view.in_degree()

    def degree(self) -> Values[np.uint32]:
        """Return the number of edges of each vertex, both ways if they have a direction.

        A self-loop counts twice in a directed graph, once in an undirected one.
        """
        with self._view("bfs") as view:
            return view.degree()

    def stats(self) -> Stats:
        """Return what the graph is and how large it is."""
        return Stats(**self._native.stats())

    def verify(self) -> Verification:
        """Check every byte, that lists are what they say, and that both directions say the same.

        Ctrl-C ends it. Cost: reads all of it, within half of the memory that is free.
        """
        return Verification(**self._native.verify())

    def close(self) -> None:
        """Give the graph up; a second time does nothing. What it answered stays."""
        self._native.close()

    def __contains__(self, vertex: Id) -> bool:
        with self._view("one-hop") as view:
            return vertex in view

    def __enter__(self) -> Chunks:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        try:
            counts = f"{self.num_vertices:,} vertices, {self.num_edges:,} edges"
        except EveredgeError as error:
            return f"<Chunks {self._path}: {error}>"
        return f"<Chunks {self._path}: {counts}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Chunks is open in one process: pass its path, and open it there")

    def _view(self, kernel: str) -> Snapshot:
        return _View(self._native.view_for(kernel), self)


class _View(Snapshot):
    """A sealed graph, opened for one question; the ids of its vertices are read once for all."""

    def __init__(self, native: _native.View, chunks: Chunks) -> None:
        super().__init__(native)
        self._chunks = chunks

    @cached_property
    def _vertices(self) -> Vertices:
        if self._chunks._vertices is None:
            self._chunks._vertices = super()._vertices
        return self._chunks._vertices


def seal(
    files: Source | Iterable[Source],
    path: str | os.PathLike[str],
    memory: int | str | None = None,
    *,
    order: Literal["degree", "ids"] = "degree",
    compressed: bool = True,
    directed: bool | None = None,
    weighted: bool | None = None,
    simple: bool | None = None,
    in_neighbors: bool | None = None,
    format: str | None = None,
    ids: IdChoice = "auto",
    header: bool | None = None,
    delimiter: str | None = None,
    drop_self_loops: bool = False,
    skip_nulls: bool = False,
    round_weights: bool = False,
    src: int | str | None = None,
    dst: int | str | None = None,
    weight: int | str | None = None,
    progress: bool | Callable[[Progress], object] | None = None,
) -> SealReport:
    """Write the edges of files or tables as a sealed graph into a new directory; return what that did.

    There is no live graph in between, so the files may be far larger than the memory. `Chunks(path)` opens it.

    - `memory`: how many bytes this may take, as for `Chunks`. Edges that have no room wait in files at `path`. Names
      that are not numbers are all in memory.
    - `order`: how vertices are numbered, and so which lie together: those with the most in-neighbors first
      (`degree`), or in the order of their `ids`.
    - `compressed` writes neighbors as the gaps between them, about 2 bytes each; without, 4 bytes each.
    - `directed`, `weighted`, `simple`, `in_neighbors` and `ids` are as for a `Graph`, the others as for
      `Graph.ingest`. Without in-neighbors it takes less space, and of a directed graph only `one_hop` and `two_hop`
      are answered.

    Ctrl-C, and an exception of `progress`, end it. If it fails, nothing is left.

    Raises `FileError` with file and place, `IoError`, `NoSpaceError`, `InvalidInputError` if the directory is there
    and not empty, or the memory is too small, with what would do.

    >>> import everedge, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "edges.csv").write_text("app,lib\\nlib,libc\\n")
    >>> everedge.seal(folder / "edges.csv", folder / "sealed").vertices
    3
    >>> everedge.Chunks(folder / "sealed").one_hop("lib").tolist()
    ['libc']
    """
    if weighted is False and weight is not None:
        raise InvalidInputError("weight: weighted=False says that there are none: leave one of them out")
    given = {
        "directed": directed,
        "weighted": weighted,
        "simple": simple,
        "in-neighbors": in_neighbors,
    }
    words = [(name, option_word(value)) for name, value in given.items() if value is not None]
    if isinstance(files, str | os.PathLike | ArrowColumn):
        files = (files,)
    sealing: _native.SealOptions = {
        "order": order,
        "compressed": compressed,
        "memory": _memory_word(memory),
    }
    with on_disk(tuple(files)) as stored:
        paths, options = file_options(
            stored,
            format=format,
            ids=ids,
            header=header,
            delimiter=delimiter,
            drop_self_loops=drop_self_loops,
            skip_nulls=skip_nulls,
            round_weights=round_weights,
            unweighted=weighted is False,
            src=src,
            dst=dst,
            weight=weight,
        )
        with Bar() as bar, told_of(progress, paths, bar) as tell:
            steps = partial(bar.show_steps, "seal") if is_shown(progress) else None
            chosen = _native.Chosen(words, ids)
            report = _native.Chunks.seal_files(
                os.fspath(path), chosen, paths, options, sealing, (tell, steps)
            )
    return SealReport(**report)


def _memory_word(memory: int | str | None) -> str | None:
    """Return a number of bytes as the native half reads it: `2G` for `2 GB` and `2GiB`."""
    if memory is None:
        return None
    return str(memory).replace(" ", "").upper().removesuffix("B").removesuffix("I")
