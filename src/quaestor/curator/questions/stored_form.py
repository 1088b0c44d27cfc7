"""Queries as JSON, and the fingerprint that is the same for the same question in other words."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

from quaestor.curator.catalog.model import ColumnFacts
from quaestor.curator.kernel import cut_measures, measures
from quaestor.curator.kernel.draws import (
    NoisyMeasure,
    NoisyQuantile,
    NoisyReach,
    NoisyTop,
    NoisyUnits,
    ShownGroups,
)
from quaestor.curator.language import expressions, query
from quaestor.curator.language.expressions import Arithmetic, Comparison, Expression, Logic, Member
from quaestor.curator.language.kept_results import KeptResults
from quaestor.curator.language.query import Filtered, Query
from quaestor.errors import InvalidParameter
from quaestor.mechanisms import (
    CountedQuantile,
    DiscreteGaussian,
    Geometric,
    OptimalSelection,
    PartitionSelection,
    QuantileReach,
    TopK,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "DRAWN",
    "QUESTIONS",
    "Wire",
    "canonical_json",
    "fingerprint",
    "from_dict",
    "from_wire",
    "to_dict",
    "to_wire",
]

_CANONICAL = KeptResults(64)
_PLAIN = (str, bool, int, float, type(None))
_MIRRORED: dict[str, str] = {">": "<", ">=": "<="}


def to_dict(query: Query) -> dict[str, Any]:
    """Everything that a query says, as JSON values: ``{"is": "Query", ...}``."""
    return cast("dict[str, Any]", to_wire(query))


def from_dict(data: dict[str, Any]) -> Query:
    """The query that :func:`to_dict` wrote."""
    try:
        made = from_wire(data)
    except (TypeError, KeyError, AttributeError) as error:
        raise InvalidParameter("query", data, "what to_dict wrote") from error
    if not isinstance(made, Query):
        raise InvalidParameter("query", data, "what to_dict wrote")
    return made


def canonical_json(query: Query) -> str:
    """One text for all ways to write a question that surely mean the same.

    Conditions joined by AND and OR are sorted, and so are the sides of ``+``, ``*``, ``=`` and
    ``<>``; ``a > b`` is ``b < a``; one filter after another is one filter.
    """
    return _CANONICAL.or_made(query, None, lambda: _text(to_wire(_normal(query))))


def fingerprint(query: Query) -> str:
    """SHA-256 of the canonical text, in hexadecimal."""
    return hashlib.sha256(canonical_json(query).encode()).hexdigest()


def _text(data: Any) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _normal(value: Any) -> Any:
    """The same from the leaves up, in normal form."""
    if isinstance(value, tuple):
        return tuple(_normal(part) for part in value)
    if not is_dataclass(value):
        return value
    inner = {field.name: _normal(getattr(value, field.name)) for field in fields(value)}
    kind: Any = type(value)
    return _sorted(kind(**inner))


def _sorted(value: Any) -> Any:  # noqa: PLR0911  # one line a law
    match value:
        case Logic():
            return _flat(value.operator, value.operands)
        case Comparison(operator=">" | ">="):
            return Comparison(cast("Any", _MIRRORED[value.operator]), value.right, value.left)
        case Comparison(operator="=" | "<>"):
            return Comparison(value.operator, *_in_order(value.left, value.right))
        case Arithmetic(operator="+" | "*"):
            return Arithmetic(value.operator, *_in_order(value.left, value.right))
        case Member():
            return Member(value.operand, _in_order(*value.values))
        case Filtered(rows=Filtered() as inside):
            both = _flat("and", (inside.condition, value.condition))
            return Filtered(inside.rows, both)
        case _:
            return value


def _flat(operator: Any, operands: tuple[Expression, ...]) -> Expression:
    parts: list[Expression] = []
    for operand in operands:
        same = isinstance(operand, Logic) and operand.operator == operator
        parts += operand.operands if same and isinstance(operand, Logic) else (operand,)
    ordered = _in_order(*dict.fromkeys(parts))
    return ordered[0] if len(ordered) == 1 else Logic(operator, ordered)


def _in_order(*parts: Any) -> tuple[Any, ...]:
    return tuple(sorted(parts, key=lambda part: _text(to_wire(part))))


@dataclass(frozen=True, slots=True)
class Wire:
    """How the values of one class are written.

    ``names`` are the fields as they are written, always. ``renamed`` says which attribute holds
    one of them, if it is not called so itself. ``later`` are fields that came later, each with the
    value that all that was written before had: only another value is written.
    """

    kind: Any
    names: tuple[str, ...]
    renamed: Mapping[str, str] = field(default_factory=dict)
    later: Mapping[str, Any] = field(default_factory=dict)
    unlisted: tuple[str, ...] = field(init=False)
    """Fields of the class of which nothing is said here: while there are any, it is not written."""

    def __post_init__(self) -> None:
        """Compare what is listed with the fields that there are."""
        listed = {self.renamed.get(each, each) for each in (*self.names, *self.later)}
        lacking = (each.name for each in fields(self.kind) if each.name not in listed)
        object.__setattr__(self, "unlisted", tuple(lacking))


QUESTIONS: dict[str, Wire] = {
    "Aggregate": Wire(
        query.Aggregate,
        ("function", "operand", "low", "high", "step", "probability"),
        later={"second": None, "second_low": 0.0, "second_high": 0.0, "second_step": 1.0},
    ),
    "Aggregated": Wire(expressions.Aggregated, ("place",)),
    "Arithmetic": Wire(expressions.Arithmetic, ("operator", "left", "right")),
    "Call": Wire(expressions.Call, ("function", "arguments")),
    "Case": Wire(expressions.Case, ("branches", "otherwise")),
    "Cast": Wire(expressions.Cast, ("operand", "kind")),
    "Column": Wire(expressions.Column, ("name",)),
    "Comparison": Wire(expressions.Comparison, ("operator", "left", "right")),
    "Constant": Wire(expressions.Constant, ("value", "kind")),
    "Contribution": Wire(query.Contribution, ("rows", "groups")),
    "Filtered": Wire(query.Filtered, ("rows", "condition")),
    "GroupTotal": Wire(expressions.GroupTotal, ("operand", "by")),
    "IsNull": Wire(expressions.IsNull, ("operand",)),
    "Join": Wire(query.Join, ("left", "right", "on", "how", "unique")),
    "Key": Wire(query.Key, ("name", "expression", "kind", "values"), later={"note": ""}),
    "Keyed": Wire(expressions.Keyed, ("place",)),
    "Like": Wire(expressions.Like, ("operand", "pattern")),
    "Logic": Wire(expressions.Logic, ("operator", "operands")),
    "Member": Wire(expressions.Member, ("operand", "values")),
    "Not": Wire(expressions.Not, ("operand",)),
    "Output": Wire(query.Output, ("name", "expression")),
    "PerUnit": Wire(query.PerUnit, ("rows", "columns")),
    "Projected": Wire(query.Projected, ("rows", "columns")),
    "Query": Wire(
        query.Query,
        (
            *("dataset", "rows", "unit", "contribution", "keys", "aggregates"),
            *("outputs", "having", "top", "order", "limit"),
        ),
    ),
    "Scan": Wire(query.Scan, ("table",)),
    "TopGroups": Wire(query.TopGroups, ("count", "place")),
    "Union": Wire(query.Union, ("parts",)),
    "UnitFigure": Wire(query.UnitFigure, ("function", "operand", "most", "low", "high", "step")),
}
"""Queries and everything that they are made of."""
DRAWN: dict[str, Wire] = {
    "Beyond": Wire(cut_measures.Beyond, ("rows", "totals", "most")),
    "Chosen": Wire(measures.Chosen, ("histogram", "probability"), later={"signed": False}),
    "ColumnFacts": Wire(
        ColumnFacts,
        ("name", "kind", "low", "high", "granularity", "keys"),
        later={"outer_low": None, "outer_high": None},
    ),
    "CountedQuantile": Wire(
        CountedQuantile,
        ("probability", "low", "high", "epsilon", "rows"),
        later={"signed": False},
    ),
    "DiscreteGaussian": Wire(DiscreteGaussian, ("sigma", "sensitivity", "coordinates")),
    "Distinct": Wire(measures.Distinct, ("operand", "rows")),
    "Dropped": Wire(cut_measures.Dropped, ("outer", "most", "times")),
    "Excess": Wire(cut_measures.Excess, ("inner", "outer", "low", "high", "times")),
    "Geometric": Wire(Geometric, ("scale", "sensitivity")),
    "Histogram": Wire(measures.ValueCounts, ("operand", "low", "high", "step", "rows")),
    "Joint": Wire(measures.JointTotals, ("totals", "bound")),
    "NoisyMeasure": Wire(
        NoisyMeasure, ("measure", "mechanism", "spread", "grain"), later={"as_one": False}
    ),
    "NoisyQuantile": Wire(NoisyQuantile, ("measure", "mechanism", "spread")),
    "NoisyReach": Wire(NoisyReach, ("measure", "mechanism", "spread")),
    "NoisyTop": Wire(NoisyTop, ("measure", "mechanism")),
    "NoisyUnits": Wire(NoisyUnits, ("measure", "mechanism")),
    "OptimalSelection": Wire(OptimalSelection, ("epsilon", "delta", "contributions")),
    "PartitionSelection": Wire(PartitionSelection, ("scale", "threshold", "contributions")),
    "QuantileReach": Wire(
        QuantileReach, ("probability", "low", "high", "epsilon", "rows", "confidence")
    ),
    "Reach": Wire(measures.Reach, ("chosen",)),
    "Rows": Wire(measures.RowCount, ("rows", "operand")),
    "ShownGroups": Wire(ShownGroups, ("measure", "mechanism")),
    "TopK": Wire(TopK, ("epsilon", "count", "sensitivity", "monotonic")),
    "Total": Wire(measures.Total, ("operand", "low", "high", "step", "rows")),
    "UnitBins": Wire(measures.UnitBins, ("of", "edges", "keys")),
    "Units": Wire(measures.Units, ()),
}
"""What is drawn for a query, and what is declared of the columns that it reads."""
_NAMES: dict[Any, tuple[str, Wire]] = {
    wire.kind: (name, wire) for name, wire in (QUESTIONS | DRAWN).items()
}


def to_wire(value: Any) -> Any:
    """A value as JSON; numbers that JSON cannot hold exactly become text.

    Raises:
        TypeError: it, or a part of it, is of a class or has a field that is not listed.
    """
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, (tuple, list)):  # a union takes three times as long
        return [to_wire(part) for part in value]
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    name, wire = _listed(type(value))
    told = {"is": name}
    for each in wire.names:
        told[each] = to_wire(getattr(value, wire.renamed.get(each, each)))
    for each, before in wire.later.items():
        part = to_wire(getattr(value, wire.renamed.get(each, each)))
        if not _same(part, to_wire(before)):
            told[each] = part
    return told


def from_wire(data: Any) -> Any:
    """What :func:`to_wire` wrote of a query.

    Raises:
        KeyError: a class that is no part of a query.
        TypeError: a field that the class does not have, or one too few.
    """
    if isinstance(data, list):
        return tuple(map(from_wire, data))
    if not isinstance(data, dict):
        return data
    wire = QUESTIONS[data["is"]]
    given = {**wire.later, **{each: part for each, part in data.items() if each != "is"}}
    return wire.kind(
        **{wire.renamed.get(each, each): from_wire(part) for each, part in given.items()}
    )


def _same(told: Any, before: Any) -> bool:
    """Equal, and of one type: a truth value is not the number 1."""
    return type(told) is type(before) and bool(told == before)


def _listed(kind: type) -> tuple[str, Wire]:
    if kind not in _NAMES:
        raise TypeError(f"{kind.__name__} has no name on the wire")
    name, wire = _NAMES[kind]
    if wire.unlisted:
        raise TypeError(f"fields of {name} are not listed: {', '.join(wire.unlisted)}")
    return name, wire
