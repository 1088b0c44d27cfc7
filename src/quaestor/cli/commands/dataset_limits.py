"""The commands ``dataset check``, ``tune`` and ``prepare``: what a table holds, limits, a copy."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quaestor.cli.drawing.checked_tables import EXACT, print_check
from quaestor.cli.drawing.numbers import print_json, print_words, say
from quaestor.cli.options import CatalogFile, Json
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import Catalog
    from quaestor.curator.limits.tune_plan import TunePlan
    from quaestor.curator.preview import Preview
    from quaestor.curator.tuned_tables import TunedTable

__all__ = ["check", "prepare", "tune"]


def check(
    name: Annotated[str, typer.Argument(help="The name of the table.")],
    yes_exact: Annotated[  # noqa: FBT002
        bool,
        typer.Option(
            "--yes-exact",
            help="Allow output to a file or a program, too; the exact figures are not private.",
        ),
    ] = False,
    catalog: CatalogFile = None,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Check a table exactly, for the data owner: unreadable values, and what bounds and caps cut.

    Nothing is charged and no ledger is opened, but the figures are exact and not private: do not
    share them, and do not copy them into the catalog. They are printed to a terminal only.
    """
    from quaestor.curator.catalog.catalog_file import read_catalog
    from quaestor.curator.catalog.nearest import catalog_path
    from quaestor.curator.inspection import check_table

    if not yes_exact and (json or not sys.stdout.isatty()):
        raise InvalidParameter(
            "output",
            "JSON" if json else "no terminal",
            (
                "a terminal: the check prints exact figures, for the data owner only; add "
                "--yes-exact if it is safe to write them elsewhere"
            ),
        )
    known = read_catalog(catalog_path(catalog))
    found = check_table(known, name)
    if json:
        print_json({"exact": EXACT, **found.to_dict()})
        return
    table = known.table(name)
    assert table is not None  # noqa: S101  # it was checked
    print_check(table, found)


def tune(  # noqa: PLR0913  # what is tuned, for what, and on whose account
    name: Annotated[str, typer.Argument(help="The name of the table.")],
    epsilon: Annotated[
        float, typer.Option("--epsilon", "-e", help="The epsilon that the tuning costs.")
    ],
    column: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "A numeric column to choose bounds for; repeat for several. By default those "
                "without bounds."
            )
        ),
    ] = None,
    caps: Annotated[  # noqa: FBT002
        bool,
        typer.Option(
            "--caps/--no-caps",
            help="Whether to choose the caps on rows and groups of one person, too.",
        ),
    ] = True,
    question: Annotated[
        str | None,
        typer.Option(metavar="SQL", help="A typical question; the limits are chosen to suit it."),
    ] = None,
    question_epsilon: Annotated[
        float | None, typer.Option(help="The epsilon of such a question; by default --epsilon.")
    ] = None,
    account: Annotated[
        str | None, typer.Option(help="The account that pays; needed if several cover the dataset.")
    ] = None,
    analyst: Annotated[
        str, typer.Option(help="The name of the analyst; needed if the account has quotas.")
    ] = "",
    approval: Annotated[
        str, typer.Option(help="The approval ID, if the account requires approval.")
    ] = "",
    anew: Annotated[  # noqa: FBT002
        bool, typer.Option("--anew", help="Pay for a new choice even if there is an earlier one.")
    ] = False,
    dry_run: Annotated[  # noqa: FBT002
        bool, typer.Option("--dry-run", help="Show the plan and its cost without charging.")
    ] = False,
    catalog: CatalogFile = None,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Choose the bounds and caps of a table with differential privacy, and save them.

    It measures noisy histograms of people over public bins, charges for them, and writes the
    limits to the catalog. Running it again chooses the same limits and costs nothing.
    """
    from quaestor.curator.catalog.catalog_edit import replace_table
    from quaestor.curator.catalog.nearest import catalog_path
    from quaestor.curator.session import Curator

    path = catalog_path(catalog)
    columns = tuple(column or ())
    with Curator.from_file(path) as curator:
        if dry_run:
            plan, price = curator.preview_tune(
                name,
                epsilon=epsilon,
                columns=columns,
                caps=caps,
                question=question,
                question_epsilon=question_epsilon,
                account=account,
                analyst=analyst,
                anew=anew,
            )
            _print_plan(plan, price, json=json)
            return
        made = curator.tune(
            name,
            epsilon=epsilon,
            columns=columns,
            caps=caps,
            question=question,
            question_epsilon=question_epsilon,
            account=account,
            analyst=analyst,
            approval=approval,
            anew=anew,
        )
    replace_table(path, made.table)
    if json:
        print_json({"catalog": str(path), **made.to_dict()})
        return
    _print_tuned(made)
    say(
        f"Written to {path}. Earlier questions will be charged again if they are repeated.",
        plain=True,
    )


def prepare(
    name: Annotated[str, typer.Argument(help="The name of the table.")],
    status: Annotated[  # noqa: FBT002
        bool, typer.Option("--status", help="Only say whether there is a copy, and as of when.")
    ] = False,
    remove: Annotated[  # noqa: FBT002
        bool, typer.Option("--remove", help="Delete the copy; questions read the table itself.")
    ] = False,
    catalog: CatalogFile = None,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Copy a table, sorted by privacy unit, so that questions take less time.

    For the data owner, and for tables of files, of DuckDB and of PostgreSQL. The copy holds the
    private rows, in a file that only you can read, in the folder quaestor.snapshots beside the
    catalog. Answers from it are the same.

    Questions use a copy of files until these change; then prepare it again. They use a copy of a
    PostgreSQL table until you prepare it again or remove it: answers say as of when it is, and the
    ledger records a data version each time.
    """
    from quaestor.curator.catalog.catalog_file import read_catalog
    from quaestor.curator.catalog.nearest import catalog_path
    from quaestor.curator.prepared_tables import prepare_table, remove_copy

    if status and remove:
        raise InvalidParameter("remove", "--status", "given without --status")
    known = read_catalog(catalog_path(catalog))
    snapshots = _snapshots_with(known, name, orphan=remove)
    accounts: tuple[str, ...] = ()
    before = snapshots.state(name) if known.table(name) is not None else ""
    if remove:
        accounts = remove_copy(known, name, snapshots)
    elif not status:
        accounts = prepare_table(known, name)
    state = snapshots.state(name)
    if json:
        orphans = snapshots.orphans()
        recorded = {"accounts": list(accounts)} if accounts else {}
        print_json({"table": name, "snapshot": state, "orphans": orphans, **recorded})
        return
    say(f"snapshot of {name}: {'removed' if remove and state != before else state}")
    if accounts:
        say(f"recorded as a data version with {', '.join(accounts)}", plain=True)
    for each in snapshots.orphans():
        say(
            f"There is a snapshot of {each}, which the catalog does not have; delete it with  "
            f"quaestor dataset prepare {each} --remove",
            plain=True,
        )


def _snapshots_with(known: Catalog, name: str, *, orphan: bool) -> Any:
    """The snapshots to which that of a table belongs, or of a table that was renamed or removed."""
    from quaestor.curator.catalog.model import ENGINES, engine_kind

    table = known.table(name)
    for engine in ENGINES if table is None else (table.source.engine,):
        snapshots = engine_kind(engine).snapshots(known)
        if snapshots is not None and (table is not None or (orphan and snapshots.exists(name))):
            return snapshots
    if table is None:
        raise InvalidParameter("name", name, "a table of the catalog; see  quaestor dataset list")
    valid = "a table of files, of DuckDB or of PostgreSQL; those of Spark have no prepared copies"
    raise InvalidParameter("name", name, valid)


def _print_plan(plan: TunePlan, price: Preview, *, json: bool) -> None:
    scales = plan.scales()
    if json:
        parts = [
            {"limit": part.limit, "bins": part.measure.bins, "scale": scale}
            for part, scale in zip(plan.parts, scales, strict=True)
        ]
        print_json({"table": plan.table.name, "parts": parts, **price.to_dict()})
        return
    rows = [
        [part.limit, str(part.measure.bins), f"{scale:g}"]
        for part, scale in zip(plan.parts, scales, strict=True)
    ]
    say(f"Tuning {plan.table.name}: one noisy histogram of people for each limit", plain=True)
    print_words(["limit", "#bins", "#noise scale (people)"], rows)
    fits = "it was measured before and costs nothing now" if price.free else "it fits"
    said = fits if price.fits else "it does not fit"
    say(f"epsilon {price.epsilon:g} of account {price.account}: {said}; nothing was charged")


def _print_tuned(made: TunedTable) -> None:
    rows = []
    for each in made.chosen:
        value = f"{each.high:g}" if each.low is None else f"{each.low:g} to {each.high:g}"
        outside = "none" if not (each.below or each.above) else _outside(each.below, each.above)
        sure = (
            f"each bin within {each.margin:.3g} people" if each.sure else "a guess: too few people"
        )
        rows.append([each.limit, value, f"{each.step:g}", outside, sure])
    heads = ["limit", "chosen", "#step", "people outside, about", "certainty (95 %)"]
    print_words(heads, rows)
    answer = made.answer
    cost = (
        "nothing, because it was measured before"
        if answer.repeated
        else f"epsilon {answer.epsilon:g}"
    )
    say(f"cost {cost}; account {answer.account}, receipt {answer.receipt}", plain=True)


def _outside(below: float, above: float) -> str:
    parts = [f"{100 * below:.2g} % below"] if below else []
    parts += [f"{100 * above:.2g} % above"] if above else []
    return ", ".join(parts)
