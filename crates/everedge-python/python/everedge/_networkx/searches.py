"""Searches and components, by kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from everedge._networkx.lists import Rows
from everedge._networkx.opened import Found, Opened

_PROBED_ARCS = 1024


def search(graph: Opened, row: int, reverse: bool = False, limit: float = np.inf) -> Found:
    """Return what a breadth-first search from a row reaches up to `limit` edges away, in the order of lists."""
    return graph.ask().search(row, reverse, limit)


def depths(graph: Opened, row: int, reverse: bool = False) -> npt.NDArray[np.integer[Any]]:
    """Return how many edges away each row is from one, -1 for what it does not reach."""
    found = search(graph, row, reverse)
    away = np.full(len(graph), -1, np.int64)
    away[found.order] = found.depths
    return away


def path(graph: Opened, source: int, target: int) -> list[int] | None:
    """Return the rows of a shortest path; `None` if there is none."""
    met = _meeting(graph, source, target)
    if met is not None:
        return met or None
    asked = graph.ask()
    u, v = asked.vertices_of(np.array([source, target])).tolist()
    found = asked.snapshot._native.path(u, v, True)
    if found is None:
        return None
    rows: list[int] = asked.rows_of(found[0]).tolist()
    return rows


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
        here, there = before[side], before[1 - side]
        for u in level:
            neighbors = graph.neighbors_of(u, side == 1)
            arcs += len(neighbors)
            if arcs > _PROBED_ARCS:
                return None
            for v in neighbors:
                if v not in here:
                    here[v] = u
                    fringes[side].append(v)
                if v in there:
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
    asked = graph.ask()
    return asked.groups(asked.snapshot.wcc(threads=asked.threads))


def weak_count(graph: Opened) -> int:
    """Return how many components there are, whatever the directions of edges."""
    return int(graph.ask().summary("wcc")["components"])


def strong(graph: Opened) -> Rows:
    """Return of each row the smallest one of its strongly connected component."""
    asked = graph.ask()
    return asked.groups(asked.snapshot.scc(threads=asked.threads))


def strong_count(graph: Opened) -> int:
    """Return how many strongly connected components there are."""
    return int(graph.ask().summary("scc")["components"])


def sinks_first(graph: Opened) -> Rows:
    """Return of each row a label of its strongly connected component; labels ascend against the edges between components."""
    import scipy.sparse.csgraph

    if not len(graph):
        return np.empty(0, np.int64)
    labels: Rows = scipy.sparse.csgraph.connected_components(
        graph.single.matrix, directed=True, connection="strong"
    )[1]
    return labels


def two_colors(graph: Opened) -> Rows | None:
    """Return a color for each row, 1 for the first of a component, so that neighbors have different ones; `None` if none do."""
    asked = graph.ask()
    found = asked.snapshot.bipartition(threads=asked.threads)
    return None if found is None else 1 - found.values.astype(np.int64)


def is_one_piece(graph: Opened) -> bool:
    """Return whether every node reaches every other one; a graph without nodes is one piece."""
    return not len(graph) or (strong_count if graph.directed else weak_count)(graph) == 1
