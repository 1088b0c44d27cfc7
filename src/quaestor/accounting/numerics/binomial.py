r"""Certified binomial tails, in constant time for any number of trials.

``lower_tail(count=k, threshold=m, logit=x)`` encloses :math:`P[\mathrm{Bin}(k, s(-x)) \le m]`,
where :math:`s(x) = 1/(1+e^{-x})`: with ``logit=epsilon`` the trials are the lies of randomized
response. Two ways, each a proof:

* few terms (``m`` or ``k - m`` small): the sum itself, term by term in ball arithmetic;
* otherwise the beta integral in log-odds coordinates,

  .. math:: \frac{1}{B(k-m, m+1)} \int_{-\infty}^{x} g(u)\,du, \qquad
            g(u) = \frac{e^{(k-m)u}}{(1+e^u)^{k+1}},

  by Gauss-Legendre quadrature. The integrand is a narrow bell that is analytic around the real
  axis, so some thirty nodes give twenty digits, whatever ``k`` is. What quadrature and truncation
  leave out is bounded rigorously and added to the ball:

  - *Truncation.* :math:`\log g` is concave with slope :math:`d(u) = (k-m) - (k+1)s(u)`, so
    :math:`\int_{-\infty}^{L} g \le g(L)/d(L)`.
  - *Quadrature.* If :math:`|g| \le M` on the Bernstein ellipse with parameter :math:`\rho`, then
    an N-point rule on an interval of half-width w errs by at most
    :math:`\tfrac{64}{15}\,w\,M\rho^{-2N}/(1-\rho^{-2})` (expand in Chebyshev polynomials:
    coefficients are at most :math:`2M\rho^{-j}`, the rule is exact up to degree 2N-1, and each
    later even one errs by at most 32/15).
  - *The bound M.* :math:`|1+e^{u+iv}|^2 = (1+e^u)^2\,(1-\operatorname{sech}^2(u/2)\sin^2(v/2))`,
    hence :math:`|g(u+iv)| = g(u)\,(1-\operatorname{sech}^2(u/2)\sin^2(v/2))^{-(k+1)/2}`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from flint import arb, ctx

from quaestor.accounting.numerics.balls import ONE, ZERO, between, working_precision

if TYPE_CHECKING:
    from collections.abc import Callable

    _Integrand = Callable[[arb], arb]

__all__ = ["lower_tail", "upper_tail"]

_FEW_TERMS = 96
_ELLIPSES = tuple(1.1 * 1.09**i for i in range(24))  # candidate values of rho, 1.1 to 8
_NATS_PER_BIT = math.log(2)


def lower_tail(*, count: int, threshold: int, logit: float | arb, bits: int) -> arb:
    """Enclose ``P[X <= threshold]`` for X binomial with ``count`` trials of odds ``exp(-logit)``.

    Aims at ``bits`` bits of relative accuracy; the ball is valid whether or not it gets there. A
    ``logit`` that is itself a ball should be narrow: its whole width goes into the answer.

    >>> lower_tail(count=2, threshold=0, logit=0.0, bits=64).contains(arb(0.25))
    True
    """
    if threshold < 0:
        return ZERO
    if threshold >= count:
        return ONE
    end = arb(logit)
    extra = count.bit_length() + math.frexp(abs(float(end)) + 1.0)[1] + 16
    with working_precision(bits + extra):
        if threshold <= _FEW_TERMS:
            return _sum_of_terms(count, threshold, end)
        integral = _BetaIntegral(a=count - threshold, b=threshold + 1, end=end, bits=bits)
        if integral.ends_left_of_the_peak:
            return integral.enclose()
        if count - threshold - 1 <= _FEW_TERMS:
            return ONE - _sum_of_terms(count, count - threshold - 1, -end)
        mirrored = _BetaIntegral(a=threshold + 1, b=count - threshold, end=-end, bits=bits)
        return ONE - mirrored.enclose()


def upper_tail(*, count: int, threshold: int, logit: float | arb, bits: int) -> arb:
    """Enclose ``P[X > threshold]``, with relative accuracy where this is the small tail."""
    return lower_tail(count=count, threshold=count - threshold - 1, logit=-logit, bits=bits)


def _sum_of_terms(count: int, threshold: int, logit: float | arb) -> arb:
    odds = (-arb(logit)).exp()
    term = total = (-count * odds.log1p()).exp()
    for hits in range(threshold):
        term = term * odds * (count - hits) / (hits + 1)
        total += term
    return total


@lru_cache(maxsize=64)
def _legendre_rule(size: int, precision: int) -> tuple[tuple[arb, arb], ...]:
    """Nodes and weights on [-1, 1], as balls of the given precision."""
    with working_precision(precision):
        return tuple(arb.legendre_p_root(size, i, weight=True) for i in range(size))


@dataclass(frozen=True, slots=True, kw_only=True)
class _BetaIntegral:
    """The regularised integral of ``g`` from minus infinity to ``end``; see the module's text."""

    a: int
    b: int
    end: float | arb
    bits: int

    @property
    def ends_left_of_the_peak(self) -> bool:
        return float(self.end) <= math.log(self.a) - math.log(self.b)

    def enclose(self) -> arb:
        length, rho, size = self._plan()
        n = self.a + self.b
        scale = arb(n).lgamma() - arb(self.a).lgamma() - arb(self.b).lgamma()

        def g(u: arb) -> arb:
            return (self.a * u - n * u.exp().log1p() + scale).exp()

        high, half = arb(self.end), arb(length) / 2
        centre, low = high - half, high - 2 * half
        precision = -(-ctx.prec // 64) * 64  # a multiple of 64, so that rules are shared
        total = ZERO
        for node, weight in _legendre_rule(size, precision):
            total += weight * g(centre + half * node)
        slope = self.a - n / (1 + (-low).exp())
        left_out = between(ZERO, g(low) / slope)
        return half * (total + self._quadrature_error(g, centre, half, rho, size)) + left_out

    def _plan(self) -> tuple[float, float, int]:
        """Pick the window, the ellipse and the rule; a bad pick widens the ball, no more."""
        n, nats = self.a + self.b, self.bits * _NATS_PER_BIT + 8.0
        spread = math.sqrt(n / self.a / self.b)
        end = float(self.end)
        to_peak = max(math.log(self.a) - math.log(self.b) - end, 0.0)
        share = _logistic(end)
        sds = to_peak / spread
        length = spread * 2 * nats / (math.sqrt(sds * sds + 2 * nats) + sds)
        for _ in range(60):
            if self.a * length + n * math.log1p(share * math.expm1(-length)) >= nats:
                break
            length *= 1.25
        half, best = length / 2, (math.inf, _ELLIPSES[0])
        for rho in _ELLIPSES:
            beyond, height = half * ((rho + 1 / rho) / 2 - 1), half * (rho - 1 / rho) / 2
            if height >= 3.0:
                break
            step = min(beyond, to_peak)
            rise = self.a * step - n * math.log1p(share * math.expm1(step))
            nearest = max(end - length - beyond, -(end + beyond), 0.0)
            dip = (math.sin(height / 2) / math.cosh(min(nearest, 1000.0) / 2)) ** 2
            growth = rise - n / 2 * math.log1p(-dip)
            best = min(best, ((growth + nats) / (2 * math.log(rho)), rho))
        size = min(math.ceil(best[0] / 4) * 4, 2000) if math.isfinite(best[0]) else 64
        return length, best[1], size

    def _quadrature_error(
        self, g: _Integrand, centre: arb, half: arb, rho: float, size: int
    ) -> arb:
        ellipse = arb(rho)
        reach, height = half * (ellipse + 1 / ellipse) / 2, half * (ellipse - 1 / ellipse) / 2
        left, right, peak = centre - reach, centre + reach, (arb(self.a) / self.b).log()
        largest = g(right) if right < peak else g(peak)
        nearest = left if left > 0 else -right if right < 0 else ZERO
        dip = ((height / 2).sin() / (nearest / 2).cosh()) ** 2
        if not (dip < 1 and height < 3):
            return between(-ONE, ONE) / ZERO
        largest *= (-(arb(self.a + self.b) / 2) * (-dip).log1p()).exp()
        error = arb(64) / 15 * largest * ellipse ** (-2 * size) / (1 - ellipse**-2)
        return between(-error, error)


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0
