"""Several sets of groups in one question: ``group_by(rollup("sex", "ward"))``."""

from __future__ import annotations

from dataclasses import dataclass

from quaestor.curator.language.expressions import Expression
from quaestor.curator.language.terms import Term
from quaestor.curator.questions.grouping_sets import check_sets, cubed, rolled_up

__all__ = ["GroupingOf", "GroupingSets", "cube", "grouping", "grouping_sets", "rollup"]

_Members = str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GroupingSets:
    """The names of the keys of each set of groups, from the finest on."""

    sets: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class GroupingOf(Expression):
    """Which of these keys a row is not told apart by; planning makes a number of it."""

    names: tuple[str, ...]


def _members(keys: tuple[_Members, ...]) -> list[tuple[str, ...]]:
    return [(each,) if isinstance(each, str) else tuple(each) for each in keys]


def rollup(*keys: _Members) -> GroupingSets:
    """Groups by all keys, by all but the last, and so on, and all rows: subtotals.

    Names in brackets come and go together.

    >>> rollup("sex", ("city", "ward")).sets
    (('sex', 'city', 'ward'), ('sex',), ())
    """
    return GroupingSets(tuple(rolled_up(_members(keys))))


def cube(*keys: _Members) -> GroupingSets:
    """Groups by every choice of the keys.

    >>> cube("sex", "ward").sets
    (('sex', 'ward'), ('sex',), ('ward',), ())
    """
    return GroupingSets(tuple(cubed(_members(keys))))


def grouping_sets(*sets: _Members | GroupingSets) -> GroupingSets:
    """Just these sets of groups; ``()`` is all rows.

    >>> grouping_sets(("sex", "ward"), "ward", ()).sets
    (('sex', 'ward'), ('ward',), ())
    """
    found: list[tuple[str, ...]] = []
    for each in sets:
        found += each.sets if isinstance(each, GroupingSets) else _members((each,))
        check_sets(len(found))
    return GroupingSets(tuple(found))


def grouping(*names: str) -> Term:
    """One bit a key: 1 where the row is of all of its values, as ``GROUPING(sex, ward)`` in SQL.

    >>> grouping("sex").expression
    GroupingOf(names=('sex',))
    """
    return Term(GroupingOf(names))
