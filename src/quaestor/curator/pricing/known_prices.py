"""Plans and prices that were worked out before: the same SQL again is not planned again.

A plan depends on the SQL, its limits and the catalog alone, and a price on the plan and the budget:
no row is in them. What is refused is not kept. Each analyst has plans of their own: otherwise it
would take less time to ask what somebody else has asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quaestor.curator.language.kept_results import KeptResults, as_written
from quaestor.curator.pricing.priced_question import plan_question, price

if TYPE_CHECKING:
    from quaestor.curator.builder.tables import AnyQuestion
    from quaestor.curator.catalog.model import Catalog
    from quaestor.curator.language.compound import Compound
    from quaestor.curator.language.query import Query
    from quaestor.curator.pricing.priced_question import Budget, Priced

__all__ = ["known_plan", "known_price"]

_MOST = 1024
_PLANS, _PRICES = KeptResults(_MOST), KeptResults(_MOST)


def known_plan(
    question: str | AnyQuestion,
    catalog: Catalog,
    *,
    analyst: str,
    rows: int | None,
    groups: int | None,
) -> Query | Compound:
    """As :func:`plan_question`; the same SQL of an analyst is planned once."""

    def make() -> Query | Compound:
        return plan_question(question, catalog, rows=rows, groups=groups)

    if not isinstance(question, str):
        return make()
    return _PLANS.or_made(catalog, (analyst, question, as_written((rows, groups))), make)


def known_price(query: Query, budget: Budget, catalog: Catalog, **said: Any) -> Priced:
    """As :func:`price`; a plan that is kept is priced once for each budget."""

    def make() -> tuple[Catalog, Priced]:
        return catalog, price(query, budget, catalog, **said)

    of, priced = _PRICES.or_made(query, (as_written(budget), *said.items()), make)
    return priced if of is catalog else make()[1]
