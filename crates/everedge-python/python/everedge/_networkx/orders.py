"""Orders, colors and shapes: acyclic graphs, bipartite graphs, trees and forests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from everedge._networkx.converted import is_kept
from everedge._networkx.lists import Lists, Numbers, Rows
from everedge._networkx.opened import Opened, lazily, opened
from everedge._networkx.searches import two_colors, weak_count


def has_cycle(G: Any) -> bool:
    graph = opened(G)
    if not graph.directed:
        raise nx.NetworkXError("Topological sort not defined on undirected graphs.")
    return not _is_acyclic(graph)


def _is_acyclic(graph: Opened) -> bool:
    return not len(graph) or bool(graph.ask().summary("topological-order")["acyclic"])


def is_directed_acyclic_graph(G: Any) -> bool:
    graph = opened(G)
    return graph.directed and _is_acyclic(graph)


def _generations(lists: Lists, degrees: Rows) -> Iterator[Rows]:
    """Return rows generation by generation, in the order in which their last in-neighbor comes.

    `degrees` are how many in-neighbors of each row are still to come; they are counted down.
    """
    rows = np.flatnonzero(degrees == 0)
    places = np.empty(len(degrees), np.int64)
    while len(rows):
        yield rows
        children = lists.heads[lists.of_many(rows)]
        np.subtract.at(degrees, children, 1)
        freed = children[degrees[children] == 0]
        # Where a child comes more than once, its last place is the one that stays.
        order = np.arange(len(freed))
        places[freed] = order
        rows = freed[places[freed] == order]


@lazily
def topological_generations(G: Any) -> Iterator[list[Any]]:
    graph = opened(G)
    if not graph.directed:
        raise nx.NetworkXError("Topological sort not defined on undirected graphs.")
    return _named_generations(graph)


def _named_generations(graph: Opened) -> Iterator[list[Any]]:
    degrees = graph.into.lengths.copy()
    left = len(graph)
    for rows in _generations(graph.out, degrees):
        nodes = graph.named(rows)
        if _has_changed(graph, rows, nodes):
            yield from _on_live(graph, degrees, nodes)
            return
        left -= len(rows)
        yield nodes
    if left:
        raise nx.NetworkXUnfeasible("Graph contains a cycle or graph changed during iteration")


def _has_changed(graph: Opened, rows: Rows, nodes: list[Any]) -> bool:
    """Return whether the graph that was converted has other edges now at some nodes."""
    live = graph.live()
    if live is None or is_kept(live, graph):
        return False
    adjacency, missing = live._adj, ()
    lengths = [len(adjacency.get(node, missing)) for node in nodes]
    if graph.multigraph:
        return any(node not in adjacency for node in nodes)
    return bool(lengths != graph.out.lengths[rows].tolist())


def _on_live(graph: Opened, degrees: Rows, nodes: list[Any]) -> Iterator[list[Any]]:
    """Go on with a graph that changes: what that leads to is what it leads to in NetworkX."""
    live = graph.live()
    left = {node: degree for node, degree in graph.by_node(degrees).items() if degree}
    while nodes:
        freed = []
        for node in nodes:
            if node not in live:
                raise RuntimeError("Graph changed during iteration")
            for child in live.neighbors(node):
                if child not in left:
                    raise RuntimeError("Graph changed during iteration")
                left[child] -= len(live[node][child]) if graph.multigraph else 1
                if left[child] == 0:
                    freed.append(child)
                    del left[child]
        yield nodes
        nodes = freed
    if left:
        raise nx.NetworkXUnfeasible("Graph contains a cycle or graph changed during iteration")


def topological_sort(G: Any) -> Iterator[Any]:
    return (node for generation in topological_generations(G) for node in generation)


def dag_longest_path_rows(graph: Opened, weights: Numbers | None) -> tuple[Rows, Numbers]:
    """Return the length of the longest path to each row, and the row before it there; itself at a beginning."""
    into = graph.into
    if weights is None:
        weights = np.ones(len(into.heads), np.int64)
    lengths = np.zeros(len(graph), weights.dtype)
    before = np.arange(len(graph))
    degrees = graph.into.lengths.copy()
    left = len(graph)
    for rows in _generations(graph.out, degrees):
        left -= len(rows)
        rows = rows[into.lengths[rows] > 0]
        if not len(rows):
            continue
        places = into.of_many(rows)
        through = lengths[into.heads[places]] + weights[places]
        begins = np.append(0, np.cumsum(into.lengths[rows])[:-1])
        best = np.maximum.reduceat(through, begins)
        is_best = np.flatnonzero(through == np.repeat(best, into.lengths[rows]))
        firsts = is_best[np.searchsorted(is_best, begins)]
        is_way = best >= 0
        lengths[rows[is_way]] = best[is_way]
        before[rows[is_way]] = into.heads[places[firsts]][is_way]
    if left:
        raise nx.NetworkXUnfeasible("Graph contains a cycle or graph changed during iteration")
    return before, lengths


def _longest(G: Any, weight: Any, default_weight: Any) -> tuple[Opened, list[int], Numbers]:
    graph = opened(G)
    if default_weight != 1 or graph.multigraph:
        raise NotImplementedError("only weights that are 1 where there is none, and no parallel edges")
    before, lengths = dag_longest_path_rows(graph, graph.weights_into(weight))
    path = [int(lengths.argmax())] if len(lengths) else []
    while path and before[path[-1]] != path[-1]:
        path.append(int(before[path[-1]]))
    return graph, path[::-1], lengths


def dag_longest_path(
    G: Any, weight: Any = "weight", default_weight: Any = 1, topo_order: Any = None
) -> list[Any]:
    if topo_order is not None:
        raise NotImplementedError("only an order of our own")
    graph, path, _ = _longest(G, weight, default_weight)
    return graph.named(np.array(path, np.int64))


def dag_longest_path_length(G: Any, weight: Any = "weight", default_weight: Any = 1) -> Any:
    _, path, lengths = _longest(G, weight, default_weight)
    return lengths[path[-1]].item() if path else 0


def _colors(graph: Opened) -> Rows:
    """Return the color of each row: 1 for the first of a component, 0 for one without neighbors.

    Raises `NetworkXError` if two neighbors have the same.
    """
    colors = two_colors(graph)
    if colors is None:
        raise nx.NetworkXError("Graph is not bipartite.")
    colors[graph.degrees == 0] = 0
    return colors


def color(G: Any) -> dict[Any, int]:
    graph = opened(G)
    if graph.directed:
        raise NotImplementedError("only graphs without directions: others begin where an edge leaves")
    return graph.by_node(_colors(graph)) if len(graph) else {}


def is_bipartite(G: Any) -> bool:
    graph = opened(G)
    return not len(graph) or bool(graph.ask().summary("bipartition")["bipartite"])


def sets(G: Any, top_nodes: Any = None) -> tuple[set[Any], set[Any]]:
    graph = opened(G)
    if top_nodes is not None:
        top = set(top_nodes)
        return top, set(graph) - top
    if graph.directed:
        raise NotImplementedError("only graphs without directions")
    if not len(graph):
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    if weak_count(graph) != 1:
        raise nx.AmbiguousSolution("Disconnected graph: Ambiguous solution for bipartite sets.")
    colors = _colors(graph)
    return set(graph.named(np.flatnonzero(colors == 1))), set(graph.named(np.flatnonzero(colors == 0)))


def _not_empty(graph: Opened) -> None:
    if not len(graph):
        raise nx.NetworkXPointlessConcept("G has no nodes.")


def is_tree(G: Any) -> bool:
    graph = opened(G)
    _not_empty(graph)
    return graph.edge_count == len(graph) - 1 and weak_count(graph) == 1


def is_forest(G: Any) -> bool:
    graph = opened(G)
    _not_empty(graph)
    return _is_forest(graph)


def _is_forest(graph: Opened) -> bool:
    # Each component has a tree in it, so none may have an edge more.
    return graph.edge_count < len(graph) and weak_count(graph) == len(graph) - graph.edge_count


def is_arborescence(G: Any) -> bool:
    return is_tree(G) and bool(opened(G).into.lengths.max() <= 1)


def is_branching(G: Any) -> bool:
    return is_forest(G) and bool(opened(G).into.lengths.max() <= 1)


def minimum_spanning_edges(
    G: Any,
    algorithm: str = "kruskal",
    weight: Any = "weight",
    keys: bool = True,
    data: bool = True,
    ignore_nan: bool = False,
) -> Iterator[Any]:
    return _spanning(G, algorithm, weight, data, ignore_nan, False)


def maximum_spanning_edges(
    G: Any,
    algorithm: str = "kruskal",
    weight: Any = "weight",
    keys: bool = True,
    data: bool = True,
    ignore_nan: bool = False,
) -> Iterator[Any]:
    return _spanning(G, algorithm, weight, data, ignore_nan, True)


def _spanning(
    G: Any, algorithm: str, weight: Any, data: bool, ignore_nan: bool, largest: bool
) -> Iterator[Any]:
    """Return the edges that Kruskal takes, in the order in which it takes them."""
    import scipy.sparse
    import scipy.sparse.csgraph

    graph = opened(G)
    if algorithm != "kruskal" or graph.multigraph or ignore_nan:
        raise NotImplementedError("only Kruskal's edges, of graphs without parallel ones")
    live = graph.live()
    if data and live is None:
        raise NotImplementedError("only graphs of NetworkX have attributes")
    weights = graph.weights(weight)
    tails, heads = graph.out.tails, graph.out.heads
    is_kept = np.flatnonzero(tails < heads)
    tails, heads = tails[is_kept], heads[is_kept]
    order = np.arange(len(tails))
    if weights is not None:
        kept = weights[is_kept]
        order = np.argsort(-kept if largest else kept, kind="stable")
    # Where weights are different there is one forest: the place in the order is one.
    ranks = np.empty(len(order))
    ranks[order] = np.arange(1, len(order) + 1)
    matrix = scipy.sparse.coo_array((ranks, (tails, heads)), shape=(len(graph), len(graph)))
    taken = scipy.sparse.csgraph.minimum_spanning_tree(matrix.tocsr()).data.astype(np.int64)
    edges = order[np.sort(taken) - 1]
    pairs = zip(graph.named(tails[edges]), graph.named(heads[edges]), strict=True)
    return ((u, v, live._adj[u][v]) for u, v in pairs) if data else pairs
