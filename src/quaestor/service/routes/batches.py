"""Batches: several questions that are asked together, each of which is a job of its own."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Header, Response
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from quaestor.service.core import ServiceCore, TheService
from quaestor.service.event_streams import EventStream
from quaestor.service.identity.callers import Caller
from quaestor.service.job_views import job_view
from quaestor.service.routes.jobs import events_of
from quaestor.service.rules import RouteFamily, SomebodyKnown, only
from quaestor.service.shapes import BatchBody

__all__ = ["ask_batch", "routes", "show_batch"]

routes = RouteFamily("/api/v1/batches", tag="questions")
_ANALYSTS = only("analyst")


@routes.post(
    "",
    may=_ANALYSTS,
    status_code=202,
    responses={202: {"description": "A batch: its address is in the header Location."}},
)
def ask_batch(
    body: BatchBody,
    service: TheService,
    caller: SomebodyKnown,
    response: Response,
    idempotency_key: Annotated[
        str,
        Header(
            max_length=200,
            description="A name of your own for this batch. The same key again is the same batch "
            "and costs nothing, whatever became of the connection.",
        ),
    ] = "",
) -> dict[str, Any]:
    """Ask several questions in order; tables are read as seldom as possible.

    Each question becomes a job, and is charged, answered or refused by itself, as if it were asked
    alone after those before it. All jobs are written down, or none.
    """
    asked = [each.model_dump(exclude_defaults=True) for each in body.questions]
    batch, jobs, new = service.questions.submit_batch(
        caller.name, asked, key=idempotency_key, most=service.settings.most_jobs
    )
    if new:
        service.runner.begin(jobs)
    response.headers["Location"] = f"/api/v1/batches/{batch}"
    return _view(service, batch, caller)


@routes.get("/{batch}", may=_ANALYSTS)
def show_batch(batch: str, service: TheService, caller: SomebodyKnown) -> dict[str, Any]:
    """The questions of a batch of yours, in order, and how each stands."""
    return _view(service, batch, caller)


@routes.delete("/{batch}", may=_ANALYSTS)
def cancel_batch(batch: str, service: TheService, caller: SomebodyKnown) -> dict[str, Any]:
    """Cancel all questions of a batch that are not over; what was charged stays charged."""
    for job in service.questions.batch(batch, analyst=caller.name):
        if job.state == "open":
            service.runner.cancel(job.id)
    return _view(service, batch, caller)


@routes.get(
    "/{batch}/events",
    may=_ANALYSTS,
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {"text/event-stream": {}},
            "description": "Events called `phase`, each of one question, until all are over.",
        }
    },
)
async def stream_batch(batch: str, service: TheService, caller: SomebodyKnown) -> Response:
    """The phases of the questions of a batch of yours, as server-sent events."""
    first = await run_in_threadpool(_view, service, batch, caller)
    events = events_of(service, caller, first["questions"])
    return EventStream(events, limit=service.streams, person=caller.name)


def _view(service: ServiceCore, batch: str, caller: Caller) -> dict[str, Any]:
    jobs = service.questions.batch(batch, analyst=caller.name)
    place = f"/api/v1/batches/{batch}"
    return {
        "id": batch,
        "state": "open" if any(job.state == "open" for job in jobs) else "over",
        "questions": [job_view(job, phase=service.runner.phase(job.id)) for job in jobs],
        "links": {"self": place, "events": f"{place}/events"},
    }
