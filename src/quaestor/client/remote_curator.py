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
from quaestor.curator.preview import Preview
from quaestor.errors import InvalidParameter, JobUnfinished

if TYPE_CHECKING:
    from collections.abc import Callable

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

    def answer_of(self, job: str) -> Answer:
        """The answer to a question that was asked before, by its job's id; it is waited for."""
        place, pause = f"/api/v1/jobs/{_id(job)}", _FIRST
        with shown_progress(self._progress) as tell:
            while (found := self._wire.get(place))["state"] == "open":
                tell(found["phase"])
                time.sleep(pause)
                pause = min(_LONGEST, 1.5 * pause)
        if found["problem"] is not None:
            raise error_from_problem(found["problem"])
        if found["state"] != "answered":
            raise JobUnfinished(job, state=found["state"])
        said = self._wire.get(f"{place}/answer?form=json")
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
