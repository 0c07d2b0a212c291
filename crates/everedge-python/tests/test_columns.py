"""What goes into a graph, and what is refused."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

import everedge
from everedge import InvalidInputError


def fresh(**options: Any) -> everedge.Graph:
    return everedge.Graph("graph", medium="dram", **options)


class OnlyStream:
    """A column that knows nothing but the Arrow PyCapsule interface."""

    def __init__(self, values: list[object]) -> None:
        self.column = pyarrow.chunked_array([values])

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.column.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        iter,
        np.array,
        lambda values: np.array(values, np.uint32),
        lambda values: np.array(values, np.int8),
        lambda values: np.array(values * 2, np.uint32)[::2][: len(values)],
        lambda values: np.array(values, object),
        pyarrow.array,
        OnlyStream,
    ],
)
def test_columns_of_every_kind_are_taken(make: Any) -> None:
    graph = fresh()
    graph.add_edges(make([5, 5, 5]), make([6, 6, 6]))
    with graph.snapshot() as s:
        assert s.edges()[0].tolist() == [5, 5, 5]


class Recording:
    """A native graph that keeps the columns it is given."""

    def __init__(self, native: Any) -> None:
        self._native, self.given = native, list[Any]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._native, name)

    def add_edges(self, *columns: Any) -> None:
        self.given += columns
        self._native.add_edges(*columns)


@pytest.mark.parametrize("of", [np.array, lambda values, kind: np.array([0, *values], kind)[1:], memoryview, pyarrow.array])
def test_what_others_may_change_is_copied_before_it_is_read(of: Any) -> None:
    graph = fresh(weighted=True, ids="dense")
    graph.add_edges([0], [1], [1])
    graph._native = recording = Recording(graph._native)  # type: ignore[assignment]
    arrays = [np.arange(4, dtype=np.uint32), np.arange(1, 5, dtype=np.uint32), np.ones(4, np.float32)]
    columns = [of(array) if of in (memoryview, pyarrow.array) else of(array, array.dtype) for array in arrays]
    graph.add_edges(*columns)
    seen = [np.asarray(column) for column in columns]
    assert len(recording.given) == 3
    assert not any(np.shares_memory(given, one) for given in recording.given for one in seen)


def test_single_ids_are_columns_of_one() -> None:
    graph = fresh()
    graph.add_edges("a", "b")
    graph.add_vertices("c")
    assert graph.snapshot().vertices.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("column", [pyarrow.array(["a", "b"]), np.array(["a", "b"]), ["a", "b"]])
def test_strings_of_every_kind_are_taken(column: Any) -> None:
    graph = fresh()
    graph.add_edges(column, column)
    assert graph.snapshot().vertices.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([0, -1], "src, row 1: -1: ids are not negative"),
        ([0, None], r"src, row 1: a missing value \(None\)"),
        ([0, "a"], "src, row 1: 'a': ids of one column"),
        (["a", 0], "src, row 1: 0: ids of one column"),
        ([0.0, float("nan")], "not float64; missing values"),
        ([True, False], "not bool"),
        ([0, 1 << 64], "src, row 1: 18446744073709551616: ids are from 0"),
        (np.zeros((2, 2), int), "not an array of shape"),
        ([0], "1 sources and 2 destinations"),
        (np.ma.array([0, 7], mask=[False, True]), "src, row 1: a missing value"),
    ],
)
def test_wrong_ids_are_refused_and_nothing_changes(column: Any, message: str) -> None:
    graph = fresh()
    graph.add_edges([0], [1])
    with pytest.raises(InvalidInputError, match=message):
        graph.add_edges(column, [1, 2])
    assert graph.snapshot().num_edges == 1


def test_lists_of_64_bit_ids_are_ids() -> None:
    graph = fresh()
    graph.add_edges([(1 << 63) + 1, 5], ((1 << 64) - 1, 2))
    assert sorted(graph.snapshot().vertices.tolist()) == [2, 5, (1 << 63) + 1, (1 << 64) - 1]


def test_masked_weights_are_refused() -> None:
    graph = fresh(weighted=True)
    with pytest.raises(InvalidInputError, match="weight, row 0: a missing value"):
        graph.add_edges([0, 1], [1, 2], np.ma.array([1.0, 2.0], mask=[True, False]))


def test_ids_of_another_kind_are_refused() -> None:
    graph = fresh(ids="dense")
    with pytest.raises(InvalidInputError, match="create another graph with ids='text'"):
        graph.add_edges(["a"], ["b"])
    with pytest.raises(InvalidInputError, match="row 0: 2147483648: dense ids are at most"):
        graph.add_edges([1 << 31], [0])
    graph.add_edges([0], [1])
    texts = fresh()
    texts.add_edges(["a"], ["b"])
    with pytest.raises(InvalidInputError, match="ids are strings, not integers"):
        texts.add_edges([1], [2])


def test_first_data_decide_what_ids_are() -> None:
    for ids, kind in [
        ([1 << 20], np.uint32),
        ([1 << 26], np.uint32),
        ([1 << 30], np.uint64),
        (["a"], object),
    ]:
        graph = fresh()
        graph.add_edges(ids, ids)
        assert graph.snapshot().vertices.dtype == kind
    mapped = fresh(ids="map")
    mapped.add_edges([7], [9])
    assert mapped.snapshot().bfs(7).by_index.tolist() == [0, 1]


def test_weights_must_fit() -> None:
    plain, weighted = fresh(), fresh(weighted=True)
    with pytest.raises(InvalidInputError, match="has no weights"):
        plain.add_edges([0], [1], weight=[1])
    with pytest.raises(InvalidInputError, match="has weights"):
        weighted.add_edges([0], [1])
    with pytest.raises(InvalidInputError, match="1 edges and 2 weights"):
        weighted.add_edges([0], [1], weight=[1, 2])
    with pytest.raises(InvalidInputError, match="weights are numbers"):
        weighted.add_edges([0], [1], weight=["heavy"])
    with pytest.raises(InvalidInputError, match="finite"):
        weighted.add_edges([0], [1], weight=[float("nan")])
    weighted.add_edges([0, 1], [1, 2], weight=[0.5, 2])
    assert weighted.snapshot().edges()[2].tolist() == [0.5, 2]
    assert everedge.sssp(weighted, 0)[2] == 2.5


@pytest.mark.parametrize(
    "weights",
    [
        [0.5, 16777217],
        [0.5, 1 / 3],
        [0.5, 1731974400.5],
        np.array([1, 16777217]),
        np.array([1, 2**63 + 1], np.uint64),
        np.array([1, 2**53 + 1]),
        np.array([0.5, 1e300]),
    ],
)
def test_weights_that_32_bits_change_are_refused_or_rounded(weights: Any) -> None:
    graph = fresh(weighted=True)
    with pytest.raises(InvalidInputError, match="weight, row 1: .*32-bit"):
        graph.add_edges([0, 1], [1, 2], weight=weights)
    assert graph.snapshot().num_edges == 0
    if weights[1] < 1e30:
        graph.add_edges([0, 1], [1, 2], weight=weights, round_weights=True)
        assert graph.snapshot().edges()[2].tolist() == np.asarray(weights, np.float32).tolist()


def test_weights_that_32_bits_keep_are_taken() -> None:
    narrow = np.array([1 / 3, 0.1, 16777217], np.float32)
    for weights in [narrow, narrow.astype(np.float64), [0.1, -2.5, 2**60], np.array([1, -5, 2**40])]:
        graph = fresh(weighted=True)
        graph.add_edges([0, 1, 2], [1, 2, 3], weight=weights)
        assert graph.snapshot().edges()[2].tolist() == np.asarray(weights, np.float32).tolist()


def test_nothing_is_a_batch_too() -> None:
    graph = fresh()
    graph.add_edges([], [])
    assert graph.delete_edges([], []) == everedge.Changes(0, 0, 0)
    assert graph.snapshot().num_vertices == 0


class Color(str, Enum):
    RED = "red"


def test_members_of_enumerations_are_ids() -> None:
    with fresh() as graph:
        graph.add_edges([Color.RED], ["b"])
        view = graph.snapshot()
        assert Color.RED in view and "red" in view
        assert view.bfs(source=Color.RED)["b"] == 1


@pytest.mark.parametrize("column", [b"al", bytearray(b"al"), {1, 2}, {1: 2}])
def test_what_is_no_column_is_refused(column: Any) -> None:
    with fresh() as graph, pytest.raises(everedge.InvalidInputError, match="has an order"):
        graph.add_edges(column, [1, 2])


def test_numbers_of_numpy_are_parameters() -> None:
    with fresh() as graph:
        graph.add_edges([0, 1], [1, 0])
        ranks = graph.snapshot().pagerank(tolerance=np.float32(1e-3))
        with pytest.raises(everedge.InvalidInputError, match="count=-1"):
            ranks.top(-1)


@pytest.mark.parametrize("given", [{"header": "yes"}, {"header": 0}, {"src": -1}, {"dst": 1.5}])
def test_wrong_arguments_of_ingest_are_named(given: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "edges.txt"
    file.write_text("0 1\n")
    with fresh() as graph, pytest.raises(everedge.InvalidInputError, match=next(iter(given))):
        graph.ingest(file, **given)


def test_advice_names_what_python_has(tmp_path: Path) -> None:
    file = tmp_path / "edges.csv"
    file.write_text("src,dst\n1,\n")
    with fresh() as graph, pytest.raises(everedge.FileError, match="skip_nulls=True"):
        graph.ingest(file)
