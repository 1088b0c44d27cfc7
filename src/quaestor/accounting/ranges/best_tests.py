r"""Which tests can be the best ones against k bounded-range releases: all others are ruled out.

Notation: n = k + 1, h = epsilon/n, the gain :math:`G_l = \max_t g_l(t)` of the test "at most l
losses below zero", attained at :math:`t_l = (\varepsilon_g + (l+1)\varepsilon)/n`. The step from
:math:`G_{c-1}` to :math:`G_c` has the sign of 1 - Q(c), where

.. math:: Q(c) = \frac{ch}{1-e^{-\tau_1}} \int_0^1 \frac{\pi(t_\theta)}{\pi(t_1)}\,
          \frac{1-e^{-\theta\varepsilon}}{1-e^{-t_\theta}}\,d\theta, \qquad
          \pi(t) = (e^\varepsilon-e^t)^{k-c}\,(e^t-1)^c,

:math:`t_\theta = (\varepsilon_g+(c+\theta)\varepsilon)/n` and :math:`\tau = \varepsilon - t`.

*Why.* Let x be the log-odds of the loss t, so that its probability in the first world is the
logistic function s(x), and in the second s(x - epsilon). With :math:`\hat\pi = \binom kc
s^{k-c}(1-s)^c`, the derivative of the binomial probability of at most l lower losses is
:math:`w_l`, where :math:`w_{c-1} = cs\hat\pi` and :math:`w_c = (k-c)(1-s)\hat\pi = \hat\pi' +
w_{c-1}`. For any f write :math:`\Delta f(x) = f(x) - e^{\varepsilon_g}f(x-\varepsilon)`; then
:math:`g_l' = \Delta w_l`, :math:`g_c - g_{c-1} = \Delta\hat\pi`, and from :math:`x_0` at
:math:`t_0` to :math:`x_1` at :math:`t_1` (the best places of the tests c - 1 and c)

.. math:: G_c - G_{c-1} = \Delta\hat\pi(x_0) + \int_{x_0}^{x_1}\Delta w_c\,dx
          = \Delta\hat\pi(x_1) + \int_{x_0}^{x_1}\Delta w_{c-1}\,dx.

Put in the pair: :math:`\Delta\hat\pi(x_1) = \hat\pi(x_1)(1-e^{-\tau_1})` and :math:`\Delta
w_{c-1}\,dx = -c\,\hat\pi\,\frac{1-e^{-\theta\varepsilon}}{1-e^{-t}}\,dt`.

*Bounds at one c.* Without the factor :math:`1-e^{-\theta\varepsilon}` the integrand is log-concave
in theta (c >= 1 and k >= c): it lies above the exponential through its two ends, and below the one
that touches it in the middle. Both leave elementary integrals.

*From one c to many.* For real c, with :math:`A = 1/(e^\tau-1)` and :math:`m =
k-\varepsilon_g/\varepsilon`,

.. math:: (\log Q)'(c) \ge -\frac{k-c}{c}\,hA(t_1) \quad\text{and}\quad
          (\log Q)'(c) \ge -\frac{k-c}{c\,(m-c)}.

Substitute :math:`Y = ((e^t-1)/(e^{t_1}-1))^c`, so that :math:`Q = \int_0^1 e^{\varphi}\,dY` with
:math:`\varphi = (k-c)\int_{t_\theta}^{t_1}A + \log(1-e^{-\theta\varepsilon})_+ -
\log(1-e^{-\tau_1})`. At fixed Y, theta grows with c, but :math:`\theta' \le (1-\theta)/c`: with
:math:`\zeta = Y^{1/c} = (e^{t_\theta}-1)/(e^{t_1}-1)`, :math:`h\theta' e^{t_\theta} =
(e^{t_\theta}-1)(-\log\zeta)/c - h(1-\zeta)`; the right side is not negative because
:math:`1-\zeta \le -\log\zeta` and :math:`e^{t_\theta}-1 \ge ch`, and at most
:math:`e^{t_\theta}(1-\theta)h/c` because :math:`-\log\zeta \le (1-\theta)h/(1-e^{-t_\theta})`.
Then :math:`\varphi' \ge (hA(t_1) - \int A) + (k-c)h(A(t_1)-A(t_\theta)) -
\theta'(k-c)hA(t_\theta)`. As A grows with t, the first two are not negative; :math:`\theta' \le
1/c`, and :math:`hA(t_\theta)` is at most :math:`hA(t_1)` and :math:`h/\tau_\theta \le 1/(m-c)`.

So a Q well above 1 stays above 1 for a while to the right, and one well below 1 stays below to the
left. Away from the best test, log Q is about as far from 0 as c is from there, in proportion, so
that the stretches double and some dozens of points suffice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Truths = NDArray[np.bool_]
    Whole = NDArray[np.int64]

__all__ = ["Contenders", "contenders", "likely_test"]

_MOST_TESTS = 64
_MOST_GAPS = 1024
_SPACING = 1.5
_DOUBT = 1e-12  # relative rounding of the few dozen operations behind log Q; really below 1e-14
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_SHARES, _SHARE_WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2


class Contenders(NamedTuple):
    """Tests among which the best one is, unless they are but a sample of too many."""

    tests: list[int]
    complete: bool


def contenders(*, count: int, epsilon: float, at: float) -> Contenders:
    """The tests l that may be best at the global epsilon ``at``; no other one is better.

    Usually one or two; none where ``at`` is at least ``count * epsilon``. Too many only where
    floats cannot tell them apart: for counts of 1e12 or so, or where delta is almost 1.

    >>> contenders(count=4, epsilon=1.0, at=1.0)
    Contenders(tests=[1], complete=True)
    """
    place = _Place.of(count, epsilon, at)
    if place.last <= 0:
        return Contenders([0] if place.last == 0 else [], complete=True)
    steps = _bounded(place, _first_points(place))
    gaps = _gaps(place, steps)
    while 0 < (more := _unexplored(steps, gaps)).size <= _MOST_GAPS:
        added = _bounded(place, more)
        order = np.argsort(np.concatenate((steps.at, added.at)))
        merged = (np.concatenate(pair)[order] for pair in zip(steps, added, strict=True))
        steps = _Steps(*merged)
        gaps = _gaps(place, steps)
    found = _peaks(steps, gaps, place.last)
    if more.size or len(found) > _MOST_TESTS:
        return Contenders([found[len(found) // 2]], complete=False)
    return Contenders(found, complete=True)


def likely_test(*, count: int, epsilon: float, at: float) -> int:
    """A test that is best, or almost, at an ``at`` below ``count * epsilon``; only ever a guess."""
    place = _Place.of(count, epsilon, at)
    if place.last <= 0:
        return 0
    turn = _turn(place)
    return turn - 1 + _rising(_bounded(place, np.array([turn, min(turn + 1, place.last)])))


@dataclass(frozen=True, slots=True)
class _Place:
    """The question, and m = count - at/epsilon as a whole number and the part beyond it."""

    count: int
    epsilon: float
    at: float
    whole: int
    part: float

    @classmethod
    def of(cls, count: int, epsilon: float, at: float) -> _Place:
        room = count - Fraction(at) / Fraction(epsilon)
        return cls(count, epsilon, at, math.floor(room), float(room - math.floor(room)))

    @property
    def last(self) -> int:
        """The last test that gains anything."""
        return self.whole if self.part > 0.0 else self.whole - 1

    def room(self, c: Whole) -> Floats:
        """How far c is below m, with a relative error of few units in the last place."""
        return np.asarray((self.whole - c) + self.part, np.float64)


class _Steps(NamedTuple):
    """Bounds on log Q at some whole numbers c, in rising order."""

    at: Whole
    lower: Floats
    upper: Floats


class _Gaps(NamedTuple):
    """What is known of all the steps from one point to the next, both points included."""

    fall: Truths
    rise: Truths


def _turn(place: _Place) -> int:
    """About where Q passes 1: narrowed down thirty-two-fold at a time."""
    low, high = 1, place.last
    while high - low > 1:
        tried = np.unique(np.linspace(low, high, 33).astype(np.int64))
        ahead = _rising(_bounded(place, tried))
        low, high = int(tried[max(ahead - 1, 0)]), int(tried[min(ahead, tried.size - 1)])
    return low


def _rising(steps: _Steps) -> int:
    """How many of the steps rise, as far as one can tell."""
    return int(np.count_nonzero(np.maximum(steps.lower, -1e300) < -steps.upper))


def _first_points(place: _Place) -> Whole:
    """Whole numbers around the likely best test, ever further apart, and both ends."""
    middle, last = _turn(place), place.last
    sizes = np.arange(math.ceil(math.log(place.count + 1, _SPACING)) + 1)
    apart = np.floor(_SPACING**sizes)
    points = np.concatenate((middle - apart, [middle], middle + apart, [1, last]))
    return np.unique(points[(points >= 1) & (points <= last)]).astype(np.int64)


def _bounded(place: _Place, c: Whole) -> _Steps:
    """Bounds on log Q; infinite where floats cannot tell."""
    epsilon, at, n = place.epsilon, place.at, place.count + 1
    with np.errstate(all="ignore"):
        h, rest = epsilon / n, (place.count - c).astype(np.float64)
        before, after = (at + c * epsilon) / n, (at + (c + 1) * epsilon) / n  # t at theta 0 and 1
        above = place.room(c) * h  # tau at theta 1

        def fall(share: float) -> Floats:
            """How far the log of the integrand is at theta = 1 above theta = 1 - share."""
            first = np.log1p(-np.expm1(-share * h) / np.expm1(above))  # of e^eps - e^t
            second = np.log1p(np.expm1(share * h) / -np.expm1(share * h - after))  # of e^t - 1
            value: Floats = (c - 1) * second - rest * first + share * h
            return value

        slope = h * (1 + (c - 1) / -np.expm1(h / 2 - after) - rest / np.expm1(above + h / 2))
        scale = np.log(c * h) - _log1mexp(above) - _log1mexp(after)
        size = c * np.log1p(np.expm1(h) / -np.expm1(-before)) + rest * h / np.expm1(above)
        doubt = _DOUBT * (4 + size + h + epsilon)
        lower = scale + _log_ramp(fall(1.0), epsilon) - doubt
        upper = scale - fall(0.5) + slope / 2 + _log_ramp(slope, epsilon) + doubt
        lower = np.where(np.isfinite(lower), lower, -np.inf)
        upper = np.where(np.isfinite(upper), upper, np.inf)
    return _Steps(c, lower, upper)


def _log1mexp(x: Floats) -> Floats:
    value: Floats = np.log(-np.expm1(-x))
    return value


def _log_ramp(fall: Floats, epsilon: float) -> Floats:
    r"""The log of :math:`I = \int_0^1 e^{-fall\,s}(1-e^{-(1-s)\varepsilon})\,ds`, or NaN.

    For r = -fall > 1 nothing cancels in :math:`I = e^r\,(\varepsilon - e^{-r}(\varepsilon +
    r(1-e^{-\varepsilon})))/(r(r+\varepsilon))`. Otherwise, where the exponents are small, by 24
    Gauss-Legendre nodes: the remainder is 1.6e-90 times a 48th derivative, which is at most 30^48
    times the integrand's largest value. Otherwise by the two integrals, if they differ enough.
    """
    r = np.maximum(-fall, 1.0)
    rest = epsilon - np.exp(-r) * (epsilon - r * math.expm1(-epsilon))
    steep = r + np.log(rest / (r * (r + epsilon)))
    ramp = -np.expm1(-(1 - _SHARES) * epsilon) * _SHARE_WEIGHTS
    shares = np.exp(-np.outer(np.clip(fall, -1.0, 24.0), _SHARES))
    smooth = np.log(np.sum(shares * ramp, axis=1))
    plain, shifted = _mean_exp(fall), _mean_exp(fall - epsilon) * math.exp(-epsilon)
    apart = np.log(np.where(plain > 1.001 * shifted, plain - shifted, np.nan))
    gentle = (fall <= 24.0) & (epsilon <= 2.0)
    value: Floats = np.where(fall < -1.0, steep, np.where(gentle, smooth, apart))
    return value


def _mean_exp(fall: Floats) -> Floats:
    """The mean of e^(-fall s) over s from 0 to 1."""
    safe = np.where(fall == 0.0, 1.0, fall)
    value: Floats = np.where(fall == 0.0, 1.0, -np.expm1(-safe) / safe)
    return value


def _gaps(place: _Place, steps: _Steps) -> _Gaps:
    """Which gaps the slope of log Q rules out: by their left end falling, or their right rising."""
    left, right = steps.at[:-1], steps.at[1:]
    count, h = place.count, place.epsilon / (place.count + 1)
    with np.errstate(all="ignore"):
        m, stretch = place.whole + place.part, np.log1p((right - left) / left)
        beyond = place.room(right)
        loss = count / m * stretch + (count - m) / m * np.log1p((right - left) / beyond)
        nearby = (count - left) / left * (right - left) * h / np.expm1(beyond * h)
        loss = np.minimum(loss, nearby) * (1 + 1e-9)
        loss = np.where(np.isfinite(loss), loss, np.inf)
    return _Gaps(fall=steps.lower[:-1] > loss, rise=-steps.upper[1:] > loss)


def _unexplored(steps: _Steps, gaps: _Gaps) -> Whole:
    """The middles of the gaps that nothing rules out."""
    left, right = steps.at[:-1], steps.at[1:]
    unknown = (right - left > 1) & ~gaps.fall & ~gaps.rise
    middles: Whole = (left[unknown] + right[unknown]) // 2
    return middles


def _peaks(steps: _Steps, gaps: _Gaps, last: int) -> list[int]:
    """The tests that no fall leads to and no rise leads away from; none lies inside a gap."""
    tests = np.unique(np.concatenate((steps.at - 1, steps.at)))

    def known(c: Whole, points: Truths, between: Truths) -> Any:
        place = np.clip(np.searchsorted(steps.at, c, side="right") - 1, 0, None)
        inside = np.append(between, False)[place]
        return np.where(steps.at[place] == c, points[place], inside)

    worse = (tests > 0) & known(tests, steps.lower > 0.0, gaps.fall)
    worse |= (tests < last) & known(tests + 1, steps.upper < 0.0, gaps.rise)
    return [int(test) for test in tests[~worse]]
