"""The functions of the backend: which there are, what answers them, and from which size on that pays."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Native:
    """A function of NetworkX that this backend has."""

    module: str
    """Where it is."""
    by: str
    """What answers it: kernels of everedge, or searches and matrices of SciPy and arrays of NumPy."""
    least: int | None
    """From how many nodes and edges on it is faster with a graph that is not converted yet; `None`: never."""
    least_kept: int | None
    """From how many on it is faster with a graph that is; `None`: only with a graph of everedge."""
    limits: str = ""
    """What it leaves to NetworkX."""


_DEFAULT: tuple[int | None, int | None] = (1000, 100)


def _all() -> dict[str, Native]:
    found: dict[str, Native] = {}

    def add(module: str, by: str, names: str, limits: str = "") -> None:
        for name in names.split():
            found[name] = Native(module, by, *SIZES.get(name, _DEFAULT), limits)

    add("centrality", "kernel pagerank; SciPy", "pagerank")
    add("centrality", "kernel hits", "hits", "scores that are not normalized")
    add("centrality", "SciPy", "eigenvector_centrality katz_centrality")
    add("centrality", "degrees", "degree_centrality in_degree_centrality out_degree_centrality")
    add("centrality", "kernel bc", "betweenness_centrality", "weights, endpoints, samples")
    add("centrality", "kernel closeness", "closeness_centrality", "weights")
    add("centrality", "kernel harmonic", "harmonic_centrality", "weights, parts of the nodes")
    add("components", "kernel wcc; SciPy", "connected_components number_connected_components is_connected "
        "node_connected_component weakly_connected_components number_weakly_connected_components is_weakly_connected")
    add("components", "kernel scc; SciPy", "strongly_connected_components number_strongly_connected_components "
        "is_strongly_connected attracting_components number_attracting_components is_attracting_component")
    add("components", "kernel articulation-points", "articulation_points is_biconnected")
    add("components", "kernel bridges", "bridges has_bridges")
    add("neighborhoods", "kernel lcc", "triangles clustering average_clustering transitivity",
        "directions, weights, some nodes only")
    add("neighborhoods", "SciPy", "square_clustering", "directions")
    add("neighborhoods", "kernel kcore", "core_number", "directions")
    add("neighborhoods", "similarity", "jaccard_coefficient adamic_adar_index resource_allocation_index "
        "preferential_attachment", "loops")
    add("paths", "kernel bfs; SciPy", "single_source_shortest_path_length single_target_shortest_path_length "
        "all_pairs_shortest_path_length descendants ancestors descendants_at_distance")
    add("paths", "SciPy", "single_source_shortest_path single_target_shortest_path all_pairs_shortest_path "
        "bfs_edges bfs_predecessors bfs_successors bfs_layers", "limits of depth, orders of neighbors")
    add("paths", "two searches that meet", "bidirectional_shortest_path has_path")
    add("distances", "two searches that meet; kernel bfs", "shortest_path shortest_path_length", "weights")
    add("distances", "two searches that meet", "efficiency")
    add("distances", "kernel radii", "eccentricity diameter radius center periphery", "weights")
    add("distances", "kernel closeness", "average_shortest_path_length wiener_index", "weights")
    add("distances", "kernel harmonic", "global_efficiency")
    add("weighted", "kernel sssp; SciPy where 32 bits do not keep a weight", "single_source_dijkstra "
        "single_source_dijkstra_path single_source_dijkstra_path_length multi_source_dijkstra "
        "multi_source_dijkstra_path multi_source_dijkstra_path_length all_pairs_dijkstra all_pairs_dijkstra_path "
        "all_pairs_dijkstra_path_length dijkstra_predecessor_and_distance johnson single_source_bellman_ford "
        "single_source_bellman_ford_path single_source_bellman_ford_path_length all_pairs_bellman_ford_path "
        "all_pairs_bellman_ford_path_length", "weights below 0; paths along weights of 0")
    add("weighted", "two searches that meet", "dijkstra_path dijkstra_path_length bidirectional_dijkstra "
        "bellman_ford_path bellman_ford_path_length", "weights below 0")
    add("orders", "kernel scc; SciPy", "is_directed_acyclic_graph has_cycle")
    add("orders", "NumPy", "topological_generations topological_sort dag_longest_path dag_longest_path_length")
    add("orders", "kernel bipartition; SciPy", "is_bipartite color sets", "directions")
    add("orders", "kernel wcc; SciPy", "is_tree is_forest is_arborescence is_branching")
    add("orders", "SciPy", "minimum_spanning_edges maximum_spanning_edges", "parallel edges; Prim and Borůvka")
    add("communities", "kernel louvain", "louvain_communities", "directions, levels, seeds")
    add("communities", "kernel leiden", "leiden_communities", "levels")
    add("communities", "kernel label-propagation", "fast_label_propagation_communities asyn_lpa_communities")
    add("communities", "NumPy", "modularity partition_quality is_partition")
    add("degrees", "degrees", "isolates number_of_isolates number_of_selfloops is_regular is_k_regular s_metric "
        "average_neighbor_degree average_degree_connectivity degree_assortativity_coefficient "
        "degree_pearson_correlation_coefficient overall_reciprocity reciprocity volume", "parallel edges, weights")
    add("matrices", "lists of neighbors", "to_scipy_sparse_array adjacency_matrix laplacian_matrix")
    return found


SIZES: dict[str, tuple[int | None, int | None]] = {}
"""Measured sizes, by name: see `Native.least` and `least_kept`."""

FUNCTIONS: dict[str, Native] = _all()


def markdown() -> str:
    """Return the table of the page about this backend."""
    rows = ["| function | answered by | from | from, kept | left to NetworkX |", "| --- | --- | ---: | ---: | --- |"]
    for name, native in sorted(FUNCTIONS.items()):
        least, kept = (
            "-" if size is None else f"{size:,}" for size in (native.least, native.least_kept)
        )
        rows.append(f"| `{name}` | {native.by} | {least} | {kept} | {native.limits} |")
    return "\n".join(rows) + "\n"
