"""Random expressions and queries over the tables of the clinic, from a seed."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from quaestor.curator.kernel.measures import Distinct, RowCount, Total, Units, ValueCounts
from quaestor.curator.language.expressions import (
    Arithmetic,
    Call,
    Case,
    Cast,
    Column,
    Comparison,
    Constant,
    IsNull,
    Like,
    Logic,
    Member,
    Not,
)
from quaestor.curator.language.query import Contribution, Filtered, Key, Projected, Query, Scan

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.curator.kernel.measures import Measure
    from quaestor.curator.language.expressions import Expression

__all__ = ["random_measures", "random_query"]

_COLUMNS: dict[str, tuple[str, ...]] = {
    "number": ("age", "cost", "temp", "code", "bill"),
    "text": ("ward", "note"),
    "boolean": ("smoker",),
    "date": ("day",),
}
_TEXTS = ("north", "", "12", "é", "O'Hara\\%", "a%b", "Z", "2024-02-29", None)
_DAYS = ("2024-02-29", "1970-01-01", "0001-01-01", "9999-12-31")
_PATTERNS = ("%", "_", "%o%", "1%", "%\\%", "_%_", "a%b", "😀_", "", "%%")


class _Writer:
    """Writes expressions of a kind, at most so deep."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self._ways: dict[str, tuple[Callable[[int], Expression], ...]] = {
            "number": (self._arithmetic, self._function, self._parts, self._cast, self._case),
            "boolean": (self._comparison, self._logic, self._test),
            "text": (self._text_function, self._text_cast),
            "date": (self._date_function, lambda depth: Cast(self.write("text", depth), "date")),
        }

    def write(self, kind: str, depth: int = 3) -> Expression:
        """Some expression of the kind."""
        if depth <= 0 or self.draw.random() < 0.15:
            if self.draw.random() < 0.75:
                return Column(self.draw.choice(_COLUMNS[kind]))
            return self._constant(kind)
        return self.draw.choice(self._ways[kind])(depth - 1)

    def _constant(self, kind: str) -> Constant:
        draw = self.draw
        if kind == "number":
            whole = Constant(draw.choice((0, 1, -3, 7, 2**40, None)), "integer")
            return draw.choice((whole, Constant(draw.choice((0.1, -2.5, 1e-9, 1e6)), "real")))
        if kind == "boolean":
            return Constant(draw.choice((True, False, None)), "boolean")
        if kind == "date":
            return Constant(draw.choice(_DAYS), "date")
        return Constant(draw.choice(_TEXTS), "text")

    def _arithmetic(self, depth: int) -> Expression:
        operator: Any = self.draw.choice("+-*/%")
        return Arithmetic(operator, self.write("number", depth), self.write("number", depth))

    def _function(self, depth: int) -> Expression:
        one = ("abs", "sign", "floor", "ceil", "round", "sqrt", "ln", "log10", "exp")
        if self.draw.random() < 0.6:
            return Call(self.draw.choice(one), (self.write("number", depth),))
        name = self.draw.choice(("least", "greatest", "coalesce", "nullif", "clamp"))
        if name == "clamp":
            ends = sorted(self.draw.sample((-100, -1, 0, 2, 50, 10**6), 2))
            bounds = tuple(Constant(end, "integer") for end in ends)
            return Call(name, (self.write("number", depth), *bounds))
        return Call(name, (self.write("number", depth), self.write("number", depth)))

    def _parts(self, depth: int) -> Expression:
        name = self.draw.choice(("year", "quarter", "month", "day", "dow", "length"))
        return Call(name, (self.write("text" if name == "length" else "date", depth),))

    def _cast(self, depth: int) -> Expression:
        kind: Any = self.draw.choice(("integer", "real"))
        return Cast(self.write(self.draw.choice(("number", "text", "boolean")), depth), kind)

    def _case(self, depth: int) -> Expression:
        branches = tuple(
            (self.write("boolean", depth), self.write("number", depth))
            for _ in range(self.draw.randint(1, 2))
        )
        return Case(branches, self.write("number", depth))

    def _comparison(self, depth: int) -> Expression:
        operator: Any = self.draw.choice(("=", "<>", "<", "<=", ">", ">="))
        kind = self.draw.choice(("number", "number", "text", "boolean", "date"))
        return Comparison(operator, self.write(kind, depth), self.write(kind, depth))

    def _logic(self, depth: int) -> Expression:
        operator: Any = self.draw.choice(("and", "or"))
        operands = (self.write("boolean", depth), self.write("boolean", depth))
        return self.draw.choice((Not(operands[0]), Logic(operator, operands)))

    def _test(self, depth: int) -> Expression:
        draw = self.draw
        if draw.random() < 0.3:
            return IsNull(self.write(draw.choice(("number", "text", "date")), depth))
        if draw.random() < 0.5:
            return Like(self.write("text", depth), draw.choice(_PATTERNS))
        kind = draw.choice(("number", "text", "date"))
        values = tuple(self._constant(kind) for _ in range(draw.randint(0, 4)))
        return Member(self.write(kind, depth), values)

    def _text_function(self, depth: int) -> Expression:
        draw = self.draw
        if draw.random() < 0.5:
            return Call(draw.choice(("upper", "lower")), (self.write("text", depth),))
        if draw.random() < 0.5:
            bounds = (
                Constant(draw.randint(-2, 4), "integer"),
                Constant(draw.randint(0, 4), "integer"),
            )
            return Call("substring", (self.write("text", depth), *bounds))
        return Call("coalesce", (self.write("text", depth), self.write("text", depth)))

    def _text_cast(self, depth: int) -> Expression:
        kind = self.draw.choice(("boolean", "date"))
        return Cast(self.write(kind, depth), "text")

    def _date_function(self, depth: int) -> Expression:
        name = self.draw.choice(("first_of_month", "first_of_year"))
        return Call(name, (self.write("date", depth),))


def random_query(seed: int) -> Query:
    """A query over visits: filtered, perhaps projected, by up to two keys."""
    writer = _Writer(seed)
    draw = writer.draw
    rows: Any = Scan("visits")
    if draw.random() < 0.6:
        rows = Filtered(rows, writer.write("boolean", 2))
    if draw.random() < 0.3:
        same = (n for names in _COLUMNS.values() for n in names if n != "temp")
        columns = [(name, Column(name)) for name in ("patient", *same)]
        rows = Projected(rows, (*columns, ("temp", writer.write("number", 2))))
    keys = tuple(_key(writer) for _ in range(draw.randint(0, 2)))
    return Query(
        dataset="clinic",
        rows=rows,
        unit="patient",
        contribution=Contribution(rows=draw.choice((1, 2, 5)), groups=draw.choice((1, 2, 4))),
        keys=keys,
        aggregates=(),
        outputs=(),
    )


def _key(writer: _Writer) -> Key:
    draw = writer.draw
    kind: Any = draw.choice(("text", "boolean", "date", "integer", "real"))
    if kind in {"integer", "real"}:
        number = writer.write("number", 1)
        rounded = Call("floor", (number,)) if kind == "integer" else Cast(number, "real")
        values: Any = (-1, 0, 27, 41, None)
        if kind == "real":  # private ones are refused
            reals = (-1.0, 0.0, 27.0, 41.0, None)
            return Key(name="k", expression=rounded, kind=kind, values=reals)
        return Key(name="k", expression=rounded, kind=kind, values=draw.choice((None, values)))
    values = {"text": ("north", "", "Z", None), "boolean": (True, False), "date": _DAYS}[kind]
    expression = writer.write(kind, 1)
    return Key(name="k", expression=expression, kind=kind, values=draw.choice((None, values)))


def random_measures(seed: int, count: int) -> tuple[Measure, ...]:
    """Measures of random expressions."""
    writer = _Writer(seed)
    draw = writer.draw
    measures: list[Measure] = [Units()]
    for _ in range(count):
        rows = draw.choice((1, 2, 5))
        number = writer.write("number")
        step = draw.choice((0.25, 1.0, 0.1))
        measures += [
            Total(operand=number, low=-(2**20), high=2**20, step=step, rows=rows),
            RowCount(rows=rows, operand=writer.write(draw.choice(("boolean", "text", "date")))),
        ]
    kind = draw.choice(("text", "number", "date"))
    different = writer.write(kind, 1)
    if kind == "number":
        different = Call("floor", (different,))
    measures += [
        Distinct(operand=different, rows=2),
        ValueCounts(operand=writer.write("number", 2), low=-50, high=200, step=0.5, rows=2),
    ]
    return tuple(dict.fromkeys(measures))
