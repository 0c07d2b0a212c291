"""The demo, step by step."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
import logging
import math
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dask
import dask.bag
import numpy as np
from dask.delayed import delayed
from distributed import Client, LocalCluster

import everedge
import everedge.cluster
from demo_cluster import data, page
from demo_cluster.data import Data, Share
from demo_cluster.found import Found, Run, ShardEdges
from demo_cluster.watch import Watch

WORKERS = 4
SHARES = 8
"""Into so many shares the edges are divided; a worker reads one after the other."""
RANKED = 15
TOLERANCE = 1e-9
"""PageRank goes on until ranks change by less: some 90 supersteps, so that a kill comes in their middle."""
KILL_AT_STEP = 20
PACKAGE = "gimp"
"""The package where the search begins."""

Say = Callable[[str, str], None]


def play(root: Path, output: Path, batches: int) -> Found:
    """Run the demo; returns what it found, and leaves its page in the output directory."""
    place = prepare(root, output)
    begun = time.time()
    is_terminal = sys.stdout.isatty()

    def say(step: str, what: str) -> None:
        label = f"\x1b[1m{step:<12}\x1b[0m" if is_terminal else f"{step:<12}"
        print(f"{time.time() - begun:5.1f} s  {label}{what}", flush=True)

    graph = data.load(output / data.FILE)
    batch = math.ceil(graph.src.size / batches)
    batches = data.write_edges(graph, place / "edges.parquet", batch)
    found = Found(
        everedge.__version__, machine(), datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        graph.source, graph.names.size, graph.src.size, batch, batches,
    )
    say("data", f"{found.packages:,} packages and {found.dependencies:,} dependencies, in {batches} batches")
    settings = {
        # Dask gives up a task that was on three workers which went away, as if it had been its fault.
        "distributed.scheduler.allowed-failures": 20,
        # A worker that is gone is noticed soon.
        "distributed.comm.timeouts.connect": "3s",
    }
    watch = Watch(say)
    with (
        quiet(place / "dask.log"),
        dask.config.set(settings),
        LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=logging.CRITICAL,
            local_directory=str(place / "dask"), plugins=[],
        ) as cluster,
        Client(cluster, direct_to_workers=True) as client,
    ):
        for address in sorted(cluster.scheduler.workers):
            watch.add_worker(cluster.scheduler, address)
        cluster.scheduler.add_plugin(watch)
        watch.listen(client)
        watch.make_ready(client)
        pids = ", ".join(str(worker.pid) for worker in watch.workers)
        say("workers", f"{WORKERS} processes of Dask on this machine: {pids}")
        with everedge.cluster.Graph(client, place / "graph", directed=True) as shards:
            say("graph", f"{shards.num_shards} shards, each a durable graph that one of the workers has open")
            ingest(shards, watch, found, place, say)
            count_edges(found, graph, place / "graph", shards.num_shards, say)
            client.wait_for_workers(WORKERS)
            watch.make_ready(client)
            ask(shards, watch, found, graph, say)
    # What workers keep there goes with them, but not of those that were killed.
    shutil.rmtree(place / "dask", ignore_errors=True)
    found.workers, found.opened, found.kills = watch.workers, watch.opened, watch.kills
    found.acknowledged, found.supersteps, found.again = watch.acknowledged, watch.supersteps, watch.again
    found.seconds = time.time() - begun
    style = (root / "crates/everedge-bench/src/page/style.css").read_text()
    (place / "report.html").write_text(page.render(found, style))
    (place / "report.json").write_text(json.dumps(dataclasses.asdict(found), indent=1))
    say("report", str(output / "cluster/report.html"))
    print(
        f"\nAll of it took {found.seconds:.0f} s. The graph stays, a shard each an ordinary graph:\n"
        f"  everedge stats {output / 'cluster/graph' / f'shard-0-of-{WORKERS}' / 'graph'}"
    )
    return found


def prepare(root: Path, output: Path) -> Path:
    """Make the directory, and clear it of what an earlier demo made. Returns the part of it that is this demo's."""
    output.mkdir(parents=True, exist_ok=True)
    # `everedge demo`, which uses the same directory, knows by this file that it is a demo's.
    shutil.copyfile(root / "crates/everedge-cli/data" / data.FILE, output / data.FILE)
    place = output.absolute() / "cluster"
    if place.exists():
        if any(entry.name not in _OWN for entry in place.iterdir()):
            sys.exit(f"`{place}` holds other files; choose another directory with --output")
        shutil.rmtree(place)
    place.mkdir()
    return place


_OWN = {"dask", "dask.log", "edges.parquet", "graph", "report.html", "report.json"}


@contextlib.contextmanager
def quiet(path: Path) -> Iterator[None]:
    """Put what this process and those that it starts say on standard error into a file."""
    kept = os.dup(2)
    with open(path, "ab", buffering=0) as log:
        os.dup2(log.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)


def ingest(shards: everedge.cluster.Graph, watch: Watch, found: Found, place: Path, say: Say) -> None:
    """Bring the edges in, and kill a worker in the middle of it."""
    say("ingest", f"each worker reads its shares of the edges, and sends batches of {found.batch:,} to all shards")
    each = math.ceil(found.batches / SHARES)
    starts = range(0, found.batches, each)
    path = str(place / "edges.parquet")
    shares = [
        delayed(Share)(path, range(at, min(at + each, found.batches)), found.batch) for at in starts
    ]
    watch.kill_at_batch(found.batches * 2 // 5, found.batches, f"shard {shards.num_shards - 2}")
    found.ingest_begun = watch.now()
    done = shards.ingest(dask.bag.from_delayed(shares), batch=found.batch, name="debian")
    found.ingest_ended = watch.now()
    watch.finish_batches(found.batches, found.ingest_ended)
    found.newest = shards.version
    seconds = found.ingest_ended - found.ingest_begun
    say("ingest", f"{done.edges:,} edges acknowledged in {seconds:.1f} s; the graph has version {found.newest}")


def count_edges(found: Found, graph: Data, path: Path, shards: int, say: Say) -> None:
    """Read what is in the directories of the shards, and count each edge of the source there."""
    key = graph.src.astype(np.uint64) * graph.names.size + graph.dst
    order = np.argsort(key)
    by_ends = [np.zeros(key.size, np.int64), np.zeros(key.size, np.int64)]
    strange = 0
    for shard in range(shards):
        name = f"shard-{shard}-of-{shards}"
        with everedge.Graph(path / name / "graph", mode="r") as one:
            edges = one.snapshot().edges()
        src, dst = (np.asarray(ends, np.uint64) for ends in (edges.src, edges.dst))
        there = src * graph.names.size + dst
        rows = order[np.minimum(np.searchsorted(key, there, sorter=order), key.size - 1)]
        strange += int((key[rows] != there).sum())
        owned = [ends % shards == shard for ends in (src, dst)]
        for counts, is_owned in zip(by_ends, owned, strict=True):
            np.add.at(counts, rows[is_owned], 1)
        inside = int((owned[0] & owned[1]).sum())
        vertices = len(range(shard, graph.names.size, shards))
        found.shards.append(ShardEdges(shard, inside, src.size - inside, vertices))
    batch_of = np.arange(key.size) // found.batch
    least, most = np.minimum(*by_ends), np.maximum(*by_ends)
    found.lost = np.unique(batch_of[least < 1]).size
    found.twice = np.unique(batch_of[most > 1]).size + strange
    say("check", f"{found.batches} batches sent, {found.batches - found.lost} there, {found.lost} lost, {found.twice} twice")


def ask(shards: everedge.cluster.Graph, watch: Watch, found: Found, graph: Data, say: Say) -> None:
    """Ask the shards and one machine the same, and kill a worker in the middle of the first question."""
    with everedge.Graph("one", medium="dram", ids="dense") as one:
        one.add_edges(graph.src, graph.dst)
        snapshot = one.snapshot()
        start = graph.number(PACKAGE)
        questions: list[tuple[str, dict[str, Any], str]] = [
            ("pagerank", {"tolerance": TOLERANCE}, "pagerank(tolerance=1e-9)"),
            ("bfs", {"source": start}, f'bfs(source=number["{PACKAGE}"])'),
            ("wcc", {}, "wcc()"),
            ("kcore", {}, "kcore()"),
        ]
        watch.kill_at_step(KILL_AT_STEP, "pagerank", "versions")
        for kernel, parameters, call in questions:
            begun = watch.now()
            answer = getattr(shards, kernel)(**parameters)
            ended = watch.now()
            one_begun = time.perf_counter()
            expected = getattr(snapshot, kernel)(**parameters)
            one_seconds = time.perf_counter() - one_begun
            report = answer.report
            here, there = (np.asarray(values, np.float64) for values in (answer.values, expected.values))
            difference = np.abs(here - there) / (there if kernel == "pagerank" else 1)
            sent = report.bytes_sent[:-1]
            step_seconds = watch.step_seconds(kernel, report.iterations, len(sent), report.seconds)
            run = Run(
                kernel, call, outcome(kernel, answer, graph), begun, ended, report.tries, report.seconds,
                sent, step_seconds, one_seconds, float(difference.max()),
                bool(np.array_equal(answer.ids, expected.ids) and difference.max() <= (1e-6 if kernel == "pagerank" else 0)),
            )
            found.runs.append(run)
            times = "" if run.tries == 1 else f", begun {run.tries} times"
            say(kernel, f"{run.outcome}; {report.iterations} supersteps{times}; {same(run)}")
            if kernel == "pagerank":
                best = np.argsort(-answer.values)[:RANKED]
                found.ranking = [(str(graph.names[vertex]), float(answer.values[vertex])) for vertex in best]


def outcome(kernel: str, answer: Any, graph: Data) -> str:
    """Return what a kernel found, in words."""
    values = answer.values
    if kernel == "pagerank":
        best = np.argsort(-values)[:3]
        return "most depended-on: " + ", ".join(f"{graph.names[one]} {values[one]:.1%}" for one in best)
    if kernel == "bfs":
        return f"{PACKAGE} leans on {int((values > 0).sum()):,} others, up to {int(values.max())} steps away"
    if kernel == "wcc":
        sizes = np.unique(values, return_counts=True)[1]
        return f"{sizes.size} components; the largest has {int(sizes.max()):,} packages"
    core = int(values.max())
    return f"the densest core: {int((values == core).sum())} packages with {core} edges or more each among themselves"


def same(run: Run) -> str:
    """Return how an answer is to that of one machine, in words."""
    if not run.is_equal:
        return f"NOT the answer of one machine: it differs by {run.largest_difference:.1e}"
    if run.largest_difference:
        return f"ranks as one machine's, to {run.largest_difference:.0e} of each"
    return "the same as on one machine"


def machine() -> str:
    """Return what this machine is, in words."""
    model = platform.processor() or platform.machine()
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as file:
        model = next((line.partition(": ")[2].strip() for line in file if line.startswith("model name")), model)
    dask_version = version("distributed")
    return f"{model}, {os.cpu_count()} processors; Python {platform.python_version()}, Dask {dask_version}"
