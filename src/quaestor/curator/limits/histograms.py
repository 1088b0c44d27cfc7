"""Noisy histograms of units: which bins surely hold somebody, and what that says of the rest.

Of hundreds of bins most are empty, and some of those are noisy enough to look full: a stray count
in the bin of a billion would decide everything. So what is beyond the outermost *significant*
stretch is taken for empty. A stretch of bins is significant if its sum is larger than noise of so
many bins is with probability ``1 - SURE``, for all stretches that are looked at together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from quaestor.curator.limits.grids import mid_points

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SURE", "UnitHistogram"]

SURE: Final = 1e-3
"""The chance that any stretch without a unit is taken for one with some."""
_STRETCHES: Final = (1, 2, 4, 8, 16)
_BESIDE: Final = 0.1
"""The chance, for a stretch of one bin next to where people are, to be taken for full if empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitHistogram:
    """Noisy numbers of units by bin, with two-sided geometric noise of this scale."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    scale: float

    @property
    def values(self) -> NDArray[np.float64]:
        """What stands for the values of each bin."""
        return np.array(mid_points(self.edges))

    def threshold(self, bins: int, chance: float) -> float:
        r"""What the noise of so many bins together exceeds with this probability at most.

        For Laplace noise of scale b (geometric noise has lighter tails) a sum of m is above t with
        probability at most :math:`e^{-st/b}(1-s^2)^{-m}` for every s below 1 (Chernoff); the best
        of a few s is taken.
        """
        rates = np.linspace(0.05, 0.95, 19)
        bounds = (math.log(1 / chance) - bins * np.log1p(-(rates**2))) / rates
        return self.scale * float(np.min(bounds))

    def reach(self) -> tuple[int, int] | None:
        """The first and the last bin where somebody surely is, or next to it; None if nobody is.

        It begins with the shortest stretches that are significant, and grows by stretches beside
        it that are significant by themselves.
        """
        counts = np.array(self.counts, np.float64)
        added = np.concatenate([[0.0], np.cumsum(counts)])
        chance = SURE / (len(_STRETCHES) * len(counts))
        found = None
        for size in _STRETCHES:
            sums = added[size:] - added[:-size]
            (there,) = np.nonzero(sums > self.threshold(size, chance))
            if there.size:
                found = int(there[0]), int(there[-1]) + size - 1
                break
        if found is None:
            return None
        first, last = found
        while (more := self._beside(counts[last + 1 :])) > 0:
            last += more
        while (more := self._beside(counts[:first][::-1])) > 0:
            first -= more
        while last > first and counts[last] <= 0:
            last -= 1
        while first < last and counts[first] <= 0:
            first += 1
        return first, last

    def _beside(self, counts: NDArray[np.float64]) -> int:
        """How many of these bins, from the first on, are the shortest significant stretch.

        Next to where people are, a bin too many does little harm, and sixteen do much.
        """
        for size in _STRETCHES:
            added = float(np.sum(counts[:size]))
            if size <= len(counts) and added > self.threshold(size, _BESIDE / size**2):
                return size
        return 0

    def estimate(self) -> NDArray[np.float64]:
        """Units by bin: as noise left them where somebody is, none elsewhere."""
        counts = np.zeros(len(self.counts))
        reach = self.reach()
        if reach is not None:
            first, last = reach
            counts[first : last + 1] = self.counts[first : last + 1]
        return counts

    def units(self) -> float:
        """About how many units there are."""
        return max(0.0, float(np.sum(self.estimate())))
