"""How what is drawn scatters about the truth: what error bars are made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from quaestor.curator.kernel.draws import NoisyMeasure, NoisyQuantile, NoisyTop, NoisyUnits
from quaestor.mechanisms import DiscreteGaussian

if TYPE_CHECKING:
    from quaestor.curator.kernel.draws import Draw
    from quaestor.mechanisms import Geometric

__all__ = ["Scattered"]


@dataclass(frozen=True, slots=True)
class Scattered:
    """The noise of a draw, in steps of its measure, before anything is drawn.

    Of private groups it is that before the threshold; of quantiles and of the largest groups it is
    counted in ranks and in scores.
    """

    draw: Draw

    @property
    def standard_error(self) -> float:
        """The standard deviation; rounding to a grain counts as if it was uniform."""
        match self.draw:
            case NoisyMeasure() as draw:
                noise = _standard_error(draw.mechanism) * draw.grain
                return noise if draw.grain == 1 else float((noise**2 + draw.grain**2 / 12) ** 0.5)
            case NoisyUnits() as draw:
                return draw.mechanism.standard_error
            case NoisyTop() as draw:  # that of an exponential law of the mechanism's rate
                return 2 * draw.mechanism.sensitivity / draw.mechanism.epsilon
            case NoisyQuantile() as draw:  # for values that lie densely: that of a Laplace law
                return float(2 * 2**0.5 * draw.one.sensitivity / draw.mechanism.epsilon)
        raise TypeError(type(self.draw).__name__)

    def reach(self, confidence: float) -> float:
        """How far what is released is off at most with this probability."""
        match self.draw:
            case NoisyMeasure() as draw:
                steps = _reach(draw.mechanism, confidence) * draw.grain
                return steps if draw.grain == 1 else steps + draw.grain / 2
            case NoisyTop() as draw:  # behind a choice among two; among more it may be more
                return -draw.mechanism.interval(confidence=confidence, candidates=2).lower
            case NoisyUnits() | NoisyQuantile() as draw:
                return draw.mechanism.interval(confidence=confidence).upper
        raise TypeError(type(self.draw).__name__)

    @property
    def heavy(self) -> bool:
        """Whether the tails are those of Laplace, and not of Gauss."""
        draw = self.draw
        return not (isinstance(draw, NoisyMeasure) and isinstance(draw.mechanism, DiscreteGaussian))

    @property
    def certain(self) -> bool:
        """Whether the reach holds for every figure that is shown.

        Of private groups near the threshold only those with large noise are shown.
        """
        return not isinstance(self.draw, NoisyUnits)


@lru_cache(maxsize=1024)
def _reach(mechanism: Geometric | DiscreteGaussian, confidence: float) -> float:
    return mechanism.interval(confidence=confidence).upper


@lru_cache(maxsize=1024)
def _standard_error(mechanism: Geometric | DiscreteGaussian) -> float:
    return mechanism.standard_error
