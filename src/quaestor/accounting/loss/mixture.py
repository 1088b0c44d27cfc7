r"""The log-ratio of a mixture: :math:`\log(1-q+qe^l)`, for real and for complex l.

Three forms, each where it neither overflows nor cancels. With :math:`t = l + \ln q`:

* up to l = 1: :math:`\log(1 + q(e^l-1))`, in which nothing cancels, for :math:`e^l-1` is computed
  as such;
* beyond, while t is at most 1: :math:`\log(1 + (e^t-q))`, where q is at most :math:`e^{-1}` of
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

_NEAR = 1.0


def log_mixture(losses: Floats, rates: Floats | float) -> Floats:
    """``log(1 - q + q e^l)`` for real l and rates q strictly between 0 and 1."""
    if float(np.max(losses, initial=0.0)) <= _NEAR:
        return np.log1p(rates * np.expm1(losses))
    log_rates = np.log(rates)
    middle = losses > _NEAR
    powers = losses + log_rates
    far = powers > _NEAR
    grown = np.where(
        middle,
        np.exp(np.minimum(powers, _NEAR)) - rates,
        rates * np.expm1(np.minimum(losses, _NEAR)),
    )
    near = np.log1p(grown)
    back = np.log1p((1 - rates) * np.exp(-np.maximum(powers, _NEAR)))
    values: Floats = np.where(far, powers + back, near)
    return values


def log_mixture_size(losses: Floats, rates: Floats | float, values: Floats, size: Floats) -> Floats:
    """The size of the numbers that ``values`` came from, where l came from numbers of ``size``."""
    slopes = np.exp(np.minimum(np.log(rates) + losses - values, 0.0))
    sizes: Floats = np.abs(values) + slopes * (size + np.abs(np.log(rates)))
    return sizes


def complex_log_mixture(losses: Complexes, rates: Floats | float) -> Complexes:
    """The same for complex l off the zeros of ``1 - q + q e^l``, on the branch of small l."""
    log_rates = np.log(rates)
    powers = losses + log_rates
    middle, far = losses.real > _NEAR, powers.real > _NEAR
    small = rates * expm1(np.asarray(np.where(middle, 0.0, losses), np.complex128))
    large = np.exp(np.where(middle & ~far, powers, 0.0)) - rates
    near = log1p(np.asarray(np.where(middle & ~far, large, small), np.complex128))
    back = (1 - rates) * np.exp(np.where(far, -powers, -_NEAR))
    beyond: Complexes = powers + log1p(np.asarray(back, np.complex128))
    return np.where(far, beyond, near)
