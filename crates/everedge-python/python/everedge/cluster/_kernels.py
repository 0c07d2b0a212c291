"""Kernels over all shards, superstep by superstep."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from everedge._columns import told
from everedge._errors import InvalidInputError
from everedge._reports import RunReport
from everedge._values import Components, Scalar, Values, Vertices
from everedge.cluster._host import Asked, Ending
from everedge.cluster._places import LOOK_SECONDS, Cut, Places
from everedge.cluster._shard import Question

TRIES_MAX = 10
"""How often a kernel, or a part of an ingest, is begun again because a worker is gone."""
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


class ClusterValues(Values[Scalar]):
    """What a kernel over shards says about each vertex."""

    @property
    def report(self) -> ClusterReport:
        """How it ran."""
        return _report_of(super().report)


class ClusterComponents(Components):
    """The component of each vertex, as shards have found them."""

    @property
    def report(self) -> ClusterReport:
        """How it ran."""
        return _report_of(super().report)


def _report_of(report: RunReport) -> ClusterReport:
    assert isinstance(report, ClusterReport)
    return report


@dataclass
class Answering:
    """A kernel that is asked."""

    places: Places
    kernel: str
    parameters: dict[str, Any]
    threads: int
    save_seconds: float
    tell: Step | None
    _version: int | None = None
    """What the try before was asked of."""

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
                if tries == TRIES_MAX or not self.places.is_loss(error):
                    self._give_up(name, saves)
                    raise
                self._give_up(name, None)
                try:
                    self.places.recover(error)
                except BaseException:
                    self._give_up(name, saves)
                    raise
        raise AssertionError("it returns, or raises")

    def _try(self, name: str, saves: str, tries: int) -> tuple[ClusterReport, Vertices, npt.NDArray[Any]]:
        places, begun = self.places, time.perf_counter()
        cut = places.cut()
        question = self._question(cut)
        asked = Asked(
            name=name,
            cut=cut.number,
            question=question,
            whole=cut.vertices,
            ending=self._ending(),
            saves=saves,
            saved=self._saved(saves, cut) if tries > 1 else None,
            save_seconds=self.save_seconds,
            threads=self.threads,
        )
        self._version = cut.version
        now = time.perf_counter()
        open_seconds, begun = now - begun, now
        answers = places.all("answer", asked, idle=lambda: self._note(name))
        step = answers[0][0]
        bytes_sent = [sum(sent) for sent in zip(*(sent for _, sent in answers), strict=True)]
        seconds = time.perf_counter() - begun
        vertices, by_index = gathered(places, cut, places.call_all("values", name))
        self._give_up(name, saves if seconds >= self.save_seconds or tries > 1 else None)
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

    def _ending(self) -> Ending:
        if self.kernel != "pagerank":
            return Ending(is_pagerank=False)
        iterations, tolerance, damping = (self.parameters[name] for name in ("iterations", "tolerance", "damping"))
        if iterations is None and tolerance is None:
            return Ending(True, 20, 1e-4)
        if iterations is None:
            return Ending(True, None, tolerance, _iterations_most(tolerance, damping))
        return Ending(True, iterations, tolerance)

    def _saved(self, saves: str, cut: Cut) -> int | None:
        """Return the last superstep before which all shards have saved, if they saved what the cut has."""
        if self._version != cut.version:
            # A shard that was opened again cannot show what was before.
            return None
        every = [set(steps) for steps in self.places.call_all("saved", saves)]
        return max(set.intersection(*every), default=None)

    def _note(self, name: str) -> None:
        if self.tell is not None:
            with contextlib.suppress(TimeoutError):
                done = self.places.shards[0].actor.progress(name).result(timeout=LOOK_SECONDS)
                self.tell(done, self.parameters.get("iterations") or 0)

    def _give_up(self, name: str, saves: str | None) -> None:
        """Tell all shards that are there, and wait for none."""
        for place in self.places.shards:
            try:
                place.actor.stop(name)
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
