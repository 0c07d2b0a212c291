"""Opening, closing, taking files in, and what goes wrong there."""

from __future__ import annotations

import dataclasses
import inspect
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest

import everedge
from everedge import _native


def edge_file(directory: Path, count: int, name: str = "edges.txt") -> Path:
    path = directory / name
    path.write_text("".join(f"{v} {v + 1}\n" for v in range(count)))
    return path


def test_opens_what_it_created(path: Path) -> None:
    with everedge.Graph(path, weighted=True) as graph:
        graph.add_edges(["a"], ["b"], weight=[2.5])
    with everedge.Graph(path, weighted=True, ids="map") as graph:
        assert graph.snapshot().edges()[2].tolist() == [2.5]
        assert graph.verify().ok
        stats = graph.stats()
    assert (stats.layout, stats.medium, stats.vertices, stats.edges) == ("adjacency", "file", 2, 1)


def test_an_empty_directory_is_room_for_a_graph(tmp_path: Path) -> None:
    with everedge.Graph(tmp_path) as graph:
        graph.add_edges([0], [1])
    with everedge.Graph(tmp_path) as graph:
        assert graph.snapshot().num_edges == 1


def test_options_that_differ_from_the_graph_are_refused(path: Path) -> None:
    with everedge.Graph(path) as graph:
        graph.add_edges([0], [1])
    with pytest.raises(everedge.InvalidInputError, match="weighted false, not true"):
        everedge.Graph(path, weighted=True)
    with pytest.raises(everedge.InvalidInputError, match='ids "dense", not "text"'):
        everedge.Graph(path, ids="map")
    everedge.Graph(path, weighted=False, ids="dense").close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layout": "heap"}, "no layout is called `heap`"),
        ({"medium": "tape"}, "medium `tape` is none of"),
        ({"durability": "hope"}, "no durability is called"),
        ({"ids": "any"}, "ids are auto, dense, integer, text or map"),
        ({"emulate_pmem": True}, "give both"),
        ({"emulate_pmem": True, "medium": "file"}, "give both"),
        ({"log_size": "much"}, "is no number of bytes: give one, or a number with K, M, G or T"),
        ({"log_size": -1}, "is no number of bytes: give one, or a number with K, M, G or T"),
    ],
)
def test_unknown_options_are_refused(path: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(everedge.InvalidInputError, match=message):
        everedge.Graph(path, **options).add_edges([0], [1])  # type: ignore[arg-type]
    assert not path.exists()


def test_arguments_are_the_options_that_the_table_declares() -> None:
    signature = inspect.signature(everedge.Graph)
    hints = get_type_hints(everedge.Graph.__init__)
    options = {name: words for name, words, _ in _native.graph_options()}
    for name in signature.parameters:
        if name in ("path", "emulate_pmem", "ids", "mode", "meter"):
            continue
        words = options[name.replace("_", "-")]
        assert not words or set(get_args(get_args(hints[name])[0])) == set(words) - {
            "pmem-emulated"
        }, name


def test_what_is_not_a_graph_is_refused(tmp_path: Path) -> None:
    file = edge_file(tmp_path, 1)
    for path in (tmp_path, file):
        with pytest.raises(everedge.NotAGraphError):
            everedge.Graph(path)
    with pytest.raises(everedge.NotAGraphError):
        everedge.Graph(tmp_path / "nothing", mode="r")


def test_what_an_interrupted_creation_left_is_cleared(path: Path) -> None:
    path.mkdir()
    (path / "lock").touch()
    with everedge.Graph(path) as graph:
        graph.add_edges([0], [1])
    path.joinpath("manifest.toml").unlink()
    with pytest.raises(everedge.InvalidInputError, match="put that back from a copy"):
        everedge.Graph(path)


def test_one_writer_or_many_readers(path: Path) -> None:
    with everedge.Graph(path) as graph:
        graph.add_edges([0], [1])
        with pytest.raises(everedge.InUseError, match="in use by this process"):
            everedge.Graph(path)
    first, second = everedge.Graph(path, mode="r"), everedge.Graph(path, mode="r")
    assert first.snapshot().num_edges == second.snapshot().num_edges == 1
    with pytest.raises(everedge.ReadOnlyError):
        first.add_edges([0], [1])


def test_closed_is_closed_but_answers_stay(path: Path) -> None:
    graph = everedge.Graph(path)
    graph.add_edges(["a", "b"], ["b", "c"])
    s = graph.snapshot()
    graph.close()
    graph.close()
    depth = s.bfs("a")
    s.close()
    s.close()
    assert depth["c"] == 2 and depth.ids.tolist() == ["a", "b", "c"]
    for call in (s.bfs, lambda: s.num_edges, graph.snapshot, graph.stats, graph.sync):
        with pytest.raises(everedge.ClosedError, match="is closed"):
            call()
    assert repr(graph) == f"<Graph {path}: the graph is closed>"
    assert repr(s) == "<Snapshot: the snapshot is closed>"
    with everedge.Graph(path) as again:
        assert again.snapshot().num_edges == 2


def test_damage_is_an_error_that_names_the_file(path: Path) -> None:
    with everedge.Graph(path) as graph:
        graph.add_edges([0], [1])
    manifest = path / "manifest.toml"
    manifest.write_text(manifest.read_text().replace("true", "false", 1))
    with pytest.raises(everedge.CorruptionError, match="manifest.toml"):
        everedge.Graph(path)


def test_errors_are_what_python_expects(tmp_path: Path) -> None:
    graph = everedge.Graph("graph", medium="dram")
    with pytest.raises(OSError, match="cannot open `.*missing.txt`: No such file") as missing:
        graph.ingest(tmp_path / "missing.txt")
    assert isinstance(missing.value, everedge.IoError)
    assert missing.value.filename == str(tmp_path / "missing.txt")
    assert missing.value.errno == 2
    with pytest.raises(ValueError, match="no kernel|not in the graph"):
        graph.add_edges([0], [1])
        everedge.bfs(graph, source=7)
    assert issubclass(everedge.FileError, ValueError)
    assert everedge.FileError.__module__ == "everedge"


def test_ingest_reports_what_it_did(path: Path, tmp_path: Path) -> None:
    file = edge_file(tmp_path, 10)
    with everedge.Graph(path, meter=True) as graph:
        report = graph.ingest(file, file, batch=4)
        assert (report.edges_read, report.edges_inserted, report.vertices) == (20, 20, 11)
        assert report.medium is not None and report.medium.fences > 0
        deleted = graph.ingest(file, delete=True)
        assert (deleted.edges_deleted, deleted.edges) == (10, 10)
    wanted = "edges_read edges_inserted edges_deleted deletes_ignored vertices edges seconds "
    wanted += "edges_per_second peak_rss_bytes medium rows_skipped skipped_files guessed"
    assert " ".join(dataclasses.asdict(report)) == wanted


def test_the_first_file_decides_what_ids_are(path: Path, tmp_path: Path) -> None:
    bad, good = tmp_path / "bad.txt", tmp_path / "good.csv"
    bad.write_text("0 1\n1\n")
    good.write_text("app,lib\nlib,libc\n")
    with everedge.Graph(path) as graph:
        with pytest.raises(everedge.FileError, match=r"bad.txt`: line 2"):
            graph.ingest(bad)
        assert not path.exists()
        graph.ingest(good)
        assert graph.snapshot().vertices.tolist() == ["app", "lib", "libc"]


def test_columns_of_a_table_are_chosen(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("when,who,whom\n9,1,2\n9,2,3\n")
    for src, dst in (("who", "whom"), (1, 2)):
        graph = everedge.Graph("graph", medium="dram")
        graph.ingest(table, src=src, dst=dst)
        assert graph.snapshot().vertices.tolist() == [1, 2, 3]


def test_progress_is_told_and_can_stop_it(tmp_path: Path) -> None:
    file = edge_file(tmp_path, 100)
    seen: list[everedge.Progress] = []
    graph = everedge.Graph("graph", medium="dram")
    graph.ingest(file, batch=30, progress=seen.append)
    assert [progress.edges for progress in seen] == [30, 60, 90, 100]
    assert seen[-1].bytes_read == seen[-1].bytes_total == file.stat().st_size

    def stop(progress: everedge.Progress) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        graph.ingest(file, batch=30, progress=stop)
    assert graph.snapshot().num_edges == 130


def test_a_bar_is_drawn_on_demand_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = edge_file(tmp_path, 10)
    graph = everedge.Graph("graph", medium="dram")
    graph.ingest(file)
    assert capsys.readouterr().err == ""
    graph.ingest(file, file, progress=True)
    shown = capsys.readouterr().err
    assert "edges.txt:" in shown and "B/s" in shown
    assert shown.endswith("\r"), "the bar is wiped at the end"


def test_interrupt_ends_an_ingest_between_batches(path: Path, tmp_path: Path) -> None:
    file = edge_file(tmp_path, 1000)
    graph = everedge.Graph(path)

    def interrupt(progress: everedge.Progress) -> None:
        if progress.edges == 300:
            os.kill(os.getpid(), signal.SIGINT)

    # A shell starts what runs in the background with the signal ignored.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    message = "interrupted in `.*edges.txt`; the (300|400) edges before it are in the graph"
    try:
        with pytest.raises(KeyboardInterrupt, match=message):
            graph.ingest(file, batch=100, progress=interrupt)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert graph.snapshot().num_edges in (300, 400)
    graph.close()


def test_interrupt_ends_a_kernel_within_a_second() -> None:
    graph = everedge.Graph("graph", medium="dram")
    graph.add_edges(range(1000), range(1, 1001))
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            graph.snapshot().pagerank(iterations=2**32 - 2)
        assert time.monotonic() - start < 1.3
    finally:
        signal.signal(signal.SIGINT, handler)
    assert len(graph.snapshot().pagerank()) == 1001


def test_an_interrupt_at_the_first_array_is_no_panic() -> None:
    """Whatever Python would run when the first array is made may raise `KeyboardInterrupt`."""
    code = """
import everedge, numpy
everedge.Graph  # loads the native half
def interrupted(*_):
    raise KeyboardInterrupt
numpy.lib.NumpyVersion.__init__ = interrupted
graph = everedge.Graph("graph", medium="dram")
graph.add_edges([0], [1])
assert graph.snapshot().edges()[0].tolist() == [0]
"""
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_closing_waits_for_nobody(tmp_path: Path) -> None:
    graph = everedge.Graph("graph", medium="dram")
    with pytest.raises(everedge.InUseError, match="wait for calls in other threads"):
        graph.ingest(edge_file(tmp_path, 10), progress=lambda _: graph.close())
    assert graph.snapshot().num_edges == 10


def test_threads_write_while_others_read() -> None:
    graph = everedge.Graph("graph", medium="dram", ids="dense")

    def write(first: int) -> None:
        for k in range(20):
            src = np.arange(first + 50 * k, first + 50 * (k + 1), dtype=np.uint32)
            graph.add_edges(src, src + 1)

    writers = [threading.Thread(target=write, args=(1000 * k,)) for k in range(4)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        with graph.snapshot() as s:
            assert s.num_edges % 50 == 0
            assert len(s.edges()[0]) == s.num_edges
    for writer in writers:
        writer.join()
    assert graph.snapshot().num_edges == 4000


def test_a_killed_writer_loses_no_acknowledged_batch(path: Path) -> None:
    code = f"""
import everedge, os, signal
graph = everedge.Graph({str(path)!r})
for k in range(50):
    graph.add_edges([k, k], [k + 1, k + 2])
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    with everedge.Graph(path) as graph:
        assert graph.snapshot().num_edges == 100
        assert graph.verify().ok


def rides(directory: Path, text: str) -> Path:
    path = directory / "rides.csv"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "options", "refused", "edges"),
    [
        ("5;6\n7;8\n", {"delimiter": ";"}, None, [(5, 6), (7, 8)]),
        ("5,6\n7,8\n", {"header": True}, None, [(7, 8)]),
        ("a,b\nc,d\n", {"header": False}, None, [("a", "b"), ("c", "d")]),
        ("1,2\n,4\n5,6\n", {"skip_nulls": True}, "null", [(1, 2), (5, 6)]),
        ("1,2,16777217\n", {"weight": 2, "round_weights": True}, "round", [(1, 2)]),
        ("007,2\n", {"ids": "integer"}, "leading zeros", [(7, 2)]),
        ("007,2\n", {"ids": "text"}, "leading zeros", [("007", "2")]),
    ],
)
def test_options_end_a_doubt_about_a_file(
    tmp_path: Path,
    text: str,
    options: dict[str, Any],
    refused: str | None,
    edges: list[tuple[object, object]],
) -> None:
    file, weighted = rides(tmp_path, text), "weight" in options
    if refused:
        less = {key: value for key, value in options.items() if key == "weight"}
        graph = everedge.Graph("graph", medium="dram", weighted=weighted)
        graph.add_vertices([0])
        with pytest.raises(everedge.FileError, match=refused):
            graph.ingest(file, **less)
    graph = everedge.Graph("graph", medium="dram", weighted=weighted)
    graph.ingest(file, **options)
    with graph.snapshot() as s:
        found = [column.tolist() for column in s.edges()[:2]]
    assert list(zip(*found, strict=True)) == edges


def test_what_the_graph_was_told_of_ids_holds_for_its_files(tmp_path: Path) -> None:
    graph = everedge.Graph("graph", medium="dram", ids="text")
    graph.ingest(rides(tmp_path, "007,NULL\n"))
    assert graph.snapshot().vertices.tolist() == ["007", "NULL"]
    with pytest.raises(everedge.InvalidInputError, match='ids "text", not "integer"'):
        graph.ingest(rides(tmp_path, "1,2\n"), ids="integer")
    with pytest.raises(everedge.InvalidInputError, match='delimiter="--": give one ASCII'):
        graph.ingest(rides(tmp_path, "1,2\n"), delimiter="--")
    integers = everedge.Graph("graph", medium="dram", ids="integer")
    integers.add_edges([1 << 40], [2])
    assert integers.snapshot().vertices.tolist() == [1 << 40, 2]
    with pytest.raises(everedge.InvalidInputError, match="integers, not strings"):
        integers.add_edges(["a"], ["b"])


def test_a_first_file_that_declares_weights_makes_a_graph_with_weights(tmp_path: Path) -> None:
    road, table = tmp_path / "road.gr", tmp_path / "table.csv"
    road.write_text("p sp 3 2\na 1 2 5\na 2 3 7\n")
    table.write_text("src,dst,stars\n1,2,4\n")
    graph = everedge.Graph("graph", medium="dram")
    graph.ingest(road)
    assert graph.snapshot().edges()[2].tolist() == [5, 7]
    plain = everedge.Graph("graph", medium="dram", weighted=False)
    plain.ingest(road)
    assert not plain.stats().weighted and plain.stats().edges == 2
    chosen = everedge.Graph("graph", medium="dram")
    chosen.ingest(table, weight="stars")
    assert chosen.snapshot().edges()[2].tolist() == [4]
    with pytest.raises(everedge.InvalidInputError, match="weight: the graph has no weights"):
        plain.ingest(table, weight="stars")


@pytest.mark.parametrize("first", ["", "1 2\n2 3\n"])
def test_interrupt_ends_an_ingest_of_a_silent_pipe(first: str, path: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    graph = everedge.Graph(path)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    out = os.open(pipe, os.O_RDWR)
    try:
        os.write(out, first.encode())
        threading.Timer(2, os.kill, (os.getpid(), signal.SIGINT)).start()
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt, match="2 edges" if first else None):
            graph.ingest(pipe)
        assert time.monotonic() - start < 6
    finally:
        signal.signal(signal.SIGINT, handler)
        os.close(out)
    assert not first or graph.snapshot().num_edges == 2
    graph.close()


def test_progress_names_the_path_that_gave_a_file(tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    edge_file(parts, 10, "a.txt")
    edge_file(parts, 10, "b.txt")
    seen: list[str] = []
    graph = everedge.Graph("graph", medium="dram")
    graph.ingest(parts, progress=lambda progress: seen.append(progress.file))
    assert seen == [str(parts), str(parts)]


def test_only_data_that_are_accepted_shape_a_new_graph(path: Path) -> None:
    with everedge.Graph(path) as graph:
        with pytest.raises(everedge.InvalidInputError):
            graph.add_edges([1, 2], ["a", "b"])
        graph.add_edges([], [])
        graph.add_vertices([])
        assert graph.delete_edges([1], [2]).ignored_deletions == 1
        assert graph.stats().vertices == 0
        assert graph.snapshot().num_vertices == 0
        assert graph.verify().ok
        graph.sync()
        assert not path.exists()
        graph.add_edges(["a"], ["b"])
        assert "a" in graph.snapshot()
    with everedge.Graph(path) as graph:
        assert graph.stats().edges == 1


def test_what_is_no_id_is_in_no_graph() -> None:
    with everedge.Graph("example", medium="dram") as graph:
        graph.add_edges([0, 1], [1, 2])
        with graph.snapshot() as s:
            assert 1 in s
            assert 1.0 not in s
            assert None not in s
            assert 1.0 not in s.bfs(source=0)


def test_an_interrupt_says_how_many_edges_are_acknowledged(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "edges.txt"
    file.write_text("".join(f"{v} {v + 1}\n" for v in range(10)))

    def stop(_: everedge.Progress) -> None:
        raise KeyboardInterrupt

    with everedge.Graph(path) as graph:
        with pytest.raises(KeyboardInterrupt) as raised:
            graph.ingest(file, batch=2, progress=stop)
        assert raised.value.edges_acknowledged == 2
        assert graph.stats().edges == 2


def test_a_graph_in_memory_leaves_what_its_path_names(path: Path) -> None:
    with everedge.Graph(path) as on_disk:
        on_disk.add_edges([0], [1])
    (path.parent / "notes").mkdir()
    for name in (path, path.parent / "notes", path.parent):
        with everedge.Graph(name, medium="dram") as graph:
            assert graph.stats().vertices == 0
            graph.add_vertices([])
            assert graph.verify().ok
    with everedge.Graph(path) as on_disk:
        assert on_disk.stats().edges == 1
    assert (path.parent / "notes").is_dir()


def test_an_empty_directory_stays_one(path: Path, tmp_path: Path) -> None:
    path.mkdir()
    empty = tmp_path / "empty.v"
    empty.write_text("")
    with everedge.Graph(path) as graph:
        assert graph.stats().vertices == 0
        graph.ingest(empty)
        assert list(path.iterdir()) == []
        graph.add_edges([0], [1])
    with everedge.Graph(path) as graph:
        assert graph.stats().edges == 1


def test_an_interrupt_ends_a_verification_and_leaves_the_graph(path: Path) -> None:
    random = np.random.default_rng(1)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with everedge.Graph(path, ids="dense") as graph:
            graph.add_edges(*random.integers(0, 100_000, (2, 1_000_000)))
            start = time.monotonic()
            graph.verify()
            whole = time.monotonic() - start
            start = time.monotonic()
            with pytest.raises(KeyboardInterrupt):
                # On a busy machine it may come before the call does.
                threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT)).start()
                graph.verify()
            assert time.monotonic() - start < max(1, whole / 2)
            graph.add_edges([0], [1])
            assert graph.verify().problems == []
    finally:
        signal.signal(signal.SIGINT, handler)


class _Interrupt:
    """A signal whose handler lets the work go on for a while before it raises."""

    def __init__(self, pipe: Path, then: str) -> None:
        self.then = then
        self.has_run = False
        self.out: int | None = os.open(pipe, os.O_RDWR)
        self.old = signal.signal(signal.SIGINT, self.handle)

    def write(self, text: str) -> None:
        assert self.out is not None
        os.write(self.out, text.encode())

    def start(self, seconds: float) -> None:
        threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()

    def handle(self, *_: object) -> None:
        self.write(self.then)
        if not self.then:
            self.end()
        time.sleep(1.5)
        self.has_run = True
        raise KeyboardInterrupt

    def end(self) -> None:
        if self.out is not None:
            os.close(self.out)
        self.out = None
        signal.signal(signal.SIGINT, self.old)


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


@pytest.mark.parametrize("had_directory", [False, True])
def test_an_interrupt_at_the_end_of_a_creation_leaves_nothing(
    path: Path, pipe: Path, had_directory: bool
) -> None:
    if had_directory:
        path.mkdir()
    graph = everedge.Graph(path)
    interrupt = _Interrupt(pipe, "a b\nb c\n")
    try:
        interrupt.start(0.3)
        with pytest.raises(KeyboardInterrupt):
            graph.ingest(pipe)
    finally:
        interrupt.end()
    assert interrupt.has_run
    assert path.exists() == had_directory
    assert not had_directory or list(path.iterdir()) == []
    graph.add_edges([0], [1])
    graph.close()


def test_an_interrupt_at_the_end_of_an_ingest_says_what_is_acknowledged(
    path: Path, pipe: Path
) -> None:
    with everedge.Graph(path) as graph:
        graph.add_edges([0], [1])
        interrupt = _Interrupt(pipe, "")
        try:
            interrupt.write("1 2\n2 3\n")
            interrupt.start(2)
            with pytest.raises(KeyboardInterrupt) as raised:
                graph.ingest(pipe)
        finally:
            interrupt.end()
        assert interrupt.has_run
        assert raised.value.edges_acknowledged == 2
        assert graph.stats().edges == 3


def test_progress_is_silent_after_an_exception(path: Path, pipe: Path) -> None:
    with everedge.Graph(path) as graph:
        graph.add_edges([0], [1])
        interrupt = _Interrupt(pipe, "3 4\n4 5\n")
        late: list[everedge.Progress] = []

        def progress(now: everedge.Progress) -> None:
            if interrupt.has_run:
                late.append(now)

        try:
            interrupt.write("1 2\n2 3\n")
            interrupt.start(2)
            with pytest.raises(KeyboardInterrupt):
                graph.ingest(pipe, progress=progress)
        finally:
            interrupt.end()
        assert interrupt.has_run and late == []


def test_a_reader_beside_a_writer_moves_on_when_it_is_asked_to(path: Path) -> None:
    writer = everedge.Graph(path)
    writer.add_edges(["a"], ["b"])
    with everedge.Graph(path, mode="r") as reader:
        before = reader.snapshot()
        writer.add_edges(["b"], ["c"])
        writer.compact()
        assert (reader.mode, writer.mode, reader.stats().edges) == ("r", "w", 1)
        assert reader.refresh() and not reader.refresh() and not writer.refresh()
        assert reader.snapshot().neighbors("b").tolist() == ["c"]
        assert "c" not in before and before.num_edges == 1
        with pytest.raises(everedge.ReadOnlyError):
            reader.add_edges(["a"], ["c"])
        writer.commit("first")
        with everedge.Timeline(path) as timeline:
            assert [version.name for version in timeline.versions] == ["first"]
        writer.close()
        # The version is new.
        assert reader.refresh() and not reader.refresh()
        with everedge.open(path, "w") as again:
            again.add_edges(["c"], ["d"])
            assert reader.refresh() and reader.stats().edges == 3
    with pytest.raises(everedge.ClosedError):
        reader.refresh()
    with pytest.raises(everedge.InvalidInputError, match="mode 'x'"):
        everedge.Graph(path, mode="x")  # type: ignore[arg-type]
    with pytest.raises(everedge.InvalidInputError, match="only a sealed graph"):
        everedge.open(path, memory="1G")
