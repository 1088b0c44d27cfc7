"""Blocks of time: months, quarters or years, each a database of its own.

A person is in a block who has a row dated in it. Labels sort as their times do: ``2024-03``,
``2024-Q1``, ``2024``.
"""

from __future__ import annotations

import datetime as dt
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from quaestor.accounting.membership import compose_across
from quaestor.accounting.membership.facts import AtMost
from quaestor.accounting.releases import ApproxDP
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "EVERY",
    "Calendar",
    "PersonTotal",
    "block_of",
    "blocks_between",
    "check_blocks",
    "person_total",
    "span_of",
]

EVERY: Final = ("month", "quarter", "year")
"""How long a block can be."""
_LENGTHS: Final = {"month": 1, "quarter": 3, "year": 12}
_LABELS: Final = {
    "month": r"(\d{4})-(0[1-9]|1[0-2])",
    "quarter": r"(\d{4})-Q([1-4])",
    "year": r"(\d{4})",
}
_EXAMPLES: Final = {"month": "2024-03", "quarter": "2024-Q1", "year": "2024"}
_LAST_YEAR: Final = 9998  # the day after a block must be a date, too
_MOST: Final = 1200


class Calendar(NamedTuple):
    """How time is divided: the length of a block, the first one, and how many of a person count."""

    every: str
    first: str
    kept: int | None
    dates: tuple[tuple[str, str], ...] = ()
    """The tables whose rows are dated, each with its column; none if that is not fixed."""


class PersonTotal(NamedTuple):
    """What somebody loses in all who is in a number of blocks."""

    epsilon: float
    delta: float


def _length(every: str) -> int:
    if every not in _LENGTHS:
        raise InvalidParameter("every", every, f"one of {', '.join(EVERY)}")
    return _LENGTHS[every]


def _place(label: object, every: str) -> int:
    """Its first month, counted from the year 0."""
    length = _length(every)
    found = re.fullmatch(_LABELS[every], label, re.ASCII) if isinstance(label, str) else None
    if found is None or not 1 <= int(found[1]) <= _LAST_YEAR:
        raise InvalidParameter("block", label, f"a {every} such as {_EXAMPLES[every]}")
    part = int(found[2]) - 1 if length < _LENGTHS["year"] else 0
    return int(found[1]) * 12 + part * length


def _label(place: int, every: str) -> str:
    year, month = divmod(place, 12)
    if every == "year":
        return f"{year:04}"
    return f"{year:04}-{month + 1:02}" if every == "month" else f"{year:04}-Q{month // 3 + 1}"


def block_of(day: dt.date, every: str) -> str:
    """The block that a day is in.

    >>> block_of(dt.date(2024, 5, 31), "quarter")
    '2024-Q2'
    """
    place = day.year * 12 + day.month - 1
    return _label(place - place % _length(every), every)


def span_of(label: str, every: str) -> tuple[dt.date, dt.date]:
    """The first day of a block, and the first day after it.

    >>> [day.isoformat() for day in span_of("2024-02", "month")]
    ['2024-02-01', '2024-03-01']
    """
    first = _place(label, every)
    after = first + _length(every)
    return dt.date(first // 12, first % 12 + 1, 1), dt.date(after // 12, after % 12 + 1, 1)


def blocks_between(first: str, last: str, every: str) -> tuple[str, ...]:
    """The blocks from one to another, both included; none if the last is before the first.

    >>> blocks_between("2023-Q4", "2024-Q2", "quarter")
    ('2023-Q4', '2024-Q1', '2024-Q2')
    """
    places = range(_place(first, every), _place(last, every) + 1, _length(every))
    return tuple(_label(place, every) for place in places)


def check_blocks(blocks: Iterable[object], *, every: str, first: str) -> tuple[str, ...]:
    """Labels of blocks, each once and in order, none before the first; or an error."""
    listed = (blocks,) if isinstance(blocks, str) else blocks
    if not isinstance(listed, list | tuple) or not listed:
        raise InvalidParameter(
            "blocks", blocks, f"at least one {every} since {first} (--block {first})"
        )
    begin = _place(first, every)
    for label in listed:
        if _place(label, every) < begin:
            raise InvalidParameter("blocks", label, f"not before {first}, where blocks begin")
    known = tuple(sorted(set(listed)))
    if len(known) < len(listed):
        raise InvalidParameter("blocks", list(listed), "each of them once")
    return known


@lru_cache(maxsize=256)
def person_total(*, epsilon: float, delta: float, most: int) -> PersonTotal:
    r"""What a person who is in at most ``most`` blocks loses in all, however long time goes on.

    Every block is held to :math:`(\varepsilon, \delta)` by a filter of its own.

    Theorem:
        Let a charge to the blocks C read rows dated in C only, and count in the filter of every
        block of C. Let a person be in the blocks S, at most m of them. Every charge that depends
        on the person has a block of S in its C; give it to the first of these. What is given to
        one block is part of what its filter counts, so it is an interactive mechanism with the
        filter's guarantee, and all of it together is the concurrent composition of at most m such
        mechanisms, which analysts turn to in any order. That is no worse than the optimal
        composition of m releases that are :math:`(\varepsilon, \delta)` [Lyu 2022; Vadhan, Zhang,
        "Concurrent Composition Theorems for Differential Privacy", 2023].

    The meters of the filters are *not* added up. A history fits its filter by any one of several
    meters, and different blocks may fit by different ones: no single meter's sum is bounded by m
    times its limit.

    The total is read at :math:`2m\delta` (at :math:`\delta` itself for one block): half of it is
    the blocks' own, the rest buys what composition gives. It is never more than
    :math:`m\varepsilon`.

    >>> person_total(epsilon=1.0, delta=1e-9, most=1)
    PersonTotal(epsilon=1.0, delta=1e-09)
    """
    if type(most) is not int or not 1 <= most <= _MOST:
        raise InvalidParameter("most", most, f"a number of blocks, from 1 to {_MOST}")
    if most == 1:
        return PersonTotal(epsilon, delta)
    at = min(1.0, 2 * most * delta)
    one = ApproxDP(epsilon=epsilon, delta=delta)
    blocks = {f"block {number}": [one] for number in range(most)}
    across = compose_across(blocks, membership=AtMost(most))
    return PersonTotal(float(across.epsilon(delta=at)), at)
