"""Accounts: what is left, of the account or of one's own quota, and how it got there."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any

from fastapi import Query

from quaestor.errors import NotAllowed, UnknownAccount, UnknownAnalyst
from quaestor.ledger import thinned
from quaestor.service.account_views import account_view, entry_view, may_ask
from quaestor.service.core import TheService
from quaestor.service.problems import plain
from quaestor.service.rules import SIGNED_IN, RouteFamily, SomebodyKnown, only

__all__ = ["routes"]

routes = RouteFamily("/api/v1/accounts", tag="accounts")


@routes.get("", may=SIGNED_IN)
def list_accounts(service: TheService, caller: SomebodyKnown) -> dict[str, Any]:
    """The accounts that you can ask on, or oversee, and what is left of each."""
    seen = [each for each in service.ledger.accounts() if may_ask(each, caller)]
    return {"accounts": [plain(account_view(service, each.name, caller)) for each in seen]}


@routes.get("/{account}", may=SIGNED_IN)
def show_account(account: str, service: TheService, caller: SomebodyKnown) -> dict[str, Any]:
    """One account: what it promises, and what is left of it or, with quotas, of yours."""
    view: dict[str, Any] = plain(account_view(service, account, caller))
    return view


@routes.get("/{account}/standing", may=only("owner", "auditor", "approver"))
def show_standing(account: str, service: TheService) -> dict[str, Any]:
    """Everything that its owner asks of an account: all quotas, what was lost, its head."""
    standing: dict[str, Any] = plain(service.ledger.account(account).standing().to_dict())
    return standing


@routes.get("/{account}/history", may=SIGNED_IN)
def show_history(
    account: str,
    service: TheService,
    caller: SomebodyKnown,
    most: Annotated[int, Query(ge=2, le=10_000)] = 500,
) -> dict[str, Any]:
    """The balance over time: of the account or, with quotas, of your own."""
    found = service.ledger.account(account)
    if not may_ask(found, caller):
        raise UnknownAnalyst(caller.name, account=account, near=None)
    history = found.history(analyst=service.seen_by(caller, found))
    said: dict[str, Any] = plain(thinned(history, most=most).to_dict())
    return said


@routes.get("/{account}/entries", may=SIGNED_IN)
def list_entries(
    account: str,
    service: TheService,
    caller: SomebodyKnown,
    after: Annotated[int, Query(ge=0, le=2**53)] = 0,
    most: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> dict[str, Any]:
    """Charges: your own or, for those who oversee the account, all, after number ``after``."""
    found = service.ledger.account(account)
    if not caller.oversees:
        own = (e for e in found.entries() if e.analyst == caller.name)
        numbered = enumerate(own, 1)  # the ledger's numbers would tell of others
        chosen = ((place, entry) for place, entry in numbered if place > after)
    else:
        chosen = ((entry.number, entry) for entry in found.entries(after=after))
    listed = [plain(entry_view(entry, number)) for number, entry in islice(chosen, most)]
    return {"account": found.name, "entries": listed}


@routes.get("/{account}/quota", may=only("analyst"))
def show_quota(account: str, service: TheService, caller: SomebodyKnown) -> dict[str, Any]:
    """Your own quota of an account, meter by meter."""
    found = service.ledger.account(account)
    if not found.definition.shares:
        raise NotAllowed((), problem=f"account {found.name!r} has no quotas: see the account")
    if not may_ask(found, caller):
        raise UnknownAccount(account, near=None)
    meters = [each.to_dict() for each in found.remaining(analyst=caller.name)]
    return {"account": found.name, "analyst": caller.name, "meters": plain(meters)}
