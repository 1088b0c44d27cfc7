"""What would fit: the same question, for less, where an account cannot pay for it as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from quaestor.errors import BudgetExceeded, QuaestorError

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.curator.pricing.priced_compound import AnyPriced
    from quaestor.curator.pricing.priced_question import Budget
    from quaestor.ledger import Account
    from quaestor.ledger.price import Price

__all__ = ["refusal", "would_fit"]

_STEPS = 12
_DECADES = 4.0
_NO_RESERVE = (
    "its filter reserves no delta for groups whose names are private: declare "
    "the keys in the catalog, or ask the data owner to open an account that "
    'expects such releases, expected = ["ApproxDP(epsilon=0.1, delta=1e-8)"]'
)


def refusal(account: Account, asked: AnyPriced, *, analyst: str) -> BudgetExceeded | None:
    """The error that says why an account cannot pay, and what would fit; None if it can.

    For an analyst who has a quota it is about that alone: None if the quota suffices.
    """
    price = account.price(
        asked.releases,
        dataset=asked.dataset,
        analyst=analyst,
        query=asked.fingerprint,
        blocks=asked.blocks,
    )
    if price.fits:
        return None
    said = price.refusal()
    amounts = (said.requested, said.remaining, said.difference)
    words = "" if price.short is None else price.short.words()
    if price.short is not None and price.short.meter == "delta" and price.short.limit == 0:
        words = _NO_RESERVE
    refused = BudgetExceeded(
        account.name,
        meter=said.meter,
        amounts=None if None in amounts else amounts,  # type: ignore[arg-type]  # all or none
        short=words,
        would_fit=would_fit(account, asked, price, analyst=analyst),
        left=None,
    )
    return refused.advise(price.of_blocks()) if price.full else refused


def would_fit(account: Account, asked: AnyPriced, price: Price, *, analyst: str) -> str | None:
    """The same question with the largest budget that fits, in words.

    Plans and dashboards take what they declare, and deltas do not shrink with a budget: there
    is no such answer then.
    """
    if price.fits or not account.definition.policy.chosen_freely:
        return None
    if price.short is not None and price.short.meter == "delta":
        return None

    def fits(budget: Budget) -> bool:
        try:
            releases = asked.releases_for(budget)
            dataset, blocks = asked.dataset, asked.blocks
            return account.price(releases, dataset=dataset, analyst=analyst, blocks=blocks).fits
        except QuaestorError:  # so little that no mechanism draws such noise
            return False

    if asked.noise_words and fits(replace(asked.budget, wanted_noise="geometric")):
        return "the same question with geometric noise (--noise geometric)"
    found = _largest(asked.budget, fits)
    return None if found is None else f"the same question with {found}"


def _largest(budget: Budget, fits: Callable[[Budget], bool]) -> str | None:
    """The least of what must be given up, by halving; rounded so that it still fits."""
    low, high = -_DECADES, 0.0
    if not fits(_scaled(budget, 10**low)[0]):
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if fits(_scaled(budget, 10**middle)[0]):
            low = middle
        else:
            high = middle
    for slack in (1.0, 0.97, 0.9):  # rounding to nearest may go beyond
        smaller, words = _scaled(budget, 10**low * slack)
        if fits(smaller):
            return words
    return None


def _scaled(budget: Budget, factor: float) -> tuple[Budget, str]:
    if budget.accuracy is not None:
        within = _short(budget.accuracy.within / factor)
        wider = replace(budget.accuracy, within=within)
        return replace(budget, accuracy=wider), f"an accuracy of {within:g}"
    if budget.rho is not None:
        rho = _short(budget.rho * factor)
        return replace(budget, rho=rho), f"rho {rho:g}"
    epsilon = _short((budget.epsilon or 0.0) * factor)
    return replace(budget, epsilon=epsilon), f"epsilon {epsilon:g}"


def _short(value: float) -> float:
    return float(f"{value:.2g}")
