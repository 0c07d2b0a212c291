"""Examples of pages in Markdown, which print what the pages say: for tests, and for a wheel in an environment of its own."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent


def check_example(page: str, directory: Path, python: Sequence[str], heading: str = "In Python") -> None:
    """Run the example below a heading in a directory with `python`, and compare what it prints."""
    section = page.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    example, printed = section[section.index("    import everedge\n") :].split("\nprints\n\n")
    shown = re.match("(?:    .*\n)+", printed + "\n")
    assert shown
    done = subprocess.run([*python, "-c", dedent(example)], cwd=directory, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert without_bytes(done.stdout) == without_bytes(dedent(shown[0]))


def without_bytes(text: str) -> str:
    """Leave out what may differ between file systems."""
    return re.sub(r"disk_bytes=\d+", "disk_bytes=", text)
