"""Tables and answers through Arrow's C stream interface, without pyarrow and with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

import everedge
from everedge import InvalidInputError
from producer import Producer, integers, texts

polars = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")

PAIRS = [("ann", "bob"), ("bob", "a name longer than twelve bytes"), ("ann", "eve")]
SRC, DST = (list(column) for column in zip(*PAIRS, strict=True))


def edges(graph: everedge.Graph) -> list[tuple[Any, ...]]:
    with graph.snapshot() as s:
        src, dst, weight = s.edges()
    columns = [src.tolist(), dst.tolist()] + ([] if weight is None else [weight.tolist()])
    return sorted(zip(*columns, strict=True))


def made(*tables: Any, **options: Any) -> everedge.Graph:
    graph = everedge.Graph("graph", medium="dram")
    graph.ingest(*tables, progress=False, **options)
    return graph


class OneArray:
    """What hands itself out in one piece only."""

    def __init__(self, batch: pyarrow.RecordBatch) -> None:
        self.batch = batch

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        return self.batch.__arrow_c_array__(requested_schema)


def sliced() -> pyarrow.Table:
    return pyarrow.table({"src": ["x", *SRC, "y"], "dst": ["x", *DST, "y"]}).slice(1, 3)


def chunked(kind: pyarrow.DataType) -> pyarrow.Table:
    ends = [pyarrow.chunked_array([column[:1], [], column[1:]], pyarrow.string()).cast(kind) for column in (SRC, DST)]
    return pyarrow.table(dict(zip(("src", "dst"), ends, strict=True)))


@pytest.mark.parametrize(
    "table",
    [
        pyarrow.table({"src": SRC, "dst": DST}),
        polars.DataFrame({"src": SRC, "dst": DST}),
        polars.DataFrame({"src": SRC, "dst": DST}, schema={"src": polars.Categorical, "dst": polars.Categorical}),
        sliced(),
        chunked(pyarrow.large_string()),
        chunked(pyarrow.string_view()),
        chunked(pyarrow.dictionary(pyarrow.int32(), pyarrow.string())),
        pyarrow.table({"src": SRC, "dst": DST}).to_reader(),
        OneArray(pyarrow.record_batch({"src": SRC, "dst": DST})),
        everedge.Edges(np.array(SRC, object), np.array(DST, object), None),
    ],
    ids="pyarrow polars categories sliced large views dictionary reader one-array edges".split(),
)
def test_texts_of_every_kind_come_in(table: Any) -> None:
    assert edges(made(table)) == sorted(PAIRS)


def test_relations_of_duckdb_come_in() -> None:
    relation = duckdb.sql("select i as src, i + 1 as dst, i / 2 as weight from range(5000) r(i)")
    graph = everedge.Graph.from_duckdb(relation, weight="weight")
    assert edges(graph) == [(i, i + 1, i / 2) for i in range(5000)]


def test_a_producer_that_needs_the_lock_of_python_has_it() -> None:
    table = Producer([integers("src", [1, 2]), integers("dst", [2, 3])], 2, batches=3)
    assert edges(made(table)) == [(1, 2)] * 3 + [(2, 3)] * 3
    assert table.released == 1


def test_several_tables_and_files_are_taken_in_order(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("src,dst\nann,bob\n")
    seen: list[everedge.Progress] = []
    graph = everedge.Graph("graph", medium="dram")
    table = polars.DataFrame({"src": ["bob"], "dst": ["eve"]})
    report = graph.ingest(table, tmp_path / "edges.csv", table, progress=seen.append)
    assert report.edges_read == 3
    assert [one.file for one in seen] == ["table 1", str(tmp_path / "edges.csv"), "table 3"]
    assert all(one.bytes_read == one.bytes_total for one in seen if one.file.startswith("table"))


@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        (pyarrow.table({"a": ["x", None], "b": ["y", "z"]}), everedge.FileError, "`table 1`: row 2: an id is null"),
        (pyarrow.table({"a": [1, -2], "b": [3, 4]}), everedge.FileError, "`table 1`: row 2: the id -2 is negative"),
        (pyarrow.table({"a": [1], "b": [True]}), everedge.FileError, "`table 1`: row 1: a column of Boolean"),
        (pyarrow.table({"a": ["x"]}), everedge.FileError, "`table 1`: there is no second column"),
        (pyarrow.table({"a": [1], "b": [2]}).slice(0, 0), InvalidInputError, "a table has no rows: there are no edges in it"),
        (polars.Series([1, 2]), InvalidInputError, "table 1: this is one column of Int64, not a table"),
        (
            pyarrow.chunked_array([pyarrow.array([{"a": 1, "b": 2}, None])]),
            InvalidInputError,
            "table 1: row 2: the row as a whole is null",
        ),
        (
            pyarrow.table({"a": [1], "b": pyarrow.array([(1, 2, 3)], pyarrow.month_day_nano_interval())}),
            everedge.FileError,
            "`table 1`: row 1: a column of Interval",
        ),
        (
            Producer([texts("a", b"an\xffbob", [3, 6]), texts("b", b"xy", [1, 2])], 2),
            everedge.FileError,
            "`table 1`: the column \"a\" is damaged in rows 1 to 2",
        ),
        (
            Producer([texts("a", b"annbob", [4, 3]), texts("b", b"xy", [1, 2])], 2),
            everedge.FileError,
            "`table 1`: the column \"a\" is damaged in rows 1 to 2",
        ),
        (
            Producer([integers("a", [1]), integers("b", [2])], 1, error=b"the disk is on fire"),
            InvalidInputError,
            "table 1: its Arrow stream: the disk is on fire",
        ),
        (
            Producer([integers("a", [1]), integers("b", [2])], 1, name=b"another"),
            InvalidInputError,
            "table 1: its Arrow stream: it gives no capsule called arrow_array_stream",
        ),
        (
            Producer([("a", b"l", [None]), integers("b", [2])], 1),
            InvalidInputError,
            "table 1: its Arrow stream: ",
        ),
        (
            Producer([("a", b"nonsense", [None]), integers("b", [2])], 1),
            InvalidInputError,
            "table 1: its Arrow stream: .*nonsense",
        ),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_what_is_wrong_is_named(table: Any, error: type[Exception], message: str, path: Path) -> None:
    with pytest.raises(error, match=message):
        everedge.Graph(path).ingest(table, progress=False)
    assert not path.exists()


def test_a_stream_is_read_once() -> None:
    stream = Producer([integers("src", [1]), integers("dst", [2])], 1)
    assert edges(made(stream)) == [(1, 2)]
    with pytest.raises(InvalidInputError, match="it was read before, and can be read once"):
        made(stream)


def test_an_error_of_the_stream_leaves_the_graph_as_it_was() -> None:
    columns = [integers("src", [1]), integers("dst", [2])]
    graph = made(Producer(columns, 1))
    with pytest.raises(InvalidInputError, match="table 2: its Arrow stream: gone"):
        graph.ingest(Producer(columns, 1), Producer(columns, 1, error=b"gone"), progress=False)
    assert edges(graph) == [(1, 2)]


def test_large_ids_after_small_ones_are_mapped() -> None:
    small = pyarrow.table({"src": [1, 2], "dst": [2, 3]})
    large = pyarrow.table({"src": [1, 2], "dst": [2, 1 << 40]})
    graph = made(pyarrow.concat_tables([small, large]))
    assert graph.snapshot().vertices.dtype == np.uint64 and len(edges(graph)) == 4


def test_times_and_sealing_take_streams(tmp_path: Path) -> None:
    frame = polars.DataFrame(
        {"src": ["a", "b", "a"], "dst": ["b", "c", "b"], "time": ["2024-01-01", "2024-01-01", "2024-01-02"], "op": ["+", "+", "-"]}
    ).with_columns(polars.col("time").str.to_date())
    report = everedge.Timeline.ingest(tmp_path / "history", frame, commit_every="1d", progress=False)
    assert (report.versions, report.deletions) == (2, 1)
    window = everedge.Timeline(tmp_path / "history").window().bfs("b")
    table = polars.DataFrame(window)
    assert table.columns == ["version", "time", "id", "value"] and len(table) == 2 * len(window.ids)
    assert table["time"].dtype == polars.Datetime("us", "UTC")
    assert table["value"].to_list() == window.values.ravel().tolist()
    everedge.seal(frame[["src", "dst"]], tmp_path / "sealed", progress=False)
    with everedge.Chunks(tmp_path / "sealed") as sealed:
        assert sorted(polars.DataFrame(sealed).rows()) == [("a", "b"), ("a", "b"), ("b", "c")]
        with pytest.raises(TypeError, match="not Chunks"):
            everedge.seal(sealed, tmp_path / "again")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"snapshot.edges\(\) is a table"):
            everedge.Graph("graph", medium="dram").ingest(sealed)  # type: ignore[arg-type]


@pytest.mark.parametrize("ids", ["dense", "integer", "text"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_edges_go_out_in_batches(ids: Any, weighted: bool, directed: bool, tmp_path: Path) -> None:
    count, hub = 150_000, 100_000
    random = np.random.default_rng(7)
    src, dst = random.integers(0, 4000, count), random.integers(0, 4000, count)
    # A list that is longer than a batch.
    src[:hub] = 17
    graph = everedge.Graph("graph", medium="dram", ids=ids, weighted=weighted, directed=directed)
    named = [list(map(str, ends.tolist())) if ids == "text" else ends for ends in (src, dst)]
    graph.add_edges(*named, np.arange(count) if weighted else None)
    snapshot = graph.snapshot()
    snapshot.seal(tmp_path / "sealed")
    expected = snapshot.edges()
    stream = pyarrow.RecordBatchReader.from_stream(snapshot)
    graph.close()
    snapshot.close()
    batches = list(stream)
    assert [batch.num_rows for batch in batches] == [1 << 16, 1 << 16, count - (1 << 17)]
    table = pyarrow.Table.from_batches(batches)
    kinds = {"dense": pyarrow.uint32(), "integer": pyarrow.uint64(), "text": pyarrow.large_string()}
    assert table.schema.types[:2] == [kinds[ids]] * 2 and table.column_names == ["src", "dst", "weight"][: 2 + weighted]
    for column, known in zip(table.columns, expected, strict=False):
        assert column.to_pylist() == known.tolist()
    assert pyarrow.table(expected).to_pydict() == table.to_pydict()
    with everedge.Chunks(tmp_path / "sealed") as sealed:
        # An undirected edge may come from its other end.
        pair = lambda row: row if directed else (*sorted(row[:2], key=str), *row[2:])  # noqa: E731
        of_sealed = sorted(map(pair, polars.DataFrame(sealed).rows()))
    assert of_sealed == sorted(map(pair, zip(*(column.to_pylist() for column in table.columns), strict=True)))


def test_answers_go_out() -> None:
    graph = made(pyarrow.table({"src": SRC, "dst": DST}))
    s = graph.snapshot()
    for answer in (s.bfs("ann"), s.pagerank(), s.wcc(), s.degree(), s.louvain(), s.cdlp()):
        frame = polars.DataFrame(answer)
        assert dict(frame.rows()) == answer.to_dict()
        assert answer.to_arrow().to_pylist() == frame.to_dicts()
        assert duckdb.sql("select count(*) from answer").fetchall() == [(4,)]
    for ids in (s.neighbors("ann"), s.in_neighbors("bob"), s.one_hop("ann"), s.two_hop("ann"), s.topological_order()):
        assert pyarrow.table(ids).to_pydict() == {"id": ids.tolist()}
        assert repr(ids) == repr(np.array(ids.tolist(), object))
    for found in (s.edges(), s.edges_of(["ann", "bob"]), everedge.spanning_forest(s)):
        src, dst, weight = found
        assert weight is None and len(found) == 3 and found[2] is None and found[:2] == (src, dst)
        assert polars.DataFrame(found).rows() == list(zip(src, dst, strict=True))


def test_a_wish_for_types_is_left_to_who_has_it() -> None:
    s = made(pyarrow.table({"src": [1, 2], "dst": [2, 3]})).snapshot()
    wanted = pyarrow.schema({"id": pyarrow.int8(), "value": pyarrow.float64()})
    capsule = s.degree().__arrow_c_stream__(wanted.__arrow_c_schema__())
    assert type(capsule).__name__ == "PyCapsule"
    assert pyarrow.table(s.degree()).schema.types == [pyarrow.uint32()] * 2


def test_ctrl_c_ends_the_ingest_of_a_table(path: Path) -> None:
    count = 3_000_000
    table = polars.DataFrame({"src": np.arange(count) << 32, "dst": np.arange(count)[::-1] << 32})

    def interrupt() -> None:
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt), everedge.Graph(path) as graph:
            while True:
                graph.ingest(table, progress=False)
    finally:
        signal.signal(signal.SIGINT, handler)


def test_nothing_needs_pyarrow(tmp_path: Path) -> None:
    program = """
        import sys
        sys.modules["pyarrow"] = None
        import duckdb, numpy, polars, everedge
        from producer import Producer, integers

        frame = polars.DataFrame({"payer": ["ann", "bob"], "payee": ["bob", "eve"], "amount": [5.0, 7.5]})
        graph = everedge.Graph.from_polars(frame, "payer", "payee", "amount", path=sys.argv[1])
        graph.ingest(Producer([("src", b"u", [None, numpy.array([0, 3], "i4"), numpy.frombuffer(b"eve", "u1")]),
                               ("dst", b"u", [None, numpy.array([0, 3], "i4"), numpy.frombuffer(b"zoe", "u1")]),
                               integers("weight", [1])], 1), progress=False)
        graph.add_edges(frame["payee"], frame["payer"], frame["amount"])
        snapshot = graph.snapshot()
        print(sorted(polars.DataFrame(snapshot).rows()))
        print(polars.DataFrame(snapshot.bfs("ann")).rows())
        numbers = everedge.Graph("numbers", medium="dram")
        numbers.ingest(Producer([integers("a", [1, 2]), integers("b", [2, 3])], 2), progress=False)
        print(polars.DataFrame(numbers.snapshot().edges()).rows())
        try:
            snapshot.to_arrow()
        except ImportError:
            print("to_arrow is pyarrow's")
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    command = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "g")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "[('ann', 'bob', 5.0), ('bob', 'ann', 5.0), ('bob', 'eve', 7.5), ('eve', 'bob', 7.5), ('eve', 'zoe', 1.0)]",
        "[('ann', 0), ('bob', 1), ('eve', 2), ('zoe', 3)]",
        "[(1, 2), (2, 3)]",
        "to_arrow is pyarrow's",
    ]
