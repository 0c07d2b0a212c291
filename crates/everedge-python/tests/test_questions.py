"""Questions about single vertices, against NetworkX."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest

import everedge


@pytest.fixture(params=[True, False], ids=["directed", "undirected"])
def pair(request: pytest.FixtureRequest) -> tuple[everedge.Snapshot, networkx.Graph]:
    """A graph, and the same in NetworkX."""
    directed = request.param
    known = networkx.gnp_random_graph(60, 0.05, seed=4, directed=directed)
    for place, (_, _, data) in enumerate(known.edges(data=True)):
        data["weight"] = float(place % 5) + 0.5
    graph = everedge.Graph("graph", medium="dram", directed=directed, weighted=True, simple=True)
    graph.add_vertices(list(known))
    src, dst, weight = zip(*known.edges(data="weight"), strict=True)
    graph.add_edges(src, dst, weight)
    return graph.snapshot(), known


def test_paths_are_as_short_as_known_ones(pair: tuple[everedge.Snapshot, networkx.Graph]) -> None:
    snapshot, known = pair
    for source in range(0, 60, 7):
        hops = networkx.single_source_shortest_path_length(known, source)
        lengths = networkx.single_source_dijkstra_path_length(known, source)
        for target in range(60):
            path, fewest = snapshot.shortest_path(source, target), snapshot.shortest_path(source, target, hops=True)
            if target not in hops:
                assert path is None and fewest is None
                continue
            assert path is not None and fewest is not None
            assert path.length == lengths[target] and fewest.length == hops[target]
            assert networkx.path_weight(known, path.vertices.tolist(), "weight") == path.length
            assert len(fewest.vertices) == hops[target] + 1
    with pytest.raises(everedge.InvalidInputError, match="vertex `99` is not in the graph"):
        snapshot.shortest_path(0, 99)


def test_edges_degrees_and_weights_of_some(pair: tuple[everedge.Snapshot, networkx.Graph]) -> None:
    snapshot, known = pair
    asked = [5, 0, 33]
    src, dst, weight = snapshot.edges_of(asked)
    assert weight is not None
    expected = [(u, v, d["weight"]) for u in asked for v, d in known[u].items()]
    assert sorted(zip(src, dst, weight, strict=True)) == sorted(expected)
    leaving, entering = snapshot.degrees_of(asked)
    assert leaving.tolist() == [len(known[u]) for u in asked]
    into = known.reverse() if snapshot.directed else known
    assert entering.tolist() == [len(into[u]) for u in asked]
    src, dst, _ = snapshot.edges_of(asked, "in")
    ends = src if snapshot.directed else dst
    assert sorted(ends) == sorted(v for u in asked for v in into[u])
    u, v = np.meshgrid(np.arange(60, dtype=np.uint64), np.arange(62, dtype=np.uint64))
    found = snapshot.has_edges(u.ravel(), v.ravel())
    assert found.tolist() == [known.has_edge(*e) for e in zip(u.ravel(), v.ravel(), strict=True)]
    a, b, w = next(iter(known.edges(data="weight")))
    assert snapshot.weight(a, b) == w and snapshot.weight(a, a) is None
    with pytest.raises(everedge.InvalidInputError, match="direction=up: it must be out, in or both"):
        snapshot.edges_of(asked, "up")  # type: ignore[arg-type]
    with pytest.raises(everedge.InvalidInputError, match="vertex `71` is not in the graph"):
        snapshot.degrees_of([1, 71])


def test_who_is_near_and_the_graph_of_them(
    pair: tuple[everedge.Snapshot, networkx.Graph],
) -> None:
    snapshot, known = pair
    for hops in range(4):
        found, away = snapshot.within([3, 9], hops)
        lengths = networkx.multi_source_dijkstra_path_length(known, {3, 9}, hops, weight=None)
        assert dict(zip(found.tolist(), away.tolist(), strict=True)) == lengths
        part, expected = snapshot.subgraph(found), known.subgraph(lengths)
        assert networkx.utils.graphs_equal(part.to_networkx(), expected)
        assert (part.num_vertices, part.num_edges) == (len(expected), expected.size())
        assert part.directed == snapshot.directed and part.weighted
    assert len(snapshot.within(3, 9, "both")[0]) >= len(snapshot.within(3, 9, "in")[0])
    ranks = part.pagerank(tolerance=1e-10).to_dict()
    known_ranks = networkx.pagerank(known.subgraph(lengths), weight=None, tol=1e-9)
    assert ranks == pytest.approx(known_ranks, abs=1e-6)


def test_names_and_sealed_graphs(tmp_path: Path) -> None:
    with everedge.Graph(tmp_path / "g") as graph:
        graph.add_edges(["ann", "bob", "eve"], ["bob", "eve", "zoe"])
        snapshot = graph.snapshot()
        snapshot.seal(tmp_path / "sealed")
        for reading in (snapshot, everedge.Chunks(tmp_path / "sealed")):
            path = reading.shortest_path("ann", "zoe")
            assert path is not None and path.vertices.tolist() == ["ann", "bob", "eve", "zoe"]
            assert reading.has_edges(["ann", "ann", "x"], ["bob", "eve", "bob"]).tolist() == [True, False, False]
            assert reading.weight("ann", "bob") == 1.0
            assert reading.within("bob", 1, "both")[0].tolist()[0] == "bob"
            assert sorted(reading.within("bob", 1, "both")[0].tolist()) == ["ann", "bob", "eve"]
            part = reading.subgraph(["eve", "zoe"])
            assert part.has_edge("eve", "zoe") and "ann" not in part
            with pytest.raises(everedge.InvalidInputError, match="`nobody` is not in the graph"):
                reading.subgraph(["ann", "nobody"])
        snapshot.close()


def test_balances_in_transactions() -> None:
    graph = everedge.Graph("bank", medium="dram", weighted=True, simple=True)
    graph.add_edges(["ann", "bob"], ["bank", "bank"], [100, 20])
    other = random.Random(3)

    def pay(t: everedge.Transaction) -> float:
        amount = other.randrange(5)
        ann, bob = t.weight("ann", "bank"), t.weight("bob", "bank")
        assert ann is not None and bob is not None
        t.add_edges(["ann", "bob"], ["bank", "bank"], [ann - amount, bob + amount])
        assert t.weight("ann", "bank") == ann - amount and t.weight("ann", "eve") is None
        return ann - amount

    for _ in range(20):
        left = graph.transact(pay)
    snapshot = graph.snapshot()
    assert snapshot.weight("ann", "bank") == left
    assert left + (snapshot.weight("bob", "bank") or 0) == 120

    def fails(t: everedge.Transaction) -> None:
        t.add_edges("ann", "moon", 1.0)
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        graph.transact(fails)
    assert not graph.snapshot().has_edge("ann", "moon")


def test_neighbors_in_a_transaction_conflict() -> None:
    graph = everedge.Graph("graph", medium="dram")
    graph.add_edges(["ann"], ["bob"])
    begun = graph.transaction()
    begun.add_edges("ann", "eve")
    assert sorted(begun.neighbors("ann")) == ["bob", "eve"] and not len(begun.neighbors("nobody"))
    graph.add_edges("ann", "zoe")
    with pytest.raises(everedge.ConflictError):
        begun.commit()
    calls = []

    def only_owner(t: everedge.Transaction) -> None:
        calls.append(len(t.neighbors("ann")))
        if len(calls) == 1:
            graph.add_edges("ann", "late")
        t.add_edges("ann", f"owner {calls[-1]}")

    graph.transact(only_owner)
    assert calls == [2, 3]


def test_a_batch_with_a_wrong_row_is_wholly_absent() -> None:
    graph = everedge.Graph("graph", medium="dram", weighted=True)
    graph.add_edges(1, 2, 1.0)
    with graph.transaction() as t, pytest.raises(everedge.InvalidInputError):
        t.add_edges([1, 2], [3, 4], [1.0, float("nan")])
    assert not graph.snapshot().has_edge(1, 3)


def test_what_the_block_raised_is_what_the_caller_learns() -> None:
    with pytest.raises(ValueError, match="mine"), everedge.Graph("g", medium="dram") as graph:
        graph.add_edges(1, 2)
        begun = graph.transaction()
        raise ValueError("mine")
    begun.close()
    graph.close()


def test_centralities_are_those_of_networkx(
    pair: tuple[everedge.Snapshot, networkx.Graph],
) -> None:
    snapshot, known = pair

    def near(found: everedge.Values[np.float64], expected: dict[int, float], near: float = 1e-6) -> None:
        assert found.to_dict() == pytest.approx(expected, abs=near)

    start = {3: 1.0, 9: 2.0}
    ranks = snapshot.personalized_pagerank(start, tolerance=1e-12)
    near(ranks, networkx.pagerank(known, personalization=start, tol=1e-12, max_iter=1000))
    near(
        snapshot.personalized_pagerank([3], weighted=False, tolerance=1e-12),
        networkx.pagerank(known, personalization={3: 1}, weight=None, tol=1e-12, max_iter=1000),
    )
    hubs, authorities = snapshot.hits(tolerance=1e-12, iterations=10_000)
    expected_hubs, expected_authorities = networkx.hits(known, tol=1e-12)
    near(hubs, expected_hubs)
    near(authorities, expected_authorities)
    scores = snapshot.eigenvector(weighted=False, tolerance=1e-12, iterations=10_000)
    near(scores, networkx.eigenvector_centrality(known, tol=1e-12, max_iter=10_000))
    near(
        snapshot.katz(alpha=0.05, weighted=False, tolerance=1e-12),
        networkx.katz_centrality(known, alpha=0.05, tol=1e-12),
    )
    near(snapshot.closeness(), networkx.closeness_centrality(known))
    near(snapshot.harmonic(), networkx.harmonic_centrality(known))
    assert len(snapshot.closeness(samples=20, seed=1)) == 60


def test_divisions_are_those_of_networkx(
    pair: tuple[everedge.Snapshot, networkx.Graph],
) -> None:
    snapshot, known = pair
    undirected = known.to_undirected()
    for found in (snapshot.louvain(seed=2), snapshot.leiden(), snapshot.label_propagation()):
        groups: dict[int, set[int]] = {}
        for vertex, group in found.items():
            groups.setdefault(group, set()).add(vertex)
        expected = networkx.community.modularity(known, groups.values(), weight="weight")
        assert snapshot.modularity(found) == pytest.approx(expected)
        assert snapshot.modularity(found.to_dict(), weighted=False) == pytest.approx(
            networkx.community.modularity(known, groups.values(), weight=None)
        )
    src, dst = snapshot.bridges()
    bridges = {frozenset(ends) for ends in zip(src.tolist(), dst.tolist(), strict=True)}
    parallel = {frozenset(e) for e in known.edges if known.has_edge(*e[::-1])} if known.is_directed() else set()
    assert bridges == {frozenset(e) for e in networkx.bridges(undirected)} - parallel
    points = snapshot.articulation_points().tolist()
    assert sorted(points) == sorted(networkx.articulation_points(undirected))
    if not snapshot.directed:
        _, _, weight = snapshot.spanning_forest()
        assert weight is not None
        assert weight.sum() == networkx.minimum_spanning_tree(known).size("weight")
    assert (snapshot.bipartition() is not None) == networkx.is_bipartite(undirected)
    u, v = [0, 5, 7], [9, 3, 12]
    for measure, name in (
        ("jaccard", "jaccard_coefficient"),
        ("adamic-adar", "adamic_adar_index"),
        ("resource-allocation", "resource_allocation_index"),
    ):
        scores = snapshot.similarity(u, v, measure)  # type: ignore[arg-type]
        expected_scores = getattr(networkx, name)(undirected, list(zip(u, v, strict=True)))
        assert scores.tolist() == pytest.approx([score for _, _, score in expected_scores])
    (best, score), *_ = snapshot.most_similar(5)
    [(_, _, expected_score)] = networkx.jaccard_coefficient(undirected, [(5, best)])
    assert score == pytest.approx(expected_score)


def test_orders_and_cycles() -> None:
    graph = everedge.Graph("graph", medium="dram")
    graph.add_edges(["a", "b", "a", "c"], ["b", "d", "c", "d"])
    order = graph.snapshot().topological_order().tolist()
    assert order[0] == "a" and order[-1] == "d"
    graph.add_edges("d", "a")
    with pytest.raises(everedge.InvalidInputError, match=r"no topological order: .* -> .* is a cycle"):
        graph.snapshot().topological_order()
    with pytest.raises(everedge.InvalidInputError, match="vertex `e` has no group"):
        graph.add_vertices("e")
        graph.snapshot().modularity(dict.fromkeys("abcd", 1))
    ring = everedge.Graph("ring", medium="dram")
    ring.add_edges(range(100), [*range(1, 100), 0])
    with pytest.raises(everedge.InvalidInputError, match=r"\(80 more\) -> \d+ is a cycle"):
        ring.snapshot().topological_order()


def test_groups_may_be_of_any_kind() -> None:
    graph = everedge.Graph("graph", medium="dram", directed=False)
    graph.add_edges([0, 1, 2, 3, 4, 5, 0], [1, 2, 0, 4, 5, 3, 3])
    snapshot = graph.snapshot()
    kinds: list[list[object]] = [[1, "1"], [None, 0], [(1, 2), (2, 1)], [2**53, float(2**53) + 2], ["a", "b"]]
    for one, other in kinds:
        groups = dict.fromkeys(range(3), one) | dict.fromkeys(range(3, 6), other)
        assert snapshot.modularity(groups) == pytest.approx(0.357143, abs=1e-6)
    with pytest.raises(everedge.InvalidInputError, match="takes as a key"):
        snapshot.modularity(dict.fromkeys(range(6), [1]))


def test_predecessors_are_those_of_all_shortest_paths(
    pair: tuple[everedge.Snapshot, networkx.Graph],
) -> None:
    snapshot, known = pair
    before, _ = networkx.dijkstra_predecessor_and_distance(known, 0)
    for answer, expected in (
        (snapshot.bfs(0), networkx.predecessor(known, 0)),
        (snapshot.sssp(0), before),
    ):
        found: dict[int, list[int]] = {vertex: [] for vertex in expected}
        for vertex, one in zip(*(ids.tolist() for ids in snapshot.predecessors(answer)), strict=True):
            found[vertex].append(one)
        assert found == {vertex: sorted(some) for vertex, some in expected.items()}
    with pytest.raises(everedge.InvalidInputError, match="bfs or sssp"):
        snapshot.predecessors(snapshot.pagerank())
    assert snapshot.betweenness(0).to_dict() == snapshot.bc(0).to_dict()


def test_questions_in_parts_are_answered_as_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    graph = everedge.Graph("graph", medium="dram", weighted=True)
    graph.add_edges(rng.integers(0, 40, 300), rng.integers(0, 40, 300), rng.integers(1, 9, 300))
    s = graph.snapshot()
    u, v = rng.choice(s.vertices, 99), rng.choice(s.vertices, 99)

    def ask() -> list[np.ndarray[Any, Any]]:
        answers = [s.has_edges(u, v), s.similarity(u, v), *s.degrees_of(u)]
        return [*answers, *(column for column in s.edges_of(u, "both") if column is not None)]

    whole = ask()
    monkeypatch.setattr("everedge._reading._PART", 7)
    parts = ask()
    assert len(whole) == len(parts) == 7
    for expected, found in zip(whole, parts, strict=True):
        assert expected.dtype == found.dtype and expected.tolist() == found.tolist()
    assert s.has_edges([], []).tolist() == [] and s.edges_of([])[0].tolist() == []


def test_ctrl_c_ends_a_question_about_many_pairs_between_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = everedge.Graph("graph", medium="dram")
    graph.add_edges([0], [1])
    s = graph.snapshot()
    monkeypatch.setattr("everedge._reading._PART", 10)
    asked: list[int] = []

    class Counting:
        def __getattr__(self, name: str) -> Any:
            return getattr(native, name)

        def have_edges(self, src: Any, dst: Any) -> Any:
            asked.append(len(src))
            if len(asked) == 3:
                raise KeyboardInterrupt
            return native.have_edges(src, dst)

    native = s._native
    s._native = Counting()  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        s.has_edges([0] * 1000, [1] * 1000)
    assert asked == [10, 10, 10]
    s._native = native
    assert s.has_edges([0] * 1000, [1] * 1000).all()
