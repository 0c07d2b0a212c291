"""Batches on disk that are to become part of a shard, and the versions that have."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from everedge import _native
from everedge._errors import CorruptionError, InvalidInputError
from everedge.cluster._durable import MODE, append, make_directory, sync_directory, write_whole

Number = TypeVar("Number", bound=np.generic)
Operation = Literal["add", "delete"]
Columns = tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.float32] | None]
"""Sources, destinations and, if they have some, weights of edges, each of shape `[edges]`."""

_HEAD = struct.Struct("<8sIBBHQ")
"""Magic number, epoch, operation, whether there are weights, 0, edges."""
_CHECKSUM = struct.Struct("<I")
"""Of the head and of the edges after it."""
_NAME = re.compile(r"[0-9a-f]{32}-[0-9a-f]{16}")
"""What `called` gives."""
_MAGIC = b"edgstage"
_OPERATIONS: tuple[Operation, ...] = ("add", "delete")
_APPLIED = struct.Struct("<QQI")
"""A version, how many updates a graph that has it has taken at least, and the checksum of both."""
_APPLIED_BYTES_MAX = 1 << 20
_OF_SHARD = struct.Struct("<8s16sIII")
"""What the file of these begins with: a magic number, the graph, the shard, how many there are, and the checksum of all before."""
_SHARD_MAGIC = b"edgshard"


@dataclass(frozen=True)
class Staged:
    """A batch as a shard keeps it until its version is applied."""

    epoch: int
    operation: Operation
    columns: Columns


class Staging:
    """The staged batches of a shard: a file each, by the name of the batch. What is written is durable when a call returns."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        make_directory(directory)
        for name in os.listdir(directory):
            # Nobody writes them any more: one process has the shard.
            if name.endswith(".part"):
                os.unlink(os.path.join(directory, name))
        self._held: dict[str, Staged] = {}
        """What was staged since the process began; the rest is in files alone."""

    def __iter__(self) -> Iterator[str]:
        """Return the names of the batches that are staged."""
        yield from filter(_NAME.fullmatch, os.listdir(self._directory))

    def __contains__(self, batch: str) -> bool:
        return os.path.exists(self._path(batch))

    def put(self, batch: str, staged: Staged) -> None:
        """Stage a batch; in place of one of the same name."""
        src, dst, weights = staged.columns
        columns: list[npt.NDArray[Any]] = [src, dst] if weights is None else [src, dst, weights]
        body = [column.data.cast("B") for column in columns if column.size]
        operation = _OPERATIONS.index(staged.operation)
        head = _HEAD.pack(_MAGIC, staged.epoch, operation, weights is not None, 0, src.size)
        checksum = zlib.crc32(head)
        for column in body:
            checksum = zlib.crc32(column, checksum)
        # Before it has the name: who applies it drops both.
        self._held[batch] = staged
        try:
            write_whole(self._path(batch), [memoryview(head), memoryview(_CHECKSUM.pack(checksum)), *body])
        except BaseException:
            self._held.pop(batch, None)
            raise

    def get(self, batch: str) -> Staged:
        """Return a staged batch. Raises `CorruptionError` if its file is damaged."""
        return self._held.get(batch) or self._read(self._path(batch))

    def drop(self, batch: str) -> None:
        """Give a batch up; one that is not there is given up already."""
        self._held.pop(batch, None)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path(batch))

    def drop_older(self, epoch: int, but: set[str]) -> None:
        """Give up what was staged before an epoch."""
        for name in self:
            if name in but:
                continue
            try:
                is_old = self.get(name).epoch < epoch
            except FileNotFoundError:
                # It was applied meanwhile.
                continue
            except CorruptionError:
                # It is of no version.
                is_old = True
            if is_old:
                self.drop(name)

    def _path(self, batch: str) -> str:
        return os.path.join(self._directory, batch)

    @staticmethod
    def _read(path: str) -> Staged:
        with open(path, "rb") as file:
            head, checksum, body = file.read(_HEAD.size), file.read(_CHECKSUM.size), file.read()

        def damaged(what: str) -> CorruptionError:
            advice = "a committed batch of the shard is lost; restore the shard's directory from a copy"
            return CorruptionError(f"`{path}`: {what}: {advice}")

        if len(checksum) < _CHECKSUM.size:
            raise damaged("the file ends in its head")
        magic, epoch, operation, has_weights, _, edges = _HEAD.unpack(head)
        if magic != _MAGIC or zlib.crc32(body, zlib.crc32(head)) != _CHECKSUM.unpack(checksum)[0]:
            raise damaged("the checksum does not fit the batch")
        src, dst = (np.frombuffer(body, np.uint32, edges, offset) for offset in (0, 4 * edges))
        weights = np.frombuffer(body, np.float32, edges, 8 * edges) if has_weights else None
        return Staged(epoch, _OPERATIONS[operation], (src, dst, weights))


class Applied:
    """Which version a shard's graph has, in a file that says before each batch how far the graph was.

    A batch is atomic in the graph, and moves its number of updates. So what the graph says after a crash tells whether the last
    batch is in it.
    """

    def __init__(self, path: str, graph: bytes, shard: int, shards: int) -> None:
        """Open the file, or create it. Raises `CorruptionError` if it is of another shard."""
        self._path = path
        body = struct.pack("<8s16sII", _SHARD_MAGIC, graph, shard, shards)
        self._head = body + struct.pack("<I", zlib.crc32(body))
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, MODE)
        try:
            sync_directory(os.path.dirname(path))
            head = os.pread(self._file, _OF_SHARD.size, 0)
            if len(head) < _OF_SHARD.size:
                # It was not created to its end.
                os.ftruncate(self._file, 0)
                append(self._file, path, self._head)
            elif head != self._head:
                raise CorruptionError(f"`{path}` is {self._said_by(head)}, not of shard {shard} of {shards}: restore it from a copy")
        except BaseException:
            os.close(self._file)
            raise

    @staticmethod
    def _said_by(head: bytes) -> str:
        magic, _, shard, shards, checksum = _OF_SHARD.unpack(head)
        is_whole = magic == _SHARD_MAGIC and zlib.crc32(head[:-4]) == checksum
        return f"of shard {shard} of {shards}, perhaps of another graph" if is_whole else "damaged"

    def version(self, updates: int) -> int:
        """Return the version of a graph that has taken so many updates. What is after a record that was torn is cut off.

        Raises `CorruptionError` if the graph has taken fewer than it had.
        """
        records = os.pread(self._file, os.fstat(self._file).st_size, _OF_SHARD.size)
        found: list[tuple[int, int]] = []
        for start in range(0, len(records) - _APPLIED.size + 1, _APPLIED.size):
            version, least, checksum = _APPLIED.unpack_from(records, start)
            if checksum != zlib.crc32(records[start : start + _APPLIED.size - 4]):
                if start + 2 * _APPLIED.size <= len(records):
                    raise CorruptionError(
                        f"`{self._path}`: the record at byte {_OF_SHARD.size + start} is damaged, and others come after it: restore the shard's"
                        " directory from a copy"
                    )
                break
            found.append((version, least))
        os.ftruncate(self._file, _OF_SHARD.size + len(found) * _APPLIED.size)
        if found and updates < found[-1][1] - 1:
            raise CorruptionError(
                f"`{self._path}`: the shard's graph had taken {found[-1][1] - 1} updates, and has {updates} now: restore the shard's"
                " directory from a copy"
            )
        for version, least in reversed(found):
            if updates >= least:
                return version
        return 0

    @property
    def is_empty(self) -> bool:
        """Whether no version was ever begun."""
        return os.fstat(self._file).st_size == _OF_SHARD.size

    def begin(self, version: int, updates: int) -> None:
        """Note, durably, that a version is about to be applied to a graph that has taken so many updates."""
        if os.fstat(self._file).st_size >= _APPLIED_BYTES_MAX:
            self._begin_anew(updates)
        append(self._file, self._path, _record(version, updates + 1))

    def has(self, version: int, updates: int) -> None:
        """Note, durably, that a graph that has taken so many updates has a version."""
        append(self._file, self._path, _record(version, updates))

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _begin_anew(self, updates: int) -> None:
        """Keep the last version only."""
        last = self.version(updates)
        write_whole(self._path, [memoryview(self._head), memoryview(_record(last, updates))])
        file = os.open(self._path, os.O_RDWR | os.O_APPEND)
        os.close(self._file)
        self._file = file


def fingerprint(operation: Operation, columns: Columns) -> str:
    """Return 16 hexadecimal digits of what a batch does: the same for the same edges in any order."""
    said = f"{operation} {columns[0].size} {_native.fingerprint(*columns)}"
    return hashlib.blake2b(said.encode(), digest_size=8).hexdigest()


def checked(columns: Columns) -> Columns:
    """Return columns of one length, aligned."""
    src, dst, weights = columns
    if src.shape != dst.shape or (weights is not None and weights.shape != src.shape):
        raise InvalidInputError("the columns of a batch are not of one length")
    return aligned(src), aligned(dst), None if weights is None else aligned(weights)


def aligned(column: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Return a column whose numbers lie one after the other, and where they may: in a message they may lie anywhere."""
    return np.require(column, requirements=["C", "A"])


def _record(version: int, least: int) -> bytes:
    body = struct.pack("<QQ", version, least)
    return body + struct.pack("<I", zlib.crc32(body))
