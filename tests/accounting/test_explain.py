"""The theorem that a composition names is the row that ``explain`` marks, with the same number."""

from __future__ import annotations

from math import inf
from random import Random
from typing import TYPE_CHECKING

import pytest

from quaestor.accounting.compose import compose, compose_nonadaptive
from quaestor.accounting.releases import (
    ApproxDP,
    BoundedRange,
    DiscreteGaussian,
    ExponentialMechanism,
    Gaussian,
    GaussianDP,
    Geometric,
    GraphSketch,
    Laplace,
    PoissonSampled,
    ProbabilityVectors,
    PureDP,
    RandomizedResponse,
    SampledWithoutReplacement,
    Staircase,
    ZeroConcentratedDP,
)
from quaestor.accounting.theorems import THEOREMS

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.accounting.compose import Composition
    from quaestor.accounting.releases import Release

BLACK_BOXES: list[Callable[[Random], Release]] = [
    lambda r: PureDP(epsilon=r.choice([0.0, 0.1, 0.5, 1.0])),
    lambda r: PureDP(epsilon=r.uniform(0.01, 1.0)),
    lambda r: ApproxDP(epsilon=r.choice([0.1, 0.5]), delta=r.choice([0.0, 1e-9, 1e-4])),
]
GAUSSIANS: list[Callable[[Random], Release]] = [
    lambda r: Gaussian(sigma=r.uniform(0.5, 20.0)),
    lambda r: GaussianDP(mu=r.uniform(0.01, 1.0)),
]
RANGES: list[Callable[[Random], Release]] = [
    lambda r: BoundedRange(epsilon=r.choice([0.1, 0.2, 0.5])),
    lambda r: ExponentialMechanism(epsilon=r.uniform(0.1, 0.5), monotonic=r.random() < 0.5),
]
OTHERS: list[Callable[[Random], Release]] = [
    lambda r: Laplace(scale=r.uniform(1.0, 20.0)),
    lambda r: Geometric(scale=r.uniform(1.0, 20.0)),
    lambda r: DiscreteGaussian(sigma=r.uniform(1.0, 5.0)),
    lambda r: Staircase(epsilon=r.uniform(0.1, 1.0)),
    lambda r: RandomizedResponse(epsilon=r.uniform(0.1, 1.0), categories=r.randint(2, 5)),
    lambda r: ZeroConcentratedDP(rho=r.uniform(0.001, 0.1)),
    lambda r: PoissonSampled(release=Laplace(scale=r.uniform(1.0, 3.0)), rate=r.uniform(0.1, 0.9)),
    lambda r: PoissonSampled(release=Gaussian(sigma=r.uniform(1.0, 3.0)), rate=0.1),
    lambda _: SampledWithoutReplacement(release=PureDP(epsilon=1.0), sample=1, population=10),
    lambda r: GraphSketch(rows=r.randint(2, 9), weight=r.uniform(50.0, 200.0)),
    lambda _: ProbabilityVectors(p=(0.5, 0.25, 0.25), q=(0.25, 0.25, 0.5)),
]
FAMILIES = {
    "black boxes": BLACK_BOXES,
    "Gaussians": GAUSSIANS,
    "ranges": RANGES,
    "mechanisms": GAUSSIANS + OTHERS,
    "ranges and black boxes": RANGES + BLACK_BOXES,
    "everything": BLACK_BOXES + GAUSSIANS + RANGES + OTHERS,
}


def histories(family: str) -> list[Composition]:
    """Random histories of a family: fixed in advance or not, some longer than they began."""
    random = Random(f"a theorem for {family}")
    made = []
    for _ in range(5):
        releases = [
            random.choice(FAMILIES[family])(random) * random.choice([1, 1, 2, 7])
            for _ in range(random.randint(1, 4))
        ]
        start = compose_nonadaptive if random.random() < 0.3 else compose
        made.append(start(*releases))
        if random.random() < 0.4:
            made.append(made[-1].then(random.choice(FAMILIES[family])(random)))
    return made


@pytest.mark.parametrize("family", FAMILIES)
def test_explain_marks_the_theorem_that_a_composition_names_with_its_answer(family: str) -> None:
    for number, spent in enumerate(histories(family)):
        explanation = (
            spent.explain(epsilon=0.7)
            if number % 3 == 2
            else spent.explain(delta=0.0 if number % 3 else 1e-6)
        )
        assert [row.theorem for row in explanation if row.best] == [spent.theorem], spent
        answer = (
            spent.epsilon_bounds(delta=explanation.value)
            if explanation.quantity == "epsilon"
            else spent.delta_bounds(epsilon=explanation.value)
        )
        if explanation.best.bounds is None:
            assert answer.lower >= (1.0 if explanation.quantity == "delta" else inf), spent
        else:
            assert explanation.best.bounds == answer, spent


def test_the_best_of_several_theorems_says_which_one_it_is() -> None:
    ranged = compose(BoundedRange(epsilon=0.1) * 20)
    assert ranged.explain(delta=1e-6).best.note == "here: range, adaptive optimum"
    fixed = compose_nonadaptive(BoundedRange(epsilon=0.1) * 20)
    assert fixed.explain(delta=1e-6).best.note == "here: range, fixed in advance"
    mixed = compose(BoundedRange(epsilon=0.1) * 20, Laplace(scale=5.0) * 3)
    notes = {mixed.explain(delta=delta).best.note for delta in (1e-3, 1e-6, 1e-9)}
    assert notes == {"here: range, in blocks"}


def test_many_different_black_boxes_keep_their_theorem_when_more_are_added() -> None:
    history = [PureDP(epsilon=0.0317 * i**0.5) for i in range(1, 60)]
    longer = compose(*history[1:]).then(history[0])
    assert longer.theorem == compose(*history).theorem == "optimal, heterogeneous"
    assert longer.explain(delta=1e-6).best.theorem == longer.theorem


def test_every_named_theorem_is_listed_or_the_best_of_listed_ones() -> None:
    listed = {theorem.name for theorem in THEOREMS}
    for family in FAMILIES:
        for spent in histories(family):
            assert spent.theorem in listed | {"bounded range", "bounded range, fixed in advance"}
