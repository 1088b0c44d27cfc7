"""The inner door, for tests only: exact figures before noise, and what they were priced for."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from quaestor.curator.engines.opening import engine_for, tables_of
from quaestor.curator.pricing.choices import NoisyQuantile, NoisyTop, NoisyUnits
from quaestor.curator.questions import Budget, plan, price
from quaestor.errors import EngineFailed

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import Catalog

__all__ = ["Drawn", "Seen", "exact"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """One part of what would be drawn: the exact numbers, one a cell, and what noise is priced for.

    ``values`` has one entry a cell: a whole number, or for quantiles a histogram (value -> count).
    One unit may change at most ``cells`` of them, each by at most ``bound`` (for histograms: the
    counts of one cell by at most ``bound`` in all).
    """

    kind: str
    labels: list[tuple[Any, ...]]
    values: list[Any]
    bound: int
    cells: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the engine gave; ``failed`` if it gave nothing (after charging, that is)."""

    failed: bool
    drawn: tuple[Drawn, ...] = ()


def exact(catalog: Catalog, sql: str, *, epsilon: float = 1.0, delta: float = 1e-6) -> Seen:
    """The exact figures of a question, as noise would meet them.

    Raises:
        RefusedQuery, InvalidParameter, SourceUnavailable: before anything would be charged.
    """
    priced = price(plan(sql, catalog), Budget(epsilon=epsilon), catalog, delta=delta, sql=sql)
    query, offer = priced.query, priced.offer
    engine = engine_for(catalog, tuple(tables_of(query.rows)))
    try:
        engine.check(query, offer.measures)
        try:
            measured = engine.measure(query, offer.measures)
        except EngineFailed:
            return Seen(failed=True)
    finally:
        engine.close()
    if isinstance(offer.choice, NoisyUnits):
        labels = list(measured.groups)
        places = list(range(len(labels)))
    else:
        labels = list(product(*[key.values or () for key in query.keys]))
        found = {group: place for place, group in enumerate(measured.groups)}
        places = [found.get(group, -1) for group in labels]
    drawn = []
    for draw in (*(() if offer.choice is None else (offer.choice,)), *offer.draws):
        if isinstance(draw, NoisyQuantile):
            held: Any = measured.histograms[draw.measure.histogram]
            values = [dict(held[p]) if p >= 0 else {} for p in places]
            drawn.append(
                Drawn(
                    kind="quantile",
                    labels=labels,
                    values=values,
                    bound=draw.mechanism.rows,
                    cells=draw.spread,
                )
            )
        elif isinstance(draw, NoisyUnits):
            drawn.append(
                Drawn(
                    kind="keys",
                    labels=labels,
                    values=list(measured.units),
                    bound=1,
                    cells=draw.mechanism.contributions,
                )
            )
        elif isinstance(draw, NoisyTop):
            held = measured.values[draw.measure]
            drawn.append(
                Drawn(
                    kind="top",
                    labels=labels,
                    values=[held[p] if p >= 0 else 0 for p in places],
                    bound=int(draw.mechanism.sensitivity),
                    cells=len(labels),
                )
            )
        else:
            held = measured.values[draw.measure]
            drawn.append(
                Drawn(
                    kind="measure",
                    labels=labels,
                    values=[held[p] if p >= 0 else 0 for p in places],
                    bound=draw.mechanism.sensitivity * draw.grain,
                    cells=draw.spread,
                )
            )
    return Seen(failed=False, drawn=tuple(drawn))
