"""The examples of the README and of the page about versions print what those say."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from textwrap import dedent

import everedge
from everedge._networkx.table import FUNCTIONS
from examples import check_example

ROOT = Path(__file__).parents[3]
PYTHON = [sys.executable]


def test_the_example_prints_what_it_is_said_to(tmp_path: Path) -> None:
    check_example((ROOT / "README.md").read_text(), tmp_path, PYTHON)


def test_the_example_of_networkx_prints_what_it_is_said_to(tmp_path: Path) -> None:
    check_example((ROOT / "README.md").read_text(), tmp_path, PYTHON, "NetworkX, faster")
    pages = (ROOT / "README.md", ROOT / "docs" / "networkx.md")
    assert all(f"{len(FUNCTIONS)} functions" in page.read_text() for page in pages)


def test_the_page_about_versions_prints_what_it_is_said_to(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "versions.md").read_text()
    rows = re.search("(?:    .*\n)+", page)
    assert rows
    file = tmp_path / "depends.csv"
    file.write_text(dedent(rows[0]))
    everedge.Timeline.ingest(tmp_path / "depends", file, commit_every="1d")
    check_example(page, tmp_path, PYTHON)
