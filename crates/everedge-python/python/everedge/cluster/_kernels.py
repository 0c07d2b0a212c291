"""Kernels over all shards, superstep by superstep."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from everedge._columns import told
from everedge._errors import InvalidInputError, KernelError
from everedge._reports import RunReport
from everedge._values import Vertices
from everedge.cluster._places import Cut, Places, may_be_loss
from everedge.cluster._shard import Question

TRIES_MAX = 10
"""How often a kernel, or a part of an ingest, is begun again because a worker is gone."""
_TOPIC = "everedge"
"""Where a client of the scheduler hears of supersteps (`Client.get_events`)."""

_TELL_SECONDS = 0.25

Step = Callable[[int, int], object]
"""Told how many supersteps are done, and of how many (0 if that is unknown)."""


@dataclass(frozen=True)
class ClusterReport(RunReport):
    """How a kernel ran over shards.

    `open_seconds` is what taking a cut took, and telling each other of ghosts: nearly nothing if nothing has changed since the
    last kernel. `seconds` are all supersteps, without gathering the values; `iterations` is their number. What is measured of one
    process alone, memory and reads, is 0.
    """

    version: int = 0
    """The version that every shard answered from."""
    shards: int = 0
    """How many there were."""
    ghosts: int = 0
    """How many vertices shards have that others own, each counted wherever it is one."""
    bytes_sent: list[int] = field(default_factory=list)
    """What shards said to others before each superstep, and after the last."""
    tries: int = 1
    """How often it was begun: more than once if a worker went away."""


@dataclass
class Answering:
    """A kernel that is asked."""

    places: Places
    kernel: str
    parameters: dict[str, Any]
    threads: int
    save_seconds: float
    tell: Step | None
    _last_told: float = field(default_factory=time.perf_counter)
    _saved: tuple[int, int] | None = None
    """The version, and the superstep before which all shards saved what they knew."""

    def answer(self) -> tuple[ClusterReport, Vertices, npt.NDArray[Any]]:
        """Return the report, the vertices, and the value of each by index.

        After a worker is gone, it goes on where it was saved if no version came since, and begins again otherwise.
        """
        saves = f"{self.kernel}-{uuid4().hex[:12]}"
        for tries in range(1, TRIES_MAX + 1):
            name = f"{saves}-try-{tries}"
            try:
                return self._try(name, saves, tries)
            except BaseException as error:
                if not may_be_loss(error) or tries == TRIES_MAX:
                    self._give_up(name, saves)
                    raise
                self.places.recover()
                self._give_up(name, None)
        raise AssertionError("it returns, or raises")

    def _try(self, name: str, saves: str, tries: int) -> tuple[ClusterReport, Vertices, npt.NDArray[Any]]:
        places, begun = self.places, time.perf_counter()
        cut = places.cut()
        question = self._question(cut)
        version, first = self._saved or (cut.version, 0)
        if version != cut.version:
            # What was saved is of a version that no shard that was opened again can show.
            self._saved, first = None, 0
        kept = (saves, first) if first else None
        now = time.perf_counter()
        open_seconds, begun, last_save = now - begun, now, now
        bytes_sent = []
        said = places.all("begin", name, cut.number, question, cut.vertices, kept, self.threads)
        step = first
        while True:
            bytes_sent.append(sum(sent for _, sent in said))
            totals = [math.fsum(sums) for sums in zip(*(sums for sums, _ in said), strict=True)]
            if self._is_done(step, totals):
                break
            if time.perf_counter() - last_save >= self.save_seconds:
                places.call_all("save", name, saves, step)
                self._saved, last_save = (cut.version, step), time.perf_counter()
            said = places.all("step", name, step, totals)
            step += 1
            self._note(step, cut.version)
        seconds = time.perf_counter() - begun
        vertices, by_index = gathered(places, cut, places.call_all("values", name))
        self._give_up(name, saves if self._saved else None)
        report = ClusterReport(
            kernel=self.kernel,
            source=dict(question[1]).get("source"),
            threads=self.threads,
            open_seconds=open_seconds,
            seconds=seconds,
            trials=[seconds],
            iterations=step,
            peak_rss_bytes=0,
            read_bytes=0,
            reads=0,
            result=_in_short(self.kernel, vertices, by_index),
            version=cut.version,
            shards=places.shard_count,
            ghosts=cut.ghosts,
            bytes_sent=bytes_sent,
            tries=tries,
        )
        return report, vertices, by_index

    def _question(self, cut: Cut) -> Question:
        parameters = dict(self.parameters)
        if "source" in parameters:
            source = parameters["source"]
            if source is None:
                degree, source = max(self.places.call_all("hub", cut.number), key=lambda hub: (hub[0], -hub[1]))
                if degree < 0:
                    raise InvalidInputError("the graph has no vertices")
            elif not self._has(cut, source):
                raise InvalidInputError(f"vertex `{source}` is not in the graph")
            parameters["source"] = int(source)
        return self.kernel, told(parameters)

    def _has(self, cut: Cut, vertex: object) -> bool:
        if not isinstance(vertex, int | np.integer) or not 0 <= vertex < cut.vertices[1]:
            return False
        owner = self.places.shards[int(vertex) % self.places.shard_count]
        return bool(self.places.wait([owner.actor.call("has", cut.number, int(vertex))])[0])

    def _is_done(self, step: int, totals: list[float]) -> bool:
        if self.kernel != "pagerank":
            return totals[0] == 0
        iterations, tolerance = self.parameters["iterations"], self.parameters["tolerance"]
        if iterations is None and tolerance is None:
            iterations, tolerance = 20, 1e-4
        if tolerance is not None and totals[1] < tolerance:
            return True
        if iterations is None and step > _iterations_most(tolerance, self.parameters["damping"]):
            raise KernelError(
                f"pagerank has not converged: after {step} iterations one more changes the ranks by {totals[1]}, not by less than"
                f" tolerance={tolerance}: give a larger one, or `iterations`"
            )
        return iterations is not None and step >= iterations

    def _note(self, step: int, version: int) -> None:
        now = time.perf_counter()
        if now - self._last_told >= _TELL_SECONDS:
            self._last_told = now
            done = {"kernel": self.kernel, "superstep": step, "version": version}
            self.places.client.log_event(_TOPIC, done)
        if self.tell is not None:
            self.tell(step, self.parameters.get("iterations") or 0)

    def _give_up(self, name: str, saves: str | None) -> None:
        """Tell all shards that are there, and wait for none."""
        for place in self.places.shards:
            try:
                place.actor.call("stop", name)
                if saves is not None:
                    place.actor.call("forget", saves)
            except RuntimeError:
                # Its worker is gone.
                continue


def gathered(
    places: Places, cut: Cut, values: list[npt.NDArray[Any]]
) -> tuple[Vertices, npt.NDArray[Any]]:
    """Return the vertices of all shards, and what each says of its own, by index."""
    count, bound = cut.vertices
    by_index = np.zeros(bound, values[0].dtype)
    if count == bound:
        # Ids have no gaps: each shard has every one that it could have.
        for shard, of_shard in enumerate(values):
            by_index[shard :: places.shard_count] = of_shard
        index = np.arange(bound, dtype=np.uint32)
        return Vertices(index, index, bound), by_index
    is_vertex = np.zeros(bound, np.bool_)
    for shard, (owned, of_shard) in enumerate(zip(places.call_all("owned", cut.number), values, strict=True)):
        rows: Any = slice(shard, shard + of_shard.size * places.shard_count, places.shard_count) if owned is None else owned
        by_index[rows] = of_shard
        is_vertex[rows] = True
    index = np.flatnonzero(is_vertex).astype(np.uint32)
    return Vertices(index, index, bound), by_index


def _in_short(kernel: str, vertices: Vertices, by_index: npt.NDArray[Any]) -> dict[str, Any]:
    """Return an answer in short, as the report of one machine has it."""
    values = by_index[vertices.index]
    if kernel == "pagerank":
        return {"sum": float(values.sum())}
    if kernel == "kcore":
        return {"max": int(values.max(initial=0))}
    if kernel == "wcc":
        # A component is called by its smallest vertex.
        components = int((values == vertices.index).sum())
        return {"components": components, "largest": int(np.bincount(values).max(initial=0))}
    reached = values[np.isfinite(values) & (values != np.iinfo(np.uint32).max)]
    if kernel == "bfs":
        return {"reached": reached.size, "depth": int(reached.max(initial=0))}
    return {"reached": reached.size, "max": float(reached.max(initial=0))}


def _iterations_most(tolerance: float, damping: float | None) -> float:
    """Return how many iterations come to a tolerance for certain, but for rounding: each shrinks changes by the damping."""
    damping = 0.85 if damping is None else damping
    if not 0 < damping < 1 or tolerance <= 0:
        return 10_000
    return math.log(tolerance / 2) / math.log(damping) + 20
