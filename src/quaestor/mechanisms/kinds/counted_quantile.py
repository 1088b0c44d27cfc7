"""Quantiles of counts by value, where one person may count several times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.releases.base import check_count, check_real
from quaestor.errors import InvalidParameter
from quaestor.mechanisms.base import Mechanism
from quaestor.mechanisms.kinds.exponential import ExponentialMechanism
from quaestor.mechanisms.kinds.quantile import CandidateRuns
from quaestor.mechanisms.undisclosed import Undisclosed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from quaestor.accounting.releases import Release

__all__ = ["CountedQuantile", "checked_counts"]

_PARTS = 2**16  # the probability is a multiple of 2^-16, so that scores are whole numbers
_FARTHEST = 2**52  # in such parts of a rank; floats hold all whole numbers up to here
_LARGEST = 2**40
_MOST_ROWS = 2**46  # in parts of a rank they are below 2^62
_COUNTS = "a mapping from whole numbers of the domain to counts, each at least 0"


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedQuantile(Mechanism):
    r"""A whole number below which about a share ``probability`` of the rows lies.

    The candidates are all whole numbers from ``low`` to ``high``. The score of y is minus the
    signed distance of pn from the interval between how many rows are below y and how many are not
    above it, n being the number of rows and p the probability, rounded to a multiple of
    :math:`2^{-16}`: outside of the interval it is how far pn is from it, inside it is less than 0
    by how far pn is from its nearer end. So where many rows share a value, the value that holds
    the quantile is ahead of its neighbours by twice as much as if all distances inside were 0
    (``signed=False``), for the same epsilon. Distances beyond :math:`2^{36}` ranks count as that.

    Guarantee:
        A person with :math:`m \le` ``rows`` rows who comes raises "below y" by an a, "not above
        y" by a b, both from 0 to m, and pn by pm. So "below y" less pn moves by a - pm, which is
        from -pm to (1 - p)m, and pn less "not above y" by pm - b, which is from -(1 - p)m to pm.
        The signed distance is the larger of these two, the other one the largest of these two and
        0, and the largest of numbers moves by no more than one of them does: the sensitivity is
        :math:`m\max(p, 1-p)`. For a median that is half of what one has by rounding pn to a rank.
        No score of this sensitivity that puts the quantile first does better beside a tie: where
        pn is d ranks inside its end, d / max(p, 1 - p) rows more above it, or fewer below, move pn
        there, and each of them moves the lead of a value by twice the sensitivity at most.

    >>> print(CountedQuantile(probability=0.5, low=0, high=120, rows=4, epsilon=1.0).loss)
    ExponentialMechanism(epsilon=1.0, sensitivity=2.0, monotonic=False)
    """

    probability: float
    low: int
    high: int
    epsilon: float
    rows: int = 1
    signed: bool = True

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        check_real("probability", self.probability, low=0.0, high=1.0)
        low = check_count("low", self.low, smallest=-_LARGEST, largest=_LARGEST)
        check_count("high", self.high, smallest=low, largest=_LARGEST)
        check_count("rows", self.rows, largest=10**9)
        _ = self._selection

    @property
    def loss(self) -> Release:
        """What one release costs."""
        return self._selection.loss

    def release(self, counts: Mapping[int, int]) -> int:
        """A quantile of the rows that are counted; any candidate if there are none."""
        values, numbers = checked_counts(counts, low=self.low, high=self.high)
        runs = CandidateRuns.between(values, numbers, first=self.low, last=self.high)
        wanted = self._parts * int(numbers.sum())
        behind = (runs.beyond if self.signed else runs.behind)(wanted, unit=_PARTS)
        rate = Fraction(self.epsilon) / (2 * self._sensitivity * _PARTS)
        return runs.drawn(np.clip(behind, -_FARTHEST, _FARTHEST), rate)

    def interval(self, *, confidence: float) -> Bounds:
        """By how many rows its rank is off with at least this probability.

        Some candidate's distance is 0 or less, so that one whose score is not so far behind the
        best is no farther off.
        """
        candidates = self.high - self.low + 1
        reach = self._selection.interval(confidence=confidence, candidates=candidates).lower
        return Bounds(lower=reach, upper=-reach)

    @property
    def _parts(self) -> int:
        return math.floor(Fraction(self.probability) * _PARTS + Fraction(1, 2))

    @property
    def _sensitivity(self) -> Fraction:
        return Fraction(self.rows * max(self._parts, _PARTS - self._parts), _PARTS)

    @property
    def _selection(self) -> ExponentialMechanism:
        return ExponentialMechanism(epsilon=self.epsilon, sensitivity=float(self._sensitivity))


def checked_counts(
    counts: Mapping[int, int], *, low: int, high: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The values that occur, in order, and how often; errors show nothing of them."""
    try:
        values = np.array(list(counts.keys()), np.int64)
        numbers = np.array(list(counts.values()), np.int64)
        order = np.argsort(values, kind="stable")
        order = order[numbers[order] != 0]
        values, numbers = values[order], numbers[order]
    except (TypeError, ValueError, OverflowError, AttributeError):
        raise InvalidParameter("counts", Undisclosed(counts), _COUNTS) from None
    inside = bool(np.all((low <= values) & (values <= high) & (numbers > 0)))
    if not inside or sum(numbers.tolist()) > _MOST_ROWS:
        raise InvalidParameter("counts", Undisclosed(counts), _COUNTS)
    return values, numbers
