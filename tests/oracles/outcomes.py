"""Mechanisms with few outcomes: both worlds' log-probabilities side by side, in balls.

Every function starts from what the mechanism does; nothing is derived from a law of losses, and
no world's probabilities from the other's. An outcome is a pair (log p, log q), minus infinity where
it cannot happen. Removing a person compares p with q; adding one compares q with p.
"""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING, TypeAlias

from flint import arb

from tests.oracles.balls import ball, positive_part

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from fractions import Fraction

__all__ = [
    "NEVER",
    "UNDECIDED",
    "Outcomes",
    "discrete_gaussian",
    "discrete_gaussian_log_moment",
    "failing_response",
    "false_negatives",
    "geometric",
    "hockey_stick",
    "log_moment",
    "log_sum",
    "product",
    "randomized_response",
    "repeated",
    "sampled",
    "sampled_without_replacement",
    "staircase",
    "turned",
    "vectors",
]

Outcomes: TypeAlias = "list[tuple[arb, arb]]"

NEVER = arb("-inf")
"""The logarithm of no probability."""

UNDECIDED = arb("nan")
"""What a comparison says that needs more precision."""


def randomized_response(epsilon: float, categories: int = 2) -> Outcomes:
    """The truth with odds e^epsilon against each other category; all others are one outcome."""
    odds = ball(epsilon)
    truth = -(1 + (categories - 1) * (-odds).exp()).log()
    lie = truth - odds
    kept = [(truth, lie), (lie, truth)]
    if categories == 2:
        return kept
    other = lie + ball(categories - 2).log()
    return [*kept, (other, other)]


def failing_response(epsilon: float, delta: float) -> Outcomes:
    """Randomized response that with probability delta tells everything."""
    if delta == 0:
        return randomized_response(epsilon)
    told = ball(delta).log()
    failures = [(told, NEVER), (NEVER, told)]
    if delta == 1:
        return failures
    kept = (1 - ball(delta)).log()
    return [*failures, *((p + kept, q + kept) for p, q in randomized_response(epsilon))]


def geometric(scale: float, sensitivity: int = 1) -> Outcomes:
    """Weights e^(-|x|/scale) around 0 and around the sensitivity; both tails are one outcome."""
    step = 1 / ball(scale)
    outside = -(1 + (-step).exp()).log()
    inside = (-(-step).expm1()).log() + outside
    first = [outside]
    first += [inside - step * x for x in range(1, sensitivity)]
    first.append(outside - step * sensitivity)
    return list(zip(first, first[::-1], strict=True))


def staircase(epsilon: float, gamma: float | None = None) -> Outcomes:
    """A density of steps of length 1 that fall by e^-epsilon, each split at gamma; moved by 1.

    All x below 0 are one step lower in the other world, and all x above 1 one step higher. Between
    0 and 1 the heights are those of steps 0 and 1: they agree on a part of length abs(1 - 2 gamma),
    and what remains is half and half.
    """
    fall = (-ball(epsilon)).exp()
    split = 1 / (1 + (ball(epsilon) / 2).exp()) if gamma is None else ball(gamma)
    top = -(-ball(epsilon)).expm1() / (2 * (split + fall * (1 - split)))
    half = ball(0.5)
    early = split <= half
    shorter = split if early else 1 - split
    more = (half + shorter * top).log()
    sides = [(more, more - ball(epsilon)), (more - ball(epsilon), more)]
    agreeing = 1 - 2 * shorter
    if gamma == 0.5:
        return sides
    middle = (agreeing * top).log() - (ball(epsilon) if early else 0)
    return [*sides, (middle, middle)]


def discrete_gaussian(sigma: float, sensitivity: int = 1, *, bits: int = 1400) -> Outcomes:
    """Weights e^(-x^2/2 sigma^2) around 0 and around the sensitivity, until they are below 2^-bits.

    Outcomes that are that rare in both worlds are left out.
    """
    rate = -1 / (2 * ball(sigma) ** 2)
    reach = floor(1 + 1.19 * float(sigma) * bits**0.5)
    whole = _log_whole(rate, reach)
    near = set(range(-reach, reach + 1)) | set(range(sensitivity - reach, sensitivity + reach + 1))
    logs = {x: rate * x * x - whole for x in near | {sensitivity - x for x in near}}
    logs |= {-x: log for x, log in logs.items() if x > 0}  # the same number, where both are equal
    return [(logs[x], logs[sensitivity - x]) for x in sorted(near)]


def _log_whole(rate: arb, reach: int) -> arb:
    return (1 + 2 * sum(((rate * x * x).exp() for x in range(1, reach + 1)), arb(0))).log()


def vectors(first: Sequence[float], second: Sequence[float]) -> Outcomes:
    """Two vectors as they are."""

    def logarithm(probability: float) -> arb:
        return ball(probability).log() if probability > 0 else NEVER

    return [(logarithm(p), logarithm(q)) for p, q in zip(first, second, strict=True) if p or q]


# ------------------------------------------------------------------------- made of others


def turned(outcomes: Outcomes) -> Outcomes:
    """The two worlds exchanged."""
    return [(q, p) for p, q in outcomes]


def log_sum(terms: Iterable[arb]) -> arb:
    """The logarithm of a sum of exponentials."""
    finite = [term for term in terms if term.is_finite()]
    if not finite:
        return NEVER
    top = max(finite, key=lambda term: term.mid())
    return top + sum(((term - top).exp() for term in finite), arb(0)).log()


def sampled(outcomes: Outcomes, rate: float | Fraction) -> Outcomes:
    """The person takes part with probability ``rate`` only: (1 - q) Q + q P against Q."""
    if rate == 1:
        return outcomes
    part, rest = ball(rate).log(), (1 - ball(rate)).log()
    return [(log_sum([rest + q, part + p]), q) for p, q in outcomes]


def sampled_without_replacement(outcomes: Outcomes, part: Fraction) -> Outcomes:
    """Zhu, Dong, Wang, Proposition 30: the removing pair where it gains, and its mirror image."""
    telling = [(p, q) for p, q in outcomes if p is not q]
    if not all(p > q or p < q for p, q in telling):
        return [(UNDECIDED, UNDECIDED)]
    gaining = sampled([(p, q) for p, q in telling if p > q], part)
    both = [*gaining, *turned(gaining)]
    rest = 1 - sum((p.exp() for p, _ in both if p.is_finite()), arb(0))
    return both if rest <= 0 or rest.contains(0) else [*both, (log_rest := rest.log(), log_rest)]


def repeated(outcomes: Outcomes, count: int) -> Outcomes:
    """``count`` independent rounds, listed by how often each outcome occurs."""

    def walk(left: int, answers: Outcomes) -> Iterator[tuple[arb, arb]]:
        (p, q), *others = answers
        if not others:
            yield (left * p, left * q) if left else (arb(0), arb(0))
            return
        ways = 1
        for times in range(left + 1):
            number = ball(ways).log()
            here = (times * p + number, times * q + number) if times else (number, number)
            for more, less in walk(left - times, others):
                yield here[0] + more, here[1] + less
            ways = ways * (left - times) // (times + 1)

    return [(p, q) for p, q in walk(count, outcomes) if not p == q == NEVER]


def product(parts: Sequence[Outcomes]) -> Outcomes:
    """All of them, independently."""
    whole = [(arb(0), arb(0))]
    for part in parts:
        pairs = [(a + p, b + q) for a, b in whole for p, q in part]
        whole = [(p, q) for p, q in pairs if not p == q == NEVER]
    return whole


# ------------------------------------------------------------------------- asked


def hockey_stick(outcomes: Outcomes, at: float) -> arb:
    """Sum (p - e^at q)_+ over all outcomes."""
    epsilon, whole = ball(at), arb(0)
    for p, q in outcomes:
        if p == NEVER:
            continue
        if not q.is_finite():
            whole += p.exp()
        elif not (short := epsilon + q - p) >= 0:
            whole += p.exp() * positive_part(-short.expm1())
    return whole


def log_moment(outcomes: Outcomes, order: float) -> arb:
    """The logarithm of E[(p/q)^order], given that not everything was told."""
    both = [(p, q) for p, q in outcomes if p.is_finite() and q.is_finite()]
    moment = log_sum(p + ball(order) * (p - q) for p, q in both)
    return moment - (log_sum(p for p, _ in both) if len(both) < len(outcomes) else 0)


def discrete_gaussian_log_moment(sigma: float, sensitivity: int, order: float) -> arb:
    """Complete the square: p^(order+1)/q^order is a Gaussian moved by order times the sensitivity.

    Its weights are summed around its middle, which lies between the integers.
    """
    s, rate = ball(order), -1 / (2 * ball(sigma) ** 2)
    reach = floor(3 + 1.19 * float(sigma) * 1400**0.5)
    moved = s * sensitivity
    middle = moved - (nearest := moved.floor())
    assert nearest.is_integer()
    terms = [rate * (x - middle) * (x - middle) for x in range(-reach, reach + 1)]
    return -rate * s * (s + 1) * sensitivity**2 + log_sum(terms) - _log_whole(rate, reach)


def false_negatives(outcomes: Outcomes, false_positive: float) -> arb:
    """The least mass of p that is missed by a test that accuses on mass ``false_positive`` of q.

    Neyman and Pearson: accuse on the most telling outcomes, and on the last with a coin.
    """
    telling = [(p, q) for p, q in outcomes if p.is_finite() and q.is_finite()]
    telling.sort(key=lambda pair: (pair[0] - pair[1]).mid(), reverse=True)
    left, missed = ball(false_positive), arb(0)
    for log_p, log_q in telling:
        p, q = log_p.exp(), log_q.exp()
        if q <= left:
            left -= q
        else:
            missed += p * (1 - left / q)
            left = arb(0)
    return missed
