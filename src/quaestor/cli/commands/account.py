"""The ``account`` commands: open a budget, see how it stands, charge it, close it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from quaestor.accounting.expressions import parse_releases
from quaestor.cli.commands.account_options import Asked, PolicyKind, defined, query_in
from quaestor.cli.commands.catalog import CatalogFile, catalog_path
from quaestor.cli.commands.composition import Expressions, Json
from quaestor.cli.drawing.account_bars import (
    bar_and_percent,
    left_in_words,
    print_promise,
    print_standing,
    print_what_fits,
    unit_in_words,
)
from quaestor.cli.drawing.numbers import print_json, print_table, say
from quaestor.cli.ledger_place import HERE, Place, opened
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.accounting.releases import Release
    from quaestor.ledger import Account, Price
    from quaestor.ledger.standing import HolderStanding

__all__ = ["account", "charge", "close", "list_accounts", "open_account", "price", "show"]

account = typer.Typer(
    help="Budgets: how much may be lost, of which datasets, by which policy.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The account.", show_default=False)]
Dataset = Annotated[
    str | None, typer.Option("--dataset", help="Whom it is about, if the account has several.")
]
Analyst = Annotated[str, typer.Option("--analyst", help="Who asks; needed where there are quotas.")]
Query = Annotated[
    str,
    typer.Option(
        "--query", help="Dashboard: the file that holds the query. Otherwise the query's name."
    ),
]


@account.command("open")
def open_account(  # noqa: PLR0913  # an account has as many sides
    name: Name,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", "-e", help="The total epsilon.")
    ] = None,
    delta: Annotated[float | None, typer.Option("--delta", "-d", help="The total delta.")] = None,
    dataset: Annotated[
        list[str] | None, typer.Option("--dataset", help="Whom answers will be about; repeat it.")
    ] = None,
    policy: Annotated[
        PolicyKind | None,
        typer.Option("--policy", help="If not the one that goes with what else is given."),
    ] = None,
    expected: Annotated[
        list[str] | None,
        typer.Option("--expected", metavar="RELEASE", help="Open: what will mostly be asked."),
    ] = None,
    plan: Annotated[
        list[str] | None,
        typer.Option("--plan", metavar="[DATASET:] RELEASE", help="Planned: what will be asked."),
    ] = None,
    query: Annotated[
        list[str] | None,
        typer.Option(
            "--query",
            metavar="FILE=[DATASET:] RELEASE",
            help="Dashboard: a query, by the file that holds its text.",
        ),
    ] = None,
    quota: Annotated[
        list[str] | None,
        typer.Option(
            "--quota",
            "--share",
            metavar="ANALYST=EPSILON,DELTA",
            help="How much of the budget one analyst may use; * is each of the others.",
        ),
    ] = None,
    plan_file: Annotated[
        Path | None,
        typer.Option("--plan-file", help="A TOML file: datasets, releases, facts."),
    ] = None,
    neighbours: Annotated[
        str | None, typer.Option("--neighbours", help="add_remove, replace or replace_record.")
    ] = None,
    beside: Annotated[  # noqa: FBT002
        bool, typer.Option("--beside", help="Others may cover the datasets too: losses add up.")
    ] = False,
    catalog: CatalogFile = None,
    ledger: Place = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Open an account, once; what it promises is fixed from here on.

    Without --epsilon and --delta it is the account of that name in the catalog, as planned there.

    The policy is [bold]open[/bold] (anything may be asked until a filter says stop),
    [bold]planned[/bold] (what is released is declared) or [bold]dashboard[/bold] (the queries are).
    """
    if epsilon is None and delta is None:
        _open_planned(name, catalog_path(catalog), given=ledger, json=json)
        return
    if epsilon is None or delta is None:
        missing = "epsilon" if epsilon is None else "delta"
        raise InvalidParameter(missing, None, "given too, or neither: then the catalog plans it")
    asked = Asked(
        name=name,
        epsilon=epsilon,
        delta=delta,
        datasets=tuple(dataset or ()),
        policy=policy,
        expected=tuple(expected or ()),
        plan=tuple(plan or ()),
        queries=tuple(query or ()),
        quotas=tuple(quota or ()),
        plan_file=plan_file,
        neighbours=neighbours,
        beside=beside,
    )
    definition = defined(asked)
    with opened(ledger, create=True) as book:
        _print_opened(book.open_account(definition), json=json)


def _open_planned(name: str, path: Path, *, given: str | None, json: bool) -> None:
    """Open an account as the catalog plans it, in the ledger that the catalog names."""
    from quaestor.curator.accounts import definition_of
    from quaestor.curator.catalog.catalog_file import read_catalog

    known = read_catalog(path)
    definition = definition_of(known, name)
    with opened(given or known.ledger_address(), create=True) as book:
        _print_opened(book.open_account(definition), json=json)


def _print_opened(account: Account, *, json: bool) -> None:
    standing = account.standing()
    if json:
        print_json(standing.to_dict())
        return
    print_promise(standing)
    print_what_fits(standing)


@account.command("show")
def show(
    name: Name,
    dataset: Annotated[
        str | None, typer.Option("--dataset", help="Only how it stands on this one.")
    ] = None,
    ledger: Place = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """How an account stands: what is burnt, what is left, and what still fits."""
    with opened(ledger) as book:
        standing = book.account(name).standing(dataset=dataset)
        if json:
            print_json(standing.to_dict())
            return
        print_standing(standing)


@account.command("list")
def list_accounts(ledger: Place = HERE, json: Json = False) -> None:  # noqa: FBT002
    """All accounts, and how much of each is left."""
    with opened(ledger) as book:
        accounts = book.accounts()
        least = [each.least_left() for each in accounts]
        listed = [_line(each, on) for each, on in zip(accounts, least, strict=True)]
    if json:
        print_json({"accounts": listed})
        return
    if not listed:
        say("The ledger has no accounts yet; run  quaestor account open")
        return
    rows = [
        [
            line["account"],
            line["policy"] + _condition(line),
            repr(line["epsilon"]),
            repr(line["delta"]),
            _some(line["datasets"]),
            bar_and_percent(on.left, cells=8),
            str(line["entries"]),
        ]
        for line, on in zip(listed, least, strict=True)
    ]
    heads = ["account", "policy", "#epsilon", "#delta", "datasets", "#left", "#entries"]
    print_table("", heads, [[escape(cell) for cell in row] for row in rows])


def _condition(line: dict[str, Any]) -> str:
    if line["status"] == "closed":
        return ", closed"
    return ", overdrawn" if line["problem"] is not None else ""


def _line(account: Account, least: HolderStanding) -> dict[str, Any]:
    from quaestor.ledger.amounts import above

    definition, state = account.definition, account.state()
    return {
        "account": account.name,
        "status": "closed" if state.closed else "open",
        "problem": account.problem(),
        "policy": definition.policy.kind,
        "epsilon": definition.epsilon,
        "delta": definition.delta,
        "datasets": list(definition.datasets),
        "used": above(least.used),
        "entries": state.entries,
    }


@account.command("price")
def price(  # noqa: PLR0913  # what is asked, of whom
    name: Name,
    releases: Expressions,
    dataset: Dataset = None,
    analyst: Analyst = "",
    query: Query = "",
    ledger: Place = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """What releases would cost, and whether they fit; nothing is charged.

    Where there are quotas, --analyst asks about that analyst's quota, and no name about the total.
    """
    wanted = _parsed(releases)
    with opened(ledger) as book:
        payer = book.account(name)
        asked = _asked(payer, query)
        priced = payer.price(wanted, dataset=dataset, analyst=analyst, **asked)
    if json:
        print_json(priced.to_dict())
        return
    _print_price(priced)


@account.command("charge")
def charge(  # noqa: PLR0913  # what an entry says
    name: Name,
    releases: Expressions,
    dataset: Dataset = None,
    analyst: Analyst = "",
    purpose: Annotated[str, typer.Option("--purpose", help="Why, in one line.")] = "",
    query: Query = "",
    key: Annotated[
        str, typer.Option("--key", help="Your name for this charge: the same again costs nothing.")
    ] = "",
    ledger: Place = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Charge for releases that something else will make: do so only if this is done.

    The exit status is 3 if they do not fit; nothing is charged then. With --key the same command
    can be repeated safely: it is charged once.
    """
    wanted = _parsed(releases)
    with opened(ledger) as book:
        payer = book.account(name)
        asked = _asked(payer, query)
        with payer.reserve(
            wanted, dataset=dataset, analyst=analyst, purpose=purpose, key=key, **asked
        ) as made:
            if made.status != "released":
                made.release()
        price = payer.price(wanted, dataset=dataset, analyst=analyst, **asked)
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
    say(f"{left} would fit{_of_quota(price)}", plain=True)


@account.command("close")
def close(name: Name, ledger: Place = HERE, json: Json = False) -> None:  # noqa: FBT002
    """Take no further charges, for good; entries and answers can still be read."""
    with opened(ledger) as book:
        closing = book.account(name)
        closing.close()
        head = closing.state().head
    if json:
        print_json({"account": name, "status": "closed", "head": head})
        return
    say(f"account {name} is closed, for good; its entries can still be read", plain=True)


def _asked(account: Account, query: str) -> dict[str, str]:
    """How a query is presented: a dashboard of digests wants its text, others take any name."""
    if account.definition.policy.needs_query_text:
        return {"query_text": query_in(query)}
    return {"query": query}


def _parsed(releases: list[str]) -> list[Release]:
    return [release for text in releases for release in parse_releases(text)]


def _print_price(priced: Price) -> None:
    say(("it fits" if priced.fits else "it does [bold]not[/bold] fit") + escape(_of_quota(priced)))
    print_table(
        "",
        ["meter", ""],
        [[escape(reading.title), escape(reading.words())] for reading in priced.readings],
    )
    if priced.would_fit is not None:
        say(f"instead, {priced.would_fit} would fit{_of_quota(priced)}", plain=True)
    from quaestor.ledger.price import MANY

    count = "any number" if priced.left >= MANY else priced.left
    say(f"{count} of {unit_in_words(priced.releases)} would fit in all", plain=True)


def _of_quota(priced: Price) -> str:
    return "" if priced.quota_of is None else f" {priced.quota_of}'s quota"


def _some(names: list[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
