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
_MANY = 1_000_000
"""With fewer edges a search takes less time on arrays."""
_PROBED_ARCS = 1024


class Probe:
    """The beginning of a breadth-first search from one row, which is all of it if few rows are reached."""

    def __init__(self, graph: Opened, row: int, reverse: bool = False, limit: float = np.inf) -> None:
        self.parents = {row: -1}
        """The row that each was discovered from, in the order of discovery."""
        level, self.depths = [row], [0]
        self.is_whole = False
        arcs = 0
        while level and self.depths[-1] < limit:
            following = []
            for u in level:
                neighbors = graph.neighbors_of(u, reverse)
                arcs += len(neighbors)
                if arcs > _PROBED_ARCS:
                    return
                for v in neighbors:
                    if v not in self.parents:
                        self.parents[v] = u
                        following.append(v)
            self.depths.extend([self.depths[-1] + 1] * len(following))
            level = following
        self.is_whole = True


class Search:
    """A breadth-first search from one row in the order of lists."""

    def __init__(self, graph: Opened, row: int, reverse: bool = False) -> None:
        import scipy.sparse.csgraph

        self._count = len(graph)
        probe = Probe(graph, row, reverse)
        if probe.is_whole:
            order, before = np.array(list(probe.parents)), np.array(list(probe.parents.values()))
            self.depths = np.array(probe.depths)
        else:
            lists = graph.single_into if reverse else graph.single
            order, parents = scipy.sparse.csgraph.breadth_first_order(lists.matrix, row)
            before = parents[order]
        self.order: Rows = order
        """Shape `[reached]`: the rows that it reaches, in the order of their discovery."""
        self.parents: Rows = before
        """Shape `[reached]`: the row that each was discovered from; of the first there is none."""

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
    if graph.asks(1, _MANY):
        return graph.ask(reverse=reverse).depths(row)
    search = Search(graph, row, reverse)
    found = np.full(len(graph), -1, np.int64)
    found[search.order] = search.depths
    return found


def nearest(graph: Opened, row: int, limit: float, reverse: bool) -> tuple[Rows, Rows]:
    """Return the rows up to `limit` away from one, the nearest first, and how far each is."""
    probe = Probe(graph, row, reverse, limit=limit)
    if probe.is_whole:
        return np.array(list(probe.parents)), np.array(probe.depths)
    if graph.asks(1, _MANY):
        away = graph.ask(reverse=reverse).depths(row)
        rows = np.flatnonzero((away >= 0) & (away <= limit))
        rows = rows[np.argsort(away[rows], kind="stable")]
        return rows, away[rows]
    search = Search(graph, row, reverse)
    count = len(search.order) if limit >= len(graph) else int(np.searchsorted(search.depths, limit, "right"))
    return search.order[:count], search.depths[:count]


def path(graph: Opened, source: int, target: int) -> Rows | None:
    """Return the rows of a shortest path; `None` if there is none."""
    met = _meeting(graph, source, target)
    if met is not None:
        return np.array(met) if met else None
    if graph.asks(1):
        asked = graph.ask()
        u, v = asked.vertices_of(np.array([source, target])).tolist()
        found = asked.snapshot._native.path(u, v, True)
        return None if found is None else asked.rows_of(found[0])
    search = Search(graph, source)
    parents = np.full(len(graph), -1, np.int64)
    parents[search.order] = search.parents
    if source != target and parents[target] < 0:
        return None
    rows = [target]
    while rows[-1] != source:
        rows.append(int(parents[rows[-1]]))
    return np.array(rows[::-1])


def _meeting(graph: Opened, source: int, target: int) -> list[int] | None:
    """Return a shortest path as NetworkX finds it, by two searches that meet; none if there is none, `None` if it takes long."""
    if source == target:
        return [source]
    before: tuple[dict[int, int], dict[int, int]] = ({source: -1}, {target: -1})
    fringes = [[source], [target]]
    arcs = 0
    while fringes[0] and fringes[1]:
        side = 0 if len(fringes[0]) <= len(fringes[1]) else 1
        level, fringes[side] = fringes[side], []
        for u in level:
            neighbors = graph.neighbors_of(u, side == 1)
            arcs += len(neighbors)
            if arcs > _PROBED_ARCS:
                return None
            for v in neighbors:
                if v not in before[side]:
                    before[side][v] = u
                    fringes[side].append(v)
                if v in before[1 - side]:
                    return [*way_back(before[0], v)[::-1], *way_back(before[1], v)[1:]]
    return []


def way_back(before: dict[int, int], row: int) -> list[int]:
    """Return a row, the one before it, and so on."""
    rows = [row]
    while before[rows[-1]] >= 0:
        rows.append(before[rows[-1]])
    return rows


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


def sinks_first(graph: Opened) -> Rows:
    """Return of each row a label of its strongly connected component; on arrays labels ascend against the edges between components."""
    return strong(graph) if graph.asks(_COMPONENTS_WORK) else _labels(graph, "strong")


def _labels(graph: Opened, connection: str) -> Rows:
    import scipy.sparse.csgraph

    if not len(graph):
        return np.empty(0, np.int64)
    labels: Rows = scipy.sparse.csgraph.connected_components(
        graph.single.matrix, directed=True, connection=connection
    )[1]
    return labels


def _components(graph: Opened, connection: str) -> Rows:
    labels = _labels(graph, connection)
    _, firsts = np.unique(labels, return_index=True)
    found: Rows = firsts[labels]
    return found


def two_colors(graph: Opened) -> Rows | None:
    """Return a color for each row, 1 for the first of a component, so that neighbors have different ones; `None` if none do."""
    if graph.asks(2 * _COMPONENTS_WORK):
        found = graph.ask().snapshot.bipartition()
        return None if found is None else 1 - found.values.astype(np.int64)
    import scipy.sparse
    import scipy.sparse.csgraph

    # Each row is split into two halves, and an edge joins each half with the other half of its other end.
    count = len(graph)
    tails, heads = graph.single.tails.astype(np.int64), graph.single.heads.astype(np.int64)
    ends = np.concatenate([tails, tails + count]), np.concatenate([heads + count, heads])
    halves = scipy.sparse.coo_array((np.ones(len(ends[0]), np.int8), ends), shape=(2 * count, 2 * count))
    _, labels = scipy.sparse.csgraph.connected_components(
        halves, directed=True, connection="weak" if graph.directed else "strong"
    )
    even, odd = labels[:count], labels[count:]
    if (even == odd).any():
        return None
    _, firsts, component = np.unique(np.minimum(even, odd), return_index=True, return_inverse=True)
    colors: Rows = (even == even[firsts[component]]).astype(np.int64)
    return colors


def is_one_piece(graph: Opened) -> bool:
    """Return whether every node reaches every other one; a graph without nodes is one piece."""
    return bool(((strong if graph.directed else weak)(graph) == 0).all())
