"""A live graph."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import date
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from everedge import _columns, _conversions, _native
from everedge._changing import add_edges_to, delete_edges_from
from everedge._closing import Closing
from everedge._columns import ArrowColumn, Id, Ids, Names
from everedge._errors import (
    ClosedError,
    ConflictError,
    EveredgeError,
    ForkedError,
    InvalidInputError,
    NotAGraphError,
)
from everedge._files import IdChoice, Source, Table, file_options, option_word, told_of
from everedge._guiding import GuidingType, WithoutLength, guided, level_of_caller, not_a_path
from everedge._snapshot import Snapshot
from everedge._transaction import Transaction
from everedge._version import Version, VersionTime, microseconds

if TYPE_CHECKING:
    import igraph
    import networkx
    import scipy.sparse
    from typing_extensions import Self

    from everedge._reports import (
        Changes,
        Compaction,
        IngestReport,
        Progress,
        Recovery,
        Stats,
        Verification,
    )
    from everedge._timeline import Timeline

Result = TypeVar("Result")

# Edges of a graph of another library that are one batch.
_BATCH = 1 << 18


class Graph(WithoutLength, Closing, metaclass=GuidingType):
    """A live, durable graph: a directory, open for writing or for reading.

    Opens the graph at `path`, or creates it if nothing or an empty directory is there. A new graph
    is written by the first call that puts data into it, because they say what its ids are: a call
    that fails, or has none, leaves nothing. Options are fixed at creation: for a graph that exists, one
    that is given must agree.

    - `layout`: how neighbors are kept: `adjacency`: lists that grow; `pma`: arrays with gaps, read
      like a CSR; or `blocks`: sorted blocks.
    - `medium`: where it lives: `file` (default), `pmem`, or `dram`, of which nothing survives.
      `emulate_pmem` lets `pmem` use a file system without DAX, for tests and measurements;
      `eadr` says that the power-fail domain takes in the processor's caches.
    - `directed` (default), `weighted` (default: if a first file declares weights, as DIMACS does or a
      column called weight), `simple` (one edge for a pair; inserting it again replaces
      its weight), `in_neighbors` (default; without it takes less space, and most kernels
      ask a copy in memory).
    - `ids`: `dense` for integers below 2^31 used as they are; `integer` for any below 2^64 or `text`
      for strings, through an id map; `map` for one of these two; `auto` to let the first data decide.
      In files `integer` takes `007` as 7, and `text` takes every word as it stands, `NULL` too.
    - `durability`: when updates are safe: `edge`, `batch` (default) or `none` (after `sync` or
      `close`).
    - `log_size`: bytes that the edge log may take, with K, M, G or T; 1G if not given.
    - `mode`: `"w"` (default) writes, alone; `"r"` reads what is there as it is now, beside other readers and
      beside a process that writes; `refresh` moves on. Nothing is written then.
    - `meter`: counts what the medium reads and writes; slower.

    Any number of threads may write and take snapshots; calls release the GIL. Close it at the end: that makes the next opening
    faster. Without, nothing acknowledged is lost.

    Ctrl-C raises soon. A batch, a compaction, a commit or a closing that it meets goes on to its end in the background, and
    closing the graph, or opening one to write, waits for that end; `ingest` stops after a batch.

    It belongs to the process that opened it. In a child of `os.fork`, or of `multiprocessing` where
    that forks, every call on it but `close` raises `ForkedError` and changes nothing; the parent
    goes on. A child may open graphs of its own.

    Raises `NotAGraphError`, `InUseError` if another process writes, `CorruptionError`,
    `VersionError`, `InvalidInputError` for options that do not fit, `IoError`.

    >>> import everedge
    >>> with everedge.Graph("example", medium="dram") as graph:
    ...     graph.add_edges([0, 1, 2], [1, 2, 0])
    ...     graph
    <Graph example: adjacency on dram, 3 vertices, 3 edges>
    """

    __networkx_backend__ = "everedge"

    @guided
    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        layout: Literal["adjacency", "pma", "blocks"] | None = None,
        medium: Literal["file", "pmem", "dram"] | None = None,
        emulate_pmem: bool = False,
        eadr: bool | None = None,
        directed: bool | None = None,
        weighted: bool | None = None,
        simple: bool | None = None,
        in_neighbors: bool | None = None,
        ids: IdChoice = "auto",
        durability: Literal["edge", "batch", "none"] | None = None,
        log_size: int | str | None = None,
        mode: Literal["r", "w"] = "w",
        meter: bool = False,
    ) -> None:
        if mode not in ("r", "w"):
            raise InvalidInputError(f'mode {mode!r}: "r" to read or "w" to write')
        if not isinstance(path, str | os.PathLike):
            raise not_a_path("path: a graph is at a directory (str or PathLike)", path)
        self._path = os.fspath(path)
        self._mode = mode
        # It is there wherever the process has gone since.
        self._directory = os.path.join(os.getcwd(), self._path)
        self._process = os.getpid()
        # A signal handler runs within a call of its own thread, and may call the graph.
        self._lock = threading.RLock()
        self._is_closed = False
        self._native: _native.Graph | None = None
        self._seen = 0, 0, 0, 0
        """What a reader has seen: which graph, updates, the number of the newest version, versions."""
        self._is_unshaped = False
        """Whether it was created here and no data may have reached it."""
        self._had_directory = False
        """Whether an empty directory was there before it was created."""
        self._calls = 0
        """Calls that use the native graph now."""
        self._ids: IdChoice = ids
        self._meter = meter
        self._is_weight_chosen = weighted is not None
        self._is_unweighted = weighted is False
        """Whether weights that files declare are to be left out."""
        if emulate_pmem and medium != "pmem":
            raise InvalidInputError('emulate_pmem says how medium="pmem" is done: give both')
        given = {
            "layout": layout,
            "medium": "pmem-emulated" if medium == "pmem" and emulate_pmem else medium,
            "eadr": eadr,
            "directed": directed,
            "weighted": weighted,
            "simple": simple,
            "in-neighbors": in_neighbors,
            "durability": durability,
            "log-size": log_size,
        }
        words = [(name, option_word(value)) for name, value in given.items() if value is not None]
        self._chosen = _native.Chosen(words, ids)
        of_medium = ("medium", "eadr", "log-size")
        others = [(name, word) for name, word in words if name not in of_medium]
        self._in_memory = _native.Chosen([*others, ("medium", "dram")], ids)
        if mode == "r":
            self._native = _native.Graph.open_read_only(self._path)
            self._seen = self._native.state()
        elif medium != "dram" and _native.Graph.is_there(self._path):
            self._native = _native.Graph.open(self._path, meter)
        if self._native is not None:
            try:
                self._native.check_chosen(self._chosen)
            except InvalidInputError:
                self._native.close()
                raise

    @classmethod
    @guided
    def from_table(
        cls,
        table: Table,
        src: int | str | None = None,
        dst: int | str | None = None,
        weight: int | str | None = None,
        *,
        path: str | os.PathLike[str] | None = None,
        drop_self_loops: bool = False,
        skip_nulls: bool = False,
        round_weights: bool = False,
        **options: Any,
    ) -> Graph:
        """Return a graph of the rows of a table: a frame of pandas or polars, a relation of DuckDB, any stream of Arrow.

        `src`, `dst` and `weight` are columns, by name or by number from 0, or by label in a frame whose labels are numbers; looked for if
        not given. The graph is made at `path`, or in memory; `options` are those of `Graph`, the others as of `ingest`. Also called `from_pandas`, `from_polars`, `from_arrow` and
        `from_duckdb`.

        Warns of a column that may hold weights and was not taken. If it fails, nothing is left. Raises as `ingest`,
        `FileExistsError` if there is a graph at `path` already.

        >>> import everedge, polars
        >>> frame = polars.DataFrame({"payer": ["ann", "bob"], "payee": ["bob", "eve"], "amount": [5, 7]})
        >>> graph = everedge.Graph.from_polars(frame, "payer", "payee", "amount")
        >>> graph.snapshot().weight("bob", "eve")
        7.0
        """
        with cls._made(path, options) as graph:
            graph.ingest(
                table,
                src=src,
                dst=dst,
                weight=weight,
                drop_self_loops=drop_self_loops,
                skip_nulls=skip_nulls,
                round_weights=round_weights,
                progress=False,
            )
        return graph

    from_pandas = from_polars = from_arrow = from_duckdb = from_table

    @classmethod
    @guided
    def from_networkx(
        cls,
        graph: networkx.Graph[Any],
        weight: str | None = "weight",
        *,
        path: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> Self:
        """Return a graph of a NetworkX graph: directed as it is, a pair keeping one edge unless it is a multigraph.

        Nodes are integers from 0 on or strings, and stay vertices without an edge. Edges get the attribute `weight`, rounded to 32
        bits, 1 where one has none; none if no edge has it, or `weight` is
        `None`. Warns of numbers under another name. Other attributes are left out. `path` and `options` as of
        `from_table`.

        Raises `InvalidInputError` for a node of another kind (`networkx.convert_node_labels_to_integers` renames them).

        >>> import everedge, networkx
        >>> everedge.Graph.from_networkx(networkx.path_graph(4)).snapshot().num_edges
        3
        """
        return cls._of(_conversions.of_networkx(graph, None if options.get("weighted") is False else weight), path, options)

    @classmethod
    @guided
    def from_igraph(
        cls,
        graph: igraph.Graph,
        weight: str | None = "weight",
        name: str | None = "name",
        *,
        path: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> Self:
        """Return a graph of an igraph graph; ids are the attribute `name` of vertices, or their numbers where there is none.

        As `from_networkx` otherwise; a pair keeps all its edges. Raises `InvalidInputError` if two vertices have one name, too.
        """
        return cls._of(_conversions.of_igraph(graph, None if options.get("weighted") is False else weight, name), path, options)

    @classmethod
    @guided
    def from_scipy(
        cls,
        matrix: scipy.sparse.sparray | scipy.sparse.spmatrix,
        *,
        path: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> Self:
        """Return a graph of a square sparse matrix: an edge for each entry, from its row to its column, whose weight is
        the entry rounded to 32 bits.

        Rows are vertices by number, also those without entries. Entries of one place are added up, as SciPy means them. `directed=False` takes the entries on and above the diagonal of a
        symmetric matrix. `path` and `options` as of `from_table`; `weighted=False` leaves the numbers out.

        Raises `InvalidInputError` if the matrix is not square, or not symmetric where edges have no direction.

        >>> import everedge, scipy.sparse
        >>> everedge.Graph.from_scipy(scipy.sparse.eye_array(3)).snapshot().num_edges
        3
        """
        return cls._of(_conversions.of_scipy(matrix, options), path, options)

    @classmethod
    @contextmanager
    def _made(cls, path: str | os.PathLike[str] | None, options: dict[str, Any]) -> Iterator[Self]:
        """Give a new graph, in memory if it has no path; if the block fails, nothing is left of it."""
        if path is None:
            graph = cls("graph in memory", **{"medium": "dram", **options})
        elif _native.Graph.is_there(os.fspath(path)):
            raise FileExistsError(f"`{os.fspath(path)}` is there already: open it, and add to it")
        else:
            graph = cls(path, **options)
        is_ours, is_kept = graph._native is None, path is not None and options.get("medium") != "dram"
        try:
            yield graph
        except BaseException:
            # What went wrong first is what the caller learns.
            import shutil

            was_made = graph._native is not None
            with suppress(Exception):
                graph.close()
            if is_ours and is_kept and was_made:
                shutil.rmtree(graph._directory, ignore_errors=True)
                if graph._had_directory:
                    os.makedirs(graph._directory, exist_ok=True)
            raise

    @classmethod
    def _of(cls, given: _conversions.Given, path: str | os.PathLike[str] | None, options: dict[str, Any]) -> Self:
        """Return a new graph of what another library's graph holds."""
        src, dst = _columns.names(given.src, "src"), _columns.names(given.dst, "dst")
        numbers = None if given.weights is None else _columns.weights(given.weights, len(src), True)
        with cls._made(path, {"weighted": numbers is not None, **given.options, **options}) as graph:
            graph.add_vertices(given.names)
            # The one that an interrupt leaves behind ends soon.
            for at in range(0, len(src), _BATCH):
                part = slice(at, at + _BATCH)
                graph.add_edges(src[part], dst[part], None if numbers is None else numbers[part])
        return graph

    @property
    def path(self) -> str:
        """The directory, as it was given."""
        return self._path

    @guided
    def ingest(
        self,
        *files: Source,
        format: str | None = None,
        ids: IdChoice | None = None,
        header: bool | None = None,
        delimiter: str | None = None,
        delete: bool = False,
        batch: int = 1 << 16,
        drop_self_loops: bool = False,
        skip_nulls: bool = False,
        round_weights: bool = False,
        src: int | str | None = None,
        dst: int | str | None = None,
        weight: int | str | None = None,
        progress: bool | Callable[[Progress], object] | None = None,
    ) -> IngestReport:
        """Take edges from files or tables, in their order; return what that did.

        Files are SNAP edge lists, CSV, TSV, JSON Lines, Matrix Market, DIMACS, METIS, Graphalytics
        .v and .e, Parquet, Arrow or pairs of 32-bit integers (.bin), plain, .gz, .zst, .bz2 or .xz,
        told apart by name and content unless `format` names one. A directory or a .tar stands for
        the files in it, but for one that `Snapshot.export` has written: that is the graph. The first two records of a pipe decide how it is read. A table is whatever hands itself out as a
        stream of Arrow, as frames of pandas and polars and relations of DuckDB do; it is read to its end first and held
        where it is until the call ends. `add_edges` takes columns alone.

        - `ids`: what ids are in these files, as for the graph; as the graph was told if not given.
        - `header`: whether the first row of CSV, TSV or an edge list holds names; looked for if not
          given.
        - `delimiter`: the character between the columns of CSV; looked for if not given.
        - `skip_nulls` leaves out rows whose ids or weights are empty, NULL, NaN or NA, which are refused
          otherwise; `round_weights` rounds weights to 32 bits where one that this changes is refused.
        - `delete` deletes the edges instead of inserting them.
        - `batch` is how many edges are acknowledged and become visible together.
        - `src`, `dst` and `weight` are columns of a table, by number from 0 or by name.
        - `progress`: `True` draws a bar on standard error, `False` draws none, `None` draws one in
          a terminal or a notebook; a function is called with a `Progress` after each batch.

        Warns of a column that may hold weights and was left out, and of a table of text whose first row names no columns. `guessed` of
        the report says all that was guessed.

        Ctrl-C, and an exception of `progress`, end it between two batches, or while a pipe is silent;
        batches acknowledged before stay.

        Raises `FileError` with file and place, `IoError`, `NoSpaceError`; `edges_acknowledged` of
        the exception says how many edges are in. A mistake in the first 4 million edges of the
        first file leaves the graph as it was.

        >>> import everedge, pathlib, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp(), "edges.txt")
        >>> _ = file.write_text("0 1\\n1 2\\n")
        >>> graph = everedge.Graph("example", medium="dram")
        >>> graph.ingest(file).edges_inserted
        2
        """
        from everedge._reports import IngestReport, MediumReport

        sources, options = file_options(
            files,
            format=format,
            ids=self._ids if ids is None else ids,
            header=header,
            delimiter=delimiter,
            delete=delete,
            batch=batch,
            drop_self_loops=drop_self_loops,
            skip_nulls=skip_nulls,
            round_weights=round_weights,
            unweighted=self._is_unweighted,
            src=src,
            dst=dst,
            weight=weight,
        )
        is_new = self._native is None
        with self._using(first_file=(sources[0], options)) as native:
            if weight is not None and not delete and not native.is_weighted():
                raise InvalidInputError("weight: the graph has no weights: leave it out, or create another graph with weighted=True")
            with told_of(progress, sources) as tell:
                report = native.ingest(sources, options, tell)
            may_be_names = header is None and native.id_kind() == "text"
        medium = report["medium"] and MediumReport(**report["medium"])
        done = IngestReport(**{**report, "medium": medium})
        self._warn_of_guesses(done, is_new, may_be_names)
        return done

    def _warn_of_guesses(self, report: IngestReport, is_new: bool, may_be_names: bool) -> None:
        """Warn of what was guessed of the first file, where another guess would make another graph.

        `may_be_names` says whether the first row of a file without a header may hold the names of its columns.
        """
        stacklevel = level_of_caller()
        left_out, guessed = report.weights_left_out, report.guessed or {}
        if left_out is not None and is_new and not self._is_weight_chosen:
            say = f"the column {left_out!r} may hold weights and was left out: name it (weight=), or say weighted=False"
            warnings.warn(say, stacklevel=stacklevel)
        is_table = guessed.get("format") in ("csv", "tsv")
        if may_be_names and is_table and guessed.get("header") is False:
            say = "the first row was taken for an edge: say header=True if it names the columns, header=False if not"
            warnings.warn(say, stacklevel=stacklevel)

    @guided
    def add_edges(
        self,
        src: Ids,
        dst: Ids,
        weight: npt.ArrayLike | ArrowColumn | None = None,
        *,
        round_weights: bool = False,
    ) -> None:
        """Insert edges as one batch: all of them, or on an error none.

        `src` and `dst` are columns of ids of one length: NumPy arrays, lists, columns of pandas,
        polars or Arrow; or single ids. `weight` has one number an edge; a graph with weights needs
        it. Weights are kept in 32 bits: a number that is then written otherwise, as 16777217 or 1/3,
        is refused unless `round_weights`. Contiguous `uint32` and `float32` arrays are read in place.

        Raises `InvalidInputError` with the row, `NoSpaceError`.
        """
        ends = _columns.names(src, "src"), _columns.names(dst, "dst")
        _columns.check_lengths(*ends)
        with self._using(ends) as native:
            add_edges_to(native, ends, weight, round_weights)

    @guided
    def delete_edges(self, src: Ids, dst: Ids) -> Changes:
        """Delete the newest occurrence of each edge as one batch; return what that changed.

        What is not there changes nothing and is counted in `ignored_deletions`.

        Raises `InvalidInputError` with the row, `NoSpaceError`.

        >>> import everedge
        >>> graph = everedge.Graph("example", medium="dram")
        >>> graph.add_edges([0, 1], [1, 2])
        >>> graph.delete_edges([0, 5], [1, 6])
        Changes(inserted=0, deleted=1, ignored_deletions=1)
        """
        ends = _columns.names(src, "src"), _columns.names(dst, "dst")
        _columns.check_lengths(*ends)
        with self._using(ends) as native:
            return delete_edges_from(native, ends)

    @guided
    def add_vertices(self, ids: Ids) -> None:
        """Make vertices, as one batch; those that are there already stay as they are.

        Raises `InvalidInputError` with the row, `NoSpaceError`.
        """
        column = _columns.names(ids, "ids")
        with self._using((column,)) as native:
            native.add_vertices(_columns.vertices(native, column, "ids"))

    @guided
    def delete_vertex(self, vertex: Id) -> Changes:
        """Delete a vertex and its edges both ways, as one batch; return what that changed.

        What is not a vertex changes nothing. Cost: its edges; all edges without in-neighbors.
        """
        from everedge._reports import Changes

        if not _columns.is_id(vertex):
            raise _columns.no_id(vertex, "delete_vertex takes one vertex a call")
        column = _columns.names(vertex, "vertex")
        with self._using((column,)) as native:
            [found] = _columns.known_vertices(native, column, "vertex").tolist()
            return Changes(*native.delete_vertex(found)) if found >= 0 else Changes(0, 0, 0)

    def snapshot(self) -> Snapshot:
        """Return a frozen view of all batches acknowledged so far.

        Cost: the updates since the last one; nothing is copied.
        """
        with self._using() as native:
            if self._is_unshaped and not native.stats()["vertices"]:
                # A view of it would keep the directory from other data: this one is in memory.
                native = _native.Graph.create(self._path, self._in_memory, native.id_kind(), False, [])
            return Snapshot(native.snapshot())

    def transaction(self) -> Transaction:
        """Begin a transaction: questions about edges and changes of edges that count as one.

        Cost: as `snapshot`.

        >>> import everedge
        >>> graph = everedge.Graph("example", medium="dram")
        >>> with graph.transaction() as t:
        ...     if not t.has_edge(1, 2):
        ...         t.add_edges(1, 2)
        >>> graph.snapshot().has_edge(1, 2)
        True
        """
        transaction = Transaction(self._open, self._leave)
        with self._using() as native:
            if not (self._is_unshaped and not native.stats()["vertices"]):
                transaction._begun()
        return transaction

    def transact(self, work: Callable[[Transaction], Result]) -> Result:
        """Do `work` in a transaction and commit it, anew as long as other writers come between; return its result.

        `work` may be called several times. What it raises gives the transaction up.

        >>> import everedge
        >>> graph = everedge.Graph("example", medium="dram", simple=True, weighted=True)
        >>> graph.add_edges(["ann", "bob"], ["bank", "bank"], [100, 20])
        >>> def pay(t: everedge.Transaction) -> None:
        ...     t.add_edges("ann", "bank", [t.weight("ann", "bank") - 5])
        ...     t.add_edges("bob", "bank", [t.weight("bob", "bank") + 5])
        >>> graph.transact(pay)
        >>> graph.snapshot().weight("bob", "bank")
        25.0
        """
        while True:
            with suppress(ConflictError), self.transaction() as transaction:
                result = work(transaction)
                transaction.commit()
                return result

    @guided
    def commit(
        self,
        name: str | None = None,
        *,
        time: VersionTime | str | None = None,
        keep: int | str | None = None,
    ) -> Version:
        """Make what the graph is now a version, durably, and return it. Writers go on meanwhile.

        `time` is the time that the version shows, now unless told: a `datetime` with a time zone, or in UTC a
        `date`, an `np.datetime64` or a text such as `"2024-05-31"` or `"2024-05-31T10:30:00Z"`. It is not
        before that of the newest version, and not to come. `keep` lets older versions go, as `Timeline.keep` does.

        Cost: the first time after opening all edges are read and compared with the version before, later
        what has changed.

        >>> import everedge
        >>> graph = everedge.Graph("example", medium="dram")
        >>> graph.add_edges([0, 1], [1, 2])
        >>> graph.commit("monday").edges
        2
        """
        with self._using() as native:
            if self._is_unshaped and not native.stats()["vertices"]:
                raise InvalidInputError("the graph holds nothing yet: there is nothing to commit")
            if not (name is None or isinstance(name, str)):
                raise InvalidInputError(f"name={name!r}: a version is called by a text; its number comes by itself")
            if not (time is None or isinstance(time, date | np.datetime64 | str)):
                raise InvalidInputError(f"{time!r}: a time is a datetime with a time zone, or a date")
            moment = time if time is None or isinstance(time, str) else microseconds(time)
            kept = None if keep is None else str(keep)
            return Version(*native.commit(name, moment, kept))

    @property
    def timeline(self) -> Timeline:
        """The versions of the graph.

        Raises `InvalidInputError` if it was never committed.
        """
        from everedge._timeline import Timeline

        with self._using() as native:
            timeline = native.timeline()
            if timeline is None:
                raise InvalidInputError("the graph has no versions: commit() makes what it is now one")
            return Timeline._of(timeline)

    def sync(self) -> None:
        """Make all that was applied durable, whatever the durability."""
        with self._using() as native:
            native.sync()

    def stats(self) -> Stats:
        """Return what the graph is and how large it is."""
        from everedge._reports import Stats

        with self._using() as native:
            return Stats(**native.stats())

    def is_directed(self) -> bool:
        """Return whether edges have a direction; the name is NetworkX's, whose functions take the graph."""
        return self.stats().directed

    def is_multigraph(self) -> bool:
        """Return whether a pair may have several edges; the name is NetworkX's, whose functions take the graph."""
        return not self.stats().simple

    def compact(self) -> Compaction:
        """Rewrite what has changed without what was deleted, sorted, to be read faster.

        Snapshots stay as they are. Cost: what changed is read and written once.
        """
        from everedge._reports import Compaction

        with self._using() as native:
            return Compaction(**native.compact())

    def verify(self) -> Verification:
        """Check all that can be checked without the graph's history. Cost: reads all of it."""
        from everedge._reports import Verification

        with self._using() as native:
            return Verification(**native.verify())

    def recovery(self) -> Recovery:
        """Return what opening the graph found."""
        from everedge._reports import Recovery

        with self._using() as native:
            return Recovery(*native.recovery())

    @property
    def mode(self) -> Literal["r", "w"]:
        """What it is open for: `"r"` to read or `"w"` to write."""
        return self._mode

    def refresh(self) -> bool:
        """Show what the graph is now; return whether that is something else than before.

        For a graph of mode `"r"`: all batches that the writer has had acknowledged before this call are there after it. Snapshots
        that were taken before stay as they are. A graph of mode `"w"` is always what it is now.

        Cost: as opening it. Raises as opening it does; the graph is then as before.

        >>> import everedge, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "graph")
        >>> writer = everedge.Graph(path)
        >>> writer.add_edges("app", "lib")
        >>> reader = everedge.Graph(path, mode="r")
        >>> writer.add_edges("lib", "libc")
        >>> reader.stats().edges, reader.refresh(), reader.stats().edges
        (1, True, 2)
        """
        with self._using():
            if self._mode == "w":
                return False
            before = self._seen
        newest = _native.Graph.open_read_only(self._directory)
        after = newest.state()
        with self._lock:
            if self._is_closed:
                newest.close()
                raise ClosedError("the graph is closed")
            assert self._native is not None
            if after[0] != self._seen[0]:
                # Another graph has come to its place. Once more, while no thread can go back to the one before.
                newest.close()
                newest = _native.Graph.open_read_only(self._directory)
                after = newest.state()
            if self._seen[0] == after[0] and self._seen[1:3] > after[1:3]:
                # Another thread was faster, and has seen more of the same graph.
                newest.close()
            else:
                # Calls that are running keep what they work on.
                self._native, self._seen = newest, after
            return self._seen != before

    def close(self) -> None:
        """Close the graph; a second time does nothing. Snapshots stay usable.

        In a forked child it does nothing: the graph stays open in the parent. After Ctrl-C the closing goes on in the background.
        Raises `InUseError` while another thread's call is running.
        """
        if self._is_inherited():
            return
        with self._lock:
            if self._native is not None:
                if self._is_unshaped:
                    self._native.close_new(self._directory, self._had_directory)
                else:
                    self._native.close()
            self._is_closed = True

    def __repr__(self) -> str:
        if self._native is None and not self._is_closed:
            return f"<Graph {self._path}: new, without data>"
        try:
            stats = self.stats()
        except EveredgeError as error:
            return f"<Graph {self._path}: {error}>"
        return (
            f"<Graph {self._path}: {stats.layout} on {stats.medium}, "
            f"{stats.vertices:,} vertices, {stats.edges:,} edges>"
        )

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Graph is open in one process: pass its path, and open it there")

    def _view(self, kernel: str, threads: int = 0) -> Snapshot:
        """Return what `kernel` is asked of."""
        return self.snapshot()

    @contextmanager
    def _using(
        self,
        columns: tuple[Names, ...] = (),
        first_file: tuple[str | _native.Table, _native.IngestOptions] | None = None,
    ) -> Iterator[_native.Graph]:
        """Lend the native graph to a call; make a new graph new again that the call left empty."""
        native = self._open(columns, first_file)
        try:
            yield native
        except BaseException:
            # What went wrong first is what the caller learns.
            with suppress(EveredgeError):
                self._leave(native)
            raise
        self._leave(native)

    def _open(
        self,
        columns: tuple[Names, ...] = (),
        first_file: tuple[str | _native.Table, _native.IngestOptions] | None = None,
    ) -> _native.Graph:
        """Return the native graph; create it if it is new, for ids as in these data."""
        if self._is_inherited():
            # Before the lock, which a thread of the parent may have held at the fork.
            raise ForkedError(
                f"process {self._process} opened `{self._path}`, and this one was forked from it: "
                "call it there, or close the graph before the fork and open it afterwards"
            )
        with self._lock:
            if self._is_closed:
                raise ClosedError("the graph is closed")
            if self._native is None:
                new = self._directory, self._chosen
                self._had_directory = os.path.isdir(self._directory)
                # A signal may raise between the return of a call and what takes its result.
                created: list[_native.Graph] = []
                try:
                    if first_file is None:
                        ids = _columns.kind(columns, self._ids)
                        _native.Graph.create(*new, ids, self._meter, created)
                    else:
                        _native.Graph.create_for(*new, self._meter, *first_file, created)
                finally:
                    if created and not self._is_closed:
                        self._native, self._is_unshaped = created[0], True
                if self._is_closed:
                    # By a signal handler.
                    created[0].close_new(self._directory, self._had_directory)
                    raise ClosedError("the graph is closed")
            assert self._native is not None
            self._calls += 1
            return self._native

    def _is_inherited(self) -> bool:
        """Return whether this process is a forked child of the one that made this object."""
        return os.getpid() != self._process

    def _leave(self, native: _native.Graph) -> None:
        """End a call; if no data have reached a new graph, let other data shape it."""
        if self._is_inherited():
            return
        with self._lock:
            self._calls -= 1
            # An interrupt may have left a call behind that uses it.
            if self._calls or not self._is_unshaped or self._is_closed or native.is_in_use():
                return
            try:
                self._is_unshaped = not native.stats()["vertices"]
            except EveredgeError:
                return
            if self._is_unshaped:
                self._native = None
                native.close_new(self._directory, self._had_directory)
