"""What names a version of a graph."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TypeAlias

from everedge._errors import InvalidInputError

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Version:
    """A version of a graph."""

    number: int
    """From 1 on, each one more than the one before."""
    microseconds: int
    """The time that it shows, in microseconds since 1970: of its commit, unless another was given."""
    name: str | None
    """What it is called."""
    vertices: int
    """Vertices that its graph has."""
    edges: int
    """Edges that its graph has."""
    additions: int
    """Edges that the version before does not have."""
    deletions: int
    """Edges that only the version before has."""

    @property
    def time(self) -> datetime:
        """The time that it shows, in UTC: of its commit, unless another was given."""
        return _EPOCH + timedelta(microseconds=self.microseconds)


VersionChoice: TypeAlias = "int | str | datetime | Version"
"""A version by its number, its name, or a time: the last one that is not later.

A string that is a date, such as `2024-05-31`, means its midnight in UTC. A `datetime` has a time zone.
"""


def microseconds(time: datetime) -> int:
    """Return a moment in microseconds since 1970."""
    if time.utcoffset() is None:
        what = "without a time zone it is no moment; .astimezone() takes it as local time"
        raise InvalidInputError(f"{time!r}: {what}")
    return (time - _EPOCH) // timedelta(microseconds=1)
