"""Gaussian noise on a Poisson sample that is cut to a largest size."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from quaestor.accounting.releases.base import (
    Release,
    check_count,
    check_real,
    positive,
    remembered,
)
from quaestor.accounting.releases.derived.mixture_opinion import Mixture, mixtures_curve
from quaestor.accounting.releases.opinion import MARGIN, Opinion

if TYPE_CHECKING:
    from flint import arb

    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.releases.opinion import Curve

__all__ = ["TruncatedPoissonGaussian"]

_LARGEST_POPULATION = 10**12
_BITS = 256
_LEAST = 1e-300  # a chance that is not 0: less is not told from it


class _Case(NamedTuple):
    """With this probability the person is in at this rate, and moves the sum by so many norms."""

    probability: float
    rate: float
    norms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncatedPoissonGaussian(Release):
    r"""Gaussian noise on the sum over a Poisson sample of at most ``batch`` people.

    Each of ``population`` people (counting the person in question) is sampled with probability
    ``rate``; of a larger sample a random part of ``batch`` people is kept. Each moves the sum by
    at most ``sensitivity``.

    Guarantee:
        With :math:`\tau = P[\mathrm{Bin}(n-1, q) \ge B]` and :math:`q' = \frac{B}{n\tau}
        P[\mathrm{Bin}(n, q) > B]`: with probability :math:`1-\tau` the Poisson-sampled Gaussian of
        rate q, and with probability :math:`\tau` that of rate q' and twice the sensitivity, where
        it is told which of the two it is. (arXiv 2508.15089 counts the second case as a
        replacement; this is tighter.)
        Proof: tell whether at least B others were sampled. If not, nothing is cut. If so, the kept
        part without the person is a uniform set of B others; with the person, who is in it with
        probability q' on average, the rest is a uniform set of B - 1 others, whatever the size of
        the sample. So the person takes the place of one other: two norms.

    >>> step = TruncatedPoissonGaussian(sigma=4.0, rate=0.01, batch=200, population=10_000)
    >>> step.neighbours
    'add_remove'
    """

    sigma: float
    rate: float
    batch: int
    population: int
    sensitivity: float = 1.0

    directed: ClassVar[bool] = True
    neighbours: ClassVar[str | None] = "add_remove"
    counts_people: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        positive(self, "sigma", "sensitivity")
        object.__setattr__(self, "rate", check_real("rate", self.rate, low=0.0, high=1.0))
        population = check_count("population", self.population, largest=_LARGEST_POPULATION)
        object.__setattr__(self, "population", population)
        object.__setattr__(self, "batch", check_count("batch", self.batch))

    def _cases(self) -> tuple[_Case, ...]:
        return _cases(self.rate, self.batch, self.population)

    def losses(self) -> tuple[Law, ...]:
        """Removing, and adding."""
        from quaestor.accounting.loss.laws.labelled import LabelledLoss
        from quaestor.accounting.loss.laws.sampling.sampled import no_loss

        if self.rate == 0.0:
            return (no_loss(),)
        parts = [(case.probability, *self._sampled(case)) for case in self._cases()]
        return (
            LabelledLoss([(weight, removing) for weight, removing, _ in parts], rounded=True),
            LabelledLoss([(weight, adding) for weight, _, adding in parts], rounded=True),
        )

    def _sampled(self, case: _Case) -> tuple[Law, Law]:
        """The losses of a case: removing, and adding."""
        import numpy as np

        from quaestor.accounting.loss.laws.gaussian_mixtures import Bells, GaussianMixtureLoss
        from quaestor.accounting.loss.laws.sampling.sampled_gaussian import SampledGaussianLosses

        mu = case.norms * self.sensitivity / self.sigma
        if case.rate < 1.0:
            only = np.array([mu]), np.array([case.rate]), np.array([1.0])
            return (
                SampledGaussianLosses(*only, removing=True),
                SampledGaussianLosses(*only, removing=False),
            )
        alone, mixture = Bells.of([0.0], [1.0]), Bells.of(*self._mixture(case))
        return GaussianMixtureLoss(mixture, alone), GaussianMixtureLoss(alone, mixture.mirrored())

    def _mixture(self, case: _Case) -> Mixture:
        shift = case.norms * self.sensitivity / self.sigma
        return Mixture((0.0, shift), (1.0 - case.rate, case.rate))

    def _largest_mu(self) -> Fraction:
        norms = max(case.norms for case in self._cases())
        return norms * Fraction(self.sensitivity) / Fraction(self.sigma)

    @remembered
    def concentrated_rho(self) -> Fraction | None:
        """That of the furthest change: divergences are quasi-convex."""
        from quaestor.accounting.numerics.balls import at_least

        return at_least(self._largest_mu() ** 2 / 2)

    @remembered
    def squared_mu(self) -> Fraction | None:
        """That of the furthest change."""
        from quaestor.accounting.numerics.balls import at_least

        return at_least(self._largest_mu() ** 2)

    # From the parameters alone.

    @remembered
    def opinion(self) -> Opinion:
        """The mean of two closed forms."""
        if self.rate == 0.0:
            return Opinion(lambda _: (0.0, 0.0), None, 0.0, 0.0, 0.0)
        alone = Mixture((0.0,), (1.0,))
        cases = [(case.probability, self._mixture(case)) for case in self._cases()]

        def curve(at: float) -> Curve:
            ways = []
            for turned in (False, True):
                low = high = 0.0
                for weight, mixture in cases:
                    pair = (alone, mixture.mirrored()) if turned else (mixture, alone)
                    ends = mixtures_curve(*pair, at)
                    low, high = low + weight * ends[0], high + weight * ends[1]
                ways.append((low * (1 - MARGIN), min(high * (1 + MARGIN), 1.0)))
            return max(low for low, _ in ways), max(high for _, high in ways)

        mu = float(self._largest_mu())
        return Opinion(curve, None, mu * mu / 2 * (1 + MARGIN) + 5e-324)


@lru_cache(maxsize=1024)
def _cases(rate: float, batch: int, population: int) -> tuple[_Case, ...]:
    """Nothing is cut, and something is; each number good to a few units."""
    from quaestor.accounting.numerics.balls import working_precision

    others = population - 1
    if batch > others or rate == 0.0:
        return (_Case(1.0, rate, 1),)
    with working_precision(_BITS):
        cut = _at_least(batch, others, rate)
        kept = _at_least(batch + 1, population, rate) * batch / population / cut
        chances = float((1 - cut).mid()), max(float(cut.mid()), _LEAST)
        conditional = float(kept.mid())
    cases = (_Case(chances[0], rate, 1), _Case(chances[1], conditional, 2))
    return tuple(case for case in cases if case.probability > 0.0)


def _at_least(threshold: int, count: int, rate: float) -> arb:
    """P[Bin(count, rate) >= threshold]."""
    from flint import arb

    if threshold > count:
        return arb(0)
    return arb(rate).beta_lower(threshold, count - threshold + 1, 1)
