r"""Gaussian noise alone: any number of Gaussians is one, in closed form at every scale."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import arb

from quaestor.accounting.curves.epsilon_search import least_epsilon
from quaestor.accounting.curves.profile import Profile
from quaestor.accounting.numerics.balls import ZERO, outward, rational, refined, working_precision
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.numerics.gaussian_tails import gaussian_delta

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from quaestor.accounting.releases import Release

__all__ = ["GaussianProfile", "is_gaussian"]

_BITS = 4352  # of mu: what cancels for a small one must not be what was rounded


def is_gaussian(release: Release) -> bool:
    """Whether a release, maybe a repeated one, is Gaussian noise or as good as it."""
    return release.counted()[0].known_mu() is not None


class GaussianProfile(Profile):
    r"""N(0, 1) against N(mu, 1), with :math:`\mu^2 = \sum\Delta_i^2/\sigma_i^2`.

    Theorem:
        Dong, Roth, Su 2022, Corollary 3.3, and Balle, Wang 2018, Theorem 8:
        :math:`\delta(\varepsilon) = \Phi(\mu/2-\varepsilon/\mu) -
        e^\varepsilon\Phi(-\mu/2-\varepsilon/\mu)`. The squares are summed in balls, which neither
        underflow nor overflow.
    """

    knows_small_deltas = True

    def __init__(
        self,
        releases: Iterable[Release],
        *,
        square: arb = ZERO,
        least_square: arb | None = None,
    ) -> None:
        """Add the squares up, after those of an earlier history."""
        given = [release.counted() for release in releases]
        self._least_square = least_square
        self._least: GaussianProfile | None = None  # where only brackets of a mu are known
        if least_square is not None or any(single.bracketed for single, _ in given):
            below = [(single.at_least(), count) for single, count in given]
            self._least_square = _added(square if least_square is None else least_square, below)
            self._least = GaussianProfile((), square=self._least_square)
        self._square = _added(square, given)
        with working_precision(_BITS):
            self._mu = self._square.sqrt()

    def then(self, releases: Iterable[Release]) -> GaussianProfile:
        """The same with more releases."""
        longer = GaussianProfile(releases, square=self._square, least_square=self._least_square)
        longer.theorem = self.theorem
        return longer

    def delta_bounds(self, *, epsilon: float) -> Bounds:
        """Enclose delta."""
        if self._square.is_zero() or math.isinf(epsilon):
            return Bounds.exactly(0.0)
        whole = outward(refined(lambda _: gaussian_delta(self._mu, arb(epsilon)))).clipped(0.0, 1.0)
        if self._least is None:
            return whole
        return self._least.delta_bounds(epsilon=epsilon).up_to(whole)

    def epsilon_bounds(self, *, delta: float) -> Bounds:
        """Enclose the least epsilon, by searching."""
        if delta >= 1.0 or self._square.is_zero():
            return Bounds.exactly(0.0)
        if delta == 0.0:
            return Bounds.exactly(math.inf)
        if self._least is not None:
            alone = GaussianProfile((), square=self._square).epsilon_bounds(delta=delta)
            return self._least.epsilon_bounds(delta=delta).up_to(alone)
        return least_epsilon(
            lambda epsilon: self.delta_bounds(epsilon=epsilon),
            target=Bounds.exactly(delta),
            guess=self._guess(delta),
            largest=math.inf,
        )

    def _guess(self, delta: float) -> float:
        """A little more than the truth: the moment bound's epsilon, without its constant."""
        mu = float(self._mu.mid())
        return mu * (mu / 2 + math.sqrt(-2 * math.log(delta))) if mu < 1e150 else 1e300

    def supports(self, at_most: int) -> Sequence[float]:
        """Evenly spread epsilons, up to where a delta of 1e-12 is reached."""
        largest = self.epsilon_bounds(delta=1e-12).upper
        gaps = max(at_most - 1, 1)
        return [largest * i / gaps for i in range(gaps + 1)]


def _added(square: arb, counted: Iterable[tuple[Release, int]]) -> arb:
    with working_precision(_BITS):
        for single, count in counted:
            square = square + rational(single.known_mu() or Fraction(0)) ** 2 * count
        return square
