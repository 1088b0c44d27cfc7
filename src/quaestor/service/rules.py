"""Who may use a route: said where the route is declared, and seen to here, in one place.

A route is declared with ``may=``; one without a rule cannot be registered. The rule is looked at
before anything of the request is read.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import Depends, FastAPI
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from quaestor.errors import NotAllowed
from quaestor.ledger import ROLES
from quaestor.service.identity.callers import SAFE, Caller
from quaestor.service.problems import PROBLEM_RESPONSES

__all__ = [
    "EVERYBODY",
    "SIGNED_IN",
    "GuardedRoute",
    "RouteFamily",
    "Rule",
    "SomebodyKnown",
    "only",
    "refuse_unguarded",
]

_WORD = "x-who-may"


@dataclass(frozen=True, slots=True)
class Rule:
    """The roles that may use a route; none for everybody, signed in or not."""

    roles: tuple[str, ...] = ()

    @property
    def public(self) -> bool:
        """Whether nobody has to sign in."""
        return not self.roles

    def check(self, caller: Caller) -> None:
        """Let somebody in.

        Raises:
            NotAllowed: they have none of the roles.
        """
        if not caller.has(*self.roles):
            raise NotAllowed(self.roles)


EVERYBODY = Rule()
SIGNED_IN = Rule(ROLES)


def only(*roles: str) -> Rule:
    """A rule for these roles."""
    if not roles or not set(roles) <= set(ROLES):
        raise ValueError(roles)
    return Rule(roles)


async def _admit(request: Request, rule: Rule) -> None:
    """Find out who calls, if that matters, and see that they may."""
    callers = request.app.state.service.callers
    if rule.public:
        if request.method not in SAFE:
            callers.refuse_other_sites(request)
        return
    caller = await run_in_threadpool(callers.identify, request)
    request.state.caller = caller
    rule.check(caller)
    await callers.check_origin(request, caller)


class GuardedRoute(APIRoute):
    """A route with its rule."""

    rule: Rule

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        said = (options.get("openapi_extra") or {}).get(_WORD)
        if said is None:
            raise TypeError(f"the route {path} does not say who may use it")
        self.rule = Rule(tuple(said))
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The route's own handler, behind its rule."""
        handler = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            await _admit(request, self.rule)
            return await handler(request)

        return guarded


@dataclass(slots=True)
class RouteFamily:
    """The routes of one family, under one prefix; each says who may use it.

    ::

        routes = RouteFamily("/api/v1/accounts", tag="accounts")

        @routes.get("", may=SIGNED_IN)
        def list_accounts(...): ...
    """

    prefix: str = ""
    tag: str = ""
    in_schema: bool = True
    _declared: list[tuple[str, Callable[..., Any], dict[str, Any]]] = field(default_factory=list)

    def get(self, path: str, *, may: Rule, **options: Any) -> Callable[..., Any]:
        """Declare a route that reads."""
        return self._route("GET", path, may, options)

    def post(self, path: str, *, may: Rule, **options: Any) -> Callable[..., Any]:
        """Declare a route that makes something."""
        return self._route("POST", path, may, options)

    def patch(self, path: str, *, may: Rule, **options: Any) -> Callable[..., Any]:
        """Declare a route that changes something."""
        return self._route("PATCH", path, may, options)

    def delete(self, path: str, *, may: Rule, **options: Any) -> Callable[..., Any]:
        """Declare a route that ends something."""
        return self._route("DELETE", path, may, options)

    def _route(
        self, method: str, path: str, may: Rule, options: dict[str, Any]
    ) -> Callable[..., Any]:
        extra = {**options.pop("openapi_extra", {}), _WORD: list(may.roles)}
        if not may.public:
            extra["security"] = [{"token": []}, {"session": []}]
        made = {"methods": [method], "openapi_extra": extra, "include_in_schema": self.in_schema}
        options["responses"] = {**PROBLEM_RESPONSES, **options.get("responses", {})}
        if self.tag:
            made["tags"] = [self.tag]

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self._declared.append((self.prefix + path, function, {**made, **options}))
            return function

        return register

    def register(self, app: FastAPI) -> None:
        """Add all of them to an application."""
        app.router.route_class = GuardedRoute
        for path, function, options in self._declared:
            app.router.add_api_route(path, function, **options)


def refuse_unguarded(app: FastAPI) -> None:
    """See that an application has no route without a rule."""
    for route in app.routes:
        if not isinstance(getattr(route, "rule", None), Rule):
            raise TypeError(f"the route {getattr(route, 'path', route)} has no rule")


def _known(request: Request) -> Caller:
    caller: Caller = request.state.caller
    return caller


SomebodyKnown = Annotated[Caller, Depends(_known)]
"""Whoever calls a route that is not public."""
