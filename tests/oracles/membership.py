"""Many databases by brute force: every pair of memberships, every outcome of every mechanism.

Paper:
    HBW: Hartmann, Bindschaedler, West, "On the Choice of Databases in Differential Privacy
    Composition", Algorithm 2 and Definition 3.

Each black box is the four-outcome mechanism that is the worst of its kind (KOV, eqs. (12), (13)).
Nothing is left out: mechanisms on which two memberships agree are enumerated, too. Every pair is
looked at in float64; the worst one is then computed again to forty digits.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
from mpmath import mp, mpf  # type: ignore[import-untyped, unused-ignore]
from numpy.typing import NDArray

from tests.oracles.composition import Number, Step, rounded

Vector = tuple[int, ...]
Prior = Mapping[Vector, Number]
Law = tuple[mpf, ...]

DIGITS = 40
ROUGH = 1e-11
"""The relative error of float64 sums over all outcomes, generously."""


class Worst(NamedTuple):
    """The largest delta, and the ordered pair of memberships that has it."""

    delta: mpf
    null: Vector
    alternative: Vector


def vectors(count: int) -> Iterator[Vector]:
    """All memberships of ``count`` databases."""
    return product((0, 1), repeat=count)


def allowed(count: int, fact: Callable[[Vector], bool]) -> list[Vector]:
    """All memberships of which a fact holds."""
    return [vector for vector in vectors(count) if fact(vector)]


@cache
def black_box(epsilon: Number, delta: Number, *, member: bool) -> Law:
    """The four outcomes of the worst (epsilon, delta)-DP mechanism, with the person or without."""
    with mp.workdps(DIGITS):
        told, odds = rounded(delta), mp.exp(rounded(epsilon))
        law = (told, (1 - told) * odds / (1 + odds), (1 - told) / (1 + odds), mpf(0))
        return law if member else law[::-1]


@cache
def twice_changed(epsilon: Number, delta: Number) -> tuple[Law, Law]:
    """Two records at distance two: the worst pair that an (epsilon, delta)-DP mechanism has.

    The most detections g(a) at false alarms a, twice: g(g(a)). Its corners are found by walking
    along a fine list of candidates, and its pieces are the outcomes.
    """
    with mp.workdps(DIGITS):
        told, odds = rounded(delta), mp.exp(rounded(epsilon))

        def detect(alarm: mpf) -> mpf:
            return min(mpf(1), told + odds * alarm, 1 - (1 - told - alarm) / odds)

        corner = (1 - told) / (1 + odds)
        places = {mpf(0), corner, 1 - told, mpf(1)}
        for height in (corner, 1 - told):
            places |= {(height - told) / odds, 1 - told - (1 - height) * odds}
        alarms = sorted(place for place in places if 0 <= place <= 1)
        heights = [detect(detect(alarm)) for alarm in alarms]
        steps = list(zip(alarms[1:], alarms, heights[1:], heights, strict=False))
        without = (mpf(0), *(right - left for right, left, _, _ in steps))
        with_it = (heights[0], *(upper - lower for _, _, upper, lower in steps))
        return with_it, without


@cache
def in_floats(law: Law) -> NDArray[np.float64]:
    """A law in float64."""
    return np.array([float(mass) for mass in law])


def joint(laws: Sequence[Law]) -> NDArray[np.float64]:
    """The law of all outcomes together, in float64."""
    total = np.ones(1)
    for law in laws:
        total = np.multiply.outer(total, in_floats(law)).ravel()
    return total


def hockey_stick(first: Sequence[Law], second: Sequence[Law], at: Number) -> mpf:
    """The delta of two products of laws at epsilon ``at``, to forty digits."""
    with mp.workdps(DIGITS):
        factor, total = mp.exp(rounded(at)), mpf(0)
        for outcome in product(
            *(zip(p, q, strict=True) for p, q in zip(first, second, strict=True))
        ):
            p = q = mpf(1)
            for one, other in outcome:
                p, q = p * one, q * other
            total += max(p - factor * q, mpf(0))
        return total


def laws_of(databases: Sequence[Sequence[Step]], vector: Vector) -> list[Law]:
    """One law for every release of every database."""
    return [
        black_box(epsilon, delta, member=bool(member))
        for steps, member in zip(databases, vector, strict=True)
        for epsilon, delta in steps
    ]


def worst_delta(
    databases: Sequence[Sequence[Step]], pairs: Iterable[tuple[Vector, Vector]], at: Number
) -> Worst:
    """The largest delta over ordered pairs of memberships, and where it is."""
    factor = float(np.exp(float(at)))
    known: dict[Vector, NDArray[np.float64]] = {}

    def law(vector: Vector) -> NDArray[np.float64]:
        if vector not in known:
            known[vector] = joint(laws_of(databases, vector))
        return known[vector]

    best, where = -1.0, None
    for null, alternative in pairs:
        delta = float(np.sum(np.maximum(law(null) - factor * law(alternative), 0.0)))
        if delta > best:
            best, where = delta, (null, alternative)
    if where is None:
        message = "no pairs"
        raise ValueError(message)
    exact = hockey_stick(laws_of(databases, where[0]), laws_of(databases, where[1]), at)
    return Worst(exact, *where)


def pairs_add_remove(members: Sequence[Vector]) -> list[tuple[Vector, Vector]]:
    """The person who is nowhere against every allowed membership, both ways."""
    nowhere = (0,) * len(members[0])
    return [pair for member in members for pair in ((nowhere, member), (member, nowhere))]


def pairs_replace(members: Sequence[Vector]) -> list[tuple[Vector, Vector]]:
    """Any two allowed memberships, both ways."""
    return [(one, other) for one in members for other in members]


def mixture_delta(
    databases: Sequence[Sequence[Step]], null: Prior, alternative: Prior, at: Number
) -> mpf:
    """The delta of one prior against another: HBW, Definition 3, one direction."""
    with mp.workdps(DIGITS):
        factor = mp.exp(rounded(at))
        difference: dict[tuple[int, ...], mpf] = {}
        for prior, sign in ((null, mpf(1)), (alternative, -factor)):
            for vector, weight in prior.items():
                laws = laws_of(databases, vector)
                for outcome in product(*(range(len(law)) for law in laws)):
                    mass = mp.fprod(law[i] for law, i in zip(laws, outcome, strict=True))
                    old = difference.get(outcome, mpf(0))
                    difference[outcome] = old + sign * rounded(weight) * mass
        return mp.fsum(max(value, mpf(0)) for value in difference.values())
