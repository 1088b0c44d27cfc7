"""The ``account`` commands: how budgets stand, what releases cost, charging and closing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from quaestor.accounting.expressions import parse_releases
from quaestor.cli.arguments.files import query_text
from quaestor.cli.arguments.opened_ledger import opened
from quaestor.cli.drawing.accounts import (
    left_in_words,
    of_quota,
    print_accounts,
    print_price,
    print_standing,
    unit_in_words,
)
from quaestor.cli.drawing.numbers import print_json, say
from quaestor.cli.options import HERE, REFUSED, AccountName, Expressions, Json, LedgerPlace
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.accounting.releases import Release
    from quaestor.ledger import Account

__all__ = ["account", "charge", "close", "list_accounts", "price", "show"]

account = typer.Typer(
    help="Budgets: how much may be lost, of which datasets, by which policy.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Dataset = Annotated[
    str | None, typer.Option("--dataset", help="Whom it is about, if the account has several.")
]
Analyst = Annotated[str, typer.Option("--analyst", help="Who asks; needed where there are quotas.")]
Block = Annotated[
    list[str] | None,
    typer.Option("--block", help="Blocks: a month, quarter or year that pays; repeat it."),
]
Query = Annotated[
    str,
    typer.Option(
        "--query", help="Dashboard: the file that holds the query. Otherwise the query's name."
    ),
]


def show(
    name: AccountName,
    dataset: Annotated[
        str | None, typer.Option("--dataset", help="Only how it stands on this one.")
    ] = None,
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """How an account stands: what is burnt, what is left, and what still fits."""
    with opened(ledger) as book:
        standing = book.account(name).standing(dataset=dataset)
        if json:
            print_json(standing.to_dict())
            return
        print_standing(standing)


def list_accounts(ledger: LedgerPlace = HERE, json: Json = False) -> None:  # noqa: FBT002
    """All accounts, and how much of each is left."""
    from quaestor.curator.reports.account_summary import summary_of

    with opened(ledger) as book:
        listed = [summary_of(each) for each in book.accounts()]
    if json:
        print_json({"accounts": [each.to_dict() for each in listed]})
        return
    if not listed:
        say("The ledger has no accounts yet; run  quaestor account open")
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
    json: Json = False,  # noqa: FBT002
) -> None:
    """What releases would cost, and whether they fit; nothing is charged.

    Exit status 3: they do not fit.

    Where there are quotas, --analyst asks about that analyst's quota, and no name about the total.
    """
    wanted = _parsed(releases)
    with opened(ledger) as book:
        payer = book.account(name)
        asked, blocks = _asked(payer, query), block or ()
        priced = payer.price(wanted, dataset=dataset, analyst=analyst, blocks=blocks, **asked)
    if json:
        print_json(priced.to_dict())
    else:
        print_price(priced)
    if not priced.fits:
        raise typer.Exit(REFUSED)


def charge(  # noqa: PLR0913  # what an entry says
    name: AccountName,
    releases: Expressions,
    dataset: Dataset = None,
    analyst: Analyst = "",
    purpose: Annotated[str, typer.Option("--purpose", help="Why, in one line.")] = "",
    query: Query = "",
    key: Annotated[
        str, typer.Option("--key", help="Your name for this charge: the same again costs nothing.")
    ] = "",
    block: Block = None,
    submit: Annotated[  # noqa: FBT002
        bool, typer.Option("--submit", help="Ask for approval instead; nothing is charged.")
    ] = False,
    approval: Annotated[
        str, typer.Option("--approval", help="What --submit has printed, once approved.")
    ] = "",
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Charge for releases that something else will make: do so only if this is done.

    The exit status is 3 if they do not fit; nothing is charged then. With --key the same command
    can be repeated safely: it is charged once. Where the account demands approval, run it with
    --submit first, and with --approval ID once somebody else has approved it.
    """
    if submit and (approval or key):
        raise InvalidParameter("--submit", "given beside --approval or --key", "given alone")
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
    charged = "charged before" if made.repeated else "charged"
    say(f"{charged} to {name} as {kind} {receipt}{whose}: {' + '.join(texts)}", plain=True)
    left = left_in_words(unit_in_words(wanted), price.left)
    say(f"{left} would fit{of_quota(price)}", plain=True)


def close(name: AccountName, ledger: LedgerPlace = HERE, json: Json = False) -> None:  # noqa: FBT002
    """Take no further charges, for good; entries and answers can still be read."""
    with opened(ledger) as book:
        closing = book.account(name)
        closing.close()
        head = closing.state().head
    if json:
        print_json({"account": name, "status": "closed", "head": head})
        return
    say(f"account {name} is closed, for good; its entries can still be read", plain=True)


def _submitted(name: str, made: str, *, json: bool) -> None:
    if json:
        print_json({"account": name, "approval": made, "status": "submitted"})
        return
    say(f"submitted to account {name} as {made}: somebody else can approve it", plain=True)
    say(f"then repeat the command with  --approval {made}  instead of  --submit", plain=True)


def _asked(account: Account, query: str) -> dict[str, str]:
    """How a query is presented: a dashboard of digests wants its text, others take any name."""
    if account.definition.policy.needs_query_text:
        return {"query_text": query_text(query)}
    return {"query": query}


def _parsed(releases: list[str]) -> list[Release]:
    return [release for text in releases for release in parse_releases(text)]
