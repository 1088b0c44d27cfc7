"""The adaptive composition of bounded-range releases, slowly and obviously.

Paper:
    DDR: Dong, Durfee, Rogers, "Optimal Differential Privacy Composition for Exponential
    Mechanisms" (arXiv 1909.13830).

A release of range r has, for the worst pair of neighbours and some t in [0, r] that the adversary
chooses, two outcomes: one of loss t and one of loss t - r (DDR, Lemma 4.1). Nothing here knows of
lattices, chords or bounds.
"""

from __future__ import annotations

from itertools import permutations
from math import comb, expm1
from typing import TYPE_CHECKING, TypeAlias

from mpmath import mp, mpf  # type: ignore[import-untyped, unused-ignore]

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

DIGITS = 25
_SCAN = 48
_GOLDEN = 0.6180339887498949

Number: TypeAlias = float | mpf
"""Floats give about 14 digits quickly; ``mpf`` numbers give ``DIGITS`` digits for two releases."""


def _expm1(exponent: Number) -> Number:
    return expm1(exponent) if isinstance(exponent, float) else mp.expm1(exponent)


def outcomes(*, range_: Number, shift: Number) -> list[tuple[Number, Number]]:
    """Give the two outcomes for t = ``shift`` as pairs (probability, privacy loss)."""
    likely = _expm1(shift - range_) / _expm1(-range_)
    unlikely = _expm1(shift) / _expm1(range_)  # this is 1 - likely, without cancellation
    return [(likely, shift), (unlikely, shift - range_)]


def one_release_delta(*, range_: Number, at: Number) -> Number:
    """Give the delta of one release at any real epsilon, maximised over t in closed form.

    The derivative of (1 - e^(at-t)) (1 - e^(t-r)) / (1 - e^-r) vanishes at t = (at + r) / 2.
    """
    if at >= range_:
        return 0 * range_
    if at <= -range_:
        return -_expm1(at)
    return _expm1((at - range_) / 2) ** 2 / -_expm1(-range_)


def adaptive_delta(*, ranges: Sequence[Number], at: Number) -> Number:
    """Give the adaptive optimum for releases in this very order, first to last, at most three.

    Theorem: DDR 3. The first t is found by a scan of 48 points and a golden section at the three
    best of them; the rest is the same problem, one release shorter, at the epsilon that is left.
    A first t that leaves more than the rest can reach gives 0 and is not looked at. All numbers
    must be of one kind, ``float`` or ``mpf``.
    """
    first, *rest = ranges
    with mp.workdps(DIGITS):
        if not rest:
            return one_release_delta(range_=first, at=at)

        def delta(shift: Number) -> Number:
            (likely, gain), (unlikely, loss) = outcomes(range_=first, shift=shift)
            return likely * adaptive_delta(ranges=rest, at=at - gain) + unlikely * adaptive_delta(
                ranges=rest, at=at - loss
            )

        return _greatest(
            delta, max(0 * first, at - sum(rest)) if at < sum(ranges) else first, first
        )


def any_order_delta(*, ranges: Sequence[Number], at: Number) -> Number:
    """Give the greatest of the adaptive optima of all fixed orders."""
    return max(adaptive_delta(ranges=order, at=at) for order in set(permutations(ranges)))


def _greatest(function: Callable[[Number], Number], start: Number, end: Number) -> Number:
    points = [start + (end - start) * i / _SCAN for i in range(_SCAN + 1)]
    values = [function(point) for point in points]
    by_value = sorted(range(_SCAN + 1), key=lambda i: values[i], reverse=True)
    best = values[by_value[0]]
    for i in by_value[:3]:
        low, high = points[max(i - 1, 0)], points[min(i + 1, _SCAN)]
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        at_left, at_right = function(left), function(right)
        for _ in range(45 if isinstance(end, mpf) else 30):
            if at_left > at_right:
                high, right, at_right = right, left, at_left
                left = high - _GOLDEN * (high - low)
                at_left = function(left)
            else:
                low, left, at_left = left, right, at_right
                right = low + _GOLDEN * (high - low)
                at_right = function(right)
        best = max(best, at_left, at_right)
    return best


def same_strategy_delta(*, range_: float, count: int, at: float, shift: float) -> float:
    """Give the delta of ``count`` releases with one and the same t: a sum over binomial masses."""
    with mp.workdps(DIGITS):
        (likely, _), (unlikely, _) = outcomes(range_=mpf(range_), shift=mpf(shift))
        return float(
            mp.fsum(
                comb(count, lows)
                * likely ** (count - lows)
                * unlikely**lows
                * max(-mp.expm1(mpf(at) - (count * mpf(shift) - lows * mpf(range_))), mpf(0))
                for lows in range(count + 1)
            )
        )


def random_strategy_delta(*, ranges: Sequence[float], at: float, rng: Random) -> float:
    """Give the delta of an adversary who tosses coins for every t and for which range is next.

    The choices at a point of the game depend on all outcomes before it, so this is one of the
    strategies over which the optimum is taken. Relative accuracy about 1e-14.
    """
    if not ranges:
        return max(-expm1(at), 0.0)
    rest = list(ranges)
    range_ = rest.pop(rng.randrange(len(rest)))
    shift = range_ * rng.choice([rng.random(), 0.5, 1 / 3, 2 / 3, 0.5 + rng.random() / 10])
    return sum(
        probability * random_strategy_delta(ranges=rest, at=at - loss, rng=rng)
        for probability, loss in outcomes(range_=range_, shift=shift)
    )
