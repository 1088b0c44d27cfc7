"""Laplace noise for real queries, on a grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flint import arb

from quaestor.accounting import releases
from quaestor.accounting.numerics.balls import working_precision
from quaestor.accounting.releases.base import check_real
from quaestor.mechanisms.base import RealNoise, check_confidence, check_coordinates
from quaestor.mechanisms.grid import check_granularity, finest_grid, steps_across
from quaestor.mechanisms.kinds.geometric import laplace_error, laplace_reach
from quaestor.mechanisms.samplers.noise import LARGEST_SCALE, Noise, floored_laplace_noise

if TYPE_CHECKING:
    from quaestor.accounting.numerics.bounds import Bounds

__all__ = ["Laplace"]

_FINENESS = 20  # bits: steps of a millionth of the sensitivity, or finer


@dataclass(frozen=True, slots=True, kw_only=True)
class Laplace(RealNoise):
    r"""Laplace noise on a grid: the cell in which continuous Laplace noise falls.

    The value is rounded to the nearest multiple of ``granularity``, g (a power of two; by default
    a millionth of the sensitivity, or finer). What is released is the middle of the cell
    :math:`[jg, (j+1)g)` in which that multiple plus Laplace noise of scale b falls: the multiple is
    a whole number of steps, so that j is the floor of noise of scale b/g plus that number, and this
    floor is drawn exactly (``quaestor.mechanisms.samplers.noise.floored_laplace_noise``). The
    cell is a function of the continuous sum, which is what ``loss`` accounts for.

    ``sensitivity`` is the L1 sensitivity of what is released. Rounding is accounted: of values d
    steps apart it makes whole numbers at most :math:`\lceil d\rceil` steps apart, and over the
    ``coordinates`` entries that one person may change, c of them, at most
    :math:`\lceil d\rceil + c - 1` in sum, as each entry is rounded up by less than 1 and the sum is
    whole.

    Theorem:
        Laplace noise on several numbers loses most where one of them moves by the whole L1
        sensitivity. Proof, for two that move by :math:`s \ge t` in units of the scale: let
        :math:`0 \le \varepsilon \le s+t`, and M be the loss of the second,
        which is t with probability 1/2, -t with :math:`e^{-t}/2`, and has the density
        :math:`e^{-(t-m)/2}/4` between. As :math:`\varepsilon-M \ge -s`, the first then has the
        delta :math:`(1-e^{(\varepsilon-M-s)/2})_+`. With :math:`c = \varepsilon-s` and
        :math:`E\,e^{-M/2} = (1+t/2)e^{-t/2}` the two have
        :math:`1-e^{(c-t)/2}(1+t/2) + E(e^{(c-M)/2}-1)_+`, where the last term is
        :math:`e^{(c-t)/2}(c+t)/4` from c = -t on, and 0 below. As :math:`c \le t`, that is at most
        :math:`1-e^{(\varepsilon-s-t)/2}`, the delta of one number that moves by s + t.

    >>> print(Laplace(scale=10.0).loss)
    Laplace(scale=10.0, sensitivity=1.0)
    >>> print(Laplace(scale=10.0, granularity=0.25, coordinates=3).loss)
    Laplace(scale=10.0, sensitivity=1.5)
    """

    description = releases.Laplace

    scale: float
    sensitivity: float = 1.0
    granularity: float | None = None
    coordinates: int | None = None

    _offset = 0.5

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        described = releases.Laplace(scale=self.scale, sensitivity=self.sensitivity)
        object.__setattr__(self, "scale", described.scale)
        object.__setattr__(self, "sensitivity", described.sensitivity)
        if self.granularity is not None:
            object.__setattr__(self, "granularity", check_granularity(self.granularity))
        object.__setattr__(self, "coordinates", check_coordinates(self.coordinates))
        check_real("scale in steps of the granularity", self._scale, low=1e-3, high=LARGEST_SCALE)
        check_real("sensitivity in steps", float(self._steps), low=1.0, high=2.0**53)

    @property
    def step(self) -> float:
        """The granularity, stated or by default."""
        if self.granularity is not None:
            return self.granularity
        least = finest_grid(self.scale, bits=39)  # the scale is then below 2^40 steps
        return max(finest_grid(self.sensitivity, bits=_FINENESS), least)

    @property
    def loss(self) -> releases.Laplace:
        """What one release costs, with the sensitivity after rounding."""
        return releases.Laplace(scale=self.scale, sensitivity=self._steps * self.step)

    @property
    def standard_error(self) -> float:
        r"""The standard deviation of the noise; rounding adds up to half a step.

        The middle of a cell is half a step beyond the whole number of steps, k, by which the noise
        passes 0: :math:`(k+1/2)^2` has the mean :math:`2\rho/(1-\rho)^2 + 1/4`, where k has the
        geometric law of ratio :math:`\rho = e^{-g/b}`.
        """
        return math.sqrt(laplace_error(self._scale) ** 2 + 0.25) * self.step

    def interval(self, *, confidence: float) -> Bounds:
        r"""Where ``released - value`` lies with at least this probability, rounding included.

        The floor of the noise in steps is t or more, and below -t, with probability
        :math:`e^{-t/b}/2` each.
        """
        missing = check_confidence(confidence)
        with working_precision(128):
            return self._with_rounding(laplace_reach(self._scale, missing, arb(1)))

    def for_counts(self) -> Laplace:
        """The same noise in proportion to a sensitivity of 1."""
        return Laplace(scale=self.scale * (1 / self.sensitivity))

    @property
    def _scale(self) -> float:
        return self.scale / self.step

    @property
    def _steps(self) -> int:
        return steps_across(self.sensitivity, self.step) + (self.coordinates or 1) - 1

    def _noise(self) -> Noise:
        return floored_laplace_noise(self._scale)
