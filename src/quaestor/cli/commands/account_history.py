"""The ``account history`` command: the balance after every entry."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quaestor.accounting.numerics.digits import rounded_up, typed
from quaestor.cli.arguments.files import check_picture
from quaestor.cli.arguments.opened_ledger import opened
from quaestor.cli.drawing.numbers import percent_down, print_json, print_words, say
from quaestor.cli.options import HERE, AccountName, Json, LedgerPlace

if TYPE_CHECKING:
    from quaestor.ledger import BalanceHistory, BalancePoint

__all__ = ["history"]


def history(  # noqa: PLR0913  # whose, how much of it, and where to
    name: AccountName,
    analyst: Annotated[
        str,
        typer.Option(
            "--analyst", help="If the account has quotas: show only what this analyst may see."
        ),
    ] = "",
    block: Annotated[
        str,
        typer.Option(
            "--block",
            help=(
                "Policy blocks: show this block, such as 2024-01; by default the one with "
                "the least left."
            ),
        ),
    ] = "",
    last: Annotated[
        int, typer.Option("--last", min=1, help="The number of changes to print, the latest ones.")
    ] = 20,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Draw the whole history into this .svg, .png or .pdf file."),
    ] = None,
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Show the balance after every entry: epsilon so far, and the share of the budget used.

    Without --analyst it shows what all analysts have charged; that is for the data owner.
    """
    check_picture("--plot", plot)
    with opened(ledger) as book:
        found = book.account(name).history(analyst=analyst, block=block)
    if plot is not None:
        _draw(found, plot)
    if json:
        print_json({**found.to_dict(), "plot": None if plot is None else str(plot)})
        return
    _print(found, last)
    if plot is not None:
        say(f"figure written to {plot}", plain=True)


def _draw(found: BalanceHistory, plot: Path) -> None:
    from quaestor.figures.style import drawing

    with drawing(plot, panels=2) as (left, right):
        found.plot(axes=left)
        found.plot(of="epsilon", axes=right)


def _print(found: BalanceHistory, last: int) -> None:
    whose = "account" if found.analyst is None else ""
    target = f"epsilon {typed(found.epsilon)}, delta {typed(found.delta)}"
    say(f"{whose} {found.whose}: {target}".strip(), plain=True)
    if not found.points:
        say("no charges yet")
        return
    end = found.points[-1]
    counts = (
        f"{sum(p.kind == kind for p in found)} {kind}" for kind in ("charged", "imported", "void")
    )
    lost = f"privacy loss so far: epsilon {_epsilon(end)} at delta {typed(found.delta)}"
    say(f"{lost}; {_left(end)} of the budget left")
    say(f"changes: {', '.join(counts)}")
    rows = [
        [str(p.number), p.time[:16].replace("T", " "), p.kind, p.dataset, _epsilon(p), _left(p)]
        for p in found.points[-last:]
    ]
    first = "#entry" if found.analyst is None else "#receipt"
    heads = [first, "#time (UTC)", "change", "dataset", "#epsilon so far", "#left"]
    print_words(heads, rows)
    if len(found) > last:
        say(f"and {len(found) - last} earlier; --last {len(found)} shows all")


def _epsilon(point: BalancePoint) -> str:
    return "no finite value" if math.isinf(point.epsilon) else rounded_up(point.epsilon)


def _left(point: BalancePoint) -> str:
    return percent_down(1 - point.used)
