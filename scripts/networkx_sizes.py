"""Measures from which size on each function of the NetworkX backend is faster than NetworkX, and prints `SIZES` of its table.

    python scripts/networkx_sizes.py [--functions a,b]

Random graphs of eight neighbors a node grow until a function is four times faster, takes a third of a second or has 8,000 nodes. A size is nodes and edges
together; times are the least processor time of five. The first of two sizes counts the conversion, the second one does not.
"""

from __future__ import annotations

import argparse
import gc
import time
import warnings
from typing import Any

import networkx as nx

from networkx_backends import ACYCLIC, calls_of

from everedge._networkx.table import FUNCTIONS

ROUNDS = 5
LONG = 0.3
FASTER = 4
DIRECTED_ONLY = {
    "strongly_connected_components", "number_strongly_connected_components", "is_strongly_connected", "weakly_connected_components",
    "number_weakly_connected_components", "is_weakly_connected", "attracting_components", "number_attracting_components",
    "is_attracting_component", "has_cycle", "is_directed_acyclic_graph", "in_degree_centrality", "out_degree_centrality",
    "overall_reciprocity", "reciprocity", "is_arborescence", "is_branching", *ACYCLIC,
}  # fmt: skip
TREES = {"is_tree", "is_forest", "is_arborescence", "is_branching"}
BIPARTITE = {"color", "sets", "is_bipartite"}


def graph_for(name: str, count: int) -> Any:
    """Return a graph that a function has to read all of."""
    if name in TREES:
        tree = nx.random_labeled_tree(count, seed=1)
        return nx.bfs_tree(tree, 0) if name in DIRECTED_ONLY else tree
    if name in BIPARTITE:
        graph = nx.bipartite.gnmk_random_graph(count // 2, count - count // 2, 4 * count, seed=1)
        return graph.subgraph(max(nx.connected_components(graph), key=len)).copy()
    graph = nx.gnm_random_graph(count, 4 * count, seed=1, directed=name in DIRECTED_ONLY)
    if name in ACYCLIC or name in ("has_cycle", "is_directed_acyclic_graph"):
        graph = nx.DiGraph([edge for edge in graph.edges if edge[0] < edge[1]])
    for _, _, data in graph.edges(data=True):
        data["weight"] = 1 + len(data)
    for node in list(graph):
        # Functions that end at the first node without a way on are to find none.
        if not graph.is_directed():
            graph.add_edge(node, (node + 1) % count)
    return graph


def least(call: Any, graph: Any, backend: str, converts: bool) -> float:
    """Return the least processor time of a call, in seconds."""
    times = []
    gc.collect()
    for _ in range(ROUNDS):
        if converts:
            graph.__networkx_cache__.clear()
        gc.disable()
        begin = time.process_time()
        try:
            call(backend)
        finally:
            times.append(time.process_time() - begin)
            gc.enable()
        if sum(times) > LONG:
            break
    return min(times)


def sizes(name: str) -> tuple[int | None, int | None]:
    """Return from which size on a function is faster with its conversion, and without."""
    cold: list[tuple[int, float]] = []
    kept: list[tuple[int, float]] = []
    count = 4
    while True:
        graph = graph_for(name, count)
        size = len(graph) + graph.number_of_edges()
        call = calls_of(graph, name)
        plain = least(call, graph, "networkx", False)
        cold.append((size, plain / least(call, graph, "everedge", True)))
        call("everedge")
        kept.append((size, plain / least(call, graph, "everedge", False)))
        if plain > LONG or min(cold[-1][1], kept[-1][1]) > FASTER or count > 8_000:
            return first(cold), first(kept)
        count *= 2


def first(ratios: list[tuple[int, float]]) -> int | None:
    """Return the first size from which on all ratios are above 1, rounded up to two digits."""
    found = None
    for size, ratio in reversed(ratios):
        if ratio <= 1:
            break
        found = size
    if found is None:
        return None
    scale = 10 ** max(len(str(found)) - 2, 0)
    return -(-found // scale) * scale


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--functions", default=",".join(sorted(FUNCTIONS)))
    warnings.simplefilter("ignore")
    nx.config.warnings_to_ignore.add("cache")
    for name in parser.parse_args().functions.split(","):
        try:
            print(f'    "{name}": {sizes(name)},', flush=True)
        except NotImplementedError as error:
            print(f"    # {name}: {error}", flush=True)


if __name__ == "__main__":
    main()
