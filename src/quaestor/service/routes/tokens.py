"""Tokens: one's own, for programs; owners see and revoke everybody's."""

from __future__ import annotations

from typing import Any

from fastapi import Response

from quaestor.errors import InvalidParameter, NotAllowed
from quaestor.service.core import TheService
from quaestor.service.rules import SIGNED_IN, RouteFamily, SomebodyKnown
from quaestor.service.shapes import TokenBody

__all__ = ["routes"]

routes = RouteFamily("/api/v1/tokens", tag="people")


@routes.get("", may=SIGNED_IN)
def list_tokens(service: TheService, caller: SomebodyKnown) -> dict[str, Any]:
    """Your tokens or, for owners and auditors, everybody's; without their secrets."""
    whose = "" if caller.has("owner", "auditor") else caller.name
    listed = service.people.credentials("token", person=whose)
    return {"tokens": [each.to_dict() for each in listed]}


@routes.post("", may=SIGNED_IN, status_code=201)
def create_token(body: TokenBody, service: TheService, caller: SomebodyKnown) -> dict[str, Any]:
    """A token of yours, for at most what you may do now. It is shown now only.

    It takes a browser's session: a token that was stolen must not outlive its revocation.
    """
    if not caller.csrf:
        problem = "a token cannot make tokens: sign in with a browser, or ask an owner for one"
        raise NotAllowed((), problem=problem)
    scopes = sorted(caller.roles) if body.scopes is None else body.scopes
    if beyond := [role for role in scopes if role not in caller.roles]:
        raise InvalidParameter("scopes", beyond[0], "a role that you have here")
    made, secret = service.people.create_token(
        caller.name, scopes=scopes, days=body.days, note=body.note, by=caller.name
    )
    return {**made.to_dict(), "token": secret}


@routes.delete("/{token}", may=SIGNED_IN, status_code=204)
def revoke_token(token: str, service: TheService, caller: SomebodyKnown) -> Response:
    """Revoke a token of yours or, for owners, of anybody, by its id."""
    whose = "" if caller.has("owner") else caller.name
    service.people.revoke(token, kind="token", by=caller.name, person=whose)
    return Response(status_code=204)
