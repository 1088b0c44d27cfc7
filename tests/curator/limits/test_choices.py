"""Limits chosen by noisy histograms: near the best ones in hindsight, and of public grids alone."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from quaestor.curator.limits.choices import Aim, choose_bounds, choose_cap
from quaestor.curator.limits.grids import count_edges, mid_points, value_edges
from quaestor.curator.limits.histograms import UnitHistogram
from quaestor.curator.pricing.priced_parts import noisy_bins
from quaestor.mechanisms import Geometric
from tests.curator.limits.regret import CASES, regret_of


def _histogram(data: list[float], scale: float = 1e-3) -> UnitHistogram:
    edges = value_edges("real")
    counts, _ = np.histogram(data, bins=[-np.inf, *np.nextafter(edges, np.inf), np.inf])
    return UnitHistogram(edges=edges, counts=tuple(counts.tolist()), scale=scale)


def test_grids_rise_and_do_not_depend_on_data() -> None:
    for edges in (value_edges("real"), value_edges("integer"), count_edges()):
        assert list(edges) == sorted(set(edges))
        assert len(mid_points(edges)) == len(edges) + 1
    assert all(edge == int(edge) for edge in (*value_edges("integer"), *count_edges()))
    assert 0.0 in value_edges("real")


def test_empty_bins_are_rarely_taken_for_full_ones() -> None:
    """Over 400 empty histograms, of each of which the chance is at most SURE: 4 are too many."""
    edges = value_edges("real")
    nothing = np.zeros(len(edges) + 1, np.int64)
    seen = 0
    for _ in range(400):
        noisy = Geometric(scale=10.0, sensitivity=1).release(nothing)
        histogram = UnitHistogram(edges=edges, counts=tuple(noisy.tolist()), scale=10.0)
        seen += histogram.reach() is not None
    assert seen < 4


def test_without_people_bounds_are_a_guess_and_say_so() -> None:
    bounds = choose_bounds(_histogram([]), Aim(epsilon=1.0))
    assert (bounds.low, bounds.sure) == (0.0, False)
    assert bounds.low < bounds.high
    cap = choose_cap(
        UnitHistogram(edges=count_edges(), counts=(0,) * 61, scale=1.0), Aim(epsilon=1)
    )
    assert (cap.most, cap.sure) == (1, False)


def test_a_constant_gets_the_edge_above_it() -> None:
    bounds = choose_bounds(_histogram([42.0] * 1000), Aim(epsilon=1.0))
    assert (bounds.low, bounds.high) == (0.0, 50.0)
    centred = choose_bounds(_histogram([42.0] * 1000), Aim(epsilon=1.0, centred=True))
    assert (centred.low, centred.high) == (30.0, 50.0)
    negative = choose_bounds(_histogram([-42.0] * 1000), Aim(epsilon=1.0))
    assert (negative.low, negative.high) == (-50.0, 0.0)


def test_more_noise_in_questions_makes_bounds_narrower() -> None:
    data = np.random.default_rng(1).lognormal(3, 2, 5000).tolist()
    highs = [choose_bounds(_histogram(data), Aim(epsilon=e)).high for e in (10.0, 1.0, 0.1, 0.01)]
    assert highs == sorted(highs, reverse=True)
    assert highs[0] > highs[-1]


def test_each_histogram_costs_no_more_than_its_share() -> None:
    from quaestor.curator.kernel.measures import UnitBins

    for epsilon in (Fraction(1, 3), Fraction(1, 1000), Fraction(5)):
        draw = noisy_bins(UnitBins(of="rows", edges=count_edges()), epsilon)
        assert draw.epsilon is not None
        assert epsilon * Fraction(99, 100) < draw.epsilon <= epsilon


@pytest.mark.parametrize("case", [CASES[1], CASES[5], CASES[10]], ids=lambda case: case.name)
def test_tuned_limits_are_near_the_best_in_hindsight(case: object) -> None:
    found = regret_of(case, tune_epsilon=1.0, times=40)  # type: ignore[arg-type]
    assert found.ratio < 2.5
    assert found.tuned < found.unbounded / 10


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_regret_stays_within_what_the_docs_say(case: object) -> None:
    """At as much epsilon as the question's at most 5 times; with a tenth, better than a guess."""
    found = regret_of(case, tune_epsilon=1.0, times=200)  # type: ignore[arg-type]
    assert 0.99 <= found.ratio <= 5.0
    weak = regret_of(case, tune_epsilon=0.1, times=200)  # type: ignore[arg-type]
    assert weak.tuned < weak.unbounded
