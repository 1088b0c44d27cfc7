"""How numbers look: rounded to the safe side for people, complete for programs."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.markup import escape

from quaestor.accounting.numerics.digits import TO_TYPE, rounded_up, typed
from quaestor.cli.drawing.fitted_tables import FittedTable, TableColumn

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from fractions import Fraction

    from quaestor.accounting.explain import Explanation
    from quaestor.accounting.numerics.bounds import Bounds

__all__ = [
    "bar",
    "bar_and_percent",
    "interval",
    "percent_down",
    "print_explanation",
    "print_json",
    "print_table",
    "print_words",
    "say",
]


def interval(bounds: Bounds) -> str:
    """Both ends, in full; escaped, for rich would take ``[inf, inf]`` for markup."""
    return escape(f"[{bounds.lower!r}, {bounds.upper!r}]")


def say(text: str, *, plain: bool = False) -> None:
    """Print a line for people; ``plain`` where it holds words of theirs, which are no markup."""
    Console(highlight=False, soft_wrap=True, emoji=False).print(text, markup=not plain)


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Draw a table; columns that start with ``#`` hold numbers, which go to the right."""
    drawn = [
        TableColumn(heading=column.removeprefix("#"), right=number, whole=number)
        for column in columns
        for number in [column.startswith("#")]
    ]
    console = Console(highlight=False, emoji=False)
    FittedTable(columns=drawn, rows=list(rows), title=title).print(console)


def bar(left: Fraction | float, *, cells: int = 20) -> str:
    """What is left of a budget, rounded down to a cell; empty only where nothing is left."""
    full, empty = ("#", ".") if Console().options.ascii_only else ("█", "░")
    kept = _kept(left, cells)
    return full * kept + empty * (cells - kept)


def bar_and_percent(left: Fraction | float, *, cells: int = 20) -> str:
    """The same, and the per cent, rounded likewise."""
    return f"{bar(left, cells=cells)} {_kept(left, 100):>3} %"


def percent_down(left: Fraction | float) -> str:
    """What is left in per cent, rounded down to a tenth."""
    return f"{math.floor(1000 * min(max(left, 0), 1)) / 10:g} %"


def _kept(left: Fraction | float, parts: int) -> int:
    """How many of so many parts are left: in whole, or one, if it is less and not nothing."""
    rest = min(max(left, 0), 1)
    return max(math.floor(rest * parts), int(rest > 0))


def print_words(columns: Sequence[str], rows: Iterable[Sequence[str]], *, title: str = "") -> None:
    """Draw a table whose cells hold words of people, which are no markup."""
    print_table(title, columns, [[escape(cell) for cell in row] for row in rows])


def print_explanation(explanation: Explanation) -> None:
    """Draw the theorems side by side, the winner marked."""
    print_table(
        f"{explanation.quantity} at {explanation.given} = {typed(explanation.value)}",
        ["", "theorem", f"#{explanation.quantity}", "stated in"],
        (
            [
                ">" if row.best else "",
                f"[bold]{row.theorem}[/bold]" if row.best else row.theorem,
                "-" if row.bounds is None else rounded_up(row.bounds.upper, digits=TO_TYPE),
                row.source,
            ]
            for row in explanation
        ),
    )
    for row in explanation:
        if row.note:
            say(f"[dim]{row.theorem}: {row.note}[/dim]")


def print_json(value: dict[str, Any]) -> None:
    """Print strict JSON: infinities, which it cannot write, become the text "Infinity"."""
    typer.echo(json.dumps(_strict(value), allow_nan=False))


def _strict(value: Any) -> Any:
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _strict(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(entry) for entry in value]
    return value
