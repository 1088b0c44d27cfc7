"""A theorem is a function and a line in the list: a toy is shown, and never picked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from flint import arb

from quaestor.accounting import theorems
from quaestor.accounting.compose import compose, compose_nonadaptive
from quaestor.accounting.releases import ApproxDP, BoundedRange, Gaussian, Laplace, PureDP
from quaestor.accounting.theorems import Theorem
from quaestor.accounting.theorems.black_boxes import BlackBoxes
from quaestor.accounting.theorems.points import PointProfile
from quaestor.errors import TheoremDoesNotApply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from quaestor.accounting.compose import Composition
    from quaestor.accounting.curves.profile import Profile
    from quaestor.accounting.releases import Release

HISTORIES = {
    "equal black boxes": [PureDP(epsilon=0.1) * 30],
    "different black boxes": [PureDP(epsilon=0.1) * 3, ApproxDP(epsilon=0.3, delta=1e-9)],
    "Gaussians": [Gaussian(sigma=5.0) * 4],
    "mechanisms": [Gaussian(sigma=5.0) * 4, Laplace(scale=3.0)],
    "ranges": [BoundedRange(epsilon=0.1) * 5],
}


def nothing_is_lost(releases: Iterable[Release]) -> Profile:
    """A toy, and false: at least two releases cost nothing."""
    if BlackBoxes.of(releases).count < 2:
        raise TheoremDoesNotApply("needs two releases")
    return PointProfile(epsilon=arb(0), delta=arb(0))


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Theorem:
    theorem = Theorem(name="toy", source="nowhere", profile=nothing_is_lost)
    monkeypatch.setattr(theorems, "THEOREMS", (*theorems.THEOREMS, theorem))
    return theorem


@pytest.mark.parametrize("name", HISTORIES)
@pytest.mark.parametrize("start", [compose, compose_nonadaptive])
def test_a_new_theorem_is_shown_and_not_picked(
    toy: Theorem, name: str, start: Callable[..., Composition]
) -> None:
    spent = start(*HISTORIES[name])
    explanation = spent.explain(delta=1e-6)
    (row,) = (row for row in explanation if row.theorem == toy.name)
    assert (row.source, row.best) == ("nowhere", False)
    assert row.bounds is not None
    assert row.bounds.upper == 0.0
    assert explanation.best.theorem == spent.theorem != toy.name
    assert spent.epsilon(delta=1e-6) > 0.0
    assert toy.name in str(explanation)


def test_where_it_does_not_apply_it_says_why(toy: Theorem) -> None:
    rows = compose(PureDP(epsilon=0.5)).explain(delta=1e-6)
    (row,) = (row for row in rows if row.theorem == toy.name)
    assert (row.bounds, row.note) == (None, "needs two releases")


def test_its_curve_carries_its_name(toy: Theorem) -> None:
    assert toy.of(HISTORIES["equal black boxes"]).theorem is toy


def test_without_it_everything_is_as_before() -> None:
    assert "toy" not in {theorem.name for theorem in theorems.THEOREMS}
    assert "toy" not in str(compose(PureDP(epsilon=0.1) * 30).explain(delta=1e-6))
