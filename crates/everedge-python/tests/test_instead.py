"""What a wrong guess is answered: the call that does it, which exists."""

from __future__ import annotations

import inspect
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest

import everedge
from everedge import _instead

ON = {
    "graph": everedge.Graph,
    "snapshot": everedge.Snapshot,
    "sealed": everedge.Chunks,
    "timeline": everedge.Timeline,
    "window": everedge.Window,
    "values": everedge.Components,
    "path": everedge.Path,
    "everedge.Graph": everedge.Graph,
    "everedge": everedge,
}
"""What is at the left of a point in a text."""


@pytest.fixture
def graph() -> everedge.Graph:
    graph = everedge.Graph("graph", medium="dram")
    graph.add_edges(["ann", "bob"], ["bob", "eve"])
    return graph


def said(call: Callable[[], object], kind: type[Exception] = AttributeError) -> str:
    with pytest.raises(kind) as error:
        call()
    return str(error.value)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("pagerank", "graph.snapshot().pagerank(...), or everedge.pagerank(graph)"),
        ("has_edge", "graph.snapshot().has_edge(...)"),
        ("num_vertices", "graph.snapshot().num_vertices"),
        ("nodes", "graph.snapshot().vertices"),
        ("number_of_nodes", "graph.snapshot().num_vertices"),
        ("successors", "graph.snapshot().neighbors(id)"),
        ("add_edge", "graph.add_edges(src, dst)"),
        ("add_edges_from", "graph.add_edges(*zip(*pairs))"),
        ("remove_node", "graph.delete_vertex(id)"),
        ("versions", "graph.timeline.versions"),
        ("to_pandas", "graph.snapshot().to_pandas(...)"),
        ("read_csv", "graph.ingest(file)"),
    ],
)
def test_a_graph_names_what_does_it(graph: everedge.Graph, name: str, call: str) -> None:
    assert call in said(lambda: getattr(graph, name))
    assert said(lambda: getattr(graph, name)).startswith(f"'Graph' object has no attribute '{name}'")


def test_other_things_name_what_does_it(graph: everedge.Graph, tmp_path: Path) -> None:
    s: Any = graph.snapshot()
    assert "never changes: the graph that it is of has graph.add_edges(...)" in said(lambda: s.add_edges("a", "b"))
    assert "the graph that it is of has graph.add_edges(src, dst)" in said(lambda: s.insert("a", "b"))
    assert "snapshot.vertices" in said(lambda: s.nodes)
    s.seal(tmp_path / "sealed")
    sealed: Any = everedge.Chunks(tmp_path / "sealed")
    assert "sealed.add_edges(src, dst)" in said(lambda: sealed.add_edge("a", "b"))
    assert "sealed.vertices" in said(lambda: sealed.nodes)
    graph.commit("monday")
    timeline: Any = graph.timeline
    assert "timeline.window().pagerank(...)" in said(lambda: timeline.pagerank())
    assert "timeline.at(version).neighbors(...)" in said(lambda: timeline.neighbors("ann"))
    assert "timeline.at(timeline.versions[-1])" in said(lambda: timeline.latest)
    assert "timeline.at(...)" in said(lambda: timeline.window().at(1))
    ranks: Any = s.pagerank()
    assert "values.top(count)" in said(lambda: ranks.nlargest(3))
    assert "values.values.max()" in said(lambda: s.wcc().max())
    with graph.transaction() as t:
        transaction: Any = t
        assert "graph.add_edges(src, dst)" in said(lambda: transaction.add_edge("a", "b"))


def test_the_package_and_its_class_name_what_does_it() -> None:
    package: Any = everedge
    assert "graph = everedge.Graph(path); graph.ingest(file)" in said(lambda: package.read_csv("x.csv"))
    assert "everedge.Graph.from_pandas(...)" in said(lambda: package.from_pandas(None))
    assert "snapshot = graph.snapshot(); snapshot.shortest_path(...)" in said(lambda: package.shortest_path())
    assert "everedge.Graph(path, simple=True)" in said(lambda: package.DiGraph())
    assert "graph.add_edges(*zip(*pairs))" in said(lambda: package.Graph.from_edges([]))


def test_other_names_are_answered_as_python_does(graph: everedge.Graph) -> None:
    some: Any = graph
    assert said(lambda: some.add_edgs) == "'Graph' object has no attribute 'add_edgs'"
    assert said(lambda: some.__array_interface__) == "'Graph' object has no attribute '__array_interface__'"
    with pytest.raises(AttributeError) as error:
        some.add_edgs
    # Python itself says which name is like it.
    assert error.value.name == "add_edgs" and error.value.obj is graph
    assert not hasattr(everedge, "frobnicate") and not hasattr(everedge.Graph, "frobnicate")


def test_an_error_of_a_property_is_its_own(graph: everedge.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(everedge.Snapshot, "vertices", property(lambda s: s.nothing_at_all))
    with pytest.raises(AttributeError, match="nothing_at_all"):
        graph.snapshot().vertices  # noqa: B018
    graph.close()
    with pytest.raises(everedge.ClosedError):
        graph.timeline  # noqa: B018


def test_items_and_lengths_name_what_there_is(graph: everedge.Graph) -> None:
    some: Any = graph
    s: Any = graph.snapshot()
    for call in (lambda: some["ann"], lambda: len(some), lambda: list(some), lambda: "ann" in some):
        assert "graph.snapshot() has .vertices" in said(call, TypeError)
    for call in (lambda: s["ann"], lambda: len(s), lambda: list(s)):
        assert ".neighbors(id)" in said(call, TypeError)
    assert "path.vertices" in said(lambda: list(s.shortest_path("ann", "eve")), TypeError)
    assert bool(graph) and bool(s) and "ann" in s
    assert np.asarray(s).shape == ()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda g, s: s.pagerank(alpha=0.85), "'alpha'; here: damping= for PageRank"),
        (lambda g, s: s.pagerank(tol=1e-9), "'tol'; here: tolerance="),
        (lambda g, s: s.louvain(weight="w"), "'weight'; here: weights of the graph count"),
        (lambda g, s: s.bfs(start="ann"), "'start'; here: source="),
        (lambda g, s: everedge.bfs(g, root="ann"), "'root'; here: source="),
        (lambda g, s: s.bc(k=3), "'k'; here: samples= for bc"),
        (lambda g, s: s.degree("ann"), "here: degree() has all; degrees_of(ids)"),
        (lambda g, s: s.edges("ann"), "edges_of(ids)"),
        (lambda g, s: s.pagerank(0.9), "here: give parameters by name"),
        (lambda g, s: g.add_edges([("a", "b")]), "'dst'; here: two columns"),
        (lambda g, s: g.add_edges("a", "b", weights=[1]), "'weights'; here: weight="),
        (lambda g, s: g.ingest("x.csv", sep=";"), "'sep'; here: delimiter="),
        (lambda g, s: everedge.Graph(), 'missing 1 required positional argument: \'path\'; here: a directory'),
        (lambda g, s: everedge.Graph("x", read_only=True), "'read_only'; here: mode=\"r\""),
        (lambda g, s: everedge.Graph.from_pandas(None, delimiter=";"), "graph.ingest(files or table, delimiter=)"),
        (lambda g, s: everedge.Graph.from_pandas(None, source="a"), "'source'; here: src="),
        (lambda g, s: g.commit() and g.timeline.window().pagerank(tol=1), "'tol'; here: tolerance="),
        (lambda g, s: everedge.pagerank("votes"), "pagerank asks a Graph, a Snapshot or a sealed graph (Chunks), not str; here: everedge.open"),
        (lambda g, s: everedge.louvain(networkx.path_graph(3)), "not Graph; here: everedge.Graph.from_networkx(graph)"),
        (lambda g, s: everedge.hits(graph=5), "hits asks a Graph"),
        (lambda g, s: s.has_edge(("ann", "bob")), "here: the two ends, has_edge(*pair)"),
        (lambda g, s: everedge.Timeline(g), "versions are in a directory"),
        (lambda g, s: everedge.open(5), "a graph is at a directory (str or PathLike), not int"),
        (lambda g, s: everedge.Chunks(s), "a sealed graph is at a directory (str or PathLike), not Snapshot; here: snapshot.seal"),
        (lambda g, s: everedge.Graph([("a", "b")]), "graph.add_edges(*zip(*pairs))"),
        (lambda g, s: g.ingest([("a", "b")]), "graph.add_edges(*zip(*pairs))"),
        (lambda g, s: g.ingest(s), "snapshot.edges()"),
    ],
)
def test_arguments_of_others_are_named(graph: everedge.Graph, call: Callable[..., object], text: str) -> None:
    assert text in said(lambda: call(graph, graph.snapshot()), TypeError)


def test_what_a_call_raises_inside_stays_as_it_is(graph: everedge.Graph) -> None:
    def progress(_: object) -> None:
        raise TypeError("f() got an unexpected keyword argument 'alpha'")

    file = Path(__file__).with_name("nothing")
    with pytest.raises(everedge.IoError):
        graph.ingest(file, progress=progress)
    assert said(lambda: graph.transact(lambda t: progress(t)), TypeError) == "f() got an unexpected keyword argument 'alpha'"
    table = pytest.importorskip("pyarrow").table({"a": ["x"], "b": ["y"]})
    assert said(lambda: graph.ingest(table, progress=progress), TypeError).endswith("'alpha'")


@pytest.mark.parametrize("made", ["text", "integer", "dense"])
def test_ids_of_the_other_kind_are_said_to_be(made: str) -> None:
    graph = everedge.Graph("graph", medium="dram", ids=made)  # type: ignore[arg-type]
    graph.add_edges(*((["1"], ["2"]) if made == "text" else ([1], [2])))
    s = graph.snapshot()
    other: Any = 77 if made == "text" else "zoe"
    kind = "strings" if made == "text" else "integers"
    for ask in (s.bfs, s.neighbors, lambda v: s.shortest_path(v, v), s.most_similar):
        with pytest.raises(everedge.InvalidInputError, match=f"vertex `{other}` is not in the graph, whose ids are {kind}"):
            ask(other)
    same: Any = "zoe" if made == "text" else 77
    for ask in (s.bfs, s.neighbors):
        with pytest.raises(everedge.InvalidInputError, match=f"vertex `{same}` is not in the graph$"):
            ask(same)
    give = "str(id)" if made == "text" else "int(id), or create another graph with ids='text'"
    for change in (lambda v: graph.add_edges(v, v), graph.add_vertices, s.degrees_of, graph.delete_vertex):
        with pytest.raises(everedge.InvalidInputError, match=re.escape(f"give {give}")):
            change(other)
    for nothing in (1.0, None, True, b"1", (1, 2)):
        wrong: Any = nothing
        for ask in (s.neighbors, s.pagerank().__getitem__, s.bfs if nothing is not None else s.neighbors):
            with pytest.raises(everedge.InvalidInputError, match="is no id: ids are integers or strings"):
                ask(wrong)
    with pytest.raises(everedge.InvalidInputError, match=r"int\(1.0\) is one"):
        s.bfs(1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda g, s: g.delete_vertex(["ann", "bob"]), "delete_vertex takes one vertex a call"),
        (lambda g, s: g.commit(5), "name=5: a version is called by a text"),
        (lambda g, s: s.pagerank(threads="4"), "threads='4': it must be a number"),
        (lambda g, s: s.within("ann", "2"), "hops='2': it must be a whole number from 0 on"),
        (lambda g, s: s.within("ann", -1), "hops=-1: it must be a whole number from 0 on"),
        (lambda g, s: s.most_similar("ann", 2.5), "count=2.5: it must be a whole number"),
        (lambda g, s: s.bfs("ann").top("3"), "count='3': it must be a whole number"),
        (lambda g, s: s.plot_neighborhood("ann", True), "hops=True: it must be a whole number from 1 on"),
        (lambda g, s: s.shortest_path("ann", "eve", hops=3), "within(id, hops) goes so many hops"),
        (lambda g, s: s.modularity([0, 0, 1]), "dict(zip(snapshot.vertices.tolist(), groups))"),
        (lambda g, s: g.add_edges(["a", None], ["b", "c"]), "src, row 1: a missing value (None)"),
        (lambda g, s: g.add_edges(np.array(["a", float("nan")], object), ["b", "c"]), "src, row 1: a missing value (nan)"),
        (lambda g, s: s.bfs("ann")[["ann", "bob"]], "values.to_pandas().loc[ids]"),
    ],
)
def test_values_that_do_not_fit_are_named(graph: everedge.Graph, call: Callable[..., object], text: str) -> None:
    assert text in said(lambda: call(graph, graph.snapshot()), everedge.InvalidInputError)


def test_answers_are_no_numbers_and_arrays_take_them() -> None:
    graph = everedge.Graph("graph", medium="dram")
    graph.add_edges([0, 1], [1, 2])
    depths: Any = graph.snapshot().bfs(0)
    for call in (lambda: depths + 1, lambda: 2 * depths, lambda: depths > 1, lambda: -depths, lambda: depths - depths):
        assert "values.values are, and values.to_pandas() keeps their ids" in said(call, TypeError)
    ones = np.ones(3)
    assert (depths * ones).tolist() == (ones * depths).tolist() == [0, 1, 2]
    assert (ones < depths).tolist() == [False, False, True] and depths == depths
    steps: Any = graph.commit() and graph.timeline.window().bfs(0)
    assert "steps.of(id)" in said(lambda: steps[0], TypeError)
    assert "steps.at(version).top(...)" in said(lambda: steps.top(1)) and len(steps) == 1
    path: Any = graph.snapshot().shortest_path(0, 2)
    assert "path.vertices" in said(lambda: path.nodes)


def test_predecessors_of_a_vertex_are_its_in_neighbors(graph: everedge.Graph) -> None:
    with pytest.raises(everedge.InvalidInputError, match=r"in_neighbors\(id\)"):
        graph.snapshot().predecessors("eve")  # type: ignore[arg-type]


def test_a_mistake_in_a_table_is_one_of_a_table(graph: everedge.Graph) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"a": ["x", None], "b": ["y", "z"], "w": [1.0, 2.0]})
    with pytest.raises(everedge.FileError, match="^`table 1`: row 2: an id is null; skip_nulls=True"):
        everedge.Graph.from_arrow(table, "a", "b", weighted=False)
    made = everedge.Graph.from_arrow(table, "a", "b", weighted=False, skip_nulls=True)
    assert made.snapshot().num_edges == 1
    third = pyarrow.table({"a": ["x"], "b": ["x"], "w": [1 / 3]})
    with pytest.raises(everedge.FileError, match="round_weights=True"):
        everedge.Graph.from_arrow(third, "a", "b", "w")
    made = everedge.Graph.from_arrow(third, "a", "b", "w", round_weights=True, drop_self_loops=True)
    assert made.stats().edges == 0


def texts() -> list[str]:
    """Return all that the tables say."""
    tables = (
        _instead.NAMES,
        _instead.VALUES,
        _instead.VERSIONS,
        _instead.ITEMS,
        _instead.KEYWORDS,
        _instead.POSITIONAL,
        _instead.MADE_OF,
        _instead.MISSING,
    )
    return [text for table in tables for text in table.values()]


@pytest.mark.parametrize("text", texts())
def test_what_is_named_exists(text: str) -> None:
    for owner, name in re.findall(r"(?<![\w.)])(everedge\.Graph|[a-z]+)\.(\w+)", text):
        if owner in ON:
            is_field = name in getattr(ON[owner], "__annotations__", {})
            assert hasattr(ON[owner], name) or is_field, f"{owner}.{name}"


def test_no_table_says_of_what_there_is_that_it_is_elsewhere() -> None:
    # Such an entry would never be read.
    for kind, names in (
        ((everedge.Graph, everedge.Snapshot), _instead.NAMES),
        ((everedge.Values,), _instead.VALUES),
        ((everedge.Timeline,), _instead.VERSIONS),
    ):
        for name in names:
            everywhere = all(_instead.has(one, name) for one in kind)
            assert not everywhere, name


def test_kernels_are_what_they_were() -> None:
    assert list(inspect.signature(everedge.pagerank).parameters)[:2] == ["graph", "iterations"]
    for kernel in (everedge.pagerank, everedge.louvain, everedge.hits):
        assert pickle.loads(pickle.dumps(kernel)) is kernel
