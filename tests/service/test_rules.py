"""Every route against every role and against no one: what each rule says is what happens."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from fastapi import FastAPI

from quaestor.ledger import ROLES
from quaestor.service.app import ALL_FAMILIES
from quaestor.service.rules import EVERYBODY, RouteFamily, Rule, only, refuse_unguarded

if TYPE_CHECKING:
    from tests.service.running import RunningService

BY_ROLE = {"owner": "olga", "approver": "petra", "analyst": "ann", "auditor": "udo"}


def _routes() -> list[tuple[str, str, Rule]]:
    app = FastAPI(openapi_url=None)
    for family in ALL_FAMILIES:
        family.register(app)
    found = []
    for route in app.routes:
        path = re.sub(r"\{\w+\}", "x", getattr(route, "path", ""))
        rule: Rule = route.rule  # type: ignore[attr-defined]
        found += [(method, path, rule) for method in getattr(route, "methods", None) or {"GET"}]
    return found


ROUTES = _routes()


@pytest.mark.parametrize(("method", "path", "rule"), ROUTES, ids=str)
def test_a_route_lets_in_whom_its_rule_names_and_nobody_else(
    service: RunningService, method: str, path: str, rule: Rule
) -> None:
    body: dict[str, str] | None = {} if method in {"POST", "PATCH"} else None
    nobody = service.client().request(method, path, json=body)
    stranger = service.client().request(
        method, path, json=body, headers={"Authorization": "Bearer qst_wrong"}
    )
    if rule.public:
        assert nobody.status_code not in {403, 404, 405}
    else:
        assert nobody.status_code == stranger.status_code == 401
        assert nobody.json()["code"] == "not_signed_in"
    for role, name in BY_ROLE.items():
        answered = service.client(name).request(method, path, json=body)
        denied = answered.status_code == 403 and bool(answered.json().get("needs"))
        if rule.public or role in rule.roles:
            assert not denied
            assert answered.status_code < 500
            assert rule.public or answered.status_code != 401
        else:
            assert denied, (role, answered.text)
            assert answered.json()["code"] == "not_allowed"


def test_there_are_routes_of_every_kind() -> None:
    assert len(ROUTES) > 30
    assert {rule.public for _, _, rule in ROUTES} == {True, False}
    assert {role for _, _, rule in ROUTES for role in rule.roles} == set(ROLES)


def test_what_changes_something_is_public_only_to_sign_in() -> None:
    changing = [path for method, path, rule in ROUTES if rule.public and method != "GET"]
    assert set(changing) == {"/api/v1/session", "/sign-in"}


def test_a_route_without_a_rule_cannot_be_registered() -> None:
    family = RouteFamily()
    with pytest.raises(TypeError):
        family.get("/open")  # type: ignore[call-arg]
    app = FastAPI(openapi_url=None)
    ALL_FAMILIES[0].register(app)
    with pytest.raises(TypeError, match="does not say who may"):
        app.get("/open")(lambda: None)


def test_an_application_with_an_unguarded_route_is_refused() -> None:
    app = FastAPI()  # its own routes for documentation have no rule
    with pytest.raises(TypeError, match="has no rule"):
        refuse_unguarded(app)


def test_a_rule_names_roles_that_there_are() -> None:
    with pytest.raises(ValueError, match="boss"):
        only("boss")
    assert EVERYBODY.public
