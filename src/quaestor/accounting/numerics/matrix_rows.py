"""A matrix as a parameter of a release: an array inside, a tuple of rows to whoever reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quaestor.accounting.numerics.complexes import Floats

__all__ = ["MatrixRows"]


class MatrixRows(Sequence[tuple[float, ...]]):
    """The rows of a matrix, which become floats of Python only where somebody reads them.

    There may be millions of entries: rows are hashed by the first and the last one, and compared as
    arrays.

    >>> rows = MatrixRows([[1.0, 0.0], [0.5, 1.0]])
    >>> rows[1], len(rows), rows == MatrixRows([(1.0, 0.0), (0.5, 1.0)])
    ((0.5, 1.0), 2, True)
    """

    __slots__ = ("array",)

    array: Floats

    def __init__(self, rows: Floats | Sequence[Sequence[float]]) -> None:
        """Copy the rows, so that nobody changes them."""
        self.array = np.array(rows, dtype=np.float64)
        self.array.setflags(write=False)

    def __len__(self) -> int:
        """How many rows there are."""
        return int(self.array.shape[0])

    @overload
    def __getitem__(self, place: int) -> tuple[float, ...]: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[tuple[float, ...], ...]: ...
    def __getitem__(self, place: int | slice) -> tuple[float, ...] | tuple[tuple[float, ...], ...]:
        """A row, or some."""
        chosen = self.array[place].tolist()
        return tuple(map(tuple, chosen)) if isinstance(place, slice) else tuple(chosen)

    def __iter__(self) -> Iterator[tuple[float, ...]]:
        """Row after row."""
        return map(tuple, self.array.tolist())

    def __eq__(self, other: object) -> bool:
        """Whether all entries are the same."""
        if not isinstance(other, MatrixRows):
            return NotImplemented
        return self.array is other.array or bool(np.array_equal(self.array, other.array))

    def __hash__(self) -> int:
        """By the first and the last row."""
        return hash((len(self), self[0], self[-1]))

    def __repr__(self) -> str:
        """As a tuple of tuples."""
        return repr(tuple(self))

    def __str__(self) -> str:
        """As lists, which is how expressions are written."""
        return repr(self.array.tolist())

    def to_dict(self) -> tuple[tuple[float, ...], ...]:
        """As plain JSON values."""
        return tuple(self)

    def __reduce__(self) -> tuple[type[MatrixRows], tuple[Floats]]:
        """As it is made: a copy cannot be written to either."""
        return MatrixRows, (self.array,)
