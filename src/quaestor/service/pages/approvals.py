"""Approvals: what was submitted, and deciding about it."""

from __future__ import annotations

from fastapi import Response
from fastapi.responses import RedirectResponse
from starlette.requests import Request

from quaestor.service.core import TheService
from quaestor.service.pages.content.form_fields import SentForm, read_shape, text_of
from quaestor.service.pages.layout import page
from quaestor.service.routes.accounts import list_accounts
from quaestor.service.routes.approvals import decide, list_approvals
from quaestor.service.rules import SIGNED_IN, RouteFamily, SomebodyKnown, only
from quaestor.service.shapes import DecisionBody

__all__ = ["routes"]

routes = RouteFamily("/approvals", in_schema=False)


@routes.get("", may=SIGNED_IN)
def approvals_page(request: Request, service: TheService, caller: SomebodyKnown) -> Response:
    """Submissions: one's own or, for those who oversee accounts, all; open ones first."""
    listed = [
        {**each, "account": account["name"]}
        for account in list_accounts(service, caller)["accounts"]
        for each in list_approvals(account["name"], service, caller)["approvals"]
    ]
    listed.sort(key=lambda each: each["time"], reverse=True)
    listed.sort(key=lambda each: each["status"] != "submitted")
    return page("approvals.html", request, approvals=listed)


@routes.post("/{account}/{approval}", may=only("approver"))
def decide_by_form(
    account: str, approval: str, service: TheService, caller: SomebodyKnown, form: SentForm
) -> Response:
    """Approve or decline, once and for good."""
    names = ("decision", "reason")
    body = read_shape(DecisionBody, {name: text_of(form, name) for name in names})
    decide(account, approval, body, service, caller)
    return RedirectResponse("/approvals", status_code=303)
