"""Where to integrate: the vertical line that suits an epsilon. Any is sound; this one is good."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.loss.engine.loss_sum import least_point
from quaestor.accounting.numerics.certified_arithmetic import rough_arithmetic

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.accounting.loss.engine.loss_sum import Product
    from quaestor.accounting.loss.engine.set_aside import SetAside
    from quaestor.accounting.numerics.complexes import Floats

__all__ = ["NEGLIGIBLE", "SaddlePoint", "likely_epsilon"]

NEGLIGIBLE = 42.0  # nats below the integrand's peak at which truncation may happen
_SHARPNESS = 100.0  # of what was left out: the rounding that a shorter line may cost
_FURTHER = 1.3 ** np.arange(-10.0, 10.0)  # other thetas, as shares of one
_ROUNDS = 3  # of Newton's method, for a guess
_VANISHED = 1e4  # nats by which aliases are to fall at most


@dataclass(frozen=True, slots=True, kw_only=True)
class SaddlePoint:
    """A choice of line.

    Attributes:
        theta: where it crosses the real axis.
        spread: the deviation of the loss when tilted by theta, roughly.
        reach: how far apart aliases are to be; the nodes are 2 pi divided by it apart.
        second: another theta, whose Chernoff bound shows that aliases fade.
    """

    theta: float
    spread: float
    reach: float
    second: float
    slope: float  # about how fast delta falls in epsilon: the theta that suits it best

    @classmethod
    def of(cls, product: Product, epsilon: float) -> SaddlePoint:
        """The line for ``epsilon``: on either side of the pole at 0, with what is small there."""
        with rough_arithmetic():
            # losses next to nothing need a theta far beyond -1 to 0
            if product.aside is None and product.typical_loss() > epsilon:
                return _below_the_mean(product, epsilon)
            return _above_the_mean(product, epsilon)

    @property
    def total(self) -> float:
        """What the integral is relative to its peak, roughly."""
        size = abs(self.theta * (self.theta + 1))
        return 0.4 / (size * max(self.spread, 1 / abs(self.theta)))


def likely_epsilon(product: Product, delta: float, guess: float) -> float:
    """About the epsilon of a delta, from a guess: the integral is nearly that of a bell."""
    epsilon = guess
    with rough_arithmetic():
        for _ in range(_ROUNDS):
            height = partial(_height, product, epsilon)
            theta = least_point(height, ratio=1.05)
            spread = _spread(product, theta, 0.05 * theta)
            bell = math.sqrt(2 * math.pi * (spread**2 + theta**-2.0 + (theta + 1) ** -2.0))
            excess = float(height(np.array([theta]))[0]) - math.log(bell) - math.log(delta)
            epsilon = min(max(epsilon + excess / theta, guess / 4), 2 * guess)
    return epsilon if math.isfinite(epsilon) else guess


def _height(product: Product, epsilon: float, thetas: Floats) -> Floats:
    """The logarithm of the integrand of delta on the real axis."""
    rough = product.rough_log_moments(thetas)
    return rough - thetas * epsilon - np.log(thetas * (thetas + 1))


def _above_the_mean(product: Product, epsilon: float) -> SaddlePoint:
    """A line between 0 and infinity.

    Any theta > 0 is sound. The saddle point makes e^(K - s epsilon)/(s(s+1)) least.
    """
    height = partial(_height, product, epsilon)
    theta = slope = least_point(height, ratio=1.05)
    if product.aside is not None:
        theta = _shortest(product, product.aside, height, slope)
    spread = _spread(product, theta, 0.05 * theta)
    peak = product.rough_log_moment(theta)
    reach = max((NEGLIGIBLE + max(theta * epsilon - peak, 0.0)) / theta, 13.0 * spread)
    second = theta * 1.5
    for _ in range(8):  # heavy tails want a longer reach before aliases fade
        second, moment = _second(product, theta, spread, reach)
        left = moment - second * epsilon - (peak - theta * epsilon)
        if left < (second - theta) * reach - NEGLIGIBLE:
            break
        reach *= 1.5
    return SaddlePoint(theta=theta, spread=spread, reach=reach, second=second, slope=slope)


def _shortest(
    product: Product, aside: SetAside, height: Callable[[Floats], Floats], slope: float
) -> float:
    """A theta below the saddle point from where aliases fade sooner, if enough digits are left."""
    thetas = slope * 1.3 ** -np.arange(14.0)
    heights = height(thetas)
    further = slope * _FURTHER
    moments = product.rough_log_moments(further)
    at_thetas = product.rough_log_moments(thetas)
    # (moment there - moment here + what is to fade) over the way, for the best way
    way = further[None, :] - thetas[:, None]
    needed = (moments[None, :] - at_thetas[:, None] + NEGLIGIBLE) / np.where(way > 0, way, np.nan)
    reaches = np.nanmin(needed, axis=1)
    reaches = np.maximum(reaches, (NEGLIGIBLE + np.maximum(-at_thetas, 0.0)) / thetas)
    # each of the losses rounds by about 5e-14 of the peak; what was left out is 1e-8 of delta
    count = sum(times * law.number for law, times in product.terms)
    highest = math.log(aside.lost * _SHARPNESS / (count * 5e-14))
    reaches = np.where(heights <= max(highest, float(heights[0])), reaches, np.inf)
    return float(thetas[int(np.argmin(reaches))])


def _below_the_mean(product: Product, epsilon: float) -> SaddlePoint:
    """A line between -1 and 0, where 1 - delta is small and found by itself."""

    def height(ratios: Floats) -> Floats:
        thetas = -1 / (1 + ratios)
        moments = product.rough_log_moments(thetas)
        return moments - thetas * epsilon - np.log(-thetas * (1 + thetas))

    theta = -1 / (1 + least_point(height, ratio=1.05))
    theta = min(max(theta, -0.999999), -1e-6)
    spread = _spread(product, theta, 0.05 * min(-theta, 1 + theta))
    scale = product.rough_log_moment(theta) - theta * epsilon
    reach = max(
        (NEGLIGIBLE + max(-scale, 0.0)) / -theta,
        (NEGLIGIBLE + max(epsilon - scale, 0.0)) / (1 + theta),
        13.0 * spread,
    )
    return SaddlePoint(theta=theta, spread=spread, reach=reach, second=theta, slope=theta)


def _spread(product: Product, theta: float, gap: float) -> float:
    below, at, above = product.rough_log_moments(np.array([theta - gap, theta, theta + gap]))
    while math.isinf(below + above) and gap > 1e-4 * abs(theta):  # moments may end just beyond
        gap /= 4
        below, above = product.rough_log_moments(np.array([theta - gap, theta + gap]))
    curvature = float(below + above - 2 * at) / gap**2
    return math.sqrt(curvature) if math.isfinite(curvature) and curvature > 1e-300 else 1e-150


def _second(product: Product, theta: float, spread: float, reach: float) -> tuple[float, float]:
    """The larger theta whose Chernoff bound makes the aliases beyond ``reach`` smallest.

    Where the tilted loss hardly spreads, no further than what makes them vanish: the moment of a
    far larger theta is not known to the nats that count.
    """
    steps = np.array([160.0, 80.0, 40.0, 20.0, 10.0, 6.0, 3.5, 2.0, 1.2, 0.7, 0.4, 0.2, 0.1, 0.05])
    further = theta + np.minimum(
        np.concatenate((steps / spread, theta * _FURTHER)), _VANISHED / reach
    )
    moments = product.rough_log_moments(further)
    best = int(np.argmin(moments - (further - theta) * reach))
    return float(further[best]), float(moments[best])
