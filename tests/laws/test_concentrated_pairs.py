"""Concentrated releases: pairs that keep the promise of every order, and attain one of them."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import mpmath
import pytest
from mpmath import mpf

from quaestor import Gaussian, ZeroConcentratedDP, compose
from quaestor.accounting.loss.laws import concentrated_pair as concentrated_pair_file
from quaestor.accounting.loss.laws.concentrated_pair import concentrated_pair

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.finite import FiniteLoss
    from quaestor.accounting.numerics.complexes import Floats


def worlds(pair: FiniteLoss) -> tuple[list[mpf], list[mpf]]:
    """The probabilities: of the rare outcome as they are written, and of all else what is left."""
    rare = mpmath.exp(mpf(float(pair.log_first[0])))
    other = mpmath.exp(mpf(float(pair.log_first[0])) - mpf(float(pair.losses[0])))
    return [rare, 1 - rare], [other, 1 - other]


def log_moment(first: list[mpf], second: list[mpf], order: mpf) -> mpf:
    terms = (p * (p / r) ** order for p, r in zip(first, second, strict=True))
    return mpmath.log(mpmath.fsum(terms))


@pytest.mark.parametrize("seed", range(25))
def test_a_pair_is_concentrated_at_every_order(seed: int) -> None:
    rng = random.Random(seed)
    rho = math.exp(rng.uniform(math.log(1e-4), math.log(5.0)))
    order = (math.sqrt(rng.uniform(10.0, 40.0) / rho + 0.25) - 0.5) * rng.uniform(0.8, 1.25)
    pair = concentrated_pair(rho, order)
    assert pair is not None
    with mpmath.workdps(50):
        first, second = worlds(pair)
        orders = [mpf(order) * mpf(10) ** (mpf(i) / 40) for i in range(-160, 121)]
        orders += [mpf(order) * (1 + mpf(i) / 1000) for i in range(-30, 31)]
        for each in orders:
            promised = each * (each + 1) * mpf(rho)
            assert log_moment(first, second, each) <= promised
            assert log_moment(second, first, each) <= promised
        # and of one order nearly all of the promise is kept
        missing = mpf(order) * (order + 1) * rho - log_moment(first, second, mpf(order))
        assert missing <= 3 * mpmath.exp(-mpf(order) * (order + 1) * rho) + mpf(10) ** -4
        for loss, p, r in zip(pair.losses, first, second, strict=True):
            assert abs(mpmath.log(p / r) - mpf(float(loss))) <= pair.blur


@pytest.mark.parametrize("rho", [0.0, 1e-300, 1e-9, 1e6, 1e150])
@pytest.mark.parametrize("order", [1e-12, 0.5, 1e9])
def test_where_the_proof_has_no_pair_there_is_none(rho: float, order: float) -> None:
    pair = concentrated_pair(rho, order)
    assert pair is None or pair.infinite.upper == 0.0


@pytest.mark.parametrize(("rho", "order"), [(97.7, 0.006), (97.7, 1e-5), (58.3, 0.012), (5.0, 0.1)])
def test_where_the_quotient_is_flat_few_stretches_are_looked_at(
    rho: float, order: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []

    def counted(x: Floats) -> Floats:
        sizes.append(x.size)
        return log_expm1(x)

    log_expm1 = concentrated_pair_file._log_expm1
    monkeypatch.setattr(concentrated_pair_file, "_log_expm1", counted)
    concentrated_pair(rho, order)
    assert 0 < sum(sizes) < 1_000_000


@pytest.mark.parametrize("rho", [0.001, 0.02, 0.1, 1.0])
@pytest.mark.parametrize("delta", [1e-6, 1e-10])
def test_one_concentrated_release_is_known_within_a_thousandth(rho: float, delta: float) -> None:
    bounds = compose(ZeroConcentratedDP(rho=rho)).epsilon_bounds(delta=delta)
    assert bounds.relative_width <= 1e-3
    with mpmath.workdps(40):  # the truth is at most the moment bound of any order
        for step in range(1, 400):
            order = mpf(step) * bounds.upper / rho / 400
            conversion = -order * mpmath.log1p(1 / order) - mpmath.log1p(order)
            bound = (order * (order + 1) * rho + conversion - mpmath.log(delta)) / order
            assert bounds.lower <= bound
    gaussian = compose(Gaussian(sigma=1 / math.sqrt(2 * rho))).epsilon_bounds(delta=delta)
    assert bounds.upper >= gaussian.lower


@pytest.mark.parametrize("count", [2, 7])
@pytest.mark.parametrize("beside", [[], [Gaussian(sigma=3.0)]])
def test_a_history_that_was_carried_on_knows_what_is_attained(
    count: int, beside: list[Gaussian]
) -> None:
    step = ZeroConcentratedDP(rho=0.05)
    at_once = compose(step * count, *beside).epsilon_bounds(delta=1e-6)
    carried = compose(*beside).then(step).then(step * (count - 1)).epsilon_bounds(delta=1e-6)
    assert at_once.overlaps(carried)
    assert abs(at_once.lower - carried.lower) <= 2e-3 * at_once.lower
    gaussian = Gaussian(sigma=1 / math.sqrt(0.1)) * count
    attained = compose(gaussian, *beside).epsilon_bounds(delta=1e-6)
    assert at_once.lower >= attained.lower * (1 - 2e-3)
    if count == 2 and not beside:  # two rare outcomes are worse
        assert at_once.lower >= attained.upper * 1.05
