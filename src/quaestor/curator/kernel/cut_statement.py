"""The statements of what limits cut: what every unit has under inner and under outer limits.

Both are what :mod:`quaestor.curator.kernel.statement` makes of one unit's rows; here they meet, by
unit and cell. Each unit is in as many cells as count (those that do count first, and of the others
those whose mark comes first), its difference in each is clamped to constants of the measure, and
only then are units added up. What it has in cells beyond those becomes one number a unit, clamped.
Nothing that one unit has changes what is counted of another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from quaestor.curator.kernel.cut_measures import Beyond, Dropped, Excess
from quaestor.curator.kernel.statement import CellStatement, StatementAuthor
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.curator.kernel.measurement import Measurement
    from quaestor.curator.kernel.relations import EngineRows
    from quaestor.curator.scalars.scalar import SQL

__all__ = ["cut_statements"]


def cut_statements(
    inner: EngineRows, outer: EngineRows, measurement: Measurement, sql: SQL
) -> list[CellStatement]:
    """One statement of the excess by cell, one of what was dropped, one of who is beyond."""
    if inner.unit is None or outer.unit is None:
        raise InvalidParameter("rows", "public ones", "about somebody")
    cells, measures = measurement.cells, measurement.measures
    groups = measurement.outer_groups or cells.groups
    author = _CutAuthor(
        StatementAuthor(inner, cells, sql),
        StatementAuthor(outer, replace(cells, groups=groups), sql),
    )
    made = []
    excess = tuple(each for each in measures if type(each) is Excess)
    dropped = tuple(each for each in measures if type(each) is Dropped)
    if excess:
        made.append(CellStatement(sql=author.excess(excess), measures=excess))
    if dropped:
        made.append(CellStatement(sql=author.dropped(dropped), measures=dropped))
    made += [
        CellStatement(sql=author.beyond(each), measures=(each,))
        for each in measures
        if type(each) is Beyond
    ]
    return made


@dataclass(frozen=True, slots=True)
class _CutAuthor:
    """Writes the statements; both authors write the same cells."""

    inner: StatementAuthor
    outer: StatementAuthor

    def _met(self, measures: Sequence[Excess | Dropped]) -> str:
        """One row a unit and cell: ``a0``, ... that count, ``b0``, ... under outer limits."""
        numbers = range(len(measures))
        counted = [each.inner if type(each) is Excess else each.outer for each in measures]
        ours, _ = self.inner.contributions(counted)
        theirs, _ = self.outer.contributions([each.outer for each in measures])
        by = ", ".join(["u", *self.inner.cell])
        none = "CAST(0 AS BIGINT)"
        kept = [f"CAST(m{at} AS BIGINT) AS a{at}, {none} AS b{at}" for at in numbers]
        more = [
            f"{none} AS a{at}, CAST(m{at} AS BIGINT) * {each.times} AS b{at}"
            for at, each in enumerate(measures)
        ]
        both = (
            f"SELECT {', '.join([by, '1 AS i', *kept])} FROM ({ours}) x UNION ALL "  # noqa: S608
            f"SELECT {', '.join([by, '0 AS i', *more])} FROM ({theirs}) y"
        )
        sums = [
            f"CAST(SUM(a{at}) AS BIGINT) AS a{at}, CAST(SUM(b{at}) AS BIGINT) AS b{at}"
            for at in numbers
        ]
        listed = ", ".join([by, "MAX(i) AS i", *sums])
        return f"SELECT {listed} FROM ({both}) z GROUP BY {by}"  # noqa: S608

    def _placed(self, met: str) -> str:
        """The same with ``place``, the cell's place among the unit's: those that count first."""
        order = f"i DESC, {self.inner.order}"
        place = f"row_number() OVER (PARTITION BY u ORDER BY {order}) AS place"
        return f"SELECT w.*, {place} FROM ({met}) w"  # noqa: S608

    def excess(self, measures: Sequence[Excess]) -> str:
        """By cell, the sum over units of what is missing, clamped."""
        clamped = [
            f"LEAST(GREATEST(b{at} - a{at}, {each.low}), {each.high}) AS m{at}"
            for at, each in enumerate(measures)
        ]
        cell, met = self.inner.cell, self._met(measures)
        if self.inner.cells.binding:  # else no unit is in more cells than count
            few = f"WHERE place <= {self.inner.cells.groups}"
            met = f"SELECT * FROM ({self._placed(met)}) p {few}"  # noqa: S608
        rows = f"SELECT {', '.join([*cell, *clamped])} FROM ({met}) e"  # noqa: S608
        added = [self.inner.added(f"m{at}") for at in range(len(measures))]
        return self.inner.by_cell(rows, added)

    def dropped(self, measures: Sequence[Dropped]) -> str:
        """Over units, the sum of the most that is in a cell that does not count, clamped."""
        most = [f"LEAST(MAX(abs(b{at})), {each.most}) AS m{at}" for at, each in enumerate(measures)]
        few = f"WHERE place > {self.inner.cells.groups}"
        placed = self._placed(self._met(measures))
        units = f"SELECT {', '.join(['u', *most])} FROM ({placed}) e {few} GROUP BY u"  # noqa: S608
        added = [self.inner.added(f"m{at}") for at in range(len(measures))]
        return f"SELECT {', '.join(added)} FROM ({units}) f"  # noqa: S608

    def beyond(self, measure: Beyond) -> str:
        """How many units have too many rows in a cell, too many cells, or a value outside."""
        before: dict[str, str] = {}
        after: dict[str, str] = {}
        columns, limits = [], [f"MAX(n) > {measure.rows}"]
        for at, (total, most) in enumerate(zip(measure.totals, measure.most, strict=True)):
            before[f"x{at}"], outside = self.outer.outside(total, f"x{at}")
            after[f"o{at}"] = f"CASE WHEN {outside} THEN 1 END"
            before[f"y{at}"], after[f"v{at}"] = self.outer.steps(total, f"y{at}")
            added = self.outer.unit_sum(f"v{at}", total)
            columns += [f"COUNT(o{at}) AS n{at}", f"{added} AS s{at}"]
            limits += [f"MAX(n{at}) > 0", f"MAX(abs(s{at})) > {most}"]
        limits.append(f"COUNT(*) > {self.outer.cells.groups}")
        by = ", ".join(["u", *self.outer.cell])
        rows = self.outer.numbered(before, after)
        listed = ", ".join([by, "COUNT(*) AS n", *columns])
        by_unit = f"SELECT {listed} FROM ({rows}) s GROUP BY {by}"  # noqa: S608
        units = f"SELECT u FROM ({by_unit}) b GROUP BY u HAVING {' OR '.join(limits)}"  # noqa: S608
        return f"SELECT COUNT(*) FROM ({units}) f"  # noqa: S608
