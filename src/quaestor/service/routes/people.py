"""People: who may use the service, for owners."""

from __future__ import annotations

from typing import Any

from fastapi import Response

from quaestor.errors import InvalidParameter
from quaestor.ledger import identity_to_link
from quaestor.service.core import TheService
from quaestor.service.rules import RouteFamily, SomebodyKnown, only
from quaestor.service.shapes import IdentityBody, PersonBody, PersonChangeBody, TokenBody

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


@routes.get("/{name}/identities", may=only("owner", "auditor"))
def list_identities(name: str, service: TheService) -> dict[str, Any]:
    """How identity providers call somebody."""
    person = service.people.get(name)
    listed = service.people.credentials("identity", person=person.name)
    return {"name": person.name, "identities": [each.to_dict() for each in listed]}


@routes.post("/{name}/identities", may=_OWNERS, status_code=201)
def link_identity(
    name: str, body: IdentityBody, service: TheService, caller: SomebodyKnown
) -> dict[str, Any]:
    """Let somebody sign in as the identity provider knows them."""
    issuer = body.issuer or (service.provider.issuer if service.provider else "")
    identity = identity_to_link(issuer=issuer, subject=body.subject, email=body.email)
    return service.people.link_identity(name, identity, by=caller.name).to_dict()


@routes.delete("/{name}/identities/{identity}", may=_OWNERS, status_code=204)
def unlink_identity(
    name: str, identity: str, service: TheService, caller: SomebodyKnown
) -> Response:
    """Unlink an identity, by its id: nobody signs in by it any more. Sessions stay as they are."""
    person = service.people.get(name)
    service.people.revoke(identity, kind="identity", by=caller.name, person=person.name)
    return Response(status_code=204)
