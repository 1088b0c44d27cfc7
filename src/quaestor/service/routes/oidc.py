"""Signing in by an identity provider: to the provider, and back with its word."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.requests import Request

from quaestor.errors import IdentityRefused, ProviderUnavailable, QuaestorError, TooManySignIns
from quaestor.service.core import ServiceCore, TheService
from quaestor.service.identity.callers import place_of_request
from quaestor.service.identity.provider import CALLBACK, IdentityProvider
from quaestor.service.pages.layout import page
from quaestor.service.pages.sign_in_page import show_sign_in
from quaestor.service.problems import problem_of
from quaestor.service.rules import EVERYBODY, RouteFamily

__all__ = ["pages"]

pages = RouteFamily(in_schema=False)
_REFUSALS = (IdentityRefused, ProviderUnavailable, TooManySignIns)


@pages.get("/sign-in/oidc", may=EVERYBODY, response_class=HTMLResponse)
def begin_sign_in(service: TheService, request: Request) -> Response:
    """Send a browser to the identity provider."""
    try:
        provider = _provider(service)
        service.people.refuse_often(place=place_of_request(request))
        response = RedirectResponse("/", status_code=303)
        handshake = service.handshakes.begin(request, response)
        response.headers["Location"] = provider.address(handshake)
    except _REFUSALS as refused:
        return _failed(service, request, refused)
    return response


@pages.get(CALLBACK, may=EVERYBODY, response_class=HTMLResponse)
def end_sign_in(  # noqa: PLR0913  # what OpenID Connect sends back
    service: TheService,
    request: Request,
    state: Annotated[str, Query(max_length=200)] = "",
    code: Annotated[str, Query(max_length=4000)] = "",
    iss: Annotated[str | None, Query(max_length=2000)] = None,
    error: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Take a browser back, and give it a session of its own."""
    try:
        response: Response = _ended(service, request, state, code, iss, error=error)
    except _REFUSALS as refused:
        response = _failed(service, request, refused)
    service.handshakes.forget(request, response)
    return response


def _ended(  # noqa: PLR0913  # what OpenID Connect sends back
    service: ServiceCore,
    request: Request,
    state: str,
    code: str,
    issuer: str | None,
    *,
    error: str,
) -> Response:
    provider, place = _provider(service), place_of_request(request)
    handshake = service.handshakes.resume(request, state=state)
    service.people.refuse_often(place=place)
    try:
        _refuse_without_code(code, error)
        identity = provider.identity(handshake, code=code, issuer=issuer)
    except IdentityRefused:
        service.people.note_failed_sign_in(place=place)
        raise
    _, secret = service.people.sign_in_by_identity(identity, place=place)
    # A page of our own, and not a redirection: browsers send the session's cookie, which is
    # SameSite=Strict, with what our pages ask for, but not on the way from the provider's page.
    response = page("signed_in.html", request)
    service.callers.sign_in(request, response, secret)
    return response


def _refuse_without_code(code: str, error: str) -> None:
    if error or not code:
        raise IdentityRefused(
            "provider", "the identity provider refused the sign-in: sign in again"
        )


def _provider(service: ServiceCore) -> IdentityProvider:
    if service.provider is None:
        raise IdentityRefused(
            "not_configured", "no identity provider is configured: sign in by link or password"
        )
    return service.provider


def _failed(service: ServiceCore, request: Request, refused: QuaestorError) -> Response:
    said = problem_of(refused)
    return show_sign_in(service, request, problem=f"{said['detail']}.", status=said["status"])
