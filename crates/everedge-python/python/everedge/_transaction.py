"""Questions about edges and changes of edges that count as one."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from everedge import _columns
from everedge._closing import Closing
from everedge._columns import ArrowColumn, Id, Ids, Names
from everedge._errors import ClosedError, InUseError, InvalidInputError
from everedge._guiding import Guiding, guided
from everedge._snapshot import names

if TYPE_CHECKING:
    from everedge import _native
    from everedge._reports import Changes


class Transaction(Guiding, Closing):
    """Questions about edges and changes of edges that count as one; made by `Graph.transaction`.

    It sees the graph as it was when it began and what it has changed itself; others see none of that. The end
    of its `with` block commits it: what it changed is durable then, and visible, if all that it asked for or
    changed is still as it was when it began. Else `ConflictError` is raised, nothing of it is in the graph, and it can be
    done anew, as `Graph.transact` does. One that changed nothing always commits. An exception in the block gives it up.

    New names get numbers as they are met, also those that are only asked for, and keep them. One thread at a time
    uses it, and the graph cannot be closed until it ends. A `KeyboardInterrupt` that comes during the commit leaves open
    whether it will be done: a later snapshot shows it.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram")
    >>> graph.add_edges(["ann"], ["bob"])
    >>> with graph.transaction() as t:
    ...     if t.has_edge("ann", "bob"):
    ...         t.delete_edges("ann", "bob")
    ...         t.add_edges("ann", "eve")
    >>> graph.snapshot().neighbors("ann")
    array(['eve'], dtype=object)
    """

    def __init__(
        self,
        begin: Callable[[tuple[Names, ...]], _native.Graph],
        end: Callable[[_native.Graph], None],
    ) -> None:
        self._begin, self._end = begin, end
        self._graph: _native.Graph | None = None
        self._native: _native.Transaction | None = None
        self._is_ended = False

    @guided
    def has_edge(self, src: Id, dst: Id) -> bool:
        """Return whether there is an edge from `src` to `dst`, after what the transaction has changed.

        Cost: the shorter one of their lists; in the `blocks` layout a search in it.
        """
        native, u, v = self._edges(src, dst)
        if len(u) != 1:
            raise InvalidInputError("src and dst: has_edge asks for one edge")
        return native.has_edge(int(u[0]), int(v[0]))

    @guided
    def weight(self, src: Id, dst: Id) -> float | None:
        """Return the weight of the newest edge from `src` to `dst`, after what the transaction has changed.

        It is 1 if edges have none, `None` if there is no edge. Cost: as `has_edge`.
        """
        native, u, v = self._edges(src, dst)
        if len(u) != 1:
            raise InvalidInputError("src and dst: weight asks for one edge")
        return native.weight(int(u[0]), int(v[0]))

    def neighbors(self, vertex: Id) -> npt.NDArray[Any]:
        """Return the external ids of the out-neighbors of a vertex, after what the transaction has changed.

        Parallel edges one by one; none of what is not a vertex. Cost: the neighbors, now and at the commit.
        """
        column = _columns.names([vertex], "vertex")
        native = self._begun((column,))
        assert self._graph is not None
        vertices = _columns.vertices(self._graph, column, "vertex")
        return names(native, native.neighbors(int(vertices[0])))

    @guided
    def add_edges(
        self,
        src: Ids,
        dst: Ids,
        weight: npt.ArrayLike | ArrowColumn | None = None,
        *,
        round_weights: bool = False,
    ) -> None:
        """Insert edges; arguments as of `Graph.add_edges`."""
        native, u, v = self._edges(src, dst)
        assert self._graph is not None
        weights = _columns.weights_for(self._graph.is_weighted(), weight, len(u), round_weights)
        native.add_edges(u.tolist(), v.tolist(), None if weights is None else weights.tolist())

    @guided
    def delete_edges(self, src: Ids, dst: Ids) -> None:
        """Delete the newest occurrence of each edge; what is not there changes nothing."""
        native, u, v = self._edges(src, dst)
        native.delete_edges(u.tolist(), v.tolist())

    def commit(self) -> Changes:
        """Make all of it durable and visible, and end the transaction; return what it changed.

        Raises `ConflictError` if another writer came between, `NoSpaceError`: nothing of it is in the graph then.
        `InUseError` while another thread's call on it is running: then it goes on. Cost: other writers wait; each edge that it named is looked for once more if others have written.
        """
        from everedge._reports import Changes

        if self._is_ended:
            raise ClosedError("the transaction has ended")
        try:
            changes = Changes(*self._native.commit()) if self._native else Changes(0, 0, 0)
        except InUseError:
            raise
        except BaseException:
            self.close()
            raise
        self.close()
        return changes

    def close(self) -> None:
        """Give it up, if it was not committed; a second time does nothing."""
        self._is_ended = True
        if self._native is not None:
            self._native.close()
            self._native = None
        if self._graph is not None:
            graph, self._graph = self._graph, None
            self._end(graph)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if error is None and not self._is_ended:
                self.commit()
        finally:
            super().__exit__(kind, error, traceback)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Transaction stays in its process: pass the graph's path, and open it there")

    def _edges(
        self, src: Ids, dst: Ids
    ) -> tuple[_native.Transaction, npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
        """Return the native transaction, which begins with the first edge of a new graph, and the vertices of edges."""
        ends = _columns.names(src, "src"), _columns.names(dst, "dst")
        _columns.check_lengths(*ends)
        native = self._begun(ends)
        assert self._graph is not None
        u, v = (_columns.vertices(self._graph, names, what) for names, what in zip(ends, ("src", "dst"), strict=True))
        return native, u, v

    def _begun(self, columns: tuple[Names, ...] = ()) -> _native.Transaction:
        if self._is_ended:
            raise ClosedError("the transaction has ended")
        if self._native is None:
            self._graph = self._begin(columns)
            self._native = self._graph.transaction()
        return self._native
