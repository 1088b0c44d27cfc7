"""Batches that everybody falls into at random: one of the steps, and several."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from quaestor.accounting.releases.base import (
    Release,
    Strength,
    check_count,
    positive,
    remembered,
)
from quaestor.accounting.releases.derived.largest_step import LargestStep, largest_step_curve
from quaestor.accounting.releases.loss_ends import NO_BOUND, LossEnd
from quaestor.accounting.releases.opinion import MARGIN, Opinion, gaussian_curve
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.releases.opinion import Curve

__all__ = ["InOneStep", "RandomAllocation"]

_MOST_STEPS = 10**6
_SMALLEST_MU, _LARGEST_MU = 1e-6, 8.0


class InOneStep(Release):
    """Gaussian noise on every one of ``steps`` sums, of which each person is in one."""

    __slots__ = ()

    sigma: float
    steps: int
    sensitivity: float

    bracketed: ClassVar[bool] = True
    directed: ClassVar[bool] = True
    neighbours: ClassVar[str | None] = "add_remove"
    strength: ClassVar[Strength | None] = Strength("sigma", more_tells_more=False)

    def _check(self) -> None:
        positive(self, "sigma", "sensitivity")
        object.__setattr__(self, "steps", check_count("steps", self.steps, largest=_MOST_STEPS))
        if not _SMALLEST_MU <= self.sensitivity / self.sigma <= _LARGEST_MU:
            valid = (
                f"from 1/{_LARGEST_MU:g} to {1 / _SMALLEST_MU:g} times the sensitivity; beyond "
                "that, count Gaussian(sigma=...) once for each time that a person takes part"
            )
            raise InvalidParameter("sigma", self.sigma, valid)

    def _mu(self) -> float:
        """At least the ratio of shift and noise."""
        return math.nextafter(self.sensitivity / self.sigma, math.inf)

    @remembered
    def concentrated_rho(self) -> Fraction | None:
        """That of the step alone: divergences are quasi-convex."""
        from quaestor.accounting.numerics.balls import at_least

        return at_least(Fraction(self._mu()) ** 2 / 2)

    @remembered
    def squared_mu(self) -> Fraction | None:
        """That of the step alone."""
        from quaestor.accounting.numerics.balls import at_least

        return at_least(Fraction(self._mu()) ** 2)

    # From the parameters alone.

    def loss_ends(self) -> tuple[LossEnd, ...]:
        """There is none."""
        return NO_BOUND, NO_BOUND

    def _largest_step(self) -> LargestStep:
        raise NotImplementedError

    @remembered
    def opinion(self) -> Opinion:
        """From below: a test of the largest step. From above: the step is told."""
        mu, pair = self.sensitivity / self.sigma, self._largest_step()

        def curve(at: float) -> Curve:
            return largest_step_curve(pair, at), gaussian_curve(mu, at)[1]

        return Opinion(curve, None, mu * mu / 2 * (1 + MARGIN) + 5e-324)


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomAllocation(InOneStep):
    r"""Gaussian noise on each of ``steps`` batches; every person falls into a random one of them.

    One epoch of DP-SGD with *random allocation*, also called balls and bins: each person draws a
    step by oneself, so that the batches vary in size. Epochs draw anew: ``release * epochs``.

    Guarantee:
        :math:`P = \frac1t\sum_iN(\mu e_i, I)` against :math:`Q = N(0, I)` for removing, turned
        round for adding [Chua et al. 2025, arXiv 2412.16802]. The law of its loss is enclosed by
        two pairs of worlds on a grid (Feldman and Shenfeld, arXiv 2602.17284, convolve it too).
        Proof: given the steps of the others and the outputs so far, the outputs with the person
        differ in step I only, which is random and independent of the others. So the ratio of the
        densities is :math:`\frac1t\sum_ie^{\mu w_i-\mu^2/2}` with the noise :math:`w_i` along the
        person's change in step i, which is chosen before that step: independent Gaussians without
        the person. A shorter change is the longest one and more noise.

    Assumes:
        Neighbours by a person who comes or goes. The steps of the others do not depend on the
        person: a shuffled order that is cut into batches of one size does not qualify (see
        :class:`ShuffledEpoch`). Which step a person is in stays secret.

    >>> from quaestor import Gaussian, PoissonSampled, compose
    >>> epoch = RandomAllocation(sigma=1.0, steps=100)
    >>> sampled = PoissonSampled(release=Gaussian(sigma=1.0), rate=0.01) * 100
    >>> compose(epoch).epsilon(delta=1e-6) < compose(sampled).epsilon(delta=1e-6)
    True
    """

    sigma: float
    steps: int
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        self._check()

    @classmethod
    def several(
        cls, *, sigma: float, steps: int, participations: int, sensitivity: float = 1.0
    ) -> Release:
        r"""Everybody is in ``participations`` of the ``steps``, a random set of that size.

        Theorem:
            Its curve is at most that of k = ``participations`` epochs of :math:`\lfloor
            t/k\rfloor` steps [Feldman, Shenfeld 2025, arXiv 2502.08202].
            Proof: draw k disjoint sets of :math:`\lfloor t/k\rfloor` steps at random, and a step
            of each: by symmetry a random set of k steps. Tell the sets, which no data decide:
            given these it is k independent allocations, one after the other or interleaved, and
            steps without the person.

        Intervals enclose what these epochs lose: the upper end holds for the random set, the lower
        end need not.

        >>> print(RandomAllocation.several(sigma=2.0, steps=1000, participations=3))
        RandomAllocation(sigma=2.0, steps=333, sensitivity=1.0) * 3
        """
        times = check_count("participations", participations, largest=check_count("steps", steps))
        return cls(sigma=sigma, steps=steps // times, sensitivity=sensitivity) * times

    def losses(self) -> tuple[Law, ...]:
        """More than is lost: removing, and adding."""
        from quaestor.accounting.loss.laws.batches.allocated import allocated_losses

        return allocated_losses(self._mu(), self.steps)

    def least_losses(self) -> tuple[Law, ...]:
        """Less than is lost: removing, and adding."""
        from quaestor.accounting.loss.laws.batches.allocated import least_allocated_losses

        return least_allocated_losses(
            math.nextafter(self.sensitivity / self.sigma, 0.0), self.steps
        )

    def _largest_step(self) -> LargestStep:
        return LargestStep(self.steps, self.sensitivity / self.sigma, 0.0)
