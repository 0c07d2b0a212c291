"""Measures of distances: eccentricities, and means over all pairs."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from everedge._networkx.opened import Opened, opened
from everedge._networkx.paths import (
    all_pairs_shortest_path,
    all_pairs_shortest_path_length,
    bidirectional_shortest_path,
    eccentricities,
    single_source_shortest_path,
    single_source_shortest_path_length,
    single_target_shortest_path,
    single_target_shortest_path_length,
    sum_of_all_distances,
)
from everedge._networkx.searches import depths, is_one_piece


def _counts_edges(graph: Opened, weight: Any) -> None:
    if graph.weights(weight) is not None:
        raise NotImplementedError("only lengths that count edges")


def eccentricity(G: Any, v: Any = None, sp: Any = None, weight: Any = None) -> Any:
    if sp is not None:
        raise NotImplementedError("only distances that are not given")
    graph = opened(G)
    _counts_edges(graph, weight)
    if v is None:
        return graph.by_node(eccentricities(graph))
    rows = graph.chosen(v)
    found = {}
    for row, node in zip(rows.tolist(), graph.named(rows), strict=True):
        away = depths(graph, row)
        if (away < 0).any():
            why = "digraph is not strongly connected" if graph.directed else "graph is not connected"
            raise nx.NetworkXError(f"Found infinite path length because the {why}")
        found[node] = int(away.max())
    return found[v] if graph.find(v) is not None else found


def _all(G: Any, e: Any, usebounds: bool, weight: Any) -> tuple[Opened, Any]:
    """Return the graph and the eccentricity of each row."""
    if e is not None:
        raise NotImplementedError("only eccentricities that are not given")
    graph = opened(G)
    _counts_edges(graph, weight)
    if usebounds is True and not graph.directed and not is_one_piece(graph):
        raise nx.NetworkXError("Cannot compute metric because graph is not connected.")
    return graph, eccentricities(graph)


def diameter(G: Any, e: Any = None, usebounds: bool = False, weight: Any = None) -> int:
    return int(_all(G, e, usebounds, weight)[1].max())


def radius(G: Any, e: Any = None, usebounds: bool = False, weight: Any = None) -> int:
    return int(_all(G, e, usebounds, weight)[1].min())


def center(G: Any, e: Any = None, usebounds: bool = False, weight: Any = None) -> list[Any]:
    graph, found = _all(G, e, usebounds, weight)
    if not len(graph) and not graph.directed and weight is None and usebounds is not True:
        raise nx.NetworkXPointlessConcept("G has no nodes.")
    return graph.named(np.flatnonzero(found == found.min()))


def periphery(G: Any, e: Any = None, usebounds: bool = False, weight: Any = None) -> list[Any]:
    graph, found = _all(G, e, usebounds, weight)
    return graph.named(np.flatnonzero(found == found.max()))


def average_shortest_path_length(G: Any, weight: Any = None, method: Any = None) -> float:
    methods = [None, "unweighted", "dijkstra", "bellman-ford", "floyd-warshall", "floyd-warshall-numpy"]
    if method not in methods:
        raise ValueError(f"method not supported: {method}")
    graph = opened(G)
    count = len(graph)
    if count == 0:
        what = "the null graph has no paths, thus there is no average shortest path length"
        raise nx.NetworkXPointlessConcept(what)
    if count == 1:
        return 0
    if method != "unweighted":
        _counts_edges(graph, weight)
    if not is_one_piece(graph):
        raise nx.NetworkXError(f"Graph is not {'strongly ' if graph.directed else ''}connected.")
    return sum_of_all_distances(graph) / (count * (count - 1))


def wiener_index(G: Any, weight: Any = None) -> float:
    graph = opened(G)
    _counts_edges(graph, weight)
    if len(graph) == 0:
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    if not is_one_piece(graph):
        return float("inf")
    total = sum_of_all_distances(graph)
    return total if graph.directed else total / 2


def efficiency(G: Any, u: Any, v: Any) -> float:
    try:
        return 1 / (len(bidirectional_shortest_path(G, u, v)) - 1)
    except nx.NetworkXNoPath:
        return 0


def global_efficiency(G: Any) -> float:
    graph = opened(G)
    count = len(graph)
    if count < 2:
        return 0
    return float(graph.ask().snapshot.harmonic().values.sum()) / (count * (count - 1))


def shortest_path(
    G: Any, source: Any = None, target: Any = None, weight: Any = None, method: str = "dijkstra"
) -> Any:
    if _has_lengths(weight, method, source, target):
        return _by_weights(G, "path", source, target, weight, method)
    if source is None and target is None:
        return all_pairs_shortest_path(G)
    if source is None:
        return single_target_shortest_path(G, target)
    if target is None:
        return single_source_shortest_path(G, source)
    return bidirectional_shortest_path(G, source, target)


def shortest_path_length(
    G: Any, source: Any = None, target: Any = None, weight: Any = None, method: str = "dijkstra"
) -> Any:
    if _has_lengths(weight, method, source, target):
        return _by_weights(G, "path_length", source, target, weight, method)
    if source is None and target is None:
        return all_pairs_shortest_path_length(G)
    if source is None:
        return single_target_shortest_path_length(G, target)
    if target is None:
        return single_source_shortest_path_length(G, source)
    return len(bidirectional_shortest_path(G, source, target)) - 1


def _has_lengths(weight: Any, method: str, source: Any, target: Any) -> bool:
    if method not in ("dijkstra", "bellman-ford"):
        raise ValueError(f"method not supported: {method}")
    if weight is not None and source is None and target is not None:
        raise NotImplementedError("only paths by weights that begin somewhere")
    return weight is not None


def _by_weights(G: Any, what: str, source: Any, target: Any, weight: Any, method: str) -> Any:
    """Return what the function of the method finds, as NetworkX does."""
    from everedge._networkx import weighted

    name = method.replace("-", "_")
    if source is None:
        return getattr(weighted, f"all_pairs_{name}_{what}")(G, weight=weight)
    if target is None:
        return getattr(weighted, f"single_source_{name}_{what}")(G, source, weight=weight)
    if (what, method) == ("path", "dijkstra"):
        return weighted.bidirectional_dijkstra(G, source, target, weight)[1]
    return getattr(weighted, f"{name}_{what}")(G, source, target, weight)
