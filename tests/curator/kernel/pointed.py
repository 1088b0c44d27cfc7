"""Measurements that are pointed at one guard of the kernel each, and what must be in statements."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from quaestor.curator.aggregates.aggregate_kind import stepped
from quaestor.curator.aggregates.complementary import Complements
from quaestor.curator.kernel.cut_measures import Beyond, Dropped, Excess
from quaestor.curator.kernel.draws import NoisyMeasure, NoisyQuantile, NoisyUnits
from quaestor.curator.kernel.measurement import CellKey, Cells, Measurement
from quaestor.curator.kernel.measures import (
    Chosen,
    Distinct,
    JointTotals,
    RowCount,
    Total,
    UnitBins,
    Units,
    ValueCounts,
)
from quaestor.curator.language import expressions as e
from quaestor.curator.language import query as q
from quaestor.mechanisms import CountedQuantile, Geometric, PartitionSelection
from tests.curator.kernel.judging import judged, outcome
from tests.curator.kernel.tables import TEXTS, among, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from quaestor.curator.kernel.measures import Measure
    from tests.curator.kernel.tables import Side

__all__ = ["column", "declared", "measured", "pointed", "private", "total", "wrongs"]

PEOPLE, VISITS, STAYS, WIDE = (q.Scan(n) for n in ("people", "visits", "stays", "wide"))
_ORDINARY = tuple(t for t in TEXTS if t is not None and len(t) < 50)


def column(name: str) -> e.Column:
    """A column."""
    return e.Column(name)


def total(name: str | e.Expression, low: int, high: int, **more: Any) -> Total:
    """The total of a column, in steps of one."""
    given: dict[str, Any] = {"rows": 1, "step": 1.0, **more}
    operand = column(name) if isinstance(name, str) else name
    return Total(operand=operand, low=low, high=high, **given)


def declared(name: str, kind: e.Kind, *codes: Any) -> CellKey:
    """A key with codes."""
    return CellKey(expression=column(name), kind=kind, codes=codes)


def private(name: str, kind: e.Kind) -> CellKey:
    """A key whose values are private."""
    return CellKey(expression=column(name), kind=kind, codes=None)


def measured(
    rows: q.Relation,
    *measures: Measure,
    keys: tuple[CellKey, ...] = (),
    groups: int = 1,
    dataset: str = "d",
) -> Measurement:
    """A measurement with just as much noise as is needed."""
    cells = Cells(keys=keys, groups=groups)
    spread = min(groups, cells.count or groups)
    choice = None
    if cells.count is None:
        chosen = PartitionSelection(scale=1.0, threshold=9, contributions=spread)
        choice = NoisyUnits(measure=Units(), mechanism=chosen)
    draws = tuple(_noisy(each, spread if each.by_cell else 1) for each in measures)
    return Measurement(
        dataset=dataset,
        rows=rows,
        cells=cells,
        choice=choice,
        draws=draws,
        outer_groups=10 * groups,
    )


def _noisy(measure: Measure, spread: int) -> NoisyMeasure | NoisyQuantile:
    if isinstance(measure, ValueCounts):
        held = Chosen(histogram=measure, probability=0.5)
        mechanism = CountedQuantile(
            probability=0.5, low=measure.low, high=measure.high, epsilon=1.0, rows=measure.rows
        )
        return NoisyQuantile(measure=held, mechanism=mechanism, spread=spread)
    grain = max(1, -(-measure.sensitivity // 2**16))
    parts = len(measure.totals) if isinstance(measure, JointTotals) else 1
    moved = (measure.sensitivity + parts * (grain - 1)) // grain
    noise = Geometric(scale=1.0, sensitivity=moved)
    return NoisyMeasure(measure=measure, mechanism=noise, spread=spread, grain=grain)


def _histogram(name: str, rows: int) -> ValueCounts:
    return ValueCounts(operand=column(name), low=-1000, high=1000, step=1.0, rows=rows)


def pointed() -> Iterator[tuple[str, Measurement]]:
    """Each with the name of what it is pointed at."""
    yield "caps of rows", measured(PEOPLE, *(RowCount(rows=n) for n in (1, 2, 3)))
    yield "caps of rows with values", measured(PEOPLE, RowCount(rows=1, operand=column("g")))
    within = (
        total("k0", 0, 5),
        total("k0", -5, 0, rows=2),
        total("k0", -3, 2, rows=3),
        total("k0", -(2**26), 2**26, rows=2),
        total("k0", -(2**36), 2**36, rows=2),
        total("g", 0, 2**36, step=2.0**-30, rows=2),
        total("g", -7, 7, step=0.5, rows=2),
        total("n", 0, 4, step=0.5),
        total("r.u", -3, 3, step=0.1, rows=2),
    )
    yield "totals within bounds", measured(PEOPLE, *within)
    for first in range(0, len(within), 3):  # so few are added up by unit first
        yield "a few totals within bounds", measured(PEOPLE, *within[first : first + 3])
    yield (
        "totals of extreme steps",
        measured(
            PEOPLE,
            total("g", -5, 5, step=1e-100),
            total("g", -5, 5, step=1e100),
            total(e.Cast(column("v"), "real"), -5, 5, step=1e100),
        ),
    )
    for groups in (1, 2, 3):
        keys = (private("c0", "text"),)
        yield (
            f"{groups} private groups",
            measured(PEOPLE, RowCount(rows=2), keys=keys, groups=groups),
        )
        codes = _ORDINARY[: groups + 1]
        keys = (declared("c0", "text", *codes),)
        yield f"{groups} of few cells", measured(PEOPLE, RowCount(rows=2), keys=keys, groups=groups)
        keys = (declared("c0", "text", *_ORDINARY, None),)
        yield f"{groups} of all cells", measured(PEOPLE, RowCount(rows=2), keys=keys, groups=groups)
    yield (
        "cells of several keys",
        measured(
            PEOPLE,
            Units(),
            keys=(declared("c0", "text", *_ORDINARY), declared('quo"te', "boolean", 0, 1, None)),
            groups=2,
        ),
    )
    yield (
        "private and declared keys",
        measured(
            PEOPLE,
            total("g", 0, 3),
            keys=(private("k0", "integer"), declared("v", "text", *_ORDINARY)),
            groups=2,
        ),
    )
    joint = (total("k0", -50, 50, rows=5), total("g", 0, 60, rows=5), total("n", 0, 20, rows=5))
    for bound in (1, 5, 90):
        yield f"a joint bound of {bound}", measured(PEOPLE, JointTotals(totals=joint, bound=bound))
    number = stepped(column("k0"), low=-50.0, high=50.0, step=1.0)
    for rows in (1, 4):
        squares = Complements(asked=number, rows=rows, absent=True, squares=True)
        yield f"squares and their complements, {rows} rows", measured(PEOPLE, squares.measure)
    yield "ranks", measured(PEOPLE, *(_histogram("k0", rows) for rows in (1, 2, 3, 4, 5)))
    keys = (private("c0", "text"),)
    yield "ranks of private groups", measured(PEOPLE, _histogram("g", 1), keys=keys)
    yield from _of_limits()
    yield (
        "different values",
        measured(
            PEOPLE,
            *(Distinct(operand=column("v"), rows=rows) for rows in (1, 2, 3)),
            Distinct(operand=column("k0"), rows=2),
        ),
    )
    for keys in ((private("c0", "text"),), (declared("c0", "text", *_ORDINARY),)):
        yield (
            "different values by groups",
            measured(PEOPLE, Distinct(operand=column("v"), rows=3), keys=keys),
        )
    yield from _of_cuts()
    yield from _of_extremes()
    yield from _of_several_tables()
    yield from _of_bins()


def _of_limits() -> Iterator[tuple[str, Measurement]]:
    """Of units over some of the limits, and within others."""
    several = (
        RowCount(rows=4),
        RowCount(rows=2, operand=column("g")),
        total("k0", -5, 5, rows=2),
        total("k0", 0, 7, rows=3),
        total("g", -7, 7, step=0.5, rows=2),
        total("n", 0, 4, step=0.5, rows=4),
    )
    for keys in ((private("c0", "text"),), (declared("c0", "text", *_ORDINARY, None),)):
        for groups in (1, 2, 3, 4):  # of rows there are few enough
            loose = [replace(each, rows=200) for each in several]
            yield "sums in many groups", measured(PEOPLE, *loose, keys=keys, groups=groups)
        for groups in (1, 2, 50):
            yield "many sums by groups", measured(PEOPLE, *several, keys=keys, groups=groups)
            ranks = [_histogram("k0", rows) for rows in (1, 2)]
            yield "ranks by groups", measured(PEOPLE, *ranks, keys=keys, groups=groups)


def _bins(of: str, *keys: e.Expression) -> UnitBins:
    return UnitBins(of=of, edges=(-1e15, -1.0, 0.0, 1.0, 2.0, 3.0, 10.0, 1e15), keys=keys)


def _of_bins() -> Iterator[tuple[str, Measurement]]:
    """Of units, each in one bin whatever it has."""
    real = e.Cast(column("v"), "real")
    several = (
        _bins("rows"),
        _bins("rows", column("c0")),
        _bins("groups", column("c0")),
        _bins("groups", column("v"), column("k0"), column("place")),
        _bins("value", column("k0")),
        _bins("value", column("g")),
        _bins("value", e.Arithmetic("*", real, real)),
    )
    yield "units in bins", measured(PEOPLE, *several)
    for groups in (1, 2):
        keys = (declared("c0", "text", *_ORDINARY, None),)
        yield "bins by cells", measured(PEOPLE, *several, keys=keys, groups=groups)
        keys = (private("v", "text"),)
        yield "bins of private groups", measured(PEOPLE, *several, keys=keys, groups=groups)


def _of_cuts() -> Iterator[tuple[str, Measurement]]:
    """Of what limits cut: in cells that count, in others, and beyond the outer limits."""
    few, many = RowCount(rows=1), RowCount(rows=50)
    for rows in (PEOPLE, q.Union((PEOPLE,))):  # read once for both limits, and apart
        yield (
            "what caps cut",
            measured(
                rows,
                Excess(inner=few, outer=many, low=0, high=2),
                Excess(inner=many, outer=few, low=-3, high=1),
                Excess(inner=total("k0", 0, 5), outer=total("k0", -40, 40, rows=9), low=-4, high=3),
                Excess(inner=few, outer=few, low=-1, high=5, times=1024),
                Beyond(rows=1, totals=(total("k0", 0, 1),), most=(1,)),
            ),
        )
        for keys in ((private("c0", "text"),), (declared("c0", "text", *_ORDINARY, None),)):
            for groups in (1, 2):
                yield (
                    f"what is cut in {groups} groups",
                    measured(
                        rows,
                        Excess(inner=few, outer=many, low=0, high=2),
                        Dropped(outer=many, most=2),
                        Dropped(outer=total("k0", -40, 40, rows=9), most=3, times=2),
                        Beyond(rows=2),
                        keys=keys,
                        groups=groups,
                    ),
                )
    theirs = q.Projected(VISITS, (("w", column("C0")), ("y", column("m0"))))
    for how in ("inner", "left"):
        joined = q.Join(PEOPLE, theirs, ((column("c0"), column("w")),), how)
        yield (
            f"what is cut of an {how} join",
            measured(
                joined,
                Excess(inner=few, outer=many, low=-1, high=3),
                Dropped(outer=many, most=5),
                Beyond(rows=5, totals=(total("y", 0, 3),), most=(7,)),
                keys=(private("c0", "text"),),
            ),
        )


def _of_extremes() -> Iterator[tuple[str, Measurement]]:
    """Of values that an engine would rather not have."""
    real, whole = (e.Cast(column("v"), kind) for kind in ("real", "integer"))
    square = e.Arithmetic("*", real, real)
    keys = (CellKey(expression=whole, kind="integer", codes=None),)
    yield (
        "numbers too large for whole ones",
        measured(PEOPLE, RowCount(rows=1), Distinct(operand=whole, rows=1), keys=keys),
    )
    yield (
        "numbers too large, and too small",
        measured(
            PEOPLE,
            total(e.Arithmetic("%", real, column("g")), -5, 5),
            total(e.Arithmetic("%", whole, column("k0")), -5, 5),
            total(e.Arithmetic("/", column("g"), real), -5, 5),
            total(e.Arithmetic("*", square, square), -5, 5),
            total(e.Arithmetic("*", square, square), -5, 5, step=1e100),
            total(e.Call("exp", (real,)), -5, 5),
            total(e.Call("ln", (square,)), -5, 5),
        ),
    )
    year = e.Call("year", (column("place"),))
    keys = (CellKey(expression=column("place"), kind="date", codes=None),)
    yield "dates of no calendar", measured(PEOPLE, total(year, 0, 9999), keys=keys, groups=2)
    yield "years of no calendar", measured(PEOPLE, total(year, 0, 9999), _histogram("k0", 2))


def _of_several_tables() -> Iterator[tuple[str, Measurement]]:
    theirs = q.Projected(VISITS, (("w", column("C0")), ("y", column("m0"))))
    for how in ("inner", "left"):
        joined = q.Join(PEOPLE, theirs, ((column("c0"), column("w")),), how)
        yield (
            f"an {how} join",
            measured(joined, RowCount(rows=2), RowCount(rows=9, operand=column("y"))),
        )
        keys = (private("c0", "text"),)
        yield f"an {how} join by groups", measured(joined, RowCount(rows=1), keys=keys)
    for most in (1, 3, 2**20):
        figures = q.PerUnit(
            PEOPLE,
            (
                ("n", q.UnitFigure(function="rows", most=most)),
                (
                    "t",
                    q.UnitFigure(
                        function="total", operand=column("k0"), most=most, low=-50, high=50
                    ),
                ),
                ("m", q.UnitFigure(function="mean", operand=column("g"), low=0, high=60)),
                ("last", q.UnitFigure(function="greatest", operand=column("v"))),
            ),
        )
        yield (
            f"one row a unit, of {most}",
            measured(figures, RowCount(rows=1), *(total(name, -9, 90) for name in "ntm")),
        )
        keys = (private("n", "integer"),)
        yield f"units by their rows, of {most}", measured(figures, Units(), keys=keys)
        keys = (private("last", "text"),)
        yield f"units by a value, of {most}", measured(figures, RowCount(rows=5), keys=keys)
    again = q.Projected(PEOPLE, (("w", column("c0")),))
    own = q.Join(PEOPLE, again, ((column("c0"), column("w")),), "inner")
    yield (
        "a table with itself",
        measured(own, RowCount(rows=3), keys=(private("v", "text"),), groups=2),
    )
    parts = tuple(
        q.Projected(rows, ((MARKED, column(name)),))
        for rows, name in ((PEOPLE, "c0"), (VISITS, "C0"), (STAYS, "k"), (PEOPLE, "v"))
    )
    keys = (private(MARKED, "text"),)
    yield "a union", measured(q.Union(parts), RowCount(rows=2), keys=keys, groups=2)
    keys = (private("k", "text"),)
    yield "rows that count at all", measured(STAYS, RowCount(rows=1), keys=keys, groups=1)
    yield "units of many digits", measured(WIDE, Units(), total("n", -5, 5))
    yield "whole units", measured(VISITS, Units(), RowCount(rows=1), total("m0", 0, 100))
    public = q.Join(PEOPLE, q.Scan("names"), ((column("c0"), column("key")),), "left")
    yield "a public table", measured(public, RowCount(rows=2), total("level", 0, 3, rows=2))


MARKED = "u"


def wrongs(sides: Mapping[str, Side], *, every: bool = True) -> list[str]:
    """What is wrong with the pointed measurements, with known figures, and with guards.

    Without each of the targets, or, if that need not be ``every`` one, of two.
    """
    found: list[str] = []
    for at, (name, measurement) in enumerate(pointed()):
        whole = outcome(measurement, sides["whole"])
        tables = set(re.findall(r"Scan\(table='(\w+)'\)", repr(measurement.rows)))
        targets = list(dict.fromkeys(among(tables)))
        some = targets if every else dict.fromkeys((targets[0], targets[at % len(targets)]))
        for other in (*(f"less{target}" for target in some), "orphans"):
            less = outcome(measurement, sides[other])
            if whole.exact is None or less.exact is None:
                found.append(f"{name}: {whole.refusal or whole.failure or less.failure}")
                continue
            words = judged(measurement, whole.exact, less.exact, same=other == "orphans")
            found += [f"{name}, {other}: {each}" for each in words]
    side = sides["whole"]
    return found + list(_places(side)) + list(_known(side)) + list(_guards(side))


def _places(whole: Side) -> Iterator[str]:
    """Without each of the units in turn: nobody else counts in another cell because of one."""
    one = RowCount(rows=1)
    always = Excess(inner=one, outer=one, low=0, high=1, times=2)
    units = dict.fromkeys(str(row[0]) for row in rows_of("people") if row[0] is not None)
    for rows in (PEOPLE, q.Union((PEOPLE,))):  # read once for both limits, and apart
        asked = measured(
            rows, always, Dropped(outer=one, most=1), keys=(private("c0", "text"),), groups=1
        )
        all_of_them = outcome(asked, whole).exact
        for unit in units:
            others = e.Comparison("<>", column("u"), e.Constant(unit, "text"))
            less = outcome(replace(asked, rows=q.Filtered(rows, others)), whole).exact
            if all_of_them is None or less is None:
                yield f"places without {unit}: no figures"
                continue
            words = judged(asked, all_of_them, less)
            yield from (f"places without {unit}: {each}" for each in words)


def _known(whole: Side) -> Iterator[str]:
    """Figures that can be counted by hand."""
    people = rows_of("people")
    texts, truths = ("a", "A", "a ", "á", "a\u0301", "ß"), (1, 0, None)
    keys = (declared("c0", "text", *texts), declared('quo"te', "boolean", *truths))
    found = outcome(measured(PEOPLE, RowCount(rows=1000), keys=keys, groups=1000), whole)
    wanted = [
        sum(row[1] == text and (None if row[6] is None else int(row[6])) == truth for row in people)
        for text in texts
        for truth in truths
    ]
    if found.exact is None or list(found.exact.values.values()) != [wanted]:
        yield f"cells are not what they are: {found.exact and found.exact.values} {wanted}"
    there = sum(row[2] is not None and not math.isnan(row[2]) for row in people)
    found = outcome(measured(PEOPLE, RowCount(rows=1000, operand=column("g"))), whole)
    if found.exact is None or list(found.exact.values.values()) != [[there]]:
        yield "what is not a number counts"
    values = {row[7] for row in people} - {None}
    found = outcome(measured(PEOPLE, Distinct(operand=column("v"), rows=len(values))), whole)
    if found.exact is None or list(found.exact.values.values()) != [[len(values)]]:
        yield "different values are others"


def _guards(whole: Side) -> Iterator[str]:
    """Guards that stand behind other guards, and would not be missed otherwise."""
    statement = outcome(measured(PEOPLE, total("k0", -7, 5, rows=3)), whole).statements[0]
    if not re.search(r"LEAST\(GREATEST\(.*, -21\), 15\) AS m0 FROM", statement):
        yield "the outermost statement does not clamp what a unit contributes"
    if not statement.rstrip().endswith(") f") or "WHERE u IS NOT NULL" not in statement:
        yield "the outermost statement keeps rows about nobody"
    scans = re.findall(r'AS t WHERE .*t\."u".* COLLATE "\w+"\) IS NOT NULL', statement)
    if not scans:
        yield "rows about nobody are scanned"
