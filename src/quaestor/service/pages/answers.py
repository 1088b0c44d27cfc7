"""Answers: one's own questions, how each stands, and what came of it."""

from __future__ import annotations

from fastapi import Response
from fastapi.responses import RedirectResponse
from starlette.requests import Request

from quaestor.service.core import TheService
from quaestor.service.pages.content.asked_question import AskedQuestion
from quaestor.service.pages.content.charts import bar_charts
from quaestor.service.pages.layout import page
from quaestor.service.routes.approvals import list_approvals
from quaestor.service.routes.jobs import answer_of, cancel_job, list_jobs, show_job
from quaestor.service.rules import RouteFamily, SomebodyKnown, only

__all__ = ["routes"]

routes = RouteFamily("/answers", in_schema=False)
_ANALYSTS = only("analyst")


@routes.get("", may=_ANALYSTS)
def answers_page(request: Request, service: TheService, caller: SomebodyKnown) -> Response:
    """One's latest questions."""
    jobs = list_jobs(service, caller, most=100)["jobs"]
    return page("answers.html", request, jobs=jobs)


@routes.get("/{job}", may=_ANALYSTS)
def answer_page(job: str, request: Request, service: TheService, caller: SomebodyKnown) -> Response:
    """A question of one's own: its progress, its answer, or why there is none."""
    view = show_job(job, service, caller)
    answer = answer_of(service, job, caller)[0] if view["state"] == "answered" else None
    problem, approved = view["problem"] or {}, []
    if problem.get("code") == "approval_needed" and view["asked"].get("account"):
        listed = list_approvals(view["asked"]["account"], service, caller)["approvals"]
        mine = [each for each in listed if each["analyst"] == caller.name]
        approved = [each for each in mine if each["status"] == "approved"]
    return page(
        "answer.html",
        request,
        job=view,
        answer=answer,
        charts=[] if answer is None else bar_charts(answer),
        asked=AskedQuestion.from_job(view["asked"]),
        approved=approved,
        needs_approval=problem.get("code") == "approval_needed",
    )


@routes.post("/{job}/cancel", may=_ANALYSTS)
def cancel(job: str, service: TheService, caller: SomebodyKnown) -> Response:
    """Cancel a question; what was charged stays charged."""
    cancel_job(job, service, caller)
    return RedirectResponse(f"/answers/{job}", status_code=303)
