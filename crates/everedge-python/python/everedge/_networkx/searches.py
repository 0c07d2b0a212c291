"""Searches and components, by kernels or on arrays: whichever takes less time."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from everedge._networkx.lists import Lists, Rows
from everedge._networkx.opened import Opened

_COMPONENTS_WORK = 4
_LEVELS_ONE_BY_ONE = 64


class Search:
    """A breadth-first search from one row in the order of lists."""

    def __init__(self, lists: Lists, row: int) -> None:
        import scipy.sparse.csgraph

        order, parents = scipy.sparse.csgraph.breadth_first_order(lists.matrix, row)
        self.order: Rows = order
        """Shape `[reached]`: the rows that it reaches, in the order of their discovery."""
        self.parents: Rows = parents[order]
        """Shape `[reached]`: the row that each was discovered from; of the first there is none."""
        self._count = len(lists.lengths)

    @cached_property
    def depths(self) -> npt.NDArray[np.int64]:
        """Shape `[reached]`: how many edges away each is. Cost: `reached`, times the logarithm of the depth if that is large."""
        count = len(self.order)
        places = np.empty(self._count, np.int64)
        places[self.order] = np.arange(count)
        ancestors = np.zeros(count, np.int64)
        ancestors[1:] = places[self.parents[1:]]
        # Ancestors ascend, so a level ends where they leave the one before it.
        begins = [0, 1]
        while begins[-1] < count and len(begins) < _LEVELS_ONE_BY_ONE:
            begins.append(int(np.searchsorted(ancestors[1:], begins[-1])) + 1)
        if begins[-1] >= count:
            return np.repeat(np.arange(len(begins) - 1), np.diff(begins))
        depths = np.ones(count, np.int64)
        depths[0] = 0
        while ancestors.any():
            depths += depths[ancestors]
            ancestors = ancestors[ancestors]
        return depths


def depths(graph: Opened, row: int, reverse: bool = False) -> npt.NDArray[np.integer[Any]]:
    """Return how many edges away each row is from one, -1 for what it does not reach."""
    if graph.asks(1):
        return graph.ask(reverse=reverse).depths(row)
    search = Search(graph.single_into if reverse else graph.single, row)
    found = np.full(len(graph), -1, np.int64)
    found[search.order] = search.depths
    return found


def nearest(graph: Opened, row: int, limit: float, reverse: bool) -> tuple[Rows, Rows]:
    """Return the rows up to `limit` away from one, the nearest first, and how far each is."""
    if graph.asks(1):
        away = graph.ask(reverse=reverse).depths(row)
        rows = np.flatnonzero((away >= 0) & (away <= limit))
        rows = rows[np.argsort(away[rows], kind="stable")]
        return rows, away[rows]
    search = Search(graph.single_into if reverse else graph.single, row)
    count = len(search.order) if limit >= len(graph) else int(np.searchsorted(search.depths, limit, "right"))
    return search.order[:count], search.depths[:count]


def path(graph: Opened, source: int, target: int) -> Rows | None:
    """Return the rows of a shortest path; `None` if there is none."""
    if graph.asks(1):
        asked = graph.ask()
        u, v = asked.vertices_of(np.array([source, target])).tolist()
        found = asked.snapshot._native.path(u, v, True)
        return None if found is None else asked.rows_of(found[0])
    search = Search(graph.single, source)
    parents = np.full(len(graph), -1, np.int64)
    parents[search.order] = search.parents
    rows = [target]
    while rows[-1] != source:
        if parents[rows[-1]] < 0:
            return None
        rows.append(int(parents[rows[-1]]))
    return np.array(rows[::-1])


def weak(graph: Opened) -> Rows:
    """Return of each row the smallest one of its component."""
    if graph.asks(_COMPONENTS_WORK):
        asked = graph.ask()
        return asked.groups(asked.snapshot.wcc())
    # Without directions each edge leads both ways, and strong components are found faster.
    return _components(graph, "weak" if graph.directed else "strong")


def strong(graph: Opened) -> Rows:
    """Return of each row the smallest one of its strongly connected component."""
    if graph.asks(_COMPONENTS_WORK):
        asked = graph.ask()
        return asked.groups(asked.snapshot.scc())
    return _components(graph, "strong")


def _components(graph: Opened, connection: str) -> Rows:
    import scipy.sparse.csgraph

    if not len(graph):
        return np.empty(0, np.int64)
    _, labels = scipy.sparse.csgraph.connected_components(
        graph.single.matrix, directed=True, connection=connection
    )
    _, firsts = np.unique(labels, return_index=True)
    found: Rows = firsts[labels]
    return found


def is_one_piece(graph: Opened) -> bool:
    """Return whether every node reaches every other one; a graph without nodes is one piece."""
    return bool(((strong if graph.directed else weak)(graph) == 0).all())
