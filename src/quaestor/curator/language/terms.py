"""Terms: expressions with Python's operators, and the functions that have one value a row."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from quaestor.curator.language.expressions import (
    Arithmetic,
    Call,
    Case,
    Cast,
    Column,
    Comparison,
    Constant,
    Expression,
    IsNull,
    Kind,
    Like,
    Logic,
    Member,
    Not,
)
from quaestor.errors import RefusedQuery

__all__ = [
    "Measured",
    "Term",
    "Termlike",
    "absolute",
    "case",
    "ceil",
    "clamp",
    "coalesce",
    "col",
    "exp",
    "floor",
    "greatest",
    "least",
    "ln",
    "lower",
    "measured",
    "measured_pair",
    "month",
    "rounded",
    "sqrt",
    "term",
    "upper",
    "year",
]


@dataclass(frozen=True, slots=True)
class Measured(Expression):
    """An aggregate that was asked for; planning gives it a place."""

    function: str
    operand: Expression | None = None
    probability: float = 0.5
    second: Expression | None = None


class Term:
    """An expression under construction: ``col("age") + 1 > 40``.

    Comparisons make terms too; put conditions together with ``&``, ``|`` and ``~``.
    """

    __slots__ = ("expression",)
    __hash__ = None  # type: ignore[assignment]  # == makes a term, so that nothing could be found

    def __init__(self, expression: Expression) -> None:
        self.expression = expression

    def __bool__(self) -> bool:
        raise RefusedQuery(
            "a condition cannot be used with and, or, not",
            remedy="write & | ~ instead of and, or, not",
        )

    def _with(self, operator: Any, other: Termlike, *, swapped: bool = False) -> Term:
        left, right = self.expression, term(other).expression
        return Term(Arithmetic(operator, *((right, left) if swapped else (left, right))))

    def _against(self, operator: Any, other: Termlike) -> Term:
        return Term(Comparison(operator, self.expression, term(other).expression))

    def __add__(self, other: Termlike) -> Term:
        return self._with("+", other)

    def __radd__(self, other: Termlike) -> Term:
        return self._with("+", other, swapped=True)

    def __sub__(self, other: Termlike) -> Term:
        return self._with("-", other)

    def __rsub__(self, other: Termlike) -> Term:
        return self._with("-", other, swapped=True)

    def __mul__(self, other: Termlike) -> Term:
        return self._with("*", other)

    def __rmul__(self, other: Termlike) -> Term:
        return self._with("*", other, swapped=True)

    def __truediv__(self, other: Termlike) -> Term:
        return self._with("/", other)

    def __rtruediv__(self, other: Termlike) -> Term:
        return self._with("/", other, swapped=True)

    def __mod__(self, other: Termlike) -> Term:
        return self._with("%", other)

    def __neg__(self) -> Term:
        return Term(Arithmetic("-", Constant(0, "integer"), self.expression))

    def __eq__(self, other: Termlike) -> Term:  # type: ignore[override]  # as in ibis
        return self._against("=", other)

    def __ne__(self, other: Termlike) -> Term:  # type: ignore[override]  # as in ibis
        return self._against("<>", other)

    def __lt__(self, other: Termlike) -> Term:
        return self._against("<", other)

    def __le__(self, other: Termlike) -> Term:
        return self._against("<=", other)

    def __gt__(self, other: Termlike) -> Term:
        return self._against(">", other)

    def __ge__(self, other: Termlike) -> Term:
        return self._against(">=", other)

    def __and__(self, other: Term) -> Term:
        return Term(Logic("and", (self.expression, other.expression)))

    def __or__(self, other: Term) -> Term:
        return Term(Logic("or", (self.expression, other.expression)))

    def __invert__(self) -> Term:
        return Term(Not(self.expression))

    def between(self, low: Termlike, high: Termlike) -> Term:
        """Whether it lies between two values, which count too."""
        return (self >= low) & (self <= high)

    def isin(self, *values: Termlike) -> Term:
        """Whether it is one of some constants."""
        constants = [term(value).expression for value in values]
        if not all(isinstance(constant, Constant) for constant in constants):
            raise RefusedQuery("isin needs constants", remedy="write conditions with |")
        ordered = sorted({repr(constant): constant for constant in constants}.items())
        return Term(Member(self.expression, tuple(found for _, found in ordered)))  # type: ignore[misc]

    def is_null(self) -> Term:
        """Whether there is no value."""
        return Term(IsNull(self.expression))

    def like(self, pattern: str) -> Term:
        """Whether a text is as a pattern of ``%`` and ``_`` says."""
        return Term(Like(self.expression, pattern))

    def cast(self, kind: Kind) -> Term:
        """The value as another kind."""
        return Term(Cast(self.expression, kind))


Termlike = Term | int | float | str | bool | dt.date | None
"""A term, or a constant: texts are constants, and ``col`` makes columns."""


def term(value: Termlike) -> Term:  # noqa: PLR0911  # a kind, a line
    """A constant as a term; terms stay."""
    if isinstance(value, Term):
        return value
    match value:
        case bool():
            return Term(Constant(value, "boolean"))
        case int():
            return Term(Constant(value, "integer"))
        case float():
            return Term(Constant(value, "real"))
        case str() | None:
            return Term(Constant(value, "text"))
        case dt.datetime():
            utc = value if value.tzinfo is None else value.astimezone(dt.UTC).replace(tzinfo=None)
            return Term(Constant(utc.isoformat(sep=" "), "timestamp"))
        case dt.date() if type(value) is dt.date:
            return Term(Constant(value.isoformat(), "date"))
        case _:
            raise RefusedQuery(
                f"a {type(value).__name__} is not a constant",
                remedy="give a number, a text, a date, True, False or None",
            )


def col(name: str) -> Term:
    """A column by its name, or by the name of its table and its own: ``col("visits.age")``.

    >>> from quaestor.curator.language.evaluation import evaluate
    >>> evaluate((col("age") + 1).expression, columns={"age": 41})
    42
    """
    return Term(Column(name))


def measured(function: str, of: Termlike, probability: float = 0.5) -> Term:
    """An aggregate of a term; here a text names a column."""
    operand = col(of) if isinstance(of, str) else term(of)
    return Term(Measured(function, operand.expression, probability))


def measured_pair(function: str, first: Termlike, second: Termlike) -> Term:
    """An aggregate of two terms; here texts name columns."""
    one, other = (col(of) if isinstance(of, str) else term(of) for of in (first, second))
    return Term(Measured(function, one.expression, second=other.expression))


def _call(function: str, *arguments: Termlike) -> Term:
    return Term(Call(function, tuple(term(argument).expression for argument in arguments)))


def absolute(of: Term) -> Term:
    """Without its sign.

    >>> from quaestor.curator.language.evaluation import evaluate
    >>> evaluate(absolute(col("change")).expression, columns={"change": -3})
    3
    """
    return _call("abs", of)


def floor(of: Term) -> Term:
    """The largest whole number that is not above.

    >>> from quaestor.curator.language.evaluation import evaluate
    >>> evaluate(floor(col("cost")).expression, columns={"cost": 2.25})
    2
    """
    return _call("floor", of)


def ceil(of: Term) -> Term:
    """The smallest whole number that is not below.

    >>> from quaestor.curator.language.evaluation import evaluate
    >>> evaluate(ceil(col("cost")).expression, columns={"cost": 2.25})
    3
    """
    return _call("ceil", of)


def rounded(of: Term) -> Term:
    """The nearest whole number.

    >>> from quaestor.curator.language.evaluation import evaluate
    >>> evaluate(rounded(col("cost")).expression, columns={"cost": 2.25})
    2
    """
    return _call("round", of)


def sqrt(of: Term) -> Term:
    """The square root.

    >>> from quaestor.curator.language.evaluation import evaluate
    >>> evaluate(sqrt(col("x")).expression, columns={"x": 9})
    3.0
    """
    return _call("sqrt", of)


def ln(of: Term) -> Term:
    """The natural logarithm.

    >>> from quaestor.curator.language.evaluation import evaluate
    >>> evaluate(ln(col("x")).expression, columns={"x": 1})
    0.0
    """
    return _call("ln", of)


def exp(of: Term) -> Term:
    """E to the power.

    >>> from quaestor.curator.language.evaluation import evaluate
    >>> evaluate(exp(col("x")).expression, columns={"x": 0})
    1.0
    """
    return _call("exp", of)


def clamp(of: Term, low: float, high: float) -> Term:
    """Moved between two numbers.

    >>> from quaestor.curator.language.evaluation import evaluate
    >>> evaluate(clamp(col("age"), 18, 90).expression, columns={"age": 7})
    18
    """
    return _call("clamp", of, low, high)


def least(*of: Termlike) -> Term:
    """The least that is not NULL.

    >>> from quaestor.curator.language.evaluation import evaluate
    >>> evaluate(least(col("x"), 0).expression, columns={"x": -1})
    -1
    """
    return _call("least", *of)


def greatest(*of: Termlike) -> Term:
    """The greatest that is not NULL.

    >>> from quaestor.curator.language.evaluation import evaluate
    >>> evaluate(greatest(col("x"), 0).expression, columns={"x": -1})
    0
    """
    return _call("greatest", *of)


def coalesce(*of: Termlike) -> Term:
    """The first that is not NULL.

    >>> from quaestor.curator.language.evaluation import evaluate
    >>> evaluate(coalesce(col("age"), 0).expression, columns={"age": None})
    0
    """
    return _call("coalesce", *of)


def upper(of: Term) -> Term:
    """With a to z as A to Z.

    >>> from quaestor.curator.language.evaluation import evaluate
    >>> evaluate(upper(col("ward")).expression, columns={"ward": "a"})
    'A'
    """
    return _call("upper", of)


def lower(of: Term) -> Term:
    """With A to Z as a to z.

    >>> from quaestor.curator.language.evaluation import evaluate
    >>> evaluate(lower(col("ward")).expression, columns={"ward": "A"})
    'a'
    """
    return _call("lower", of)


def year(of: Term) -> Term:
    """The year of a date.

    >>> from quaestor.curator.language.evaluation import evaluate
    >>> evaluate(year(col("day")).expression, columns={"day": "2026-03-01"})
    2026
    """
    return _call("year", of)


def month(of: Term) -> Term:
    """The month of a date.

    >>> from quaestor.curator.language.evaluation import evaluate
    >>> evaluate(month(col("day")).expression, columns={"day": "2026-03-01"})
    3
    """
    return _call("month", of)


def case(*branches: tuple[Term, Termlike], otherwise: Termlike = None) -> Term:
    """The value of the first branch whose condition is true.

    >>> from quaestor.curator.language.evaluation import evaluate
    >>> evaluate(case((col("age") < 18, "child"), otherwise="adult").expression, columns={"age": 7})
    'child'
    """
    pairs = tuple((when.expression, term(then).expression) for when, then in branches)
    return Term(Case(pairs, term(otherwise).expression))
