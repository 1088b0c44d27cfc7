"""How far intervals of quantiles go: the law from the definition, its cost, and its promise."""

from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement, pairwise
from typing import TYPE_CHECKING, Any

import pytest
from mpmath import exp, inf, mpf

import quaestor as q
from quaestor.errors import InvalidParameter
from quaestor.mechanisms import QuantileReach
from tests.mechanisms.laws import chi_square, normalised
from tests.mechanisms.sources import Counted, install, seed

if TYPE_CHECKING:
    from collections.abc import Sequence

LOW, HIGH = -2, 9
ACCEPT, REJECT = 1e-4, 1e-6
DATA: tuple[list[int], ...] = ([], [3], [0, 5, 5], [-2, 1, 4, 6], [9] * 12, [-2] * 7 + [4] * 8)


def inside(data: Sequence[int], probability: float, centre: int, width: int) -> mpf:
    """By how many ranks the quantile is inside, from the words of the docstring."""
    wanted = mpf(probability) * len(data)
    limits = [inf]
    if centre + width < HIGH:
        limits.append(sum(x <= centre + width for x in data) - wanted)
    if centre - width > LOW:
        limits.append(wanted - sum(x < centre - width for x in data))
    return min(limits)


def law(
    data: Sequence[int], centre: int, made: QuantileReach, *, by: float = 1.0
) -> dict[int, Any]:
    """Every width with its probability; probabilities of eighths are not rounded."""
    rate = mpf(made.epsilon) * by / (2 * made.rows * max(made.probability, 1 - made.probability))
    reached, weights = -inf, {}
    for width in made.widths:
        now = inside(data, made.probability, centre, width)
        weights[width] = exp(-rate * max(reached - mpf(made.ranks), mpf(made.ranks) - now, 0))
        reached = now
    return normalised(weights)


def of(**given: Any) -> QuantileReach:
    usual = {"probability": 0.5, "low": LOW, "high": HIGH, "epsilon": 1.0}
    return QuantileReach(**usual | given)


def test_widths_go_from_nothing_to_the_whole_domain_and_are_few() -> None:
    assert of().widths == (0, 1, 2, 3, 4, 6, 8, 11)
    assert of(low=3, high=3).widths == (0,)
    assert of(low=3, high=4).widths == (0, 1)
    wide = of(low=0, high=2**24).widths
    assert len(wide) < 52
    assert wide[-1] == 2**24
    assert all(after <= 2 * before for before, after in pairwise(wide[1:]))


@pytest.mark.parametrize("probability", [0.0, 0.25, 0.5, 1.0])
@pytest.mark.parametrize("rows", [1, 2])
def test_people_of_several_rows_cost_no_more_than_is_stated(probability: float, rows: int) -> None:
    made = of(probability=probability, rows=rows, confidence=0.2)
    stated = exp(mpf(q.compose(made.loss).epsilon(delta=0.0))) * (1 + mpf(10) ** -20)
    closest = mpf(1)
    for data in DATA:
        for centre in (LOW, 4, HIGH):
            base = law(data, centre, made)
            for own in combinations_with_replacement(range(LOW, HIGH + 1, 3), rows):
                near = law([*data, *own], centre, made)
                for width, weight in base.items():
                    if not weight:  # all of the domain was inside before
                        assert not near[width]
                        continue
                    assert weight <= near[width] * stated
                    assert near[width] <= weight * stated
                    closest = max(closest, weight / near[width], near[width] / weight)
    assert closest > stated ** mpf("0.4")  # and the cost is not idle


def test_the_law_is_the_one_of_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, 51)
    data = [-1] * 5 + [0] + [4] * 6 + [8] * 9
    made = of(probability=0.25, rows=2, epsilon=2.0, confidence=0.3)
    drawn = [made.release(Counter(data), 1) for _ in range(3000)]
    for by in (1.0, 1.3, 1 / 1.3):
        chance = chi_square(drawn, law(data, 1, made, by=by))
        assert chance > ACCEPT if by == 1.0 else chance < REJECT


@pytest.mark.parametrize("probability", [0.0, 0.125, 0.5, 0.875, 1.0])
@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_the_quantile_is_missed_no_more_often_than_is_said(
    probability: float, confidence: float
) -> None:
    """Exactly, by the law: wherever the centre is, and by every usual definition."""
    made = of(probability=probability, confidence=confidence)
    for data in DATA[1:]:
        ordered = sorted(data)
        # definitions lie between the values of the ranks pn and pn + 1, counted from 1
        wanted = probability * len(data)
        least = ordered[max(int(wanted) - 1, 0)]
        most = ordered[min(-int(-wanted // 1), len(data) - 1)]
        for centre in range(LOW, HIGH + 1):
            missed = sum(
                chance
                for width, chance in law(data, centre, made).items()
                if max(centre - width, LOW) > least or min(centre + width, HIGH) < most
            )
            assert missed <= (1 - confidence) * (1 + 1e-9), (data, centre)


def test_with_hardly_any_epsilon_all_of_the_domain_is_said() -> None:
    made = of(epsilon=1e-12)
    assert {made.release({4: 10}, 4) for _ in range(50)} == {HIGH - LOW}


@pytest.mark.parametrize(
    "wrong",
    [
        {"probability": 1.5},
        {"low": 5, "high": 4},
        {"rows": 0},
        {"epsilon": 0.0},
        {"low": 0.5},
        {"confidence": 1.0},
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        of(**wrong)


@pytest.mark.parametrize("counts", [{12: 1}, {3: -1}, {"a": 4}, [1, 2], {3: 2**80}])
def test_wrong_counts_are_refused_without_showing_them(
    monkeypatch: pytest.MonkeyPatch, counts: Any
) -> None:
    install(monkeypatch, Counted())
    with pytest.raises(InvalidParameter, match="not shown"):
        of().release(counts, 4)
