"""Components, bridges and articulation points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from everedge._networkx.lists import Rows
from everedge._networkx.opened import Opened, lazily, opened
from everedge._networkx.searches import sinks_first, strong, strong_count, weak, weak_count


def grouped(graph: Opened, labels: Rows, rows: Rows | None = None) -> Iterator[set[Any]]:
    """Return the nodes of each label, of some rows or of all, the labels ascending."""
    if rows is None:
        rows = np.arange(len(labels))
    if not len(rows):
        return iter(())
    order = rows[np.argsort(labels[rows], kind="stable")]
    ends = np.flatnonzero(np.append(np.diff(labels[order]) != 0, True)) + 1
    return _sets(graph.named(order), ends.tolist())


def _sets(nodes: list[Any], ends: list[int]) -> Iterator[set[Any]]:
    begin = 0
    for end in ends:
        # Most have one node.
        yield {nodes[begin]} if end == begin + 1 else set(nodes[begin:end])
        begin = end


def _not_empty(graph: Opened) -> None:
    if not len(graph):
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")


def connected_components(G: Any) -> Iterator[set[Any]]:
    graph = opened(G)
    return grouped(graph, weak(graph))


weakly_connected_components = connected_components


def number_connected_components(G: Any) -> int:
    graph = opened(G)
    return weak_count(graph) if len(graph) else 0


number_weakly_connected_components = number_connected_components


def is_connected(G: Any) -> bool:
    graph = opened(G)
    _not_empty(graph)
    return weak_count(graph) == 1


is_weakly_connected = is_connected


def node_connected_component(G: Any, n: Any) -> set[Any]:
    graph = opened(G)
    row = graph.find(n)
    if row is None:
        raise KeyError(n)
    labels = weak(graph)
    return set(graph.named(np.flatnonzero(labels == labels[row])))


def strongly_connected_components(G: Any) -> Iterator[set[Any]]:
    graph = opened(G)
    return grouped(graph, sinks_first(graph))


def number_strongly_connected_components(G: Any) -> int:
    graph = opened(G)
    return strong_count(graph) if len(graph) else 0


def is_strongly_connected(G: Any) -> bool:
    graph = opened(G)
    _not_empty(graph)
    return strong_count(graph) == 1


def _attracting(graph: Opened) -> list[set[Any]]:
    """Return the nodes of the components that no edge leaves."""
    if not len(graph):
        return []
    labels = strong(graph)
    tails, heads = labels[graph.out.tails], labels[graph.out.heads]
    leaves = np.zeros(len(graph), bool)
    leaves[tails[tails != heads]] = True
    return list(grouped(graph, labels, np.flatnonzero(~leaves[labels])))


def attracting_components(G: Any) -> Iterator[set[Any]]:
    return iter(_attracting(opened(G)))


def number_attracting_components(G: Any) -> int:
    return len(_attracting(opened(G)))


def is_attracting_component(G: Any) -> bool:
    graph = opened(G)
    found = _attracting(graph)
    return len(found) == 1 and len(found[0]) == len(graph)


def articulation_points(G: Any) -> Iterator[Any]:
    graph = opened(G)
    return iter(graph.named(_cut_rows(graph)))


def _cut_rows(graph: Opened) -> Rows:
    asked = graph.ask()
    _, found = asked.snapshot._run("articulation-points", asked.threads)
    return asked.rows_of(found)


def is_biconnected(G: Any) -> bool:
    graph = opened(G)
    # NetworkX looks for components of edges: one node has none.
    return len(graph) > 1 and weak_count(graph) == 1 and not len(_cut_rows(graph))


@lazily
def bridges(G: Any, root: Any = None) -> Iterator[tuple[Any, Any]]:
    graph = opened(G)
    if root is not None and graph.find(root) is None:
        raise nx.NodeNotFound(f"Root node {root} is not in graph")
    asked = graph.ask()
    _, (src, dst, _) = asked.snapshot._run("bridges", asked.threads)
    src, dst = asked.rows_of(src), asked.rows_of(dst)
    if root is not None:
        labels = weak(graph)
        is_near = labels[src] == labels[graph.find(root)]
        src, dst = src[is_near], dst[is_near]
    first, second = np.minimum(src, dst), np.maximum(src, dst)
    order = np.lexsort((second, first))
    return zip(graph.named(first[order]), graph.named(second[order]), strict=True)


def has_bridges(G: Any, root: Any = None) -> bool:
    return next(bridges(G, root), None) is not None
