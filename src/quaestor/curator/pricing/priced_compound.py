"""Several questions with one price: their parts are priced like any question, and charged at once.

The budget is divided over all that is drawn for all parts as that of one question is, so that the
errors are least together; an accuracy is wanted of every part, and costs what all of them cost.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from quaestor.curator.language.compound import Compound
from quaestor.curator.pricing.budget_shares import float_below, roots
from quaestor.curator.pricing.editions import LATEST, THIRD
from quaestor.curator.pricing.noise_choice import ChosenNoise, chosen_noise
from quaestor.curator.pricing.offers import measures_of
from quaestor.curator.pricing.priced_parts import parts_of
from quaestor.curator.pricing.priced_question import Cost, Priced, offer_of, price, private_delta
from quaestor.curator.questions.compound_plan import describe_question
from quaestor.curator.questions.stored_form import to_wire
from quaestor.errors import RefusedQuery
from quaestor.ledger import query_digest
from quaestor.ledger.amounts import above

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.accounting.releases import Release
    from quaestor.curator.catalog.model import Catalog
    from quaestor.curator.kernel.dated_rows import ChargedBlocks
    from quaestor.curator.kernel.measurement import Measurement
    from quaestor.curator.language.query import Query
    from quaestor.curator.pricing.offers import Offer
    from quaestor.curator.pricing.priced_question import Budget
    from quaestor.curator.pricing.tariffs import Tariff

__all__ = ["AnyPriced", "PricedCompound", "price_compound", "price_question"]

_FINENESS = 2**40
_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class PricedCompound:
    """Questions that may be asked together; it has what a :class:`Priced` question has."""

    query: Compound
    budget: Budget
    parts: tuple[Priced, ...]
    identity: str
    delta: float | None
    catalog: Catalog
    account_delta: float
    sql: str | None = None
    edition: int = LATEST
    tariff: Tariff | None = None
    noise_words: str = ""

    @cached_property
    def fingerprint(self) -> str:
        """What the ledger knows it by."""
        return query_digest(self.identity)

    @cached_property
    def cost(self) -> Cost:
        """The exact epsilon where every part has one, or else that at the account's delta."""
        return _cost(self.parts, delta=self.account_delta)

    def worked_out(self) -> PricedCompound:
        """The same with its cost and errors worked out: what fails does so before a charge."""
        _ = self.cost, [part.offer.expected for part in self.parts]
        return self

    @cached_property
    def releases(self) -> tuple[Release, ...]:
        """What is charged: what each part costs, one after the other."""
        return tuple(release for part in self.parts for release in part.releases)

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """What is measured and drawn, part by part."""
        return tuple(part.offer.measurement for part in self.parts)

    @property
    def dataset(self) -> str:
        """The dataset that pays."""
        return self.query.dataset

    @property
    def words(self) -> str:
        """What is asked."""
        return describe_question(self.query)

    @property
    def blocks(self) -> tuple[str, ...]:
        """The blocks of time that are charged, where each has a budget of its own."""
        return self.parts[0].blocks

    @property
    def earlier_editions(self) -> tuple[int, ...]:
        """The third, with which such questions came, where it draws otherwise."""
        differs = self.noise_words or any(THIRD in part.earlier_editions for part in self.parts)
        return (THIRD,) if differs else ()

    def releases_for(self, budget: Budget) -> tuple[Release, ...]:
        """What the same would be charged with another budget."""
        return price_compound(
            self.query,
            budget,
            self.catalog,
            delta=self.account_delta,
            blocks=tuple(part.offer.measurement.blocks for part in self.parts),
            edition=self.edition,
            tariff=self.tariff,
        ).releases


AnyPriced = Priced | PricedCompound
"""A question that may be asked: one query, or several together."""


def price_question(
    asked: Query | Compound,
    budget: Budget,
    catalog: Catalog,
    *,
    delta: float,
    sql: str | None = None,
) -> AnyPriced:
    """What a question costs an account of this delta, whether it is one query or several."""
    if isinstance(asked, Compound):
        return price_compound(asked, budget, catalog, delta=delta, sql=sql)
    return price(asked, budget, catalog, delta=delta, sql=sql)


def price_compound(  # noqa: PLR0913  # what is asked, and of whom
    asked: Compound,
    budget: Budget,
    catalog: Catalog,
    *,
    delta: float,
    sql: str | None = None,
    blocks: Sequence[ChargedBlocks | None] = (),
    edition: int = LATEST,
    tariff: Tariff | None = None,
) -> PricedCompound:
    """What several questions cost an account of this delta together.

    ``blocks`` are those that each part reaches, where blocks of time have budgets of their own.
    ``edition`` is one of :mod:`quaestor.curator.pricing.editions`; by ``tariff``, what the account
    counts, the noise of all parts is chosen.
    """
    reached = tuple(blocks) or (None,) * len(asked.parts)
    if len({each.labels for each in reached if each is not None}) > 1:
        raise RefusedQuery(
            ("the parts of this question read different blocks of time, but are charged together"),
            remedy="ask each part separately, so that only its own blocks are charged",
        )
    own = private_delta(asked.parts, budget, delta=delta)
    chosen = ChosenNoise(budget=budget)
    if tariff is not None and edition > THIRD:

        def offers(each: Budget) -> list[Offer]:
            budgets = _budgets(asked, each, own, edition)
            return [
                offer_of(query, part, catalog, delta=part.delta, edition=edition)
                for query, part in zip(asked.parts, budgets, strict=True)
            ]

        chosen = chosen_noise(budget, tariff, offers)
    parts = tuple(
        price(query, each, catalog, delta=delta, sql=sql, blocks=block, edition=edition)
        for query, each, block in zip(
            asked.parts, _budgets(asked, chosen.budget, own, edition), reached, strict=True
        )
    )
    return PricedCompound(
        query=asked,
        budget=budget,
        parts=parts,
        identity=_identity(asked, parts),
        delta=own,
        catalog=catalog,
        account_delta=delta,
        sql=sql,
        edition=edition,
        tariff=tariff,
        noise_words=chosen.words,
    )


def _budgets(asked: Compound, budget: Budget, delta: float | None, edition: int) -> list[Budget]:
    """Each part's budget; together they are never more than the whole."""
    private = [any(key.values is None for key in query.keys) for query in asked.parts]
    shared = None if delta is None else float_below(Fraction(delta) / max(sum(private), 1))
    deltas = [shared if chosen else budget.delta for chosen in private]
    if budget.accuracy is not None:
        return [replace(budget, delta=each) for each in deltas]
    shares = _shares(asked, budget, deltas, edition)
    given = zip(shares, deltas, strict=True)
    if budget.rho is not None:
        whole = Fraction(budget.rho)
        return [replace(budget, delta=d, rho=float_below(whole * part)) for part, d in given]
    whole = Fraction(budget.epsilon or 0)
    return [replace(budget, delta=d, epsilon=float_below(whole * part)) for part, d in given]


def _shares(
    asked: Compound, budget: Budget, deltas: Sequence[float | None], edition: int
) -> list[Fraction]:
    """What each part gets of the budget: in proportion to what all of its draws would get."""
    noise: Any = "geometric" if budget.rho is None else "gaussian"
    weights = []
    for query, delta in zip(asked.parts, deltas, strict=True):
        measuring = measures_of(
            query, edition=edition, quantile_intervals=budget.quantile_intervals, noise=noise
        )
        drawn = parts_of(query, measuring, noise=noise, delta=delta, edition=edition)
        weights.append(sum(roots([part.weight for part in drawn], noise=noise)))
    total = sum(weights) * (1 + 1e-12)
    return [Fraction(int(weight / total * _FINENESS), _FINENESS) for weight in weights]


def _cost(parts: Sequence[Priced], *, delta: float) -> Cost:
    """The exact epsilon where every part has one, or else that at the account's delta."""
    exact = [part.offer.epsilon for part in parts]
    if all(each is not None for each in exact):
        return Cost(
            epsilon=above(sum((each for each in exact if each is not None), Fraction(0))),
            delta=above(sum((part.offer.delta for part in parts), Fraction(0))),
        )
    from quaestor.accounting.compose import compose

    releases = [release for part in parts for release in part.releases]
    found = compose(*releases).epsilon(delta=delta)
    return Cost(epsilon=found if found < float("inf") else None, delta=delta)


def _identity(asked: Compound, parts: Sequence[Priced]) -> str:
    """The identities of all parts, and what is made of their rows."""
    told = {
        "version": _VERSION,
        "compound": [json.loads(part.identity) for part in parts],
        "kinds": list(asked.kinds),
        "order": [[to_wire(each), descending] for each, descending in asked.order],
        "limit": asked.limit,
    }
    return json.dumps(told, sort_keys=True, separators=(",", ":"), allow_nan=False)
