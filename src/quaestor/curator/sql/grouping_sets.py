"""``ROLLUP``, ``CUBE`` and ``GROUPING SETS``: which keys each set of groups has.

Sets are listed from the finest on, as they are written. A set that is named twice is one set.
"""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING, Any

from quaestor.curator.sql.translator import only
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

__all__ = ["MOST_SETS", "members_of", "sets_of"]

MOST_SETS = 64

Set = tuple[Any, ...]
"""The nodes that rows of one set of groups are told apart by."""


def sets_of(group: exp.Expr) -> list[Set]:
    """The sets of a GROUP BY that has some, each as its nodes."""
    words = ("rollup", "cube", "grouping_sets")
    written = [part for word in words for part in group.args.get(word) or ()]
    only(group, "expressions", *words)
    plain = tuple(group.expressions)
    listed: list[list[Set]] = []
    for part in written:
        if type(part).__name__ == "Rollup" and not part.expressions:  # GROUP BY a, b WITH ROLLUP
            listed.append(_rolled_up([(node,) for node in plain]))
            plain = ()
        else:
            listed.append(_sets(part))
    _check(_product(listed))
    return [plain + tuple(n for each in chosen for n in each) for chosen in product(*listed)]


def members_of(node: Any) -> Set:
    """One element of GROUP BY: a key, or several in brackets."""
    match type(node).__name__:
        case "Tuple":
            return tuple(node.expressions)
        case "Paren":
            return members_of(node.this)
        case _:
            return (node,)


def _product(listed: Sequence[Sequence[Set]]) -> int:
    count = 1
    for each in listed:
        count = min(count * len(each), MOST_SETS + 1)
    return count


def _sets(node: Any) -> list[Set]:
    """The sets that one word with its brackets means."""
    inside = node.expressions
    match type(node).__name__:
        case "Rollup":
            return _rolled_up([members_of(each) for each in inside])
        case "Cube":
            _check(2 ** min(len(inside), MOST_SETS))
            members = [members_of(each) for each in inside]
            sizes = range(len(members), -1, -1)
            return [_joined(some) for size in sizes for some in combinations(members, size)]
        case "GroupingSets":
            nested = {"Rollup", "Cube", "GroupingSets"}
            found: list[Set] = []
            for each in inside:
                found += _sets(each) if type(each).__name__ in nested else [members_of(each)]
                _check(len(found))
            return found
        case _:
            raise RefusedQuery(
                "GROUP BY has a part that is neither a key nor a grouping set",
                remedy="write GROUP BY ROLLUP (a, b), CUBE (a, b) or GROUPING SETS ((a, b), (a))",
            )


def _rolled_up(members: Sequence[Set]) -> list[Set]:
    _check(len(members) + 1)
    return [_joined(members[:size]) for size in range(len(members), -1, -1)]


def _joined(members: Sequence[Set]) -> Set:
    return tuple(node for each in members for node in each)


def _check(count: int) -> None:
    if count > MOST_SETS:
        raise RefusedQuery(
            f"GROUP BY means more than {MOST_SETS} grouping sets, each of which is paid for",
            remedy="name those that you need: GROUPING SETS ((a, b), (a), ())",
        )
