"""Degrees, and what can be said from them alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from everedge._networkx.lists import Numbers, Rows, summed
from everedge._networkx.opened import Opened, opened


def isolates(G: Any) -> Iterator[Any]:
    graph = opened(G)
    return iter(graph.named(np.flatnonzero(graph.degrees == 0)))


def number_of_isolates(G: Any) -> int:
    return int((opened(G).degrees == 0).sum())


def number_of_selfloops(G: Any) -> int:
    return opened(G).loop_count


def is_regular(G: Any) -> bool:
    graph = opened(G)
    if not len(graph):
        raise nx.NetworkXPointlessConcept("Graph has no nodes.")
    sides = [graph.out.lengths, graph.into.lengths] if graph.directed else [graph.degrees]
    return all(bool((degrees == degrees[0]).all()) for degrees in sides)


def is_k_regular(G: Any, k: Any) -> bool:
    return bool((opened(G).degrees == k).all())


def s_metric(G: Any) -> float:
    graph = opened(G)
    degrees = graph.degrees.astype(np.float64)
    products = degrees[graph.out.tails] * degrees[graph.out.heads]
    if graph.directed:
        return float(products.sum())
    return float(products.sum() + products[graph.is_loop].sum()) / 2


def _chosen_degrees(graph: Opened, side: str) -> Rows:
    """Return degrees, `out`, `in` or `in+out`."""
    if not graph.directed or side == "in+out":
        return graph.degrees
    return graph.out.lengths if side == "out" else graph.into.lengths


def average_neighbor_degree(
    G: Any, source: str = "out", target: str = "out", nodes: Any = None, weight: Any = None
) -> dict[Any, float]:
    graph = opened(G)
    if graph.directed:
        for name, side in (("source", source), ("target", target)):
            if side not in ("in", "out", "in+out"):
                raise nx.NetworkXError(f"{name} argument {side} must be 'in', 'out' or 'in+out'")
    elif source != "out" or target != "out":
        raise nx.NetworkXError("source and target arguments are only supported for directed graphs")
    if graph.multigraph or graph.weights(weight) is not None:
        raise NotImplementedError("only graphs without parallel edges and weights")
    of_target = _chosen_degrees(graph, target).astype(np.float64)
    sums = np.zeros(len(graph))
    if "out" in source:
        sums += graph.out.matrix @ of_target
    if "in" in source and graph.directed:
        sums += graph.into.matrix @ of_target
    degrees = _chosen_degrees(graph, source)
    means = np.divide(sums, degrees, out=np.zeros(len(graph)), where=degrees > 0)
    rows = graph.chosen(nodes)
    return graph.by_nodes(rows, means[rows])


def average_degree_connectivity(
    G: Any, source: str = "in+out", target: str = "in+out", nodes: Any = None, weight: Any = None
) -> dict[int, float]:
    graph = opened(G)
    if graph.directed or nodes is not None or graph.multigraph or graph.weights(weight) is not None:
        raise NotImplementedError("only all nodes of graphs without directions, parallel edges and weights")
    if source != "in+out" or target != "in+out":
        raise nx.NetworkXError("source and target arguments are only supported for directed graphs")
    degrees = graph.degrees
    sums = graph.out.matrix @ degrees.astype(np.float64)
    found, group = np.unique(degrees, return_inverse=True)
    norms = np.bincount(group, degrees)
    means = np.divide(np.bincount(group, sums), norms, out=np.zeros(len(found)), where=norms > 0)
    return dict(zip(found.tolist(), means.tolist(), strict=True))


def _ends(graph: Opened, x: str, y: str, nodes: Any, weight: Any) -> tuple[Numbers, Numbers]:
    """Return the degrees of both ends of each edge, of an edge without a direction both ways."""
    if nodes is not None or graph.multigraph or graph.weights(weight) is not None:
        raise NotImplementedError("only all nodes of graphs without parallel edges and weights")
    of_x, of_y = _chosen_degrees(graph, x), _chosen_degrees(graph, y)
    return of_x[graph.out.tails].astype(np.float64), of_y[graph.out.heads].astype(np.float64)


def degree_assortativity_coefficient(
    G: Any, x: str = "out", y: str = "in", weight: Any = None, nodes: Any = None
) -> float:
    u, v = _ends(opened(G), x, y, nodes, weight)
    if not len(u):
        raise NotImplementedError("only graphs with edges")
    with np.errstate(invalid="ignore", divide="ignore"):
        both = (u * v).mean() - u.mean() * v.mean()
        spread = (np.square(u).mean() - u.mean() ** 2) * (np.square(v).mean() - v.mean() ** 2)
        return float(both / np.sqrt(spread))


def degree_pearson_correlation_coefficient(
    G: Any, x: str = "out", y: str = "in", weight: Any = None, nodes: Any = None
) -> float:
    import scipy.stats

    u, v = _ends(opened(G), x, y, nodes, weight)
    return float(scipy.stats.pearsonr(u, v)[0])


def overall_reciprocity(G: Any) -> float:
    graph = opened(G)
    if graph.multigraph:
        raise NotImplementedError("only graphs without parallel edges")
    if not graph.edge_count:
        raise nx.NetworkXError("Not defined for empty graphs")
    if not graph.directed:
        return 0.0
    return _mutual(graph) / graph.edge_count


def _mutual(graph: Opened) -> int:
    """Return how many edges have one back, a loop none."""
    count = len(graph)
    out = graph.simple
    pairs = out.tails.astype(np.int64) * count + out.heads
    back = out.heads.astype(np.int64) * count + out.tails
    return int(np.isin(back, pairs, assume_unique=True).sum())


def reciprocity(G: Any, nodes: Any = None) -> Any:
    if nodes is not None:
        raise NotImplementedError("only the reciprocity of all edges")
    return overall_reciprocity(G)


def volume(G: Any, S: Any, weight: Any = None) -> Any:
    graph = opened(G)
    if graph.directed:
        weights = graph.weights(weight)
        degrees = graph.out.lengths if weights is None else summed(graph.out.tails, weights, len(graph))
    else:
        degrees = graph.strengths(weight)
    return degrees[graph.chosen(S)].sum().item()
