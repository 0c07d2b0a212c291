"""What names a version of a graph."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import TypeAlias

import numpy as np

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

    def __repr__(self) -> str:
        what = f"number={self.number}, name={self.name!r}, time={self.time.isoformat()!r}, vertices={self.vertices}"
        return f"Version({what}, edges={self.edges}, additions={self.additions}, deletions={self.deletions})"


VersionTime: TypeAlias = "date | np.datetime64"
"""A moment: a `datetime` with a time zone, or, in UTC, the midnight of a `date` or an `np.datetime64`."""

VersionChoice: TypeAlias = "int | str | VersionTime | Version"
"""A version by its number, its name, or a time: the last one that is not later.

A string that is a date, such as `2024-05-31`, means its midnight in UTC, as a `date` does.
"""


def microseconds(time: VersionTime) -> int:
    """Return a moment in microseconds since 1970."""
    if isinstance(time, np.datetime64):
        if np.isnat(time):
            raise InvalidInputError(f"{time!r} is no moment")
        return int(time.astype("datetime64[us]").astype(np.int64))
    if not isinstance(time, datetime):
        time = datetime(time.year, time.month, time.day, tzinfo=timezone.utc)
    if time.utcoffset() is None:
        what = "without a time zone it is no moment; .replace(tzinfo=timezone.utc) takes it as UTC"
        raise InvalidInputError(f"{time!r}: {what}")
    return (time - _EPOCH) // timedelta(microseconds=1)
