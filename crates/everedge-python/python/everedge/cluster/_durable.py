"""Files whose bytes outlive a crash."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from uuid import uuid4

from everedge._errors import EveredgeError, IoError, NoSpaceError

MODE = 0o600
"""Of files: who may read a graph is for its owner to say."""


def append(file: int, path: str, record: bytes) -> None:
    """Put a record after a file's end, durably. After an error nothing of it is left there, as far as the system says.

    Raises `NoSpaceError`, `IoError`.
    """
    start = os.fstat(file).st_size
    try:
        with naming(path):
            write_all(file, [memoryview(record)])
            os.fdatasync(file)
    except (IoError, NoSpaceError):
        with naming(path):
            os.ftruncate(file, start)
        raise


def replace_end(file: int, path: str, start: int, said: bytes) -> None:
    """Write, durably, what a file that is open for appending has from a byte on. Raises `NoSpaceError`, `IoError`."""
    with naming(path):
        os.ftruncate(file, start)
        write_all(file, [memoryview(said)])
        os.fdatasync(file)


def write_all(file: int, parts: list[memoryview]) -> None:
    """Write all bytes."""
    for part in parts:
        while part:
            part = part[os.write(file, part) :]


def write_whole(path: str, parts: list[memoryview]) -> None:
    """Write a file that is there as a whole, or is not there, durably. Raises `NoSpaceError`, `IoError`."""
    # Another thread may write the same file now.
    part = f"{path}.{uuid4().hex[:8]}.part"
    with naming(path):
        file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, MODE)
        try:
            write_all(file, parts)
            os.fdatasync(file)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(part)
            raise
        finally:
            os.close(file)
        os.replace(part, path)
        sync_directory(os.path.dirname(path))


@contextlib.contextmanager
def replacing(path: str) -> Iterator[str]:
    """Give a name to write a file under, which gets its own, durably, at the end. Raises `NoSpaceError`, `IoError`."""
    part = f"{path}.{uuid4().hex[:8]}.part"
    with naming(path):
        try:
            yield part
            file = os.open(part, os.O_RDONLY)
            try:
                os.fdatasync(file)
            finally:
                os.close(file)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(part)
            raise
        os.replace(part, path)
        sync_directory(os.path.dirname(path))


def make_directory(path: str) -> None:
    """Make a directory, and what it lies in, durably; one that is there stays."""
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    make_directory(parent)
    with contextlib.suppress(FileExistsError):
        os.mkdir(path)
    sync_directory(parent)


def sync_directory(path: str) -> None:
    """Make the names in a directory durable."""
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


@contextlib.contextmanager
def naming(path: str) -> Iterator[None]:
    """Say of an error which file it concerns, and what to do."""
    try:
        yield
    except EveredgeError:
        raise
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise NoSpaceError(f"no space is left to write `{path}`: make room, and try again") from error
        raise IoError(f"cannot use `{path}`: {error}: see to the disk, and open the graph again") from error
