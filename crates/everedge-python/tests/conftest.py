"""What the tests share."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import entry_points
import hypothesis
import pytest

# NetworkX looks for backends when it is imported.
if not entry_points.are_there():
    _installed = tempfile.TemporaryDirectory()
    entry_points.write(Path(_installed.name))
    sys.path.append(_installed.name)
    # Examples run in processes of their own.
    _known = [path for path in (os.environ.get("PYTHONPATH"), _installed.name) if path]
    os.environ["PYTHONPATH"] = os.pathsep.join(_known)

hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=25)
hypothesis.settings.load_profile("fixed")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A path where there is nothing yet."""
    return tmp_path / "graph"
