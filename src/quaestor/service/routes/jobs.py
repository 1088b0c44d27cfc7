"""Jobs: questions under way and answered, for whoever asked them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, Literal

import anyio
from fastapi import Header, Query, Response
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.concurrency import run_in_threadpool

from quaestor.curator.answers.answer import Answer
from quaestor.errors import JobUnfinished, UnknownJob
from quaestor.service.core import ServiceCore, TheService
from quaestor.service.event_streams import EventStream
from quaestor.service.identity.callers import Caller
from quaestor.service.job_views import job_view
from quaestor.service.problems import MEDIA_TYPE
from quaestor.service.rules import RouteFamily, SomebodyKnown, only

__all__ = ["answer_of", "events_of", "routes"]

routes = RouteFamily("/api/v1/jobs", tag="questions")
_ANALYSTS = only("analyst")
_LOOK = 0.1  # seconds between two looks at a job whose progress is streamed
_STORE = 10  # looks at this process's own memory until the store is asked, too
_BEAT = 150  # looks without news until something is sent, so that proxies keep the stream
_ARROW = "application/vnd.apache.arrow.stream"


@routes.get("", may=_ANALYSTS)
def list_jobs(
    service: TheService, caller: SomebodyKnown, most: Annotated[int, Query(ge=1, le=500)] = 50
) -> dict[str, Any]:
    """Your latest questions, the last one first."""
    listed = service.questions.of(caller.name, most=most)
    return {"jobs": [job_view(job, phase=service.runner.phase(job.id)) for job in listed]}


@routes.get("/{job}", may=_ANALYSTS)
def show_job(job: str, service: TheService, caller: SomebodyKnown) -> dict[str, Any]:
    """How a question of yours stands."""
    return _view(service, job, caller)


@routes.delete("/{job}", may=_ANALYSTS)
def cancel_job(job: str, service: TheService, caller: SomebodyKnown) -> dict[str, Any]:
    """Cancel a question of yours; what was charged for it stays charged."""
    found = service.questions.get(job, analyst=caller.name)
    service.runner.cancel(found.id)
    return _view(service, job, caller)


@routes.get(
    "/{job}/events",
    may=_ANALYSTS,
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {"text/event-stream": {}},
            "description": "Events called `phase`, until the question is over.",
        }
    },
)
async def stream_job(job: str, service: TheService, caller: SomebodyKnown) -> Response:
    """The phases of a question of yours, as server-sent events, until it is over."""
    first = await run_in_threadpool(_view, service, job, caller)
    return EventStream(
        events_of(service, caller, [first]), limit=service.streams, person=caller.name
    )


@routes.get(
    "/{job}/answer",
    may=_ANALYSTS,
    responses={
        200: {
            "content": {
                "application/json": {},
                "text/csv": {},
                _ARROW: {},
            },
            "description": "The answer, in the form that was asked for.",
        }
    },
)
def show_answer(
    job: str,
    service: TheService,
    caller: SomebodyKnown,
    form: Annotated[Literal["json", "csv", "arrow"] | None, Query()] = None,
    accept: Annotated[str, Header()] = "",
) -> Response:
    """The answer to a question of yours: as JSON, CSV or Arrow, by ``form`` or ``Accept``."""
    found = service.questions.get(job, analyst=caller.name)
    if found.error is not None:
        return JSONResponse(found.error, found.error["status"], media_type=MEDIA_TYPE)
    answer, repeated = answer_of(service, job, caller)
    return _written(answer, form or _wanted(accept), repeated=repeated)


def answer_of(service: ServiceCore, job: str, caller: Caller) -> tuple[Answer, bool]:
    """The answer to a question of the caller's, and whether it was given before.

    Raises:
        UnknownJob: it is somebody else's, or the caller may no longer see the answer.
        JobUnfinished: there is none.
    """
    found = service.questions.get(job, analyst=caller.name)
    if found.state != "answered":
        raise JobUnfinished(found.id, state=found.state)
    answer = service.curator.kept(
        found.account, found.answered, analyst=caller.name, member_of=caller.groups
    )
    if answer is None:  # whoever asked is no longer among those who may see it
        raise UnknownJob(job)
    return answer, found.repeated


def _view(service: ServiceCore, job: str, caller: Caller) -> dict[str, Any]:
    found = service.questions.get(job, analyst=caller.name)
    return job_view(found, phase=service.runner.phase(found.id))


async def events_of(
    service: ServiceCore, caller: Caller, first: Sequence[dict[str, Any]]
) -> AsyncIterator[str]:
    """One event for each phase of each question; the last ones say how they ended."""
    views, told, silent = {view["id"]: view for view in first}, dict[str, str](), 0
    while True:
        for id_, view in views.items():
            if view["phase"] != told.get(id_):
                told[id_], silent = view["phase"], 0
                said = {name: view[name] for name in ("id", "state", "phase")}
                yield f"event: phase\ndata: {json.dumps(said)}\n\n"
        views = {id_: view for id_, view in views.items() if view["state"] == "open"}
        if not views:
            return
        silent += 1
        if silent % _BEAT == 0:
            if not await run_in_threadpool(_still, service, caller):
                return  # whoever watches was shut out, or their token was revoked
            yield ": still there\n\n"
        await anyio.sleep(_LOOK)
        for id_, view in views.items():
            phase = service.runner.phase(id_)
            if phase is None or silent % _STORE == 0:  # over, or in another process
                views[id_] = await run_in_threadpool(_view, service, id_, caller)
            else:
                views[id_] = {**view, "phase": phase}


def _still(service: ServiceCore, caller: Caller) -> bool:
    return service.people.is_valid(caller.credential, person=caller.name)


def _wanted(accept: str) -> str:
    if "text/csv" in accept:
        return "csv"
    return "arrow" if _ARROW in accept else "json"


def _written(answer: Answer, form: str, *, repeated: bool) -> Response:
    if form == "csv":
        return Response(answer.to_csv(), media_type="text/csv")
    if form == "arrow":
        import pyarrow as pa

        table, sink = answer.to_arrow(), pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return Response(sink.getvalue().to_pybytes(), media_type=_ARROW)
    return JSONResponse({**json.loads(answer.to_json()), "repeated": repeated})
