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
    """Print the head of every account; record them where ledger users have no write access.

    Append them to a file, for example from cron; [bold]ledger verify --heads[/bold] reads it.
    """
    with opened(ledger, read_only=True) as book:
        found = book.heads()
    if json:
        print_json({"heads": found})
        return
    for name, head in found.items():
        say(f"{name}={head}", plain=True)


def backup(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The file for the backup; it must not exist yet.")
    ],
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Back up the ledger to a new file while others keep using it.

    The backup is verified. It can be read like a ledger, and takes no charges until it is restored.
    """
    from quaestor.ledger import backup_ledger

    with opened(ledger, read_only=True) as book:
        verified = backup_ledger(book, file)
    _report(verified, {"backup": str(file)}, json=json)
    if not json:
        say(f"backup written to {file} and verified", plain=True)


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The backup file.")],
    reason: Annotated[
        str, typer.Option("--reason", help="The reason, in one line; stored in the ledger.")
    ],
    heads: Annotated[
        Path | None,
        typer.Option(
            "--heads", metavar="FILE", help="A file of recorded heads that the backup must contain."
        ),
    ] = None,
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Restore a ledger from a backup, at a place where there is no ledger.

    Charges made after the backup are not in it, although they were spent. With --heads, a backup
    that is older than the recorded heads is refused.
    """
    from quaestor.curator.catalog.nearest import ledger_address
    from quaestor.ledger import restore_ledger
    from quaestor.ledger.journal.noted_heads import read_heads

    noted = read_heads(heads) if heads else None
    verified = restore_ledger(file, ledger_address(ledger), reason=reason, heads=noted)
    _report(verified, {"restored": str(file)}, json=json)
    if not json:
        say("restored and verified; now restart every process that uses the ledger", plain=True)


def pending(
    account: Annotated[
        str | None,
        typer.Argument(
            metavar="[ACCOUNT]",
            help="The name of an account; by default all accounts.",
            show_default=False,
        ),
    ] = None,
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """List charges that are not settled, with their age, analyst and the one safe action."""
    with opened(ledger, read_only=True) as book:
        found = book.pending(account=account)
    if json:
        print_json({"pending": [each.to_dict() for each in found]})
        return
    if not found:
        say("all charges are settled")
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
    account: Annotated[
        str,
        typer.Argument(
            metavar="ACCOUNT", help="The account whose last entry has a time in the future."
        ),
    ],
    reason: Annotated[
        str, typer.Option("--reason", help="What happened, in one line; stored in the ledger.")
    ],
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Accept the current time for an account whose last entry has a time in the future.

    Until then the account takes no charges. Correct the system clock first.
    """
    with opened(ledger) as book:
        payer = book.account(account)
        before = payer.state().time
        payer.accept_clock(reason)
        state = payer.state()
    if json:
        print_json({"account": account, "before": before, "time": state.time, "head": state.head})
        return
    say(
        (f"account {account} continues at {state.time}; the time of its last entry was {before}"),
        plain=True,
    )


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
