"""What happens in the cluster, and when: noted by the scheduler, which lives in this process."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from distributed import Client, Scheduler
from distributed.diagnostics.plugin import SchedulerPlugin

from demo_cluster.data import ACKNOWLEDGED, ready
from demo_cluster.found import Acknowledged, Kill, Opened, Superstep, Worker

SUPERSTEPS = "everedge"
"""The topic under which a graph says which supersteps are done."""
_HELD = re.compile(r"everedge-.*-(?:shard-(\d+)-of-\d+|versions)-\d+")
"""The keys under which Dask knows shards and versions."""


class Watch(SchedulerPlugin):
    """Notes which workers come and go, what they open, and what they have done; kills one when it is time."""

    name = "everedge-demo"

    def __init__(self, say: Callable[[str, str], None]) -> None:
        self._say = say
        self._begun = time.time()
        self.workers: list[Worker] = []
        self.opened: list[Opened] = []
        self.acknowledged: list[Acknowledged] = []
        self.again = 0
        self.supersteps: list[Superstep] = []
        self.kills: list[Kill] = []
        self._batches: set[int] = set()
        self._kill_at_batch: tuple[int, int, str] | None = None
        self._kill_at_step: tuple[int, str, str] | None = None

    def now(self) -> float:
        """Return the seconds since the demo began."""
        return time.time() - self._begun

    def listen(self, client: Client) -> None:
        """Hear of batches and supersteps."""
        client.subscribe_topic(ACKNOWLEDGED, self._batch_done)
        client.subscribe_topic(SUPERSTEPS, self._superstep_done)

    def make_ready(self, client: Client) -> None:
        """Make all workers ready, and learn which processes they are."""
        for address, pid in client.run(ready, on_error="ignore").items():
            self._worker(address).pid = pid

    def kill_at_batch(self, count: int, batches: int, what: str) -> None:
        """Kill the worker that has something open when so many batches are acknowledged."""
        self._kill_at_batch = count, batches, what

    def kill_at_step(self, step: int, kernel: str, what: str) -> None:
        """Kill the worker that has something open when so many supersteps of a kernel are done."""
        self._kill_at_step = step, kernel, what

    def holder(self, what: str) -> Worker:
        """Return the worker that opened something last."""
        last = [opened for opened in self.opened if opened.what == what][-1]
        return self.workers[last.worker - 1]

    def finish_batches(self, batches: int, at: float) -> None:
        """Count the batches as acknowledged that the call which has returned brought, and of which nobody has said so."""
        _wait(lambda: len(self._batches) >= batches - 1)
        rest = set(range(batches)) - self._batches
        self._batches |= rest
        self.acknowledged += [Acknowledged(batch, 0, at) for batch in sorted(rest)]

    def step_seconds(self, kernel: str, last: int, count: int, seconds: float) -> list[float]:
        """Return how long each of the last supersteps took of a kernel that has answered, of so many seconds in all."""

        def done() -> dict[int, float]:
            return {step.step: step.at for step in self.supersteps if step.kernel == kernel}

        _wait(lambda: last in done())
        times = [at for step, at in done().items() if step > last - count]
        if len(times) != count:
            return [seconds / count] * count
        between = [after - before for before, after in pairwise(times)]
        return [max(seconds - sum(between), 0.0), *between][:count]

    # What the scheduler and the client call; none of it takes long.

    def add_worker(self, scheduler: Scheduler, worker: str) -> None:
        """Note a worker that comes."""
        self.workers.append(Worker(len(self.workers) + 1, worker, self.now()))
        if self.kills:
            self._say("worker", f"worker {len(self.workers)} takes a place that is empty")

    def remove_worker(self, scheduler: Scheduler, worker: str, **_: Any) -> None:
        """Note a worker that goes."""
        self._worker(worker).ended = self.now()

    def transition(self, key: Any, start: str, finish: str, *_: Any, worker: str | None = None, **__: Any) -> None:
        """Note what a worker has opened."""
        found = _HELD.fullmatch(str(key))
        if found is None or finish != "memory" or worker is None:
            return
        what = "versions" if found[1] is None else f"shard {found[1]}"
        opened = Opened(what, self._worker(worker).number, self.now())
        self.opened.append(opened)
        if self.kills and what in self.kills[-1].held and all(one.what != what for one in self.kills[-1].opened):
            kill = self.kills[-1]
            kill.opened.append(opened)
            self._say("open again", f"{named(what)}, on worker {opened.worker}, {opened.at - kill.at:.2f} s after the kill")

    def _batch_done(self, event: tuple[float, dict[str, Any]]) -> None:
        at, done = event[0] - self._begun, event[1]
        if done["batch"] in self._batches:
            self.again += 1
            return
        self._batches.add(done["batch"])
        self.acknowledged.append(Acknowledged(done["batch"], self._worker(done["worker"]).number, at))
        if self.kills and not self.kills[-1].went_on and _is_open(self.kills[-1], at):
            self.kills[-1].went_on = at
        if self._kill_at_batch and len(self._batches) >= self._kill_at_batch[0]:
            (count, batches, what), self._kill_at_batch = self._kill_at_batch, None
            self._kill(what, f"{count} of {batches} batches were acknowledged")

    def _superstep_done(self, event: tuple[float, dict[str, Any]]) -> None:
        at, done = event[0] - self._begun, event[1]
        self.supersteps.append(Superstep(done["kernel"], done["superstep"], at))
        if self.kills and not self.kills[-1].went_on and _is_open(self.kills[-1], at):
            self.kills[-1].went_on = at
        if self._kill_at_step and done["kernel"] == self._kill_at_step[1] and done["superstep"] >= self._kill_at_step[0]:
            what, self._kill_at_step = self._kill_at_step[2], None
            self._kill(what, f"{done['superstep']} supersteps were done")

    def _kill(self, what: str, during: str) -> None:
        worker = self.holder(what)
        held = sorted({one.what for one in self.opened if self.holder(one.what) is worker})
        os.kill(worker.pid, signal.SIGKILL)
        self.kills.append(Kill(worker.number, held, self.now(), during))
        self._say(f"kill {len(self.kills)}", f"SIGKILL for worker {worker.number}, which has {listed(held)}: {during}")

    def _worker(self, address: str) -> Worker:
        return next(worker for worker in reversed(self.workers) if worker.address == address)


def _wait(is_so: Callable[[], bool]) -> None:
    """Wait for what is on its way, a second at most."""
    until = time.monotonic() + 1
    while not is_so() and time.monotonic() < until:
        time.sleep(0.01)


def _is_open(kill: Kill, at: float) -> bool:
    return len(kill.opened) == len(kill.held) and at > max(opened.at for opened in kill.opened)


def named(what: str) -> str:
    """Return what a worker has open, as it stands in a sentence."""
    return "the versions" if what == "versions" else what


def listed(held: list[str]) -> str:
    """Return all that a worker has open, as it stands in a sentence."""
    *first, last = map(named, held)
    return f"{', '.join(first)} and {last}" if first else last
