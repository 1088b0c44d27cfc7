"""Questions: what one would cost, and asking it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Header, Response

from quaestor.errors import LedgerUnavailable, QuaestorError
from quaestor.service.core import ServiceCore, TheService
from quaestor.service.identity.callers import Caller
from quaestor.service.inquiries import inquiry_from
from quaestor.service.job_views import job_view
from quaestor.service.problems import plain
from quaestor.service.rules import RouteFamily, SomebodyKnown, only
from quaestor.service.shapes import PreviewBody, QuestionBody

__all__ = ["routes"]

routes = RouteFamily("/api/v1", tag="questions")
_ANALYSTS = only("analyst")


@routes.post("/preview", may=_ANALYSTS)
def preview(body: PreviewBody, service: TheService, caller: SomebodyKnown) -> dict[str, Any]:
    """What a question would cost, and how accurate it would be; no data are touched."""
    asked = inquiry_from(body.model_dump(), analyst=caller.name, groups=caller.groups)
    said: dict[str, Any] = plain(service.curator.previewed(asked).to_dict())
    return said


@routes.post(
    "/questions",
    may=_ANALYSTS,
    status_code=202,
    responses={202: {"description": "A job: its address is in the header Location."}},
)
def ask(
    body: QuestionBody,
    service: TheService,
    caller: SomebodyKnown,
    response: Response,
    idempotency_key: Annotated[
        str,
        Header(
            max_length=200,
            description="A name of your own for this question. The same key again is the same "
            "job and costs nothing, whatever became of the connection.",
        ),
    ] = "",
) -> dict[str, Any]:
    """Ask a question: it becomes a job, which goes on whether or not you stay connected."""
    asked = body.model_dump(exclude_defaults=True)
    job, new = service.questions.submit(
        caller.name,
        asked,
        key=idempotency_key,
        most=service.settings.most_jobs,
        stored=_stored(service, asked, caller),
    )
    if new and job.state == "open":
        service.runner.begin([job])
    response.headers["Location"] = f"/api/v1/jobs/{job.id}"
    return job_view(job, phase=service.runner.phase(job.id))


def _stored(service: ServiceCore, asked: dict[str, Any], caller: Caller) -> tuple[str, int] | None:
    """Where the answer is, if it was given before: no data are touched, and nobody has to wait.

    What is wrong with a question is found out by its job, which keeps it.
    """
    try:
        found = service.curator.stored(
            inquiry_from(asked, analyst=caller.name, groups=caller.groups)
        )
    except LedgerUnavailable:
        raise
    except QuaestorError:
        return None
    return None if found is None else (str(found.account), found.entry)
