"""Answers and previews, drawn for people: figures with their intervals, cost, and what is left."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from quaestor.accounting.numerics.digits import rounded_down, rounded_up
from quaestor.cli.drawing.fitted_tables import FittedTable, TableColumn
from quaestor.cli.drawing.numbers import bar, percent_down, print_table, say

if TYPE_CHECKING:
    from quaestor.curator.answers.answer import Answer
    from quaestor.curator.preview import Preview
    from quaestor.ledger.totals.standing import HolderStanding

__all__ = ["BAR_CELLS", "print_answer", "print_preview", "print_standing_on"]

BAR_CELLS = 30


def print_answer(
    answer: Answer, standing: HolderStanding | None, *, more: int | None, verbose: bool
) -> None:
    """The table, the notes, the cost with its receipt, and what is left of the budget if known."""
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
    if verbose:
        for release in answer.releases:
            say(f"releases {release}", plain=True)
    if standing is not None:
        print_standing_on(standing, more=more, verbose=verbose)


def print_standing_on(standing: HolderStanding, *, more: int | None, verbose: bool) -> None:
    """What is left, as a bar and in words; ``more`` is how many more questions like this fit."""
    part = percent_down(standing.left)
    drawn = bar(standing.left, cells=BAR_CELLS)
    words = f"{part} of {standing.holder}{_epsilon_left(standing)}"
    say(f"left  {drawn}  {words}{_more_like_this(more)}", plain=True)
    if verbose:
        for meter in standing.meters:
            say(f"  {meter.balance.meter} ({meter.rule}): {percent_down(meter.left)}", plain=True)


def _epsilon_left(standing: HolderStanding) -> str:
    """In epsilon, where that is what is counted; other limits are no epsilon."""
    for meter in standing.meters:
        balance = meter.balance
        if meter.balance.meter == standing.meter == "epsilon" and balance.remaining is not None:
            left = rounded_down(max(balance.remaining, Fraction(0)))
            return f", epsilon {left} of {rounded_down(balance.limit)}"
    return ""


def _more_like_this(more: int | None) -> str:
    from quaestor.cli.drawing.accounts import count_in_words

    if more is None:
        return ""
    questions = "question" if more == 1 else "questions"
    return f"; {count_in_words(more)} more {questions} like this"


def print_preview(preview: Preview, *, verbose: bool) -> None:
    """What is asked, how accurate it would be, what it would cost, and whether it fits."""
    say(preview.question, plain=True)
    sure = f"{100 * preview.confidence:g} %"
    expected = [
        [escape(one.name), _error(one.standard_error, one.divided_by), escape(one.words)]
        for one in preview.expected
    ]
    if expected:
        print_table("", ["figure", "#standard error", f"error ({sure})"], expected)
    for note in preview.notes:
        say(note, plain=True)
    say(f"costs {_cost(preview.epsilon, preview.delta)} on account {preview.account}", plain=True)
    if verbose:
        for release in preview.releases:
            say(f"releases {release}", plain=True)
        limits = [
            [escape(one.name), _up(one.requested), _share(one.share), _down(one.left)]
            for one in preview.meters
        ]
        print_table("", ["limit", "#takes", "#of all", "#leaves"], limits)
    if preview.left is not None:
        drawn, part = bar(preview.left, cells=BAR_CELLS), percent_down(preview.left)
        say(f"{'left' if preview.free else 'leaves'}  {drawn}  {part} of the budget", plain=True)
    say(preview.verdict, plain=True)


def _cost(epsilon: float | None, delta: float | None) -> str:
    if epsilon is None:
        return f"no finite epsilon at delta {_up(delta)}"
    at = f" at delta {_up(delta)}" if delta else ""
    return f"epsilon {_up(epsilon)}{at}"


def _error(error: float | None, divided_by: str | None) -> str:
    if error is None:
        return "-"
    return f"{error:,.6g}" + (f" / {divided_by}" if divided_by else "")


def _share(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.3g} %"


def _up(value: float | None) -> str:
    return "-" if value is None else rounded_up(value)


def _down(value: float | None) -> str:
    return "-" if value is None else rounded_down(value)
