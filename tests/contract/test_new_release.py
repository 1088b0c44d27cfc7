"""A release that the package has never seen: one class and one registry line, and all of it works.

The toy has four outcomes and no formula of its own. It states its parameter and its loss law; what
filters, orders, samples, ledgers and explanations know of it are the defaults. Everything is held
against its outcomes, listed with fractions.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import mpmath
import numpy as np
import pytest
from mpmath import mpf

import quaestor as q
from quaestor.accounting.expressions import parse_release
from quaestor.accounting.filters import (
    DeltaMeter,
    EpsilonMeter,
    GaussianMeter,
    MomentMeter,
    Odometer,
    RangeMeter,
    RhoMeter,
    SquaresMeter,
    basic_filter,
    best_filter,
    default_filter,
    fitting_version,
    remaining_count,
)
from quaestor.accounting.loss.laws.finite import FiniteLoss
from quaestor.accounting.releases import RELEASES, Release
from quaestor.accounting.releases.base import check_count
from quaestor.ledger import AccountDefinition, Ledger, Open
from tests.oracles.pairs import curve_of, product_curve, worst_sampled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.numerics.bounds import Bounds

mpmath.mp.dps = 60
NO_LIMIT = Fraction(10**9)


@dataclass(frozen=True, slots=True, kw_only=True)
class LooseLips(Release):
    """Four outcomes: ``leak``, 3, 2 and 1 parts of the probability, or the other way round.

    Guarantee:
        That of the pair itself, which is the same in both directions.
    """

    leak: int

    def __post_init__(self) -> None:
        """Check the range of the parameter."""
        object.__setattr__(self, "leak", check_count("leak", self.leak, largest=10**6))

    def losses(self) -> tuple[Law, ...]:
        """An atom for every outcome."""
        first, second = (np.log([float(p) for p in masses]) for masses in worlds(self))
        return (FiniteLoss(first - second, first, second, blur=2.0**-46),)


def worlds(release: LooseLips) -> tuple[list[Fraction], list[Fraction]]:
    """The probabilities of the outcomes with the person, and without."""
    parts = release.leak, 3, 2, 1
    masses = [Fraction(part, sum(parts)) for part in parts]
    return masses, masses[::-1]


def pair(release: LooseLips) -> list[tuple[mpf, mpf]]:
    """The same at sixty digits."""
    return [
        (mpf(p.numerator) / p.denominator, mpf(r.numerator) / r.denominator)
        for p, r in zip(*worlds(release), strict=True)
    ]


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """The one line."""
    RELEASES["LooseLips"] = LooseLips
    yield
    del RELEASES["LooseLips"]


TOY = LooseLips(leak=10)
LARGEST = math.log(10)  # its largest loss


def contains(bounds: Bounds, truth: mpf, *, width: float) -> None:
    """The truth is inside, and little else."""
    assert mpf(bounds.lower) <= truth <= mpf(bounds.upper)
    assert bounds.width <= width


# Described.


def test_expressions_name_it() -> None:
    assert parse_release("LooseLips(leak=10)") == TOY
    assert str(TOY * 3) == "LooseLips(leak=10) * 3"
    assert parse_release(str(TOY * 3)) == TOY * 3
    assert parse_release("PoissonSampled(release=LooseLips(leak=10), rate=0.5)").losses()
    with pytest.raises(q.InvalidParameter, match="leak"):
        parse_release("LooseLips(leak=0)")


def test_json_names_it() -> None:
    assert TOY.to_json() == '{"type": "LooseLips", "leak": 10}'
    for release in (TOY, TOY * 3, q.PoissonSampled(release=TOY, rate=0.25)):
        assert q.release_from_json(release.to_json()) == release


def test_nobody_knows_it_once_it_is_removed() -> None:
    text = TOY.to_json()
    del RELEASES["LooseLips"]
    try:
        with pytest.raises(q.InvalidParameter, match="LooseLips"):
            q.release_from_json(text)
    finally:
        RELEASES["LooseLips"] = LooseLips


# Composed.


@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.0, 2.5])
def test_composition_encloses_the_listed_outcomes(count: int, epsilon: float) -> None:
    truth = product_curve(pair(TOY), count, epsilon)
    contains(q.compose(TOY * count).delta_bounds(epsilon=epsilon), truth, width=1e-9)
    contains(q.compose(*[TOY] * count).delta_bounds(epsilon=epsilon), truth, width=1e-9)


def test_at_an_epsilon_without_odds_the_truth_is_a_fraction() -> None:
    outcomes = list(zip(*worlds(TOY), strict=True))
    rises = [a * b - c * d for (a, c), (b, d) in product(outcomes, repeat=2)]
    truth = sum((rise for rise in rises if rise > 0), Fraction(0))
    bounds = q.compose(TOY * 2).delta_bounds(epsilon=0.0)
    assert Fraction(bounds.lower) <= truth <= Fraction(bounds.upper)


def test_it_composes_with_releases_of_the_package() -> None:
    response = [(mpf(3) / 4, mpf(1) / 4), (mpf(1) / 4, mpf(3) / 4)]
    both = [(a * p, b * r) for a, b in pair(TOY) for p, r in response]
    mixed = q.compose(TOY, q.PureDP(epsilon=math.log(3)))
    contains(mixed.delta_bounds(epsilon=1.0), curve_of(both, 1.0), width=1e-9)
    later = q.compose(q.PureDP(epsilon=math.log(3))).then(TOY)
    contains(later.delta_bounds(epsilon=1.0), curve_of(both, 1.0), width=1e-5)


def test_beyond_its_largest_loss_nothing_is_left() -> None:
    alone = q.compose(TOY)
    assert alone.delta(epsilon=LARGEST + 1e-6) < 1e-12
    assert LARGEST * (1 - 1e-9) < alone.epsilon(delta=1e-12) < LARGEST + 1e-6


def test_no_theorem_promises_less_than_the_truth() -> None:
    truth = product_curve(pair(TOY), 4, 3.0)
    explanation = q.compose(TOY * 4).explain(epsilon=3.0)
    answered = [row for row in explanation if row.bounds is not None]
    assert len(answered) > 3
    assert all(mpf(row.bounds.upper) >= truth for row in answered if row.bounds is not None)
    assert explanation.best.bounds is not None
    contains(explanation.best.bounds, truth, width=1e-9)


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.5, 1.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.5])
def test_a_sample_encloses_the_listed_outcomes(rate: float, epsilon: float) -> None:
    sampled = q.compose(q.PoissonSampled(release=TOY, rate=rate))
    truth = worst_sampled(pair(TOY), rate, epsilon)
    contains(sampled.delta_bounds(epsilon=epsilon), truth, width=1e-9)


# Several databases.


def test_the_worst_database_counts_where_nobody_is_in_two() -> None:
    databases: dict[str, list[Release]] = {
        "north": [TOY],
        "south": [TOY * 2],
        "west": [q.PureDP(epsilon=0.1)],
    }
    across = q.compose_across(databases, membership=q.AtMost(1))
    truth = product_curve(pair(TOY), 2, 1.0)
    contains(across.delta_bounds(epsilon=1.0), truth, width=1e-9)
    everywhere = q.compose_across(databases)
    assert mpf(everywhere.delta(epsilon=1.0)) >= product_curve(pair(TOY), 3, 1.0)


def test_many_databases_that_cannot_be_compared_are_bounded() -> None:
    databases: dict[str, list[Release]] = {f"toy {i}": [TOY] for i in range(8)}
    databases |= {f"noise {i}": [q.Gaussian(sigma=1.0)] for i in range(8)}
    across = q.compose_across(databases, membership=q.AtMost(2))
    bounds = across.delta_bounds(epsilon=1.0)
    assert mpf(bounds.upper) >= product_curve(pair(TOY), 2, 1.0)
    assert bounds.upper < 1.0


def test_a_replaced_record_is_two_changes() -> None:
    across = q.compose_across({"north": [TOY]}, neighbours="replace_record")
    once = product_curve(pair(TOY), 1, 1.0)
    corners = [
        (mpf(0), mpf(0)),
        *itertools.accumulate(
            ((r, p) for p, r in pair(TOY)), lambda a, b: (a[0] + b[0], a[1] + b[1])
        ),
    ]
    twice = max(at_height(corners, at_height(corners, a)) - mpmath.e * a for a, _ in corners)
    bounds = across.delta_bounds(epsilon=1.0)
    assert once < twice <= mpf(bounds.upper)
    assert mpf(bounds.lower) <= once


def at_height(corners: list[tuple[mpf, mpf]], at: mpf) -> mpf:
    """The curve of detections through its corners."""
    for (x, y), (u, v) in itertools.pairwise(corners):
        if x <= at <= u:
            return y + (v - y) * (at - x) / (u - x)
    return mpf(1)


def test_a_replaced_record_is_refused_in_plain_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LooseLips, "known_by_moments", True)
    with pytest.raises(q.InvalidParameter, match="no bound is known for replacing one"):
        q.compose_across({"north": [TOY]}, neighbours="replace_record")


def test_nothing_is_claimed_about_which_of_two_tells_more() -> None:
    assert TOY.outdoes(TOY)
    assert TOY.outdoes(q.PureDP(epsilon=0.0))
    assert not TOY.outdoes(LooseLips(leak=4))
    assert not q.PureDP(epsilon=50.0).outdoes(TOY)


# Filters.


def log_moment(order: float) -> mpf:
    """By its definition."""
    return mpmath.log(mpmath.fsum(p * (p / r) ** mpf(order) for p, r in pair(TOY)))


@pytest.mark.parametrize("order", [0.1, 1.0, 7.5, 40.0])
def test_its_moments_are_bounded_closely(order: float) -> None:
    cost = MomentMeter(order=order, limit=NO_LIMIT).cost([TOY])
    assert cost is not None
    above = mpf(cost.numerator) / cost.denominator - log_moment(order)
    assert 0 <= above <= 1e-9 * (1 + order)


def test_every_meter_counts_at_least_what_is_true() -> None:
    epsilon = EpsilonMeter(limit=NO_LIMIT).cost([TOY])
    assert epsilon is not None
    assert math.log(10) <= epsilon <= math.log(10) * (1 + 1e-9)
    assert DeltaMeter(limit=NO_LIMIT).cost([TOY]) == 0
    assert SquaresMeter(limit=NO_LIMIT).cost([TOY]) == epsilon**2
    assert RangeMeter(limit=NO_LIMIT).cost([TOY]) == 4 * epsilon**2
    rho = RhoMeter(limit=NO_LIMIT).cost([TOY * 3])
    assert rho is not None
    for order in (0.01, 0.5, 3.0, 100.0):
        assert float(rho) / 3 * order * (order + 1) >= log_moment(order)
    squared_mu = GaussianMeter(limit=NO_LIMIT).cost([TOY])
    assert squared_mu is not None
    gaussian = q.compose(q.GaussianDP(mu=math.sqrt(squared_mu) * (1 + 1e-12)))
    for at in (0.0, 0.5, 1.5, 2.25):
        assert mpf(gaussian.delta(epsilon=at)) >= curve_of(pair(TOY), at)


@pytest.mark.parametrize("epsilon", [3.0, 12.0])
def test_what_a_filter_lets_through_is_within_its_promise(epsilon: float) -> None:
    for chosen in (
        basic_filter(epsilon=epsilon, delta=1e-3),
        default_filter(epsilon=epsilon, delta=1e-3),
        best_filter(epsilon=epsilon, delta=1e-3, expected=[TOY * 2]),
    ):
        count = remaining_count(chosen, dict.fromkeys(chosen.meters, Fraction(0)), TOY)
        assert 1 <= count <= 7
        assert product_curve(pair(TOY), count, epsilon) <= mpf(chosen.delta)


def test_it_has_no_weaker_version_unless_it_says_so() -> None:
    assert fitting_version(TOY, lambda _: True) is None


def test_an_odometer_reads_at_most_the_plain_sum() -> None:
    reading = Odometer(delta=1e-6).read([TOY * 40])
    assert reading.epsilon <= 40 * LARGEST * (1 + 1e-9)


# A ledger.


def test_an_account_is_charged_for_it_and_knows_it_after_reopening(tmp_path: Path) -> None:
    location = str(tmp_path / "ledger.db")
    definition = AccountDefinition(
        name="toys",
        epsilon=6.0,
        delta=1e-6,
        datasets=("people",),
        policy=Open(filter=basic_filter(epsilon=6.0, delta=1e-6)),
    )
    with Ledger(location) as ledger:
        account = ledger.open_account(definition)
        with account.reserve(TOY * 2, query="twice") as charge:
            charge.drawing()
            charge.release("seven")
        with pytest.raises(q.BudgetExceeded):
            account.reserve(TOY)
    with Ledger(location) as reopened:
        account = reopened.account("toys")
        (entry,) = account.entries()
        assert entry.releases == (TOY * 2,)
        answer = account.answer("twice")
        assert answer is not None
        assert answer.text == "seven"
        assert account.price(q.PureDP(epsilon=1.0)).fits
        assert not account.price(TOY).fits
        assert 2 * LARGEST <= account.odometer(delta=1e-6).epsilon <= 2 * LARGEST * (1 + 1e-9)
        account.verify()
