"""Expressions of the language, of ``quaestor.curator.language.expressions``, as the engine's."""

from __future__ import annotations

import datetime as dt
import inspect
import math
import operator
from dataclasses import dataclass
from functools import reduce, singledispatchmethod
from typing import TYPE_CHECKING

from quaestor.curator.engines.arithmetic import computed
from quaestor.curator.engines.casts import cast
from quaestor.curator.engines.cells import (
    COARSEST,
    NUMBERS,
    Cell,
    grid_of,
    is_nothing,
    literal,
    nothing,
    sized,
)
from quaestor.curator.engines.functions import FUNCTIONS
from quaestor.curator.engines.unions import common, fenced
from quaestor.curator.language import expressions as e
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quaestor.curator.engines.dialects import Dialect

__all__ = ["Compiler", "constant"]

_COMPARISONS = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_LARGEST, _LEAST = 1e100, 1e-100


def constant(value: e.Value, kind: e.Kind) -> Cell:
    """A value that the analyst wrote."""
    import ibis

    if value is None:
        return Cell(value=nothing(kind), kind=kind, low=0.0, high=0.0, grid=COARSEST)
    if kind in NUMBERS:
        x = float(value)
        if not math.isfinite(x) or abs(x) > _LARGEST or 0 < abs(x) < _LEAST:
            raise InvalidParameter("constant", value, "zero, or a number from 1e-100 to 1e100")
        return Cell(value=literal(x), kind=kind, low=x, high=x, grid=grid_of(x))
    if kind == "date":
        try:
            day = dt.date.fromisoformat(str(value))
        except ValueError:
            raise InvalidParameter("date", value, "a day such as 2026-11-16") from None
        return Cell(value=ibis.date(day.year, day.month, day.day), kind=kind)
    if kind == "boolean":
        return Cell(value=ibis.literal(bool(value)), kind=kind)
    return Cell(value=ibis.literal(str(value)), kind=kind)


@dataclass(frozen=True, slots=True)
class Compiler:
    """Compiles expressions over the columns of one relation."""

    columns: Mapping[str, Cell]
    dialect: Dialect

    def condition(self, expression: e.Expression) -> Cell:
        """An expression that has to be true or false, or NULL."""
        cell = self.cell(expression)
        if cell.kind != "boolean":
            raise InvalidParameter("condition", f"a {cell.kind}", "true or false")
        return cell

    @singledispatchmethod
    def cell(self, expression: e.Expression) -> Cell:
        """The expression for the engine, with what is known of its values."""
        raise InvalidParameter("expression", type(expression).__name__, "one about rows")

    @cell.register
    def _(self, expression: e.Column) -> Cell:
        cell = self.columns.get(expression.name)
        if cell is None:
            raise InvalidParameter("column", expression.name, "one that the relation below has")
        return cell

    @cell.register
    def _(self, expression: e.Constant) -> Cell:
        return constant(expression.value, expression.kind)

    @cell.register
    def _(self, expression: e.Arithmetic) -> Cell:
        left, right = self.cell(expression.left), self.cell(expression.right)
        return computed(expression.operator, left, right, self.dialect)

    @cell.register
    def _(self, expression: e.Comparison) -> Cell:
        left, right = common((self.cell(expression.left), self.cell(expression.right)))
        a, b = left.value, right.value
        if expression.operator not in {"=", "<>"}:
            if left.kind == "text":
                a, b = self.dialect.ordered(a), self.dialect.ordered(b)
            elif left.kind == "boolean":
                a, b = a.cast("int32"), b.cast("int32")
        if is_nothing(a) or is_nothing(b):  # ibis would ask whether the other is NULL
            return Cell(value=nothing("boolean"), kind="boolean")
        compared = _COMPARISONS[expression.operator](a, b)
        return Cell(value=compared, kind="boolean", size=sized(left.size + right.size + 1))

    @cell.register
    def _(self, expression: e.Logic) -> Cell:
        import ibis

        cells = [self.condition(operand) for operand in expression.operands]
        join = operator.and_ if expression.operator == "and" else operator.or_
        values = [cell.value for cell in cells] or [ibis.literal(expression.operator == "and")]
        joined = reduce(join, values)
        return Cell(value=joined, kind="boolean", size=sized(sum(c.size for c in cells) + 1))

    @cell.register
    def _(self, expression: e.Not) -> Cell:
        cell = self.condition(expression.operand)
        return Cell(value=~cell.value, kind="boolean", size=cell.size + 1)

    @cell.register
    def _(self, expression: e.IsNull) -> Cell:
        cell = self.cell(expression.operand)
        return Cell(value=fenced(cell).isnull(), kind="boolean", size=cell.size + 1)

    @cell.register
    def _(self, expression: e.Member) -> Cell:
        import ibis

        known = [c for c in expression.values if c.value is not None]
        cells = common([self.cell(expression.operand), *(constant(c.value, c.kind) for c in known)])
        value = (
            cells[0].value.isin([c.value for c in cells[1:]])
            if known
            else ibis.literal(value=False)
        )
        if len(known) < len(expression.values):
            value = value | nothing("boolean")
        return Cell(value=value, kind="boolean", size=sized(sum(c.size for c in cells) + 2))

    @cell.register
    def _(self, expression: e.Like) -> Cell:
        cell = self.cell(expression.operand)
        if cell.kind != "text":
            raise InvalidParameter("LIKE", f"a {cell.kind}", "given a text")
        value = self.dialect.like(cell.value, expression.pattern)
        return Cell(value=value, kind="boolean", size=cell.size + 1)

    @cell.register
    def _(self, expression: e.Case) -> Cell:
        import ibis

        tests = [self.condition(condition) for condition, _ in expression.branches]
        results = [self.cell(value) for _, value in expression.branches]
        results = common([*results, self.cell(expression.otherwise)])
        pairs = zip((c.value for c in tests), (c.value for c in results[:-1]), strict=True)
        return Cell(
            value=ibis.cases(*pairs, else_=results[-1].value),
            kind=results[0].kind,
            low=min(c.low for c in results),
            high=max(c.high for c in results),
            grid=min(c.grid for c in results),
            size=sized(sum(c.size for c in (*tests, *results)) + 1),
        )

    @cell.register
    def _(self, expression: e.Cast) -> Cell:
        return cast(self.cell(expression.operand), expression.kind)

    @cell.register
    def _(self, expression: e.Call) -> Cell:
        way = FUNCTIONS.get(expression.function)
        if way is None:
            raise InvalidParameter(
                "function", expression.function, f"one of {', '.join(sorted(FUNCTIONS))}"
            )
        cells = [self.cell(argument) for argument in expression.arguments]
        try:
            inspect.signature(way).bind(*cells)
        except TypeError:
            raise InvalidParameter(
                "arguments", len(cells), f"as many as {expression.function} takes"
            ) from None
        return way(*cells)
