"""Shards and versions as actors of Dask: the one file that knows how calls and messages travel on a worker."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, TypeVar

from distributed import Actor, get_worker

from everedge.cluster._durable import write_whole
from everedge.cluster._shard import Message, Options, Question, Shard
from everedge.cluster._staging import Columns, Operation, checked
from everedge.cluster._versions import Versions, digest

_HERE: dict[object, Host] = {}
"""The hosts of this process by name: what is here is called without a message."""

Answer = TypeVar("Answer")


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
        _HERE.pop(self._name, None)
        await self._work(self._held.close)
        self._pool.shutdown(wait=False)

    async def _work(self, work: Callable[[], Answer]) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)


@dataclass(frozen=True)
class State:
    """How far a graph is."""

    shards: int
    base: int
    """The version that these shards began with."""
    epoch: int
    newest: int
    options: Options


class VersionsHost(Host):
    """The versions of a graph."""

    def __init__(self, name: str, path: str, created: tuple[int, Options] | None) -> None:
        """Open them, or create them for so many shards."""
        options = os.path.join(path, "options.json")
        if created is not None:
            os.makedirs(path, exist_ok=True)
            write_whole(options, [memoryview(json.dumps(asdict(created[1])).encode())])
        super().__init__(name, Versions(os.path.join(path, "versions"), created and created[0]), 1)
        with open(options) as file:
            self._options = Options(**json.load(file))

    async def state(self) -> State:
        """Return what the log says as a whole."""
        held: Versions = self._held
        return State(held.shards, held.base, held.epoch, held.newest, self._options)


class ShardHost(Host):
    """A shard, and the way to the others."""

    def __init__(self, name: str, directory: str, shard: int, shards: int, options: Options, base: int) -> None:
        # One thread for a superstep, one for a batch, and one for what is short.
        super().__init__(name, Shard(directory, shard, shards, options, base), 3)
        self._shard = shard
        self._others: list[Actor] = []

    async def meet(self, shards: list[Actor]) -> None:
        """Be told where all shards are."""
        self._others = shards

    async def prepare(self, cut: int) -> tuple[int, int, int]:
        """Tell all others of its ghosts; returns how many vertices it owns, a number above them, and how many ghosts it has."""
        held: Shard = self._held
        owned, bound, ghosts = await self._work(partial(held.prepare, cut))
        await self._tell("mirror", [(cut, self._shard, of_other) for of_other in ghosts], range(len(ghosts)))
        return owned, bound, sum(of_other.size for of_other in ghosts)

    async def begin(
        self,
        name: str,
        cut: int,
        question: Question,
        whole: tuple[int, int],
        saved: tuple[str, int] | None,
        threads: int,
    ) -> tuple[list[float], int]:
        """Begin to answer a kernel, on so many threads or, if 0, as many as the worker has; returns its sums, and the bytes that it has said."""
        held: Shard = self._held
        step = saved[1] if saved else 0
        threads = threads or get_worker().state.nthreads
        said = await self._work(partial(held.begin, name, cut, question, whole, saved, threads))
        return await self._say(name, step, *said)

    async def step(self, name: str, step: int, totals: list[float]) -> tuple[list[float], int]:
        """Do a superstep; returns its sums, and the bytes that it has said."""
        held: Shard = self._held
        said = await self._work(partial(held.step, name, step, totals))
        return await self._say(name, step + 1, *said)

    async def split(self, cut: int, shards: list[Actor]) -> None:
        """Fill the shards that this one becomes with what it has at a cut."""
        await self._work(partial(self._split, cut, shards))

    def _split(self, cut: int, shards: list[Actor]) -> None:
        held: Shard = self._held
        for parts in held.parts(cut, len(shards)):
            filling = [_call(shards[shard], "fill", columns) for shard, columns in parts.items()]
            for one in filling:
                _result(one)
        owned = held.vertices(cut)
        for shard in range(self._shard, len(shards), len(self._others)):
            _result(_call(shards[shard], "filled", owned[owned % len(shards) == shard]))

    async def _say(self, name: str, step: int, messages: list[Message], sums: list[float]) -> tuple[list[float], int]:
        to = [shard for shard, message in enumerate(messages) if message.size]
        await self._tell("deliver", [(name, step, self._shard, message) for message in messages], to)
        return sums, sum(message.size for message in messages)

    async def _tell(self, method: str, arguments: list[tuple[Any, ...]], shards: Any) -> None:
        """Call a method of other shards, each with its arguments."""

        def called(shard: int) -> Any:
            other = self._others[shard]
            return (_HERE.get(other.key) or _Remote(other)).call(method, *arguments[shard])

        others = [shard for shard in shards if shard != self._shard]
        await asyncio.gather(*(asyncio.ensure_future(_awaited(called(shard))) for shard in others))


async def _awaited(answer: Any) -> Any:
    return await answer


@dataclass(frozen=True)
class Hosts:
    """Where a graph is: what a task on any worker needs to change it."""

    versions: Actor
    shards: list[Actor]
    epoch: int

    def send(self, name: str, operation: Operation, columns: Columns) -> tuple[int, int]:
        """Bring a batch to its owners, and give it a version; returns that and its number of edges.

        It is durable everywhere then. A batch of this name that has a version is not sent again.
        """
        from everedge import _native

        columns = checked(columns)
        batch, edges = digest(name), columns[0].size
        known = _result(_call(self.versions, "committed", batch, edges))
        if known is not None:
            return known, edges
        parts = enumerate(_native.divided(*columns, len(self.shards)))
        mine = {shard: part for shard, part in parts if part[0].size}
        staged = [_call(self.shards[shard], "stage", batch, self.epoch, operation, part) for shard, part in mine.items()]
        since = min(map(_result, staged), default=0)
        version, entries = _result(_call(self.versions, "commit", batch, edges, self.epoch, list(mine), since))
        applied = [_call(self.shards[shard], "apply", entries) for shard in mine]
        for one in applied:
            _result(one)
        return version, edges


def _call(host: Actor, method: str, *arguments: Any) -> Any:
    """Begin a call of a host, from a thread of any process."""
    here = _HERE.get(host.key)
    if here is not None:
        return partial(here.call_here, method, *arguments)
    return _Remote(host).call(method, *arguments)


class _Remote:
    """A host elsewhere, as a worker calls it."""

    def __init__(self, host: Actor) -> None:
        self._host = host

    def call(self, method: str, *arguments: Any) -> Any:
        """Begin a call. It fails if the host's worker is gone."""
        begin = self._host.call
        # Else Dask waits for the actor to come back. What it held is opened by another one then.
        self._host._future = None
        return begin(method, *arguments)


def _result(call: Any) -> Any:
    return call() if isinstance(call, partial) else call.result()


def remove_at(path: str, names: list[str]) -> None:
    """Remove, on a worker, directories of shards that no graph has any more, if they are there."""
    for name in names:
        shutil.rmtree(os.path.join(path, name), ignore_errors=True)


def found_at(path: str) -> tuple[bool, list[str]]:
    """Return, on a worker, whether the versions of a graph are there, and the directories of its shards."""
    directories = []
    if os.path.isdir(path):
        directories = [name for name in os.listdir(path) if os.path.exists(os.path.join(path, name, "applied"))]
    return os.path.exists(os.path.join(path, "versions")), directories
