"""Mixed games by brute force: every order and a few choices, at every history."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from tests.oracles.adaptive_range import any_order_delta, one_release_delta

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "attained_delta",
    "best_fixed_delta",
    "delta_after_gaussian",
    "delta_after_responses",
    "two_ranges_delta",
]


def attained_delta(
    *, ranges: tuple[float, ...], responses: tuple[float, ...], at: float, choices: int
) -> float:
    """What an analyst attains who may use the releases in any order, as the answers suggest.

    ``ranges`` are releases of bounded range, of which one of so many ``choices`` is taken after
    every history; ``responses`` are randomized responses. The recursion is the definition:
    the profile at epsilon is the expectation of the profile of the rest at epsilon minus the loss.
    """

    @cache
    def value(ranges: tuple[float, ...], responses: tuple[float, ...], at: float) -> float:
        best = max(-math.expm1(at), 0.0)
        if at >= sum(ranges) + sum(responses):
            return best
        for place, each in enumerate(ranges):
            rest = ranges[:place] + ranges[place + 1 :]
            for choice in range(1, choices):
                high = each * choice / choices
                first = math.expm1(high - each) / math.expm1(-each)
                best = max(
                    best,
                    first * value(rest, responses, at - high)
                    + (1 - first) * value(rest, responses, at - high + each),
                )
        for place, each in enumerate(responses):
            rest = responses[:place] + responses[place + 1 :]
            first = 1 / (1 + math.exp(-each))
            best = max(
                best,
                first * value(ranges, rest, at - each)
                + (1 - first) * value(ranges, rest, at + each),
            )
        return best

    return value(ranges, responses, at)


def two_ranges_delta(*, ranges: Sequence[float], at: float) -> float:
    """The adaptive optimum of one or two ranges at any real epsilon, the order included."""
    total = sum(ranges)
    if at >= total:
        return 0.0
    if at <= -total:
        return -math.expm1(at)
    if len(ranges) == 1:
        return float(one_release_delta(range_=ranges[0], at=at))
    if at < 0.0:  # the same seen from the other side
        return -math.expm1(at) + math.exp(at) * two_ranges_delta(ranges=ranges, at=-at)
    return float(any_order_delta(ranges=ranges, at=at))


def delta_after_responses(
    *, ranges: Sequence[float], responses: Sequence[float], at: float
) -> float:
    """The optimum of an analyst who sees all randomized responses first, then uses the ranges.

    No analyst has more: whoever chooses later knows more when choosing.
    """
    if not responses:
        return two_ranges_delta(ranges=ranges, at=at)
    each, *rest = responses
    true = 1 / (1 + math.exp(-each))
    return true * delta_after_responses(ranges=ranges, responses=rest, at=at - each) + (
        1 - true
    ) * delta_after_responses(ranges=ranges, responses=rest, at=at + each)


def delta_after_gaussian(*, ranges: Sequence[float], sigma: float, at: float, nodes: int) -> float:
    """The same with one Gaussian of sensitivity 1, by the trapezoidal rule over its outcomes."""
    mean = 1 / (2 * sigma * sigma)
    return _mean(lambda loss: two_ranges_delta(ranges=ranges, at=at - loss), mean, 1 / sigma, nodes)


def best_fixed_delta(*, range_: float, sigma: float, at: float, choices: int) -> float:
    """One range beside one Gaussian if the query is fixed in advance: the best of many t.

    Between two choices the best one gains less than their distance times the greatest slope.
    """
    mean, deviation = 1 / (2 * sigma * sigma), 1 / sigma

    def gaussian(epsilon: float) -> float:
        upper = 0.5 * math.erfc((epsilon - mean) / deviation / math.sqrt(2))
        return upper - math.exp(epsilon) * 0.5 * math.erfc(
            (epsilon + mean) / deviation / math.sqrt(2)
        )

    def delta(high: float) -> float:
        first = math.expm1(high - range_) / math.expm1(-range_)
        return first * gaussian(at - high) + (1 - first) * gaussian(at - high + range_)

    return max(delta(range_ * i / choices) for i in range(choices + 1))


def _mean(value: Callable[[float], float], mean: float, deviation: float, nodes: int) -> float:
    places = np.linspace(-9.0, 9.0, nodes)
    weights = np.exp(-(places**2) / 2)
    weights /= weights.sum()
    return float(
        sum(
            weight * value(mean + deviation * place)
            for place, weight in zip(places.tolist(), weights.tolist(), strict=True)
        )
    )
