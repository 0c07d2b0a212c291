"""What the tests share."""

from __future__ import annotations

from pathlib import Path

import hypothesis
import pytest

hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=25)
hypothesis.settings.load_profile("fixed")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A path where there is nothing yet."""
    return tmp_path / "graph"
