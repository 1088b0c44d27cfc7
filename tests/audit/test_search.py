"""Neighbours that are searched for: always neighbours, and worse than those one thinks of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from quaestor import InvalidParameter, PureDP
from quaestor.audit import (
    Answers,
    Categories,
    Claim,
    Floats,
    Ints,
    Pairs,
    Records,
    Rows,
    assert_private,
    audit,
    audit_sequentially,
    search,
)
from quaestor.mechanisms import Geometric

CLAIM = PureDP(epsilon=1.0)
COINS = np.random.default_rng(47)
NOISE = Geometric(scale=1.0)
PERSON = Records(age=Ints(0, 99), income=Floats(-5.0, 5.0), sex=Categories("f", "m", None))


def forgets_noise_if_all_are_alike(rows: list[int]) -> int:
    """A count whose noise is for the number of different values."""
    return len(rows) + (NOISE.release(0) if len(set(rows)) != 1 else 0)


def a_count(rows: list[int]) -> int:
    return NOISE.release(len(rows))


def one_removed(one: list[Any], other: list[Any]) -> bool:
    return any(one[:i] + one[i + 1 :] == other for i in range(len(one)))


def one_replaced(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and sum(a != b for a, b in zip(one, other, strict=True)) <= 1


SPACES: dict[str, tuple[Pairs, Any]] = {
    "rows": (Rows(Ints(-3, 9), most=4), one_removed),
    "records": (Rows(PERSON, fewest=1, most=3), one_removed),
    "rows replaced": (Rows(PERSON, relation="replace_one", fewest=2), one_replaced),
    "a number": (Answers(Floats(-2.0, 2.0), change=0.5), lambda a, b: abs(a - b) <= 0.5 + 1e-12),
    "whole numbers": (
        Answers(Ints(0, 5), length=4, change=2),
        lambda a, b: max(abs(x - y) for x, y in zip(a, b, strict=True)) <= 2,
    ),
}


@pytest.mark.parametrize("name", SPACES)
def test_every_pair_that_is_drawn_or_changed_is_one_of_neighbours(name: str) -> None:
    space, are_neighbours = SPACES[name]
    coins = np.random.default_rng(5)
    for _ in range(300):
        pair = space.draw(coins)
        for _ in range(6):
            assert are_neighbours(*pair), pair
            pair = space.changed(pair, coins)


def test_values_stay_in_their_domains() -> None:
    coins = np.random.default_rng(6)
    person = PERSON.draw(coins)
    for _ in range(500):
        person = PERSON.changed(person, coins)
        assert 0 <= person["age"] <= 99
        assert -5.0 <= person["income"] <= 5.0
        assert person["sex"] in ("f", "m", None)
    sizes = {len(Rows(PERSON, fewest=2, most=3).draw(coins)[1]) for _ in range(50)}
    assert sizes == {2, 3}


def test_a_search_finds_what_the_usual_neighbours_miss() -> None:
    usual = ([1, 2, 10], [1, 2])
    given = audit_sequentially(
        forgets_noise_if_all_are_alike,
        neighbours=usual,
        claim=CLAIM,
        runs=2000,
        confidence=1 - 1e-6,
    )
    assert not given.violated
    searched = search(Rows(Ints(0, 10), most=5), runs=6000, seed=1)
    found = audit_sequentially(forgets_noise_if_all_are_alike, neighbours=searched, claim=CLAIM)
    assert found.violated
    assert found.notes[0].startswith("neighbours found in 6000 runs: [")
    whole = audit(forgets_noise_if_all_are_alike, neighbours=searched, claim=CLAIM, runs=1000)
    assert whole.violated
    with pytest.raises(AssertionError):
        assert_private(forgets_noise_if_all_are_alike, neighbours=searched, claim=CLAIM, runs=1000)


def test_a_search_accuses_nobody() -> None:
    """However much it looks for, the pair is tested with fresh runs."""
    searched = search(Rows(Ints(0, 10), most=3), runs=3000)
    report = audit_sequentially(
        a_count, neighbours=searched, claim=CLAIM, runs=1000, confidence=1 - 1e-6
    )
    assert not report.violated


def test_runs_of_the_search_are_not_those_of_the_test() -> None:
    """The target is called for the search, and then for every run that is reported."""
    calls: list[None] = []

    def counted(rows: list[int]) -> int:
        calls.append(None)
        return a_count(rows)

    searched = search(Rows(Ints(0, 3)), runs=1600)
    report = audit_sequentially(counted, neighbours=searched, claim=CLAIM, runs=400)
    assert len(calls) == 1600 + report.runs


def test_a_search_with_a_seed_is_the_same_again_for_a_target_without_noise() -> None:
    searched = search(Rows(Ints(0, 10), most=4), runs=3200, seed=9)
    claim = Claim.of(CLAIM)
    first, second = (searched.found(sum, claim) for _ in range(2))
    assert first == second
    assert sum(first[0]) != sum(first[1])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Ints(3, 2),
        lambda: Floats(0.0, float("inf")),
        Categories,
        lambda: Rows(Ints(0, 1), fewest=3, most=2),
        lambda: Rows(Ints(0, 1), relation="none"),  # type: ignore[arg-type]
        lambda: Answers(Ints(0, 1), change=-1),
        lambda: Answers(Ints(0, 1), length=0),
        lambda: search(Ints(0, 1)),  # type: ignore[arg-type]
        lambda: search(Rows(Ints(0, 1)), runs=10),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidParameter):
        wrong()
