"""People and their tokens: owners let people in; everybody makes tokens of their own."""

from __future__ import annotations

from typing import Any

from fastapi import Response
from fastapi.responses import RedirectResponse
from starlette.datastructures import FormData
from starlette.requests import Request

from quaestor.ledger import ROLES
from quaestor.service.core import ServiceCore, TheService
from quaestor.service.identity.callers import Caller
from quaestor.service.pages.content.form_fields import SentForm, read_shape, text_of
from quaestor.service.pages.layout import page
from quaestor.service.routes.people import (
    add_person,
    change_person,
    create_link,
    create_token_for,
    list_people,
)
from quaestor.service.routes.tokens import create_token, list_tokens, revoke_token
from quaestor.service.rules import SIGNED_IN, RouteFamily, SomebodyKnown, only
from quaestor.service.shapes import PersonBody, PersonChangeBody, TokenBody

__all__ = ["people", "tokens"]

people = RouteFamily("/people", in_schema=False)
tokens = RouteFamily("/tokens", in_schema=False)
_OWNERS = only("owner")


@people.get("", may=only("owner", "auditor"))
def people_page(request: Request, service: TheService) -> Response:
    """Everybody, with roles and groups."""
    return _people(request, service)


@people.post("", may=_OWNERS)
def add_by_form(service: TheService, caller: SomebodyKnown, form: SentForm) -> Response:
    """Let somebody use the service."""
    body = read_shape(PersonBody, {"name": text_of(form, "name"), **_rights(form)})
    add_person(body, service, caller)
    return RedirectResponse("/people", status_code=303)


@people.post("/{name}", may=_OWNERS)
def change_by_form(
    name: str, request: Request, service: TheService, caller: SomebodyKnown, form: SentForm
) -> Response:
    """What the button says: other roles, in or out, a link, or a token."""
    action = text_of(form, "action")
    if action == "link":
        link = create_link(name, service, caller)["link"]
        address = f"{str(request.base_url).rstrip('/')}{link}"
        return _people(
            request, service, once=(f"A link for {name}, valid once, for 15 minutes", address)
        )
    if action == "token":
        made = create_token_for(name, _token(form, scopes=None), service, caller)
        return _people(request, service, once=(f"A token for {name}", made["token"]))
    sent: dict[str, Any] = _rights(form) if action == "change" else {}
    if action in {"activate", "deactivate"}:
        sent = {"active": action == "activate"}
    change_person(name, read_shape(PersonChangeBody, sent), service, caller)
    return RedirectResponse("/people", status_code=303)


@tokens.get("", may=SIGNED_IN)
def tokens_page(request: Request, service: TheService, caller: SomebodyKnown) -> Response:
    """One's own tokens or, for owners and auditors, everybody's; without their secrets."""
    return _tokens(request, service, caller)


@tokens.post("", may=SIGNED_IN)
def create_by_form(
    request: Request, service: TheService, caller: SomebodyKnown, form: SentForm
) -> Response:
    """A token of one's own; it is shown now only."""
    # a form without a ticked role is not a wish for all of them
    made = create_token(_token(form, scopes=form.getlist("scopes")), service, caller)
    return _tokens(request, service, caller, once=("Your new token", made["token"]))


@tokens.post("/{token}/revoke", may=SIGNED_IN)
def revoke_by_form(token: str, service: TheService, caller: SomebodyKnown) -> Response:
    """End a token of one's own or, for owners, of anybody."""
    revoke_token(token, service, caller)
    return RedirectResponse("/tokens", status_code=303)


def _rights(form: FormData) -> dict[str, Any]:
    groups = [each.strip() for each in text_of(form, "groups").split(",") if each.strip()]
    return {"roles": [role for role in form.getlist("roles") if role], "groups": groups}


def _token(form: FormData, *, scopes: list[Any] | None) -> TokenBody:
    sent = {"days": text_of(form, "days"), "note": text_of(form, "note"), "scopes": scopes}
    return read_shape(TokenBody, sent)


def _people(
    request: Request, service: ServiceCore, *, once: tuple[str, str] | None = None
) -> Response:
    listed = list_people(service)["people"]
    return page("people.html", request, people=listed, all_roles=ROLES, once=once)


def _tokens(
    request: Request, service: ServiceCore, caller: Caller, *, once: tuple[str, str] | None = None
) -> Response:
    listed = list_tokens(service, caller)["tokens"]
    return page("tokens.html", request, tokens=listed[::-1], once=once)
