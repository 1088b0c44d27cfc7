"""Writing in a thread of its own: those who wait are served together, and nobody interrupts it.

An exception that a signal handler raises (Ctrl-C, a job runner's time limit) goes off in the main
thread, at any bytecode. A transaction that runs in another thread is never torn by it: whoever
waited for it goes away, and it is brought to its end. What queues up while one transaction is made
durable goes into the next one together: group commit.
"""

from __future__ import annotations

import _thread
import os
from collections import deque
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["GroupWriter", "Job"]

_IDLE = 10.0  # seconds until a thread that has nothing to do ends
_MOST = 64  # jobs in one transaction: nobody waits long for a batch to be worked out


class Job:
    """One piece of writing, and what came of it."""

    __slots__ = ("account", "alone", "cancelled", "done", "problem", "reading", "result", "work")

    def __init__(
        self, account: str, work: Callable[[Any], Any], *, alone: bool, reading: str | None
    ) -> None:
        """Nothing has come of it yet."""
        self.account, self.work, self.alone, self.reading = account, work, alone, reading
        self.result: Any = None
        self.problem: BaseException | None = None
        self.cancelled = False
        self.done = _thread.allocate_lock()
        self.done.acquire()

    def joins(self, other: Job) -> bool:
        """Whether both may be done in one transaction."""
        return not self.alone and not other.alone and self.account == other.account


class GroupWriter:
    """A queue of jobs, and a thread that does them, several of one account at a time."""

    def __init__(self, perform: Callable[[list[Job]], None]) -> None:
        """Keep what does a batch: it gives each job a result or a problem."""
        self._perform = perform
        self._process = os.getpid()
        self._queue: SimpleQueue[Job] = SimpleQueue()
        self._waiting: deque[Job] = deque()
        self._serving = _thread.allocate_lock()
        self._inside: dict[int, None] = {}  # the threads that have something done, or wait for it

    @property
    def inherited(self) -> bool:
        """Whether this belongs to a parent process, whose thread is not here."""
        return self._process != os.getpid()

    def do(
        self,
        account: str,
        work: Callable[[Any], Any],
        *,
        alone: bool = False,
        reading: str | None = None,
        at_once: Callable[[], Any] | None = None,
    ) -> Any:
        """Have it done, and wait until it is durable.

        ``reading`` is the analyst whose totals it will probably read first. Whoever is interrupted
        meanwhile does not know whether it was done: what has begun is finished.

        ``at_once`` does the same in this thread, in a single step that no interrupt can tear, or
        gives None if it cannot. It is tried where nobody else is here: a thread that works for
        this one costs more than the work, and serves those well who come together.
        """
        me = _thread.get_ident()
        self._inside[me] = None
        try:
            if at_once is not None and len(self._inside) == 1:
                done = at_once()
                if done is not None:
                    return done
            return self._queued(Job(account, work, alone=alone, reading=reading))
        finally:
            self._inside.pop(me, None)

    def _queued(self, job: Job) -> Any:
        try:
            self._queue.put(job)
            if not self._serving.locked():
                _thread.start_new_thread(self._serve, ())
            job.done.acquire()
        except BaseException:
            job.cancelled = True  # if it has not begun yet
            raise
        if job.problem is not None:
            raise job.problem
        return job.result

    def _serve(self) -> None:
        """Do what there is to do. Locks are taken and left in this thread only."""
        while self._serving.acquire(blocking=False):
            try:
                while batch := self._batch():
                    self._attempt(batch)
                    del batch
            finally:
                self._serving.release()
            if self._queue.empty():  # otherwise somebody came while this was about to end
                return

    def _batch(self) -> list[Job]:
        """The next jobs that can be done together; none if there were none for a while."""
        if not self._waiting:
            try:
                self._waiting.append(self._queue.get(timeout=_IDLE))
            except Empty:
                return []
        try:
            while True:
                self._waiting.append(self._queue.get_nowait())
        except Empty:
            pass
        first = self._waiting.popleft()
        batch, others = [first], deque[Job]()
        for job in self._waiting:
            if len(batch) < _MOST and first.joins(job):
                batch.append(job)
            else:
                others.append(job)
        self._waiting = others
        return batch

    def _attempt(self, batch: list[Job]) -> None:
        wanted = [job for job in batch if not job.cancelled]
        try:
            if wanted:
                self._perform(wanted)
        except BaseException as problem:  # noqa: BLE001  # it belongs to those who wait
            for job in wanted:
                job.problem = job.problem or problem
        finally:
            for job in batch:
                job.done.release()
