"""Bounds inside a question: how its budget is divided, what is measured, and what is chosen.

A fifth of the budget pays for histograms of units by the values of the columns, the same that
``dataset tune`` would measure for these columns at that price; the rest pays for the question.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Final

from quaestor.accounting.releases.base import check_real
from quaestor.curator.language.query import Filtered, Scan
from quaestor.curator.limits.choices import Aim, choose_bounds
from quaestor.curator.limits.histograms import UnitHistogram
from quaestor.curator.limits.tune_plan import plan_tune, tunable
from quaestor.curator.sql import parse
from quaestor.errors import RefusedQuery
from quaestor.ledger.amounts import below

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.curator.catalog.model import Catalog, Table
    from quaestor.curator.language.query import Query
    from quaestor.curator.limits.tune_plan import TunePlan
    from quaestor.curator.pricing.priced_question import Budget
    from quaestor.curator.sql.auto_calls import AutoText

__all__ = [
    "PROVISIONAL",
    "SHARE",
    "QuestionBounds",
    "QuestionPlan",
    "choose_question_bounds",
    "plan_bounds",
]

SHARE: Final = 5
"""One part in so many of a question's budget chooses its bounds."""
PROVISIONAL: Final = (-1e6, 1e6)
"""Bounds with which a question is read and priced before there are any; they decide nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionPlan:
    """A question with ``AUTO``: what is measured first, and what is left for itself."""

    auto: AutoText
    query: Query
    """The question with provisional bounds."""
    columns: tuple[tuple[str, str], ...]
    """Columns as the question writes them, each with its name in the table."""
    tuning: TunePlan
    budget: Budget
    """For the question itself."""

    def provisional(self) -> str:
        """The question's text with provisional bounds."""
        return self.auto.bounded(dict.fromkeys((name for name, _ in self.columns), PROVISIONAL))


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionBounds:
    """The bounds that were chosen for a column, and whether released figures show anybody.

    Where they do not, and nothing is declared, there are none.
    """

    column: str
    low: float
    high: float
    sure: bool
    declared: bool
    """Whether they are those that the catalog declares."""


def plan_bounds(
    auto: AutoText, budget: Budget, catalog: Catalog, *, rows: int | None, groups: int | None
) -> QuestionPlan:
    """What is measured for the bounds of a question, and what is left for it.

    Raises:
        RefusedQuery: bounds cannot be chosen for such a question; the error says what to do.
    """
    if budget.epsilon is None:
        raise RefusedQuery(
            (
                "a question with AUTO needs its cost in epsilon, because bounds are chosen "
                "before the noise is known"
            ),
            remedy="give --epsilon, or write CLAMP(x, 0, 100) with bounds of your own",
        )
    whole = check_real("epsilon", budget.epsilon, low=1e-8, high=1e4)
    spent = whole / SHARE
    written = tuple(dict.fromkeys(call.column for call in auto.calls))
    bounds = dict.fromkeys(written, PROVISIONAL)
    try:
        query = parse(auto.bounded(bounds), catalog, rows=rows, groups=groups)
    except RefusedQuery as refusal:
        raise auto.pointed(refusal, bounds) from None
    table = _table(query, catalog)
    columns = tuple((name, _known(table, name, auto)) for name in written)
    known = {name for _, name in columns}
    tuning = plan_tune(
        catalog,
        table.name,
        epsilon=spent,
        columns=[column.name for column in table.columns if column.name in known],
        caps=False,
    )
    left = below(Fraction(whole) - Fraction(spent))
    return QuestionPlan(
        auto=auto,
        query=query,
        columns=columns,
        tuning=tuning,
        budget=replace(budget, epsilon=left),
    )


def _table(query: Query, catalog: Catalog) -> Table:
    rows = query.rows
    while isinstance(rows, Filtered):
        rows = rows.rows
    table = catalog.table(rows.table) if isinstance(rows, Scan) else None
    if table is None:
        raise RefusedQuery(
            "AUTO supports questions about one table only, without joins and subqueries",
            remedy="write CLAMP(x, 0, 100) with bounds of your own, or let the data owner choose "
            "bounds of the table: quaestor dataset tune",
        )
    return table


def _known(table: Table, name: str, auto: AutoText) -> str:
    """The table's column of that name, which is a number whose bounds can be chosen."""
    exact = [column.name for column in table.columns if column.name == name]
    alike = [column.name for column in table.columns if column.name.lower() == name.lower()]
    found = (exact or alike or [name])[0]
    if not tunable(table, found):
        place = next(call.start for call in auto.calls if call.column == name)
        raise RefusedQuery(
            (
                "AUTO chooses bounds for numeric columns without declared keys, other than "
                f"the unit; {name} is not such a column"
            ),
            remedy=f"leave AUTO out: {name}",
            text=auto.text,
            place=place,
        )
    return found


def choose_question_bounds(
    plan: QuestionPlan, counts: Sequence[Sequence[int]]
) -> dict[str, QuestionBounds]:
    """Bounds of every column, as the question writes it: edges of the grid, or what is declared.

    They follow from released histograms and public facts alone.
    """
    tuning, most = plan.tuning, plan.query.contribution
    cells = prod(len(key.values) for key in plan.query.keys if key.values is not None)
    chosen: dict[str, QuestionBounds] = {}
    for part, scale, units in zip(tuning.parts, tuning.scales(), counts, strict=True):
        names = [name for name, column in plan.columns if column == part.limit]
        added = any(call.added for call in plan.auto.calls if call.column in names)
        aim = Aim(epsilon=plan.budget.epsilon or 0.0, cells=max(cells, 1), centred=not added)
        made = choose_bounds(
            UnitHistogram(edges=part.measure.edges, counts=tuple(units), scale=scale),
            aim,
            rows=most.rows,
            groups=most.groups,
        )
        bounds = _within(
            tuning.table,
            QuestionBounds(
                column=part.limit, low=made.low, high=made.high, sure=made.sure, declared=False
            ),
        )
        chosen |= dict.fromkeys(names, bounds)
    return chosen


def _within(table: Table, chosen: QuestionBounds) -> QuestionBounds:
    """Bounds inside those that the catalog declares, or these where the others say nothing."""
    column = table.column(chosen.column)
    if column is None or column.low is None or column.high is None:
        return chosen
    low, high = max(chosen.low, float(column.low)), min(chosen.high, float(column.high))
    if chosen.sure and low < high:
        return replace(chosen, low=low, high=high)
    return replace(chosen, low=float(column.low), high=float(column.high), declared=True)
