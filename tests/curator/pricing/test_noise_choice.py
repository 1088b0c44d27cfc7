"""Which noise a question has: the better one, within what was asked, and never because of data."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from mpmath import erfc, exp, mp, mpf, sqrt

from quaestor import DiscreteGaussian, Geometric, PureDP, compose
from quaestor.accounting.filters import gaussian_filter, moment_filter, whitehouse_filter
from quaestor.curator.pricing.accuracy import Accuracy
from quaestor.curator.pricing.noise_choice import chosen_noise, squared_error
from quaestor.curator.pricing.priced_question import Budget
from quaestor.curator.pricing.tariffs import Tariff, tariff_of
from quaestor.errors import InvalidParameter
from quaestor.ledger import AccountDefinition, Dashboard, Open, Planned, Quota
from tests.curator.pricing.tables import aggregate, query

if TYPE_CHECKING:
    from quaestor.accounting.releases import Release
    from quaestor.curator.language.query import Query
    from quaestor.curator.pricing.noise_choice import ChosenNoise
    from quaestor.curator.pricing.offers import Offer

mp.dps = 40


def account(**terms: Any) -> AccountDefinition:
    usual: dict[str, Any] = {"name": "a", "epsilon": 1.0, "delta": 1e-6, "datasets": ("d",)}
    return AccountDefinition(**usual | terms)


def chosen(
    asked: Query, budget: Budget, tariff: Tariff, *, delta: float = 1e-8
) -> tuple[ChosenNoise, Offer]:
    found = chosen_noise(budget, tariff, lambda each: (each.offer(asked, delta=delta),))
    return found, found.budget.offer(asked, delta=delta)


def sums(count: int, **more: Any) -> Query:
    return query(*(aggregate("sum", high=100.0 + at) for at in range(count)), **more)


def histogram(groups: int) -> Query:
    return query(aggregate("count"), keys=range(groups), groups=groups)


QUESTIONS = {
    "a count": query(aggregate("count")),
    "twenty sums": sums(20),
    "a histogram": histogram(40),
    "means by group": query(aggregate("mean"), keys=range(30), groups=25),
    "medians by group": query(aggregate("quantile"), aggregate("count"), keys=range(9), groups=30),
    "private groups": query(aggregate("count"), aggregate("sum"), keys=None, groups=25),
}


def test_many_numbers_have_gaussian_noise_and_few_have_geometric() -> None:
    tariff = tariff_of(account())
    few, offered = chosen(QUESTIONS["a count"], Budget(epsilon=0.1), tariff)
    assert (few.words, offered.noise) == ("", "geometric")
    for name in ("twenty sums", "a histogram", "means by group"):
        asked = QUESTIONS[name]
        found, offered = chosen(asked, Budget(epsilon=0.1), tariff)
        assert offered.noise == "gaussian"
        assert "more accurate than geometric" in found.words
        before = Budget(epsilon=0.1).offer(asked, delta=None)
        assert squared_error([offered]) < 0.9 * squared_error([before])
        # and each figure is, as the preview says it
        now = [each.standard_error for each in offered.expected]
        then = [each.standard_error for each in before.expected]
        assert all(a < b for a, b in zip(now, then, strict=True))  # type: ignore[operator]


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 4.0])
def test_a_question_never_costs_more_than_was_asked(name: str, epsilon: float) -> None:
    tariff = tariff_of(account())
    _, offered = chosen(QUESTIONS[name], Budget(epsilon=epsilon), tariff)
    if offered.epsilon is not None:
        assert offered.epsilon <= Fraction(epsilon)
        return
    assert compose(*offered.releases).epsilon(delta=tariff.delta) <= epsilon
    share = tariff.within(offered.releases, epsilon=Fraction(epsilon))
    assert share is not None
    assert share <= 1


def continuous_delta(epsilon: float, rho: Fraction) -> mpf:
    """Of Gaussian noise with this rho, by the closed form of Balle and Wang 2018, Theorem 8."""
    mu = sqrt(2 * mpf(rho.numerator) / rho.denominator)
    first = erfc((epsilon / mu - mu / 2) / sqrt(mpf(2))) / 2
    return first - exp(mpf(epsilon)) * erfc((epsilon / mu + mu / 2) / sqrt(mpf(2))) / 2


@pytest.mark.parametrize("epsilon", [0.05, 0.2, 0.7])
def test_gaussian_noise_uses_what_was_asked_up(epsilon: float) -> None:
    # discrete noise this wide is continuous noise to many digits
    _, offered = chosen(QUESTIONS["a histogram"], Budget(epsilon=epsilon), tariff_of(account()))
    delta = continuous_delta(epsilon, offered.rho)
    assert mpf("0.95e-6") < delta <= mpf("1e-6") * (1 + mpf("1e-6"))


def shuffled_questions(seed: int) -> Query:
    rng = random.Random(seed)
    kinds = ["count", "sum", "mean", "variance", "quantile"]
    picked = [
        aggregate(kind, high=float(rng.choice((1, 10, 300))))
        if kind != "count"
        else aggregate(kind)
        for kind in rng.choices(kinds, k=rng.randrange(1, 6))
    ]
    groups = rng.choice((1, 2, 8, 30))
    keys: Any = rng.choice((range(rng.choice((2, 9, 40))), None))
    return query(*picked, keys=keys, groups=groups, rows=rng.choice((1, 3)))


def test_nor_do_questions_of_all_kinds() -> None:
    tariffs = [
        tariff_of(account()),
        tariff_of(account(policy=Open(expected=(PureDP(epsilon=0.01),)))),
        tariff_of(
            account(
                epsilon=3.0, delta=1e-5, shares=(Quota(analyst="ada", epsilon=0.5, delta=1e-7),)
            )
        ),
        tariff_of(
            account(policy=Open(filter=gaussian_filter(epsilon=1.0, delta=1e-6, reserved=5e-7)))
        ),
    ]
    kinds = set()
    for seed in range(60):
        asked, tariff = shuffled_questions(seed), tariffs[seed % len(tariffs)]
        epsilon = random.Random(-seed).choice((0.02, 0.1, 0.5))
        _, offered = chosen(asked, Budget(epsilon=epsilon), tariff, delta=tariff.delta / 100)
        kinds.add(offered.noise)
        if offered.noise == "gaussian":
            assert offered.composition.epsilon(delta=tariff.delta) <= epsilon
            assert (tariff.within(offered.releases, epsilon=Fraction(epsilon)) or 2) <= 1
            plain = Budget(epsilon=epsilon).offer(asked, delta=tariff.delta / 100)
            assert squared_error([offered]) < squared_error([plain])
        else:
            assert offered.epsilon is not None
            assert offered.epsilon <= Fraction(epsilon)
    assert kinds == {"geometric", "gaussian"}


GEOMETRIC_ONLY = {
    "epsilons add up": account(delta=0.0),
    "squares of epsilons add up": account(
        policy=Open(filter=whitehouse_filter(epsilon=1.0, delta=1e-6))
    ),
    "an analyst's epsilons add up": account(shares=(Quota(analyst="ada", epsilon=0.5, delta=0.0),)),
    "a plan": account(policy=Planned(releases={"d": (PureDP(epsilon=0.1),)})),
    "a dashboard": account(policy=Dashboard(queries={"f": ("d", (PureDP(epsilon=0.1),))})),
}


@pytest.mark.parametrize("name", GEOMETRIC_ONLY)
def test_where_gaussian_noise_cannot_be_counted_it_is_not_chosen(name: str) -> None:
    tariff = tariff_of(GEOMETRIC_ONLY[name])
    for budget in (Budget(epsilon=0.5), Budget(accuracy=Accuracy(within=1000.0))):
        found, offered = chosen(QUESTIONS["a histogram"], budget, tariff)
        assert (found.words, offered.noise) == ("", "geometric")


def share(tariff: Tariff, releases: tuple[Release, ...]) -> Fraction:
    found = tariff.share(releases)
    assert found is not None
    return found


def test_for_an_accuracy_the_noise_is_what_takes_less_of_the_account() -> None:
    tariff = tariff_of(account())
    budget = Budget(accuracy=Accuracy(within=500.0))
    asked = QUESTIONS["a count"]
    found, offered = chosen(asked, budget, tariff)
    assert offered.noise == "gaussian"
    assert "less of the account" in found.words
    (kept,) = offered.expected
    assert kept.half_width is not None
    assert kept.half_width <= 500
    plain = budget.with_noise("geometric").offer(asked, delta=None)
    assert share(tariff, offered.releases) < share(tariff, plain.releases) / 2
    _, large = chosen(asked, Budget(accuracy=Accuracy(within=4.0)), tariff)
    assert large.noise == "geometric"  # nearly all of the account: there epsilons add up best


def test_what_was_said_of_the_noise_is_kept() -> None:
    tariff, asked = tariff_of(account()), QUESTIONS["a histogram"]
    _, offered = chosen(asked, Budget(epsilon=0.1, wanted_noise="geometric"), tariff)
    assert offered.noise == "geometric"
    assert all(isinstance(each.counted()[0], Geometric) for each in offered.releases)
    for noise in ("geometric", "gaussian"):
        within = Budget(accuracy=Accuracy(within=900.0), wanted_noise=noise)
        assert chosen(asked, within, tariff)[1].noise == noise
        own = Budget(accuracy=Accuracy(within=900.0, noise=noise))
        assert chosen(asked, own, tariff)[1].noise == noise
    _, rho = chosen(asked, Budget(rho=0.001), tariff)
    assert all(isinstance(each.counted()[0], DiscreteGaussian) for each in rho.releases)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0.1, "wanted_noise": "gaussian"},
        {"rho": 0.1, "wanted_noise": "geometric"},
        {"epsilon": 0.1, "wanted_noise": "laplace"},
    ],
)
def test_a_noise_that_the_budget_does_not_buy_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match="noise"):
        Budget(**wrong)


def test_shares_are_those_of_the_tightest_filter_and_its_best_meter() -> None:
    one = moment_filter(epsilon=1.0, delta=1e-6, order=20.0)
    tariff = Tariff(delta=1e-6, filters=(one,))
    small = (PureDP(epsilon=0.01) * 2,)
    (epsilons, moments) = one.some
    costs = [meter.cost(small) for meter in (epsilons, moments)]
    assert None not in costs
    expected = min(costs[0] / epsilons.limit, costs[1] / moments.limit)  # type: ignore[operator]
    assert share(tariff, small) == expected
    narrow = replace(tariff, filters=(one, moment_filter(epsilon=0.1, delta=1e-6, order=300.0)))
    assert share(narrow, small) > expected
    assert tariff.within(small, epsilon=Fraction(1, 50)) == expected * 50
    assert Tariff(delta=1e-6).share(small) is None
    assert math.isfinite(float(expected))
