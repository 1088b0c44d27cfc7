"""The answer of ``compose_across``: what many databases tell, of one person, together."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from quaestor.accounting.compose import Composition, compose
from quaestor.accounting.curve_answers import CurveAnswers
from quaestor.accounting.curves.worst_of import Maximum
from quaestor.accounting.membership.search import search
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.accounting.membership.comparison import Difference
    from quaestor.accounting.membership.facts import Fact
    from quaestor.accounting.membership.worst_case import MembershipQuestion, WorstComparisons

__all__ = ["AcrossComposition", "WorstMemberships"]


class WorstMemberships(NamedTuple):
    """Two memberships that are hard to hide from each other.

    Attributes:
        first: the databases that a person is in, in one world.
        second: the same in the other world.
        differing: the databases whose input is not the same in both worlds.

    >>> from quaestor import ExactlyOne, PureDP, compose_across
    >>> sites = {"north": [PureDP(epsilon=0.5)], "south": [PureDP(epsilon=0.25)]}
    >>> together = compose_across(sites, membership=ExactlyOne(), neighbours="replace")
    >>> together.worst(delta=0.0).differing
    ('north', 'south')
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    differing: tuple[str, ...]


class AcrossComposition(CurveAnswers):
    """What the releases of many databases tell about one person; every number is certified.

    >>> from quaestor import AtMost, PureDP, compose_across
    >>> months = {f"month {i}": [PureDP(epsilon=0.25)] for i in range(12)}
    >>> year = compose_across(months, membership=AtMost(2), neighbours="add_remove")
    >>> year.epsilon(delta=0.0), year.exact
    (0.5, True)
    """

    def __init__(self, question: MembershipQuestion, membership: Fact) -> None:
        """Keep the question; nothing is computed before the first answer."""
        self._question = question
        self.membership = membership

    def __repr__(self) -> str:
        """The facts and the relation; the databases only by their number."""
        count = len(self._question.databases.names)
        return (
            f"compose_across({{{count} databases}}, membership={self.membership!r}, "
            f"neighbours={self.neighbours!r})"
        )

    @property
    def databases(self) -> tuple[str, ...]:
        """The names, in their order."""
        return self._question.databases.names

    @property
    def neighbours(self) -> str:
        """Which worlds are compared."""
        return self._question.neighbours

    @cached_property
    def _worst(self) -> WorstComparisons:
        return search(self._question)

    @cached_property
    def _curve(self) -> Maximum:
        worst, databases = self._worst, self._question.databases
        profiles = {difference: databases.profile(difference) for difference in worst.attained}
        attained = tuple(profiles.values())
        if worst.upper is None:
            from quaestor.accounting.membership.envelope import envelope

            return Maximum(attained=attained, upper=[envelope(self._question, worst.forest)])
        if worst.exact:
            return Maximum(attained=attained, upper=attained)
        upper = [
            profiles[each] if each in profiles else databases.profile(each) for each in worst.upper
        ]
        return Maximum(attained=attained, upper=upper)

    @property
    def exact(self) -> bool:
        """Whether some comparison that can occur attains the answer; otherwise it is a bound."""
        return self._worst.exact

    @property
    def method(self) -> str:
        """How the worst memberships were found, or bounded, in words."""
        sure = "exact" if self.exact else "a sound bound"
        return f"{sure} ({self._worst.method})"

    def worst(
        self, *, delta: float | None = None, epsilon: float | None = None
    ) -> WorstMemberships | None:
        """Two memberships that attain the answer at ``delta``, or at ``epsilon``.

        Where the answer is a bound, the worst two among those that were tried, or None if none
        of them is known to occur. Also None if nothing can be told apart at all.
        """
        if (delta is None) == (epsilon is None):
            given = "both" if delta is not None else "neither"
            raise InvalidParameter("worst", given, "given exactly one of delta and epsilon")
        place = self._curve.worst(delta=delta, epsilon=epsilon)
        if place is None:
            return None
        first, second = list(self._worst.attained.values())[place]
        apart = first | second if self._question.replaced else first ^ second
        shown = self._question.rules.shown
        return WorstMemberships(shown(first), shown(second), shown(apart))

    def naive(self) -> Composition:
        """What composing everything, as if everybody were everywhere, would give.

        With ``replace_record``, everybody's record changes in place everywhere.
        """
        databases = self._question.databases
        everything = databases.counted(self._question.rules.everything)
        replaced = self._question.replaced
        return compose(
            *(
                (release.with_record_replaced() if replaced else release) * (count * times)
                for kind, times in everything.items()
                for release, count in databases.kinds[kind]
            )
        )

    def most_changes(self) -> int:
        """The most databases in which two compared worlds can differ (bounded from above)."""
        worst = self._worst
        if worst.upper is None:
            limits = worst.forest
            limits = limits.doubled() if self.neighbours == "replace" else limits
            count = limits.greedy(range(len(self.databases))).bit_count()
            return 2 * count if self._question.replaced else count
        return max(map(_changes, worst.upper), default=0)

    def parallel_epsilon(self) -> float:
        """What parallel composition would say: changes times the largest epsilon of a database.

        Theorem:
            McSherry 2009, as the paper uses it for comparison (Section V-A1): it knows epsilons
            only, adds them up, and takes every database for the worst one. Infinite where some
            database has no epsilon at delta 0.
        """
        each = (
            compose(*(release * count for release, count in kind)).epsilon(delta=0.0)
            for kind in self._question.databases.kinds
        )
        changes = self.most_changes()
        return math.nextafter(changes * max(each, default=0.0), math.inf) if changes else 0.0


def _changes(difference: Difference) -> int:
    return sum(count * (2 if item.change == "both" else 1) for item, count in difference)
