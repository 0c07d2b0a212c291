"""Annotations: strict, and true of the built module."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CRATE = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "command",
    [
        ["mypy", "python/everedge"],
        ["mypy.stubtest", "everedge._native", "--mypy-config-file", "pyproject.toml"],
    ],
    ids=["mypy", "stubtest"],
)
def test_annotations_hold(command: list[str]) -> None:
    run = subprocess.run(
        [sys.executable, "-m", *command], cwd=CRATE, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
