"""The ``ledger`` commands: read its entries, check its chain, take it out and bring history in."""

from __future__ import annotations

import json as codec
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quaestor.cli.arguments.files import writing_to
from quaestor.cli.arguments.opened_ledger import opened
from quaestor.cli.drawing.numbers import print_json, print_words, say
from quaestor.cli.options import HERE, Json, LedgerPlace
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.ledger import Account, Entry

__all__ = ["ExportForm", "export", "import_history", "ledger", "log", "verify"]

ledger = typer.Typer(
    help="Read, verify, export and back up the ledger: the record of all charges.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

_MOST_SHOWN = 60


class ExportForm(StrEnum):
    """What an export looks like."""

    JSONL = "jsonl"
    CSV = "csv"


def log(
    account: Annotated[
        str | None,
        typer.Argument(
            metavar="[ACCOUNT]",
            help="The name of an account; by default all accounts.",
            show_default=False,
        ),
    ] = None,
    last: Annotated[
        int, typer.Option("--last", min=1, help="The number of entries to print, the latest ones.")
    ] = 20,
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """List the latest entries: what was charged, when, by which analyst, why, and its status."""
    with opened(ledger, read_only=True) as book:
        accounts = book.accounts() if account is None else (book.account(account),)
        found = [(each.name, entry) for each in accounts for entry in _latest(each, last)]
        count = sum(each.state().entries for each in accounts)
    found.sort(key=lambda pair: (pair[1].time, pair[0], pair[1].number))
    shown = found[-last:]
    earlier = count - len(shown)
    if json:
        entries = [{"account": name, **entry.to_dict()} for name, entry in shown]
        print_json({"entries": entries, "earlier": earlier})
        return
    if not shown:
        say("no entries yet")
        return
    rows = [_row(entry, prefix="" if account else f"{name} ") for name, entry in shown]
    heads = ["#entry", "#time (UTC)", "status", "analyst", "releases", "purpose"]
    print_words(heads, rows)
    if earlier:
        say(f"and {earlier} earlier; --last {count} shows all")


def _latest(account: Account, last: int) -> Iterator[Entry]:
    return account.entries(after=max(0, account.state().entries - last))


def _row(entry: Entry, *, prefix: str) -> list[str]:
    released = " + ".join(map(str, entry.releases))
    if len(released) > _MOST_SHOWN:
        released = released[:_MOST_SHOWN] + "..."
    why = entry.purpose if not entry.reason else f"{entry.purpose} (void: {entry.reason})".strip()
    return [
        f"{prefix}{entry.number}",
        entry.time[:16].replace("T", " "),
        "imported" if entry.imported else entry.status,
        entry.analyst,
        released,
        why,
    ]


def verify(
    head: Annotated[
        list[str] | None,
        typer.Option(
            "--head",
            metavar="[ACCOUNT=]HASH",
            help="A head that you recorded earlier; it must still be part of the chain.",
        ),
    ] = None,
    heads: Annotated[
        Path | None,
        typer.Option(
            "--heads",
            metavar="FILE",
            help=(
                "A file of recorded heads, one per line, as [bold]ledger heads[/bold] prints them."
            ),
        ),
    ] = None,
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Verify the ledger: recompute every hash and total, and report tampering.

    It needs no write access. The exit status is 1 if the ledger was changed; the message names
    the first place.
    """
    from quaestor.ledger.journal.noted_heads import heads_of, read_heads

    with opened(ledger, read_only=True) as book:
        noted = read_heads(heads) if heads else {}
        given = heads_of(head or [], lambda: [each.name for each in book.accounts()])
        for name, digest in given.items():
            noted.setdefault(name, []).append(digest)
        checked = book.verify(heads=noted)
    if json:
        fields = ("account", "events", "entries", "head", "problem")
        listed = [{name: getattr(each, name) for name in fields} for each in checked]
        print_json({"verified": True, "accounts": listed})
        return
    for each in checked:
        say(f"{each.account}={each.head}", plain=True)
    entries = _counted(sum(each.entries for each in checked), "entry", "entries")
    accounts = _counted(len(checked), "account", "accounts")
    say(f"verified: {accounts} with {entries}, no tampering found")
    for each in checked:
        if each.problem is not None:
            say(f"account {each.account} takes no further charges: {each.problem}", plain=True)
    say("[dim]Record the heads where ledger users have no write access; see --head.[/dim]")


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def export(
    account: Annotated[
        str | None,
        typer.Argument(
            metavar="[ACCOUNT]",
            help="The name of an account; by default all accounts.",
            show_default=False,
        ),
    ] = None,
    form: Annotated[
        ExportForm, typer.Option("--format", help="The format of the export.")
    ] = ExportForm.JSONL,
    out: Annotated[
        Path | None, typer.Option("--out", help="The file to write to; by default standard output.")
    ] = None,
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Export every event, one per line, for other tools and for independent checks."""
    with opened(ledger, read_only=True) as book:
        if json and out is None:
            events = [codec.loads(line) for line in book.export("jsonl", account=account)]
            print_json({"events": events})
            return
        lines = book.export(form.value, account=account)
        if out is None:
            for line in lines:
                typer.echo(line, nl=False)
            return
        count = _write(out, lines) - (form is ExportForm.CSV)
    if json:
        print_json({"out": str(out), "format": form.value, "events": count})
        return
    say(f"{_counted(count, 'event', 'events')} written to {out}", plain=True)


def _write(out: Path, lines: Iterator[str]) -> int:
    with writing_to(out), out.open("w", encoding="utf-8", newline="") as file:
        return sum(1 for line in lines if file.write(line))


def import_history(  # noqa: PLR0913  # what an entry says
    account: Annotated[
        str, typer.Argument(metavar="ACCOUNT", help="The name of the account that pays.")
    ],
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A text file with one release per line.")
    ],
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset",
            help="The dataset that the history is about; needed if the account has several.",
        ),
    ] = None,
    analyst: Annotated[
        str,
        typer.Option(
            "--analyst", help="The name of the analyst; needed if the account has quotas."
        ),
    ] = "",
    purpose: Annotated[
        str,
        typer.Option(
            "--purpose", help="The purpose, in one line; by default the name of the file."
        ),
    ] = "",
    fixed_before: Annotated[
        str,
        typer.Option(
            "--fixed-before",
            metavar="STATEMENT",
            help="Your statement that the account's filter or plan was fixed before the first of "
            "these releases, with who fixed it and where that is documented. It is stored "
            "permanently.",
        ),
    ] = "",
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Charge for a history of releases made elsewhere: all of it, or nothing if it does not fit.

    Each line is an event as dp-accounting prints it, or a release as JSON or as an expression.

    Earlier answers may have influenced which releases were made, and which account was opened.
    Without --fixed-before an open account therefore charges the sum of epsilons and deltas, which
    is always valid; a planned account accepts no history without it.
    """
    from quaestor.interop.history_file import read_history

    releases = read_history(file)
    with opened(ledger) as book:
        payer = book.account(account)
        whose = dataset if dataset is not None else payer.definition.datasets[0]
        if dataset is None and len(payer.definition.datasets) > 1:
            valid = f"one of {', '.join(payer.definition.datasets)}"
            raise InvalidParameter("--dataset", None, valid)
        (entry,) = payer.import_history(
            {whose: releases},
            purpose=purpose or f"imported from {file.name}",
            analyst=analyst,
            fixed_before=fixed_before,
        )
    described: dict[str, Any] = {
        "account": account,
        "entry": entry,
        "dataset": whose,
        "releases": [str(release) for release in releases],
        "statement": fixed_before.strip(),
    }
    if json:
        print_json(described)
        return
    said = " + ".join(described["releases"][:5]) + (" + ..." if len(releases) > 5 else "")
    say(f"charged to {account} as entry {entry}: {said}", plain=True)
    if fixed_before.strip():
        say("charged by the account's own rule, based on your statement, which is stored")
    else:
        say("charged by the sum of epsilons and deltas, because --fixed-before was not given")
