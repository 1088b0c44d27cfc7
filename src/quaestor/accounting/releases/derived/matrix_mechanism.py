"""The matrix mechanism with a matrix of one's own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from quaestor.accounting.releases.derived.correlated_noise import CorrelatedNoise
from quaestor.accounting.releases.derived.gaussian_mixture import numbers
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from quaestor.accounting.numerics.bounds import Bounds
    from quaestor.accounting.numerics.complexes import Floats
    from quaestor.accounting.numerics.matrix_rows import MatrixRows
    from quaestor.accounting.releases.derived.participation import Participation
    from quaestor.accounting.releases.derived.strategies import CountingError

__all__ = ["MatrixMechanism"]

_LARGEST = 1e75
_MOST_COLUMNS = 2048
_MOST_ENTRIES = 1 << 22


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixMechanism(CorrelatedNoise):
    r"""Gaussian noise on every row of Cx: DP-FTRL and the matrix mechanism with any matrix C.

    ``matrix`` is C, as a list of rows or an array, and x has a row for every step. A person changes
    at most ``participations`` rows, each by at most ``sensitivity`` in L2, and any two of them at
    least ``separation`` steps apart; with ``periodic`` exactly that from one to the next, as where
    every epoch has the same order.

    Guarantee:
        Gaussian noise on a query whose L2 sensitivity is the largest of
        :math:`\Delta\sqrt{\sum_{j,l}|\langle C_{i_j}, C_{i_l}\rangle|}` over the patterns i of
        participation. ``sensitivity_bounds()`` says how close to the truth the counted one is: the
        same where nothing is negative and there are one participation, a period, few patterns, or
        columns that do not meet; an upper bound otherwise. Adaptive inputs are covered where C is
        lower triangular [Denisov et al. 2022, Theorem 2.1].

    >>> from quaestor import compose
    >>> noisy = MatrixMechanism(sigma=8.0, matrix=[[1, 0, 0], [1, 1, 0], [1, 1, 1]])
    >>> round(compose(noisy).mu().upper, 6)  # the root of 3, by 8
    0.216506
    """

    sigma: float
    matrix: Sequence[Sequence[float]] | NDArray[np.float64]
    participations: int = 1
    separation: int = 1
    periodic: bool = False
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        self._check_participation()
        object.__setattr__(self, "matrix", _checked(self.matrix))

    def _array(self) -> Floats:
        return _checked(self.matrix).array

    def _unit_sensitivity(self) -> Bounds:
        return _sensitivity(_checked(self.matrix), self._participation())

    def _column(self) -> tuple[float, int]:
        import numpy as np

        from quaestor.accounting.releases.derived.participation import Participation

        array = self._array()
        rows, steps = array.shape
        filled = array != 0.0
        owners = np.zeros((rows, self.separation), dtype=np.int64)
        for step in range(steps):
            owners[:, step % self.separation] += filled[:, step]
        if bool(np.any(owners > 1)):
            valid = f"columns {self.separation} apart (the separation) without a row in common"
            raise InvalidParameter("matrix", "columns that meet", valid)
        if bool(np.any(np.triu(array, k=1))):
            raise InvalidParameter("matrix", "entries above the diagonal", "lower triangular")
        return _sensitivity(_checked(self.matrix), Participation()).upper, steps

    def counting_error(self) -> CountingError:
        """The standard deviation of running totals by least squares, about.

        >>> noisy = MatrixMechanism(sigma=8.0, matrix=[[1, 0], [0, 1]])
        >>> round(noisy.counting_error().largest, 6)  # the second total has the noise of both
        11.313708

        Raises:
            InvalidParameter: the columns are dependent, so that there are no totals in it.
        """
        import numpy as np

        from quaestor.accounting.releases.derived.strategies import CountingError

        array = self._array()
        steps = array.shape[1]
        if int(np.linalg.matrix_rank(array)) < steps:
            raise InvalidParameter("matrix", "dependent columns", "of full column rank")
        decoder = np.cumsum(np.linalg.pinv(array), axis=0)
        variances = np.sum(decoder**2, axis=1)
        root, largest = np.sqrt(np.mean(variances)), np.sqrt(np.max(variances))
        return CountingError(self.sigma * float(root), self.sigma * float(largest))


@lru_cache(maxsize=16)
def _sensitivity(rows: MatrixRows, participation: Participation) -> Bounds:
    from quaestor.accounting.releases.derived.participation import pattern_sensitivity

    return pattern_sensitivity(rows.array, participation)


def _checked(given: Any) -> MatrixRows:
    from quaestor.accounting.numerics.matrix_rows import MatrixRows

    if isinstance(given, MatrixRows):
        return given
    if _is_plain(given):  # as what is checked below, all entries at once
        return MatrixRows(given)
    listed = given.tolist() if hasattr(given, "tolist") else given
    try:
        rows = [numbers("matrix", row, low=-_LARGEST, high=_LARGEST) for row in listed]
    except TypeError:
        raise InvalidParameter("matrix", given, "a list of rows of numbers") from None
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        raise InvalidParameter("matrix", len(rows), "rows of the same length, at least one")
    if len(rows[0]) > _MOST_COLUMNS or len(rows) * len(rows[0]) > _MOST_ENTRIES:
        valid = f"at most {_MOST_COLUMNS} columns and {_MOST_ENTRIES} entries"
        raise InvalidParameter("matrix", f"{len(rows)} x {len(rows[0])}", valid)
    if not any(any(row) for row in rows):
        raise InvalidParameter("matrix", "only zeros", "a matrix that is not 0")
    return MatrixRows(rows)


def _is_plain(given: Any) -> bool:
    """Whether this is an array of floats in the range, not too large and not all 0."""
    if getattr(given, "ndim", None) != 2 or getattr(given.dtype, "char", "") != "d":
        return False
    if hasattr(given, "mask"):  # entries that are hidden from the checks, and not from the price
        return False
    if not 0 < given.shape[1] <= _MOST_COLUMNS or not 0 < given.size <= _MOST_ENTRIES:
        return False
    low, high = float(given.min()), float(given.max())  # which are not numbers if one is none
    return -_LARGEST <= low <= high <= _LARGEST and (low < 0.0 or high > 0.0)
