"""Where the shards of a graph are, and putting them somewhere else when a worker is gone."""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from collections.abc import Callable, Container, Iterable
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from uuid import uuid4

from distributed import Actor, Client, Future

from everedge._errors import (
    ClosedError,
    CorruptionError,
    EveredgeError,
    InUseError,
    InvalidInputError,
    IoError,
    NotAGraphError,
    PoisonedError,
)
from everedge.cluster._errors import ShardLostError, StaleError
from everedge.cluster._host import CopyHost, Found, Hosts, ShardHost, State, VersionsHost, Where, found_at, put_away_at, remove_at
from everedge.cluster._options import Options
from everedge.cluster._versions import Log, behind

Answer = TypeVar("Answer")

LOOK_SECONDS = 0.5
"""How long an answer is waited for until somebody looks whether its worker is still there."""


_IN_USE_SECONDS = 5.0


@dataclass(eq=False)
class Place:
    """An actor of Dask, the worker that it is on, and the name of the file or directory that it has there."""

    future: Future[Any]
    actor: Actor
    address: str
    name: str

    @property
    def where(self) -> Where:
        """What a worker needs to call it."""
        return Where(self.address, str(self.actor.key))


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
    """The actors of a graph: for its versions, for each shard, and for the copies of both."""

    def __init__(self, client: Client, path: str, wait: float) -> None:
        self.client = client
        self.path = path
        self._wait = wait
        self._token = f"everedge-{os.path.basename(path)}-{uuid4().hex[:8]}"
        self._count = 0
        self._cut: Cut | None = None
        self._given_up: set[Place] = set()
        """Copies whose files failed."""
        self._bad: set[tuple[str, str]] = set()
        """Their names and workers: they are not opened again, but made anew."""
        self._changes = 0
        """How often it was another actor that has something."""
        self._is_settled = True
        """Whether all actors know of each other since then."""
        self.asking = threading.RLock()
        """Held while a question is answered: cuts are of one at a time, and shards stay where they are."""
        self._recovering = threading.RLock()
        self.versions: Place
        self.version_copies: list[Place] = []
        self.copies: list[list[Place]] = []
        """Of each shard; the first answers questions, and each gets all batches."""

    def open(
        self,
        shards: int | None,
        replicas: int | None,
        given: dict[str, Any],
        create: Options,
        *,
        gives_up_lost: bool,
        creates: bool,
    ) -> None:
        """Open the actors, or create the graph."""
        found = self._survey()
        if not found:
            raise InvalidInputError("the client has no workers: start some, and try again")
        if any(one.is_other for one in found.values()):
            raise NotAGraphError(f"`{self.path}` is something else than a graph in shards: name another directory")
        is_new = not any(one.logs for one in found.values())
        if is_new and not creates:
            raise NotAGraphError(f"no worker has a graph in shards at `{self.path}`")
        try:
            if is_new:
                self._create(found, shards or len(found), replicas or 1, create)
            else:
                self._open_versions(found, gives_up_lost=gives_up_lost)
                self._check(shards, replicas, given)
            for shard in range(self.shard_count):
                # Also where an earlier creation did not come to its end.
                is_new = self.state.newest == 0 and not any(_name_of(shard, self.shard_count) in one.shards for one in found.values())
                place = self._create_shard(shard, found) if is_new else self._open_shard(shard, self.state, found, self.copies)
                self.copies.append([place])
            self._drop_needless()
            self.call_every("forget_all")
            if not gives_up_lost:
                self.complete()
        except BaseException as error:
            self.close()
            if may_be_loss(error) and not isinstance(error, EveredgeError):
                raise ShardLostError(f"`{self.path}`: a worker went away while it was opened: {error}: open it again") from error
            raise

    def _create(self, found: dict[str, Found], shards: int, replicas: int, create: Options) -> None:
        if any(one.shards for one in found.values()):
            raise NotAGraphError(
                f"`{self.path}` has shards, and no worker has its `versions`: start the worker whose disk has them"
            )
        if replicas > len(found):
            raise InvalidInputError(f"replicas={replicas} needs as many workers, the client has {len(found)}")
        self.versions = self._put_versions("versions", min(found), (shards, create, replicas))
        self.state = self._state()

    def _open_versions(self, found: dict[str, Found], known: State | None = None, *, gives_up_lost: bool = False) -> None:
        """Open the newest of the logs of versions.

        One that is not there might be newer, unless that is `known` to be no newer than this one, or given up.
        """
        logs = {(name, address): said for address, one in found.items() for name, said in one.logs.items()}
        logs = {place: said for place, said in logs.items() if place not in self._bad} or logs
        whole = {place: said for place, said in logs.items() if not isinstance(said, str)}
        damage = {name: said for (name, _), said in logs.items() if isinstance(said, str)}
        if known is not None:
            whole = {place: log for place, log in whole.items() if log.graph == known.graph}
        self._check_is_one(whole)
        if not whole and damage:
            raise CorruptionError(next(iter(damage.values())))
        if not whole:
            raise ShardLostError(f"no worker has `{self._path('versions')}`: start the worker whose disk has it")
        last = max(whole, key=lambda place: (whole[place].epoch, whole[place].end))
        newest = whole[last]
        if known is not None and newest.epoch < known.epoch:
            raise ShardLostError(
                f"no worker has the last `{self._path('versions')}`, and the one of {last[1]} is older: start the worker whose disk has it"
            )
        # Those of another set of copies are none of this one.
        of_set = {place: log for place, log in whole.items() if newest.attached and log.attached == newest.attached}
        missing = set(_names("versions", newest.replicas)) - {name for name, _ in of_set} if newest.attached else set()
        if missing and known is None and not gives_up_lost:
            one = min(missing)
            raise ShardLostError(
                f"{damage.get(one, f'no worker has the last `{self._path(one)}`')}; it may be newer than the copy that there is: start"
                " the worker whose disk has it, or, if it is lost for ever, open the graph with give_up_lost=True"
            )
        self.versions = self._put_one_of([last, *(place for place, log in of_set.items() if log.epoch == newest.epoch and place != last)])
        self.state = self._state()

    def _check_is_one(self, logs: dict[tuple[str, str], Log]) -> None:
        addresses = {log.graph: address for (_, address), log in logs.items() if log.shards}
        if len(addresses) > 1:
            one, other, *_ = sorted(addresses.values())
            raise NotAGraphError(
                f"`{self.path}` is another graph on {one} than on {other}: move the one that you do not want out of the way"
            )

    def _put_one_of(self, logs: list[tuple[str, str]]) -> Place:
        """Open the first of some logs that its disk lets be written; each has all that was acknowledged."""
        for name, address in logs[:-1]:
            try:
                return self._put_versions(name, address, None)
            except IoError:
                self._bad.add((name, address))
        return self._put_versions(*logs[-1], None)

    @property
    def shard_count(self) -> int:
        """How many shards there are."""
        return self.state.shards

    @property
    def shards(self) -> list[Place]:
        """The copies that answer questions."""
        return [copies[0] for copies in self.copies]

    @property
    def hosts(self) -> Hosts:
        """What a task needs to change the graph."""
        copies = [[place.where for place in copies] for copies in self.copies]
        return Hosts(self.versions.where, copies, self.state.epoch, self.state.options.weighted)

    def all(self, method: str, *arguments: Any, idle: Callable[[], object] | None = None) -> list[Any]:
        """Call a method of the host of every shard at once; returns their answers. Calls `idle` now and then meanwhile."""
        return self.wait([getattr(place.actor, method)(*arguments) for place in self.shards], idle)

    def call_all(self, method: str, *arguments: Any) -> list[Any]:
        """Call a method of every shard at once; returns their answers."""
        return self.all("call", method, *arguments)

    def call_every(self, method: str, *arguments: Any) -> list[list[Any]]:
        """Call a method of every copy of every shard at once; returns their answers by shard."""
        answers = iter(self.wait([place.actor.call(method, *arguments) for copies in self.copies for place in copies]))
        return [[next(answers) for _ in copies] for copies in self.copies]

    def wait(self, answers: Iterable[Any], idle: Callable[[], object] | None = None) -> list[Any]:
        """Wait for answers. Raises `ShardLostError` as soon as a worker is gone."""
        done = []
        for answer in answers:
            while True:
                is_done = answer.done()
                try:
                    done.append(answer.result(timeout=LOOK_SECONDS))
                    break
                except TimeoutError as error:
                    if is_done:
                        # It is the answer.
                        raise OSError("a worker did not answer in time") from error
                    if self._lost():
                        raise ShardLostError("a worker of the graph is gone") from None
                    if idle is not None:
                        idle()
        return done

    def newest(self) -> int:
        """Return the newest version."""
        return self._state().newest

    def _state(self) -> State:
        (state,) = self.wait([self.versions.actor.state()])
        done: State = state
        return done

    def cut(self) -> Cut:
        """Return a cut of the newest version: the one that there is, or a new one."""
        with self.asking:
            return self._taken_cut()

    def _taken_cut(self) -> Cut:
        if not self._is_settled:
            raise ShardLostError("the graph was not opened again to its end")
        changes = self._changes
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
        cut = Cut(entry.cut, entry.version, (count, bound), sum(ghosts for _, _, ghosts in prepared))
        with self._recovering:
            if self._changes != changes:
                raise ClosedError("a worker went away meanwhile")
            self._cut = cut
        return cut

    def recover(self, error: BaseException | None = None) -> None:
        """See that there is a copy of everything that a question needs, after workers went away, and after an error.

        Raises `ShardLostError` if there is none within the time to wait.
        """
        with self._recovering:
            self._again(self._recover)
            if isinstance(error, StaleError):
                self.begin_epoch()

    def _recover(self) -> None:
        lost = self._lost()
        found = self._survey() if lost else {}
        if self.versions in lost:
            # The files of the others have all that was acknowledged.
            self._close([*self.version_copies, *([self.versions] if self.versions in self._given_up else [])])
            self.version_copies = []
            self._open_versions(found, self.state)
        state = self._state()
        copies = [[place for place in of_shard if place not in lost] for of_shard in self.copies]
        if state.shards != len(copies):
            # It has grown, though the call did not come back: these are shards of it no more.
            self._given_up.update(place for of_shard in self.copies for place in of_shard)
            copies = [[] for _ in range(state.shards)]
            found = self._survey()
        elif not lost:
            if not self._is_settled:
                self._drop_needless()
            return
        self._is_settled = False
        self._close([place for place in self._places() if place in self._given_up])
        new: list[Place] = []
        try:
            for shard, of_shard in enumerate(copies):
                if not of_shard:
                    of_shard.append(self._open_shard(shard, state, found, copies))
                    new += of_shard
        except BaseException:
            self._close(new)
            raise
        self.version_copies = [place for place in self.version_copies if place not in lost]
        self.copies, self.state = copies, state
        self._given_up.clear()
        self._drop_needless()

    def is_loss(self, error: BaseException) -> bool:
        """Return whether an error may come from a worker that is gone, or from a copy whose disk fails or is damaged, which is given up
        then: it is worth another try.
        """
        if may_be_loss(error):
            return True
        if self.state.replicas > 1 and isinstance(error, IoError | PoisonedError | CorruptionError):
            # The error says which file it is.
            for copies in ([self.versions, *self.version_copies], *self.copies):
                named = [place for place in copies if re.search(rf"{re.escape(self._path(place.name))}(?![\w-])", str(error))]
                # Who meets it next may not have heard that it is given up.
                if named and any(place not in self._given_up and place not in named for place in copies):
                    self._given_up.update(named)
                    self._bad.update((place.name, place.address) for place in named)
                    return True
        return False

    def complete(self) -> Hosts:
        """See that there are as many copies of everything as there are to be; returns where they are. Batches wait for that, questions do
        not.

        Raises `ShardLostError` if there are too few workers for that within the time to wait.
        """
        while True:
            with self._recovering:
                if self._is_complete():
                    return self.hosts
            self._again(self._complete)

    def begin_epoch(self) -> None:
        """Let no task that is under way commit a batch any more."""
        with self._recovering:
            self.wait([self.versions.actor.attach([place.where for place in self.version_copies])])
            self.state = self._state()

    def _is_complete(self) -> bool:
        counts = {1 + len(self.version_copies), *map(len, self.copies)}
        return self._is_settled and counts == {self.state.replicas} and not self._given_up

    def _complete(self) -> None:
        self.recover()
        # Nothing comes in between the cut of which copies are made and the time when they count.
        self.begin_epoch()
        begun, found = self._changes, self._survey()
        copies = [list(of_shard) for of_shard in self.copies]
        version_copies = list(self.version_copies)
        new: list[Place] = []

        def made(place: Place) -> Place:
            new.append(place)
            return place

        try:
            for shard, of_shard in enumerate(copies):
                for name in self._missing(_name_of(shard, self.shard_count), of_shard):
                    place = self._reopened(shard, name, self.state, found, of_shard, copies)
                    of_shard.append(made(place or self._copied(shard, name, found, of_shard, copies)))
            for name in self._missing("versions", [self.versions, *version_copies]):
                address = self._chosen(found, [self.versions, *version_copies], copies)
                try:
                    version_copies.append(made(self._put(CopyHost, name, address, self._path(name))))
                except IoError as error:
                    self._avoid(name, address, error)
                    raise
            with self.asking, self._recovering:
                if self._changes != begun or self._lost():
                    raise ShardLostError("a worker went away meanwhile")
                # Also where only a shard has another copy: no task may send batches to the last ones any more.
                self.wait([self.versions.actor.attach([place.where for place in version_copies])])
                if any(self._is_behind(shard, place) for shard, of_shard in enumerate(copies) for place in of_shard if place in new):
                    raise ShardLostError("a batch came in meanwhile")
                self._is_settled = False
                self.copies, self.version_copies = copies, version_copies
                new.clear()
                self._spread()
                self._drop_needless()
        finally:
            self._close(new)

    def _spread(self) -> None:
        """Let workers answer questions of as many shards each, if the copies that there are allow it."""
        for shard, copies in enumerate(self.copies):
            others = [other.address for other in self.shards[:shard] + self.shards[shard + 1 :]]
            loads = {place.address: others.count(place.address) for place in copies}
            copies.sort(key=lambda place: loads[place.address])

    def _again(self, work: Callable[[], Answer]) -> Answer:
        """Work, and work again after an error that may pass: the last process of a shard may not have ended yet, or a worker may be
        about to come back.
        """
        until = time.monotonic() + self._wait
        while True:
            try:
                return work()
            except Exception as error:
                is_hopeless = isinstance(error, CorruptionError) or not (may_be_loss(error) or isinstance(error, EveredgeError))
                if is_hopeless or time.monotonic() > until:
                    raise ShardLostError(f"`{self.path}`: {error}") from error
                time.sleep(0.1)

    def grow(self, shards: int) -> None:
        """Divide each shard into two, so that there are so many. Kernels are answered by those that there are until the new ones are
        whole.
        """
        if self.shard_count == shards:
            return
        # Nothing comes in between the cut and the time when the new ones count.
        self.begin_epoch()
        cut = self.cut()
        found = self._survey()
        state = replace(self.state, shards=shards)
        # What is left of an earlier growing, before or after its end.
        self._remove(shards)
        self._remove(self.shard_count // 2)
        new: list[list[Place]] = []
        try:
            for shard in range(shards):
                new.append([])
                for name in _names(_name_of(shard, shards), state.replicas):
                    address = self._chosen(found, new[-1], new)
                    new[-1].append(self._put_shard(shard, name, address, state))
            wheres = [[place.where for place in copies] for copies in new]
            self.wait([place.actor.meet([of_shard[0] for of_shard in wheres]) for copies in new for place in copies])
            self.all("split", cut.number, wheres)
            with self.asking, self._recovering:
                self.wait([self.versions.actor.call("grow", shards, cut.version)])
                self._is_settled = False
                self._release()
                old, self.copies, self.state = self.copies, new, state
                self._drop_needless()
        except BaseException:
            # Where the log says that it has grown, and the answer did not come, who sends a batch next opens them again.
            left = old if self.copies is new else new
            self._close([place for copies in left for place in copies])
            raise
        self._close([place for copies in old for place in copies])
        self._remove(len(old))

    def close(self) -> None:
        """Close all shards; what was acknowledged is on disk in any case."""
        if self.client.status != "running":
            # Dask lets them go with the client.
            return
        copies = [place for copies in self.copies for place in copies]
        self._close([*([self.versions] if hasattr(self, "versions") else []), *self.version_copies, *copies])

    def _close(self, places: list[Place]) -> None:
        for place in places:
            # Nobody answers for one that is closed or lost.
            if place.future.status == "finished":
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
        (entries,) = self.wait([self.versions.actor.call("since", min(self.call_all("apply", [])))])
        self.call_all("apply", entries)

    def _drop_needless(self) -> None:
        """Meet, and drop what earlier epochs have left behind, and all cuts.

        Raises `CorruptionError` if a shard has a version that the log of versions does not.
        """
        self._is_settled = False
        self.state = self._state()
        self._changes += 1
        wheres = [place.where for place in self.shards]
        self.wait([place.actor.meet(wheres) for copies in self.copies for place in copies])
        self._cut = None
        self.wait([self.versions.actor.call("release_all")])
        self.call_every("release_all")
        versions = self.call_every("apply", [])
        for of_shard in versions:
            if max(of_shard) > self.state.newest:
                raise behind(self._path(self.versions.name), max(of_shard), self.state.newest)
        every = [place.actor for copies in self.copies for place in copies]
        staged = [batches for of_shard in self.call_every("staged") for batches in of_shard]
        known = self.wait([self.versions.actor.call("versions_of", batches) for batches in staged])
        placed = zip(every, known, strict=True)
        self.wait([actor.call("drop_needless", self.state.epoch, versions_of) for actor, versions_of in placed])
        self._is_settled = True

    def _check(self, shards: int | None, replicas: int | None, given: dict[str, Any]) -> None:
        for name, value, there in (("shards", shards, self.shard_count), ("replicas", replicas, self.state.replicas)):
            if value is not None and value != there:
                raise InvalidInputError(f"`{self.path}` has {there} {name}, not {value}: leave `{name}` out")
        for name, value in given.items():
            if (there := getattr(self.state.options, name)) != value:
                raise InvalidInputError(f"`{self.path}` was created with {name}={there!r}, not {value!r}: leave it out")

    def _survey(self) -> dict[str, Found]:
        found: dict[str, Found] = self.client.run(found_at, self.path, on_error="ignore")
        return dict(sorted(found.items()))

    def are_some_lost(self) -> bool:
        """Return whether a worker of the graph is gone."""
        return bool(self._lost())

    def _lost(self) -> list[Place]:
        workers = self._workers()

        def is_lost(place: Place) -> bool:
            return place.future.status != "finished" or place.address not in workers or place in self._given_up

        return [place for place in self._places() if is_lost(place)]

    def _workers(self) -> Container[str]:
        workers: dict[str, Any] = self.client.scheduler_info(n_workers=-1)["workers"]
        return workers

    def _places(self) -> list[Place]:
        return [self.versions, *self.version_copies, *(place for copies in self.copies for place in copies)]

    def _path(self, name: str) -> str:
        return os.path.join(self.path, name)

    def _missing(self, name: str, places: list[Place]) -> list[str]:
        """Return the names of copies that are nowhere."""
        return [one for one in _names(name, self.state.replicas) if all(place.name != one for place in places)]

    def _create_shard(self, shard: int, found: dict[str, Found]) -> Place:
        return self._put_shard(shard, _name_of(shard, self.shard_count), self._chosen(found, [], self.copies), self.state)

    def _open_shard(self, shard: int, state: State, found: dict[str, Found], placed: list[list[Place]]) -> Place:
        """Open a copy of a shard that has all versions."""
        names = _names(_name_of(shard, state.shards), state.replicas)
        for name in names:
            if place := self._reopened(shard, name, state, found, [], placed):
                return place
        where = " or ".join(f"`{self._path(name)}`" for name in names)
        raise ShardLostError(f"no worker has {where}: start the worker whose disk has it, and try again")

    def _reopened(
        self, shard: int, name: str, state: State, found: dict[str, Found], others: list[Place], placed: list[list[Place]]
    ) -> Place | None:
        """Open a copy of a shard that is somewhere. Of one that lacks a version, or is damaged, another copy is needed."""
        able = {address for address, one in found.items() if name in one.shards} - {place.address for place in others}
        able -= {address for bad, address in self._bad if bad == name}
        failed: EveredgeError | None = None
        while able:
            address = self._chosen(able, others, placed)
            able.remove(address)
            try:
                place = self._put_shard(shard, name, address, state)
            except EveredgeError as error:
                # What another process has may be free soon.
                if isinstance(error, InUseError | ShardLostError):
                    raise
                self._avoid(name, address, error)
                failed = error
                continue
            try:
                if not self._is_behind(shard, place):
                    return place
            except BaseException:
                self._close([place])
                raise
            self._close([place])
            failed = CorruptionError(
                f"`{self._path(name)}` on {address} lacks versions that are acknowledged: restore it from a copy"
            )
        if failed is not None and state.replicas == 1:
            raise failed
        return None

    def _is_behind(self, shard: int, place: Place) -> bool:
        """Return whether a copy of a shard lacks a version."""
        version, staged = self.wait([place.actor.call("apply", []), place.actor.call("staged")])
        (is_behind,) = self.wait([self.versions.actor.call("is_behind", shard, version, staged)])
        return bool(is_behind)

    def _copied(self, shard: int, name: str, found: dict[str, Found], others: list[Place], placed: list[list[Place]]) -> Place:
        """Make another copy of a shard."""
        address = self._chosen(found, others, placed)
        try:
            self.client.run(put_away_at, self.path, name, workers=[address])
            place = self._put_shard(shard, name, address, self.state)
        except OSError as error:
            self._avoid(name, address, error)
            raise
        try:
            wheres: list[list[Where]] = [[] for _ in range(self.shard_count)]
            wheres[shard].append(place.where)
            self.wait([others[0].actor.split(self.cut().number, wheres)])
        except BaseException:
            self._close([place])
            raise
        return place

    def _avoid(self, name: str, address: str, error: Exception) -> None:
        """Put no copies on a worker any more whose disk fails, unless there is no other."""
        is_of_disk = isinstance(error, OSError) and error.errno is not None and not isinstance(error, ConnectionError)
        if self.state.replicas > 1 and (is_of_disk or isinstance(error, IoError)):
            self._bad.add((name, address))

    def _chosen(self, found: Iterable[str], others: list[Place], placed: list[list[Place]]) -> str:
        """Return the worker for another copy: none that has one of the `others`, if possible none whose disk has failed, on another
        machine, and of those left the one that has the fewest of the places that there are.
        """
        places = [place for copies in placed for place in copies]
        able = [address for address in found if all(place.address != address for place in others)]
        if not able:
            raise ShardLostError(
                f"{self.state.replicas} copies are on as many workers, and there are only {len(others)}: start another one"
            )
        machines = {_machine_of(place.address) for place in others}

        def load(address: str) -> tuple[bool, bool, int]:
            is_bad = any(bad == address for _, bad in self._bad)
            return is_bad, _machine_of(address) in machines, sum(place.address == address for place in places)

        return min(able, key=load)

    def _remove(self, shards: int) -> None:
        """Remove the directories of so many shards, which the graph does not have."""
        assert shards != self.shard_count
        names = [name for shard in range(shards) for name in _names(_name_of(shard, shards), self.state.replicas)]
        self.client.run(remove_at, self.path, names)

    def _put_versions(self, name: str, address: str, created: tuple[int, Options, int] | None) -> Place:
        return self._put(VersionsHost, name, address, self._path(name), created)

    def _put_shard(self, shard: int, name: str, address: str, state: State) -> Place:
        directory = self._path(name)
        return self._put(ShardHost, name, address, directory, state.graph, shard, state.shards, state.options)

    def _put(self, host: type, name: str, address: str, *arguments: Any) -> Place:
        """Make an actor; what it opens may be in use for a moment, by one of a client that is gone."""
        until = time.monotonic() + min(self._wait, _IN_USE_SECONDS)
        while True:
            try:
                return self._put_once(host, name, address, *arguments)
            except InUseError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
            except TimeoutError as error:
                raise ShardLostError(f"the worker {address} did not open `{self._path(name)}` within {self._wait} s") from error

    def _put_once(self, host: type, name: str, address: str, *arguments: Any) -> Place:
        self._count += 1
        key = f"{self._token}-{name}-{self._count}"
        future = self.client.submit(
            host, key, *arguments, key=key, actor=True, workers=[address], allow_other_workers=False, pure=False
        )
        try:
            # An actor belongs to the client that is the current one when it is made.
            with self.client.as_current():
                return Place(future, self._made(future, address), address, name)
        except BaseException:
            self.client.cancel([future], force=True)
            raise

    def _made(self, future: Future[Any], address: str) -> Actor:
        """Wait for an actor, as long as there is the worker that is to have it: no other one takes its place."""
        until = time.monotonic() + self._wait
        while True:
            try:
                actor: Actor = future.result(timeout=LOOK_SECONDS)
                return actor
            except TimeoutError:
                if address not in self._workers():
                    raise ShardLostError(f"the worker {address} is gone") from None
                if time.monotonic() > until:
                    raise


def _names(name: str, replicas: int) -> list[str]:
    """Return what all copies of a file or directory are called."""
    return [name, *(f"{name}-copy-{number}" for number in range(1, replicas))]


def _machine_of(address: str) -> str:
    return address.rpartition("://")[2].rpartition(":")[0]


def _name_of(shard: int, shards: int) -> str:
    return f"shard-{shard}-of-{shards}"


def may_be_loss(error: BaseException) -> bool:
    """Return whether an error may come from a worker that is gone: then it is worth a look, and another try."""
    from distributed.scheduler import KilledWorker

    if isinstance(error, ShardLostError | StaleError | ClosedError | KilledWorker):
        return True
    return isinstance(error, OSError | RuntimeError | KeyError | CancelledError) and not isinstance(error, EveredgeError)
