"""Transactions: questions and changes that count as one."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import everedge

LAYOUTS = ["adjacency", "pma", "blocks"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_transaction_is_there_as_a_whole_or_not_at_all(layout: str) -> None:
    graph = everedge.Graph("example", medium="dram", layout=layout)  # type: ignore[arg-type]
    graph.add_edges(["a", "a"], ["b", "c"])
    with graph.transaction() as t:
        t.delete_edges("a", "b")
        t.add_edges(["a", "d"], ["d", "e"])
        assert t.has_edge("d", "e")
        assert not t.has_edge("a", "b")
        assert graph.snapshot().has_edge("a", "b")
        assert not graph.snapshot().has_edge("d", "e")
    assert sorted(graph.snapshot().neighbors("a")) == ["c", "d"]

    with pytest.raises(RuntimeError), graph.transaction() as t:
        t.add_edges("x", "y")
        raise RuntimeError
    assert not graph.snapshot().has_edge("x", "y")

    with pytest.raises(everedge.ConflictError, match="the edge a -> c"), graph.transaction() as t:
        assert t.has_edge("a", "c")
        t.add_edges("a", "z")
        graph.delete_edges("a", "c")
    assert not graph.snapshot().has_edge("a", "z")


def test_a_new_graph_is_shaped_by_what_its_first_transaction_holds(tmp_path: Path) -> None:
    with everedge.Graph(tmp_path / "names") as graph:
        with graph.transaction():
            pass
        assert not (tmp_path / "names").exists()
        transaction = graph.transaction()
        transaction.add_edges(["ann"], ["bob"])
        with pytest.raises(everedge.InUseError):
            graph.close()
        assert transaction.commit() == everedge.Changes(1, 0, 0)
        with pytest.raises(everedge.ClosedError):
            transaction.has_edge("ann", "bob")
    with everedge.Graph(tmp_path / "names") as graph:
        assert graph.snapshot().has_edge("ann", "bob")
        assert not graph.snapshot().has_edge("bob", "ann")
        assert not graph.snapshot().has_edge("ann", "nobody")


def test_weights_are_asked_for_as_of_a_graph() -> None:
    graph = everedge.Graph("example", medium="dram", weighted=True)
    graph.add_edges([1], [2], [0.5])
    with graph.transaction() as t:
        with pytest.raises(everedge.InvalidInputError, match="has weights"):
            t.add_edges(3, 4)
        with pytest.raises(everedge.InvalidInputError, match="1 sources and 2"):
            t.add_edges([3], [4, 5], [1.0])
        t.add_edges([3, 3], [4, 5], [1.5, 2.5])
    weight = graph.snapshot().edges()[2]
    assert weight is not None
    assert weight.tolist() == [0.5, 1.5, 2.5]


def test_threads_that_count_lose_nothing() -> None:
    graph = everedge.Graph("counter", medium="dram", layout="blocks")
    graph.add_edges(0, 1)

    def count() -> None:
        for _ in range(50):
            while True:
                try:
                    with graph.transaction() as t, graph.snapshot() as s:
                        [now] = s.neighbors(0).tolist()
                        if t.has_edge(0, now):
                            t.delete_edges(0, now)
                            t.add_edges(0, now + 1)
                        else:
                            continue
                    break
                except everedge.ConflictError:
                    pass

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert graph.snapshot().neighbors(0).tolist() == [201]
