"""A narrower interval on request: inside the usual one, and as narrow as asked for."""

from __future__ import annotations

import pytest

import quaestor as q
from quaestor.accounting.loss.engine.loss_sum import Product

GOLDEN = 0.6180339887498949
STEP = q.PoissonSampled(release=q.Gaussian(sigma=1.0), rate=0.01)
WORKLOADS = {
    "sampled Gaussian, 1,000": q.compose(STEP * 1_000),
    "sampled Gaussian, 100,000": q.compose(STEP * 100_000),
    "Laplace": q.compose(q.Laplace(scale=20.0) * 1_000),
    "mixed": q.compose(
        q.Gaussian(sigma=50.0) * 500,
        q.Laplace(scale=20.0) * 500,
        STEP * 300,
        q.ApproxDP(epsilon=0.1, delta=1e-10) * 100,
    ),
    "black boxes": q.compose(
        *(q.ApproxDP(epsilon=0.01 + 0.19 * (i * GOLDEN % 1), delta=1e-10) for i in range(60))
    ),
}


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("width", [1e-3, 1e-6])
def test_epsilon_is_as_narrow_as_asked_for(name: str, width: float) -> None:
    spent = WORKLOADS[name]
    usual, narrow = spent.epsilon_bounds(delta=1e-6), spent.epsilon_bounds(delta=1e-6, width=width)
    assert narrow.relative_width <= width
    assert narrow.overlaps(usual)


@pytest.mark.parametrize("name", WORKLOADS)
def test_delta_is_as_narrow_as_asked_for(name: str) -> None:
    spent = WORKLOADS[name]
    at = spent.epsilon(delta=1e-6)
    usual, narrow = spent.delta_bounds(epsilon=at), spent.delta_bounds(epsilon=at, width=1e-6)
    assert narrow.relative_width <= 1e-6
    assert narrow.overlaps(usual)


@pytest.mark.parametrize("width", [1e-4, 1e-3, 2e-2, 0.3])
@pytest.mark.parametrize(
    "release",
    [
        STEP * 1_000,
        q.PoissonSampled(release=q.Gaussian(sigma=1.0), rate=1e-4) * 100,
        q.PoissonSampled(release=q.Gaussian(sigma=0.5), rate=0.1) * 2,
        q.PoissonSampled(release=q.Laplace(scale=1.0), rate=0.1) * 10,
        q.DiscreteGaussian(sigma=50.0) * 1_000,
    ],
    ids=str,
)
def test_a_wider_interval_needs_no_more_moments(
    release: q.Release, width: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0
    plain = Product.rough_log_moments

    def counted(self: Product, *arguments: object) -> object:
        nonlocal asked
        asked += 1
        return plain(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Product, "rough_log_moments", counted)
    q.compose(release).epsilon_bounds(delta=1e-6)
    usual, asked = asked, 0
    q.compose(release).epsilon_bounds(delta=1e-6, width=width)
    assert 0 < asked <= 1.5 * usual


def test_a_closed_form_is_narrower_than_anyone_asks() -> None:
    spent = q.compose(q.PureDP(epsilon=0.1) * 30)
    assert spent.epsilon_bounds(delta=1e-6, width=1e-3).relative_width < 1e-12


@pytest.mark.parametrize("width", [0.0, -1.0, 2.0, float("nan"), "wide"])
def test_impossible_widths_are_refused(width: float) -> None:
    with pytest.raises(q.InvalidParameter, match="width"):
        q.compose(STEP).epsilon_bounds(delta=1e-6, width=width)


@pytest.mark.parametrize(
    ("release", "width"),
    [
        (q.BoundedRange(epsilon=1.0) * 2000, 1e-3),
        (q.BoundedRange(epsilon=1.0) * 2000, 0.5),
        (q.ZeroConcentratedDP(rho=0.01) * 3, 1e-3),
        (q.Gaussian(sigma=5.0) * 10, 1e-10),
        (q.DiscreteGaussian(sigma=5.0) * 10, 1e-10),
        (STEP * 1000, 1e-10),
        (STEP * 1000, 1e-3),
        (q.PureDP(epsilon=0.1) * 30, 1e-10),
    ],
    ids=str,
)
def test_a_width_that_was_not_reached_is_said(release: q.Release, width: float) -> None:
    spent = q.compose(release)
    usual = spent.epsilon_bounds(delta=1e-6)
    assert usual.missed_width is None
    for found in (
        spent.epsilon_bounds(delta=1e-6, width=width),
        spent.delta_bounds(epsilon=usual.upper / 2, width=width),
    ):
        missed = found.relative_width > width
        assert found.missed_width == (width if missed else None)
        assert ("was asked for" in str(found)) == ("missed_width" in repr(found)) == missed


def test_an_interval_that_missed_its_width_is_the_same_interval() -> None:
    plain = q.Bounds(lower=1.0, upper=2.0)
    missed = plain.held_against(width=0.1)
    assert (missed == plain, hash(missed) == hash(plain)) == (True, True)
    assert eval(repr(missed), {"Bounds": q.Bounds}).missed_width == 0.1  # noqa: S307  # our own
