"""Frames: rows under construction, the names that a question may use, what is known of them.

SQL and the builder both go this way: scan, join, filter, project.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from quaestor.curator.analysis.facts import ValueFacts, article, declared_facts
from quaestor.curator.analysis.possible_values import narrowed
from quaestor.curator.analysis.static_analysis import Analysis
from quaestor.curator.language.expressions import Column, Constant
from quaestor.curator.language.query import (
    Contribution,
    Filtered,
    Join,
    PerUnit,
    Projected,
    Relation,
    Scan,
    UnitFigure,
)
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Literal

    from quaestor.curator.catalog.model import Catalog, Table
    from quaestor.curator.language.expressions import Expression

__all__ = ["Frame", "Visible", "find_table", "nearest", "scan"]

_MOST_TABLES = 8
_HIDDEN_UNIT = "unit of the row"
_MARK = "row found"


@dataclass(frozen=True, slots=True, kw_only=True)
class Visible:
    """A column that a question may name: its table's name there, its own, and what it is below."""

    qualifier: str
    name: str
    column: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Rows, the columns that can be named, and the facts about all columns, hidden ones too."""

    rows: Relation
    visible: tuple[Visible, ...]
    schema: Mapping[str, ValueFacts]
    unit: str | None
    dataset: str | None
    contribution: Contribution | None
    tables: int = 1
    most: int = 1
    """How many rows of a unit count at most, in all groups together."""

    def find(self, name: str, qualifier: str | None = None) -> Column:
        """The column of that name; its case matters only where names differ by nothing else."""
        among = [
            column
            for column in self.visible
            if qualifier is None or column.qualifier.lower() == qualifier.lower()
        ]
        if qualifier is not None and not among:
            known = sorted({column.qualifier for column in self.visible})
            raise RefusedQuery(
                f"there is no table {qualifier!r} in this question",
                remedy=nearest(qualifier, known),
            )
        found = [column for column in among if column.name == name]
        found = found or [column for column in among if column.name.lower() == name.lower()]
        columns = {column.column for column in found}
        if not columns:
            names = [column.name for column in among]
            raise RefusedQuery(f"there is no column {name!r}", remedy=nearest(name, names))
        if len(columns) > 1:
            options = " or ".join(f"{column.qualifier}.{column.name}" for column in found)
            raise RefusedQuery(f"{name!r} is ambiguous", remedy=f"write {options}")
        return Column(columns.pop())

    def filtered(self, condition: Expression) -> Frame:
        """The rows for which a condition is true, and what that says about them."""
        facts = Analysis(self.schema).facts(condition)
        if facts.kind != "boolean":
            raise RefusedQuery(
                f"a condition must be true or false, but this is {article(facts.kind)}",
                remedy="compare it with something, as in age > 40",
            )
        rows = Filtered(self.rows, condition)
        return replace(self, rows=rows, schema=narrowed(self.schema, condition))

    def projected(self, columns: Sequence[tuple[str, Expression]], qualifier: str) -> Frame:
        """The same rows with these columns, under one table name; the unit goes along unseen."""
        analysis = Analysis(self.schema)
        seen: set[str] = set()
        for name, _ in columns:
            if name.lower() in seen:
                raise RefusedQuery(
                    f"two columns have the name {name!r}", remedy=f"write ... AS {name}_2 for one"
                )
            seen.add(name.lower())
        made = list(columns)
        unit = next((n for n, e in made if self.unit and e == Column(self.unit)), None)
        if unit is None and self.unit is not None:
            unit = _renamed([_HIDDEN_UNIT], [name for name, _ in made])[_HIDDEN_UNIT]
            made.append((unit, Column(self.unit)))
        same = [name for name, e in made if e == Column(name)] == list(self.schema)
        return Frame(
            rows=self.rows
            if same and len(made) == len(self.schema)
            else Projected(self.rows, tuple(made)),
            visible=tuple(Visible(qualifier=qualifier, name=n, column=n) for n, _ in columns),
            schema={name: analysis.facts(expression) for name, expression in made},
            unit=unit,
            dataset=self.dataset,
            contribution=self.contribution,
            tables=self.tables,
            most=self.most,
        )

    def called(self, qualifier: str) -> Frame:
        """The same, with all columns under one table name."""
        return replace(
            self, visible=tuple(replace(column, qualifier=qualifier) for column in self.visible)
        )

    def per_unit(
        self, figures: Sequence[tuple[str, UnitFigure]], schema: Mapping[str, ValueFacts], unit: str
    ) -> Frame:
        """One row a unit, with figures of its rows, of which this is known."""
        return Frame(
            rows=PerUnit(self.rows, tuple(figures)),
            visible=(),
            schema=schema,
            unit=unit,
            dataset=self.dataset,
            contribution=Contribution(rows=1, groups=1),
            tables=self.tables,
            most=1,
        )

    def marked(self, other: Frame, on: Sequence[tuple[Column, Column]]) -> tuple[Frame, Column]:
        """The same rows, and a column that is TRUE where a row of the other agrees, and else NULL.

        Of a private table only the unit may be asked for: it is reduced to one row a unit.
        """
        if other.unit is not None:
            other = self._units_of(other, on)
        names = [theirs.name for _, theirs in on]
        mark = _renamed([_MARK], names)[_MARK]
        columns = [*((name, Column(name)) for name in dict.fromkeys(names))]
        there = replace(
            other,
            rows=Projected(other.rows, (*columns, (mark, Constant(value=True, kind="boolean")))),
            visible=(Visible(qualifier="", name=mark, column=mark),),
            schema={
                **{name: other.schema[name] for name in names},
                mark: ValueFacts(kind="boolean", nullable=False),
            },
        )
        made = self.joined(there, on, "left", unique=other.unit is None)
        *visible, found = made.visible
        return replace(made, visible=tuple(visible)), Column(found.column)

    def _units_of(self, other: Frame, on: Sequence[tuple[Column, Column]]) -> Frame:
        """The units of a private table, each once."""
        units = [
            theirs.name
            for mine, theirs in on
            if self.schema[mine.name].unit and other.schema[theirs.name].unit
        ]
        if len(units) != len(on):
            raise RefusedQuery(
                ("IN (SELECT ...) and EXISTS on a private table may only compare its privacy unit"),
                remedy="compare the units, or join the table: JOIN b ON a.unit = b.unit",
            )
        figure = UnitFigure(function="least", operand=Column(units[0]))
        return other.per_unit([(units[0], figure)], {units[0]: other.schema[units[0]]}, units[0])

    def joined(
        self,
        other: Frame,
        on: Sequence[tuple[Column, Column]],
        how: Literal["inner", "left"],
        *,
        unique: bool = False,
    ) -> Frame:
        """Pairs of rows that agree on columns (of this frame, of the other)."""
        if self.unit is None and other.unit is not None:
            if how == "left":
                raise RefusedQuery(
                    (
                        "a LEFT JOIN from a public to a private table keeps rows that belong to no "
                        "person"
                    ),
                    remedy="put the private table first",
                )
            return other.joined(self, [(right, left) for left, right in on], how)
        _check_join(self, other, on)
        names = _renamed(other.schema, self.schema)
        right = other.rows
        if any(name != old for old, name in names.items()):
            right = Projected(right, tuple((name, Column(old)) for old, name in names.items()))
        pairs = tuple((left, Column(names[right.name])) for left, right in on)
        theirs = {names[old]: facts for old, facts in other.schema.items()}
        if how == "left":
            theirs = {name: _maybe(facts) for name, facts in theirs.items()}
        return Frame(
            rows=Join(self.rows, right, pairs, how, unique=unique),
            visible=(
                *self.visible,
                *(replace(column, column=names[column.column]) for column in other.visible),
            ),
            schema={**self.schema, **theirs},
            unit=self.unit,
            dataset=self.dataset,
            contribution=_larger(self.contribution, other.contribution),
            tables=self.tables + other.tables,
            most=max(self.most, other.most),
        )


def scan(table: Table, qualifier: str | None = None) -> Frame:
    """All rows of a table, with its declared columns."""
    names = [column.name for column in table.columns]
    most = table.contribution or Contribution(rows=1, groups=1)
    return Frame(
        rows=Scan(table.name),
        visible=tuple(
            Visible(qualifier=qualifier or table.name, name=name, column=name) for name in names
        ),
        schema={
            column.name: declared_facts(column, unit=column.name == table.unit)
            for column in table.columns
        },
        unit=table.unit,
        dataset=(table.dataset or table.name) if table.private else None,
        contribution=most if table.private else None,
        most=table.total_rows or most.rows * most.groups,
    )


def find_table(catalog: Catalog, name: str) -> Table:
    """The table of that name, whatever its case."""
    table = catalog.table(name)
    if table is None:
        known = [table.name for table in catalog.tables]
        raise RefusedQuery(f"there is no table {name!r}", remedy=nearest(name, known))
    return table


def nearest(name: str, known: Iterable[str]) -> str:
    """A remedy for an unknown name: the nearest one, or those that there are."""
    names = list(dict.fromkeys(known))
    by_case = {known.lower(): known for known in names}
    close = difflib.get_close_matches(name.lower()[:100], list(by_case)[:10_000], n=1, cutoff=0.6)
    if close:
        return f"did you mean {by_case[close[0]]!r}?"
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    return f"there are {shown}" if names else "declare it in the catalog"


def _check_join(left: Frame, right: Frame, on: Sequence[tuple[Column, Column]]) -> None:
    if left.tables + right.tables > _MOST_TABLES:
        raise RefusedQuery(
            f"more than {_MOST_TABLES} tables are joined", remedy="ask about fewer tables at once"
        )
    if not on:
        raise RefusedQuery(
            "a join needs a condition on columns", remedy="write JOIN b ON a.key = b.key"
        )
    for mine, theirs in on:
        kinds = left.schema[mine.name].kind, right.schema[theirs.name].kind
        if kinds[0] != kinds[1] or kinds[0] == "real":
            raise RefusedQuery(
                f"the join compares {article(kinds[0])} with {article(kinds[1])}",
                remedy="join on columns of one kind: whole numbers, texts, dates",
            )
    if left.unit is None or right.unit is None:
        return
    if left.dataset != right.dataset:
        raise RefusedQuery(
            f"tables of the datasets {left.dataset!r} and {right.dataset!r} are joined",
            remedy="ask about each dataset separately",
        )
    if not any(left.schema[a.name].unit and right.schema[b.name].unit for a, b in on):
        raise RefusedQuery(
            (
                "two private tables are joined on other columns than their privacy units, so "
                "a row could belong to two people"
            ),
            remedy=f"join on the unit: ON a.{left.unit} = b.{right.unit}",
        )


def _renamed(names: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
    """Names that are not taken, whatever their case: some become ``name_2``."""
    names = list(names)
    used = {name.lower() for name in taken}
    keep = {name.lower() for name in names}
    made = {}
    for name in names:
        new, count = name, 1
        while new.lower() in used or (count > 1 and new.lower() in keep):
            count += 1
            new = f"{name}_{count}"
        used.add(new.lower())
        made[name] = new
    return made


def _maybe(facts: ValueFacts) -> ValueFacts:
    """What is known of a column that has no value where a LEFT JOIN found no partner."""
    keys = facts.keys
    if keys is not None and None not in keys:
        keys = (*keys, None)
    return replace(facts, nullable=True, keys=keys)


def _larger(left: Contribution | None, right: Contribution | None) -> Contribution | None:
    if left is None or right is None:
        return left or right
    return Contribution(rows=max(left.rows, right.rows), groups=max(left.groups, right.groups))
