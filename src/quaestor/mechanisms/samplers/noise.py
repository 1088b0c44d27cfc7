r"""Noise on the whole numbers, drawn exactly.

The laws here decay with the distance from a centre: :math:`P(x) \propto e^{-E(y)}` with
:math:`E(y) = y/b` (Laplace) or :math:`y^2/2\sigma^2` (Gaussian), y being the distance. The centre
is 0, or it lies between -1 and 0: then y is x or -1 - x, whichever is not negative. Each side is
cut into bins of m numbers, and a draw takes three steps:

1. a bin, with probability proportional to the weight of its number nearest to the centre (exact,
   by :mod:`inversion <quaestor.mechanisms.samplers.inversion>`; bins in turn from the two sides);
2. the place in the bin, uniform bits (m is a power of two);
3. the number x is kept with probability :math:`e^{-(E(x) - E(a))}`, where a is that nearest
   number; else all starts again.

Each round keeps x with probability proportional to :math:`e^{-E(a)} \cdot \frac1m \cdot
e^{-(E(x)-E(a))} = e^{-E(x)}/m`, so that what is kept has exactly the law wanted. With m = 1, for
small scales, every draw is kept at once. In larger ones the table fits the number of draws: for
many, a bin is 1/32 to 1/128 of the scale, and all but a few in a hundred are kept; for few, a bin
is 1/2 to 1/16 of it, and the table, whose entries are exponentials of 160 bits, has a sixteenth as
many. How often all starts again says nothing of what is kept in the end, so that the law is the
same with any table, and which one is used depends on how many are drawn alone.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb, ctx

from quaestor.accounting.numerics.balls import ZERO, between
from quaestor.mechanisms.samplers.inversion import Inversion, happens
from quaestor.mechanisms.samplers.randomness import WORD, word, words

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "LARGEST_SCALE",
    "Noise",
    "floored_laplace_noise",
    "gaussian_noise",
    "laplace_noise",
]

LARGEST_SCALE = 2.0**40  # noise of 2^62 is then less likely than e^(-2^20)

_COIN = 24  # bits of U that decide whether a number is kept, unless it is close
_FLOAT_ERROR = 2.0**-40  # what numpy's exp may be off by here; it is off by 2^-50 at most
_LARGEST_NOISE = 2**62
_PART = 2**15  # draws
_MANY = 2**16  # draws at once that repay a large table


class Noise(ABC):
    """A law on the whole numbers that can be drawn from exactly."""

    @abstractmethod
    def one(self) -> int:
        """One draw."""

    @abstractmethod
    def many(self, size: int) -> NDArray[np.int64]:
        """An array of independent draws."""


class _DecayingNoise(Noise):
    """Noise whose law falls with the distance from its centre as ``exp(-energy)``.

    Bins of even index hold the numbers from 0 up, those of odd index the numbers from -1 down.
    """

    size = None
    coarse: float  # the largest scale, in bins, of a table for few draws
    fine: float  # and for many
    lean = 1  # the distance of -1 from the centre: 1, or 0 for a centre between -1 and 0

    def __init__(self, scale: Fraction, finest: float) -> None:
        self.exact = scale
        self.scale = float(scale)
        self.width = 1
        while self.scale > finest * self.width:
            self.width *= 2
        self._bins = Inversion(self)

    @abstractmethod
    def energy(self, distance: int) -> arb:
        """E at a distance, as a ball at the working precision."""

    @abstractmethod
    def gap(self, farther: Any, nearer: Any) -> Any:
        """``E(farther) - E(nearer)`` in floats, of numbers or arrays."""

    def weight(self, outcome: int) -> arb:
        """The largest weight in a bin."""
        nearest = (outcome >> 1) * self.width + self.lean * (outcome & 1)
        return (-self.energy(nearest)).exp()

    @abstractmethod
    def total(self) -> arb:
        """The sum of the weights of all bins."""

    def one(self) -> int:
        """One draw, in Python's own whole numbers."""
        while True:
            index = self._bins.one()
            side = index & 1
            place = (index >> 1) * self.width
            if self.width == 1:
                return place ^ -side
            drawn = word()
            within = drawn % self.width
            nearest = place + self.lean * side
            if self._kept(nearest + within, nearest, drawn >> (WORD - _COIN)):
                return (place + within) ^ -side

    def many(self, size: int) -> NDArray[np.int64]:
        """An array of draws, made in parts that a processor's cache holds."""
        drawn = np.empty(size, np.int64)
        for start in range(0, size, _PART):
            part = drawn[start : start + _PART]
            part[:] = self._part(part.size)
        return drawn

    def _part(self, size: int) -> NDArray[np.int64]:
        """Some draws; those that are not kept are drawn again together."""
        index = self._bins.many(size)
        if self.width == 1:
            return (index >> 1) ^ -(index & 1)
        drawn = np.empty(size, np.int64)
        places = np.arange(size)
        while places.size:
            if int(np.max(index)) > 2 * (_LARGEST_NOISE // self.width):
                raise OverflowError("noise beyond 2^62")  # less likely than e^(-2^20)
            side = index & 1
            start = (index >> 1) * self.width
            bits = words(places.size)
            within = (bits & np.uint64(self.width - 1)).astype(np.int64)
            nearest = start + self.lean * side
            kept = self._all_kept(nearest + within, nearest, bits >> np.uint64(WORD - _COIN))
            drawn[places[kept]] = ((start + within) ^ -side)[kept]
            places = places[~kept]
            index = self._bins.many(places.size)
        return drawn

    def _kept(self, distance: int, nearest: int, coin: int) -> bool:
        """Whether U < exp(-gap), from 24 bits of U and more if they leave it open."""
        if distance == nearest:
            return True
        chance = math.exp(-self.gap(distance, nearest))
        if (coin + 1) / 2**_COIN <= chance - _FLOAT_ERROR:
            return True
        if coin / 2**_COIN >= chance + _FLOAT_ERROR:
            return False

        def exact() -> arb:
            return (self.energy(nearest) - self.energy(distance)).exp()

        return happens(exact, drawn=coin, bits=_COIN)

    def _all_kept(
        self, distance: NDArray[np.int64], nearest: NDArray[np.int64], coin: NDArray[np.uint64]
    ) -> NDArray[np.bool_]:
        """The same for arrays: most are kept for certain as exp(-gap) is at least 1 - gap."""
        gap = self.gap(distance, nearest)
        start = coin.astype(np.float64) / 2**_COIN
        kept: NDArray[np.bool_] = start + gap <= 1 - 2.0**-_COIN - _FLOAT_ERROR
        unclear = np.flatnonzero(~kept)
        chance = np.exp(-gap[unclear])
        kept[unclear] = start[unclear] + 2.0**-_COIN <= chance - _FLOAT_ERROR
        close = ~kept[unclear] & (start[unclear] < chance + _FLOAT_ERROR)
        for place in unclear[close]:
            kept[place] = self._kept(int(distance[place]), int(nearest[place]), int(coin[place]))
        return kept


class _LaplaceNoise(_DecayingNoise):
    coarse, fine = 4.0, 64.0

    def energy(self, distance: int) -> arb:
        return arb(distance * self.exact.denominator) / self.exact.numerator

    def gap(self, farther: Any, nearer: Any) -> Any:
        return (farther - nearer) / self.scale

    def total(self) -> arb:
        """Two geometric series of ratio exp(-m/b), one for each side."""
        return (self.weight(0) + self.weight(1)) / -(-self.energy(self.width)).expm1()


class _FlooredLaplaceNoise(_LaplaceNoise):
    lean = 0


class _GaussianNoise(_DecayingNoise):
    coarse, fine = 8.0, 128.0

    def energy(self, distance: int) -> arb:
        return (arb(distance * self.exact.denominator) / self.exact.numerator) ** 2 / 2

    def gap(self, farther: Any, nearer: Any) -> Any:
        return (farther - nearer) / self.scale * ((farther + nearer) / self.scale) / 2

    def total(self) -> arb:
        return self._side(0) + self._side(1)

    def _side(self, first: int) -> arb:
        """The sum over one side.

        The ratio of neighbouring terms falls, so that all after a term t with the ratio q to the
        one before it add up to at most tq/(1 - q).
        """
        summed, index = ZERO, first
        term = self.weight(index)
        while True:
            summed += term
            index += 2
            before, term = term, self.weight(index)
            ratio = term / before
            rest = term / (1 - ratio)
            if rest < summed * arb(2) ** -ctx.prec:
                return summed + between(ZERO, rest.upper())


class _FittingNoise(Noise):
    """One law with two tables: a small one at once, and a large one when many are drawn."""

    def __init__(self, law: type[_DecayingNoise], scale: Fraction) -> None:
        self._law, self._scale = law, scale
        self._few = law(scale, law.coarse)

    @cached_property
    def _many(self) -> _DecayingNoise:
        return self._law(self._scale, self._law.fine)

    def one(self) -> int:
        """One draw."""
        return self._few.one()

    def many(self, size: int) -> NDArray[np.int64]:
        """An array of independent draws."""
        return (self._few if size < _MANY else self._many).many(size)


@lru_cache(maxsize=32)
def laplace_noise(scale: float | Fraction) -> Noise:
    """Discrete Laplace noise, ``P(x)`` proportional to ``exp(-|x|/scale)``."""
    return _FittingNoise(_LaplaceNoise, Fraction(scale))


@lru_cache(maxsize=32)
def floored_laplace_noise(scale: float | Fraction) -> Noise:
    """The floor of continuous Laplace noise: ``P(x)`` and ``P(-1-x)`` fall as ``exp(-x/scale)``.

    For x from 0 on the density integrates to ``exp(-x/scale) (1 - exp(-1/scale)) / 2`` over
    [x, x + 1), and to the same over [-1 - x, -x).
    """
    return _FittingNoise(_FlooredLaplaceNoise, Fraction(scale))


@lru_cache(maxsize=32)
def gaussian_noise(sigma: float) -> Noise:
    """Discrete Gaussian noise, ``P(x)`` proportional to ``exp(-x^2/2 sigma^2)``."""
    return _FittingNoise(_GaussianNoise, Fraction(sigma))
