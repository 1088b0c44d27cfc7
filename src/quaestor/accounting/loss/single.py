r"""One release alone, in closed form.

For a pair (P, Q) that is the same both ways, with profile delta, sampled at rate q:

* removing a person: :math:`q\,\delta(\log(1+(e^\varepsilon-1)/q))`;
* adding one: :math:`(1-\alpha(1-q))\,\delta(\log\frac{\alpha q}{1-\alpha(1-q)})` with
  :math:`\alpha = e^\varepsilon`, and 0 once :math:`\alpha(1-q) \ge 1`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from flint import arb

from quaestor.accounting.balls import ZERO, between, outward, refined
from quaestor.accounting.loss.bounded_range import BoundedRangeLoss
from quaestor.accounting.loss.gaussian import GaussianLoss
from quaestor.accounting.loss.laplace import LaplaceLosses
from quaestor.accounting.loss.sampled_gaussian import SampledGaussianLosses
from quaestor.accounting.loss.sampled_laplace import SampledLaplaceLoss

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.accounting.bounds import Bounds
    from quaestor.accounting.loss.law import Law
    from quaestor.accounting.loss.product import Product

__all__ = ["closed_form"]


def closed_form(product: Product) -> Callable[[float], Bounds] | None:
    """The profile of a product of one loss, where it has a closed form; None otherwise."""
    if product.moments_only or len(product.terms) != 1 or product.terms[0][1] != 1:
        return None
    curve = _curve(product.terms[0][0])
    return None if curve is None else _profile(curve)


def _curve(law: Law) -> Callable[[arb], arb] | None:
    """The closed form; parameters that come from float arithmetic may be off by a few ulps."""
    match law:
        case GaussianLoss():
            return partial(_gaussian, _blurred(law.mu))
        case LaplaceLosses() if list(law.counts) == [1.0]:
            return partial(_laplace, _blurred(float(law.epsilons[0])))
        case BoundedRangeLoss():
            return partial(_bounded_range, _blurred(law.epsilon))
        case SampledGaussianLosses() if list(law.counts) == [1.0]:
            plain = partial(_gaussian, _blurred(float(law.mus[0])))
            return _sampled(plain, float(law.rates[0]), removing=law.removing)
        case SampledLaplaceLoss():
            plain = partial(_laplace, _blurred(law.epsilon))
            return _sampled(plain, law.rate, removing=law.removing)
        case _:
            return None


def _blurred(parameter: float) -> arb:
    return arb(parameter) * (1 + arb(0, 1e-15))


def _profile(curve: Callable[[arb], arb]) -> Callable[[float], Bounds]:
    def bounds(epsilon: float) -> Bounds:
        value = outward(refined(lambda _: curve(arb(epsilon))))
        return value.clipped(0.0, 1.0)

    return bounds


def _gaussian(mu: arb, epsilon: arb) -> arb:
    root = arb(2).sqrt()
    near, far = (epsilon / mu - mu / 2) / root, (epsilon / mu + mu / 2) / root
    return (near.erfc() - epsilon.exp() * far.erfc()) / 2


def _laplace(shift: arb, epsilon: arb) -> arb:
    value = -((epsilon - shift) / 2).expm1()
    return value.max(ZERO)


def _bounded_range(spread: arb, epsilon: arb) -> arb:
    below = (-((epsilon - spread) / 2).expm1()).max(ZERO)
    return below * below / -(-spread).expm1()


def _sampled(curve: Callable[[arb], arb], rate: float, *, removing: bool) -> Callable[[arb], arb]:
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
