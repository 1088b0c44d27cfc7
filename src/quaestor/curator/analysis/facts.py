"""What is known of an expression without looking at data: its kind, and where its values lie.

Three things are known of numbers. ``low`` and ``high`` are where they lie by declaration, and what
sums and means are bounded by. ``most`` is a size that none exceeds whatever happens; it may be
finite where the bounds are not. ``grain`` says that all are multiples of ``2 ** grain``: products
of such numbers cannot become too small for a float, which some engines take for an error.

Kinds must agree, and constants take the kind of what they stand with: NULL any kind, texts of dates
that of dates. What is made of constants only is a constant.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from quaestor.curator.language.evaluation import evaluate
from quaestor.curator.language.expressions import (
    Arithmetic,
    Call,
    Cast,
    Constant,
    Expression,
    children,
    spell,
)
from quaestor.curator.language.functions import NUMBERS
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.curator.analysis.static_analysis import Analysis
    from quaestor.curator.catalog.model import ColumnFacts
    from quaestor.curator.language.expressions import Expression, Kind, Value

__all__ = [
    "FINEST_GRAIN",
    "LARGEST",
    "SMALLEST_GRAIN",
    "ValueFacts",
    "alike",
    "article",
    "as_date",
    "as_time",
    "common_kind",
    "constant_facts",
    "declared_facts",
    "default_step",
    "expect",
    "expect_alike",
    "folded",
    "grain_of",
    "number_facts",
]

LARGEST: Final = 1e15
"""No number that is reckoned with may be larger: engines overflow, and floats lose whole ones."""
FINEST_GRAIN: Final = -400
"""No multiple of ``2 ** grain`` below this: floats end at ``2 ** -1074``."""
SMALLEST_GRAIN: Final = -94
"""That of floats that are 0 or at least 2^-40 in magnitude, as texts and plain reals are read."""
_MOST_STEPS: Final = 2**20
_FINEST: Final = -300  # no step is smaller than two to this power
_MANTISSA: Final = 53


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueFacts:
    """What is known of the values of an expression."""

    kind: Kind
    low: float = -math.inf
    high: float = math.inf
    most: float = math.inf
    grain: int = 0
    nullable: bool = True
    keys: tuple[Value, ...] | None = None
    """The values that are shown when rows are grouped by it."""
    step: float | None = None
    """The declared granularity, of a bare column."""
    unit: bool = False
    """Whether it says whom a row is about."""

    @property
    def number(self) -> bool:
        """Whether one can reckon with it."""
        return self.kind in NUMBERS

    @property
    def bounded(self) -> bool:
        """Whether a sum of it can be protected."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    def between(self, low: float, high: float) -> ValueFacts:
        """The same, known to lie between these too."""
        low, high = max(self.low, low), min(self.high, high)
        if low > high:  # nothing is left: any point will do
            low = high = min(max(self.low, high), self.high)
        most = max(abs(low), abs(high)) if math.isfinite(high - low) else self.most
        return replace(self, low=low, high=high, most=min(self.most, most))


def number_facts(kind: Kind, low: float, high: float, *, grain: int, nullable: bool) -> ValueFacts:
    """Facts about a number between two others."""
    most = max(abs(low), abs(high))
    return ValueFacts(kind=kind, low=low, high=high, most=most, grain=grain, nullable=nullable)


def grain_of(number: float) -> int:
    """The largest grain not above 0 that the number is a multiple of."""
    return 1 - float(number).as_integer_ratio()[1].bit_length()


def default_step(low: float, high: float) -> float:
    """The power of two that cuts the larger of two bounds into at most 2^20 steps."""
    most = max(abs(low), abs(high))
    if most <= 0:
        return 1.0
    step = max(most / _MOST_STEPS, 2.0**_FINEST)
    return 2.0 ** math.ceil(math.log2(step))


def constant_facts(constant: Constant) -> ValueFacts:
    """Everything is known of a constant."""
    value = constant.value
    if value is None or constant.kind not in NUMBERS or isinstance(value, str):
        return ValueFacts(kind=constant.kind, nullable=value is None)
    return number_facts(constant.kind, value, value, grain=grain_of(value), nullable=False)


def declared_facts(column: ColumnFacts, *, unit: bool = False) -> ValueFacts:
    """What the catalog says of a column, as it is read.

    Numbers are moved into declared bounds when they are read. Reals are rounded to their
    granularity; without one they stay as they are, but below 2^-40 they are 0.
    """
    if column.kind not in NUMBERS:
        return ValueFacts(kind=column.kind, keys=column.keys, nullable=not unit, unit=unit)
    low = -math.inf if column.low is None else column.low
    high = math.inf if column.high is None else column.high
    step = column.granularity
    return ValueFacts(
        kind=column.kind,
        low=low,
        high=high,
        most=max(abs(low), abs(high)),
        grain=_grain_of_steps(column.kind, step, low, high),
        nullable=not unit,
        keys=column.keys,
        step=step,
        unit=unit,
    )


def _grain_of_steps(kind: Kind, step: float | None, low: float, high: float) -> int:
    if kind == "integer":
        return 0
    if step is None:
        return SMALLEST_GRAIN
    fraction, exponent = math.frexp(step)
    own = exponent - 1 if fraction == 0.5 else exponent - _MANTISSA  # tenths end in rounded bits
    ends = [grain_of(end) for end in (low, high) if math.isfinite(end)]
    return min(own, 0, *ends)


_WORDS: dict[str, str] = {
    "integer": "a whole number",
    "real": "a number",
    "text": "a text",
    "boolean": "true or false",
    "date": "a date",
    "timestamp": "a time",
}


def article(kind: Kind) -> str:
    """The kind in words."""
    return _WORDS[kind]


def expect(expression: Expression, facts: ValueFacts, kinds: frozenset[Kind], what: str) -> None:
    """Refuse the expression if it is of no kind that is wanted here."""
    if facts.kind in kinds:
        return
    wanted = "a number" if kinds == NUMBERS else " or ".join(article(k) for k in sorted(kinds))
    remedy = f"write CAST({spell(expression)} AS INTEGER)" if kinds == NUMBERS else ""
    if facts.kind == "timestamp" and "date" in kinds:
        remedy = f"write CAST({spell(expression)} AS DATE)"
    if facts.kind in {"date", "timestamp"} and "integer" in kinds:
        remedy = f"write YEAR({spell(expression)}), or DATE_DIFF('day', a, b) for days"
    if kinds == {"boolean"}:
        remedy = f"compare it with something, as in {spell(expression)} = 1"
    if kinds == {"text"}:
        remedy = "compare numbers and dates with =, < and >"
    raise RefusedQuery(
        f"{what} needs {wanted}, but {spell(expression)} is {article(facts.kind)}",
        remedy=remedy or "use a column of that kind",
    )


def expect_alike(expression: Expression, left: Kind, right: Kind) -> None:
    """Refuse the expression if its parts are not of one kind; numbers are."""
    if left != right and not (left in NUMBERS and right in NUMBERS):
        raise RefusedQuery(
            f"{spell(expression)} combines {article(left)} with {article(right)}",
            remedy="convert one of them: CAST(x AS INTEGER), or use a constant of the same kind",
        )


def common_kind(expression: Expression, kinds: Sequence[Kind]) -> Kind:
    """The kind of several values together: whole numbers and reals are reals."""
    for kind in kinds[1:]:
        expect_alike(expression, kinds[0], kind)
    return "real" if "real" in kinds else kinds[0]


def as_date(constant: Constant) -> Constant:
    """A text that the analyst wrote, as a date."""
    value = str(constant.value)
    try:
        day = dt.date.fromisoformat(value) if len(value) == 10 else None
    except ValueError:
        day = None
    if day is None:
        raise RefusedQuery(
            f"{spell(constant)} is not a date", remedy="write year, month, day: DATE '2026-01-31'"
        )
    return Constant(day.isoformat(), "date")


def as_time(constant: Constant) -> Constant:
    """A text or a date that the analyst wrote, as a time; in UTC, if it has a zone."""
    try:
        time = dt.datetime.fromisoformat(str(constant.value))
        time = time if time.tzinfo is None else time.astimezone(dt.UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        raise RefusedQuery(
            f"{spell(constant)} is not a time", remedy="write TIMESTAMP '2026-01-31 08:30:00'"
        ) from None
    return Constant(time.isoformat(sep=" "), "timestamp")


def alike(analysis: Analysis, *expressions: Expression) -> list[Expression]:
    """The same, where NULL and texts of dates take the kind of what they stand with.

    A date that stands with a time is the midnight with which it begins.
    """
    kinds = [
        analysis.kind(e) for e in expressions if not isinstance(e, Constant) or e.value is not None
    ]
    if not kinds:
        return list(expressions)
    first: list[Kind] = ["timestamp", "date", "real"]
    kind: Kind = next((each for each in first if each in kinds), kinds[0])
    made: list[Expression] = []
    for expression in expressions:
        if isinstance(expression, Constant) and expression.value is None:
            made.append(Constant(None, kind))
        elif kind == "date" and isinstance(expression, Constant) and expression.kind == "text":
            made.append(as_date(expression))
        elif kind == "timestamp" and isinstance(expression, Constant):
            wanted = expression.kind in {"text", "date"}
            made.append(as_time(expression) if wanted else expression)
        elif kind == "timestamp" and analysis.kind(expression) == "date":
            made.append(Call("time_of", (expression,)))
        else:
            made.append(expression)
    return made


def folded(expression: Expression, analysis: Analysis) -> Expression:
    """The constant that arithmetic, a cast or a function of constants is; else the same."""
    inside = children(expression)
    if not isinstance(expression, Arithmetic | Call | Cast) or not all(
        isinstance(child, Constant) for child in inside
    ):
        return expression
    kind = analysis.facts(expression).kind  # first of all: it refuses what cannot be evaluated
    return Constant(evaluate(expression), kind)
