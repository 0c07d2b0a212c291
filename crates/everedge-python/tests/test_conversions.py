"""Graphs of other libraries, in and out."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import igraph
import networkx
import numpy as np
import pandas
import polars
import pyarrow
import pytest
import scipy.sparse

import everedge

TABLE = {"payer": ["ann", "bob", "ann"], "payee": ["bob", "eve", "eve"], "amount": [5.0, 7.0, 1.5]}


def edges(graph: everedge.Graph) -> set[tuple[Any, ...]]:
    src, dst, weight = graph.snapshot().edges()
    columns = [src.tolist(), dst.tolist()] + ([] if weight is None else [weight.tolist()])
    return set(zip(*columns, strict=True))


@pytest.mark.parametrize("make", [pandas.DataFrame, pyarrow.table])
def test_tables_become_graphs(make: Any, tmp_path: Path) -> None:
    table = make(TABLE)
    graph = everedge.Graph.from_pandas(table, "payer", "payee", "amount")
    assert edges(graph) == set(zip(*TABLE.values(), strict=True))
    assert graph.stats().medium == "dram"
    plain = everedge.Graph.from_arrow(table, "payer", "payee", path=tmp_path / "g", directed=False)
    assert edges(plain) == {("ann", "bob"), ("bob", "eve"), ("ann", "eve")}
    with pytest.raises(FileExistsError, match="is there already"):
        everedge.Graph.from_table(table, path=tmp_path / "g")
    plain.close()
    assert everedge.Graph(tmp_path / "g").stats().edges == 3
    with pytest.raises(everedge.EveredgeError):
        everedge.Graph.from_table(table, "payer", "nobody", path=tmp_path / "h")
    assert not (tmp_path / "h").exists()


def test_polars_and_duckdb() -> None:
    polars = pytest.importorskip("polars")
    graph = everedge.Graph.from_polars(polars.DataFrame(TABLE), "payer", "payee", "amount")
    assert graph.stats().edges == 3
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql("select 1 as a, 2 as b union all select 2, 3")
    assert edges(everedge.Graph.from_duckdb(relation, "a", "b")) == {(1, 2), (2, 3)}


@pytest.mark.parametrize(
    "known",
    [
        networkx.path_graph(5),
        networkx.gnp_random_graph(30, 0.1, seed=1, directed=True),
        networkx.MultiDiGraph([(0, 1), (0, 1), (1, 1)]),
        networkx.relabel_nodes(networkx.cycle_graph(4), "abcd".__getitem__),
        networkx.Graph([(0, 1, {"weight": 2.5}), (1, 2, {})]),
    ],
)
def test_networkx_comes_back_as_it_was(known: networkx.Graph) -> None:
    known.add_node("zz" if "a" in known else 77)
    graph = everedge.Graph.from_networkx(known)
    found = graph.snapshot().to_networkx()
    assert type(found) is type(known)
    for _, _, data in known.edges(data=True):
        if any("weight" in data for _, _, data in known.edges(data=True)):
            data.setdefault("weight", 1.0)
    assert networkx.utils.graphs_equal(found, known)
    assert edges(everedge.Graph.from_networkx(known, weight=None)) == edges(
        everedge.Graph.from_networkx(known, weight="none such")
    )


def test_nodes_that_are_no_ids_are_refused() -> None:
    with pytest.raises(everedge.InvalidInputError):
        everedge.Graph.from_networkx(networkx.grid_2d_graph(2, 2))


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("simple", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("gap", [0, 5, 1 << 29])
def test_scipy_matrices(directed: bool, simple: bool, weighted: bool, gap: int) -> None:
    random = np.random.default_rng(3)
    src, dst = random.integers(0, 40, 300), random.integers(0, 40, 300)
    src, dst = src + gap * (src > 20), dst + gap * (dst > 20)
    weight = random.integers(1, 9, 300).astype(np.float32)
    graph = everedge.Graph("g", medium="dram", directed=directed, simple=simple, weighted=weighted)
    graph.add_edges(src, dst, weight if weighted else None)
    snapshot = graph.snapshot()
    matrix = snapshot.to_scipy()
    u, v, w = snapshot.edges()
    place = {name: row for row, name in enumerate(snapshot.vertices.tolist())}
    expected = np.zeros(matrix.shape)
    for row, column, one in zip(u.tolist(), v.tolist(), [1] * len(u) if w is None else w, strict=True):
        expected[place[row], place[column]] += one
        if not directed and row != column:
            expected[place[column], place[row]] += one
    assert np.array_equal(matrix.todense(), expected)
    again = everedge.Graph.from_scipy(matrix, directed=directed).snapshot()
    assert np.array_equal(again.to_scipy().todense(), expected)


def test_wrong_matrices_are_refused() -> None:
    with pytest.raises(everedge.InvalidInputError, match="square"):
        everedge.Graph.from_scipy(scipy.sparse.csr_array((2, 3)))
    with pytest.raises(everedge.InvalidInputError, match="symmetric"):
        everedge.Graph.from_scipy(scipy.sparse.csr_array([[0, 1], [0, 0]]), directed=False)


def test_igraph_comes_back_as_it_was() -> None:
    igraph = pytest.importorskip("igraph")
    known = igraph.Graph([(0, 1), (1, 2), (1, 2)], n=4, directed=True)
    known.es["weight"] = [1.0, 2.5, 3.0]
    known.vs["name"] = ["a", "b", "c", "d"]
    found = everedge.Graph.from_igraph(known).snapshot().to_igraph()
    assert found.is_directed() and found.vs["name"] == ["a", "b", "c", "d"]
    assert sorted(zip(found.get_edgelist(), found.es["weight"], strict=True)) == sorted(
        zip(known.get_edgelist(), known.es["weight"], strict=True)
    )
    del known.vs["name"]
    assert everedge.Graph.from_igraph(known).snapshot().vertices.tolist() == [0, 1, 2, 3]


def test_a_column_that_may_hold_weights_is_not_lost_in_silence() -> None:
    frame = pandas.DataFrame({"x": [1], "y": [2], "w": [3.5]})
    with pytest.warns(UserWarning, match="column 'w' may hold weights"):
        everedge.Graph.from_pandas(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert everedge.Graph.from_pandas(frame, weight="w").snapshot().weight(1, 2) == 3.5
        everedge.Graph.from_pandas(frame, weighted=False)
        everedge.Graph.from_pandas(frame[["x", "y"]])


def test_values_are_streams_of_arrow() -> None:
    polars = pytest.importorskip("polars")
    duckdb = pytest.importorskip("duckdb")
    with everedge.Graph("g", medium="dram") as graph:
        graph.add_edges(["app", "lib"], ["lib", "libc"])
        depth = graph.snapshot().bfs("app")
    assert polars.DataFrame(depth).rows() == [("app", 0), ("lib", 1), ("libc", 2)]
    assert duckdb.sql("select max(value) from depth").fetchall() == [(2,)]
    assert (depth.get("lib"), depth.get("none"), depth.get("none", -7)) == (1, None, -7)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_edges_become_tables_and_graphs_again(weighted: bool, directed: bool, tmp_path: Path) -> None:
    graph = everedge.Graph("graph", medium="dram", weighted=weighted, directed=directed)
    graph.add_edges(["ann", "bob", "ann"], ["bob", "eve", "bob"], [1, 2, 3] if weighted else None)
    names = ["src", "dst", "weight"][: 2 + weighted]
    s = graph.snapshot()
    frame, table = s.to_pandas(), s.to_arrow()
    assert list(frame.columns) == names and table.column_names == names
    rows = sorted(frame.itertuples(index=False, name=None))
    assert rows == sorted(zip(*(column.tolist() for column in s.edges() if column is not None), strict=True))
    assert rows == sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))
    again = everedge.Graph.from_pandas(frame, "src", "dst", "weight" if weighted else None, directed=directed)
    assert sorted(again.snapshot().to_pandas().itertuples(index=False, name=None)) == rows
    s.seal(tmp_path / "sealed")
    with everedge.Chunks(tmp_path / "sealed") as sealed:
        # Without directions either end may come first.
        same = [sorted(row[:2]) + list(row[2:]) for row in sealed.to_pandas().itertuples(index=False, name=None)]
        assert sorted(same) == [list(row) for row in rows]
        assert sealed.to_arrow().num_rows == 3


def heavy(path: Path) -> everedge.Graph:
    graph = networkx.Graph()
    graph.add_edge("ann", "bob", weight="heavy")
    return everedge.Graph.from_networkx(graph, path=path)


def infinite(path: Path) -> everedge.Graph:
    return everedge.Graph.from_scipy(scipy.sparse.csr_array(np.array([[0, np.nan], [1, 0]])), path=path)


def nameless(path: Path) -> everedge.Graph:
    return everedge.Graph.from_arrow(pyarrow.table({"a": ["x", None], "b": ["y", "z"]}), path=path)


@pytest.mark.parametrize("make", [heavy, infinite, nameless])
def test_what_fails_leaves_nothing(make: Any, tmp_path: Path) -> None:
    path = tmp_path / "g"
    for _ in range(2):
        with pytest.raises(everedge.EveredgeError):
            make(path)
        assert not path.exists()
    path.mkdir()
    with pytest.raises(everedge.EveredgeError):
        make(path)
    assert list(path.iterdir()) == []


def test_numbers_under_another_name_are_not_left_out_in_silence() -> None:
    graph = networkx.Graph([("a", "b", {"length": 3.0}), ("b", "c", {"length": 4.0})])
    with pytest.warns(UserWarning, match="no 'weight'; their 'length' may hold weights"):
        assert not everedge.Graph.from_networkx(graph).snapshot().weighted
    for options in ({"weight": None}, {"weight": "length"}, {"weighted": False}):
        everedge.Graph.from_networkx(graph, **options)
    assert everedge.Graph.from_networkx(graph, "length").snapshot().shortest_path("a", "c").length == 7
    named = networkx.Graph([("a", "b", {"kind": "road"})])
    everedge.Graph.from_networkx(named)


def test_columns_that_nobody_asked_for_may_hold_anything() -> None:
    import pandas
    import polars

    ends = {"src": ["a", "b"], "dst": ["b", "c"]}
    odd = pandas.DataFrame({"note": [1, "x"], **ends, "thing": [object(), 1j], "w": [1.5, 2.5]})
    odd.insert(0, "note", ["p", None], allow_duplicates=True)
    empty = polars.DataFrame({"note": [None, None], **ends, "w": [1.5, 2.5]})
    huge = polars.DataFrame({**ends, "w": [1.5, 2.5], "huge": polars.Series([1 << 100, 2], dtype=polars.Int128)})
    for make, frame in ((everedge.Graph.from_pandas, odd), (everedge.Graph.from_polars, empty), (everedge.Graph.from_polars, huge)):
        assert make(frame, "src", "dst", "w").snapshot().weight("b", "c") == 2.5
        assert make(frame, "src", "dst", weighted=False).snapshot().num_edges == 2
        with pytest.warns(UserWarning, match="may hold weights"):
            make(frame, "src", "dst")
    twice = pandas.DataFrame([[1, 2, 3], [2, 3, 4]], columns=["a", "a", "b"])
    assert everedge.Graph.from_pandas(twice, 0, 2, weighted=False).snapshot().has_edge(2, 4)
    with pytest.raises(everedge.FileError, match='no column "x"'):
        everedge.Graph.from_polars(empty.drop("note"), "src", "x")


@pytest.mark.parametrize("ids", [["1", 2], [2**70, 1], ["\ud800", "x"]])
def test_ids_that_arrow_does_not_know_are_refused(ids: list[Any]) -> None:
    import pandas

    with pytest.raises(everedge.InvalidInputError):
        everedge.Graph.from_pandas(pandas.DataFrame({"src": pandas.Series(ids, dtype=object), "dst": ["a", "b"]}), "src", "dst")


@pytest.mark.parametrize("last", ["z", None])
def test_a_graph_that_comes_meanwhile_is_neither_taken_nor_removed(last: str | None, tmp_path: Path) -> None:
    path = tmp_path / "g"

    class Slow:
        """A table; while it is read somebody makes a graph."""

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            with everedge.Graph(path) as graph:
                graph.add_edges("ann", "bob")
            return pyarrow.table({"src": ["x", "y"], "dst": ["y", last]}).__arrow_c_stream__()

    with pytest.raises((FileExistsError, everedge.EveredgeError)):
        everedge.Graph.from_arrow(Slow(), "src", "dst", path=path)
    with everedge.Graph(path, mode="r") as graph:
        assert graph.snapshot().vertices.tolist() == ["ann", "bob"]


def test_what_is_there_already_is_never_removed(tmp_path: Path) -> None:
    path = tmp_path / "g"
    with everedge.Graph(path) as graph:
        graph.add_edges("ann", "bob")
    for make in (heavy, infinite, nameless):
        with pytest.raises((FileExistsError, everedge.EveredgeError)):
            make(path)
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "mine.txt").write_text("mine")
    for make in (heavy, infinite, nameless):
        with pytest.raises((FileExistsError, everedge.EveredgeError)):
            make(tmp_path / "papers")
    assert (tmp_path / "papers" / "mine.txt").read_text() == "mine"
    assert everedge.Graph(path).stats().edges == 1


def test_an_interrupt_between_batches_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everedge._graph._BATCH", 10)
    added, add = [], everedge.Graph.add_edges

    def interrupted(graph: everedge.Graph, *columns: Any) -> None:
        if len(added) == 3:
            raise KeyboardInterrupt
        added.append(len(columns[0]))
        add(graph, *columns)

    known = networkx.gnp_random_graph(30, 0.2, seed=1)
    monkeypatch.setattr(everedge.Graph, "add_edges", interrupted)
    with pytest.raises(KeyboardInterrupt):
        everedge.Graph.from_networkx(known, path=tmp_path / "g")
    assert added == [10, 10, 10] and not (tmp_path / "g").exists()
    monkeypatch.undo()
    monkeypatch.setattr("everedge._graph._BATCH", 10)
    whole = everedge.Graph.from_networkx(known, path=tmp_path / "g")
    assert networkx.utils.graphs_equal(whole.snapshot().to_networkx(), known)


def test_what_is_guessed_of_a_file_is_warned_of(tmp_path: Path) -> None:
    flights, needs = tmp_path / "flights.csv", tmp_path / "needs.csv"
    flights.write_text("from,to,km\nBerlin,Rome,1184\nRome,Oslo,3\n")
    needs.write_text("package,needs\nshop,web\nshop,pay\n")
    with pytest.warns(UserWarning, match="'km' may hold weights") as caught:
        everedge.Graph("flights", medium="dram").ingest(flights)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="the first row was taken for an edge") as caught:
        everedge.Graph("needs", medium="dram").ingest(needs)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        everedge.Graph("flights", medium="dram", weighted=False).ingest(flights)
        everedge.Graph("flights", medium="dram").ingest(flights, weight="km")
        everedge.Graph("needs", medium="dram").ingest(needs, header=True)
        everedge.Graph("needs", medium="dram").ingest(needs, header=False)


def test_numbers_that_label_columns_are_labels() -> None:
    frame = pandas.DataFrame([["a", "b", 5], ["b", "c", 6]], columns=[1, 2, 3])
    view = everedge.Graph.from_pandas(frame, 1, 2, 3).snapshot()
    assert view.weight("a", "b") == 5 and view.num_edges == 2
    with pytest.raises(everedge.InvalidInputError, match="no column has the label 0; there are 1, 2, 3"):
        everedge.Graph.from_pandas(frame, 0, 2)
    usual = pandas.DataFrame({"a": ["x"], "b": ["y"]})
    assert everedge.Graph.from_pandas(usual, 1, 0).snapshot().has_edge("y", "x")


def test_one_name_says_which_end_the_other_column_is() -> None:
    for frame, edge in [
        ({"dst": ["b"], "who": ["a"]}, ("a", "b")),
        ({"name": ["b"], "source": ["a"]}, ("a", "b")),
        ({"x": ["a"], "target": ["b"]}, ("a", "b")),
    ]:
        assert everedge.Graph.from_pandas(pandas.DataFrame(frame)).snapshot().has_edge(*edge), frame
    with pytest.raises(everedge.FileError, match="no second column"):
        everedge.Graph.from_pandas(pandas.DataFrame({"dst": ["b", "c"]}, index=["a", "b"]))


def test_vertices_of_one_name_are_refused() -> None:
    graph = igraph.Graph(edges=[(0, 1), (2, 3)])
    graph.vs["name"] = ["Smith", "Jones", "Smith", "Lee"]
    with pytest.raises(everedge.InvalidInputError, match="'Smith': name=None"):
        everedge.Graph.from_igraph(graph)
    assert everedge.Graph.from_igraph(graph, name=None).snapshot().num_vertices == 4


def test_entries_of_one_place_are_added_up() -> None:
    twice = scipy.sparse.coo_array(([2.0, 3.0], ([0, 0], [1, 1])), shape=(2, 2))
    view = everedge.Graph.from_scipy(twice).snapshot()
    assert (view.num_edges, view.weight(0, 1)) == (1, 5)
    assert twice.nnz == 2
    with pytest.raises(everedge.InvalidInputError, match="weighted=False"):
        everedge.Graph.from_scipy(twice.astype(bool))
    assert everedge.Graph.from_scipy(twice.astype(bool), weighted=False).snapshot().num_edges == 1


def test_a_lazy_frame_is_collected_first() -> None:
    frame = polars.DataFrame({"a": ["x"], "b": ["y"]}).lazy()
    with pytest.raises(everedge.InvalidInputError, match="collect"):
        everedge.Graph.from_polars(frame)  # type: ignore[arg-type]
