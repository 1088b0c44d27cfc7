"""Which blocks of time a question can reach, by its conditions alone: these are what is charged.

The kernel reads no rows but those of the charged blocks. If too few
blocks were found, the answer would lack rows, and be as private.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, NamedTuple

from quaestor.accounting.membership.time_blocks import block_of, blocks_between
from quaestor.curator.kernel.dated_rows import ChargedBlocks
from quaestor.curator.language.expressions import Column, Comparison, Constant, Logic, Member
from quaestor.curator.language.query import Filtered, Join, PerUnit, Projected, Scan, Union
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from quaestor.accounting.membership.time_blocks import Calendar
    from quaestor.curator.catalog.model import Catalog
    from quaestor.curator.language.expressions import Expression
    from quaestor.curator.language.query import Query, Relation

__all__ = ["blocks_in_words", "charged_blocks", "dated_by"]

_DAY = dt.timedelta(days=1)


class _Days(NamedTuple):
    """All days from one to another; none, if the second is the earlier one."""

    low: dt.date = dt.date.min
    high: dt.date = dt.date.max

    def within(self, other: _Days) -> _Days:
        """The days of both."""
        return _Days(max(self.low, other.low), min(self.high, other.high))

    def around(self, other: _Days) -> _Days:
        """From the first day of either to the last."""
        if self.low > self.high or other.low > other.high:
            return other if self.low > self.high else self
        return _Days(min(self.low, other.low), max(self.high, other.high))


_ALWAYS, _NEVER = _Days(), _Days(dt.date.max, dt.date.min)
_Dated = dict[str, frozenset[int]]
"""Columns that are the date of a table, by the places of such scans."""


def charged_blocks(
    query: Query, catalog: Catalog, calendar: Calendar, *, last: str
) -> ChargedBlocks:
    """The blocks that pay for a query: those its rows can be dated in, up to the present one.

    Raises:
        RefusedQuery: its rows are of no block, or of none that there is.
    """
    reach = _Reach(catalog, calendar.every)
    bound, _ = reach.follow(query.rows)
    if not bound:
        raise RefusedQuery(
            (
                f"its account has a budget for each {calendar.every}, but some rows belong to "
                f"no {calendar.every}"
            ),
            remedy="join (not LEFT JOIN) every private table to one whose rows are dated: "
            + (", ".join(_dated_tables(catalog, query.dataset)) or "the catalog declares none"),
        )
    _refuse_other_dates(catalog, query.dataset, calendar)
    dated = _dated_tables(catalog, query.dataset)
    if calendar.kept is not None and len(dated) > 1:
        # each would keep blocks of its own, and a person would be in more than is promised
        raise RefusedQuery(
            "its account keeps a number of blocks of each person, by one table with dates, and "
            f"the catalog declares {', '.join(dated)}",
            remedy="the owner takes  blocks  away from all of them but one, to which questions "
            "join the others",
        )
    days = _NEVER
    for each in reach.spans:
        days = days.around(each)
    labels: tuple[str, ...] = ()
    if days.low <= days.high:
        low = max(block_of(days.low, calendar.every), calendar.first)
        labels = blocks_between(low, min(block_of(days.high, calendar.every), last), calendar.every)
    if not labels:
        raise RefusedQuery(
            (
                f"its conditions exclude every {calendar.every} from {calendar.first} to "
                f"{last}, so there is nothing to ask"
            ),
            remedy=f"ask about dates since {calendar.first}",
        )
    return ChargedBlocks(labels=labels, **calendar._asdict())


def _refuse_other_dates(catalog: Catalog, dataset: str, calendar: Calendar) -> None:
    """Rows that are dated by another column than before could be paid for in two blocks."""
    now = dated_by(catalog, (dataset,))
    if calendar.dates and now != calendar.dates:
        fixed, found = (
            ", ".join(f"{table}.{column}" for table, column in each) or "nothing"
            for each in (calendar.dates, now)
        )
        raise RefusedQuery(
            f"its account was opened for rows that are dated by {fixed}, and the catalog dates "
            f"them by {found}",
            remedy="the owner declares the dates as they were, or opens another account",
        )


def dated_by(catalog: Catalog, datasets: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The tables of datasets whose rows are dated, each with the column that does it, in order."""
    return tuple(
        sorted(
            (table.name, table.blocks.date)
            for table in catalog.tables
            if table.dataset in datasets and table.blocks is not None
        )
    )


def blocks_in_words(blocks: ChargedBlocks) -> str:
    """What counts in an answer, as a note."""
    first, *others = blocks.labels
    shown = first if not others else f"{first} to {others[-1]}"
    said = f"only rows dated in {shown} count: rows without a date, or with another one, do not"
    if blocks.kept is None:
        return said
    return f"{said}; of each person the earliest {blocks.kept} {blocks.every}s count at all"


def _dated_tables(catalog: Catalog, dataset: str) -> list[str]:
    return [t.name for t in catalog.tables if t.dataset == dataset and t.blocks is not None]


class _Reach:
    """Follows dates from scans upwards, through renamed columns and conditions."""

    def __init__(self, catalog: Catalog, every: str) -> None:
        self._catalog, self._every = catalog, every
        self.spans: list[_Days] = []

    def follow(self, relation: Relation) -> tuple[bool, _Dated]:  # noqa: PLR0911  # one a kind
        """Whether all rows are of people with a row in the blocks; and which columns are dates."""
        match relation:
            case Scan():
                return self._scan(relation)
            case Filtered():
                bound, dated = self.follow(relation.rows)
                for name, places in dated.items():
                    days = _days(relation.condition, name)
                    for place in places:
                        self.spans[place] = self.spans[place].within(days)
                return bound, dated
            case Projected():
                bound, dated = self.follow(relation.rows)
                return bound, {
                    name: dated[of.name]
                    for name, of in relation.columns
                    if isinstance(of, Column) and of.name in dated
                }
            case PerUnit():
                return self.follow(relation.rows)[0], {}
            case Join():
                (left, mine), (right, theirs) = map(self.follow, (relation.left, relation.right))
                return left or (right and relation.how == "inner"), mine | theirs
            case Union():
                parts = [self.follow(part) for part in relation.parts]
                return all(bound for bound, _ in parts), _together([dated for _, dated in parts])
        return False, {}

    def _scan(self, scan: Scan) -> tuple[bool, _Dated]:
        table = self._catalog.table(scan.table)
        if table is None or not table.private or table.blocks is None:
            return False, {}
        if table.blocks.every != self._every:
            raise RefusedQuery(
                f"table {table.name!r} is divided by the {table.blocks.every}, and its account "
                f"has a budget for each {self._every}",
                remedy="the owner opens another account, or corrects the catalog",
            )
        self.spans.append(_ALWAYS)
        return True, {table.blocks.date: frozenset({len(self.spans) - 1})}


def _together(parts: list[_Dated]) -> _Dated:
    names = {name for part in parts for name in part}
    return {name: frozenset().union(*(p.get(name, frozenset()) for p in parts)) for name in names}


def _days(condition: Expression, name: str) -> _Days:
    """Days outside which a condition is never true of a column."""
    match condition:
        case Logic(operator="and"):
            days = _ALWAYS
            for operand in condition.operands:
                days = days.within(_days(operand, name))
            return days
        case Logic(operator="or"):
            days = _NEVER
            for operand in condition.operands:
                days = days.around(_days(operand, name))
            return days
        case Comparison(left=Column(name=of), right=Constant() as value) if of == name:
            return _compared(condition.operator, _day(value))
        case Comparison(left=Constant() as value, right=Column(name=of)) if of == name:
            return _compared(_TURNED.get(condition.operator, condition.operator), _day(value))
        case Member(operand=Column(name=of)) if of == name:
            days = _NEVER
            for value in condition.values:
                days = days.around(_compared("=", _day(value)))
            return days
    return _ALWAYS


_TURNED: Mapping[str, str] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _day(value: Constant) -> dt.date | None:
    if value.kind != "date" or not isinstance(value.value, str):
        return None
    try:
        return dt.date.fromisoformat(value.value)
    except ValueError:
        return None


def _compared(operator: str, day: dt.date | None) -> _Days:
    """Days that compare so with one; a day more, at an end, makes no difference that matters."""
    if day is None or operator not in _WAYS:
        return _ALWAYS
    return _WAYS[operator](day)


_WAYS: Mapping[str, Callable[[dt.date], _Days]] = {
    "=": lambda day: _Days(day, day),
    "<=": lambda day: _Days(high=day),
    ">=": lambda day: _Days(low=day),
    "<": lambda day: _Days(high=day if day == dt.date.min else day - _DAY),
    ">": lambda day: _Days(low=day if day == dt.date.max else day + _DAY),
}
