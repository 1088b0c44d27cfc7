r"""Gaussian noise on a random part of the people: the loss as a function of the noise, and back.

With x standard normal without the person, :math:`w(x) = 1-q+qe^{\mu x-\mu^2/2}` and
:math:`l = \log w`. The other way :math:`x(l) = \frac1\mu\log(1+\frac{e^l-1}{q}) + \frac\mu2`, with
the slope :math:`x'(l) = \frac{1}{\mu(1-(1-q)e^{-l})}`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from quaestor.accounting.loss.laws.mixture import log_mixture, log_mixture_size

if TYPE_CHECKING:
    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["ROOT", "MomentSum", "SampledNoise"]

ROOT = math.sqrt(2 * math.pi)


class MomentSum(NamedTuple):
    """A part of a moment at some points, relative to e^top: values, size at t = 0, and doubts.

    ``doubt`` holds at every point, ``turning`` times |t| besides.
    """

    values: Complexes
    size: float
    doubt: float
    turning: float


@dataclass(frozen=True, slots=True)
class SampledNoise:
    """Noise of shift over sigma ``mu``, each person in with probability ``rate``."""

    mu: float
    rate: float

    def ratios(self, x: Floats) -> Floats:
        """The noise's own log-ratio."""
        return self.mu * (x - self.mu / 2)

    def losses(self, x: Floats) -> Floats:
        """The logarithm of w."""
        return log_mixture(self.ratios(x), self.rate)

    def loss(self, x: float) -> float:
        """The same at one place."""
        return float(self.losses(np.array([x]))[0])

    def sizes(self, x: Floats, losses: Floats) -> Floats:
        """The size of the numbers from which these losses were computed."""
        raw = self.mu * (np.abs(x) + self.mu)
        return log_mixture_size(self.ratios(x), np.float64(self.rate), losses, raw)

    def places(self, losses: Floats) -> Floats:
        """The noise with these losses."""
        places: Floats = np.log1p(np.expm1(losses) / self.rate) / self.mu + self.mu / 2
        return places

    def place(self, loss: float) -> float:
        """The same for one loss."""
        return float(self.places(np.array([loss]))[0])

    def slants(self, losses: Floats) -> Floats:
        """The slope of the loss in the noise's log-ratio: 1 - (1 - q)e^-l."""
        slants: Floats = self.rate * np.exp(-losses) - np.expm1(-losses)
        return slants

    def units(self, losses: Floats, slants: Floats) -> Floats:
        """By how many units the slants, and mu times the places of these losses are off."""
        back = np.exp(np.maximum(-losses, 0.0))
        units: Floats = 1 + back * (self.rate + np.abs(np.expm1(-losses)) + np.abs(losses)) / slants
        return units

    def joint(self, power: float, loss: float, x: float, top: float) -> float:
        """What can be missing, or there twice, where places x and losses l meet."""
        at = np.array([loss])
        units = float(self.units(at, self.slants(at))[0])
        size = float(self.sizes(np.array([x]), at)[0]) / float(self.slants(at)[0])
        height = math.exp(power * loss - x * x / 2 - top) / ROOT
        return height * 16 * (abs(x) + self.mu + (units + size) / self.mu)
