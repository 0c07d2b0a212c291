"""Times functions of NetworkX on the same graph with this backend and with others, in turn.

    python scripts/networkx_backends.py FILE [--directed] [--functions a,b] [--backends everedge,rustworkx,parallel,networkx] [--rounds 5]

FILE holds pairs of nodes, a line each, or is one of DIMACS, plain or compressed (.gz, .zst by the program zstd). Graphs are converted before the first time that counts; `--convert` counts
that too. Prints a line of JSON for each function that two of the backends have: by backend the medians of the wall time and of the processor time of this process, in seconds, and how many times
those of everedge go into the smallest of the others. At the end it says for how many functions that is at least 3, and for which it is below 1. A function that takes
longer than `--limit` seconds is stopped and left out for that backend. Searches begin at the node with the most out-edges, with `--near` at the one with the
most edges, which in a directed graph may reach a few others only.
"""

from __future__ import annotations

import argparse
import collections
import gc
import gzip
import json
import random
import signal
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import networkx as nx

UNDIRECTED = (
    "connected_components number_connected_components is_connected node_connected_component articulation_points "
    "bridges triangles clustering average_clustering transitivity core_number square_clustering is_biconnected "
    "louvain_communities fast_label_propagation_communities minimum_spanning_edges"
).split()
DIRECTED = (
    "strongly_connected_components number_strongly_connected_components is_strongly_connected weakly_connected_components "
    "number_weakly_connected_components is_weakly_connected attracting_components is_directed_acyclic_graph has_cycle "
    "number_attracting_components in_degree_centrality out_degree_centrality overall_reciprocity"
).split()
ACYCLIC = "topological_sort topological_generations dag_longest_path dag_longest_path_length".split()
EITHER = (
    "pagerank hits eigenvector_centrality katz_centrality degree_centrality isolates number_of_isolates "
    "single_source_shortest_path_length single_target_shortest_path_length single_source_shortest_path "
    "single_target_shortest_path bidirectional_shortest_path has_path shortest_path shortest_path_length descendants ancestors "
    "descendants_at_distance bfs_edges bfs_layers is_bipartite single_source_dijkstra single_source_dijkstra_path "
    "single_source_dijkstra_path_length dijkstra_path dijkstra_path_length bidirectional_dijkstra "
    "single_source_bellman_ford single_source_bellman_ford_path single_source_bellman_ford_path_length bellman_ford_path "
    "bellman_ford_path_length average_neighbor_degree degree_assortativity_coefficient number_of_selfloops "
    "jaccard_coefficient adamic_adar_index resource_allocation_index preferential_attachment"
).split()
ALL_PAIRS = (
    "betweenness_centrality closeness_centrality harmonic_centrality eccentricity diameter radius center periphery "
    "average_shortest_path_length global_efficiency all_pairs_shortest_path_length all_pairs_shortest_path "
    "all_pairs_dijkstra_path_length all_pairs_dijkstra_path all_pairs_dijkstra all_pairs_bellman_ford_path_length "
    "all_pairs_bellman_ford_path johnson"
).split()


def lines(path: str) -> Iterator[str]:
    if path.endswith(".gz"):
        with gzip.open(path, "rt") as file:
            yield from file
    elif path.endswith(".zst"):
        with subprocess.Popen(["zstd", "-dc", "--long=27", path], stdout=subprocess.PIPE, text=True) as run:
            assert run.stdout
            yield from run.stdout
    else:
        with open(path) as file:
            yield from file


def read(path: str, directed: bool, acyclic: bool, weighted: bool) -> Any:
    graph = nx.DiGraph() if directed else nx.Graph()
    draw = random.Random(1)
    for line in lines(path):
        fields = line.replace(",", " ").split()
        if len(fields) < 2 or line[0] in "#%" or fields[0] in ("c", "p"):
            continue
        if fields[0] == "a":
            # DIMACS
            del fields[0]
        u, v = (int(field) if field.isdigit() else field for field in fields[:2])
        if u == v or acyclic and str(u) > str(v):
            continue
        graph.add_edge(u, v, **({"weight": draw.randrange(1, 100)} if weighted else {}))
    return graph


ONE_NODE = (
    "descendants bfs_edges bfs_layers bfs_predecessors bfs_successors node_connected_component dijkstra_predecessor_and_distance"
).split()
TWO_NODES = (
    "bidirectional_shortest_path bidirectional_dijkstra dijkstra_path dijkstra_path_length bellman_ford_path "
    "bellman_ford_path_length has_path shortest_path shortest_path_length efficiency"
).split()


def calls_of(graph: Any, name: str, near: bool = False) -> Callable[[str], Any]:
    """Return the call of a function with arguments that suit it; it takes a backend and reads all of the answer."""
    source = max(graph, key=graph.degree if near or not graph.is_directed() else graph.out_degree)
    target = list(nx.single_source_shortest_path_length(graph, source))[-1]
    places: tuple[Any, ...] = ()
    if name.startswith("single_source") or name in ONE_NODE:
        places = (source,)
    elif name.startswith("single_target") or name == "ancestors":
        places = (target,)
    elif name in TWO_NODES:
        places = (source, target)
    elif name.startswith("multi_source"):
        places = ([source, target],)
    elif name == "descendants_at_distance":
        places = (source, 2)
    elif name in ("modularity", "partition_quality", "is_partition"):
        nodes = list(graph)
        places = ([set(nodes[begin::10]) for begin in range(10)],)
    elif name == "is_k_regular":
        places = (2,)
    elif name == "volume":
        places = (list(graph)[::2],)
    elif name in ("jaccard_coefficient", "adamic_adar_index", "resource_allocation_index", "preferential_attachment"):
        nodes = list(graph)[:1000]
        places = (list(zip(nodes, nodes[1:], strict=False)),)
    words = {
        "minimum_spanning_edges": {"data": False},
        "maximum_spanning_edges": {"data": False},
        "katz_centrality": {"alpha": 0.001},
    }.get(name, {})
    plain = nx.utils.backends._registered_algorithms[name].orig_func
    function = getattr(sys.modules[plain.__module__], plain.__name__)

    def call(backend: str) -> Any:
        found = function(graph, *places, **words, backend=backend)
        if isinstance(found, Iterator):
            collections.deque(found, maxlen=0)
        return found

    return call


class Late(Exception):
    """A call has taken too long."""


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Late

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--directed", action="store_true")
    parser.add_argument("--acyclic", action="store_true", help="leave out edges to names that come before")
    parser.add_argument("--weighted", action="store_true", help="draw weights from 1 to 99")
    parser.add_argument("--largest", action="store_true", help="keep the largest component alone")
    parser.add_argument("--near", action="store_true", help="begin searches at the node with the most edges")
    parser.add_argument("--functions", default="")
    parser.add_argument("--pairs", action="store_true", help="functions of all pairs, too")
    parser.add_argument("--backends", default="everedge,rustworkx,parallel")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--convert", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    nx.config.warnings_to_ignore.add("cache")
    graph = read(options.file, options.directed, options.acyclic, options.weighted)
    if options.largest:
        pieces = nx.strongly_connected_components if options.directed else nx.connected_components
        graph = graph.subgraph(max(pieces(graph), key=len)).copy()
    print(json.dumps({"file": options.file, "nodes": len(graph), "edges": graph.number_of_edges()}), flush=True)
    suited = DIRECTED if options.directed else UNDIRECTED
    names = suited + EITHER + (ACYCLIC if options.acyclic else []) + (ALL_PAIRS if options.pairs else [])
    names = options.functions.split(",") if options.functions else shared(names, options.backends.split(","))
    found = [compare(graph, name, options) for name in names]
    print(json.dumps({by: summary(found, by) for by in ("wall", "cpu")}), flush=True)


def shared(names: list[str], backends: list[str]) -> list[str]:
    """Return the functions that more than one of some backends have."""
    have = [nx.utils.backends.backend_info[one].get("functions", {}) for one in backends if one != "networkx"]
    return [name for name in names if sum(name in one for one in have) + ("networkx" in backends) > 1]


def compare(graph: Any, name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Print the medians of a function, the backends in turn, and return them."""
    call = calls_of(graph, name, options.near)
    times: dict[str, list[tuple[float, float]]] = {}
    late = set()
    for round_number in range(options.rounds + 1):
        for backend in options.backends.split(","):
            functions = nx.utils.backends.backend_info[backend].get("functions", {})
            if backend in late or backend != "networkx" and name not in functions:
                continue
            if options.convert:
                graph.__networkx_cache__.clear()
            try:
                taken = timed(call, backend, options.limit)
            except Late:
                late.add(backend)
            except Exception as error:
                late.add(backend)
                print(json.dumps({"function": name, "backend": backend, "error": repr(error)[:200]}), flush=True)
            else:
                # The first time converts, and is left out.
                if round_number:
                    times.setdefault(backend, []).append(taken)
    line: dict[str, Any] = {"function": name}
    for place, by in enumerate(("wall", "cpu")):
        medians = {b: round(statistics.median(t[place] for t in found), 6) for b, found in times.items()}
        others = [value for backend, value in medians.items() if backend not in ("everedge", "networkx")]
        ratio = round(min(others) / max(medians["everedge"], 1e-9), 2) if others and "everedge" in medians else None
        line |= {by: medians, f"{by}_times_faster": ratio}
    print(json.dumps(line | {"late": sorted(late)}), flush=True)
    return line


def timed(call: Callable[[str], Any], backend: str, seconds: float) -> tuple[float, float]:
    """Return how much wall time and processor time a call takes."""
    gc.collect()
    gc.disable()
    begin, begin_of_process = time.perf_counter(), time.process_time()
    try:
        with limit(seconds):
            call(backend)
        return time.perf_counter() - begin, time.process_time() - begin_of_process
    finally:
        gc.enable()


def summary(lines: list[dict[str, Any]], by: str) -> dict[str, Any]:
    """Return for how many functions everedge was how many times faster."""
    ratios = {line["function"]: line[f"{by}_times_faster"] for line in lines if line[f"{by}_times_faster"]}
    return {
        "functions": len(ratios),
        "median": round(statistics.median(ratios.values()), 2) if ratios else None,
        "at_least_3": sum(ratio >= 3 for ratio in ratios.values()),
        "slower": {name: ratio for name, ratio in ratios.items() if ratio < 1},
    }


if __name__ == "__main__":
    main()
