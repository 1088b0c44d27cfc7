"""The odometer: what has been lost so far, at every time at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from quaestor.accounting.filters.base import DeltaMeter, EpsilonMeter
from quaestor.accounting.filters.moments import MomentMeter
from quaestor.accounting.numerics.balls import at_least, ball_at_least, rational
from quaestor.accounting.releases.base import check_real

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from quaestor.accounting.filters.base import Meter
    from quaestor.accounting.releases import Release

__all__ = ["LossReading", "Odometer"]

_ROUNDS = 16
_FIRST = 2.0**-4  # the epsilon that the first round is for; each is for twice the one before
_SHARE = Fraction(607_927, 1_000_000)  # a little below 6/pi^2: the shares sum to at most 1
_NEARLY = 1 - Fraction(1, 10**6)  # room for the rounding of costs where orders are left out
_ENDLESS = Fraction(10**18)  # an odometer only counts, and nobody asks for its limits


@dataclass(frozen=True, slots=True, kw_only=True)
class LossReading:
    """With probability 1 - ``delta`` at least, no reading is ever below the loss at its time."""

    epsilon: float
    delta: float
    by: str
    """The meter that says so: ``epsilon`` is the plain sum, which cannot fail."""


@dataclass(frozen=True, kw_only=True)
class Odometer:
    r"""What has been lost so far, valid at every time, whatever was chosen and why.

    Theorem:
        For orders :math:`\lambda_1, \lambda_2, \dots` and shares :math:`\delta_j =
        6\delta/\pi^2j^2`, all fixed in advance, the reading after t releases is

        .. math:: \varepsilon_t = \min\Bigl\{\sum_{i \le t}\varepsilon_i,\ \min_j\frac{\sum_{i \le
            t} h_i(\lambda_j) + \ln(1/\delta_j)}{\lambda_j}\Bigr\},

        with h from :func:`~quaestor.accounting.filters.moment_filter`. The probability
        that the loss is *ever* above its reading is at most delta, plus what is ``reserved`` for
        the releases' own deltas (beyond that there is no finite reading).

        *Proof.* Let A be the event that nothing was told outright so far. :math:`Z_t =
        1_A\exp(\lambda L_t - \sum h_i(\lambda))` is a non-negative supermartingale that starts at
        1, so that it ever exceeds :math:`1/\delta_j` with probability at most :math:`\delta_j`
        [Ville]; and as long as it does not, :math:`\lambda_jL_t \le \sum h_i(\lambda_j) +
        \ln(1/\delta_j)`, or something was told outright. The shares sum to at most delta. The sum
        of epsilons needs no share, for on A it never fails.

        One may stop at any time, also at one that the readings suggest. Order j suits a loss of
        about :math:`2^{j-5}`: the union of filters with a doubling schedule of limits [Rogers,
        Roth, Ullman, Vadhan 2016, Section 6, for the idea], except that all of them go on for ever.

    All readings follow from the totals of ``meters``, which add up release by release.

    >>> from quaestor.accounting.releases import PureDP
    >>> odometer = Odometer(delta=1e-6)
    >>> odometer.read([PureDP(epsilon=0.125)]).epsilon
    0.125
    >>> odometer.read([PureDP(epsilon=0.125) * 1000]).epsilon < 35
    True
    """

    delta: float
    reserved: float = 0.0

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        for name in ("delta", "reserved"):
            value = check_real(name, getattr(self, name), low=0.0, high=1.0)
            object.__setattr__(self, name, value)

    @cached_property
    def rounds(self) -> tuple[tuple[MomentMeter, Fraction], ...]:
        """For each order its meter, and the nats of its share of delta, rounded up.

        A reading is the least of the sum of epsilons and, for each of these, of the meter's total
        and the nats, divided by the order.
        """
        if self.delta == 0.0:
            return ()
        rounds = []
        for j in range(1, _ROUNDS + 1):
            share = _SHARE * Fraction(self.delta) / j**2
            nats = ball_at_least(lambda _, share=share: -rational(share).log())  # type: ignore[misc]
            assert nats is not None  # noqa: S101  # the logarithm of a positive number
            aim, size = _FIRST * 2 ** (j - 1), float(nats)
            root = aim / (math.sqrt(size + aim) + math.sqrt(size))  # of the rho that loses aim
            order = float(f"{math.sqrt(size) / root:.4g}")
            rounds.append((MomentMeter(order=order, limit=_ENDLESS), nats))
        return tuple(rounds)

    @cached_property
    def meters(self) -> tuple[Meter, ...]:
        """What must be added up: the epsilons, the deltas, and the moments of every order."""
        plain = EpsilonMeter(limit=_ENDLESS), DeltaMeter(limit=_ENDLESS)
        return (*plain, *(meter for meter, _ in self.rounds))

    def reading(self, totals: Mapping[Meter, Fraction | None]) -> LossReading:
        """What has been lost in a history with these totals."""
        return self._least(totals, [totals[meter] for meter, _ in self.rounds])

    def reading_of(self, total: Callable[[Meter], Fraction | None]) -> LossReading:
        r"""The same, asking only for the totals that can matter.

        A log-moment divided by its order never falls as the order grows, and is never below 0; so
        the total at one order says how little the bounds at larger orders can be, and the bound
        at one order which smaller ones cannot reach it. About five orders of sixteen are left.
        """
        epsilons, deltas, *_ = self.meters
        plain = {meter: total(meter) for meter in (epsilons, deltas)}
        moments: list[Fraction | None] = [None] * len(self.rounds)
        best, slope = plain[epsilons], Fraction(0)
        left = list(range(len(self.rounds)))  # orders fall, and what their shares cost rises
        while left:
            place = left.pop(len(left) // 2)
            meter, nats = self.rounds[place]
            known = moments[place] = total(meter)
            if known is not None:
                order = Fraction(meter.order)
                bound = (known + nats) / order
                best = bound if best is None else min(best, bound)
                slope = known / order * _NEARLY
                left = [j for j in left if j > place or self._floor(j) + slope < best]
            if best is not None:
                left = [j for j in left if self._floor(j) * _NEARLY < best]
        return self._least(plain, moments)

    def _floor(self, place: int) -> Fraction:
        """What the share of delta alone costs at an order."""
        meter, nats = self.rounds[place]
        return nats / Fraction(meter.order)

    def _least(
        self, totals: Mapping[Meter, Fraction | None], moments: Sequence[Fraction | None]
    ) -> LossReading:
        epsilons, deltas, *_ = self.meters
        claimed = at_least(Fraction(self.delta) + Fraction(self.reserved)) or Fraction(0)
        claim = min(float(claimed), 1.0)
        outright = totals[deltas]
        if outright is None or outright > Fraction(self.reserved):
            return LossReading(epsilon=math.inf, delta=claim, by=deltas.key)
        best, by = totals[epsilons], epsilons.key
        for (meter, nats), total in zip(self.rounds, moments, strict=True):
            if total is not None:
                bound = (total + nats) / Fraction(meter.order)
                if best is None or bound < best:
                    best, by = bound, meter.key
        rounded = None if best is None else at_least(best)
        return LossReading(
            epsilon=math.inf if rounded is None else float(rounded), delta=claim, by=by
        )

    def read(self, releases: Iterable[Release]) -> LossReading:
        """The reading after this history."""
        history = tuple(releases)
        return self.reading({meter: meter.cost(history) for meter in self.meters})
