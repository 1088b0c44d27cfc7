"""Questions under way: threads that ask the curator, and what becomes of their questions.

A question is in the ledger's store before its thread begins, and its charge is linked to it there
(:mod:`quaestor.ledger.question_jobs`). This process keeps nothing that it could lose.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from quaestor.curator.engines.stop import Stop
from quaestor.errors import EngineFailed, LedgerUnavailable, NotAllowed, QuaestorError
from quaestor.ledger.jobs import LEASE
from quaestor.service.inquiries import inquiry_of
from quaestor.service.problems import problem_of
from quaestor.service.request_log import log_event, log_failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.curator.answers.answer import Answer
    from quaestor.curator.pipeline import Inquiry
    from quaestor.curator.session import Curator
    from quaestor.ledger import Ledger, QuestionJob
    from quaestor.service.settings import ServiceSettings

__all__ = ["JobRunner"]

_PHASES = {"planning": "planning", "computing": "computing"}
"""What is told of progress. When noise is drawn is not: it would tell how long the engine took."""


_LAST = 5.0  # seconds for engines to notice that they were stopped


class _UnderWay:
    """One question, or several that were asked together, that this process works on."""

    def __init__(self, jobs: Sequence[QuestionJob]) -> None:
        self.jobs, self.stop, self.phase = jobs, Stop(), "queued"

    def progress(self, doing: str) -> None:
        self.phase = _PHASES.get(doing, self.phase)


class JobRunner:
    """Works on questions, many at once, until it is closed."""

    def __init__(self, curator: Curator, settings: ServiceSettings) -> None:
        """Begin with what others have left behind."""
        self._curator, self._settings = curator, settings
        self._places = threading.BoundedSemaphore(settings.threads)
        self._under_way: dict[str, _UnderWay] = {}
        self._lock, self._closed = threading.Lock(), threading.Event()
        self._keeper = threading.Thread(target=self._keep, daemon=True, name="question leases")

    @property
    def _ledger(self) -> Ledger:
        return self._curator.ledger

    @property
    def count(self) -> int:
        """How many questions are under way here."""
        return len(self._under_way)

    def start(self) -> None:
        """Take up what was left behind, now and from time to time."""
        self._keeper.start()

    def begin(self, jobs: Sequence[QuestionJob]) -> None:
        """Work on questions that this process holds, in one thread and together."""
        with self._lock:
            new = [job for job in jobs if job.id not in self._under_way]
            if not new or self._closed.is_set():
                return
            mine = _UnderWay(new)
            self._under_way.update({job.id: mine for job in new})
        # a daemon: a thread that waits for its time step does not hold up the end of the process
        threading.Thread(target=self._work, args=(mine,), daemon=True, name="question").start()

    def phase(self, id_: str) -> str | None:
        """How far a question is, in a word; None if this process does not work on it."""
        found = self._under_way.get(id_)
        return None if found is None else found.phase

    def cancel(self, id_: str) -> bool:
        """End a question: what was charged for it stays. False if it was over.

        Others that were asked with it go on; what was charged of it is then measured with them.
        """
        done = self._ledger.questions.cancel(id_)
        found = self._under_way.get(id_)
        if found is not None:
            self._stop_if_over(found)
        return done

    def close(self) -> None:
        """Finish what is under way, or leave it so that it can be taken up again."""
        self._closed.set()
        with self._lock:
            running = set(self._under_way.values())
        ended = _Waiter(self)
        if not ended.wait(self._settings.grace):
            for each in running:
                each.stop.now()
            ended.wait(min(_LAST, self._settings.grace))
        left = list(self._under_way)
        with suppress(QuaestorError):
            self._ledger.questions.give_up(left)
        log_event("closed", left=len(left))

    def _work(self, mine: _UnderWay) -> None:
        seconds = self._settings.deadline * len(mine.jobs)
        deadline = threading.Timer(seconds, mine.stop.now)
        deadline.daemon = True
        try:
            with self._places, mine.stop.watching():
                deadline.start()
                if not self._closed.is_set():
                    self._answer(mine)
        except LedgerUnavailable as problem:  # they stay open, and are tried again
            log_failure("job_left", problem, job=mine.jobs[0].id)
        except Exception as problem:  # noqa: BLE001  # what it says may be about somebody
            for job in [each for each in mine.jobs if each.id in self._under_way]:
                with suppress(QuaestorError):
                    self._settle(mine, job, problem)
        finally:
            deadline.cancel()
            with self._lock:
                for job in mine.jobs:
                    self._under_way.pop(job.id, None)

    def _answer(self, mine: _UnderWay) -> None:
        """Have every question answered, refused or failed, each by itself."""
        inquiries: list[tuple[QuestionJob, Inquiry]] = []
        for job in mine.jobs:
            try:
                groups, patience = self._groups(job), self._settings.deadline
                inquiries.append((job, inquiry_of(job, groups=groups, patience=patience)))
            except Exception as problem:  # noqa: BLE001  # what it says may be about somebody
                self._settle(mine, job, problem)
        asked = [inquiry for _, inquiry in inquiries]
        for place, outcome in self._curator.answering(asked, progress=mine.progress):
            self._settle(mine, inquiries[place][0], outcome)

    def _settle(self, mine: _UnderWay, job: QuestionJob, outcome: Answer | Exception) -> None:
        """Write down what became of a question."""
        questions = self._ledger.questions
        if isinstance(outcome, LedgerUnavailable):  # it stays open, and is tried again
            log_failure("job_left", outcome, job=job.id)
        elif not isinstance(outcome, Exception):
            entry, account = outcome.entry, str(outcome.account)
            questions.answer(job.id, account=account, entry=entry, repeated=outcome.repeated)
        elif not isinstance(outcome, QuaestorError):
            log_failure("job_fault", outcome, job=job.id)
            questions.fail(job.id, problem_of(EngineFailed()))
        elif self._closed.is_set() and mine.stop.stopped:
            questions.give_up([job.id])  # it was stopped by the end of this process
        else:
            questions.fail(job.id, problem_of(outcome))
        with self._lock:
            self._under_way.pop(job.id, None)

    def _groups(self, job: QuestionJob) -> tuple[str, ...]:
        """The groups of whoever asks, as they are now; they must still be an analyst."""
        person = self._ledger.people.get(job.analyst)
        if not person.active or "analyst" not in person.roles:
            raise NotAllowed(("analyst",))
        return person.groups

    def _keep(self) -> None:
        """Hold what is under way, stop what was cancelled elsewhere, take up what was left."""
        while True:
            with suppress(QuaestorError):
                self._keep_once()
            if self._closed.wait(LEASE / 5):
                return

    def _keep_once(self) -> None:
        questions = self._ledger.questions
        with self._lock:
            running = set(self._under_way.values())
        for each in running:
            self._stop_if_over(each)
        questions.renew(list(self._under_way))
        together: dict[tuple[str, str], list[QuestionJob]] = {}
        for job in questions.take_left():
            log_event("job_taken_up", job=job.id)
            together.setdefault((job.analyst, job.batch or job.id), []).append(job)
        for jobs in together.values():
            self.begin(sorted(jobs, key=lambda job: job.key))

    def _stop_if_over(self, mine: _UnderWay) -> None:
        """Stop what nobody waits for: all its questions are over, or were cancelled elsewhere."""
        states = {self._ledger.questions.get(job.id).state for job in mine.jobs}
        if "open" not in states:
            mine.stop.now()


class _Waiter:
    """Waits until nothing is under way."""

    def __init__(self, runner: JobRunner) -> None:
        self._runner, self._pause = runner, threading.Event()

    def wait(self, seconds: float) -> bool:
        for _ in range(max(1, int(seconds * 20))):
            if not self._runner.count:
                return True
            self._pause.wait(0.05)
        return not self._runner.count
