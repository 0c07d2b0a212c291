"""What a graph holds, as arrays and as graphs of other libraries: methods of a snapshot and of a sealed graph."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import numpy as np
import numpy.typing as npt

from everedge import _columns
from everedge._arrow import Edges
from everedge._columns import Id, Ids, whole, word
from everedge._errors import InvalidInputError
from everedge._guiding import WithoutLength, guided, not_a_path
from everedge._progress import Bar, is_watched
from everedge._values import Path, Values

if TYPE_CHECKING:
    import igraph
    import matplotlib.axes
    import networkx
    import pandas
    import pyarrow
    import scipy.sparse

    from everedge._reports import ExportReport
    from everedge._snapshot import Snapshot

Direction = Literal["out", "in", "both"]
Measure = Literal[
    "jaccard", "common-neighbors", "adamic-adar", "resource-allocation", "preferential-attachment"
]

Answer = TypeVar("Answer")

# No path has more edges.
_HOPS_MAX = (1 << 32) - 1
# Vertices or pairs that are asked about at once.
_PART = 1 << 16

# Bytes of memory that an answer takes at most, while it is made: for each vertex, and for each edge.
_DEGREES = 12
_EDGES = 28
_TABLE = 96
# Edges of a stream that are in memory at once.
_EDGES_AT_ONCE = 1 << 16
# Edges of an export that are in memory at once.
_EXPORTED_AT_ONCE = 1 << 22
# The numbers that the vertices of a sealed graph had.
_NUMBERS = 4
_PREDECESSORS = 120
_EXPORT = 40
_EXPORT_VERTEX = 16
_SCIPY = 40
_SCIPY_UNDIRECTED = 64
_SCIPY_VERTEX = 48
_IGRAPH = 256
_NETWORKX = 1024
_NETWORKX_VERTEX = 512


def _in_parts(ask: Callable[..., Answer], *columns: npt.NDArray[Any]) -> Answer:
    """Return what `ask` answers of columns, as one array or a tuple of arrays; signals are handled between parts of them."""
    starts = range(0, max(len(columns[0]), 1), _PART)
    answers = [ask(*(column[at : at + _PART] for column in columns)) for at in starts]
    if len(answers) == 1:
        return answers[0]
    if isinstance(answers[0], tuple):
        return cast("Answer", tuple(np.concatenate(arrays) for arrays in zip(*answers, strict=True)))
    return cast("Answer", np.concatenate(cast("list[npt.NDArray[Any]]", answers)))


class Reading(WithoutLength, ABC):
    """Neighbors, degrees and edges. What holds all edges says so: a sealed graph may be larger than memory."""

    @abstractmethod
    def _view(self, kernel: str, threads: int = 0) -> AbstractContextManager[Snapshot]:
        """Return what `kernel` is asked of, which is to run on so many threads."""

    @abstractmethod
    def _view_beside(
        self, *, vertex_bytes: int = 0, edge_bytes: int = 0, edges_max: int | None = None
    ) -> AbstractContextManager[Snapshot]:
        """Return what is asked for an answer that takes so many bytes for each vertex and each edge, of `edges_max` at most."""

    @property
    @abstractmethod
    def directed(self) -> bool:
        """Whether edges have a direction."""

    @guided
    def has_edge(self, src: Id, dst: Id) -> bool:
        """Return whether there is an edge from `src` to `dst`; there is none where one of them is no vertex.

        Cost: the shorter one of their lists; in the `blocks` layout a search in it; of a sealed graph, 4 bytes a
        vertex are read to find them.
        """
        with self._view("one-hop") as view:
            u, v = view._native.find(word(src)), view._native.find(word(dst))
            return u is not None and v is not None and view._native.has_edge(u, v)

    @guided
    def has_edges(self, src: Ids, dst: Ids) -> npt.NDArray[np.bool_]:
        """Return of each pair, a source and the destination in the same row, whether there is an edge.

        Cost: of each pair as `has_edge`.
        """
        columns = _columns.names(src, "src"), _columns.names(dst, "dst")
        _columns.check_lengths(*columns)
        with self._view("one-hop") as view:
            u, v = (_columns.known_vertices(view._native, column, "ids") for column in columns)
            return _in_parts(view._native.have_edges, u, v)

    @guided
    def weight(self, src: Id, dst: Id) -> float | None:
        """Return the weight of the newest edge from `src` to `dst`, 1 if edges have none; `None` if there is no edge.

        Cost: as `has_edge`.
        """
        with self._view("one-hop") as view:
            u, v = view._native.find(word(src)), view._native.find(word(dst))
            return None if u is None or v is None else view._native.weight(u, v)

    @guided
    def edges_of(self, vertices: Ids, direction: Direction = "out") -> Edges:
        """Return sources, destinations and weights (`None` without) of the edges of some vertices, as `edges` does.

        `direction` says which: `out`, those that leave a vertex; `in`, those that enter it; `both`. Those of one vertex come
        after those of the one before it; without directions each is the source of its edges.

        Raises `InvalidInputError` if one is not a vertex. Cost: their edges; every edge if those that enter are asked for in a
        graph without in-neighbors.
        """
        with self._view("one-hop") as view:
            src, dst, weight = _in_parts(lambda part: view._native.edges_of(part, direction), view._find_all(vertices))
            return Edges(view._names(src), view._names(dst), weight if view.weighted else None)

    @guided
    def degrees_of(self, vertices: Ids) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
        """Return how many edges leave each of some vertices, and how many enter it; without directions, its edges twice.

        Raises `InvalidInputError` if one is not a vertex. Cost: as `edges_of`, without a look at edges that are listed.
        """
        with self._view("one-hop") as view:
            return _in_parts(view._native.degrees_of, view._find_all(vertices))

    @guided
    def within(
        self, vertices: Ids, hops: int, direction: Direction = "out"
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint32]]:
        """Return the vertices up to so many `hops` away from some vertices, and of each how many it is away.

        In ascending order of hops; the vertices themselves are 0 away. `direction` says along which edges: as they lead
        (`out`), against that (`in`) or `both`.

        Raises `InvalidInputError` if one is not a vertex. Cost: the edges of all that are nearer than `hops`.

        >>> import everedge
        >>> graph = everedge.Graph("example", medium="dram")
        >>> graph.add_edges([1, 2, 3], [2, 3, 4])
        >>> graph.snapshot().within(1, 2)
        (array([1, 2, 3], dtype=uint32), array([0, 1, 2], dtype=uint32))
        """
        with self._view("one-hop") as view:
            hops = min(whole(hops, "hops"), _HOPS_MAX)
            found, away = view._native.within(view._find_all(vertices), hops, direction)
            return view._names(found), away

    @guided
    def shortest_path(self, source: Id, target: Id, *, hops: bool = False) -> Path | None:
        """Return a shortest path from `source` to `target`; `None` if there is none.

        It is the path of the smallest sum of weights; where edges have none, or `hops` alone count, that of the fewest edges.

        Raises `InvalidInputError` if one of them is not a vertex, or a weight that it comes by is negative. Cost: two searches that
        meet, which see little of most graphs; without in-neighbors one.

        >>> import everedge
        >>> graph = everedge.Graph("example", medium="dram")
        >>> graph.add_edges(["ann", "bob", "ann"], ["bob", "eve", "zoe"])
        >>> graph.snapshot().shortest_path("ann", "eve")
        Path(vertices=array(['ann', 'bob', 'eve'], dtype=object), length=2.0)
        """
        if not isinstance(hops, bool):
            raise InvalidInputError(f"hops={hops!r}: True lets edges count, not weights; within(id, hops) goes so many hops")
        with self._view("sssp") as view:
            found = view._native.path(view._find(source), view._find(target), hops)
            return found and Path(view._names(found[0]), found[1])

    def predecessors(self, answer: Values[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the edges of all shortest paths that `bfs` or `sssp` of this graph has measured.

        Of shape `[edges]` each: a vertex, and one that comes before it on a shortest path; a vertex has several where there are
        several paths. Lengths of sums of weights are equal up to 1e-12 of them. Self-loops are left out.

        Raises `InvalidInputError` for another answer. Cost: as `edges`.

        >>> import everedge
        >>> graph = everedge.Graph("example", medium="dram")
        >>> graph.add_edges([0, 0, 1, 2], [1, 2, 3, 3])
        >>> snapshot = graph.snapshot()
        >>> vertices, before = snapshot.predecessors(snapshot.bfs(0))
        >>> before[vertices == 3].tolist()
        [1, 2]
        """
        kernel = answer._report and answer._report.kernel if isinstance(answer, Values) else None
        if kernel not in ("bfs", "sssp"):
            raise InvalidInputError(
                "predecessors are of an answer of bfs or sssp, as predecessors(snapshot.bfs(source)); "
                "in_neighbors(id) has those who have an edge to a vertex"
            )
        with self._view_beside(edge_bytes=_PREDECESSORS) as view:
            vertices = view._vertices
            if not np.array_equal(answer.ids, vertices.ids):
                raise InvalidInputError("the answer is of a graph with other vertices")
            src, dst, weight = view._native.edges()
            directed = view.directed
        values = answer.values.astype(np.float64)
        values[values < 0] = np.inf
        count = max(len(vertices.ids), 1)

        def on_shortest_paths(u: npt.NDArray[Any], v: npt.NDArray[Any], long: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
            """Return the edges of some that are on one, each as one number, which sorts several times as fast as two."""
            u, v = np.searchsorted(vertices.index, u), np.searchsorted(vertices.index, v)
            there, via = values[v], values[u] + (1.0 if kernel == "bfs" else long.astype(np.float64))
            is_on = (u != v) & np.isfinite(there) & np.isclose(via, there, rtol=1e-12, atol=0)
            return np.unique(v[is_on] * count + u[is_on])

        found = [_in_parts(on_shortest_paths, src, dst, weight)]
        if not directed:
            found.append(_in_parts(on_shortest_paths, dst, src, weight))
        pairs = np.unique(np.concatenate(found))
        return vertices.ids[pairs // count], vertices.ids[pairs % count]

    @guided
    def similarity(
        self, src: Ids, dst: Ids, measure: Measure = "jaccard"
    ) -> npt.NDArray[np.float64]:
        """Return of each pair, a vertex and the one in the same row, how similar they are.

        `jaccard` is the part of all their neighbors that they share, `common-neighbors` how many they share, `adamic-adar` and
        `resource-allocation` those of few neighbors more, `preferential-attachment` the product of their numbers of neighbors.
        Directions, self-loops and parallel edges are left aside.

        Raises `InvalidInputError` if one is not a vertex. Cost: the neighbors of both.

        >>> import everedge
        >>> graph = everedge.Graph("example", medium="dram", directed=False)
        >>> graph.add_edges([0, 0, 1, 1], [2, 3, 2, 3])
        >>> graph.snapshot().similarity(0, 1)
        array([1.])
        """
        ends = _columns.names(src, "src"), _columns.names(dst, "dst")
        _columns.check_lengths(*ends)
        with self._view("one-hop") as view:
            u, v = (view._find_all(end) for end in ends)
            return _in_parts(lambda src, dst: view._native.similarity(src, dst, measure), u, v)

    @guided
    def most_similar(
        self, vertex: Id, count: int = 10, measure: Measure = "jaccard"
    ) -> list[tuple[Any, float]]:
        """Return the vertices that share neighbors with `vertex` and are the most similar to it, with their scores.

        The most similar first, `count` of them at most; measures as of `similarity`.

        Raises `InvalidInputError` if it is not a vertex. Cost: the neighbors of its neighbors.
        """
        count = whole(count, "count")
        with self._view("one-hop") as view:
            found, scores = view._native.most_similar(view._find(vertex), count, measure)
            return list(zip(view._names(found).tolist(), scores.tolist(), strict=True))

    @guided
    def modularity(
        self,
        groups: Values[Any] | Mapping[Any, Any],
        *,
        resolution: float = 1.0,
        weighted: bool = True,
    ) -> float:
        """Return the modularity of a division of all vertices: a group for each, as a kernel returns them or a dict.

        With directions as Leicht and Newman define it. `weighted=False` leaves weights aside.

        Raises `InvalidInputError` if a vertex has no group. Cost: every edge.

        >>> import everedge
        >>> graph = everedge.Graph("example", medium="dram", directed=False)
        >>> graph.add_edges([0, 1, 2, 3, 4, 5, 0], [1, 2, 0, 4, 5, 3, 3])
        >>> snapshot = graph.snapshot()
        >>> round(snapshot.modularity(snapshot.louvain()), 6)
        0.357143
        """
        if not isinstance(groups, Values | Mapping):
            raise InvalidInputError(
                f"groups: a {type(groups).__name__} does not say whose groups they are; give what a kernel answers, or a dict: "
                "dict(zip(snapshot.vertices.tolist(), groups))"
            )
        with self._view("louvain") as view:
            vertices = view._vertices
            try:
                found = [groups[name] for name in vertices.ids.tolist()]
            except KeyError as missing:
                raise InvalidInputError(f"vertex `{missing.args[0]}` has no group") from None
            numbers: dict[Any, int] = {}
            try:
                labels = [numbers.setdefault(group, len(numbers)) for group in found]
            except TypeError:
                raise InvalidInputError("groups: a group is a number, a string or what else a dict takes as a key") from None
            by_row = np.zeros(view._native.row_count(), np.uint32)
            by_row[vertices.index if len(by_row) > len(labels) else slice(None)] = labels
            return view._native.modularity(by_row, resolution, weighted)

    @guided
    def subgraph(self, vertices: Ids) -> Snapshot:
        """Return the graph of some vertices and the edges between them, in memory; ids and weights are as here.

        Raises `InvalidInputError` if one is not a vertex. Cost: the edges of these vertices.

        >>> import everedge
        >>> graph = everedge.Graph("example", medium="dram")
        >>> graph.add_edges([1, 2, 3], [2, 3, 4])
        >>> graph.snapshot().subgraph([2, 3, 4]).num_edges
        2
        """
        from everedge._snapshot import Snapshot

        with self._view("one-hop") as view:
            return Snapshot(view._native.subgraph(view._find_all(vertices)))

    @guided
    def neighbors(self, vertex: Id) -> npt.NDArray[Any]:
        """Return the external ids of the out-neighbors of a vertex, parallel edges one by one.

        Raises `InvalidInputError` if it is not a vertex. Cost: the neighbors; of a sealed graph, 4 bytes a vertex are
        read to find it.
        """
        with self._view("one-hop") as view:
            return view._id_array(view._native.out_neighbors(view._find(vertex)))

    @guided
    def in_neighbors(self, vertex: Id) -> npt.NDArray[Any]:
        """Return the external ids of the vertices with an edge to `vertex`, parallel edges one by one.

        Without directions, its neighbors. Raises `InvalidInputError` if it is not a vertex. Cost: as `neighbors`; every
        edge in a graph without in-neighbors.
        """
        with self._view("one-hop") as view:
            return view._id_array(view._native.in_neighbors(view._find(vertex)))

    @guided
    def plot_neighborhood(
        self,
        vertex: Id,
        hops: int = 1,
        limit: int = 40,
        *,
        direction: Direction = "both",
        ax: matplotlib.axes.Axes | None = None,
    ) -> matplotlib.axes.Axes:
        """Draw a vertex and those up to so many `hops` away; needs matplotlib. Returns the axes.

        Who has an edge to the vertex stands on its left, to whom it has one on its right, with both on the right; each hop has
        a column. `limit` is how many vertices are drawn beside it, those of the heaviest edges or else of the most edges; over
        a column stands how many there are. Edges carry their weights; of several between two vertices stands how many.
        `direction` leaves the others out: `out`, `in` or `both`. The figure is 6 inches wide where names allow it.

        Raises `InvalidInputError` if it is not a vertex. Cost: the edges of all that are drawn.

        >>> import everedge, matplotlib
        >>> matplotlib.use("agg")
        >>> graph = everedge.Graph("example", medium="dram")
        >>> graph.add_edges(["app", "app", "lib"], ["lib", "libc", "libc"])
        >>> axes = graph.snapshot().plot_neighborhood("app", direction="out")
        >>> axes.figure.savefig("/dev/null", format="png")
        >>> [text.get_text() for text in axes.texts]
        ['app', 'lib', 'libc', 'out\\n2']
        """
        from everedge import _neighborhood

        with self._view("one-hop") as view:
            found = _neighborhood.neighborhood(view, view._find(vertex), hops, limit, direction)
        return _neighborhood.draw(found, ax)

    @guided
    def out_degree(self) -> Values[np.uint32]:
        """Return the number of edges that leave each vertex.

        Cost: the vertices; of a sealed graph, 12 bytes a vertex are read.
        """
        with self._view_beside(vertex_bytes=_DEGREES) as view:
            return Values("out_degree", view._vertices, view._native.out_degrees())

    @guided
    def in_degree(self) -> Values[np.uint32]:
        """Return the number of edges that enter each vertex.

        Cost: as `out_degree`; every edge in a graph without in-neighbors.
        """
        with self._view_beside(vertex_bytes=_DEGREES) as view:
            return Values("in_degree", view._vertices, view._native.in_degrees())

    @guided
    def degree(self) -> Values[np.uint32]:
        """Return the number of edges of each vertex, both ways if they have a direction.

        A self-loop counts twice in a directed graph, once in an undirected one.
        """
        with self._view_beside(vertex_bytes=_DEGREES) as view:
            degrees = view._native.out_degrees()
            if view.directed:
                degrees += view._native.in_degrees()
            return Values("degree", view._vertices, degrees)

    @guided
    def edges(self) -> Edges:
        """Return sources, destinations and weights (`None` without), of shape `[num_edges]` each.

        `src, dst, weight = snapshot.edges()` takes them apart; whatever takes Arrow streams has them as a table. In external ids; an undirected edge comes once. Cost: every edge, 12 bytes and its ids. All of them are in memory:
        28 bytes an edge, which are part of a sealed graph's `memory`; less than that raises `InvalidInputError`, with
        what would do. The graph itself hands them out as an Arrow stream without all in memory; `neighbors` gives them
        vertex by vertex, and `export` writes them to a file.
        """
        with self._view_beside(edge_bytes=_EDGES) as view:
            src, dst, weight = view._native.edges()
            vertices = view._vertices
            return Edges(vertices.named(src), vertices.named(dst), weight if view.weighted else None)

    @guided
    def export(self, path: str | os.PathLike[str], format: str | None = None) -> ExportReport:
        """Write the graph to a file or a directory for other programs; return what was written.

        - `format`: as the file's name ends unless it is given: `csv`, `parquet`, `edge-list` and the others that `ingest` takes.
          `icebug` and `graphar` are directories, and so is `parquet` unless the name ends in .parquet: edges sorted by both ends,
          all vertices, and a manifest with checksums. `Graph.ingest` of the directory makes the same graph.

        An undirected edge comes once. A file or a directory appears when it is whole; a directory takes the place of an export
        that is there, and of nothing else. Ctrl-C ends it. In a terminal or a notebook a line shows that it goes on.

        Raises `InvalidInputError` if something else is there, `FileError` if the format cannot hold the graph, `NoSpaceError`,
        `IoError`. Cost: every edge. Of directories, 8 bytes of memory a vertex and its id, the longest list, and
        about 60 MB a thread.

        >>> import everedge, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "packages")
        >>> graph = everedge.Graph("example", medium="dram")
        >>> graph.add_edges(["app", "lib"], ["lib", "libc"])
        >>> graph.snapshot().export(path, "parquet").edges
        2
        >>> everedge.Graph("another", medium="dram").ingest(path).vertices
        3
        """
        from everedge._reports import ExportReport

        if not isinstance(path, str | os.PathLike):
            raise not_a_path("path", path)
        needs = {"vertex_bytes": _EXPORT_VERTEX, "edge_bytes": _EXPORT, "edges_max": _EXPORTED_AT_ONCE}
        with self._view_beside(**needs) as view, Bar() as bar:
            tell = partial(bar.show_steps, "export") if is_watched() else None
            return ExportReport(**view._native.export(os.fspath(path), format, tell))

    def to_pandas(self) -> pandas.DataFrame:
        """Return the edges as a pandas frame: columns `src`, `dst` and, if edges have one, `weight`; needs pandas.

        In external ids; an undirected edge comes once. Cost: as `edges`.

        >>> import everedge
        >>> graph = everedge.Graph("example", medium="dram")
        >>> graph.add_edges(["app", "lib"], ["lib", "libc"])
        >>> graph.snapshot().to_pandas()
           src   dst
        0  app   lib
        1  lib  libc
        """
        import pandas

        with self._view_beside(edge_bytes=_TABLE) as view:
            return pandas.DataFrame(view.edges().columns(), copy=False)

    def to_arrow(self) -> pyarrow.Table:
        """Return the edges as an Arrow table: columns `src`, `dst` and, if edges have one, `weight`; needs pyarrow.

        In external ids; an undirected edge comes once. Cost: as `edges`, and the names again where ids are strings.
        """
        import pyarrow

        with self._view_beside(edge_bytes=_TABLE) as view:
            return pyarrow.table(view)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return all edges as a stream of Arrow: columns `src`, `dst` and, if edges have one, `weight`.

        So polars, DuckDB and pyarrow take the graph as a table; DuckDB goes through one that is larger than memory. In external
        ids, text as `large_string`; an undirected edge comes once. The stream stays readable when the graph is closed.

        Cost: 65,536 edges in memory at once, or the longest list; of a sealed graph, 4 bytes a vertex.

        >>> import duckdb, everedge
        >>> graph = everedge.Graph("example", medium="dram")
        >>> graph.add_edges(["app", "app"], ["lib", "libc"])
        >>> with graph.snapshot() as snapshot:
        ...     duckdb.sql("select src, count(*) from snapshot group by src").fetchall()
        [('app', 2)]
        """
        needs = {"vertex_bytes": _NUMBERS, "edge_bytes": _TABLE, "edges_max": _EDGES_AT_ONCE}
        with self._view_beside(**needs) as view:
            return view._native.stream()

    def to_scipy(self) -> scipy.sparse.csr_array:
        """Return the adjacency matrix: row and column k stand for `vertices[k]`; needs SciPy.

        Entries are 32-bit floats. Parallel edges add up; an undirected edge stands on both sides of the diagonal. Cost: every edge, up to 24 bytes for
        each while it is made, 48 without directions, and 48 a vertex; parallel edges are sorted.
        """
        import scipy.sparse

        edge_bytes = _SCIPY if self.directed else _SCIPY_UNDIRECTED
        with self._view_beside(vertex_bytes=_SCIPY_VERTEX, edge_bytes=edge_bytes) as view:
            starts, rows, weight = view._native.csr(ones=True)
            index, is_simple = view._vertices.index, view._native.is_simple()
        if len(starts) - 1 > len(index):
            # Ids without a vertex have no row.
            starts = np.append(starts[index], starts[-1])
            place = np.zeros(int(index[-1]) + 1 if len(index) else 0, np.uint32)
            place[index] = np.arange(len(index), dtype=np.uint32)
            rows = place[rows]
        kind = np.int32 if len(rows) < 1 << 31 else np.int64
        columns = rows.view(np.int32).astype(kind, copy=False)
        shape = (len(index), len(index))
        matrix = scipy.sparse.csr_array((weight, columns, starts.astype(kind)), shape=shape)
        if not is_simple:
            matrix.sum_duplicates()
        return matrix

    def to_igraph(self) -> igraph.Graph:
        """Return an igraph graph, whose vertices have the attribute `name`; needs igraph.

        Edges have the attribute `weight` if they carry one. Cost: as `edges`, but about 200 bytes an edge.
        """
        import igraph

        with self._view_beside(vertex_bytes=_NETWORKX_VERTEX, edge_bytes=_IGRAPH) as view:
            src, dst, weight = view._native.edges()
            index, names, directed = view._vertices.index, view.vertices.tolist(), view.directed
            weighted = view.weighted
        ends = np.column_stack([np.searchsorted(index, src), np.searchsorted(index, dst)])
        graph = igraph.Graph(n=len(index), edges=ends.tolist(), directed=directed)
        graph.vs["name"] = names
        if weighted:
            graph.es["weight"] = weight.tolist()
        return graph

    def to_networkx(self) -> networkx.Graph[Any]:
        """Return a NetworkX graph; needs NetworkX.

        It is a `DiGraph` or, if edges have no direction, a `Graph`, where a pair keeps one edge
        (`simple=True`); else a `MultiDiGraph` or `MultiGraph`. Edges have the attribute `weight`
        if they carry one.

        Cost: as `edges`, but about a kilobyte an edge, and half of one a vertex.
        """
        import networkx

        with self._view_beside(vertex_bytes=_NETWORKX_VERTEX, edge_bytes=_NETWORKX) as view:
            graph: networkx.Graph[Any]
            if view._native.is_simple():
                graph = networkx.DiGraph() if view.directed else networkx.Graph()
            else:
                graph = networkx.MultiDiGraph() if view.directed else networkx.MultiGraph()
            graph.add_nodes_from(view.vertices.tolist())
            src, dst, weight = view.edges()
        if weight is None:
            graph.add_edges_from(zip(src.tolist(), dst.tolist(), strict=True))
        else:
            edges = zip(src.tolist(), dst.tolist(), weight.tolist(), strict=True)
            graph.add_weighted_edges_from(edges)
        return graph
