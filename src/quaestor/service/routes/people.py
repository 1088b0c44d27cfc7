"""People: who may use the service, for owners."""

from __future__ import annotations

from typing import Any

from quaestor.errors import InvalidParameter
from quaestor.service.core import TheService
from quaestor.service.rules import RouteFamily, SomebodyKnown, only
from quaestor.service.shapes import PersonBody, PersonChangeBody, TokenBody

__all__ = ["routes"]

routes = RouteFamily("/api/v1/people", tag="people")
_OWNERS = only("owner")


@routes.get("", may=only("owner", "auditor"))
def list_people(service: TheService) -> dict[str, Any]:
    """Everybody, with roles and groups."""
    return {"people": [person.to_dict() for person in service.people.all()]}


@routes.post("", may=_OWNERS, status_code=201)
def add_person(body: PersonBody, service: TheService, caller: SomebodyKnown) -> dict[str, Any]:
    """Let somebody use the service."""
    made = service.people.add(body.name, roles=body.roles, groups=body.groups, by=caller.name)
    return made.to_dict()


@routes.patch("/{name}", may=_OWNERS)
def change_person(
    name: str, body: PersonChangeBody, service: TheService, caller: SomebodyKnown
) -> dict[str, Any]:
    """Give somebody other roles or groups, or shut them out: at once, tokens included."""
    if not body.model_fields_set:
        raise InvalidParameter("body", {}, "something to change: roles, groups or active")
    changed = service.people.change(
        name, roles=body.roles, groups=body.groups, active=body.active, by=caller.name
    )
    return changed.to_dict()


@routes.post("/{name}/links", may=_OWNERS, status_code=201)
def create_link(name: str, service: TheService, caller: SomebodyKnown) -> dict[str, Any]:
    """A link with which somebody can sign in: once, within 15 minutes. It is shown now only."""
    link = service.people.create_link(name, by=caller.name)
    return {"name": name, "link": f"/sign-in?link={link}"}


@routes.post("/{name}/tokens", may=_OWNERS, status_code=201)
def create_token_for(
    name: str, body: TokenBody, service: TheService, caller: SomebodyKnown
) -> dict[str, Any]:
    """A token for somebody else. It is shown now only."""
    made, secret = service.people.create_token(
        name, scopes=body.scopes, days=body.days, note=body.note, by=caller.name
    )
    return {**made.to_dict(), "token": secret}
