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
        float | None, typer.Option("--epsilon", "-e", help="The epsilon of the whole account.")
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option("--delta", "-d", help="The delta of the whole account, such as 1e-6."),
    ] = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option("--dataset", help="A dataset that the account pays for; repeat for several."),
    ] = None,
    policy: Annotated[
        PolicyKind | None,
        typer.Option(
            "--policy", help="The policy; by default the one that the other options imply."
        ),
    ] = None,
    expected: Annotated[
        list[str] | None,
        typer.Option(
            "--expected",
            metavar="RELEASE",
            help="Policy open: a release that you expect often; the limits are tuned for it.",
        ),
    ] = None,
    plan: Annotated[
        list[str] | None,
        typer.Option(
            "--plan",
            metavar="[DATASET:] RELEASE",
            help="Policy planned: a release that will be made; repeat for several.",
        ),
    ] = None,
    query: Annotated[
        list[str] | None,
        typer.Option(
            "--query",
            metavar="FILE=[DATASET:] RELEASE",
            help="Policy dashboard: a query, by the file with its text, and its release.",
        ),
    ] = None,
    quota: Annotated[
        list[str] | None,
        typer.Option(
            "--quota",
            "--share",
            metavar="ANALYST=EPSILON,DELTA",
            help=(
                "The most that one analyst may use, as epsilon and delta; * stands for every "
                "other analyst."
            ),
        ),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            "--group",
            metavar="GROUP:MEMBER,MEMBER=EPSILON,DELTA",
            help=(
                "The most that some analysts may use together, as epsilon and delta, besides "
                "their quotas."
            ),
        ),
    ] = None,
    plan_file: Annotated[
        Path | None,
        typer.Option("--plan-file", help="A TOML file with datasets, releases and public facts."),
    ] = None,
    neighbours: Annotated[
        str | None,
        typer.Option(
            "--neighbours",
            help=(
                "Which databases count as neighbours: add_remove (the default), replace or "
                "replace_record."
            ),
        ),
    ] = None,
    every: Annotated[
        str | None,
        typer.Option(
            "--every", help="Policy blocks: the length of a block: month, quarter or year."
        ),
    ] = None,
    first: Annotated[
        str | None,
        typer.Option(
            "--first", help="Policy blocks: the first block, such as 2024-01, 2024-Q1 or 2024."
        ),
    ] = None,
    most: Annotated[
        int | None,
        typer.Option(
            "--most", help="Policy blocks: the largest number of blocks with rows of one person."
        ),
    ] = None,
    enforced: Annotated[  # noqa: FBT002
        bool,
        typer.Option(
            "--enforced",
            help=("Policy blocks: enforce --most: count only rows of a person's earliest blocks."),
        ),
    ] = False,
    predecessor: Annotated[
        str,
        typer.Option(
            "--predecessor",
            help=(
                "Policy blocks: a closed account whose whole guarantee is charged to every "
                "existing block."
            ),
        ),
    ] = "",
    beside: Annotated[  # noqa: FBT002
        bool,
        typer.Option(
            "--beside", help="Allow other accounts on the same datasets; their losses add up."
        ),
    ] = False,
    closes: Annotated[
        str | None,
        typer.Option(
            "--closes",
            metavar="DATE",
            help="The date (UTC) on which the account closes by itself, such as 2027-01-31.",
        ),
    ] = None,
    succeeds: Annotated[
        str | None,
        typer.Option(
            "--succeeds", metavar="ACCOUNT", help="The closed account that this one succeeds."
        ),
    ] = None,
    approval: Annotated[  # noqa: FBT002
        bool, typer.Option("--approval", help="Require that another person approves every charge.")
    ] = False,
    approval_above: Annotated[
        float | None,
        typer.Option(
            "--approval-above",
            metavar="EPSILON",
            help="Require approval only for charges above this epsilon.",
        ),
    ] = None,
    catalog: CatalogFile = None,
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Open an account; its guarantee cannot be changed afterwards.

    Without --epsilon and --delta it opens the account of that name as the catalog defines it.

    The policy is [bold]open[/bold] (analysts ask anything until the budget is used up),
    [bold]planned[/bold] (the releases are declared now), [bold]dashboard[/bold] (the queries are
    declared now) or [bold]blocks[/bold] (every month, quarter or year of data has its own budget).
    """
    from quaestor.cli.arguments.account_definition import AccountOptions, account_definition

    if epsilon is None and delta is None:
        _open_planned(name, catalog, given=ledger, json=json)
        return
    if epsilon is None or delta is None:
        missing = "epsilon" if epsilon is None else "delta"
        raise InvalidParameter(
            missing,
            None,
            "given too; or give neither, to open the account that the catalog defines",
        )
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
