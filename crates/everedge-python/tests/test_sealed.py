"""Sealed graphs answer as what was sealed does, within a budget of memory, and say what they cannot."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import everedge
from everedge import _native
from everedge._graph import add_edges_to

KERNELS = [kernel.replace("-", "_") for kernel, _ in _native.kernels()]

# Found by chance, or with ties that numbers of vertices break: a sealed graph has other numbers.
NUMBERED = ("louvain", "leiden", "label_propagation", "topological_order", "bipartition")

PARAMETERS: dict[str, dict[str, Any]] = {
    "personalized_pagerank": {"iterations": 1000, "tolerance": 1e-12},
    "hits": {"iterations": 30, "tolerance": 0.0},
    "eigenvector": {"iterations": 30, "tolerance": 0.0},
    "katz": {"iterations": 30, "tolerance": 0.0},
    "pagerank": {"iterations": 1000, "tolerance": 1e-12},
    "delta_pagerank": {"tolerance": 1e-10},
    # All vertices: a sample would be another one, as vertices have other numbers.
    "radii": {"samples": 64},
}


def edges() -> tuple[Any, Any, Any]:
    """Edges with hubs, loops and parallel ones among 60 vertices, and weights from 0 to 1."""
    random = np.random.default_rng(7)
    src = random.integers(0, 60, 600)
    dst = random.integers(0, 2 ** random.integers(1, 7, 600)) % 60
    is_apart = (src != 50) & (dst != 50)
    src, dst = src[is_apart], dst[is_apart]
    return src, dst, (1 + src * dst % 7).astype(np.float32) / 8


def named(vertices: Any, ids: str) -> Any:
    """Vertices as ids of a kind."""
    if ids == "text":
        return [f"v{v}" for v in vertices]
    return vertices * 10**15 + 7 if ids == "integer" else vertices


def filled(ids: str = "dense", **options: Any) -> everedge.Graph:
    """A graph of these edges in memory, whose ids are of a kind."""
    graph = everedge.Graph("graph", medium="dram", ids=ids, **options)  # type: ignore[arg-type]
    src, dst, weight = edges()
    graph.add_edges(named(src, ids), named(dst, ids), weight if options.get("weighted") else None)
    graph.add_vertices(named(np.array([50]), ids))
    return graph


def sealed(graph: everedge.Graph, path: Path, **options: Any) -> everedge.Chunks:
    """The graph, sealed and opened."""
    with graph.snapshot() as s:
        report = s.seal(path, **options)
        assert (report.vertices, report.edges) == (s.num_vertices, s.num_edges)
    return everedge.Chunks(path, memory="64M")


def answer(asked: Any, kernel: str, **parameters: Any) -> Any:
    """What a kernel says, by id or in an order that does not depend on numbers."""
    found = getattr(asked, kernel)(**{**PARAMETERS.get(kernel, {}), **parameters})
    if isinstance(found, np.ndarray):
        return sorted(found.tolist())
    if kernel == "hits":
        return {(i, name): score for i, scores in enumerate(found) for name, score in scores.items()}
    if kernel == "bridges":
        return {frozenset(ends) for ends in zip(*(end.tolist() for end in found), strict=True)}
    if kernel == "spanning_forest":
        return len(found[0]), None if found[2] is None else found[2].sum()
    return found.to_dict() if isinstance(found, everedge.Values) else found


def is_alike(found: Any, expected: Any) -> bool:
    if not isinstance(expected, dict) or isinstance(next(iter(expected.values())), str):
        return bool(found == expected)
    return bool(found == pytest.approx(expected, rel=1e-7, abs=1e-9))


@pytest.mark.parametrize("ids", ["dense", "integer", "text"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [True, False])
def test_every_kernel_answers_as_the_snapshot(
    path: Path, ids: str, directed: bool, weighted: bool
) -> None:
    graph = filled(ids, directed=directed, weighted=weighted)
    chunks = sealed(graph, path)
    assert (chunks.directed, chunks.weighted) == (directed, weighted)
    with graph.snapshot() as s:
        some = s.vertices[3].item() if ids != "text" else s.vertices[3]
        for kernel in KERNELS:
            if kernel not in NUMBERED:
                assert is_alike(answer(chunks, kernel), answer(s, kernel)), kernel
        for kernel in ("louvain", "leiden"):
            division = getattr(chunks, kernel)()
            found = division.report.result["modularity"]
            # What it says is of edges without directions.
            assert directed or found == pytest.approx(s.modularity(division)), kernel
        assert (chunks.bipartition() is None) == (s.bipartition() is None)
        for kernel in ("bfs", "sssp", "sswp", "ssnp", "viterbi", "one_hop", "two_hop", "bc"):
            alike = is_alike(answer(chunks, kernel, source=some), answer(s, kernel, source=some))
            assert alike, kernel
        assert answer(chunks, "kcore", k=3) == answer(s, "kcore", k=3)
        for degree in ("out_degree", "in_degree", "degree"):
            assert answer(chunks, degree) == answer(s, degree)
        assert sorted(chunks.vertices.tolist()) == sorted(s.vertices.tolist())
        assert some in chunks and "nobody" not in chunks
    assert everedge.wcc(chunks).top(1) == chunks.wcc().top(1)


def pairs(graph: Any) -> list[Any]:
    """The edges of a graph, in an order that does not depend on numbers."""
    src, dst, weight = graph.edges()
    weights = [None] * len(src) if weight is None else weight.tolist()
    ends = zip(src.tolist(), dst.tolist(), strict=True)
    ends = (end if graph.directed else tuple(sorted(end)) for end in ends)
    return sorted(zip(ends, weights, strict=True), key=repr)


@pytest.mark.parametrize("ids", ["dense", "integer", "text"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("simple", [True, False])
def test_it_is_read_as_the_snapshot(
    path: Path, ids: str, directed: bool, weighted: bool, simple: bool
) -> None:
    pytest.importorskip("scipy")
    pytest.importorskip("networkx")
    graph = filled(ids, directed=directed, weighted=weighted, simple=simple)
    chunks = sealed(graph, path)
    for _ in range(2):
        with graph.snapshot() as s:
            for vertex in s.vertices.tolist():
                for asked in ("neighbors", "in_neighbors"):
                    found, expected = (getattr(g, asked)(vertex).tolist() for g in (chunks, s))
                    assert sorted(found) == sorted(expected), (asked, vertex)
            assert pairs(chunks) == pairs(s)
            assert len(chunks.edges()[0]) == chunks.num_edges
            order = np.argsort(chunks.vertices), np.argsort(s.vertices)
            found, expected = (
                g.to_scipy().toarray()[np.ix_(rows, rows)]
                for g, rows in zip((chunks, s), order, strict=True)
            )
            assert (found == expected).all()
            made, wanted = chunks.to_networkx(), s.to_networkx()
            assert type(made) is type(wanted) and set(made.nodes) == set(wanted.nodes)
            nodes = sorted(made.nodes)
            for u in nodes:
                for v in nodes:
                    found, expected = (g.get_edge_data(u, v) for g in (made, wanted))
                    if found is not None and not simple:
                        found, expected = (sorted(map(str, d.values())) for d in (found, expected))
                    assert found == expected, (u, v)
        more = named(np.array([3, 70, 71]), ids), named(np.array([70, 71, 5]), ids)
        for changed in (graph, chunks):
            changed.add_edges(*more, [0.5, 0.25, 1.0] if weighted else None)
            changed.delete_edges(*(named(ends[40:80], ids) for ends in edges()[:2]))


def test_what_a_snapshot_is_read_for_a_sealed_graph_is_too() -> None:
    public = {name for name in dir(everedge.Snapshot) if not name.startswith("_")}
    # Functions of NetworkX take graphs and snapshots, and no sealed graphs.
    of_networkx = {"is_directed", "is_multigraph"}
    assert public - set(dir(everedge.Chunks)) == {"version"} | of_networkx


def test_without_in_neighbors_they_are_looked_for(path: Path) -> None:
    graph = filled("text", in_neighbors=False)
    chunks = sealed(graph, path)
    with graph.snapshot() as s:
        for vertex in s.vertices[::7].tolist():
            expected = [u for (u, v), _ in pairs(s) if v == vertex]
            for asked in (s, chunks):
                assert sorted(asked.in_neighbors(vertex).tolist()) == sorted(expected)


def test_all_edges_are_part_of_the_memory(path: Path) -> None:
    whole = sealed(filled(), path)
    least = everedge.Chunks(path, memory=1)
    for ask, vertex_bytes, edge_bytes in (
        (everedge.Chunks.edges, 0, 28),
        (everedge.Chunks.to_scipy, 48, 40),
        (everedge.Chunks.to_networkx, 512, 1024),
    ):
        with pytest.raises(everedge.InvalidInputError, match="would do") as refused:
            ask(least)
        would_do, kept = map(int, re.findall(r"(\d+) (?:would do|of them for the answer)", str(refused.value)))
        assert kept == vertex_bytes * whole.num_vertices + edge_bytes * whole.num_edges
        ask(everedge.Chunks(path, memory=would_do))
        with pytest.raises(everedge.InvalidInputError, match=f"{would_do} would do"):
            ask(everedge.Chunks(path, memory=would_do - 1))


def test_neighbors_of_what_is_no_vertex(path: Path) -> None:
    chunks = sealed(filled("text"), path)
    for ask in (chunks.neighbors, chunks.in_neighbors):
        with pytest.raises(everedge.InvalidInputError, match="`nobody` is not in the graph"):
            ask("nobody")


@pytest.mark.parametrize("order", ["degree", "steps", "ids"])
@pytest.mark.parametrize("compressed", [True, False])
def test_orders_and_plain_lists_answer_alike(path: Path, order: str, compressed: bool) -> None:
    graph = filled()
    chunks = sealed(graph, path, order=order, compressed=compressed)
    assert chunks.stats().layout == ("gaps" if compressed else "plain")
    assert answer(chunks, "bfs") == answer(graph.snapshot(), "bfs")


def test_answers_go_by_the_ids_from_before(path: Path) -> None:
    depth = sealed(filled(), path).bfs(source=0)
    assert depth.ids.dtype == np.uint64 and len(depth.ids) == len(depth.values) == 60
    assert depth.ids.tolist() != sorted(depth.ids.tolist()), "vertices have other numbers"
    assert depth[0] == 0 and depth["50"] == everedge.UNREACHED and 60 not in depth
    with pytest.raises(TypeError, match="to_pandas"):
        np.asarray(depth)
    assert depth.report.source == 0 and depth.report.read_bytes >= 4096 * depth.report.reads > 0


def test_it_says_what_it_is(path: Path) -> None:
    with sealed(filled(), path) as chunks:
        stats, found = chunks.stats(), chunks.verify()
        counts = chunks.num_vertices, chunks.num_edges
        assert (stats.kind, stats.vertices, stats.edges) == ("chunks", *counts)
        assert found.ok and found.checks > 100
        assert chunks.path == str(path)
        assert repr(chunks) == f"<Chunks {path}: {counts[0]} vertices, {counts[1]} edges>"
        with pytest.raises(TypeError, match="pass its path"):
            pickle.dumps(chunks)


def test_versions_are_sealed(path: Path, tmp_path: Path) -> None:
    with everedge.Graph(path) as graph:
        graph.add_edges(["a", "c"], ["b", "b"])
        graph.commit("monday")
        graph.add_edges("d", "b")
        graph.timeline.at("monday").seal(tmp_path / "monday")
    chunks = everedge.Chunks(tmp_path / "monday")
    assert (chunks.num_vertices, chunks.num_edges) == (3, 2)
    assert chunks.wcc().to_dict() == {"a": "a", "b": "a", "c": "a"}
    assert "d" not in chunks


def test_a_budget_that_is_too_small_is_refused_with_what_would_do(path: Path) -> None:
    sealed(filled(), path)
    with pytest.raises(everedge.InvalidInputError, match="would do") as refused:
        everedge.Chunks(path, memory="1M").pagerank()
    least = int(re.findall(r"(\d+) would do", str(refused.value))[0])
    assert len(everedge.Chunks(path, least).pagerank()) == 60
    with pytest.raises(everedge.InvalidInputError, match=f"{least} would do"):
        everedge.Chunks(path, least - 1).pagerank()
    # Another kernel takes less.
    assert everedge.Chunks(path, least - 1).one_hop(0).size


def test_threads_are_part_of_the_memory(path: Path) -> None:
    """Each takes memory of its own."""
    sealed(filled(), path)
    least = {}
    for threads in (1, 64):
        with pytest.raises(everedge.InvalidInputError, match="would do") as refused:
            everedge.Chunks(path, memory=1).lcc(threads=threads)
        least[threads] = int(re.findall(r"(\d+) would do", str(refused.value))[0])
        found = everedge.Chunks(path, least[threads]).lcc(threads=threads)
        assert found.report.threads == threads
    assert least[64] >= least[1] + 60 * 5 * 63
    with pytest.raises(everedge.InvalidInputError, match=f"{least[64]} would do"):
        everedge.Chunks(path, least[1]).lcc(threads=64)


@pytest.mark.parametrize("memory", [1 << 26, "64M", "64 MB", "64MiB", "65536k", "0.0625GB", " 64 mib "])
def test_memory_is_a_number_or_a_text(path: Path, memory: int | str) -> None:
    sealed(filled(), path)
    assert everedge.Chunks(path, memory).triangles() > 0


@pytest.mark.parametrize("memory", ["much", "", -1, 1.5, True, "1P"])
def test_other_words_for_memory_are_refused(path: Path, memory: Any) -> None:
    sealed(filled(), path)
    with pytest.raises(everedge.InvalidInputError, match="memory=.*is no number of bytes"):
        everedge.Chunks(path, memory)


def flip(file: Path, at: int) -> None:
    content = bytearray(file.read_bytes())
    content[at] ^= 0x10
    file.write_bytes(content)


ASKS: dict[str, list[Callable[[everedge.Chunks], object]]] = {
    "ids": [lambda c: c.vertices, lambda c: 0 in c, lambda c: c.bfs(0), everedge.wcc],
    "out.index": [everedge.Chunks.out_degree, everedge.bfs],
    "out.4k": [
        everedge.wcc,
        everedge.bfs,
        everedge.Chunks.edges,
        everedge.Chunks.to_scipy,
        everedge.Chunks.to_networkx,
        lambda c: [c.neighbors(v) for v in range(60)],
    ],
    "in.4k": [everedge.pagerank, lambda c: [c.in_neighbors(v) for v in range(60)]],
    "in.index": [everedge.Chunks.in_degree, everedge.pagerank],
}
"""What reads a file."""


@pytest.mark.parametrize("name", ASKS)
def test_damage_is_an_error_that_names_the_file(path: Path, name: str) -> None:
    chunks = sealed(filled(), path)
    flip(path / name, 77)
    for ask in ASKS[name]:
        with pytest.raises(everedge.CorruptionError, match=re.escape(name)):
            ask(chunks)
    found = chunks.verify()
    assert not found.ok and name in found.problems[0]


def test_damage_of_the_manifest_keeps_it_closed(path: Path) -> None:
    sealed(filled(), path)
    flip(path / "manifest.toml", 77)
    with pytest.raises(everedge.CorruptionError, match="manifest.toml"):
        everedge.Chunks(path)


def test_nothing_is_sealed_over(path: Path, tmp_path: Path) -> None:
    graph = filled()
    sealed(graph, path)
    full, file = tmp_path / "full", tmp_path / "edges.txt"
    full.mkdir()
    (full / "mine").write_text("x")
    file.write_text("0 1\n")
    for there, message in ((path, "holds a graph already"), (full, "not empty")):
        with pytest.raises(everedge.InvalidInputError, match=message):
            graph.snapshot().seal(there)
        with pytest.raises(everedge.InvalidInputError, match=message):
            everedge.seal(file, there)
    assert everedge.Chunks(path).num_vertices == 60
    assert (full / "mine").read_text() == "x"
    empty = tmp_path / "empty"
    empty.mkdir()
    assert everedge.seal(file, empty).edges == 1


def test_files_are_sealed_as_graphs_take_them(path: Path, tmp_path: Path) -> None:
    src, dst, weight = edges()
    file, more = tmp_path / "edges.csv", tmp_path / "more.csv"
    rows = zip(src.tolist(), dst.tolist(), weight.tolist(), strict=True)
    file.write_text("from,to,weight\n" + "".join(f"v{u},v{v},{x}\n" for u, v, x in rows))
    more.write_text("from,to,weight\nv1,new,0.5\n")
    graph = everedge.Graph("graph", medium="dram")
    graph.ingest(file, more)
    seen: list[everedge.Progress] = []
    report = everedge.seal([file, more], path, memory="300M", progress=seen.append)
    assert (report.vertices, report.edges) == (graph.stats().vertices, graph.stats().edges)
    assert report.guessed is not None and report.guessed["format"] == "csv"
    assert report.least_memory_bytes < 1 << 26 and report.disk_bytes > 0
    assert {progress.file for progress in seen} == {str(file), str(more)}
    chunks = everedge.Chunks(path, report.least_memory_bytes + 100_000)
    assert chunks.weighted and chunks.directed
    for kernel in KERNELS:
        if kernel not in NUMBERED:
            assert is_alike(answer(chunks, kernel), answer(graph.snapshot(), kernel)), kernel


def test_options_of_files_are_those_of_an_ingest(tmp_path: Path) -> None:
    file = tmp_path / "edges.txt"
    file.write_text("1 2\n2 1\n1 2\n3 3\n")
    for directed, simple, edge_count in ((False, False, 4), (True, True, 3), (False, True, 2)):
        path = tmp_path / f"{directed}-{simple}"
        report = everedge.seal(str(file), path, directed=directed, simple=simple)
        assert report.edges == edge_count
    assert everedge.seal(file, tmp_path / "loops", drop_self_loops=True).vertices == 3
    plain = everedge.seal(file, tmp_path / "plain", order="ids", compressed=False)
    assert everedge.Chunks(tmp_path / "plain").vertices.tolist() == [1, 2, 3]
    assert plain.edges == 4
    table = tmp_path / "table.csv"
    table.write_text("who,whom,stars\n1,2,4\n")
    report = everedge.seal(table, tmp_path / "w", src="who", dst="whom", weight="stars")
    assert everedge.Chunks(tmp_path / "w").sssp(1)[2] == 4
    with pytest.raises(everedge.InvalidInputError, match="weighted=False"):
        everedge.seal(table, tmp_path / "x", weighted=False, weight="stars")
    with pytest.raises(everedge.InvalidInputError, match="order=steps needs the lists of a graph"):
        everedge.seal(file, tmp_path / "x", order="steps")  # type: ignore[arg-type]
    with pytest.raises(everedge.InvalidInputError, match="none of degree, steps, ids"):
        filled().snapshot().seal(tmp_path / "x", order="size")  # type: ignore[arg-type]
    with pytest.raises(everedge.InvalidInputError, match="no files"):
        everedge.seal([], tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_tables_are_sealed(path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"src": ["a", "b"], "dst": ["b", "c"]})
    assert everedge.seal(table, path).vertices == 3
    assert everedge.Chunks(path).bfs("a")["c"] == 2


def test_files_without_in_neighbors_answer_what_needs_none(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "edges.txt"
    file.write_text("1 2\n1 3\n")
    everedge.seal(file, path, in_neighbors=False)
    chunks = everedge.Chunks(path)
    assert sorted(chunks.one_hop(1).tolist()) == [2, 3]
    assert chunks.in_degree().to_dict() == {1: 0, 2: 1, 3: 1}
    with pytest.raises(everedge.InvalidInputError, match="Seal the files again with in-neighbors$"):
        chunks.pagerank()


def test_a_file_that_is_wrong_leaves_nothing(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "edges.txt"
    file.write_text("1 2\n1\n")
    with pytest.raises(everedge.FileError, match=r"edges.txt`: line 2") as wrong:
        everedge.seal(file, path)
    assert wrong.value.edges_acknowledged == 0
    with pytest.raises(everedge.IoError, match="missing"):
        everedge.seal(tmp_path / "missing.txt", path)
    file.write_text("1 2\n")
    with pytest.raises(everedge.InvalidInputError, match="would do|allow more"):
        everedge.seal(file, path, memory="1M")
    assert not path.exists()
    assert everedge.seal(file, path).edges == 1


def large() -> tuple[Any, Any]:
    random = np.random.default_rng(1)
    return random.integers(0, 100_000, 2_000_000), random.integers(0, 100_000, 2_000_000)


def test_a_bar_shows_how_far_a_sealing_is(
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "edges.bin"
    np.stack(large(), axis=1).astype(np.uint32).tofile(file)
    everedge.seal(file, path, progress=True)
    shown = capsys.readouterr().err
    assert "edges.bin:" in shown and re.search(r"seal: +\d+%", shown), shown
    graph = everedge.Graph("graph", medium="dram", ids="dense")
    graph.add_edges(*large())
    monkeypatch.setattr("everedge._snapshot.is_watched", lambda: True)
    graph.snapshot().seal(tmp_path / "again")
    shown = capsys.readouterr().err
    assert re.search(r"seal: ", shown), shown


def test_closed_is_closed_but_answers_stay(path: Path) -> None:
    chunks = sealed(filled(), path)
    depth = chunks.bfs(0)
    chunks.close()
    chunks.close()
    assert depth[0] == 0 and len(depth.ids) == 60
    calls = (
        chunks.bfs,
        chunks.one_hop,
        chunks.stats,
        chunks.verify,
        chunks.degree,
        chunks.edges,
        chunks.to_scipy,
        chunks.to_networkx,
        lambda: chunks.neighbors(0),
        lambda: chunks.vertices,
        lambda: chunks.num_edges,
        lambda: 0 in chunks,
    )
    for call in calls:
        with pytest.raises(everedge.ClosedError, match="the sealed graph is closed"):
            call()
    assert repr(chunks) == f"<Chunks {path}: the sealed graph is closed>"
    with filled().snapshot() as s:
        s.close()
        with pytest.raises(everedge.ClosedError):
            s.seal(path.parent / "never")


@pytest.mark.parametrize("ids", ["dense", "integer", "text"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [True, False])
def test_changes_are_those_of_a_live_graph(
    path: Path, tmp_path: Path, ids: str, directed: bool, weighted: bool
) -> None:
    graph = filled(ids, directed=directed, weighted=weighted)
    chunks = sealed(graph, path)
    src, dst, weight = edges()
    before = chunks.num_edges
    new = named(np.arange(55, 75), ids), named(np.arange(20), ids)
    for changed in (graph, chunks):
        changed.add_edges(*new, np.full(20, 0.5) if weighted else None)
    ends = named(src[::5], ids), named(dst[::5], ids)
    found, expected = chunks.delete_edges(*ends), graph.delete_edges(*ends)
    assert found == expected and found.deleted == len(src[::5])
    unknown = named(np.array([99]), ids)
    assert chunks.delete_edges(unknown, unknown).ignored_deletions == 1
    stats = chunks.stats()
    assert (stats.edges_added, stats.edges_taken_away) == (20, len(src[::5]))
    assert chunks.num_edges == before + 20 - len(src[::5]) == stats.edges
    assert chunks.verify().ok
    chunks.seal(tmp_path / "merged")
    merged = everedge.Chunks(tmp_path / "merged")
    assert (merged.stats().edges_added, merged.stats().edges_taken_away) == (0, 0)
    with graph.snapshot() as s:
        for asked in (chunks, merged, everedge.Chunks(path, memory="64M")):
            assert (asked.num_vertices, asked.num_edges) == (s.num_vertices, s.num_edges)
            for kernel in ("bfs", "wcc", "pagerank", "kcore", "triangles", "sssp"):
                assert is_alike(answer(asked, kernel), answer(s, kernel)), kernel
            assert answer(asked, "in_degree") == answer(s, "in_degree")


def test_changes_that_do_not_fit_are_refused(path: Path) -> None:
    with sealed(filled(), path) as chunks:
        counts = chunks.num_vertices, chunks.num_edges
        with pytest.raises(everedge.InvalidInputError, match="has no weights"):
            chunks.add_edges([1], [2], [0.5])
        with pytest.raises(everedge.InvalidInputError):
            chunks.add_edges([1, 2], [2])
        with pytest.raises(everedge.InvalidInputError, match="dense"):
            chunks.add_edges([2**40], [2])
        with pytest.raises(everedge.InvalidInputError):
            chunks.add_edges(["a"], ["b"])
        assert (chunks.num_vertices, chunks.num_edges) == counts
        assert chunks.stats().edges_added == 0
    for change in (chunks.add_edges, chunks.delete_edges):
        with pytest.raises(everedge.ClosedError):
            change([1], [2])


def test_a_change_that_is_made_is_no_error_though_the_graph_does_not_open(path: Path) -> None:
    """What was written once would be written twice by who tries again."""
    sealed(filled(), path).close()
    with everedge.Chunks(path, memory="1M") as chunks:
        count = chunks.num_edges
        chunks.add_edges([1], [2])
        with pytest.raises(everedge.InvalidInputError, match="too small"):
            _ = chunks.num_edges
        with pytest.raises(everedge.InvalidInputError, match="too small"):
            chunks.add_edges([1], [2])
        chunks.close()
        with pytest.raises(everedge.ClosedError):
            _ = chunks.num_edges
    with everedge.Chunks(path) as chunks:
        assert chunks.num_edges == count + 1


def test_a_process_that_goes_elsewhere_changes_the_same_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("here", "there"):
        (tmp_path / place).mkdir()
        sealed(filled(), tmp_path / place / "g").close()
    monkeypatch.chdir(tmp_path / "here")
    with everedge.Chunks("g", memory="64M") as chunks:
        count = chunks.num_edges
        monkeypatch.chdir(tmp_path / "there")
        flip(Path("g", "out.4k"), 77)
        chunks.add_edges([1], [2])
        assert chunks.num_edges == count + 1 and chunks.verify().ok
        assert chunks.path == "g"
    assert everedge.Chunks(tmp_path / "here" / "g").num_edges == count + 1
    assert not Path("g", "changes").exists()


def test_a_change_that_is_made_is_no_error_though_it_does_not_close(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who reads an error would write the batch again."""
    chunks = sealed(filled(), path)
    count = chunks.num_edges
    closed = []

    class Failing:
        def __init__(self, native: _native.Changer) -> None:
            self.native = native

        def __getattr__(self, name: str) -> Any:
            return getattr(self.native, name)

        def close(self) -> None:
            self.native.close()
            closed.append(self)
            raise error

    class Changer:
        @staticmethod
        def open(path: str) -> Failing:
            return Failing(_native.Changer.open(path))

    monkeypatch.setattr("everedge._chunks._native", SimpleNamespace(Chunks=_native.Chunks, Changer=Changer))
    error: everedge.EveredgeError = everedge.PoisonedError("the medium fails")
    chunks.add_edges([1, 2], [2, 3])
    assert chunks.delete_edges([1], [2]).deleted == 1
    assert chunks.num_edges == count + 1 and len(closed) == 2
    error = everedge.NotAGraphError("it was removed")
    with pytest.raises(everedge.NotAGraphError):
        chunks.add_edges([1], [2])


def test_what_is_closed_during_a_change_stays_closed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chunks = sealed(filled(), path)
    count = chunks.num_edges

    def close_and_add(native: Any, *rest: Any) -> None:
        chunks.close()
        add_edges_to(native, *rest)

    monkeypatch.setattr("everedge._chunks.add_edges_to", close_and_add)
    chunks.add_edges([1], [2])
    for call in (lambda: chunks.num_edges, lambda: chunks.add_edges([1], [2]), chunks.bfs):
        with pytest.raises(everedge.ClosedError):
            call()
    assert everedge.Chunks(path).num_edges == count + 1


def test_damaged_changes_keep_it_closed(path: Path) -> None:
    with sealed(filled(), path) as chunks:
        chunks.add_edges([1], [2])
    flip(path / "changes" / "base", 3)
    with pytest.raises(everedge.CorruptionError, match="changes/base"):
        everedge.Chunks(path)


def test_changes_are_no_graph_of_their_own(path: Path) -> None:
    with sealed(filled(), path) as chunks:
        chunks.add_edges([1], [2])
        edges = chunks.num_edges
    for mode in ("w", "r"):
        with pytest.raises(everedge.InvalidInputError, match=r"`everedge.Chunks` opens it"):
            everedge.Graph(path / "changes", mode=mode)
    with everedge.Chunks(path) as chunks:
        assert chunks.num_edges == edges
    (path / "changes").rename(path.parent / "moved")
    for mode in ("w", "r"):
        message = r"holds the changes of a sealed graph whose .*`everedge.Chunks` opens it"
        with pytest.raises(everedge.InvalidInputError, match=message):
            everedge.Graph(path.parent / "moved", mode=mode)
    with pytest.raises(everedge.InvalidInputError, match="holds the changes of a sealed graph"):
        everedge.Chunks(path.parent / "moved")


def test_a_refused_change_leaves_nothing(path: Path) -> None:
    with sealed(filled(), path) as chunks:
        with pytest.raises(everedge.InvalidInputError):
            chunks.add_edges([1], [2], [0.5])
        assert chunks.delete_edges(98, 99).ignored_deletions == 1
        assert not (path / "changes").exists()
        chunks.add_edges([1], [2])
        assert (path / "changes").exists()


def test_without_in_neighbors_it_says_so_before_it_asks_for_memory(
    path: Path, tmp_path: Path
) -> None:
    (tmp_path / "edges.csv").write_text("app,lib\nlib,libc\n")
    everedge.seal(tmp_path / "edges.csv", path, in_neighbors=False)
    with everedge.Chunks(path, memory=1) as chunks:
        with pytest.raises(everedge.InvalidInputError, match="needs in-neighbors"):
            chunks.bfs(source="app")
        for call in (chunks.degree, lambda: chunks.one_hop("app")):
            with pytest.raises(everedge.InvalidInputError, match="is too small"):
                call()
    with everedge.Chunks(path) as chunks:
        assert chunks.one_hop("app").tolist() == ["lib"]
        assert chunks.in_degree()["libc"] == 1


def test_a_seed_draws_the_sources_of_the_graph_that_was_sealed(path: Path) -> None:
    graph = filled("text")
    chunks = sealed(graph, path)
    with graph.snapshot() as s:
        found, expected = (asked.bc(samples=9, seed=3) for asked in (chunks, s))
        for vertex in s.vertices:
            assert found[vertex] == pytest.approx(expected[vertex])


def test_what_opens_other_graphs_says_what_it_is(path: Path, tmp_path: Path) -> None:
    sealed(filled(), path)
    for mode in ("w", "r"):
        with pytest.raises(everedge.InvalidInputError, match=r"`everedge.Chunks` opens it"):
            everedge.Graph(path, mode=mode)
    with pytest.raises(everedge.InvalidInputError, match=r"open it with `everedge.Chunks`"):
        everedge.Timeline(path)
    with everedge.Graph(tmp_path / "live") as graph:
        graph.add_edges([0], [1])
        with pytest.raises(everedge.InvalidInputError, match="not sealed"):
            everedge.Chunks(tmp_path / "live")
    for nothing in (tmp_path / "nothing", tmp_path):
        with pytest.raises(everedge.NotAGraphError):
            everedge.Chunks(nothing)


def test_what_is_neither_a_file_nor_a_table_is_not_sealed(path: Path, tmp_path: Path) -> None:
    class InMemory:
        edges = ((1, 2),)

        def __iter__(self) -> Iterator[int]:
            return iter((1, 2))

    for source in (InMemory(), 7, [3, 4]):
        with pytest.raises(TypeError, match="seal takes files .* and tables .*: add edges"):
            everedge.seal(source, tmp_path / "new")  # type: ignore[arg-type]
    sealed(filled(), path)
    with pytest.raises(everedge.InvalidInputError, match=r"is a graph, .*Chunks\(path\)\.seal"):
        everedge.seal(path, tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("directed", [True, False])
def test_a_sealed_graph_answers_every_question_of_a_snapshot(tmp_path: Path, directed: bool) -> None:
    for library in ("igraph", "networkx", "pandas", "pyarrow", "scipy"):
        pytest.importorskip(library)
    pytest.importorskip("matplotlib").use("agg")
    graph = everedge.Graph("graph", medium="dram", directed=directed, weighted=True)
    graph.add_edges(["a", "b", "a", "c"], ["b", "c", "c", "d"], [1, 2, 4, 1])
    s = graph.snapshot()
    s.seal(tmp_path / "sealed")
    questions = {
        "articulation_points": [],
        "degrees_of": [["a", "c"]],
        "edges_of": [["c"], "both"],
        "has_edge": ["a", "b"],
        "has_edges": [["a", "b"], ["b", "a"]],
        "in_neighbors": ["c"],
        "modularity": [{"a": 0, "b": 0, "c": 1, "d": 1}],
        "most_similar": ["a"],
        "neighbors": ["a"],
        "plot_neighborhood": ["a"],
        "shortest_path": ["a", "d"],
        "similarity": ["a", "b"],
        "subgraph": [["a", "b"]],
        "weight": ["a", "c"],
        "within": ["a", 2],
    }
    with everedge.Chunks(tmp_path / "sealed", memory="100M") as sealed:
        for name, arguments in questions.items():
            expected, found = getattr(s, name)(*arguments), getattr(sealed, name)(*arguments)
            if name in ("has_edge", "weight", "modularity"):
                assert found == expected
            elif name in ("neighbors", "in_neighbors"):
                assert sorted(found) == sorted(expected)
        for kernel, view in ((s.bfs, s), (s.sssp, s)):
            pairs = {tuple(map(str, pair)) for pair in zip(*view.predecessors(kernel("a")), strict=True)}
            answer = getattr(sealed, kernel.__name__)("a")
            assert {tuple(map(str, pair)) for pair in zip(*sealed.predecessors(answer), strict=True)} == pairs
        for make in ("degree", "in_degree", "out_degree"):
            assert getattr(sealed, make)().to_dict() == getattr(s, make)().to_dict()
        for make in ("edges", "to_arrow", "to_igraph", "to_networkx", "to_pandas", "to_scipy"):
            assert getattr(sealed, make)() is not None
