"""Searches take no fault for the end of a range; and closed forms of moments are never low."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mpmath
import pytest
from mpmath import mpf

from quaestor import (
    BoundedRange,
    Bounds,
    Gaussian,
    InconsistentAnswers,
    InvalidParameter,
    Laplace,
    PoissonSampled,
    PureDP,
    RandomizedResponse,
    ShuffledEpoch,
    Staircase,
    TargetOutOfReach,
    calibrate,
    calibrate_bounds,
    largest_count,
)
from quaestor.accounting.compose import Composition
from tests.oracles import pairs

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction


def broken(*_: object, **__: object) -> Bounds:
    return Bounds(lower=float("nan"), upper=1.0)


def excluded(*_: object, **__: object) -> Bounds:
    raise InconsistentAnswers("delta", first=(0.0, 0.0), second=(1.0, 1.0))


def plant(monkeypatch: pytest.MonkeyPatch, fault: Callable[..., Bounds]) -> None:
    """In both ends of an answer, and in its upper end alone."""

    def upper(self: Composition, *, epsilon: float) -> float:
        return fault(self, epsilon=epsilon).upper

    monkeypatch.setattr(Composition, "delta_bounds", fault)
    monkeypatch.setattr(Composition, "delta", upper)


@pytest.mark.parametrize(
    ("fault", "error"), [(broken, InvalidParameter), (excluded, InconsistentAnswers)]
)
def test_a_fault_is_not_out_of_range(
    monkeypatch: pytest.MonkeyPatch, fault: Callable[..., Bounds], error: type[Exception]
) -> None:
    plant(monkeypatch, fault)
    for search in (
        lambda: calibrate(lambda s: Gaussian(sigma=s), epsilon=1.0, delta=1e-6),
        lambda: calibrate_bounds(lambda s: Gaussian(sigma=s), epsilon=1.0, delta=1e-6),
        lambda: largest_count(Gaussian(sigma=1.0), epsilon=1.0, delta=1e-6),
    ):
        with pytest.raises(error):
            search()


def test_a_fault_at_some_values_only_goes_through_too(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Composition.delta_bounds

    def sometimes(self: Composition, *, epsilon: float) -> Bounds:
        sigma = self.releases[0].sigma  # type: ignore[attr-defined]
        return broken() if sigma > 3.0 else plain(self, epsilon=epsilon)

    plant(monkeypatch, sometimes)
    with pytest.raises(InvalidParameter, match="bounds"):
        calibrate(lambda s: Gaussian(sigma=s), epsilon=1.0, delta=1e-6)


def test_errors_of_whoever_builds_go_through() -> None:
    def build(_: float) -> PureDP:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        calibrate(build, epsilon=1.0, delta=1e-6)


def test_ends_of_ranges_are_still_found() -> None:
    with pytest.raises(TargetOutOfReach):
        calibrate(lambda e: BoundedRange(epsilon=e), epsilon=1e4, delta=0.5)
    with pytest.raises(InvalidParameter, match="any size and order"):
        calibrate(
            lambda q: PoissonSampled(release=ShuffledEpoch(sigma=1.0, steps=3), rate=q),
            epsilon=1.0,
            delta=1e-6,
        )
    with pytest.raises(TargetOutOfReach):
        largest_count(PureDP(epsilon=1.0), epsilon=1.0, delta=1.0)


@pytest.mark.parametrize("order", [1e-9, 1e-4, 0.3, 1.0, 77.0, 1e6])
@pytest.mark.parametrize("size", [1e-12, 1e-3, 1.0, 25.0, 300.0])
def test_log_moments_in_closed_form_are_never_low(order: float, size: float) -> None:
    power = mpf(order)

    def check(cost: Fraction | None, truth: mpf) -> None:
        assert cost is not None
        value = mpf(cost.numerator) / cost.denominator
        assert truth <= value <= truth * (1 + mpf(10) ** -15)

    with mpmath.workdps(120):
        shift = mpf(size)
        above = (power + 1) / (2 * power + 1) * mpmath.exp(power * shift)
        below = power / (2 * power + 1) * mpmath.exp(-(power + 1) * shift)
        check(Laplace(scale=1.0, sensitivity=size).log_moment(order), mpmath.log(above + below))
        for categories in (2, 5):
            masses = pairs.response(size, categories=categories)
            moment = mpmath.fsum(p * (p / q) ** power for p, q in masses if q > 0 and p > 0)
            release = RandomizedResponse(epsilon=size, categories=categories)
            check(release.log_moment(order), mpmath.log(moment))


@pytest.mark.parametrize("gamma", [None, 0.1, 0.5, 0.8])
def test_log_moments_of_staircase_noise_are_never_low(gamma: float | None) -> None:
    masses = pairs.staircase(1.5, gamma)
    for order in (0.5, 3.0):
        moment = mpmath.fsum(p * (p / q) ** mpf(order) for p, q in masses)
        cost = Staircase(epsilon=1.5, gamma=gamma).log_moment(order)
        assert cost is not None
        value = mpf(cost.numerator) / cost.denominator
        truth = mpmath.log(moment)
        assert truth - mpf(10) ** -40 <= value <= truth * (1 + mpf(10) ** -14)
