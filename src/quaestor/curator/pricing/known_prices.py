"""Plans and prices that were worked out before: the same SQL again is not planned again.

A plan depends on the SQL, its limits and the catalog alone, and a price on the plan and the budget:
no row is in them. What is refused is not kept. Each analyst has plans of their own: otherwise it
would take less time to ask what somebody else has asked.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, TypeVar

from quaestor.curator.pricing.priced_question import plan_question, price

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from quaestor.curator.builder.tables import AnyQuestion
    from quaestor.curator.catalog.model import Catalog
    from quaestor.curator.language.compound import Compound
    from quaestor.curator.language.query import Query
    from quaestor.curator.pricing.priced_question import Budget, Priced

__all__ = ["known_plan", "known_price"]

_MOST = 1024
_T = TypeVar("_T")


class _LatestResults:
    """The latest results; each with the catalog that it is of, which is the same object or none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[Catalog, Any]] = OrderedDict()

    def or_made(self, catalog: Catalog, key: Hashable, make: Callable[[], _T]) -> _T:
        """What is kept under a key; what is made otherwise."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None and found[0] is catalog:
                self._kept.move_to_end(key)
                kept: _T = found[1]
                return kept
        made = make()
        with self._lock:
            self._kept[key] = (catalog, made)
            if len(self._kept) > _MOST:
                self._kept.popitem(last=False)
        return made


_PLANS, _PRICES = _LatestResults(), _LatestResults()


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
    return _PLANS.or_made(catalog, (id(catalog), analyst, question, rows, groups), make)


def known_price(query: Query, budget: Budget, catalog: Catalog, **said: Any) -> Priced:
    """As :func:`price`; a plan that is kept is priced once for each budget."""

    def make() -> tuple[Query, Priced]:
        return query, price(query, budget, catalog, **said)

    key = (id(query), budget, *said.items())
    of, priced = _PRICES.or_made(catalog, key, make)
    return priced if of is query else make()[1]
