"""A private sketch of a matrix, which answers any number of variance queries."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from quaestor.accounting import releases
from quaestor.accounting.papers.sketch_sizes import check_probability
from quaestor.errors import InvalidParameter
from quaestor.mechanisms.grid import as_floats, were_rounded
from quaestor.mechanisms.kinds.sketch import Sketch, SketchAnswer, answered, grid_of
from quaestor.mechanisms.samplers.normals import standard_normals
from quaestor.mechanisms.undisclosed import Undisclosed

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


__all__ = ["MatrixSketch", "SketchedMatrix"]

_LONGEST = 2.0**20  # a column over the weight: beyond this, floats would drown the noise
_BLOCK = 1 << 22  # normal numbers at once, to bound memory


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixSketch(Sketch):
    r"""A sketch of ``rows`` rows of a matrix A, hidden by ``weight``, for :math:`x^TA^TAx`.

    The number of rows and columns is public. Neighbours differ in one row of A, by at most
    ``sensitivity`` in Euclidean length; rows themselves may be of any length. To take a row away,
    put zeros in its place: for that, ``sensitivity`` must be as long as the longest row may be.

    A row of the sketch is :math:`g^TA + wz^T` with normal g and z, of covariance
    :math:`A^TA + w^2I`; an answer takes off :math:`w^2|x|^2`. See
    :mod:`quaestor.mechanisms.kinds.sketch` for what floats mean here.

    >>> sketch = MatrixSketch.for_target(epsilon=1.0, delta=1e-6, eta=0.1, nu=0.05)
    >>> sketch.rows, round(sketch.weight, 1)
    (768, 117.7)
    >>> released = sketch.release([[3.0, 4.0], [0.0, 1.0]])
    >>> answer = released.variance([1.0, 0.0])
    >>> answer.nu, round(answer.eta, 4)
    (0.05, 0.0999)
    """

    kind: ClassVar[str] = "matrix"

    @property
    def loss(self) -> releases.MatrixSketch:
        """What the sketch costs; questions to it cost nothing."""
        return releases.MatrixSketch(
            rows=self.rows, weight=self.weight, sensitivity=self.sensitivity
        )

    def release(self, matrix: Any) -> SketchedMatrix:
        """Draw the sketch of a matrix, scipy.sparse or dense."""
        checked = _matrix(matrix, longest=_LONGEST * self.weight)
        length, width = checked.shape
        step = grid_of(self.weight)
        drawn = np.empty((self.rows, width))
        block = max(_BLOCK // (length + width), 1)
        for start in range(0, self.rows, block):
            part = drawn[start : start + block]
            count = len(part)
            normals = standard_normals(count * (length + width))
            mixing = normals[: count * length].reshape(length, count)
            np.multiply(normals[count * length :].reshape(count, width), self.weight, out=part)
            part += (checked.T @ mixing).T
            np.rint(part / step, out=part)
            part *= step
        return SketchedMatrix(mechanism=self, rows=drawn)


def _matrix(matrix: Any, *, longest: float) -> Any:
    """The matrix with entries in floats, checked before any randomness is used."""
    sparse = hasattr(matrix, "tocsr")
    try:
        checked = matrix.tocsr() if sparse else np.asarray(matrix)
        if checked.dtype.kind not in "fiub":
            raise InvalidParameter("matrix", Undisclosed(matrix), "a matrix of numbers")
        entries: Any = checked.data if sparse else checked
        if as_floats(entries) is None or (not sparse and were_rounded(matrix, entries)):
            raise InvalidParameter("matrix", Undisclosed(matrix), "a matrix that floats can hold")
        checked = checked.astype(np.float64)
    except (TypeError, ValueError) as error:
        if isinstance(error, InvalidParameter):
            raise
        raise InvalidParameter("matrix", Undisclosed(matrix), "a matrix of numbers") from None
    if len(checked.shape) != 2 or 0 in checked.shape:
        raise InvalidParameter("matrix", Undisclosed(matrix), "a matrix that is not empty")
    entries = checked.data if sparse else checked
    if not np.all(np.isfinite(entries)):
        raise InvalidParameter("matrix", Undisclosed(matrix), "a matrix of finite numbers")
    length = float(np.abs(entries).max(initial=0.0)) * math.sqrt(checked.shape[0])
    if length > longest:
        valid = f"one whose columns are surely no longer than {longest:g}"
        raise InvalidParameter("matrix", Undisclosed(matrix), valid)
    return checked


class SketchedMatrix:
    """The sketch of a matrix: public, and able to answer any number of variance queries.

    >>> sketch = MatrixSketch.for_target(epsilon=1.0, delta=1e-6, eta=0.5, nu=0.05)
    >>> released = sketch.release([[1.0, 0.0], [0.0, 1.0]])
    >>> released.variance([1.0, 0.0]).nu
    0.05
    """

    def __init__(self, *, mechanism: MatrixSketch, rows: NDArray[np.float64]) -> None:
        """Keep the rows, which are all there is of the matrix."""
        rows.flags.writeable = False
        self.mechanism, self.rows = mechanism, rows

    @property
    def loss(self) -> releases.MatrixSketch:
        """What the sketch cost; questions to it cost nothing."""
        return self.mechanism.loss

    def variance(self, direction: ArrayLike, *, nu: float = 0.05) -> SketchAnswer:
        """The variance of the matrix in a direction x, :math:`x^TA^TAx`."""
        nu = check_probability("nu", nu)
        x = self._direction(direction)
        added = self.mechanism.weight**2 * float(x @ x)
        blur = float(np.abs(x).sum()) * grid_of(self.mechanism.weight)
        return answered(self.rows @ x, added=added, blur=blur, nu=nu)

    def _direction(self, direction: ArrayLike) -> NDArray[np.float64]:
        valid = f"{self.rows.shape[1]} numbers, none beyond 1e100"
        try:
            given = np.asarray(direction)
            if given.dtype.kind not in "fiu":
                raise InvalidParameter("direction", direction, valid)
            x = given.astype(np.float64)
        except (TypeError, ValueError) as error:
            if isinstance(error, InvalidParameter):
                raise
            raise InvalidParameter("direction", direction, valid) from None
        if x.shape != (self.rows.shape[1],) or not np.all(np.abs(x) <= 1e100):
            raise InvalidParameter("direction", direction, valid)
        return x
