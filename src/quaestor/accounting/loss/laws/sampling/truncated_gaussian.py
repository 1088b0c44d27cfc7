r"""Gaussian noise on a random part of the people, without its rarest outcomes.

At a large order the moment of the loss :math:`L = \log(1-q+qe^{\mu x-\mu^2/2})` is made by outcomes
so rare that no delta of interest sees them: at order 17 and :math:`\mu = 1` by those near x = 18. A
line through such a moment says nothing about a delta of 1e-5. So x stays within ``low`` and
``high``, and what lies outside is accounted for apart
(:mod:`quaestor.accounting.loss.engine.set_aside`): as lost, or, where its loss is so large that no
other can make up for it, in closed form.

Removing a person takes :math:`J(p) = \int\varphi w^p\,dx` at p = s + 1, adding one at p = -s. The
moments are wanted at many evenly spaced s of one line, and x is treated in two parts: where the
loss hardly depends on x (:mod:`quaestor.accounting.loss.laws.sampling.noise_panels`), and where the
loss itself is the better variable (:mod:`quaestor.accounting.loss.laws.sampling.loss_cells`).
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from flint import arb

from quaestor.accounting.loss.laws.closed_form import blurred
from quaestor.accounting.loss.laws.law import Large, Law
from quaestor.accounting.loss.laws.sampling.noise_panels import panel_places
from quaestor.accounting.loss.laws.sampling.sampled_noise import SampledNoise
from quaestor.accounting.loss.laws.sampling.truncated_moments import TiltedLosses, log_moments
from quaestor.accounting.numerics.balls import working_precision
from quaestor.accounting.numerics.complexes import UNIT

if TYPE_CHECKING:
    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["TruncatedSampledGaussian"]

_CELLS = 14
_LOOKS, _FURTHER = 32, 16  # places at which the density is looked at, and between them
_FEW = 8  # points for which no transform is worth while
_UNSEEN = 75.0  # nats below the largest term, from where on nothing is summed


class TruncatedSampledGaussian(Law):
    """Gaussian noise of shift over sigma ``mu``, sampled at ``rate``, for x in [low, high]."""

    decays_quickly = False

    def __init__(
        self, *, mu: float, rate: float, removing: bool, lost: float, above: float = math.inf
    ) -> None:
        """Lose at most about ``lost`` of the probability; set aside what loses more than ``above``.

        Only when removing a person losses have no upper limit.
        """
        self.noise, self.removing = SampledNoise(mu, rate), removing
        self._tilted: tuple[float, TiltedLosses] | None = None
        self.low, self.high = _limits(mu, rate if removing else 0.0, lost)
        share = rate if removing else 0.0
        lost_above = True
        if removing and above < self.noise.loss(self.high):
            self.high, lost_above = self.noise.place(above), False
            self.large = self._large()
        self.lost = (1 - share) * _outside(self.low, self.high, above=lost_above)
        self.lost += share * _outside(self.low - mu, self.high - mu, above=lost_above)
        self.lost *= 1 + 1e-9
        ends = self.noise.losses(np.array([self.low, self.high]))
        self.largest = max(float(ends[1] if removing else -ends[0]), 0.0) * (1 + 1e-9) + 1e-300

    def _large(self) -> Large:
        """What is above ``high``, in both worlds."""
        at = np.array([self.high])
        loss = self.noise.losses(at)
        least = float((loss - 64 * UNIT * self.noise.sizes(at, loss))[0])
        rate = self.noise.rate
        with working_precision(128):
            root, mu = arb(2).sqrt(), blurred(self.noise.mu)
            without = (arb(self.high) / root).erfc() / 2
            changed = ((self.high - mu) / root).erfc() / 2
            first = (1 - arb(rate)) * without + rate * changed
            return Large(least, (-first).log1p(), (-without).log1p())

    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:
        """By pairs of cells, and by the largest density: of one loss little, of many enough."""
        if self._tilted is None or self._tilted[0] != theta:  # asked often about one line
            self._tilted = theta, TiltedLosses.of([self], theta, cells=_CELLS)
        falls: Floats = self._tilted[1].falls(low, high)[0]
        return falls

    def work(self, count: int, step: float) -> float:  # noqa: ARG002
        return 12.0 * count

    @cached_property
    def _rough(self) -> tuple[Floats, Floats]:
        x, logs = panel_places(np.linspace(self.low, self.high, 81), 4)
        losses = self.noise.losses(x)
        return (losses, logs + losses) if self.removing else (-losses, logs)

    def rough_log_moments(self, thetas: Floats) -> Floats:
        """On 320 places."""
        losses, logs = self._rough
        exponents = logs + thetas[:, None] * losses
        top = np.max(exponents, axis=1)
        values: Floats = top + np.log(np.sum(np.exp(exponents - top[:, None]), axis=1))
        return values

    def _log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        values, errors = log_moments([self], s)
        return values[0], errors[0]


def _outside(low: float, high: float, *, above: bool) -> float:
    below = math.erfc(-low / math.sqrt(2)) / 2
    return below + math.erfc(high / math.sqrt(2)) / 2 if above else below


@lru_cache(maxsize=2048)  # lines for several epsilons ask for the same
def _limits(mu: float, rate: float, lost: float) -> tuple[float, float]:
    """Where half of ``lost`` is left out on either side, roughly."""
    half = max(lost, 1e-302) / 2

    def above(x: float) -> float:
        rare = rate * math.erfc((x - mu) / math.sqrt(2)) if rate else 0.0
        return ((1 - rate) * math.erfc(x / math.sqrt(2)) + rare) / 2

    low, high = 0.0, 40.0 + mu
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if above(middle) > half else (low, middle)
    top = high
    low, high = 0.0, 40.0
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if math.erfc(middle / math.sqrt(2)) / 2 > half else (low, middle)
    return -high, top
