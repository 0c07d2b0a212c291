"""Exceptions: one class for each kind of error of the Rust library, with the same message."""

from __future__ import annotations


class EveredgeError(Exception):
    """Any error of everedge; its text says what is wrong, where, and what to do."""

    edges_acknowledged: int = 0
    """Edges that the failed call had already put into the graph, durably; they stay."""


class InvalidInputError(EveredgeError, ValueError):
    """The caller asked for what cannot be."""


class FileError(EveredgeError, ValueError):
    """The content of an input file is not what its format asks for; names file and place."""


class ConflictError(EveredgeError):
    """Another writer came between the beginning of a transaction and its commit: do it anew."""


class KernelError(EveredgeError):
    """A kernel's parameter, input or answer is wrong."""


class IoError(EveredgeError, OSError):
    """The operating system refused an operation; `errno` and `filename` say more."""

    def __str__(self) -> str:
        return str(self.args[0])


class NoSpaceError(EveredgeError):
    """The medium is full; the refused batch is wholly absent, the rest stays readable."""


class CorruptionError(EveredgeError):
    """Bytes on the medium are not what was written; names file and offset."""


class VersionError(EveredgeError):
    """A file has a format version that this build does not read."""


class InUseError(EveredgeError):
    """Another process has the graph open, or another call is using the handle."""


class NotAGraphError(EveredgeError):
    """The path does not hold a graph."""


class PoisonedError(EveredgeError):
    """An earlier write failed in a way that only opening the graph again can clear up."""


class ReadOnlyError(EveredgeError):
    """A write to a graph that was opened for reading."""


class ForkedError(EveredgeError):
    """A call on a graph, sealed or not, or a snapshot in a child that was forked from the process that opened it."""


class ClosedError(EveredgeError):
    """A call on a graph, sealed or not, or a snapshot that is closed."""


for _class in (EveredgeError, *EveredgeError.__subclasses__()):
    _class.__module__ = "everedge"
