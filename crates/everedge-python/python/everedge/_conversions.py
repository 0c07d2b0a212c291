"""What graphs of other libraries hold."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from everedge._columns import Ids
from everedge._errors import InvalidInputError
from everedge._guiding import level_of_caller

if TYPE_CHECKING:
    import igraph
    import networkx
    import scipy.sparse

_ROWS_MAX = 1 << 31
"""Vertices of a graph at most."""


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
    if weight and edges and not weighted:
        _warn_of_numbers(weight, next(iter(graph.edges(data=True)))[-1])
    return Given(
        list(graph),
        [edge[0] for edge in edges],
        [edge[1] for edge in edges],
        [1 if one is None else one for one in weights] if weighted else None,
        {"directed": graph.is_directed(), "simple": not graph.is_multigraph()},
    )


def _warn_of_numbers(weight: str, attributes: dict[Any, Any]) -> None:
    """Warn of a number that edges have under another name than the weight that was looked for."""
    numbers = [name for name, one in attributes.items() if isinstance(one, int | float) and not isinstance(one, bool)]
    if numbers:
        say = f"edges have no {weight!r}; their {numbers[0]!r} may hold weights and was left out: name it (weight=), or say weight=None"
        warnings.warn(say, stacklevel=level_of_caller())


def of_igraph(graph: igraph.Graph, weight: str | None, name: str | None) -> Given:
    """Return what a graph of igraph holds, by the attribute `name` of its vertices or else by their numbers."""
    names = list(graph.vs[name] if name and name in graph.vs.attributes() else range(graph.vcount()))
    if len(set(names)) < len(names):
        twice = next(one for one, count in Counter(names).items() if count > 1)
        raise InvalidInputError(f"two vertices are called {twice!r}: name=None calls vertices by their numbers")
    ends = graph.get_edgelist()
    weights = graph.es[weight] if weight and weight in graph.es.attributes() else None
    if weight and ends and weights is None:
        _warn_of_numbers(weight, graph.es[0].attributes())
    src, dst = [names[u] for u, _ in ends], [names[v] for _, v in ends]
    return Given(names, src, dst, weights, {"directed": graph.is_directed()})


def of_scipy(matrix: scipy.sparse.sparray | scipy.sparse.spmatrix, options: dict[str, Any]) -> Given:
    """Return the entries of a sparse matrix, as the options of the new graph want them."""
    import scipy.sparse

    rows, columns = matrix.shape
    if rows != columns:
        raise InvalidInputError(f"a matrix of {rows} rows and {columns} columns: it must be square")
    if rows > _ROWS_MAX:
        raise InvalidInputError(f"a matrix of {rows:,} rows: a graph has at most {_ROWS_MAX:,} vertices")
    # Entries are sorted row by row there, which takes a tenth of the time: no signal is heard meanwhile.
    entries = scipy.sparse.csr_array(matrix)
    if entries.dtype == np.bool_ and options.get("weighted") is not False:
        raise InvalidInputError("a matrix of truth values: weighted=False leaves them out, and matrix.astype(float) makes numbers of them")
    if not entries.has_canonical_format:
        entries = entries.copy()
        entries.sum_duplicates()
    if options.get("directed") is False:
        if abs(entries - entries.T).nnz:
            raise InvalidInputError("directed=False: the matrix must be symmetric")
        entries = scipy.sparse.triu(entries, format="csr")
    weights = None if options.get("weighted") is False else entries.data
    src, dst = (ends.astype(np.uint32) for ends in entries.tocoo().coords)
    return Given(np.arange(rows, dtype=np.uint32), src, dst, weights, {"simple": True})
