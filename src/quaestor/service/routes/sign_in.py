"""Signing in and out: by a link, once, or by a password; a browser gets a session."""

from __future__ import annotations

from html import escape
from typing import Annotated, Any

from fastapi import Form, Query, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.requests import Request

from quaestor.errors import InvalidParameter, SignInFailed, TooManySignIns
from quaestor.service.callers import place_of_request
from quaestor.service.core import ServiceCore, TheService
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
def sign_in_page(link: Annotated[str, Query(max_length=200)] = "") -> Response:
    """A form. The link is used when it is sent, not when it is looked at."""
    return HTMLResponse(_page(link), headers=_POLICY)


@pages.post("/sign-in", may=EVERYBODY, response_class=HTMLResponse)
def sign_in_by_form(
    service: TheService,
    request: Request,
    link: Annotated[str, Form(max_length=200)] = "",
    name: Annotated[str, Form(max_length=200)] = "",
    password: Annotated[str, Form(max_length=1000)] = "",
) -> Response:
    """Sign in by the form, and go on to the first page."""
    sent = SignInBody(link=link or None, name=name or None, password=password or None)
    response = RedirectResponse("/", status_code=303)
    try:
        _signed_in(service, request, response, sent)
    except (InvalidParameter, SignInFailed, TooManySignIns) as problem:
        status = 429 if isinstance(problem, TooManySignIns) else 401
        return HTMLResponse(_page("", problem=str(problem)), status, headers=_POLICY)
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


_POLICY = {
    "Content-Security-Policy": (
        "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    )
}


def _page(link: str, *, problem: str = "") -> str:
    """A page without script and style, for any browser."""
    said = f"<p role='alert'>{escape(problem)}</p>" if problem else ""
    fields = (
        f"<input type='hidden' name='link' value='{escape(link, quote=True)}'>"
        if link
        else "<p><label>Name <input name='name' autocomplete='username' required></label></p>"
        "<p><label>Password <input name='password' type='password' "
        "autocomplete='current-password' required></label></p>"
    )
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width'><title>Sign in: Quaestor</title>"
        f"</head><body><main><h1>Sign in</h1>{said}<form method='post' action='/sign-in'>{fields}"
        "<p><button>Sign in</button></p></form></main></body></html>"
    )
