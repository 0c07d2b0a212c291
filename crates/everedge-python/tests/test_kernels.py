"""Every kernel of the engine is a function and a method, with the parameters that it has there."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys

import pytest

import everedge
from everedge import _native


@pytest.mark.parametrize(("kernel", "parameters"), _native.kernels())
def test_kernel_has_the_parameters_of_the_engine(kernel: str, parameters: list[str]) -> None:
    name = kernel.replace("-", "_")
    function = getattr(everedge, name)
    assert getattr(everedge.Snapshot, name) is getattr(everedge.Chunks, name) is function
    assert name in everedge.__all__
    assert list(inspect.signature(function).parameters) == ["graph", *parameters, "threads"]
    about = dict(_native.parameters())
    for parameter in parameters:
        assert f"\n- `{parameter}`: {about[parameter]}\n" in inspect.getdoc(function)


def test_steps_are_told_while_a_kernel_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("everedge._snapshot.is_watched", lambda: True)
    graph = everedge.Graph("graph", medium="dram")
    graph.add_edges(range(100_000), range(1, 100_001))
    graph.snapshot().pagerank(iterations=500)
    shown = capsys.readouterr().err
    assert re.search(r"pagerank: +\d+%.* \d+/500 ", shown), shown


def test_kernels_work_without_docstrings() -> None:
    code = """
import everedge
graph = everedge.Graph("graph", medium="dram")
graph.add_edges([0, 1], [1, 2])
if everedge.bfs(graph, 0)[2] != 2 or everedge.Graph.__doc__ is not None:
    raise SystemExit("wrong")
"""
    run = [sys.executable, "-OO", "-c", code]
    done = subprocess.run(run, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("kernel", "parameters"), _native.kernels())
def test_kernel_answers_on_an_empty_graph_or_says_why(kernel: str, parameters: list[str]) -> None:
    graph = everedge.Graph("graph", medium="dram")
    function = getattr(everedge, kernel.replace("-", "_"))
    if "source" in parameters and kernel != "bc":
        with pytest.raises(everedge.InvalidInputError, match="no vertices"):
            function(graph)
    else:
        function(graph)


def test_names_of_vertices_come_back() -> None:
    graph = everedge.Graph("graph", medium="dram")
    graph.add_edges(["a", "b", "c", "c", "x"], ["b", "c", "a", "d", "y"])
    assert everedge.two_hop(graph, "a").tolist() == ["b", "c"]
    assert sorted(everedge.kcore(graph, k=2).tolist()) == ["a", "b", "c"]
    assert set(everedge.cdlp(graph).values) <= set("abcdxy")
    assert everedge.scc(graph).top(1) == [("a", 3)]
    far = everedge.Graph("far", medium="dram", ids="map")
    ids = [10**15, 10**15 + 7, 10**15 + 9]
    far.add_edges(ids, ids[1:] + ids[:1])
    assert everedge.cdlp(far).values.tolist() == [10**15] * 3
    with pytest.raises(everedge.InvalidInputError, match="not at both"):
        everedge.bc(graph, "a", samples=3)
