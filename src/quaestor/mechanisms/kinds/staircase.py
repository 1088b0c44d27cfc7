"""Staircase noise for real queries, on a grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from flint import arb

from quaestor.accounting import releases
from quaestor.accounting.numerics.balls import rational
from quaestor.accounting.releases.base import check_real
from quaestor.mechanisms.base import RealNoise, check_confidence, check_coordinates
from quaestor.mechanisms.grid import check_granularity, finest_grid, steps_across
from quaestor.mechanisms.samplers.inversion import Inversion
from quaestor.mechanisms.samplers.noise import Noise, floored_laplace_noise
from quaestor.mechanisms.samplers.randomness import uniform_below, uniforms_below

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from quaestor.accounting.numerics.bounds import Bounds

__all__ = ["Staircase"]

_FINENESS = 20  # bits: steps of a millionth of the sensitivity, or finer
_SPLITS = 256  # gamma is a multiple of 1/256
_SMALLEST_EPSILON = 1e-6


class _Split:
    """Whether a draw falls in the lower part of its stair (1) or the higher one (0)."""

    size = 2

    def __init__(self, epsilon: float, gamma: Fraction) -> None:
        self._epsilon, self._gamma = epsilon, gamma

    def weight(self, outcome: int) -> arb:
        if outcome == 0:
            return rational(self._gamma)
        return (-arb(self._epsilon)).exp() * rational(1 - self._gamma)

    def total(self) -> arb:
        return self.weight(0) + self.weight(1)


class _StaircaseNoise(Noise):
    """The floor of staircase noise with stairs of ``stair`` whole numbers.

    Continuous staircase noise is, up to its sign, k stairs (k geometric), then a place in the
    higher or lower part of a stair, uniform. Both parts are whole numbers of steps long, so its
    density is constant between whole numbers, and its floor has exactly the law drawn here:
    the cell i on the positive side, or -1 - i on the other. Given the floor, the rest is uniform
    whatever whole number the noise is added to, so that the floor is all that can be learnt from
    it: its privacy loss is exactly that of the continuous noise.
    """

    def __init__(self, epsilon: float, stair: int, gamma: Fraction) -> None:
        self._stair, self._high = stair, int(stair * gamma)
        self._stairs = floored_laplace_noise(1 / Fraction(epsilon))
        self._parts = Inversion(_Split(epsilon, gamma))

    def one(self) -> int:
        """One draw."""
        signed = self._stairs.one()  # k or -1 - k, with equal chances: the stairs and the sign
        side = -(signed < 0)
        lower = self._parts.one()
        place = uniform_below(self._stair - self._high if lower else self._high)
        return ((signed ^ side) * self._stair + lower * self._high + place) ^ side

    def many(self, size: int) -> NDArray[np.int64]:
        """An array of draws."""
        signed = self._stairs.many(size)
        side = signed >> 63
        lower = self._parts.many(size)
        place = uniforms_below(np.where(lower, self._stair - self._high, self._high))
        return ((signed ^ side) * self._stair + lower * self._high + place) ^ side


@lru_cache(maxsize=64)
def _staircase_noise(epsilon: float, stair: int, gamma: Fraction) -> Noise:
    return _StaircaseNoise(epsilon, stair, gamma)


@dataclass(frozen=True, slots=True, kw_only=True)
class Staircase(RealNoise):
    r"""The staircase mechanism of Geng and Viswanath, on a grid.

    The value is rounded to a multiple of ``granularity`` (by default a millionth of the
    sensitivity, or finer), and what is released lies half a step from the multiples, so that the
    noise is symmetric: it is the middle of the cell in which continuous staircase noise falls.

    The sensitivity counts as a multiple of 256 steps, rounded up, and ``gamma`` (by default
    :math:`1/(1+e^{\varepsilon/2})`, which makes the expected size of the noise least) is rounded
    to a multiple of 1/256: both parts of a stair are then whole numbers of steps, and the loss is
    exactly that of continuous staircase noise with these two, which ``loss`` states. Arrays need
    ``coordinates=1``: one person may change one entry.

    >>> print(Staircase(epsilon=1.0).loss)
    Staircase(epsilon=1.0, sensitivity=1.0, gamma=0.37890625)
    """

    description = releases.Staircase

    epsilon: float
    sensitivity: float = 1.0
    gamma: float | None = None
    granularity: float | None = None
    coordinates: int | None = None

    _offset = 0.5

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        described = releases.Staircase(
            epsilon=self.epsilon, sensitivity=self.sensitivity, gamma=self.gamma
        )
        object.__setattr__(self, "epsilon", described.epsilon)
        object.__setattr__(self, "sensitivity", described.sensitivity)
        object.__setattr__(self, "gamma", described.gamma)
        check_real("epsilon", self.epsilon, low=_SMALLEST_EPSILON, high=700.0)
        if self.granularity is not None:
            object.__setattr__(self, "granularity", check_granularity(self.granularity))
        object.__setattr__(self, "coordinates", check_coordinates(self.coordinates, largest=1))
        check_real(
            "sensitivity in steps of the granularity", float(self._stair), low=1, high=2.0**24
        )

    @property
    def step(self) -> float:
        """The granularity, stated or by default."""
        if self.granularity is not None:
            return self.granularity
        return finest_grid(self.sensitivity, bits=_FINENESS)

    @property
    def loss(self) -> releases.Staircase:
        """What one release costs."""
        return releases.Staircase(
            epsilon=self.epsilon,
            sensitivity=float(self._stair * self.step),
            gamma=float(self._gamma),
        )

    @property
    def standard_error(self) -> float:
        """The standard deviation of the noise; rounding adds up to half a step."""
        from quaestor.accounting.releases.staircase import staircase_variance

        variance = staircase_variance(epsilon=self.epsilon, gamma=float(self._gamma))
        return math.sqrt(variance) * float(self._stair * self.step)

    def interval(self, *, confidence: float) -> Bounds:
        """Where ``released - value`` lies with at least this probability, to whole stairs."""
        missing = rational(check_confidence(confidence))
        fall = (-arb(self.epsilon)).exp()
        stairs = max(1, math.floor(-math.log(float(check_confidence(confidence))) / self.epsilon))
        while not fall**stairs <= missing:
            stairs += 1
        return self._with_rounding(stairs * self._stair)

    def for_counts(self) -> Staircase:
        """The same noise in proportion to a sensitivity of 1."""
        return Staircase(epsilon=self.epsilon, gamma=self.gamma)

    @property
    def _stair(self) -> int:
        return -(-steps_across(self.sensitivity, self.step) // _SPLITS) * _SPLITS

    @property
    def _gamma(self) -> Fraction:
        gamma = 1 / (1 + math.exp(self.epsilon / 2)) if self.gamma is None else self.gamma
        return Fraction(round(gamma * _SPLITS), _SPLITS)

    def _noise(self) -> Noise:
        return _staircase_noise(self.epsilon, self._stair, self._gamma)
