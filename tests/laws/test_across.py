"""Many databases against brute force: every pair of memberships and every outcome."""

from __future__ import annotations

import math
import random

import pytest

from quaestor.accounting.membership import compose_across
from tests.laws.memberships import NAMES, named, random_case
from tests.oracles.membership import (
    ROUGH,
    Vector,
    allowed,
    hockey_stick,
    joint,
    laws_of,
    pairs_add_remove,
    pairs_replace,
    twice_changed,
    worst_delta,
)


def as_vector(names: tuple[str, ...], count: int) -> Vector:
    return tuple(int(name in names) for name in NAMES[:count])


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("seed", range(150))
def test_the_answer_is_the_worst_of_all_pairs_and_all_outcomes(seed: int, neighbours: str) -> None:
    databases, fact, holds = random_case(seed)
    members = allowed(len(databases), holds)
    pairs = pairs_add_remove(members) if neighbours == "add_remove" else pairs_replace(members)
    answer = compose_across(named(databases), membership=fact, neighbours=neighbours)
    assert answer.exact
    total = sum(epsilon for steps in databases for epsilon, _ in steps)
    for share in (0.0, 0.2, 0.55):
        at = total * share
        truth = worst_delta(databases, pairs, at)
        bounds = answer.delta_bounds(epsilon=at)
        assert truth.delta in bounds.widened(ulps=1)  # the oracle rounds, forty digits on
        assert bounds.relative_width <= 1e-9 or bounds.upper < 1e-12


@pytest.mark.parametrize("seed", range(60))
def test_the_worst_memberships_are_allowed_and_attain_the_answer(seed: int) -> None:
    databases, fact, holds = random_case(seed)
    members = allowed(len(databases), holds)
    answer = compose_across(named(databases), membership=fact, neighbours="replace")
    at = 0.3 * sum(epsilon for steps in databases for epsilon, _ in steps)
    truth = worst_delta(databases, pairs_replace(members), at)
    worst = answer.worst(epsilon=at)
    if worst is None:
        assert truth.delta == 0
        return
    first = as_vector(worst.first, len(databases))
    second = as_vector(worst.second, len(databases))
    assert holds(first)
    assert holds(second)
    assert set(worst.differing) == set(worst.first) ^ set(worst.second)
    attained = hockey_stick(laws_of(databases, first), laws_of(databases, second), at)
    assert attained >= truth.delta * (1 - ROUGH)


@pytest.mark.parametrize("seed", range(30))
def test_a_replaced_record_is_the_worst_of_all_pairs_with_records_that_change(seed: int) -> None:
    rng = random.Random(seed)
    databases, fact, holds = random_case(seed)
    members = allowed(len(databases), holds)
    at = rng.uniform(0.0, 0.7) * sum(2 * epsilon for steps in databases for epsilon, _ in steps)
    factor, best, where = math.exp(at), -1.0, None
    for null in members:
        for alternative in members:
            laws = []
            for steps, one, other in zip(databases, null, alternative, strict=True):
                for step in steps:
                    if one and other:
                        laws.append(twice_changed(*step))
                    elif one != other:
                        pair = laws_of([[step]], (one,))[0], laws_of([[step]], (other,))[0]
                        laws.append(pair)
            first, second = joint([p for p, _ in laws]), joint([q for _, q in laws])
            delta = float(abs(first - factor * second).sum() + 1 - factor) / 2
            if delta > best:
                best, where = delta, laws
    assert where is not None
    truth = hockey_stick([p for p, _ in where], [q for _, q in where], at)
    bounds = compose_across(
        named(databases), membership=fact, neighbours="replace_record"
    ).delta_bounds(epsilon=at)
    assert bounds.lower <= truth * (1 + ROUGH) + 1e-14
    assert truth <= bounds.widened(ulps=1).upper
    assert bounds.relative_width <= 1e-9 or bounds.upper < 1e-12
