r"""One release alone, or several graph sketches that are one with more rows, in closed form.

For a pair (P, Q) that is the same both ways, with profile delta, sampled at rate q:

* removing a person: :math:`q\,\delta(\log(1+(e^\varepsilon-1)/q))`;
* adding one: :math:`(1-\alpha(1-q))\,\delta(\log\frac{\alpha q}{1-\alpha(1-q)})` with
  :math:`\alpha = e^\varepsilon`, and 0 once :math:`\alpha(1-q) \ge 1`.

A graph sketch of r rows and excess b tells N(0, 1) and N(0, 1 + b) apart by the sum of squares.
With :math:`t_\pm = (\tfrac r2\ln(1+b) \pm \varepsilon)/b` and the regularised incomplete gamma
functions P and Q,

* the wider Gaussian first: :math:`Q(\tfrac r2, t_+) - e^\varepsilon Q(\tfrac r2, (1+b)t_+)`;
* the narrower first: :math:`P(\tfrac r2, (1+b)t_-) - e^\varepsilon P(\tfrac r2, t_-)`, and 0 where
  :math:`t_- \le 0`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from flint import arb

from quaestor.accounting.loss.laws.bounded_range import BoundedRangeLoss
from quaestor.accounting.loss.laws.gaussian import GaussianLoss
from quaestor.accounting.loss.laws.laplace import LaplaceLosses
from quaestor.accounting.loss.laws.sampled_gaussian import SampledGaussianLosses
from quaestor.accounting.loss.laws.sampled_laplace import SampledLaplaceLoss
from quaestor.accounting.loss.laws.sketch import GraphSketchLoss
from quaestor.accounting.numerics.balls import ZERO, between, outward, refined
from quaestor.accounting.numerics.chi_square import MOST_DEGREES, chi_square_tails
from quaestor.accounting.numerics.gaussian_tails import gaussian_delta

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.accounting.loss.engine.loss_sum import Product
    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.numerics.bounds import Bounds

__all__ = ["closed_form"]


def closed_form(product: Product) -> Callable[[float], Bounds] | None:
    """The profile of a product of one loss, where it has a closed form; None otherwise."""
    if product.moments_only or len(product.terms) != 1:
        return None
    law, count = product.terms[0]
    if isinstance(law, GraphSketchLoss) and law.rows * count <= MOST_DEGREES:
        return _profile(_graph_sketch(law, law.rows * count))
    curve = _curve(law) if count == 1 else None
    return None if curve is None else _profile(curve)


def _curve(law: Law) -> Callable[[arb], arb] | None:
    """The closed form; parameters that come from float arithmetic may be off by a few ulps."""
    match law:
        case GaussianLoss():
            return partial(gaussian_delta, _blurred(law.mu))
        case LaplaceLosses() if list(law.counts) == [1.0]:
            return partial(_laplace, _blurred(float(law.epsilons[0])))
        case BoundedRangeLoss():
            return partial(_bounded_range, _blurred(law.epsilon))
        case SampledGaussianLosses() if list(law.counts) == [1.0]:
            plain = partial(gaussian_delta, _blurred(float(law.mus[0])))
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


def _laplace(shift: arb, epsilon: arb) -> arb:
    value = -((epsilon - shift) / 2).expm1()
    return value.max(ZERO)


def _bounded_range(spread: arb, epsilon: arb) -> arb:
    below = (-((epsilon - spread) / 2).expm1()).max(ZERO)
    return below * below / -(-spread).expm1()


def _graph_sketch(law: GraphSketchLoss, rows: int) -> Callable[[arb], arb]:
    def curve(epsilon: arb) -> arb:
        excess = 2 * arb(law.sensitivity) / arb(law.weight)
        middle, odds = arb(rows) / 2 * excess.log1p(), epsilon.exp()
        if law.wider:
            place = (middle + epsilon) / excess
            far = chi_square_tails(rows, place * (1 + excess))[1]
            return chi_square_tails(rows, place)[1] - odds * far
        place = (middle - epsilon) / excess
        far = chi_square_tails(rows, place * (1 + excess))[0]
        return far - odds * chi_square_tails(rows, place)[0]

    return curve


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
