r"""Gaussian noise on a random part of the people: the loss as a function of the noise, and back.

With x standard normal without the person, :math:`w(x) = 1-q+qe^{\mu x-\mu^2/2}` and
:math:`l = \log w`. The other way :math:`x(l) = \frac1\mu\log(1+\frac{e^l-1}{q}) + \frac\mu2`, with
the slope :math:`x'(l) = \frac{1}{\mu(1-(1-q)e^{-l})}`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import numpy as np

from quaestor.accounting.loss.laws.mixture import log_mixture, log_mixture_size

if TYPE_CHECKING:
    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["ROOT", "MomentSums", "SampledNoise"]

ROOT = math.sqrt(2 * math.pi)


Number = TypeVar("Number", float, "Floats")


class MomentSums(NamedTuple):
    """Moments at some points, relative to e^top, a row for each law: values, and doubts.

    ``size`` is the value at t = 0; ``doubt`` holds at every point, ``turning`` times |t| besides.
    """

    values: Complexes
    size: Floats
    doubt: Floats
    turning: Floats


@dataclass(frozen=True, slots=True)
class SampledNoise(Generic[Number]):
    """Noise of shift over sigma ``mu``, each person in with probability ``rate``; or several."""

    mu: Number
    rate: Number

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
        return log_mixture_size(self.ratios(x), self.rate, losses, raw)

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

    def turning_speeds(self, x: Floats) -> Floats:
        """At most how fast the argument of w turns off the real axis, up to these places."""
        odds = self.rate / (1 - self.rate) * np.exp(np.minimum(self.ratios(x), 300.0))
        less, more = np.minimum(odds, 1.0), np.maximum(odds, 1.0) ** -2
        speeds: Floats = self.mu * np.where(odds < 1.0, less / (1 + less), 1 / (1 + more))
        return speeds
