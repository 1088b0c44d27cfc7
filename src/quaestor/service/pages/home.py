"""The first page, and the way out."""

from __future__ import annotations

from fastapi import Response
from fastapi.responses import RedirectResponse
from starlette.requests import Request

from quaestor.service.core import TheService
from quaestor.service.rules import SIGNED_IN, RouteFamily, SomebodyKnown

__all__ = ["routes"]

routes = RouteFamily(in_schema=False)


@routes.get("/", may=SIGNED_IN)
def first_page(caller: SomebodyKnown) -> Response:
    """Where most people want to go: analysts ask, others look at budgets."""
    return RedirectResponse("/ask" if caller.has("analyst") else "/budget", status_code=303)


@routes.post("/sign-out", may=SIGNED_IN)
def sign_out(service: TheService, request: Request, caller: SomebodyKnown) -> Response:
    """End this session, and go back to where one signs in."""
    response = RedirectResponse("/sign-in", status_code=303)
    if caller.csrf:
        service.callers.sign_out(request, response)
    return response
