"""The ``account approvals``, ``approve`` and ``decline`` commands: what may be asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from quaestor.cli.arguments.opened_ledger import opened
from quaestor.cli.drawing.numbers import print_json, print_words, say
from quaestor.cli.options import HERE, AccountName, Json, LedgerPlace

if TYPE_CHECKING:
    from quaestor.ledger import Submission

__all__ = ["approvals", "approve", "decline"]

Submitted = Annotated[
    str,
    typer.Argument(
        metavar="ID", help='The approval ID that "account submit" printed.', show_default=False
    ),
]
By = Annotated[
    str, typer.Option("--by", help="The name of the person who decides; not the analyst who asks.")
]
Reason = Annotated[
    str, typer.Option("--reason", help="The reason, in one line; stored in the ledger.")
]


def approvals(
    name: AccountName,
    analyst: Annotated[
        str, typer.Option("--analyst", help="Show only what this analyst submitted.")
    ] = "",
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """List what was submitted to an account for approval, and what was decided."""
    with opened(ledger) as book:
        listed = book.account(name).approvals(analyst=analyst)
    if json:
        print_json({"account": name, "approvals": [each.to_dict() for each in listed]})
        return
    if not listed:
        say("There are no submissions.")
        return
    rows = [row for each in listed for row in _rows(each)]
    print_words(["#id", "status", "analyst", "dataset", "releases", "purpose", "decided by"], rows)


def _rows(each: Submission) -> list[list[str]]:
    """A question in one line; a plan in one line, and one for each of its questions."""
    from quaestor.ledger.stored_text import shown_blocks

    status, count = each.status, len(each.questions)
    if each.used and status == "approved":
        status = f"{each.used} of {count} used"
    what = f"plan of {count}" if count else " + ".join(map(str, each.releases))
    blocks = f" ({shown_blocks(each.blocks)})" if each.blocks else ""
    dataset = f"{each.dataset}{blocks}"
    if each.plan and not count:
        return [["", each.status, "", dataset, what, each.purpose, ""]]
    purpose = "" if count else each.purpose
    first = [each.id, status, each.analyst, dataset, what, purpose, each.decided_by]
    return [first, *(row for question in each.questions for row in _rows(question))]


def approve(  # noqa: PLR0913  # who decides what, and why
    name: AccountName,
    submitted: Submitted,
    by: By,
    reason: Reason = "",
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Approve what another person submitted: it may be asked once, unchanged; a plan as a whole."""
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
    """Decline what another person submitted, permanently; a plan as a whole."""
    with opened(ledger) as book:
        book.account(name).decline(submitted, by=by, reason=reason)
    _decided(name, submitted, "declined", by, json=json)


def _decided(name: str, submitted: str, status: str, by: str, *, json: bool) -> None:
    if json:
        print_json({"account": name, "approval": submitted, "status": status, "decided_by": by})
        return
    say(f"submission {submitted} to account {name} was {status} by {by}", plain=True)
