"""Sealed graphs: files that are read within a budget of memory, and what was changed since."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, NoReturn, cast

import numpy as np
import numpy.typing as npt

from everedge import _columns, _kernels, _native
from everedge._changing import add_edges_to, delete_edges_from
from everedge._closing import Closing
from everedge._columns import ArrowColumn, ArrowPiece, Id, Ids
from everedge._errors import EveredgeError, InvalidInputError, NotAGraphError
from everedge._files import (
    IdChoice,
    Source,
    file_options,
    is_shown,
    is_table,
    option_word,
    told_of,
)
from everedge._guiding import guided, not_a_path
from everedge._progress import Bar
from everedge._reading import Reading
from everedge._snapshot import Snapshot
from everedge._values import Vertices

if TYPE_CHECKING:
    from everedge._reports import Changes, Progress, SealReport, Stats, Verification


class Chunks(_kernels.Methods, Reading, Closing):
    """A sealed graph: a directory that opens at once, however large it is, and is read piece by piece.

    `Snapshot.seal` makes one of a graph or a version, `everedge.seal` of files. The kernels are methods, and
    functions that take it, with the parameters that they have for a snapshot.

    - `memory` is how many bytes a kernel may take, with its arrays, or another answer while it is made: a number, or a
      text with K, M, G or T for powers of 1,024, such as `"2G"` or `"1.5 GB"`; half of what is free unless given. What is
      left of it keeps the parts of the graph that are read most. Beside it come the ids of the vertices, 12 bytes each
      (strings as Python keeps them), from the first answer by vertex on, and answers as long as they are kept.

    Vertices have new numbers, those with the most in-neighbors first, and the ids that they had before: `ids` and
    `values` of an answer are aligned, and look-ups go by id. Ids that were used as they are come as `uint64`.

    `neighbors`, degrees, `edges` and graphs of other libraries are read as from a snapshot. What holds all edges is part
    of `memory`, too.

    `add_edges` and `delete_edges` change it: the files that were sealed stay as they are, what was changed stands beside
    them, as safe as in a `Graph`, and in memory while the graph is open. `Chunks(path)` shows the changes that there
    are then, and those that are made through it; `seal` writes both as a new graph.

    Any number of processes and threads may read it, but while somebody is changing it. In a forked child every call on it but `close` raises
    `ForkedError`.

    Raises `NotAGraphError`, `InvalidInputError` for a graph that is not sealed and for a memory that the changes alone
    exceed, `CorruptionError`, `VersionError`, `IoError`. A kernel raises `InvalidInputError` if the memory is too small for it, with the least
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

    @guided
    def __init__(self, path: str | os.PathLike[str], memory: int | str | None = None) -> None:
        if not isinstance(path, str | os.PathLike):
            raise not_a_path("path: a sealed graph is at a directory (str or PathLike)", path)
        self._path = os.fspath(path)
        # Whoever opens it again finds it wherever the process has gone since. `..` stays: it may come after a link.
        is_absolute = os.path.isabs(self._path)
        self._directory = self._path if is_absolute else os.path.join(os.getcwd(), self._path)
        self._memory = _memory_word(memory)
        self._is_closed = False
        self._state = self._opened()
        # False after a change, until the graph is opened anew.
        self._is_current = True
        # Whoever changes the graph or opens it anew holds it.
        self._lock = threading.Lock()

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

    @guided
    def add_edges(
        self,
        src: Ids,
        dst: Ids,
        weight: npt.ArrayLike | ArrowColumn | None = None,
        *,
        round_weights: bool = False,
    ) -> None:
        """Add edges as one batch, as `Graph.add_edges` does: all of them, or on an error none.

        Answers from now on know of them; snapshots that were taken before do not. Another `Chunks` of the same graph sees
        them if it is opened later. If the changes have grown beyond `memory`, another process changes the graph meanwhile, or the
        medium fails once the batch is written, the next question says so, not this call. After Ctrl-C the batch goes on to its
        end; the next question waits for that.

        Cost: each call opens the changes, which reads the numbers of all vertices, and all changes so far. So give many
        edges at once.

        Raises `InvalidInputError` with the row, `NoSpaceError`, `InUseError` while another process changes the graph.

        >>> import everedge, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "sealed")
        >>> graph = everedge.Graph("example", medium="dram")
        >>> graph.add_edges("app", "lib")
        >>> graph.snapshot().seal(path).edges
        1
        >>> with everedge.Chunks(path) as sealed:
        ...     sealed.add_edges(["lib", "lib"], ["libc", "libm"])
        ...     changes = sealed.delete_edges("lib", "libc")
        ...     int(sealed.bfs(source="app")["libm"]), sealed.num_edges
        (2, 2)
        """
        ends = _columns.names(src, "src"), _columns.names(dst, "dst")
        _columns.check_lengths(*ends)
        with self._changing() as native:
            add_edges_to(native, ends, weight, round_weights)

    @guided
    def delete_edges(self, src: Ids, dst: Ids) -> Changes:
        """Take the newest occurrence of each edge away as one batch; return what that changed.

        What is not there changes nothing and is counted in `ignored_deletions`. Cost and exceptions are those of `add_edges`.
        """
        ends = _columns.names(src, "src"), _columns.names(dst, "dst")
        _columns.check_lengths(*ends)
        with self._changing() as native:
            return delete_edges_from(native, ends)

    def seal(
        self,
        path: str | os.PathLike[str],
        *,
        order: Literal["degree", "steps", "ids"] = "degree",
        compressed: bool = True,
    ) -> SealReport:
        """Write the graph as it is now, with what was changed, as a new sealed graph; return what that did.

        Parameters and exceptions are those of `Snapshot.seal`. The new graph has no changes.
        """
        with self._view("one-hop") as view:
            return view.seal(path, order=order, compressed=compressed)

    def stats(self) -> Stats:
        """Return what the graph is and how large it is."""
        from everedge._reports import Stats

        return Stats(**self._native.stats())

    def verify(self) -> Verification:
        """Check every byte, that lists are what they say, and that both directions say the same.

        Ctrl-C ends it. Cost: reads all of it, within half of the memory that is free.
        """
        from everedge._reports import Verification

        return Verification(**self._native.verify())

    def close(self) -> None:
        """Give the graph up; a second time does nothing. What it answered stays, and a change that is being made is made."""
        # No lock, which a forked child may have inherited from a thread of its parent: who opens the graph anew looks afterwards.
        self._is_closed = True
        native, _ = self._state
        native.close()

    def __contains__(self, vertex: Id) -> bool:
        with self._view("one-hop") as view:
            return vertex in view

    def __repr__(self) -> str:
        try:
            counts = f"{self.num_vertices:,} vertices, {self.num_edges:,} edges"
        except EveredgeError as error:
            return f"<Chunks {self._path}: {error}>"
        return f"<Chunks {self._path}: {counts}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Chunks is open in one process: pass its path, and open it there")

    @contextmanager
    def _changing(self) -> Iterator[_native.Changer]:
        """Open the graph to be changed, and show what was changed afterwards."""
        # A closed graph, one of a forked child, and changes that exceed the memory are refused before the change.
        self._native.edge_count()
        with self._lock:
            before, _ = self._state
            # It may have been closed meanwhile.
            before.edge_count()
            native = _native.Changer.open(self._directory)
            try:
                yield native
            except BaseException as error:
                self._end_change(native, is_left=isinstance(error, KeyboardInterrupt))
                raise
            self._end_change(native)

    def _end_change(self, native: _native.Changer, is_left: bool = False) -> None:
        self._is_current = False
        if is_left:
            # The batch goes on to its end. The next question waits for that.
            native.give_up()
            return
        # The change is made, whether the graph closes and opens now or not: the next question opens it, or says why it
        # cannot. Only of a directory that was removed nothing is left.
        try:
            native.close()
        except NotAGraphError:
            raise
        except EveredgeError:
            pass
        with suppress(EveredgeError):
            self._open_anew()

    def _opened(self) -> tuple[_native.Chunks, _Ids]:
        return _native.Chunks.open(self._directory, self._memory), _Ids()

    def _open_anew(self) -> None:
        # Who asks the one before goes on.
        self._state = self._opened()
        self._is_current = True
        if self._is_closed:
            native, _ = self._state
            native.close()

    def _now(self) -> tuple[_native.Chunks, _Ids]:
        """Return the graph as it is after the last change."""
        if not self._is_current:
            with self._lock:
                native, _ = self._state
                # What was closed is not opened again.
                native.edge_count()
                if not self._is_current:
                    self._open_anew()
        return self._state

    @property
    def _native(self) -> _native.Chunks:
        native, _ = self._now()
        return native

    def _view(self, kernel: str, threads: int = 0) -> Snapshot:
        native, ids = self._now()
        return _View(native.view_for(kernel, threads), ids)

    def _view_beside(
        self, *, vertex_bytes: int = 0, edge_bytes: int = 0, edges_max: int | None = None
    ) -> Snapshot:
        native, ids = self._now()
        count = native.edge_count()
        edges = count if edges_max is None else min(count, edges_max)
        kept = vertex_bytes * native.vertex_count() + edge_bytes * edges
        return _View(native.view_beside(kept), ids)


class _Ids:
    """The ids of all vertices, once they were asked for; when the graph is changed, others come in their place."""

    vertices: Vertices | None = None


class _View(Snapshot):
    """A sealed graph, opened for one question; the ids of its vertices are read once for all."""

    def __init__(self, native: _native.View, ids: _Ids) -> None:
        super().__init__(native)
        self._ids = ids

    @cached_property
    def _vertices(self) -> Vertices:
        if self._ids.vertices is None:
            self._ids.vertices = super()._vertices
        return self._ids.vertices


@guided
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
    from everedge._reports import SealReport

    if weighted is False and weight is not None:
        raise InvalidInputError("weight: weighted=False says that there are none: leave one of them out")
    given = {
        "directed": directed,
        "weighted": weighted,
        "simple": simple,
        "in-neighbors": in_neighbors,
    }
    words = [(name, option_word(value)) for name, value in given.items() if value is not None]
    sealing: _native.SealOptions = {
        "order": order,
        "compressed": compressed,
        "memory": _memory_word(memory),
    }
    sources, options = file_options(
        _sources(files),
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
    with Bar() as bar, told_of(progress, sources, bar) as tell:
        steps = partial(bar.show_steps, "seal") if is_shown(progress) else None
        chosen = _native.Chosen(words, ids)
        report = _native.Chunks.seal_files(
            os.fspath(path), chosen, sources, options, sealing, (tell, steps)
        )
    return SealReport(**report)


def _sources(files: Source | Iterable[Source]) -> tuple[Source, ...]:
    """Return files and tables as a tuple; refuse graphs and what else is neither."""
    # A graph in memory may be iterable, and what it gives then are vertices.
    is_one = isinstance(files, str | os.PathLike | ArrowColumn | ArrowPiece) or hasattr(files, "edges")
    sources: tuple[Source, ...]
    if is_one or not isinstance(files, Iterable):
        sources = (cast("Source", files),)
    else:
        sources = tuple(files)
    for source in sources:
        if is_table(source):
            continue
        if not isinstance(source, str | os.PathLike):
            raise TypeError(
                f"seal takes files (str or PathLike) and tables of Arrow, one or several, not {type(source).__name__}: "
                "add edges that are elsewhere to a Graph, and seal its snapshot"
            )
        if os.path.isfile(os.path.join(source, "manifest.toml")):
            raise InvalidInputError(
                f"`{os.fspath(source)}` is a graph, not a file of edges: open it, and seal it as it is, with "
                "Graph(path).snapshot().seal(new), Timeline(path).at(version).seal(new) or Chunks(path).seal(new)"
            )
    return sources


def _memory_word(memory: int | str | None) -> str | None:
    """Return a number of bytes as the native half reads it."""
    return None if memory is None else str(memory)
