"""How far to go to either side of a released quantile, so that the true one is inside."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.releases.base import check_count, check_real
from quaestor.mechanisms.base import Mechanism, check_confidence
from quaestor.mechanisms.kinds.counted_quantile import checked_counts
from quaestor.mechanisms.kinds.exponential import ExponentialMechanism
from quaestor.mechanisms.samplers.choice import choose

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from quaestor.accounting.releases import Release

__all__ = ["QuantileReach"]

_PARTS = 2**16  # scores are whole numbers of such parts of a rank
_FARTHEST = 2**52  # floats hold all whole numbers up to here
_LARGEST = 2**40


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileReach(Mechanism):
    r"""How far to go from ``centre`` to either side until a quantile is inside, by ranks.

    The candidates are widths w: 0, 1, 2, 3, 4, 6, 8, 12, ... and the whole domain. With n rows,
    probability p and the ends of ``[centre - w, centre + w]`` moved into the domain, let g(w) be
    the lesser of "how many are not above the upper end, less pn" and "pn less how many are below
    the lower end"; an end that is one of the domain's sets no limit. g never falls. The score of
    the j-th width is minus the distance of a public number of ranks t from the interval between
    g of the width before it and g of its own, so that some width always scores 0.

    Guarantee:
        A person with :math:`m \le` ``rows`` rows moves each g(w) by at most :math:`m\max(p, 1-p)`
        (as in :class:`CountedQuantile`; p is rounded down for one side and up for the other, to
        multiples of :math:`2^{-16}`), and so each score. A width whose g is below one rank is at
        least t - 1 behind; :math:`t = 1 + (2\Delta/\varepsilon)\ln(k/(1-c))` for k such widths
        makes their probability at most 1 - c. Where g is one rank or more, the interval holds the
        quantile by every usual definition, for these are between pn and pn + 1 counted from 1.

    >>> QuantileReach(probability=0.5, low=0, high=120, epsilon=1.0).ranks < 8
    True
    """

    probability: float
    low: int
    high: int
    epsilon: float
    rows: int = 1
    confidence: float = 0.95

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        check_real("probability", self.probability, low=0.0, high=1.0)
        low = check_count("low", self.low, smallest=-_LARGEST, largest=_LARGEST)
        check_count("high", self.high, smallest=low, largest=_LARGEST)
        check_count("rows", self.rows, largest=10**9)
        check_confidence(self.confidence)
        _ = self._selection

    @property
    def loss(self) -> Release:
        """What one release costs."""
        return self._selection.loss

    @property
    def ranks(self) -> float:
        """By how many ranks the ends aim beyond the quantile."""
        missing = 1 - Fraction(self.confidence)
        behind = max(len(self.widths) - 1, 1)
        times = 2 * self._selection.sensitivity / self.epsilon
        return (1 + times * math.log(behind / missing)) * (1 + 1e-12)

    @property
    def widths(self) -> tuple[int, ...]:
        """What may be released: from nothing to the whole domain."""
        whole = self.high - self.low
        found, power = [0, 1], 2
        while power < 2 * whole:
            found += [power, power + power // 2]
            power *= 2
        return (*sorted({width for width in found if width < whole}), whole)

    def release(self, counts: Mapping[int, int], centre: int) -> int:
        """A width; the whole domain where nothing can be said for so little epsilon."""
        values, numbers = checked_counts(counts, low=self.low, high=self.high)
        widths = self.widths
        if self.ranks * _PARTS >= _FARTHEST / 2:
            return widths[-1]
        inside = self._inside(values, numbers, centre)
        wanted = math.ceil(self.ranks * _PARTS)
        before = np.concatenate(([-_FARTHEST], inside[:-1]))
        behind = np.maximum(np.maximum(before - wanted, wanted - inside), 0)
        rate = Fraction(self.epsilon) / (2 * self._sensitivity * _PARTS)
        return widths[choose(-np.minimum(behind, _FARTHEST).astype(np.float64), rate=rate)]

    def interval(self, *, confidence: float) -> Bounds:
        """By how many ranks the quantile is inside, with at least this probability.

        It is inside the width that is released by the lower number or more, and inside the next
        smaller one by the upper number or less.
        """
        missed = self._selection.interval(confidence=confidence, candidates=len(self.widths))
        return Bounds(lower=self.ranks + missed.lower, upper=self.ranks - missed.lower)

    def _inside(
        self, values: NDArray[np.int64], numbers: NDArray[np.int64], centre: int
    ) -> NDArray[np.int64]:
        """How far inside the quantile is for every width, in parts of a rank."""
        up_to = np.concatenate(([0], np.cumsum(numbers)))
        down, up = self._parts
        widths = np.array(self.widths, np.int64)
        ends, starts = centre + widths, centre - widths
        above = up_to[np.searchsorted(values, ends, side="right")] * _PARTS - up * up_to[-1]
        below = down * up_to[-1] - up_to[np.searchsorted(values, starts, side="left")] * _PARTS
        above = np.where(ends >= self.high, _FARTHEST, above)
        below = np.where(starts <= self.low, _FARTHEST, below)
        inside: NDArray[np.int64] = np.clip(np.minimum(above, below), -_FARTHEST, _FARTHEST)
        return inside

    @property
    def _parts(self) -> tuple[int, int]:
        exact = Fraction(self.probability) * _PARTS
        return math.floor(exact), math.ceil(exact)

    @property
    def _sensitivity(self) -> Fraction:
        down, up = self._parts
        return Fraction(self.rows * max(up, _PARTS - down), _PARTS)

    @property
    def _selection(self) -> ExponentialMechanism:
        return ExponentialMechanism(epsilon=self.epsilon, sensitivity=float(self._sensitivity))
