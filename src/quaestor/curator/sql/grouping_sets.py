"""``ROLLUP``, ``CUBE`` and ``GROUPING SETS``: which keys each set of groups has.

Sets are listed from the finest on, as they are written. A set that is named twice is one set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quaestor.curator.questions.grouping_sets import check_sets, cubed, multiplied, rolled_up
from quaestor.curator.sql.translator import only
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["members_of", "sets_of"]

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
            listed.append(rolled_up([(node,) for node in plain]))
            plain = ()
        else:
            listed.append(_sets(part))
    return multiplied(plain, listed)


def members_of(node: Any) -> Set:
    """One element of GROUP BY: a key, or several in brackets."""
    match type(node).__name__:
        case "Tuple":
            return tuple(node.expressions)
        case "Paren":
            return members_of(node.this)
        case _:
            return (node,)


def _sets(node: Any) -> list[Set]:
    """The sets that one word with its brackets means."""
    inside = node.expressions
    match type(node).__name__:
        case "Rollup":
            return rolled_up([members_of(each) for each in inside])
        case "Cube":
            return cubed([members_of(each) for each in inside])
        case "GroupingSets":
            nested = {"Rollup", "Cube", "GroupingSets"}
            found: list[Set] = []
            for each in inside:
                found += _sets(each) if type(each).__name__ in nested else [members_of(each)]
                check_sets(len(found))
            return found
        case _:
            raise RefusedQuery(
                "GROUP BY has a part that is neither a key nor a grouping set",
                remedy="write GROUP BY ROLLUP (a, b), CUBE (a, b) or GROUPING SETS ((a, b), (a))",
            )
