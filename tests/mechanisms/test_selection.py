"""Choices: their laws from brute force, and what they cost on neighbours."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from mpmath import exp, fprod, inf, mpf, quad

import quaestor as q
from quaestor.mechanisms import (
    ExponentialMechanism,
    Geometric,
    NoisyMax,
    PartitionSelection,
    Quantile,
    TopK,
    quantile,
    report_noisy_max,
    top_k,
)
from quaestor.mechanisms.samplers.choice import _Candidates, choose, flip
from quaestor.mechanisms.samplers.inversion import exactly
from tests.mechanisms.laws import chi_square, discrete_laplace, normalised
from tests.mechanisms.sources import seed
from tests.mechanisms.test_inversion import script

if TYPE_CHECKING:
    from collections.abc import Sequence

ACCEPT, REJECT = 1e-4, 1e-6
SCORES = [0.0, 1.0, 2.5, -3.0, 2.0]


def exponential(scores: Sequence[float], epsilon: float) -> dict[int, mpf]:
    return normalised({i: exp(mpf(epsilon) * mpf(u) / 2) for i, u in enumerate(scores)})


def noisy_max(scores: Sequence[float], epsilon: float) -> dict[int, mpf]:
    """Permute and flip, over all orders."""
    best = max(scores)
    chances = [exp(mpf(epsilon) * (mpf(u) - mpf(best)) / 2) for u in scores]
    law = dict.fromkeys(range(len(scores)), mpf(0))
    orders = list(permutations(range(len(scores))))
    for order in orders:
        left = mpf(1) / len(orders)
        for candidate in order:
            law[candidate] += left * chances[candidate]
            left *= 1 - chances[candidate]
    return law


def quantile_law(data: Sequence[int], probability: float, epsilon: float) -> dict[int, mpf]:
    """Every candidate from 0 to 12, from the definition of the score."""
    wanted = int(Fraction(probability) * len(data) + Fraction(1, 2))

    def behind(y: int) -> int:
        below, not_above = sum(x < y for x in data), sum(x <= y for x in data)
        return max(below - wanted, wanted - not_above, 0)

    return normalised({y: exp(-mpf(epsilon) * behind(y) / 2) for y in range(13)})


def test_choices_have_the_laws_they_state(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, 31)
    one = ExponentialMechanism(epsilon=3.0)
    other = NoisyMax(epsilon=3.0)
    data = [3] * 12 + [4]
    middle = Quantile(probability=0.4, low=0.0, high=12.0, epsilon=1.0)
    chosen = [one.release(SCORES) for _ in range(40_000)]
    largest = [other.release(SCORES) for _ in range(40_000)]
    middles = [int(middle.release(data)) for _ in range(20_000)]
    for by in (1.0, 1.05, 1 / 1.05):
        for sample, law in (
            (chosen, exponential(SCORES, 3.0 * by)),
            (largest, noisy_max(SCORES, 3.0 * by)),
            (middles, quantile_law(data, 0.4, 1.0 * by)),
        ):
            chance = chi_square(sample, law)
            assert chance > ACCEPT if by == 1.0 else chance < REJECT


def test_permuting_and_flipping_is_adding_exponential_noise() -> None:
    scores, rate = [0.0, 1.0, 1.5], mpf(1)  # epsilon 2: the noise has the density e^-x

    def won_by(i: int) -> mpf:
        def density(x: mpf) -> mpf:  # the noisy score i is x, and all others are below
            others = (1 - exp(-rate * (x - mpf(u))) for j, u in enumerate(scores) if j != i)
            return exp(-rate * (x - mpf(scores[i]))) * fprod(others)

        return quad(density, [mpf(max(scores)), 5, 20, inf])

    law = noisy_max(scores, 2.0)
    for i in range(3):
        assert abs(won_by(i) - law[i]) < mpf(10) ** -12


def test_the_best_few_are_chosen_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, 32)
    mechanism = TopK(epsilon=2.0, count=2)
    first = exponential(SCORES, 2.0)
    law = {
        10 * i + j: first[i] * first[j] / (1 - first[i])
        for i in range(5)
        for j in range(5)
        if i != j
    }
    drawn = [i * 10 + j for i, j in (mechanism.release(SCORES) for _ in range(20_000))]
    assert chi_square(drawn, law) > ACCEPT
    turned = {10 * (key % 10) + key // 10: weight for key, weight in law.items()}
    assert chi_square(drawn, turned) < REJECT


def test_floats_and_balls_choose_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(4)
    for _ in range(300):
        scores = generator.normal(scale=20, size=7)
        multiples = generator.integers(1, 10**9, size=7).tolist()
        drawn = int(generator.integers(0, 2**63)) * 2
        rate = Fraction(float(generator.exponential()))
        script(monkeypatch, drawn)
        chosen = choose(scores, rate=rate, multiples=multiples)
        assert chosen == exactly(_Candidates(scores, rate, multiples), drawn)


def test_words_next_to_a_boundary_are_on_the_right_side_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    generator = np.random.default_rng(5)
    for _ in range(20):
        scores = generator.normal(size=6)
        rate = Fraction(float(generator.exponential()))
        slope = mpf(rate.numerator) / rate.denominator
        weights = [exp(slope * (mpf(u) - mpf(max(scores)))) for u in scores.tolist()]
        summed = mpf(0)
        for outcome, weight in enumerate(weights[:-1]):
            summed += weight
            word = int(summed / sum(weights) * 2**64)
            for shift, chosen in ((-1, outcome), (1, outcome + 1)):
                script(monkeypatch, word + shift, 0)
                assert choose(scores, rate=rate) == chosen


def test_a_boundary_is_left_to_balls(monkeypatch: pytest.MonkeyPatch) -> None:
    # Two equal candidates: 2^63 is the first word of the second one.
    for word, chosen in ((2**63 - 1, 0), (2**63, 1)):
        script(monkeypatch, word, 0)
        assert choose(np.zeros(2), rate=Fraction(1)) == chosen
    script(monkeypatch, 2**64 - 1)
    assert choose(np.zeros(1), rate=Fraction(1)) == 0


def test_a_coin_close_to_its_chance_is_left_to_balls(monkeypatch: pytest.MonkeyPatch) -> None:
    coin = flip(np.array([0.0, 0.7]), rate=Fraction(1, 3))
    word = int(exp((mpf(0.0) - mpf(0.7)) / 3) * 2**64)
    for shift, heads in ((-1, True), (1, False)):
        script(monkeypatch, word + shift)
        assert coin(0) is heads
    for further, heads in ((0, True), (2**64 - 1, False)):
        script(monkeypatch, word, further)
        assert coin(0) is heads
    script(monkeypatch, 2**64 - 1)
    assert coin(1)  # the best one always


def test_scores_far_apart_do_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, 33)
    scores = [-1e308, 0.0, 1e308]
    assert ExponentialMechanism(epsilon=1.0).release(scores) == 2
    assert NoisyMax(epsilon=1.0).release(scores) == 2
    assert TopK(epsilon=1.0, count=3).release(scores) == [2, 1, 0]


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_no_choice_tells_neighbours_apart_by_more_than_it_costs(epsilon: float) -> None:
    moves = list(product([-1.0, 0.0, 1.0], repeat=4))
    scores = [0.0, 1.0, 2.5, 2.0]
    for law, mechanism in (
        (exponential, ExponentialMechanism(epsilon=epsilon)),
        (noisy_max, NoisyMax(epsilon=epsilon)),
    ):
        stated = exp(mpf(q.compose(mechanism.loss).epsilon(delta=0.0)))
        base = law(scores, epsilon)
        for move in moves:
            near = law([u + d for u, d in zip(scores, move, strict=True)], epsilon)
            assert all(base[i] <= near[i] * stated * (1 + mpf(10) ** -30) for i in base)
    half = ExponentialMechanism(epsilon=epsilon, monotonic=True)
    stated = exp(mpf(q.compose(half.loss).epsilon(delta=0.0)))
    base = exponential(scores, epsilon)
    for move in product([0.0, 1.0], repeat=4):
        near = exponential([u + d for u, d in zip(scores, move, strict=True)], epsilon)
        for i in base:
            assert base[i] <= near[i] * stated * (1 + mpf(10) ** -30)
            assert near[i] <= base[i] * stated * (1 + mpf(10) ** -30)


@pytest.mark.parametrize("probability", [0.0, 0.25, 0.5, 0.9, 1.0])
def test_no_quantile_tells_neighbours_apart_by_more_than_it_costs(probability: float) -> None:
    stated = exp(mpf(1)) * (1 + mpf(10) ** -30)
    for data in ([], [3], [0, 5, 5], [1, 4, 6, 12]):
        law = quantile_law(data, probability, 1.0)
        neighbours = [[*data, x] for x in range(13)]
        neighbours += [[*data[1:], x] for x in range(13) if data]
        for near in neighbours:
            other = quantile_law(near, probability, 1.0)
            assert all(law[y] <= other[y] * stated for y in law)
            assert all(other[y] <= law[y] * stated for y in law)


def test_quantiles_are_near_the_quantile(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, 34)
    data = np.arange(10_000) / 100
    mechanism = Quantile(probability=0.25, low=0.0, high=128.0, epsilon=1.0, granularity=2.0**-7)
    reach = mechanism.interval(confidence=0.999).upper
    for _ in range(50):
        released = mechanism.release(data)
        assert released % 2.0**-7 == 0
        assert abs(np.sum(data < released) - 2500) <= reach + 2
    assert 0 <= quantile(data, probability=1.0, low=0, high=64, epsilon=1.0) <= 64


def test_the_score_chosen_is_rarely_far_behind() -> None:
    scores = [0.0] * 99 + [30.0]
    within = ExponentialMechanism(epsilon=1.0).interval(confidence=0.9, candidates=100)
    law = exponential(scores, 1.0)
    assert -within.upper == 0.0
    assert sum(law[i] for i in law if scores[i] >= 30.0 + within.lower) >= 0.9
    assert within.lower > -15


def test_short_forms_do_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, 35)
    assert report_noisy_max([0, 0, 1000], epsilon=1.0) == 2
    assert top_k([0, 500, 1000], count=2, epsilon=1.0) == [2, 1]


# Which groups are shown.


@pytest.mark.parametrize("scale", [0.5, 2.0, 7.0, 1e9])
def test_the_threshold_keeps_a_group_of_one_below_its_delta(scale: float) -> None:
    for delta in (1e-3, 1e-6, 1e-12):
        for contributions in (1, 5):
            mechanism = PartitionSelection.with_delta(
                scale=scale, delta=delta, contributions=contributions
            )

            def shown(threshold: int) -> mpf:
                return exp(-(threshold - 1) / mpf(scale)) / (1 + exp(-1 / mpf(scale)))

            assert contributions * shown(mechanism.threshold) <= delta
            if mechanism.threshold > 2:
                assert contributions * shown(mechanism.threshold - 1) > delta * (1 - 1e-12)
            loss = mechanism.loss
            loss = loss.release if isinstance(loss, q.Repeated) else loss
            assert isinstance(loss, q.ApproxDP)
            assert loss.delta >= shown(mechanism.threshold)
            assert loss.delta == pytest.approx(float(shown(mechanism.threshold)))


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.5])
def test_groups_cost_no_more_than_is_stated(epsilon: float) -> None:
    mechanism = PartitionSelection(scale=2.0, threshold=4)
    law = discrete_laplace(2.0, 120)

    def shown(count: int) -> dict[int | None, mpf]:
        outcomes: dict[int | None, mpf] = {None: mpf(0)}
        if count == 0:
            return {None: mpf(1)}  # nobody looks at a group without people
        for x, weight in law.items():
            key = count + x if count + x >= 4 else None
            outcomes[key] = outcomes.get(key, mpf(0)) + weight
        return outcomes

    bound = q.compose(mechanism.loss).delta_bounds(epsilon=epsilon).upper
    factor = exp(mpf(epsilon))
    for fewer, more in ((0, 1), (1, 2), (2, 3), (5, 6)):
        for p, other in ((shown(fewer), shown(more)), (shown(more), shown(fewer))):
            true = sum(max(w - factor * other.get(x, mpf(0)), 0) for x, w in p.items())
            assert true <= bound + 1e-12


def test_groups_are_shown_in_an_order_that_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = PartitionSelection(scale=1.0, threshold=40)
    seed(monkeypatch, 36)
    shown = mechanism.release({"b": 900, "a": 500, "c": 1})
    assert list(shown) == ["a", "b"]
    assert abs(shown["b"] - 900) < 60
    assert mechanism.release({}) == {}
    assert mechanism.standard_error == Geometric(scale=1.0).standard_error
    assert mechanism.interval(confidence=0.9) == Geometric(scale=1.0).interval(confidence=0.9)
