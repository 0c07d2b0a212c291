"""Results: alignment, look-up, order, conversion and how they look."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

import everedge


@pytest.fixture
def sparse() -> everedge.Snapshot:
    """Dense ids with numbers between them that are no vertices."""
    graph = everedge.Graph("graph", medium="dram")
    graph.add_edges([2, 5, 9], [5, 9, 9])
    return graph.snapshot()


@pytest.fixture
def named() -> everedge.Snapshot:
    """Strings as ids."""
    graph = everedge.Graph("graph", medium="dram")
    graph.add_edges(["app", "tool", "lib"], ["lib", "tool", "libc6"])
    return graph.snapshot()


def test_ids_and_values_are_aligned(sparse: everedge.Snapshot) -> None:
    depth = sparse.bfs(5)
    assert depth.ids.tolist() == [2, 5, 9]
    assert depth.values.tolist() == [everedge.UNREACHED, 0, 1]
    assert depth.by_index.shape == (10,) and depth.by_index[[2, 5, 9]].tolist() == [-1, 0, 1]
    assert len(depth) == 3 and list(depth) == [2, 5, 9]


def test_values_are_not_copied_without_need() -> None:
    graph = everedge.Graph("graph", medium="dram")
    graph.add_edges([0, 1], [1, 2])
    rank = everedge.pagerank(graph)
    assert rank.values is rank.by_index
    assert np.shares_memory(np.asarray(rank), rank.by_index)
    assert np.asarray(rank, dtype=np.float32).dtype == np.float32


def test_values_do_not_lose_their_ids(sparse: everedge.Snapshot, named: everedge.Snapshot) -> None:
    for snapshot in (sparse, named):
        rank = snapshot.pagerank()
        frame = pandas.DataFrame(index=rank.ids[::-1].tolist())
        for lose in (np.asarray, np.log, pandas.Series, lambda rank: frame.assign(rank=rank)):
            with pytest.raises(TypeError, match="to_pandas"):
                lose(rank)
        aligned = frame.assign(rank=rank.to_pandas())["rank"]
        assert aligned.tolist() == rank.values[::-1].tolist()


def test_look_up_is_by_external_id(
    sparse: everedge.Snapshot, named: everedge.Snapshot
) -> None:
    depth = sparse.bfs(2)
    assert depth[9] == 2 and depth[np.uint64(9)] == 2 and depth["9"] == 2
    for absent in (3, -1, 10, 1 << 40, "x"):
        assert absent not in depth and absent not in sparse
        with pytest.raises(KeyError):
            depth[absent]
    assert named.bfs("app")["libc6"] == 2
    assert "libc6" in named and "libc7" not in named
    assert 1.5 not in named and 1.0 not in sparse  # type: ignore[operator]


def test_top_leaves_the_unreached_out(sparse: everedge.Snapshot) -> None:
    assert sparse.bfs(5).top() == [(9, 1), (5, 0)]
    assert sparse.sssp(5).top(1) == [(9, 1.0)]
    assert sparse.in_degree().top(2) == [(9, 2), (5, 1)]


def test_top_keeps_scores_of_minus_one(sparse: everedge.Snapshot) -> None:
    vertices = sparse.bfs(5)._vertices
    scores = np.array([0.0, 0, -1, 0, 0, 2, 0, 0, 0, -np.inf])
    assert everedge.Values("scores", vertices, scores).top() == [(5, 2.0), (2, -1.0)]


def test_parameters_out_of_range_are_refused(sparse: everedge.Snapshot) -> None:
    with pytest.raises(everedge.InvalidInputError, match="threads=-1"):
        sparse.wcc(threads=-1)
    with pytest.raises(everedge.InvalidInputError, match="iterations=-1"):
        sparse.pagerank(iterations=-1)
    with pytest.raises(everedge.KernelError, match="tolerance"):
        sparse.pagerank(tolerance=-1)


def test_degrees(sparse: everedge.Snapshot) -> None:
    assert sparse.out_degree().to_dict() == {2: 1, 5: 1, 9: 1}
    assert sparse.in_degree().to_dict() == {2: 0, 5: 1, 9: 2}
    assert sparse.degree().to_dict() == {2: 1, 5: 2, 9: 3}
    graph = everedge.Graph("graph", medium="dram", directed=False)
    graph.add_edges([0, 1], [1, 1])
    assert graph.snapshot().degree().to_dict() == {0: 1, 1: 2}
    assert [column.tolist() for column in graph.snapshot().edges()[:2]] == [[0, 1], [1, 1]]


def test_components_are_named_by_external_ids(named: everedge.Snapshot) -> None:
    wcc = named.wcc()
    assert wcc.to_dict() == {"app": "app", "tool": "tool", "lib": "app", "libc6": "app"}
    assert wcc.top() == [("app", 3), ("tool", 1)]
    assert wcc["libc6"] == "app"


def test_communities_are_named_by_external_ids(named: everedge.Snapshot) -> None:
    names = named.vertices.tolist()
    numbered = everedge.Graph("numbered", medium="dram")
    numbered.add_edges(*([names.index(name) for name in ends] for ends in named.edges()[:2]))
    for rounds in (0, 1, 2, 10):
        numbers = everedge.cdlp(numbered, iterations=rounds)
        cdlp = named.cdlp(iterations=rounds)
        assert cdlp.values.tolist() == [names[number] for number in numbers.values]
        assert cdlp["app"] == cdlp.values[0]
        assert cdlp.top() == [(names[number], size) for number, size in numbers.top()]
        assert sum(size for _, size in cdlp.top()) == 4


def test_the_report_has_the_keys_of_the_command_line(sparse: everedge.Snapshot) -> None:
    report = sparse.pagerank(iterations=3).report
    assert (report.kernel, report.iterations, report.source) == ("pagerank", 3, None)
    assert report.result["sum"] == pytest.approx(1)
    assert sparse.bfs(5).report.source == 5  # type: ignore[union-attr]
    with pytest.raises(AttributeError, match="comes from no kernel"):
        sparse.degree().report


def test_a_result_shows_its_shape_and_its_head(named: everedge.Snapshot) -> None:
    assert repr(named.bfs("app")) == (
        "bfs of 4 vertices, int32\n    app  0\n   tool  -1\n    lib  1\n  libc6  2"
    )
    graph = everedge.Graph("graph", medium="dram")
    graph.add_vertices(range(1000))
    assert repr(everedge.pagerank(graph)).splitlines() == [
        "pagerank of 1,000 vertices, float64",
        *(f"  {v}  0.001" for v in range(5)),
        "  ...",
    ]


def test_results_go_to_arrow(named: everedge.Snapshot) -> None:
    table = named.bfs("app").to_arrow()
    assert table.to_pydict() == {"id": ["app", "tool", "lib", "libc6"], "value": [0, -1, 1, 2]}


def test_results_go_to_pandas(named: everedge.Snapshot) -> None:
    pytest.importorskip("pandas")
    series = named.bfs("app").to_pandas()
    assert series["libc6"] == 2 and series.name == "bfs" and series.index.name == "id"


def test_a_snapshot_goes_to_scipy() -> None:
    pytest.importorskip("scipy")
    graph = everedge.Graph("graph", medium="dram", directed=False)
    graph.add_edges([2, 2, 5], [5, 9, 5])
    assert graph.snapshot().to_scipy().toarray().tolist() == [[0, 1, 1], [1, 1, 0], [1, 0, 0]]


def test_a_snapshot_goes_to_networkx(named: everedge.Snapshot) -> None:
    pytest.importorskip("networkx")
    graph = named.to_networkx()
    assert sorted(graph.edges()) == [("app", "lib"), ("lib", "libc6"), ("tool", "tool")]


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("simple", [True, False])
def test_a_networkx_graph_is_of_the_same_kind(directed: bool, simple: bool) -> None:
    pytest.importorskip("networkx")
    graph = everedge.Graph("g", medium="dram", directed=directed, simple=simple, weighted=True)
    graph.add_edges([0, 0, 1], [1, 1, 2], weight=[1, 2, 3])
    with graph.snapshot() as s:
        made = s.to_networkx()
    assert (made.is_directed(), made.is_multigraph()) == (directed, not simple)
    edges = sorted(made.edges(data="weight"))
    assert edges == ([] if simple else [(0, 1, 1.0)]) + [(0, 1, 2.0), (1, 2, 3.0)]


def test_a_snapshot_never_changes() -> None:
    graph = everedge.Graph("graph", medium="dram")
    graph.add_edges([0], [1])
    with graph.snapshot() as s:
        graph.add_edges([1], [2])
        assert (s.num_edges, s.num_vertices, 2 in s) == (1, 2, False)
    assert repr(graph.snapshot()) == "<Snapshot of 3 vertices and 2 edges>"


def test_values_are_drawn_and_shown_in_a_notebook() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    graph = everedge.Graph("graph", medium="dram")
    graph.add_edges(["<a>", "b", "b", "c"], ["b", "c", "d", "a & b"])
    snapshot = graph.snapshot()
    bars = snapshot.bfs("<a>").plot()
    assert [patch.get_height() for patch in bars.patches] == [1, 1, 2, 1]
    ranks = snapshot.pagerank().plot()
    assert len(ranks.lines) == 1 and ranks.get_xscale() == "log"
    own = matplotlib.pyplot.figure().subplots()
    assert snapshot.wcc().plot(own) is own
    shown = snapshot.out_degree()._repr_html_()
    assert "&lt;a&gt;" in shown and "<a>" not in shown and shown.count("<tr>") == 6
    assert "5 vertices in 1 groups" in snapshot.wcc()._repr_html_()
    matplotlib.pyplot.close("all")


@pytest.mark.parametrize("kernel", ["wcc", "scc", "leiden", "cdlp"])
@pytest.mark.parametrize("kind", ["text", "dense", "integer"])
def test_groups_and_members_are_the_vertices_of_each_group(kernel: str, kind: str) -> None:
    rng = np.random.default_rng(5)
    graph = everedge.Graph("graph", medium="dram", ids=kind)  # type: ignore[arg-type]
    ends = rng.integers(0, 40, 30) * (10**10 if kind == "integer" else 3), rng.integers(0, 40, 30)
    graph.add_edges(*([list(map(str, end)) for end in ends] if kind == "text" else ends))
    answer = getattr(graph.snapshot(), kernel)()
    expected: dict[object, set[object]] = {}
    for name, group in answer.items():
        expected.setdefault(group, set()).add(name)
    groups = answer.groups()
    assert {name: set(ids.tolist()) for name, ids in groups.items()} == expected
    assert [(name, len(ids)) for name, ids in groups.items()] == answer.top(len(groups))
    for name, group in answer.items():
        assert set(answer.members(name).tolist()) == expected[group]
    with pytest.raises(KeyError):
        answer.members("nobody" if kind == "text" else 77777)
