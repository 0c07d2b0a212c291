"""A graph as the functions of this backend see it: nodes by row, lists of neighbors, and kernels.

A node's *row* is its place in `nodes`. A graph of NetworkX is converted (`converted.py`): its lists are what kernels run on. A graph of everedge is opened: kernels run
on it as it is, and its lists are read when a function first needs them.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from everedge import _native
from everedge._columns import word
from everedge._graph import Graph
from everedge._networkx.lists import Lists, Numbers, Parallel, Rows, lists_of, summed
from everedge._snapshot import Snapshot
from everedge._values import Values


_FOR_ONE_THREAD = 200_000
"""With fewer edges a kernel takes less time on one thread than it takes to wake others."""
_Vertices: TypeAlias = npt.NDArray[np.uint32]
_ANY_DEPTH = _NO_PARENT = (1 << 32) - 1


class Found:
    """What a breadth-first search reaches, in the order of discovery."""

    def __init__(self, asked: Asked, vertices: _Vertices, parents: _Vertices, depths: _Vertices) -> None:
        self._asked, self._parents = asked, parents
        self.order = asked.rows_of(vertices)
        """Shape `[reached]`: the rows, the first one the source."""
        self.depths: Rows = depths
        """Shape `[reached]`: how many edges away each is."""

    @cached_property
    def parents(self) -> Rows:
        """Shape `[reached]`: the row that each was discovered from; of the first there is none, and itself stands there."""
        rows = self._asked.rows_of(self._parents)
        rows[:1] = self.order[:1]
        return rows


class Asked:
    """A snapshot that kernels are asked of, and where its vertices are in the order of nodes."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.threads = 1 if snapshot.num_edges < _FOR_ONE_THREAD else 0

    def vertices_of(self, rows: Rows) -> _Vertices:
        """Return the vertex numbers of rows."""
        return self.snapshot._vertices.index[np.asarray(rows, np.int64)]

    def rows_of(self, vertices: _Vertices) -> Rows:
        """Return the rows of vertex numbers; without gaps these are the same."""
        index = self.snapshot._vertices.index
        return vertices if len(index) == self.snapshot._vertices.bound else np.searchsorted(index, vertices)

    def summary(self, kernel: str) -> Any:
        """Return the answer of a kernel in short."""
        return self.snapshot._run(kernel, self.threads)[0].result

    def search(self, row: int, reverse: bool, limit: float = np.inf) -> Found:
        """Return what is reached from a row up to `limit` edges away, in the order of lists."""
        depth_max = int(min(limit, _ANY_DEPTH))
        vertex = int(self.snapshot._vertices.index[row])
        return Found(self, *self.snapshot._native.discovery(vertex, reverse, depth_max))

    def weighted_search(self, rows: Rows) -> tuple[Rows, Rows, npt.NDArray[np.float64]]:
        """Return the rows that are reached from the nearest of some, the nearest first, the row before each, a source before itself, and
        how far away each is by weights."""
        vertices = self.vertices_of(rows)
        order, parents, lengths = self.snapshot._native.weighted_discovery(vertices)
        are_sources = parents == _NO_PARENT
        parents[are_sources] = order[are_sources]
        return self.rows_of(order), self.rows_of(parents), lengths

    def groups(self, values: Values[Any]) -> npt.NDArray[np.int64]:
        """Return of each row the row that its component or community is named by."""
        return self.rows_of(values._by_vertex()).astype(np.int64, copy=False)


class Opened(ABC):
    """A graph of either kind."""

    __networkx_backend__ = "everedge"

    directed: bool
    multigraph: bool

    def __init__(self, directed: bool, multigraph: bool) -> None:
        self.directed = directed
        self.multigraph = multigraph
        self._turned_weights: dict[str, Numbers] = {}
        self._known_facts: dict[str, tuple[float, bool]] = {}
        self._asked: dict[tuple[str | None, Parallel, bool], Asked] = {}

    @property
    @abstractmethod
    def nodes(self) -> Sequence[Any]:
        """The nodes, in the order of the graph."""

    @property
    @abstractmethod
    def out(self) -> Lists:
        """The out-neighbors of each row, parallel edges one by one; without directions its neighbors, a loop once."""

    @abstractmethod
    def find(self, node: object) -> int | None:
        """Return the row of a node, `None` for what is none."""

    @abstractmethod
    def weights(self, attribute: str | None) -> Numbers | None:
        """Return the weights of `out.heads` by an attribute of edges; `None` if all are 1, or it is `None`.

        Raises `NotImplementedError` if one is not a finite number.
        """

    @abstractmethod
    def to_networkx(self) -> Any:
        """Return it as a graph of NetworkX."""

    def live(self) -> Any:
        """Return the graph of NetworkX behind it, if there is one."""
        return None

    def own(self, weighted: bool, parallel: Parallel) -> Snapshot | None:
        """Return the snapshot that it was opened from, if that has these edges."""
        return None

    def neighbors_of(self, row: int, reverse: bool) -> list[int]:
        """Return the rows of the out-neighbors of a row, or of its in-neighbors."""
        found: list[int] = (self.single_into if reverse else self.single).of(row).tolist()
        return found

    def ask(
        self, weight: str | None = None, parallel: Parallel = "any", reverse: bool = False
    ) -> Asked:
        """Return what a kernel is asked of: with weights, and turned around, if that is asked for.

        Weights are kept in 32 bits there: `fits` says whether they are the same.
        """
        weights = self.weights(weight)
        kept = parallel if self.multigraph else "any"
        if weights is None and kept != "one":
            # Each edge adds 1, and the shortest of them is as long as any.
            kept = "any"
        turns = reverse and self.directed
        key = (None if weights is None else weight, kept, turns)
        if key not in self._asked:
            own = None if turns else self.own(weights is not None, kept)
            self._asked[key] = Asked(own or _made(self, weights, kept, turns))
        return self._asked[key]

    @cached_property
    def plain(self) -> Asked:
        """What a search is asked of that would take weights, where it is to count edges."""
        asked = self.ask()
        return Asked(_made(self, None, "any", False)) if asked.snapshot.weighted else asked

    def is_directed(self) -> bool:
        """Return whether edges have a direction."""
        return self.directed

    def is_multigraph(self) -> bool:
        """Return whether a pair may have several edges."""
        return self.multigraph

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.nodes)

    def __contains__(self, node: object) -> bool:
        return self.find(node) is not None

    @cached_property
    def into(self) -> Lists:
        """The in-neighbors of each row; without directions `out`."""
        return self.out.turned[0] if self.directed else self.out

    def weights_into(self, attribute: str | None) -> Numbers | None:
        """Return the weights of `into.heads`, as `weights` does."""
        weights = self.weights(attribute)
        if weights is None or attribute is None or not self.directed:
            return weights
        if attribute not in self._turned_weights:
            self._turned_weights[attribute] = weights[self.out.turned[1]]
        return self._turned_weights[attribute]

    @cached_property
    def is_loop(self) -> npt.NDArray[np.bool_]:
        """Whether each of `out.heads` is its own neighbor."""
        found: npt.NDArray[np.bool_] = self.out.tails == self.out.heads
        return found

    @cached_property
    def loop_count(self) -> int:
        """How many edges are loops."""
        return int(self.is_loop.sum())

    @cached_property
    def single(self) -> Lists:
        """`out` with one entry for a pair, in the order of the graph. SciPy's searches need it: some never end on others."""
        return self.out.without_repeats if self.multigraph else self.out

    @cached_property
    def single_into(self) -> Lists:
        """`single` turned around."""
        return self.single.turned[0] if self.directed else self.single

    @cached_property
    def simple(self) -> Lists:
        """`out` sorted, with one entry for a pair and no loops."""
        tails, heads = self.out.tails, self.out.heads
        if self.loop_count:
            tails, heads = tails[~self.is_loop], heads[~self.is_loop]
        return lists_of(tails, heads, len(self), None, "one" if self.multigraph else "any")[0]

    @cached_property
    def edge_count(self) -> int:
        """How many edges there are, parallel ones one by one."""
        arcs = len(self.out.heads)
        return arcs if self.directed else (arcs + self.loop_count) // 2

    @cached_property
    def degrees(self) -> npt.NDArray[np.int64]:
        """The degree of each row as NetworkX counts: a loop twice."""
        if self.directed:
            return self.out.lengths + self.into.lengths
        loops = self.out.tails[self.is_loop]
        return self.out.lengths + np.bincount(loops, minlength=len(self))

    def least_weight(self, attribute: str | None) -> float:
        """Return the smallest weight; 1 if all are 1."""
        return self._facts(attribute)[0]

    def fits(self, attribute: str | None) -> bool:
        """Return whether kernels, which keep weights in 32 bits, see them as they are."""
        return self._facts(attribute)[1]

    def _facts(self, attribute: str | None) -> tuple[float, bool]:
        weights = self.weights(attribute)
        if weights is None or not len(weights) or attribute is None:
            return 1, True
        if attribute not in self._known_facts:
            is_kept = bool((weights.astype(np.float32) == weights).all())
            self._known_facts[attribute] = float(weights.min()), is_kept
        return self._known_facts[attribute]

    def strengths(self, attribute: str | None) -> Numbers:
        """Return the sum of weights at each row as NetworkX counts: a loop twice."""
        weights = self.weights(attribute)
        if weights is None:
            return self.degrees
        tails, heads = self.out.tails, self.out.heads
        sums = summed(tails, weights, len(self))
        if self.directed:
            return sums + summed(heads, weights, len(self))
        return sums + summed(tails[self.is_loop], weights[self.is_loop], len(self))

    @cached_property
    def _names(self) -> npt.NDArray[Any]:
        return np.fromiter(self.nodes, object, len(self))

    def named(self, rows: Rows) -> list[Any]:
        """Return the nodes of rows."""
        found: list[Any] = rows.tolist() if isinstance(self.nodes, range) else self._names[rows].tolist()
        return found

    def named_few(self, rows: list[int]) -> list[Any]:
        """Return the nodes of some rows, which are not many."""
        nodes = self.nodes
        return [nodes[row] for row in rows]

    def by_node(self, values: Numbers) -> dict[Any, Any]:
        """Return a dict from all nodes to values, in the order of the graph."""
        return dict(zip(self.nodes, values.tolist(), strict=True))

    def by_nodes(self, rows: Rows, values: Numbers) -> dict[Any, Any]:
        """Return a dict from the nodes of some rows to the values of these."""
        return dict(zip(self.named(rows), values.tolist(), strict=True))

    def rows(self, nodes: Any) -> Rows:
        """Return the rows of those of some nodes that are in the graph."""
        found = (self.find(node) for node in nodes)
        return np.array([row for row in found if row is not None], np.int64)

    def chosen(self, nodes: Any) -> Rows:
        """Return the rows of a bunch of nodes as NetworkX takes one: all for `None`, one for a node."""
        import networkx as nx

        if nodes is None:
            return np.arange(len(self))
        row = self.find(nodes)
        if row is not None:
            return np.array([row])
        try:
            return self.rows(nodes)
        except TypeError:
            raise nx.NetworkXError(f"Node {nodes} is not in the graph.") from None


class OpenedSnapshot(Opened):
    """A snapshot of a graph of everedge."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__(snapshot.directed, not snapshot._native.is_simple())
        self._snapshot = snapshot

    @cached_property
    def nodes(self) -> Sequence[Any]:
        """The external ids, in ascending order of vertex numbers."""
        vertices = self._snapshot._vertices
        ids: list[Any] = vertices.ids.tolist()
        return range(len(vertices.ids)) if vertices.are_places else ids

    def __len__(self) -> int:
        return self._snapshot.num_vertices

    def find(self, node: object) -> int | None:
        """Return the row of a node, `None` for what is none."""
        if not isinstance(node, int | str | np.integer) or isinstance(node, bool):
            return None
        native = self._snapshot._native
        if isinstance(node, str) is not (native.id_kind() == "text"):
            return None
        found = native.find(word(node))
        return None if found is None else int(np.searchsorted(self._snapshot._vertices.index, found))

    @cached_property
    def _csr(self) -> tuple[Lists, Numbers | None]:
        starts, heads, weights = self._snapshot._native.csr()
        index, places = self._snapshot._vertices.index, starts.astype(np.int64)
        rows = heads.view(np.int32)
        if len(starts) - 1 > len(index):
            # Ids without a vertex have no row.
            places = np.append(places[index], places[-1])
            rows = np.searchsorted(index, heads).astype(np.int32)
        return Lists(places, rows), None if weights is None else weights.astype(np.float64)

    @property
    def out(self) -> Lists:
        """The out-neighbors of each row."""
        return self._csr[0]

    @cached_property
    def _weights(self) -> Numbers | None:
        weights = self._csr[1]
        return None if weights is None or (weights == 1).all() else weights

    def weights(self, attribute: str | None) -> Numbers | None:
        """Return the weights of `out.heads`: a graph of everedge has one attribute of edges, `weight`."""
        if callable(attribute):
            raise NotImplementedError("weights are attributes here, no functions")
        return self._weights if attribute == "weight" and self._snapshot.weighted else None

    def own(self, weighted: bool, parallel: Parallel) -> Snapshot | None:
        """Return the snapshot, if it has these edges."""
        is_alike = weighted == self._snapshot.weighted or not weighted
        # Kernels that take the smallest of parallel edges, or their sum, find it by themselves.
        return self._snapshot if is_alike and parallel != "one" else None

    def neighbors_of(self, row: int, reverse: bool) -> list[int]:
        """Return the rows of the out-neighbors of a row, or of its in-neighbors."""
        native, vertices = self._snapshot._native, self._snapshot._vertices
        vertex = int(vertices.index[row])
        found = native.in_neighbors(vertex) if reverse else native.out_neighbors(vertex)
        rows: list[int] = np.searchsorted(vertices.index, found).tolist()
        return rows

    def to_networkx(self) -> Any:
        """Return it as a graph of NetworkX."""
        return self._snapshot.to_networkx()


def opened(graph: Any) -> Opened:
    """Return a graph that a function of this backend was given. A live graph shows what it is now."""
    if isinstance(graph, Opened):
        return graph
    if isinstance(graph, Graph):
        return OpenedSnapshot(graph.snapshot())
    if isinstance(graph, Snapshot):
        if not isinstance(graph._opened, Opened):
            # A snapshot of its own: the two would keep each other.
            graph._opened = OpenedSnapshot(Snapshot(graph._native))
        return graph._opened
    raise NotImplementedError(f"a {type(graph).__name__} is no graph of everedge")


Iterators = TypeVar("Iterators", bound=Callable[..., Iterator[Any]])


def lazily(function: Iterators) -> Iterators:
    """Let what a function raises about nodes and graphs wait until its iterator is asked, as that of a generator does."""

    @functools.wraps(function)
    def call(*args: Any, **words: Any) -> Iterator[Any]:
        import networkx as nx

        try:
            return function(*args, **words)
        except nx.NetworkXException as error:
            return _raising(error)

    return call  # type: ignore[return-value]


def _raising(error: Exception) -> Iterator[Any]:
    raise error
    yield


def _made(graph: Opened, weights: Numbers | None, parallel: Parallel, turns: bool) -> Snapshot:
    """Return a view in memory of the edges of a graph, whose vertices are rows. Cost: every edge a few times."""
    lists = graph.out
    if parallel != "any":
        lists, weights = lists.joined(weights, parallel)
    if turns:
        lists, places = lists.turned
        weights = None if weights is None else weights[places]
    kept = None if weights is None else weights.astype(np.float32)
    starts, heads = lists.starts.view(np.uint64), lists.heads.view(np.uint32)
    return Snapshot(_native.View.from_csr(starts, heads, kept, graph.directed))
