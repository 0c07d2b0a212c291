"""What calls report. Fields are the keys of the command line's `--json`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class MediumReport:
    """What a medium did, if the graph was opened with `meter=True`."""

    stored_bytes: int
    """Bytes stored by the program."""
    media_read_bytes: int
    """Bytes that the device reads, by the model of its buffer."""
    media_written_bytes: int
    """Bytes that the device writes, by the model of its buffer."""
    fences: int
    """Fences."""


@dataclass(frozen=True)
class IngestReport:
    """What an ingest did."""

    edges_read: int
    """Edges in the files."""
    edges_inserted: int
    """Edges that were inserted and not there already."""
    edges_deleted: int
    """Edges that were deleted."""
    deletes_ignored: int
    """Deletions that found no edge."""
    vertices: int
    """Vertices of the graph afterwards."""
    edges: int
    """Edges of the graph afterwards."""
    seconds: float
    """From the first edge read to the last batch acknowledged."""
    edges_per_second: float
    """Edges read in a second."""
    peak_rss_bytes: int
    """The most memory that this process has taken."""
    medium: MediumReport | None
    """What the medium did, if that is counted."""
    rows_skipped: int = 0
    """Rows that were left out because they hold a null."""
    skipped_files: list[dict[str, str]] | None = None
    """Files of directories that were not taken in: `file` and `why`."""
    guessed: dict[str, Any] | None = None
    """What was not told, such as format, columns and direction, and how it was decided."""

    @property
    def weights_left_out(self) -> int | str | None:
        """The column of the first file that may hold weights and was left out, because nobody named it."""
        left_out: int | str | None = (self.guessed or {}).get("weights_left_out")
        return left_out


@dataclass(frozen=True)
class UpdateReport:
    """What taking files of updates in did."""

    insertions: int
    """Insertions in the files."""
    deletions: int
    """Deletions in the files."""
    missed_deletions: int
    """Deletions that found no edge, and changed nothing."""
    late_updates: int
    """Updates that are earlier than one before them: they count as of its time."""
    versions_added: int
    """Versions that were added."""
    edges_added: int
    """Edges that these versions have and the ones before them have not, added up."""
    edges_deleted: int
    """Edges that went with these versions, added up."""
    versions: int
    """Versions of the directory afterwards."""
    vertices: int
    """Vertices of the newest one."""
    edges: int
    """Edges of the newest one."""
    seconds: float
    """From the first update read to the last version committed."""
    updates_per_second: float
    """Updates read in a second."""
    peak_rss_bytes: int
    """The most memory that this process has taken."""
    rows_skipped: int
    """Rows that were left out because they hold a null."""
    skipped_files: list[dict[str, str]]
    """Files of directories that were not taken in: `file` and `why`."""
    guessed: str
    """How the first file was read."""


@dataclass(frozen=True)
class SealReport:
    """What sealing did."""

    vertices: int
    """The number of vertices."""
    edges: int
    """The number of edges; an undirected one counts once."""
    seconds: float
    """How long it took."""
    disk_bytes: int
    """Bytes of its directory."""
    least_memory_bytes: int
    """The least memory that it can be read with, without the arrays of kernels."""
    peak_rss_bytes: int
    """The most memory that this process has taken."""
    guessed: dict[str, Any] | None = None
    """Of files, what was not told, such as format, columns and direction, and how it was decided."""


@dataclass(frozen=True)
class ExportReport:
    """What an export wrote."""

    vertices: int
    """The number of vertices; a format of edges alone holds those that have one."""
    vertices_left_out: int
    """Vertices that are not in the file, as they have no edge and the format holds only edges."""
    vertices_added: int
    """Vertices that the file has beside them: all numbers up to the largest, where a format counts its vertices from 1."""
    id_shift: int
    """By how much ids are higher in the file, where a format counts from 1 and the graph from 0."""
    edges: int
    """Edges written; an undirected one counts once."""
    bytes: int
    """Bytes of the file of edges, or of all files of a directory but its manifest."""


@dataclass(frozen=True)
class RunReport:
    """How a kernel ran, and its answer in short."""

    kernel: str
    """The kernel."""
    source: int | str | None
    """The id of the source, if it has one."""
    threads: int
    """Threads that it ran on."""
    open_seconds: float
    """How long opening the graph took."""
    seconds: float
    """The kernel alone, without the verification of its answer."""
    trials: list[float]
    """The time of each trial."""
    iterations: int | None
    """Iterations, of a kernel that has them."""
    peak_rss_bytes: int
    """The most memory that this process has taken."""
    read_bytes: int
    """Bytes that the kernel itself read from the files of a sealed graph; 0 for another, which is mapped."""
    reads: int
    """The reads that they came by."""
    result: dict[str, Any]
    """The answer in short: `{"reached": 4, "depth": 2}` and the like."""
    verify_seconds: float = 0.0
    """How long the verification of the answer took."""


@dataclass(frozen=True)
class Stats:
    """What a graph is and how large it is."""

    kind: str
    """`graph`, or of a sealed one `chunks`."""
    layout: str
    """How neighbors are kept; in a sealed graph `gaps`, or `plain` if it is not compressed."""
    medium: str
    """Where bytes live."""
    directed: bool
    """Whether edges have a direction."""
    weighted: bool
    """Whether edges carry a weight."""
    simple: bool
    """Whether a pair keeps one edge only."""
    vertices: int
    """Vertices."""
    edges: int
    """Edges; an undirected one counts once."""
    disk_bytes: int
    """Bytes that the graph takes on its medium."""
    versions: int
    """Committed versions."""
    version_bytes: int | None = None
    """In the layout `blocks`, bytes of blocks that lists have given up, and that a snapshot or what was last saved
    still reads."""
    edges_added: int = 0
    """Of a sealed graph, edges that were added since."""
    edges_taken_away: int = 0
    """Of a sealed graph, edges that were taken away since."""


@dataclass(frozen=True)
class Compaction:
    """What a compaction did."""

    runs: int
    """Runs that were written: one list of 256 vertices each."""
    written_bytes: int
    """Bytes of them."""
    freed_bytes: int
    """Bytes of what they replace, used again by what is written later."""
    seconds: float
    """How long it took."""


@dataclass(frozen=True)
class Verification:
    """The outcome of checking a graph."""

    ok: bool
    """Whether nothing is wrong."""
    checks: int
    """How many statements were checked."""
    problems: list[str]
    """What is wrong: what, where, expected and found; after a thousand, how many more there are."""
    problem_count: int
    """How many things are wrong."""


@dataclass(frozen=True)
class Changes:
    """What a deletion changed."""

    inserted: int
    """Edges that were inserted and not there already."""
    deleted: int
    """Edges that were deleted."""
    ignored_deletions: int
    """Deletions that found no edge."""


@dataclass(frozen=True)
class Recovery:
    """What opening a graph found."""

    replayed_batches: int
    """Batches that an unclean end had left in the log; each was acknowledged."""
    replayed_updates: int
    """Updates in them."""
    open_seconds: float
    """How long opening took."""


@dataclass(frozen=True)
class Progress:
    """How far an ingest is."""

    file: str
    """The file that is read."""
    bytes_read: int
    """Bytes of it read."""
    bytes_total: int | None
    """Bytes that it has, if known."""
    edges: int
    """Edges acknowledged, of all files."""
