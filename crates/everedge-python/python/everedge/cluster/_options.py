"""How the graphs of shards are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Options:
    """As of `everedge.Graph`."""

    directed: bool = True
    weighted: bool = False
    simple: bool = False
    layout: Literal["adjacency", "pma", "blocks"] = "adjacency"
    medium: Literal["file", "pmem"] = "file"
