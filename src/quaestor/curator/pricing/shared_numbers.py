"""Which aggregates of a question are made of the complementary totals of one operand.

Means always; sums where the rows are counted beside them, too, as in ``SUM(x) / COUNT(*)``. Counts
of the operand come of the same totals for nothing, and so does one count of all rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.curator.aggregates import kind_of
from quaestor.curator.aggregates.aggregate_kind import OfNumbers, finer
from quaestor.curator.aggregates.complementary import Complements
from quaestor.curator.language.expressions import (
    Arithmetic,
    Call,
    Column,
    Comparison,
    Constant,
    IsNull,
    Logic,
    Member,
    Not,
)
from quaestor.curator.language.query import Aggregate, Filtered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quaestor.curator.aggregates.recipe import Recipe
    from quaestor.curator.language.expressions import Expression
    from quaestor.curator.language.query import Query, Relation

__all__ = ["shared_numbers", "surely_there"]

_ROWS = Aggregate(function="count")


def shared_numbers(query: Query, *, counts_rows: bool) -> dict[int, Recipe]:
    """The recipes of aggregates that share totals, by their places.

    ``counts_rows`` says that a count of all rows is to be had of them. The aggregate by which the
    largest groups are chosen is left out, and operands of variances and the like, whose means come
    of their own totals.
    """
    ranked = None if query.top is None else query.top.place
    asked = {at: each for at, each in enumerate(query.aggregates) if at != ranked}
    numbers: dict[Aggregate, list[int]] = {}
    for at, each in asked.items():
        if each.function in {"mean", "sum"} and each.low < each.high:
            numbers.setdefault(_bare(each), []).append(at)
    for each in asked.values():
        if each.function != "mean" and kind_of(each.function).centres:
            numbers.pop(_bare(each), None)
    counted = {at for at, each in asked.items() if each == _ROWS and counts_rows}
    own = {key: {at for at, each in asked.items() if _counts(each, key.operand)} for key in numbers}
    shared = [
        key
        for key, places in numbers.items()
        if own[key] or counted or any(asked[at].function == "mean" for at in places)
    ]
    # All rows are counted with one operand: one that always has a value, or one with a mean.
    sure = [key for key in shared if _sure(key, query.rows)]
    means = [key for key in shared if any(asked[at].function == "mean" for at in numbers[key])]
    host = next(iter(sure or means or shared), None) if counted else None
    recipes: dict[int, Recipe] = {}
    for key in shared:
        has_mean = key in means
        if not (has_mean or own[key] or key == host):
            continue  # a sum alone
        whole = finer(OfNumbers.steps(key), query.contribution.rows)
        absent = key == host and key not in sure
        made = Complements(asked=whole, rows=query.contribution.rows, absent=absent)
        for at in numbers[key]:
            recipes[at] = (made.mean if asked[at].function == "mean" else made.total)(asked[at])
        for at in own[key]:
            recipes[at] = made.count(asked[at], all_rows=False)
        if key == host:
            recipes.update({at: made.count(asked[at], all_rows=True) for at in counted})
    return recipes


def _counts(aggregate: Aggregate, operand: Expression | None) -> bool:
    return aggregate.function == "count" and aggregate.operand == operand


def _bare(aggregate: Aggregate) -> Aggregate:
    """What aggregates of one operand in the same steps have in common."""
    return Aggregate(
        function="sum",
        operand=aggregate.operand,
        low=aggregate.low,
        high=aggregate.high,
        step=aggregate.step,
    )


def _sure(key: Aggregate, rows: Relation) -> bool:
    return key.operand is not None and surely_there(key.operand, rows)


def surely_there(operand: Expression, rows: Relation) -> bool:
    """Whether a number has a value in every row, because of conditions that the rows fulfil.

    Of a cast that is never certain: not every text is a number.
    """
    known = {name for condition in _conditions(rows) for name in _needed(condition)}
    return _follows(operand, known)


def _follows(operand: Expression, known: set[str]) -> bool:
    match operand:
        case Column():
            return operand.name in known
        case Constant():
            return operand.value is not None
        case Arithmetic(operator="+" | "-" | "*"):
            return _follows(operand.left, known) and _follows(operand.right, known)
        case Call(function="coalesce" | "clamp"):
            some = any if operand.function == "coalesce" else all
            return some(_follows(each, known) for each in operand.arguments)
    return False


def _conditions(rows: Relation) -> Iterator[Expression]:
    """What all rows fulfil, as far down as columns keep their names."""
    while isinstance(rows, Filtered):
        parts = [rows.condition]
        while parts:
            part = parts.pop()
            if isinstance(part, Logic) and part.operator == "and":
                parts += part.operands
            else:
                yield part
        rows = rows.rows


def _needed(condition: Expression) -> Iterator[str]:
    """The columns without which a condition is not true."""
    match condition:
        case Comparison():
            sides = (condition.left, condition.right)
            yield from (side.name for side in sides if isinstance(side, Column))
        case Member(operand=Column() as column):
            yield column.name
        case Not(operand=IsNull(operand=Column() as column)):
            yield column.name
