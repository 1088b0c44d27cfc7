"""Questions with a price: parsed, planned and priced, before anything is looked at or charged.

A priced question is known by its fingerprint: what it asks, of which declared data, with which
noise. Two questions with one fingerprint have the same answers with the same probabilities, so that
the stored answer to one is an answer to the other, and costs nothing.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from quaestor.curator.engines.engine import tables_of
from quaestor.curator.language.compound import Compound
from quaestor.curator.language.kept_results import KeptResults, as_written
from quaestor.curator.pricing.editions import EARLIER, LATEST, THIRD
from quaestor.curator.pricing.noise_choice import ChosenNoise, chosen_noise
from quaestor.curator.pricing.offers import Accuracy, cuts_by_place, offer, other_editions
from quaestor.curator.questions.fine_columns import fine_columns
from quaestor.curator.questions.outer_plan import outer_plan
from quaestor.curator.questions.plan import describe
from quaestor.curator.questions.stored_form import canonical_json, to_wire
from quaestor.curator.sql import parse, parse_question
from quaestor.errors import InvalidParameter, RefusedQuery
from quaestor.ledger import query_digest
from quaestor.ledger.amounts import above

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quaestor.accounting.releases import Release
    from quaestor.curator.builder.tables import AnyQuestion
    from quaestor.curator.catalog.model import Catalog, Table
    from quaestor.curator.kernel.dated_rows import ChargedBlocks
    from quaestor.curator.kernel.measurement import Measurement
    from quaestor.curator.language.query import Query
    from quaestor.curator.pricing.budget_shares import Noise
    from quaestor.curator.pricing.offers import Offer
    from quaestor.curator.pricing.tariffs import Tariff
    from quaestor.curator.questions.outer_plan import OuterPlan

__all__ = [
    "DELTA_SHARE",
    "Budget",
    "Cost",
    "Priced",
    "declared_facts_of",
    "identity_of",
    "offer_of",
    "plan",
    "plan_question",
    "price",
    "private_delta",
]

DELTA_SHARE = 100
"""A question whose groups are private takes one part in so many of the account's delta."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What an analyst is ready to pay, or how accurate the answer is to be.

    Exactly one of ``epsilon``, ``rho`` and ``accuracy``. ``delta`` is for questions whose groups
    are private; without it they take a hundredth of the account's. Without ``quantile_intervals``
    medians and quantiles have no interval, and get what those would cost. ``whole_error`` says
    whether a share of it pays for the whole error; None: as the account's policy has it.
    ``wanted_noise`` is the noise that it must buy; None: what is best on the account, by
    :mod:`quaestor.curator.pricing.noise_choice`.
    """

    epsilon: float | None = None
    rho: float | None = None
    accuracy: Accuracy | None = None
    delta: float | None = None
    quantile_intervals: bool = True
    whole_error: bool | None = None
    wanted_noise: Noise | None = None

    def __post_init__(self) -> None:
        """Check that one way to say it was chosen."""
        given = (self.epsilon, self.rho, self.accuracy)
        if sum(each is not None for each in given) != 1:
            chosen = [
                name
                for name, value in zip(("epsilon", "rho", "accuracy"), given, strict=True)
                if value is not None
            ]
            raise InvalidParameter("budget", chosen, "one of epsilon, rho and accuracy")
        wanted = self.wanted_noise
        if wanted is None:
            return
        if wanted not in {"geometric", "gaussian"}:
            raise InvalidParameter("noise", wanted, "geometric or gaussian")
        if self.epsilon is not None and wanted == "gaussian":
            valid = "left out, or geometric, with an epsilon; for Gaussian noise give a rho"
            raise InvalidParameter("noise", wanted, valid)
        if self.rho is not None and wanted == "geometric":
            raise InvalidParameter("noise", wanted, "left out, or gaussian, with a rho")

    @property
    def noise(self) -> Noise:
        """The noise that it buys, geometric where nobody chose it."""
        if self.accuracy is not None:
            return self.accuracy.drawn
        return "geometric" if self.rho is None else "gaussian"

    def with_noise(self, noise: Noise) -> Budget:
        """The same accuracy with a noise; an epsilon or a rho has its own."""
        if self.accuracy is None:
            return self
        return replace(self, accuracy=replace(self.accuracy, noise=noise))

    def offer(
        self,
        query: Query,
        *,
        delta: float | None,
        edition: int = LATEST,
        outer: OuterPlan | None = None,
    ) -> Offer:
        """What a query is answered with for this, with that delta for private groups.

        With ``outer`` its whole error is answered too.
        """
        confidence = 0.95 if self.accuracy is None else self.accuracy.confidence
        return offer(
            query,
            epsilon=self.epsilon,
            rho=self.rho,
            accuracy=self.accuracy,
            delta=delta,
            confidence=confidence,
            edition=edition,
            quantile_intervals=self.quantile_intervals,
            outer=outer,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one question costs alone: an epsilon at a delta. None: no epsilon holds there."""

    epsilon: float | None
    delta: float


@dataclass(frozen=True, kw_only=True)
class Priced:
    """A question that may be asked: what is computed, what is drawn, and what it is known by."""

    query: Query
    budget: Budget
    offer: Offer
    account_delta: float
    identity: str
    """The question itself, in the one text of which the fingerprint is the SHA-256."""
    delta: float | None
    catalog: Catalog = field(repr=False, compare=False)
    sql: str | None = None
    edition: int = LATEST
    tariff: Tariff | None = None
    """What the account counts, by which the noise was chosen; None: nobody chose it."""
    noise_words: str = ""
    """Why the noise is not geometric, where that was chosen."""
    answer: Callable[[Any], Any] | None = field(default=None, compare=False)
    """What makes an answer of released figures, where that is not the query's own outputs."""

    @cached_property
    def fingerprint(self) -> str:
        """What the ledger knows it by."""
        return query_digest(self.identity)

    @cached_property
    def cost(self) -> Cost:
        """The exact epsilon where there is one, or else that at the account's delta."""
        exact = self.offer.epsilon
        if exact is not None:
            return Cost(epsilon=above(exact), delta=above(self.offer.delta))
        found = self.offer.epsilon_at(delta=self.account_delta)
        return Cost(epsilon=found if found < math.inf else None, delta=self.account_delta)

    def worked_out(self) -> Priced:
        """The same with its cost and errors worked out: what fails does so before a charge."""
        _ = self.cost, self.offer.expected
        return self

    @property
    def releases(self) -> tuple[Release, ...]:
        """What is charged."""
        return self.offer.releases

    @property
    def parts(self) -> tuple[Priced, ...]:
        """The questions that are charged at once: this one."""
        return (self,)

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """What is measured and drawn."""
        return (self.offer.measurement,)

    @property
    def dataset(self) -> str:
        """The dataset that pays."""
        return self.query.dataset

    @property
    def words(self) -> str:
        """What is asked."""
        return describe(self.query)

    @property
    def earlier_editions(self) -> tuple[int, ...]:
        """The earlier editions of pricing by which an account may know it, the last one first."""
        before = () if self._as_before(THIRD) else (THIRD,)
        # none before the third reads like that, nor had any of them another noise than was said
        if self.offer.measurement.fine or self.noise_words:
            return before + tuple(each for each in EARLIER if each != THIRD)
        others = other_editions(self.query, self.offer.measuring)
        return before + tuple(each for each in others if each != THIRD)

    def _as_before(self, edition: int) -> bool:
        """Whether an earlier edition would draw the same."""
        made = offer_of(self.query, self.budget, self.catalog, delta=self.delta, edition=edition)
        return made.measurement.all_draws == self.offer.measurement.all_draws

    def releases_for(self, budget: Budget) -> tuple[Release, ...]:
        """What the same would be charged with another budget."""
        chosen, offered = _chosen(
            self.query, budget, self.catalog, self.tariff, delta=self.delta, edition=self.edition
        )
        return offered(chosen.budget).releases

    @property
    def blocks(self) -> tuple[str, ...]:
        """The blocks of time that are charged, where each has a budget of its own."""
        blocks = self.offer.measurement.blocks
        return () if blocks is None else blocks.labels


def plan(
    question: str | AnyQuestion,
    catalog: Catalog,
    *,
    rows: int | None = None,
    groups: int | None = None,
) -> Query:
    """The query that SQL, or a question of the builder, means.

    Raises:
        RefusedQuery: it is not allowed; the error says why, and what to ask instead.
    """
    if isinstance(question, str):
        return parse(question, catalog, rows=rows, groups=groups)
    asked = plan_question(question, catalog, rows=rows, groups=groups)
    if isinstance(asked, Compound):
        raise RefusedQuery(
            f"several questions are asked together, here {len(asked.parts)}, and one is expected",
            remedy="ask one, with a plain group_by(...)",
        )
    return asked


def plan_question(
    question: str | AnyQuestion,
    catalog: Catalog,
    *,
    rows: int | None = None,
    groups: int | None = None,
) -> Query | Compound:
    """The query that SQL, or a question of the builder, means; or several together.

    Raises:
        RefusedQuery: it is not allowed; the error says why, and what to ask instead.
    """
    if isinstance(question, str):
        return parse_question(question, catalog, rows=rows, groups=groups)
    if not hasattr(question, "query"):
        raise InvalidParameter("question", question, "SQL, or a question of the builder")
    return question.query(catalog, rows=rows, groups=groups)


def price(  # noqa: PLR0913  # what is asked, and of whom
    query: Query,
    budget: Budget,
    catalog: Catalog,
    *,
    delta: float,
    sql: str | None = None,
    blocks: ChargedBlocks | None = None,
    edition: int = LATEST,
    tariff: Tariff | None = None,
) -> Priced:
    """What a query costs an account of this delta, and how accurate it will be.

    ``blocks`` are the blocks of time that pay, where each has a budget of its own. ``edition`` is
    one of :mod:`quaestor.curator.pricing.editions`. By the account's ``tariff`` noise is chosen;
    without one it is geometric, unless the budget is a rho.
    """
    own = private_delta((query,), budget, delta=delta)
    chosen, offered = _chosen(query, budget, catalog, tariff, delta=own, edition=edition)
    made = offered(chosen.budget)
    fine = fine_columns(query, catalog) if edition >= THIRD else ()
    if blocks is not None or fine:
        measurement = replace(made.measurement, blocks=blocks, fine=fine)
        made = replace(made, measurement=measurement)
    return Priced(
        query=query,
        budget=budget,
        offer=made,
        account_delta=delta,
        identity=identity_of(query, made, catalog),
        delta=own,
        catalog=catalog,
        sql=sql,
        edition=edition,
        tariff=tariff,
        noise_words=chosen.words,
    )


def _chosen(  # noqa: PLR0913  # what is asked, and of whom
    query: Query,
    budget: Budget,
    catalog: Catalog,
    tariff: Tariff | None,
    *,
    delta: float | None,
    edition: int,
) -> tuple[ChosenNoise, Callable[[Budget], Offer]]:
    """The budget with its noise chosen, and what a budget is offered."""

    def offered(each: Budget) -> Offer:
        return offer_of(query, each, catalog, delta=delta, edition=edition)

    if tariff is None or edition <= THIRD:
        return ChosenNoise(budget=budget), offered
    return chosen_noise(budget, tariff, lambda each: (offered(each),)), offered


def offer_of(
    query: Query, budget: Budget, catalog: Catalog, *, delta: float | None, edition: int
) -> Offer:
    """What a query is answered with for a budget, with its whole error if that is wanted."""

    def make() -> tuple[Catalog, Offer]:
        outer = None
        if budget.whole_error:
            cuts = cuts_by_place(query, edition=edition, noise=budget.noise)
            outer = outer_plan(query, catalog, cuts_of=cuts)
        return catalog, budget.offer(query, delta=delta, edition=edition, outer=outer)

    of, made = _OFFERS.or_made(query, (as_written(budget), delta, edition), make)
    return made if of is catalog else make()[1]


def private_delta(parts: Sequence[Query], budget: Budget, *, delta: float) -> float | None:
    """What a choice of private groups may take of an account's delta; None if there is none."""
    own = budget.delta
    if own is None and any(key.values is None for query in parts for key in query.keys):
        if delta == 0.0:
            raise RefusedQuery(
                (
                    "the account has delta 0, and showing groups whose names are private needs a "
                    "delta"
                ),
                remedy="declare the keys in the catalog, or list them with WHERE key IN (...)",
            )
        own = delta / DELTA_SHARE
    return own


_VERSION = 1
_FACTS, _OFFERS = KeptResults(64), KeptResults(64)


def identity_of(query: Query, offer: Offer, catalog: Catalog) -> str:
    """All that the answer's law depends on beside the rows, as one text.

    Its SHA-256 is the fingerprint. It holds the query in its canonical form, everything that will
    be drawn for it, and what the catalog declares of the tables it reads, for declared bounds move
    values before they are compared. Where a table lives is left out: moving it does not make it
    another one.
    """
    blocks = offer.measurement.blocks
    told = {
        **({} if blocks is None else {"blocks": asdict(blocks)}),
        **_outer(offer),
        **({"fine": list(offer.measurement.fine)} if offer.measurement.fine else {}),
        "version": _VERSION,
        "query": canonical_json(query),
        "draws": [to_wire(draw) for draw in (offer.choice, *offer.draws)],
        "confidence": offer.confidence,
    }
    written = {name: _json(part) for name, part in told.items()}
    names = sorted(set(tables_of(query.rows)))
    facts = [_facts_text(table) for name in names if (table := catalog.table(name))]
    written["tables"] = f"[{','.join(facts)}]"
    return "{" + ",".join(f'"{name}":{text}' for name, text in sorted(written.items())) + "}"


def _json(told: Any) -> str:
    return json.dumps(told, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _facts_text(table: Table) -> str:
    """What a fingerprint holds of a table, as JSON: a table can declare thousands of keys."""
    return _FACTS.or_made(table, None, lambda: _json(declared_facts_of(table)))


def _outer(offer: Offer) -> dict[str, Any]:
    """The outer limits that the draws do not tell, where the whole error is answered."""
    if offer.whole is None or not offer.whole_draws:
        return {}
    told = {"groups": offer.whole.caps.groups, "total_rows": dict(offer.whole.total_rows)}
    return {"outer": told}


def declared_facts_of(table: Table) -> dict[str, Any]:
    """What a fingerprint holds of a table."""
    return {
        "name": table.name,
        "unit": table.unit,
        "dataset": table.dataset,
        **({} if table.total_rows is None else {"total_rows": table.total_rows}),
        **({} if table.blocks is None else {"blocks": asdict(table.blocks)}),
        "columns": [to_wire(column) for column in table.columns],
    }
