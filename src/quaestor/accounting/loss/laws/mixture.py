r"""The log-ratio of a mixture: :math:`\log(1-q+qe^l)`, for real and for complex l.

Four forms, each where it neither overflows nor cancels. With :math:`t = l + \ln q`:

* up to l = 700: :math:`\log(1 + q(e^l-1))`, in which nothing cancels while the second summand is at
  least -1/2, for :math:`e^l-1` is computed as such;
* where it is less, which needs a rate above 1/2: :math:`\log((1-q) + qe^l)`, both summands
  positive, and 1 - q exact;
* beyond, while t is at most 1: :math:`\log(1 + (e^t-q))`, where q is next to nothing beside
  :math:`e^t`;
* else :math:`t + \log(1 + (1-q)e^{-t})`, both summands positive.

The error is at most 16 units of the result and of :math:`\frac{qe^l}{w}(|l| + |\ln q|)`, the size
of the exponent times the slope of the result in it; :func:`log_mixture_size` bounds these together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.numerics.complexes import expm1, log1p

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["complex_log_mixture", "in_blocks", "log_mixture", "log_mixture_size"]

_NEAR = 700.0  # the exponents of which floats hold the exponential
_EVEN = 1.0
_CANCELS = -0.5  # where 1 + x has fewer digits than x


def log_mixture(losses: Floats, rates: Floats | float) -> Floats:
    """``log(1 - q + q e^l)`` for real l and rates q strictly between 0 and 1."""
    near = rates * np.expm1(np.minimum(losses, _NEAR))
    if not losses.size or float(np.max(losses)) <= _NEAR:
        return _log_of_sum(near, losses, rates)
    powers = losses + np.log(rates)
    middle = np.exp(np.minimum(powers, _EVEN)) - rates
    small = _log_of_sum(np.where(losses > _NEAR, middle, near), losses, rates)
    back = np.log1p((1 - rates) * np.exp(-np.maximum(powers, _EVEN)))
    values: Floats = np.where((losses > _NEAR) & (powers > _EVEN), powers + back, small)
    return values


def _log_of_sum(less_one: Floats, losses: Floats, rates: Floats | float) -> Floats:
    """log(1 + x) for x = q(e^l - 1), or log((1 - q) + q e^l) where x is near -1."""
    low = less_one < _CANCELS
    if not bool(np.any(low)):
        return np.log1p(less_one)
    summed = (1 - rates) + rates * np.exp(np.where(low, losses, 0.0))
    values: Floats = np.where(low, np.log(summed), np.log1p(np.where(low, 0.0, less_one)))
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
        return _complex_log_of_sum(near, losses, rates)
    powers = losses + np.log(rates)
    far = large & (powers.real > _EVEN)
    middle = np.exp(np.where(large & ~far, powers, 0.0)) - rates
    small = _complex_log_of_sum(np.where(large & ~far, middle, near), losses, rates)
    back = (1 - rates) * np.exp(np.where(far, -powers, -_EVEN))
    beyond: Complexes = powers + log1p(np.asarray(back, np.complex128))
    return np.where(far, beyond, small)


def _complex_log_of_sum(less_one: Complexes, losses: Complexes, rates: Floats | float) -> Complexes:
    low = less_one.real < _CANCELS
    if not bool(np.any(low)):
        return log1p(np.asarray(less_one, np.complex128))
    summed = (1 - rates) + rates * np.exp(np.where(low, losses, 0.0))
    plain = log1p(np.asarray(np.where(low, 0.0, less_one), np.complex128))
    values: Complexes = np.where(low, np.log(summed), plain)
    return values


def in_blocks(
    moments: Callable[[Complexes], tuple[Complexes, Floats]], s: Complexes
) -> tuple[Complexes, Floats]:
    """Moments on a vertical line, by a rule for each block of it: faster oscillation, finer rule.

    A block ends where the imaginary part is twice that of its start.
    """
    values, errors = np.empty(s.shape, np.complex128), np.empty(s.shape)
    start = 0
    while start < s.size:
        reach = max(float(abs(s[start].imag)) * 2, 8.0)
        stop = max(int(np.searchsorted(np.abs(s.imag), reach, side="right")), start + 1)
        values[start:stop], errors[start:stop] = moments(s[start:stop])
        start = stop
    return values, errors
