"""Kernels that give vertices scores: centralities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from everedge._columns import Id, Ids, starts
from everedge._guiding import kernel
from everedge._values import Values

if TYPE_CHECKING:
    from everedge._kernels import AnyGraph


@kernel
def personalized_pagerank(
    graph: AnyGraph,
    sources: Ids | Mapping[Id, float] | None = None,
    *,
    weighted: bool | None = None,
    iterations: int | None = None,
    tolerance: float | None = None,
    damping: float | None = None,
    threads: int = 0,
) -> Values[np.float64]:
    """Return the PageRank of each vertex for a walk that starts anew at `sources`, and goes by weights.

    `sources` are ids, or a dict from ids to weights. A vertex without out-edges gives its rank to them. Ends as `pagerank` does.

    Raises `InvalidInputError` if a source is not a vertex, `KernelError` for a negative weight. Cost: each iteration reads every
    edge once.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram")
    >>> graph.add_edges(["ann", "bob", "eve"], ["bob", "ann", "ann"])
    >>> [name for name, _ in everedge.personalized_pagerank(graph, ["bob"]).top()]
    ['bob', 'ann', 'eve']
    """
    with graph._view("personalized-pagerank", threads) as view:
        report, by_index = view._run(
            "personalized-pagerank",
            threads,
            sources=starts(sources),
            weighted=weighted,
            iterations=iterations,
            tolerance=tolerance,
            damping=damping,
        )
        return Values("personalized_pagerank", view._vertices, by_index, report)


@kernel
def hits(
    graph: AnyGraph,
    *,
    weighted: bool | None = None,
    iterations: int | None = None,
    tolerance: float | None = None,
    threads: int = 0,
) -> tuple[Values[np.float64], Values[np.float64]]:
    """Return of each vertex how good a hub it is, and how good an authority; each sums to 1.

    Raises `KernelError` if the scores have not converged. Cost: each iteration reads every edge twice.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram")
    >>> graph.add_edges([0, 0, 1], [2, 3, 2])
    >>> hubs, authorities = everedge.hits(graph)
    >>> hubs.top(1)[0][0], authorities.top(1)[0][0]
    (0, 2)
    """
    with graph._view("hits", threads) as view:
        report, (hubs, authorities) = view._run(
            "hits", threads, weighted=weighted, iterations=iterations, tolerance=tolerance
        )
        vertices = view._vertices
        return Values("hubs", vertices, hubs, report), Values("authorities", vertices, authorities, report)


@kernel
def eigenvector(
    graph: AnyGraph,
    *,
    weighted: bool | None = None,
    iterations: int | None = None,
    tolerance: float | None = None,
    threads: int = 0,
) -> Values[np.float64]:
    """Return the eigenvector centrality of each vertex: in proportion to the sum of those of its in-neighbors.

    The squares of all sum to 1. Raises `KernelError` if the scores have not converged. Cost: each iteration reads every edge once.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram", directed=False)
    >>> graph.add_edges([0, 0, 0, 1], [1, 2, 3, 2])
    >>> round(float(everedge.eigenvector(graph)[0]), 4)
    0.6116
    """
    with graph._view("eigenvector", threads) as view:
        report, by_index = view._run(
            "eigenvector", threads, weighted=weighted, iterations=iterations, tolerance=tolerance
        )
        return Values("eigenvector", view._vertices, by_index, report)


@kernel
def katz(
    graph: AnyGraph,
    *,
    alpha: float | None = None,
    beta: float | None = None,
    weighted: bool | None = None,
    iterations: int | None = None,
    tolerance: float | None = None,
    threads: int = 0,
) -> Values[np.float64]:
    """Return the Katz centrality of each vertex: how many walks end there, the longer ones counting less.

    The squares of all sum to 1. Raises `KernelError` if the scores have not converged. Cost: each iteration reads every edge once.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram")
    >>> graph.add_edges([0, 1, 2], [1, 2, 1])
    >>> everedge.katz(graph, alpha=0.1).top(1)[0][0]
    1
    """
    with graph._view("katz", threads) as view:
        report, by_index = view._run(
            "katz",
            threads,
            alpha=alpha,
            beta=beta,
            weighted=weighted,
            iterations=iterations,
            tolerance=tolerance,
        )
        return Values("katz", view._vertices, by_index, report)


@kernel
def closeness(
    graph: AnyGraph, *, samples: int | None = None, seed: int | None = None, threads: int = 0
) -> Values[np.float64]:
    """Return the closeness centrality of each vertex: how near it is to the vertices that reach it.

    It is the inverse of their mean distance in edges, times the part of all other vertices that they are. With `samples`
    it is estimated from searches from so many vertices.

    Cost: a search from each vertex, many of them together; samples take less.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram", directed=False)
    >>> graph.add_edges([0, 1], [1, 2])
    >>> everedge.closeness(graph).to_dict()
    {0: 0.6666666666666666, 1: 1.0, 2: 0.6666666666666666}
    """
    with graph._view("closeness", threads) as view:
        report, by_index = view._run("closeness", threads, samples=samples, seed=seed)
        return Values("closeness", view._vertices, by_index, report)


@kernel
def harmonic(
    graph: AnyGraph, *, samples: int | None = None, seed: int | None = None, threads: int = 0
) -> Values[np.float64]:
    """Return the harmonic centrality of each vertex: the sum of 1 by the distance of each that reaches it.

    With `samples` it is estimated from searches from so many vertices.

    Cost: a search from each vertex, many of them together; samples take less.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram", directed=False)
    >>> graph.add_edges([0, 1], [1, 2])
    >>> everedge.harmonic(graph).values
    array([1.5, 2. , 1.5])
    """
    with graph._view("harmonic", threads) as view:
        report, by_index = view._run("harmonic", threads, samples=samples, seed=seed)
        return Values("harmonic", view._vertices, by_index, report)
