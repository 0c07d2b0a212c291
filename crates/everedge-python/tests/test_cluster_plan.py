"""The page about clusters has the tables that its script computes, and what that expects of graphs is what small ones have."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).parents[3]


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def plan() -> ModuleType:
    return script("cluster_plan")


def test_the_page_has_the_tables(plan: ModuleType) -> None:
    page = (ROOT / "docs" / "cluster.md").read_text()
    assert page == plan.written(page), "python scripts/cluster_plan.py --write docs/cluster.md brings them up to date"
    assert all(f"<!-- table: {name} -->" in page for name in plan.TABLES)


def test_what_is_expected_is_what_graphs_have_in_the_mean(plan: ModuleType) -> None:
    scale, edges, shards, tries = 8, 1000, 4, 200
    random = np.random.default_rng(1)
    vertices = ghosts = distinct = shared = 0
    for _ in range(tries):
        bits = random.choice(4, (edges, scale), p=[0.57, 0.19, 0.19, 0.05])
        ends = [(bits >> one & 1) @ (1 << np.arange(scale)) for one in (1, 0)]
        owner = random.integers(0, shards, 1 << scale)
        both = np.stack([np.concatenate(ends), np.concatenate(ends[::-1])])
        on = np.zeros((1 << scale, shards), bool)
        on[both[0], owner[both[1]]] = True
        is_vertex = on.any(axis=1)
        own = np.zeros_like(on)
        own[np.arange(1 << scale), owner] = True
        vertices += is_vertex.sum()
        ghosts += (on & ~own).sum()
        distinct += len(np.unique(both, axis=1).T)
        mirrored = (on & ~own).any(axis=1)
        shared += (mirrored & ((owner < 2) | on[:, :2].any(axis=1))).sum()
    graph = plan.Kron(scale, edges, shards)
    expected = graph.vertices, graph.ghosts, graph.distinct, graph.shared(2)
    for found, of_plan in zip((vertices, ghosts, distinct, shared), expected, strict=True):
        assert abs(found / tries / of_plan - 1) < 0.02


def test_costs_are_found_and_none_is_below_zero(plan: ModuleType) -> None:
    rows = np.array(list(itertools.product((1.0, 2.0, 5.0), (10.0, 70.0), (3.0, 4.0))))
    assert np.allclose(plan.least_squares(rows, rows @ np.array([2.0, 0.5, 0.0])), [2.0, 0.5, 0.0])
    assert (plan.least_squares(rows, rows[:, 0] + 1) >= 0).all()


def test_what_is_measured_is_what_shards_do(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    measure = script("cluster_measure")
    edges = np.random.default_rng(2).integers(0, 200, (900, 2)).astype(np.uint32)
    shards = measure.Shards(tmp_path / "shards", 3, edges, True)
    for kernel in measure.KERNELS:
        found = shards.run(kernel)
        assert found["supersteps"] == len(found["steps"]) - 1 > 0, kernel
        assert sum(step["bytes"] for step in found["steps"]) > 0, kernel
    shards.close()
