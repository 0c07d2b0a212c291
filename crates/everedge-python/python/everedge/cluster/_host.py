"""Shards and versions as actors of Dask: the one file that knows how calls and messages travel on a worker."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import math
import os
import re
import shutil
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from distributed import Worker, get_worker
from distributed.core import send_recv
from distributed.protocol.serialize import to_serialize

from everedge._errors import ClosedError, CorruptionError, InUseError, InvalidInputError, IoError, KernelError
from everedge.cluster._durable import naming
from everedge.cluster._options import Options
from everedge.cluster._shard import Message, Question, Shard
from everedge.cluster._staging import Columns, Operation, checked, fingerprint
from everedge.cluster._versions import Copy, Log, Versions, called

_HERE: WeakValueDictionary[object, Host] = WeakValueDictionary()
"""The hosts of this process by name: what is here is called without a message. Dask has them, and lets them go."""

Answer = TypeVar("Answer")

_CONNECT_SECONDS_MAX = 3.0
"""How long a worker is tried for that may be gone."""
_ANSWER_SECONDS_MAX = 600.0
"""How long a task waits for an answer. Who waits for the task looks for workers that are gone meanwhile."""
_BYTES_OF_ID = 16
"""What a kernel keeps for each number up to the largest id, at most."""
_PUT_SECONDS_MAX = 60.0
"""How long a copy of the versions is waited for."""
_STOPPED_MAX = 10_000
_TELL_SECONDS = 0.25
_TOPIC = "everedge"
"""Where clients of the scheduler hear of supersteps (`Client.get_events`)."""


@dataclass(frozen=True)
class Ending:
    """When a kernel ends: if nobody has anything to say, or else as PageRank is told."""

    is_pagerank: bool
    iterations: int | None = None
    tolerance: float | None = None
    steps_max: float = math.inf
    """After so many supersteps the tolerance is not come to any more."""

    def is_at(self, step: int, totals: list[float]) -> bool:
        """Return whether a kernel ends after so many supersteps, by the sums of all shards."""
        if not self.is_pagerank:
            return totals[0] == 0
        if self.tolerance is not None and totals[1] < self.tolerance:
            return True
        if step > self.steps_max:
            raise KernelError(
                f"pagerank has not converged: after {step} iterations one more changes the ranks by {totals[1]}, not by less than"
                f" tolerance={self.tolerance}: give a larger one, or `iterations`"
            )
        return self.iterations is not None and step >= self.iterations


@dataclass(frozen=True)
class Asked:
    """A kernel that all shards are asked."""

    name: str
    cut: int
    question: Question
    whole: tuple[int, int]
    ending: Ending
    saves: str
    """The name under which they save what they know."""
    saved: int | None
    """The superstep before which all have saved, if they go on there."""
    save_seconds: float
    threads: int
    """On how many threads each works, or 0 for as many as its worker has."""


@dataclass(frozen=True)
class Where:
    """What a worker needs to call a host: its worker, and its name."""

    address: str
    key: str


class Host:
    """Something that calls reach from other processes. Each call works on a thread: messages are taken in meanwhile."""

    def __init__(self, name: str, held: Any, threads: int) -> None:
        self._held = held
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        _HERE[name] = self
        self._name = name

    async def call(self, method: str, *arguments: Any) -> Any:
        """Call a method of what it holds."""
        return await self._work(partial(getattr(self._held, method), *arguments))

    def call_here(self, method: str, *arguments: Any) -> Any:
        """Do the same on a thread of this process that waits for it."""
        return getattr(self._held, method)(*arguments)

    async def close(self) -> None:
        """Close what it holds."""
        await self._work(self._held.close)
        self._pool.shutdown(wait=False)

    async def _work(self, work: Callable[[], Answer]) -> Answer:
        # What calls other hosts needs to know its worker there, too.
        return await asyncio.get_running_loop().run_in_executor(self._pool, partial(copy_context().run, work))


def _opened(make: Callable[[], Answer]) -> Answer:
    """Open something, of which a client that died may have left another one here that only waits to be collected."""
    try:
        return make()
    except InUseError:
        gc.collect()
        return make()


@dataclass(frozen=True)
class State:
    """How far a graph is."""

    graph: bytes
    """What tells it from others."""
    shards: int
    replicas: int
    """How many copies there are of each shard and of the versions, on as many workers."""
    epoch: int
    newest: int
    options: Options


class VersionsHost(Host):
    """The versions of a graph."""

    def __init__(self, name: str, path: str, created: tuple[int, Options, int] | None) -> None:
        """Open them, or create them for so many shards, made in this way, each with so many copies."""
        super().__init__(name, _opened(partial(Versions, path, created)), 1)

    async def state(self) -> State:
        """Return what the log says as a whole."""
        held: Versions = self._held
        log = held.log
        return State(log.graph, log.shards, log.replicas, log.epoch, held.newest, log.options)

    async def attach(self, copies: list[Where]) -> int:
        """Let these copies have all versions from now on; returns the epoch that begins so."""
        held: Versions = self._held

        def ask(copy: Where, method: str, *arguments: Any) -> Any:
            return _result(_call(copy, method, *arguments), _PUT_SECONDS_MAX)

        return await self._work(partial(held.attach, [partial(ask, copy) for copy in copies]))


class CopyHost(Host):
    """A copy of the versions."""

    def __init__(self, name: str, path: str) -> None:
        super().__init__(name, _opened(partial(Copy, path)), 1)


class ShardHost(Host):
    """A shard, and the way to the others."""

    def __init__(self, name: str, directory: str, graph: bytes, shard: int, shards: int, options: Options) -> None:
        # One thread for a superstep, one for a batch, and one for what is short.
        super().__init__(name, _opened(partial(Shard, directory, graph, shard, shards, options)), 3)
        self._directory = directory
        self._shard = shard
        self._others: list[Where] = []
        self._inboxes: dict[tuple[str, int], dict[int, tuple[Message, list[float]]]] = {}
        """What others said before each superstep of each kernel, also before it begins here."""
        self._arrived = asyncio.Event()
        self._steps: dict[str, int] = {}
        self._stopped: dict[str, None] = {}
        """The kernels that were given up last: what still arrives for them is dropped."""

    async def call(self, method: str, *arguments: Any) -> Any:
        """Call a method of the shard. What the system says of its files is no loss of a worker."""
        with naming(self._directory):
            return await super().call(method, *arguments)

    def call_here(self, method: str, *arguments: Any) -> Any:
        """Do the same on a thread of this process that waits for it."""
        with naming(self._directory):
            return super().call_here(method, *arguments)

    async def meet(self, shards: list[Where]) -> None:
        """Be told where all shards are."""
        self._others = shards

    async def prepare(self, cut: int) -> tuple[int, int, int]:
        """Tell all others of its ghosts; returns how many vertices it owns, a number above them, and how many ghosts it has."""
        held: Shard = self._held
        owned, bound, ghosts = await self._work(partial(held.prepare, cut))
        others = [shard for shard in range(len(ghosts)) if shard != self._shard]
        await self._tell("call", {shard: ("mirror", cut, self._shard, ghosts[shard]) for shard in others})
        return owned, bound, sum(of_other.size for of_other in ghosts)

    async def answer(self, asked: Asked) -> tuple[int, list[int]]:
        """Answer a kernel with all other shards; returns how many supersteps there were, and the bytes that it has said before each."""
        held: Shard = self._held
        self._check_memory(asked)
        threads = asked.threads or get_worker().state.nthreads
        step = asked.saved or 0
        saved = None if asked.saved is None else (asked.saves, asked.saved)
        said = await self._work(partial(held.begin, asked.name, asked.cut, asked.question, asked.whole, saved, threads))
        if asked.name in self._stopped:
            held.stop(asked.name)
        sent: list[int] = []
        now = last_save = last_told = time.monotonic()
        while True:
            # The first shard says when all save.
            is_due = self._shard == 0 and now - last_save >= asked.save_seconds
            messages, (*totals, saving) = await self._exchange(asked.name, step, said[0], [*said[1], float(is_due)])
            sent.append(sum(message.size for message in said[0]))
            if asked.ending.is_at(step, totals):
                return step, sent
            if saving:
                await self._work(partial(held.save, asked.name, asked.saves, step))
                last_save = now
            said = await self._work(partial(held.step, asked.name, totals, messages))
            step += 1
            self._steps[asked.name] = step
            now = time.monotonic()
            if self._shard == 0 and now - last_told >= _TELL_SECONDS:
                last_told = now
                get_worker().log_event(_TOPIC, {"kernel": asked.question[0], "superstep": step})

    def _check_memory(self, asked: Asked) -> None:
        """Refuse what would end the worker: a shard keeps arrays as long as the largest id."""
        limit, (count, bound) = get_worker().memory_manager.memory_limit, asked.whole
        needed = _BYTES_OF_ID * bound
        if limit and needed > limit:
            raise KernelError(
                f"the largest id is {bound - 1}, of {count} vertices: {asked.question[0]} needs {needed >> 20} MiB on each worker, which"
                f" may have {limit >> 20}: give vertices smaller numbers, or workers more memory"
            )

    async def progress(self, name: str) -> int:
        """Return how many supersteps of a kernel are done."""
        return self._steps.get(name, 0)

    async def deliver(self, name: str, step: int, shard: int, message: Message, sums: list[float]) -> None:
        """Take in what a shard says before a superstep; the same again changes nothing."""
        if name not in self._stopped:
            self._inboxes.setdefault((name, step), {})[shard] = message, sums
            self._arrived.set()

    async def stop(self, name: str) -> None:
        """Give a kernel up, also where it waits for what others say."""
        held: Shard = self._held
        self._stopped[name] = None
        if len(self._stopped) > _STOPPED_MAX:
            del self._stopped[next(iter(self._stopped))]
        self._inboxes = {key: inbox for key, inbox in self._inboxes.items() if key[0] != name}
        self._steps.pop(name, None)
        self._arrived.set()
        held.stop(name)

    async def _exchange(
        self, name: str, step: int, messages: list[Message], sums: list[float]
    ) -> tuple[list[Message], list[float]]:
        """Say to every other shard what there is to say, and hear it; returns what each said, and the sums over all."""
        others = [shard for shard in range(len(messages)) if shard != self._shard]
        saying = asyncio.ensure_future(
            self._tell("deliver", {shard: (name, step, self._shard, messages[shard], sums) for shard in others})
        )
        try:
            while len(self._inboxes.get((name, step), {})) < len(others):
                if name in self._stopped:
                    raise ClosedError(f"`{name}` was given up")
                self._arrived.clear()
                arrived = asyncio.ensure_future(self._arrived.wait())
                # What cannot be said ends it, too.
                await asyncio.wait([arrived, saying] if not saying.done() else [arrived], return_when=asyncio.FIRST_COMPLETED)
                arrived.cancel()
                if saying.done():
                    saying.result()
            await saying
        finally:
            saying.cancel()
        heard = self._inboxes.pop((name, step), {})
        heard[self._shard] = np.empty(0, np.uint8), sums
        in_order = [heard[shard] for shard in range(len(messages))]
        totals = [math.fsum(same) for same in zip(*(of_shard for _, of_shard in in_order), strict=True)]
        return [message for message, _ in in_order], totals

    async def split(self, cut: int, copies: list[list[Where]]) -> None:
        """Fill all copies of the shards that this one becomes with what it has at a cut; of itself, if there are as many shards."""
        await self._work(partial(self._split, cut, copies))

    def _split(self, cut: int, copies: list[list[Where]]) -> None:
        held: Shard = self._held
        for parts in held.parts(cut, len(copies)):
            filling = [_call(copy, "fill", columns) for shard, columns in parts.items() for copy in copies[shard]]
            for one in filling:
                _result(one)
        owned = held.vertices(cut)
        for shard in range(self._shard, len(copies), len(self._others)):
            for copy in copies[shard]:
                _result(_call(copy, "filled", owned[owned % len(copies) == shard], held.version_of(cut)))

    async def _tell(self, method: str, arguments: dict[int, tuple[Any, ...]]) -> None:
        """Call a method of the hosts of other shards, each with its arguments."""

        worker = get_worker()

        def called(shard: int) -> Awaitable[Any]:
            other = self._others[shard]
            here = _HERE.get(other.key)
            return getattr(here, method)(*arguments[shard]) if here else _ask(worker, other, method, *arguments[shard])

        await asyncio.gather(*(called(shard) for shard in arguments))


@dataclass(frozen=True)
class Hosts:
    """Where a graph is: what a task on any worker needs to change it."""

    versions: Where
    copies: list[list[Where]]
    """Of each shard; the first one answers questions."""
    epoch: int
    weighted: bool

    def send(self, name: str, operation: Operation, columns: Columns) -> tuple[int, int, Exception | None]:
        """Bring a batch to its owners, and give it a version; returns that, its number of edges, and why it could not be applied
        somewhere.

        It is durable everywhere then. A batch of this name that has a version is not sent again. Raises `InvalidInputError` for
        edges that no shard could take: a batch that has a version must be.
        """
        if operation == "add" and self.weighted != (columns[2] is not None):
            raise InvalidInputError(
                "the graph has weights: give one an edge"
                if self.weighted
                else "the graph has no weights, the edges have some: leave them out, or make it with weighted=True"
            )
        from everedge import _native

        src, dst, weights = columns = checked(columns)
        if weights is not None and not np.isfinite(weights).all():
            row = int((~np.isfinite(weights)).argmax())
            raise InvalidInputError(f"weight: row {row} is {weights[row]}: weights are finite numbers")
        batch, edges = called(name, fingerprint(operation, columns)), src.size
        known = _result(_call(self.versions, "committed", batch))
        if known is not None:
            return known, edges, None
        parts = enumerate(_native.divided(*columns, len(self.copies)))
        mine = {shard: part for shard, part in parts if part[0].size}
        staged = [
            _call(copy, "stage", batch, self.epoch, operation, part) for shard, part in mine.items() for copy in self.copies[shard]
        ]
        # One without edges has nobody who must hear of others.
        have = list(map(_result, staged))
        since, reached = min(have, default=sys.maxsize), max(have, default=0)
        version, entries = _result(
            _call(self.versions, "commit", batch, edges, self.epoch, list(mine), since, len(self.copies), reached)
        )
        # Copies are asked nothing, and need no cuts.
        batches = [entry for entry in entries if entry.batch is not None]
        applied = [
            _call(copy, "apply", batches if number else entries) for shard in mine for number, copy in enumerate(self.copies[shard])
        ]
        failed: Exception | None = None
        for one in applied:
            try:
                _result(one)
            except Exception as error:
                # It is acknowledged all the same. A shard that answers questions says why again when it is asked.
                failed = failed or error
        return version, edges, failed


def _call(where: Where, method: str, *arguments: Any) -> Any:
    """Begin a call of a host, from a thread of any process."""
    here = _HERE.get(where.key)
    if here is not None:
        return partial(here.call_here, method, *arguments)
    worker = get_worker()
    loop: Any = worker.loop
    return asyncio.run_coroutine_threadsafe(_ask(worker, where, "call", method, *arguments), loop.asyncio_loop)


async def _ask(worker: Worker, where: Where, method: str, *arguments: Any) -> Any:
    """Call a host elsewhere. It fails soon if the host or its worker is gone, for which the call of a Dask actor waits."""
    comm = await worker.rpc.connect(where.address, timeout=_CONNECT_SECONDS_MAX)
    try:
        call: dict[str, Any] = {"actor": where.key, "function": method, "args": [to_serialize(one) for one in arguments], "kwargs": {}}
        reply = await send_recv(comm, op="actor_execute", **call)
    finally:
        worker.rpc.reuse(where.address, comm)
    if reply["status"] != "OK":
        raise reply["exception"]
    return reply["result"]


def _result(call: Any, seconds: float = _ANSWER_SECONDS_MAX) -> Any:
    # A worker that was started again at the same address may not answer at all.
    try:
        return call() if isinstance(call, partial) else call.result(timeout=seconds)
    except TimeoutError as error:
        raise OSError(f"a worker did not answer within {seconds} s") from error


def remove_at(path: str, names: list[str]) -> None:
    """Remove, on a worker, directories of shards that no graph has any more, if they are there."""
    for name in names:
        shutil.rmtree(os.path.join(path, name), ignore_errors=True)


def has_files(path: str) -> bool:
    """Return, on a worker, whether a path is there and no empty folder."""
    return os.path.lexists(path) and not (os.path.isdir(path) and not os.listdir(path))


def put_away_at(path: str, name: str) -> None:
    """Make room, on a worker, for another copy of a shard. What stands there is damaged or old, and stays until the next time."""
    damaged = os.path.join(path, f"{name}.old")
    shutil.rmtree(damaged, ignore_errors=True)
    with contextlib.suppress(FileNotFoundError):
        os.rename(os.path.join(path, name), damaged)


@dataclass(frozen=True)
class Found:
    """What a worker sees of a graph."""

    logs: dict[str, Log | str]
    """The files of versions by name: what each says, without its entries; or what is wrong with it."""
    shards: list[str]
    """Directories of shards."""
    is_other: bool
    """Whether something else is there than a graph in shards."""


def found_at(path: str) -> Found:
    """Return what a worker sees of a graph."""
    if not os.path.isdir(path):
        return Found({}, [], os.path.lexists(path))
    names = sorted(os.listdir(path))
    logs: dict[str, Log | str] = {}
    for name in names:
        if re.fullmatch(r"versions(-copy-\d+)?", name):
            try:
                logs[name] = replace(Log.read(os.path.join(path, name)), entries=[], committed={})
            except (CorruptionError, IoError) as error:
                logs[name] = str(error)
    shards = [name for name in names if re.fullmatch(r"shard-\d+-of-\d+(-copy-\d+)?", name)]
    shards = [name for name in shards if os.path.exists(os.path.join(path, name, "applied"))]
    return Found(logs, shards, bool(names) and not logs and not shards and "manifest.toml" in names)
