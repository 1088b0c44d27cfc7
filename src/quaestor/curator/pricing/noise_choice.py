r"""Which noise a question is answered with: geometric or discrete Gaussian, by what is better.

It follows from the question, its budget and the account's definition alone, never from data nor
from what was charged before.

*An epsilon* is a cap on what the question costs at the account's delta, whichever noise it has.
Geometric noise takes it as pure DP. Gaussian noise takes the largest rho for which

* the question is :math:`(\varepsilon, \delta)`-DP, :math:`\delta` being the account's; and
* it takes no more of any of the account's filters than epsilon is of the filter's own: such
  questions are answered as often as epsilons could be added up.

Of both, that with the smaller squared error is chosen (in the units of
:mod:`quaestor.curator.pricing.budget_shares`), Gaussian noise only if it is smaller by a tenth. For
m numbers that a person can move it has an error in proportion to :math:`\sqrt m`, and geometric
noise to m: with a delta of 1e-6 Gaussian noise begins to be better at about ten numbers.

*An accuracy* is reached with either noise, and that is chosen which takes the smaller share of the
account: where its filter counts moments, Gaussian noise for all but a few large questions.

Where a filter cannot count Gaussian noise (it adds epsilons up), noise is geometric.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from quaestor.accounting import releases as known
from quaestor.accounting.compose import compose
from quaestor.curator.aggregates.recipe import Scatter
from quaestor.curator.kernel.draws import NoisyReach
from quaestor.errors import QuaestorError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quaestor.accounting.releases import Release
    from quaestor.curator.pricing.offers import Offer
    from quaestor.curator.pricing.priced_question import Budget
    from quaestor.curator.pricing.tariffs import Tariff

    Offers = Callable[[Budget], Sequence[Offer]]

__all__ = ["ChosenNoise", "chosen_noise", "largest_rho", "squared_error"]

_GAIN = 0.9
"""Gaussian noise must have at most this part of geometric noise's squared error."""
_SAVING = Fraction(3, 4)
"""And, for an accuracy, at most this part of its share: after it, epsilons no longer add up."""
_ATTEMPTS = 6
_MARGIN = 0.999
_DIGITS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenNoise:
    """The budget that a question is answered with, and why its noise is not geometric, if so."""

    budget: Budget
    words: str = ""


def chosen_noise(budget: Budget, tariff: Tariff, offers: Offers) -> ChosenNoise:
    """The budget with which a question is answered best on an account.

    ``offers`` are what is drawn for the question with a budget: one, or one for each of its parts.
    """
    said = budget.wanted_noise or (budget.accuracy and budget.accuracy.noise)
    if budget.rho is not None or said is not None or not tariff.filters:
        return ChosenNoise(budget=budget.with_noise(said or "geometric"))
    try:
        if budget.accuracy is not None:
            return _cheaper(budget, tariff, offers)
        return _more_accurate(budget, tariff, offers)
    except QuaestorError:  # there is no such noise for so little; geometric noise says why
        return ChosenNoise(budget=budget.with_noise("geometric"))


def _cheaper(budget: Budget, tariff: Tariff, offers: Offers) -> ChosenNoise:
    """For an accuracy: what takes less of the account."""
    plain, other = budget.with_noise("geometric"), budget.with_noise("gaussian")
    before, after = (tariff.share(_releases(offers(each))) for each in (plain, other))
    if before is None or after is None or after > before * _SAVING:
        return ChosenNoise(budget=plain)
    saved = f"{100 * (1 - float(after / before)):.0f}"
    words = f"Gaussian noise: for this accuracy it takes {saved} % less of the account"
    return ChosenNoise(budget=other, words=f"{words} than geometric noise")


def _more_accurate(budget: Budget, tariff: Tariff, offers: Offers) -> ChosenNoise:
    """For an epsilon: what has the smaller error."""
    plain = budget.with_noise("geometric")
    before = squared_error(offers(plain))  # first: it checks what was given
    epsilon = Fraction(budget.epsilon or 0)
    rho = gaussian_rho(float(epsilon), tariff.delta)
    best = 0.0 if rho <= 0 else squared_error(offers(_with_rho(budget, rho)))
    if rho <= 0 or best > before * _GAIN:  # it would not be better with more than is allowed
        return ChosenNoise(budget=plain)
    found = largest_rho(epsilon, tariff, lambda each: offers(_with_rho(budget, each)))
    after = math.inf if found is None else squared_error(offers(_with_rho(budget, found)))
    if found is None or after > before * _GAIN:
        return ChosenNoise(budget=plain)
    times = f"{math.sqrt(before / after):.3g}"
    words = f"Gaussian noise: within epsilon {float(epsilon):g} at the account's delta it is"
    return ChosenNoise(
        budget=_with_rho(budget, found), words=f"{words} {times} times more accurate than geometric"
    )


def _with_rho(budget: Budget, rho: float) -> Budget:
    return replace(budget, epsilon=None, rho=rho)


def _releases(offers: Sequence[Offer]) -> tuple[Release, ...]:
    return tuple(release for offer in offers for release in offer.releases)


def squared_error(offers: Sequence[Offer]) -> float:
    """The sum of squared errors of all aggregates, each in units of what one unit can move.

    What groups are chosen by counts as one aggregate more.
    """
    total = 0.0
    for offer in offers:
        if offer.choice is not None:
            total += _relative(Scatter(offer.choice)) ** 2
        for recipe in offer.measuring.recipes:
            for measure, weight in zip(recipe.measures, recipe.weights, strict=True):
                draw = offer.draw_of(measure)
                if not isinstance(draw, NoisyReach):
                    total += weight * _relative(Scatter(draw)) ** 2
    return total


def _relative(scatter: Scatter) -> float:
    return scatter.standard_error / max(scatter.draw.measure.sensitivity, 1)


def largest_rho(
    epsilon: Fraction, tariff: Tariff, offers: Callable[[float], Sequence[Offer]]
) -> float | None:
    """The largest rho, to a few digits, within an epsilon at the account's delta; None if none.

    What is Gaussian alone starts from the closed form of Gaussian noise; with anything else beside
    it, from what concentrated DP promises. Whatever is returned was composed and seen to hold, or
    is within the log-moments that concentrated DP goes by: composing would find no more than that.
    """
    own = sum((offer.delta for offer in offers(float(epsilon) ** 2)), Fraction(0))
    slack = tariff.delta - float(own) * (1 + 1e-9)
    if slack <= 0:
        return None
    pure = all(
        isinstance(each.counted()[0], known.DiscreteGaussian)
        for each in _releases(offers(float(epsilon) ** 2))
    )
    start = gaussian_rho if pure else concentrated_rho
    rho = _rounded(start(float(epsilon), slack) * _MARGIN)
    proof = None if pure or rho <= 0 else _moments(epsilon, tariff, slack)
    for _ in range(_ATTEMPTS):
        if rho <= 0:
            return None
        made = _releases(offers(rho))
        ratio = tariff.within(made, epsilon=epsilon)
        if ratio is None:
            return None
        if ratio > 1:
            rho = _rounded(rho / float(ratio) * _MARGIN)
            continue
        share = None if proof is None else proof.share(made)
        if share is not None and share <= 1:
            return rho
        lost = compose(*made).epsilon(delta=tariff.delta)
        if Fraction(lost) <= epsilon:
            return rho
        rho = _rounded(rho * (float(epsilon) / lost) ** 2 * _MARGIN)
    return None


def _rounded(rho: float) -> float:
    """Downwards, to a few digits: floats that differ in their last digits are one budget."""
    if not rho > 1e-300:
        return 0.0
    power = math.floor(math.log10(rho)) - _DIGITS + 1
    return float(f"{math.floor(rho / 10.0**power)}e{power}")


def gaussian_rho(epsilon: float, delta: float) -> float:
    r"""About the rho of Gaussian noise that is :math:`(\varepsilon, \delta)`-DP; 0 if none is."""
    return _largest(lambda mu: _gaussian_delta(epsilon, mu) <= delta) ** 2 / 2


def _gaussian_delta(epsilon: float, mu: float) -> float:
    first = math.erfc((epsilon / mu - mu / 2) / math.sqrt(2)) / 2
    tail = (epsilon / mu + mu / 2) / math.sqrt(2)
    return first - math.exp(min(epsilon, 700.0)) * math.erfc(tail) / 2


def concentrated_rho(epsilon: float, delta: float) -> float:
    r"""About the largest rho of concentrated DP that is :math:`(\varepsilon, \delta)`-DP.

    By the best order: see :mod:`quaestor.accounting.filters.moments`.
    """
    return max(_rho_at(_best_order(epsilon, delta), epsilon, delta), 0.0)


def _rho_at(order: float, epsilon: float, delta: float) -> float:
    from quaestor.accounting.filters.moments import rough_room

    return rough_room(order, epsilon=epsilon, slack=Fraction(delta)) / (order * (order + 1))


def _best_order(epsilon: float, delta: float) -> float:
    from quaestor.accounting.filters.moments import largest_point

    return largest_point(lambda order: _rho_at(order, epsilon, delta))


def _moments(epsilon: Fraction, tariff: Tariff, slack: float) -> Tariff:
    """What proves an epsilon by log-moments of the order at which concentrated DP promises most."""
    from quaestor.accounting.filters.moments import moment_filter

    promise = moment_filter(
        epsilon=float(epsilon),
        delta=tariff.delta,
        order=_best_order(float(epsilon), slack),
        reserved=tariff.delta - slack,
    )
    return replace(tariff, filters=(promise,))


def _largest(holds: Callable[[float], bool]) -> float:
    """The largest mu from a billionth to a thousand for which it holds; 0 if none."""
    low, high = math.log(1e-9), math.log(1e3)
    if not holds(math.exp(low)):
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(math.exp(middle)) else (low, middle)
    return math.exp(low)
