"""A graph whose shards the workers of a Dask cluster have."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Literal, NoReturn, TypeVar
from uuid import uuid4

import numpy as np
import numpy.typing as npt
from dask.delayed import delayed
from distributed import Client, Future, wait

from everedge import _columns
from everedge._columns import Id, Ids
from everedge._errors import ClosedError, InvalidInputError
from everedge._progress import Bar, is_watched
from everedge._values import Values
from everedge.cluster._host import Hosts, has_files
from everedge.cluster._kernels import TRIES_MAX, Answering, ClusterComponents, ClusterValues, gathered
from everedge.cluster._errors import ShardLostError
from everedge.cluster._options import Options
from everedge.cluster._places import LOOK_SECONDS, Places
from everedge.cluster._sources import Names, Part, TablesPart, batches_of, checked_columns, parquet_parts
from everedge.cluster._staging import Columns, Operation

_BATCH_EDGES = 1 << 22
_SCATTERED_EDGES_MIN = 1 << 16

Answer = TypeVar("Answer")
Given = TypeVar("Given")


@dataclass(frozen=True)
class ClusterIngest:
    """What an ingest brought in."""

    edges: int
    """Edges that were acknowledged, those of batches that were there before among them."""
    batches: int
    """Batches that they came in."""
    version: int
    """The newest version of them; 0 if there were no edges."""


class Graph:
    """A durable live graph in shards, one machine or many: opens or creates it.

    Vertex v belongs to shard `v mod shards`. A shard is an ordinary graph in a directory below `path` on the disk of a worker; it
    has every edge that begins or ends at one of its vertices. A batch is acknowledged when it is durable on all shards that
    it concerns, and has a version then: all shards answer a kernel from the same version, which has the whole of every batch
    up to it and nothing of any other.

    A worker that goes away is no loss: its shards are opened again by one that sees their directories, such as the process that
    Dask starts in its place. A disk that goes away is none if there are `replicas`. Ids are integers below 2^31.

    - `shards`: as many as there are workers, for a new graph; what it has, for another.
    - `replicas`: how many copies there are of everything, each on another worker, for a new graph. A batch is durable in all of them
      when it is acknowledged. If a copy is lost, the others answer; the next batch waits until another worker has a new one.
    - `directed`, `weighted`, `simple`, `layout`, `medium`: as of `everedge.Graph`, for a new graph.
    - `wait`: how many seconds a worker that is gone is waited for.
    - `give_up_lost`: open a graph with `replicas` though not all copies of its `versions` are found. One that is not might have batches
      that the others lack, if it was apart from them. So it is for disks that are lost for ever.
    - `create`: whether to make a graph where there is none.

    Raises `InvalidInputError` for options that do not fit, `ShardLostError` if no worker has a shard, `InUseError` if another
    client has the graph open, and what opening a graph does.

    >>> import tempfile
    >>> from distributed import Client
    >>> import everedge.cluster
    >>> client = Client(n_workers=2, threads_per_worker=1, dashboard_address=None)
    >>> directory = tempfile.TemporaryDirectory()
    >>> with everedge.cluster.Graph(client, directory.name) as graph:
    ...     graph.add_edges([0, 1, 2], [1, 2, 0])
    ...     graph.bfs(source=0).to_dict()
    1
    {0: 0, 1: 1, 2: 2}
    >>> client.shutdown()
    >>> directory.cleanup()
    """

    def __init__(
        self,
        client: Client,
        path: str | os.PathLike[str],
        *,
        shards: int | None = None,
        replicas: int | None = None,
        directed: bool | None = None,
        weighted: bool | None = None,
        simple: bool | None = None,
        layout: Literal["adjacency", "pma", "blocks"] | None = None,
        medium: Literal["file", "pmem"] | None = None,
        wait: float = 60.0,
        give_up_lost: bool = False,
        create: bool = True,
    ) -> None:
        if not isinstance(client, Client) or client.asynchronous:
            raise InvalidInputError("client: a `distributed.Client` that is not asynchronous")
        if isinstance(wait, bool) or not isinstance(wait, int | float) or not wait > 0:
            raise InvalidInputError(f"wait={wait!r}: a number of seconds")
        for name, count in (("shards", shards), ("replicas", replicas)):
            if count is not None:
                _columns.whole(count, name, 1)
        chosen = {"directed": directed, "weighted": weighted, "simple": simple, "layout": layout, "medium": medium}
        given: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
        self._client = client
        self._places: Places | None = None
        self._changing = threading.RLock()
        """Held while a batch comes in, or shards are divided."""
        if "://" in os.fspath(path):
            raise InvalidInputError(f"path={os.fspath(path)!r}: shards are in directories of the workers' own disks")
        self._path = os.path.abspath(path)
        places = Places(client, self._path, wait)
        places.open(shards, replicas, given, Options.of(given), gives_up_lost=give_up_lost, creates=create)
        self._places = places
        # Who forgets the graph in a notebook may open it again.
        self._forgotten = weakref.finalize(self, _close_beside, places)
        self._forgotten.atexit = False

    @property
    def path(self) -> str:
        """The directory that has the shards' directories, on each worker's disk."""
        return self._path

    @property
    def num_shards(self) -> int:
        """How many shards there are."""
        return self._open.shard_count

    @property
    def replicas(self) -> int:
        """How many copies there are of everything."""
        return self._open.state.replicas

    @property
    def directed(self) -> bool:
        """Whether edges have a direction."""
        return self._open.state.options.directed

    @property
    def weighted(self) -> bool:
        """Whether edges carry weights."""
        return self._open.state.options.weighted

    @property
    def version(self) -> int:
        """The newest version: how many batches all shards have."""
        return self._again(Places.newest)

    @property
    def num_vertices(self) -> int:
        """How many vertices the newest version has."""
        def ask(places: Places) -> int:
            with places.asking:
                return places.cut().vertices[0]

        return self._again(ask)

    def add_edges(self, src: Ids, dst: Ids, weight: npt.ArrayLike | None = None, *, name: str | None = None) -> int:
        """Insert edges as one batch; returns its version. It is durable on all its shards then.

        A batch of a `name` that has a version already is not inserted again: whoever does not know whether a batch arrived sends
        it again under the same name.

        Raises `InvalidInputError` as `everedge.Graph.add_edges`, and if the batch of this name had other edges.
        """
        return self._send("add", checked_columns(src, dst, weight), name)

    def delete_edges(self, src: Ids, dst: Ids, *, name: str | None = None) -> int:
        """Delete edges as one batch, of each pair one; those that are not there count for nothing. Returns its version.

        `name` as of `add_edges`.
        """
        return self._send("delete", checked_columns(src, dst, None), name)

    def ingest(
        self,
        source: Any,
        *,
        src: str = "src",
        dst: str = "dst",
        weight: str | None = None,
        delete: bool = False,
        name: str | None = None,
        batch: int = _BATCH_EDGES,
    ) -> ClusterIngest:
        """Bring in edges that workers read by themselves, each a share; returns what was acknowledged.

        `source` is a Parquet file, a folder or pattern of them, or several of these, at a path that every worker sees; a Dask
        dataframe; a Dask bag of edges `(src, dst)` or `(src, dst, weight)`, of dicts, or of frames; or a table of columns.
        `src`, `dst` and `weight` name the columns. A graph with weights takes those of the column `weight` unless another one
        is named.

        Every batch of up to `batch` edges is a version. An ingest of a `name` that did not come to its end goes on where it was if
        it is begun again with the same source and `batch`.
        """
        if weight is not None and (delete or not self.weighted):
            why = "edges are deleted by their ends" if delete else "the graph has no weights: make it with weighted=True"
            raise InvalidInputError(f"weight={weight!r}: {why}")
        if self.weighted and not delete:
            weight = weight or "weight"
        _columns.whole(batch, "batch", 1)
        name = _checked_name(name)
        parts = _parts_of(source)
        operation: Operation = "delete" if delete else "add"
        reading = partial(_bring, Names(src, dst, weight, delete), operation, batch)
        waiting = {f"{name}/{number}": part for number, part in enumerate(parts)}
        edges, batches, version = 0, 0, 0
        total = len(waiting)
        with self._changing, Bar() as bar, self._ending_all():
            for tries in range(1, TRIES_MAX + 1):
                bring = partial(reading, self._open.complete())
                futures = {self._begun(partial(bring, one), part): one for one, part in waiting.items()}
                failed: Exception | None = None
                try:
                    while futures and failed is None:
                        for future in self._done(futures):
                            part = futures.pop(future)
                            try:
                                brought = future.result()
                            except Exception as error:
                                # Also of one that was done, whose result went with its worker.
                                failed = error
                                continue
                            edges, batches, version = edges + brought.edges, batches + brought.batches, max(version, brought.version)
                            del waiting[part]
                            failed = brought.failed
                            if is_watched():
                                bar.show_steps("ingest", total - len(waiting), total)
                        if failed is None and self._open.are_some_lost():
                            failed = ShardLostError("a worker of the graph is gone")
                finally:
                    # The others would meet the same one by one, each after a time of its own.
                    self._client.cancel(list(futures))
                if failed is not None and (tries == TRIES_MAX or not self._open.is_loss(failed)) and waiting:
                    raise failed
                if not waiting:
                    break
                self._open.recover(failed)
        return ClusterIngest(edges, batches, version)

    def bfs(self, source: Id | None = None, *, threads: int = 0) -> ClusterValues[np.int32]:
        """Return how many edges a shortest path from `source` to each vertex has: see `everedge.bfs`."""
        report, vertices, depths = self._answer("bfs", threads, source=source)
        return ClusterValues("bfs", vertices, depths.view(np.int32), report)

    def sssp(self, source: Id | None = None, *, threads: int = 0) -> ClusterValues[np.float64]:
        """Return the length of the shortest path from `source` to each vertex: see `everedge.sssp`."""
        report, vertices, lengths = self._answer("sssp", threads, source=source)
        return ClusterValues("sssp", vertices, lengths, report)

    def pagerank(
        self,
        *,
        iterations: int | None = None,
        tolerance: float | None = None,
        damping: float | None = None,
        threads: int = 0,
    ) -> ClusterValues[np.float64]:
        """Return the PageRank of each vertex: see `everedge.pagerank`."""
        report, vertices, ranks = self._answer(
            "pagerank", threads, iterations=iterations, tolerance=tolerance, damping=damping
        )
        return ClusterValues("pagerank", vertices, ranks, report)

    def wcc(self, *, threads: int = 0) -> ClusterComponents:
        """Return the weakly connected component of each vertex: see `everedge.wcc`."""
        report, vertices, roots = self._answer("wcc", threads)
        return ClusterComponents("wcc", vertices, roots, report)

    def kcore(self, *, threads: int = 0) -> ClusterValues[np.uint32]:
        """Return the coreness of each vertex: see `everedge.kcore`."""
        report, vertices, cores = self._answer("kcore", threads)
        return ClusterValues("kcore", vertices, cores, report)

    connected_components = wcc
    core_number = kcore

    def out_degree(self) -> Values[np.uint32]:
        """Return how many edges leave each vertex."""
        return self._degrees("out_degree", lambda leaving, entering: leaving)

    def in_degree(self) -> Values[np.uint32]:
        """Return how many edges enter each vertex."""
        return self._degrees("in_degree", lambda leaving, entering: entering)

    def degree(self) -> Values[np.uint32]:
        """Return how many edges each vertex has: those that leave and those that enter, of undirected ones each once."""
        return self._degrees("degree", (lambda leaving, entering: leaving + entering) if self.directed else lambda both, _: both)

    @property
    def num_edges(self) -> int:
        """How many edges the newest version has. Cost: all edges are read."""

        def ask(places: Places) -> int:
            with places.asking:
                return sum(places.call_all("edge_count", places.cut().number))

        return self._again(ask)

    def to_parquet(self, folder: str | os.PathLike[str]) -> int:
        """Write the edges of the newest version as Parquet, a file for each shard, into a folder that there is not yet; returns how many
        there are.

        Each worker writes what its shards own, into the folder of this path on its machine. Columns `src`, `dst` and, if edges have
        one, `weight`; an undirected edge comes once. Vertices without edges are left out. Ready for `ingest` of one machine.

        Raises `InvalidInputError` if the folder has files, `NoSpaceError`, `IoError`.
        """
        path = os.path.abspath(folder)

        def ask(places: Places) -> int:
            with places.asking:
                return sum(places.call_all("write_parquet", places.cut().number, path))

        if any(self._client.run(has_files, path, on_error="ignore").values()):
            raise InvalidInputError(f"`{path}` has files: name a new folder")
        return self._again(ask)

    def grow(self) -> None:
        """Divide every shard into two, so that there are twice as many.

        Questions are answered meanwhile by the shards that there are; batches wait. It needs room on the workers' disks for all
        edges once more. If it does not come to its end, the graph has the shards that it had.
        """
        with self._changing:
            shards = 2 * self.num_shards
            self._changed(lambda places, _: places.grow(shards))

    def close(self) -> None:
        """Close all shards; a second time does nothing."""
        places, self._places = self._places, None
        self._forgotten.detach()
        if places is not None:
            places.close()

    def __enter__(self) -> Graph:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._places is None or self._client.status not in ("running", "connecting"):
            return f"<cluster.Graph {self._path}: closed>"
        return f"<cluster.Graph {self._path}: {self.num_shards} shards, version {self.version}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a cluster.Graph stays with its client: pass the path, and open it there")

    @property
    def _open(self) -> Places:
        if self._places is None:
            raise ClosedError("the graph is closed")
        if self._client.status not in ("running", "connecting"):
            raise ClosedError(f"the client of the graph is {self._client.status}: open the graph with another one")
        return self._places

    def _send(self, operation: Operation, columns: Columns, name: str | None) -> int:
        name = _checked_name(name)

        def send(places: Places, hosts: Hosts) -> int:
            # A large one goes straight to a worker.
            held = columns
            if columns[0].size > _SCATTERED_EDGES_MIN:
                (held,) = self._client.scatter([columns], direct=True, hash=False)
            future = self._client.submit(_send, hosts, name, operation, held, pure=False, key=f"batch-{uuid4().hex[:12]}")
            ((version, _, failed),) = places.wait([future])
            if failed is not None:
                # A copy that cannot apply it is given up; the batch is acknowledged.
                places.is_loss(failed)
            done: int = version
            return done

        with self._changing, self._ending_all():
            return self._changed(send)

    @contextlib.contextmanager
    def _ending_all(self) -> Iterator[None]:
        """Let no task that is under way bring anything in after an error, or Ctrl-C."""
        try:
            yield
        except BaseException:
            with contextlib.suppress(Exception):
                self._open.begin_epoch()
            raise

    def _begun(self, bring: Callable[[Any], object], part: Any) -> Future[Any]:
        """Begin to bring in a part of a source, one that is computed only then if it is a delayed value."""
        if isinstance(part, Part):
            return self._client.submit(bring, part, pure=False, key=f"ingest-{uuid4().hex[:12]}")
        begun: Future[Any] = self._client.compute(delayed(bring, pure=False)(part))
        return begun

    def _done(self, futures: Iterable[Future[Any]]) -> set[Future[Any]]:
        """Return those that are done, after a while perhaps none."""
        try:
            done: set[Future[Any]] = wait(list(futures), timeout=LOOK_SECONDS, return_when="FIRST_COMPLETED").done
        except TimeoutError:
            return set()
        except CancelledError:
            return {future for future in futures if future.status not in ("pending", "finished")}
        return done

    def _again(self, ask: Callable[[Places], Answer]) -> Answer:
        """Ask, and ask again when what a worker had that is gone is elsewhere."""
        return self._tried(lambda: self._open, ask)

    def _changed(self, change: Callable[[Places, Hosts], Answer]) -> Answer:
        """Change the graph, and try again as `_again`, each time with all copies."""
        return self._tried(lambda: self._open.complete(), lambda hosts: change(self._open, hosts))

    def _tried(self, prepare: Callable[[], Given], ask: Callable[[Given], Answer]) -> Answer:
        for tries in range(1, TRIES_MAX + 1):
            given = prepare()
            try:
                return ask(given)
            except Exception as error:
                if tries == TRIES_MAX or not self._open.is_loss(error):
                    raise
                self._open.recover(error)
        raise AssertionError("it returns, or raises")

    def _answer(self, kernel: str, threads: int, **parameters: Any) -> tuple[Any, Any, npt.NDArray[Any]]:
        _columns.whole(threads, "threads")
        with Bar() as bar:
            tell = partial(bar.show_steps, kernel) if is_watched() else None
            places = self._open
            with places.asking:
                return Answering(places, kernel, parameters, threads, _SAVE_SECONDS, tell).answer()

    def _degrees(self, name: str, of: Callable[[Any, Any], npt.NDArray[np.uint32]]) -> Values[np.uint32]:
        def ask(places: Places) -> Values[np.uint32]:
            with places.asking:
                cut = places.cut()
                degrees = [of(*both) for both in places.call_all("degrees", cut.number)]
                return Values(name, *gathered(places, cut, degrees))

        return self._again(ask)


def _close_beside(places: Places) -> None:
    # Not in the thread of the garbage collector, which may be the one that carries messages.
    threading.Thread(target=places.close, daemon=True).start()


_SAVE_SECONDS = 10.0
"""How long a kernel works until what it knows is saved on the shards' disks, in case that a worker goes away."""


def _checked_name(name: str | None) -> str:
    if name is not None and not isinstance(name, str):
        raise InvalidInputError(f"name={name!r}: the name of a batch is a text")
    return name or uuid4().hex


def _parts_of(source: Any) -> list[Any]:
    """Return the parts of a source: `Part`s, or delayed values of what a `TablesPart` holds."""
    if hasattr(source, "to_delayed"):
        return list(source.to_delayed())
    are_paths = isinstance(source, list | tuple | set) and all(isinstance(one, str | os.PathLike) for one in source)
    if isinstance(source, str | os.PathLike) or are_paths:
        return list(parquet_parts(source))
    if hasattr(source, "__arrow_c_stream__") and (not hasattr(source, "columns") or hasattr(source, "fetchall")):
        # A stream or a question to a database, which is read once, and here.
        import pyarrow

        return [TablesPart(pyarrow.table(source))]
    return [TablesPart(list(source) if hasattr(source, "__next__") else source)]


@dataclass(frozen=True)
class _Brought:
    """What a task brought in of a source."""

    edges: int
    batches: int
    version: int
    failed: Exception | None
    """Why a batch could not be applied somewhere."""


def _bring(names: Names, operation: Operation, batch: int, hosts: Hosts, name: str, part: Any) -> _Brought:
    """Bring in a part of a source, on a worker."""
    reading = part if isinstance(part, Part) else TablesPart(part)
    edges, version, number = 0, 0, 0
    failed: Exception | None = None
    for number, columns in enumerate(batches_of(reading.tables(names), batch), 1):
        newest, sent, why = hosts.send(f"{name}/{number}", operation, columns)
        edges, version, failed = edges + sent, max(version, newest), failed or why
    return _Brought(edges, number, version, failed)


def _send(hosts: Hosts, name: str, operation: Operation, columns: Columns) -> tuple[int, int, Exception | None]:
    return hosts.send(name, operation, columns)
