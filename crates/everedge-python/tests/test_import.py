"""What importing the package brings in, and that it still has all of its names."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import everedge

LATER = (
    "duckdb igraph ipaddress json logging matplotlib networkx numpy.random pandas pathlib polars pyarrow scipy tempfile "
    "tqdm urllib"
)
"""Modules that only some calls need."""

OURS_MAX = 20
"""Modules of the package that a graph needs."""


def brought_in(code: str) -> set[str]:
    """Return the modules that a program of its own has after `code` and had not before."""
    program = f"import json, sys\nbefore = set(sys.modules)\n{code}\nprint(json.dumps(sorted(set(sys.modules) - before)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout))


def test_importing_the_package_imports_nothing_else() -> None:
    # A new environment may have hooks of its own, which `site` imports before.
    assert brought_in("import everedge") == {"everedge"}
    assert brought_in("import everedge\ndir(everedge)\nhasattr(everedge, '_graph')") == {"everedge"}


def test_a_graph_needs_numpy_and_little_else() -> None:
    alone = brought_in("import numpy, numpy.typing")
    graph = brought_in("import everedge\neveredge.Graph('g', medium='dram').add_edges([0], [1])")
    assert "everedge._native" in graph and "numpy" in graph
    late = {name for name in graph - alone if any(name == one or name.startswith(f"{one}.") for one in LATER.split())}
    # `json` is what this test prints with.
    assert late - {"json"} == set()
    assert not {"everedge._timeline", "everedge._chunks", "everedge._reports", "everedge._neighborhood", "everedge._instead"} & graph
    ours = {name for name in graph if name.startswith("everedge")}
    assert len(ours) <= OURS_MAX, sorted(ours)
    assert len(graph - alone - ours) < 25, sorted(graph - alone - ours)


def test_networkx_learns_of_the_backend_without_its_arrays() -> None:
    code = "from everedge._networkx.info import get_info\nget_info()"
    assert not {"numpy", "everedge._native", "everedge._graph"} & brought_in(code)


def test_all_names_are_there_and_are_what_their_modules_have() -> None:
    assert set(everedge.__all__) <= set(dir(everedge))
    assert set(everedge._PLACES) == set(everedge.__all__) | {"open"}  # type: ignore[attr-defined]
    assert len(everedge.__all__) == len(set(everedge.__all__))
    for name, module in everedge._PLACES.items():  # type: ignore[attr-defined]
        assert getattr(everedge, name) is getattr(import_module(f"everedge.{module}"), name)
    assert everedge.__version__ == import_module("everedge._native").VERSION
    star: dict[str, object] = {}
    exec("from everedge import *", star)
    assert set(everedge.__all__) <= set(star) and "open" not in star


def test_what_type_checkers_see_is_what_there_is(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    right = tmp_path / "right.py"
    right.write_text(
        "import everedge\n"
        + "".join(f"everedge.{name}\n" for name in (*everedge.__all__, "open", "__version__"))
        + 'graph: everedge.Graph = everedge.Graph("g")\n'
    )
    wrong = tmp_path / "wrong.py"
    wrong.write_text('import everedge\neveredge.read_csv\neveredge.Graph("g").pagerank()\neveredge.Graph("g").nodes\n')
    run = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(tmp_path / "cache")]
    crate = Path(__file__).parents[1]
    run += ["--config-file", str(crate / "pyproject.toml")]
    said = subprocess.run([*run, str(right), str(wrong)], cwd=crate, capture_output=True, text=True, check=False).stdout
    errors = [line for line in said.splitlines() if "error:" in line]
    assert not [line for line in errors if "right.py" in line], said
    assert sum("attr-defined" in line for line in errors) == 3, said
