"""Complex elementary functions that keep relative accuracy near zero.

numpy's own ``log1p`` of a complex number loses it, so these are written out in real ones. Each errs
by at most ``8 u`` relative to the modulus of its result's ingredients; callers count with that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Complexes = NDArray[np.complex128]
    Floats = NDArray[np.float64]

__all__ = ["UNIT", "expm1", "log1p", "summed"]

UNIT = 2.0**-53


def expm1(z: Complexes) -> Complexes:
    """``exp(z) - 1``."""
    grown = np.expm1(z.real)
    half = np.sin(z.imag / 2)
    result = np.empty_like(z)
    result.real = grown * np.cos(z.imag) - 2 * half * half
    result.imag = (grown + 1) * np.sin(z.imag)
    return result


def log1p(z: Complexes) -> Complexes:
    """``log(1 + z)``, the principal branch."""
    result = np.empty_like(z)
    near = np.abs(z) < 0.5
    if bool(np.all(near)):
        square = z.real * (2 + z.real) + z.imag * z.imag
        result.real = np.log1p(square) / 2
        result.imag = np.arctan2(z.imag, 1 + z.real)
        return result
    real, imaginary = np.where(near, z.real, 0.0), np.where(near, z.imag, 0.0)
    square = real * (2 + real) + imaginary * imaginary
    whole = np.maximum(np.hypot(1 + z.real, z.imag), 1e-300)
    result.real = np.where(near, np.log1p(square) / 2, np.log(whole))
    result.imag = np.arctan2(z.imag, 1 + z.real)
    return result


def summed(values: Complexes, errors: Floats, counts: Floats) -> tuple[Complexes, Floats]:
    """The weighted sum of each row, and its error: 64 units of the sizes, for it adds in pairs.

    A product of matrices may add in any order, which over a million terms is a million units.
    """
    terms = values * counts
    sizes = np.abs(terms.real) + np.abs(terms.imag)
    total: Complexes = np.sum(terms, axis=1)
    return total, np.sum(errors * np.abs(counts) + 64 * UNIT * sizes, axis=1) * (1 + 1e-9)
