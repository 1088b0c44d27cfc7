"""Budgets: what is left of each account, how it burned down, and what a person loses in all."""

from __future__ import annotations

from typing import Any

from fastapi import Response
from starlette.requests import Request

from quaestor.service.core import TheService
from quaestor.service.pages.content.budget_view import (
    burn_down,
    charges_by,
    guarantee_of,
    projection,
)
from quaestor.service.pages.content.price_view import attack_view
from quaestor.service.pages.layout import page
from quaestor.service.routes.accounts import (
    list_accounts,
    list_entries,
    show_account,
    show_history,
    show_standing,
)
from quaestor.service.rules import SIGNED_IN, RouteFamily, SomebodyKnown

__all__ = ["by_blocks", "least_left", "routes"]

routes = RouteFamily("/budget", in_schema=False)
_ROWS = 200
_MOST = 1000


def least_left(account: dict[str, Any]) -> float:
    """The share that is left of the dataset with the least, as the caller may see it."""
    return max(0.0, min((1.0 - each["used"] for each in account["left"]), default=1.0))


def by_blocks(account: dict[str, Any]) -> bool:
    """Whether its epsilon is that of each block of time: then a person may lose more in all."""
    return bool(account["policy"] == "blocks")


@routes.get("", may=SIGNED_IN)
def budgets_page(request: Request, service: TheService, caller: SomebodyKnown) -> Response:
    """The accounts that one can ask on, or oversees."""
    accounts = list_accounts(service, caller)["accounts"]
    return page("budgets.html", request, accounts=[(each, least_left(each)) for each in accounts])


@routes.get("/{account}", may=SIGNED_IN)
def budget_page(
    account: str, request: Request, service: TheService, caller: SomebodyKnown
) -> Response:
    """One account: what is left, over time; all quotas for those who may see them."""
    view = show_account(account, service, caller)
    history = show_history(account, service, caller, most=_ROWS)
    last = history["points"][-1]["number"] if history["points"] and caller.oversees else 0
    after = max(0, last - _MOST)
    entries = list_entries(account, service, caller, after=after, most=_MOST)["entries"]
    standing = show_standing(account, service) if caller.oversees else None
    return page(
        "budget.html",
        request,
        account=view,
        meters=[each for each in view["meters"] if not by_blocks(view) or each["spent"] != 0],
        left=least_left(view),
        history=history,
        burn=burn_down(history),
        projection=projection(history),
        entries=entries[-_ROWS:][::-1],
        standing=standing,
        by_analyst=charges_by(entries, "analyst") if caller.oversees else [],
        by_dataset=charges_by(entries, "dataset"),
        guarantee=guarantee_of(view["promise"]),
        attack=None if by_blocks(view) else attack_view(view["epsilon"], view["delta"]),
    )
