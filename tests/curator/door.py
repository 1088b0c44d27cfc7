"""The curator's inner door, for tests: exact figures before noise, and what noise is priced for."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from quaestor.curator.engines.engine import Engine, engine_for, place_of, tables_of
from quaestor.curator.kernel.draws import (
    NoisyMeasure,
    NoisyQuantile,
    NoisyReach,
    NoisyTop,
    NoisyUnits,
    ShownGroups,
)
from quaestor.curator.kernel.figures import KeptGroups
from quaestor.curator.kernel.measures import JointTotals, UnitBins
from quaestor.curator.pricing.priced_compound import price_question
from quaestor.curator.pricing.priced_question import Budget, plan_question
from quaestor.errors import EngineFailed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from quaestor.curator.catalog.model import Catalog
    from quaestor.curator.kernel.figures import Exact, Prepared
    from quaestor.curator.kernel.measurement import Measurement
    from quaestor.curator.language.query import Query
    from quaestor.curator.pricing.priced_compound import AnyPriced
    from quaestor.curator.pricing.priced_question import Priced

__all__ = [
    "Drawn",
    "Seen",
    "exact",
    "fetched",
    "figures_of",
    "measured",
    "one_connection_each",
    "priced",
    "seen",
]

_KEPT: list[dict[tuple[Any, ...], Engine]] = []


class _Everybody(ShownGroups):
    """Shows all groups: a test looks at their exact figures."""

    def draw(self, units: Sequence[int] | NDArray[np.int64]) -> NDArray[np.intp]:
        return np.arange(len(units))


def fetched(found: Exact | KeptGroups) -> Exact:
    """The exact figures, those of private groups fetched from the engine that keeps them."""
    if isinstance(found, KeptGroups):
        return found.shown(_Everybody.__new__(_Everybody))[0]
    return found


def measured(engine: Engine, measurement: Measurement) -> tuple[Prepared, Exact]:
    """What an engine says of a measurement, with exact figures."""
    prepared, found = engine.measure(measurement)
    return prepared, fetched(found)


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
    part: int = 0
    """Which of several questions that are asked together it is drawn for."""


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
    return seen(catalog, priced(catalog, sql, epsilon=epsilon, delta=delta))


def priced(
    catalog: Catalog,
    sql: str,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    whole_error: bool = True,
) -> AnyPriced:
    """What a question means and costs, its whole error among it."""
    budget = Budget(epsilon=epsilon, whole_error=whole_error)
    return price_question(plan_question(sql, catalog), budget, catalog, delta=delta, sql=sql)


def seen(catalog: Catalog, question: AnyPriced) -> Seen:
    """The exact figures of a question that was priced: of all of its parts, or none."""
    found = [_seen(catalog, part) for part in question.parts]
    if any(each.failed for each in found):
        return Seen(failed=True)
    drawn = [replace(one, part=place) for place, each in enumerate(found) for one in each.drawn]
    return Seen(failed=False, drawn=tuple(drawn))


@contextmanager
def one_connection_each() -> Iterator[None]:
    """Meanwhile all questions to one place go through one connection, as a curator's do.

    Otherwise each has its own, which takes longer than most questions. What is remembered of a
    table is remembered for one question all the same.
    """
    _KEPT.append({})
    try:
        yield
    finally:
        for engine in _KEPT.pop().values():
            engine.close()


@contextmanager
def _engine(catalog: Catalog, names: tuple[str, ...]) -> Iterator[Engine]:
    tables = [table for name in names if (table := catalog.table(name)) is not None]
    places = {place_of(table) for table in tables}
    if not _KEPT or len(places) != 1 or len(tables) != len(names):
        engine = engine_for(catalog, names)
        try:
            yield engine
        finally:
            engine.close()
    else:
        place = (*places, str(catalog.folder))
        if place not in _KEPT[-1]:
            _KEPT[-1][place] = engine_for(catalog, names)
        kept = _KEPT[-1][place]
        yield Engine(catalog=catalog, connection=kept.connection, copies=kept.copies)


def _seen(catalog: Catalog, question: Priced) -> Seen:
    measurement = question.offer.measurement
    with _engine(catalog, tuple(tables_of(question.query.rows))) as engine:
        prepared = engine.prepare(measurement)
        try:
            found = prepared.exact()
        except EngineFailed:
            return Seen(failed=True)
    return Seen(failed=False, drawn=figures_of(measurement, found, _labels(question.query, found)))


def _labels(query: Query, found: Exact) -> list[tuple[Any, ...]]:
    if found.groups is not None:
        return list(found.groups)
    return list(product(*(key.values or () for key in query.keys)))


def figures_of(
    measurement: Measurement, found: Exact, labels: list[tuple[Any, ...]]
) -> tuple[Drawn, ...]:
    """Every draw of a measurement with the figures that it would be given."""
    made = []
    for draw in measurement.all_draws:
        cells = measurement.spread
        match draw:
            case NoisyQuantile() | NoisyReach():
                kind, bound = "quantile", draw.mechanism.rows
                values: list[Any] = found.values[draw.measure.histogram]
            case NoisyUnits() | ShownGroups():
                kind, bound, values = "keys", 1, found.units
            case NoisyTop():
                kind, bound, cells = "top", int(draw.mechanism.sensitivity), len(labels)
                values = found.values[draw.measure]
            case NoisyMeasure():
                # the bins of one cell, or its joint totals, move by the bound in all, as the counts
                # of a histogram do
                vector = isinstance(draw.measure, UnitBins | JointTotals)
                kind = "quantile" if vector else "measure"
                bound = draw.mechanism.sensitivity * draw.grain
                values = found.values[draw.measure]
                if isinstance(draw.measure, JointTotals):
                    values = [dict(enumerate(each)) for each in zip(*values, strict=True)]
            case _:
                raise AssertionError(draw)
        own = labels if draw.measure.by_cell else [("all cells",)]
        cells = cells if draw.measure.by_cell else 1
        made.append(Drawn(kind=kind, labels=own, values=values, bound=bound, cells=cells))
    return tuple(made)
