r"""Lower bounds on epsilon from counts, valid at a stated confidence, rounding included.

A test says "one" of :math:`x_1` among :math:`n_1` runs in world one and of :math:`x_0` among
:math:`n_0` runs in world zero. Runs are independent, and the test was fixed before them. Two ways
to a bound; which is used is decided before these runs, too.

*By the hidden bit.* Each run's world is a fair coin. An (epsilon, delta)-DP pair is a
post-processing of randomized response that tells all with probability delta and else lies with
odds :math:`e^{-\varepsilon}` [Kairouz, Oh, Viswanath, Theorem 2.5]. Among the runs in which it did
not tell all and the test says "one", each world was one with probability at most
:math:`e^\varepsilon/(1+e^\varepsilon)`, independently. Those in which it did tell all, in world
one, are more than f with probability at most :math:`\alpha' = P[\mathrm{Bin}(n_1, \delta) > f]`.
Otherwise at least :math:`y = x_1 - f` of the runs that remain were in world one and at most
:math:`x_0` in world zero. As :math:`p = P[\mathrm{Bin}(y + x_0, 1/(1+e^\varepsilon)) \le x_0]`
falls in y and rises in :math:`x_0`, rejecting epsilon where :math:`p \le \alpha - \alpha'` is
wrong with probability at most alpha. For delta = 0 this is one exact binomial test.

The runs need not be alike for this, nor independent of what they have in common, so long as that
knows nothing of the bits: given it, each run is (epsilon, delta)-DP in its own bit, and the
argument is the same. Times, which drift, are judged this way only.

*By two intervals.* Clopper and Pearson's lower bound of :math:`P_1` and upper bound of
:math:`P_0`, at :math:`\alpha/2` each, in :math:`P_1 \le e^\varepsilon P_0 + \delta`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flint import arb

from quaestor.accounting.numerics.balls import outward, working_precision
from quaestor.accounting.numerics.binomial import lower_tail

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "Counts",
    "epsilon_by_intervals",
    "epsilon_by_the_hidden_bit",
    "largest_failures",
    "proportion_above",
    "proportion_below",
]

_BITS = 64
_SHARE_FOR_FAILURES = 0.1
_LARGEST_LOGIT = 700.0
_FINE = 1e-7


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How often a test said "one" in each world, and of how many runs.

    >>> Counts(said_in_one=90, runs_in_one=100, said_in_zero=10, runs_in_zero=100).runs_in_one
    100
    """

    said_in_one: int
    runs_in_one: int
    said_in_zero: int
    runs_in_zero: int


def _at_most(count: int, threshold: int, logit: float) -> float:
    """At least ``P[Bin(count, 1/(1+e^logit)) <= threshold]``."""
    if threshold >= count:
        return 1.0
    with working_precision(_BITS + 32):
        bounds = outward(lower_tail(count=count, threshold=threshold, logit=logit, bits=_BITS))
    return min(bounds.upper, 1.0)


def _last_logit(holds: Callable[[float], bool]) -> float:
    """A logit for which it holds, close to the largest one; it holds for all smaller ones."""
    if not holds(-_LARGEST_LOGIT):
        return -math.inf
    low, high = -1.0, 1.0
    while low > -_LARGEST_LOGIT and not holds(low):
        low, high = max(2 * low, -_LARGEST_LOGIT), low
    while high < _LARGEST_LOGIT and holds(high):
        low, high = high, min(2 * high, _LARGEST_LOGIT)
    while high - low > _FINE * max(1.0, abs(low)):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _logit_of_success(successes: int, trials: int, missing: float) -> float:
    """Clopper and Pearson's lower bound on the log-odds of success.

    With log-odds x or less, so many successes have probability at most
    ``P[Bin(trials, 1/(1+e^x)) <= failures]``, which rises with x.
    """
    failures = trials - successes
    return _last_logit(lambda logit: _at_most(trials, failures, logit) <= missing)


def proportion_above(successes: int, trials: int, *, confidence: float) -> float:
    """Clopper and Pearson's lower bound on a probability.

    >>> 0.5 * 0.05 ** (1 / 10) < proportion_above(10, 10, confidence=0.95) < 0.05 ** (1 / 10)
    True
    """
    logit = _logit_of_success(successes, trials, 1 - confidence)
    with working_precision(_BITS):
        return max(outward(1 / (1 + (-arb(logit)).exp())).lower, 0.0) if logit > -700 else 0.0


def proportion_below(successes: int, trials: int, *, confidence: float) -> float:
    """Clopper and Pearson's upper bound on a probability."""
    logit = _logit_of_success(trials - successes, trials, 1 - confidence)
    with working_precision(_BITS):
        return min(outward(1 / (1 + arb(logit).exp())).upper, 1.0) if logit > -700 else 1.0


def largest_failures(runs: int, delta: float, *, missing: float) -> int:
    """The least f for which more than f failures among the runs have at most this probability."""
    if delta == 0.0:
        return 0
    if delta >= 1.0:
        return runs
    logit = math.log(delta) - math.log1p(-delta)
    logit += 1e-12 * max(1.0, abs(logit))  # at least that of delta, rounding included

    def too_likely(failures: int) -> bool:
        # more than f failures: at most runs - f - 1 successes of odds exp(-logit)
        return _at_most(runs, runs - failures - 1, logit) > missing

    low, high = -1, 1
    while high < runs and too_likely(high):
        low, high = high, 2 * high
    high = min(high, runs)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if too_likely(middle) else (low, middle)
    return high


def epsilon_by_the_hidden_bit(counts: Counts, *, delta: float, missing: float) -> float:
    """The bound of the module's text, wrong with probability at most ``missing``."""
    spent = _SHARE_FOR_FAILURES * missing if delta > 0.0 else 0.0
    failures = largest_failures(counts.runs_in_one, delta, missing=spent)
    left = counts.said_in_one - failures
    if left <= 0:
        return 0.0
    return max(_logit_of_success(left, left + counts.said_in_zero, (missing - spent) * 0.999), 0.0)


def epsilon_by_intervals(counts: Counts, *, delta: float, missing: float) -> float:
    """The other bound of the module's text, wrong with probability at most ``missing``."""
    confidence = 1 - 0.999 * missing / 2
    often = proportion_above(counts.said_in_one, counts.runs_in_one, confidence=confidence)
    seldom = proportion_below(counts.said_in_zero, counts.runs_in_zero, confidence=confidence)
    with working_precision(_BITS):
        ratio = (arb(often) - arb(delta)) / arb(seldom)
        return max(outward(ratio.log()).lower, 0.0) if ratio > 0 else 0.0
