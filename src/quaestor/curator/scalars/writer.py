"""Expressions over the columns of one row, written for the engine.

The nodes are those of :mod:`quaestor.curator.language.expressions`, by exact type: any other, a
sub-class included, is refused. None of them looks at another row. Names of columns are looked up
here and never written: the engine sees the kernel's own.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from quaestor.curator.language import expressions as e
from quaestor.curator.scalars.arithmetic import computed
from quaestor.curator.scalars.casts import cast
from quaestor.curator.scalars.functions import FUNCTIONS
from quaestor.curator.scalars.scalar import SQL, Scalar, common, sized
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["ScalarWriter"]

_LONGEST_PATTERN: Final = 1_000
_COMPARISONS: Final = frozenset({"=", "<>", "<", "<=", ">", ">="})


@dataclass(frozen=True, slots=True)
class ScalarWriter:
    """Writes expressions over the columns of one relation."""

    columns: Mapping[str, Scalar]
    sql: SQL

    def scalar(self, expression: e.Expression) -> Scalar:
        """The expression for the engine, with what is certain of its values."""
        way = _NODES.get(type(expression))
        if way is None:
            raise InvalidParameter("expression", type(expression).__name__, "one about rows")
        return way(self, expression)

    def condition(self, expression: e.Expression) -> Scalar:
        """An expression that has to be true or false, or NULL."""
        x = self.scalar(expression)
        if x.kind != "boolean":
            raise InvalidParameter("condition", f"a {x.kind}", "true or false")
        return x

    def _column(self, expression: e.Column) -> Scalar:
        x = self.columns.get(expression.name)
        if x is None:
            raise InvalidParameter("column", expression.name, "one that the relation below has")
        return x

    def _constant(self, expression: e.Constant) -> Scalar:
        return self.sql.constant(expression.value, expression.kind)

    def _arithmetic(self, expression: e.Arithmetic) -> Scalar:
        left, right = self.scalar(expression.left), self.scalar(expression.right)
        return computed(self.sql, expression.operator, left, right)

    def _comparison(self, expression: e.Comparison) -> Scalar:
        if expression.operator not in _COMPARISONS:
            raise InvalidParameter("operator", expression.operator, "a comparison")
        both = common(self.sql, (self.scalar(expression.left), self.scalar(expression.right)))
        left, right = (f"CAST({x.sql} AS INT)" if x.kind == "boolean" else x.sql for x in both)
        size = sized(sum(x.size for x in both) + 1)
        return _truth(f"({left} {expression.operator} {right})", size)

    def _logic(self, expression: e.Logic) -> Scalar:
        if expression.operator not in {"and", "or"}:
            raise InvalidParameter("operator", expression.operator, "and, or")
        parts = [self.condition(operand) for operand in expression.operands]
        if not parts:
            return _truth("TRUE" if expression.operator == "and" else "FALSE", 1)
        joined = f" {expression.operator.upper()} ".join(x.sql for x in parts)
        return _truth(f"({joined})", sized(sum(x.size for x in parts) + 1))

    def _not(self, expression: e.Not) -> Scalar:
        x = self.condition(expression.operand)
        return _truth(f"(NOT {x.sql})", x.size + 1)

    def _is_null(self, expression: e.IsNull) -> Scalar:
        x = self.scalar(expression.operand)
        return _truth(f"({x.sql} IS NULL)", x.size + 1)

    def _member(self, expression: e.Member) -> Scalar:
        known = [c for c in expression.values if c.value is not None]
        constants = (self.sql.constant(c.value, c.kind) for c in known)
        x, *among = common(self.sql, [self.scalar(expression.operand), *constants])
        test = f"{x.sql} IN ({', '.join(each.sql for each in among)})" if among else "FALSE"
        if len(known) < len(expression.values):
            test += f" OR {self.sql.nothing('boolean')}"
        return _truth(f"({test})", sized(x.size + sum(each.size for each in among) + 2))

    def _like(self, expression: e.Like) -> Scalar:
        x = self.scalar(expression.operand)
        if x.kind != "text":
            raise InvalidParameter("LIKE", f"a {x.kind}", "given a text")
        if len(expression.pattern) > _LONGEST_PATTERN:
            most = f"of at most {_LONGEST_PATTERN:,} characters"
            raise InvalidParameter("LIKE", "a longer pattern", most)
        pattern = self.sql.text(self.sql.dialect.pattern(expression.pattern))
        return _truth(self.sql.dialect.like.format(x.sql, pattern), x.size + 1)

    def _case(self, expression: e.Case) -> Scalar:
        tests = [self.condition(condition) for condition, _ in expression.branches]
        results = [self.scalar(value) for _, value in expression.branches]
        *values, otherwise = common(self.sql, [*results, self.scalar(expression.otherwise)])
        every = [*values, otherwise]
        branches = " ".join(
            f"WHEN {test.sql} THEN {value.sql}" for test, value in zip(tests, values, strict=True)
        )
        return Scalar(
            sql=f"CASE {branches} ELSE {otherwise.sql} END" if branches else otherwise.sql,
            kind=otherwise.kind,
            low=min(x.low for x in every),
            high=max(x.high for x in every),
            grid=min(x.grid for x in every),
            size=sized(sum(x.size for x in (*tests, *every)) + 1),
        )

    def _cast(self, expression: e.Cast) -> Scalar:
        return cast(self.sql, self.scalar(expression.operand), expression.kind)

    def _call(self, expression: e.Call) -> Scalar:
        way = FUNCTIONS.get(expression.function)
        if way is None:
            known = ", ".join(sorted(FUNCTIONS))
            raise InvalidParameter("function", expression.function, f"one of {known}")
        arguments = [self.scalar(argument) for argument in expression.arguments]
        try:
            inspect.signature(way).bind(self.sql, *arguments)
        except TypeError:
            raise InvalidParameter(
                "arguments", len(arguments), f"as many as {expression.function} takes"
            ) from None
        made: Scalar = way(self.sql, *arguments)
        return made


def _truth(sql: str, size: int) -> Scalar:
    return Scalar(sql=sql, kind="boolean", size=size)


_NODES: Final[dict[type, Callable[[ScalarWriter, Any], Scalar]]] = {
    e.Column: ScalarWriter._column,  # noqa: SLF001  # the list of all nodes, and of nothing else
    e.Constant: ScalarWriter._constant,  # noqa: SLF001
    e.Arithmetic: ScalarWriter._arithmetic,  # noqa: SLF001
    e.Comparison: ScalarWriter._comparison,  # noqa: SLF001
    e.Logic: ScalarWriter._logic,  # noqa: SLF001
    e.Not: ScalarWriter._not,  # noqa: SLF001
    e.IsNull: ScalarWriter._is_null,  # noqa: SLF001
    e.Member: ScalarWriter._member,  # noqa: SLF001
    e.Like: ScalarWriter._like,  # noqa: SLF001
    e.Case: ScalarWriter._case,  # noqa: SLF001
    e.Cast: ScalarWriter._cast,  # noqa: SLF001
    e.Call: ScalarWriter._call,  # noqa: SLF001
}
