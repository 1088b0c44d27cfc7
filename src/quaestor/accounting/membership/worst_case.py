"""What is asked, what is found, and what makes the two meet."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from quaestor.accounting.membership.release_order import covers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quaestor.accounting.membership.comparison import Databases, Difference, Pair
    from quaestor.accounting.membership.nested_limits import Forest
    from quaestor.accounting.membership.rules import Rules

__all__ = [
    "MOST_CURVES",
    "MembershipQuestion",
    "WorstComparisons",
    "checked",
    "gathered",
    "maximal",
]

MOST_CURVES = 1000  # different comparisons that are worth composing


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipQuestion:
    """The databases, what is known of memberships, and which worlds are compared."""

    databases: Databases
    rules: Rules
    neighbours: str

    @property
    def replaced(self) -> bool:
        """Whether a record may change inside its database."""
        return self.neighbours == "replace_record"

    def difference(self, pair: Pair) -> Difference:
        """What tells two memberships apart."""
        return self.databases.difference(pair, replaced=self.replaced)

    def occurs(self, pair: Pair) -> bool:
        """Whether the two memberships are really compared."""
        absent = self.neighbours == "add_remove"
        starts = pair.first == 0 if absent else self.rules.allows(pair.first)
        return starts and self.rules.allows(pair.second)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstComparisons:
    """Comparisons that really occur, and comparisons that outdo everything that occurs.

    ``upper`` is None where no list of comparisons covers everything, and only a bound does.
    """

    attained: dict[Difference, Pair]
    upper: tuple[Difference, ...] | None
    method: str
    forest: Forest

    @property
    def exact(self) -> bool:
        """Whether everything in ``upper`` occurs."""
        return self.upper is not None and all(each in self.attained for each in self.upper)


def gathered(
    question: MembershipQuestion, pairs: Iterable[Pair], method: str, forest: Forest
) -> WorstComparisons | None:
    """Pairs that occur and cover everything, without those that others outdo; None if too many."""
    by_difference: dict[Difference, Pair] = {}
    for pair in pairs:
        by_difference.setdefault(question.difference(pair), pair)
    by_difference.pop((), None)
    if len(by_difference) > 4 * MOST_CURVES:
        return None
    kept: dict[Difference, Pair] = {}
    for difference in sorted(by_difference, key=lambda d: -sum(count for _, count in d)):
        if not any(covers(other, difference, question.databases.outdoes) for other in kept):
            kept[difference] = by_difference[difference]
    if len(kept) > MOST_CURVES:
        return None
    return WorstComparisons(attained=kept, upper=tuple(kept), method=method, forest=forest)


def checked(
    question: MembershipQuestion, pairs: Iterable[Pair], method: str, forest: Forest
) -> WorstComparisons | None:
    """Pairs that cover everything; those that do not occur stay upper bounds."""
    worst = gathered(question, pairs, method, forest)
    if worst is None:
        return None
    occurring = {d: pair for d, pair in worst.attained.items() if question.occurs(pair)}
    return replace(worst, attained=occurring)


def maximal(members: Iterable[int]) -> list[int]:
    """Without those that lie inside another one."""
    kept: list[int] = []
    for member in sorted(set(members), key=int.bit_count, reverse=True):
        if not any(member & other == member for other in kept):
            kept.append(member)
    return kept
