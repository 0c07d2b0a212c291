"""What is among the neighbors of a node: triangles, squares, cores, and pairs that share neighbors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from everedge._networkx.lists import Lists, Numbers, Rows
from everedge._networkx.opened import Opened, opened
from everedge._reading import Measure

_PAIRS_AT_ONCE = 1 << 16
_ENTRIES_AT_ONCE = 1 << 24


def _plain(graph: Opened, weight: Any = None) -> None:
    """Raise `NotImplementedError` where a triangle is more than three edges."""
    if graph.directed or graph.multigraph or graph.weights(weight) is not None:
        raise NotImplementedError("only graphs without directions, parallel edges and weights")


def _coefficients(graph: Opened) -> npt.NDArray[np.float64]:
    asked = graph.ask()
    found: npt.NDArray[np.float64] = asked.snapshot.lcc(threads=asked.threads).values
    return found


def _proper_degrees(graph: Opened) -> npt.NDArray[np.int64]:
    """Return how many other nodes are neighbors of each."""
    if not graph.loop_count:
        return graph.out.lengths
    return graph.out.lengths - np.bincount(graph.out.tails[graph.is_loop], minlength=len(graph))


def _triangles(graph: Opened) -> npt.NDArray[np.int64]:
    """Return how many triangles each row is in."""
    degrees = _proper_degrees(graph)
    return np.rint(_coefficients(graph) * (degrees * (degrees - 1) / 2)).astype(np.int64)


def _answer(graph: Opened, values: Numbers, nodes: Any) -> Any:
    """Return the values of some nodes as NetworkX does: of one as a number."""
    if nodes is None:
        return graph.by_node(values)
    row = graph.find(nodes)
    if row is not None:
        return values[row].item()
    rows = graph.chosen(nodes)
    return graph.by_nodes(rows, values[rows])


def triangles(G: Any, nodes: Any = None) -> Any:
    graph = opened(G)
    if nodes is not None:
        raise NotImplementedError("only the triangles of all nodes")
    _plain(graph)
    return graph.by_node(_triangles(graph))


def clustering(G: Any, nodes: Any = None, weight: Any = None) -> Any:
    graph = opened(G)
    _plain(graph, weight)
    if nodes is not None:
        raise NotImplementedError("only the coefficients of all nodes")
    return _answer(graph, _coefficients(graph), nodes)


def average_clustering(
    G: Any, nodes: Any = None, weight: Any = None, count_zeros: bool = True
) -> float:
    graph = opened(G)
    _plain(graph, weight)
    if nodes is not None or not len(graph):
        raise NotImplementedError("only the mean of all nodes")
    values = _coefficients(graph)
    if not count_zeros:
        values = values[values > 0]
    return float(values.sum()) / len(values)


def transitivity(G: Any) -> float:
    graph = opened(G)
    _plain(graph)
    degrees = _proper_degrees(graph)
    closed = 2 * int(_triangles(graph).sum())
    return closed / int((degrees * (degrees - 1)).sum()) if closed else 0


def square_clustering(G: Any, nodes: Any = None) -> Any:
    graph = opened(G)
    if graph.directed or graph.multigraph:
        raise NotImplementedError("only graphs without directions and parallel edges")
    rows = graph.chosen(nodes)
    values = np.zeros(len(graph))
    for part in _parts(graph.simple, rows):
        values[part] = _squares(graph.simple, part)
    return _answer(graph, values, nodes)


def _parts(lists: Lists, rows: Rows) -> Iterator[Rows]:
    """Return rows in parts, of which each has so many neighbors of neighbors at most, or is one row."""
    steps = lists.matrix @ lists.lengths.astype(np.float64)
    parts = (np.cumsum(steps[rows]) // _ENTRIES_AT_ONCE).astype(np.int64)
    return (part for part in np.split(rows, np.flatnonzero(np.diff(parts)) + 1) if len(part))


def _squares(lists: Lists, rows: Rows) -> npt.NDArray[np.float64]:
    """Return the part of the possible squares at some rows that there are."""
    matrix = lists.matrix
    near = matrix[rows]
    degrees = lists.lengths.astype(np.float64)
    others = degrees[rows] - 1
    shared = (near @ matrix).tocsr()
    of = np.repeat(np.arange(len(rows)), np.diff(shared.indptr))
    counts = np.where(shared.indices == rows[of], 0, shared.data)
    squares = np.bincount(of, counts * (counts - 1), len(rows)) / 2
    closed = near.multiply(shared).sum(axis=1)
    possible = (near @ degrees) * others - degrees[rows] * others - closed - squares
    found: npt.NDArray[np.float64] = np.divide(
        squares, possible, out=np.zeros(len(rows)), where=(possible > 0) & (others > 0)
    )
    return found


def core_number(G: Any) -> dict[Any, int]:
    graph = opened(G)
    if graph.loop_count:
        raise nx.NetworkXNotImplemented(
            "Input graph has self loops which is not permitted; "
            "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
        )
    if graph.directed:
        raise NotImplementedError("only graphs without directions: a pair of edges counts twice")
    asked = graph.ask()
    return graph.by_node(asked.snapshot.kcore(threads=asked.threads).values)


def jaccard_coefficient(G: Any, ebunch: Any = None) -> Iterator[tuple[Any, Any, float]]:
    return _predicted(G, ebunch, "jaccard")


def adamic_adar_index(G: Any, ebunch: Any = None) -> Iterator[tuple[Any, Any, float]]:
    return _predicted(G, ebunch, "adamic-adar")


def resource_allocation_index(G: Any, ebunch: Any = None) -> Iterator[tuple[Any, Any, float]]:
    return _predicted(G, ebunch, "resource-allocation")


def preferential_attachment(G: Any, ebunch: Any = None) -> Iterator[tuple[Any, Any, int]]:
    return _predicted(G, ebunch, "preferential-attachment")


def _predicted(G: Any, ebunch: Any, measure: Measure) -> Iterator[tuple[Any, Any, Any]]:
    graph = opened(G)
    if graph.loop_count:
        raise NotImplementedError("only graphs without loops, which NetworkX takes for neighbors")
    if ebunch is None:
        return _scored(graph, _strangers(graph), measure)
    pairs = list(ebunch)
    ends = []
    for pair in pairs:
        for node in pair:
            row = graph.find(node)
            if row is None:
                raise nx.NodeNotFound(f"Node {node} not in G.")
            ends.append(row)
    rows = np.array(ends, np.int64).reshape(-1, 2)
    return _scored(graph, iter([(rows[:, 0], rows[:, 1])]), measure)


def _scored(
    graph: Opened, pairs: Iterator[tuple[Rows, Rows]], measure: Measure
) -> Iterator[tuple[Any, Any, Any]]:
    asked = graph.ask()
    for u, v in pairs:
        scores = asked.snapshot._native.similarity(asked.vertices_of(u), asked.vertices_of(v), measure)
        found: Numbers = scores.astype(np.int64) if measure == "preferential-attachment" else scores
        yield from zip(graph.named(u), graph.named(v), found.tolist(), strict=True)


def _strangers(graph: Opened) -> Iterator[tuple[Rows, Rows]]:
    """Return all pairs without an edge, the earlier node first, in parts."""
    count, lists = len(graph), graph.simple
    first = 0
    while first < count:
        last = min(count, first + max(1, _PAIRS_AT_ONCE // count))
        is_pair = np.triu(np.ones((last - first, count), bool), first + 1)
        places = slice(lists.starts[first], lists.starts[last])
        is_pair[lists.tails[places] - first, lists.heads[places]] = False
        u, v = np.nonzero(is_pair)
        yield u + first, v
        first = last
