"""The demo of a graph in shards: it runs, and its page says what happened."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

import pytest

pytest.importorskip("distributed")

SCRIPTS = Path(__file__).parents[3] / "scripts"
BATCHES = 24


def test_the_demo_loses_nothing_and_its_page_says_so(tmp_path: Path) -> None:
    path = os.pathsep.join([str(SCRIPTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "demo_cluster", "--output", str(tmp_path / "out"), "--batches", str(BATCHES)]
    run = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert not run.stderr
    assert f"{BATCHES} batches sent, {BATCHES} there, 0 lost, 0 twice" in run.stdout
    place = tmp_path / "out" / "cluster"
    found, page = json.loads((place / "report.json").read_text()), (place / "report.html").read_text()

    assert (found["lost"], found["twice"], found["newest"], found["dependencies"]) == (0, 0, BATCHES, 309_496)
    assert sorted(done["batch"] for done in found["acknowledged"]) == list(range(BATCHES))
    assert sum(shard["inside"] + shard["shared"] / 2 for shard in found["shards"]) == 309_496
    first, second = found["kills"]
    assert first["held"] == ["shard 2"] and "versions" in second["held"]
    for kill in (first, second):
        assert sorted(opened["what"] for opened in kill["opened"]) == kill["held"]
        assert kill["worker"] not in [opened["worker"] for opened in kill["opened"]]
        assert kill["at"] < kill["went_on"] and found["workers"][kill["worker"] - 1]["ended"] >= kill["at"]
    assert found["ingest_begun"] < first["at"] < found["ingest_ended"]
    assert [(one["kernel"], one["is_equal"]) for one in found["runs"]] == [
        (kernel, True) for kernel in ("pagerank", "bfs", "wcc", "kcore")
    ]
    assert found["runs"][0]["tries"] == 2 and found["runs"][0]["begun"] < second["at"] < found["runs"][0]["ended"]

    assert "<h1>Four workers, two of them killed, nothing lost</h1>" in page
    before, after = page.count('<circle class="before"'), page.count('<circle class="after"')
    assert (before + after, before >= BATCHES * 2 // 5) == (BATCHES, True)
    assert all(f"{shard['inside'] + shard['shared']:,}</text>" in page for shard in found["shards"])
    assert all(f"{name}</text>" in page and f"{rank:.2%}</text>" in page for name, rank in found["ranking"])
    assert found["ranking"][0][0] == "libc6"
    assert not re.search(r"(?:src|href)\s*=|url\(|@import", page)
    drawings = re.findall(r"<svg .*?</svg>", page, re.DOTALL)
    assert len(drawings) == 11
    for drawing in drawings:
        xml.etree.ElementTree.fromstring(drawing)


def test_a_directory_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "cluster").mkdir()
    (tmp_path / "cluster" / "thesis.txt").write_text("mine")
    command = [sys.executable, "-m", "demo_cluster", "--output", str(tmp_path)]
    path = os.pathsep.join([str(SCRIPTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    run = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert run.returncode == 1 and "holds other files" in run.stderr
    assert (tmp_path / "cluster" / "thesis.txt").read_text() == "mine"
