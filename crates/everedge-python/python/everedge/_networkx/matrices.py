"""Matrices of SciPy."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from everedge._networkx.opened import Opened, opened


def to_scipy_sparse_array(
    G: Any, nodelist: Any = None, dtype: Any = None, weight: Any = "weight", format: str = "csr"
) -> Any:
    graph = opened(G)
    if not len(graph):
        raise nx.NetworkXError("Graph has no nodes or edges")
    matrix = _adjacency(graph, weight, dtype)
    if nodelist is not None:
        rows = _checked(graph, nodelist)
        matrix = matrix[rows][:, rows]
    matrix = _typed(matrix, dtype)
    try:
        return matrix.asformat(format)
    except ValueError as error:
        raise nx.NetworkXError(f"Unknown sparse matrix format: {format}") from error


def _adjacency(graph: Opened, weight: Any, dtype: Any) -> Any:
    weights = graph.weights(weight)
    if weights is None:
        weights = np.ones(len(graph.out.heads), np.int64)
    matrix = graph.out.matrix_of(weights if dtype is None else weights.astype(dtype)).copy()
    matrix.sum_duplicates()
    return matrix


def _typed(matrix: Any, dtype: Any) -> Any:
    """Return a matrix of floats where NetworkX has no number to tell a type by."""
    return matrix if matrix.nnz or dtype is not None else matrix.astype(float)


def _checked(graph: Opened, nodelist: Any) -> Any:
    """Return the rows of a list of different nodes."""
    nodes = list(nodelist)
    if not nodes:
        raise nx.NetworkXError("nodelist has no nodes")
    found = [graph.find(node) for node in nodes]
    for node, row in zip(nodes, found, strict=True):
        if row is None:
            raise nx.NetworkXError(f"Node {node} in nodelist is not in G")
    if len(set(found)) != len(found):
        raise nx.NetworkXError("nodelist contains duplicates.")
    return np.array(found)


def adjacency_matrix(G: Any, nodelist: Any = None, dtype: Any = None, weight: Any = "weight") -> Any:
    return to_scipy_sparse_array(G, nodelist, dtype, weight)


def laplacian_matrix(G: Any, nodelist: Any = None, weight: Any = "weight") -> Any:
    import scipy.sparse

    matrix = to_scipy_sparse_array(G, nodelist, None, weight)
    rows, columns = matrix.shape
    degrees = scipy.sparse.dia_array((matrix.sum(axis=1), 0), shape=(columns, rows)).tocsr()
    return degrees - matrix
