"""The guide's examples do what the guide says.

The blocks of a page run in their order, in one folder that is empty at the beginning:

- `console`: each line after `$ ` is a command for the shell, with those after `> ` that go on with it. Below it stands
  all that it prints.
- `python`: the blocks of a page are one program. A `text` block that comes next stands for all that the block prints;
  without one it prints nothing.
- `csv`: a file. The last line of prose before it ends with its name in backquotes and a colon.

No other block is there, but one: Python code for a peer that is not installed, after the comment `<!-- not run: PEER -->`.

Times, sizes, rates, checksums and numbers of threads and checks are left out of the comparison, and numbers count to
six decimals.
With EVEREDGE_GUIDE=write a page takes in what its commands and programs print, for its writer to look at.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import io
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import everedge

ROOT = Path(__file__).parents[3]
GUIDE = ROOT / "docs" / "guide"
PAGES = sorted(GUIDE.glob("*.md"))
PEERS = {"Kùzu": ("kuzu", "ladybug"), "Ladybug": ("ladybug",), "PySpark": ("pyspark",), "Raphtory": ("raphtory",)}
"""Peers that the tests do not install, and the modules that a block for them imports."""
THEIRS = {("Graph", "Read_Ncol"), ("Graph", "Read_Edgelist"), ("Graph", "load_from_file")}
"""Calls of a peer whose names read as ours."""
OPTIONAL = ("duckdb", "igraph", "matplotlib", "networkx", "pandas", "polars", "scipy")
"""Modules that the tests install for some versions of Python only."""


@dataclass
class Block:
    """A block of a page between two fences."""

    kind: str
    lines: list[str]
    first: int
    """The number of its first line, from 1."""
    before: str
    """The last line before it that is not empty."""


def blocks_of(page: Path) -> list[Block]:
    blocks: list[Block] = []
    fence, before = "", ""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if not fence and line.startswith("```"):
            fence = "```"
            blocks.append(Block(line[3:], [], number + 1, before))
        elif fence and line == fence:
            fence = ""
        elif fence:
            blocks[-1].lines.append(line)
        else:
            assert not line.startswith("    "), f"{page.name}:{number}: code without a fence is not run"
            before = line or before
    assert not fence, f"{page.name}: the last block has no end"
    return blocks


def is_for_peer(block: Block) -> bool:
    mark = re.fullmatch(r"<!-- not run: (.+) -->", block.before)
    if not mark:
        return False
    code = "\n".join(block.lines)
    is_theirs = any(re.search(rf"\bimport {name}\b|\b{name} import\b", code) for name in PEERS[mark[1]])
    assert is_theirs and "everedge" not in code, f"line {block.first}: only code for {mark[1]} may be left out"
    return True


def masked(text: str) -> str:
    """Leave out what differs from run to run and from machine to machine."""
    text = re.sub(r"\d[\d,.]* (ns|µs|ms|s|min)\b", "TIME", text)
    text = re.sub(r"\d[\d,.]* (bytes|B|KiB|MiB|GiB)\b", "SIZE", text)
    text = re.sub(r"\d[\d,]* a second", "RATE", text)
    text = re.sub(r"\d[\d,]* checks", "CHECKS", text)
    text = re.sub(r"on \d+ threads?", "on THREADS", text)
    text = re.sub(r"\b[0-9a-f]{8}\b", "CHECKSUM", text)
    text = re.sub(r"\d+\.\d{7,}", lambda number: f"{float(number[0]):.6f}", text)
    return "\n".join(line.rstrip() for line in text.rstrip().splitlines())


class Run:
    """A page that runs, and what is not as it says."""

    def __init__(self, page: Path, folder: Path) -> None:
        self.page, self.folder = page, folder
        self.names: dict[str, Any] = {"__name__": "guide"}
        self.wrong: list[str] = []
        self.printed: dict[int, list[str]] = {}
        """By the number of a block, what stands in it if the page takes that in."""

    def all(self) -> None:
        blocks = blocks_of(self.page)
        for at, block in enumerate(blocks):
            after = blocks[at + 1] if at + 1 < len(blocks) else None
            match block.kind:
                case "console":
                    self.shell(at, block)
                case "python" if not is_for_peer(block):
                    shown = after if after and after.kind == "text" else None
                    self.python(at, block, shown)
                case "csv":
                    name = re.search(r"`([\w.-]+)`:$", block.before)
                    assert name, f"{self.page.name}:{block.first}: which file is this?"
                    (self.folder / name[1]).write_text("\n".join(block.lines) + "\n")
                case "text":
                    assert blocks[at - 1].kind == "python", f"{self.page.name}:{block.first}: printed by what?"
                case "python" | "{toctree}":
                    pass
                case other:
                    pytest.fail(f"{self.page.name}:{block.first}: a block of `{other}` cannot run")

    def shell(self, at: int, block: Block) -> None:
        self.printed[at] = []
        for command, number, shown in commands_of(block):
            environment = {**os.environ, "PATH": f"{folder_of_command()}{os.pathsep}{os.environ['PATH']}"}
            done = subprocess.run(
                ["bash", "-c", "\n".join(line[2:] for line in command)],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            self.printed[at] += [*command, *self.compare(number, shown, done.stdout)]

    def python(self, at: int, block: Block, shown: Block | None) -> None:
        # Lines of a traceback are those of the page.
        code = "\n" * (block.first - 1) + "\n".join(block.lines)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, self.page.name, "exec"), self.names)
        lines = self.compare(block.first, shown.lines if shown else [], printed.getvalue())
        if shown:
            self.printed[at + 1] = lines
        elif lines:
            self.printed[at] = [*block.lines, "```", "", "```text", *lines]

    def compare(self, number: int, shown: list[str], printed: str) -> list[str]:
        """Return what the page is to show: what it shows, if that is true."""
        said = "\n".join(shown)
        if masked(said) == masked(printed):
            return shown
        self.wrong.append(f"{self.page.name}:{number} prints\n{printed}\nand not\n{said}\n")
        return [line.rstrip() for line in printed.rstrip().splitlines()]

    def write(self) -> None:
        """Put what was printed into the page."""
        lines = self.page.read_text().splitlines()
        blocks = blocks_of(self.page)
        for at, printed in sorted(self.printed.items(), reverse=True):
            start = blocks[at].first - 1
            lines[start : start + len(blocks[at].lines)] = printed
        self.page.write_text("\n".join(lines) + "\n")


def commands_of(block: Block) -> Iterator[tuple[list[str], int, list[str]]]:
    """Yield each command with its lines as they stand, the number of the first, and what it prints."""
    at = 0
    while at < len(block.lines):
        assert block.lines[at].startswith("$ "), f"line {block.first + at}: a command begins with `$ `"
        start = at
        at += 1
        while at < len(block.lines) and block.lines[at].startswith("> "):
            at += 1
        command = block.lines[start:at]
        begin = at
        while at < len(block.lines) and not block.lines[at].startswith("$ "):
            at += 1
        yield command, block.first + start, block.lines[begin:at]


def folder_of_command() -> Path:
    """Return where the command line is that was built last."""
    built = [ROOT / "target" / kind / "everedge" for kind in ("debug", "release")]
    there = [path for path in built if path.exists()]
    assert there, "there is no target/debug/everedge and no target/release/everedge: `make extension` builds it"
    return max(there, key=lambda path: path.stat().st_mtime).parent


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_names_is_there(page: Path) -> None:
    """In prose and tables `s` is a snapshot; options are those of some command."""
    prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    known = {
        "s": everedge.Snapshot,
        "snapshot": everedge.Snapshot,
        "graph": everedge.Graph,
        "Graph": everedge.Graph,
        "timeline": everedge.Timeline,
        "Timeline": everedge.Timeline,
        "everedge": everedge,
    }
    for code in re.findall(r"`([^`\n]+)`", prose):
        for owner, name in re.findall(r"(?<![\w.])(\w+)\.(\w+)", code):
            is_there = hasattr(known[owner], name) if owner in known else True
            assert is_there or (owner, name) in THEIRS, f"{page.name}: `{code}`: there is no {owner}.{name}"
        for option in re.findall(r"(?<!\w)--[a-z][a-z-]+", code):
            assert option in options(), f"{page.name}: `{code}`: no command has {option}"


@functools.cache
def options() -> set[str]:
    """Return the options of the commands that the guide names."""
    command = str(folder_of_command() / "everedge")
    commands = ("run", "neighbors", "path", "commit", "versions", "window", "seal", "export")
    texts = [subprocess.check_output([command, name, "--help"], text=True) for name in commands]
    texts.append(subprocess.check_output([command, "ingest", "--help-all"], text=True))
    return set(re.findall(r"--[a-z][a-z-]+", "\n".join(texts)))


def test_the_guide_has_pages() -> None:
    assert len(PAGES) > 10


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_does_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = page.read_text()
    for name in OPTIONAL:
        if re.search(rf"^import .*\b{name}\b", text, re.MULTILINE) and not importlib.util.find_spec(name):
            pytest.skip(f"{name} is not installed for this version of Python")
    monkeypatch.chdir(tmp_path)
    run = Run(page, tmp_path)
    run.all()
    if os.environ.get("EVEREDGE_GUIDE") == "write":
        run.write()
    else:
        assert not run.wrong, "\n".join(run.wrong)
