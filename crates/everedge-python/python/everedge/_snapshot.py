"""A frozen view of a graph."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, NoReturn, cast

import numpy as np
import numpy.typing as npt

from everedge import _columns, _kernels
from everedge._arrow import Ids as IdArray
from everedge._closing import Asked
from everedge._columns import Id, Ids, is_id, told, word
from everedge._errors import EveredgeError, InvalidInputError
from everedge._progress import Bar, is_watched
from everedge._reading import Reading
from everedge._values import Vertices
from everedge._version import Version

if TYPE_CHECKING:
    from everedge import _native
    from everedge._reports import RunReport, SealReport


class Snapshot(_kernels.Methods, Reading, Asked):
    """All batches that were acknowledged when it was taken; it never changes.

    Made by `Graph.snapshot`; any number may be open, and none stops the writers. Closed by
    `close` or at the end of its `with` block; what it answered stays. Any number of threads may ask it. In a forked child every call
    on it but `close` raises `ForkedError`.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram")
    >>> graph.add_edges([0, 0], [1, 2])
    >>> with graph.snapshot() as s:
    ...     s.num_vertices, s.num_edges, s.out_degree().values
    (3, 2, array([2, 0, 0], dtype=uint32))
    """

    __networkx_backend__ = "everedge"

    def __init__(self, native: _native.View) -> None:
        super().__init__()
        self._native = native
        self._opened: object | None = None
        """What functions of NetworkX have made of it."""

    @property
    def num_vertices(self) -> int:
        """The number of vertices."""
        return self._native.vertex_count()

    @property
    def num_edges(self) -> int:
        """The number of edges; an undirected one counts once."""
        return self._native.edge_count()

    @property
    def version(self) -> Version | None:
        """Which version of the graph it is, unless it is none."""
        fields = self._native.version()
        return None if fields is None else Version(*fields)

    @property
    def directed(self) -> bool:
        """Whether edges have a direction."""
        return self._native.is_directed()

    @property
    def weighted(self) -> bool:
        """Whether edges carry a weight."""
        return self._native.is_weighted()

    def is_directed(self) -> bool:
        """Return whether edges have a direction; the name is NetworkX's, whose functions take the snapshot."""
        return self.directed

    def is_multigraph(self) -> bool:
        """Return whether a pair may have several edges; the name is NetworkX's, whose functions take the snapshot."""
        return not self._native.is_simple()

    @property
    def vertices(self) -> npt.NDArray[Any]:
        """External ids in ascending order of vertex numbers; shape `[num_vertices]`.

        `uint32` if ids are dense, `uint64` if they are mapped integers, else objects (`str`).
        """
        return self._vertices.ids

    def seal(
        self,
        path: str | os.PathLike[str],
        *,
        order: Literal["degree", "steps", "ids"] = "degree",
        compressed: bool = True,
    ) -> SealReport:
        """Write it as a sealed graph into a new directory, which `Chunks` opens; return what that did.

        - `order`: how vertices are numbered, and so which lie together: those with the most in-neighbors first
          (`degree`), those beside each other that two steps reach (`steps`), or in the order of their `ids`.
        - `compressed` writes neighbors as the gaps between them, about 2 bytes each; without, 4 bytes each.

        Ctrl-C ends it. If it fails, nothing is left. In a terminal or a notebook a line shows how far it is.

        Raises `InvalidInputError` if the directory is there and not empty, `NoSpaceError`, `IoError`. Cost: 20
        bytes of memory a vertex; every edge is read once each way.

        >>> import everedge, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "sealed")
        >>> graph = everedge.Graph("example", medium="dram")
        >>> graph.add_edges([0, 1, 2], [1, 2, 0])
        >>> graph.snapshot().seal(path).vertices
        3
        >>> everedge.Chunks(path).triangles()
        1
        """
        from everedge._reports import SealReport

        with Bar() as bar:
            tell = partial(bar.show_steps, "seal") if is_watched() else None
            return SealReport(**self._native.seal(os.fspath(path), order, compressed, tell))

    def close(self) -> None:
        """Give the view and what it keeps in memory up; a second time does nothing.

        It waits for nobody: kernels that run in other threads go on to their ends.
        """
        self._opened = None
        super().close()

    def _give_up(self) -> None:
        self._native.close()

    def __contains__(self, vertex: Id) -> bool:
        return is_id(vertex) and self._native.find(word(vertex)) is not None

    def __repr__(self) -> str:
        try:
            return f"<Snapshot of {self.num_vertices:,} vertices and {self.num_edges:,} edges>"
        except EveredgeError as error:
            return f"<Snapshot: {error}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Snapshot stays in its process: pass the graph's path, and open it there")

    def _view(self, kernel: str, threads: int = 0) -> AbstractContextManager[Snapshot]:
        return self._asking()

    def _view_beside(
        self, *, vertex_bytes: int = 0, edge_bytes: int = 0, edges_max: int | None = None
    ) -> AbstractContextManager[Snapshot]:
        return self._asking()

    @cached_property
    def _vertices(self) -> Vertices:
        index = self._native.vertices()
        return Vertices(index, self._names(index), self._native.vertex_bound())

    def _names(self, vertices: npt.NDArray[np.uint32]) -> npt.NDArray[Any]:
        return names(self._native, vertices)

    def _id_array(self, vertices: npt.NDArray[np.uint32]) -> IdArray:
        """Return the external ids of vertices, as a table too."""
        return self._names(vertices).view(IdArray)

    def _find(self, vertex: Id) -> int:
        found = self._native.find(word(vertex))
        if found is None:
            raise self._no_vertex(vertex)
        return found

    def _no_vertex(self, vertex: object) -> InvalidInputError:
        """Return the error for an id that is not there, with what ids are if it is of the other kind."""
        are_texts = self._native.id_kind() == "text"
        is_other = isinstance(vertex, str) != are_texts
        kind = "strings" if are_texts else "integers"
        return InvalidInputError(f"vertex `{vertex}` is not in the graph{f', whose ids are {kind}' if is_other else ''}")

    def _find_all(self, vertices: Ids) -> npt.NDArray[np.uint32]:
        names = _columns.names(vertices, "vertices")
        found = _columns.known_vertices(self._native, names, "vertices")
        if (found < 0).any():
            raise self._no_vertex(names[int((found < 0).argmax())])
        return found.astype(np.uint32)

    def _run(
        self, kernel: str, threads: int, **parameters: Id | float | bool | None
    ) -> tuple[RunReport, Any]:
        from everedge._reports import RunReport

        if not isinstance(threads, int | np.integer) or not 0 <= threads < 1 << 32:
            raise InvalidInputError(f"threads={threads!r}: it must be a number from 0 to 2^32 - 1")
        with Bar() as bar:
            tell = partial(bar.show_steps, kernel) if is_watched() else None
            try:
                report, answer = self._native.run(kernel, told(parameters), threads, tell)
            except InvalidInputError:
                source = parameters.get("source")
                if not is_id(source) or cast("Id", source) in self:
                    raise
                raise self._no_vertex(source) from None
        return RunReport(**report), answer


def names(
    native: _native.View | _native.Timeline | _native.Transaction, vertices: npt.NDArray[np.uint32]
) -> npt.NDArray[Any]:
    """Return the external ids of vertices."""
    kind = native.id_kind()
    if kind == "dense":
        return vertices
    if kind == "integer":
        return native.integers(vertices)
    return np.array(native.texts(vertices), object)
