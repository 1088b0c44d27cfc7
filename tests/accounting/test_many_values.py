"""One question at many points: as certain as one by one, and arrays for arrays."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import quaestor as q
from quaestor import InvalidParameter
from quaestor.accounting.loss.engine.inversion import Line

LOSSES: dict[str, q.Composition] = {
    "black boxes": q.compose(q.ApproxDP(epsilon=0.1, delta=1e-8) * 30),
    "different black boxes": q.compose(q.PureDP(epsilon=0.1) * 9, q.PureDP(epsilon=0.23) * 4),
    "gaussian": q.compose(q.Gaussian(sigma=5.0) * 20),
    "laplace": q.compose(q.Laplace(scale=20.0) * 100),
    "sampled": q.compose(q.PoissonSampled(release=q.Gaussian(sigma=1.0), rate=0.01) * 300),
    "lattice": q.compose(q.Geometric(scale=10.0) * 60),
    "mixed": q.compose(q.Gaussian(sigma=20.0) * 50, q.ApproxDP(epsilon=0.1, delta=1e-9) * 3),
    "range": q.compose(q.BoundedRange(epsilon=0.5) * 2),
}
DELTAS = [0.0, 1e-30, 1e-12, 1e-8, 1e-6, 1e-4, 0.01, 0.3, 0.9, 1.0]
EPSILONS = [0.0, 1e-9, 0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 40.0, math.inf]
ALARMS = [0.0, 1e-9, 0.01, 0.5, 0.9999]


@pytest.mark.parametrize("name", LOSSES)
def test_many_points_are_as_true_as_one_by_one(name: str) -> None:
    spent = LOSSES[name]
    for delta, epsilon in zip(DELTAS, spent.epsilon(delta=DELTAS), strict=True):
        bounds = spent.epsilon_bounds(delta=delta)
        assert bounds.lower <= epsilon <= bounds.upper * 1.001
    for epsilon, delta in zip(EPSILONS, spent.delta(epsilon=EPSILONS), strict=True):
        bounds = spent.delta_bounds(epsilon=epsilon)
        assert bounds.lower <= delta <= max(bounds.upper * 1.01, 1e-300)
    if name == "range":  # one by one they take long
        return
    region = spent.tradeoff()
    for alarm, missed in zip(ALARMS, region.false_negative(false_positive=ALARMS), strict=True):
        bounds = region.false_negative_bounds(false_positive=alarm)
        assert bounds.lower - 1e-4 <= missed <= bounds.upper


def test_a_shared_line_encloses_the_exact_curve() -> None:
    """Gaussian noise has a closed form, which the engine does not ask for here."""
    losses = q.compose(q.Gaussian(sigma=5.0) * 20)._losses.shared()
    exact = q.compose(q.Gaussian(sigma=5.0) * 20)
    for step in range(200):
        epsilon = 6.0 * step / 200
        bounds = losses.delta_bounds(epsilon=epsilon)
        truth = exact.delta_bounds(epsilon=epsilon)
        assert bounds.overlaps(truth)
        assert bounds.relative_width <= 1e-3


def test_points_share_what_was_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []
    through = Line.through.__func__  # type: ignore[attr-defined]

    def counted(cls: type[Line], *arguments: Any, **named: Any) -> Line:
        drawn.append(arguments)
        return through(cls, *arguments, **named)  # type: ignore[no-any-return]

    monkeypatch.setattr(Line, "through", classmethod(counted))
    deltas = np.logspace(-9, -3, 60)
    q.compose(q.Laplace(scale=20.0) * 500).epsilon(delta=deltas)
    together = len(drawn)
    drawn.clear()
    alone = q.compose(q.Laplace(scale=20.0) * 500)
    for delta in deltas:
        alone.epsilon(delta=float(delta))
    assert together * 5 <= len(drawn)


def test_what_was_asked_before_changes_nothing() -> None:
    def asked() -> q.Composition:
        return q.compose(q.Laplace(scale=20.0) * 100)

    first, second = asked(), asked()
    second.epsilon(delta=[1e-3, 1e-4])
    second.epsilon(delta=0.01)
    assert (first.epsilon(delta=DELTAS) == second.epsilon(delta=DELTAS)).all()
    assert first.epsilon(delta=1e-5) == second.epsilon(delta=1e-5)


def test_shapes_and_kinds_are_kept() -> None:
    spent = q.compose(q.PureDP(epsilon=0.5) * 3)
    assert isinstance(spent.epsilon(delta=1e-6), float)
    assert isinstance(spent.epsilon(delta=np.float64(1e-6)), float)
    assert spent.epsilon(delta=[]).shape == (0,)
    table = spent.delta(epsilon=np.array([[0.0, 0.5], [1.0, 1.5]], dtype=np.float32))
    assert table.shape == (2, 2)
    assert table.dtype == np.float64
    assert table[1, 1] == spent.delta(epsilon=1.5)
    assert (spent.delta(epsilon=(0, 1)) == spent.delta(epsilon=np.array([0, 1]))).all()
    assert (spent.delta(epsilon=range(2)) == spent.delta(epsilon=[0, 1])).all()


def test_arrays_serve_every_kind_of_result() -> None:
    across = q.compose_across({"a": [q.PureDP(epsilon=0.5)], "b": [q.PureDP(epsilon=0.25)]})
    assert across.epsilon(delta=[0.0, 1.0]).tolist() == [0.75, 0.0]
    known = q.hypothesis_bounds(
        [q.PureDP(epsilon=0.1)] * 4, null=q.PointPrior(), alternative=q.UniformPrior(at_least=1)
    )
    one = known.delta(epsilon=0.1)
    assert known.delta(epsilon=[0.1])[0] == one


@pytest.mark.parametrize(
    "bad",
    [
        [0.1, math.nan],
        [-0.1],
        np.array([0.5, 2.0]),
        [True],
        np.array([True]),
        ["0.1"],
        "0.1",
        b"0.1",
        [None],
        [Fraction(1, 3)],
        [[0.1], [0.1, 0.2]],
        {"delta": 0.1},
        [1 + 0j],
    ],
)
def test_what_is_no_delta_is_refused_in_an_array_too(bad: Any) -> None:
    with pytest.raises(InvalidParameter, match="delta"):
        q.compose(q.PureDP(epsilon=0.5)).epsilon(delta=bad)


def test_the_search_for_a_boundary_ends_where_the_curve_is_known_no_better() -> None:
    """Once trials are closer than the curve is known, more of them say nothing."""
    asked = 0
    profile = q.compose(q.Laplace(scale=20.0) * 100)._losses

    class Counted(type(profile)):  # type: ignore[misc]
        def delta_bounds(self, *, epsilon: float) -> q.Bounds:
            nonlocal asked
            asked += 1
            return super().delta_bounds(epsilon=epsilon)  # type: ignore[no-any-return]

    profile.__class__ = Counted
    bounds = q.Tradeoff(profile).false_negative_bounds(false_positive=0.05)
    assert bounds.width < 2e-4
    assert asked < 200
