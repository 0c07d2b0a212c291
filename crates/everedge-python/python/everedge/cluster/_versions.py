"""The versions of a graph in shards: which batches all of its shards have, and in which order."""

from __future__ import annotations

import hashlib
import os
import struct
import threading
import zlib
from dataclasses import dataclass

from everedge._errors import CorruptionError, InvalidInputError
from everedge.cluster._durable import append, sync_directory
from everedge.cluster._errors import StaleError

_RECORD = struct.Struct("<QIB3x16sQQI")
"""Version, epoch, kind, digest of the batch's name, edges, owners, checksum of all before it."""
_EPOCH, _BATCH, _SHARDS = 0, 1, 2
_NO_BATCH = "0" * 32
_OWNERS_MAX = 64
"""So many shards have a bit each that says whether a batch has edges for it."""


@dataclass(frozen=True)
class Entry:
    """A batch that has a version, or a cut: a place between versions where every shard takes a snapshot."""

    version: int
    batch: str | None = None
    cut: int | None = None
    owners: int = 0
    """A bit for each shard that has edges of the batch; 0 where there are too many shards."""

    def needs(self, shard: int) -> bool:
        """Return whether a batch is known to have edges of a shard."""
        return shard < _OWNERS_MAX and bool(self.owners >> shard & 1)


def digest(name: str) -> str:
    """Return what a batch is called in files: 32 hexadecimal digits of its name."""
    return hashlib.blake2b(name.encode(), digest_size=16).hexdigest()


class Versions:
    """The log of versions: one file, in which a batch counts once its record is durable.

    Every opening of the graph is an epoch. What was staged in an epoch can be committed in that one only: so what an earlier
    one left behind can be dropped.
    """

    def __init__(self, path: str, shards: int | None = None) -> None:
        """Open the log, or create it for so many shards."""
        self._path = path
        self._lock = threading.Lock()
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        sync_directory(os.path.dirname(path))
        self._entries: list[Entry] = []
        self._committed: dict[str, tuple[int, int]] = {}
        """The version and the edges of each batch."""
        self._cuts = 0
        self.epoch = 0
        self.shards = 0
        """How many shards the graph has; 0 in a log that was not created to its end."""
        self.base = 0
        """The version that these shards began with: they have the batches up to it, though not one by one."""
        self._read()
        if not self.shards:
            self.shards = shards or 0
            self._append(_SHARDS, 0, _NO_BATCH, self.shards)
        self.epoch += 1
        self._append(_EPOCH, 0, _NO_BATCH, 0)

    @property
    def newest(self) -> int:
        """The version of the last batch; 0 before the first."""
        return len(self._committed)

    def committed(self, batch: str, edges: int) -> int | None:
        """Return the version of a batch that is committed. Raises `InvalidInputError` if it had another number of edges."""
        known = self._committed.get(batch)
        if known is None:
            return None
        version, before = known
        if before != edges:
            raise InvalidInputError(
                f"a batch of this name is version {version} and has {before} edges, not {edges}: give other edges another name"
            )
        return version

    def versions_of(self, batches: list[str]) -> dict[str, int]:
        """Return the versions of those batches that are committed."""
        return {batch: self._committed[batch][0] for batch in batches if batch in self._committed}

    def commit(self, batch: str, edges: int, epoch: int, owners: list[int], since: int) -> tuple[int, list[Entry]]:
        """Give a batch that all its owners have staged the next version, durably; the one it has if it was committed before.

        Returns also what comes after the version `since`. Raises `StaleError` if it was staged in an earlier epoch.
        """
        with self._lock:
            version = self.committed(batch, edges)
            if version is None:
                if epoch != self.epoch:
                    raise StaleError("the graph was opened anew since the batch was sent: send it again")
                version = self.newest + 1
                mask = sum(1 << shard for shard in owners) if self.shards <= _OWNERS_MAX else 0
                self._append(_BATCH, version, batch, edges, mask)
                self._committed[batch] = version, edges
                self._entries.append(Entry(version, batch=batch, owners=mask))
            return version, self._since(since)

    def cut(self) -> Entry:
        """Return a new cut after the newest version."""
        with self._lock:
            self._cuts += 1
            entry = Entry(self.newest, cut=self._cuts)
            self._entries.append(entry)
            return entry

    def release(self, cut: int) -> None:
        """Forget a cut."""
        with self._lock:
            self._entries = [entry for entry in self._entries if entry.cut != cut]

    def since(self, version: int) -> list[Entry]:
        """Return what comes after a version, in order: cuts of that version, too."""
        with self._lock:
            return self._since(version)

    def grow(self, shards: int) -> None:
        """Let the graph have so many shards from now on, durably: they have the newest version."""
        with self._lock:
            self._append(_SHARDS, self.newest, _NO_BATCH, shards)
            self.shards, self.base = shards, self.newest

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1

    def _since(self, version: int) -> list[Entry]:
        first = len(self._entries)
        while first:
            entry = self._entries[first - 1]
            if entry.version < version or (entry.version == version and entry.cut is None):
                break
            first -= 1
        return self._entries[first:]

    def _read(self) -> None:
        records = os.pread(self._file, os.fstat(self._file).st_size, 0)
        end = 0
        for end in range(0, len(records), _RECORD.size):
            record = records[end : end + _RECORD.size]
            if len(record) < _RECORD.size or zlib.crc32(record[:-4]) != _RECORD.unpack(record)[-1]:
                if end + _RECORD.size < len(records):
                    raise CorruptionError(
                        f"`{self._path}`: the record at byte {end} is damaged, and others come after it: restore the file from"
                        " a copy"
                    )
                # The last one was not acknowledged.
                os.ftruncate(self._file, end)
                break
            version, epoch, kind, name, edges, owners, _ = _RECORD.unpack(record)
            self.epoch = max(self.epoch, epoch)
            if kind == _BATCH:
                batch = name.hex()
                self._committed[batch] = version, edges
                self._entries.append(Entry(version, batch=batch, owners=owners))
            elif kind == _SHARDS:
                self.shards, self.base = edges, version

    def _append(self, kind: int, version: int, batch: str, edges: int, owners: int = 0) -> None:
        body = _RECORD.pack(version, self.epoch, kind, bytes.fromhex(batch), edges, owners, 0)[:-4]
        append(self._file, body + struct.pack("<I", zlib.crc32(body)))
