"""The versions of a graph in shards: which batches all of its shards have, and in which order."""

from __future__ import annotations

import fcntl
import hashlib
import os
import struct
import threading
import zlib
from dataclasses import dataclass

from everedge._errors import CorruptionError, InUseError, InvalidInputError, IoError, PoisonedError
from everedge.cluster._durable import append, make_directory, sync_directory
from everedge.cluster._errors import StaleError

_RECORD = struct.Struct("<QIB3x16s8sQQI")
"""Version, epoch, kind, digest of the batch's name, fingerprint of what it does, edges, owners, checksum of all before it."""
_EPOCH, _BATCH, _SHARDS = 0, 1, 2
_NO_BATCH = "0" * 32 + "-" + "0" * 16
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


def called(name: str, fingerprint: str) -> str:
    """Return what a batch is called in files: 32 hexadecimal digits of its name, and those of what it does.

    So two of one name that do not do the same are never mixed.
    """
    return f"{hashlib.blake2b(name.encode(), digest_size=16).hexdigest()}-{fingerprint}"


class Versions:
    """The log of versions: one file, in which a batch counts once its record is durable.

    Every opening of the graph is an epoch. What was staged in an epoch can be committed in that one only: so what an earlier
    one left behind can be dropped.
    """

    def __init__(self, path: str, shards: int | None = None) -> None:
        """Open the log, or create it for so many shards."""
        self._path = path
        self._lock = threading.Lock()
        make_directory(os.path.dirname(path))
        # It is closed, and so unlocked, when nobody has it any more.
        self._held = open(path, "ab+", buffering=0)
        self._file = self._held.fileno()
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._held.close()
            raise InUseError(f"`{path}` is open elsewhere: one client has a graph at a time") from error
        sync_directory(os.path.dirname(path))
        self._entries: list[Entry] = []
        self._committed: dict[str, tuple[int, str]] = {}
        """The version of each batch by its name's digits, and the fingerprint of what it does."""
        self._cuts = 0
        self._failed: IoError | None = None
        self.epoch = 0
        self.shards = 0
        """How many shards the graph has; 0 in a log that was not created to its end."""
        self.base = 0
        """The version that these shards began with: they have the batches up to it, though not one by one."""
        try:
            self._begin(shards)
        except BaseException:
            # What keeps the error would keep the lock.
            self._held.close()
            raise

    def _begin(self, shards: int | None) -> None:
        self._read()
        if not self.shards:
            if shards is None:
                raise CorruptionError(
                    f"`{self._path}` does not say how many shards there are: restore it from a copy that has all versions; if"
                    " nothing was ever added to the graph, remove the directory"
                )
            self.shards = shards
            self._append(_SHARDS, 0, _NO_BATCH, self.shards)
        self.epoch += 1
        self._append(_EPOCH, 0, _NO_BATCH, 0)

    @property
    def newest(self) -> int:
        """The version of the last batch; 0 before the first."""
        return len(self._committed)

    def committed(self, batch: str) -> int | None:
        """Return the version of a batch that is committed. Raises `InvalidInputError` if one of its name did something else."""
        name, does = batch.split("-")
        known = self._committed.get(name)
        if known is None:
            return None
        version, before = known
        if before != does:
            raise InvalidInputError(
                f"a batch of this name is version {version}, and has other edges or does something else with them: give another"
                " batch another name"
            )
        return version

    def versions_of(self, batches: list[str]) -> dict[str, int]:
        """Return the versions of those batches that are committed."""
        found = {}
        for batch in batches:
            name, does = batch.split("-")
            version, of_version = self._committed.get(name, (0, ""))
            if of_version == does:
                found[batch] = version
        return found

    def commit(self, batch: str, edges: int, epoch: int, owners: list[int], since: int) -> tuple[int, list[Entry]]:
        """Give a batch that all its owners have staged the next version, durably; the one it has if it was committed before.

        Returns also what comes after the version `since`. Raises `StaleError` if it was staged in an earlier epoch.
        """
        with self._lock:
            version = self.committed(batch)
            if version is None:
                if epoch != self.epoch:
                    raise StaleError("the graph was opened anew since the batch was sent: send it again")
                version = self.newest + 1
                mask = sum(1 << shard for shard in owners) if self.shards <= _OWNERS_MAX else 0
                self._append(_BATCH, version, batch, edges, mask)
                name, does = batch.split("-")
                self._committed[name] = version, does
                self._entries.append(Entry(version, batch=batch, owners=mask))
            return version, self._since(since)

    def cut(self) -> Entry:
        """Return a new cut after the newest version."""
        with self._lock:
            self._cuts += 1
            # Not as one of an earlier epoch, which a shard may still have.
            entry = Entry(self.newest, cut=self.epoch << 32 | self._cuts)
            self._entries.append(entry)
            return entry

    def release(self, cut: int) -> None:
        """Forget a cut."""
        with self._lock:
            self._entries = [entry for entry in self._entries if entry.cut != cut]

    def release_all(self) -> None:
        """Forget all cuts."""
        with self._lock:
            self._entries = [entry for entry in self._entries if entry.cut is None]

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
            self._held.close()

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
            if len(record) < _RECORD.size or not any(record):
                # The last one was not written to its end, and not acknowledged.
                os.ftruncate(self._file, end)
                break
            if zlib.crc32(record[:-4]) != _RECORD.unpack(record)[-1]:
                raise CorruptionError(
                    f"`{self._path}`: the record at byte {end} is damaged: restore the file from a copy that has all versions"
                )
            version, epoch, kind, name, does, edges, owners, _ = _RECORD.unpack(record)
            self.epoch = max(self.epoch, epoch)
            if kind == _BATCH:
                self._committed[name.hex()] = version, does.hex()
                self._entries.append(Entry(version, batch=f"{name.hex()}-{does.hex()}", owners=owners))
            elif kind == _SHARDS:
                self.shards, self.base = edges, version

    def _append(self, kind: int, version: int, batch: str, edges: int, owners: int = 0) -> None:
        name, does = map(bytes.fromhex, batch.split("-"))
        body = _RECORD.pack(version, self.epoch, kind, name, does, edges, owners, 0)[:-4]
        if self._failed is not None:
            raise PoisonedError(f"an earlier batch met an error, which may come again: {self._failed}")
        try:
            append(self._file, self._path, body + struct.pack("<I", zlib.crc32(body)))
        except IoError as error:
            # What the file holds then only reading it again can say.
            self._failed = error
            raise
