r"""The two tails of chi-square as Arb balls, by sums of positive terms.

With :math:`a = r/2`, the regularised incomplete gamma functions are

.. math:: P(a, x) = \frac{x^ae^{-x}}{\Gamma(a+1)}\sum_{n\ge0}\frac{x^n}{(a+1)\cdots(a+n)}, \qquad
    Q(a, x) = \frac{x^{a-1}e^{-x}}{\Gamma(a)}\sum_{k<K}\frac{(a-1)\cdots(a-k)}{x^k} + Q(a-K, x),

with a - K in {1/2, 1}. Nothing cancels, and once the ratio q of the next terms is below 1 the rest
is at most q/(1 - q) times the last term, for the ratios fall; so is the rest of the second sum with
its last part, since :math:`\Gamma(c, x) \le x^{c-1}e^{-x}` for c up to 1 makes that at most the
next term. After the last one the formal ratio (a - K - 1)/x is 0 or, for odd r, negative, and the
last part is still at most the term itself and no less: so a ratio below 0 counts as 0. The general
function of the ball library loses about r bits here.
"""

from __future__ import annotations

from flint import arb, ctx

from quaestor.accounting.numerics.balls import ONE, ZERO, between

__all__ = ["MOST_DEGREES", "chi_square_tails"]

MOST_DEGREES = 10**8  # some root of this many terms are added up


def chi_square_tails(degrees: int, x: arb) -> tuple[arb, arb]:
    """P(degrees/2, x) and Q(degrees/2, x): below and above 2x.

    >>> below, above = chi_square_tails(2, arb(3))
    >>> bool(above.overlaps(arb(-3).exp())), bool((below + above).overlaps(ONE))
    (True, True)
    """
    if not x > 0:
        return (ZERO, ONE) if x <= 0 else (between(ZERO, ONE), between(ZERO, ONE))
    if float(x.mid()) < degrees / 2:
        below = _below(arb(degrees) / 2, x)
        return below, 1 - below
    above = _above(degrees, x)
    return 1 - above, above


def _below(a: arb, x: arb) -> arb:
    enough = arb(2) ** -ctx.prec
    term = total = ONE
    place = a
    while True:
        place += 1
        term *= x / place
        total += term
        ratio = x / (place + 1)
        if term < enough and ratio < 1:
            break
    total += between(ZERO, term * ratio / (1 - ratio))
    return (a * x.log() - x - (a + 1).lgamma()).exp() * total


def _above(degrees: int, x: arb) -> arb:
    a, enough = arb(degrees) / 2, arb(2) ** -ctx.prec
    scale = ((a - 1) * x.log() - x - a.lgamma()).exp()
    term, total = ONE, ZERO
    for k in range(1, (degrees + 1) // 2):
        total += term
        term *= (a - k) / x
        ratio = ((a - k - 1) / x).max(ZERO)
        if term < enough and ratio < 1:
            return scale * (total + between(ZERO, term / (1 - ratio)))
    last = x.sqrt().erfc() if degrees % 2 else (-x).exp()
    return scale * total + last
