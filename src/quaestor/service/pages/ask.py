"""Asking: SQL or a form, the price before one pays, and the question itself."""

from __future__ import annotations

from typing import Any

from fastapi import Response
from fastapi.responses import RedirectResponse
from starlette.requests import Request

from quaestor.curator.answers.answer import Answer
from quaestor.errors import InvalidParameter, QuaestorError
from quaestor.service.core import ServiceCore, TheService
from quaestor.service.dry_run import dry_run
from quaestor.service.identity.callers import Caller
from quaestor.service.pages.content.asked_question import AskedQuestion
from quaestor.service.pages.content.charts import bar_charts
from quaestor.service.pages.content.form_fields import SentForm, text_of
from quaestor.service.pages.content.price_view import PriceView, price_view
from quaestor.service.pages.content.question_form import (
    COMPARISONS,
    COUNTS,
    FIGURES,
    completion_words,
    sql_of,
)
from quaestor.service.pages.layout import fragment, page
from quaestor.service.problems import problem_of
from quaestor.service.routes.accounts import list_accounts
from quaestor.service.routes.approvals import submit
from quaestor.service.routes.datasets import list_datasets
from quaestor.service.routes.questions import ask
from quaestor.service.rules import RouteFamily, SomebodyKnown, only
from quaestor.service.shapes import PreviewBody, QuestionBody, SubmissionBody

__all__ = ["open_accounts", "routes"]

routes = RouteFamily("/ask", in_schema=False)
_ANALYSTS = only("analyst")
_NO_ACCURACY = (
    "accuracy can be chosen for one count or sum: the error of other figures depends on the data. "
    "Choose a price in ε instead"
)


@routes.get("", may=_ANALYSTS)
def ask_page(request: Request, service: TheService, caller: SomebodyKnown) -> Response:
    """An empty form."""
    accounts = open_accounts(service, caller)
    first = accounts[0]["name"] if accounts else ""
    return _form_page(request, service, caller, AskedQuestion.blank(account=first))


@routes.post("", may=_ANALYSTS)
def send_form(
    request: Request, service: TheService, caller: SomebodyKnown, form: SentForm
) -> Response:
    """What the button says: write the SQL, show the price, ask, or submit for approval."""
    asked, action = AskedQuestion.from_form(form), text_of(form, "action")
    try:
        if action == "ask":
            return _asked(service, caller, asked)
        if action == "submit":
            submit(asked.read_as(SubmissionBody), service, caller)
            return RedirectResponse("/approvals", status_code=303)
        if action == "build":
            tables = _tables(service)
            account = asked.account or _paying(service, caller, text_of(form, "table"))
            by = "accuracy" if text_of(form, "figure") in COUNTS else "epsilon"
            asked = AskedQuestion.blank(sql=sql_of(form, tables), account=account, by=by)
        price = run = None
        if action != "edit":
            body = asked.read_as(PreviewBody)
            price = price_view(service, caller, body)
            run = dry_run(service.curator.catalog, body) if action == "dry-run" else None
    except QuaestorError as problem:
        return _form_page(request, service, caller, asked, problem=problem)
    return _form_page(request, service, caller, asked, price=price, run=run)


@routes.post("/preview", may=_ANALYSTS)
def show_price(
    request: Request, service: TheService, caller: SomebodyKnown, form: SentForm
) -> Response:
    """The price alone, for a page that is there already."""
    try:
        price = price_view(service, caller, AskedQuestion.from_form(form).read_as(PreviewBody))
    except QuaestorError as problem:
        detail = _detail(problem)
        title = "This question cannot be asked"
        return fragment("problem_part.html", request, title=title, detail=detail)
    return fragment("price_part.html", request, price=price)


def _asked(service: ServiceCore, caller: Caller, asked: AskedQuestion) -> Response:
    body = asked.read_as(QuestionBody)
    job = ask(body, service, caller, Response(), asked.key(body))
    return RedirectResponse(f"/answers/{job['id']}", status_code=303)


def _form_page(  # noqa: PLR0913  # what the page shows
    request: Request,
    service: ServiceCore,
    caller: Caller,
    asked: AskedQuestion,
    *,
    price: PriceView | None = None,
    run: Answer | None = None,
    problem: QuaestorError | None = None,
) -> Response:
    tables = _tables(service)
    return page(
        "ask.html",
        request,
        status=200 if problem is None else problem_of(problem)["status"],
        asked=asked,
        accounts=open_accounts(service, caller),
        tables=tables,
        figures=FIGURES,
        comparisons=COMPARISONS,
        words=completion_words(tables),
        price=price,
        run=run,
        charts=[] if run is None else bar_charts(run),
        problem=None if problem is None else _detail(problem),
    )


def _detail(problem: QuaestorError) -> str:
    """What is said of an error, in the words of the form."""
    if isinstance(problem, InvalidParameter) and problem.field == "accuracy":
        return _NO_ACCURACY
    return str(problem_of(problem)["detail"])


def _tables(service: ServiceCore) -> list[dict[str, Any]]:
    """The private tables, as the API describes them."""
    return [table for dataset in list_datasets(service)["datasets"] for table in dataset["tables"]]


def open_accounts(service: ServiceCore, caller: Caller) -> list[dict[str, Any]]:
    """The accounts on which somebody can ask; those without conditions first."""
    listed = list_accounts(service, caller)["accounts"]
    found = [each for each in listed if not each["closed"]]
    return sorted(found, key=lambda each: bool(each["approval"] or each["quotas"]))


def _paying(service: ServiceCore, caller: Caller, table: str) -> str:
    """The first open account that pays for a table."""
    dataset = next((t["dataset"] for t in _tables(service) if t["table"] == table), "")
    accounts = open_accounts(service, caller)
    return next((a["name"] for a in accounts if dataset in a["datasets"]), "")
