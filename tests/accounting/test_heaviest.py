"""The heaviest comparison: by brute force over all memberships, and quickly."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from quaestor.accounting.membership.facts import (
    All,
    AtMost,
    ExactlyOne,
    Exclusive,
    Fact,
    Implies,
    Vectors,
)
from quaestor.accounting.membership.heaviest import heaviest
from quaestor.errors import ContradictoryFacts, InvalidParameter, UnknownDatabase
from tests.laws.memberships import NAMES, one_fact
from tests.oracles.membership import Vector, allowed

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = 120


def random_weights(rng: random.Random, names: str) -> dict[str, Fraction]:
    choices = [Fraction(0), Fraction(1, 4), Fraction(rng.random()), Fraction(rng.random())]
    return {name: rng.choice(choices) for name in names}


def random_facts(rng: random.Random, count: int) -> tuple[Fact, list[Vector]]:
    """Facts that do not contradict each other, and who they allow."""
    while True:
        facts = [one_fact(rng, count) for _ in range(rng.randint(0, 3))]

        def holds(b: Vector, facts: list[tuple[Fact, Callable[[Vector], bool]]] = facts) -> bool:
            return all(fact(b) for _, fact in facts)

        members = list(allowed(count, holds))
        if members:
            return All(*(fact for fact, _ in facts)), members


def weigh(weights: dict[str, Fraction], vector: Vector) -> Fraction:
    return sum((w for w, bit in zip(weights.values(), vector, strict=True) if bit), Fraction(0))


@pytest.mark.parametrize("seed", range(CASES))
def test_it_is_what_looking_at_all_pairs_finds(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(1, 7)
    weights = random_weights(rng, NAMES[:count])
    fact, members = random_facts(rng, count)
    alone = max(weigh(weights, b) for b in members)
    assert heaviest(weights, membership=fact) == alone
    pairs = max(
        weigh(weights, tuple(x ^ y for x, y in zip(a, b, strict=True)))
        for a, b in product(members, members)
    )
    assert heaviest(weights, membership=fact, neighbours="replace") == pairs
    twice = {name: 2 * weight + Fraction(rng.randint(0, 3), 8) for name, weight in weights.items()}
    replaced = max(
        weigh(weights, tuple(x ^ y for x, y in zip(a, b, strict=True)))
        + weigh(twice, tuple(x & y for x, y in zip(a, b, strict=True)))
        for a, b in product(members, members)
    )
    found = heaviest(weights, membership=fact, neighbours="replace_record", twice=twice)
    assert found == replaced


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_nested_limits_on_many_databases_are_exact(neighbours: str) -> None:
    rng = random.Random(2)
    names = [f"d{i}" for i in range(14)]
    fact = All(
        AtMost(5), AtMost(3, of=names[:7]), AtMost(1, of=names[:3]), AtMost(3, of=names[7:12])
    )
    members = [
        b
        for b in product((0, 1), repeat=14)
        if sum(b) <= 5 and sum(b[:7]) <= 3 and sum(b[:3]) <= 1 and sum(b[7:12]) <= 3
    ]
    weights = {name: Fraction(rng.randint(0, 1000), 64) for name in names}
    found = heaviest(weights, membership=fact, neighbours=neighbours)
    whole = [int(64 * weight) for weight in weights.values()]
    sums = np.array([sum(w for i, w in enumerate(whole) if b >> i & 1) for b in range(1 << 14)])
    bits = np.array([sum(1 << i for i, bit in enumerate(b) if bit) for b in members])
    worlds = bits[:, None] ^ bits if neighbours == "replace" else bits
    assert 64 * found == int(np.max(sums[worlds]))


def test_many_databases_that_facts_tangle_are_never_underestimated() -> None:
    rng = random.Random(4)
    names = [f"d{i}" for i in range(15)]
    fact = All(
        AtMost(4, of=names[:10]),
        AtMost(4, of=names[5:]),
        Implies("d0", "d14"),
        Exclusive(["d1", "d2"], ["d3", "d13"]),
    )
    weights = {name: Fraction(rng.randint(0, 1000), 64) for name in names}
    members = [
        b
        for b in product((0, 1), repeat=15)
        if sum(b[:10]) <= 4
        and sum(b[5:]) <= 4
        and (not b[0] or b[14])
        and not ((b[1] or b[2]) and (b[3] or b[13]))
    ]
    truth = max(weigh(weights, b) for b in members)
    assert truth <= heaviest(weights, membership=fact) <= sum(weights.values())
    sample = rng.sample(members, 80)
    apart = max(
        weigh(weights, tuple(x ^ y for x, y in zip(a, b, strict=True)))
        for a, b in product(sample, sample)
    )
    assert apart <= heaviest(weights, membership=fact, neighbours="replace")


def test_independent_groups_add_up() -> None:
    names = [f"d{i}" for i in range(40)]
    weights = {name: Fraction(i + 1) for i, name in enumerate(names)}
    groups = [names[i : i + 8] for i in range(0, 40, 8)]
    fact = All(
        *(Implies(group[0], group[1]) for group in groups), *(AtMost(2, of=g) for g in groups)
    )
    expected = sum(sum(sorted(weights[name] for name in group)[-2:]) for group in groups)
    assert heaviest(weights, membership=fact) == expected


def test_very_many_listed_vectors_still_bound_the_truth() -> None:
    rng = random.Random(6)
    names = [f"d{i}" for i in range(20)]
    listed = [sorted(rng.sample(names, 10)) for _ in range(300)]
    weights = {name: Fraction(1) for name in names}
    fact = Vectors(listed)
    assert heaviest(weights, membership=fact) == 10
    found = heaviest(weights, membership=fact, neighbours="replace")
    truth = max(len(set(a) ^ set(b)) for a in listed for b in listed)
    assert truth <= found <= 20


def test_a_change_of_one_weight_is_seen() -> None:
    weights = {name: Fraction(1) for name in NAMES}
    fact = All(AtMost(2), Exclusive("a", "b"))
    assert heaviest(weights, membership=fact) == 2
    assert heaviest(weights | {"a": Fraction(5)}, membership=fact) == 6
    assert heaviest(weights, membership=fact) == 2


def test_nothing_known_means_everything_counts() -> None:
    weights = {name: Fraction(1, 3) for name in NAMES}
    for neighbours in ("add_remove", "replace"):
        assert heaviest(weights, neighbours=neighbours) == Fraction(7, 3)
    assert heaviest({}) == 0


def test_what_makes_no_sense_is_refused() -> None:
    weights = {"a": Fraction(1), "b": Fraction(2)}
    with pytest.raises(InvalidParameter, match="twice"):
        heaviest(weights, neighbours="replace_record")
    with pytest.raises(InvalidParameter, match="twice"):
        heaviest(weights, neighbours="replace_record", twice={"a": Fraction(2)})
    with pytest.raises(InvalidParameter, match="neighbours"):
        heaviest(weights, neighbours="remove")
    with pytest.raises(InvalidParameter, match="membership"):
        heaviest(weights, membership="AtMost(1)")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="weights"):
        heaviest({"a": Fraction(-1)})
    with pytest.raises(UnknownDatabase):
        heaviest(weights, membership=AtMost(1, of=["c"]))
    with pytest.raises(ContradictoryFacts):
        heaviest(weights, membership=All(ExactlyOne(), AtMost(0)))
