r"""Outcomes that are left out of a line, and what delta they make.

The outcomes of all releases fall into three parts: those that the line covers; those of which one
is *lost*, which add between nothing and their probability; and those of which one is *large*.

Let B be the event that some loss is at least l. Since :math:`E_P[e^{-S};B] = Q(B)`,

.. math:: E_P[(1-e^{\varepsilon-S})_+;B] \ge P(B) - e^\varepsilon Q(B), \qquad
    P(B) = 1-\prod_i(1-P_i),

with equality if the sum S of all losses is at least epsilon on B. It is, if the others cannot make
up for the large loss. Else the left side is more by :math:`E_P[(e^{\varepsilon-S}-1)_+;B]`, which
is at most :math:`e^\varepsilon Q(B, S<\varepsilon) \le e^\varepsilon\sum_iQ_i\tau` where tau
bounds the probability under Q that the losses without the i-th sum up to less than
:math:`\varepsilon-l`. For any epsilon the left side is at most P(B).

So one large outcome of Gaussian noise on a small sample, which the others of some thousand steps
cannot make up for, is known in closed form, and the line is left with small losses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Self

from flint import arb

from quaestor.accounting.numerics.balls import ZERO, between, outward, working_precision
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.numerics.complexes import UNIT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quaestor.accounting.loss.laws.law import Law

__all__ = ["Deficit", "SetAside"]


class Deficit(NamedTuple):
    """A sum of losses is at least minus ``most``, but for a chance under the second hypothesis."""

    most: float
    chance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """What was left out of a sum of losses.

    Attributes:
        lost: the probability that one of the lost outcomes comes, at most.
        log_none: the logarithm of the probability that no large outcome comes.
        log_none_second: the same under the second hypothesis.
        limit: the epsilon up to which one large outcome suffices, whatever the others are,
        chance: but for this chance, under the second hypothesis.
    """

    lost: float
    log_none: arb
    log_none_second: arb
    limit: float
    chance: float

    @classmethod
    def of(cls, terms: Iterable[tuple[Law, int]], deficit: Deficit) -> Self:
        """What was left out of these losses, of which one less has such a deficit."""
        lost, limit = 0.0, math.inf
        with working_precision(128):
            first = second = ZERO
            for law, count in terms:
                lost += count * law.lost
                if law.large is not None:
                    first += law.large.log_none * count
                    second += law.large.log_none_second * count
                    limit = min(limit, law.large.least)
        if limit < math.inf:
            limit -= deficit.most + 1e-12 * (abs(limit) + deficit.most)
        return cls(
            lost=lost * (1 + 1e-12),
            log_none=first,
            log_none_second=second,
            limit=limit,
            chance=deficit.chance,
        )

    def losing(self, more: float) -> Self:
        """The same where so much more may be lost, which leaves room for rounding."""
        return replace(self, lost=self.lost + more)

    def with_others(self) -> Self:
        """The same beside other losses, of which nothing is known."""
        return replace(self, limit=-math.inf)

    def added_to(
        self, lower: float, upper: float, epsilon: float, *, above: bool
    ) -> tuple[float, float]:
        """The ends of delta, from those without what was set aside.

        ``above`` says that these were found as delta, and not as 1 - delta, from whose 1 the
        probability of all that was left out is missing.
        """
        none = self.log_none.is_zero()
        large, excess = (Bounds.exactly(0.0),) * 2 if none else self._large(epsilon)
        least = max(excess.lower, 0.0)
        most = max(excess.upper, 0.0) if epsilon <= self.limit else large.upper
        most = min(most, large.upper) + self.lost
        lower = lower + least if above else lower - (large.upper + self.lost - least)
        return lower - 4 * UNIT * abs(lower), upper + most + 4 * UNIT * (abs(upper) + most)

    def _large(self, epsilon: float) -> tuple[Bounds, Bounds]:
        """P(B), and by how much it exceeds the other hypothesis times e^epsilon."""
        with working_precision(128):
            first, second = -self.log_none.expm1(), -self.log_none_second.expm1()
            odds = arb(epsilon).exp()
            excess = first - second * odds
            more = -self.log_none_second * odds * self.chance
            return outward(first), outward(between(excess, excess + more))
