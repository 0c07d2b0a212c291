"""The README's example prints what the README says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

README = Path(__file__).parents[3] / "README.md"


def test_the_example_prints_what_it_is_said_to(tmp_path: Path) -> None:
    section = README.read_text().partition("## In Python\n")[2].partition("\n## ")[0]
    example, printed = section[section.index("    import everedge\n") :].split("\nprints\n\n")
    run = [sys.executable, "-c", dedent(example)]
    done = subprocess.run(run, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert without_bytes(done.stdout) == without_bytes(dedent(printed).strip("\n") + "\n")


def without_bytes(text: str) -> str:
    """Leave out what may differ between file systems."""
    return re.sub(r"disk_bytes=\d+", "disk_bytes=", text)
