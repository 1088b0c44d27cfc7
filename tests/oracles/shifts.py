"""Continuous noise, and composition with it: hockey sticks at any real epsilon, in balls.

A profile is a function from a real epsilon, of either sign, to delta. Composed with outcomes, a
profile is summed over them: given an outcome with loss l, delta at epsilon - l remains.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product as every
from math import comb
from typing import TYPE_CHECKING, TypeAlias

from flint import acb, arb

from tests.oracles.balls import ball, positive_part, tail
from tests.oracles.outcomes import NEVER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.oracles.outcomes import Outcomes

__all__ = [
    "Profile",
    "bounded_range",
    "gaussian",
    "laplace",
    "laplace_log_moment",
    "laplaces",
    "sampled_gaussian",
    "sampled_gaussian_log_moment",
    "sampled_laplace",
    "sampled_laplace_log_moment",
    "summed",
]

Profile: TypeAlias = Callable[[arb], arb]


def gaussian(mu: arb) -> Profile:
    """N(mu, 1) against N(0, 1): beyond x = at/mu + mu/2 the first one is favoured."""
    return lambda at: _difference(at / mu - mu / 2, at / mu + mu / 2)


def _difference(near: arb, far: arb) -> arb:
    """T(near) - e^((far^2 - near^2)/2) T(far), where T is the tail of the normal law.

    Far out T(x) e^(x^2/2) is an alternating series, between any two of its partial sums.
    """
    if not far > 2**20:
        return tail(near) - ((far - near) * (far + near) / 2).exp() * tail(far)
    terms, square = [arb(1)], far * far
    for odd in range(1, 13, 2):
        terms.append(-terms[-1] * odd / square)
    mills = sum(terms[:-1], arb(0)).union(sum(terms, arb(0))) / far / (2 * arb.pi()).sqrt()
    return tail(near) - (-near * near / 2).exp() * mills


def laplace(shift: arb) -> Profile:
    """Noise of scale 1 around 0 against around ``shift``; the loss falls linearly between."""

    def profile(at: arb) -> arb:
        if at <= -shift:
            return -at.expm1()
        return positive_part(-((at - shift) / 2).expm1())

    return profile


def sampled_gaussian(mu: arb, rate: float, *, removing: bool) -> Profile:
    """The mixture w(x) N(0, 1), w = 1 - q + q e^(mu x - mu^2/2), against N(0, 1), or turned round.

    w rises with x, and crosses e^at, or e^-at, at one place. There the terms that do not cancel
    are those of two Gaussians.
    """

    def profile(at: arb) -> arb:
        crossing, gain = _crossing(at, ball(rate), removing=removing)
        if crossing is None:
            return gain
        place = (crossing + mu * mu / 2) / mu
        if removing:
            return gain * _difference(place - mu, place)
        return gain * _difference(-place, mu - place)

    return profile


def _crossing(at: arb, q: arb, *, removing: bool) -> tuple[arb | None, arb]:
    """Where 1 - q + q e^l is e^at, or e^-at, and the weight of what is gained beyond.

    Nowhere: None, and all that is gained. Not a number where the precision does not decide.
    """
    if removing:
        excess = q * (-at).exp() - (-at).expm1() if at > 0 else at.expm1() + q
        if excess <= 0:
            return None, -at.expm1()
        needed = excess.log() + at if at > 0 else excess.log()
        return needed - q.log(), q
    if q == 1:
        return -at, arb(1)
    gain = arb(0) if at > 10**9 else q * at.exp() - at.expm1()
    if gain <= 0:
        return None, arb(0)
    return gain.log() - at - q.log(), gain


def sampled_laplace(shift: arb, rate: float, *, removing: bool) -> Profile:
    """As for the Gaussian; the log-ratio |x| - |x - shift| rises from 0 to ``shift`` only."""

    def profile(at: arb) -> arb:
        crossing, gain = _crossing(at, ball(rate), removing=removing)
        if crossing is None:
            return gain
        if removing:
            if crossing <= -shift:
                return -at.expm1()
            return positive_part(-gain * ((crossing - shift) / 2).expm1())
        if crossing >= shift:
            return -at.expm1()
        return positive_part(-gain * (-(crossing + shift) / 2).expm1())

    return profile


def bounded_range(epsilon: arb) -> Profile:
    """The worst pair of two outcomes whose log-ratios differ by epsilon, at each ``at``.

    With t the larger log-ratio, delta is q (1 - e^(at - t)), q = (1 - e^(t - epsilon)) / (1 -
    e^-epsilon), which is largest at t = (at + epsilon)/2.
    """

    def profile(at: arb) -> arb:
        if at >= epsilon:
            return arb(0)
        if at <= -epsilon:
            return -at.expm1()
        return ((at - epsilon) / 2).expm1() ** 2 / -(-epsilon).expm1()

    return profile


def laplaces(shifts: Sequence[arb]) -> Profile:
    """Several Laplace releases, of shifts e_i: a sum over which are atoms and which are between.

    A loss is e with probability 1/2, -e with e^-e/2, and between them has density e^((l-e)/2)/4.
    The sum S of j losses between has density 4^-j e^((S-sum e)/2) times that of j uniform numbers:
    sum over signs (product of signs) (top - S)_+^(j-1)/(j-1)!, top the signed sum of the e_i.
    And of (1 - e^(T-S)) e^(S/2) (top - S)^(j-1)/(j-1)! the integral from T to top is e^(T/2) times
    the j-fold integral of 2 sinh(v/2) from 0 to top - T.
    """

    def profile(at: arb) -> arb:
        whole = arb(0)
        for kinds in every((1, -1, 0), repeat=len(shifts)):
            pairs = list(zip(kinds, shifts, strict=True))
            atoms = [(kind, e) for kind, e in pairs if kind]
            between = [e for kind, e in pairs if not kind]
            mass = arb(1)
            for kind, e in atoms:
                mass = mass / 2 if kind > 0 else mass * (-e).exp() / 2
            rest = at - sum((kind * e for kind, e in atoms), arb(0))
            if between:
                whole += mass * _between(between, rest)
            else:
                whole += mass * positive_part(-rest.expm1())
        return whole

    return profile


def _between(shifts: Sequence[arb], at: arb) -> arb:
    count, whole = len(shifts), arb(0)
    for signs in every((1, -1), repeat=count):
        sign = (-1) ** signs.count(-1)
        top = sum((s * e for s, e in zip(signs, shifts, strict=True)), arb(0))
        distance = top - at
        if distance <= 0:
            continue
        whole += sign * _repeated_integral(positive_part(distance), count)
    weight = ((at - sum(shifts, arb(0))) / 2).exp() / arb(4) ** count
    return weight * whole


def _repeated_integral(distance: arb, count: int) -> arb:
    """The ``count``-fold integral of 2 sinh(v/2) from 0: exponentials less their first terms."""
    half = distance / 2
    rising, falling, term = half.exp(), (-half).exp(), arb(1)
    for power in range(count):
        rising -= term
        falling -= term if power % 2 == 0 else -term
        term = term * half / (power + 1)
    return arb(2) ** count * (rising - falling if count % 2 == 0 else rising + falling)


def summed(outcomes: Outcomes, profile: Profile, at: float) -> arb:
    """Delta of the outcomes and of the profile's release together."""
    epsilon, whole = ball(at), arb(0)
    for p, q in outcomes:
        if p == NEVER:
            continue
        whole += p.exp() * profile(epsilon + q - p) if q.is_finite() else p.exp()
    return whole


# ------------------------------------------------------------------------- moments


def laplace_log_moment(shift: arb, order: float) -> arb:
    """The loss is the shift, or minus the shift, or between: three exponential integrals."""
    s = ball(order)
    between = shift if (2 * s + 1) == 0 else -(-(2 * s + 1) * shift).expm1() / (2 * s + 1)
    inside = between / 2  # (1/4) times the integral of e^((s + 1/2) l - e/2), over e^(s e)
    return s * shift + (arb(1) / 2 + (-(2 * s + 1) * shift).exp() / 2 + inside).log()


def sampled_laplace_log_moment(shift: arb, rate: float, order: float, *, removing: bool) -> arb:
    """E under Q of w^(order + 1), or of w^-order, w = 1 - q + q e^l, integrated by Arb."""
    q, power = ball(rate), ball(order) + 1 if removing else -ball(order)

    def atom(loss: arb) -> arb:
        return power * (1 - q + q * loss.exp()).log()

    top, bottom = atom(shift) - shift, atom(-shift)
    largest = top.max(bottom)

    def scaled(loss: acb, _: object) -> acb:
        w = 1 - q + q * loss.exp()
        return (-(loss + shift) / 2 + acb(power) * w.log() - largest).exp() / 4

    middle = acb.integral(scaled, acb(-shift), acb(shift)).real
    whole = ((top - largest).exp() + (bottom - largest).exp()) / 2 + middle
    return largest + whole.log()


def sampled_gaussian_log_moment(mu: arb, rate: float, order: int) -> arb:
    """Removing, for a whole order: E under Q of w^(order + 1), by the binomial theorem."""
    q, n = ball(rate), order + 1
    terms = [
        ball(comb(n, j)).log()
        + ((n - j) * (1 - q).log() if j < n else 0)
        + (j * q.log() if j > 0 else 0)
        + ball(j * (j - 1)) * mu * mu / 2
        for j in range(n + 1)
        if rate < 1 or j == n
    ]
    top = max(terms, key=lambda term: term.mid())
    return top + sum(((term - top).exp() for term in terms), arb(0)).log()
