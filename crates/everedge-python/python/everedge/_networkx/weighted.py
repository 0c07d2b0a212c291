"""Shortest paths by weights that are not negative.

Where 32 bits keep the weights, a search of everedge finds what NetworkX's does in the same order. Else distances come from SciPy's
search in 64 bits, which gives the same sums, and a path goes back by edges along which the sum is the distance.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from heapq import heappop, heappush
from itertools import count
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from everedge._networkx.lists import Numbers, Rows, lists_of
from everedge._networkx.opened import Opened, opened
from everedge._networkx.searches import path, way_back

_PROBED_ARCS = 1024

Lengths = npt.NDArray[np.float64]


class Roads:
    """A graph with lengths of edges that are not negative."""

    def __init__(self, G: Any, weight: Any) -> None:
        self.graph: Opened = opened(G)
        self.weight = weight
        self.weights: Numbers | None = self.graph.weights(weight)
        if self.graph.least_weight(weight) < 0:
            raise NotImplementedError("only weights that are not negative")
        if self.weights is not None and self.weights.dtype.kind == "i":
            if len(self.weights) and int(self.weights.max()) * (len(self.graph) - 1) > 1 << 53:
                raise NotImplementedError("only whole lengths of paths up to 2^53, which 64-bit floats keep")
        self.fits = self.graph.fits(weight)
        """Whether 32 bits keep the weights."""

    def row_of(self, node: Any) -> int:
        """Return the row of a node. Raises `NodeNotFound` for what is none."""
        row = self.graph.find(node)
        if row is None:
            raise nx.NodeNotFound(f"Node {node} not found in graph")
        return row

    def rows_of(self, sources: Any) -> Rows:
        """Return the rows of the nodes that paths begin at."""
        if not sources:
            raise ValueError("sources must not be empty")
        return np.array([self.row_of(source) for source in sources])

    def search(self, rows: Rows, cutoff: Any) -> tuple[Rows, Rows, Lengths]:
        """Return the rows that are reached from the nearest of some within `cutoff`, the nearest first, the row before each on a
        shortest path, a source before itself, and the lengths of the paths."""
        if not self.fits:
            lengths = self.lengths(rows)
            near = self.near(lengths, cutoff)
            parents = self.parents(lengths)[near]
            return near, np.where(parents < 0, near, parents), lengths[near]
        is_plain = self.weights is None and len(rows) > 1
        asked = self.graph.plain if is_plain else self.graph.ask(self.weight, "min")
        if len(rows) == 1 and self.weights is None:
            found = asked.search(int(rows[0]), False, np.inf if cutoff is None else max(cutoff, 0))
            return found.order, found.parents, found.depths.astype(np.float64)
        order, parents, lengths = asked.weighted_search(rows)
        # Who is searched from is there, however small the cutoff is.
        least = len(np.unique(rows))
        count = len(order) if cutoff is None else max(least, int(np.searchsorted(lengths, cutoff, "right")))
        return order[:count], parents[:count], lengths[:count]

    def lengths(self, rows: Rows) -> Lengths:
        """Return the length of the shortest path to each row from the nearest of some rows; `inf` if there is none."""
        if self.fits:
            order, _, found = self.search(rows, None)
            away = np.full(len(self.graph), np.inf)
            away[order] = found
            return away
        import scipy.sparse.csgraph

        lengths: Lengths = scipy.sparse.csgraph.dijkstra(self._matrix, indices=rows, min_only=True)
        return lengths

    @cached_property
    def _matrix(self) -> Any:
        """The lengths of edges, of parallel ones the smallest."""
        lists, weights = self.graph.out, self.weights
        assert weights is not None
        if self.graph.multigraph:
            lists, kept = lists_of(lists.tails, lists.heads, len(self.graph), weights, "min")
            assert kept is not None
            weights = kept
        return lists.matrix_of(weights.astype(np.float64))

    def probe(self, row: int, target: int = -1) -> tuple[dict[int, Any], dict[int, int]] | None:
        """Return the length to each row that one reaches, the nearest first, and the row before it; `None` if they are many.

        It ends at `target`. Cost: a thousand edges at most.
        """
        lengths: dict[int, Any] = {}
        seen: dict[int, Any] = {row: 0}
        before = {row: -1}
        fringe: list[tuple[Any, int, int]] = [(0, 0, row)]
        arcs = 0
        # Of equal lengths the one that was found first goes first, as in NetworkX.
        turns = count(1)
        while fringe:
            length, _, u = heappop(fringe)
            if u in lengths:
                continue
            lengths[u] = length
            if u == target:
                break
            edges = self._edges_of(u, False)
            arcs += len(edges)
            if arcs > _PROBED_ARCS:
                return None
            for v, weight in edges:
                through = length + weight
                if v not in seen or through < seen[v]:
                    seen[v], before[v] = through, u
                    heappush(fringe, (through, next(turns), v))
        return lengths, before

    def _reached(self, source: int, target: int) -> tuple[Any, list[int]] | None:
        """Return the same by one search."""
        probed = self.probe(source, target)
        if probed is None:
            return None
        lengths, before = probed
        return (lengths[target], way_back(before, target)[::-1]) if target in lengths else (None, [])

    def _meeting(self, source: int, target: int) -> tuple[Any, list[int]] | None:
        """Return the length of a shortest path and its rows as NetworkX finds them, by two searches that meet.

        None are the rows if there is no path, and `None` is returned if it takes long.
        """
        lengths: tuple[dict[int, Any], dict[int, Any]] = ({}, {})
        before, seen = ({source: -1}, {target: -1}), ({source: 0}, {target: 0})
        fringes: list[list[tuple[Any, int, int]]] = [[(0, 0, source)], [(0, 1, target)]]
        turns, arcs, side = count(2), 0, 1
        shortest, middle = None, -1
        while fringes[0] and fringes[1]:
            side = 1 - side
            length, _, u = heappop(fringes[side])
            if u in lengths[side]:
                continue
            lengths[side][u] = length
            if u in lengths[1 - side]:
                return shortest, [*way_back(before[0], middle)[::-1], *way_back(before[1], middle)[1:]]
            edges = self._edges_of(u, side == 1)
            arcs += len(edges)
            if arcs > _PROBED_ARCS:
                return None
            for v, weight in edges:
                through = length + weight
                if v in lengths[side] or through >= seen[side].get(v, np.inf):
                    continue
                seen[side][v], before[side][v] = through, u
                heappush(fringes[side], (through, next(turns), v))
                if v in seen[1 - side] and (shortest is None or through + seen[1 - side][v] < shortest):
                    shortest, middle = through + seen[1 - side][v], v
        return None, []

    def _edges_of(self, row: int, reverse: bool) -> list[tuple[int, Any]]:
        if self.weights is None:
            return [(v, 1) for v in self.graph.neighbors_of(row, reverse)]
        lists = self.graph.into if reverse else self.graph.out
        weights = self.graph.weights_into(self.weight) if reverse else self.weights
        assert weights is not None
        place = slice(int(lists.starts[row]), int(lists.starts[row + 1]))
        return list(zip(lists.heads[place].tolist(), weights[place].tolist(), strict=True))

    def between(
        self, source: Any, target: Any, both_ways: bool = False
    ) -> tuple[Any, list[Any]] | None:
        """Return the length of a shortest path and that path; `None` if there is none. It is searched from one end or from both."""
        graph = self.graph
        u, v = graph.find(source), graph.find(target)
        if u is None or v is None:
            return None
        met = self._meeting(u, v) if both_ways else self._reached(u, v)
        if met is not None:
            return (met[0], graph.named_few(met[1])) if met[1] else None
        if self.weights is None:
            rows = path(graph, u, v)
            return None if rows is None else (len(rows) - 1, graph.named_few(rows))
        if not self.fits:
            lengths = self.lengths(np.array([u]))
            if not np.isfinite(lengths[v]):
                return None
            parents, way = self.parents(lengths), [v]
            while way[-1] != u:
                parent = int(parents[way[-1]])
                assert parent >= 0, "a length that no edge leads to"
                way.append(parent)
            return self.shown(lengths[v : v + 1])[0], graph.named_few(way[::-1])
        asked = graph.ask(self.weight, "min")
        start, end = asked.vertices_of(np.array([u, v])).tolist()
        found = asked.snapshot._native.path(start, end, False)
        if found is None:
            return None
        return self.shown(np.array([found[1]]))[0], graph.named(asked.rows_of(found[0]))

    def near(self, lengths: Lengths, cutoff: Any) -> Rows:
        """Return the rows that are reached within `cutoff`, 0 at least, the nearest first."""
        rows = np.flatnonzero(lengths <= (np.finfo(np.float64).max if cutoff is None else max(cutoff, 0)))
        return rows[np.argsort(lengths[rows], kind="stable")]

    def shown(self, lengths: Lengths) -> list[Any]:
        """Return lengths as NetworkX adds them up: integers if weights are."""
        are_whole = self.weights is None or self.weights.dtype.kind == "i"
        found: list[Any] = (lengths.astype(np.int64) if are_whole else lengths).tolist()
        return found

    def tight(self, lengths: Lengths) -> tuple[Rows, Rows]:
        """Return the ends of the edges on shortest paths, by their heads, and for each the nearest tails first."""
        if self.graph.least_weight(self.weight) == 0:
            raise NotImplementedError("only paths along weights above 0")
        lists = self.graph.into
        weights = self.graph.weights_into(self.weight)
        heads, tails = lists.tails, lists.heads
        by_way = lengths[tails] + (1 if weights is None else weights)
        is_tight = np.flatnonzero((by_way == lengths[heads]) & np.isfinite(by_way))
        heads, tails = heads[is_tight], tails[is_tight]
        order = np.lexsort((lengths[tails], heads))
        return heads[order], tails[order]

    def parents(self, lengths: Lengths) -> Rows:
        """Return of each row the one before it on a shortest path, -1 for a source and what is not reached."""
        heads, tails = self.tight(lengths)
        parents = np.full(len(lengths), -1, np.int64)
        parents[heads[::-1]] = tails[::-1]
        return parents

    def lengths_by_node(self, rows: Rows, cutoff: Any) -> dict[Any, Any]:
        """Return the length to each node that is reached, the nearest first."""
        order, lengths = self.reached(rows, cutoff)
        return dict(zip(self.graph.named(order), self.shown(lengths), strict=True))

    def reached(self, rows: Rows, cutoff: Any) -> tuple[Rows, Lengths]:
        """Return the rows that are reached, the nearest first, and how far away they are."""
        if self.fits:
            order, _, found = self.search(rows, cutoff)
            return order, found
        lengths = self.lengths(rows)
        near = self.near(lengths, cutoff)
        return near, lengths[near]

    def paths_by_node(self, rows: Rows, cutoff: Any) -> tuple[dict[Any, Any], dict[Any, list[Any]]]:
        """Return the length of a shortest path to each node that is reached, and that path."""
        order, parents, lengths = self.search(rows, cutoff)
        nodes, befores = self.graph.named(order), self.graph.named(parents)
        paths: dict[Any, list[Any]] = {}
        for node, before, is_source in zip(nodes, befores, (order == parents).tolist(), strict=True):
            paths[node] = [node] if is_source else [*paths[before], node]
        return dict(zip(nodes, self.shown(lengths), strict=True)), paths


def multi_source_dijkstra_path_length(
    G: Any, sources: Any, cutoff: Any = None, weight: Any = "weight"
) -> dict[Any, Any]:
    roads = Roads(G, weight)
    return roads.lengths_by_node(roads.rows_of(sources), cutoff)


def multi_source_dijkstra(
    G: Any, sources: Any, target: Any = None, cutoff: Any = None, weight: Any = "weight"
) -> Any:
    roads = Roads(G, weight)
    rows = roads.rows_of(sources)
    if target is None:
        return roads.paths_by_node(rows, cutoff)
    if target in sources:
        return 0, [target]
    if len(rows) != 1:
        raise NotImplementedError("only one source to a target")
    found = roads.between(next(iter(sources)), target)
    if found is None or cutoff is not None and found[0] > cutoff:
        raise nx.NetworkXNoPath(f"No path to {target}.")
    return found


def multi_source_dijkstra_path(
    G: Any, sources: Any, cutoff: Any = None, weight: Any = "weight"
) -> dict[Any, list[Any]]:
    paths: dict[Any, list[Any]] = multi_source_dijkstra(G, sources, None, cutoff, weight)[1]
    return paths


def single_source_dijkstra(
    G: Any, source: Any, target: Any = None, cutoff: Any = None, weight: Any = "weight"
) -> Any:
    return multi_source_dijkstra(G, [source], target, cutoff, weight)


def single_source_dijkstra_path(
    G: Any, source: Any, cutoff: Any = None, weight: Any = "weight"
) -> dict[Any, list[Any]]:
    return multi_source_dijkstra_path(G, [source], cutoff, weight)


def single_source_dijkstra_path_length(
    G: Any, source: Any, cutoff: Any = None, weight: Any = "weight"
) -> dict[Any, Any]:
    return multi_source_dijkstra_path_length(G, [source], cutoff, weight)


def dijkstra_path(G: Any, source: Any, target: Any, weight: Any = "weight") -> list[Any]:
    path: list[Any] = multi_source_dijkstra(G, [source], target, None, weight)[1]
    return path


def dijkstra_path_length(G: Any, source: Any, target: Any, weight: Any = "weight") -> Any:
    roads = Roads(G, weight)
    roads.row_of(source)
    if source == target:
        return 0
    found = roads.between(source, target)
    if found is None:
        raise nx.NetworkXNoPath(f"Node {target} not reachable from {source}")
    return found[0]


def bidirectional_dijkstra(G: Any, source: Any, target: Any, weight: Any = "weight") -> Any:
    roads = Roads(G, weight)
    for node, what in ((source, "Source"), (target, "Target")):
        if roads.graph.find(node) is None:
            raise nx.NodeNotFound(f"{what} {node} is not in G")
    if source == target:
        return 0, [source]
    found = roads.between(source, target, True)
    if found is None:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return found


def dijkstra_predecessor_and_distance(
    G: Any, source: Any, cutoff: Any = None, weight: Any = "weight"
) -> tuple[dict[Any, list[Any]], dict[Any, Any]]:
    roads = Roads(G, weight)
    row = roads.graph.find(source)
    if row is None:
        raise nx.NodeNotFound(f"Node {source} is not found in the graph")
    lengths = roads.lengths(np.array([row]))
    near = roads.near(lengths, cutoff)
    heads, tails = roads.tight(lengths)
    nodes = roads.graph.named(near)
    before: dict[Any, list[Any]] = {node: [] for node in nodes}
    is_near = lengths[heads] <= (np.inf if cutoff is None else cutoff)
    for node, tail in zip(
        roads.graph.named(heads[is_near]), roads.graph.named(tails[is_near]), strict=True
    ):
        found = before[node]
        # Parallel edges are one.
        if not found or found[-1] != tail:
            found.append(tail)
    return before, dict(zip(nodes, roads.shown(lengths[near]), strict=True))


def all_pairs_dijkstra(G: Any, cutoff: Any = None, weight: Any = "weight") -> Iterator[Any]:
    roads = Roads(G, weight)
    if not roads.fits:
        roads.tight(np.zeros(len(roads.graph)))
    rows = range(len(roads.graph))
    return ((v, roads.paths_by_node(np.array([r]), cutoff)) for v, r in zip(roads.graph, rows, strict=True))


def all_pairs_dijkstra_path(G: Any, cutoff: Any = None, weight: Any = "weight") -> Iterator[Any]:
    return ((node, found[1]) for node, found in all_pairs_dijkstra(G, cutoff, weight))


def all_pairs_dijkstra_path_length(G: Any, cutoff: Any = None, weight: Any = "weight") -> Iterator[Any]:
    roads = Roads(G, weight)
    rows = range(len(roads.graph))
    return ((v, roads.lengths_by_node(np.array([r]), cutoff)) for v, r in zip(roads.graph, rows, strict=True))


def johnson(G: Any, weight: Any = "weight") -> dict[Any, dict[Any, list[Any]]]:
    return dict(all_pairs_dijkstra_path(G, None, weight))


def bellman_ford_path(G: Any, source: Any, target: Any, weight: Any = "weight") -> list[Any]:
    try:
        path: list[Any] = single_source_bellman_ford(G, source, target, weight)[1]
    except nx.NetworkXNoPath:
        raise nx.NetworkXNoPath(f"Target {target} cannot be reached from given sources") from None
    return path


def bellman_ford_path_length(G: Any, source: Any, target: Any, weight: Any = "weight") -> Any:
    if source == target:
        Roads(G, weight).row_of(source)
        return 0
    try:
        return single_source_bellman_ford(G, source, target, weight)[0]
    except nx.NetworkXNoPath:
        raise nx.NetworkXNoPath(f"node {target} not reachable from {source}") from None


def single_source_bellman_ford_path(G: Any, source: Any, weight: Any = "weight") -> dict[Any, list[Any]]:
    paths: dict[Any, list[Any]] = single_source_bellman_ford(G, source, None, weight)[1]
    return paths


def single_source_bellman_ford_path_length(G: Any, source: Any, weight: Any = "weight") -> dict[Any, Any]:
    roads = Roads(G, weight)
    return roads.lengths_by_node(_source(roads, source), None)


def single_source_bellman_ford(
    G: Any, source: Any, target: Any = None, weight: Any = "weight"
) -> Any:
    roads = Roads(G, weight)
    if source == target:
        if roads.graph.find(source) is None:
            raise nx.NodeNotFound(f"Node {source} is not found in the graph")
        return 0, [source]
    rows = _source(roads, source)
    if target is None:
        return roads.paths_by_node(rows, None)
    found = roads.between(source, target)
    if found is None:
        raise nx.NetworkXNoPath(f"Node {target} not reachable from {source}")
    return found


def _source(roads: Roads, source: Any) -> Rows:
    row = roads.graph.find(source)
    if row is None:
        raise nx.NodeNotFound(f"Source {source} not in G")
    return np.array([row])


def all_pairs_bellman_ford_path(G: Any, weight: Any = "weight") -> Iterator[Any]:
    return all_pairs_dijkstra_path(G, None, weight)


def all_pairs_bellman_ford_path_length(G: Any, weight: Any = "weight") -> Iterator[Any]:
    return all_pairs_dijkstra_path_length(G, None, weight)
