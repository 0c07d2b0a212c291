"""A graph in shards with copies on other workers: disks that are lost, and copies that come back."""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

distributed = pytest.importorskip("distributed")

import dask.bag
from distributed import Client
from test_cluster import some_workers

import everedge
import everedge.cluster

RUNS = int(os.environ.get("EVEREDGE_CLUSTER_KILLS", "4"))


@pytest.fixture
def client() -> Iterator[Client]:
    """Three workers, each a process with one thread."""
    with some_workers(3) as client:
        yield client


def held_by(graph: everedge.cluster.Graph) -> dict[str, str]:
    """Return the worker of each file and directory."""
    places = graph._open
    every = [places.versions, *places.version_copies, *(place for copies in places.copies for place in copies)]
    return {place.name: place.address for place in every}


def lose(client: Client, graph: everedge.cluster.Graph, address: str, to: Path | None = None) -> list[str]:
    """Kill a worker, and take away what it has; keep that elsewhere if asked."""
    names = [name for name, of in held_by(graph).items() if of == address]
    with contextlib.suppress(ProcessLookupError):
        os.kill(client.run(os.getpid, workers=[address])[address], signal.SIGKILL)
    for name in names:
        path = Path(graph.path) / name
        if to is not None:
            path.rename(to / name)
        elif path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    return names


def edges_of(graph: everedge.cluster.Graph) -> tuple[dict[int, int], dict[int, int]]:
    return graph.out_degree().to_dict(), graph.in_degree().to_dict()


def degrees(src: Any, dst: Any) -> tuple[dict[int, int], dict[int, int]]:
    ids = np.union1d(src, dst).tolist()
    return tuple({v: int((column == v).sum()) for v in ids} for column in (src, dst))  # type: ignore[return-value]


@pytest.mark.parametrize("seed", range(RUNS))
def test_a_disk_that_is_lost_at_any_moment_loses_nothing(client: Client, tmp_path: Path, seed: int) -> None:
    """No acknowledged batch is lost, none comes twice, and no answer is wrong."""
    chance = random.Random(seed)
    src, dst = np.random.default_rng(seed).integers(0, 200, (2, 4000))
    bag = dask.bag.from_sequence(list(zip(src.tolist(), dst.tolist(), strict=True)), npartitions=5)
    with everedge.cluster.Graph(client, tmp_path / "g", shards=3, replicas=2) as graph:

        def lose_one(seconds: float) -> Callable[[], None]:
            address, after = chance.choice(sorted(set(held_by(graph).values()))), chance.random() * seconds

            def lose_it() -> None:
                time.sleep(after)
                lose(client, graph, address)

            return lose_it

        losing = threading.Thread(target=lose_one(0.4))
        losing.start()
        done = graph.ingest(bag, batch=200)
        losing.join()
        assert (done.edges, done.batches, graph.version) == (4000, 20, 20)
        # Who was killed after the last batch has its copies anew with the next.
        graph.add_edges([0], [1])
        client.wait_for_workers(2, timeout=30)
        losing = threading.Thread(target=lose_one(0.3))
        losing.start()
        more = [graph.add_edges(src[at : at + 50], dst[at : at + 50]) for at in range(0, 500, 50)]
        losing.join()
        assert more == list(range(22, 32))
        assert edges_of(graph) == degrees(np.concatenate([src, [0], src[:500]]), np.concatenate([dst, [1], dst[:500]]))
    with everedge.cluster.Graph(client, tmp_path / "g", give_up_lost=True) as graph:
        assert graph.version == 31
        assert edges_of(graph) == degrees(np.concatenate([src, [0], src[:500]]), np.concatenate([dst, [1], dst[:500]]))


def test_every_copy_answers_alone(client: Client, tmp_path: Path) -> None:
    src, dst = np.random.default_rng(1).integers(0, 90, (2, 900))
    with everedge.cluster.Graph(client, tmp_path / "g", shards=2, replicas=2) as graph:
        assert (graph.replicas, graph.num_shards) == (2, 2)
        assert sorted(held_by(graph)) == sorted(path.name for path in (tmp_path / "g").iterdir())
        for shard in (0, 1):
            held = held_by(graph)
            assert held[f"shard-{shard}-of-2"] != held[f"shard-{shard}-of-2-copy-1"]
        graph.add_edges(src, dst)
        graph.delete_edges(src[::7], dst[::7])
        expected = edges_of(graph)
        graph.grow()
        assert edges_of(graph) == expected
    for kept in ("", "-copy-1"):
        copy = tmp_path / f"only{kept}"
        copy.mkdir()
        for name in ("versions", *(f"shard-{shard}-of-4" for shard in range(4))):
            source = tmp_path / "g" / f"{name}{kept}"
            (shutil.copytree if source.is_dir() else shutil.copy)(source, copy / source.name)
        with pytest.raises(everedge.cluster.ShardLostError, match="give_up_lost"):
            everedge.cluster.Graph(client, copy)
        with everedge.cluster.Graph(client, copy, give_up_lost=True) as graph:
            assert edges_of(graph) == expected
            graph.add_edges([5], [7])
            assert graph.version == 3
        assert len(list(copy.iterdir())) == 10


def test_a_copy_that_comes_back_too_late_is_made_anew(client: Client, tmp_path: Path) -> None:
    with everedge.cluster.Graph(client, tmp_path / "g", shards=2, replicas=2) as graph:
        graph.add_edges([0, 1], [1, 2])
        (tmp_path / "away").mkdir()
        gone = lose(client, graph, held_by(graph)["shard-1-of-2"], tmp_path / "away")
        graph.add_edges([2, 3], [3, 4])
        depths = graph.bfs(source=0).to_dict()
    logs = [name for name in gone if name.startswith("versions")]
    for name in logs:
        # Of an earlier set of copies: the last one might have more.
        whole = (tmp_path / "g" / name).read_bytes()
        shutil.copy(tmp_path / "away" / name, tmp_path / "g" / name)
        with pytest.raises(everedge.cluster.ShardLostError, match=f"no worker has the last .*{name}"):
            everedge.cluster.Graph(client, tmp_path / "g")
        (tmp_path / "g" / name).write_bytes(whole)
    for name in set(gone) - set(logs):
        new, old = tmp_path / "g" / name, tmp_path / "away" / name
        shutil.rmtree(new) if new.is_dir() else new.unlink()
        old.rename(new)
    with everedge.cluster.Graph(client, tmp_path / "g") as graph:
        assert graph.version == 2
        assert graph.bfs(source=0).to_dict() == depths
        # It stays when the other one goes.
        for shard in (0, 1):
            place = graph._open.copies[shard][0]
            lose(client, graph, place.address)
            found = graph.bfs(source=0).to_dict()
            assert {v: found[v] for v in depths} == depths
            graph.add_edges([9 + shard], [9 + shard])


def test_a_damaged_copy_is_made_anew(client: Client, tmp_path: Path) -> None:
    with everedge.cluster.Graph(client, tmp_path / "g", shards=2, replicas=2) as graph:
        graph.add_edges([0, 1], [1, 2])
        graph.delete_edges([0], [1])
        graph.add_edges([0, 2], [1, 3])
    applied = tmp_path / "g" / "shard-1-of-2" / "applied"
    applied.write_bytes(b"x" + applied.read_bytes()[1:])
    with everedge.cluster.Graph(client, tmp_path / "g") as graph:
        assert graph.bfs(source=0).to_dict() == {0: 0, 1: 1, 2: 2, 3: 3}
    for name in ("versions", "versions-copy-1"):
        log = tmp_path / "g" / name
        whole = log.read_bytes()
        log.write_bytes(b"x" + whole[1:])
        with pytest.raises(everedge.cluster.ShardLostError, match=rf"{name}.*is damaged"):
            everedge.cluster.Graph(client, tmp_path / "g")
        with everedge.cluster.Graph(client, tmp_path / "g", give_up_lost=True) as graph:
            assert graph.bfs(source=0).to_dict() == {0: 0, 1: 1, 2: 2, 3: 3}
            graph.add_edges([0], [1])


def test_batches_wait_for_copies_and_questions_do_not(tmp_path: Path) -> None:
    with some_workers(2) as client:
        with pytest.raises(everedge.InvalidInputError, match="replicas=3 needs as many workers"):
            everedge.cluster.Graph(client, tmp_path / "h", replicas=3)
        with everedge.cluster.Graph(client, tmp_path / "g", replicas=2, wait=3) as graph:
            graph.add_edges([0, 1], [1, 2])
            client.cluster.scale(1)
            while len(client.scheduler_info()["workers"]) > 1:
                time.sleep(0.05)
            assert graph.bfs(source=0).to_dict() == {0: 0, 1: 1, 2: 2}
            with pytest.raises(everedge.cluster.ShardLostError, match="start another one"):
                graph.add_edges([2], [3])
            assert graph.version == 1
            client.cluster.scale(2)
            client.wait_for_workers(2, timeout=30)
            assert graph.add_edges([2], [3]) == 2
            assert graph.bfs(source=0).to_dict() == {0: 0, 1: 1, 2: 2, 3: 3}
        with pytest.raises(everedge.InvalidInputError, match="has 2 replicas, not 3"):
            everedge.cluster.Graph(client, tmp_path / "g", replicas=3)


def test_a_copy_whose_disk_fails_is_given_up(client: Client, tmp_path: Path) -> None:
    with everedge.cluster.Graph(client, tmp_path / "g", shards=2, replicas=2) as graph:
        graph.add_edges([0, 1], [1, 2])
        for name in ("shard-1-of-2", "shard-0-of-2-copy-1"):
            shutil.rmtree(tmp_path / "g" / name / "staged")
            graph.add_edges([2, 3], [3, 4])
            assert name in held_by(graph)
        assert graph.version == 3
        assert edges_of(graph) == degrees(np.array([0, 1, 2, 3, 2, 3]), np.array([1, 2, 3, 4, 3, 4]))
    with (
        everedge.cluster.Graph(client, tmp_path / "h", shards=2) as graph,
        pytest.raises(everedge.IoError, match="staged"),
    ):
        shutil.rmtree(tmp_path / "h" / "shard-1-of-2" / "staged")
        graph.add_edges([1], [3])


def test_a_copy_that_a_kernel_finds_damaged_is_given_up(client: Client, tmp_path: Path) -> None:
    src, dst = np.random.default_rng(2).integers(0, 5000, (2, 60_000))
    with everedge.cluster.Graph(client, tmp_path / "g", shards=2, replicas=2) as graph:
        graph.add_edges(src, dst)
        expected = graph.wcc().values
    for name in ("shard-0-of-2", "shard-1-of-2"):
        for file in (tmp_path / "g" / name / "graph").iterdir():
            if file.name in ("blocks", "log"):
                whole = bytearray(file.read_bytes())
                for at in range(5000, len(whole), 997):
                    whole[at] ^= 64
                file.write_bytes(whole)
    with everedge.cluster.Graph(client, tmp_path / "g") as graph:
        assert np.array_equal(graph.wcc().values, expected)
        graph.add_edges([0], [1])
        assert graph.out_degree().values.sum() == 60_001
        assert graph.version == 2


def test_a_task_of_a_call_that_has_ended_commits_nothing(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither beside a copy that is made, nor beside shards that are divided."""
    from everedge.cluster import StaleError, _graph, _places

    cut, tried = _places.Places.cut, []

    with everedge.cluster.Graph(client, tmp_path / "g", shards=2, replicas=2) as graph:
        graph.add_edges([0, 1], [1, 2])
        hosts = graph._open.hosts

        def late(self: Any) -> Any:
            made = cut(self)
            columns = np.array([2], np.uint32), np.array([3], np.uint32), None
            (address, *_) = client.scheduler_info(n_workers=-1)["workers"]
            future = client.submit(_graph._send, hosts, f"late {len(tried)}", "add", columns, pure=False, workers=[address])
            with pytest.raises((StaleError, OSError, KeyError)):
                future.result(timeout=30)
            tried.append(1)
            return made

        lose(client, graph, held_by(graph)["shard-1-of-2"])
        monkeypatch.setattr(_places.Places, "cut", late)
        assert graph.add_edges([5], [6]) == 2
        hosts = graph._open.hosts
        graph.grow()
        monkeypatch.undo()
        assert len(tried) >= 2
        assert graph.version == 2
        expected = degrees(np.array([0, 1, 5]), np.array([1, 2, 6]))
        assert edges_of(graph) == expected
    with everedge.cluster.Graph(client, tmp_path / "g", give_up_lost=True) as graph:
        assert edges_of(graph) == expected


@pytest.mark.parametrize("damage", ["manifest", "directory", "unreadable"])
def test_one_copy_that_cannot_be_opened_is_none(client: Client, tmp_path: Path, damage: str) -> None:
    with everedge.cluster.Graph(client, tmp_path / "g", shards=2, replicas=2) as graph:
        graph.add_edges([0, 1], [1, 2])
    shard = tmp_path / "g" / "shard-0-of-2"
    if damage == "manifest":
        (shard / "graph" / "manifest.toml").unlink()
    elif damage == "directory":
        (shard / "applied").unlink()
        (shard / "applied").mkdir()
    else:
        shutil.rmtree(shard / "staged")
        (shard / "staged").symlink_to(tmp_path / "nowhere")
    with everedge.cluster.Graph(client, tmp_path / "g") as graph:
        assert graph.bfs(source=0).to_dict() == {0: 0, 1: 1, 2: 2}
        graph.add_edges([2], [3])
        assert len(graph._open.copies[0]) == len(graph._open.copies[1]) == 2


def test_a_creation_that_was_cut_short_needs_no_word(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from everedge.cluster import _places

    def interrupt(self: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_places.Places, "complete", interrupt)
    with pytest.raises(KeyboardInterrupt):
        everedge.cluster.Graph(client, tmp_path / "g", replicas=2)
    monkeypatch.undo()
    with everedge.cluster.Graph(client, tmp_path / "g") as graph:
        assert (graph.replicas, graph.add_edges([0], [1])) == (2, 1)


def test_copies_are_spread(tmp_path: Path) -> None:
    with some_workers(4) as client, everedge.cluster.Graph(client, tmp_path / "g", shards=4, replicas=2) as graph:
        loads = [place.address for copies in graph._open.copies for place in copies]
        assert sorted(map(loads.count, set(loads))) == [2, 2, 2, 2]


def test_a_client_that_is_behind_the_log_comes_up_to_it(client: Client, tmp_path: Path) -> None:
    with everedge.cluster.Graph(client, tmp_path / "g", shards=2, replicas=2) as graph:
        graph.add_edges([0], [1])
        places = graph._open
        # As after an interrupt between the two: it counts, and nobody has heard of it.
        places.versions.actor.attach([place.where for place in places.version_copies]).result()
        assert graph.add_edges([1], [2]) == 2
        assert graph.bfs(source=0).to_dict() == {0: 0, 1: 1, 2: 2}


def test_an_answer_that_is_late_is_an_error(client: Client, tmp_path: Path) -> None:
    class Late:
        def done(self) -> bool:
            return True

        def result(self, timeout: float) -> None:
            raise TimeoutError

    with (
        everedge.cluster.Graph(client, tmp_path / "g") as graph,
        pytest.raises(OSError, match="did not answer in time"),
    ):
        graph._open.wait([Late()])


@pytest.mark.parametrize("number", [0, 1], ids=["the one that answers", "the other"])
def test_a_copy_that_cannot_take_a_batch_is_given_up(client: Client, tmp_path: Path, number: int) -> None:
    def fail(name: str) -> None:
        from everedge.cluster._host import _HERE

        for host in [host for key, host in _HERE.items() if re.search(rf"-{name}-\d+$", str(key))]:

            def apply(entries: Any) -> int:
                if entries:
                    raise everedge.IoError(f"cannot use `{host._directory}/graph/log`: dead")
                return int(host._held.version)

            host._held.apply = apply

    with everedge.cluster.Graph(client, tmp_path / "g", shards=2, replicas=2) as graph:
        graph.add_edges([0, 1], [1, 2])
        before = graph._open.copies[0][number]
        client.run(fail, before.name)
        assert graph.add_edges([2, 4], [3, 5]) == 2
        assert edges_of(graph) == degrees(np.array([0, 1, 2, 4]), np.array([1, 2, 3, 5]))
        assert graph.add_edges([3, 5], [4, 6]) == 3
        assert before not in graph._open.copies[0]
        assert len(graph._open.copies[0]) == 2
        expected = edges_of(graph)
        lose(client, graph, graph._open.copies[0][0].address)
        assert edges_of(graph) == expected


RECORD_BYTES = 61
"""Of a batch, for up to eight shards: a head, a byte of bits and its checksum."""


def kill(client: Client, address: str) -> None:
    os.kill(client.run(os.getpid, workers=[address])[address], signal.SIGKILL)


@pytest.mark.parametrize("replicas", [1, 2])
def test_no_batch_gets_a_version_that_a_shard_has_already(client: Client, tmp_path: Path, replicas: int) -> None:
    """Such a batch would pass for one that came again. A log that has lost its end is refused as long as it is open."""
    with everedge.cluster.Graph(client, tmp_path / "g", shards=2, replicas=replicas, wait=3) as graph:
        for v in range(4):
            graph.add_edges([v], [v + 1])
        logs = [place for place in (graph._open.versions, *graph._open.version_copies)]
        for log in logs:
            kill(client, log.address)
        for log in logs:
            path = tmp_path / "g" / log.name
            os.truncate(path, path.stat().st_size - 2 * RECORD_BYTES)
        for _ in range(3):
            with pytest.raises(everedge.cluster.ShardLostError, match="ends with version 2, and a shard has version 4"):
                graph.bfs(source=0)
            with pytest.raises(everedge.cluster.ShardLostError, match="ends with version 2, and a shard has version 4"):
                graph.add_edges([7], [8])
    with pytest.raises(everedge.CorruptionError, match="ends with version 2, and a shard has version 4"):
        everedge.cluster.Graph(client, tmp_path / "g")


def test_a_log_of_an_earlier_epoch_is_not_gone_on_from(client: Client, tmp_path: Path) -> None:
    with everedge.cluster.Graph(client, tmp_path / "g", shards=1) as graph:
        graph.add_edges([0], [1])
    shutil.copytree(tmp_path / "g", tmp_path / "old")
    with everedge.cluster.Graph(client, tmp_path / "g", wait=4) as graph:
        graph.add_edges([1], [2])
        shutil.move(tmp_path / "g", tmp_path / "new")
        shutil.copytree(tmp_path / "old", tmp_path / "g")
        for address in set(held_by(graph).values()):
            kill(client, address)
        with pytest.raises(everedge.cluster.ShardLostError, match="is older: start the worker"):
            graph.add_edges([2], [3])
        shutil.rmtree(tmp_path / "g")
        shutil.move(tmp_path / "new", tmp_path / "g")
        assert graph.add_edges([2], [3]) == 3
        assert edges_of(graph) == degrees(np.array([0, 1, 2]), np.array([1, 2, 3]))


def apart(client: Client, tmp_path: Path) -> list[tuple[str, Path]]:
    """Give each worker a disk of its own: the same path is another directory there."""
    disks = [(address, tmp_path / str(number)) for number, address in enumerate(sorted(client.run(os.getpid)))]
    for address, disk in disks:
        disk.mkdir()
        client.run(os.chdir, str(disk), workers=[address])
    return disks


APART = "/proc/self/cwd/g"


def test_two_graphs_at_a_path_are_told(client: Client, tmp_path: Path) -> None:
    disks = apart(client, tmp_path)
    with everedge.cluster.Graph(client, APART, shards=1) as graph:
        graph.add_edges([0], [1])
    (first,) = (disk for _, disk in disks if (disk / "g" / "versions").exists())
    (first / "g").rename(first / "away")
    with everedge.cluster.Graph(client, APART, shards=1) as graph:
        graph.add_edges([7], [8])
    (second,) = (disk for _, disk in disks if (disk / "g" / "versions").exists())
    if second == first:
        (first / "g").rename(disks[1][1] / "g")
    (first / "away").rename(first / "g")
    with pytest.raises(everedge.NotAGraphError, match="is another graph on .* than on"):
        everedge.cluster.Graph(client, APART)


def test_an_old_copy_of_a_shard_on_another_disk_is_passed_over(client: Client, tmp_path: Path) -> None:
    disks = apart(client, tmp_path)
    with everedge.cluster.Graph(client, APART, shards=1) as graph:
        graph.add_edges([0], [1])
    (here,) = (disk for _, disk in disks if (disk / "g" / "shard-0-of-1").exists())
    shutil.copytree(here / "g" / "shard-0-of-1", tmp_path / "old")
    with everedge.cluster.Graph(client, APART) as graph:
        graph.add_edges([2], [3])
    for _, disk in disks:
        if disk != here:
            shutil.copytree(tmp_path / "old", disk / "g" / "shard-0-of-1")
    for version in range(3, 6):
        with everedge.cluster.Graph(client, APART) as graph:
            assert graph.add_edges([version], [version + 1]) == version
            assert edges_of(graph) == degrees(np.array([0, *range(2, version + 1)]), np.array([1, *range(3, version + 2)]))
    shutil.rmtree(here / "g" / "shard-0-of-1")
    with pytest.raises(everedge.CorruptionError, match="on tcp://.* lacks versions that are acknowledged"):
        everedge.cluster.Graph(client, APART)


def test_a_log_on_a_disk_that_takes_nothing_is_another_ones(client: Client, tmp_path: Path) -> None:
    disks = apart(client, tmp_path)
    with everedge.cluster.Graph(client, APART, shards=2, replicas=2) as graph:
        graph.add_edges([0, 1], [1, 2])
        expected = edges_of(graph)
    for name in ("versions", "versions-copy-1"):
        for log in (disk / "g" / name for _, disk in disks):
            if log.exists():
                log.rename(log.with_name("elsewhere"))
                # It is read, and not opened for writing.
                log.symlink_to("elsewhere")
                broken = next(address for address, disk in disks if disk / "g" == log.parent)
        with everedge.cluster.Graph(client, APART, wait=20) as graph:
            assert edges_of(graph) == expected
            graph.add_edges([1], [1])
            expected = edges_of(graph)
            assert held_by(graph)[name] != broken


def test_a_worker_that_is_gone_is_not_waited_for(client: Client, tmp_path: Path) -> None:
    with everedge.cluster.Graph(client, tmp_path / "g", shards=1) as graph:
        places, address = graph._open, held_by(graph)["shard-0-of-1"]
        begun = time.monotonic()
        kill(client, address)
        with pytest.raises(everedge.cluster.ShardLostError, match=f"the worker {address} is gone"):
            places._put_shard(0, "shard-0-of-2", address, places.state)
        assert time.monotonic() - begun < 20
