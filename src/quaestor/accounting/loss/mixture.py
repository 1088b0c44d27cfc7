r"""The log-ratio of a mixture: :math:`\log(1-q+qe^l)`, for real and for complex l.

Three forms, each where it neither overflows nor cancels. With :math:`t = l + \ln q`:

* up to l = 700: :math:`\log(1 + q(e^l-1))`, in which nothing cancels, for :math:`e^l-1` is computed
  as such;
* beyond, while t is at most 1: :math:`\log(1 + (e^t-q))`, where q is next to nothing beside
  :math:`e^t`;
* else :math:`t + \log(1 + (1-q)e^{-t})`, both summands positive.

The error is at most 16 units of the result and of :math:`\frac{qe^l}{w}(|l| + |\ln q|)`, the size
of the exponent times the slope of the result in it; :func:`log_mixture_size` bounds these together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.loss.complexes import expm1, log1p

if TYPE_CHECKING:
    from quaestor.accounting.loss.complexes import Complexes, Floats

__all__ = ["complex_log_mixture", "log_mixture", "log_mixture_size"]

_NEAR = 700.0  # the exponents of which floats hold the exponential
_EVEN = 1.0


def log_mixture(losses: Floats, rates: Floats | float) -> Floats:
    """``log(1 - q + q e^l)`` for real l and rates q strictly between 0 and 1."""
    if not losses.size or float(np.max(losses)) <= _NEAR:
        return np.log1p(rates * np.expm1(losses))
    powers = losses + np.log(rates)
    middle = np.exp(np.minimum(powers, _EVEN)) - rates
    near = rates * np.expm1(np.minimum(losses, _NEAR))
    small = np.log1p(np.where(losses > _NEAR, middle, near))
    back = np.log1p((1 - rates) * np.exp(-np.maximum(powers, _EVEN)))
    values: Floats = np.where((losses > _NEAR) & (powers > _EVEN), powers + back, small)
    return values


def log_mixture_size(losses: Floats, rates: Floats | float, values: Floats, size: Floats) -> Floats:
    """The size of the numbers that ``values`` came from, where l came from numbers of ``size``."""
    slopes = np.exp(np.minimum(np.log(rates) + losses - values, 0.0))
    sizes: Floats = np.abs(values) + slopes * (size + np.abs(np.log(rates)))
    return sizes


def complex_log_mixture(losses: Complexes, rates: Floats | float) -> Complexes:
    """The same for complex l off the zeros of ``1 - q + q e^l``, on the branch of small l."""
    large = losses.real > _NEAR
    near = rates * expm1(np.asarray(np.where(large, 0.0, losses), np.complex128))
    if not bool(np.any(large)):
        return log1p(np.asarray(near, np.complex128))
    powers = losses + np.log(rates)
    far = large & (powers.real > _EVEN)
    middle = np.exp(np.where(large & ~far, powers, 0.0)) - rates
    small = log1p(np.asarray(np.where(large & ~far, middle, near), np.complex128))
    back = (1 - rates) * np.exp(np.where(far, -powers, -_EVEN))
    beyond: Complexes = powers + log1p(np.asarray(back, np.complex128))
    return np.where(far, beyond, small)
