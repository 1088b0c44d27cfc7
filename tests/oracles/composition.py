"""The composition theorems, computed slowly and obviously, to sixty digits.

Papers:
    KOV: Kairouz, Oh, Viswanath, "The Composition Theorem for Differential Privacy"
    (arXiv 1311.0776), whose theorem numbers are used throughout.
    MV: Murtagh, Vadhan, "The Complexity of Computing the Optimal Composition of Differential
    Privacy" (arXiv 1507.03113).

Numbers come in as ``int``, ``float``, ``Fraction`` or ``mpf`` and are taken to be exactly what
they are: the float 0.1 is a binary number a little above one tenth, ``Fraction("0.1")`` is one
tenth. Results are ``mpf`` values with at least ``DIGITS`` correct digits, unless a docstring
promises less; they keep them when the caller works at a lower precision and only reads them.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import ceil, comb
from typing import NamedTuple, TypeAlias

from mpmath import mp, mpf  # type: ignore[import-untyped, unused-ignore]

DIGITS = 60
"""Correct significant digits of every result, unless its docstring says otherwise."""

MOST_TERMS = 10_000
"""Sums longer than this are integrated instead, and integers longer than this are rounded."""

Number: TypeAlias = int | float | Fraction | mpf
Step: TypeAlias = tuple[Number, Number]
"""One (epsilon, delta)-differentially private mechanism."""


class Guarantee(NamedTuple):
    """An (epsilon, delta) pair."""

    epsilon: mpf
    delta: mpf


# ---------------------------------------------------------------------------- numbers


def read_number(text: str) -> Fraction | mpf:
    """Read a number of a vector file: a decimal, or a square root such as ``sqrt(2)/10``."""
    root = re.fullmatch(r"sqrt\((\d+)\)/(\d+)", text)
    if root is None:
        return Fraction(text)
    with mp.workdps(2 * DIGITS):
        return mp.sqrt(int(root[1])) / int(root[2])


def exact(number: Number) -> Fraction:
    """Turn a number into the fraction it exactly is."""
    if isinstance(number, mpf):
        return Fraction(*number.as_integer_ratio())
    return Fraction(number)


def rounded(number: Number) -> mpf:
    """Turn a number into an ``mpf`` at the working precision."""
    fraction = exact(number)
    return mpf(fraction.numerator) / fraction.denominator


def _digits_before_the_point(number: Number) -> int:
    """Bound the decimal exponent of a positive number from above (negative if it is tiny)."""
    fraction = exact(number)
    bits = fraction.numerator.bit_length() - fraction.denominator.bit_length() + 1
    return ceil(bits * 0.30103)


# ------------------------------------------------- one kind of mechanism, composed count times


def homogeneous_delta(*, epsilon: Number, delta: Number, count: int, at: Number) -> mpf:
    """Give the least delta of ``count`` (epsilon, delta)-DP mechanisms at global epsilon ``at``.

    Theorem: KOV 3.3, for any real ``at >= 0``. Up to ``MOST_TERMS`` terms are added up one by
    one. A longer sum is the difference of two binomial tails, which are beta integrals and are
    integrated numerically (``mpmath.betainc`` needs seconds at a count of 10,000 and minutes
    beyond); the two ways are checked against each other where both are feasible.
    """
    pure = _pure_delta(epsilon=exact(epsilon), count=count, at=exact(at))
    with mp.workdps(DIGITS + 20):
        return _merged(pure=pure, deltas=[(delta, count)])


def _merged(*, pure: mpf, deltas: Sequence[tuple[Number, int]]) -> mpf:
    """Join the delta of the pure parts with the deltas proper: 1 - (1 - pure) prod(1 - delta_i).

    Theorem: KOV 3.3 and 3.5, equation (5): each delta is an event that reveals everything.
    """
    nothing_revealed = mp.fsum(count * mp.log1p(-rounded(delta)) for delta, count in deltas)
    return pure - mp.expm1(nothing_revealed) * (1 - pure)


def _pure_delta(*, epsilon: Fraction, count: int, at: Fraction) -> mpf:
    """Give the delta of ``count`` (epsilon, 0)-DP mechanisms at ``at``. Theorem: KOV 3.3."""
    if epsilon < 0 or at < 0 or count < 1:
        message = f"no composition: {epsilon=}, {count=}, {at=}"
        raise ValueError(message)
    if count * epsilon <= at:
        return mpf(0)
    last = ceil((count - at / epsilon) / 2) - 1  # the largest l with (count - 2 l) epsilon > at
    if last < MOST_TERMS:
        return pure_delta_by_summing(epsilon=epsilon, count=count, at=at, last=last)
    return pure_delta_by_integrating(epsilon=epsilon, count=count, at=at, last=last)


def pure_delta_by_summing(*, epsilon: Fraction, count: int, at: Fraction, last: int) -> mpf:
    """Add C(count, l) (e^((count-l) epsilon) - e^(at + l epsilon)) / (1 + e^epsilon)^count.

    Theorem: KOV 3.3, equation (6), with ``at`` for (count - 2i) epsilon. All terms l = 0..last
    are positive. Each is a difference whose two sides are nearest for l = last, where they
    differ by the factor e^gap; as many digits as the gap has zeros are added.
    """
    gap = (count - 2 * last) * epsilon - at
    zeros = max(0, -_digits_before_the_point(gap))
    with mp.workdps(DIGITS + 20 + zeros + _digits_before_the_point(count * (1 + epsilon))):
        grow = mp.exp(rounded(epsilon))
        shrink = 1 / grow
        more, less = grow**count, mp.exp(rounded(at))
        total = more - less
        for wrong in range(last):
            more = more * (count - wrong) / (wrong + 1) * shrink
            less = less * (count - wrong) / (wrong + 1) * grow
            total += more - less
        return total / (1 + grow) ** count


def pure_delta_by_integrating(*, epsilon: Fraction, count: int, at: Fraction, last: int) -> mpf:
    """Subtract P[Bin(count, s(epsilon)) <= last] e^at from P[Bin(count, s(-epsilon)) <= last].

    Theorem: KOV 3.3, equation (6), with s(x) = 1/(1 + e^-x). The digits that the subtraction
    destroys are counted, and the integrals are repeated with so many more.
    """
    digits = DIGITS + 40 + max(0, -_digits_before_the_point(epsilon))
    while True:
        with mp.workdps(digits + _digits_before_the_point(count + at)):
            likely, unlikely = _binomial_tails(epsilon, count, last, mp.dps)
            pure = likely - mp.exp(rounded(at)) * unlikely
            lost = mp.log10(likely / abs(pure)) if pure else digits
            if digits - lost >= DIGITS + 10:
                return pure
        digits += 40


@lru_cache(maxsize=256)
def _binomial_tails(epsilon: Fraction, count: int, last: int, digits: int) -> tuple[mpf, mpf]:
    """Give P[Bin(count, x) <= last] for x = s(-epsilon) and x = s(epsilon).

    Both are regularised incomplete beta integrals over t in [0, 1 - x] of
    t^(count-last-1) (1-t)^last, written in the log-odds y = log(t / (1-t)), which makes the
    integrand e^(-(last+1) y) / (1 + e^-y)^(count+1): log-concave, and almost a Gaussian.
    """
    with mp.workdps(digits + _digits_before_the_point(count)):
        left, right = mpf(count - last), mpf(last + 1)
        whole = mp.exp(mp.loggamma(left) + mp.loggamma(right) - mp.loggamma(left + right))
        peak = mp.log(left / right)
        width = mp.sqrt((left + right) / (left * right))

        def bell(log_odds: mpf) -> mpf:
            odds_against = mp.exp(-log_odds)
            return odds_against ** (last + 1) / (1 + odds_against) ** (count + 1)

        def tail(end: mpf) -> mpf:
            slope = left - (left + right) / (1 + mp.exp(-end))  # of the logarithm of the bell
            panel = min(width, 8 / slope) if end < peak else width
            return _integral_of_a_bell(bell, peak=peak, end=end, panel=panel, digits=digits) / whole

        limit = rounded(epsilon)
        return tail(limit), tail(-limit)


def _integral_of_a_bell(
    bell: Callable[[mpf], mpf], *, peak: mpf, end: mpf, panel: mpf, digits: int
) -> mpf:
    """Integrate a log-concave function from minus infinity to ``end``.

    The range is cut where the function falls below 10^-digits of its largest value; by
    log-concavity what lies beyond is as small a part of the integral. What remains is divided
    into panels on which the function is tame, for Gauss-Legendre quadrature. It is scaled to a
    largest value of 1, because ``mpmath.quad`` aims at an absolute error.
    """
    top = min(peak, end)
    largest = bell(top)

    def scaled(point: mpf) -> mpf:
        return bell(point) / largest

    def cut(outwards: int) -> mpf:
        point = top
        while scaled(point) > mpf(10) ** -digits:
            point += outwards * panel
        return point

    low, high = cut(-1), (end if end <= peak else min(end, cut(1)))
    panels = ceil((high - low) / panel)
    edges = [low + (high - low) * edge / panels for edge in range(panels + 1)]
    return largest * mp.quad(scaled, edges, method="gauss-legendre")


def homogeneous_epsilon(*, epsilon: Number, delta: Number, count: int, target: Number) -> mpf:
    """Give the least global epsilon at which the composition's delta is at most ``target``.

    Theorem: KOV 3.3, inverted by bisection to 40 digits. Infinity if no epsilon will do; 0 if
    the delta at 0 already fits. The boundary is decided in integers (as long as they have a
    reasonable size): if the deltas proper use up ``target`` to the last bit, the answer is
    count * epsilon, and if they exceed it by however little, infinity.
    """
    each = exact(epsilon)
    if exact(target) >= 1:
        return mpf(0)
    room = _room_for_the_pure_part(delta=exact(delta), count=count, target=exact(target))
    if room < 0:
        return mp.inf
    with mp.workdps(DIGITS + 20):
        if _pure_delta(epsilon=each, count=count, at=Fraction(0)) <= room:
            return mpf(0)
        low, high = mpf(0), rounded(count * each)
        while room > 0 and high - low > high / mpf(10) ** 42:
            middle = (low + high) / 2
            if _pure_delta(epsilon=each, count=count, at=exact(middle)) <= room:
                high = middle
            else:
                low = middle
        return high


def _room_for_the_pure_part(*, delta: Fraction, count: int, target: Fraction) -> mpf:
    """Solve 1 - (1 - delta)^count (1 - room) = target for ``room``; its sign is exact."""
    if delta == 1:
        return mp.ninf
    kept, missed = 1 - delta, 1 - target
    with mp.workdps(DIGITS + 20):
        if count <= MOST_TERMS:
            have = kept.numerator**count * missed.denominator
            need = kept.denominator**count * missed.numerator
            return mpf(have - need) / have
        if delta == 0:
            return rounded(target)
    # An exact tie is impossible here: the power has far more digits than the target.
    with mp.workdps(4 * DIGITS):
        return 1 - rounded(missed) / mp.exp(count * mp.log1p(-rounded(delta)))


# ------------------------------------------------------- different mechanisms, by enumeration


def _randomized_response(*, epsilon: Number, delta: Number) -> list[tuple[mpf, mpf]]:
    """Give the four outcomes' probabilities under both hypotheses; KOV equations (12), (13).

    This mechanism dominates every (epsilon, delta)-DP mechanism (KOV Theorems 2.4, 2.5).
    """
    revealed, odds = rounded(delta), mp.exp(rounded(epsilon))
    truth, lie = (1 - revealed) * odds / (1 + odds), (1 - revealed) / (1 + odds)
    return [(revealed, mpf(0)), (truth, lie), (lie, truth), (mpf(0), revealed)]


def _possible_outcomes(steps: Sequence[Step]) -> list[tuple[mpf, mpf]]:
    """List the probabilities of all 4^k outcomes of k steps but those impossible under both."""
    outcomes = [(mpf(1), mpf(1))]
    for epsilon, delta in steps:
        response = _randomized_response(epsilon=epsilon, delta=delta)
        pairs = [(p * p_i, q * q_i) for p, q in outcomes for p_i, q_i in response]
        outcomes = [(p, q) for p, q in pairs if p or q]
    return outcomes


def brute_force_delta(*, steps: Sequence[Step], at: Number) -> mpf:
    """Add max(0, P - e^at Q) over all outcomes of a product of randomized responses.

    Theorem: KOV 3.3, proof (Section 5.1), for up to 8 different steps. The absolute error is
    below 1e-90; where the truth is 0, at the sum of all epsilons, the result may be that small.
    """
    with mp.workdps(DIGITS + 40):
        scale = mp.exp(rounded(at))
        return mp.fsum(max(mpf(0), p - scale * q) for p, q in _possible_outcomes(steps))


def subset_delta(*, steps: Sequence[Step], at: Number) -> mpf:
    """Add max(0, e^sum(S) - e^at e^sum(not S)) over all sets S of up to 16 steps.

    Theorem: MV 1.5, then merged with the deltas. Absolute error as in ``brute_force_delta``.
    """
    with mp.workdps(DIGITS + 40):
        odds = [mp.exp(rounded(epsilon)) for epsilon, _ in steps]
        subsets = [(mpf(1), mpf(1))]
        for ratio in odds:
            subsets = [(p * ratio, q) for p, q in subsets] + [(p, q * ratio) for p, q in subsets]
        scale = mp.exp(rounded(at))
        excess = mp.fsum(max(mpf(0), p - scale * q) for p, q in subsets)
        pure = excess / mp.fprod(1 + ratio for ratio in odds)
        return _merged(pure=pure, deltas=[(delta, 1) for _, delta in steps])


def grouped_delta(*, groups: Sequence[tuple[Number, Number, int]], at: Number) -> mpf:
    """Give the delta at ``at`` of groups (epsilon, delta, count) of equal mechanisms.

    Theorem: MV 1.5, where the subsets that pick equally many of each group are taken together:
    for up to some 20,000 combinations of such numbers.
    """
    threshold = exact(at)
    with mp.workdps(DIGITS + 20):
        excess = mpf(0)
        losses = [_losses_of_a_group(epsilon=epsilon, count=count) for epsilon, _, count in groups]
        for combination in product(*(list(group) for group in losses)):
            loss = sum((one for one, _ in combination), Fraction(0))
            if loss > threshold:
                mass = mp.fprod(one for _, one in combination)
                excess += mass * -mp.expm1(rounded(threshold - loss))
        return _merged(pure=excess, deltas=[(delta, count) for _, delta, count in groups])


def _losses_of_a_group(*, epsilon: Number, count: int) -> Iterator[tuple[Fraction, mpf]]:
    """List the privacy losses (count - 2l) epsilon with their probabilities."""
    odds = mp.exp(rounded(epsilon))
    for wrong in range(count + 1):
        mass = comb(count, wrong) * odds ** (count - wrong) / (1 + odds) ** count
        yield (count - 2 * wrong) * exact(epsilon), mass


def brute_force_tradeoff(*, steps: Sequence[Step], false_positive: Number) -> mpf:
    """Give the least probability of missing at the given probability of a false alarm.

    Theorem: KOV 2.1 and Remark 2.2, on the product of randomized responses, by the lemma of
    Neyman and Pearson. Both orientations are computed; the pair is symmetric, so they agree.
    """
    with mp.workdps(DIGITS + 40):
        outcomes = _possible_outcomes(steps)
        swapped = [(q, p) for p, q in outcomes]
        allowed = rounded(false_positive)
        missed = _least_missed_detection(outcomes, allowed)
        assert abs(missed - _least_missed_detection(swapped, allowed)) < mpf(10) ** -(DIGITS + 20)
        return missed


def _least_missed_detection(outcomes: list[tuple[mpf, mpf]], allowed: mpf) -> mpf:
    """Accuse on the most telling outcomes first, and on the last one with some probability."""
    telling_first = sorted(outcomes, key=lambda pair: pair[1] / pair[0] if pair[0] else mp.inf)
    missed = mpf(0)
    for alarm, detection in reversed(telling_first):
        if alarm <= allowed:
            allowed -= alarm
        else:
            missed += detection * (1 - allowed / alarm)
            allowed = mpf(0)
    return missed


# ------------------------------------------------------------------------- closed formulas


def basic(*, steps: Sequence[Step]) -> Guarantee:
    """Add the epsilons, and add the deltas. Theorem: KOV 3.1."""
    total_epsilon = sum((exact(epsilon) for epsilon, _ in steps), Fraction(0))
    total_delta = sum((exact(delta) for _, delta in steps), Fraction(0))
    with mp.workdps(DIGITS + 20):
        return Guarantee(rounded(total_epsilon), rounded(total_delta))


def advanced(*, epsilon: Number, delta: Number, count: int, slack: Number) -> Guarantee:
    """Compose ``count`` mechanisms as Dwork, Rothblum and Vadhan did. Theorem: KOV 3.2."""
    with mp.workdps(DIGITS + 20):
        e, tilde = rounded(epsilon), rounded(slack)
        total = count * e * mp.expm1(e) + e * mp.sqrt(2 * count * mp.log(1 / tilde))
        return Guarantee(total, rounded(count * exact(delta) + exact(slack)))


def closed_form_branches(*, epsilons: Sequence[Number], slack: Number) -> tuple[mpf, mpf, mpf]:
    """Give the three epsilons whose least is the bound. Theorem: KOV 3.5, equation (8)."""
    with mp.workdps(DIGITS + 20):
        each, tilde = [rounded(epsilon) for epsilon in epsilons], rounded(slack)
        if tilde == 0:
            return mp.fsum(each), mp.inf, mp.inf
        drift, squares = mp.fsum(e * mp.tanh(e / 2) for e in each), mp.fsum(e * e for e in each)
        second = drift + mp.sqrt(2 * squares * mp.log(mp.e + mp.sqrt(squares) / tilde))
        third = drift + mp.sqrt(2 * squares * mp.log(1 / tilde))
        return mp.fsum(each), second, third


def closed_form(*, steps: Sequence[Step], slack: Number) -> Guarantee:
    """Compose different mechanisms by the closed form. Theorem: KOV 3.5 (3.4 if all are equal)."""
    with mp.workdps(DIGITS + 20):
        branches = closed_form_branches(epsilons=[epsilon for epsilon, _ in steps], slack=slack)
        deltas = [(delta, 1) for _, delta in steps]
        return Guarantee(min(branches), _merged(pure=rounded(slack), deltas=deltas))


def implied_delta(*, epsilon: Number, delta: Number, at: Number) -> mpf:
    """Give the least delta that (epsilon, delta)-DP implies at ``at``. KOV Remark A.1 (a)."""
    with mp.workdps(2 * DIGITS):
        corner = (1 - rounded(delta)) / (1 + mp.exp(rounded(epsilon)))
        return max(rounded(delta), 1 - corner * (1 + mp.exp(rounded(at))))


def total_variation(*, epsilon: Number, delta: Number) -> mpf:
    """Give the largest total variation distance (epsilon, delta)-DP allows. KOV Remark A.1 (b)."""
    with mp.workdps(2 * DIGITS):
        return 1 - 2 * (1 - rounded(delta)) / (1 + mp.exp(rounded(epsilon)))
