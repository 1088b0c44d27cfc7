r"""One release alone, in closed form.

For a pair (P, Q) that is the same both ways, with profile delta, sampled at rate q:

* removing a person: :math:`q\,\delta(\log(1+(e^\varepsilon-1)/q))`;
* adding one: :math:`(1-\alpha(1-q))\,\delta(\log\frac{\alpha q}{1-\alpha(1-q)})` with
  :math:`\alpha = e^\varepsilon`, and 0 once :math:`\alpha(1-q) \ge 1`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flint import arb

from quaestor.accounting.balls import ZERO, between, outward, refined
from quaestor.accounting.loss.gaussian import GaussianLoss
from quaestor.accounting.loss.laplace import LaplaceLosses
from quaestor.accounting.loss.sampled_gaussian import SampledGaussianLosses
from quaestor.accounting.loss.sampled_laplace import SampledLaplaceLoss

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.accounting.bounds import Bounds
    from quaestor.accounting.loss.product import Product

__all__ = ["closed_form"]


def closed_form(product: Product) -> Callable[[float], Bounds] | None:
    """The profile of a product of one loss, where it has a closed form; None otherwise."""
    if product.moments_only or len(product.terms) != 1 or product.terms[0][1] != 1:
        return None
    law = product.terms[0][0]
    if isinstance(law, GaussianLoss):
        # Gaussians are merged in floats: mu may be off by a few units in the last place
        mu = arb(law.mu) * (1 + arb(0, 1e-15))
        return _profile(lambda epsilon: _gaussian(mu, epsilon))
    if isinstance(law, LaplaceLosses) and list(law.counts) == [1.0]:
        shift = arb(float(law.epsilons[0])) * (1 + arb(0, 1e-15))
        return _profile(lambda epsilon: _laplace(shift, epsilon))
    if isinstance(law, SampledGaussianLosses) and list(law.counts) == [1.0]:
        mu, rate = arb(float(law.mus[0])) * (1 + arb(0, 1e-15)), float(law.rates[0])
        curve = _sampled(lambda epsilon: _gaussian(mu, epsilon), rate, removing=law.removing)
        return _profile(curve)
    if isinstance(law, SampledLaplaceLoss):
        shift = arb(law.epsilon) * (1 + arb(0, 1e-15))
        curve = _sampled(lambda epsilon: _laplace(shift, epsilon), law.rate, removing=law.removing)
        return _profile(curve)
    return None


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
