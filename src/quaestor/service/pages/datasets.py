"""Datasets: what is declared, what is promised, and how to ask."""

from __future__ import annotations

from fastapi import Response
from starlette.requests import Request

from quaestor.service.core import TheService
from quaestor.service.pages.budget import by_blocks
from quaestor.service.pages.content.budget_view import guarantee_of
from quaestor.service.pages.content.price_view import attack_view
from quaestor.service.pages.layout import page
from quaestor.service.routes.accounts import list_accounts
from quaestor.service.routes.datasets import list_datasets
from quaestor.service.rules import SIGNED_IN, RouteFamily, SomebodyKnown

__all__ = ["routes"]

routes = RouteFamily("/datasets", in_schema=False)


@routes.get("", may=SIGNED_IN)
def datasets_page(request: Request, service: TheService, caller: SomebodyKnown) -> Response:
    """Every dataset with its tables, and the accounts that pay for questions about it."""
    listed = list_datasets(service)
    accounts = list_accounts(service, caller)["accounts"]
    beliefs = {
        each["name"]: None if by_blocks(each) else attack_view(each["epsilon"], each["delta"])
        for each in accounts
    }
    return page(
        "datasets.html",
        request,
        datasets=listed["datasets"],
        public_tables=listed["public_tables"],
        accounts=accounts,
        beliefs=beliefs,
        guarantees={each["name"]: guarantee_of(each["promise"]) for each in accounts},
        address=str(request.base_url).rstrip("/"),
    )
