"""The privacy of Johnson-Lindenstrauss sketches, by integrating densities; results are ``mpf``.

Both functions start from Gaussian densities in two worlds. What they integrate is the sum of
squares of the coordinates, of which the ratio of the densities is a function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpmath import mp, mpf

from tests.oracles.composition import rounded

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.oracles.composition import Number

__all__ = ["graph_delta", "graph_then_gaussian_delta", "matrix_delta", "missed"]

_DIGITS = 30


def _log_density(rows: int, t: mpf, variance: mpf) -> mpf:
    """Of the sum of squares of ``rows`` normal numbers of this variance."""
    half = mpf(rows) / 2
    return (
        (half - 1) * mp.log(t)
        - t / (2 * variance)
        - half * mp.log(2 * variance)
        - mp.loggamma(half)
    )


def _integral(function: Callable[[mpf], mpf], rows: int, variance: mpf, *breaks: mpf) -> mpf:
    """Over all sums of squares, in pieces of two standard deviations."""
    centre, spread = rows * variance, mp.sqrt(2 * mpf(rows)) * variance
    pieces = {max(mpf(0), centre + 2 * k * spread) for k in range(-10, 30)}
    pieces |= {mpf(0), *(place for place in breaks if place > 0)}
    pieces |= {mp.mpf(10) ** -k * spread for k in range(1, 12)} if rows < 8 else set()
    return mp.quad(function, [*sorted(pieces), max(pieces) * 4])


def graph_delta(*, rows: int, excess: Number, at: Number, wider: bool) -> mpf:
    """N(0, (1 + excess) I) against N(0, I) in ``rows`` dimensions, or turned round."""
    with mp.workdps(_DIGITS):
        b, epsilon = rounded(excess), rounded(at)
        first, second = (1 + b, mpf(1)) if wider else (mpf(1), 1 + b)
        # the log-ratio is rows/2 ln(second/first) + t/2 (1/second - 1/first): where is it epsilon?
        place = (epsilon - mpf(rows) / 2 * mp.log(second / first)) * 2 / (1 / second - 1 / first)

        def gained(t: mpf) -> mpf:
            if t <= 0:
                return mpf(0)
            one, other = (_log_density(rows, t, variance) for variance in (first, second))
            return max(mp.exp(one) - mp.exp(epsilon + other), mpf(0))

        return _integral(gained, rows, max(first, second), place)


def matrix_delta(*, rows: int, weight: Number, at: Number) -> mpf:
    """N(0, I) against N(0, diag(e^g, e^-g)), ``rows`` times, sinh(g/2) being 1/(2 weight).

    The log-ratio is u (e^-g - 1)/2 + v (e^g - 1)/2 with u and v the sums of squares of the two
    coordinates; for each u, the first world is favoured from some v on.
    """
    with mp.workdps(_DIGITS):
        g, epsilon = 2 * mp.asinh(1 / (2 * rounded(weight))), rounded(at)
        wide, narrow, half = mp.exp(g), mp.exp(-g), mpf(rows) / 2

        def beyond(v: mpf) -> mpf:
            return mp.gammainc(half, v / 2, regularized=True)

        def from_here(u: mpf) -> mpf:
            return (2 * epsilon + u * (1 - narrow)) / (wide - 1)

        def gained(u: mpf) -> mpf:
            if u <= 0:
                return mpf(0)
            v = from_here(u)
            one = mp.exp(_log_density(rows, u, mpf(1))) * beyond(v)
            other = mp.exp(_log_density(rows, u, wide)) * beyond(v / narrow)
            return one - mp.exp(epsilon) * other

        return _integral(gained, rows, mpf(1))


def graph_then_gaussian_delta(*, rows: int, excess: Number, mu: Number, at: Number) -> mpf:
    """A graph sketch (the wider world first) and then Gaussian noise: the losses add up."""
    with mp.workdps(_DIGITS):
        b, shift, epsilon = rounded(excess), rounded(mu), rounded(at)

        def gaussian(left: mpf) -> mpf:
            near, far = left / shift - shift / 2, left / shift + shift / 2
            return (mp.erfc(near / mp.sqrt(2)) - mp.exp(left) * mp.erfc(far / mp.sqrt(2))) / 2

        def gained(t: mpf) -> mpf:
            if t <= 0:
                return mpf(0)
            loss = t * b / 2 - mpf(rows) / 2 * mp.log(1 + b)
            return mp.exp(_log_density(rows, t, mpf(1))) * gaussian(epsilon - loss)

        return _integral(gained, rows, mpf(1))


def missed(*, rows: int, eta: Number) -> mpf:
    """The probability that the mean of ``rows`` squares is further than eta from 1."""
    with mp.workdps(_DIGITS):
        half, gap = mpf(rows) / 2, rounded(eta)
        above = mp.gammainc(half, half * (1 + gap), regularized=True)
        return above + (mp.gammainc(half, 0, half * (1 - gap), regularized=True) if gap < 1 else 0)
