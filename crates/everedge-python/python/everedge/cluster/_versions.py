"""The versions of a graph in shards: which batches all of its shards have, and in which order."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import struct
import threading
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from io import FileIO
from typing import Any
from uuid import uuid4

from everedge._errors import CorruptionError, EveredgeError, InUseError, InvalidInputError, IoError, PoisonedError
from everedge.cluster._durable import MODE, append, make_directory, naming, replace_end, sync_directory
from everedge.cluster._errors import StaleError
from everedge.cluster._options import Options

_HEAD = struct.Struct("<QIB3x16s8sQII")
"""Version, epoch, kind, digest of the batch's name, fingerprint of what it does, edges, bytes after it, checksum of all before it.

What comes after it has a checksum of its own: of a batch, a bit for each shard that has edges of it; of the first record, how the
graph was made.
"""
_CHECKSUM = struct.Struct("<I")
_EPOCH, _BATCH, _SHARDS = 0, 1, 2
_FORMAT = 1
_SECTOR_BYTES = 512
_NO_BATCH = "0" * 32 + "-" + "0" * 16
Ask = Callable[..., Any]
"""Calls a method of a `Copy`, elsewhere."""


@dataclass(frozen=True)
class Entry:
    """A batch that has a version, or a cut: a place between versions where every shard takes a snapshot."""

    version: int
    batch: str | None = None
    cut: int | None = None
    owners: int = 0
    """A bit for each shard that has edges of the batch."""

    def needs(self, shard: int) -> bool:
        """Return whether a batch has edges of a shard."""
        return bool(self.owners >> shard & 1)


def called(name: str, fingerprint: str) -> str:
    """Return what a batch is called in files: 32 hexadecimal digits of its name, and those of what it does.

    So two of one name that do not do the same are never mixed.
    """
    return f"{hashlib.blake2b(name.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()}-{fingerprint}"


@dataclass
class Log:
    """What a log says."""

    options: Options = field(default_factory=Options)
    replicas: int = 1
    graph: bytes = bytes(16)
    """What tells the graph from others."""
    shards: int = 0
    """How many shards the graph has; 0 in a log that was not created to its end."""
    base: int = 0
    """The version that these shards began with: they have the batches up to it, though not one by one."""
    epoch: int = 0
    attached: int = 0
    """The epoch in which copies were attached last; 0 if none ever were."""
    end: int = 0
    """How many bytes of it are whole."""
    entries: list[Entry] = field(default_factory=list)
    committed: dict[str, tuple[int, str]] = field(default_factory=dict)
    """The version of each batch by its name's digits, and the fingerprint of what it does."""

    @classmethod
    def read(cls, path: str) -> Log:
        """Read a log, up to a record that was not written to its end. Raises `CorruptionError`."""
        if os.path.exists(path) and not os.path.isfile(path):
            raise CorruptionError(f"`{path}` is no file: restore it from a copy that has all versions")
        try:
            with open(path, "rb") as file:
                said = file.read()
        except OSError as error:
            raise IoError(f"cannot read `{path}`: {error}: see to the disk") from error
        log = cls()
        while log.end < len(said):
            head, rest = said[log.end : log.end + _HEAD.size], log.end + _HEAD.size
            if len(head) < _HEAD.size or not any(said[log.end :]):
                # It was not acknowledged.
                break
            version, epoch, kind, name, does, edges, size, checksum = _HEAD.unpack(head)
            more = said[rest : rest + size + (_CHECKSUM.size if size else 0)]
            is_whole = zlib.crc32(head[: -_CHECKSUM.size]) == checksum
            if is_whole and size and len(more) < size + _CHECKSUM.size:
                break
            if not is_whole or (size and zlib.crc32(more[:size]) != _CHECKSUM.unpack(more[size:])[0]):
                if log._is_torn(said):
                    break
                raise CorruptionError(
                    f"`{path}`: the record at byte {log.end} is damaged: restore the file from a copy that has all versions"
                )
            log._take(path, version, epoch, kind, f"{name.hex()}-{does.hex()}", edges, more[:size])
            log.end = rest + len(more)
        return log

    def _is_torn(self, said: bytes) -> bool:
        """Return whether what is after the whole records is one that a crash cut short: a sector of it was not written, and reads zero."""
        end = len(said)
        if end - self.end > _HEAD.size + self.shards // 8 + 1 + _CHECKSUM.size:
            return False
        sectors = range(self.end // _SECTOR_BYTES * _SECTOR_BYTES + _SECTOR_BYTES, end, _SECTOR_BYTES)
        return any(not any(said[self.end : sector]) or not any(said[sector:end]) for sector in sectors)

    def _take(self, path: str, version: int, epoch: int, kind: int, batch: str, edges: int, more: bytes) -> None:
        self.epoch = max(self.epoch, epoch)
        if kind == _EPOCH and edges:
            self.attached = epoch
        if kind == _BATCH:
            self.add(version, batch, int.from_bytes(more, "little"))
        elif kind == _SHARDS:
            self.shards, self.base = edges, version
            if more:
                said = json.loads(more)
                if said["format"] != _FORMAT:
                    raise CorruptionError(f"`{path}` has format {said['format']}, this everedge reads {_FORMAT}: use a newer one")
                self.options, self.replicas = Options(**said["options"]), said["replicas"]
                self.graph = bytes.fromhex(said["graph"])

    def add(self, version: int, batch: str, owners: int) -> None:
        """Take in a batch that has a version."""
        name, does = batch.split("-")
        self.committed[name] = version, does
        self.entries.append(Entry(version, batch=batch, owners=owners))


class Copy:
    """A copy of the log, on another worker, from which it goes on if the first one is lost."""

    def __init__(self, path: str) -> None:
        """Open it, or create it."""
        self._path = path
        self._held = _locked(path)

    def has(self, size: int, checksum: int) -> bool:
        """Return whether it begins with so many bytes that have this checksum."""
        with naming(self._path):
            said = os.pread(self._held.fileno(), size, 0)
        return len(said) == size and zlib.crc32(said) == checksum

    def take(self, said: bytes) -> None:
        """Have, durably, this and nothing else. What it had stays until it has."""
        part = f"{self._path}.part"
        with naming(part), contextlib.suppress(FileNotFoundError):
            os.unlink(part)
        new = _locked(part)
        try:
            replace_end(new.fileno(), part, 0, said)
            with naming(self._path):
                # It is locked before it has the name.
                os.replace(part, self._path)
                sync_directory(os.path.dirname(self._path))
        except BaseException:
            new.close()
            raise
        self._held.close()
        self._held = new

    def put(self, start: int, said: bytes) -> None:
        """Write, durably, what the log has from a byte on, in place of what is there."""
        if start > os.fstat(self._held.fileno()).st_size:
            raise StaleError(f"`{self._path}` is behind the log")
        replace_end(self._held.fileno(), self._path, start, said)

    def close(self) -> None:
        """Close the file."""
        self._held.close()


class Versions:
    """The log of versions: one file, in which a batch counts once its record is durable there and in all copies.

    Every opening of the graph is an epoch, and so is every set of copies. What was staged in an epoch can be committed in that one
    only: so what an earlier one left behind can be dropped, and of two files that differ the one of the later epoch counts.
    """

    def __init__(self, path: str, created: tuple[int, Options, int] | None = None) -> None:
        """Open the log, or create it for so many shards, made in this way, each with so many copies."""
        self._path = path
        self._lock = threading.Lock()
        self._copies: list[Ask] = []
        self._cuts = 0
        self._failed: IoError | None = None
        # It is closed, and so unlocked, when nobody has it any more.
        self._held = _locked(path)
        self._file = self._held.fileno()
        try:
            self._log = Log.read(path)
            self._begin(created)
        except BaseException:
            # What keeps the error would keep the lock.
            self._held.close()
            raise

    def _begin(self, created: tuple[int, Options, int] | None) -> None:
        os.ftruncate(self._file, self._log.end)
        if not self._log.shards:
            if created is None:
                raise CorruptionError(
                    f"`{self._path}` does not say how many shards there are: restore it from a copy that has all versions; if"
                    " nothing was ever added to the graph, remove the directory"
                )
            self._log.shards, self._log.options, self._log.replicas = created
            self._log.graph = uuid4().bytes
            made = {
                "format": _FORMAT,
                "graph": self._log.graph.hex(),
                "options": asdict(self._log.options),
                "replicas": self._log.replicas,
            }
            self._append(_SHARDS, 0, _NO_BATCH, self._log.shards, json.dumps(made).encode())
        self._begin_epoch()

    def _begin_epoch(self) -> None:
        self._log.epoch += 1
        try:
            self._append(_EPOCH, 0, _NO_BATCH, len(self._copies))
        except BaseException:
            self._log.epoch -= 1
            raise

    @property
    def log(self) -> Log:
        """What it says as a whole."""
        return self._log

    def attach(self, copies: Sequence[Ask]) -> int:
        """Write to these copies from now on, which get what they lack; returns the epoch that begins so."""
        with self._lock:
            said = os.pread(self._file, os.fstat(self._file).st_size, 0)
            checksum = zlib.crc32(said)
            for ask in copies:
                if not ask("has", len(said), checksum):
                    ask("take", said)
            self._copies = list(copies)
            self._begin_epoch()
            return self._log.epoch

    @property
    def epoch(self) -> int:
        """The epoch that it is in."""
        return self._log.epoch

    @property
    def newest(self) -> int:
        """The version of the last batch; 0 before the first."""
        return len(self._log.committed)

    def committed(self, batch: str) -> int | None:
        """Return the version of a batch that is committed. Raises `InvalidInputError` if one of its name did something else."""
        name, does = batch.split("-")
        known = self._log.committed.get(name)
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
            version, of_version = self._log.committed.get(name, (0, ""))
            if of_version == does:
                found[batch] = version
        return found

    def commit(
        self, batch: str, edges: int, epoch: int, owners: list[int], since: int, shards: int, reached: int = 0
    ) -> tuple[int, list[Entry]]:
        """Give a batch that all its owners, of so many shards, have staged the next version, durably; the one it has if it was committed
        before.

        Returns also what comes after the version `since`. Raises `StaleError` if it was staged in an earlier epoch, or for another
        number of shards; `CorruptionError` if the log ends before the version that a shard has `reached`.
        """
        with self._lock:
            version = self.committed(batch)
            if version is None:
                if epoch != self._log.epoch or shards != self._log.shards:
                    raise StaleError("the graph was opened anew since the batch was sent: send it again")
                if reached > self.newest:
                    # A version that a shard has already would pass there for one that came again.
                    raise behind(self._path, reached, self.newest)
                version = self.newest + 1
                bits = sum(1 << shard for shard in owners)
                self._append(_BATCH, version, batch, edges, bits.to_bytes((self._log.shards + 7) // 8, "little"))
                self._log.add(version, batch, bits)
            return version, self._since(since)

    def cut(self) -> Entry:
        """Return a new cut after the newest version."""
        with self._lock:
            self._cuts += 1
            # Not as one of an earlier epoch, which a shard may still have.
            entry = Entry(self.newest, cut=self._log.epoch << 32 | self._cuts)
            self._log.entries.append(entry)
            return entry

    def release(self, cut: int) -> None:
        """Forget a cut."""
        with self._lock:
            self._log.entries = [entry for entry in self._log.entries if entry.cut != cut]

    def release_all(self) -> None:
        """Forget all cuts."""
        with self._lock:
            self._log.entries = [entry for entry in self._log.entries if entry.cut is None]

    def since(self, version: int) -> list[Entry]:
        """Return what comes after a version, in order: cuts of that version, too."""
        with self._lock:
            return self._since(version)

    def is_behind(self, shard: int, version: int, staged: list[str]) -> bool:
        """Return whether a copy of a shard that has a version, and has staged these batches, lacks one that counts."""
        with self._lock:
            lacks = (entry.batch for entry in self._since(version) if entry.cut is None and entry.needs(shard))
            return version < self._log.base or not set(staged).issuperset(lacks)

    def grow(self, shards: int, version: int) -> None:
        """Let the graph have so many shards from now on, durably. They have all batches up to a version, which must be the newest.

        Raises `StaleError` if another one came meanwhile.
        """
        with self._lock:
            if version != self.newest:
                raise StaleError("a batch has come in since the shards were divided: divide them again")
            self._append(_SHARDS, self.newest, _NO_BATCH, shards)
            self._log.shards, self._log.base = shards, self.newest

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._held.close()

    def _since(self, version: int) -> list[Entry]:
        entries = self._log.entries
        first = len(entries)
        while first:
            entry = entries[first - 1]
            if entry.version < version or (entry.version == version and entry.cut is None):
                break
            first -= 1
        return entries[first:]

    def _append(self, kind: int, version: int, batch: str, edges: int, more: bytes = b"") -> None:
        if self._failed is not None:
            raise PoisonedError(f"an earlier batch met an error, which may come again: {self._failed}")
        name, does = map(bytes.fromhex, batch.split("-"))
        head = _HEAD.pack(version, self._log.epoch, kind, name, does, edges, len(more), 0)[: -_CHECKSUM.size]
        record = head + _CHECKSUM.pack(zlib.crc32(head)) + (more + _CHECKSUM.pack(zlib.crc32(more)) if more else b"")
        start = os.fstat(self._file).st_size
        # Copies first: what only they have was not acknowledged, and the next record takes its place.
        for ask in self._copies:
            ask("put", start, record)
        try:
            append(self._file, self._path, record)
        except IoError as error:
            # What the file holds then only reading it again can say.
            self._failed = error
            raise


def behind(path: str, reached: int, newest: int) -> CorruptionError:
    """Return the error for a log that ends before a version that a shard has."""
    return CorruptionError(
        f"`{path}` ends with version {newest}, and a shard has version {reached}: restore it from a copy that has all versions"
    )


def _locked(path: str) -> FileIO:
    """Open a file, or create it, and lock it for as long as it is held."""
    make_directory(os.path.dirname(path))
    with naming(path):
        held = FileIO(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK, MODE), "rb+")
    try:
        with naming(path):
            sync_directory(os.path.dirname(path))
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        held.close()
        if isinstance(error, EveredgeError):
            raise
        raise InUseError(f"`{path}` is open elsewhere: one client has a graph at a time") from error
    return held
