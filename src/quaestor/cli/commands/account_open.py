"""The ``account open`` command: a budget, and what it promises from here on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quaestor.cli.arguments.opened_ledger import opened
from quaestor.cli.drawing.accounts import print_promise, print_what_fits
from quaestor.cli.drawing.numbers import print_json
from quaestor.cli.options import HERE, AccountName, CatalogFile, Json, LedgerPlace, PolicyKind
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.ledger import Account

__all__ = ["open_account"]


def open_account(  # noqa: PLR0913  # an account has as many sides
    name: AccountName,
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
    group: Annotated[
        list[str] | None,
        typer.Option(
            "--group",
            metavar="GROUP:MEMBER,MEMBER=EPSILON,DELTA",
            help="How much some analysts may use together, beside their quotas.",
        ),
    ] = None,
    plan_file: Annotated[
        Path | None,
        typer.Option("--plan-file", help="A TOML file: datasets, releases, facts."),
    ] = None,
    neighbours: Annotated[
        str | None, typer.Option("--neighbours", help="add_remove, replace or replace_record.")
    ] = None,
    every: Annotated[
        str | None, typer.Option("--every", help="Blocks: month, quarter or year.")
    ] = None,
    first: Annotated[
        str | None,
        typer.Option("--first", help="Blocks: the first one, such as 2024-01, 2024-Q1 or 2024."),
    ] = None,
    most: Annotated[
        int | None, typer.Option("--most", help="Blocks: how many of them a person is in at most.")
    ] = None,
    enforced: Annotated[  # noqa: FBT002
        bool, typer.Option("--enforced", help="Blocks: keep a person's earliest ones only.")
    ] = False,
    predecessor: Annotated[
        str,
        typer.Option(
            "--predecessor", help="Blocks: a closed account, whose past every block there is pays."
        ),
    ] = "",
    beside: Annotated[  # noqa: FBT002
        bool, typer.Option("--beside", help="Others may cover the datasets too: losses add up.")
    ] = False,
    closes: Annotated[
        str | None,
        typer.Option("--closes", metavar="DATE", help="No charges from then on, in UTC."),
    ] = None,
    succeeds: Annotated[
        str | None,
        typer.Option("--succeeds", metavar="ACCOUNT", help="The closed account it follows on."),
    ] = None,
    approval: Annotated[  # noqa: FBT002
        bool, typer.Option("--approval", help="Somebody else must approve every charge.")
    ] = False,
    approval_above: Annotated[
        float | None,
        typer.Option("--approval-above", metavar="EPSILON", help="Only charges above this."),
    ] = None,
    catalog: CatalogFile = None,
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Open an account, once; what it promises is fixed from here on.

    Without --epsilon and --delta it is the account of that name in the catalog, as planned there.

    The policy is [bold]open[/bold] (anything may be asked until a filter says stop),
    [bold]planned[/bold] (what is released is declared), [bold]dashboard[/bold] (the queries are) or
    [bold]blocks[/bold] (every month, quarter or year of the data has a budget of its own).
    """
    from quaestor.cli.arguments.account_definition import AccountOptions, account_definition

    if epsilon is None and delta is None:
        _open_planned(name, catalog, given=ledger, json=json)
        return
    if epsilon is None or delta is None:
        missing = "epsilon" if epsilon is None else "delta"
        raise InvalidParameter(missing, None, "given too, or neither: then the catalog plans it")
    asked = AccountOptions(
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
        every=every,
        first=first,
        most=most,
        enforced=enforced,
        predecessor=predecessor,
        closes=closes,
        succeeds=succeeds,
        groups=tuple(group or ()),
        approval=approval or approval_above,
    )
    definition = account_definition(asked)
    with opened(ledger, create=True) as book:
        _print_opened(book.open_account(definition), json=json)


def _open_planned(name: str, catalog: Path | None, *, given: str | None, json: bool) -> None:
    """Open an account as the catalog plans it, in the ledger that the catalog names."""
    from quaestor.curator.accounts import declared_for, definition_of
    from quaestor.curator.catalog.catalog_file import read_catalog
    from quaestor.curator.catalog.nearest import catalog_path

    known = read_catalog(catalog_path(catalog))
    definition = definition_of(known, name)
    declared = declared_for(known, definition.datasets)
    with opened(given or known.ledger_address(), create=True) as book:
        _print_opened(book.open_account(definition, declared=declared), json=json)


def _print_opened(account: Account, *, json: bool) -> None:
    standing = account.standing()
    if json:
        print_json(standing.to_dict())
        return
    print_promise(standing)
    print_what_fits(standing)
