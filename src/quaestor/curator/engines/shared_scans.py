"""Measurements of the same rows and cells share their statements: the tables are read once.

What is measured of a cell does not depend on what else is measured of it: which units count in
which cells follows from rows and cells alone. So a measurement with the draws of several has the
exact figures of each, and each has its noise drawn from its own figures only, for what it has paid.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from quaestor.curator.engines.stop import refuse_stopped
from quaestor.curator.kernel.draws import NoisyTop
from quaestor.curator.kernel.figures import KeptGroups
from quaestor.curator.kernel.question_statements import counts_units
from quaestor.errors import QuaestorError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from quaestor.curator.engines.engine import Engine
    from quaestor.curator.kernel.figures import Exact, Prepared
    from quaestor.curator.kernel.measurement import Measurement

    _Measured = tuple[Prepared, Exact | KeptGroups]

__all__ = ["measured_together", "united"]

_MOST_DRAWS = 24
"""How many draws share a statement: memory grows with the figures of every unit and cell."""


def measured_together(
    asked: Sequence[tuple[Engine, Measurement]],
) -> list[_Measured | None]:
    """The exact figures of measurements, each with what draws its noise; None for what fails.

    If a statement for several fails, each is measured by itself. If all is interrupted, engines
    forget what they have kept.
    """
    found: list[_Measured | None] = [None] * len(asked)
    try:
        for places in _sharing(asked):
            for place, measured in _shared(asked, places):
                found[place] = measured
    except BaseException:
        for _, figures in filter(None, found):
            if isinstance(figures, KeptGroups):
                figures.close()
        raise
    return found


def _shared(
    asked: Sequence[tuple[Engine, Measurement]], places: list[int]
) -> Iterator[tuple[int, _Measured | None]]:
    """The exact figures of measurements that one statement can answer, each with its place."""
    engine = asked[places[0]][0]
    measurements = [asked[place][1] for place in places]
    try:
        refuse_stopped()
        prepared = [engine.prepare(each) for each in measurements]
        _, exact = engine.measure(united(measurements))
    except QuaestorError:
        if len(places) > 1:
            for place in places:
                yield place, measured_together([asked[place]])[0]
    else:
        for place, each in zip(places, prepared, strict=True):
            yield place, (each, _own(exact, each.measurement))


def united(measurements: Sequence[Measurement]) -> Measurement:
    """One measurement with the draws of all, of the same rows and cells; nobody draws from it."""
    if len(measurements) == 1:
        return measurements[0]
    draws = dict.fromkeys(draw for each in measurements for draw in each.draws)
    return replace(measurements[0], draws=tuple(draws))


def _own(exact: Exact | KeptGroups, measurement: Measurement) -> Exact | KeptGroups:
    """The figures of one of several measurements, and of no other."""
    if isinstance(exact, KeptGroups):
        return exact.only(measurement.measures)
    values = {measure: exact.values[measure] for measure in measurement.measures}
    counted = counts_units(measurement.cells, measurement.measures)
    units = exact.units if counted else [0] * len(exact.units)
    return replace(exact, units=units, values=values)


def _sharing(asked: Sequence[tuple[Engine, Measurement]]) -> list[list[int]]:
    """The places of measurements that one statement can answer, in order."""
    shared: dict[Hashable, list[list[int]]] = {}
    sizes: dict[int, int] = {}
    for place, (engine, each) in enumerate(asked):
        lists = shared.setdefault((id(engine), _common(each)), [[]])
        size = len(each.all_draws)
        places = lists[-1]
        if places and sizes[id(places)] + size > _MOST_DRAWS:
            places = []
            lists.append(places)
        places.append(place)
        sizes[id(places)] = sizes.get(id(places), 0) + size
    return [places for lists in shared.values() for places in lists]


def _common(measurement: Measurement) -> Hashable:
    """What measurements that share a statement have in common: all but what they draw.

    The largest cells of a question are chosen by a draw of its own: it shares with its equals.
    """
    top = measurement.choice if isinstance(measurement.choice, NoisyTop) else None
    private = measurement.choice is not None and top is None
    return (
        measurement.dataset,
        measurement.rows,
        measurement.cells,
        measurement.blocks,
        measurement.fine,
        measurement.outer_groups,
        top,
        private,
    )
