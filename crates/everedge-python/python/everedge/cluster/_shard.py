"""A shard on the disk of its worker: an ordinary graph, the batches that are to come into it, and its part of kernels.

It knows nothing of Dask, nor of where the other shards are: `everedge.cluster._host` carries what it says.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import threading
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from everedge import _native
from everedge._errors import ClosedError, CorruptionError, InvalidInputError, NotAGraphError
from everedge._graph import Graph
from everedge._snapshot import Snapshot
from everedge.cluster._durable import make_directory, naming, replacing, write_whole
from everedge.cluster._errors import StaleError
from everedge.cluster._options import Options
from everedge.cluster._staging import Applied, Columns, Operation, Staged, Staging, aligned, checked
from everedge.cluster._versions import Entry

Message = npt.NDArray[np.uint8]
Question = tuple[str, list[tuple[str, str]]]
"""The name of a kernel and its parameters, as texts."""


_SAVES_MAX = 2


@dataclass
class Cut:
    """A snapshot of a shard at a version that all shards have one of."""

    version: int
    snapshot: Snapshot
    native: _native.Shard
    """The same, with what is shared with other shards."""


class _ByAge:
    """The edges of a snapshot as a stream of Arrow, the oldest of parallel ones first: the next deletion takes the newest, here and
    where they come.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the stream as a capsule."""
        return self._snapshot._native.stream(by_age=True)


@dataclass
class Work:
    """A kernel that is being answered."""

    cut: int
    run: _native.ShardRun


def _opened(path: str, options: Options, *, is_new: bool) -> Graph:
    """Open the graph of a shard, or create it. What is left of a creation that did not come to its end is removed if it is new."""

    def opened() -> Graph:
        graph = Graph(
            path,
            directed=options.directed,
            weighted=options.weighted,
            simple=options.simple,
            layout=options.layout,
            medium=options.medium,
            ids="dense",
        )
        # Without edges it stays, too.
        with graph._using():
            graph._is_unshaped = False
        return graph

    try:
        return opened()
    except (InvalidInputError, NotAGraphError):
        if not is_new:
            raise
        shutil.rmtree(path)
        return opened()


class Shard:
    """A shard that one process has open.

    Vertices v with `v mod shards = shard` are its own. Its graph has every edge with an end among them.
    """

    def __init__(self, directory: str, graph: bytes, shard: int, shards: int, options: Options) -> None:
        """Open a shard of a graph, or create it."""
        self.shard = shard
        self.shards = shards
        self._directory = directory
        self._weighted = options.weighted
        with naming(directory), contextlib.ExitStack() as failed:
            make_directory(directory)
            self._applied = Applied(os.path.join(directory, "applied"), graph, shard, shards)
            failed.callback(self._applied.close)
            self._graph = _opened(os.path.join(directory, "graph"), options, is_new=self._applied.is_empty)
            failed.callback(self._graph.close)
            self._staging = Staging(os.path.join(directory, "staged"))
            self._version = self._applied.version(self._updates())
            failed.pop_all()
        self._epoch = 0
        """Nothing that was staged before this one becomes a version."""
        self._changing = threading.Lock()
        self._lock = threading.Lock()
        self._cuts: dict[int, Cut] = {}
        self._works: dict[str, Work] = {}

    @property
    def version(self) -> int:
        """The newest version that is in its graph. Later ones may have no edges here."""
        return self._version

    def stage(self, batch: str, epoch: int, operation: Operation, columns: Columns) -> int:
        """Keep a batch durably until its version is applied; returns the version that the graph has now.

        Raises `StaleError` for one of an epoch that is over.
        """
        if epoch < self._epoch:
            raise StaleError("the graph was opened anew since the batch was sent: send it again")
        self._staging.put(batch, Staged(epoch, operation, checked(columns)))
        return self._version

    def drop_needless(self, epoch: int, versions: dict[str, int]) -> None:
        """Give up what was staged before an epoch and did not become a version, and what is in the graph."""
        self._epoch = epoch
        self._staging.drop_older(epoch, set(versions))
        for batch, version in versions.items():
            if version <= self._version:
                self._staging.drop(batch)

    def apply(self, entries: Sequence[Entry]) -> int:
        """Bring versions into the graph, in order, and take the snapshots of cuts; returns the version that it has then.

        Entries that it has seen change nothing. Raises `StaleError` if one is left out between its version and the last of them.
        """
        with self._changing:
            for entry in entries:
                if entry.cut is not None:
                    self._take(entry.cut, entry.version)
                elif entry.version > self._version + 1:
                    raise StaleError(f"shard {self.shard} has version {self._version}, and was told of {entry.version} next")
                elif entry.version > self._version:
                    self._apply_batch(entry)
                elif entry.batch is not None:
                    # It came again.
                    self._drop(entry.batch)
            return self._version

    def _apply_batch(self, entry: Entry) -> None:
        batch = entry.batch
        if batch is not None and batch in self._staging:
            staged = self._staging.get(batch)
            src, dst, weights = staged.columns
            self._applied.begin(entry.version, self._updates())
            if staged.operation == "add":
                self._graph.add_edges(src, dst, weights)
            else:
                self._graph.delete_edges(src, dst)
        elif entry.needs(self.shard):
            raise CorruptionError(
                f"`{self._directory}`: version {entry.version} has edges of shard {self.shard}, and they are not there: restore"
                " the directory from a copy"
            )
        # Before anything else: it must not come in again.
        self._version = entry.version
        if batch is not None:
            self._drop(batch)

    def _drop(self, batch: str) -> None:
        # What stays of it is dropped when shards meet again.
        with contextlib.suppress(OSError):
            self._staging.drop(batch)

    def _take(self, cut: int, version: int) -> None:
        # Who was opened again since a cut cannot take it any more, and is asked for another one.
        if cut in self._cuts or version != self._version:
            return
        snapshot = self._graph.snapshot()
        self._cuts[cut] = Cut(version, snapshot, _native.Shard(snapshot._native, self.shard, self.shards))

    def fill(self, columns: Columns) -> None:
        """Take in edges of a shard that this one comes from, before it has a version."""
        self._graph.add_edges(*columns)

    def filled(self, vertices: npt.NDArray[np.uint32], version: int) -> None:
        """Take in the vertices that it owns. All that it was filled with is durable then, and makes a version."""
        self._graph.add_vertices(aligned(vertices))
        self._graph.sync()
        self._applied.has(version, self._updates())
        self._version = version

    def parts(self, cut: int, shards: int) -> Iterator[dict[int, Columns]]:
        """Return the edges of a cut, some at a time, for each of the shards that this one becomes where there are so many: itself,
        if there are as many as before.
        """
        import pyarrow

        becomes = range(self.shard, shards, self.shards)
        for batch in pyarrow.RecordBatchReader.from_stream(_ByAge(self._cut(cut).snapshot)):
            weights = batch["weight"].to_numpy() if "weight" in batch.schema.names else None
            columns = checked((batch["src"].to_numpy(), batch["dst"].to_numpy(), weights))
            divided = _native.divided(*columns, shards)
            yield {shard: divided[shard] for shard in becomes if divided[shard][0].size}

    def own_edges(self, cut: int) -> Iterator[Columns]:
        """Return the edges of a cut that begin at its vertices, some at a time; an undirected one begins at the smaller end."""
        import pyarrow

        for batch in pyarrow.RecordBatchReader.from_stream(_ByAge(self._cut(cut).snapshot)):
            src = batch["src"].to_numpy()
            own = src % self.shards == self.shard
            weights = batch["weight"].to_numpy()[own] if "weight" in batch.schema.names else None
            yield src[own], batch["dst"].to_numpy()[own], weights

    def edge_count(self, cut: int) -> int:
        """Return how many these are."""
        return sum(src.size for src, _, _ in self.own_edges(cut))

    def write_parquet(self, cut: int, folder: str) -> int:
        """Write them to a file of its own in a folder, durably; returns how many they are."""
        import pyarrow
        import pyarrow.parquet

        make_directory(folder)
        columns = [("src", pyarrow.uint32()), ("dst", pyarrow.uint32())]
        schema = pyarrow.schema(columns + [("weight", pyarrow.float32())] * self._weighted)
        path = os.path.join(folder, f"part-{self.shard:05}.parquet")
        edges = 0
        with replacing(path) as part, pyarrow.parquet.ParquetWriter(part, schema, compression="zstd") as file:
            for own in self.own_edges(cut):
                edges += own[0].size
                file.write_batch(pyarrow.record_batch([column for column in own if column is not None], schema=schema))
        return edges

    def release_all(self) -> None:
        """Give all cuts up."""
        for cut in list(self._cuts):
            self.release(cut)

    def release(self, cut: int) -> None:
        """Give a cut up, and what was asked of it."""
        with self._lock:
            given_up = self._cuts.pop(cut, None)
            self._works = {name: work for name, work in self._works.items() if work.cut != cut}
        if given_up is not None:
            given_up.snapshot.close()

    def prepare(self, cut: int) -> tuple[int, int, list[npt.NDArray[np.uint32]]]:
        """Return how many vertices it owns, a number above all that it knows, and its ghosts of each shard."""
        native = self._shared(cut)
        owned = native.owned()
        bound = int(owned[-1]) + 1 if owned.size else 0
        return owned.size, bound, [native.ghosts(other) for other in range(self.shards)]

    def mirror(self, cut: int, shard: int, ghosts: npt.NDArray[np.uint32]) -> None:
        """Take in which own vertices are ghosts on another shard."""
        self._shared(cut).set_mirrored(shard, aligned(ghosts))

    def version_of(self, cut: int) -> int:
        """Return the version of a cut."""
        return self._cut(cut).version

    def vertices(self, cut: int) -> npt.NDArray[np.uint32]:
        """Return the vertices that it owns, ascending."""
        return self._shared(cut).owned()

    def owned(self, cut: int) -> npt.NDArray[np.uint32] | None:
        """Return the same; none if they are all that it could have, up to its largest."""
        owned = self.vertices(cut)
        could = (int(owned[-1]) - self.shard) // self.shards + 1 if owned.size else 0
        return None if owned.size == could else owned

    def degrees(self, cut: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
        """Return the out-degrees and in-degrees of its vertices, in their order."""
        return self._shared(cut).degrees()

    def hub(self, cut: int) -> tuple[int, int]:
        """Return the largest out-degree of its vertices, and the first that has it; -1 and 0 if it has none."""
        degrees, _ = self.degrees(cut)
        if not degrees.size:
            return -1, 0
        row = int(degrees.argmax())
        return int(degrees[row]), int(self._shared(cut).owned()[row])

    def has(self, cut: int, vertex: int) -> bool:
        """Return whether it owns a vertex."""
        owned = self._shared(cut).owned()
        row = int(np.searchsorted(owned, np.uint32(vertex)))
        return row < owned.size and int(owned[row]) == vertex

    def begin(
        self,
        name: str,
        cut: int,
        question: Question,
        whole: tuple[int, int],
        saved: tuple[str, int] | None,
        threads: int,
    ) -> tuple[list[Message], list[float]]:
        """Begin to answer a kernel, anew or before the superstep that was saved; returns what it says to each shard, and its sums."""
        known = None if saved is None else (saved[1], np.load(io.BytesIO(self._read_save(*saved))))
        run, (messages, sums) = self._shared(cut).begin(question, whole, known, threads)
        with self._lock:
            self._works[name] = Work(cut, run)
        return messages, sums

    def step(self, name: str, totals: list[float], messages: list[Message]) -> tuple[list[Message], list[float]]:
        """Do a superstep with the sums over all shards and what each has said; returns what it says to each, and its sums."""
        work = self._work(name)
        return self._shared(work.cut).step(work.run, totals, messages)

    def values(self, name: str) -> npt.NDArray[Any]:
        """Return what a kernel knows of the own vertices, in their order."""
        work = self._work(name)
        return self._shared(work.cut).values(work.run)

    def save(self, name: str, saves: str, step: int) -> None:
        """Keep on disk what a kernel knows before a superstep. Of what was kept before under this name, the last stays, too:
        another shard may not have come so far.
        """
        file = io.BytesIO()
        np.save(file, self.values(name))
        values = file.getbuffer()
        write_whole(self._save_path(saves, step), [values, memoryview(zlib.crc32(values).to_bytes(4, "little"))])
        for old in self._steps(saves)[:-_SAVES_MAX]:
            os.unlink(self._save_path(saves, old))

    def saved(self, saves: str) -> list[int]:
        """Return the supersteps before which it has saved under a name, ascending, but for those whose file is damaged."""
        whole = []
        for step in self._steps(saves):
            with contextlib.suppress(OSError, CorruptionError):
                self._read_save(saves, step)
                whole.append(step)
        return whole

    def _read_save(self, saves: str, step: int) -> bytes:
        path = self._save_path(saves, step)
        with open(path, "rb") as file:
            said = file.read()
        if len(said) < 4 or zlib.crc32(said[:-4]) != int.from_bytes(said[-4:], "little"):
            raise CorruptionError(f"`{path}`: the checksum does not fit what was saved: ask the kernel again")
        return said[:-4]

    def _steps(self, saves: str) -> list[int]:
        files = [file for file in os.listdir(self._directory) if file.startswith(f"{saves}-") and file.endswith(".npy")]
        return sorted(int(file.removeprefix(f"{saves}-").removesuffix(".npy")) for file in files)

    def stop(self, name: str) -> None:
        """Give a kernel up, also in the middle of a superstep."""
        with self._lock:
            work = self._works.pop(name, None)
        if work is not None:
            work.run.cancel()

    def forget_all(self) -> None:
        """Give up all that was saved: for kernels of a client that is gone."""
        for file in os.listdir(self._directory):
            if file.endswith((".npy", ".part")):
                os.unlink(os.path.join(self._directory, file))

    def forget(self, saves: str) -> None:
        """Give up what was saved under a name."""
        for step in self._steps(saves):
            os.unlink(self._save_path(saves, step))

    def staged(self) -> list[str]:
        """Return the batches that are staged."""
        return list(self._staging)

    def close(self) -> None:
        """Close the graph."""
        with self._changing:
            self.release_all()
            self._graph.close()
            self._applied.close()

    def _updates(self) -> int:
        with self._graph._using() as native:
            return native.state()[1]

    def _cut(self, cut: int) -> Cut:
        found = self._cuts.get(cut)
        if found is None:
            raise ClosedError(f"shard {self.shard} has no cut {cut}: it was opened again")
        return found

    def _shared(self, cut: int) -> _native.Shard:
        return self._cut(cut).native

    def _work(self, name: str) -> Work:
        work = self._works.get(name)
        if work is None:
            raise ClosedError(f"shard {self.shard} does not work on `{name}`: it was opened again, or the kernel was given up")
        return work

    def _save_path(self, saves: str, step: int) -> str:
        return os.path.join(self._directory, f"{saves}-{step}.npy")
