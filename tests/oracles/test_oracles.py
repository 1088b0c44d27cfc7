"""The oracle agrees with the recorded numbers, with itself, and with what hand can compute."""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import comb, nextafter
from random import Random
from typing import Any

import pytest
from mpmath import mp, mpf  # type: ignore[import-untyped, unused-ignore]

from tests.oracles import composition as oracle
from tests.oracles.composition import Number, exact, read_number
from tests.vectors import load

PRINTED = 50
BISECTED = 40
LATTICE_COUNTS = (1, 2, 3, 4, 5, 6)
FAMILIES = {
    "optimal_homogeneous": 72,
    "optimal_homogeneous_inverse": 9,
    "advanced": 2,
    "closed_form": 3,
    "region": 2,
    "optimal_heterogeneous": 8,
}

Case = dict[str, Any]


@pytest.fixture(autouse=True)
def enough_digits() -> Iterator[None]:
    """Let the tests themselves compute with more digits than they compare."""
    with mp.workdps(2 * oracle.DIGITS):
        yield


def cases(family: str, *, peers: bool = False) -> list[Any]:
    """Give the cases of a vector file to pytest, under their own names."""
    return [
        pytest.param(case, id=case["id"])
        for case in load(family)
        if case["id"].startswith("peers-") == peers
    ]


def agrees(value: mpf, printed: str, *, digits: int) -> bool:
    """Tell whether a value is within one unit of the given significant digit of a decimal."""
    decimal = Decimal(printed)
    if decimal == 0:
        return bool(value == 0)
    unit = Fraction(10) ** (decimal.adjusted() + 1 - digits)
    return abs(exact(value) - Fraction(printed)) <= unit


def close(one: mpf, other: mpf) -> bool:
    """Tell whether two values are equal to seventy decimals."""
    return bool(abs(one - other) < mpf(10) ** -70)


# ------------------------------------------------------------------------ recorded numbers


@pytest.mark.parametrize(("family", "number"), FAMILIES.items())
def test_no_recorded_case_has_vanished(family: str, number: int) -> None:
    recorded = load(family)
    assert len(recorded) == number
    assert len({case["id"] for case in recorded}) == number
    assert all(case["source"] for case in recorded)


@pytest.mark.parametrize("case", cases("optimal_homogeneous"))
def test_homogeneous_delta_agrees_with_the_recorded_digits(case: Case) -> None:
    delta = oracle.homogeneous_delta(
        epsilon=read_number(case["epsilon"]),
        delta=read_number(case["delta"]),
        count=case["count"],
        at=read_number(case["at"]),
    )
    assert agrees(delta, case["expected"], digits=PRINTED)


@pytest.mark.parametrize("case", cases("optimal_homogeneous_inverse"))
def test_homogeneous_epsilon_agrees_with_the_recorded_digits(case: Case) -> None:
    epsilon = oracle.homogeneous_epsilon(
        epsilon=read_number(case["epsilon"]),
        delta=read_number(case["delta"]),
        count=case["count"],
        target=read_number(case["target"]),
    )
    assert agrees(epsilon, case["expected"], digits=BISECTED)


@pytest.mark.parametrize("case", cases("optimal_homogeneous_inverse", peers=True))
def test_delta_passes_the_target_at_the_last_printed_digit_of_epsilon(case: Case) -> None:
    unit = Fraction(10) ** (Decimal(case["expected"]).adjusted() + 1 - case["digits"])
    below, above = (
        oracle.homogeneous_delta(
            epsilon=read_number(case["epsilon"]),
            delta=read_number(case["delta"]),
            count=case["count"],
            at=Fraction(case["expected"]) + shift,
        )
        for shift in (-unit, unit)
    )
    assert exact(above) < Fraction(case["target"]) < exact(below)


@pytest.mark.parametrize("case", cases("advanced"))
def test_advanced_composition_agrees_with_the_recorded_digits(case: Case) -> None:
    guarantee = oracle.advanced(
        epsilon=read_number(case["epsilon"]),
        delta=0,
        count=case["count"],
        slack=read_number(case["slack"]),
    )
    assert agrees(guarantee.epsilon, case["expected"], digits=PRINTED)


@pytest.mark.parametrize("case", cases("closed_form"))
def test_closed_form_agrees_with_the_recorded_digits(case: Case) -> None:
    steps = [
        (read_number(epsilon), 0)
        for epsilon, count in zip(case["epsilons"], case["counts"], strict=True)
        for _ in range(count)
    ]
    slack = read_number(case["slack"])
    branches = oracle.closed_form_branches(epsilons=[step[0] for step in steps], slack=slack)
    for branch, expected in zip(branches, case["branches"], strict=True):
        assert agrees(branch, expected, digits=PRINTED)
    guarantee = oracle.closed_form(steps=steps, slack=slack)
    assert agrees(guarantee.epsilon, case["expected"], digits=PRINTED)


@pytest.mark.parametrize("case", cases("region"))
def test_total_variation_agrees_with_the_recorded_digits(case: Case) -> None:
    distance = oracle.total_variation(
        epsilon=read_number(case["epsilon"]), delta=read_number(case["delta"])
    )
    assert agrees(distance, case["expected"], digits=PRINTED)


@pytest.mark.parametrize("case", cases("optimal_heterogeneous"))
def test_heterogeneous_delta_agrees_with_the_recorded_digits(case: Case) -> None:
    epsilons = [read_number(epsilon) for epsilon in case["epsilons"]]
    deltas = [read_number(delta) for delta in case["deltas"]]
    at = read_number(case["at"])
    groups = list(zip(epsilons, deltas, case["counts"], strict=True))
    assert agrees(oracle.grouped_delta(groups=groups, at=at), case["expected"], digits=PRINTED)
    if sum(case["counts"]) == len(epsilons):
        steps = list(zip(epsilons, deltas, strict=True))
        assert agrees(oracle.subset_delta(steps=steps, at=at), case["expected"], digits=PRINTED)


# --------------------------------------------------------------------- by hand, in fractions


def test_two_rounds_of_randomized_response_reveal_half_at_zero() -> None:
    three_to_one = mp.log(3)
    delta = oracle.homogeneous_delta(epsilon=three_to_one, delta=0, count=2, at=0)
    assert close(delta, mpf(1) / 2)
    assert close(oracle.brute_force_delta(steps=[(three_to_one, 0)] * 2, at=0), mpf(1) / 2)
    assert close(oracle.subset_delta(steps=[(three_to_one, 0)] * 2, at=0), mpf(1) / 2)


@pytest.mark.parametrize("count", LATTICE_COUNTS)
def test_lattice_points_are_the_fractions_of_equation_6(count: int) -> None:
    for index in range(count // 2 + 1):
        numerator = sum(
            comb(count, wrong) * (3 ** (count - wrong) - 3 ** (count - 2 * index + wrong))
            for wrong in range(index)
        )
        at = (count - 2 * index) * mp.log(3)
        delta = oracle.homogeneous_delta(epsilon=mp.log(3), delta=0, count=count, at=at)
        assert close(delta, mpf(numerator) / 4**count)


def test_floats_are_taken_as_the_binary_numbers_they_are() -> None:
    whole = oracle.homogeneous_epsilon(epsilon=0.1, delta=0, count=3, target=0)
    assert exact(whole) == 3 * Fraction(0.1)


# ------------------------------------------------------------------- one way against another


def small_homogeneous_case(seed: int) -> tuple[float, float, int, Number]:
    """Draw one to six equal mechanisms and a global epsilon, on the lattice or off it."""
    random = Random(seed)
    epsilon = random.choice([1e-12, 1e-4, 0.1, 1.0, 4.0]) * random.uniform(0.5, 2)
    delta = random.choice([0.0, 1e-9, 0.2]) * random.random()
    count = random.randint(1, 6)
    on_lattice = (count - 2 * random.randint(0, count // 2)) * Fraction(epsilon)
    at = random.choice([0, on_lattice, random.random() * count * epsilon, 1.1 * count * epsilon])
    return epsilon, delta, count, at


@pytest.mark.parametrize("seed", range(50))
def test_four_ways_to_compose_equal_mechanisms_agree(seed: int) -> None:
    epsilon, delta, count, at = small_homogeneous_case(seed)
    reference = oracle.homogeneous_delta(epsilon=epsilon, delta=delta, count=count, at=at)
    steps = [(epsilon, delta)] * count
    assert close(oracle.subset_delta(steps=steps, at=at), reference)
    assert close(oracle.brute_force_delta(steps=steps, at=at), reference)
    assert close(oracle.grouped_delta(groups=[(epsilon, delta, count)], at=at), reference)


@pytest.mark.parametrize("seed", range(20))
def test_three_ways_to_compose_different_mechanisms_agree(seed: int) -> None:
    random = Random(seed)
    steps = [(random.expovariate(2), random.choice([0, 0.1]) * random.random()) for _ in range(5)]
    at = random.random() * sum(epsilon for epsilon, _ in steps)
    reference = oracle.subset_delta(steps=steps, at=at)
    groups = [(epsilon, delta, 1) for epsilon, delta in steps]
    assert close(oracle.brute_force_delta(steps=steps, at=at), reference)
    assert close(oracle.grouped_delta(groups=groups, at=at), reference)


@pytest.mark.parametrize(
    ("epsilon", "count", "at"),
    [
        (0.3, 1, 0.1),
        (0.1, 1_000, 8.0),
        (1.0, 1_000, 0.0),
        (1e-12, 9_999, 1e-10),
        (5.0, 9_999, 47_000.0),
        (0.01, 50_000, 20.0),
        (0.1, 50_000, 1_500.0),
    ],
)
def test_summing_and_integrating_give_the_same_delta(epsilon: float, count: int, at: float) -> None:
    each, threshold = Fraction(epsilon), Fraction(at)
    last = max(n for n in range(count) if (count - 2 * n) * each > threshold)
    both: dict[str, Any] = {"epsilon": each, "count": count, "at": threshold, "last": last}
    summed = oracle.pure_delta_by_summing(**both)
    integrated = oracle.pure_delta_by_integrating(**both)
    assert abs(summed - integrated) < summed * mpf(10) ** -oracle.DIGITS


@pytest.mark.parametrize("count", [10**6, 10**9, 10**12])
def test_many_small_steps_approach_the_gaussian_limit(count: int) -> None:
    epsilon = 1 / mp.sqrt(count)
    delta = oracle.homogeneous_delta(epsilon=epsilon, delta=0, count=count, at=1)
    limit = mp.ncdf(-0.5) - mp.e * mp.ncdf(-1.5)
    assert abs(delta - limit) < 2 / mpf(count)


# --------------------------------------------------------------------------------- inverse


@pytest.mark.parametrize("seed", range(20))
def test_delta_meets_the_target_at_the_epsilon_found_and_not_before(seed: int) -> None:
    random = Random(seed)
    epsilon, delta, count = 10 ** random.uniform(-3, 1), 1e-7, random.randint(1, 40)
    target = 10 ** random.uniform(-5, -1)
    found = oracle.homogeneous_epsilon(epsilon=epsilon, delta=delta, count=count, target=target)
    same: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "count": count}
    assert oracle.homogeneous_delta(**same, at=found) <= target
    if found > 0:
        before = found * (1 - mpf(10) ** -BISECTED)
        assert oracle.homogeneous_delta(**same, at=before) > target


@pytest.mark.parametrize("delta", [1e-300, 1e-8, 0.1, 0.3, 0.999])
def test_one_mechanism_with_its_own_delta_keeps_its_epsilon(delta: float) -> None:
    epsilon = 0.1
    same: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "count": 1}
    assert oracle.homogeneous_epsilon(**same, target=delta) == epsilon
    assert oracle.homogeneous_epsilon(**same, target=nextafter(delta, 0)) == mp.inf
    assert oracle.homogeneous_epsilon(**same, target=nextafter(delta, 1)) <= epsilon


@pytest.mark.parametrize(
    ("epsilon", "delta", "count", "target", "expected"),
    [
        (0.5, 0.5, 2, 0.75, 1.0),
        (0.5, 0.5, 2, nextafter(0.75, 0), mp.inf),
        (0.5, 0.0, 10**12, 0.0, 5e11),
        (0.5, 1e-6, 10**6, 0.5, mp.inf),
        (0.5, 1.0, 3, 0.999, mp.inf),
        (0.5, 1.0, 3, 1.0, 0.0),
        (0.5, 0.0, 1, 0.25, 0.0),
        (0.0, 0.25, 1, 0.25, 0.0),
        (0.0, 0.0, 7, 0.0, 0.0),
    ],
)
def test_boundaries_of_the_inverse_are_exact(
    epsilon: float, delta: float, count: int, target: float, expected: float
) -> None:
    found = oracle.homogeneous_epsilon(epsilon=epsilon, delta=delta, count=count, target=target)
    assert found == expected


# ---------------------------------------------------------------------------- the region


@pytest.mark.parametrize("false_positive", [0, 0.05, 0.2, 0.4, 0.7, 0.95, 1])
def test_one_mechanism_has_the_tradeoff_of_theorem_2_1(false_positive: float) -> None:
    epsilon, delta = mp.mpf(0.4), mp.mpf(0.1)
    expected = max(
        mpf(0),
        1 - delta - mp.exp(epsilon) * false_positive,
        mp.exp(-epsilon) * (1 - delta - false_positive),
    )
    missed = oracle.brute_force_tradeoff(steps=[(0.4, 0.1)], false_positive=false_positive)
    assert close(missed, expected)


@pytest.mark.parametrize("false_positive", [0, 0.01, 0.1, 0.3, 0.6, 0.9])
def test_tradeoff_is_the_envelope_of_the_delta_profile(false_positive: float) -> None:
    steps = [(0.2, 0.01), (0.7, 0.0), (1.1, 0.05)]
    signed = product(*((Fraction(epsilon), -Fraction(epsilon)) for epsilon, _ in steps))
    tangents = [mpf(0)]
    for loss in {abs(sum(signs, Fraction(0))) for signs in signed}:
        kept = 1 - oracle.brute_force_delta(steps=steps, at=loss)
        slope = mp.exp(oracle.rounded(loss))
        tangents += [kept - slope * false_positive, (kept - false_positive) / slope]
    missed = oracle.brute_force_tradeoff(steps=steps, false_positive=false_positive)
    assert close(missed, max(tangents))


@pytest.mark.parametrize("at", [0, 0.1, 0.4, 0.5])
def test_implied_delta_is_the_composition_of_one_mechanism(at: float) -> None:
    implied = oracle.implied_delta(epsilon=0.4, delta=0.1, at=at)
    assert close(implied, oracle.homogeneous_delta(epsilon=0.4, delta=0.1, count=1, at=at))


def test_total_variation_is_the_implied_delta_at_zero() -> None:
    distance = oracle.total_variation(epsilon=0.4, delta=0.1)
    assert close(distance, oracle.implied_delta(epsilon=0.4, delta=0.1, at=0))


# ------------------------------------------------------------------------- closed formulas


@pytest.mark.parametrize("seed", range(20))
def test_no_closed_formula_promises_more_than_the_optimum(seed: int) -> None:
    random = Random(seed)
    epsilon, delta = 10 ** random.uniform(-3, 0), random.choice([0, 1e-4])
    count, slack = random.randint(1, 60), 10 ** random.uniform(-8, 0)
    same: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "count": count}
    steps = [(epsilon, delta)] * count
    for promise in (
        oracle.basic(steps=steps),
        oracle.advanced(**same, slack=slack),
        oracle.closed_form(steps=steps, slack=slack),
        oracle.closed_form(steps=steps, slack=0),
    ):
        optimum = oracle.homogeneous_delta(**same, at=promise.epsilon)
        assert optimum <= promise.delta + mpf(10) ** -70


def test_a_negative_global_epsilon_is_refused() -> None:
    with pytest.raises(ValueError, match="no composition"):
        oracle.homogeneous_delta(epsilon=0.1, delta=0, count=2, at=-0.1)
