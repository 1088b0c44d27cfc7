"""What the paper's experiment contains: classic composition, parallel composition, its examples."""

from __future__ import annotations

from math import log

import pytest
from mpmath import mp, mpf  # type: ignore[import-untyped, unused-ignore]

import quaestor as q
from quaestor import (
    All,
    ApproxDP,
    AtMost,
    ExactlyOne,
    Exclusive,
    Gaussian,
    Implies,
    Laplace,
    PoissonSampled,
    PureDP,
    Release,
    Vectors,
    compose,
    compose_across,
)
from quaestor.accounting.releases.derived.two_changes import TwoChanges
from tests.oracles.composition import homogeneous_delta
from tests.oracles.membership import hockey_stick, twice_changed

HISTORY: dict[str, list[Release]] = {
    "a": [PureDP(epsilon=0.3), Gaussian(sigma=4.0)],
    "b": [ApproxDP(epsilon=0.2, delta=1e-6) * 3],
    "c": [Laplace(scale=5.0)],
    "d": [],
}


# The classic experiment.


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_without_facts_it_is_the_classic_experiment(neighbours: str) -> None:
    classic = compose(*(release for releases in HISTORY.values() for release in releases))
    answer = compose_across(HISTORY, neighbours=neighbours)
    assert answer.exact
    assert answer.epsilon_bounds(delta=1e-5) == classic.epsilon_bounds(delta=1e-5)
    assert answer.naive().epsilon_bounds(delta=1e-5).overlaps(classic.epsilon_bounds(delta=1e-5))
    assert answer.advantage() == classic.advantage()


def test_all_or_nothing_is_the_classic_experiment_too() -> None:
    """The office suite of the paper: who uses one application has all of them."""
    classic = compose(*(release for releases in HISTORY.values() for release in releases))
    together = compose_across(
        HISTORY, membership=Vectors([[], list(HISTORY)]), neighbours="replace"
    )
    assert together.epsilon_bounds(delta=1e-5) == classic.epsilon_bounds(delta=1e-5)
    chained = All(Implies("a", ["b", "c", "d"]), Implies(["b", "c", "d"], "a"))
    linked = compose_across(HISTORY, membership=chained, neighbours="replace")
    assert linked.epsilon_bounds(delta=1e-5) == classic.epsilon_bounds(delta=1e-5)


# Parallel composition.


def test_disjoint_databases_cost_what_the_worst_of_them_costs() -> None:
    epsilons = {f"d{i}": 0.1 * i for i in range(1, 40)}
    parts: dict[str, list[Release]] = {n: [PureDP(epsilon=e)] for n, e in epsilons.items()}
    for fact in (AtMost(1), ExactlyOne()):
        answer = compose_across(parts, membership=fact)
        assert answer.epsilon(delta=0.0) == max(epsilons.values())
        assert answer.worst(delta=0.0) == ((), ("d39",), ("d39",))
        assert answer.parallel_epsilon() >= answer.epsilon(delta=0.0)
        assert answer.most_changes() == 1


def test_the_answer_is_never_above_parallel_composition_nor_above_naive_composition() -> None:
    parts: dict[str, list[Release]] = {f"d{i}": [PureDP(epsilon=0.02 * i)] for i in range(1, 30)}
    for neighbours in ("add_remove", "replace"):
        for most in (1, 3, 10, 29):
            answer = compose_across(parts, membership=AtMost(most), neighbours=neighbours)
            for delta in (0.0, 1e-6):
                upper = answer.epsilon_bounds(delta=delta).lower
                assert upper <= answer.parallel_epsilon()
                assert upper <= answer.naive().epsilon(delta=delta)


# The three examples of the paper.


@pytest.mark.parametrize(("neighbours", "count"), [("add_remove", 365), ("replace", 730)])
def test_a_patient_of_at_most_365_hospitals(neighbours: str, count: int) -> None:
    hospitals: dict[str, list[Release]] = {f"h{i}": [PureDP(epsilon=0.01)] for i in range(10_000)}
    answer = compose_across(hospitals, membership=AtMost(365), neighbours=neighbours)
    truth = homogeneous_delta(epsilon=0.01, delta=0, count=count, at=0.7)
    assert truth in answer.delta_bounds(epsilon=0.7)
    assert answer.exact
    worst = answer.worst(delta=1e-6)
    assert worst is not None
    assert len(worst.differing) == count
    assert max(len(worst.first), len(worst.second)) <= 365


def test_hospitals_that_all_differ_are_chosen_from_the_top() -> None:
    hospitals: dict[str, list[Release]] = {
        f"h{i}": [PureDP(epsilon=0.01 / (1 + i / 1000))] for i in range(2000)
    }
    answer = compose_across(hospitals, membership=AtMost(20))
    top = compose(*(hospitals[f"h{i}"][0] for i in range(20)))
    assert answer.exact
    assert answer.delta_bounds(epsilon=0.05) == top.delta_bounds(epsilon=0.05)
    worst = answer.worst(epsilon=0.05)
    assert worst is not None
    assert set(worst.second) == {f"h{i}" for i in range(20)}


@pytest.mark.parametrize("fact", [AtMost(1), ExactlyOne()])
def test_an_employee_of_one_subsidiary(fact: AtMost | ExactlyOne) -> None:
    subsidiaries: dict[str, list[Release]] = {
        f"s{i}": [ApproxDP(epsilon=0.1 * i, delta=1e-7 * i)] for i in range(1, 8)
    }
    alone = compose_across(subsidiaries, membership=fact)
    moved = compose_across(subsidiaries, membership=fact, neighbours="replace")
    worst, second = (
        ApproxDP(epsilon=0.1 * 7, delta=1e-7 * 7),
        ApproxDP(epsilon=0.1 * 6, delta=1e-7 * 6),
    )
    assert alone.delta_bounds(epsilon=0.3) == compose(worst).delta_bounds(epsilon=0.3)
    assert moved.delta_bounds(epsilon=0.3).overlaps(
        compose(worst, second).delta_bounds(epsilon=0.3)
    )
    assert alone.exact
    assert moved.exact


def columns(common: float, ads: float, paid: float) -> dict[str, list[Release]]:
    """Two columns of each sort, as databases of their own."""
    return {
        f"{name} {i}": [PureDP(epsilon=epsilon)]
        for name, epsilon in (("common", common), ("ads", ads), ("paid", paid))
        for i in (1, 2)
    }


FREE, PAID = (
    ["common 1", "common 2", "ads 1", "ads 2"],
    ["common 1", "common 2", "paid 1", "paid 2"],
)


def test_columns_of_a_table_as_databases() -> None:
    """Example 3, whose unbounded formula leaves out the paid users (see docs/theory)."""
    table = columns(1.0, 0.125, 0.25)
    everybody = Vectors([FREE, PAID, []])
    unbounded = compose_across(table, membership=everybody)
    bounded = compose_across(table, membership=everybody, neighbours="replace")
    assert unbounded.epsilon(delta=0.0) == 2.5  # common and paid
    assert bounded.epsilon(delta=0.0) == 2.5
    paper = max(2 * 0.125 + 2 * 0.25, 2 * 1.0 + 2 * 0.125)  # ads and paid; common and ads
    assert paper < unbounded.epsilon(delta=0.0)
    worst = unbounded.worst(delta=0.0)
    assert worst is not None
    assert worst.second == ("common 1", "common 2", "paid 1", "paid 2")
    few = compose_across(columns(0.125, 1.0, 1.0), membership=everybody, neighbours="replace")
    assert few.epsilon(delta=0.0) == 4.0  # a free user against a paying one


def test_columns_by_an_exclusion_instead_of_vectors() -> None:
    table = columns(1.0, 0.125, 0.25)
    exclusive = Exclusive(["ads 1", "ads 2"], ["paid 1", "paid 2"])
    assert compose_across(table, membership=exclusive).epsilon(delta=0.0) == 2.5
    wide: dict[str, list[Release]] = {
        f"{name} {i}": [PureDP(epsilon=0.125)]
        for name in ("common", "ads", "paid")
        for i in range(9)
    }
    names = {name: [each for each in wide if each.startswith(name)] for name in ("ads", "paid")}
    answer = compose_across(wide, membership=Exclusive(names["ads"], names["paid"]))
    assert answer.exact
    assert answer.epsilon(delta=0.0) == 18 * 0.125


# Records that change in place.


def test_a_replaced_record_costs_more_than_two_answers() -> None:
    """Two changes of one answer are group privacy; two answers with one change each are less."""
    one: dict[str, list[Release]] = {"a": [PureDP(epsilon=1.0)]}
    replaced = compose_across(one, neighbours="replace_record")
    both = twice_changed(1.0, 0)
    for at in (0.0, 0.5, 1.5):
        truth = hockey_stick([both[0]], [both[1]], at)
        assert truth in replaced.delta_bounds(epsilon=at)
        assert replaced.delta_bounds(epsilon=at).lower > compose(PureDP(epsilon=1.0) * 2).delta(
            epsilon=at
        )
    assert replaced.epsilon(delta=0.0) >= 2.0
    assert compose_across(one, neighbours="replace").epsilon(delta=0.0) == 1.0


def test_the_geometric_mechanism_attains_what_a_replaced_record_costs() -> None:
    with mp.workdps(40):
        odds = mp.exp(-mpf(0.5))
        reach = 12
        laws = []
        for centre in (0, 2):
            masses = [
                odds ** abs(x - centre) * (1 - odds) / (1 + odds) for x in range(-reach, reach)
            ]
            laws.append((*masses, 1 - mp.fsum(masses)))
        truth = hockey_stick([laws[0]], [laws[1]], 0.4)
    bounds = compose(TwoChanges(epsilon=0.5, delta=0.0)).delta_bounds(epsilon=0.4)
    assert abs(truth - bounds.upper) < 5 * odds**reach


@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.2, 0.4, 0.5, 0.7])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0])
def test_two_changes_of_a_black_box_are_its_detections_twice(epsilon: float, delta: float) -> None:
    curve = compose(TwoChanges(epsilon=epsilon, delta=delta))
    with_it, without = twice_changed(epsilon, delta)
    for at in (0.0, 0.1, 0.5, 1.0, 3.0):
        truth = hockey_stick([with_it], [without], at)
        bounds = curve.delta_bounds(epsilon=at).widened(ulps=1)
        assert bounds.lower - 1e-35 <= truth <= bounds.upper + 1e-35


def test_known_noise_is_moved_twice_as_far() -> None:
    assert (Gaussian(sigma=3.0) * 4).with_record_replaced() == Gaussian(
        sigma=3.0, sensitivity=2.0
    ) * 4
    assert Laplace(scale=3.0).with_record_replaced() == Laplace(scale=3.0, sensitivity=2.0)
    sampled = PoissonSampled(release=Gaussian(sigma=1.0), rate=0.1)
    assert sampled.with_record_replaced() == q.PoissonSampledReplaceOne(
        release=Gaussian(sigma=1.0), rate=0.1
    )
    listed: dict[str, list[Release]] = {"a": [q.ProbabilityVectors(p=(0.5, 0.5), q=(0.4, 0.6))]}
    found = compose_across(listed, neighbours="replace_record").delta_bounds(epsilon=0.0)
    assert found.lower <= 0.1 + 1e-9  # one change of the two
    assert 0.1 <= found.upper <= 0.2 + 1e-9  # both: at false alarms of a half, 0.5 -> 0.6 -> 2/3


def test_moving_house_is_not_a_replaced_record() -> None:
    towns: dict[str, list[Release]] = {"a": [PureDP(epsilon=0.25)], "b": [PureDP(epsilon=0.5)]}
    assert (
        compose_across(towns, membership=ExactlyOne(), neighbours="replace").epsilon(delta=0.0)
        == 0.75
    )
    record = compose_across(towns, membership=ExactlyOne(), neighbours="replace_record")
    assert abs(record.epsilon(delta=0.0) - 1.0) < 1e-9
    worst = record.worst(delta=0.0)
    assert worst == (("b",), ("b",), ("b",))


def test_nobody_anywhere_costs_nothing() -> None:
    answer = compose_across(HISTORY, membership=AtMost(0))
    assert answer.exact
    assert answer.epsilon(delta=0.0) == 0.0
    assert answer.delta(epsilon=0.0) == 0.0
    assert answer.worst(delta=0.0) is None
    assert answer.parallel_epsilon() == 0.0
    assert answer.tradeoff().false_negative(false_positive=0.25) == 0.75


def test_a_region_of_one_comparison_is_that_of_its_composition() -> None:
    two: dict[str, list[Release]] = {n: [PureDP(epsilon=log(3))] for n in "abc"}
    answer = compose_across(two, membership=AtMost(2))
    same = compose(PureDP(epsilon=log(3)) * 2)
    assert answer.tradeoff().vertices() == same.tradeoff().vertices()
    assert answer.tradeoff().false_negative(false_positive=0.1) == same.tradeoff().false_negative(
        false_positive=0.1
    )


def test_selections_in_many_databases_cost_those_of_the_largest_ranges() -> None:
    databases: dict[str, list[q.Release]] = {
        "a": [q.BoundedRange(epsilon=0.3)],
        "b": [q.ExponentialMechanism(epsilon=0.5) * 2],
        "c": [q.ExponentialMechanism(epsilon=0.4, monotonic=True)],
        "d": [q.PureDP(epsilon=0.1)],
    }
    found = q.compose_across(databases, membership=q.AtMost(2))
    expected = q.compose(q.BoundedRange(epsilon=0.3), q.BoundedRange(epsilon=0.5) * 2)
    assert found.epsilon_bounds(delta=1e-6).overlaps(expected.epsilon_bounds(delta=1e-6))


def test_replaced_records_cost_no_more_than_everybody_replaced_everywhere() -> None:
    for releases in ([PureDP(epsilon=1.0)], [Gaussian(sigma=2.0), PureDP(epsilon=0.5)]):
        answer = compose_across({"a": releases, "b": releases}, neighbours="replace_record")
        everywhere = answer.naive().epsilon_bounds(delta=1e-6)
        assert answer.epsilon_bounds(delta=1e-6).overlaps(everywhere)
