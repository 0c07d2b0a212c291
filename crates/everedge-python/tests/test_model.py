"""Random operations on a graph and on the naive model give the same answers."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model import Edge, Model

import everedge

IDS = st.integers(0, 12)
EDGES = st.lists(st.tuples(IDS, IDS), max_size=20)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), EDGES),
        st.tuples(st.just("delete"), EDGES),
        st.tuples(st.just("delete_vertex"), IDS),
        st.tuples(st.just("reopen"), st.none()),
    ),
    max_size=12,
)
NAMES = {
    "dense": lambda v: v,
    "integer": lambda v: (1 << 40) + v,
    "text": lambda v: f"v{v}",
}


@pytest.mark.parametrize("kind", NAMES)
@given(steps=STEPS)
def test_graph_equals_model(kind: str, steps: list[tuple[str, object]]) -> None:
    name = NAMES[kind]
    model = Model()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "graph")
        ids = "dense" if kind == "dense" else "map"
        graph = everedge.Graph(path, ids=ids, durability="none", log_size="1M")
        graph.add_edges([name(0)], [name(1)])
        model.add_edges([(0, 1)])
        for step, argument in steps:
            if step == "reopen":
                graph.close()
                graph = everedge.Graph(path)
            elif step == "delete_vertex":
                assert isinstance(argument, int)
                changes = graph.delete_vertex(name(argument))
                assert changes.deleted == model.delete_vertex(argument)
            else:
                assert isinstance(argument, list)
                apply(graph, model, name, step, argument)
        with graph.snapshot() as s:
            compare(s, model, name)
        graph.close()


def apply(graph: everedge.Graph, model: Model, name, step: str, edges: list[Edge]) -> None:
    src, dst = [name(u) for u, _ in edges], [name(v) for _, v in edges]
    if step == "add":
        graph.add_edges(src, dst)
        model.add_edges(edges)
    else:
        changes = graph.delete_edges(src, dst)
        assert (changes.deleted, changes.ignored_deletions) == model.delete_edges(edges)


def compare(s: everedge.Snapshot, model: Model, name) -> None:
    assert s.num_vertices == len(model.vertices)
    assert s.num_edges == len(model.edges)
    assert set(s.vertices.tolist()) == {name(v) for v in model.vertices}
    src, dst, weight = s.edges()
    assert Counter(zip(src.tolist(), dst.tolist(), strict=True)) == Counter(
        (name(u), name(v)) for u, v in model.edges
    )
    assert weight is None
    for v in model.vertices:
        found = Counter({name(u): count for u, count in model.neighbors(v).items()})
        assert Counter(s.neighbors(name(v)).tolist()) == found
        assert Counter(s.one_hop(name(v)).tolist()) == found
        assert s.out_degree()[name(v)] == found.total()
    if model.vertices:
        compare_kernels(s, model, name)


def compare_kernels(s: everedge.Snapshot, model: Model, name) -> None:
    source = min(model.vertices)
    depths = {name(v): depth for v, depth in model.depths(source).items()}
    assert s.bfs(name(source)).to_dict() == depths
    distances = {v: np.inf if depth < 0 else depth for v, depth in depths.items()}
    assert s.sssp(name(source)).to_dict() == distances
    ranks = s.pagerank(iterations=5)
    for v, rank in model.ranks(5).items():
        assert ranks[name(v)] == pytest.approx(rank)
    found, wanted = s.wcc(), model.components()
    for u in model.vertices:
        for v in model.vertices:
            assert (found[name(u)] == found[name(v)]) == (wanted[u] == wanted[v])
