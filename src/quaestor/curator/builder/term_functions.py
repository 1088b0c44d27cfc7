"""Functions of terms: aggregates, and what has one value a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.curator.builder.terms import Measured, Term, col, term
from quaestor.curator.language.expressions import Call, Case
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from quaestor.curator.builder.terms import Termlike
    from quaestor.curator.language.expressions import Expression
    from quaestor.curator.questions.plan import FunctionName

__all__ = [
    "absolute",
    "case",
    "ceil",
    "clamp",
    "coalesce",
    "count",
    "count_distinct",
    "exp",
    "floor",
    "greatest",
    "least",
    "ln",
    "lower",
    "mean",
    "median",
    "month",
    "quantile",
    "rounded",
    "sqrt",
    "stddev",
    "total",
    "upper",
    "variance",
    "year",
]


def _of(value: Termlike) -> Expression:
    """In aggregates a text names a column."""
    return col(value).expression if isinstance(value, str) else term(value).expression


def _measured(function: FunctionName, of: Termlike, probability: float = 0.5) -> Term:
    return Term(Measured(function, _of(of), probability))


def count(of: Termlike = None) -> Term:
    """How many rows; of those where a column has a value."""
    return Term(Measured("count")) if of is None else _measured("count", of)


def count_distinct(of: Termlike) -> Term:
    """How many different values; of the unit: how many units."""
    return _measured("distinct", of)


def total(of: Termlike) -> Term:
    """The sum."""
    return _measured("sum", of)


def mean(of: Termlike) -> Term:
    """The mean."""
    return _measured("mean", of)


def variance(of: Termlike) -> Term:
    """The sample variance."""
    return _measured("variance", of)


def stddev(of: Termlike) -> Term:
    """The sample standard deviation."""
    return _measured("stddev", of)


def quantile(of: Termlike, probability: float) -> Term:
    """The value that a share ``probability`` of the rows is not above."""
    if not 0 <= probability <= 1:
        raise RefusedQuery(
            "a quantile's probability is from 0 to 1", remedy="write quantile(x, 0.9)"
        )
    return _measured("quantile", of, float(probability))


def median(of: Termlike) -> Term:
    """The value in the middle."""
    return _measured("quantile", of)


def _call(function: str, *arguments: Termlike) -> Term:
    return Term(Call(function, tuple(term(argument).expression for argument in arguments)))


def absolute(of: Term) -> Term:
    """Without its sign."""
    return _call("abs", of)


def floor(of: Term) -> Term:
    """The largest whole number that is not above."""
    return _call("floor", of)


def ceil(of: Term) -> Term:
    """The smallest whole number that is not below."""
    return _call("ceil", of)


def rounded(of: Term) -> Term:
    """The nearest whole number."""
    return _call("round", of)


def sqrt(of: Term) -> Term:
    """The square root."""
    return _call("sqrt", of)


def ln(of: Term) -> Term:
    """The natural logarithm."""
    return _call("ln", of)


def exp(of: Term) -> Term:
    """E to the power."""
    return _call("exp", of)


def clamp(of: Term, low: float, high: float) -> Term:
    """Moved between two numbers."""
    return _call("clamp", of, low, high)


def least(*of: Termlike) -> Term:
    """The least that is not NULL."""
    return _call("least", *of)


def greatest(*of: Termlike) -> Term:
    """The greatest that is not NULL."""
    return _call("greatest", *of)


def coalesce(*of: Termlike) -> Term:
    """The first that is not NULL."""
    return _call("coalesce", *of)


def upper(of: Term) -> Term:
    """With a to z as A to Z."""
    return _call("upper", of)


def lower(of: Term) -> Term:
    """With A to Z as a to z."""
    return _call("lower", of)


def year(of: Term) -> Term:
    """The year of a date."""
    return _call("year", of)


def month(of: Term) -> Term:
    """The month of a date."""
    return _call("month", of)


def case(*branches: tuple[Term, Termlike], otherwise: Termlike = None) -> Term:
    """The value of the first branch whose condition is true."""
    pairs = tuple((when.expression, term(then).expression) for when, then in branches)
    return Term(Case(pairs, term(otherwise).expression))
