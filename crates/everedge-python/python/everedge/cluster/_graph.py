"""A graph whose shards the workers of a Dask cluster have."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
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
from everedge._values import Components, Values
from everedge.cluster._host import Hosts
from everedge.cluster._kernels import TRIES_MAX, Answering, ClusterReport, gathered
from everedge.cluster._errors import ShardLostError
from everedge.cluster._options import Options
from everedge.cluster._places import LOOK_SECONDS, Places
from everedge.cluster._sources import Part, TablesPart, batches_of, checked_columns, parquet_parts
from everedge.cluster._staging import Columns, Operation

_BATCH_EDGES = 1 << 22

Answer = TypeVar("Answer")


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
    ) -> None:
        for name, count in (("shards", shards), ("replicas", replicas)):
            if count is not None:
                _columns.whole(count, name, 1)
        chosen = {"directed": directed, "weighted": weighted, "simple": simple, "layout": layout, "medium": medium}
        given: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
        self._client = client
        self._places: Places | None = None
        self._changing = threading.RLock()
        """Held while a batch comes in, or shards are divided."""
        self._path = os.path.abspath(path)
        places = Places(client, self._path, wait)
        places.open(shards, replicas, given, Options(**given), gives_up_lost=give_up_lost)
        self._places = places

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

        Raises `InvalidInputError` as `everedge.Graph.add_edges`, and if the batch of this name had another number of edges.
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
        name = name or uuid4().hex
        parts = _parts_of(source)
        operation: Operation = "delete" if delete else "add"
        reading = partial(_bring, (src, dst, weight), operation, batch)
        waiting = {f"{name}/{number}": part for number, part in enumerate(parts)}
        edges, batches, version = 0, 0, 0
        total = len(waiting)
        with self._changing, Bar() as bar:
            for tries in range(1, TRIES_MAX + 1):
                self._open.complete()
                bring = partial(reading, self._open.hosts)
                futures = {self._begun(partial(bring, one), part): one for one, part in waiting.items()}
                failed: BaseException | None = None
                while futures and failed is None:
                    for future in self._done(futures):
                        part = futures.pop(future)
                        if future.status == "finished":
                            sent, count, newest = future.result()
                            edges, batches, version = edges + sent, batches + count, max(version, newest)
                            del waiting[part]
                            if is_watched():
                                bar.show_steps("ingest", total - len(waiting), total)
                        else:
                            failed = future.exception() if future.status == "error" else None
                            failed = failed or ShardLostError(f"a part of the ingest was {future.status}")
                    if failed is None and self._open.are_some_lost():
                        failed = ShardLostError("a worker of the graph is gone")
                if failed is not None:
                    # The others would meet the same one by one, each after a time of its own.
                    self._client.cancel(list(futures))
                    if not self._open.is_loss(failed):
                        raise failed
                if not waiting:
                    break
                if tries == TRIES_MAX and failed is not None:
                    raise failed
                self._open.recover()
        return ClusterIngest(edges, batches, version)

    def bfs(self, source: Id | None = None, *, threads: int = 0) -> Values[np.int32]:
        """Return how many edges a shortest path from `source` to each vertex has: see `everedge.bfs`."""
        report, vertices, depths = self._answer("bfs", threads, source=source)
        return Values("bfs", vertices, depths.view(np.int32), report)

    def sssp(self, source: Id | None = None, *, threads: int = 0) -> Values[np.float64]:
        """Return the length of the shortest path from `source` to each vertex: see `everedge.sssp`."""
        report, vertices, lengths = self._answer("sssp", threads, source=source)
        return Values("sssp", vertices, lengths, report)

    def pagerank(
        self,
        *,
        iterations: int | None = None,
        tolerance: float | None = None,
        damping: float | None = None,
        threads: int = 0,
    ) -> Values[np.float64]:
        """Return the PageRank of each vertex: see `everedge.pagerank`."""
        report, vertices, ranks = self._answer(
            "pagerank", threads, iterations=iterations, tolerance=tolerance, damping=damping
        )
        return Values("pagerank", vertices, ranks, report)

    def wcc(self, *, threads: int = 0) -> Components:
        """Return the weakly connected component of each vertex: see `everedge.wcc`."""
        report, vertices, roots = self._answer("wcc", threads)
        return Components("wcc", vertices, roots, report)

    def kcore(self, *, threads: int = 0) -> Values[np.uint32]:
        """Return the coreness of each vertex: see `everedge.kcore`."""
        report, vertices, cores = self._answer("kcore", threads)
        return Values("kcore", vertices, cores, report)

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

    def grow(self) -> None:
        """Divide every shard into two, so that there are twice as many.

        Questions are answered meanwhile by the shards that there are; batches wait. It needs room on the workers' disks for all
        edges once more. If it does not come to its end, the graph has the shards that it had.
        """
        with self._changing:
            self._again(Places.grow, changes=True)

    def close(self) -> None:
        """Close all shards; a second time does nothing."""
        places, self._places = self._places, None
        if places is not None:
            places.close()

    def __enter__(self) -> Graph:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._places is None:
            return f"<cluster.Graph {self._path}: closed>"
        return f"<cluster.Graph {self._path}: {self.num_shards} shards, version {self.version}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a cluster.Graph stays with its client: pass the path, and open it there")

    @property
    def _open(self) -> Places:
        if self._places is None:
            raise ClosedError("the graph is closed")
        return self._places

    def _send(self, operation: Operation, columns: Columns, name: str | None) -> int:
        name = name or uuid4().hex

        def send(places: Places) -> int:
            (held,) = self._client.scatter([columns], direct=True, hash=False)
            future = self._client.submit(_send, places.hosts, name, operation, held, pure=False, key=f"batch-{uuid4().hex[:12]}")
            ((version, _),) = places.wait([future])
            done: int = version
            return done

        with self._changing:
            return self._again(send, changes=True)

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

    def _again(self, ask: Callable[[Places], Answer], *, changes: bool = False) -> Answer:
        """Ask, and ask again when what a worker had that is gone is elsewhere."""
        for tries in range(1, TRIES_MAX + 1):
            if changes:
                self._open.complete()
            try:
                return ask(self._open)
            except Exception as error:
                if tries == TRIES_MAX or not self._open.is_loss(error):
                    raise
                self._open.recover()
        raise AssertionError("it returns, or raises")

    def _answer(self, kernel: str, threads: int, **parameters: Any) -> tuple[Any, Any, npt.NDArray[Any]]:
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


_SAVE_SECONDS = 10.0
"""How long a kernel works until what it knows is saved on the shards' disks, in case that a worker goes away."""


def _parts_of(source: Any) -> list[Any]:
    """Return the parts of a source: `Part`s, or delayed values of what a `TablesPart` holds."""
    if hasattr(source, "to_delayed"):
        return list(source.to_delayed())
    if isinstance(source, str | os.PathLike) or (
        isinstance(source, Iterable) and not hasattr(source, "columns") and not isinstance(source, dict)
        and all(isinstance(one, str | os.PathLike) for one in source)
    ):
        return list(parquet_parts(source))
    return [TablesPart(source)]


def _bring(
    names: tuple[str, str, str | None], operation: Operation, batch: int, hosts: Hosts, name: str, part: Any
) -> tuple[int, int, int]:
    """Bring in a part of a source, on a worker; returns its edges and batches, and its newest version."""
    reading = part if isinstance(part, Part) else TablesPart(part)
    edges, version, number = 0, 0, 0
    for number, columns in enumerate(batches_of(reading.tables(names), batch), 1):
        newest, sent = hosts.send(f"{name}/{number}", operation, columns)
        edges, version = edges + sent, max(version, newest)
    return edges, number, version


def _send(hosts: Hosts, name: str, operation: Operation, columns: Columns) -> tuple[int, int]:
    return hosts.send(name, operation, columns)
