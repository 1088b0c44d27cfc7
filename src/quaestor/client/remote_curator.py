"""A curator behind a service: the same questions, the same answers, the same errors."""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Self

from quaestor.client.progress_line import shown_progress
from quaestor.client.remote_errors import error_from_problem
from quaestor.curator.answers.answer import Answer
from quaestor.curator.plan_question import PlanQuestion
from quaestor.curator.preview import Preview
from quaestor.curator.question_batch import MOST_HELD
from quaestor.errors import InvalidParameter, JobUnfinished, QuaestorError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quaestor.client.wire import ServiceWire
    from quaestor.curator.pricing.accuracy import Accuracy
    from quaestor.curator.pricing.budget_shares import Noise

__all__ = ["RemoteCurator"]

_FIRST, _LONGEST = 0.05, 0.25  # seconds between two looks at a job


class RemoteCurator:
    """Asks a service. Who asks, and in which groups, is known by the token alone.

    >>> from quaestor import connect
    >>> connect("https://data.example.org", token="qst_1")
    <curator behind <service at https://data.example.org>>
    """

    def __init__(
        self, wire: ServiceWire, *, progress: Callable[[str], None] | bool | None = None
    ) -> None:
        """Keep the way to the service; nothing is sent yet."""
        self._wire, self._progress = wire, progress

    def __repr__(self) -> str:
        """The service's address."""
        return f"<curator behind {self._wire!r}>"

    def __enter__(self) -> Self:
        """The curator itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held."""

    def preview(  # noqa: PLR0913  # as for a curator in this process
        self,
        question: str,
        *,
        epsilon: float | None = None,
        rho: float | None = None,
        accuracy: Accuracy | None = None,
        delta: float | None = None,
        account: str | None = None,
        rows: int | None = None,
        groups: int | None = None,
        anew: bool = False,
        quantile_intervals: bool = True,
        whole_error: bool | None = None,
        noise: Noise | None = None,
    ) -> Preview:
        """What a question would cost, and how accurate it would be; as ``Curator.preview``."""
        sent = _sent(
            question,
            epsilon=epsilon,
            rho=rho,
            accuracy=accuracy,
            delta=delta,
            account=account,
            rows=rows,
            groups=groups,
            anew=anew,
            quantile_intervals=quantile_intervals,
            whole_error=whole_error,
            noise=noise,
        )
        return Preview.from_dict(self._wire.post("/api/v1/preview", sent))

    def ask(  # noqa: PLR0913  # as for a curator in this process
        self,
        question: str,
        *,
        epsilon: float | None = None,
        rho: float | None = None,
        accuracy: Accuracy | None = None,
        delta: float | None = None,
        account: str | None = None,
        purpose: str = "",
        rows: int | None = None,
        groups: int | None = None,
        anew: bool = False,
        approval: str = "",
        audience: str = "",
        quantile_intervals: bool = True,
        whole_error: bool | None = None,
        noise: Noise | None = None,
        key: str = "",
    ) -> Answer:
        """The answer to a question, charged to an account; as ``Curator.ask``.

        ``key`` is a name of your own for the question: with the same key again, from any process,
        it is the same question, and costs nothing more. Without one, each call makes its own, so
        that a lost connection is no reason to pay twice.
        """
        sent = _sent(
            question,
            epsilon=epsilon,
            rho=rho,
            accuracy=accuracy,
            delta=delta,
            account=account,
            purpose=purpose,
            rows=rows,
            groups=groups,
            anew=anew,
            approval=approval,
            audience=audience,
            quantile_intervals=quantile_intervals,
            whole_error=whole_error,
            noise=noise,
        )
        job = self._wire.post("/api/v1/questions", sent, key=key or secrets.token_urlsafe(16))
        return self.answer_of(job["id"])

    def ask_many(  # noqa: PLR0913  # as for a curator in this process
        self,
        questions: Sequence[PlanQuestion],
        *,
        account: str | None = None,
        purpose: str = "",
        anew: bool = False,
        approval: str = "",
        audience: str = "",
        key: str = "",
    ) -> list[Answer | QuaestorError]:
        """For each question its answer, or the error of asking it alone; as ``Curator.ask_many``.

        The service reads the tables as seldom as possible. ``key`` is as for :meth:`ask`. More than
        32 questions are sent in several batches, each of which is waited for.
        """
        said = {
            "account": account,
            "anew": anew,
            "approval": approval,
            "audience": audience,
        }
        sent = [_sent_question(each, purpose=purpose, **said) for each in questions]
        name = key or secrets.token_urlsafe(16)
        outcomes: list[Answer | QuaestorError] = []
        for place in range(0, len(sent), MOST_HELD):
            body = {"questions": sent[place : place + MOST_HELD]}
            own = name if len(sent) <= MOST_HELD else f"{name} {place}"
            made = self._wire.post("/api/v1/batches", body, key=own)
            outcomes += self.outcomes_of(made["id"])
        return outcomes

    def outcomes_of(self, batch: str) -> list[Answer | QuaestorError]:
        """The outcomes of questions that were asked together, by their batch's id; waited for."""
        place = f"/api/v1/batches/{_id(batch)}"
        found = self._waited(place)
        return [self._outcome(job) for job in found["questions"]]

    def submit_plan(
        self, questions: Sequence[PlanQuestion], *, account: str | None = None, purpose: str = ""
    ) -> tuple[str, str]:
        """Ask for approval of questions together, on one account; as ``Curator.submit_plan``."""
        sent = [_sent_question(each, purpose=purpose, account=account) for each in questions]
        made = self._wire.post("/api/v1/approvals/plans", {"questions": sent})
        return str(made["account"]), str(made["approval"])

    def answer_of(self, job: str) -> Answer:
        """The answer to a question that was asked before, by its job's id; it is waited for."""
        outcome = self._outcome(self._waited(f"/api/v1/jobs/{_id(job)}"))
        if isinstance(outcome, QuaestorError):
            raise outcome
        return outcome

    def _waited(self, place: str) -> dict[str, Any]:
        """A job or a batch, once it is over."""
        pause = _FIRST
        with shown_progress(self._progress) as tell:
            while (found := self._wire.get(place))["state"] == "open":
                jobs = found.get("questions", [found])
                tell(next(job["phase"] for job in jobs if job["state"] == "open"))
                time.sleep(pause)
                pause = min(_LONGEST, 1.5 * pause)
        return found

    def _outcome(self, job: dict[str, Any]) -> Answer | QuaestorError:
        """The answer of a job that is over, or why it has none."""
        if job["problem"] is not None:
            return error_from_problem(job["problem"])
        if job["state"] != "answered":
            return JobUnfinished(job["id"], state=job["state"])
        said = self._wire.get(f"/api/v1/jobs/{_id(job['id'])}/answer?form=json")
        repeated = bool(said.pop("repeated"))
        return replace(Answer.from_json(json.dumps(said)), repeated=repeated)

    def datasets(self) -> dict[str, Any]:
        """What can be asked about: tables, columns, bounds and keys, as they are declared."""
        return self._wire.get("/api/v1/datasets")

    def accounts(self) -> list[dict[str, Any]]:
        """The accounts that can pay, and what is left of each, as far as one may see that."""
        listed: list[dict[str, Any]] = self._wire.get("/api/v1/accounts")["accounts"]
        return listed

    def jobs(self) -> list[dict[str, Any]]:
        """Your latest questions, the last one first."""
        listed: list[dict[str, Any]] = self._wire.get("/api/v1/jobs")["jobs"]
        return listed

    def cancel(self, job: str) -> None:
        """Cancel a question; what was charged for it stays charged."""
        self._wire.delete(f"/api/v1/jobs/{_id(job)}")


def _id(job: str) -> str:
    if not isinstance(job, str) or not job.isalnum() or not job.isascii():
        raise InvalidParameter("job", job, "the id of a job")
    return job


def _sent(question: object, *, accuracy: Accuracy | None, **said: Any) -> dict[str, Any]:
    """What is sent: all that was given."""
    if not isinstance(question, str):
        valid = "SQL: questions of the builder are asked in the process that has the data"
        raise InvalidParameter("question", type(question).__name__, valid)
    body = {name: value for name, value in said.items() if value is not None and value != ""}
    if accuracy is not None:
        body["accuracy"] = asdict(accuracy)
    return {"sql": question, **body}


def _sent_question(asked: PlanQuestion, *, purpose: str, **said: Any) -> dict[str, Any]:
    """What is sent of one of several questions."""
    if not isinstance(asked, PlanQuestion):
        raise InvalidParameter("questions", type(asked).__name__, "a list of PlanQuestion(...)")
    return _sent(
        asked.question,
        epsilon=asked.epsilon,
        rho=asked.rho,
        accuracy=asked.accuracy,
        delta=asked.delta,
        rows=asked.rows,
        groups=asked.groups,
        purpose=asked.purpose or purpose,
        **said,
    )
