"""The privacy loss of mechanisms, computed slowly and obviously from their definitions.

Every function starts from what the mechanism does in two neighbouring worlds, a pair of densities
or of probability vectors, and none from a law of losses. ``at`` is the global epsilon. Numbers are
taken to be exactly what they are; results are ``mpf`` values with at least thirty correct digits.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from math import ceil, log
from typing import TypeAlias

from mpmath import mp, mpf  # type: ignore[import-untyped, unused-ignore]

from tests.oracles.composition import Number, rounded

DIGITS = 30
"""Correct significant digits of every result."""

_WORKING = 160  # cancellation takes some; a delta of 1e-100 leaves plenty

Pair: TypeAlias = tuple[list[mpf], list[mpf]]
"""The probabilities of the same outcomes in two worlds."""


# ------------------------------------------------------------------------- continuous noise


def gaussian_delta(*, mu: Number, at: Number) -> mpf:
    """N(mu, 1) against N(0, 1): beyond x = at/mu + mu/2 the first one is favoured."""
    with mp.workdps(_WORKING):
        shift, epsilon = rounded(mu), rounded(at)
        place = epsilon / shift + shift / 2
        return _above(place - shift) - mp.exp(epsilon) * _above(place)


def sampled_gaussian_delta(*, mu: Number, rate: Number, at: Number, removing: bool) -> mpf:
    """The mixture (1 - q) N(0, 1) + q N(mu, 1) against N(0, 1), or turned round.

    Their ratio is w = 1 - q + q e^(mu x - mu^2/2), which grows with x: it crosses e^at, or e^-at,
    at one place.
    """
    with mp.workdps(_WORKING):
        shift, q, epsilon = rounded(mu), rounded(rate), rounded(at)
        needed = mp.exp(epsilon if removing else -epsilon) - 1 + q
        if needed <= 0:
            return mpf(0)
        place = (mp.log(needed / q) + shift * shift / 2) / shift
        if removing:
            plain, moved = _above(place), _above(place - shift)
            return (1 - q) * plain + q * moved - mp.exp(epsilon) * plain
        plain, moved = _above(-place), _above(shift - place)
        return plain - mp.exp(epsilon) * ((1 - q) * plain + q * moved)


def _above(place: mpf) -> mpf:
    """The probability that a standard normal variable exceeds ``place``."""
    return mp.erfc(place / mp.sqrt(2)) / 2


def laplace_delta(*, shift: Number, at: Number) -> mpf:
    """Laplace noise of scale 1 around 0 against the same around ``shift``."""
    with mp.workdps(_WORKING):
        return _laplace_delta(rounded(shift), rounded(at))


def _laplace_delta(shift: mpf, at: mpf) -> mpf:
    """For any real ``at``: below x = (shift - at)/2 the first one is favoured.

    The log-ratio |x - shift| - |x| falls from shift to -shift between 0 and shift.
    """
    if at >= shift:
        return mpf(0)
    if at < -shift:
        return 1 - mp.exp(at)
    place = (shift - at) / 2
    return (1 - mp.exp(-place) / 2) - mp.exp(at) * mp.exp(place - shift) / 2


def twofold_laplace_delta(*, shift: Number, at: Number) -> mpf:
    """Two such releases: integrate over the first one's outcome what the second one then costs."""
    with mp.workdps(50):
        move, epsilon = rounded(shift), rounded(at)

        def left(place: mpf) -> mpf:
            return mp.exp(-place) / 2 * _laplace_delta(move, epsilon - move + 2 * place)

        kinks = {mpf(0), move}
        kinks |= {place for place in ((2 * move - epsilon) / 2, -epsilon / 2) if 0 < place < move}
        inside = mp.quad(left, sorted(kinks))
        below = _laplace_delta(move, epsilon - move) / 2
        return below + inside + mp.exp(-move) / 2 * _laplace_delta(move, epsilon + move)


def sampled_laplace_delta(*, shift: Number, rate: Number, at: Number, removing: bool) -> mpf:
    """Laplace noise around ``shift`` with probability ``rate`` and else around 0, against around 0.

    The ratio w = 1 - q + q e^l, with l the log-ratio of the noise itself, is monotone in l; so the
    favoured outcomes are those where l passes one value, on one side of one place.
    """
    with mp.workdps(_WORKING):
        move, q, epsilon = rounded(shift), rounded(rate), rounded(at)
        needed = mp.exp(epsilon if removing else -epsilon) - 1 + q
        if needed <= 0:
            return mpf(0)
        crossing = mp.log(needed / q)  # of l(x) = |x| - |x - shift|, which rises with x
        if removing:
            if crossing >= move:
                return mpf(0)
            place = (crossing + move) / 2
            plain, moved = mp.exp(-place) / 2, 1 - mp.exp(place - move) / 2
            return (1 - q) * plain + q * moved - mp.exp(epsilon) * plain
        if crossing <= -move:
            return mpf(0)
        place = (crossing + move) / 2
        plain, moved = 1 - mp.exp(-place) / 2, mp.exp(place - move) / 2
        return plain - mp.exp(epsilon) * ((1 - q) * plain + q * moved)


# ------------------------------------------------------------------------- finitely many outcomes


def randomized_response(*, epsilon: Number, categories: int) -> Pair:
    """Say the true category with odds e^epsilon against each other one; the truth is 0, or 1."""
    with mp.workdps(_WORKING):
        odds = mp.exp(rounded(epsilon))
        total = odds + categories - 1
        first = [(odds if answer == 0 else 1) / total for answer in range(categories)]
        return first, [first[1], first[0], *first[2:]]


def failing_response(*, epsilon: Number, delta: Number) -> Pair:
    """Randomized response that with probability delta tells everything: four outcomes."""
    with mp.workdps(_WORKING):
        odds, failure = mp.exp(rounded(epsilon)), rounded(delta)
        truth, lie = ((1 - failure) * share / (1 + odds) for share in (odds, mpf(1)))
        return [failure, truth, lie, mpf(0)], [mpf(0), lie, truth, failure]


def geometric(*, scale: Number, sensitivity: int) -> Pair:
    """Noise of weight a^|x|, a = e^(-1/scale), around 0 and around the sensitivity.

    All outcomes up to 0 have one ratio and all from the sensitivity on another: each is one.
    """
    with mp.workdps(_WORKING):
        a = mp.exp(-1 / rounded(scale))
        unit = (1 - a) / (1 + a)
        first = [1 / (1 + a)]
        first += [unit * a**place for place in range(1, sensitivity)]
        first.append(a**sensitivity / (1 + a))
        return first, first[::-1]


def staircase(*, epsilon: Number, gamma: Number) -> Pair:
    """The density is a staircase of period 1, each step split at gamma; moved by 1.

    The line is cut into cells on which both densities are constant; cells of the same ratio are
    one outcome, of which there are three.
    """
    with mp.workdps(_WORKING):
        fall, split = rounded(epsilon), rounded(gamma)
        top = (1 - mp.exp(-fall)) / (2 * (split + mp.exp(-fall) * (1 - split)))

        def step(place: mpf) -> int:
            whole = int(mp.floor(abs(place)))
            return whole if abs(place) - whole < split else whole + 1

        reach = ceil(DIGITS * 5 / float(fall)) + 3
        heights = [top * mp.exp(-fall * steps) for steps in range(reach + 3)]
        inner = sorted({mpf(0), split, 1 - split, mpf(1)})
        masses: dict[int, list[mpf]] = {}
        for whole in range(-reach, reach):
            for low, high in pairwise(inner):
                middle = whole + (low + high) / 2
                here, moved = step(middle), step(middle - 1)
                both = masses.setdefault(moved - here, [mpf(0), mpf(0)])
                both[0] += (high - low) * heights[here]
                both[1] += (high - low) * heights[moved]
        return [both[0] for both in masses.values()], [both[1] for both in masses.values()]


def discrete_gaussian(*, sigma: Number, sensitivity: int) -> Pair:
    """Weights e^(-x^2/2 sigma^2) on the integers, around 0 and around the sensitivity, far out."""
    with mp.workdps(_WORKING):
        variance = rounded(sigma) ** 2
        reach = ceil(float(sigma) * (2 * log(10) * 4 * DIGITS) ** 0.5) + sensitivity
        weights = {
            place: mp.exp(-(mpf(place) ** 2) / (2 * variance))
            for place in range(-reach - sensitivity, reach + sensitivity + 1)
        }
        total = sum(weights.values())
        places = range(-reach, reach + 1)
        first = [weights[place] / total for place in places]
        return first, [weights[place - sensitivity] / total for place in places]


def vectors(first: Sequence[Number], second: Sequence[Number]) -> Pair:
    """Two vectors as they are."""
    with mp.workdps(_WORKING):
        return [rounded(entry) for entry in first], [rounded(entry) for entry in second]


def sampled(pair: Pair, rate: Number) -> Pair:
    """The person takes part with probability ``rate`` only: (1 - q) Q + q P against Q."""
    with mp.workdps(_WORKING):
        q = rounded(rate)
        first, second = pair
        mixed = [(1 - q) * b + q * a for a, b in zip(first, second, strict=True)]
        return mixed, second


def turned(pair: Pair) -> Pair:
    """The two worlds exchanged."""
    return pair[1], pair[0]


def pair_delta(pair: Pair, *, count: int, at: Number) -> mpf:
    """Sum (P - e^at Q)_+ over all outcomes of ``count`` independent rounds.

    Rounds are exchangeable: outcomes are listed by how often each answer occurs.
    """
    with mp.workdps(_WORKING):
        grown = mp.exp(rounded(at))
        total = mpf(0)
        for ways, occurring in _shares(count, len(pair[0])):
            first, second = (
                mp.fprod(world[answer] ** times for answer, times in occurring) for world in pair
            )
            total += ways * max(first - grown * second, mpf(0))
        return total


def worst_delta(pair: Pair, *, count: int, at: Number) -> mpf:
    """The larger of the two directions."""
    return max(pair_delta(pair, count=count, at=at), pair_delta(turned(pair), count=count, at=at))


def _shares(count: int, answers: int) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Every way in which ``count`` rounds share the answers, and in how many orders."""

    def walk(left: int, answer: int, ways: int) -> Iterator[tuple[int, list[tuple[int, int]]]]:
        if left == 0:
            yield ways, []
            return
        if answer == answers - 1:
            yield ways, [(answer, left)]
            return
        orders = 1
        for times in range(left + 1):
            for more, rest in walk(left - times, answer + 1, ways * orders):
                yield more, [(answer, times), *rest] if times else rest
            orders = orders * (left - times) // (times + 1)

    return walk(count, 0, 1)


# ------------------------------------------------------------------------- moments


def concentrated_delta(*, rho: Number, at: Number) -> mpf:
    """The least e^(rho t(t+1) - t at) t^t/(1+t)^(1+t) over orders t > 0, for zero-concentrated DP.

    The exponent is convex in t: its derivative rho (2t + 1) - at + log(t/(1+t)) rises.
    """
    with mp.workdps(50):
        size, epsilon = rounded(rho), rounded(at)

        def slope(order: mpf) -> mpf:
            return size * (2 * order + 1) - epsilon + mp.log(order / (1 + order))

        order = _root(slope)
        exponent = size * order * (order + 1) - order * epsilon
        return mp.exp(exponent + order * mp.log(order) - (1 + order) * mp.log(1 + order))


def _root(rising: Callable[[mpf], mpf]) -> mpf:
    """Where a rising function of a positive number is zero, by bisection of its logarithm."""
    low, high = mpf(2) ** -400, mpf(2) ** 400
    for _ in range(200):
        middle = mp.sqrt(low * high)
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return mp.sqrt(low * high)
