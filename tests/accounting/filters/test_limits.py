"""Limits of filters: never above the truth, and hardly below it."""

from __future__ import annotations

import random
import tomllib
from fractions import Fraction
from pathlib import Path

import pytest
from mpmath import mp, mpf  # type: ignore[import-untyped, unused-ignore]

from quaestor.accounting.filters import (
    concentrated_filter,
    gaussian_filter,
    moment_filter,
    range_filter,
    weighted_filter,
    whitehouse_filter,
)
from quaestor.accounting.releases import BoundedRange, PureDP
from quaestor.errors import InvalidParameter

VECTORS = tomllib.loads(
    (Path(__file__).parents[2] / "vectors" / "filters.toml").read_text(encoding="utf-8")
)


def targets() -> list[tuple[float, float, float]]:
    """Epsilon, delta, and what is reserved of it."""
    rng = random.Random(11)
    some = []
    for _ in range(25):
        delta = 10 ** rng.uniform(-14, -0.5)
        reserved = rng.choice([0.0, delta / 2, delta * rng.random() * 0.999])
        some.append((10 ** rng.uniform(-2, 1.8), delta, reserved))
    return [*some, (1.0, 1e-6, 0.0), (0.5, 1e-40, 0.0), (3.0, 1e-300, 5e-301)]


def exact(value: Fraction) -> mpf:
    return mpf(value.numerator) / value.denominator


def slack_of(delta: float, reserved: float) -> mpf:
    return exact(Fraction(delta) - Fraction(reserved))


@pytest.mark.parametrize("target", targets(), ids=str)
def test_squares_and_ranges_stop_where_the_formula_does(
    target: tuple[float, float, float],
) -> None:
    epsilon, delta, reserved = target
    with mp.workdps(60):
        nats = -mp.log(slack_of(delta, reserved))
        squares = whitehouse_filter(epsilon=epsilon, delta=delta, reserved=reserved).some[-1]
        ranges = range_filter(epsilon=epsilon, delta=delta, reserved=reserved).some[-1]

        def advanced(total: mpf) -> mpf:
            return mp.sqrt(2 * nats * total) + total / 2

        for limit in (exact(squares.limit), exact(ranges.limit) / 4):
            assert advanced(limit) <= epsilon
            assert advanced(limit * (1 + mpf(10) ** -14)) > epsilon


@pytest.mark.parametrize("target", targets(), ids=str)
def test_rhos_stop_at_the_best_order(target: tuple[float, float, float]) -> None:
    epsilon, delta, reserved = target
    limit = concentrated_filter(epsilon=epsilon, delta=delta, reserved=reserved).some[-1].limit
    with mp.workdps(60):
        nats = -mp.log(slack_of(delta, reserved))

        def rho(order: mpf) -> mpf:
            gain = (1 + order) * mp.log(1 + order) - order * mp.log(order)
            return (order * epsilon - nats + gain) / (order * (order + 1))

        scan = [mpf(10) ** (mpf(i) / 40) for i in range(-160, 500)]
        best = max(map(rho, scan))
        assert exact(limit) >= best * (1 - mpf(10) ** -12)
        near = max(scan, key=rho)
        finest = max(rho(near * mpf(10) ** (mpf(i) / 40000)) for i in range(-1000, 1001, 2))
        assert exact(limit) <= finest * (1 + mpf(10) ** -8)


@pytest.mark.parametrize("target", targets(), ids=str)
def test_mus_stop_where_the_gaussian_has_used_the_slack_up(
    target: tuple[float, float, float],
) -> None:
    epsilon, delta, reserved = target
    limit = gaussian_filter(epsilon=epsilon, delta=delta, reserved=reserved).some[-1].limit
    with mp.workdps(340):

        def told(mu: mpf) -> mpf:
            e = mpf(epsilon)
            return mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu)

        mu = mp.sqrt(exact(limit))
        assert told(mu) <= slack_of(delta, reserved)
        assert told(mu * (1 + mpf(10) ** -13)) > slack_of(delta, reserved)


@pytest.mark.parametrize("target", targets(), ids=str)
def test_moments_stop_at_the_sharp_conversion(target: tuple[float, float, float]) -> None:
    epsilon, delta, reserved = target
    with mp.workdps(60):
        slack = slack_of(delta, reserved)
        orders = [(1e4, 0.5), (1e6, 0.25), (1e3, 0.125)]
        made = weighted_filter(epsilon=epsilon, delta=delta, orders=orders, reserved=reserved)
        for meter, (order, share) in zip(made.some[1:], orders, strict=True):
            x = mpf(order)
            truth = x * epsilon + mp.log(slack * share) - x * mp.log(x) + (x + 1) * mp.log(1 + x)
            assert exact(meter.limit) <= truth
            assert exact(meter.limit) >= truth - abs(truth) * mpf(10) ** -15
    if made.some[2].limit >= 0:
        alone = moment_filter(epsilon=epsilon, delta=delta, order=1e6, reserved=reserved)
        assert alone.some[-1].limit > made.some[2].limit


@pytest.mark.parametrize("case", VECTORS["whitehouse"], ids=lambda case: case["id"])
def test_the_published_epsilon_is_where_the_last_release_fits(case: dict[str, str]) -> None:
    published, delta = float(case["epsilon"]), float(case["slack"])
    history = [PureDP(epsilon=float(case["epsilon_each"])) * int(case["count"])]
    for epsilon, fits in ((published * (1 + 1e-14), True), (published * (1 - 1e-14), False)):
        filter_ = whitehouse_filter(epsilon=epsilon, delta=delta)
        assert filter_.fits({meter: meter.cost(history) for meter in filter_.meters}) == fits


def test_selections_count_a_quarter_of_black_boxes() -> None:
    filter_ = range_filter(epsilon=1.0, delta=1e-6)
    meter = filter_.some[-1]
    selection, box = meter.cost([BoundedRange(epsilon=0.5)]), meter.cost([PureDP(epsilon=0.5)])
    assert selection == Fraction(1, 4)
    assert box == 1


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"reserved": 1e-6}, "reserved"),
        ({"reserved": -1e-9}, "reserved"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"delta": 1.5}, "delta"),
        ({"delta": 0.0}, "reserved"),
    ],
)
def test_what_cannot_be_promised_is_refused(parameters: dict[str, float], field: str) -> None:
    given = {"epsilon": 1.0, "delta": 1e-6} | parameters
    for make in (whitehouse_filter, range_filter, concentrated_filter, gaussian_filter):
        with pytest.raises(InvalidParameter) as caught:
            make(**given)
        assert caught.value.field == field


def test_orders_that_could_never_serve_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="order"):
        moment_filter(epsilon=1.0, delta=1e-6, order=1.0)
    for orders in ([], [(16.0, 0.0)], [(16.0, 0.75), (32.0, 0.5)], [(16.0, 0.5), (16.0, 0.5)]):
        with pytest.raises(InvalidParameter, match="orders"):
            weighted_filter(epsilon=1.0, delta=1e-6, orders=orders)
