"""Where the shards of a graph are, and putting them somewhere else when a worker is gone."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from distributed import Actor, Client, Future

from everedge._errors import ClosedError, CorruptionError, EveredgeError, InvalidInputError, NotAGraphError
from everedge.cluster._errors import ShardLostError, StaleError
from everedge.cluster._host import Hosts, ShardHost, State, VersionsHost, found_at, remove_at
from everedge.cluster._shard import Options

LOOK_SECONDS = 0.5
"""How long an answer is waited for until somebody looks whether its worker is still there."""


@dataclass
class Place:
    """An actor of Dask, and the worker that it is on."""

    future: Future[Any]
    actor: Actor
    address: str


@dataclass(frozen=True)
class Cut:
    """A version of which every shard has a snapshot."""

    number: int
    version: int
    vertices: tuple[int, int]
    """How many there are, and a number above all of them."""
    ghosts: int
    """How many vertices the shards have that others own, each counted wherever it is one."""


class Places:
    """The actors of a graph: one for its versions, and one for each shard."""

    def __init__(
        self, client: Client, path: str, shards: int | None, given: dict[str, Any], create: Options, wait: float
    ) -> None:
        self.client = client
        self.path = path
        self._wait = wait
        self._token = f"everedge-{os.path.basename(path)}-{uuid4().hex[:8]}"
        self._count = 0
        self._cut: Cut | None = None
        self.asking = threading.RLock()
        """Held while a question is answered: cuts are of one at a time, and shards stay where they are."""
        self._recovering = threading.RLock()
        found = self._survey()
        if not found:
            raise InvalidInputError("the client has no workers: start some, and try again")
        there = [address for address, (has_versions, _) in found.items() if has_versions]
        address = there[0] if there else min(found)
        if not there and any(directories for _, directories in found.values()):
            raise NotAGraphError(f"`{path}` has shards, and no worker has its `versions`: start the worker whose disk has them")
        if not there and shards is None:
            shards = len(found)
        created = None if there else (shards, create)
        self.shards: list[Place] = []
        self.versions = self._put(VersionsHost, "versions", address, path, created)
        try:
            self.state: State = self.versions.actor.state().result(timeout=wait)
            self._check(shards, given)
            for shard in range(self.shard_count):
                self.shards.append(self._put_shard(shard, found, is_new=self.state.newest == 0))
            self._applied = 0
            self._drop_needless()
            self.call_all("forget_all")
        except BaseException:
            self.close()
            raise

    @property
    def shard_count(self) -> int:
        """How many shards there are."""
        return self.state.shards

    @property
    def hosts(self) -> Hosts:
        """What a task needs to change the graph."""
        shards = [place.actor for place in self.shards]
        return Hosts(self.versions.actor, shards, self.state.epoch, self.state.options.weighted)

    def all(self, method: str, *arguments: Any, idle: Callable[[], object] | None = None) -> list[Any]:
        """Call a method of the host of every shard at once; returns their answers. Calls `idle` now and then meanwhile."""
        return self.wait([getattr(place.actor, method)(*arguments) for place in self.shards], idle)

    def call_all(self, method: str, *arguments: Any) -> list[Any]:
        """Call a method of every shard at once; returns their answers."""
        return self.all("call", method, *arguments)

    def wait(self, answers: Iterable[Any], idle: Callable[[], object] | None = None) -> list[Any]:
        """Wait for answers. Raises `ShardLostError` as soon as a worker is gone."""
        done = []
        for answer in answers:
            while True:
                try:
                    done.append(answer.result(timeout=LOOK_SECONDS))
                    break
                except TimeoutError:
                    if self._lost():
                        raise ShardLostError("a worker of the graph is gone") from None
                    if idle is not None:
                        idle()
        return done

    def newest(self) -> int:
        """Return the newest version."""
        (state,) = self.wait([self.versions.actor.state()])
        newest: int = state.newest
        return newest

    def cut(self) -> Cut:
        """Return a cut of the newest version: the one that there is, or a new one."""
        if self._cut is not None:
            if self._cut.version == self.newest():
                return self._cut
            self._release()
        (entry,) = self.wait([self.versions.actor.call("cut")])
        try:
            self._catch_up()
            prepared = self.all("prepare", entry.cut)
        except BaseException:
            for place in [self.versions, *self.shards]:
                with contextlib.suppress(Exception):
                    place.actor.call("release", entry.cut)
            raise
        count = sum(owned for owned, _, _ in prepared)
        bound = max((bound for _, bound, _ in prepared), default=0)
        self._cut = Cut(entry.cut, entry.version, (count, bound), sum(ghosts for _, _, ghosts in prepared))
        return self._cut

    def recover(self) -> None:
        """Open what was on workers that are gone on others that have its directory.

        Raises `ShardLostError` if there is none within the time to wait.
        """
        with self._recovering:
            self._recover()

    def _recover(self) -> None:
        until = time.monotonic() + self._wait
        reopened = False
        while lost := self._lost():
            reopened = True
            try:
                found = self._survey()
                if "versions" in lost:
                    self._reopen_versions(found)
                for shard in lost - {"versions"}:
                    self.shards[int(shard)] = self._put_shard(int(shard), found, is_new=False)
            except Exception as error:
                # Its last process may not have ended yet, or a worker may be about to come back.
                is_hopeless = isinstance(error, CorruptionError) or not (may_be_loss(error) or isinstance(error, EveredgeError))
                if is_hopeless or time.monotonic() > until:
                    raise ShardLostError(f"{', '.join(sorted(lost))} of `{self.path}`: {error}") from error
                time.sleep(0.1)
        if reopened:
            self._applied = 0
            self._drop_needless()

    def grow(self) -> None:
        """Divide each shard into two. Kernels are answered by those that there are until the new ones are whole."""
        cut = self.cut()
        found = self._survey()
        state = replace(self.state, shards=2 * self.shard_count, base=cut.version)
        # What is left of an earlier growing, before or after its end.
        self._remove(state.shards)
        self._remove(self.shard_count // 2)
        new: list[Place] = []
        try:
            for shard in range(state.shards):
                new.append(self._put_on(list(found), shard, state, new))
            actors = [place.actor for place in new]
            self.wait([place.actor.meet(actors) for place in new])
            self.all("split", cut.number, actors)
            self.wait([self.versions.actor.call("grow", state.shards)])
        except BaseException:
            self._close(new)
            raise
        with self.asking:
            self._release()
            self._applied = cut.version
            old, self.shards, self.state = self.shards, new, state
        self._close(old)
        self._remove(len(old))

    def close(self) -> None:
        """Close all shards; what was acknowledged is on disk in any case."""
        self._close([self.versions, *self.shards])

    def _close(self, places: list[Place]) -> None:
        for place in places:
            with contextlib.suppress(Exception):
                place.actor.close().result(timeout=self._wait)
        self.client.cancel([place.future for place in places], force=True)

    def _release(self) -> None:
        if self._cut is not None:
            number, self._cut = self._cut.number, None
            self.wait([self.versions.actor.call("release", number)])
            self.call_all("release", number)

    def _catch_up(self) -> None:
        """Bring every shard to the newest version."""
        (entries,) = self.wait([self.versions.actor.call("since", self._applied)])
        self._applied = min(self.call_all("apply", entries))

    def _drop_needless(self) -> None:
        """Meet, and drop what earlier epochs have left behind, and all cuts.

        Raises `CorruptionError` if a shard has a version that the log of versions does not.
        """
        actors = [place.actor for place in self.shards]
        self.all("meet", actors)
        self._cut = None
        self.wait([self.versions.actor.call("release_all")])
        self.call_all("release_all")
        newest, versions = self.newest(), self.call_all("apply", [])
        if max(versions) > newest:
            raise CorruptionError(
                f"`{self.path}`: shard {versions.index(max(versions))} has version {max(versions)}, the log of versions ends with"
                f" {newest}: restore `versions` from a copy that has all of them"
            )
        staged = self.call_all("staged")
        known = self.wait([self.versions.actor.call("versions_of", batches) for batches in staged])
        placed = zip(self.shards, known, strict=True)
        self.wait([place.actor.call("drop_needless", self.state.epoch, versions) for place, versions in placed])

    def _check(self, shards: int | None, given: dict[str, Any]) -> None:
        if shards is not None and shards != self.shard_count:
            raise InvalidInputError(f"`{self.path}` has {self.shard_count} shards, not {shards}: leave `shards` out")
        for name, value in given.items():
            if (there := getattr(self.state.options, name)) != value:
                raise InvalidInputError(f"`{self.path}` was created with {name}={there!r}, not {value!r}: leave it out")

    def _survey(self) -> dict[str, tuple[bool, list[str]]]:
        found: dict[str, tuple[bool, list[str]]] = self.client.run(found_at, self.path, on_error="ignore")
        return dict(sorted(found.items()))

    def are_some_lost(self) -> bool:
        """Return whether a worker of the graph is gone."""
        return bool(self._lost())

    def _lost(self) -> set[str]:
        workers = self.client.scheduler_info(n_workers=-1)["workers"]

        def is_lost(place: Place) -> bool:
            return place.future.status != "finished" or place.address not in workers

        lost = {str(shard) for shard, place in enumerate(self.shards) if is_lost(place)}
        return lost | ({"versions"} if is_lost(self.versions) else set())

    def _put_shard(self, shard: int, found: dict[str, tuple[bool, list[str]]], *, is_new: bool) -> Place:
        name = _name_of(shard, self.shard_count)
        able = [address for address, (_, directories) in found.items() if name in directories]
        if not able and not is_new:
            raise ShardLostError(
                f"no worker has `{os.path.join(self.path, name)}`: start the worker whose disk has it, and try again"
            )
        return self._put_on(able or list(found), shard, self.state, self.shards)

    def _put_on(self, able: list[str], shard: int, state: State, placed: list[Place]) -> Place:
        """Open or create a shard on that of the workers which has the fewest."""
        loads = [sum(place.address == address for place in placed) for address in able]
        name = _name_of(shard, state.shards)
        directory = os.path.join(self.path, name)
        address = able[loads.index(min(loads))]
        return self._put(ShardHost, name, address, directory, shard, state.shards, state.options, state.base)

    def _remove(self, shards: int) -> None:
        """Remove the directories of so many shards, which the graph does not have."""
        assert shards != self.shard_count
        self.client.run(remove_at, self.path, [_name_of(shard, shards) for shard in range(shards)])

    def _reopen_versions(self, found: dict[str, tuple[bool, list[str]]]) -> None:
        able = [address for address, (has_versions, _) in found.items() if has_versions]
        if not able:
            raise ShardLostError(f"no worker has the versions of `{self.path}`: start the worker whose disk has them")
        self.versions = self._put(VersionsHost, "versions", able[0], self.path, None)
        self.state = self.versions.actor.state().result(timeout=self._wait)

    def _put(self, host: type, what: str, address: str, *arguments: Any) -> Place:
        self._count += 1
        key = f"{self._token}-{what}-{self._count}"
        future = self.client.submit(
            host, key, *arguments, key=key, actor=True, workers=[address], allow_other_workers=False, pure=False
        )
        try:
            # An actor belongs to the client that is the current one when it is made.
            with self.client.as_current():
                return Place(future, future.result(timeout=self._wait), address)
        except BaseException:
            self.client.cancel([future], force=True)
            raise


def _name_of(shard: int, shards: int) -> str:
    return f"shard-{shard}-of-{shards}"


def may_be_loss(error: BaseException) -> bool:
    """Return whether an error may come from a worker that is gone: then it is worth a look, and another try."""
    from distributed.scheduler import KilledWorker

    if isinstance(error, ShardLostError | StaleError | ClosedError | KilledWorker):
        return True
    return isinstance(error, OSError | RuntimeError | KeyError | CancelledError) and not isinstance(error, EveredgeError)
