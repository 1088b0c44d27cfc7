"""Static analysis: the kind of every expression, where its values lie, and what cannot be allowed.

A refusal here depends on the question and the catalog only. What passes has a value in every row
on every engine: kinds agree, no number exceeds 10^15, none becomes too small for a float.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from quaestor.curator.analysis.facts import (
    FINEST_GRAIN,
    LARGEST,
    ValueFacts,
    common_kind,
    constant_facts,
    expect,
    expect_alike,
    number_facts,
)
from quaestor.curator.analysis.intervals import INTERVALS, arithmetic, bounds_remedy, cast_facts
from quaestor.curator.language.expressions import (
    Aggregated,
    Arithmetic,
    Call,
    Case,
    Cast,
    Column,
    Comparison,
    Constant,
    Expression,
    GroupTotal,
    IsNull,
    Keyed,
    Like,
    Logic,
    Member,
    Not,
    children,
    spell,
)
from quaestor.curator.language.functions import FUNCTIONS, NUMBERS, SMALLEST_DIVISOR
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quaestor.curator.language.expressions import Kind

__all__ = ["Analysis"]

_MOST_NODES = 5_000
_GRAINS = {"ln": -20, "log10": -20, "exp": -150}


class Analysis:
    """What is known of expressions over columns with known facts; each is looked at once.

    With ``keys`` and ``aggregates`` it is about released values, which no bounds restrict:
    they are reckoned with in Python, where whatever has no value is NULL.
    """

    def __init__(
        self,
        schema: Mapping[str, ValueFacts],
        *,
        keys: Sequence[ValueFacts] = (),
        aggregates: Sequence[ValueFacts] = (),
        released: bool = False,
    ) -> None:
        self.schema, self.keys, self.aggregates = schema, keys, aggregates
        self.released = released
        self._known: dict[int, tuple[Expression, ValueFacts, int]] = {}

    def facts(self, expression: Expression) -> ValueFacts:
        """What is known of it; refused if it is not an expression of the language."""
        return self._look(expression)[1]

    def kind(self, expression: Expression) -> Kind:
        """The kind of its values."""
        return self.facts(expression).kind

    def _look(self, expression: Expression) -> tuple[Expression, ValueFacts, int]:
        known = self._known.get(id(expression))
        if known is None:
            inner = [self._look(child) for child in children(expression)]
            size = 1 + sum(part[2] for part in inner)
            if size > _MOST_NODES:
                raise RefusedQuery(
                    f"the expression has more than {_MOST_NODES:,} parts",
                    remedy="name parts of it in a subquery, and use the names",
                )
            facts = self._rule(expression, [part[1] for part in inner])
            known = self._known[id(expression)] = (expression, facts, size)
        return known

    def _rule(self, expression: Expression, inner: list[ValueFacts]) -> ValueFacts:  # noqa: C901, PLR0911, PLR0912
        # one line a kind of expression
        match expression:
            case Column():
                return self.schema[expression.name]
            case Constant():
                return constant_facts(expression)
            case Keyed():
                return self.keys[expression.place]
            case Aggregated():
                return self.aggregates[expression.place]
            case GroupTotal():
                expect(expression.operand, inner[0], NUMBERS, "SUM(...) OVER ()")
                return ValueFacts(kind=inner[0].kind, nullable=True)
            case Arithmetic():
                return self._arithmetic(expression, inner[0], inner[1])
            case Comparison():
                return _comparison(expression, inner[0], inner[1])
            case Logic() | Not():
                for child, of in zip(children(expression), inner, strict=True):
                    expect(child, of, frozenset({"boolean"}), "AND, OR and NOT")
                return ValueFacts(kind="boolean", nullable=any(of.nullable for of in inner))
            case IsNull():
                return ValueFacts(kind="boolean", nullable=False)
            case Member():
                for value in expression.values:
                    expect_alike(expression, inner[0].kind, value.kind)
                return ValueFacts(kind="boolean", nullable=inner[0].nullable)
            case Like():
                expect(expression.operand, inner[0], frozenset({"text"}), "LIKE")
                return ValueFacts(kind="boolean", nullable=inner[0].nullable)
            case Case():
                return _case(expression, inner)
            case Cast():
                return cast_facts(expression, inner[0])
            case Call():
                return self._call(expression, inner)
            case _:
                raise TypeError(type(expression).__name__)

    def _arithmetic(self, of: Arithmetic, left: ValueFacts, right: ValueFacts) -> ValueFacts:
        sides = ((of.left, left), (of.right, right))
        for side, facts in sides:
            expect(side, facts, NUMBERS, f"{of.operator!r}")
        whole = left.kind == right.kind == "integer" and of.operator != "/"
        kind: Kind = "integer" if whole else "real"
        zero = right.low < SMALLEST_DIVISOR and right.high > -SMALLEST_DIVISOR
        nullable = left.nullable or right.nullable or (zero and of.operator in "/%")
        if self.released:
            return ValueFacts(kind=kind, nullable=nullable)
        if of.operator == "%" and not whole:
            raise RefusedQuery(
                "% is only supported for whole numbers",
                remedy="cast both sides: CAST(x AS INTEGER) % 10",
            )
        for side, facts in sides:
            if not facts.most <= LARGEST:
                raise RefusedQuery(
                    f"{spell(side)} has no known bounds, so arithmetic with it is not supported",
                    remedy=bounds_remedy(side),
                )
        interval = arithmetic(of.operator, left, right)
        square = of.operator == "*" and of.left == of.right
        made = ValueFacts(
            kind=kind,
            low=max(interval.low, 0.0) if square else interval.low,
            high=interval.high,
            most=interval.most,
            grain=_grain(of.operator, left, right),
            nullable=nullable,
        )
        return made if of.operator == "/" and math.isinf(made.most) else _sized(of, made)

    def _call(self, call: Call, inner: list[ValueFacts]) -> ValueFacts:
        rule, name = FUNCTIONS[call.function], call.function.upper()
        if not rule.fits(len(inner)):
            wanted = f"{len(rule.takes)}{' or more' if rule.repeats else ''}"
            raise RefusedQuery(
                f"{name} takes {wanted} arguments, but got {len(inner)}",
                remedy=f"it gives {rule.says}",
            )
        for place, (argument, facts) in enumerate(zip(call.arguments, inner, strict=True)):
            expect(argument, facts, rule.takes_at(place), name)
            if place in rule.constant and not isinstance(argument, Constant):
                raise RefusedQuery(
                    f"{name} needs constants after its first argument",
                    remedy="write numbers there, such as CLAMP(x, 0, 100)",
                )
        kind = rule.gives or common_kind(call, [facts.kind for facts in inner])
        if call.function in {"coalesce", "least", "greatest"}:
            nullable = all(facts.nullable for facts in inner)
        else:
            nullable = any(facts.nullable for facts in inner) or _undefined(call, inner[0])
        if kind not in NUMBERS or self.released:
            return ValueFacts(kind=kind, nullable=nullable)
        return self._number(call, kind, inner, nullable=nullable)

    def _number(
        self, call: Call, kind: Kind, inner: list[ValueFacts], *, nullable: bool
    ) -> ValueFacts:
        needs_bounds = call.function in {"exp", "floor", "ceil", "round"}
        if needs_bounds and not inner[0].most <= LARGEST:
            raise RefusedQuery(
                (
                    f"{spell(call.arguments[0])} has no known bounds, and {call.function.upper()} "
                    "of it may be undefined"
                ),
                remedy=bounds_remedy(call.arguments[0]),
            )
        if call.function == "clamp" and inner[1].low > inner[2].low:
            raise RefusedQuery(
                "CLAMP's lower bound is above its upper bound",
                remedy="write the lower one first: CLAMP(x, 0, 100)",
            )
        interval = INTERVALS[call.function](inner)
        grain = 0 if kind == "integer" else min((of.grain for of in inner), default=0)
        made = ValueFacts(
            kind=kind,
            low=interval.low,
            high=interval.high,
            most=interval.most,
            grain=_GRAINS.get(call.function, grain) if call.function != "sqrt" else grain // 2 - 54,
            nullable=nullable,
        )
        return _sized(call, made) if call.function == "exp" else made


def _grain(operator: str, left: ValueFacts, right: ValueFacts) -> int:
    if operator == "*":
        return left.grain + right.grain
    if operator == "/":
        return left.grain - max(0, math.frexp(right.most)[1]) - 54
    return min(left.grain, right.grain)


def _undefined(call: Call, of: ValueFacts) -> bool:
    """Whether the function has no value somewhere in the interval of its argument."""
    match call.function:
        case "sqrt":
            return of.low < 0
        case "ln" | "log10":
            return of.low <= 0
        case name:
            return name in {"nullif", "add_days", "add_months"}


def _sized(expression: Expression, made: ValueFacts) -> ValueFacts:
    """Neither too large nor too small, whatever the row."""
    if not made.most <= LARGEST:
        raise RefusedQuery(
            f"{spell(expression)} may be larger than 10^15",
            remedy="write CLAMP(x, 0, 100), with your own bounds, around its parts",
        )
    if made.grain < FINEST_GRAIN:
        raise RefusedQuery(
            f"{spell(expression)} may be too small a number for some databases",
            remedy="divide and multiply less often, or round parts of it with ROUND(x)",
        )
    return made


def _comparison(of: Comparison, left: ValueFacts, right: ValueFacts) -> ValueFacts:
    expect_alike(of, left.kind, right.kind)
    if left.kind == "boolean" and of.operator not in {"=", "<>"}:
        raise RefusedQuery(
            "true and false cannot be ordered",
            remedy=f"write {spell(of.left)} = TRUE, or {spell(of.left)} alone",
        )
    return ValueFacts(kind="boolean", nullable=left.nullable or right.nullable)


def _case(of: Case, inner: list[ValueFacts]) -> ValueFacts:
    conditions, values = inner[:-1:2], [*inner[1::2], inner[-1]]
    for (when, _), facts in zip(of.branches, conditions, strict=True):
        expect(when, facts, frozenset({"boolean"}), "CASE WHEN")
    kind = common_kind(of, [facts.kind for facts in values])
    nullable = any(facts.nullable for facts in values)
    if kind not in NUMBERS:
        return ValueFacts(kind=kind, nullable=nullable)
    null = [_is_null(then) or when == IsNull(then) for when, then in of.branches]
    null.append(_is_null(of.otherwise))
    there = [facts for facts, is_null in zip(values, null, strict=True) if not is_null]
    if not there:
        return number_facts(kind, 0.0, 0.0, grain=0, nullable=True)
    return ValueFacts(
        kind=kind,
        low=min(facts.low for facts in there),
        high=max(facts.high for facts in there),
        most=max(facts.most for facts in there),
        grain=min(facts.grain for facts in there),
        nullable=nullable,
    )


def _is_null(expression: Expression) -> bool:
    return isinstance(expression, Constant) and expression.value is None
