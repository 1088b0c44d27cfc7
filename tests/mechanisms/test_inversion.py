"""Exactness of the tables, at every boundary.

What a table returns rises with the word it is given. So it is right for all 2^64 words if it is
right on both sides of every boundary, and there it is compared with 60 digits of mpmath.
"""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import pytest
from flint import arb
from mpmath import exp, floor, mp, mpf, nsum

from quaestor.mechanisms.kinds.randomized_response import _Honesty
from quaestor.mechanisms.samplers import inversion, noise, randomness
from quaestor.mechanisms.samplers.inversion import Inversion, all_happen, exactly, happens
from tests.mechanisms.sources import Counted, Scripted, as_halves, as_words, install

if TYPE_CHECKING:
    from collections.abc import Callable

ALL = 2**64 - 1


def script(monkeypatch: pytest.MonkeyPatch, *words: int) -> None:
    """Give these words, in this order, to whoever asks for one at a time; then nothing."""
    install(monkeypatch, Counted())
    randomness._block.extend(reversed(words))


def boundaries(energy: Callable[[mpf], mpf], scale: float) -> list[mpf]:
    """2^64 times the sums of the first probabilities, in the order 0, -1, 1, -2, ..."""
    with mp.workdps(60):
        exact = mpf(scale)
        weights = [exp(-energy(mpf((k + 1) // 2) / exact)) for k in range(1200)]
        total = 1 + 2 * nsum(lambda y: exp(-energy(y / exact)), [1, mp.inf])
        return [2**64 * partial / total for partial in accumulate(weights)]


CASES = [
    ("laplace", 0.5, lambda y: y),
    ("laplace", 3.0, lambda y: y),
    ("laplace", 7.25, lambda y: y),
    ("gaussian", 0.4, lambda y: y**2 / 2),
    ("gaussian", 5.0, lambda y: y**2 / 2),
    ("gaussian", 11.7, lambda y: y**2 / 2),
]
NAMES = [f"{kind} {scale}" for kind, scale, _ in CASES]


@pytest.mark.parametrize(("kind", "scale", "energy"), CASES, ids=NAMES)
def test_the_table_is_right_on_both_sides_of_every_boundary(
    kind: str, scale: float, energy: Callable[[mpf], mpf], monkeypatch: pytest.MonkeyPatch
) -> None:
    law = noise._LaplaceNoise if kind == "laplace" else noise._GaussianNoise
    draw = law(Fraction(scale), law.fine)
    table = draw._bins
    marks = boundaries(energy, scale)
    last = len(table._thresholds)
    assert last > 5
    with mp.workdps(60):
        for k, mark in enumerate(marks[: last - 1]):
            assert abs(mark - table._thresholds[k]) < 2
            word = int(floor(mark))
            fraction = mark - word
            for offset in (-4, 3):  # the word alone decides
                script(monkeypatch, word + offset)
                assert table.one() == bisect_right(marks, word + offset)
            # In the boundary's own word the next one decides: just below, and just above.
            beyond = int(floor(fraction * 2**64))
            script(monkeypatch, word, max(beyond - 1, 0))
            assert table.one() == k
            script(monkeypatch, word, min(beyond + 1, ALL))
            assert table.one() == k + 1


@pytest.mark.parametrize(("kind", "scale", "energy"), CASES, ids=NAMES)
def test_arrays_are_drawn_from_the_same_words(
    kind: str, scale: float, energy: Callable[[mpf], mpf], monkeypatch: pytest.MonkeyPatch
) -> None:
    law = noise._LaplaceNoise if kind == "laplace" else noise._GaussianNoise
    draw = law(Fraction(scale), law.fine)
    table = draw._bins
    words = sorted({max(0, mark + shift) for mark in table._thresholds for shift in (-9, 5)})
    assert energy(mpf(0)) == 0
    halves = [word >> 48 for word in words]
    undecided = [word for word in words if table._guide[word >> 48] < 0]
    rest = [(word % 2**48) << 16 for word in undecided]
    install(monkeypatch, Scripted(as_words(words)))
    few = table.many(len(words)).tolist()
    install(monkeypatch, Scripted(as_halves(halves), as_words(rest)))
    monkeypatch.setattr(inversion, "_GUIDED", 0)
    drawn = table.many(len(words)).tolist()
    singles = []
    for word in words:
        script(monkeypatch, word, 0)
        singles.append(table.one())
    assert drawn == few == singles


def test_the_guide_decides_no_cell_that_holds_a_boundary() -> None:
    draw = noise._LaplaceNoise(Fraction(3.0), noise._LaplaceNoise.fine)
    table = draw._bins
    for k, threshold in enumerate(table._thresholds):
        assert table._guide[threshold >> 48] == -1
        below = (threshold >> 48) - 1
        if below >= 0 and table._guide[below] >= 0:
            assert table._guide[below] <= k
    assert sum(table._guide < 0) <= len(table._thresholds) + 1


def test_a_draw_beyond_the_table_goes_on_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = noise._LaplaceNoise(Fraction(0.5), noise._LaplaceNoise.fine)
    reached = []
    for further in (0, 2**63, ALL - 1):
        script(monkeypatch, ALL, further, 0, 0)
        reached.append(draw._bins.one())
    # 1 - U is then 2^-64, 2^-65 and 2^-127: by P(|X| > t) = 2 e^(-2(t+1)) / (1 + e^-2)
    assert reached == sorted(reached)
    for outcome, tail in zip(reached, (mpf(2) ** -64, mpf(2) ** -65, mpf(2) ** -127), strict=True):
        place = (outcome + 1) // 2
        lower, upper = (2 * exp(-2 * mpf(t + 1)) / (1 + exp(-2)) for t in (place, place - 1))
        assert lower <= tail <= upper


@pytest.mark.parametrize("bits", [4, 8])
def test_a_coin_decides_as_early_as_it_can_and_rightly(
    bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def third() -> arb:
        return (-arb(1) / 3).exp()

    chance = exp(mpf(-1) / 3)
    decided = 0
    for drawn in range(2**bits):
        edge = floor(chance * 2**bits) == drawn
        script(monkeypatch, *([0] if edge else []))
        happened = happens(third, drawn=drawn, bits=bits)
        assert happened == (drawn <= chance * 2**bits)
        decided += not edge
    assert decided == 2**bits - 1


def test_an_outcome_at_a_rational_boundary_is_found_too(monkeypatch: pytest.MonkeyPatch) -> None:
    class Even:
        """Weights 1, e, 1, e, in balls: the second boundary is exactly 1/2."""

        size = 4

        def weight(self, outcome: int) -> arb:
            return arb(1).exp() if outcome % 2 else arb(1)

        def total(self) -> arb:
            return 2 * (1 + arb(1).exp())

    script(monkeypatch, ALL)  # the words are 1/2 - 2^-64, and all ones after that
    assert exactly(Even(), 2**63 - 2) == 1
    script(monkeypatch, 1, 1)
    assert exactly(Even(), 2**63) == 2
    assert Inversion(Even())._thresholds[1] == pytest.approx(2**63, abs=2)


def test_two_outcomes_need_one_threshold() -> None:
    table = Inversion(_Honesty(1.0, 1))
    assert table._complete
    (threshold,) = table._thresholds
    assert abs(threshold - 2**64 / (1 + exp(mpf(-1)))) < 2


@pytest.mark.parametrize("scale", [1e-3, 0.01, 0.02])
def test_a_law_that_is_almost_certain_is_still_exact(
    scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = noise.laplace_noise(scale)
    script(monkeypatch, 2**64 - 2**20)
    assert draw.one() == 0
    tail = 2 * exp(-1 / mpf(scale)) / (1 + exp(-1 / mpf(scale)))
    words = int(-mp.log(tail, 2) // 64)
    script(monkeypatch, *([ALL] * (words + 2)), 0)
    assert draw.one() != 0


@pytest.mark.parametrize("follow", [0, ALL // 5, ALL])
def test_many_coins_fall_as_the_real_numbers_say(
    follow: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    coins: list[Callable[[], arb]] = [
        lambda: arb(0),
        lambda: arb(2) ** -70,
        lambda: arb(1) / 3,
        lambda: arb(1) / 2,
        arb(-1).exp,
        lambda: 1 - arb(2) ** -70,
        lambda: arb(1),
    ]
    which, drawn, wanted = [], [], []
    with mp.workdps(60):
        tiny = mpf(2) ** -70
        chances = [mpf(0), tiny, mpf(1) / 3, mpf(1) / 2, exp(mpf(-1)), 1 - tiny, mpf(1)]
        for at, chance in enumerate(chances):
            start = int(floor(2**64 * chance))
            for word in (0, start - 2, start - 1, start, start + 1, ALL):
                if 0 <= word <= ALL:
                    which.append(at)
                    drawn.append(word)
                    wanted.append(bool((mpf(word) * 2**64 + follow + 0.5) / 2**128 < chance))
    install(monkeypatch, Scripted(as_words(drawn)))
    randomness._block.extend([follow] * len(drawn))
    assert all_happen(coins, np.array(which)).tolist() == wanted
