"""Graphs in shards on the workers of a Dask cluster (`pip install everedge[dask]`).

    from distributed import Client
    import everedge.cluster

    graph = everedge.cluster.Graph(Client(), "social")
    graph.ingest("edges/*.parquet")
    graph.pagerank().top(10)
"""

from everedge.cluster._errors import ShardLostError, StaleError
from everedge.cluster._graph import ClusterIngest, Graph
from everedge.cluster._kernels import ClusterComponents, ClusterReport, ClusterValues

__all__ = [
    "ClusterComponents",
    "ClusterIngest",
    "ClusterReport",
    "ClusterValues",
    "Graph",
    "ShardLostError",
    "StaleError",
]
