"""The examples of the README and of the page about versions print what those say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import everedge
from everedge._networkx.table import FUNCTIONS

ROOT = Path(__file__).parents[3]


def check_example(page: str, directory: Path, heading: str = "In Python") -> None:
    section = page.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    example, printed = section[section.index("    import everedge\n") :].split("\nprints\n\n")
    shown = re.match("(?:    .*\n)+", printed + "\n")
    assert shown
    run = [sys.executable, "-c", dedent(example)]
    done = subprocess.run(run, cwd=directory, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert without_bytes(done.stdout) == without_bytes(dedent(shown[0]))


def test_the_example_prints_what_it_is_said_to(tmp_path: Path) -> None:
    check_example((ROOT / "README.md").read_text(), tmp_path)


def test_the_example_of_networkx_prints_what_it_is_said_to(tmp_path: Path) -> None:
    check_example((ROOT / "README.md").read_text(), tmp_path, "NetworkX, faster")
    pages = (ROOT / "README.md", ROOT / "docs" / "networkx.md")
    assert all(f"{len(FUNCTIONS)} functions" in page.read_text() for page in pages)


def test_the_page_about_versions_prints_what_it_is_said_to(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "versions.md").read_text()
    rows = re.search("(?:    .*\n)+", page)
    assert rows
    file = tmp_path / "depends.csv"
    file.write_text(dedent(rows[0]))
    everedge.Timeline.ingest(tmp_path / "depends", file, commit_every="1d")
    check_example(page, tmp_path)


def without_bytes(text: str) -> str:
    """Leave out what may differ between file systems."""
    return re.sub(r"disk_bytes=\d+", "disk_bytes=", text)
