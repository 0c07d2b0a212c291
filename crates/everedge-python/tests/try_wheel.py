"""Installs a wheel where there is nothing else, and does there what the README does.

`python tests/try_wheel.py WHEEL` makes an environment of that Python in a folder of its own, installs the wheel
and what it depends on, and later NetworkX and SciPy. Nothing of the project's folders can be imported there. It ends
with an error at the first thing that is not as it should be.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from examples import check_example

ROOT = Path(__file__).parents[3]
BYTES_MAX = 15_000_000
NAME = re.compile(r"everedge-[\d.]+-cp310-abi3-manylinux_2_(\d+)_\w+\.whl")
GLIBC_MAX = 28
MEMBERS = (
    r"everedge/_native\.abi3\.so",
    r"everedge/_native\.pyi",
    r"everedge/py\.typed",
    r"everedge-.*/entry_points\.txt",
    r"everedge-.*/licenses/LICENSE-MIT",
    r"everedge-.*/licenses/LICENSE-APACHE",
    r"everedge-.*/licenses/THIRD-PARTY-NOTICES",
)
"""What a wheel must hold, as patterns of whole names."""

OPENED_AGAIN = """
import importlib.util, pathlib, sys
import everedge
assert pathlib.Path(everedge.__file__).is_relative_to(sys.prefix), everedge.__file__
assert importlib.util.find_spec("networkx") is None, "the environment is not clean"
with everedge.Graph("votes") as g:
    assert g.verify().ok and g.stats().edges == 5
    try:
        g.add_edges(["ann"], ["bob"])
    except everedge.InvalidInputError as error:
        assert "the graph's ids are integers, not strings" in str(error), error
    else:
        raise AssertionError("a name was taken for a number")
    try:
        g.add_edge(1, 2)
    except AttributeError as error:
        assert "add_edges" in str(error), error
"""

FOUND = """
import networkx as nx
assert "everedge" in nx.utils.backends.backends, "NetworkX finds no entry point"
"""


def check_contents(wheel: Path) -> None:
    """Look at a wheel's name, its size and the names of what is in it."""
    tag = NAME.fullmatch(wheel.name)
    assert tag, f"{wheel.name} is not named as a wheel for CPython 3.10 and newer on Linux"
    assert int(tag[1]) <= GLIBC_MAX, f"{wheel.name} needs glibc 2.{tag[1]}: 2.{GLIBC_MAX} is the newest allowed"
    size = wheel.stat().st_size
    assert size <= BYTES_MAX, f"{wheel.name} has {size:,} bytes: at most {BYTES_MAX:,} are allowed"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        print(f"{wheel.name}: {size:,} bytes, {sum(one.file_size for one in archive.infolist()):,} unpacked")
    for member in MEMBERS:
        assert any(re.fullmatch(member, name) for name in names), f"{wheel.name} holds no {member}"


def main(wheel: Path) -> None:
    """Check the wheel, and use it."""
    check_contents(wheel)
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder, "environment")
        subprocess.run([sys.executable, "-I", "-m", "venv", str(environment)], check=True)
        # `-I` leaves out variables and folders that lead to other packages.
        python = [str(environment / "bin" / "python"), "-I"]
        install = [*python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, str(wheel)], check=True)
        check_example((ROOT / "README.md").read_text(), Path(folder), python)
        subprocess.run([*python, "-c", OPENED_AGAIN], cwd=folder, check=True)
        subprocess.run([*install, "networkx>=3.4", "scipy>=1.11"], check=True)
        subprocess.run([*python, "-c", FOUND], cwd=folder, check=True)
        check_example((ROOT / "README.md").read_text(), Path(folder), python, "NetworkX, faster")
    print(f"{wheel.name}: installed and used with {sys.version.split()[0]}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python tests/try_wheel.py WHEEL")
    main(Path(sys.argv[1]).resolve())
