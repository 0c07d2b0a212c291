"""Computes what 10^11 edges on 64 machines take, from figures of one machine: the tables of `docs/cluster.md`.

    python scripts/cluster_plan.py [--write docs/cluster.md]

`scripts/cluster_measure.py` takes the figures (`scripts/cluster_figures.json`). Each function below says what its formula comes from. With
`--write`, the tables of a page are replaced.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

FIGURES: dict[str, Any] = json.loads(Path(__file__).with_name("cluster_figures.json").read_text())
KERNELS = ("bfs", "sssp", "wcc", "pagerank", "kcore")
NAMES = {"bfs": "BFS", "sssp": "SSSP", "wcc": "WCC", "pagerank": "PageRank", "kcore": "k-core"}
ITERATIONS = 20
"""Of PageRank, as in GAP."""
CORES = 32
"""Processor cores of a machine of the plan: an assumption, as are the networks and memories in the tables."""
NETWORKS = (10, 100)
"""Gbit/s."""
GB = 1e9
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Kron:
    """A Kronecker graph with GAP's parameters, in so many shards: what is expected of it, without making it.

    Bit by bit an edge is (0, 0), (0, 1), (1, 0) or (1, 1) with A = 0.57, B = C = 0.19 and D = 0.05. So all vertices with k ones among
    the bits of their number are alike, and so are their neighbors with as many ones in the same places. The number of edges between two
    vertices is taken as Poisson. Numbers are permuted after that: an owner is any shard, by chance.
    """

    scale: int
    edges: float
    shards: int

    @property
    def bound(self) -> int:
        """A number above all ids."""
        return 1 << self.scale

    @property
    def vertices(self) -> float:
        """How many vertices have an edge."""
        return sum(count * -math.expm1(-degree) for count, degree, _ in self._classes())

    @property
    def ghosts(self) -> float:
        """Ghosts of all shards: vertices that have no edge to a shard are none there."""
        return sum(count * (self.shards - 1) * (1 - self._misses(of, 1)) for count, _, of in self._classes())

    @property
    def sent(self) -> float:
        """Edges of all shards: one is there twice unless both ends have one owner."""
        return self.edges * (2 - 1 / self.shards)

    @property
    def distinct(self) -> float:
        """Pairs of a vertex and one of its neighbors."""
        return float(sum(count * of[0] @ of[1] for count, _, of in self._classes()))

    def shared(self, group: int) -> float:
        """Vertices that a group of shards has a say about when components are joined.

        That is who is owned in the group and has a neighbor on any other shard, or is owned elsewhere and has one in the group.
        """
        owned = group / self.shards
        return sum(
            count * (owned * (1 - self._misses(of, self.shards - 1)) + (1 - owned) * (1 - self._misses(of, group)))
            for count, _, of in self._classes()
        )

    def _misses(self, of: tuple[Floats, Floats], shards: int) -> float:
        """The chance that a vertex has no neighbor on any of so many shards."""
        count, hit = of
        return math.exp(float(count @ np.log1p(-hit * (shards / self.shards))))

    def _classes(self) -> Iterator[tuple[int, float, tuple[Floats, Floats]]]:
        """For each number of ones: how many vertices, their degree, and of their neighbors how many and how likely each is one."""
        return iter(_classes(self.scale, self.edges))


@cache
def _classes(scale: int, edges: float) -> list[tuple[int, float, tuple[Floats, Floats]]]:
    found = []
    for ones in range(scale + 1):
        degree = 2 * edges * 0.76 ** (scale - ones) * 0.24**ones
        x, y = np.arange(scale - ones + 1)[:, None], np.arange(ones + 1)[None, :]
        ways = [np.array([comb(of, k) for k in range(of + 1)], np.float64) for of in (scale - ones, ones)]
        chance = 0.75 ** (scale - ones - x) * 0.25**x * (0.19 / 0.24) ** (ones - y) * (0.05 / 0.24) ** y
        found.append((comb(scale, ones), degree, (np.outer(*ways).ravel(), -np.expm1(-degree * chance).ravel())))
    return found


def of_run(run: dict[str, Any]) -> Kron:
    """Return the graph of a measured run."""
    return Kron(run["scale"], run["edges"], run["shards"])


# Bytes and supersteps.


def said_bytes(kernel: str, graph: Kron, runs: list[dict[str, Any]]) -> float:
    """Return the bytes that all shards say in a run.

    PageRank says 4 bytes of each ghost in each iteration and once before (`ranks.rs`). Components say 8 bytes of each shared vertex, up and
    back (`components.rs`). For the rest, bytes of a ghost are a plane through the measured runs: see `line`.
    """
    if kernel == "pagerank":
        return (ITERATIONS + 1) * 4 * graph.ghosts
    if kernel == "wcc":
        return 2 * sum(8 * messages * graph.shared(group) for group, messages in pairs(graph.shards))
    of_ghost = [sum(step["bytes"] for step in run["kernels"][kernel]["steps"]) / run["ghosts"] for run in runs]
    return graph.ghosts * line(runs, of_ghost)(graph)


def pairs(shards: int) -> list[tuple[int, int]]:
    """Return, for each time that shards pair up, how many are in a group, and how many messages there are."""
    height = (shards - 1).bit_length()
    return [(1 << at, shards >> (at + 1)) for at in range(height)]


def supersteps(kernel: str, graph: Kron, runs: list[dict[str, Any]]) -> float:
    """Return the supersteps of a run: of PageRank its iterations, of components twice the logarithm of the shards, else a plane."""
    if kernel == "pagerank":
        return ITERATIONS
    if kernel == "wcc":
        return 2 * len(pairs(graph.shards))
    return line(runs, [run["kernels"][kernel]["supersteps"] for run in runs])(graph)


def line(runs: list[dict[str, Any]], values: list[float], least: float = 0.0) -> Callable[[Kron], float]:
    """Return a plane through values of runs, by least squares: over scale, the logarithm of the shards, and that of the degree."""

    def features(graph: Kron) -> list[float]:
        return [1, graph.scale, math.log2(graph.shards), math.log2(graph.edges / graph.bound)]

    rows = np.array([features(of_run(run)) for run in runs])
    slopes, *_ = np.linalg.lstsq(rows, np.array(values, np.float64), rcond=None)
    return lambda graph: max(least, float(np.dot(features(graph), slopes)))


# Work.


@dataclass(frozen=True)
class Work:
    """Processor seconds of all shards in a run."""

    spread: float
    """What a shard's threads share: passes over lists of neighbors."""
    alone: float
    """What one thread of a shard does: arrays as long as the largest id are made, messages are made and read."""


def work(kernel: str, graph: Kron, runs: list[dict[str, Any]]) -> Work:
    """Return the work of a kernel: that of each edge that a shard has, of a random read for it, of each id, and of each byte that is said.

    What each costs is the best fit to the measured runs, by least squares of relative errors, none below zero. A read is one of an array
    as long as the largest id; of PageRank and k-core, as long as there are vertices on the shard (`lists.rs`).
    """
    rounds = ITERATIONS if kernel == "pagerank" else 1

    def features(graph: Kron, said: float, times: float) -> Floats:
        length = (graph.vertices + graph.ghosts) / graph.shards if kernel in ("pagerank", "kcore") else graph.bound
        read = read_seconds(math.log2(length))
        return np.array([times * graph.sent, times * graph.sent * read, graph.shards * graph.bound, said])

    rows, seconds = [], []
    for run in runs:
        steps = run["kernels"][kernel]["steps"]
        times = len(steps) - 1 if kernel == "pagerank" else 1
        rows.append(features(of_run(run), sum(step["bytes"] for step in steps), times))
        seconds.append(sum(step["work"] for step in steps))
    costs = least_squares(np.array(rows), np.array(seconds))
    parts = features(graph, said_bytes(kernel, graph, runs), rounds) * costs
    return Work(float(parts[:2].sum()), float(parts[2:].sum()))


def trend(kernel: str, graph: Kron, runs: list[dict[str, Any]]) -> float:
    """Return the same work in another way: what an edge costs in each measured run grows with scale, shards and degree, by powers of them.

    It follows caches that fill and rounds that become more, but does not know that a cache is full one day: for graphs far beyond the measured
    ones it is too much, as fixed costs are too little.
    """
    rounds = ITERATIONS if kernel == "pagerank" else 1
    logs = []
    for run in runs:
        steps = run["kernels"][kernel]["steps"]
        times = len(steps) - 1 if kernel == "pagerank" else 1
        logs.append(math.log(sum(step["work"] for step in steps) / times / of_run(run).sent))
    return rounds * graph.sent * math.exp(line(runs, logs, least=-math.inf)(graph))


def balance(kernel: str, run: dict[str, Any]) -> float:
    """Return the work of the slowest shard of each superstep, which all others wait for, by the mean of all shards."""
    steps = run["kernels"][kernel]["steps"]
    return float(run["shards"] * sum(step["work_max"] for step in steps) / sum(step["work"] for step in steps))


def read_seconds(scale: float) -> float:
    """Return what a read at a random place of an array of 2^scale numbers costs: measured up to 2^30."""
    reads = FIGURES["reads"]
    return float(np.interp(scale, [read["log"] for read in reads], [read["seconds"] for read in reads]))


def least_squares(rows: Floats, values: Floats) -> Floats:
    """Return the costs, none below zero, whose relative errors have the least squares: the best of all sets that are not zero."""
    rows, best, least = rows / values[:, None], np.zeros(rows.shape[1]), math.inf
    for size in range(1, rows.shape[1] + 1):
        for chosen in map(list, combinations(range(rows.shape[1]), size)):
            scales = np.abs(rows[:, chosen]).max(axis=0)
            costs, *_ = np.linalg.lstsq(rows[:, chosen] / scales, np.ones(len(values)), rcond=None)
            error = float(((rows[:, chosen] / scales @ costs - 1) ** 2).sum())
            if (costs >= 0).all() and error < least - 1e-12:
                best, least = np.zeros(rows.shape[1]), error
                best[chosen] = costs / scales
    return best


# Time.


@dataclass(frozen=True)
class Dask:
    """What Dask takes, from messages between two processes and supersteps with next to no work."""

    bytes_per_second: float
    """Of one direction, by the largest message that was measured."""
    end_seconds: float
    """One end of a message, on the thread of a worker that does all of them."""
    shard_seconds: float
    """A shard in a superstep, for the client, a worker and the scheduler together."""


def dask() -> Dask:
    """Two workers have half of the shards each: half of the messages go from one to the other, and each has an end of all of these."""
    steps, sizes = FIGURES["messages"]["steps"], FIGURES["messages"]["sizes"]
    ends = np.array([step["shards"] ** 2 / 2 for step in steps])
    took = np.array([step["seconds"] - step["alone_seconds"] for step in steps])
    first, last = steps[0], steps[-1]
    of_shard = (last["alone_seconds"] - first["alone_seconds"]) / (last["shards"] - first["shards"])
    return Dask(sizes[-1]["bytes"] / sizes[-1]["seconds"], float(ends @ took / (ends @ ends)), of_shard)


@dataclass(frozen=True)
class Answer:
    """What a kernel takes on the machines of the plan."""

    bytes: float
    """That all machines say."""
    supersteps: float
    spread_seconds: float
    alone_seconds: float
    overhead_seconds: float
    """Of Dask, for messages whatever their size."""
    network_seconds: dict[int, float]
    """By Gbit/s."""
    trend_seconds: float
    """Work by its trend, all of it spread over the cores."""

    def seconds(self, network: int) -> float:
        """Return how long it takes, nothing of it at the same time as anything else."""
        return self.spread_seconds + self.alone_seconds + self.overhead_seconds + self.network_seconds[network]

    def seconds_by_trend(self, network: int) -> float:
        """Return the same with the work by its trend."""
        return self.trend_seconds + self.overhead_seconds + self.network_seconds[network]


def answer(kernel: str, graph: Kron, runs: list[dict[str, Any]]) -> Answer:
    """Return what a kernel takes: its work, divided among machines and, where it can be, among their cores; then bytes over the network.

    All wait for the slowest shard; how much slower than the mean it is comes from the runs with the most shards, the median of them.
    A machine sends and receives at once, but Dask does both on one thread: so the slower of the network, and twice the bytes through Dask.
    Components wait at each height for one message after the other: the largest counts, not the mean.
    """
    said, steps, of_dask = said_bytes(kernel, graph, runs), supersteps(kernel, graph, runs), dask()
    done = work(kernel, graph, runs)
    waited = said / graph.shards
    if kernel == "wcc":
        waited = 2 * sum(8 * graph.shared(group) for group, _ in pairs(graph.shards))
    most = max(run["shards"] for run in runs)
    slowest = float(np.median([balance(kernel, run) for run in runs if run["shards"] == most]))
    ends = 2 if kernel == "wcc" else 2 * (graph.shards - 1)
    through_dask = waited * (1 if kernel == "wcc" else 2) / of_dask.bytes_per_second
    return Answer(
        said, steps, slowest * done.spread / graph.shards / CORES, slowest * done.alone / graph.shards,
        steps * (of_dask.shard_seconds * graph.shards + of_dask.end_seconds * ends),
        {network: max(8 * waited / (network * 1e9), through_dask) for network in NETWORKS},
        slowest * trend(kernel, graph, runs) / graph.shards / CORES,
    )  # fmt: skip


# Memory.


@dataclass(frozen=True)
class Held:
    """Bytes on a machine."""

    of_ids: float
    """What is as long as the largest id."""
    of_lists: float
    """What grows with the shard's edges, own vertices and ghosts."""

    @property
    def all(self) -> float:
        """Both."""
        return self.of_ids + self.of_lists


def graph_memory(graph: Kron, weighted: bool, figures: list[dict[str, Any]]) -> Held:
    """Return what a shard's graph takes once it was opened and all of it was read: bytes of an id, of an edge, and of a vertex that is there.

    What each costs is the best fit to measured shards; weights only make edges larger, so that all shards say what an id costs.
    """

    def features(bound: float, edges: float, there: float, weighted: bool) -> list[float]:
        return [bound, there, edges, edges * weighted]

    rows = [features(one["bound"], one["edges"], one["owned"] + one["ghosts"], one["weighted"]) for one in figures]
    values = [one["own_bytes"] + one["file_bytes"] for one in figures]
    costs = least_squares(np.array(rows, np.float64), np.array(values, np.float64))
    there = (graph.vertices + graph.ghosts) / graph.shards
    parts = np.array(features(graph.bound, graph.sent / graph.shards, there, weighted)) * costs
    return Held(float(parts[0]), float(parts[1:].sum()))


def kernel_memory(kernel: str, graph: Kron, said: float, steps: float) -> Held:
    """Return what a shard's part of a kernel takes, by the arrays in its file; for messages what is said and heard in a mean superstep.

    Beside the arrays: lists of own vertices, ghosts and mirrored vertices, 4 bytes each, and a bit of each id (`part.rs`). PageRank and
    k-core copy lists with numbers without gaps (`lists.rs`): 4 bytes for each id and a second copy of the lists, both for a moment.
    """
    own, ghosts = graph.vertices / graph.shards, graph.ghosts / graph.shards
    of_id = {"bfs": 4 + 2 / 8, "sssp": 8 + 8, "wcc": 4 + 4, "pagerank": 4, "kcore": 4}[kernel]
    lists = 4 * (own + 2 * ghosts)
    if kernel == "wcc":
        # The last one of a pair that listens: a list of what it was told at each height, and the largest message.
        lists += sum(4 * graph.shared(group) for group, _ in pairs(graph.shards))
        lists += (4 + 8) * graph.shared(graph.shards // 2)
    else:
        lists += 2 * said / graph.shards / max(steps, 1)
    if kernel == "pagerank":
        lists += 8 * graph.edges / graph.shards + (8 + 4 + 8 + 4) * own + (4 + 4) * ghosts
    if kernel == "kcore":
        lists += 8 * graph.distinct / graph.shards + (8 + 4 + 4) * own + (4 + 4) * ghosts
    return Held((of_id + 1 / 8) * graph.bound, lists)


# Ingestion.


def ingest_seconds(graph: Kron, batch: int = 1 << 22) -> dict[str, float]:
    """Return what each step of an ingest takes on each machine, in the order of a batch.

    A batch is divided by whoever sends it. Staging, and applying with what threads archive after it, cost processor time for each edge
    that a shard has, for each batch, and once. A shard syncs four times a batch: the staged file, its directory, `applied`, and the graph's log.
    The disk takes 8 bytes of an edge as it is staged, 8 in the log, and what its graph takes. Commits are done by one host, one after
    the other.
    """
    runs = [run for run in FIGURES["ingest"] if "shards" in run]
    runs += [run | run["ingest"]["plain"] for run in known()]
    small, large = next(run["disk"] for run in FIGURES["ingest"] if "disk" in run)
    batches, edges = graph.edges / batch, graph.sent / graph.shards
    rows = np.array([[run["sent"], run["batches"] * run["shards"], run["shards"]] for run in runs], np.float64)

    def worked(*names: str) -> float:
        costs = least_squares(rows, np.array([sum(run[f"{name}_work"] for name in names) for run in runs]))
        return float(costs @ [edges, batches, 1])

    stored = max(one["disk_bytes"] / one["edges"] for one in FIGURES["memory"] if one["scale"] == 20 and one["shards"] <= 8)
    found = {
        "divide, one thread": max(run["divide_work"] / run["edges"] for run in runs) * graph.edges / graph.shards,
        "stage, one thread": worked("stage"),
        "apply and archive, processor time": worked("apply", "archive"),
        "syncs": 4 * small["seconds"] * batches,
        "disk": (16 + stored) * edges * large["seconds"] / large["bytes"],
        "commits, on one host": max(run["commit"] / run["batches"] for run in runs) * batches,
    }
    for network in NETWORKS:
        found[f"send and receive, {network} Gbit/s"] = max(64 * edges / (network * 1e9), 16 * edges / dask().bytes_per_second)
    return found


# Tables.

PLAN = Kron(31, 1e11, 64)


def known() -> list[dict[str, Any]]:
    """Return all runs that were measured."""
    return [*FIGURES["kernels"], *FIGURES["check"]]


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table of Markdown: words left, numbers right."""
    kinds = ["---" if at == 0 else "---:" for at in range(len(head))]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, kinds, *rows])


def number(value: float, digits: int = 3) -> str:
    """Return a number with so many digits, at least those before the point."""
    if value == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{round(value, digits - 1 - math.floor(math.log10(abs(value)))):,.{places}f}"


def graph_table() -> str:
    """The graph of the plan by number of machines."""
    rows = []
    for shards in (16, 64, 256):
        graph = Kron(PLAN.scale, PLAN.edges, shards)
        rows.append([
            str(shards), number(graph.vertices / shards / 1e6), number(graph.ghosts / shards / 1e6),
            number(graph.ghosts / graph.vertices), number(graph.sent / shards / 1e9), number(graph.bound / 1e6),
        ])  # fmt: skip
    head = ["machines", "own vertices, millions", "ghosts, millions", "ghosts for each vertex of the graph", "edges, billions", "ids, millions"]
    return table(head, rows)


def ghosts_table() -> str:
    """Ghosts as counted, and by how much the formula differs."""
    rows = []
    for scale, degree in sorted({(one["scale"], one["degree"]) for one in FIGURES["ghosts"]}):
        of_graph = [one for one in FIGURES["ghosts"] if (one["scale"], one["degree"]) == (scale, degree)]
        errors = [Kron(scale, degree * 2.0**scale, one["shards"]).ghosts / one["ghosts"] - 1 for one in of_graph]
        rows.append([f"{scale}, {degree}", *(f"{one['ghosts'] / one['vertices']:.2f}" for one in of_graph),
                     f"{max(errors, key=abs):+.2%}"])  # fmt: skip
    shards = [str(one["shards"]) for one in of_graph]
    return table(["scale, degree", *(f"P = {count}" for count in shards), "largest error"], rows)


def check_table() -> str:
    """Scale 22, as predicted from scales 16 to 20, and as measured."""
    rows = []
    runs = FIGURES["kernels"]
    for kernel in KERNELS:
        for run in FIGURES["check"]:
            graph, measured = of_run(run), run["kernels"][kernel]
            said = sum(step["bytes"] for step in measured["steps"])
            seconds = sum(step["work"] for step in measured["steps"])
            guessed = work(kernel, graph, runs)
            of_time, of_bytes = guessed.spread + guessed.alone, said_bytes(kernel, graph, runs)
            steps, by_trend = supersteps(kernel, graph, runs), trend(kernel, graph, runs)
            if kernel == "pagerank":
                # Fewer iterations were measured.
                share = measured["supersteps"] / ITERATIONS
                by_trend *= share
                of_time, of_bytes = of_time * share, of_bytes * (measured["supersteps"] + 1) / (ITERATIONS + 1)
                steps = measured["supersteps"]
            rows.append([
                f"{NAMES[kernel]}, P = {graph.shards}", number(of_bytes / 1e6), number(said / 1e6), f"{of_bytes / said - 1:+.0%}",
                f"{steps:.0f}", str(measured["supersteps"]), number(seconds), f"{of_time / seconds - 1:+.0%}", f"{by_trend / seconds - 1:+.0%}",
            ])  # fmt: skip
    head = ["kernel", "MB predicted", "MB measured", "error", "supersteps predicted", "measured", "work measured, s", "error by costs"]
    return table([*head, "error by trend"], rows)


def balance_table() -> str:
    """The slowest shard of each superstep by the mean."""
    rows = []
    for run in sorted(known(), key=lambda run: (run["shards"], run["scale"], run["degree"])):
        row = [f"P = {run['shards']}, scale {run['scale']}, degree {run['degree']}", f"{run['ghosts_max'] * run['shards'] / run['ghosts']:.2f}"]
        rows.append([*row, *(f"{balance(kernel, run):.2f}" for kernel in KERNELS)])
    return table(["graph", "ghosts", *(f"work of {NAMES[kernel]}" for kernel in KERNELS)], rows)


def memory_check_table() -> str:
    """Memory of a shard at scale 22, as predicted from scales 18 and 20, and as measured; beside it what there is before it is opened again."""
    rows = []
    figures = [one for one in FIGURES["memory"] if one["scale"] < 22]
    for one in FIGURES["memory"]:
        if one["scale"] < 22:
            continue
        graph = Kron(one["scale"], one["degree"] * 2.0 ** one["scale"], one["shards"])
        guessed, measured = graph_memory(graph, one["weighted"], figures).all, one["own_bytes"] + one["file_bytes"]
        rows.append([
            f"P = {one['shards']}, {'with' if one['weighted'] else 'without'} weights", number(guessed / 1e6), number(measured / 1e6),
            f"{guessed / measured - 1:+.0%}", number(one["filled_bytes"] / 1e6),
        ])  # fmt: skip
    return table(["shard 0 of scale 22", "MB predicted", "MB measured", "error", "straight after the ingest, MB"], rows)


def kernels_table() -> str:
    """What each kernel takes in the plan."""
    rows = []
    for kernel in KERNELS:
        of_plan = answer(kernel, PLAN, known())
        rows.append([
            NAMES[kernel], number(of_plan.supersteps, 2), number(of_plan.bytes / PLAN.shards / GB), number(of_plan.spread_seconds),
            number(of_plan.alone_seconds), number(of_plan.overhead_seconds, 2),
            *(number(of_plan.network_seconds[network]) for network in NETWORKS), *(number(of_plan.seconds(network)) for network in NETWORKS),
            number(of_plan.trend_seconds), number(of_plan.seconds_by_trend(100)),
        ])  # fmt: skip
    head = ["kernel", "supersteps", "GB said by a machine", f"work of {CORES} cores, s", "work of one thread, s", "Dask, s"]
    head += [f"bytes at {network} Gbit/s, s" for network in NETWORKS] + [f"all at {network} Gbit/s, s" for network in NETWORKS]
    return table([*head, "work by trend, s", "all at 100 Gbit/s by trend, s"], rows)


def memory_table() -> str:
    """What each kernel takes of a machine's memory in the plan."""
    rows = []
    for kernel in KERNELS:
        of_plan = answer(kernel, PLAN, known())
        graph = graph_memory(PLAN, kernel == "sssp", FIGURES["memory"])
        own = kernel_memory(kernel, PLAN, of_plan.bytes, of_plan.supersteps)
        whole = graph.all + own.all
        rows.append([
            NAMES[kernel], number(graph.of_ids / GB), number(graph.of_lists / GB), number(own.of_ids / GB), number(own.of_lists / GB),
            number(whole / GB), *("yes" if whole < memory * GB else "no" for memory in (128, 256, 512)),
        ])  # fmt: skip
    head = ["kernel", "graph: ids, GB", "graph: lists, GB", "kernel: ids, GB", "kernel: lists and messages, GB", "all, GB"]
    return table([*head, "fits 128 GB", "256 GB", "512 GB"], rows)


def ingest_table() -> str:
    """What each step of the ingest takes in the plan."""
    by_batch = [ingest_seconds(PLAN), ingest_seconds(PLAN, 1 << 26)]
    rows = [[what, *(number(seconds[what]) for seconds in by_batch)] for what in by_batch[0]]
    return table(["step", "s on each machine, batches of 2^22 edges", "batches of 2^26"], rows)


def local_table() -> str:
    """Graphs with locality, by both rules."""
    rows = []
    for one in FIGURES["local"]:
        row = [f"{one['graph']}, P = {one['shards']}", "v mod P" if one["rule"] == "modulo" else "ranges"]
        row.append(number(one["ghosts"] / one["vertices"], 2))
        for kernel in KERNELS:
            run = one.get("kernels", {}).get(kernel)
            row.append(f"{run['supersteps']:,}; {number(run['bytes'] / 1e6, 2)}" if run else "")
        rows.append(row)
    return table(["graph", "owner", "ghosts for each vertex", *(f"{NAMES[kernel]}: supersteps; MB" for kernel in KERNELS)], rows)


def growth_table() -> str:
    """Memory of one machine by number of machines, for the largest kernel: ids stay."""
    rows = []
    for shards in (16, 32, 64, 128, 256, 1024):
        graph = Kron(PLAN.scale, PLAN.edges, shards)
        held = graph_memory(graph, False, FIGURES["memory"])
        said = answer("pagerank", graph, known())
        own = kernel_memory("pagerank", graph, said.bytes, said.supersteps)
        rows.append([
            str(shards), number((held.of_ids + own.of_ids) / GB), number((held.of_lists + own.of_lists) / GB),
            number((held.all + own.all) / GB), number(graph.ghosts / shards / (graph.vertices / shards)),
            number(8 * graph.shared(1 << (len(pairs(shards)) - 1)) / GB), number(said.seconds(10)), number(said.seconds(100)),
        ])  # fmt: skip
    head = ["machines", "ids, GB", "lists and messages, GB", "all, GB", "ghosts for each own vertex", "largest message of WCC, GB"]
    return table([*head, "PageRank at 10 Gbit/s, s", "at 100 Gbit/s, s"], rows)


def limits_table() -> str:
    """What the plan asks of single places, and how many ids or shards that place is good for."""
    of_dask = dask()
    of_id = graph_memory(PLAN, False, FIGURES["memory"]).of_ids / PLAN.bound
    of_sssp = of_id + kernel_memory("sssp", PLAN, 0, 1).of_ids / PLAN.bound
    sorted_bytes = 8 * PLAN.shared(PLAN.shards // 2)
    batches = PLAN.edges / (1 << 22)
    rows = [
        ["the graph's tables as long as the largest id, bytes of an id", number(of_id)],
        ["the same with the arrays of SSSP, GB on each machine, however many there are", number(of_sssp * PLAN.bound / GB)],
        ["ids at which these alone fill 128 GB, billions", number(128 * GB / of_sssp / 1e9)],
        ["ranks on the client, GB: 9 bytes of each id, 20 of each vertex", number((9 * PLAN.bound + 20 * PLAN.vertices) / GB)],
        ["ranks over the client's network, s at 10 Gbit/s", number(8 * 8 * PLAN.vertices / 1e10)],
        ["last message of WCC, GB", number(sorted_bytes / GB)],
        ["a message of PageRank from one machine to another, MB", number(4 * PLAN.ghosts / PLAN.shards / (PLAN.shards - 1) / 1e6)],
        ["Dask's thread, Gbit/s of a message", number(8 * of_dask.bytes_per_second / 1e9)],
        ["a superstep with next to no bytes, ms", number(1e3 * (of_dask.shard_seconds * 64 + of_dask.end_seconds * 126), 2)],
        ["the same with 1,024 machines, ms", number(1e3 * (of_dask.shard_seconds * 1024 + of_dask.end_seconds * 2046), 2)],
        ["batches of 2^22 edges, thousands", number(batches / 1e3)],
        ["commits one after the other, s", number(ingest_seconds(PLAN)["commits, on one host"])],
    ]  # fmt: skip
    return table(["what", "value"], rows)


TABLES: dict[str, Callable[[], str]] = {
    "the graph": graph_table, "ghosts": ghosts_table, "check": check_table, "check of memory": memory_check_table,
    "balance": balance_table, "kernels": kernels_table,
    "memory": memory_table, "ingest": ingest_table, "single places": limits_table, "machines": growth_table, "locality": local_table,
}  # fmt: skip


def written(page: str) -> str:
    """Return a page with the tables as they come out: each is after a line `<!-- table: NAME -->`."""
    return re.sub(r"(<!-- table: (.*) -->\n)(?:\|.*\n)*", lambda found: f"{found[1]}{TABLES[found[2]]()}\n", page)


def main() -> int:
    """Print all tables, or bring them into a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, metavar="PAGE")
    given = parser.parse_args()
    if given.write is not None:
        given.write.write_text(written(given.write.read_text()))
        return 0
    for name, made in TABLES.items():
        print(f"{name}\n\n{made()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
