"""The filter of Gaussian privacy: squares of mu add up."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from flint import arb

from quaestor.accounting.filters.base import Filter, Meter, check_target, slack_of, with_reserve
from quaestor.accounting.numerics.balls import outward, refined
from quaestor.accounting.numerics.gaussian_tails import gaussian_delta

if TYPE_CHECKING:
    from quaestor.accounting.releases import Release

__all__ = ["GaussianMeter", "gaussian_filter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianMeter(Meter):
    """Adds squares of mu up."""

    name: ClassVar[str] = "mu squared"
    limit: Fraction

    @property
    def words(self) -> str:
        """What it counts."""
        return "the sum of the squares of the mus of Gaussian privacy"

    def cost_of_one(self, release: Release) -> Fraction | None:
        """The square of the release's mu, rounded up."""
        return release.squared_mu()


def gaussian_filter(*, epsilon: float, delta: float, reserved: float = 0.0) -> Filter:
    r"""Squares of mu add up, with no loss at all: nothing is better for Gaussian noise.

    Theorem:
        :math:`\sum\mu_i^2 \le \mu^2` [Smith, Thakurta 2022; Koskela, Tobaben, Honkela 2023], with
        the largest :math:`\mu` whose Gaussian has a delta of at most the slack at epsilon.
        *Proof.* Let :math:`Y_t = \theta t + W_t` be Brownian motion with drift 0 or 1, by the
        world. Read off the increment of the next :math:`\mu_i^2` units of time whenever a release
        of :math:`\mu_i` is asked for, chosen by what was read before: given that, it is
        :math:`N(\theta\mu_i^2, \mu_i^2)`, which is Gaussian noise with :math:`\mu_i`, and the
        release is a post-processing of it [Blackwell]. So everything is a post-processing of the
        path up to time :math:`\mu^2`, of which :math:`Y_{\mu^2}` tells all that there is to tell
        about the world.
    """
    target = check_target(epsilon=epsilon, delta=delta)
    slack = slack_of(delta=target.delta, reserved=reserved)
    mu = _largest_mu(target.epsilon, slack)
    return with_reserve(
        "gdp",
        epsilon=target.epsilon,
        delta=target.delta,
        reserved=reserved,
        meters=(GaussianMeter(limit=Fraction(mu) ** 2),),
    )


@lru_cache(maxsize=64)
def _largest_mu(epsilon: float, slack: Fraction) -> float:
    """A float with a certified delta of at most the slack, and next to it none."""
    low, high = 0.0, 1.0
    while high < 1e6 and _fits(high, epsilon, slack):
        low, high = high, 2 * high
    while (high - low) > 2.0**-50 * high:
        middle = (low + high) / 2
        if _fits(middle, epsilon, slack):
            low = middle
        else:
            high = middle
    return low


def _fits(mu: float, epsilon: float, slack: Fraction) -> bool:
    if mu == 0.0:
        return True
    return (
        Fraction(outward(refined(lambda _: gaussian_delta(arb(mu), arb(epsilon)))).upper) <= slack
    )
