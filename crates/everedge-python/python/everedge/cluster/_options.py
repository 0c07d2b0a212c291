"""How the graphs of shards are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from everedge._errors import InvalidInputError

_WORDS = {"layout": ("adjacency", "pma", "blocks"), "medium": ("file", "pmem")}


@dataclass(frozen=True)
class Options:
    """As of `everedge.Graph`."""

    directed: bool = True
    weighted: bool = False
    simple: bool = False
    layout: Literal["adjacency", "pma", "blocks"] = "adjacency"
    medium: Literal["file", "pmem"] = "file"

    @classmethod
    def of(cls, given: dict[str, Any]) -> Options:
        """Return those that are given, and the others as they are by default. Raises `InvalidInputError`."""
        for name, value in given.items():
            if name in _WORDS and value not in _WORDS[name]:
                raise InvalidInputError(f"{name}={value!r}: of a graph in shards it is one of {', '.join(_WORDS[name])}")
            if name not in _WORDS and not isinstance(value, bool):
                raise InvalidInputError(f"{name}={value!r}: it is True or False")
        return cls(**given)
