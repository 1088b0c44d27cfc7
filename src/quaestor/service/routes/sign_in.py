"""Signing in and out: by a link, once, or by a password; a browser gets a session."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Form, Query, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.requests import Request

from quaestor.errors import InvalidParameter, SignInFailed, TooManySignIns
from quaestor.service.core import ServiceCore, TheService
from quaestor.service.identity.callers import place_of_request
from quaestor.service.pages.sign_in_page import place_here, show_sign_in
from quaestor.service.rules import EVERYBODY, SIGNED_IN, RouteFamily, SomebodyKnown
from quaestor.service.shapes import SignInBody

__all__ = ["pages", "routes"]

routes = RouteFamily("/api/v1/session", tag="people")
pages = RouteFamily(in_schema=False)


@routes.get("", may=SIGNED_IN)
def whoami(caller: SomebodyKnown) -> dict[str, Any]:
    """Who you are, what you may do, and the token that pages repeat with every change."""
    return {
        "name": caller.name,
        "roles": sorted(caller.roles),
        "groups": list(caller.groups),
        "csrf_token": caller.csrf,
    }


@routes.post("", may=EVERYBODY)
def sign_in(
    body: SignInBody, service: TheService, request: Request, response: Response
) -> dict[str, Any]:
    """Sign in by a link that was not used yet, or by name and password: the cookie is yours."""
    name, csrf = _signed_in(service, request, response, body)
    return {"name": name, "csrf_token": csrf}


@routes.delete("", may=SIGNED_IN, status_code=204)
def sign_out(service: TheService, request: Request, caller: SomebodyKnown) -> Response:
    """End this session."""
    response = Response(status_code=204)
    if caller.csrf:
        service.callers.sign_out(request, response)
    return response


@pages.get("/sign-in", may=EVERYBODY, response_class=HTMLResponse)
def sign_in_page(
    service: TheService,
    request: Request,
    link: Annotated[str, Query(max_length=200)] = "",
    next_: Annotated[str, Query(alias="next", max_length=500)] = "/",
) -> Response:
    """A form. The link is used when it is sent, not when it is looked at."""
    return show_sign_in(service, request, link=link, next_=next_)


@pages.post("/sign-in", may=EVERYBODY, response_class=HTMLResponse)
def sign_in_by_form(  # noqa: PLR0913  # the fields of the form
    service: TheService,
    request: Request,
    link: Annotated[str, Form(max_length=200)] = "",
    name: Annotated[str, Form(max_length=200)] = "",
    password: Annotated[str, Form(max_length=1000)] = "",
    next_: Annotated[str, Form(alias="next", max_length=500)] = "/",
) -> Response:
    """Sign in by the form, and go on to the page that was wanted, or to the first one."""
    sent = SignInBody(link=link or None, name=name or None, password=password or None)
    response = RedirectResponse(place_here(next_), status_code=303)
    try:
        _signed_in(service, request, response, sent)
    except (InvalidParameter, SignInFailed, TooManySignIns) as problem:
        status = 429 if isinstance(problem, TooManySignIns) else 401
        return show_sign_in(service, request, next_=next_, problem=str(problem), status=status)
    return response


def _signed_in(
    service: ServiceCore, request: Request, response: Response, sent: SignInBody
) -> tuple[str, str]:
    place = place_of_request(request)
    if sent.link is not None:
        found, secret = service.people.sign_in_by_link(sent.link, place=place)
    elif sent.name is not None and sent.password is not None:
        found, secret = service.people.sign_in_by_password(sent.name, sent.password, place=place)
    else:
        raise InvalidParameter("link", None, "given, or a name and a password")
    return found.person.name, service.callers.sign_in(request, response, secret)
