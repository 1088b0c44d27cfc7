r"""Named strategies for running totals: how far a person moves them, and how large the error is.

The totals are :math:`Ax` with A lower triangular of ones. A strategy C is released with noise, and
the totals are :math:`B(Cx + z)` with :math:`BC = A`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.releases.derived.participation import (
    Participation,
    pattern_sensitivity,
    root_bounds,
)
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.accounting.numerics.complexes import Floats

__all__ = ["STRATEGIES", "CountingError", "Strategy"]

STRATEGIES = ("identity", "prefix_sums", "binary_tree", "honaker_tree", "square_root")
_TREES = ("binary_tree", "honaker_tree")
_UNIT = 2.0**-53
_LISTED = 512  # steps of a tree whose columns are listed


class CountingError(NamedTuple):
    """The standard deviation of a running total: its root mean square over all steps, and most."""

    root_mean_square: float
    largest: float


class Strategy(NamedTuple):
    """A way to release running totals of ``steps`` values; ``bands`` of its diagonals, or all."""

    name: str
    steps: int
    bands: int | None = None

    def sensitivity(self, participation: Participation) -> Bounds:
        """Enclose the largest change for changes of length 1, over all patterns."""
        return _tree(self.steps, participation) if self._is_tree else self._toeplitz(participation)

    @property
    def _is_tree(self) -> bool:
        return self.name in _TREES

    def coefficients(self) -> Floats:
        """The first column, whose entries never grow."""
        if self.name == "identity":
            return np.array([1.0])
        if self.name == "prefix_sums":
            return np.ones(self.steps)
        kept = min(self.bands or self.steps, self.steps)
        later = np.arange(1, kept, dtype=np.float64)
        return np.concatenate(([1.0], np.cumprod((2 * later - 1) / (2 * later))))

    def reach(self) -> int | None:
        """How many steps a column has entries in; None for trees."""
        return None if self._is_tree else int(self.coefficients().size)

    def _toeplitz(self, participation: Participation) -> Bounds:
        r"""Attained by the earliest pattern.

        Columns i < j meet in :math:`\sum_{m<n-j}c_mc_{m+j-i}`, which falls with j and with j - i;
        the p-th participation is at (p - 1)b or later, and the gaps are (q - p)b or more.
        """
        apart, steps = participation.separation, self.steps
        column = np.zeros(steps)
        column[: min(self.coefficients().size, steps)] = self.coefficients()[:steps]
        rows = -(-steps // apart)
        times = min(participation.most, rows)
        padded = np.zeros(rows * apart)
        padded[:steps] = column
        sums = np.cumsum(padded.reshape(rows, apart), axis=0)
        moved, doubt = sums.copy(), 4 * (rows + 2) * _UNIT * sums
        moved[times:] -= sums[:-times] if times < rows else 0.0
        share = 16 * (2 * steps + rows) * _UNIT  # coefficients, squares and their sum
        least, most = np.maximum(moved - doubt, 0.0), moved + doubt
        squares = [float(np.sum((each.ravel()[:steps]) ** 2)) for each in (least, most)]
        return root_bounds(squares[0] * (1 - share), squares[1] * (1 + share))

    def _totals(self) -> Floats:
        """The first column of the decoder: the root's is the root."""
        coefficients = self.coefficients()
        if self.name == "square_root" and coefficients.size == self.steps:
            return coefficients
        if self.name == "prefix_sums":
            return np.array([1.0] + [0.0] * (self.steps - 1))
        return _totals_of(coefficients, self.steps)

    def error(self) -> CountingError:
        """That of the running totals for noise of deviation 1, in plain floats."""
        if self._is_tree:
            variances = _tree_variances(self.steps, honaker=self.name == "honaker_tree")
        else:
            variances = np.cumsum(self._totals() ** 2)
        return CountingError(
            math.sqrt(float(np.mean(variances))), math.sqrt(float(np.max(variances)))
        )


def _totals_of(coefficients: Floats, steps: int) -> Floats:
    """The first column of :math:`AC^{-1}`: the running totals of the inverse series."""
    if coefficients.size == 1:
        return np.full(steps, 1 / coefficients[0])
    totals = np.zeros(steps)
    for step in range(steps):
        reach = min(step, coefficients.size - 1)
        before = totals[step - reach : step][::-1]
        totals[step] = (1.0 - float(before @ coefficients[1 : reach + 1])) / coefficients[0]
    return totals


def _tree(steps: int, participation: Participation) -> Bounds:
    r"""The nodes above a step, those that are complete in time.

    Once: the first step is in as many as there are. Several times: a node of :math:`2^l` steps
    holds at most :math:`c = \min(k, \lceil2^l/b\rceil)` of k participations, so the squares of a
    level sum to at most kc. Small trees are listed.
    """
    levels = steps.bit_length()
    times = min(participation.most, -(-steps // participation.separation))
    holds = [min(times, -(-(1 << level) // participation.separation)) for level in range(levels)]
    by_level = root_bounds(0.0, float(times * sum(holds)))
    if times == 1:
        return root_bounds(float(levels), float(levels))
    if steps > _LISTED:
        first = np.arange(times) * participation.separation
        counts = [
            np.bincount((first >> level)[first >> level < steps >> level])
            for level in range(levels)
        ]
        attained = sum(int(np.sum(each**2)) for each in counts)
        return Bounds(lower=root_bounds(attained, attained).lower, upper=by_level.upper)
    listed = pattern_sensitivity(_tree_matrix(steps), participation)
    return Bounds(lower=listed.lower, upper=min(listed.upper, by_level.upper))


def _tree_matrix(steps: int) -> Floats:
    rows = []
    for level in range(steps.bit_length()):
        for node in range(steps >> level):
            row = np.zeros(steps)
            row[node << level : (node + 1) << level] = 1.0
            rows.append(row)
    return np.array(rows)


def _tree_variances(steps: int, *, honaker: bool) -> Floats:
    """A total is the sum of one node for every bit of its step.

    A node alone has variance 1; with Honaker's estimate from below it is joined with the sum of
    its halves.
    """
    times = np.arange(1, steps + 1)
    variances = np.zeros(steps)
    node = 1.0
    for level in range(steps.bit_length()):
        variances += ((times >> level) & 1) * node
        node = 1 / (1 + 1 / (2 * node)) if honaker else 1.0
    return variances


def checked_strategy(name: object, steps: int, bands: int | None) -> Strategy:
    """A strategy that there is, with bands where it may have them."""
    if name not in STRATEGIES:
        raise InvalidParameter("strategy", name, f"one of {', '.join(STRATEGIES)}")
    if bands is not None and name != "square_root":
        raise InvalidParameter("bands", bands, "given only with strategy=square_root")
    return Strategy(str(name), steps, bands)
