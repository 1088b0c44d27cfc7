"""Grouping sets: which keys each set of groups has, whatever keys are written as.

Sets are listed from the finest on, as they are written.
"""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING, TypeVar

from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MOST_SETS", "check_sets", "cubed", "multiplied", "rolled_up"]

MOST_SETS = 64
_Key = TypeVar("_Key")


def rolled_up(members: Sequence[tuple[_Key, ...]]) -> list[tuple[_Key, ...]]:
    """All of them, all but the last, and so on, down to none."""
    check_sets(len(members) + 1)
    return [_joined(members[:size]) for size in range(len(members), -1, -1)]


def cubed(members: Sequence[tuple[_Key, ...]]) -> list[tuple[_Key, ...]]:
    """Every choice of them, larger ones first."""
    check_sets(2 ** min(len(members), MOST_SETS))
    sizes = range(len(members), -1, -1)
    return [_joined(some) for size in sizes for some in combinations(members, size)]


def multiplied(
    plain: tuple[_Key, ...], listed: Sequence[Sequence[tuple[_Key, ...]]]
) -> list[tuple[_Key, ...]]:
    """The plain keys with one set of each list, in every combination."""
    count = 1
    for each in listed:
        count = min(count * len(each), MOST_SETS + 1)
    check_sets(count)
    return [plain + _joined(chosen) for chosen in product(*listed)]


def check_sets(count: int) -> None:
    """Refuse more sets than one question may have."""
    if count > MOST_SETS:
        raise RefusedQuery(
            f"GROUP BY has more than {MOST_SETS} grouping sets, each of which costs",
            remedy="name those that you need: GROUPING SETS ((a, b), (a), ())",
        )


def _joined(members: Sequence[tuple[_Key, ...]]) -> tuple[_Key, ...]:
    return tuple(node for each in members for node in each)
