"""The ``ledger`` commands for operators: backups, heads, what is left behind, a wrong clock."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quaestor.cli.arguments.opened_ledger import opened
from quaestor.cli.drawing.numbers import print_json, print_words, say
from quaestor.cli.options import HERE, Json, LedgerPlace

if TYPE_CHECKING:
    from quaestor.ledger import Verification

__all__ = ["backup", "clock", "heads", "pending", "restore"]


def heads(ledger: LedgerPlace = HERE, json: Json = False) -> None:  # noqa: FBT002
    """Print the head of every account: note them where those who write to the ledger cannot.

    Append them to a file, from cron for instance; [bold]ledger verify --heads[/bold] reads it.
    """
    with opened(ledger, read_only=True) as book:
        found = book.heads()
    if json:
        print_json({"heads": found})
        return
    for name, head in found.items():
        say(f"{name}={head}", plain=True)


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file for the backup.")],
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Write one consistent state of the ledger to a new file, while others go on charging.

    The backup is verified. It can be read like a ledger, and takes no charges until it is restored.
    """
    from quaestor.ledger import backup_ledger

    with opened(ledger, read_only=True) as book:
        verified = backup_ledger(book, file)
    _report(verified, {"backup": str(file)}, json=json)
    if not json:
        say(f"backup written to {file}, and verified", plain=True)


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A backup.")],
    reason: Annotated[
        str, typer.Option("--reason", help="Why, in one line; recorded in every account's chain.")
    ],
    heads: Annotated[
        Path | None,
        typer.Option("--heads", metavar="FILE", help="Noted heads, which the backup must contain."),
    ] = None,
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Make a ledger of a backup, at a place where there is none.

    What was charged after the backup is not in it, though it was spent: give the heads that were
    noted last, and a backup that is older than they are is refused.
    """
    from quaestor.curator.catalog.nearest import ledger_address
    from quaestor.ledger import restore_ledger
    from quaestor.ledger.journal.noted_heads import read_heads

    noted = read_heads(heads) if heads else None
    verified = restore_ledger(file, ledger_address(ledger), reason=reason, heads=noted)
    _report(verified, {"restored": str(file)}, json=json)
    if not json:
        say("restored and verified; start every process that uses the ledger again", plain=True)


def pending(
    account: Annotated[
        str | None, typer.Argument(metavar="[ACCOUNT]", help="If not all.", show_default=False)
    ] = None,
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Charges that are not settled: how old, by whom, and the one safe thing to do about each."""
    with opened(ledger, read_only=True) as book:
        found = book.pending(account=account)
    if json:
        print_json({"pending": [each.to_dict() for each in found]})
        return
    if not found:
        say("nothing is left behind")
        return
    rows = [
        [
            f"{each.account} {each.entry}",
            _ago(each.age),
            " at ".join(filter(None, (each.analyst, each.holder))),
            each.state,
            each.advice,
        ]
        for each in found
    ]
    heads = ["#entry", "#age", "by", "state", "what to do"]
    print_words(heads, rows)


def _ago(seconds: float) -> str:
    """An age in the largest unit of which there are at least two."""
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} seconds"


def clock(
    account: Annotated[str, typer.Argument(metavar="ACCOUNT", help="Whose last entry is wrong.")],
    reason: Annotated[
        str, typer.Option("--reason", help="What happened, in one line; recorded in the chain.")
    ],
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Accept the present time for an account whose last entry was made under a clock in the future.

    Without this the account takes nothing until that time has come. Set the clock right first.
    """
    with opened(ledger) as book:
        payer = book.account(account)
        before = payer.state().time
        payer.accept_clock(reason)
        state = payer.state()
    if json:
        print_json({"account": account, "before": before, "time": state.time, "head": state.head})
        return
    say(f"account {account} goes on at {state.time}; its last entry was of {before}", plain=True)


def _report(verified: tuple[Verification, ...], described: dict[str, str], *, json: bool) -> None:
    if json:
        listed = [
            {"account": v.account, "events": v.events, "entries": v.entries, "head": v.head}
            for v in verified
        ]
        print_json({**described, "accounts": listed})
        return
    for each in verified:
        say(f"{each.account}={each.head}", plain=True)
