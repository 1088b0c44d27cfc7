"""A question to private tables, as the curator understands it: what SQL and the builder become.

The way of a query: rows (a relation) are grouped by keys; every unit, usually a person,
contributes to a bounded number of groups, and a bounded amount to each. What the engine computes
are *measures*, whole numbers by group; what the analyst reads are *outputs*, functions of released
measures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from quaestor.curator.language.expressions import Column, Expression, Kind, Value

__all__ = [
    "Aggregate",
    "Contribution",
    "Filtered",
    "Join",
    "Key",
    "Output",
    "PerUnit",
    "Projected",
    "Query",
    "Relation",
    "Scan",
    "TopGroups",
    "Union",
    "UnitFigure",
]


class Relation:
    """Rows with named columns, each row about one unit, or about nobody."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Scan(Relation):
    """A table of the catalog; its columns are those that the catalog declares.

    Numbers with declared bounds are moved into them when they are read, NaN becomes NULL, reals
    are rounded to their granularity.
    """

    table: str


@dataclass(frozen=True, slots=True)
class Filtered(Relation):
    """The rows for which the condition is true."""

    rows: Relation
    condition: Expression


@dataclass(frozen=True, slots=True)
class Projected(Relation):
    """The same rows with other columns."""

    rows: Relation
    columns: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, slots=True)
class Join(Relation):
    """Pairs of rows that agree on columns; NULL agrees with nothing.

    Columns of both sides have different names (the parser sees to it by projecting). With
    ``unique`` the right side, a public table, has each of its different rows once.
    Joins of two private tables are on the unit at least.
    """

    left: Relation
    right: Relation
    on: tuple[tuple[Column, Column], ...]
    how: Literal["inner", "left"]
    unique: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitFigure:
    """One value a unit, put together of all its rows.

    ``rows``, ``values`` (that are not NULL) and ``different`` ones are counted up to ``most``.
    ``total`` and ``mean`` take values in whole steps from ``low`` to ``high``; a total is at most
    that of ``most`` rows. ``least`` and ``greatest`` are of any kind but true and false.
    """

    function: Literal["rows", "values", "different", "total", "mean", "least", "greatest"]
    operand: Expression | None = None
    most: int = 1
    low: int = 0
    high: int = 0
    step: float = 1.0


@dataclass(frozen=True, slots=True)
class PerUnit(Relation):
    """One row a unit: figures of its rows. Units without a row have none here, either."""

    rows: Relation
    columns: tuple[tuple[str, UnitFigure], ...]


@dataclass(frozen=True, slots=True)
class Union(Relation):
    """The rows of several relations, one after another; their columns have the same names."""

    parts: tuple[Relation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """How much one unit may contribute to one query: ``rows`` in each of at most ``groups``."""

    rows: int
    groups: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What rows are grouped by. ``values`` are declared: every one is in the answer, no other.

    ``None``: the values are private too, and only groups of enough units are shown.
    """

    name: str
    expression: Expression
    kind: Kind
    values: tuple[Value, ...] | None
    note: str = ""
    """What was left out of the values that were asked for, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """One aggregate of the rows of a group.

    ``low`` and ``high`` bound the operand (a number) and ``step`` is the granularity at which it is
    added up: they are public. ``probability`` is the quantile's. Aggregates of two numbers have a
    ``second`` operand, with bounds and a step of its own.
    """

    function: str
    """A name of ``quaestor.curator.aggregates``."""
    operand: Expression | None = None
    low: float = 0.0
    high: float = 0.0
    step: float = 1.0
    probability: float = 0.5
    second: Expression | None = None
    second_low: float = 0.0
    second_high: float = 0.0
    second_step: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """A column of the answer: a function of keys and released aggregates."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class TopGroups:
    """Only the ``count`` groups with the largest aggregate, chosen by the exponential mechanism."""

    count: int
    place: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """The whole question. ``unit`` names the column of ``rows`` that says whom a row is about."""

    dataset: str
    rows: Relation
    unit: str
    contribution: Contribution
    keys: tuple[Key, ...]
    aggregates: tuple[Aggregate, ...]
    outputs: tuple[Output, ...]
    having: Expression | None = None
    top: TopGroups | None = None
    order: tuple[tuple[Expression, bool], ...] = ()
    """What to sort the released rows by, and whether descending."""
    limit: int | None = None
