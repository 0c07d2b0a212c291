"""Versions: commits, questions to one and to several, and what stays."""

from __future__ import annotations

import multiprocessing
import pickle
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import networkx
import numpy as np
import pytest

import everedge

# Edges that come and go, by version.
CHANGES: list[tuple[list[tuple[str, str, float]], list[tuple[str, str]]]] = [
    ([("a", "b", 1.0), ("b", "c", 2.0), ("c", "d", 3.0)], []),
    ([("a", "c", 1.5)], []),
    ([("d", "e", 0.5)], [("b", "c")]),
    ([("b", "c", 4.0)], [("a", "c")]),
    ([], []),
]


@pytest.fixture(params=["adjacency", "pma", "blocks"])
def graph(path: Path, request: pytest.FixtureRequest) -> everedge.Graph:
    """A graph with a version after each of the changes."""
    graph = everedge.Graph(path, layout=request.param, weighted=True)
    for number, (came, went) in enumerate(CHANGES, 1):
        for src, dst, weight in came:
            graph.add_edges(src, dst, weight)
        for src, dst in went:
            graph.delete_edges(src, dst)
        version = graph.commit(f"v{number}")
        assert (version.number, version.additions, version.deletions) == (
            number,
            len(came),
            len(went),
        )
    return graph


def expected() -> list[networkx.DiGraph]:
    """The same graphs, kept by NetworkX."""
    graph, graphs = networkx.DiGraph(), []
    for came, went in CHANGES:
        graph.add_weighted_edges_from(came)
        graph.remove_edges_from(went)
        graphs.append(graph.copy())
    return graphs


def test_each_version_is_the_graph_of_its_time(graph: everedge.Graph) -> None:
    timeline = graph.timeline
    assert [version.name for version in timeline] == ["v1", "v2", "v3", "v4", "v5"]
    for number, known in enumerate(expected(), 1):
        for choice in (number, f"v{number}", timeline.versions[number - 1]):
            with timeline.at(choice) as view:
                src, dst, weight = view.edges()
                assert weight is not None
                edges = set(zip(src.tolist(), dst.tolist(), weight.tolist(), strict=True))
                assert edges == set(known.edges.data("weight"))
                assert set(view.vertices.tolist()) == set(known.nodes)
        # Every kernel takes a version.
        assert everedge.wcc(timeline.at(number)).top(1)[0][1] == len(known)


def test_windows_answer_as_each_version_does(graph: everedge.Graph) -> None:
    timeline, graphs = graph.timeline, expected()
    depths = timeline.window().bfs(source="a")
    lengths = timeline.window(2, "v4").sssp(source="a")
    assert depths.values.shape == (5, 5)
    assert [version.number for version in lengths.versions] == [2, 3, 4]
    for number, known in enumerate(graphs, 1):
        found = depths.at(number)
        for vertex, depth in networkx.single_source_shortest_path_length(known, "a").items():
            assert found[vertex] == depth
        assert (found.values >= 0).sum() == len(networkx.descendants(known, "a")) + 1
    for version, row in zip(lengths.versions, lengths.values, strict=True):
        known = networkx.single_source_dijkstra_path_length(graphs[version.number - 1], "a")
        assert {v: x for v, x in zip(lengths.ids.tolist(), row.tolist(), strict=True) if x < np.inf} == known
    for kernel in ("bfs", "sssp", "sswp", "ssnp"):
        answers = getattr(timeline.window(), kernel)(source="a")
        for number in range(1, 6):
            alone = getattr(timeline.at(number), kernel)(source="a").to_dict()
            of_window = answers.at(f"v{number}").to_dict()
            assert {v: of_window[v] for v in alone} == alone


def test_what_has_no_source_is_asked_of_a_window_too(graph: everedge.Graph) -> None:
    timeline, graphs = graph.timeline, expected()
    window = timeline.window()
    components, ranks, cores = window.wcc(), window.pagerank(tolerance=1e-9), window.kcore()
    assert [r.report.method for r in (components, ranks, cores)] == ["shared", "from-before", "each"]
    triangles = window.triangles()
    for number, known in enumerate(graphs, 1):
        simple = networkx.Graph(known)
        assert triangles[number - 1] == sum(networkx.triangles(simple).values()) // 3
        assert {v: int(x) for v, x in cores.at(number).to_dict().items() if x} == networkx.core_number(simple)
        places = components.values[number - 1]
        for part in networkx.connected_components(simple):
            rows = [components.ids.tolist().index(vertex) for vertex in part]
            assert {int(places[row]) for row in rows} == {min(rows)}
        assert sum(place < 0 for place in places) == len(places) - len(known)
        alone = everedge.pagerank(timeline.at(number), tolerance=1e-9)
        for vertex, rank in alone.to_dict().items():
            assert abs(ranks.at(number)[vertex] - rank) < 1e-8
        for kernel in ("lcc", "bc", "radii"):
            of_window = getattr(window, kernel)().at(number).to_dict()
            answers = getattr(everedge, kernel)(timeline.at(number)).to_dict()
            assert {v: of_window[v] for v in answers} == answers
        strong = window.scc().values[number - 1]
        for part in networkx.strongly_connected_components(known):
            rows = [components.ids.tolist().index(vertex) for vertex in part]
            assert {int(strong[row]) for row in rows} == {min(rows)}
        ids, labels = components.ids.tolist(), window.cdlp().values[number - 1]
        for vertex, label in everedge.cdlp(timeline.at(number)).to_dict().items():
            assert ids[labels[ids.index(vertex)]] == label
    assert repr(components).startswith("wcc in 5 versions of 5 vertices")
    assert ranks.of("e").tolist()[:2] == [0, 0]
    degrees = dict(graphs[-1].out_degree)
    assert degrees[window.bfs().report.source] == max(degrees.values())
    assert window.pagerank(iterations=3).report.method == "each"


def test_answers_go_where_people_want_them(graph: everedge.Graph) -> None:
    depths = graph.timeline.window().bfs(source="a")
    assert depths.of("d").tolist() == [3, 2, 2, 3, 3]
    assert depths.of("e").tolist() == [-1, -1, 3, 4, 4]
    assert sorted(depths.changed().tolist()) == ["c", "d", "e"]
    frame = depths.to_pandas()
    assert frame.loc[2, "d"] == 2 and frame.index.name == "version"
    table = depths.to_arrow()
    versions = graph.timeline.versions
    for by in ("version", "time", "name"):
        assert depths.to_pandas(by).index.name == by
    assert depths.to_pandas("time").loc[versions[1].time, "d"] == 2
    assert depths.to_pandas("name").loc["v2", "d"] == 2
    with pytest.raises(everedge.InvalidInputError, match="by='day'"):
        depths.to_pandas("day")  # type: ignore[arg-type]
    assert table.num_rows == 25 and table.column_names == ["version", "time", "id", "value"]
    assert table["time"][5].as_py() == versions[1].time
    for second in (2, "v2", versions[1], versions[1].time, versions[1].time.isoformat()):
        assert depths.at(second).values.tolist() == depths.values[1].tolist()
    assert table.slice(5, 5).to_pydict()["value"] == depths.at(2).values.tolist()
    assert np.asarray(depths).dtype == np.int32
    assert str(depths).splitlines()[:2] == [
        "bfs from a in 5 versions of 5 vertices",
        "     1  reached 4, depth 3  v1",
    ]
    with pytest.raises(KeyError):
        depths.of("z")
    with pytest.raises(KeyError):
        depths.at(9)


def test_a_plot_has_a_line_for_each_vertex(graph: everedge.Graph) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    depths = graph.timeline.window().bfs(source="a")
    graph.add_vertices(["_x", "$\\foo$"])
    graph.commit()
    odd = graph.timeline.window().bfs(source="a").plot("_x", "$\\foo$")
    odd.figure.canvas.draw()
    assert [text.get_text() for text in odd.get_legend().get_texts()] == ["_x", r"\$\foo\$"]
    with pytest.raises(everedge.InvalidInputError, match="plot.9, 3. draws several"):
        depths.plot(["b", "c"])
    axes = depths.plot()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["c", "d", "e"]
    gaps = axes.lines[2].get_ydata()
    assert np.isnan(gaps[:2]).all() and gaps[2:].tolist() == [3, 4, 4]
    named = depths.plot(by="name")
    assert [text.get_text() for text in named.get_xticklabels()] == ["v1", "v2", "v3", "v4", "v5"]
    timed = depths.plot(by="time")
    timed.figure.canvas.draw()
    assert timed.lines[0].get_xdata()[0] == graph.timeline.versions[0].time
    assert len(depths.plot("b", ax=matplotlib.pyplot.figure().subplots()).lines) == 1


def test_times_name_versions(graph: everedge.Graph) -> None:
    timeline = graph.timeline
    now = datetime.now(timezone.utc)
    assert timeline.at(now + timedelta(days=1)).num_edges == timeline.at("v5").num_edges
    assert all(now - timedelta(hours=1) < version.time <= now for version in timeline)
    for choice in ("1999-01-01", datetime(1999, 1, 1), 0, 6, "v6", -1, True, 1.5):
        with pytest.raises(everedge.InvalidInputError):
            timeline.at(choice)  # type: ignore[arg-type]
    with pytest.raises(everedge.InvalidInputError):
        timeline.window(3, 2)
    with pytest.raises(everedge.InvalidInputError, match="in no version"):
        timeline.window().bfs(source="z")


def test_what_came_and_went(graph: everedge.Graph) -> None:
    difference = graph.timeline.difference("v1", "v4")
    came, went = difference.added, difference.removed
    assert (came[0].tolist(), came[1].tolist()) == (["b", "d"], ["c", "e"])
    assert came[2] is not None and came[2].tolist() == [4.0, 0.5]
    assert (went[0].tolist(), went[1].tolist()) == (["b"], ["c"])
    assert repr(difference) == "<Difference: 2 edges came, 1 went>"


def test_old_versions_are_let_go(graph: everedge.Graph, path: Path) -> None:
    old = graph.timeline.at(1)
    assert graph.timeline.keep(3) == 2
    assert old.num_edges == 3
    graph.add_edges("e", "a", 1.0)
    assert graph.commit(keep=2).number == 6
    assert [version.number for version in graph.timeline] == [5, 6]
    assert graph.timeline.keep("30d") == 0
    for wrong in (0, "soon"):
        with pytest.raises(everedge.InvalidInputError):
            graph.timeline.keep(wrong)
    old.close()
    graph.close()
    with everedge.Timeline(path) as timeline:
        assert repr(timeline) == "<Timeline of 2 versions, from 5 to 6>"
        assert timeline.at(6).num_edges == 5


def test_a_graph_without_versions_says_so(path: Path) -> None:
    with everedge.Graph(path) as graph:
        with pytest.raises(everedge.InvalidInputError, match="nothing yet"):
            graph.commit()
        graph.add_edges(0, 1)
        with pytest.raises(everedge.InvalidInputError, match="commit"):
            _ = graph.timeline
        graph.commit()
        timeline = graph.timeline
        assert timeline.window().bfs(source=0).of(1).tolist() == [1]
        with pytest.raises(TypeError):
            pickle.dumps(timeline)
        for name in ("3", "2024-05-31"):
            with pytest.raises(everedge.InvalidInputError, match="would mean"):
                graph.commit(name)
        assert len(timeline) == 1


def test_a_version_has_the_time_that_is_given(path: Path) -> None:
    with everedge.Graph(path) as graph:
        graph.add_edges(0, 1)
        assert graph.commit(time="2024-05-31").time == datetime(2024, 5, 31, tzinfo=timezone.utc)
        graph.add_edges(1, 2)
        later = datetime(2024, 6, 1, 12, tzinfo=timezone(timedelta(hours=2)))
        assert graph.commit("june", time=later).time == later
        with pytest.raises(everedge.InvalidInputError, match="version 2 is of 2024-06-01T10"):
            graph.commit(time="2024-06-01")
        with pytest.raises(everedge.InvalidInputError, match="time zone"):
            graph.commit(time=datetime(2024, 6, 2))
        for wrong in ("soon", "3"):
            with pytest.raises(everedge.InvalidInputError, match="2024-05-31"):
                graph.commit(time=wrong)
        with pytest.raises(everedge.InvalidInputError, match="to come"):
            graph.commit(time="2999-01-01")
        with pytest.raises(everedge.InvalidInputError, match="datetime"):
            graph.commit(time=3)  # type: ignore[arg-type]
        version = graph.timeline.at("2024-05-31T08:00:00Z").version
        assert version is not None and version.number == 1
        assert graph.timeline.at(later).version == graph.timeline.versions[1]
        assert graph.snapshot().version is None
        assert len(graph.timeline) == 2
        for number, odd in enumerate((date(2024, 6, 3), np.datetime64("2024-06-04T12")), 3):
            assert graph.commit(time=odd).number == number
            assert graph.timeline.at(odd).version == graph.timeline.versions[-1]
        noon = datetime(2024, 6, 4, 12, tzinfo=timezone.utc)
        assert graph.timeline.versions[-1].time == noon


def test_a_forked_child_asks_no_timeline(graph: everedge.Graph) -> None:
    timeline = graph.timeline

    def ask() -> None:
        with pytest.raises(everedge.ForkedError):
            timeline.at(1)

    child = multiprocessing.get_context("fork").Process(target=ask)
    child.start()
    child.join()
    assert child.exitcode == 0
    assert timeline.at(1).num_edges == 3


def test_files_of_timed_changes_become_versions(path: Path, tmp_path: Path) -> None:
    days, edges = tmp_path / "days.csv", set[tuple[str, str]]()
    rows, known = ["who,whom,when,what"], []
    for day, (came, went) in enumerate(CHANGES[:4], 1):
        came_ends, today = {(src, dst) for src, dst, _ in came}, f"2024-03-{day:02}"
        rows += [f"{src},{dst},{today},add" for src, dst in sorted(came_ends)]
        rows += [f"{src},{dst},{today},remove" for src, dst in went]
        edges = (edges | came_ends) - set(went)
        known.append(edges)
    days.write_text("\n".join(rows) + "\n")
    told: list[everedge.Progress] = []
    report = everedge.Timeline.ingest(
        path, days, commit_every="1d", src="who", dst="whom", time=2, operation=3, progress=told.append
    )
    assert (report.versions, report.insertions, report.deletions) == (4, 6, 2)
    assert report.edges == len(known[-1])
    assert told
    assert all(progress.file == str(days) for progress in told)
    with everedge.Timeline(path) as timeline:
        for day, expected_edges in enumerate(known, 1):
            with timeline.at(f"2024-03-{day:02}") as view:
                src, dst, _ = view.edges()
                assert set(zip(src, dst, strict=True)) == expected_edges
    # More of them go behind those that are there.
    days.write_text("who,whom,when,what\nx,y,2024-03-09,add\n")
    columns = {"src": "who", "dst": "whom", "time": "when", "operation": "what"}
    assert everedge.Timeline.ingest(path, days, commit_every=1, keep=2, **columns).versions == 2  # type: ignore[arg-type]
    with everedge.Timeline(path) as timeline:
        assert [version.number for version in timeline] == [4, 5]


def test_changes_that_cannot_be_taken_in_are_refused(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "edits.csv"
    file.write_text("src,dst,time\na,b,2024-01-01\n")
    refused: list[tuple[dict[str, object], str]] = [
        ({"commit_every": "soon"}, "soon"),
        ({"commit_every": 0}, "`0`"),
        ({"commit_every": "1d", "time_unit": "weeks"}, "weeks"),
        ({"commit_every": "1d", "time": -1}, "time=-1"),
        ({"commit_every": "1d", "insertions_only": True, "operation": "op"}, "give one"),
        ({"commit_every": "1d", "keep": "none"}, "none"),
    ]
    for options, what in refused:
        with pytest.raises(everedge.InvalidInputError, match=what):
            everedge.Timeline.ingest(path, file, **options)  # type: ignore[arg-type]
    unweighted: dict[str, object] = {"commit_every": "1d", "weighted": False, "weight": 2}
    with pytest.raises(everedge.InvalidInputError, match="weight= names a column, and"):
        everedge.Timeline.ingest(path, file, **unweighted)  # type: ignore[arg-type]
    timeless = tmp_path / "timeless.csv"
    timeless.write_text("src,dst\na,b\n")
    with pytest.raises(everedge.FileError, match="timeless.csv"):
        everedge.Timeline.ingest(path, timeless, commit_every="1d")
    with pytest.raises(everedge.InvalidInputError, match="no files"):
        everedge.Timeline.ingest(path, commit_every="1d")
    with pytest.raises(everedge.InvalidInputError, match=r"step="):
        everedge.Timeline.ingest(path, file, commit_every="step")
    shuffled = tmp_path / "shuffled.csv"
    shuffled.write_text("src,dst,time\na,b,2024-01-02\nb,c,2024-01-01\n")
    with pytest.raises(everedge.InvalidInputError, match=r"2024-01-01.*allow_late=True"):
        everedge.Timeline.ingest(path, shuffled, commit_every="1d")
    assert not path.exists()
    late = everedge.Timeline.ingest(tmp_path / "late", shuffled, commit_every="1d", allow_late=True)
    assert (late.versions, late.late_updates) == (1, 1)
    ordered = everedge.Timeline.ingest(tmp_path / "sorted", shuffled, commit_every="1d", sort=True)
    assert (ordered.versions, ordered.late_updates) == (2, 0)
    assert everedge.Timeline.ingest(path, file, commit_every="1d", insertions_only=True).edges == 1
    with pytest.raises(everedge.InvalidInputError, match="made with other options"):
        everedge.Timeline.ingest(path, file, commit_every="1d", ids="dense")


def test_frames_become_versions(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    rows = {
        "src": ["a", "b", "c", "a"],
        "dst": ["b", "c", "d", "b"],
        "time": pandas.to_datetime(["2024-05-01", "2024-05-01", "2024-05-02", "2024-05-03"]),
        "op": ["+", "+", "+", "-"],
    }
    frame = pandas.DataFrame(rows)
    for empty in (frame[:0], pandas.DataFrame()):
        with pytest.raises(everedge.InvalidInputError, match="has no rows"):
            everedge.Timeline.ingest(tmp_path / "empty", empty, commit_every="1d")
    for number, table in enumerate([frame, pyarrow.table(rows)]):
        home = tmp_path / str(number)
        report = everedge.Timeline.ingest(home, table, commit_every="1d")
        assert (report.versions, report.insertions, report.deletions) == (3, 3, 1)
        with everedge.Timeline(home) as timeline:
            assert timeline.window().bfs(source="a").of("d").tolist() == [-1, 3, -1]
    with everedge.Graph(tmp_path / "graph") as graph:
        frame["src"] = frame["src"].astype("category")
        assert graph.ingest(frame[["src", "dst"]], frame[["src", "dst"]]).edges_inserted == 8


def test_whoever_ends_a_progress_ends_the_ingest(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "edits.csv"
    file.write_text("src,dst,time\n" + "".join(f"{day},b,{day}\n" for day in range(100_000)))

    def stop(_: everedge.Progress) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        everedge.Timeline.ingest(
            path, file, commit_every=1, insertions_only=True, progress=stop
        )
    with everedge.Timeline(path) as timeline:
        assert len(timeline) == 1
