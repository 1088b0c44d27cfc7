"""The ``account approvals``, ``approve`` and ``decline`` commands: what may be asked."""

from __future__ import annotations

from typing import Annotated

import typer

from quaestor.cli.arguments.opened_ledger import opened
from quaestor.cli.drawing.numbers import print_json, print_words, say
from quaestor.cli.options import HERE, AccountName, Json, LedgerPlace

__all__ = ["approvals", "approve", "decline"]

Submitted = Annotated[
    str, typer.Argument(metavar="ID", help="What account submit has printed.", show_default=False)
]
By = Annotated[str, typer.Option("--by", help="Who decides: somebody else than who asks.")]
Reason = Annotated[str, typer.Option("--reason", help="Why, kept in the ledger.")]


def approvals(
    name: AccountName,
    analyst: Annotated[str, typer.Option("--analyst", help="Only what this one submitted.")] = "",
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """What was submitted to an account, and what was decided about it."""
    with opened(ledger) as book:
        listed = book.account(name).approvals(analyst=analyst)
    if json:
        print_json({"account": name, "approvals": [each.to_dict() for each in listed]})
        return
    if not listed:
        say("Nothing was submitted.")
        return
    rows = [
        [
            each.id,
            each.status,
            each.analyst,
            each.dataset,
            " + ".join(map(str, each.releases)),
            each.purpose,
            each.decided_by,
        ]
        for each in listed
    ]
    print_words(["id", "status", "analyst", "dataset", "releases", "purpose", "decided by"], rows)


def approve(  # noqa: PLR0913  # who decides what, and why
    name: AccountName,
    submitted: Submitted,
    by: By,
    reason: Reason = "",
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Let what somebody else has submitted be asked, exactly and once."""
    with opened(ledger) as book:
        book.account(name).approve(submitted, by=by, reason=reason)
    _decided(name, submitted, "approved", by, json=json)


def decline(  # noqa: PLR0913  # who decides what, and why
    name: AccountName,
    submitted: Submitted,
    by: By,
    reason: Reason = "",
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Do not let what somebody else has submitted be asked, for good."""
    with opened(ledger) as book:
        book.account(name).decline(submitted, by=by, reason=reason)
    _decided(name, submitted, "declined", by, json=json)


def _decided(name: str, submitted: str, status: str, by: str, *, json: bool) -> None:
    if json:
        print_json({"account": name, "approval": submitted, "status": status, "decided_by": by})
        return
    say(f"submission {submitted} to account {name} is {status} by {by}", plain=True)
