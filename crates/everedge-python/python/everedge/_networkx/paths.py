"""Shortest paths by the number of their edges.

`searches.py` finds them, in NetworkX's order of discovery.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from everedge._networkx.lists import Rows
from everedge._networkx.opened import Asked, Found, Opened, lazily, opened
from everedge._networkx.searches import is_one_piece, path, search


def row_of(graph: Opened, node: Any, what: str = "Source", verb: str = "is not in") -> int:
    """Return the row of a node. Raises `NodeNotFound` for what is none."""
    row = graph.find(node)
    if row is None:
        raise nx.NodeNotFound(f"{what} {node} {verb} G")
    return row


def _limit(cutoff: Any) -> float:
    return float("inf") if cutoff is None else max(cutoff, 0)


def _lengths(graph: Opened, row: int, cutoff: Any, reverse: bool) -> dict[Any, int]:
    found = search(graph, row, reverse, _limit(cutoff))
    return graph.by_nodes(found.order, found.depths)


def single_source_shortest_path_length(G: Any, source: Any, cutoff: Any = None) -> dict[Any, int]:
    graph = opened(G)
    return _lengths(graph, row_of(graph, source), cutoff, False)


def single_target_shortest_path_length(G: Any, target: Any, cutoff: Any = None) -> dict[Any, int]:
    graph = opened(G)
    return _lengths(graph, row_of(graph, target, "Target"), cutoff, True)


def all_pairs_shortest_path_length(G: Any, cutoff: Any = None) -> Iterator[tuple[Any, dict[Any, int]]]:
    graph = opened(G)
    return (
        (node, _lengths(graph, row, cutoff, False)) for row, node in enumerate(graph.nodes)
    )


def _paths(graph: Opened, row: int, cutoff: Any, forward: bool) -> dict[Any, list[Any]]:
    found = search(graph, row, not forward, _limit(cutoff))
    nodes, parents = graph.named(found.order), graph.named(found.parents)
    paths = {nodes[0]: [nodes[0]]}
    pairs = zip(nodes, parents, strict=True)
    next(pairs)
    if forward:
        for node, parent in pairs:
            paths[node] = [*paths[parent], node]
    else:
        for node, parent in pairs:
            paths[node] = [node, *paths[parent]]
    return paths


def single_source_shortest_path(G: Any, source: Any, cutoff: Any = None) -> dict[Any, list[Any]]:
    graph = opened(G)
    return _paths(graph, row_of(graph, source, "Source", "not in"), cutoff, True)


def single_target_shortest_path(G: Any, target: Any, cutoff: Any = None) -> dict[Any, list[Any]]:
    graph = opened(G)
    return _paths(graph, row_of(graph, target, "Target", "not in"), cutoff, False)


def all_pairs_shortest_path(G: Any, cutoff: Any = None) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    graph = opened(G)
    return (
        (node, _paths(graph, row, cutoff, True)) for row, node in enumerate(graph.nodes)
    )


def _ends(graph: Opened, source: Any, target: Any) -> tuple[int, int]:
    return row_of(graph, source), row_of(graph, target, "Target")


def _between(graph: Opened, source: Any, target: Any) -> list[int] | None:
    """Return the rows of a shortest path; `None` if there is none."""
    return path(graph, *_ends(graph, source, target))


def bidirectional_shortest_path(G: Any, source: Any, target: Any) -> list[Any]:
    graph = opened(G)
    rows = _between(graph, source, target)
    if rows is None:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return graph.named_few(rows)


def has_path(G: Any, source: Any, target: Any) -> bool:
    return _between(opened(G), source, target) is not None


@lazily
def bfs_edges(
    G: Any, source: Any, reverse: bool = False, depth_limit: Any = None, sort_neighbors: Any = None
) -> Iterator[tuple[Any, Any]]:
    if sort_neighbors is not None or depth_limit is not None:
        raise NotImplementedError("only searches without a limit, in the order of neighbors")
    graph = opened(G)
    found = _from_any(graph, source, reverse)
    return zip(graph.named(found.parents[1:]), graph.named(found.order[1:]), strict=True)


def _from_any(graph: Opened, source: Any, reverse: bool = False) -> Found:
    row = graph.find(source)
    if row is None:
        kind = "digraph" if graph.directed else "graph"
        raise nx.NetworkXError(f"The node {source} is not in the {kind}.")
    return search(graph, row, reverse)


@lazily
def bfs_predecessors(
    G: Any, source: Any, depth_limit: Any = None, sort_neighbors: Any = None
) -> Iterator[tuple[Any, Any]]:
    return ((v, u) for u, v in bfs_edges(G, source, False, depth_limit, sort_neighbors))


@lazily
def bfs_successors(
    G: Any, source: Any, depth_limit: Any = None, sort_neighbors: Any = None
) -> Iterator[tuple[Any, list[Any]]]:
    if sort_neighbors is not None or depth_limit is not None:
        raise NotImplementedError("only searches without a limit, in the order of neighbors")
    graph = opened(G)
    found = _from_any(graph, source)
    parents, children = found.parents[1:], graph.named(found.order[1:])
    if not children:
        return iter([(source, [])])
    begins = np.flatnonzero(np.append(True, parents[1:] != parents[:-1]))
    ends = np.append(begins[1:], len(parents)).tolist()
    parts = zip(graph.named(parents[begins]), begins.tolist(), ends, strict=True)
    return ((parent, children[begin:end]) for parent, begin, end in parts)


@lazily
def bfs_layers(G: Any, sources: Any) -> Iterator[list[Any]]:
    graph = opened(G)
    if graph.find(sources) is None:
        raise NotImplementedError("only layers around one node")
    found = _from_any(graph, sources)
    nodes = graph.named(found.order)
    ends = np.cumsum(np.bincount(found.depths)).tolist()
    return (nodes[begin:end] for begin, end in zip([0, *ends], ends, strict=False))


def descendants_at_distance(G: Any, source: Any, distance: Any) -> set[Any]:
    graph = opened(G)
    row = graph.find(source)
    if row is None:
        raise nx.NetworkXError(f"The node {source} is not in the graph.")
    found = search(graph, row, False, _limit(distance))
    return set(graph.named(found.order[found.depths == distance]))


def descendants(G: Any, source: Any) -> set[Any]:
    return _reached(opened(G), source, False)


def ancestors(G: Any, source: Any) -> set[Any]:
    return _reached(opened(G), source, True)


def _reached(graph: Opened, source: Any, reverse: bool) -> set[Any]:
    row = graph.find(source)
    if row is None:
        kind = "digraph" if graph.directed else "graph"
        raise nx.NetworkXError(f"The node {source} is not in the {kind}.")
    return set(graph.named(search(graph, row, reverse).order[1:]))


def sums_of_distances(asked: Asked, count: int) -> Rows:
    """Return of each row the sum of the distances to it from all others, which all reach it; exact below 2^53."""
    closeness = asked.snapshot.closeness().values
    return np.rint((count - 1) / closeness).astype(np.int64)


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
