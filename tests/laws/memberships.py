"""Random databases and random facts, each fact also as a sentence about bits."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from quaestor.accounting.membership.facts import (
    All,
    AtMost,
    ExactlyOne,
    Exclusive,
    Fact,
    Implies,
    Vectors,
)
from quaestor.accounting.releases import ApproxDP, PureDP
from tests.oracles.membership import Vector, allowed, vectors

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.accounting.releases import Release

__all__ = ["NAMES", "Step", "named", "random_case", "random_databases"]

Step = tuple[float, float]
Case = tuple[list[list[Step]], Fact, "Callable[[Vector], bool]"]
NAMES = "abcdefg"


def random_databases(rng: random.Random) -> list[list[Step]]:
    """Up to five databases with up to six releases in all, some of them alike."""
    count = rng.randint(1, 5)
    few = [
        (rng.uniform(0.0, 2.5), rng.choice([0.0, 0.0, 10 ** rng.uniform(-6, -1)]))
        for _ in range(rng.randint(1, 4))
    ]
    databases = [[rng.choice(few)] for _ in range(count)]
    if rng.random() < 0.4:
        rng.choice(databases).append(rng.choice(few))
    if rng.random() < 0.15:
        rng.choice(databases).clear()
    return databases


def one_fact(rng: random.Random, count: int) -> tuple[Fact, Callable[[Vector], bool]]:
    """A fact, and the same as a sentence about bits that owes nothing to the library."""
    names = NAMES[:count]
    group = sorted(rng.sample(range(count), rng.randint(1, count)))
    named = [names[i] for i in group]
    m = rng.randint(0, count)
    some = [v for v in vectors(count) if rng.random() < 0.4] or [(1,) * count]
    listed = [[name for name, bit in zip(names, v, strict=True) if bit] for v in some]
    order, cut = rng.sample(range(count), count), rng.randint(1, max(count - 1, 1))
    left, right = order[:cut], order[cut:] or order[:cut]
    sides = [names[i] for i in left], [names[i] for i in right]
    kinds: list[tuple[Callable[[], Fact], Callable[[Vector], bool]]] = [
        (lambda: AtMost(m), lambda b: sum(b) <= m),
        (lambda: AtMost(m, of=named), lambda b: sum(b[i] for i in group) <= m),
        (ExactlyOne, lambda b: sum(b) == 1),
        (lambda: ExactlyOne(of=named), lambda b: sum(b[i] for i in group) == 1),
        (lambda: Vectors(listed), lambda b: b in some),
        (
            lambda: Exclusive(*sides),
            lambda b: not (any(b[i] for i in left) and any(b[i] for i in right)),
        ),
        (
            lambda: Implies(*sides),
            lambda b: not any(b[i] for i in left) or all(b[i] for i in right),
        ),
    ]
    make, holds = kinds[rng.randrange(7 if count > 1 else 5)]
    return make(), holds


def random_case(seed: int) -> Case:
    """Databases and facts that do not contradict each other."""
    rng = random.Random(seed)
    while True:
        databases = random_databases(rng)
        facts = [one_fact(rng, len(databases)) for _ in range(rng.randint(0, 3))]

        def holds(b: Vector, facts: list[tuple[Fact, Callable[[Vector], bool]]] = facts) -> bool:
            return all(fact(b) for _, fact in facts)

        if allowed(len(databases), holds):
            return databases, All(*(fact for fact, _ in facts)), holds


def named(databases: list[list[Step]]) -> dict[str, list[Release]]:
    """The databases as the library takes them."""
    return {
        name: [ApproxDP(epsilon=e, delta=d) if d else PureDP(epsilon=e) for e, d in steps]
        for name, steps in zip(NAMES, databases, strict=False)
    }
