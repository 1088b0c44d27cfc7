"""The ``account`` commands: how budgets stand, what releases cost, charging and closing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from quaestor.cli.arguments.files import query_text
from quaestor.cli.arguments.opened_ledger import opened
from quaestor.cli.arguments.release_list import read_releases
from quaestor.cli.drawing.accounts import (
    left_in_words,
    of_quota,
    print_accounts,
    print_price,
    print_standing,
    unit_in_words,
)
from quaestor.cli.drawing.numbers import print_json, say
from quaestor.cli.options import HERE, REFUSED, AccountName, Expressions, Json, LedgerPlace, Verbose
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.accounting.releases import Release
    from quaestor.ledger import Account

__all__ = ["account", "charge", "close", "list_accounts", "price", "show"]

account = typer.Typer(
    help=("Open, inspect and charge budgets: accounts that limit the privacy loss of datasets."),
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Dataset = Annotated[
    str | None,
    typer.Option(
        "--dataset",
        help="The dataset that the releases are about; needed if the account has several.",
    ),
]
Analyst = Annotated[
    str,
    typer.Option("--analyst", help="The name of the analyst; needed if the account has quotas."),
]
Block = Annotated[
    list[str] | None,
    typer.Option(
        "--block",
        help=(
            "Policy blocks: a month, quarter or year to charge, such as 2024-01; repeat "
            "for several."
        ),
    ),
]
Query = Annotated[
    str,
    typer.Option(
        "--query",
        help=(
            "Policy dashboard: the file with the text of the query. Other policies: the "
            "name of the query."
        ),
    ),
]


def show(
    name: AccountName,
    dataset: Annotated[
        str | None, typer.Option("--dataset", help="Show this dataset only.")
    ] = None,
    ledger: LedgerPlace = HERE,
    verbose: Verbose = False,  # noqa: FBT002
    json: Json = False,  # noqa: FBT002
) -> None:
    """Show an account: its guarantee, how much budget is left, and what still fits."""
    with opened(ledger) as book:
        standing = book.account(name).standing(dataset=dataset)
        if json:
            print_json(standing.to_dict())
            return
        print_standing(standing, verbose=verbose)


def list_accounts(ledger: LedgerPlace = HERE, json: Json = False) -> None:  # noqa: FBT002
    """List all accounts and how much budget each has left."""
    from quaestor.curator.reports.account_summary import summary_of

    with opened(ledger) as book:
        listed = [summary_of(each) for each in book.accounts()]
    if json:
        print_json({"accounts": [each.to_dict() for each in listed]})
        return
    if not listed:
        say(
            "The ledger has no accounts yet. Open one with  quaestor account open NAME "
            "--epsilon 1 --delta 1e-6 --dataset DATASET"
        )
        return
    print_accounts(listed)


def price(  # noqa: PLR0913  # what is asked, of whom
    name: AccountName,
    releases: Expressions,
    dataset: Dataset = None,
    analyst: Analyst = "",
    query: Query = "",
    block: Block = None,
    ledger: LedgerPlace = HERE,
    verbose: Verbose = False,  # noqa: FBT002
    json: Json = False,  # noqa: FBT002
) -> None:
    """Show what releases would cost and whether they fit; nothing is charged.

    The exit status is 3 if they do not fit.

    If the account has quotas, --analyst shows that analyst's quota; without it, the total is shown.
    """
    wanted = _parsed(releases)
    with opened(ledger) as book:
        payer = book.account(name)
        asked, blocks = _asked(payer, query), block or ()
        priced = payer.price(wanted, dataset=dataset, analyst=analyst, blocks=blocks, **asked)
    if json:
        print_json(priced.to_dict())
    else:
        print_price(priced, verbose=verbose)
    if not priced.fits:
        raise typer.Exit(REFUSED)


def charge(  # noqa: PLR0913  # what an entry says
    name: AccountName,
    releases: Expressions,
    dataset: Dataset = None,
    analyst: Analyst = "",
    purpose: Annotated[
        str,
        typer.Option(
            "--purpose", help="The purpose of the charge, in one line; stored in the ledger."
        ),
    ] = "",
    query: Query = "",
    key: Annotated[
        str,
        typer.Option(
            "--key",
            help=(
                "Your own name for this charge: repeating the command with it charges nothing more."
            ),
        ),
    ] = "",
    block: Block = None,
    submit: Annotated[  # noqa: FBT002
        bool, typer.Option("--submit", help="Ask for approval instead of charging.")
    ] = False,
    approval: Annotated[
        str,
        typer.Option("--approval", help="The approval ID that --submit printed, once approved."),
    ] = "",
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Charge for releases that another program will make; make them only if this succeeds.

    The exit status is 3 if they do not fit; nothing is charged then. With --key you can repeat
    the same command safely: it is charged once. If the account requires approval, run it with
    --submit first, and with --approval ID once another person has approved it.
    """
    if submit and (approval or key):
        raise InvalidParameter(
            "--submit", "together with --approval or --key", "given without --approval and --key"
        )
    wanted = _parsed(releases)
    with opened(ledger) as book:
        payer = book.account(name)
        asked, blocks = _asked(payer, query), block or ()
        said: dict[str, Any] = {
            "dataset": dataset,
            "analyst": analyst,
            "purpose": purpose,
            "blocks": blocks,
            **asked,
        }
        if submit:
            _submitted(name, payer.submit(wanted, **said), json=json)
            return
        with payer.reserve(wanted, key=key, approval=approval, **said) as made:
            if made.status != "released":
                made.release()
        price = payer.price(wanted, dataset=dataset, analyst=analyst, blocks=blocks, **asked)
        receipt = made.receipt
    texts = [str(release) for release in wanted]
    # an entry's number would tell an analyst who has a quota how often others have charged
    kind = "entry" if price.quota_of is None else "receipt"
    if json:
        print_json(
            {
                "account": name,
                kind: receipt,
                "releases": texts,
                "left": price.left,
                "repeated": made.repeated,
            }
        )
        return
    whose = "" if price.quota_of is None else f" of {price.quota_of}"
    charged = "already charged" if made.repeated else "charged"
    say(f"{charged} to {name} as {kind} {receipt}{whose}: {' + '.join(texts)}", plain=True)
    left = left_in_words(unit_in_words(wanted), price.left)
    say(f"{left} would fit{of_quota(price)}", plain=True)


def close(name: AccountName, ledger: LedgerPlace = HERE, json: Json = False) -> None:  # noqa: FBT002
    """Close an account permanently: no more charges; entries and answers stay readable."""
    with opened(ledger) as book:
        closing = book.account(name)
        closing.close()
        head = closing.state().head
    if json:
        print_json({"account": name, "status": "closed", "head": head})
        return
    say(f"account {name} is now closed permanently; its entries can still be read", plain=True)


def _submitted(name: str, made: str, *, json: bool) -> None:
    if json:
        print_json({"account": name, "approval": made, "status": "submitted"})
        return
    say(f"submitted to account {name} as {made}: another person can approve it", plain=True)
    say(
        f"After approval, repeat the command with  --approval {made}  instead of  --submit",
        plain=True,
    )


def _asked(account: Account, query: str) -> dict[str, str]:
    """How a query is presented: a dashboard of digests wants its text, others take any name."""
    if account.definition.policy.needs_query_text:
        return {"query_text": query_text(query)}
    return {"query": query}


def _parsed(releases: list[str]) -> list[Release]:
    return read_releases(releases)
