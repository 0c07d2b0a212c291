"""Measures what `scripts/cluster_plan.py` computes from, and writes it to `scripts/cluster_figures.json`.

    python scripts/cluster_measure.py WHAT... --graphs DIRECTORY [--work DIRECTORY]

WHAT is any of `kernels`, `ghosts`, `memory`, `ingest`, `messages`, `reads`, `local`, `check`; each replaces its part of the file. Graphs are
files of pairs of u32, `kSCALE-DEGREE.bin`, made by `everedge generate kron FILE --scale SCALE --degree DEGREE --seed 1`, and
`road-FLA.npy`, `cnr-2000.npy` of shape `[edges, 2]` for `local`.

All shards of a graph are in one process, one after the other: no cluster is needed to see what each does and says. Work is measured
as processor time of one thread. So neighbors on the machine change it little.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from everedge import _native
from everedge.cluster._options import Options
from everedge.cluster._shard import Shard
from everedge.cluster._versions import Entry, Versions, called

GRAPH = bytes(16)
FIGURES = Path(__file__).with_name("cluster_figures.json")
EDGES_OF_BATCH = 1 << 22
ITERATIONS = 5
KERNELS = ("bfs", "pagerank", "wcc", "kcore", "sssp")
Edges = npt.NDArray[np.uint32]


class Shards:
    """All shards of a graph in this process, and what bringing edges into them took."""

    def __init__(self, path: Path, shards: int, edges: Edges, weighted: bool) -> None:
        shutil.rmtree(path, ignore_errors=True)
        self.seconds: dict[str, float] = {}
        """Of each step, as time went by and, with `_work` after its name, of all processors."""
        self.path, self.batches, self.sent = path, 0, 0
        options = Options(weighted=weighted)
        self.versions = Versions(str(path / "versions"), (shards, options, 1))
        self.shards = [Shard(str(path / f"shard-{shard}"), GRAPH, shard, shards, options) for shard in range(shards)]
        chosen = np.random.default_rng(1)
        for start in range(0, len(edges), EDGES_OF_BATCH):
            part = edges[start : start + EDGES_OF_BATCH]
            weights = chosen.integers(1, 256, len(part)).astype(np.float32) if weighted else None
            self._send(str(start), np.ascontiguousarray(part[:, 0]), np.ascontiguousarray(part[:, 1]), weights)
        self.number = self.versions.cut()
        self._timed("archive", wait_for_quiet)
        self._timed("cut", lambda: [shard.apply([self.number]) for shard in self.shards])
        prepared = self._timed("prepare", lambda: [shard.prepare(self._cut) for shard in self.shards])
        for shard, (_, _, ghosts) in enumerate(prepared):
            for other, of_other in enumerate(ghosts):
                if other != shard:
                    self._timed("mirror", lambda: self.shards[other].mirror(self._cut, shard, of_other))
        self.owned = [owned for owned, _, _ in prepared]
        self.bound = max(bound for _, bound, _ in prepared)
        self.ghosts = [sum(int(ghosts.size) for ghosts in lists) for _, _, lists in prepared]
        mirrored = [[lists[shard].size for _, _, lists in prepared] for shard in range(shards)]
        self.mirrored = [int(sum(of_shard)) for of_shard in mirrored]

    def _timed(self, what: str, call: Callable[[], Any]) -> Any:
        begun, worked = time.perf_counter(), time.process_time()
        answer = call()
        for name, took in ((what, time.perf_counter() - begun), (f"{what}_work", time.process_time() - worked)):
            self.seconds[name] = self.seconds.get(name, 0.0) + took
        return answer

    def _send(self, name: str, src: Edges, dst: Edges, weights: Any) -> None:
        batch, epoch = called(name, "0" * 16), self.versions.epoch
        divided = self._timed("divide", lambda: _native.divided(src, dst, weights, len(self.shards)))
        parts = list(zip(self.shards, divided, strict=True))
        self.sent += sum(columns[0].size for columns in divided)
        since = self._timed("stage", lambda: min(shard.stage(batch, epoch, "add", part) for shard, part in parts))
        owners = list(range(len(self.shards)))
        _, entries = self._timed("commit", lambda: self.versions.commit(batch, src.size, epoch, owners, since, len(self.shards)))
        self._timed("apply", lambda: [shard.apply(entries) for shard in self.shards])
        self.batches += 1

    @property
    def _cut(self) -> int:
        assert self.number.cut is not None
        return self.number.cut

    def run(self, kernel: str, iterations: int = ITERATIONS) -> dict[str, Any]:
        """Answer a kernel; returns what each superstep took and said, the beginning as the first."""
        count = len(self.shards)
        source = int(max((shard.hub(self._cut) for shard in self.shards), key=lambda hub: (hub[0], -hub[1]))[1])
        parameters = {
            "bfs": [("source", str(source))], "sssp": [("source", str(source))],
            "pagerank": [("iterations", str(iterations))],
        }.get(kernel, [])  # fmt: skip
        whole = sum(self.owned), self.bound
        inboxes: list[list[Any]] = [[] for _ in range(count)]
        totals: list[float] = []
        steps: list[dict[str, float]] = []
        while True:
            said, seconds = [], []
            for number, shard in enumerate(self.shards):
                begun = time.process_time()
                if not steps:
                    answer = shard.begin(kernel, self._cut, (kernel, parameters), whole, None, 1)
                else:
                    answer = shard.step(kernel, totals, inboxes[number])
                seconds.append(time.process_time() - begun)
                said.append(answer)
            totals = [sum(sums) for sums in zip(*(sums for _, sums in said), strict=True)]
            inboxes = [[messages[number] for messages, _ in said] for number in range(count)]
            sent = [sum(message.size for message in messages) for messages, _ in said]
            sizes = [message.size for messages, _ in said for message in messages]
            steps.append({
                "work": sum(seconds), "work_max": max(seconds), "bytes": sum(sent), "sent_max": max(sent),
                "message_max": max(sizes), "messages": sum(size > 0 for size in sizes),
            })  # fmt: skip
            is_done = len(steps) > iterations if kernel == "pagerank" else totals[0] == 0
            if is_done:
                break
        # Of the last one nobody needs what is said.
        for shard in self.shards:
            shard.stop(kernel)
        return {"supersteps": len(steps) - 1, "steps": steps}

    def close(self) -> None:
        """Close all, and delete them."""
        for shard in self.shards:
            shard.close()
        shutil.rmtree(self.path)
        gc.collect()


def wait_for_quiet() -> None:
    """Wait until threads that put lists in order have ended."""
    for _ in range(40):
        begun = time.process_time()
        time.sleep(0.25)
        if time.process_time() - begun < 0.02:
            return


def read(graphs: Path, scale: int, degree: int) -> Edges:
    """Return the edges of a Kronecker graph."""
    return np.fromfile(graphs / f"k{scale}-{degree}.bin", np.uint32).reshape(-1, 2)


def measured_shards(
    edges: Edges, count: int, work: Path, kernels: tuple[str, ...], trials: int, iterations: int = ITERATIONS
) -> dict[str, Any]:
    """Return what kernels do on so many shards; of trials the one of the median work."""
    found: dict[str, Any] = {"shards": count, "edges": len(edges), "kernels": {}}
    for weighted in (False, True):
        wanted = [kernel for kernel in kernels if (kernel == "sssp") == weighted]
        if not wanted:
            continue
        held = Shards(work / "shards", count, edges, weighted)
        found |= {"vertices": sum(held.owned), "bound": held.bound, "ghosts": sum(held.ghosts), "ghosts_max": max(held.ghosts)}
        found |= {"sent": held.sent, "mirrored_max": max(held.mirrored)}
        found.setdefault("ingest", {})["weighted" if weighted else "plain"] = {**held.seconds, "batches": held.batches}
        for kernel in wanted:
            runs = [held.run(kernel, iterations) for _ in range(trials)]
            runs.sort(key=lambda run: sum(step["work"] for step in run["steps"]))
            found["kernels"][kernel] = runs[len(runs) // 2]
        held.close()
    return found


def kernels(graphs: Path, work: Path) -> list[dict[str, Any]]:
    """Work, bytes and supersteps of each kernel by scale, degree and number of shards."""
    wanted = [(16, 47, 32, 3), (18, 16, 2, 3), (18, 16, 8, 3), (18, 16, 32, 3), (20, 16, 2, 1), (20, 16, 8, 1), (18, 47, 32, 1)]
    wanted += [(20, 16, 32, 1), (20, 47, 8, 1)]
    return _kernels_of(graphs, work, "kernels", wanted)


def check(graphs: Path, work: Path) -> list[dict[str, Any]]:
    """The same at scale 22, which the model is checked with."""
    return _kernels_of(graphs, work, "check", [(22, 16, shards, 1) for shards in (2, 4, 8)])


def _kernels_of(graphs: Path, work: Path, what: str, wanted: list[tuple[int, int, int, int]]) -> list[dict[str, Any]]:
    """Measure by scale, degree, shards and trials; a run that the file has already is kept."""
    found: list[dict[str, Any]] = stored().get(what, [])
    for scale, degree, shards, trials in wanted:
        if any((one["scale"], one["degree"], one["shards"]) == (scale, degree, shards) for one in found):
            continue
        begun, load = time.perf_counter(), os.getloadavg()[0]
        measured = measured_shards(read(graphs, scale, degree), shards, work, KERNELS, trials)
        found.append({"scale": scale, "degree": degree, "load": round(load, 1), **measured})
        store(what, found)
        print(f"scale {scale}, degree {degree}, {shards} shards: {time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True)
    return found


def ghosts(graphs: Path, work: Path) -> list[dict[str, Any]]:
    """How many ghosts there are, by scale, degree and number of shards, counted from the edges."""
    found = []
    for scale, degree in ((16, 47), (18, 16), (18, 47), (20, 16), (20, 47), (22, 16)):
        edges = read(graphs, scale, degree)
        for shards in (2, 4, 8, 16, 32, 64):
            found.append({"scale": scale, "degree": degree, "shards": shards, **count_ghosts(edges, shards)})
    return found


def count_ghosts(edges: Edges, shards: int) -> dict[str, int]:
    """Return how many vertices there are, and how many ghosts all shards have."""
    bound = int(edges.max()) + 1
    is_there = np.zeros(bound * shards, np.bool_)
    for start in range(0, len(edges), EDGES_OF_BATCH):
        u, v = edges[start : start + EDGES_OF_BATCH].T
        is_there[u * np.int64(shards) + v % shards] = True
        is_there[v * np.int64(shards) + u % shards] = True
    own = is_there[np.arange(bound) * np.int64(shards) + np.arange(bound) % shards]
    is_vertex = is_there.reshape(bound, shards).any(axis=1)
    return {"vertices": int(is_vertex.sum()), "ghosts": int(is_there.sum() - own.sum())}


def memory(graphs: Path, work: Path) -> list[dict[str, Any]]:
    """What the process of one shard has in memory with its graph, after the ingest and, the median of three, after it is opened again."""
    found = []
    for scale, degree, shards in ((18, 47, 2), (20, 16, 2), (20, 16, 8), (20, 16, 64), (20, 47, 8), (22, 16, 8), (22, 16, 64)):
        for weighted in (False, True):
            opened: list[dict[str, Any]] = []
            for what in ("fill", "open", "open", "open"):
                command = [sys.executable, __file__, what, "--graphs", str(graphs), "--work", str(work)]
                command += ["--one", f"{scale},{degree},{shards},{int(weighted)}"]
                found_now = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
                if what == "fill":
                    one = found_now
                else:
                    opened.append(found_now)
            one |= {key: median(of[key] for of in opened) for key in opened[0]}
            shutil.rmtree(work / "one-shard")
            found.append(one)
            print(one, file=sys.stderr, flush=True)
    return found


def fill_shard(graphs: Path, path: Path, one: str) -> None:
    """Bring the edges of shard 0 into it, in this process; print what it takes."""
    scale, degree, shards, weighted = map(int, one.split(","))
    edges = read(graphs, scale, degree)
    own = edges[(edges[:, 0] % shards == 0) | (edges[:, 1] % shards == 0)]
    bound = int(edges.max()) + 1
    del edges
    gc.collect()
    before = sum(resident())
    shutil.rmtree(path, ignore_errors=True)
    options = Options(weighted=bool(weighted))
    shard = Shard(str(path), GRAPH, 0, shards, options)
    versions = Versions(str(path / "versions"), (shards, options, 1))
    for number, start in enumerate(range(0, len(own), EDGES_OF_BATCH)):
        src, dst = (np.ascontiguousarray(column) for column in own[start : start + EDGES_OF_BATCH].T)
        weights = np.ones(src.size, np.float32) if weighted else None
        batch = called(str(number), "0" * 16)
        shard.stage(batch, versions.epoch, "add", (src, dst, weights))
        shard.apply(versions.commit(batch, src.size, versions.epoch, [0], number, shards)[1])
    wait_for_quiet()
    filled = sum(resident()) - before
    shard.close()
    disk = sum(file.stat().st_blocks * 512 for file in (path / "graph").rglob("*") if file.is_file())
    print(json.dumps({
        "scale": scale, "degree": degree, "shards": shards, "weighted": bool(weighted), "bound": bound, "edges": len(own),
        "filled_bytes": filled, "disk_bytes": disk,
    }))  # fmt: skip


def open_shard(path: Path, one: str) -> None:
    """Open the shard again, and read all lists; print what that takes."""
    _, _, shards, weighted = map(int, one.split(","))
    before = resident()
    shard = Shard(str(path), GRAPH, 0, shards, Options(weighted=bool(weighted)))
    version = shard.version
    cut = Entry(version, cut=1)
    shard.apply([cut])
    owned, bound, lists = shard.prepare(1)
    ghosts = sum(int(of_other.size) for of_other in lists)
    del lists
    shard.begin("read", 1, ("pagerank", [("iterations", "1")]), (owned, bound), None, 1)
    shard.step("read", [0.0, 0.0], [np.empty(0, np.uint8)] * shards)
    shard.stop("read")
    wait_for_quiet()
    gc.collect()
    after = resident()
    print(json.dumps({
        "owned": owned, "ghosts": ghosts, "own_bytes": after[0] - before[0], "file_bytes": after[1] - before[1],
    }))  # fmt: skip
    shard.close()


def resident() -> tuple[int, int]:
    """Return the bytes of this process that belong to no file, and those that do."""
    own = of_files = 0
    for line in Path("/proc/self/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "RssAnon":
            own = int(value.split()[0]) << 10
        elif name in ("RssFile", "RssShmem"):
            of_files += int(value.split()[0]) << 10
    return own, of_files


def ingest(graphs: Path, work: Path) -> list[dict[str, Any]]:
    """What each step of a batch takes, of 2^22 edges on 2, 8 and 32 shards; medians of three graphs of scale 20.

    Archiving goes on after the last batch.
    """
    edges = read(graphs, 20, 16)
    found: list[dict[str, Any]] = []
    for shards in (2, 8, 32):
        runs = []
        for _ in range(3):
            held = Shards(work / "shards", shards, edges, weighted=False)
            runs.append({**held.seconds, "batches": held.batches, "sent": held.sent})
            held.close()
        found.append({"shards": shards, "edges": len(edges)} | {key: median(run[key] for run in runs) for key in runs[0]})
    path = work / "synced"
    block, times = os.urandom(1 << 20), []
    for size in (1, 128):
        rounds = []
        for _ in range(5):
            begun = time.perf_counter()
            with path.open("wb") as file:
                for _ in range(size):
                    file.write(block)
                file.flush()
                os.fdatasync(file.fileno())
            rounds.append(time.perf_counter() - begun)
            path.unlink()
        times.append({"bytes": size << 20, "seconds": median(rounds)})
    found.append({"disk": times})
    return found


def messages(graphs: Path, work: Path) -> dict[str, Any]:
    """What a superstep with next to no work takes on Dask, by number of shards, and messages by size, between two processes."""
    from distributed import Client, LocalCluster

    import everedge.cluster

    found: dict[str, Any] = {"load": round(os.getloadavg()[0], 1), "steps": [], "sizes": []}
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        for shards in (2, 4, 8, 16):
            path = work / f"messages-{shards}"
            shutil.rmtree(path, ignore_errors=True)
            with everedge.cluster.Graph(client, path, shards=shards) as graph:
                vertices = np.arange(64 * shards, dtype=np.uint32)
                graph.add_edges(np.repeat(vertices, shards), np.tile(np.arange(shards, dtype=np.uint32), vertices.size))
                reports = [graph.pagerank(iterations=40).report for _ in range(3)]
                quiet = [graph.bfs(source=0).report for _ in range(3)]
                path_of = np.arange(400, dtype=np.uint32) * shards
                graph.add_edges(path_of[:-1], path_of[1:])
                # All on one shard: supersteps without a message.
                alone = [graph.bfs(source=int(path_of[1])).report for _ in range(3)]
            found["steps"].append({
                "shards": shards, "messages": shards * (shards - 1),
                "seconds": median(report.seconds / (report.iterations or 1) for report in reports),
                "alone_seconds": median(report.seconds / (report.iterations or 1) for report in alone),
                "supersteps": [reports[0].iterations, quiet[0].iterations, alone[0].iterations],
            })  # fmt: skip
            shutil.rmtree(path)
        sender, receiver = list(client.scheduler_info(n_workers=-1)["workers"])[:2]
        there = client.submit(Receiver, actor=True, workers=[receiver], pure=False).result()
        for size in (1 << 10, 1 << 16, 1 << 20, 1 << 24, 1 << 26, 1 << 28):
            count = max(3, min(100, (1 << 28) // size))
            times = [client.submit(_deliver, there, size, count, workers=[sender], pure=False).result() for _ in range(3)]
            found["sizes"].append({"bytes": size, "seconds": median(times)})
    return found


class Receiver:
    """Takes in messages on a worker, as the host of a shard does."""

    async def take(self, message: Any) -> int:
        """Take one in."""
        return int(message.size)


def _deliver(receiver: Any, size: int, count: int) -> float:
    message = np.zeros(size, np.uint8)
    receiver.take(message).result()
    begun = time.perf_counter()
    for _ in range(count):
        receiver.take(message).result()
    return (time.perf_counter() - begun) / count


def reads(graphs: Path, work: Path) -> list[dict[str, Any]]:
    """What a read at a random place costs, by the length of an array of 4-byte numbers."""
    found = []
    chosen = np.random.default_rng(1)
    for log in (16, 18, 20, 22, 24, 26, 28, 30):
        array = np.ones(1 << log, np.uint32)
        places = chosen.integers(0, 1 << log, 1 << 23).astype(np.int64)
        out = np.empty(places.size, np.uint32)
        times = []
        for _ in range(4):
            begun = time.process_time()
            np.take(array, places, out=out, mode="clip")
            times.append((time.process_time() - begun) / places.size)
        found.append({"log": log, "seconds": median(times[1:])})
        del array
    return found


def local(graphs: Path, work: Path) -> list[dict[str, Any]]:
    """A road graph and a web graph, by v mod P and in ranges of ids: ghosts, and what kernels say."""
    found = []
    for name in ("road-FLA", "cnr-2000"):
        edges = np.load(graphs / f"{name}.npy").astype(np.uint32)
        for shards in (8, 32):
            for rule in ("modulo", "ranges"):
                placed = edges if rule == "modulo" else in_ranges(edges, shards)
                wanted: tuple[str, ...] = ("bfs", "pagerank", "wcc", "kcore", "sssp") if shards == 8 else ()
                counted = count_ghosts(placed, shards)
                one: dict[str, Any] = {"graph": name, "rule": rule, "shards": shards, "edges": len(edges), **counted}
                if wanted:
                    measured = measured_shards(placed, shards, work, wanted, 1)["kernels"]
                    one["kernels"] = {
                        kernel: {"supersteps": run["supersteps"], "bytes": sum(step["bytes"] for step in run["steps"])}
                        for kernel, run in measured.items()
                    }
                found.append(one)
    return found


def in_ranges(edges: Edges, shards: int) -> Edges:
    """Number vertices so that `v mod shards` is the range of the number that v had, of so many ranges of one length."""
    length = -(-(int(edges.max()) + 1) // shards)
    placed: Edges = (edges % length * shards + edges // length).astype(np.uint32)
    return placed


def stored() -> dict[str, Any]:
    """Return what the file has."""
    found: dict[str, Any] = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    return found


def store(what: str, measured: Any) -> None:
    """Put a part in the file in place of what it was."""
    known = {**stored(), what: measured}
    FIGURES.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")


def main() -> None:
    """Measure what is asked for, and write it."""
    parts = {"kernels": kernels, "ghosts": ghosts, "memory": memory, "ingest": ingest, "messages": messages, "reads": reads,
             "local": local, "check": check}  # fmt: skip
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="+", choices=[*parts, "fill", "open"])
    parser.add_argument("--graphs", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("bench-graphs"))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    if given.what == ["fill"]:
        return fill_shard(given.graphs, given.work / "one-shard", given.one)
    if given.what == ["open"]:
        return open_shard(given.work / "one-shard", given.one)
    for what in given.what:
        store(what, parts[what](given.graphs, given.work))


if __name__ == "__main__":
    main()
