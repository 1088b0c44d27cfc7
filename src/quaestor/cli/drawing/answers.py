"""Answers and previews, drawn for people: figures with their intervals, cost, and what is left."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from quaestor.cli.drawing.fitted_tables import FittedTable, TableColumn
from quaestor.cli.drawing.numbers import bar, print_table, say

if TYPE_CHECKING:
    from quaestor.curator.answers.answer import Answer
    from quaestor.curator.preview import Preview
    from quaestor.ledger.totals.standing import HolderStanding

__all__ = ["BAR_CELLS", "print_answer", "print_preview", "print_standing_on"]

BAR_CELLS = 30


def print_answer(answer: Answer, standing: HolderStanding | None) -> None:
    """The table, the notes, the cost with its receipt, and how the account stands if known."""
    shown = answer.to_table()
    FittedTable(
        columns=[
            TableColumn(heading=escape(each.text), right=each.right) for each in shown.headings
        ],
        rows=[[escape(cell) for cell in row] for row in shown.rows],
    ).print(Console(highlight=False, emoji=False))
    for note in answer.notes:
        say(note, plain=True)
    paid = "paid" if answer.repeated else "cost"
    receipt = "" if answer.receipt is None else f", receipt {answer.receipt}"
    say(f"{paid} {_cost(answer.epsilon, answer.delta)}{receipt}", plain=True)
    if answer.data_version:
        say(f"data version {answer.data_version}", plain=True)
    if answer.repeated:
        say("Asked before: this is the same answer, and it cost nothing now.")
    if standing is not None:
        print_standing_on(standing)


def print_standing_on(standing: HolderStanding) -> None:
    """What is left, as a bar and in words."""
    part = f"{math.floor(1000 * standing.left) / 10:g} %"
    drawn = bar(standing.left, cells=BAR_CELLS)
    say(f"left  {drawn}  {part} of {standing.holder} ({standing.meter})", plain=True)


def print_preview(preview: Preview) -> None:
    """What is asked, how accurate it would be, what it would take, and whether it fits."""
    say(preview.question, plain=True)
    sure = f"{100 * preview.confidence:g} %"
    expected = [
        [escape(one.name), _error(one.standard_error, one.divided_by), escape(one.words)]
        for one in preview.expected
    ]
    if expected:
        print_table("", ["figure", "#standard error", f"error ({sure})"], expected)
    for release in preview.releases:
        say(f"releases {release}", plain=True)
    for note in preview.notes:
        say(note, plain=True)
    say(f"costs {_cost(preview.epsilon, preview.delta)} on account {preview.account}", plain=True)
    meters = [
        [escape(one.name), _up(one.requested), _share(one.share), _down(one.left)]
        for one in preview.meters
    ]
    print_table("", ["meter", "#takes", "#of all", "#leaves"], meters)
    say(preview.verdict, plain=True)


def _cost(epsilon: float | None, delta: float | None) -> str:
    if epsilon is None:
        return f"more than any epsilon at delta {delta:g}"
    at = f" at delta {_up(delta)}" if delta else ""
    return f"epsilon {_up(epsilon)}{at}"


def _error(error: float | None, divided_by: str | None) -> str:
    if error is None:
        return "-"
    return f"{error:,.6g}" + (f" / {divided_by}" if divided_by else "")


def _share(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.3g} %"


def _up(value: float | None) -> str:
    from quaestor.ledger.amounts import shown_above

    return "-" if value is None else shown_above(Fraction(value))


def _down(value: float | None) -> str:
    from quaestor.ledger.amounts import shown_below

    return "-" if value is None else shown_below(Fraction(value))
