"""Several questions at once: their prices before one pays, and what becomes of each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fastapi import Response
from fastapi.responses import RedirectResponse
from starlette.requests import Request

from quaestor.errors import InvalidParameter, QuaestorError
from quaestor.service.core import ServiceCore, TheService
from quaestor.service.identity.callers import Caller
from quaestor.service.pages.ask import open_accounts
from quaestor.service.pages.content.asked_question import AskedQuestion
from quaestor.service.pages.content.form_fields import SentForm, text_of
from quaestor.service.pages.content.question_texts import LONGEST_TEXT, question_texts
from quaestor.service.pages.layout import page
from quaestor.service.problems import problem_of
from quaestor.service.routes.approvals import submit_plan
from quaestor.service.routes.batches import ask_batch, cancel_batch, show_batch
from quaestor.service.routes.questions import preview
from quaestor.service.rules import RouteFamily, SomebodyKnown, only
from quaestor.service.shapes import (
    MOST_QUESTIONS,
    BatchBody,
    PlanBody,
    PreviewBody,
    QuestionBody,
    SubmissionBody,
)

__all__ = ["answers", "routes"]

routes = RouteFamily("/ask/several", in_schema=False)
answers = RouteFamily("/answers/batches", in_schema=False)
_ANALYSTS = only("analyst")


@routes.get("", may=_ANALYSTS)
def several_page(request: Request, service: TheService, caller: SomebodyKnown) -> Response:
    """An empty form."""
    return _form_page(request, service, caller, AskedQuestion.blank(by="epsilon"))


@routes.post("", may=_ANALYSTS)
def send_questions(
    request: Request, service: TheService, caller: SomebodyKnown, form: SentForm
) -> Response:
    """What the button says: show the prices, ask all of them, or submit them for approval."""
    asked, action = AskedQuestion.from_form(form), text_of(form, "action")
    prices = None
    try:
        questions = _questions(asked)
        if action == "ask":
            body = BatchBody(questions=[each.read_as(QuestionBody) for each in questions])
            made = ask_batch(body, service, caller, Response(), asked.key(body))
            return RedirectResponse(f"/answers/batches/{made['id']}", status_code=303)
        if action == "submit":
            plan = PlanBody(questions=[each.read_as(SubmissionBody) for each in questions])
            submit_plan(plan, service, caller)
            return RedirectResponse("/approvals", status_code=303)
        prices = [_price(service, caller, each) for each in questions]
    except QuaestorError as problem:
        return _form_page(request, service, caller, asked, problem=problem)
    return _form_page(request, service, caller, asked, prices=prices)


@answers.get("/{batch}", may=_ANALYSTS)
def batch_page(
    batch: str, request: Request, service: TheService, caller: SomebodyKnown
) -> Response:
    """How each question of a batch stands."""
    return page("batch.html", request, batch=show_batch(batch, service, caller))


@answers.post("/{batch}/cancel", may=_ANALYSTS)
def cancel(batch: str, service: TheService, caller: SomebodyKnown) -> Response:
    """Cancel what is not over; what was charged stays charged."""
    cancel_batch(batch, service, caller)
    return RedirectResponse(f"/answers/batches/{batch}", status_code=303)


def _questions(asked: AskedQuestion) -> list[AskedQuestion]:
    """One form for each question of the text: they share everything else."""
    if len(asked.sql) > LONGEST_TEXT:
        raise InvalidParameter("Questions", "a long text", f"at most {LONGEST_TEXT:,} characters")
    texts = question_texts(asked.sql)
    if not 1 <= len(texts) <= MOST_QUESTIONS:
        valid = f"1 to {MOST_QUESTIONS} questions, with a semicolon between two of them"
        raise InvalidParameter("Questions", len(texts), valid)
    return [replace(asked, sql=text) for text in texts]


def _price(service: ServiceCore, caller: Caller, asked: AskedQuestion) -> dict[str, Any]:
    """A question with its price, or with what is wrong with it."""
    try:
        seen = preview(asked.read_as(PreviewBody), service, caller)
    except QuaestorError as problem:
        return {"sql": asked.sql, "problem": problem_of(problem)["detail"]}
    return {"sql": asked.sql, "seen": seen, "problem": None}


def _form_page(  # noqa: PLR0913  # what the page shows
    request: Request,
    service: ServiceCore,
    caller: Caller,
    asked: AskedQuestion,
    *,
    prices: list[dict[str, Any]] | None = None,
    problem: QuaestorError | None = None,
) -> Response:
    return page(
        "several.html",
        request,
        status=200 if problem is None else problem_of(problem)["status"],
        asked=asked,
        accounts=open_accounts(service, caller),
        most=MOST_QUESTIONS,
        prices=prices,
        problem=None if problem is None else problem_of(problem)["detail"],
    )
