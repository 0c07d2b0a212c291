"""Graphs of NetworkX, converted once: NetworkX keeps the result beside the graph until that is changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import Any
from weakref import ref

import numpy as np

from everedge._networkx.lists import Lists, Numbers, Rows, numbers_of
from everedge._networkx.opened import Opened

class Converted(Opened):
    """A graph of NetworkX as it was when it was converted. Attributes of edges are read when they are first asked for."""

    def __init__(self, graph: Any) -> None:
        super().__init__(graph.is_directed(), graph.is_multigraph())
        self._live = ref(graph)
        found = list(graph)
        self._nodes: Sequence[Any] = range(len(found)) if _count_from_0(found) else found
        self._weights: dict[str, Numbers | None] = {}
        self._out = self._read(graph._adj)

    @property
    def nodes(self) -> Sequence[Any]:
        """The nodes, in the order of the graph."""
        return self._nodes

    @property
    def out(self) -> Lists:
        """The out-neighbors of each row."""
        return self._out

    def _read(self, adjacency: Any) -> Lists:
        """Return the lists of neighbors. Cost: every edge once from each list that it is in."""
        count = len(self.nodes)
        # A view of a part of a graph makes its lists anew each time.
        lists = [adjacency[node] for node in self.nodes]
        if lists and type(lists[0]) is not dict:
            lists = [dict(one) for one in lists]
        lengths = np.fromiter(map(len, lists), np.int64, count)
        total = int(lengths.sum())
        neighbors: Iterator[Any] = chain.from_iterable(lists)
        if not isinstance(self.nodes, range):
            neighbors = map(self._row_of_node.__getitem__, neighbors)
        heads = np.fromiter(neighbors, np.int32, total)
        if self.multigraph:
            keys = chain.from_iterable(one.values() for one in lists)
            times = np.fromiter(map(len, keys), np.int64, total)
            tails = np.repeat(np.arange(count), lengths)
            lengths = np.bincount(tails, times, count).astype(np.int64)
            heads = np.repeat(heads, times)
        starts = np.zeros(count + 1, np.int64)
        np.cumsum(lengths, out=starts[1:])
        return Lists(starts, heads)

    @cached_property
    def _row_of_node(self) -> dict[Any, int]:
        return dict(zip(self.nodes, range(len(self.nodes)), strict=True))

    def find(self, node: object) -> int | None:
        """Return the row of a node, `None` for what is none."""
        if type(node) is int and isinstance(self.nodes, range):
            return node if 0 <= node < len(self.nodes) else None
        try:
            return self._row_of_node.get(node)
        except TypeError:
            return None

    def rows(self, nodes: Any) -> Rows:
        """Return the rows of those of some nodes that are in the graph."""
        listed = list(nodes)
        if isinstance(self.nodes, range) and set(map(type, listed)) == {int}:
            array = np.array(listed)
            found: Rows = array[(array >= 0) & (array < len(self.nodes))]
            return found
        rows = map(self._row_of_node.get, listed)
        return np.array([row for row in rows if row is not None], np.int64)

    def live(self) -> Any:
        """Return the graph that was converted, if it is still there."""
        return self._live()

    def weights(self, attribute: str | None) -> Numbers | None:
        """Return the weights of `out.heads` by an attribute of edges; 1 where an edge has none."""
        if attribute is None:
            return None
        if callable(attribute):
            raise NotImplementedError("weights are attributes here, no functions")
        if attribute not in self._weights:
            try:
                values = list(map(itemgetter(attribute), self.edge_data()))
            except KeyError:
                values = [data.get(attribute, 1) for data in self.edge_data()]
            self._weights[attribute] = numbers_of(values, attribute)
        return self._weights[attribute]

    def edge_data(self) -> Iterator[dict[Any, Any]]:
        """Return the attributes of the edge to each of `out.heads`."""
        graph = self.live()
        if graph is None:
            raise NotImplementedError("the graph that was converted is gone, and its attributes with it")
        adjacency = graph._adj
        data: Iterator[Any] = chain.from_iterable(adjacency[node].values() for node in self.nodes)
        return chain.from_iterable(keys.values() for keys in data) if self.multigraph else data

    def to_networkx(self) -> Any:
        """Return the graph that was converted; of one that is gone, its nodes and edges."""
        import networkx as nx

        graph = self.live()
        if graph is not None:
            return graph
        kinds = {
            (False, False): nx.Graph,
            (False, True): nx.MultiGraph,
            (True, False): nx.DiGraph,
            (True, True): nx.MultiDiGraph,
        }
        made = kinds[self.directed, self.multigraph]()
        made.add_nodes_from(self.nodes)
        tails, heads = self.out.tails, self.out.heads
        if not self.directed:
            tails, heads = tails[tails <= heads], heads[tails <= heads]
        made.add_edges_from(zip(self.named(tails), self.named(heads), strict=True))
        return made


def converted(graph: Any, name: str | None) -> Converted:
    """Return a graph of NetworkX converted; one that NetworkX has kept, whatever function it was for, is taken again.

    Raises `NotImplementedError` for what is no graph of NetworkX.
    """
    import networkx as nx

    if not isinstance(graph, nx.Graph):
        raise NotImplementedError(f"{name}: a {type(graph).__name__} is no graph of NetworkX")
    if _has_neighbors_of_its_own(type(graph)):
        raise NotImplementedError(f"{name}: a {type(graph).__name__} says by itself what its neighbors are")
    if nx.config.cache_converted_graphs:
        for one in _kept(graph):
            if isinstance(one, Converted) and one.live() is graph:
                return one
    return Converted(graph)


def _kept(graph: Any) -> list[Any]:
    """Return what NetworkX keeps of a graph for this backend; it drops that when the graph changes."""
    kept = getattr(graph, "__networkx_cache__", None) or {}
    return list(kept.get("backends", {}).get("everedge", {}).values())


def is_kept(graph: Any, converted: object) -> bool:
    """Return whether NetworkX keeps a conversion of a graph: that has not changed then."""
    return any(one is converted for one in _kept(graph))


def _has_neighbors_of_its_own(kind: type) -> bool:
    """Return whether a class shows other neighbors than it stores, as graphs of all missing edges do."""
    for parent in kind.__mro__:
        if parent.__module__.startswith("networkx.classes."):
            return False
        if {"adj", "neighbors", "__getitem__", "__iter__"} & vars(parent).keys():
            return True
    return True


def _count_from_0(nodes: list[Any]) -> bool:
    """Return whether nodes are the numbers of their places."""
    return set(map(type, nodes)) <= {int} and nodes == list(range(len(nodes)))
