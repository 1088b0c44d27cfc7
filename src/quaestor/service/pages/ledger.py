"""The ledger, for those who audit it: heads, verification, what is pending, exports, reports."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query, Response
from starlette.requests import Request

from quaestor.service.core import TheService
from quaestor.service.pages.layout import page
from quaestor.service.routes.ledger import heads, pending, trail, verify
from quaestor.service.rules import RouteFamily, only

__all__ = ["routes"]

routes = RouteFamily("/ledger", in_schema=False)
_TRAIL = 100


@routes.get("", may=only("owner", "auditor"))
def ledger_page(
    request: Request,
    service: TheService,
    check: Annotated[Literal["yes", ""], Query()] = "",
    after: Annotated[int, Query(ge=0, le=2**53)] = 0,
) -> Response:
    """The book; with ``check`` every chain is verified first."""
    return page(
        "ledger.html",
        request,
        heads=heads(service)["heads"],
        verified=verify(service) if check else None,
        pending=pending(service)["pending"],
        trail=trail(service, after=after, most=_TRAIL)["trail"],
        after=after,
    )
