"""The kernels: functions of a graph or a snapshot, and methods of a snapshot.

Each answer is verified before it is returned. On a graph a kernel takes a snapshot of its own.
`threads` is how many a kernel runs on; 0 is one a core. A source that is not given is the vertex
of largest out-degree, the smallest of them. Kernels release the GIL; Ctrl-C ends them at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from everedge._columns import Id
from everedge._values import Components, Values

if TYPE_CHECKING:
    from everedge._graph import Graph
    from everedge._snapshot import Snapshot


def pagerank(
    graph: Graph | Snapshot,
    *,
    iterations: int | None = None,
    tolerance: float | None = None,
    damping: float | None = None,
    threads: int = 0,
) -> Values[np.float64]:
    """Return the PageRank of each vertex; the ranks sum to 1.

    Ends after `iterations`, or when an iteration changes all ranks by less than `tolerance` in
    sum; the one that is not given does not end it. With neither: 20 iterations at most.

    Cost: each iteration reads every edge once.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram")
    >>> graph.add_edges([1, 2, 3], [0, 0, 0])
    >>> round(float(everedge.pagerank(graph)[0]), 6)
    0.541949
    """
    with graph._view() as view:
        report, by_index = view._run(
            "pagerank", threads, iterations=iterations, tolerance=tolerance, damping=damping
        )
        return Values("pagerank", view._vertices, by_index, report)


def bfs(
    graph: Graph | Snapshot, source: Id | None = None, *, threads: int = 0
) -> Values[np.int32]:
    """Return the steps from `source` to each vertex along edges; `UNREACHED` (-1) if there are none.

    Raises `InvalidInputError` if the source is not a vertex. Cost: every edge at most once each way.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram")
    >>> graph.add_edges([0, 1, 3], [1, 2, 2])
    >>> everedge.bfs(graph, source=0).values
    array([ 0,  1,  2, -1], dtype=int32)
    """
    with graph._view() as view:
        report, by_index = view._run("bfs", threads, source=source)
        # Depths are below 2^31 and the mark for none has all bits set: -1 in two's complement.
        return Values("bfs", view._vertices, by_index.view(np.int32), report)


def sssp(
    graph: Graph | Snapshot,
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
    with graph._view() as view:
        report, by_index = view._run("sssp", threads, source=source, delta=delta)
        return Values("sssp", view._vertices, by_index, report)


def wcc(graph: Graph | Snapshot, *, threads: int = 0) -> Components:
    """Return the weakly connected component of each vertex: edges count in both directions.

    Cost: every edge about once.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram")
    >>> graph.add_edges([0, 1, 7], [1, 2, 8])
    >>> everedge.wcc(graph).top()
    [(0, 3), (7, 2)]
    """
    with graph._view() as view:
        report, by_index = view._run("wcc", threads)
        return Components("wcc", view._vertices, by_index, report)


def one_hop(
    graph: Graph | Snapshot, source: Id | None = None, *, threads: int = 0
) -> npt.NDArray[Any]:
    """Return the external ids of the out-neighbors of `source`, parallel edges one by one.

    Raises `InvalidInputError` if the source is not a vertex. Cost: the neighbors, read twice.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram")
    >>> graph.add_edges([0, 0], [1, 2])
    >>> sorted(everedge.one_hop(graph, 0).tolist())
    [1, 2]
    """
    with graph._view() as view:
        _, neighbors = view._run("one-hop", threads, source=source)
        return view._names(neighbors)
