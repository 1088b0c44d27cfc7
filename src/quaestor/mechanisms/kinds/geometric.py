"""Two-sided geometric noise, which is discrete Laplace noise."""

from __future__ import annotations

from dataclasses import dataclass

from quaestor.accounting import releases
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.releases.base import check_real
from quaestor.mechanisms.base import WholeNoise
from quaestor.mechanisms.samplers.noise import LARGEST_SCALE, Noise, laplace_noise
from quaestor.mechanisms.samplers.tails import laplace_error, laplace_reach

__all__ = ["Geometric"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Geometric(WholeNoise):
    r"""Discrete Laplace noise, :math:`P(x) \propto e^{-|x|/b}`, on whole numbers.

    ``sensitivity`` is the L1 sensitivity of what is released, number or array. The noise has
    exactly this law (:mod:`quaestor.mechanisms.samplers.noise` says why), and the values are whole,
    so that nothing is rounded.

    >>> counting = Geometric(scale=20.0)
    >>> print(counting.loss)
    Geometric(scale=20.0, sensitivity=1)
    >>> counting.interval(confidence=0.95)
    Bounds(lower=-60.0, upper=60.0)
    """

    scale: float
    sensitivity: int = 1

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        described = self.loss
        object.__setattr__(self, "scale", described.scale)
        object.__setattr__(self, "sensitivity", described.sensitivity)
        check_real("scale", self.scale, low=0.0, high=LARGEST_SCALE)

    @property
    def loss(self) -> releases.Geometric:
        """What one release costs."""
        return releases.Geometric(scale=self.scale, sensitivity=self.sensitivity)

    @property
    def standard_error(self) -> float:
        """The standard deviation of the noise."""
        return laplace_error(self.scale)

    def interval(self, *, confidence: float) -> Bounds:
        """Where ``released - value`` lies with at least this probability; the least such."""
        reach = float(laplace_reach(self.scale, confidence=confidence))
        return Bounds(lower=0.0 - reach, upper=reach)

    def _noise(self) -> Noise:
        return laplace_noise(self.scale)
