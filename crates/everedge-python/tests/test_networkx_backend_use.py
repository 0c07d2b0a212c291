"""The backend as a user meets it: graphs that are opened, conversions that are kept, and what is left to NetworkX."""

from __future__ import annotations

import inspect
import random
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import everedge
from everedge import _native
from everedge._networkx.converted import Converted
from everedge._networkx.interface import backend
from everedge._networkx.table import FUNCTIONS, markdown

ROOT = Path(__file__).parents[3]
KNOWN = nx.utils.backends._registered_algorithms


@pytest.fixture(autouse=True)
def quiet() -> Any:
    nx.config.warnings_to_ignore.add("cache")


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_parameters_are_those_of_networkx(name: str) -> None:
    if name not in KNOWN:
        pytest.skip("this NetworkX has no such function")
    ours = inspect.signature(getattr(backend, name)).parameters.values()
    theirs = inspect.signature(KNOWN[name].orig_func).parameters.values()
    assert [(one.name, one.default, one.kind) for one in ours] == [
        (one.name, one.default, one.kind) for one in theirs
    ]


def test_networkx_knows_all_of_them() -> None:
    assert set(nx.utils.backends.backend_info["everedge"]["functions"]) == set(FUNCTIONS)
    assert len(FUNCTIONS) >= 60
    assert "kernel pagerank" in nx.pagerank.__doc__


def test_the_page_has_the_table_of_the_code() -> None:
    assert markdown() in (ROOT / "docs" / "networkx.md").read_text()


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("simple", [True, False])
def test_graphs_of_everedge_are_opened(directed: bool, simple: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Converted, "__init__", lambda *_: pytest.fail("converted"))
    edges = [("app", "lib"), ("app", "libc"), ("lib", "libc"), ("libc", "app"), ("tool", "libc")]
    graph = everedge.Graph("g", medium="dram", directed=directed, simple=simple)
    graph.add_edges(*zip(*edges, strict=True))
    graph.add_vertices(["alone"])
    known = graph.snapshot().to_networkx()
    for one in (graph, graph.snapshot()):
        assert nx.pagerank(one) == pytest.approx(nx.pagerank(known))
        assert nx.shortest_path(one, "tool", "lib") == nx.shortest_path(known, "tool", "lib")
        assert nx.single_source_shortest_path(one, "tool") == nx.single_source_shortest_path(known, "tool")
        assert dict(nx.degree_centrality(one)) == nx.degree_centrality(known)
        assert nx.to_numpy_array(known, dtype=int).tolist() == nx.adjacency_matrix(one).toarray().tolist()
        with pytest.raises(nx.NodeNotFound, match="nobody"):
            nx.has_path(one, "nobody", "app")
        with pytest.raises(nx.NetworkXNoPath):
            nx.shortest_path(one, "alone", "app")
    if directed:
        found = {frozenset(one) for one in nx.strongly_connected_components(graph)}
        assert frozenset(["app", "lib", "libc"]) in found
    else:
        assert {"alone"} in list(nx.connected_components(graph))
    graph.add_edges(["libc"], ["tool"])
    assert nx.has_path(graph, "app", "tool")


def test_numbers_with_gaps_and_weights() -> None:
    graph = everedge.Graph("g", medium="dram", weighted=True)
    graph.add_edges([3, 9, 3, 9], [9, 40, 40, 3], [1, 2, 9, 0.5])
    known = graph.snapshot().to_networkx()
    assert nx.dijkstra_path_length(graph, 3, 40) == 3.0
    assert nx.dijkstra_path(graph, 3, 40) == [3, 9, 40]
    assert nx.single_source_dijkstra(graph, 9) == nx.single_source_dijkstra(known, 9)
    assert nx.pagerank(graph) == pytest.approx(nx.pagerank(known))
    assert nx.single_target_shortest_path_length(graph, 40) == {40: 0, 3: 1, 9: 1}
    assert nx.shortest_path(graph, 9) == nx.shortest_path(known, 9)
    assert 7 not in nx.closeness_centrality(graph)


def test_weights_count_only_where_they_are_asked_for() -> None:
    graph = everedge.Graph("g", medium="dram", weighted=True, simple=True)
    graph.add_edges([0, 1, 5], [1, 2, 2], [0.5, 0.25, 9])
    known = graph.snapshot().to_networkx()
    plain: dict[str, Any] = {"weight": None}
    for name, arguments in (
        ("multi_source_dijkstra_path_length", ([0, 5],)),
        ("multi_source_dijkstra", ([0, 5],)),
        ("single_source_dijkstra", (0,)),
        ("single_source_bellman_ford", (0,)),
        ("dijkstra_path_length", (0, 2)),
        ("shortest_path_length", (0, 2)),
        ("pagerank", ()),
        ("katz_centrality", ()),
        ("average_neighbor_degree", ()),
    ):
        function = getattr(nx, name)
        expected = function(known, *arguments, **plain)
        found = function(graph, *arguments, **plain)
        assert found == (pytest.approx(expected) if name in ("pagerank", "katz_centrality") else expected), name
    assert nx.multi_source_dijkstra_path_length(graph, [0, 5]) == {0: 0, 5: 0, 1: 0.5, 2: 0.75}


@pytest.mark.parametrize("method", ["dijkstra", "bellman-ford"])
def test_shortest_paths_by_weights(method: str) -> None:
    graph = everedge.Graph("g", medium="dram", weighted=True, directed=False, simple=True)
    graph.add_edges(["a", "b", "a", "c"], ["b", "c", "c", "d"], [1, 2, 9, 0.5])
    known = graph.snapshot().to_networkx()
    for function in (nx.shortest_path, nx.shortest_path_length):
        for ends in ({"source": "a", "target": "d"}, {"source": "a"}, {}):
            found, expected = (function(one, **ends, weight="weight", method=method) for one in (graph, known))
            assert (found if ends else dict(found)) == (expected if ends else dict(expected)), (function, ends)
        with pytest.raises(NotImplementedError):
            function(graph, target="d", weight="weight", method=method)
    with pytest.raises(nx.NetworkXNoPath):
        graph.add_vertices("e")
        nx.shortest_path(graph, "a", "e", weight="weight", method=method)


@pytest.mark.parametrize("sources", [[0], [0, 5]])
def test_who_is_searched_from_is_there_whatever_the_cutoff(sources: list[int]) -> None:
    graph = everedge.Graph("g", medium="dram", weighted=True)
    graph.add_edges([0, 1, 5, 0], [1, 2, 2, 5], [0, 0.25, 9, 1 / 4])
    known = graph.snapshot().to_networkx()
    wide = nx.DiGraph(known)
    nx.set_edge_attributes(wide, 1 / 3, "weight")
    for one, same in ((graph, known), (wide, wide)):
        for cutoff in (-1, 0, 0.1):
            found = nx.multi_source_dijkstra(one, sources, cutoff=cutoff, backend="everedge")
            assert found == nx.multi_source_dijkstra(same, sources, cutoff=cutoff, backend="networkx")


def test_the_graph_may_come_by_name_and_last() -> None:
    graph = nx.barbell_graph(300, 3)
    with nx.config(backend_priority=["everedge"]):
        found = nx.pagerank(alpha=0.9, G=graph)
        assert nx.single_source_dijkstra_path_length(source=0, G=graph)[602] == 6
        assert nx.dijkstra_path_length(source=0, target=602, G=graph) == 6
    assert found == pytest.approx(nx.pagerank(graph, alpha=0.9, backend="networkx"))


def test_what_the_backend_lacks_is_done_by_networkx_if_that_is_wanted() -> None:
    graph = everedge.Graph("g", medium="dram", directed=False, simple=True)
    graph.add_edges([0, 1, 2], [1, 2, 0])
    with pytest.raises(NotImplementedError, match="girth"):
        nx.girth(graph)
    nx.config.fallback_to_nx = True
    try:
        assert nx.girth(graph) == 3
        assert nx.triangles(graph, [0]) == {0: 1}
    finally:
        nx.config.fallback_to_nx = False


def test_a_graph_is_converted_once_until_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    conversions = []
    convert = Converted.__init__
    monkeypatch.setattr(Converted, "__init__", lambda self, graph: (conversions.append(1), convert(self, graph))[1])
    graph = nx.path_graph(5)
    nx.set_edge_attributes(graph, 2, "cost")
    assert nx.has_path(graph, 0, 4, backend="everedge")
    assert nx.dijkstra_path_length(graph, 0, 4, weight="cost", backend="everedge") == 8
    assert nx.dijkstra_path_length(graph, 0, 4, weight="weight", backend="everedge") == 4
    assert len(conversions) == 1
    graph.add_edge(0, 4, cost=1)
    assert nx.dijkstra_path_length(graph, 0, 4, weight="cost", backend="everedge") == 1
    assert len(conversions) == 2
    with nx.config(cache_converted_graphs=False):
        nx.is_connected(graph, backend="everedge")
    assert len(conversions) == 3


def test_kernels_run_on_the_lists_of_a_conversion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(everedge.Graph, "__init__", lambda *_, **__: pytest.fail("a graph of everedge was made"))
    graph = nx.barbell_graph(5, 1)
    nx.set_edge_attributes(graph, 2, "weight")
    for one in (graph, nx.DiGraph(graph), nx.MultiGraph(graph), nx.MultiDiGraph(graph)):
        assert nx.pagerank(one, backend="everedge") == pytest.approx(nx.pagerank(one, backend="networkx"))
        assert nx.single_source_dijkstra_path_length(one, 0, backend="everedge")[10] == 8
        assert len(nx.hits(one, backend="everedge")[0]) == 11


def test_searches_discover_nodes_in_the_order_of_networkx() -> None:
    draw = random.Random(3)
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(draw.sample(range(400), 400))
    for _ in range(1200):
        graph.add_edge(draw.randrange(400), draw.randrange(400), weight=draw.randrange(4))
    for one in (graph, nx.Graph(graph), nx.DiGraph(graph)):
        for name, places in (
            ("single_source_shortest_path_length", (7,)), ("single_source_shortest_path", (7, 3)), ("bfs_edges", (7,)),
            ("single_source_dijkstra_path_length", (7,)), ("single_source_dijkstra_path", (7, 5)),
            ("multi_source_dijkstra_path", ([7, 9],)), ("bfs_successors", (7,)),
        ):  # fmt: skip
            found, expected = (getattr(nx, name)(one, *places, backend=b) for b in ("everedge", "networkx"))
            if isinstance(expected, dict):
                found, expected = found.items(), expected.items()
            assert list(found) == list(expected), f"{name} of {one}"


def test_components_come_against_the_edges_between_them() -> None:
    graph = nx.gnp_random_graph(300, 0.004, seed=2, directed=True)
    found = list(nx.strongly_connected_components(graph, backend="everedge"))
    place = {node: number for number, component in enumerate(found) for node in component}
    assert len(place) == 300
    assert all(place[u] >= place[v] for u, v in graph.edges)


@pytest.mark.parametrize(
    ("offsets", "neighbors", "weights", "directed", "message"),
    [
        ([0, 2, 1, 2], [0, 1], None, True, "offset 2 is 1: offsets must begin with 0"),
        ([0, 1, 2], [0, 2], None, True, "neighbor 1 is vertex 2"),
        ([0, 1, 1], [1], None, False, "both of its ends"),
        ([0, 1, 2], [1, 0], [2, 3], False, "both of its ends"),
        ([0, 1], [0], [float("nan")], True, "weight 0 is NaN"),
    ],
)
def test_lists_that_are_none_of_a_graph(
    offsets: list[int], neighbors: list[int], weights: list[float] | None, directed: bool, message: str
) -> None:
    kept = None if weights is None else np.array(weights, np.float32)
    with pytest.raises(everedge.InvalidInputError, match=message):
        _native.View.from_csr(np.array(offsets, np.uint64), np.array(neighbors, np.uint32), kept, directed)


def test_the_configuration_chooses_it_where_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    ask = backend.closeness_centrality
    monkeypatch.setattr(backend, "closeness_centrality", lambda *args, **words: (calls.append(1), ask(*args, **words))[1])
    small, large = nx.path_graph(3), nx.gnp_random_graph(1000, 0.02, seed=1)
    with nx.config(backend_priority=["everedge"]):
        assert nx.closeness_centrality(small)[1] == 1.0
        assert not calls
        assert len(nx.closeness_centrality(large)) == 1000
    assert calls
    assert "faster" in backend.should_run("closeness_centrality", (small,), {})
    assert backend.should_run("closeness_centrality", (large,), {}) is True


def test_weights_that_are_functions_or_no_numbers_are_left_to_networkx() -> None:
    graph = nx.path_graph(3)
    with pytest.raises(NotImplementedError):
        nx.dijkstra_path(graph, 0, 2, weight=lambda *_: 1, backend="everedge")
    graph.add_edge(0, 1, weight="heavy")
    with pytest.raises(NotImplementedError):
        nx.dijkstra_path(graph, 0, 2, backend="everedge")
    assert backend.can_run("dijkstra_path", (graph, 0, 2), {"weight": lambda *_: 1}) is not True


def test_functions_that_networkx_only_names() -> None:
    graph = nx.barbell_graph(5, 0)
    for found in (
        nx.community.leiden_communities(graph, seed=1, backend="everedge"),
        nx.community.louvain_communities(graph, backend="everedge"),
        list(nx.community.fast_label_propagation_communities(graph, seed=1, backend="everedge")),
    ):
        assert sorted(map(sorted, found)) == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]


def test_a_graph_that_changes_while_it_is_sorted() -> None:
    graph = nx.DiGraph([(1, 2), (2, 3), (3, 4)])
    order = nx.topological_sort(graph, backend="everedge")
    assert next(order) == 1
    graph.add_edge(4, 5)
    graph.remove_node(2)
    with pytest.raises(RuntimeError, match="changed"):
        list(order)


def test_graphs_come_back() -> None:
    graph = everedge.Graph("g", medium="dram", simple=True)
    graph.add_edges([0, 1], [1, 2])
    assert set(backend.convert_to_nx(graph).edges) == {(0, 1), (1, 2)}
    assert set(backend.convert_to_nx(graph.snapshot()).edges) == {(0, 1), (1, 2)}
    made = nx.path_graph(3)
    converted = backend.convert_from_nx(made)
    assert backend.convert_to_nx(converted) is made
    del made
    assert set(backend.convert_to_nx(converted).edges) == {(0, 1), (1, 2)}
    with pytest.raises(NotImplementedError, match="list"):
        backend.convert_from_nx([1, 2])


def test_sums_that_64_bit_floats_do_not_keep_are_left_to_networkx() -> None:
    graph = nx.path_graph(20)
    nx.set_edge_attributes(graph, 2**53 + 1, "weight")
    with pytest.raises(NotImplementedError, match=r"2\^53"):
        backend.single_source_dijkstra_path_length(backend.convert_from_nx(graph), 0)
    nx.set_edge_attributes(graph, 2**48, "weight")
    found = backend.single_source_dijkstra_path_length(backend.convert_from_nx(graph), 0)
    assert found == nx.single_source_dijkstra_path_length(graph, 0, backend="networkx")
