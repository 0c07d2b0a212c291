"""Shortest paths by the number of their edges.

Distances come from the kernels `bfs`, `closeness` and `harmonic`, a path between two nodes from two searches that meet. Where NetworkX
promises an order of discovery, SciPy searches the lists in their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np

from everedge._networkx.opened import Asked, Opened, opened
from everedge._networkx.lists import Lists, Rows

_FEW_HOPS = 3


def row_of(graph: Opened, node: Any, what: str = "Source") -> int:
    """Return the row of a node. Raises `NodeNotFound` for what is none."""
    row = graph.find(node)
    if row is None:
        raise nx.NodeNotFound(f"{what} {node} is not in G")
    return row


class Search:
    """A breadth-first search in the order of lists, from one row."""

    def __init__(self, lists: Lists, row: int) -> None:
        import scipy.sparse.csgraph

        order, parents = scipy.sparse.csgraph.breadth_first_order(lists.matrix, row)
        self.order: Rows = order
        """Shape `[reached]`: the rows that it reaches, in the order of their discovery."""
        self.parents: Rows = parents[order]
        """Shape `[reached]`: the row that each was discovered from; of the first there is none."""

    @cached_property
    def depths(self) -> Rows:
        """Shape `[reached]`: how many edges away each is. Cost: the logarithm of the depth times `reached`."""
        places = np.empty(int(self.order.max()) + 1, np.int64)
        places[self.order] = np.arange(len(self.order))
        ancestors = np.zeros(len(self.order), np.int64)
        ancestors[1:] = places[self.parents[1:]]
        depths = np.ones(len(self.order), np.int64)
        depths[0] = 0
        while ancestors.any():
            depths += depths[ancestors]
            ancestors = ancestors[ancestors]
        return depths


def _limit(cutoff: Any) -> float:
    return float("inf") if cutoff is None else max(cutoff, 0)


def _nearest(graph: Opened, row: int, cutoff: Any, reverse: bool) -> tuple[Rows, Rows]:
    """Return the rows up to `cutoff` away from one, the nearest first, and how far each is."""
    limit = _limit(cutoff)
    asked = graph.ask(reverse=reverse)
    if limit <= _FEW_HOPS:
        vertex = asked.vertices_of(np.array([row]))
        found, away = asked.snapshot._native.within(vertex, int(limit), "out")
        return asked.rows_of(found), away
    depths = asked.depths(row)
    rows = np.flatnonzero((depths >= 0) & (depths <= limit))
    rows = rows[np.argsort(depths[rows], kind="stable")]
    return rows, depths[rows]


def single_source_shortest_path_length(G: Any, source: Any, cutoff: Any = None) -> dict[Any, int]:
    graph = opened(G)
    return graph.by_nodes(*_nearest(graph, row_of(graph, source), cutoff, False))


def single_target_shortest_path_length(G: Any, target: Any, cutoff: Any = None) -> dict[Any, int]:
    graph = opened(G)
    return graph.by_nodes(*_nearest(graph, row_of(graph, target, "Target"), cutoff, True))


def all_pairs_shortest_path_length(G: Any, cutoff: Any = None) -> Iterator[tuple[Any, dict[Any, int]]]:
    graph = opened(G)
    return (
        (node, graph.by_nodes(*_nearest(graph, row, cutoff, False))) for row, node in enumerate(graph.nodes)
    )


def _paths(graph: Opened, lists: Lists, row: int, cutoff: Any, forward: bool) -> dict[Any, list[Any]]:
    search = Search(lists, row)
    order, parents = search.order, search.parents
    if cutoff is not None:
        is_near = search.depths <= _limit(cutoff)
        order, parents = order[is_near], parents[is_near]
    first, *others = graph.named(order)
    paths = {first: [first]}
    if forward:
        for node, parent in zip(others, graph.named(parents[1:]), strict=True):
            paths[node] = [*paths[parent], node]
    else:
        for node, parent in zip(others, graph.named(parents[1:]), strict=True):
            paths[node] = [node, *paths[parent]]
    return paths


def single_source_shortest_path(G: Any, source: Any, cutoff: Any = None) -> dict[Any, list[Any]]:
    graph = opened(G)
    return _paths(graph, graph.out, row_of(graph, source), cutoff, True)


def single_target_shortest_path(G: Any, target: Any, cutoff: Any = None) -> dict[Any, list[Any]]:
    graph = opened(G)
    return _paths(graph, graph.into, row_of(graph, target, "Target"), cutoff, False)


def all_pairs_shortest_path(G: Any, cutoff: Any = None) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    graph = opened(G)
    return (
        (node, _paths(graph, graph.out, row, cutoff, True)) for row, node in enumerate(graph.nodes)
    )


def _ends(graph: Opened, source: Any, target: Any) -> tuple[int, int]:
    return row_of(graph, source), row_of(graph, target, "Target")


def _between(graph: Opened, source: Any, target: Any) -> Rows | None:
    """Return the rows of a shortest path; `None` if there is none."""
    ends = _ends(graph, source, target)
    asked = graph.ask()
    u, v = asked.vertices_of(np.array(ends)).tolist()
    found = asked.snapshot._native.path(u, v, True)
    return None if found is None else asked.rows_of(found[0])


def bidirectional_shortest_path(G: Any, source: Any, target: Any) -> list[Any]:
    graph = opened(G)
    rows = _between(graph, source, target)
    if rows is None:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return graph.named(rows)


def has_path(G: Any, source: Any, target: Any) -> bool:
    return _between(opened(G), source, target) is not None


def bfs_edges(
    G: Any, source: Any, reverse: bool = False, depth_limit: Any = None, sort_neighbors: Any = None
) -> Iterator[tuple[Any, Any]]:
    if sort_neighbors is not None or depth_limit is not None:
        raise NotImplementedError("only searches without a limit, in the order of neighbors")
    graph = opened(G)
    search = _from_any(graph, source, reverse)
    return zip(graph.named(search.parents[1:]), graph.named(search.order[1:]), strict=True)


def _from_any(graph: Opened, source: Any, reverse: bool = False) -> Search:
    row = graph.find(source)
    if row is None:
        kind = "digraph" if graph.directed else "graph"
        raise nx.NetworkXError(f"The node {source} is not in the {kind}.")
    return Search(graph.into if reverse else graph.out, row)


def bfs_predecessors(
    G: Any, source: Any, depth_limit: Any = None, sort_neighbors: Any = None
) -> Iterator[tuple[Any, Any]]:
    return ((v, u) for u, v in bfs_edges(G, source, False, depth_limit, sort_neighbors))


def bfs_successors(
    G: Any, source: Any, depth_limit: Any = None, sort_neighbors: Any = None
) -> Iterator[tuple[Any, list[Any]]]:
    if sort_neighbors is not None or depth_limit is not None:
        raise NotImplementedError("only searches without a limit, in the order of neighbors")
    graph = opened(G)
    search = _from_any(graph, source)
    parents, children = search.parents[1:], graph.named(search.order[1:])
    if not children:
        return iter([(source, [])])
    begins = np.flatnonzero(np.append(True, parents[1:] != parents[:-1]))
    ends = np.append(begins[1:], len(parents)).tolist()
    parts = zip(graph.named(parents[begins]), begins.tolist(), ends, strict=True)
    return ((parent, children[begin:end]) for parent, begin, end in parts)


def bfs_layers(G: Any, sources: Any) -> Iterator[list[Any]]:
    graph = opened(G)
    if graph.find(sources) is None:
        raise NotImplementedError("only layers around one node")
    search = _from_any(graph, sources)
    nodes = graph.named(search.order)
    ends = np.cumsum(np.bincount(search.depths)).tolist()
    return (nodes[begin:end] for begin, end in zip([0, *ends], ends, strict=False))


def descendants_at_distance(G: Any, source: Any, distance: Any) -> set[Any]:
    graph = opened(G)
    row = graph.find(source)
    if row is None:
        raise nx.NetworkXError(f"The node {source} is not in the graph.")
    rows, away = _nearest(graph, row, distance, False)
    return set(graph.named(rows[away == distance]))


def descendants(G: Any, source: Any) -> set[Any]:
    return _reached(opened(G), source, False)


def ancestors(G: Any, source: Any) -> set[Any]:
    return _reached(opened(G), source, True)


def _reached(graph: Opened, source: Any, reverse: bool) -> set[Any]:
    row = graph.find(source)
    if row is None:
        kind = "digraph" if graph.directed else "graph"
        raise nx.NetworkXError(f"The node {source} is not in the {kind}.")
    is_reached = graph.ask(reverse=reverse).depths(row) > 0
    return set(graph.named(np.flatnonzero(is_reached)))


def sums_of_distances(asked: Asked, count: int) -> Rows:
    """Return of each row the sum of the distances to it from all others, which all reach it; exact below 2^53."""
    closeness = asked.snapshot.closeness().values
    return np.rint((count - 1) / closeness).astype(np.int64)


def is_one_piece(graph: Opened) -> bool:
    """Return whether every node reaches every other one; a graph without nodes is one piece."""
    values = graph.ask().snapshot.scc() if graph.directed else graph.ask().snapshot.wcc()
    labels = values._by_vertex()
    return bool((labels == labels[:1]).all())


def sum_of_all_distances(graph: Opened) -> int:
    """Return the sum of the distances of all pairs, both ways, of a graph in one piece."""
    return int(sums_of_distances(graph.ask(), len(graph)).sum()) if len(graph) > 1 else 0


def eccentricities(graph: Opened) -> Rows:
    """Return of each row how far the farthest node is. Raises `NetworkXError` if one does not reach all others."""
    if not is_one_piece(graph):
        why = "digraph is not strongly connected" if graph.directed else "graph is not connected"
        raise nx.NetworkXError(f"Found infinite path length because the {why}")
    if len(graph) < 2:
        return np.zeros(len(graph), np.int64)
    found: Rows = graph.ask(reverse=True).snapshot.radii(samples=len(graph)).values
    return found
