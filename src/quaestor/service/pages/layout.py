"""What all pages have in common: the frame, the navigation, the policy of what a browser may load.

Nothing that people wrote is ever markup: every template escapes. No page has script or style of
its own inside it, so that the policy needs no exception.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request

from quaestor.service.identity.callers import FIELD, Caller
from quaestor.service.pages.content.amounts_shown import FILTERS
from quaestor.service.rules import SIGNED_IN, Rule, only

__all__ = ["NAVIGATION", "POLICY", "NavigationItem", "fragment", "page"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


@dataclass(frozen=True, slots=True)
class NavigationItem:
    """A place in the navigation, shown to those who may use it."""

    path: str
    title: str
    rule: Rule


NAVIGATION = (
    NavigationItem("/ask", "Ask", only("analyst")),
    NavigationItem("/answers", "Answers", only("analyst")),
    NavigationItem("/budget", "Budget", SIGNED_IN),
    NavigationItem("/datasets", "Datasets", SIGNED_IN),
    NavigationItem("/approvals", "Approvals", SIGNED_IN),
    NavigationItem("/ledger", "Ledger", only("owner", "auditor")),
    NavigationItem("/people", "People", only("owner", "auditor")),
    NavigationItem("/tokens", "Tokens", SIGNED_IN),
    NavigationItem("/accountant", "Accountant", SIGNED_IN),
)


@cache
def _templates() -> Environment:
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(FILTERS)
    return made


def page(template: str, request: Request, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A whole page, as whoever calls may see it."""
    caller: Caller | None = getattr(request.state, "caller", None)
    shown = [] if caller is None else [i for i in NAVIGATION if caller.has(*i.rule.roles)]
    current = next((i.path for i in shown if request.url.path.startswith(i.path)), "")
    return fragment(template, request, status=status, navigation=shown, current=current, **values)


def fragment(template: str, request: Request, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A part of a page, to be put in place by a script."""
    caller: Caller | None = getattr(request.state, "caller", None)
    text = (
        _templates()
        .get_template(template)
        .render(caller=caller, csrf=caller.csrf if caller else "", csrf_field=FIELD, **values)
    )
    return HTMLResponse(text, status, headers={"Content-Security-Policy": POLICY})
