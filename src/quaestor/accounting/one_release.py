r"""What one release reveals, in plain floats, from its parameters alone.

For every kind the test "the loss is at least c" has a closed form: a tail of the noise around the
one value against the same tail around the other. :math:`P(A) - e^\varepsilon Q(A)` is a lower bound
on delta for *any* A, and delta itself for the best one, c = epsilon. Everything is rounded away
from the claim: relative margins of 1e-9 cover the few rounding errors of each formula many times
over, and arguments that come out of a cancellation are moved outward by more than it can have cost.

Nothing here asks the laws of the loss engine: this is what its answers are held against.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from quaestor.accounting.numerics.gaussian_tails import gaussian_tail, lattice_tail
from quaestor.accounting.releases import (
    ApproxDP,
    BoundedRange,
    DensityPair,
    DiscreteGaussian,
    ExponentialMechanism,
    Gaussian,
    GaussianDP,
    Geometric,
    Laplace,
    PoissonSampled,
    ProbabilityVectors,
    PureDP,
    RandomizedResponse,
    SampledWithoutReplacement,
    Staircase,
    ZeroConcentratedDP,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.accounting.releases import Release

__all__ = ["OneRelease", "Test", "gaussian_curve", "one_release"]

_MARGIN = 1e-9
_ROUNDING = 1e-15
_CACHED = 4096
_TINY = 1e-300
_SMALL_MU = 1e-3
_MANY = 1000  # outcomes: more take longer than a second opinion may

Curve = tuple[float, float]


class Test(NamedTuple):
    """A test: how often it speaks in each world, the second as a logarithm, all from both sides."""

    least: float
    most: float
    log_least: float
    log_most: float


class OneRelease(NamedTuple):
    """What is known of one release.

    ``curve`` encloses its delta in the worse direction; ``test`` is the test "the loss is at least
    so much" (None where it has no closed form); ``rho`` a bound with which it is concentrated,
    apart from what it tells outright; ``mu`` the Gaussian that it is, if it is one; ``largest`` its
    largest finite loss; ``log_overlap`` at least the log of the sum of the roots of P Q.
    """

    curve: Callable[[float], Curve]
    test: Callable[[float], Test] | None
    rho: float
    mu: float | None = None
    largest: float = math.inf
    log_overlap: float = 0.0


def delta_of(test: Test, epsilon: float) -> Curve:
    """P(A) - e^epsilon Q(A), from both sides."""
    most = epsilon + test.log_most
    least = epsilon + test.log_least
    fall = math.exp(most) * (1 + _MARGIN) if most < 1.0 else math.inf
    saved = math.exp(least) * (1 - _MARGIN) if least < 1.0 else 1.0
    lower, upper = (test.least - fall) * (1 - _ROUNDING), (test.most - saved) * (1 + _ROUNDING)
    return max(lower, 0.0), min(max(upper, 0.0), 1.0)


@lru_cache(maxsize=_CACHED)
def one_release(  # noqa: C901, PLR0911, PLR0912  # a case for each kind
    release: Release,
) -> OneRelease | None:
    """What is known of a release; None for kinds without a closed form."""
    match release:
        case PureDP(epsilon=epsilon):
            return _response(epsilon, top=_truth(epsilon))
        case ApproxDP(epsilon=epsilon, delta=delta):
            return _response(epsilon, top=_truth(epsilon), told=delta)
        case RandomizedResponse(epsilon=epsilon, categories=categories):
            return _response(epsilon, top=1 / (1 + (categories - 1) * math.exp(-epsilon)))
        case Staircase():
            return _response(release.epsilon, top=_staircase_top(release))
        case Laplace(scale=scale, sensitivity=sensitivity):
            return _laplace(sensitivity / scale)
        case Geometric(scale=scale, sensitivity=sensitivity):
            return _geometric(scale, sensitivity)
        case Gaussian(sigma=sigma, sensitivity=sensitivity):
            return _gaussian(sensitivity / sigma)
        case GaussianDP(mu=mu):
            return _gaussian(mu)
        case ZeroConcentratedDP(rho=rho):
            known = _gaussian(math.sqrt(2 * rho))
            return known._replace(curve=_without_ceiling(known.curve))
        case DiscreteGaussian(sigma=sigma, sensitivity=sensitivity):
            return _discrete_gaussian(sigma, sensitivity)
        case BoundedRange() | ExponentialMechanism():
            return _range(release.range_epsilon)
        case PoissonSampled(release=inner, rate=rate):
            return _sampled(inner, rate, adding=True)
        case SampledWithoutReplacement(release=inner):
            return _sampled(inner, release.sample / release.population, adding=False)
        case ProbabilityVectors(p=p) | DensityPair(p=p) if len(p) > _MANY:
            return None
        case ProbabilityVectors(p=p, q=q):
            return OneRelease(_of_vectors(p, q), None, math.inf)
        case DensityPair(p=p, q=q, error=error):
            merged = _of_vectors(p, q, error=error + abs(1 - math.fsum(p)) + abs(1 - math.fsum(q)))
            return OneRelease(_without_ceiling(merged), None, math.inf)
        case _:
            return None


def _without_ceiling(curve: Callable[[float], Curve]) -> Callable[[float], Curve]:
    return lambda epsilon: (curve(epsilon)[0], 1.0)


def _truth(epsilon: float) -> float:
    return 1 / (1 + math.exp(-epsilon))


def _rho_of(epsilon: float) -> float:
    """What every release with this largest loss has at most."""
    return epsilon * math.tanh(epsilon / 2) * (1 + _MARGIN) + (5e-324 if epsilon else 0.0)


def _response(epsilon: float, *, top: float, told: float = 0.0) -> OneRelease:
    """The loss epsilon with probability ``top``, and as much less; or everything, outright."""
    least, most = (told + (1 - told) * top * (1 + sign * _MARGIN) for sign in (-1, 1))
    log_lie = (math.log1p(-told) if told < 1.0 else -math.inf) + math.log(max(top, _TINY)) - epsilon

    def curve(at: float) -> Curve:
        if at >= epsilon:
            return told, told
        rest = -math.expm1(at - epsilon) * (1 - told)
        low, high = told + rest * top * (1 - _MARGIN), told + rest * top * (1 + _MARGIN)
        return max(low * (1 - 1e-15), told), min(high * (1 + 1e-15), 1.0)

    def test(at: float) -> Test:
        if at > epsilon:
            return Test(told, told, -math.inf, -math.inf)
        return Test(min(least, 1.0), min(most, 1.0), log_lie - _MARGIN, log_lie + _MARGIN)

    overlap = math.log1p(-top * math.expm1(-epsilon / 2) ** 2 * (1 - _MARGIN))
    overlap += math.log1p(-told) if told < 1.0 else -math.inf
    return OneRelease(curve, test, _rho_of(epsilon), largest=epsilon, log_overlap=overlap)


def _staircase_top(release: Staircase) -> float:
    """The noise is at least 0, or steps down within the first length but not around the other."""
    b = math.exp(-release.epsilon)
    gamma = 1 / (1 + math.exp(release.epsilon / 2)) if release.gamma is None else release.gamma
    height = -math.expm1(-release.epsilon) / (2 * (gamma + b * (1 - gamma)))
    return min(0.5 + height * min(gamma, 1 - gamma), 1.0)


def _laplace(shift: float) -> OneRelease:
    near, far = shift * (1 - 1e-15), shift * (1 + 1e-15)

    def curve(at: float) -> Curve:
        low = -math.expm1((at - near) / 2) * (1 - _MARGIN) if at < near else 0.0
        high = -math.expm1((at - far) / 2) * (1 + _MARGIN) if at < far else 0.0
        return low, min(high, 1.0)

    def test(at: float) -> Test:
        """Noise of at least half of (shift - c) below the centre, in units of the scale."""
        below = max((near - min(at, near)) / 2, 0.0)
        chance = 1 - math.exp(-below) / 2
        log_other = -(near - below) - math.log(2.0)
        return Test(
            chance * (1 - _MARGIN),
            min(chance * (1 + _MARGIN), 1.0),
            log_other - _MARGIN - 1e-14 * shift,
            log_other + _MARGIN + 1e-14 * shift,
        )

    rho = shift * shift / 2 if shift < 0.1 else math.expm1(-shift) + shift
    overlap = math.log1p(near / 2) - near / 2 * (1 - 1e-14) + 1e-14 if near > 1e-6 else 0.0
    overlap = min(overlap, 0.0)
    rho = rho * (1 + _MARGIN) + 5e-324  # squares underflow
    return OneRelease(curve, test, rho, largest=far, log_overlap=overlap)


def _geometric(scale: float, sensitivity: int) -> OneRelease:
    share = -math.log1p(math.exp(-1 / scale))  # of the numbers from 0 up

    def at_least(below: int) -> Test:
        """The number is at most ``below`` under the larger centre: all above that."""
        chance = -math.expm1(share - (below + 1) / scale)
        log_other = share - (sensitivity - below) / scale
        doubt = _MARGIN + 1e-14 * sensitivity / scale
        return Test(
            chance * (1 - _MARGIN),
            min(chance * (1 + _MARGIN), 1.0),
            log_other - doubt,
            log_other + doubt,
        )

    def place(at: float) -> int:
        return int(min(max((sensitivity - at * scale) / 2, 0.0), sensitivity))

    def curve(at: float) -> Curve:
        if at > sensitivity / scale * (1 + 1e-15):
            return 0.0, 0.0
        best = place(at)
        near = {max(best - 1, 0), best, min(best + 1, sensitivity)}  # rounding may miss by one
        answers = [delta_of(at_least(each), at) for each in near]
        return max(low for low, _ in answers), max(high for _, high in answers)

    largest = sensitivity / scale * (1 + 1e-15)
    return OneRelease(curve, lambda at: at_least(place(at)), _rho_of(largest), largest=largest)


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


def _gaussian_test(mu: float, at: float) -> Test:
    at = min(at, 1e200 * mu)
    near, far = at / mu - mu / 2, at / mu + mu / 2
    doubt = 4e-16 * (at / mu + mu)
    mine = gaussian_tail(near - doubt, near + doubt)
    other = gaussian_tail(far - doubt, far + doubt)
    return Test(math.exp(mine[0]), math.exp(mine[1]) + 5e-324, other[0], other[1])


def _gaussian(mu: float) -> OneRelease:
    rho = mu * mu / 2 * (1 + _MARGIN) + 5e-324
    if mu == 0.0:
        return OneRelease(lambda _: (0.0, 0.0), None, 0.0, 0.0, 0.0)
    test = None if mu <= _SMALL_MU or math.isinf(mu) else lambda at: _gaussian_test(mu, at)
    overlap = -mu * mu / 8 * (1 - _MARGIN)
    return OneRelease(lambda at: gaussian_curve(mu, at), test, rho, mu, log_overlap=overlap)


def _discrete_gaussian(sigma: float, shift: int) -> OneRelease:
    def from_place(place: int) -> Test:
        mine, other = lattice_tail(sigma, place - shift), lattice_tail(sigma, place)
        return Test(math.exp(mine[0]), math.exp(mine[1]) + 5e-324, other[0], other[1])

    def place(at: float) -> int | None:
        where = shift / 2 + sigma * (sigma * at / shift)
        return math.ceil(where) if where < 1e15 else None

    def curve(at: float) -> Curve:
        best = place(at)
        if best is None:
            return 0.0, 1.0
        answers = [delta_of(from_place(each), at) for each in (best - 1, best, best + 1)]
        return max(low for low, _ in answers), max(high for _, high in answers)

    def test(at: float) -> Test:
        best = place(at)
        return Test(0.0, 1.0, -math.inf, 0.0) if best is None else from_place(best)

    square = (shift / sigma) ** 2
    overlap = -square / 8 * (1 - _MARGIN)
    return OneRelease(curve, test, square / 2 * (1 + _MARGIN), log_overlap=overlap)


def _range(spread: float) -> OneRelease:
    """Above, the worst of its class at every epsilon; below, randomized response of half of it."""
    half = _response(spread / 2, top=_truth(spread / 2))

    def curve(at: float) -> Curve:
        if at >= spread:
            return 0.0, 0.0
        below = -math.expm1((at - spread) / 2)
        high = below * (below / -math.expm1(-spread)) * (1 + _MARGIN) + 5e-324
        return half.curve(at)[0], min(high, 1.0)

    rho = spread * spread / 8 * (1 + _MARGIN) + 5e-324
    return OneRelease(curve, half.test, rho, log_overlap=half.log_overlap)


def _sampled(inner: Release, rate: float, *, adding: bool) -> OneRelease | None:
    r"""The pair (1 - q) Q + q P against Q: :math:`q\,\delta(\log(1+(e^\varepsilon-1)/q))`."""
    known = one_release(inner)
    if known is None or rate == 0.0:
        return None
    whole, whole_test = known.curve, known.test

    def moved(at: float) -> float:
        rise = math.expm1(at) / rate if at < 700.0 else math.inf
        if rise < 1e300:
            return math.log1p(rise)
        return at + math.log(-math.expm1(-at) + rate * math.exp(-at)) - math.log(rate)

    def added(at: float) -> float:
        left = rate - math.expm1(at) * (1 - rate) if at < 700.0 else -1.0
        if left <= -1e-9:
            return 0.0
        left = max(left, 0.0) + 1e-14 * (1 + rate)  # the more is left, the more is told
        odds = at + math.log(rate) - math.log(left)
        return left * whole(max(odds * (1 - 1e-14) - 1e-9, 0.0))[1] * (1 + _MARGIN)

    def curve(at: float) -> Curve:
        level = moved(at)
        doubt = 4e-15 * (abs(level) + abs(math.log(rate)) + at)
        low = rate * whole(level + doubt)[0] * (1 - _MARGIN)
        high = rate * whole(max(level - doubt, 0.0))[1] * (1 + _MARGIN) + 5e-324
        return low, min(max(high, added(at)) if adding else high, 1.0)

    def test(at: float) -> Test:
        assert whole_test is not None  # noqa: S101
        inside = whole_test(moved(at))
        without = [math.exp(min(x, 0.0)) for x in (inside.log_least, inside.log_most)]
        least = (rate * inside.least + (1 - rate) * without[0]) * (1 - _MARGIN)
        most = min((rate * inside.most + (1 - rate) * without[1]) * (1 + _MARGIN), 1.0)
        return inside._replace(least=least, most=most)

    largest = math.inf
    if known.largest < 700.0:
        largest = math.log1p(rate * math.expm1(known.largest)) * (1 + _MARGIN)
    told = isinstance(inner, ApproxDP) and inner.delta > 0.0
    rho = math.inf if told else _rho_of(largest) if largest < math.inf else math.inf
    if adding and not told:  # divergences of mixtures are at most those of their parts
        rho = min(rho, known.rho)
    return OneRelease(curve, None if whole_test is None else test, rho, largest=largest)


def _of_vectors(
    p: tuple[float, ...], q: tuple[float, ...], *, error: float = 0.0
) -> Callable[[float], Curve]:
    """The sum itself, in both directions; vectors that do not quite sum to 1 leave that open."""
    doubt = 1e-14 + 8 * error + 4 * (abs(math.fsum(p) - 1) + abs(math.fsum(q) - 1))

    def curve(at: float) -> Curve:
        odds = math.exp(at) if at < 700.0 else math.inf
        ends = [
            math.fsum(
                a - (odds * b if b else 0.0)
                for a, b in zip(first, second, strict=True)
                if a > (odds * b if b else 0.0)
            )
            for first, second in ((p, q), (q, p))
        ]
        return max(max(ends) - doubt, 0.0), min(max(ends) + doubt, 1.0)

    return curve
