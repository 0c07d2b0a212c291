"""Centralities: scores of nodes.

What NetworkX iterates until a tolerance is reached is iterated here by the same rule, so that both end after the same step: by the kernel
`pagerank` without weights, else on a matrix of SciPy, in 64 bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from everedge._errors import KernelError
from everedge._networkx.opened import Opened, opened
from everedge._networkx.paths import row_of
from everedge._networkx.searches import depths, weak

Scores = npt.NDArray[np.float64]


def _given(graph: Opened, values: Mapping[Any, float]) -> Scores:
    """Return values by row, 0 where there is none."""
    return np.array([values.get(node, 0) for node in graph.nodes], np.float64)


def _pulls(graph: Opened, weight: Any) -> Any:
    """Return the matrix that adds up at each row what its in-neighbors have, by weights."""
    weights = graph.weights_into(weight)
    return graph.into.matrix if weights is None else graph.into.matrix_of(weights.astype(np.float64))


def _length(scores: Scores) -> float:
    """Return the Euclidean length. Threads of a library of linear algebra take longer to wake than it takes."""
    return math.sqrt(float(np.square(scores).sum()))


def pagerank(
    G: Any,
    alpha: float = 0.85,
    personalization: Any = None,
    max_iter: int = 100,
    tol: float = 1.0e-6,
    nstart: Any = None,
    weight: Any = "weight",
    dangling: Any = None,
) -> dict[Any, float]:
    graph = opened(G)
    if not len(graph):
        return {}
    is_plain = personalization is None and nstart is None and dangling is None and 0 <= alpha < 1
    is_plain = is_plain and graph.weights(weight) is None and max_iter >= 0 and tol > 0
    if is_plain:
        asked = graph.ask()
        # One iteration more tells whether the last one that is allowed was enough.
        found = asked.snapshot.pagerank(
            iterations=max_iter + 1, tolerance=len(graph) * tol, damping=alpha, threads=asked.threads
        )
        if (found.report.iterations or 0) > max_iter:
            raise nx.PowerIterationFailedConvergence(max_iter)
        return graph.by_node(found.values)
    scores = _walked(graph, alpha, personalization, max_iter, tol, nstart, weight, dangling)
    return graph.by_node(scores)


def _walked(
    graph: Opened,
    alpha: float,
    personalization: Any,
    max_iter: int,
    tol: float,
    nstart: Any,
    weight: Any,
    dangling: Any,
) -> Scores:
    count = len(graph)
    weights = graph.weights(weight)
    if weights is None:
        weights = np.ones(len(graph.out.heads))
    sums = np.bincount(graph.out.tails, weights, count)
    pulls = _pulls(graph, weight)
    shares = np.divide(1.0, sums, out=np.zeros(count), where=sums != 0)
    even = np.full(count, 1.0 / count)
    scores: Scores = even if nstart is None else _given(graph, nstart)
    scores = scores / scores.sum()
    starts = even if personalization is None else _given(graph, personalization)
    if starts.sum() == 0:
        raise ZeroDivisionError
    starts = starts / starts.sum()
    ends = starts if dangling is None else _given(graph, dangling)
    ends = ends / ends.sum()
    is_dangling = sums == 0
    for _ in range(max_iter):
        before = scores
        passed = pulls @ (scores * shares) + scores[is_dangling].sum() * ends
        scores = alpha * passed + (1 - alpha) * starts
        if np.absolute(scores - before).sum() < count * tol:
            return scores
    raise nx.PowerIterationFailedConvergence(max_iter)


def hits(
    G: Any, max_iter: int = 100, tol: float = 1.0e-8, nstart: Any = None, normalized: bool = True
) -> tuple[dict[Any, float], dict[Any, float]]:
    graph = opened(G)
    if not len(graph):
        return {}, {}
    if max_iter < 100:
        raise NotImplementedError("only a limit of 100 or more: NetworkX counts something else")
    weights = graph.weights("weight")
    if len(graph) < 2 or not graph.edge_count or not normalized:
        raise NotImplementedError("only normalized scores of graphs with edges")
    if not graph.fits("weight") or graph.least_weight("weight") < 0:
        raise NotImplementedError("only weights of 32 bits that are not negative")
    asked = graph.ask("weight", "sum")
    try:
        hubs, authorities = asked.snapshot.hits(
            weighted=weights is not None, iterations=1000, tolerance=tol, threads=asked.threads
        )
    except KernelError as error:
        # NetworkX looks for eigenvectors in another way, which may find what this one did not.
        raise NotImplementedError(str(error)) from error
    return graph.by_node(hubs.values), graph.by_node(authorities.values)


def eigenvector_centrality(
    G: Any, max_iter: int = 100, tol: float = 1.0e-6, nstart: Any = None, weight: Any = None
) -> dict[Any, float]:
    graph = opened(G)
    count = len(graph)
    if not count:
        raise nx.NetworkXPointlessConcept("cannot compute centrality for the null graph")
    scores = np.ones(count) if nstart is None else _given(graph, nstart)
    if not scores.any():
        raise nx.NetworkXError("initial vector cannot have all zero values")
    scores = scores / scores.sum()
    pulls = _pulls(graph, weight)
    for _ in range(max_iter):
        before = scores
        scores = before + pulls @ before
        scores = scores / (_length(scores) or 1)
        if np.absolute(scores - before).sum() < count * tol:
            return graph.by_node(scores)
    raise nx.PowerIterationFailedConvergence(max_iter)


def katz_centrality(
    G: Any,
    alpha: float = 0.1,
    beta: Any = 1.0,
    max_iter: int = 1000,
    tol: float = 1.0e-6,
    nstart: Any = None,
    normalized: bool = True,
    weight: Any = None,
) -> dict[Any, float]:
    graph = opened(G)
    count = len(graph)
    if not count:
        return {}
    scores = np.zeros(count) if nstart is None else _given(graph, nstart)
    try:
        base: Any = float(beta)
    except (TypeError, ValueError, AttributeError) as error:
        if set(beta) != set(graph):
            raise nx.NetworkXError("beta dictionary must have a value for every node") from error
        base = _given(graph, beta)
    pulls = _pulls(graph, weight)
    for _ in range(max_iter):
        before = scores
        scores = alpha * (pulls @ before) + base
        if np.absolute(scores - before).sum() < count * tol:
            length = _length(scores) if normalized else 1.0
            return graph.by_node(scores / (length or 1.0))
    raise nx.PowerIterationFailedConvergence(max_iter)


def degree_centrality(G: Any) -> dict[Any, float]:
    return _part_of_others(G, "both")


def in_degree_centrality(G: Any) -> dict[Any, float]:
    return _part_of_others(G, "in")


def out_degree_centrality(G: Any) -> dict[Any, float]:
    return _part_of_others(G, "out")


def _part_of_others(G: Any, direction: str) -> dict[Any, float]:
    graph = opened(G)
    if len(graph) <= 1:
        return {node: 1 for node in graph}
    if direction == "both":
        degrees = graph.degrees
    else:
        degrees = (graph.out if direction == "out" else graph.into).lengths
    return graph.by_node(degrees * (1.0 / (len(graph) - 1.0)))


def betweenness_centrality(
    G: Any,
    k: Any = None,
    normalized: bool = True,
    weight: Any = None,
    endpoints: bool = False,
    seed: Any = None,
) -> dict[Any, float]:
    graph = opened(G)
    count = len(graph)
    if graph.weights(weight) is not None or endpoints:
        raise NotImplementedError("only paths that count edges, without their ends")
    if k is not None and k != count:
        raise NotImplementedError("only paths from all nodes")
    if count < 3:
        return dict.fromkeys(graph, 0.0)
    # A pair that is joined both ways counts once for each.
    scores = graph.ask(None, "one").snapshot.bc(convention="networkx" if normalized else "pairs").values
    return graph.by_node(scores)


def closeness_centrality(
    G: Any, u: Any = None, distance: Any = None, wf_improved: bool = True
) -> Any:
    graph = opened(G)
    count = len(graph)
    if graph.weights(distance) is not None:
        raise NotImplementedError("only distances that count edges")
    if u is not None:
        away = depths(graph, row_of(graph, u), True)
        reached = int((away >= 0).sum()) - 1
        total = int(away[away > 0].sum())
        score = reached / total if total else 0.0
        return score * (reached / (count - 1)) if total and wf_improved else score
    if count < 2:
        return dict.fromkeys(graph, 0.0)
    scores = graph.ask().snapshot.closeness().values
    if not wf_improved:
        if graph.directed:
            raise NotImplementedError("only improved scores, of edges with a direction")
        scores = scores * _unimproved(graph)
    return graph.by_node(scores)


def _unimproved(graph: Opened) -> Scores:
    """Return by what the part of all other nodes that a node reaches is to be multiplied to be 1."""
    labels = weak(graph)
    others = np.bincount(labels, minlength=len(graph))[labels] - 1.0
    factors: Scores = np.divide(len(graph) - 1, others, out=np.zeros(len(graph)), where=others > 0)
    return factors


def harmonic_centrality(
    G: Any, nbunch: Any = None, distance: Any = None, sources: Any = None
) -> dict[Any, float]:
    graph = opened(G)
    if nbunch is not None or sources is not None or graph.weights(distance) is not None:
        raise NotImplementedError("only distances that count edges, between all nodes")
    if len(graph) < 2:
        return dict.fromkeys(graph, 0)
    return graph.by_node(graph.ask().snapshot.harmonic().values)
