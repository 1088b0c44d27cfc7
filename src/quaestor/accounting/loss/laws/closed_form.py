r"""Closed forms that several laws share: what a law knows of its own profile without an integral.

For a pair (P, Q) that is the same both ways, with profile delta, sampled at rate q:

* removing a person: :math:`q\,\delta(\log(1+(e^\varepsilon-1)/q))`;
* adding one: :math:`(1-\alpha(1-q))\,\delta(\log\frac{\alpha q}{1-\alpha(1-q)})` with
  :math:`\alpha = e^\varepsilon`, and 0 once :math:`\alpha(1-q) \ge 1`.
"""

from __future__ import annotations

from collections.abc import Callable

from flint import arb

from quaestor.accounting.numerics.balls import ZERO, between

__all__ = ["Curve", "blurred", "laplace_delta", "sampled"]

Curve = Callable[[arb], arb]
"""From an epsilon to an enclosure of delta."""


def blurred(parameter: float) -> arb:
    """A parameter that comes from float arithmetic, and may be off by a few ulps."""
    return arb(parameter) * (1 + arb(0, 1e-15))


def laplace_delta(shift: arb, epsilon: arb) -> arb:
    """Laplace noise, with the shift in units of its scale."""
    value = -((epsilon - shift) / 2).expm1()
    return value.max(ZERO)


def sampled(curve: Curve, rate: float, *, removing: bool) -> Curve:
    """The curve of removing a person who is in with this probability, or of adding one."""

    def removed(epsilon: arb) -> arb:
        return rate * curve((epsilon.expm1() / rate).log1p())

    def added(epsilon: arb) -> arb:
        odds = epsilon.exp()
        left = 1 - odds * (1 - arb(rate))
        if left < 0:
            return ZERO
        if not left > 0:
            return between(ZERO, left.upper().max(ZERO))
        return left * curve((odds * rate / left).log())

    return removed if removing else added
