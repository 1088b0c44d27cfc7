"""Bounded-range releases, computed slowly and obviously.

Paper:
    Dong, Durfee, Rogers, "Optimal Differential Privacy Composition for Exponential Mechanisms"
    (arXiv 1909.13830), whose theorem numbers are used throughout.

A release of range epsilon is at worst a choice between two losses: t and t - epsilon, for some t
from 0 to epsilon. Numbers are taken to be exactly what they are; results are ``mpf`` values.
"""

from collections.abc import Sequence
from itertools import product
from math import comb

from mpmath import mp, mpf  # type: ignore[import-untyped, unused-ignore]

from tests.oracles.composition import Number, rounded

_WORKING = 160


def two_point_pair(epsilon: mpf, place: mpf) -> tuple[mpf, mpf]:
    """The probabilities of the upper loss, t, in the two worlds: both worlds must add up to one."""
    second = (mp.exp(-place) - mp.exp(-epsilon)) / (1 - mp.exp(-epsilon))
    return second * mp.exp(place), second


def outcome_delta(*, epsilons: Sequence[Number], places: Sequence[Number], at: Number) -> mpf:
    """Sum (P - e^at Q)_+ over all outcomes, with these ranges and these t (Lemma 4.3)."""
    pairs = [two_point_pair(rounded(e), rounded(t)) for e, t in zip(epsilons, places, strict=True)]
    grown, total = mp.exp(rounded(at)), mpf(0)
    for uppers in product((True, False), repeat=len(pairs)):
        chosen = list(zip(pairs, uppers, strict=True))
        first = mp.fprod(pair[0] if upper else 1 - pair[0] for pair, upper in chosen)
        second = mp.fprod(pair[1] if upper else 1 - pair[1] for pair, upper in chosen)
        total += max(first - grown * second, mpf(0))
    return total


def climbed_delta(*, epsilons: Sequence[Number], at: Number, rounds: int = 3) -> mpf:
    """The largest delta that coordinate ascent finds over all t, from several starts.

    A lower bound on the truth, whatever it finds: every choice of t is a possible release.
    """
    best = mpf(0)
    with mp.workdps(25):
        ranges = [rounded(e) for e in epsilons]
        for share in (mpf(1) / 4, mpf(1) / 2, mpf(3) / 4):
            places = [e * share for e in ranges]
            for step in range(rounds):
                for i, e in enumerate(ranges):
                    width = e / 2 ** (2 * step)
                    tried = [min(max(places[i] + width * j / 8, mpf(0)), e) for j in range(-8, 9)]
                    places[i] = max(
                        tried,
                        key=lambda t, i=i: outcome_delta(  # type: ignore[misc]
                            epsilons=ranges, places=[*places[:i], t, *places[i + 1 :]], at=at
                        ),
                    )
            best = max(best, outcome_delta(epsilons=ranges, places=places, at=at))
    return best


def non_adaptive_delta(*, epsilon: Number, count: int, at: Number) -> mpf:
    """Theorem 2 as printed: the largest of k + 1 sums of k + 1 positive parts."""
    with mp.workdps(_WORKING):
        e, g = rounded(epsilon), rounded(at)
        best = mpf(0)
        for test in range(count + 1):
            place = min(max((g + (test + 1) * e) / (count + 1), mpf(0)), e)
            _, p = two_point_pair(e, place)
            total = mpf(0)
            for lower in range(count + 1):
                gain = mp.exp(count * place - lower * e) - mp.exp(g)
                if gain <= 0:
                    break  # and so are all that follow
                total += comb(count, lower) * p ** (count - lower) * (1 - p) ** lower * gain
            best = max(best, total)
        return best


def single_delta(*, epsilon: Number, at: Number) -> mpf:
    """One release, at an epsilon of either sign: the largest delta over t, by golden section."""
    with mp.workdps(60):
        e, g = rounded(epsilon), rounded(at)
        ratio = (mp.sqrt(5) - 1) / 2

        def delta(place: mpf) -> mpf:
            return outcome_delta(epsilons=[e], places=[place], at=g)

        low, high = max(g, mpf(0)), min(e + g, e)  # below g no loss is above g; beyond, all are
        for _ in range(200):
            left, right = high - ratio * (high - low), low + ratio * (high - low)
            low, high = (low, right) if delta(left) > delta(right) else (left, high)
        return delta((low + high) / 2)


def largest_log_moment(*, order: Number, epsilon: Number) -> mpf:
    """The log of the largest E[e^(order L)] over t, by golden section (it is unimodal)."""
    with mp.workdps(60):
        e, power = rounded(epsilon), rounded(order)
        ratio = (mp.sqrt(5) - 1) / 2

        def moment(place: mpf) -> mpf:
            q, _ = two_point_pair(e, place)
            return mp.log(q * mp.exp(power * place) + (1 - q) * mp.exp(power * (place - e)))

        low, high = mpf(0), e
        for _ in range(200):
            left, right = high - ratio * (high - low), low + ratio * (high - low)
            low, high = (low, right) if moment(left) > moment(right) else (left, high)
        return moment((low + high) / 2)
