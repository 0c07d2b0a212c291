"""Functions of NetworkX with this backend answer as NetworkX does."""

from __future__ import annotations

import inspect
import itertools
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import networkx as nx
import numpy as np
import pytest

from everedge._networkx import searches, weighted
from everedge._networkx.table import FUNCTIONS

KNOWN = nx.utils.backends._registered_algorithms
NODES_MAX = 40


def named(graph: Any, name: Callable[[int], Any]) -> Any:
    return nx.relabel_nodes(graph, {node: name(node) for node in graph})


def with_weights(graph: Any, draw: Callable[[], float]) -> Any:
    for *_, data in graph.edges(data=True):
        data["weight"] = draw()
    return graph


def graphs() -> Iterator[tuple[str, Any]]:
    random.seed(5)
    sparse, dense = nx.gnp_random_graph(NODES_MAX, 0.06, seed=1), nx.gnp_random_graph(25, 0.3, seed=2)
    joined = nx.connected_watts_strogatz_graph(30, 4, 0.3, seed=3)
    directed = nx.gnp_random_graph(NODES_MAX, 0.07, seed=4, directed=True)
    yield "sparse", named(sparse, str)
    yield "dense", named(dense, lambda v: frozenset([v, "a node"]))
    yield "joined", joined
    yield "reversed numbers", named(joined, lambda v: 100 - v)
    yield "directed", named(directed, lambda v: f"v{v}")
    yield "strong", nx.DiGraph(joined)
    loops = joined.copy()
    loops.add_edges_from([(0, 0), (3, 3)])
    loops.add_node("alone")
    yield "loops", loops
    yield "whole weights", with_weights(joined.copy(), lambda: random.randrange(1, 9))
    yield "weights", with_weights(directed.copy(), random.random)
    yield "weights of 0", with_weights(directed.copy(), lambda: random.randrange(3))
    yield "binary weights", with_weights(joined.copy(), lambda: random.randrange(1, 64) / 8)
    parallel = nx.MultiGraph(joined.edges)
    parallel.add_edges_from([(0, 1), (0, 1), (2, 2), (5, 9)])
    yield "parallel", with_weights(parallel, lambda: random.randrange(1, 9))
    yield "parallel directed", nx.MultiDiGraph([*directed.edges, *list(directed.edges)[::3]])
    acyclic = nx.DiGraph([(u, v) for u, v in dense.edges if u < v])
    yield "acyclic", with_weights(acyclic, lambda: random.randrange(1, 9))
    yield "tree", nx.random_labeled_tree(30, seed=6)
    yield "arborescence", nx.bfs_tree(nx.random_labeled_tree(30, seed=7), 0)
    yield "forest", nx.Graph([(0, 1), (1, 2), (3, 4), (5, 6), (5, 7)])
    yield "bipartite", nx.bipartite.random_graph(12, 9, 0.25, seed=8)
    yield "one node", nx.empty_graph(1)
    yield "nothing", nx.empty_graph(0)
    yield "no edges", nx.empty_graph(4, nx.DiGraph)


GRAPHS = dict(graphs())
ALL_SOURCES = [
    "single_source_shortest_path_length", "single_source_shortest_path", "single_source_dijkstra", "single_source_dijkstra_path",
    "single_source_dijkstra_path_length", "single_source_bellman_ford", "single_source_bellman_ford_path",
    "single_source_bellman_ford_path_length", "dijkstra_predecessor_and_distance", "single_target_shortest_path",
    "single_target_shortest_path_length", "descendants", "ancestors", "bfs_edges", "bfs_predecessors", "bfs_successors", "bfs_layers",
    "node_connected_component",
]  # fmt: skip
ALL_PAIRS = [
    "bidirectional_shortest_path", "has_path", "shortest_path", "shortest_path_length", "dijkstra_path", "dijkstra_path_length",
    "bidirectional_dijkstra", "bellman_ford_path", "bellman_ford_path_length", "efficiency",
]  # fmt: skip


def arguments(name: str, graph: Any) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Return calls of a function; nodes that are none are among them."""
    nodes = list(graph)[:2] + list(graph)[-2:] + ["none such"]
    if name in ALL_SOURCES:
        yield from (((node,), {}) for node in nodes)
        if "cutoff" in inspect.signature(KNOWN[name].orig_func).parameters:
            yield from (((node,), {"cutoff": cutoff}) for node in nodes[:2] for cutoff in (0, 2, 5))
    elif name in ALL_PAIRS:
        yield from (((u, v), {}) for u, v in itertools.product(nodes, nodes[:3]))
    elif name.startswith("multi_source"):
        yield from (((chosen,), {}) for chosen in (nodes[:2], nodes[1:2], nodes, []))
    elif name == "descendants_at_distance":
        yield from (((node, distance), {}) for node in nodes for distance in (0, 1, 4))
    elif name in ("is_partition", "modularity", "partition_quality"):
        parts = [set(list(graph)[::2]), set(list(graph)[1::2])]
        yield from (((chosen,), {}) for chosen in (parts, [set(graph)], [{node} for node in graph], parts[:1]))
    elif name == "is_k_regular":
        yield from (((k,), {}) for k in (0, 4))
    elif name == "volume":
        yield (nodes[:2],), {}
        yield (nodes[:2],), {"weight": "weight"}
    else:
        yield (), {}
    for word, values in {
        "weight": ["weight"], "normalized": [False], "wf_improved": [False], "nodes": [nodes[:2]], "u": nodes[:1], "v": nodes[:1],
        "root": nodes[:1], "alpha": [0.5], "count_zeros": [False], "source": ["in", "in+out"], "target": ["in"], "x": ["in"],
        "data": [False], "ebunch": [[nodes[:2], nodes[1:3]]] if len(nodes) > 3 else [], "beta": [0.25], "max_iter": [0, 1, 3], "nodelist": [nodes[:2], nodes],
        "personalization": [dict.fromkeys(nodes[:1], 1)], "top_nodes": [nodes[:1]], "format": ["csc", "none"], "usebounds": [True],
        "endpoints": [True], "cutoff": [1], "method": ["bellman-ford", "none"], "threshold": [], "weighted": [],
    }.items():  # fmt: skip
        parameters = inspect.signature(KNOWN[name].orig_func).parameters
        if word in parameters and (name not in ALL_SOURCES + ALL_PAIRS + ["volume"] or word == "method"):
            if parameters[word].default is not inspect.Parameter.empty and not name.startswith("multi"):
                first = next(iter(arguments_of_places(name, nodes)), ())
                yield from ((first, {word: value}) for value in values)


def arguments_of_places(name: str, nodes: list[Any]) -> Iterator[tuple[Any, ...]]:
    if name == "descendants_at_distance":
        yield (nodes[0], 2)
    elif name == "modularity":
        yield ([nodes],)
    elif name in ALL_PAIRS:
        yield tuple(nodes[:2])


def exhausted(found: Any) -> Any:
    """Return what a function found as what can be compared: iterators as lists, matrices as their entries."""
    if isinstance(found, Iterator | type({}.values())):
        return [exhausted(one) for one in found]
    if hasattr(found, "toarray"):
        return found.format, found.dtype.kind, found.toarray().tolist()
    if isinstance(found, tuple):
        return tuple(exhausted(one) for one in found)
    return found


def outcome(call: Callable[[], Any]) -> tuple[str, Any]:
    try:
        return "answer", exhausted(call())
    except NotImplementedError:
        raise
    except Exception as error:
        return type(error).__name__, str(error)


def steps(graph: Any, path: list[Any]) -> int:
    assert all(graph.has_edge(u, v) for u, v in itertools.pairwise(path)), path
    return len(path)


def weigh(graph: Any, path: list[Any]) -> float:
    if len(path) < 2:
        return 0
    keyed = graph.is_multigraph()
    return sum(
        min(data.get("weight", 1) for data in (graph[u][v].values() if keyed else [graph[u][v]]))
        for u, v in itertools.pairwise(path)
    )


def alike(name: str, graph: Any, found: Any, known: Any) -> bool:
    """Return whether two answers are the same up to rounding, and up to what NetworkX leaves open."""
    if isinstance(known, dict) and isinstance(found, dict):
        return found.keys() == known.keys() and all(alike(name, graph, found[key], known[key]) for key in known)
    if isinstance(known, float):
        return found == pytest.approx(known, rel=1e-6, abs=1e-9, nan_ok=True)
    if isinstance(known, set) or name in ("diameter", "radius"):
        return bool(found == known)
    if name in ("center", "periphery", "isolates", "articulation_points"):
        return sorted(map(repr, found)) == sorted(map(repr, known))
    if name in ("bridges",):
        return {frozenset(edge) for edge in found} == {frozenset(edge) for edge in known}
    if "components" in name and isinstance(known, list):
        return sorted(sorted(map(repr, one)) for one in found) == sorted(sorted(map(repr, one)) for one in known)
    if name in ("jaccard_coefficient", "adamic_adar_index", "resource_allocation_index", "preferential_attachment"):
        scores = [{(frozenset([u, v])): p for u, v, p in one} for one in (found, known)]
        return alike("", graph, *scores)
    if name == "dijkstra_predecessor_and_distance" and isinstance(known, list):
        return {repr(one) for one in found} == {repr(one) for one in known}
    if name in ("dag_longest_path",) or "path" in name and isinstance(known, list) and known and graph.has_node(known[0]):
        if "dijkstra" in name or "bellman" in name or name in ("johnson", "dag_longest_path"):
            ends = found[-1] == known[-1] or name == "dag_longest_path"
            return ends and weigh(graph, found) == pytest.approx(weigh(graph, known))
        return (found[0], found[-1], steps(graph, found)) == (known[0], known[-1], steps(graph, known))
    if name in ("single_source_dijkstra", "multi_source_dijkstra", "bidirectional_dijkstra", "single_source_bellman_ford"):
        if isinstance(known, list):
            return found[-1] == known[-1] and weigh(graph, found) == pytest.approx(weigh(graph, known))
    if name in ("johnson", "all_pairs_dijkstra") and isinstance(known, list) and known and not isinstance(known[0], tuple):
        return weigh(graph, found) == pytest.approx(weigh(graph, known))
    if isinstance(known, list | tuple):
        return len(found) == len(known) and all(alike(name, graph, *pair) for pair in zip(found, known, strict=True))
    return type(found) is type(known) and bool(found == known) or not isinstance(known, bool) and found == known


def has_many_hits(graph: Any) -> bool:
    """Return whether several vectors belong to the largest singular value, as in bipartite graphs."""
    if len(graph) < 2:
        return False
    values = np.linalg.svd(nx.to_numpy_array(graph), compute_uv=False)
    return bool(values[0] - values[1] < 1e-6)


DRAWN = {
    "louvain_communities", "leiden_communities", "fast_label_propagation_communities", "asyn_lpa_communities",
}  # fmt: skip


ASKED = {
    "dense", "directed", "strong", "loops", "weights", "binary weights", "parallel", "parallel directed", "acyclic", "bipartite",
    "one node", "nothing",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - DRAWN))
@pytest.mark.parametrize("way", ["short searches", "long searches"])
def test_answers_are_those_of_networkx(name: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "long searches":
        # As in large graphs, where no path is short.
        monkeypatch.setattr(searches, "_PROBED_ARCS", -1)
        monkeypatch.setattr(weighted, "_PROBED_ARCS", -1)
    plain = KNOWN[name].orig_func
    known, native = getattr(sys.modules[plain.__module__], plain.__name__), 0
    for kind, graph in GRAPHS.items():
        if way == "long searches" and kind not in ASKED:
            continue
        for places, words in arguments(name, graph):
            what = f"{name} of {kind} with {places} and {words}"
            expected = outcome(lambda: known(graph, *places, **words, backend="networkx"))
            if expected[0] in ("NetworkXNotImplemented", "TypeError", "AttributeError"):
                continue
            try:
                found = outcome(lambda: known(graph, *places, **words, backend="everedge"))
            except NotImplementedError:
                continue
            native += 1
            assert found[0] == expected[0], f"{what}: {found} instead of {expected}"
            if found[0].startswith(("NetworkX", "NodeNotFound")):
                assert found[1] == expected[1], f"{what}: {found} instead of {expected}"
            if name == "hits" and has_many_hits(graph):
                # NetworkX takes any of them.
                continue
            if found[0] == "answer":
                assert alike(name, graph, found[1], expected[1]), f"{what}: {found[1]} instead of {expected[1]}"
    assert native >= 3, f"{name} has not run"
