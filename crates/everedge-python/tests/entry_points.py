"""Lets NetworkX find the backend where the package is not installed: writes what an installation would.

`python tests/entry_points.py DIRECTORY` writes it there; the directory then goes into `PYTHONPATH`.
"""

from __future__ import annotations

import sys
from importlib.metadata import entry_points
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
GROUP = '[project.entry-points."'


def write(directory: Path) -> None:
    """Write the entry points of `pyproject.toml` as those of an installed package."""
    package = directory / "everedge-0.dist-info"
    package.mkdir(parents=True, exist_ok=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: everedge\nVersion: 0\n")
    lines, is_group = [], False
    for line in PYPROJECT.read_text().splitlines():
        if line.startswith("["):
            is_group = line.startswith(GROUP)
            line = f"[{line.removeprefix(GROUP).rstrip(']').rstrip(chr(34))}]" if is_group else line
        if is_group:
            lines.append(line.replace('"', ""))
    (package / "entry_points.txt").write_text("\n".join(lines) + "\n")


def are_there() -> bool:
    """Return whether an installed package has them."""
    return any(point.name == "everedge" for point in entry_points(group="networkx.backends"))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
