"""What a run of the demo found: everything that its page shows. Times are seconds since the demo began."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Worker:
    """A process of the cluster."""

    number: int
    """In the order in which they came: from 1."""
    address: str
    begun: float
    pid: int = 0
    ended: float | None = None
    """When the scheduler saw that it was gone, if it did."""


@dataclass
class Opened:
    """A shard, or the log of versions, that a worker opened."""

    what: str
    """`shard 0`, ..., or `versions`."""
    worker: int
    at: float


@dataclass
class Acknowledged:
    """A batch that is durable on all its shards, as the worker that brought it knows since."""

    batch: int
    worker: int
    at: float


@dataclass
class Superstep:
    """A superstep that all shards have done."""

    kernel: str
    step: int
    at: float


@dataclass
class Kill:
    """A SIGKILL, and what came of it."""

    worker: int
    held: list[str]
    """What the worker had open."""
    at: float
    during: str
    """What went on, e.g. `200 of 400 batches`."""
    opened: list[Opened] = field(default_factory=list)
    """What others opened in its place."""
    went_on: float = 0.0
    """When the next batch was acknowledged, or the next superstep was done, by all shards again."""

    @property
    def open_seconds(self) -> float:
        """How long until all that it had was open again."""
        return max((opened.at for opened in self.opened), default=self.at) - self.at


@dataclass
class Run:
    """A kernel, asked of the shards and of one machine."""

    kernel: str
    call: str
    """The line of Python."""
    outcome: str
    """What it found, in words."""
    begun: float
    ended: float
    tries: int
    seconds: float
    """All supersteps of the last try."""
    bytes_sent: list[int]
    """Before each superstep of the last try."""
    step_seconds: list[float]
    one_seconds: float
    """What one machine took."""
    largest_difference: float
    """By vertex, between the shards and one machine; of PageRank in parts of the rank."""
    is_equal: bool


@dataclass
class ShardEdges:
    """A shard, as its directory was read."""

    shard: int
    inside: int
    """Edges with both ends among its vertices."""
    shared: int
    """Edges with one end here; another shard has them, too."""
    vertices: int


@dataclass
class Found:
    """Everything that the page shows."""

    version: str
    machine: str
    date: str
    source: str
    packages: int
    dependencies: int
    batch: int
    """Edges of a batch."""
    batches: int
    ingest_begun: float = 0.0
    ingest_ended: float = 0.0
    newest: int = 0
    """The version of the graph after the ingest."""
    lost: int = 0
    """Batches of which an edge is missing."""
    twice: int = 0
    """Batches of which an edge is there more than once."""
    again: int = 0
    """Batches that were sent again under their name."""
    seconds: float = 0.0
    workers: list[Worker] = field(default_factory=list)
    opened: list[Opened] = field(default_factory=list)
    acknowledged: list[Acknowledged] = field(default_factory=list)
    supersteps: list[Superstep] = field(default_factory=list)
    kills: list[Kill] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    shards: list[ShardEdges] = field(default_factory=list)
    ranking: list[tuple[str, float]] = field(default_factory=list)
    """The packages of the highest PageRank, best first."""

    @property
    def is_right(self) -> bool:
        """Whether every batch is there once, and all answers are those of one machine."""
        return not self.lost and not self.twice and self.newest == self.batches and all(run.is_equal for run in self.runs)
