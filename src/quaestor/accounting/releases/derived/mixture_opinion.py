"""What two mixtures of Gaussians reveal, in plain floats: the tails from where one is favoured."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from quaestor.accounting.numerics.gaussian_tails import gaussian_tail
from quaestor.accounting.releases.opinion import MARGIN, Detection, delta_of

if TYPE_CHECKING:
    from quaestor.accounting.releases.opinion import Curve

__all__ = ["Mixture", "mixtures_curve", "mixtures_test"]

_FURTHEST = 1e12


class Mixture(NamedTuple):
    """Centres in units of the noise, and their probabilities."""

    centres: tuple[float, ...]
    weights: tuple[float, ...]

    def mirrored(self) -> Mixture:
        """Around the negatives of the centres."""
        return Mixture(tuple(-centre for centre in self.centres), self.weights)

    def log_density(self, place: float) -> float:
        """The log of its density by that of the bell around 0."""
        pairs = [(c, w) for c, w in zip(self.centres, self.weights, strict=True) if w > 0.0]
        logs = [math.log(weight) + centre * (place - centre / 2) for centre, weight in pairs]
        top = max(logs)
        return top + math.log(math.fsum(math.exp(each - top) for each in logs))

    def log_tail(self, place: float) -> Curve:
        """Enclose the log of the mass above a place."""
        pairs = [(c, w) for c, w in zip(self.centres, self.weights, strict=True) if w > 0.0]
        total = math.fsum(weight for _, weight in pairs)
        ends = []
        for centre, weight in pairs:
            doubt = 4e-15 * (abs(place) + abs(centre))
            tail = gaussian_tail(place - centre - doubt, place - centre + doubt)
            ends.append((math.log(weight / total) + tail[0], math.log(weight / total) + tail[1]))
        return _log_sum([low for low, _ in ends]) - MARGIN, _log_sum([e for _, e in ends]) + MARGIN


def mixtures_test(above: Mixture, below: Mixture, at: float) -> Detection:
    """The test "the loss is at least so much": everything above one place.

    The centres of ``above`` are all at least as large as those of ``below``.
    """
    place = _crossing(above, below, at)
    mine, other = above.log_tail(place), below.log_tail(place)
    return Detection(math.exp(mine[0]), min(math.exp(mine[1]) + 5e-324, 1.0), *other)


def mixtures_curve(above: Mixture, below: Mixture, at: float) -> Curve:
    """Delta, from both sides."""
    return delta_of(mixtures_test(above, below, at), at)


def _crossing(above: Mixture, below: Mixture, at: float) -> float:
    def loss(place: float) -> float:
        return above.log_density(place) - below.log_density(place)

    low, high = -1.0, 1.0
    while loss(low) > at and low > -_FURTHEST:
        low *= 2
    while loss(high) < at and high < _FURTHEST:
        high *= 2
    for _ in range(110):
        middle = (low + high) / 2
        low, high = (middle, high) if loss(middle) < at else (low, middle)
    return high


def _log_sum(logs: list[float]) -> float:
    top = max(logs)
    if top == -math.inf:
        return top
    return top + math.log(math.fsum(math.exp(each - top) for each in logs))
