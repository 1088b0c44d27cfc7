"""Quantiles by the exponential mechanism over a declared domain."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.releases.base import check_real
from quaestor.errors import InvalidParameter
from quaestor.mechanisms.base import Mechanism
from quaestor.mechanisms.grid import check_granularity, values_on_grid
from quaestor.mechanisms.kinds.exponential import ExponentialMechanism
from quaestor.mechanisms.samplers.choice import choose
from quaestor.mechanisms.samplers.randomness import uniform_below

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from quaestor.accounting.releases import Release

__all__ = ["CandidateRuns", "Quantile", "quantile"]

_LARGEST_DOMAIN = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantile(Mechanism):
    r"""A value below which about a share ``probability`` of the data lies.

    The candidates are all multiples of ``granularity`` from ``low`` to ``high``, which are
    declared, not looked up. The score of y is minus the distance of :math:`\lfloor pn+1/2\rfloor`
    from the interval between how many values are below y and how many are not above it. One
    person more moves both ends, and the rank wanted, by 0 or 1 each; one person's change moves the
    ends by at most 1: the sensitivity is 1. Data are moved into the domain and to its nearest
    multiple each for itself, which costs nothing.

    Candidates between two neighbouring data values have the same score; their number multiplies
    the weight, and one of them is drawn uniformly, so that each has exactly the probability
    :math:`\propto e^{\varepsilon u/2}`.

    >>> print(Quantile(probability=0.5, low=0.0, high=120.0, epsilon=1.0).loss)
    ExponentialMechanism(epsilon=1.0, sensitivity=1.0, monotonic=False)
    """

    probability: float
    low: float
    high: float
    epsilon: float
    granularity: float = 1.0

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        check_real("probability", self.probability, low=0.0, high=1.0)
        object.__setattr__(self, "granularity", check_granularity(self.granularity))
        for name in ("low", "high"):
            value = check_real(name, getattr(self, name), low=-1e150, high=1e150)
            if (Fraction(value) / Fraction(self.granularity)).denominator != 1:
                raise InvalidParameter(name, value, "a multiple of the granularity")
        if not -_LARGEST_DOMAIN < self._first < self._last < _LARGEST_DOMAIN:
            raise InvalidParameter("high", self.high, "above low, and below 2^62 steps")
        _ = self._selection

    @property
    def loss(self) -> Release:
        """What one release costs."""
        return self._selection.loss

    def release(self, values: ArrayLike) -> float:
        """A quantile of the data."""
        data = np.clip(values_on_grid(values, self.granularity), self._first, self._last).ravel()
        points, counts = np.unique(data, return_counts=True)
        runs = CandidateRuns.between(points, counts, first=self._first, last=self._last)
        wanted = math.floor(Fraction(self.probability) * data.size + Fraction(1, 2))
        return runs.drawn(runs.behind(wanted), Fraction(self.epsilon) / 2) * self.granularity

    def interval(self, *, confidence: float) -> Bounds:
        """By how many people its rank is off with at least this probability."""
        candidates = self._last - self._first + 1
        reach = self._selection.interval(confidence=confidence, candidates=candidates).lower
        return Bounds(lower=reach, upper=-reach)

    @property
    def _selection(self) -> ExponentialMechanism:
        return ExponentialMechanism(epsilon=self.epsilon, sensitivity=1.0)

    @property
    def _first(self) -> int:
        return math.floor(Fraction(self.low) / Fraction(self.granularity))

    @property
    def _last(self) -> int:
        return math.floor(Fraction(self.high) / Fraction(self.granularity))


class CandidateRuns(NamedTuple):
    """Runs of candidates with one score each: every gap between data, and every data value.

    Where they start, how many candidates they hold, and how many data are below, and not above,
    each of these.
    """

    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    below: NDArray[np.int64]
    not_above: NDArray[np.int64]

    @classmethod
    def between(
        cls, points: NDArray[np.int64], counts: NDArray[np.int64], *, first: int, last: int
    ) -> CandidateRuns:
        """Those of data at some points, so many at each, with candidates from first to last."""
        up_to = np.cumsum(counts)
        below = up_to - counts
        total = up_to[-1:] if counts.size else np.zeros(1, np.int64)
        starts = np.concatenate(([first], points + 1, points))
        ends = np.concatenate((points, [last + 1], points + 1))
        held = ends > starts
        return cls(
            starts[held],
            (ends - starts)[held],
            np.concatenate((below, total, below))[held],
            np.concatenate((below, total, up_to))[held],
        )

    def behind(self, wanted: int, *, unit: int = 1) -> NDArray[np.int64]:
        """How far the rank that is wanted, in units, is from those of each candidate."""
        distance: NDArray[np.int64] = np.maximum(self.beyond(wanted, unit=unit), 0)
        return distance

    def beyond(self, wanted: int, *, unit: int = 1) -> NDArray[np.int64]:
        """The same, and less than 0 where it is among them: by how far the nearer end is."""
        distance: NDArray[np.int64] = np.maximum(
            self.below * unit - wanted, wanted - self.not_above * unit
        )
        return distance

    def drawn(self, behind: NDArray[np.int64], rate: Fraction) -> int:
        """A candidate, by the exponential mechanism."""
        scores = -behind.astype(np.float64)
        place = choose(scores, rate=rate, multiples=self.sizes.tolist())
        return int(self.starts[place]) + uniform_below(int(self.sizes[place]))


def quantile(  # noqa: PLR0913  # what a quantile needs to be told
    values: ArrayLike,
    *,
    probability: float,
    low: float,
    high: float,
    epsilon: float,
    granularity: float = 1.0,
) -> float:
    """The value that :class:`Quantile` releases.

    >>> ages = [34.0] * 1000
    >>> quantile(ages, probability=0.5, low=0.0, high=120.0, epsilon=1.0)
    34.0
    """
    return Quantile(
        probability=probability, low=low, high=high, epsilon=epsilon, granularity=granularity
    ).release(values)
