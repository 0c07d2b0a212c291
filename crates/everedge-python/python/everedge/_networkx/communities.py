"""Communities. Kernels draw otherwise than NetworkX does: a seed gives the same communities again, but not those of NetworkX.

NetworkX's tests hold `louvain_communities` to what it draws from a seed, so with one it is left to NetworkX.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from everedge._networkx.components import grouped
from everedge._networkx.lists import Numbers, summed
from everedge._networkx.opened import Opened, opened

_SEEDS = 1 << 63


def _found(graph: Opened, kernel: str, weight: Any, seed: Any, **parameters: float) -> list[set[Any]]:
    """Return the communities that a kernel finds, each named by its first node."""
    weights = graph.weights(weight)
    if not graph.fits(weight) or graph.least_weight(weight) < 0:
        raise NotImplementedError("only weights of 32 bits that are not negative")
    asked = graph.ask(weight, "sum")
    drawn = seed.randrange(_SEEDS) if isinstance(seed, random.Random) else seed
    labels = asked.groups(
        getattr(asked.snapshot, kernel)(weighted=weights is not None, seed=drawn, **parameters)
    )
    return list(grouped(graph, labels))


def louvain_communities(
    G: Any,
    weight: Any = "weight",
    resolution: float = 1,
    threshold: float = 1e-07,
    max_level: Any = None,
    seed: Any = None,
) -> list[set[Any]]:
    graph = opened(G)
    if max_level is not None or graph.directed:
        raise NotImplementedError("only the last level, of graphs without directions")
    if not (seed is None or seed is random._inst):
        raise NotImplementedError("with a seed NetworkX finds the same communities wherever it runs")
    if not graph.edge_count:
        return [{node} for node in graph]
    return _found(graph, "louvain", weight, seed, resolution=float(resolution))


def leiden_communities(
    G: Any, weight: Any = "weight", resolution: float = 1, max_level: Any = None, seed: Any = None
) -> list[set[Any]]:
    graph = opened(G)
    if max_level is not None:
        if max_level <= 0:
            raise ValueError("max_level argument must be a positive integer or None")
        raise NotImplementedError("only the last level")
    if not graph.edge_count:
        return [{node} for node in graph]
    return _found(graph, "leiden", weight, seed, resolution=float(resolution))


def fast_label_propagation_communities(
    G: Any, *, weight: Any = None, seed: Any = None
) -> Iterator[set[Any]]:
    return iter(_found(opened(G), "label_propagation", weight, seed))


def asyn_lpa_communities(G: Any, weight: Any = None, seed: Any = None) -> Iterator[set[Any]]:
    graph = opened(G)
    if graph.directed:
        raise NotImplementedError("only graphs without directions")
    return iter(_found(graph, "label_propagation", weight, seed))


def _labels(graph: Opened, communities: list[Any]) -> Any:
    """Return the number of the community of each row; `None` unless every node is in one."""
    labels = np.full(len(graph), -1, np.int64)
    total = 0
    for number, community in enumerate(communities):
        rows = graph.rows(community)
        labels[rows] = number
        total += len(community)
    return labels if total == len(graph) and (labels >= 0).all() else None


def is_partition(G: Any, communities: Any) -> bool:
    return _labels(opened(G), list(communities)) is not None


def modularity(G: Any, communities: Any, weight: Any = "weight", resolution: float = 1) -> float:
    from networkx.algorithms.community.quality import NotAPartition

    graph = opened(G)
    listed = list(communities)
    labels = _labels(graph, listed)
    if labels is None:
        raise NotAPartition(G, listed)
    tails, heads = graph.out.tails, graph.out.heads
    weights = graph.weights(weight)
    if weights is None:
        weights = np.ones(len(heads), np.int64)
    is_inner = labels[tails] == labels[heads]
    inner: Numbers = np.bincount(labels[tails[is_inner]], weights[is_inner], len(listed))
    leaving = np.bincount(labels, summed(tails, weights, len(graph)), len(listed))
    if graph.directed:
        entering = np.bincount(labels, summed(heads, weights, len(graph)), len(listed))
        total = float(weights.sum())
    else:
        # An edge stands in two lists, a loop in one: it counts twice.
        loops = np.bincount(labels[tails[graph.is_loop]], weights[graph.is_loop], len(listed))
        leaving = entering = leaving + loops
        inner = (inner + loops) / 2.0
        total = float(weights.sum() + weights[graph.is_loop].sum()) / 2
    scale = total if graph.directed else 2 * total
    if not total:
        raise ZeroDivisionError("division by zero")
    return float((inner / total - resolution * leaving * entering / scale**2).sum())


def partition_quality(G: Any, partition: Any) -> tuple[float, float]:
    graph = opened(G)
    listed = list(partition)
    labels = _labels(graph, listed)
    if labels is None:
        raise nx.NetworkXError("`partition` is not a valid partition of the nodes of G")
    is_inner = labels[graph.out.tails] == labels[graph.out.heads]
    inner = int(is_inner.sum())
    if not graph.directed:
        inner = (inner + graph.loop_count) // 2
    count = len(graph)
    coverage = inner / graph.edge_count
    if graph.multigraph:
        return coverage, -1.0
    sizes = np.bincount(labels, minlength=len(listed))
    pairs = count * (count - 1)
    apart = count * count - int((sizes * sizes).sum())
    if not graph.directed:
        pairs, apart = pairs // 2, apart // 2
    return coverage, (inner + apart - (graph.edge_count - inner)) / pairs
