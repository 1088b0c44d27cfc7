"""Mixed games by brute force: every order and a few choices, at every history."""

from __future__ import annotations

import math
from functools import cache

__all__ = ["attained_delta"]


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
