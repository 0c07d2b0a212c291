"""The kernels: functions of a graph, a snapshot or a sealed graph, and methods of the last two.

Each answer is verified before it is returned. On a graph a kernel takes a snapshot of its own.
`threads` is how many a kernel runs on; 0 is one a core. A source that is not given is the vertex
of largest out-degree, the smallest of them. Kernels release the GIL; Ctrl-C ends them at once. In a
terminal or a notebook a line shows how far they are.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from everedge import _native
from everedge._columns import Id
from everedge._guiding import kernel
from everedge._parts import (
    articulation_points,
    bipartition,
    bridges,
    label_propagation,
    leiden,
    louvain,
    spanning_forest,
    topological_order,
)
from everedge._scores import (
    closeness,
    eigenvector,
    harmonic,
    hits,
    katz,
    personalized_pagerank,
)
from everedge._values import Communities, Components, Values

if TYPE_CHECKING:
    from everedge._chunks import Chunks
    from everedge._graph import Graph
    from everedge._snapshot import Snapshot

AnyGraph: TypeAlias = "Graph | Snapshot | Chunks"
"""What a kernel is asked of."""


@kernel
def pagerank(
    graph: AnyGraph,
    *,
    iterations: int | None = None,
    tolerance: float | None = None,
    damping: float | None = None,
    threads: int = 0,
) -> Values[np.float64]:
    """Return the PageRank of each vertex; the ranks sum to 1.

    Ends after `iterations`, or when an iteration changes all ranks by less than `tolerance` in
    sum; the one that is not given does not end it. With neither: 20 iterations at most. Weights are
    not used; parallel edges count one by one.

    Cost: each iteration reads every edge once.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram")
    >>> graph.add_edges([1, 2, 3], [0, 0, 0])
    >>> round(float(everedge.pagerank(graph)[0]), 6)
    0.541949
    """
    with graph._view("pagerank", threads) as view:
        report, by_index = view._run(
            "pagerank", threads, iterations=iterations, tolerance=tolerance, damping=damping
        )
        return Values("pagerank", view._vertices, by_index, report)


@kernel
def bfs(
    graph: AnyGraph, source: Id | None = None, *, threads: int = 0
) -> Values[np.int32]:
    """Return how many edges a shortest path from `source` to each vertex has.

    It is 0 for the source itself and `UNREACHED` (-1) where there is no path. Weights are not used.

    Raises `InvalidInputError` if the source is not a vertex. Cost: every edge at most once each way.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram")
    >>> graph.add_edges([0, 1, 3], [1, 2, 2])
    >>> everedge.bfs(graph, source=0).values
    array([ 0,  1,  2, -1], dtype=int32)
    """
    with graph._view("bfs", threads) as view:
        report, by_index = view._run("bfs", threads, source=source)
        # Depths are below 2^31 and the mark for none has all bits set: -1 in two's complement.
        return Values("bfs", view._vertices, by_index.view(np.int32), report)


@kernel
def sssp(
    graph: AnyGraph,
    source: Id | None = None,
    *,
    delta: float | None = None,
    threads: int = 0,
) -> Values[np.float64]:
    """Return the length of the shortest path from `source` to each vertex; `inf` if there is none.

    The length of an edge is its weight, or 1 in a graph without weights.

    Raises `InvalidInputError` if the source is not a vertex, `KernelError` for a negative weight.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram", weighted=True)
    >>> graph.add_edges([0, 1, 0], [1, 2, 2], weight=[1.5, 1.5, 9])
    >>> everedge.sssp(graph, source=0).to_dict()
    {0: 0.0, 1: 1.5, 2: 3.0}
    """
    with graph._view("sssp", threads) as view:
        report, by_index = view._run("sssp", threads, source=source, delta=delta)
        return Values("sssp", view._vertices, by_index, report)


@kernel
def wcc(graph: AnyGraph, *, threads: int = 0) -> Components:
    """Return the weakly connected component of each vertex: edges count in both directions.

    Cost: every edge about once.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram")
    >>> graph.add_edges([0, 1, 7], [1, 2, 8])
    >>> everedge.wcc(graph).top()
    [(0, 3), (7, 2)]
    """
    with graph._view("wcc", threads) as view:
        report, by_index = view._run("wcc", threads)
        return Components("wcc", view._vertices, by_index, report)


@kernel
def one_hop(
    graph: AnyGraph, source: Id | None = None, *, threads: int = 0
) -> npt.NDArray[Any]:
    """Return the external ids of the out-neighbors of `source`, parallel edges one by one.

    Raises `InvalidInputError` if the source is not a vertex. Cost: the neighbors, read twice.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram")
    >>> graph.add_edges([0, 0], [1, 2])
    >>> sorted(everedge.one_hop(graph, 0).tolist())
    [1, 2]
    """
    with graph._view("one-hop", threads) as view:
        _, neighbors = view._run("one-hop", threads, source=source)
        return view._id_array(neighbors)


@kernel
def two_hop(
    graph: AnyGraph,
    source: Id | None = None,
    *,
    threads: int = 0,
) -> npt.NDArray[Any]:
    """Return the external ids of the vertices one or two edges away from `source`, each once.

    Raises `InvalidInputError` if the source is not a vertex. Cost: the edges of two steps.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram")
    >>> graph.add_edges([0, 1, 1, 2], [1, 2, 0, 3])
    >>> everedge.two_hop(graph, 0).tolist()
    [1, 2]
    """
    with graph._view("two-hop", threads) as view:
        _, vertices = view._run("two-hop", threads, source=source)
        return view._id_array(vertices)


@kernel
def delta_pagerank(
    graph: AnyGraph,
    *,
    tolerance: float | None = None,
    damping: float | None = None,
    threads: int = 0,
) -> Values[np.float64]:
    """Return the PageRank of each vertex, by passing on only what has changed.

    The ranks are within `tolerance` of the limit, all differences added up; 0.0001 unless given.

    Cost: each step reads the edges of the vertices that have changed, or all edges.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram")
    >>> graph.add_edges([1, 2, 3], [0, 0, 0])
    >>> round(float(everedge.delta_pagerank(graph, tolerance=1e-9)[0]), 6)
    0.541985
    """
    with graph._view("delta-pagerank", threads) as view:
        report, by_index = view._run("delta-pagerank", threads, tolerance=tolerance, damping=damping)
        return Values("delta-pagerank", view._vertices, by_index, report)


@kernel
def scc(
    graph: AnyGraph,
    *,
    threads: int = 0,
) -> Components:
    """Return the strongly connected component of each vertex: each reaches all others of its own.

    Cost: every edge a few times.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram")
    >>> graph.add_edges([0, 1, 2, 2], [1, 2, 0, 3])
    >>> everedge.scc(graph).top()
    [(0, 3), (3, 1)]
    """
    with graph._view("scc", threads) as view:
        report, by_index = view._run("scc", threads)
        return Components("scc", view._vertices, by_index, report)


@kernel
def bc(
    graph: AnyGraph,
    source: Id | None = None,
    *,
    samples: int | None = None,
    seed: int | None = None,
    convention: Literal["pairs", "networkx", "gap"] | None = None,
    threads: int = 0,
) -> Values[np.float64]:
    """Return the betweenness of each vertex: how many shortest paths go through it.

    Of several shortest paths between two vertices each counts its part (Brandes). Paths begin at
    every vertex, or at `source`, or at `samples` vertices that `seed` draws among those with
    out-edges, some more than once. Weights are not used. Parallel edges are different paths; in NetworkX's multigraphs
    they are one.

    `convention` says what a score is: `pairs` (default), how many pairs of other vertices, each
    counted once; `networkx`, the part of all pairs, as NetworkX without `normalized=False`; `gap`, in
    proportion to the largest.

    Cost: for each vertex that paths begin at, the edges that it reaches, twice.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram")
    >>> graph.add_edges([0, 1, 4, 1], [1, 2, 1, 3])
    >>> everedge.bc(graph).top(1)
    [(1, 4.0)]
    """
    with graph._view("bc", threads) as view:
        report, by_index = view._run(
            "bc", threads, source=source, samples=samples, seed=seed, convention=convention
        )
        return Values("bc", view._vertices, by_index, report)


@kernel
def sswp(
    graph: AnyGraph,
    source: Id | None = None,
    *,
    threads: int = 0,
) -> Values[np.float64]:
    """Return the width of the widest path from `source` to each vertex: its smallest weight.

    `inf` for the source itself and `-inf` where there is no path.

    Raises `InvalidInputError` if the source is not a vertex.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram", weighted=True)
    >>> graph.add_edges([0, 1, 0], [1, 2, 2], weight=[5, 3, 1])
    >>> float(everedge.sswp(graph, source=0)[2])
    3.0
    """
    with graph._view("sswp", threads) as view:
        report, by_index = view._run("sswp", threads, source=source)
        return Values("sswp", view._vertices, by_index, report)


@kernel
def ssnp(
    graph: AnyGraph,
    source: Id | None = None,
    *,
    threads: int = 0,
) -> Values[np.float64]:
    """Return the largest weight on the narrowest path from `source` to each vertex.

    `-inf` for the source itself and `inf` where there is no path.

    Raises `InvalidInputError` if the source is not a vertex.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram", weighted=True)
    >>> graph.add_edges([0, 1, 0], [1, 2, 2], weight=[2, 3, 9])
    >>> float(everedge.ssnp(graph, source=0)[2])
    3.0
    """
    with graph._view("ssnp", threads) as view:
        report, by_index = view._run("ssnp", threads, source=source)
        return Values("ssnp", view._vertices, by_index, report)


@kernel
def viterbi(
    graph: AnyGraph,
    source: Id | None = None,
    *,
    threads: int = 0,
) -> Values[np.float64]:
    """Return the probability of the most likely path from `source`: the product of its weights.

    1 for the source itself and 0 where there is no path.

    Raises `InvalidInputError` if the source is not a vertex, `KernelError` for a weight that is not
    from 0 to 1.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram", weighted=True)
    >>> graph.add_edges([0, 1, 0], [1, 2, 2], weight=[0.5, 0.5, 0.125])
    >>> float(everedge.viterbi(graph, source=0)[2])
    0.25
    """
    with graph._view("viterbi", threads) as view:
        report, by_index = view._run("viterbi", threads, source=source)
        return Values("viterbi", view._vertices, by_index, report)


@overload
def kcore(
    graph: AnyGraph, *, k: None = None, threads: int = 0
) -> Values[np.uint32]: ...
@overload
def kcore(graph: AnyGraph, *, k: int, threads: int = 0) -> npt.NDArray[Any]: ...
@kernel
def kcore(
    graph: AnyGraph, *, k: int | None = None, threads: int = 0
) -> Values[np.uint32] | npt.NDArray[Any]:
    """Return the coreness of each vertex, or the external ids of the `k`-core.

    The k-core is the largest set of vertices that all have k neighbors in it; the coreness is the
    largest k so that a vertex is in the k-core. Directions, self-loops and parallel edges are left
    aside. Cost: every edge a few times.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram")
    >>> graph.add_edges([0, 1, 2, 2], [1, 2, 0, 3])
    >>> everedge.kcore(graph).values
    array([2, 2, 2, 1], dtype=uint32)
    >>> everedge.kcore(graph, k=2).tolist()
    [0, 1, 2]
    """
    with graph._view("kcore", threads) as view:
        report, found = view._run("kcore", threads, k=k)
        return view._id_array(found) if k is not None else Values("kcore", view._vertices, found, report)


@kernel
def radii(
    graph: AnyGraph,
    *,
    samples: int | None = None,
    seed: int | None = None,
    threads: int = 0,
) -> Values[np.int32]:
    """Return for each vertex the largest distance to it from any of some sampled vertices.

    `UNREACHED` (-1) where none of them leads to. Searches begin at `samples` vertices, 64 unless
    given, that `seed` draws (in a sealed graph others than in the graph that was sealed, as its vertices have
    new numbers); at all of them the answer is the eccentricity, backwards.

    Cost: every edge a few times for each 64 searches.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram")
    >>> graph.add_edges([0, 1, 2], [1, 2, 3])
    >>> everedge.radii(graph).values
    array([0, 1, 2, 3], dtype=int32)
    """
    with graph._view("radii", threads) as view:
        report, by_index = view._run("radii", threads, samples=samples, seed=seed)
        return Values("radii", view._vertices, by_index.view(np.int32), report)


@kernel
def triangles(
    graph: AnyGraph,
    *,
    threads: int = 0,
) -> int:
    """Return the number of triangles; directions, self-loops and parallel edges are left aside.

    Cost: at most edges to the power of 1.5.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram")
    >>> graph.add_edges([0, 1, 2, 2], [1, 2, 0, 3])
    >>> everedge.triangles(graph)
    1
    """
    with graph._view("triangles", threads) as view:
        report, _ = view._run("triangles", threads)
        return int(report.result["count"])


@kernel
def lcc(
    graph: AnyGraph,
    *,
    threads: int = 0,
) -> Values[np.float64]:
    """Return the local clustering coefficient of each vertex, as LDBC Graphalytics defines it.

    The part of the pairs of its neighbors that have an edge; 0 with fewer than two neighbors.

    Cost: as triangles.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram")
    >>> graph.add_edges([0, 1, 2, 2], [1, 2, 0, 3])
    >>> round(float(everedge.lcc(graph)[0]), 3)
    0.5
    """
    with graph._view("lcc", threads) as view:
        report, by_index = view._run("lcc", threads)
        return Values("lcc", view._vertices, by_index, report)


@kernel
def cdlp(
    graph: AnyGraph,
    *,
    iterations: int | None = None,
    threads: int = 0,
) -> Communities:
    """Return the community of each vertex, by label propagation as LDBC Graphalytics defines it.

    In each of `iterations` (10 unless given) a vertex takes the label that most of its neighbors
    have, the smallest of several. The first labels are the external ids; of strings the one of the
    smaller vertex number is the smaller.

    Cost: each iteration reads the edges of the vertices that see a change.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram")
    >>> graph.add_edges([0, 1, 2, 5, 6, 7], [1, 2, 0, 6, 7, 5])
    >>> everedge.cdlp(graph).values
    array([0, 0, 0, 5, 5, 5], dtype=uint64)
    """
    with graph._view("cdlp", threads) as view:
        report, by_index = view._run("cdlp", threads, iterations=iterations)
        return Communities("cdlp", view._vertices, by_index, report)


def _describe_parameters() -> None:
    """Put what the engine says of each parameter into the docstrings, before their examples.

    There are none under `python -OO`.
    """
    if __doc__ is None:
        return
    about = dict(_native.parameters())
    for kernel, names in _native.kernels():
        function = globals()[kernel.replace("-", "_")]
        text, prompt, example = inspect.cleandoc(function.__doc__).partition(">>> ")
        said = "".join(f"- `{name}`: {about[name]}\n" for name in names)
        if said:
            function.__doc__ = f"{text}{said}\n{prompt}{example}"


_describe_parameters()


class Methods:
    """The kernels as methods of a graph that is asked."""

    pagerank = pagerank
    bfs = bfs
    sssp = sssp
    wcc = wcc
    one_hop = one_hop
    two_hop = two_hop
    delta_pagerank = delta_pagerank
    scc = scc
    bc = bc
    sswp = sswp
    ssnp = ssnp
    viterbi = viterbi
    kcore = kcore
    radii = radii
    triangles = triangles
    lcc = lcc
    cdlp = cdlp
    personalized_pagerank = personalized_pagerank
    hits = hits
    eigenvector = eigenvector
    katz = katz
    closeness = closeness
    harmonic = harmonic
    louvain = louvain
    leiden = leiden
    label_propagation = label_propagation
    bridges = bridges
    articulation_points = articulation_points
    spanning_forest = spanning_forest
    topological_order = topological_order
    bipartition = bipartition

    # As others call them.
    betweenness = bc
    connected_components = wcc
    strongly_connected_components = scc
    core_number = kcore
    clustering = lcc
    topological_sort = topological_order
    minimum_spanning_forest = spanning_forest
