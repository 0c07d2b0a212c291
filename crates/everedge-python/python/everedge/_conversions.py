"""What graphs of other libraries hold."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from everedge._columns import Ids
from everedge._errors import InvalidInputError

if TYPE_CHECKING:
    import igraph
    import networkx
    import scipy.sparse


@dataclass
class Given:
    """Vertices and edges of a graph, and the options of a graph that takes them in."""

    names: Ids
    """All vertices, also those without an edge."""
    src: Ids
    dst: Ids
    weights: npt.ArrayLike | None
    options: dict[str, Any] = field(default_factory=dict)


def of_networkx(graph: networkx.Graph[Any], weight: str | None) -> Given:
    """Return what a graph of NetworkX holds; an edge without the attribute `weight` has weight 1 if another has it."""
    edges = list(graph.edges(data=weight, default=None)) if weight else list(graph.edges(data=False))
    weights = [edge[2] for edge in edges] if weight else []
    weighted = any(one is not None for one in weights)
    return Given(
        list(graph),
        [edge[0] for edge in edges],
        [edge[1] for edge in edges],
        [1 if one is None else one for one in weights] if weighted else None,
        {"directed": graph.is_directed(), "simple": not graph.is_multigraph()},
    )


def of_igraph(graph: igraph.Graph, weight: str | None, name: str | None) -> Given:
    """Return what a graph of igraph holds, by the attribute `name` of its vertices or else by their numbers."""
    names = list(graph.vs[name] if name and name in graph.vs.attributes() else range(graph.vcount()))
    if len(set(names)) < len(names):
        twice = next(one for one, count in Counter(names).items() if count > 1)
        raise InvalidInputError(f"two vertices are called {twice!r}: name=None calls vertices by their numbers")
    ends = graph.get_edgelist()
    weights = graph.es[weight] if weight and weight in graph.es.attributes() else None
    src, dst = [names[u] for u, _ in ends], [names[v] for _, v in ends]
    return Given(names, src, dst, weights, {"directed": graph.is_directed()})


def of_scipy(matrix: scipy.sparse.sparray | scipy.sparse.spmatrix, options: dict[str, Any]) -> Given:
    """Return the entries of a sparse matrix, as the options of the new graph want them."""
    import scipy.sparse

    rows, columns = matrix.shape
    if rows != columns:
        raise InvalidInputError(f"a matrix of {rows} rows and {columns} columns: it must be square")
    entries = scipy.sparse.coo_array(matrix)
    if entries.dtype == np.bool_ and options.get("weighted") is not False:
        raise InvalidInputError("a matrix of truth values: weighted=False leaves them out, and matrix.astype(float) makes numbers of them")
    if not entries.has_canonical_format:
        entries = entries.copy()
        entries.sum_duplicates()
    if options.get("directed") is False:
        if abs(entries - entries.T).nnz:
            raise InvalidInputError("directed=False: the matrix must be symmetric")
        entries = scipy.sparse.triu(entries)
    weights = None if options.get("weighted") is False else entries.data
    src, dst = entries.row.astype(np.uint32), entries.col.astype(np.uint32)
    return Given(np.arange(rows, dtype=np.uint32), src, dst, weights, {"simple": True})
