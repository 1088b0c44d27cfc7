"""Names on the wire: what classes and their fields are called in what is stored for good.

A stored answer is found by a hash of these names, and dashboards are made of such hashes. So a
class may move or be renamed, and its name here stays; a field may be renamed, and is written as
before (``renamed``); a field may be added, and is not written where it has the value that all
questions had before (``later``). A class or a field that is not listed is never written: it is an
error, for a question that is known by less than it says would be given the answer to another one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from quaestor.curator.catalog.model import ColumnFacts
from quaestor.curator.kernel import measures
from quaestor.curator.kernel.draws import NoisyMeasure, NoisyQuantile, NoisyTop, NoisyUnits
from quaestor.curator.language import expressions, query
from quaestor.mechanisms import (
    CountedQuantile,
    DiscreteGaussian,
    Geometric,
    PartitionSelection,
    TopK,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DRAWN", "QUESTIONS", "Wire", "from_wire", "to_wire"]


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
        query.Aggregate, ("function", "operand", "low", "high", "step", "probability")
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
    "IsNull": Wire(expressions.IsNull, ("operand",)),
    "Join": Wire(query.Join, ("left", "right", "on", "how", "unique")),
    "Key": Wire(query.Key, ("name", "expression", "kind", "values"), later={"note": ""}),
    "Keyed": Wire(expressions.Keyed, ("place",)),
    "Like": Wire(expressions.Like, ("operand", "pattern")),
    "Logic": Wire(expressions.Logic, ("operator", "operands")),
    "Member": Wire(expressions.Member, ("operand", "values")),
    "Not": Wire(expressions.Not, ("operand",)),
    "Output": Wire(query.Output, ("name", "expression")),
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
}
"""Queries and everything that they are made of."""

DRAWN: dict[str, Wire] = {
    "Chosen": Wire(measures.Chosen, ("histogram", "probability")),
    "ColumnFacts": Wire(ColumnFacts, ("name", "kind", "low", "high", "granularity", "keys")),
    "CountedQuantile": Wire(CountedQuantile, ("probability", "low", "high", "epsilon", "rows")),
    "DiscreteGaussian": Wire(DiscreteGaussian, ("sigma", "sensitivity", "coordinates")),
    "Distinct": Wire(measures.Distinct, ("operand", "rows")),
    "Geometric": Wire(Geometric, ("scale", "sensitivity")),
    "Histogram": Wire(measures.ValueCounts, ("operand", "low", "high", "step", "rows")),
    "Joint": Wire(measures.JointTotals, ("totals", "bound")),
    "NoisyMeasure": Wire(NoisyMeasure, ("measure", "mechanism", "spread", "grain")),
    "NoisyQuantile": Wire(NoisyQuantile, ("measure", "mechanism", "spread")),
    "NoisyTop": Wire(NoisyTop, ("measure", "mechanism")),
    "NoisyUnits": Wire(NoisyUnits, ("measure", "mechanism")),
    "PartitionSelection": Wire(PartitionSelection, ("scale", "threshold", "contributions")),
    "Rows": Wire(measures.RowCount, ("rows", "operand")),
    "TopK": Wire(TopK, ("epsilon", "count", "sensitivity", "monotonic")),
    "Total": Wire(measures.Total, ("operand", "low", "high", "step", "rows")),
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
    if isinstance(value, tuple | list):
        return [to_wire(part) for part in value]
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if value is None or isinstance(value, str | bool | int | float):
        return value
    name, wire = _listed(type(value))
    told = {
        each: to_wire(getattr(value, wire.renamed.get(each, each)))
        for each in (*wire.names, *wire.later)
    }
    usual = {each for each, before in wire.later.items() if _same(told[each], to_wire(before))}
    return {"is": name, **{each: part for each, part in told.items() if each not in usual}}


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
