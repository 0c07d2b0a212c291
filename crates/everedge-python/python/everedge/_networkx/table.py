"""The functions of the backend: which there are, what answers them, and from which size on that pays."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Native:
    """A function of NetworkX that this backend has."""

    module: str
    """Where it is."""
    by: str
    """What answers it: kernels and searches of everedge, matrices of SciPy or arrays of NumPy."""
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
    add("components", "kernel wcc", "connected_components number_connected_components is_connected "
        "node_connected_component weakly_connected_components number_weakly_connected_components is_weakly_connected")
    add("components", "SciPy", "strongly_connected_components")
    add("components", "kernel scc", "number_strongly_connected_components is_strongly_connected "
        "attracting_components number_attracting_components is_attracting_component")
    add("components", "kernel articulation-points", "articulation_points is_biconnected")
    add("components", "kernel bridges", "bridges has_bridges")
    add("neighborhoods", "kernel lcc", "triangles clustering average_clustering transitivity",
        "directions, weights, some nodes only")
    add("neighborhoods", "SciPy", "square_clustering", "directions")
    add("neighborhoods", "kernel kcore", "core_number", "directions")
    add("neighborhoods", "similarity", "jaccard_coefficient adamic_adar_index resource_allocation_index "
        "preferential_attachment", "loops")
    add("paths", "a search in the order of lists", "single_source_shortest_path_length single_target_shortest_path_length "
        "all_pairs_shortest_path_length descendants ancestors descendants_at_distance")
    add("paths", "a search in the order of lists", "single_source_shortest_path single_target_shortest_path all_pairs_shortest_path "
        "bfs_edges bfs_predecessors bfs_successors bfs_layers", "limits of depth, orders of neighbors")
    add("paths", "two searches that meet", "bidirectional_shortest_path has_path")
    add("distances", "two searches that meet; a search in the order of lists", "shortest_path shortest_path_length",
        "weights where only the end is given")
    add("distances", "two searches that meet", "efficiency")
    add("distances", "kernel radii", "eccentricity diameter radius center periphery", "weights")
    add("distances", "kernel closeness", "average_shortest_path_length wiener_index", "weights")
    add("distances", "kernel harmonic", "global_efficiency")
    add("weighted", "a search by weights; SciPy where 32 bits do not keep a weight", "single_source_dijkstra "
        "single_source_dijkstra_path single_source_dijkstra_path_length multi_source_dijkstra "
        "multi_source_dijkstra_path multi_source_dijkstra_path_length all_pairs_dijkstra all_pairs_dijkstra_path "
        "all_pairs_dijkstra_path_length dijkstra_predecessor_and_distance johnson single_source_bellman_ford "
        "single_source_bellman_ford_path single_source_bellman_ford_path_length all_pairs_bellman_ford_path "
        "all_pairs_bellman_ford_path_length", "weights below 0; paths along weights of 0 where 32 bits do not keep others")
    add("weighted", "two searches that meet", "dijkstra_path dijkstra_path_length bidirectional_dijkstra "
        "bellman_ford_path bellman_ford_path_length", "weights below 0")
    add("orders", "kernel topological-order", "is_directed_acyclic_graph has_cycle")
    add("orders", "NumPy", "topological_generations topological_sort dag_longest_path dag_longest_path_length")
    add("orders", "kernel bipartition", "is_bipartite color sets", "directions")
    add("orders", "kernel wcc", "is_tree is_forest is_arborescence is_branching")
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


SIZES: dict[str, tuple[int | None, int | None]] = {
    "adamic_adar_index": (None, 1600),
    "adjacency_matrix": (190, 10),
    "all_pairs_bellman_ford_path": (190, 87),
    "all_pairs_bellman_ford_path_length": (87, 87),
    "all_pairs_dijkstra": (770, 380),
    "all_pairs_dijkstra_path": (770, 770),
    "all_pairs_dijkstra_path_length": (190, 190),
    "all_pairs_shortest_path": (1600, 3100),
    "all_pairs_shortest_path_length": (6200, 6200),
    "ancestors": (25000, 3100),
    "articulation_points": (6200, 380),
    "asyn_lpa_communities": (770, 190),
    "attracting_components": (320, 80),
    "average_clustering": (770, 190),
    "average_degree_connectivity": (380, 87),
    "average_neighbor_degree": (1600, 190),
    "average_shortest_path_length": (380, 380),
    "bellman_ford_path": (3100, 87),
    "bellman_ford_path_length": (1600, 770),
    "betweenness_centrality": (190, 87),
    "bfs_edges": (25000, 1600),
    "bfs_layers": (6200, 6200),
    "bfs_predecessors": (25000, 3100),
    "bfs_successors": (13000, 3100),
    "bidirectional_dijkstra": (None, 3100),
    "bidirectional_shortest_path": (None, 100000),
    "bridges": (770, 87),
    "center": (380, 190),
    "closeness_centrality": (770, 190),
    "clustering": (770, 87),
    "color": (41000, 11000),
    "connected_components": (None, 3100),
    "core_number": (13000, 1600),
    "dag_longest_path": (1600, 770),
    "dag_longest_path_length": (3100, 770),
    "degree_assortativity_coefficient": (36, 10),
    "degree_centrality": (None, 1600),
    "degree_pearson_correlation_coefficient": (10, 10),
    "descendants": (25000, 3100),
    "descendants_at_distance": (None, None),
    "diameter": (380, 190),
    "dijkstra_path": (6200, 87),
    "dijkstra_path_length": (6200, 770),
    "dijkstra_predecessor_and_distance": (13000, 1600),
    "eccentricity": (380, 380),
    "efficiency": (None, 100000),
    "eigenvector_centrality": (190, 87),
    "fast_label_propagation_communities": (1600, 770),
    "global_efficiency": (380, 770),
    "harmonic_centrality": (380, 87),
    "has_bridges": (770, 190),
    "has_cycle": (3100, 370),
    "has_path": (None, 100000),
    "hits": (1600, 10),
    "in_degree_centrality": (None, 2600),
    "is_arborescence": (2100, 520),
    "is_attracting_component": (320, 80),
    "is_biconnected": (6200, 770),
    "is_bipartite": (None, 11000),
    "is_branching": (260, 130),
    "is_connected": (50000, 3100),
    "is_directed_acyclic_graph": (None, 370),
    "is_forest": (130, 15),
    "is_k_regular": (None, None),
    "is_partition": (None, None),
    "is_regular": (None, None),
    "is_strongly_connected": (None, 2600),
    "is_tree": (8200, 260),
    "is_weakly_connected": (5200, 2600),
    "isolates": (None, 1600),
    "jaccard_coefficient": (None, None),
    "johnson": (380, 770),
    "katz_centrality": (87, 36),
    "laplacian_matrix": (87, 190),
    "leiden_communities": (0, 0),
    "louvain_communities": (770, 87),
    "maximum_spanning_edges": (3100, 190),
    "minimum_spanning_edges": (380, 380),
    "modularity": (380, 36),
    "multi_source_dijkstra": (25000, 770),
    "multi_source_dijkstra_path": (6200, 380),
    "multi_source_dijkstra_path_length": (6200, 380),
    "node_connected_component": (50000, 3100),
    "number_attracting_components": (320, 320),
    "number_connected_components": (50000, 1600),
    "number_of_isolates": (None, 1600),
    "number_of_selfloops": (None, 3100),
    "number_strongly_connected_components": (320, 160),
    "number_weakly_connected_components": (5200, 2600),
    "out_degree_centrality": (None, 1300),
    "overall_reciprocity": (80, 40),
    "pagerank": (10, 10),
    "partition_quality": (25000, 380),
    "periphery": (380, 380),
    "preferential_attachment": (None, None),
    "radius": (380, 190),
    "reciprocity": (80, 16),
    "resource_allocation_index": (None, 50000),
    "s_metric": (190, 87),
    "sets": (41000, 11000),
    "shortest_path": (None, 100000),
    "shortest_path_length": (None, 100000),
    "single_source_bellman_ford": (1600, 190),
    "single_source_bellman_ford_path": (1600, 380),
    "single_source_bellman_ford_path_length": (3100, 380),
    "single_source_dijkstra": (13000, 3100),
    "single_source_dijkstra_path": (3100, 1600),
    "single_source_dijkstra_path_length": (6200, 770),
    "single_source_shortest_path": (50000, 13000),
    "single_source_shortest_path_length": (None, 13000),
    "single_target_shortest_path": (50000, 6200),
    "single_target_shortest_path_length": (50000, 6200),
    "square_clustering": (380, 380),
    "strongly_connected_components": (640, 320),
    "to_scipy_sparse_array": (36, 10),
    "topological_generations": (25000, 1600),
    "topological_sort": (None, 25000),
    "transitivity": (1600, 1600),
    "triangles": (25000, 1600),
    "volume": (None, 50000),
    "weakly_connected_components": (21000, 2600),
    "wiener_index": (1600, 380),
}
"""Sizes by name: see `Native.least` and `least_kept`. `scripts/networkx_sizes.py` measured them.

A path between two nodes is the exception: in random graphs the search of NetworkX is always faster, by half a millisecond, on a grid
of 250,000 nodes it takes 100 times as long.
"""

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
