"""Whole graphs in directories for other engines: what those find in them, and that they come back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import everedge

FORMATS = ("parquet", "icebug", "graphar")
Edges = list[tuple[Any, ...]]


def edges_of(graph: everedge.Graph | everedge.Snapshot) -> Edges:
    with graph.snapshot() if isinstance(graph, everedge.Graph) else graph as view:
        src, dst, weight = view.edges()
        columns = [src.tolist(), dst.tolist()] + ([] if weight is None else [weight.tolist()])
        directed = view.directed
    rows = zip(*columns, strict=True)
    return sorted(row if directed or row[0] <= row[1] else (row[1], row[0], *row[2:]) for row in rows)


def make(ids: str, *, directed: bool = True, weighted: bool = False) -> everedge.Graph:
    """Return a graph with parallel edges, a self-loop and a vertex without edges."""
    rng = np.random.default_rng(1)
    src, dst = rng.integers(0, 50, 400), rng.integers(0, 50, 400)
    src, dst = np.append(src, [3, 3, 3]), np.append(dst, [3, 9, 9])
    named: dict[str, Any] = {
        "dense": lambda ids: ids * 2,
        "integer": lambda ids: ids.astype(np.uint64) << np.uint64(40),
        "text": lambda ids: np.array([f"vertex {id}" for id in ids], object),
    }
    graph = everedge.Graph("given", medium="dram", directed=directed, weighted=weighted, ids=ids)
    weight = rng.random(len(src)).astype(np.float32) if weighted else None
    graph.add_edges(named[ids](src), named[ids](dst), weight)
    graph.add_vertices(named[ids](np.array([77])))
    return graph


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("ids", ["dense", "integer", "text"])
def test_graphs_come_back(format: str, ids: str, tmp_path: Path) -> None:
    for directed, weighted in ((True, False), (False, True)):
        graph = make(ids, directed=directed, weighted=weighted)
        directory = tmp_path / f"{directed}"
        report = graph.snapshot().export(directory, format)
        assert report == everedge.ExportReport(
            vertices=graph.stats().vertices,
            vertices_left_out=0,
            vertices_added=0,
            id_shift=0,
            edges=graph.stats().edges,
            bytes=report.bytes,
        )
        back = everedge.Graph(tmp_path / f"back-{directed}")
        back.ingest(directory)
        with graph.snapshot() as before, back.snapshot() as after:
            assert (after.directed, after.weighted) == (directed, weighted)
            assert sorted(after.vertices.tolist()) == sorted(before.vertices.tolist())
        assert edges_of(back) == edges_of(graph)
        back.close()


def test_versions_and_sealed_graphs_are_written(path: Path, tmp_path: Path) -> None:
    graph = everedge.Graph(path)
    graph.add_edges([1, 2], [2, 3])
    graph.commit("first")
    graph.add_edges([3], [4])
    graph.timeline.at("first").export(tmp_path / "first", "parquet")
    assert edges_of(read(tmp_path / "first")) == [(1, 2), (2, 3)]
    graph.snapshot().seal(tmp_path / "sealed")
    assert everedge.Chunks(tmp_path / "sealed").export(tmp_path / "all", "icebug").edges == 3
    assert edges_of(read(tmp_path / "all")) == [(1, 2), (2, 3), (3, 4)]
    graph.snapshot().export(tmp_path / "edges.csv")
    assert (tmp_path / "edges.csv").read_text().splitlines() == ["src,dst", "1,2", "2,3", "3,4"]


def read(directory: Path) -> everedge.Graph:
    graph = everedge.Graph("back", medium="dram")
    graph.ingest(directory)
    return graph


@pytest.mark.parametrize("ids", ["dense", "integer", "text"])
@pytest.mark.parametrize("weighted", [False, True])
def test_duckdb_and_polars_find_the_same_edges(ids: str, weighted: bool, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    polars = pytest.importorskip("polars")
    graph = make(ids, weighted=weighted)
    graph.snapshot().export(tmp_path / "out", "parquet")
    parts = str(tmp_path / "out" / "edges" / "*.parquet")
    rows = duckdb.sql(f"select * from '{parts}'").fetchall()
    # They stand in the order of both ends.
    assert [row[:2] for row in rows] == sorted(row[:2] for row in rows)
    assert sorted(rows) == edges_of(graph)
    frame = polars.read_parquet(parts)
    assert sorted(frame.rows()) == edges_of(graph)
    assert frame.columns == ["src", "dst", *(["weight"] if weighted else [])]
    vertices = polars.read_parquet(str(tmp_path / "out" / "vertices" / "*.parquet"))
    assert vertices["id"].to_list() == sorted(graph.snapshot().vertices.tolist())
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert (manifest["edges"], manifest["vertices"], manifest["ids"]) == (len(rows), len(vertices), ids)
    assert manifest["files"][1]["src"] == [rows[0][0], rows[-1][0]]


@pytest.mark.parametrize("ids", ["integer", "text"])
def test_duckdb_follows_the_lists_of_icebug(ids: str, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    graph = make(ids, weighted=True)
    graph.snapshot().export(tmp_path / "out", "icebug")
    table = {name: f"'{tmp_path}/out/{name}.parquet'" for name in ("nodes_vertex", "indices_edge", "indptr_edge")}
    rows = duckdb.sql(f"""
        with nodes as (select id, file_row_number as row from read_parquet({table["nodes_vertex"]}, file_row_number = true)),
             ends as (select ptr, file_row_number as row from read_parquet({table["indptr_edge"]}, file_row_number = true)),
             lists as (select a.row, a.ptr as first, b.ptr as last from ends a join ends b on b.row = a.row + 1),
             edges as (select *, file_row_number as row from read_parquet({table["indices_edge"]}, file_row_number = true))
        select u.id, v.id, weight from lists join edges on edges.row >= first and edges.row < last
            join nodes u on u.row = lists.row join nodes v on v.row = target
    """).fetchall()
    assert sorted(rows) == edges_of(graph)
    notes = duckdb.sql(f"select key, value from parquet_kv_metadata({table['indptr_edge']})").fetchall()
    assert (b"icebug_disk_version", b"v1") in notes


def test_duckdb_follows_the_chunks_of_graphar(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    graph = make("text", weighted=True)
    graph.snapshot().export(tmp_path / "out", "graphar")
    lists = f"{tmp_path}/out/edge/vertex_edge_vertex/ordered_by_source"
    rows = duckdb.sql(f"""
        select u.id, v.id, weight from read_parquet('{lists}/adj_list/part*/chunk*') e
            positional join read_parquet('{lists}/weight/part*/chunk*')
            join read_parquet('{tmp_path}/out/vertex/vertex/id/chunk*') u on u._graphArVertexIndex = _graphArSrcIndex
            join read_parquet('{tmp_path}/out/vertex/vertex/id/chunk*') v on v._graphArVertexIndex = _graphArDstIndex
    """).fetchall()
    assert sorted(rows) == edges_of(graph)
    (offsets,) = zip(*duckdb.sql(f"from read_parquet('{lists}/offset/chunk0')").fetchall(), strict=True)
    degrees = [offsets[at + 1] - offsets[at] for at in range(len(offsets) - 1)]
    with graph.snapshot() as view:
        by_id = dict(zip(view.vertices.tolist(), view.out_degree().values.tolist(), strict=True))
    assert degrees == [by_id[id] for id in sorted(by_id)]
    count = (tmp_path / "out" / "vertex" / "vertex" / "vertex_count").read_bytes()
    assert int.from_bytes(count, "little") == len(by_id)


def test_what_is_damaged_makes_no_graph(tmp_path: Path) -> None:
    make("dense").snapshot().export(tmp_path / "out", "parquet")
    part = tmp_path / "out" / "edges" / "part-00000.parquet"
    part.write_bytes(part.read_bytes()[:-1])
    with pytest.raises(everedge.InvalidInputError, match="part-00000.parquet. has .* bytes, and had"):
        everedge.Graph(tmp_path / "back").ingest(tmp_path / "out")
    assert not (tmp_path / "back").exists()
    with pytest.raises(everedge.InvalidInputError, match="no format is called"):
        make("dense").snapshot().export(tmp_path / "new", "orc")
    with pytest.raises(everedge.InvalidInputError, match="is there and holds no export"):
        make("dense").snapshot().export(tmp_path, "icebug")
    with pytest.raises(TypeError, match="path"):
        make("dense").snapshot().export(3, "icebug")  # type: ignore[arg-type]
