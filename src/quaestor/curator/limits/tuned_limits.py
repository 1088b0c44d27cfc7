"""From released histograms of units to limits, and to the table that has them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from quaestor.curator.catalog.columns import outward
from quaestor.curator.catalog.default_steps import coarse_enough, default_granularity
from quaestor.curator.catalog.model import TunedLimits
from quaestor.curator.language.query import Contribution
from quaestor.curator.limits.choices import choose_bounds, choose_cap
from quaestor.curator.limits.histograms import UnitHistogram

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.curator.catalog.model import ColumnFacts, Table
    from quaestor.curator.limits.tune_plan import TunePlan

__all__ = ["ChosenLimit", "choose_limits", "tuned_table"]

_MOST_STEPS = 2.0**24


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenLimit:
    """One limit that was chosen by released figures, and what they say of it.

    ``below`` and ``above`` are the shares of units that are thought to be outside; ``margin`` is by
    how many units each noisy bin is off at most, with probability 95 %. Where not ``sure``, the
    noise hides whether anybody is there: the limit is a guess, and more budget would help.
    """

    limit: str
    low: float | None
    high: float
    step: float
    below: float
    above: float
    margin: float
    sure: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def choose_limits(plan: TunePlan, counts: Sequence[Sequence[int]]) -> tuple[ChosenLimit, ...]:
    """The limits: of groups and rows first, for the noise on values grows with them."""
    found = [
        (part, UnitHistogram(edges=part.measure.edges, counts=tuple(each), scale=scale))
        for part, scale, each in zip(plan.parts, plan.scales(), counts, strict=True)
    ]
    chosen: dict[str, ChosenLimit] = {}
    for part, histogram in found:
        if part.limit == "groups":
            cells = plan.aim.cells if plan.question is not None else _cells(plan, part.measure.keys)
            cap = choose_cap(histogram, replace(plan.aim, cells=cells))
            cap = replace(cap, most=min(cap.most, cells) if cells > 1 else cap.most)
            made = _cap("groups", cap.most, cap.above, histogram, sure=cap.sure)
            if "groups" not in chosen or made.high > chosen["groups"].high:
                chosen["groups"] = made
    now = plan.table.contribution or Contribution(rows=1, groups=1)
    groups = int(chosen["groups"].high) if "groups" in chosen else now.groups
    beside = groups if plan.question is not None and plan.aim.cells > 1 else 1
    rows, each = now.rows, float(now.rows)
    for part, histogram in found:
        if part.limit == "rows":
            cap = choose_cap(histogram, plan.aim, beside=beside)
            chosen["rows"] = _cap("rows", cap.most, cap.above, histogram, sure=cap.sure)
            rows, each = cap.most, _mean_rows(histogram, cap.most)
    for part, histogram in found:
        if part.limit not in {"rows", "groups"}:
            bounds = choose_bounds(histogram, plan.aim, rows=rows, groups=beside, each=each)
            low, high, step = _in_steps(plan.table.column(part.limit), bounds.low, bounds.high)
            chosen[part.limit] = ChosenLimit(
                limit=part.limit,
                low=low,
                high=high,
                step=step,
                below=bounds.below,
                above=bounds.above,
                margin=_margin(histogram),
                sure=bounds.sure,
            )
    return tuple(chosen[limit] for limit in plan.limits)


def _cap(
    limit: str, most: int, above: float, histogram: UnitHistogram, *, sure: bool
) -> ChosenLimit:
    return ChosenLimit(
        limit=limit,
        low=None,
        high=float(most),
        step=1.0,
        below=0.0,
        above=above,
        margin=_margin(histogram),
        sure=sure,
    )


def _cells(plan: TunePlan, keys: Sequence[Any]) -> int:
    column = plan.table.column(keys[0].name)
    return len(column.keys or ()) if column is not None and column.keys else 1


def _mean_rows(histogram: UnitHistogram, cap: int) -> float:
    """About how many rows of a unit count."""
    counts = histogram.estimate()
    upper = np.minimum(np.append(histogram.edges, histogram.edges[-1]), cap)
    every = float(np.sum(counts))
    return float(np.sum(counts * upper)) / every if every > 0 else 1.0


def _margin(histogram: UnitHistogram) -> float:
    """What two-sided noise of one bin exceeds with probability 5 % at most."""
    return float(-np.log(0.05) * histogram.scale)


def _in_steps(column: ColumnFacts | None, low: float, high: float) -> tuple[float, float, float]:
    """The bounds as the catalog will have them, and the step that sums are rounded to."""
    if column is not None and column.kind == "integer":
        step = max(1.0, coarse_enough(max(abs(low), abs(high)) / _MOST_STEPS))
    else:
        step = default_granularity(low, high)
    return (*outward(low, high, step), step)


def tuned_table(
    table: Table, chosen: Sequence[ChosenLimit], *, account: str, receipt: int
) -> Table:
    """The table with the limits that were chosen, and what paid for them."""
    by_name = {each.limit: each for each in chosen}
    columns = tuple(
        column
        if column.name not in by_name
        else replace(
            column,
            low=by_name[column.name].low,
            high=by_name[column.name].high,
            granularity=by_name[column.name].step,
        )
        for column in table.columns
    )
    now = table.contribution or Contribution(rows=1, groups=1)
    most = Contribution(
        rows=int(by_name["rows"].high) if "rows" in by_name else now.rows,
        groups=int(by_name["groups"].high) if "groups" in by_name else now.groups,
    )
    names = tuple(by_name)
    earlier = tuple(
        replace(each, limits=left)
        for each in table.tuned
        if (left := tuple(name for name in each.limits if name not in by_name))
    )
    paid = TunedLimits(account=account, receipt=receipt, limits=names)
    return replace(table, columns=columns, contribution=most, tuned=(*earlier, paid))
