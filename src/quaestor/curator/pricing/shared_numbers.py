"""Which aggregates of a question are made of the complementary totals of one operand.

Means and variances always; sums where the rows are counted beside them, too, as in ``SUM(x) /
COUNT(*)``. Counts of the operand come of the same totals for nothing, and so does one count of all
rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.curator.aggregates import kind_of
from quaestor.curator.aggregates.aggregate_kind import OfNumbers, finer
from quaestor.curator.aggregates.complementary import Complements
from quaestor.curator.aggregates.complementary_sums import count_of_totals
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
from quaestor.curator.pricing.editions import LATEST, THIRD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quaestor.curator.aggregates.recipe import Recipe
    from quaestor.curator.language.expressions import Expression
    from quaestor.curator.language.query import Query, Relation

__all__ = ["shared_numbers", "surely_there"]

_ROWS = Aggregate(function="count")


def shared_numbers(query: Query, *, counts_rows: bool, edition: int = LATEST) -> dict[int, Recipe]:
    """The recipes of aggregates that share totals, by their places.

    ``counts_rows`` says that a count of all rows is to be had of them. The aggregate by which the
    largest groups are chosen is left out, and in the third edition operands of variances, whose
    means came of their own totals then.
    """
    third = edition == THIRD
    ranked = None if query.top is None else query.top.place
    asked = {at: each for at, each in enumerate(query.aggregates) if at != ranked}
    kinds = {at: kind_of(each.function) for at, each in asked.items()}
    numbers: dict[Aggregate, list[int]] = {}
    for at, each in asked.items():
        if kinds[at].degree and each.low < each.high:
            numbers.setdefault(_bare(each), []).append(at)
    if third:
        numbers = {
            key: places
            for key, places in numbers.items()
            if all(kinds[at].degree == 1 for at in places)
        }
    counted = {at for at, each in asked.items() if each == _ROWS and counts_rows}
    own = {key: {at for at, each in asked.items() if _counts(each, key.operand)} for key in numbers}
    centred = {key for key, places in numbers.items() if any(kinds[at].centres for at in places)}
    shared = [key for key in numbers if own[key] or counted or key in centred]
    # All rows are counted with one operand: one that always has a value, or one with a mean.
    sure = [key for key in shared if _sure(key, query.rows)]
    means = [key for key in shared if key in centred]
    host = next(iter(sure or means or shared), None) if counted else None
    recipes: dict[int, Recipe] = {}
    for key in shared:
        if not (key in centred or own[key] or key == host):
            continue  # a sum alone
        whole = OfNumbers.steps(key)
        made = Complements(
            asked=finer(whole, query.contribution.rows) if third else whole,
            rows=query.contribution.rows,
            absent=key == host and key not in sure,
            squares=any(kinds[at].degree > 1 for at in numbers[key]),
            third=third,
        )
        for at in numbers[key]:
            recipes[at] = kinds[at].of_totals(asked[at], made)
        for at in own[key]:
            recipes[at] = count_of_totals(asked[at], made)
        if key == host:
            recipes |= {at: count_of_totals(asked[at], made, all_rows=True) for at in counted}
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
