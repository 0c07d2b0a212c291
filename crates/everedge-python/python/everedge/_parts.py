"""Kernels that divide a graph: communities, bridges, forests, orders and colors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from everedge._arrow import Edges
from everedge._errors import InvalidInputError
from everedge._guiding import kernel
from everedge._values import Components, Values

if TYPE_CHECKING:
    from everedge._kernels import AnyGraph

_SHOWN = 20
"""Vertices of a cycle that an error names."""


@kernel
def louvain(
    graph: AnyGraph,
    *,
    resolution: float | None = None,
    weighted: bool | None = None,
    seed: int | None = None,
    threads: int = 0,
) -> Components:
    """Return the community of each vertex, by modularity and the method of Louvain.

    A community is named by its vertex of smallest number; `report.result["modularity"]` says how good the division is.
    Directions are left aside, there too.

    Raises `KernelError` for a negative weight. Cost: every edge a few times.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram", directed=False)
    >>> graph.add_edges([0, 1, 2, 3, 4, 5, 0], [1, 2, 0, 4, 5, 3, 3])
    >>> everedge.louvain(graph).top()
    [(0, 3), (3, 3)]
    """
    return _communities(graph, "louvain", threads, resolution=resolution, weighted=weighted, seed=seed)


@kernel
def leiden(
    graph: AnyGraph,
    *,
    resolution: float | None = None,
    weighted: bool | None = None,
    seed: int | None = None,
    threads: int = 0,
) -> Components:
    """Return the community of each vertex, by modularity and the method of Leiden: each is connected.

    As `louvain` otherwise.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram", directed=False)
    >>> graph.add_edges([0, 1, 2, 3, 4, 5, 0], [1, 2, 0, 4, 5, 3, 3])
    >>> everedge.leiden(graph).top()
    [(0, 3), (3, 3)]
    """
    return _communities(graph, "leiden", threads, resolution=resolution, weighted=weighted, seed=seed)


@kernel
def label_propagation(
    graph: AnyGraph, *, weighted: bool | None = None, seed: int | None = None, threads: int = 0
) -> Components:
    """Return the community of each vertex, by labels that go on until each is one that most of its neighbors have.

    `cdlp` does it in the rounds of LDBC Graphalytics. Directions are left aside.

    Raises `KernelError` for a negative weight. Cost: every edge a few times.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram", directed=False)
    >>> graph.add_edges([0, 1, 2, 3, 4, 5], [1, 2, 0, 4, 5, 3])
    >>> everedge.label_propagation(graph).top()
    [(0, 3), (3, 3)]
    """
    return _communities(graph, "label-propagation", threads, weighted=weighted, seed=seed)


@kernel
def bridges(
    graph: AnyGraph, *, threads: int = 0
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the ends of the edges without which two vertices are no longer connected, of shape `[bridges]` each.

    Directions are left aside; parallel edges are no bridges. Cost: every edge a few times.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram", directed=False)
    >>> graph.add_edges([0, 1, 2, 2], [1, 2, 0, 3])
    >>> everedge.bridges(graph)
    (array([2], dtype=uint32), array([3], dtype=uint32))
    """
    with graph._view("bridges", threads) as view:
        _, (src, dst, _) = view._run("bridges", threads)
        return view._names(src), view._names(dst)


@kernel
def articulation_points(graph: AnyGraph, *, threads: int = 0) -> npt.NDArray[Any]:
    """Return the external ids of the vertices without which two others are no longer connected.

    Directions are left aside. Cost: every edge a few times.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram", directed=False)
    >>> graph.add_edges([0, 1, 2, 2], [1, 2, 0, 3])
    >>> everedge.articulation_points(graph).tolist()
    [2]
    """
    with graph._view("articulation-points", threads) as view:
        _, found = view._run("articulation-points", threads)
        return view._id_array(found)


@kernel
def spanning_forest(
    graph: AnyGraph, *, threads: int = 0
) -> Edges:
    """Return sources, destinations and weights (`None` without) of a spanning forest of the smallest sum of weights.

    It joins what is connected, with one edge less than vertices. Directions are left aside. Cost: every edge a few times.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram", directed=False, weighted=True)
    >>> graph.add_edges([0, 1, 2], [1, 2, 0], [1, 2, 3])
    >>> everedge.spanning_forest(graph)[2].tolist()
    [1.0, 2.0]
    """
    with graph._view("spanning-forest", threads) as view:
        _, (src, dst, weight) = view._run("spanning-forest", threads)
        return Edges(view._names(src), view._names(dst), weight)


@kernel
def topological_order(graph: AnyGraph, *, threads: int = 0) -> npt.NDArray[Any]:
    """Return the external ids of all vertices in an order in which every edge leads forward.

    Raises `InvalidInputError` if there is none, with a cycle that is the reason. Cost: every edge once.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram")
    >>> graph.add_edges(["shirt", "tie", "trousers"], ["tie", "jacket", "jacket"])
    >>> everedge.topological_order(graph).tolist()[-1]
    'jacket'
    """
    with graph._view("topological-order", threads) as view:
        report, order = view._run("topological-order", threads)
        if cycle := report.result["cycle"]:
            shown = cycle if len(cycle) <= _SHOWN else [*cycle[:_SHOWN], f"... ({len(cycle) - _SHOWN} more)"]
            way = " -> ".join(str(name) for name in [*shown, cycle[0]])
            raise InvalidInputError(f"the graph has no topological order: {way} is a cycle")
        return view._id_array(order)


@kernel
def bipartition(graph: AnyGraph, *, threads: int = 0) -> Values[np.uint32] | None:
    """Return a color, 0 or 1, for each vertex so that every edge joins both; `None` if there are none.

    In the shell `everedge run bipartition` names a cycle of odd length then. Cost: every edge once or twice.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram", directed=False)
    >>> graph.add_edges([0, 1, 2], [1, 2, 3])
    >>> colors = everedge.bipartition(graph)
    >>> colors.to_dict()
    {0: 0, 1: 1, 2: 0, 3: 1}
    """
    with graph._view("bipartition", threads) as view:
        report, colors = view._run("bipartition", threads)
        return None if colors is None else Values("bipartition", view._vertices, colors, report)


def _communities(
    graph: AnyGraph, kernel: str, threads: int, **parameters: float | bool | None
) -> Components:
    with graph._view(kernel, threads) as view:
        report, by_index = view._run(kernel, threads, **parameters)
        return Components(kernel.replace("-", "_"), view._vertices, by_index, report)
