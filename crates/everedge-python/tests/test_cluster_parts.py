"""What a shard and the versions keep on disk, without a cluster: every crash between two writes, and damaged files."""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

distributed = pytest.importorskip("distributed")

import everedge
from everedge.cluster import StaleError, _durable, _host, _shard, _staging, _versions
from everedge.cluster._options import Options
from everedge.cluster._shard import Shard
from everedge.cluster._staging import Staged, Staging
from everedge.cluster._versions import Copy, Log, Versions, called


SHARDS = 2
CREATED = SHARDS, Options(), 1
GRAPH = bytes(range(16))


def digest(name: str) -> str:
    return called(name, "0123456789abcdef")


class CrashError(BaseException):
    """The process ends here; it is no error that code handles."""


@pytest.fixture
def crash_at(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Return a function that lets a process end at its n-th durable step from then on: before it, or in the middle of it."""
    left = [1 << 30]

    def step(call: Callable[..., object], tear: Callable[..., None] | None = None) -> Callable[..., object]:
        def called(*arguments: object) -> object:
            left[0] -= 1
            if left[0] < 0:
                raise CrashError
            if left[0] == 0 and tear is not None:
                tear(*arguments)
                raise CrashError
            return call(*arguments)

        return called

    def tear_append(file: int, path: str, record: bytes) -> None:
        os.write(file, record[: len(record) // 2])

    append = step(_durable.append, tear_append)
    whole = step(_durable.write_whole)
    def tear_end(file: int, path: str, start: int, said: bytes) -> None:
        os.ftruncate(file, start)
        os.write(file, said[: len(said) // 2])

    monkeypatch.setattr(_versions, "replace_end", step(_durable.replace_end, tear_end))
    monkeypatch.setattr(_staging, "append", append)
    monkeypatch.setattr(_versions, "append", append)
    monkeypatch.setattr(_staging, "write_whole", whole)
    monkeypatch.setattr(_shard.Graph, "add_edges", step(_shard.Graph.add_edges))
    monkeypatch.setattr(_shard.Graph, "delete_edges", step(_shard.Graph.delete_edges))
    monkeypatch.setattr(_staging.Staging, "drop", step(_staging.Staging.drop))

    def set_left(steps: int) -> None:
        left[0] = steps

    yield set_left
    left[0] = 1 << 30


def asking(copy: Copy) -> Callable[..., object]:
    return lambda method, *arguments: getattr(copy, method)(*arguments)


class Cluster:
    """Two shards, their versions and a copy of these in one process."""

    def __init__(self, path: Path) -> None:
        self.versions = Versions(str(path / "versions"), CREATED)
        self.copy = Copy(str(path / "versions-copy-1"))
        self.versions.attach([asking(self.copy)])
        self.shards = [Shard(str(path / f"shard-{shard}"), GRAPH, shard, SHARDS, Options()) for shard in range(SHARDS)]
        for shard in self.shards:
            shard.drop_needless(self.versions.epoch, self.versions.versions_of(shard.staged()))

    def send(self, name: str, operation: _staging.Operation, edges: list[tuple[int, int]]) -> int:
        # As `Hosts.send`, but for not asking first whether the batch is there.
        batch = digest(name)
        for shard in self.shards:
            own = [edge for edge in edges if shard.shard in (edge[0] % SHARDS, edge[1] % SHARDS)]
            src, dst = (np.array([edge[end] for edge in own], np.uint32) for end in (0, 1))
            shard.stage(batch, self.versions.epoch, operation, (src, dst, None))
        version, entries = self.versions.commit(batch, len(edges), self.versions.epoch, [0, 1], 0, SHARDS)
        for shard in self.shards:
            shard.apply(entries)
        return version

    def edges(self) -> list[tuple[int, int]]:
        """Return the edges that both shards have at one cut: of each, those that begin at its own vertices."""
        cut = self.versions.cut()
        found = []
        for shard in self.shards:
            shard.apply(self.versions.since(0))
            held = shard._cut(cut.cut).snapshot.edges()
            ends = zip(np.asarray(held.src).tolist(), np.asarray(held.dst).tolist(), strict=True)
            found += [edge for edge in ends if edge[0] % SHARDS == shard.shard]
        return sorted(found)

    def end(self) -> None:
        """End as a process does that is killed: nothing more is written."""
        self.versions.close()
        self.copy.close()
        for shard in self.shards:
            with contextlib.suppress(BaseException):
                shard._graph.close()


BATCHES: list[tuple[str, _staging.Operation, list[tuple[int, int]]]] = [
    ("a", "add", [(0, 1), (2, 4), (1, 3), (1, 3)]),
    ("b", "delete", [(1, 3), (7, 7), (2, 4)]),
    ("c", "add", [(5, 0), (2, 4)]),
]


def model(count: int) -> list[tuple[int, int]]:
    edges: list[tuple[int, int]] = []
    for _, operation, batch in BATCHES[:count]:
        for edge in batch:
            if operation == "add":
                edges.append(edge)
            elif edge in edges:
                edges.remove(edge)
    return sorted(edges)


@pytest.mark.parametrize("kept", ["versions", "versions-copy-1"])
def test_a_crash_at_any_step_leaves_whole_batches_and_those_sent_again_come_once(
    tmp_path: Path, crash_at: Callable[[int], None], kept: str
) -> None:
    """Also where the first of the files of versions is lost, and the graph goes on with the copy."""
    steps, has_crashed = 0, True
    while has_crashed:
        steps += 1
        path = tmp_path / str(steps)
        path.mkdir()
        cluster = Cluster(path)
        acknowledged, has_crashed = 0, False
        crash_at(steps)
        try:
            for batch in BATCHES:
                cluster.send(*batch)
                acknowledged += 1
        except CrashError:
            has_crashed = True
        crash_at(1 << 30)
        cluster.end()
        os.replace(path / kept, path / "versions")
        cluster = Cluster(path)
        newest = cluster.versions.newest
        assert acknowledged <= newest <= acknowledged + 1, steps
        assert cluster.edges() == model(newest), steps
        for number, batch in enumerate(BATCHES, 1):
            assert cluster.send(*batch) == number
        assert cluster.edges() == model(len(BATCHES)), steps
        assert all(shard.staged() == [] for shard in cluster.shards), steps
        cluster.end()
    assert steps > 20


def test_a_batch_of_an_earlier_epoch_is_not_committed(tmp_path: Path) -> None:
    first = Versions(str(tmp_path / "versions"), CREATED)
    epoch = first.epoch
    first.close()
    second = Versions(str(tmp_path / "versions"))
    assert second.epoch == epoch + 1
    with pytest.raises(StaleError, match="send it again"):
        second.commit(digest("late"), 3, epoch, [0], 0, SHARDS)
    assert second.newest == 0


def test_a_copy_of_the_versions_is_what_they_are(tmp_path: Path) -> None:
    versions = Versions(str(tmp_path / "versions"), (SHARDS, Options(weighted=True), 3))
    copies = [Copy(str(tmp_path / f"versions-copy-{number}")) for number in (1, 2)]
    versions.commit(digest("a"), 1, versions.epoch, [0], 0, SHARDS)
    epoch = versions.epoch
    assert versions.attach([asking(copy) for copy in copies]) == epoch + 1
    with pytest.raises(StaleError):
        versions.commit(digest("b"), 1, epoch, [0], 0, SHARDS)
    versions.commit(digest("b"), 1, epoch + 1, [0, 1], 0, SHARDS)
    copies[1].close()
    # What one copy alone has got was not acknowledged, and makes way for what comes next.
    with pytest.raises(ValueError, match="closed"):
        versions.commit(digest("c"), 1, epoch + 1, [1], 0, SHARDS)
    assert (versions.newest, len(Log.read(str(tmp_path / "versions-copy-1")).committed)) == (2, 3)
    versions.attach([asking(copies[0])])
    versions.commit(digest("d"), 1, versions.epoch, [1], 0, SHARDS)
    versions.close()
    copies[0].close()
    logs = [Log.read(str(tmp_path / name)) for name in ("versions", "versions-copy-1", "versions-copy-2")]
    assert logs[0] == logs[1]
    assert (logs[0].options, logs[0].replicas, logs[0].shards) == (Options(weighted=True), 3, SHARDS)
    assert [(entry.batch, entry.owners) for entry in logs[0].entries] == [(digest("a"), 1), (digest("b"), 3), (digest("d"), 2)]
    assert (logs[2].epoch, len(logs[2].committed)) == (epoch + 1, 2)


def test_a_copy_of_a_shard_that_lacks_a_batch_is_known(tmp_path: Path) -> None:
    versions = Versions(str(tmp_path / "versions"), (200, Options(), 1))
    for name, owners in (("a", [0, 199]), ("b", [70])):
        versions.commit(digest(name), 1, versions.epoch, owners, 0, 200)
    assert not versions.is_behind(1, 0, [])
    assert versions.is_behind(199, 0, [])
    assert not versions.is_behind(199, 0, [digest("a")])
    assert not versions.is_behind(199, 1, [])
    assert versions.is_behind(70, 1, [digest("a")])
    versions.grow(400, 2)
    assert versions.is_behind(1, 1, [])
    assert not versions.is_behind(1, 2, [])


def test_no_version_is_given_that_a_shard_has_reached(tmp_path: Path) -> None:
    versions = Versions(str(tmp_path / "versions"), CREATED)
    versions.commit(digest("a"), 1, versions.epoch, [0], 0, SHARDS, 0)
    with pytest.raises(everedge.CorruptionError, match="ends with version 1, and a shard has version 3"):
        versions.commit(digest("b"), 1, versions.epoch, [0], 0, SHARDS, 3)
    # One that came again has its own.
    assert versions.commit(digest("a"), 1, versions.epoch, [0], 0, SHARDS, 3)[0] == 1
    assert versions.newest == 1


def test_what_a_dead_client_left_behind_is_in_nobodys_way(tmp_path: Path) -> None:
    """An error that keeps a shard in a cycle has it open until Python looks for cycles."""
    gc.disable()
    try:
        cycle: list[object] = [Versions(str(tmp_path / "versions"), CREATED)]
        cycle.append(cycle)
        del cycle
        with pytest.raises(everedge.InUseError):
            Versions(str(tmp_path / "versions"))
        assert _host._opened(partial(Versions, str(tmp_path / "versions"))).newest == 0
    finally:
        gc.enable()


def test_a_name_is_of_one_batch(tmp_path: Path) -> None:
    versions = Versions(str(tmp_path / "versions"), CREATED)
    edges = np.array([1, 2], np.uint32), np.array([3, 4], np.uint32), None
    others = np.array([1, 2], np.uint32), np.array([4, 3], np.uint32), None
    again = np.array([2, 1], np.uint32), np.array([4, 3], np.uint32), None
    same = called("x", _staging.fingerprint("add", edges))
    assert versions.commit(same, 2, versions.epoch, [0], 0, SHARDS)[0] == 1
    assert versions.commit(called("x", _staging.fingerprint("add", again)), 2, versions.epoch, [0], 0, SHARDS)[0] == 1
    for other in (_staging.fingerprint("add", others), _staging.fingerprint("delete", edges)):
        with pytest.raises(everedge.InvalidInputError, match="another"):
            versions.commit(called("x", other), 2, versions.epoch, [0], 0, SHARDS)
    assert versions.newest == 1


def test_versions_are_open_once(tmp_path: Path) -> None:
    versions = Versions(str(tmp_path / "versions"), CREATED)
    before = (tmp_path / "versions").read_bytes()
    with pytest.raises(everedge.InUseError, match="one client"):
        Versions(str(tmp_path / "versions"))
    assert (tmp_path / "versions").read_bytes() == before
    del versions
    assert Versions(str(tmp_path / "versions")).epoch == 2


def test_damaged_versions_are_an_error_and_a_torn_last_record_is_none(tmp_path: Path) -> None:
    path = tmp_path / "versions"
    versions = Versions(str(path), CREATED)
    for name in "abc":
        versions.commit(digest(name), 1, versions.epoch, [0], 0, SHARDS)
    versions.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:-7])
    assert Versions(str(path)).newest == 2
    for at in range(0, len(whole), 5):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 8]) + whole[at + 1 :])
        with pytest.raises(everedge.CorruptionError, match="restore the file"):
            Versions(str(path))


def test_a_staged_batch_that_is_damaged_or_gone_is_an_error(tmp_path: Path) -> None:
    staging = Staging(str(tmp_path / "staged"))
    columns = np.arange(3, dtype=np.uint32), np.arange(3, dtype=np.uint32), np.ones(3, np.float32)
    staging.put("b", Staged(1, "add", columns))
    path = tmp_path / "staged" / "b"
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 32]) + whole[at + 1 :])
        with pytest.raises(everedge.CorruptionError, match="restore"):
            Staging(str(tmp_path / "staged")).get("b")
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(everedge.CorruptionError):
            Staging(str(tmp_path / "staged")).get("b")
    shard = Shard(str(tmp_path / "shard"), GRAPH, 0, SHARDS, Options())
    versions = Versions(str(tmp_path / "versions"), CREATED)
    _, entries = versions.commit(digest("gone"), 2, versions.epoch, [0], 0, SHARDS)
    with pytest.raises(everedge.CorruptionError, match="has edges of shard 0"):
        shard.apply(entries)


def test_a_creation_that_did_not_come_to_its_end_is_begun_again(tmp_path: Path) -> None:
    for _ in range(2):
        Shard(str(tmp_path / "shard"), GRAPH, 0, SHARDS, Options()).close()
        for file in (tmp_path / "shard" / "graph").rglob("manifest.toml"):
            file.unlink()
    shard = Shard(str(tmp_path / "shard"), GRAPH, 0, SHARDS, Options())
    columns = np.array([0], np.uint32), np.array([1], np.uint32), None
    shard.stage("b", 1, "add", columns)
    assert shard.apply([_versions.Entry(1, batch="b", owners=1)]) == 1
    shard.close()
    for file in (tmp_path / "shard" / "graph").rglob("manifest.toml"):
        file.unlink()
    with pytest.raises(everedge.InvalidInputError, match="manifest"):
        Shard(str(tmp_path / "shard"), GRAPH, 0, SHARDS, Options())


def test_a_batch_that_two_threads_stage_at_once_is_whole(tmp_path: Path) -> None:
    staging = Staging(str(tmp_path / "staged"))
    columns = np.arange(3000, dtype=np.uint32), np.arange(3000, dtype=np.uint32), None
    errors: list[BaseException] = []

    def put() -> None:
        try:
            for _ in range(50):
                staging.put("b", Staged(1, "add", columns))
        except OSError as error:
            errors.append(error)

    threads = [threading.Thread(target=put) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert Staging(str(tmp_path / "staged")).get("b").columns[0].size == 3000
    assert os.listdir(tmp_path / "staged") == ["b"]


def test_a_full_disk_and_a_failing_one_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    versions = Versions(str(tmp_path / "versions"), CREATED)
    write, sync = os.write, os.fdatasync

    def full(file: int, data: memoryview) -> int:
        write(file, data[:5])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(everedge.NoSpaceError, match="make room"):
        versions.commit(digest("a"), 1, versions.epoch, [0], 0, SHARDS)
    monkeypatch.setattr(os, "write", write)
    assert versions.commit(digest("a"), 1, versions.epoch, [0], 0, SHARDS)[0] == 1

    def fail(file: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fdatasync", fail)
    with pytest.raises(everedge.IoError, match="see to the disk"):
        versions.commit(digest("b"), 1, versions.epoch, [0], 0, SHARDS)
    monkeypatch.setattr(os, "fdatasync", sync)
    with pytest.raises(everedge.PoisonedError):
        versions.commit(digest("b"), 1, versions.epoch, [0], 0, SHARDS)
    versions.close()
    again = Versions(str(tmp_path / "versions"))
    assert again.newest == 1
    assert again.commit(digest("b"), 1, again.epoch, [0], 0, SHARDS)[0] == 2


def test_what_was_applied_is_known_after_many_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_staging, "_APPLIED_BYTES_MAX", 100)
    applied = _staging.Applied(str(tmp_path / "applied"), GRAPH, 0, SHARDS)
    for version in range(1, 50):
        applied.begin(version, 10 * version)
        assert applied.version(10 * version) == max(version - 1, 0)
        assert applied.version(10 * version + 1) == version
    applied.close()
    assert (tmp_path / "applied").stat().st_size <= 160
    assert _staging.Applied(str(tmp_path / "applied"), GRAPH, 0, SHARDS).version(10_000) == 49


def test_a_record_of_which_a_sector_was_not_written_is_none(tmp_path: Path) -> None:
    path = tmp_path / "versions"
    versions = Versions(str(path), CREATED)
    ends = []
    while not ends or ends[-1] < 4200:
        versions.commit(digest(str(len(ends))), 1, versions.epoch, [0], 0, SHARDS)
        ends.append(path.stat().st_size)
    versions.close()
    whole = path.read_bytes()
    torn = 0
    for number, (start, end) in enumerate(zip(ends, ends[1:], strict=False), 1):
        for sector in range(start // 512 * 512 + 512, end, 512):
            for said in (
                whole[:sector] + bytes(end - sector),
                whole[:start] + bytes(sector - start) + whole[sector:end],
            ):
                path.write_bytes(said)
                assert Versions(str(path)).newest == number
                torn += 1
            # One that others follow was acknowledged.
            for said in (whole[:sector] + bytes(end - sector), whole[:start] + bytes(end - start)):
                path.write_bytes(said + whole[end:])
                if end < len(whole) - 600:
                    with pytest.raises(everedge.CorruptionError):
                        Versions(str(path))
    assert torn >= 10


def test_the_directory_of_another_shard_is_refused(tmp_path: Path) -> None:
    for shard in range(SHARDS):
        Shard(str(tmp_path / str(shard)), GRAPH, shard, SHARDS, Options()).close()
    with pytest.raises(everedge.CorruptionError, match=r"is of shard 1 of 2, .* not of shard 0 of 2"):
        Shard(str(tmp_path / "1"), GRAPH, 0, SHARDS, Options())
    with pytest.raises(everedge.CorruptionError, match="another graph"):
        Shard(str(tmp_path / "1"), bytes(16), 1, SHARDS, Options())
    applied = tmp_path / "0" / "applied"
    whole = applied.read_bytes()
    for at in range(len(whole)):
        applied.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        with pytest.raises(everedge.CorruptionError):
            Shard(str(tmp_path / "0"), GRAPH, 0, SHARDS, Options())
    for length in range(len(whole)):
        # It was not created to its end.
        applied.write_bytes(whole[:length])
        Shard(str(tmp_path / "0"), GRAPH, 0, SHARDS, Options()).close()
        assert applied.read_bytes() == whole


def test_what_was_saved_of_a_kernel_is_not_believed_if_it_is_damaged(tmp_path: Path) -> None:
    shard = Shard(str(tmp_path / "s"), GRAPH, 0, 1, Options())
    shard.stage(digest("a"), 1, "add", (np.arange(9, dtype=np.uint32), np.arange(1, 10, dtype=np.uint32), None))
    shard.apply([_versions.Entry(1, batch=digest("a"), owners=1), _versions.Entry(1, cut=5)])
    owned, bound, _ = shard.prepare(5)
    shard.begin("k", 5, ("bfs", [("source", "0")]), (owned, bound), None, 1)
    shard.save("k", "saves", 3)
    assert shard.saved("saves") == [3]
    (path,) = (tmp_path / "s").glob("*.npy")
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 16]) + whole[at + 1 :])
        assert shard.saved("saves") == []
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert shard.saved("saves") == []
    shard.forget("saves")
    assert not list((tmp_path / "s").glob("*.npy"))
    shard.close()


def test_what_is_staged_of_no_version_is_dropped_and_other_files_are_left_alone(tmp_path: Path) -> None:
    staging = Staging(str(tmp_path / "staged"))
    columns = np.arange(3, dtype=np.uint32), np.arange(3, dtype=np.uint32), None
    for name in "ab":
        staging.put(digest(name), Staged(1, "add", columns))
    (tmp_path / "staged" / "notes.txt").touch()
    (tmp_path / "staged" / digest("a")).write_bytes(b"damaged")
    staging = Staging(str(tmp_path / "staged"))
    assert sorted(staging) == sorted([digest("a"), digest("b")])
    staging.drop_older(2, {digest("b")})
    assert list(staging) == [digest("b")]
    assert (tmp_path / "staged" / "notes.txt").exists()


def test_a_copy_keeps_what_it_has_until_it_has_what_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    versions = Versions(str(tmp_path / "versions"), (SHARDS, Options(), 2))
    copy = Copy(str(tmp_path / "versions-copy-1"))
    versions.attach([asking(copy)])
    for name in "abcd":
        versions.commit(digest(name), 1, versions.epoch, [0], 0, SHARDS)
    before, path = Log.read(str(tmp_path / "versions-copy-1")), tmp_path / "versions-copy-1"
    assert (len(before.committed), before.attached) == (4, versions.epoch)
    calls = []

    def ask(method: str, *arguments: object) -> object:
        calls.append(method)
        return getattr(copy, method)(*arguments)

    versions.attach([ask])
    assert calls == ["has", "put"]
    # One that differs is made anew, aside.
    path.write_bytes(path.read_bytes()[:-40] + bytes(40))
    write = os.write

    def full(file: int, data: memoryview) -> int:
        write(file, data[:70])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    damaged = path.read_bytes()
    monkeypatch.setattr(os, "write", full)
    epoch = versions.epoch
    with pytest.raises(everedge.NoSpaceError):
        versions.attach([ask])
    monkeypatch.undo()
    assert (path.read_bytes(), versions.epoch) == (damaged, epoch)
    versions.attach([ask])
    assert path.read_bytes() == (tmp_path / "versions").read_bytes()
    # It is still locked.
    with pytest.raises(everedge.InUseError):
        Copy(str(path))
    versions.commit(digest("e"), 1, versions.epoch, [0], 0, SHARDS)
    assert path.read_bytes() == (tmp_path / "versions").read_bytes()


def test_growing_counts_only_for_the_newest_version(tmp_path: Path) -> None:
    versions = Versions(str(tmp_path / "versions"), CREATED)
    versions.commit(digest("a"), 1, versions.epoch, [0], 0, SHARDS)
    with pytest.raises(StaleError, match="divide them again"):
        versions.grow(4, 0)
    versions.grow(4, 1)
    assert (versions.log.shards, versions.log.base) == (4, 1)


def test_a_batch_comes_in_once_though_what_was_staged_cannot_be_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shard = Shard(str(tmp_path / "s"), GRAPH, 0, 1, Options())
    shard.stage(digest("a"), 1, "add", (np.array([0], np.uint32), np.array([1], np.uint32), None))
    unlink = os.unlink

    def fail(path: str) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "unlink", fail)
    for _ in range(3):
        assert shard.apply([_versions.Entry(1, batch=digest("a"), owners=1)]) == 1
    monkeypatch.setattr(os, "unlink", unlink)
    shard.apply([_versions.Entry(1, cut=7)])
    assert shard.edge_count(7) == 1
    assert shard.staged() == [digest("a")]
    shard.drop_needless(2, {digest("a"): 1})
    assert shard.staged() == []
    shard.close()


def test_no_version_is_left_out_and_none_of_an_old_epoch_is_staged(tmp_path: Path) -> None:
    shard = Shard(str(tmp_path / "s"), GRAPH, 0, 1, Options())
    columns = np.array([0], np.uint32), np.array([1], np.uint32), None
    shard.drop_needless(5, {})
    with pytest.raises(StaleError, match="send it again"):
        shard.stage(digest("a"), 4, "add", columns)
    shard.stage(digest("b"), 5, "add", columns)
    with pytest.raises(StaleError, match="was told of 2 next"):
        shard.apply([_versions.Entry(2, batch=digest("b"), owners=1)])
    assert shard.version == 0
    shard.close()


def test_an_opening_that_fails_leaves_nothing_open(tmp_path: Path) -> None:
    Shard(str(tmp_path / "s"), GRAPH, 0, 1, Options()).close()
    (tmp_path / "s" / "staged").rmdir()
    (tmp_path / "s" / "staged").touch()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        with pytest.raises(everedge.IoError, match="staged"):
            Shard(str(tmp_path / "s"), GRAPH, 0, 1, Options())
    assert len(os.listdir("/proc/self/fd")) == before
