r"""What one release reveals, in plain floats, from its parameters alone.

For most kinds the test "the loss is at least c" has a closed form: a tail of the noise around the
one value against the same tail around the other. :math:`P(A) - e^\varepsilon Q(A)` is a lower bound
on delta for *any* A, and delta itself for the best one, c = epsilon. Everything is rounded away
from the claim: relative margins of 1e-9 cover the few rounding errors of each formula many times
over, and arguments that come out of a cancellation are moved outward by more than it can have cost.

Each kind has its opinion in its own file; here is what they share. Nothing of it asks the laws of
the loss engine: this is what its answers are held against.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from quaestor.accounting.numerics.gaussian_tails import gaussian_tail

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "MARGIN",
    "Curve",
    "Detection",
    "Opinion",
    "delta_of",
    "gaussian_curve",
    "gaussian_opinion",
    "response_log_overlap",
    "response_opinion",
    "rho_of_loss",
    "truth",
    "without_ceiling",
]

MARGIN = 1e-9
_ROUNDING = 1e-15
_TINY = 1e-300
_SMALL_MU = 1e-3

Curve = tuple[float, float]


class Detection(NamedTuple):
    """How often a test speaks in each world, the second as a logarithm, all from both sides."""

    least: float
    most: float
    log_least: float
    log_most: float


class Opinion(NamedTuple):
    """What is known of one release.

    ``curve`` encloses its delta in the worse direction; ``test`` is the test "the loss is at least
    so much" (None where it has no closed form); ``rho`` a bound with which it is concentrated,
    apart from what it tells outright; ``mu`` the Gaussian that it is, if it is one; ``largest`` its
    largest finite loss; ``log_overlap`` at least the log of the sum of the roots of P Q; ``tells``
    whether it may tell everything outright.
    """

    curve: Callable[[float], Curve]
    test: Callable[[float], Detection] | None
    rho: float
    mu: float | None = None
    largest: float = math.inf
    log_overlap: float = 0.0
    tells: bool = False


def delta_of(test: Detection, epsilon: float) -> Curve:
    """P(A) - e^epsilon Q(A), from both sides."""
    most = epsilon + test.log_most
    least = epsilon + test.log_least
    fall = math.exp(most) * (1 + MARGIN) if most < 1.0 else math.inf
    saved = math.exp(least) * (1 - MARGIN) if least < 1.0 else 1.0
    lower, upper = (test.least - fall) * (1 - _ROUNDING), (test.most - saved) * (1 + _ROUNDING)
    return max(lower, 0.0), min(max(upper, 0.0), 1.0)


def without_ceiling(curve: Callable[[float], Curve]) -> Callable[[float], Curve]:
    """A curve that is known from below only."""
    return lambda epsilon: (curve(epsilon)[0], 1.0)


def truth(epsilon: float) -> float:
    """How often a randomized response of two categories tells the truth."""
    return 1 / (1 + math.exp(-epsilon))


def rho_of_loss(epsilon: float) -> float:
    """What every release with this largest loss has at most."""
    return epsilon * math.tanh(epsilon / 2) * (1 + MARGIN) + (5e-324 if epsilon else 0.0)


def response_opinion(epsilon: float, *, top: float, outright: float = 0.0) -> Opinion:
    """The loss epsilon with probability ``top``, and as much less; or everything, outright."""
    least, most = (outright + (1 - outright) * top * (1 + sign * MARGIN) for sign in (-1, 1))
    log_lie = (
        (math.log1p(-outright) if outright < 1.0 else -math.inf)
        + math.log(max(top, _TINY))
        - epsilon
    )

    def curve(at: float) -> Curve:
        if at >= epsilon:
            return outright, outright
        rest = -math.expm1(at - epsilon) * (1 - outright)
        low, high = outright + rest * top * (1 - MARGIN), outright + rest * top * (1 + MARGIN)
        return max(low * (1 - 1e-15), outright), min(high * (1 + 1e-15), 1.0)

    def test(at: float) -> Detection:
        if at > epsilon:
            return Detection(outright, outright, -math.inf, -math.inf)
        return Detection(min(least, 1.0), min(most, 1.0), log_lie - MARGIN, log_lie + MARGIN)

    overlap = response_log_overlap(epsilon, top=top, outright=outright)
    rho = rho_of_loss(epsilon)
    return Opinion(curve, test, rho, largest=epsilon, log_overlap=overlap, tells=outright > 0.0)


def response_log_overlap(epsilon: float, *, top: float, outright: float) -> float:
    """At least the logarithm of the sum of the roots of P Q of such a response."""
    overlap = math.log1p(-top * math.expm1(-epsilon / 2) ** 2 * (1 - MARGIN))
    return overlap + (math.log1p(-outright) if outright < 1.0 else -math.inf)


def gaussian_curve(mu: float, epsilon: float) -> Curve:
    r"""The Gaussian's delta; for a small mu as :math:`\mu\varphi - (e^\varepsilon-1)\bar\Phi`."""
    if mu == 0.0:
        return 0.0, 0.0
    if math.isinf(mu):
        return 0.0, 1.0
    at = epsilon / mu
    if mu > _SMALL_MU:
        return delta_of(_gaussian_test(mu, epsilon), epsilon)
    if at > 25.0:
        return 0.0, 1e-100
    far, near = at + mu, max(at - mu, 0.0)
    least, most = (mu * math.exp(-z * z / 2) / math.sqrt(2 * math.pi) for z in (far, near))
    rise = math.expm1(epsilon)
    lost = rise * math.erfc(near / math.sqrt(2)) / 2, rise * math.erfc(far / math.sqrt(2)) / 2
    doubt = 1e-11 * (1 + at * at)
    return (
        max(least * (1 - doubt) - lost[0] * (1 + doubt) - 1e-323, 0.0),
        max(most * (1 + doubt) - lost[1] * (1 - doubt), 0.0) + 1e-323,
    )


def _gaussian_test(mu: float, at: float) -> Detection:
    at = min(at, 1e200 * mu)
    near, far = at / mu - mu / 2, at / mu + mu / 2
    doubt = 4e-16 * (at / mu + mu)
    mine = gaussian_tail(near - doubt, near + doubt)
    other = gaussian_tail(far - doubt, far + doubt)
    return Detection(math.exp(mine[0]), math.exp(mine[1]) + 5e-324, other[0], other[1])


def gaussian_opinion(mu: float) -> Opinion:
    """N(0, 1) against N(mu, 1)."""
    rho = mu * mu / 2 * (1 + MARGIN) + 5e-324
    if mu == 0.0:
        return Opinion(lambda _: (0.0, 0.0), None, 0.0, 0.0, 0.0)
    test = None if mu <= _SMALL_MU or math.isinf(mu) else lambda at: _gaussian_test(mu, at)
    overlap = -mu * mu / 8 * (1 - MARGIN)
    return Opinion(lambda at: gaussian_curve(mu, at), test, rho, mu, log_overlap=overlap)
