"""Noise in bins: what is kept, and the law that comes out."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from mpmath import exp, mpf

from quaestor.mechanisms.samplers import noise
from quaestor.mechanisms.samplers.noise import floored_laplace_noise, gaussian_noise, laplace_noise
from tests.mechanisms.laws import chi_square, discrete_gaussian, discrete_laplace, floored_laplace
from tests.mechanisms.sources import Counted, install, seed
from tests.mechanisms.test_inversion import script

if TYPE_CHECKING:
    from collections.abc import Callable

    from mpmath import mpf as Number  # noqa: N812

    Law = Callable[[float, int], dict[int, Number]]

# False alarms: one in 10,000 a test, if the seeds were changed; misses: one in a million.
ACCEPT, REJECT = 1e-4, 1e-6

LAWS: list[tuple[Callable[[float], noise.Noise], Law, float]] = [
    (laplace_noise, discrete_laplace, 0.5),
    (laplace_noise, discrete_laplace, 20.0),
    (laplace_noise, discrete_laplace, 100.0),
    (floored_laplace_noise, floored_laplace, 2.0),
    (floored_laplace_noise, floored_laplace, 70.0),
    (gaussian_noise, discrete_gaussian, 0.7),
    (gaussian_noise, discrete_gaussian, 20.0),
    (gaussian_noise, discrete_gaussian, 150.0),
]
NAMES = [f"{draw.__name__} {scale}" for draw, _, scale in LAWS]


@pytest.mark.parametrize(("draw", "law", "scale"), LAWS, ids=NAMES)
def test_arrays_have_the_law_and_no_other_scale(
    draw: Callable[[float], noise.Noise],
    law: Law,
    scale: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seed(monkeypatch, 11)
    drawn = draw(scale).many(150_000)
    assert "_many" in vars(draw(scale))
    reach = math.ceil((12 if draw is gaussian_noise else 30) * scale) + 2
    assert chi_square(drawn, law(scale, reach)) > ACCEPT
    assert chi_square(drawn, law(scale * 1.05, reach)) < REJECT
    assert chi_square(drawn, law(scale / 1.05, reach)) < REJECT


@pytest.mark.parametrize(("draw", "law", "scale"), LAWS, ids=NAMES)
def test_arrays_from_small_tables_have_the_law_and_no_other_scale(
    draw: Callable[[float], noise.Noise],
    law: Law,
    scale: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seed(monkeypatch, 15)
    draw.cache_clear()  # type: ignore[attr-defined]
    drawn = np.concatenate([draw(scale).many(50_000) for _ in range(3)])
    assert "_many" not in vars(draw(scale))
    reach = math.ceil((12 if draw is gaussian_noise else 30) * scale) + 2
    assert chi_square(drawn, law(scale, reach)) > ACCEPT
    assert chi_square(drawn, law(scale * 1.05, reach)) < REJECT
    assert chi_square(drawn, law(scale / 1.05, reach)) < REJECT


@pytest.mark.parametrize(("draw", "law", "scale"), LAWS, ids=NAMES)
def test_single_draws_have_the_law_and_no_other_scale(
    draw: Callable[[float], noise.Noise],
    law: Law,
    scale: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seed(monkeypatch, 12)
    one = draw(scale)
    drawn = [one.one() for _ in range(50_000)]
    reach = math.ceil((12 if draw is gaussian_noise else 30) * scale) + 2
    assert chi_square(drawn, law(scale, reach)) > ACCEPT
    assert chi_square(drawn, law(scale * 1.05, reach)) < REJECT
    assert chi_square(drawn, law(scale / 1.05, reach)) < REJECT


@pytest.mark.parametrize("scale", [1e5, 2.0**33, 2.0**40])
def test_large_scales_have_the_right_quantiles(
    scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(monkeypatch, 13)
    size = 100_000
    drawn = laplace_noise(scale).many(size)
    for share in (0.01, 0.3, 0.5, 0.8, 0.999):
        mark = scale * (math.log(2 * share) if share < 0.5 else -math.log(2 - 2 * share))
        passed = float(np.mean(drawn <= mark))
        assert abs(passed - share) < 4.5 * math.sqrt(share * (1 - share) / size) + 1e-6
    low_bits = np.bincount(drawn & 7, minlength=8)
    assert np.all(np.abs(low_bits - size / 8) < 4.5 * math.sqrt(size * 7 / 64))


@pytest.mark.parametrize("coarse", [True, False])
@pytest.mark.parametrize("kind", ["laplace", "gaussian", "floored"])
def test_a_number_is_kept_with_exactly_its_share_of_its_bin(
    kind: str, *, coarse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    laws: dict[str, type[Any]] = {
        "laplace": noise._LaplaceNoise,
        "gaussian": noise._GaussianNoise,
        "floored": noise._FlooredLaplaceNoise,
    }
    law, scale = laws[kind], 1000.0
    draw = law(Fraction(scale), law.coarse if coarse else law.fine)
    assert draw.width in ({128, 256} if coarse else {8, 16})
    for bin_ in range(0, 14 if coarse else 60, 7):
        nearest = (bin_ >> 1) * draw.width + draw.lean * (bin_ & 1)
        for within in range(draw.width):
            distance = nearest + within
            if kind == "gaussian":
                energy = (mpf(distance) ** 2 - mpf(nearest) ** 2) / (2 * mpf(scale) ** 2)
            else:
                energy = mpf(within) / mpf(scale)
            mark = exp(-energy) * 2**24
            for coin in {max(int(mark) - 2, 0), min(int(mark) + 2, 2**24 - 1)}:
                install(monkeypatch, Counted())
                assert draw._kept(distance, nearest, coin) == (coin < mark)
            if within:
                for further, kept in ((0, True), (2**64 - 1, False)):
                    script(monkeypatch, further)
                    assert draw._kept(distance, nearest, int(mark)) is kept


def test_a_bin_is_a_power_of_two_and_small() -> None:
    for scale in (1.0, 64.0, 65.0, 1e3, 1e6, 2.0**40):
        for finest in (noise._LaplaceNoise.coarse, noise._LaplaceNoise.fine):
            draw = noise._LaplaceNoise(Fraction(scale), finest)
            assert draw.width & (draw.width - 1) == 0
            assert draw.width == 1 or finest / 2 < scale / draw.width <= finest


def test_a_table_for_few_draws_is_small() -> None:
    for law in (noise._LaplaceNoise, noise._FlooredLaplaceNoise, noise._GaussianNoise):
        for scale in (1.0, 20.0, 1e3, 1e6, 2.0**40):
            few = law(Fraction(scale), law.coarse)
            assert len(few._bins._thresholds) < 400


def test_tables_are_kept() -> None:
    assert laplace_noise(20.0) is laplace_noise(20.0)


def test_no_draw_is_no_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, 1)
    for draw in (laplace_noise(20.0), laplace_noise(1e6), gaussian_noise(1e6)):
        assert draw.many(0).size == 0
