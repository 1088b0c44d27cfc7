"""The auditor against whole releases: neighbouring measures in, released figures out.

Groups are independent, so that a query with many groups, each with the same exact numbers, is as
many runs of the query with one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from quaestor import compose
from quaestor.audit import Vectorised, assert_private, audit
from quaestor.curator.kernel.draws import NoisyMeasure
from quaestor.curator.kernel.measures import RowCount, Total, Units, ValueCounts
from quaestor.curator.pricing.offers import Offer, offer
from quaestor.mechanisms import Geometric
from tests.curator.pricing.tables import Exact, aggregate, constant, query, release

if TYPE_CHECKING:
    from quaestor.curator.language.query import Aggregate

RUNS = 60_000
COUNT, SUM, MEAN = aggregate("count"), aggregate("sum"), aggregate("mean")


def figures(aggregates: tuple[Aggregate, ...], offered: Offer, **of: Any) -> Vectorised:
    """All figures of a group, one row a run; -1000 for groups that are not shown."""

    def run(numbers: Any, runs: int) -> Any:
        private = of.get("private", False)
        asked = query(*aggregates, keys=None if private else range(runs))
        if isinstance(numbers, dict) and ValueCounts in numbers:
            [histogram] = offered.measuring.measures
            table = Exact(
                [(g,) for g in range(runs)],
                {},
                [1] * runs,
                {histogram: [numbers[ValueCounts]] * runs},  # type: ignore[dict-item]
            )
        else:
            table = constant(offered, runs, numbers)
        answer = release(asked, offered, table)
        shown = np.full((runs, len(aggregates)), -1000.0)
        places = np.array(answer.column("k").values, np.int64)
        for place in range(len(aggregates)):
            shown[places, place] = np.array(answer.column(f"a{place}").values, float)
        return shown

    return Vectorised(run)


@pytest.mark.parametrize("terms", [{"epsilon": 1.0}, {"rho": 0.2}], ids=["epsilon", "rho"])
@pytest.mark.parametrize(
    ("aggregates", "neighbours"),
    [
        ((COUNT,), ({RowCount: 20}, {RowCount: 21})),
        ((SUM,), ({Total: 50}, {Total: 60})),
        ((MEAN,), ({RowCount: 9, Total: 0}, {RowCount: 10, Total: 5})),
        ((COUNT, SUM), ({RowCount: 20, Total: 0}, {RowCount: 21, Total: 10})),
    ],
    ids=["count", "sum", "mean", "both"],
)
def test_released_figures_keep_within_what_they_cost(
    aggregates: tuple[Aggregate, ...], neighbours: Any, terms: dict[str, Any]
) -> None:
    offered = offer(query(*aggregates, keys=[0]), **terms)
    target = figures(aggregates, offered)
    assert_private(target, neighbours=neighbours, claim=offered.composition, runs=RUNS)


@pytest.mark.parametrize("units", [0, 1, 12])
def test_private_groups_keep_within_what_they_cost(units: int) -> None:
    offered = offer(query(COUNT, keys=None), epsilon=1.0, delta=0.01)
    target = figures((COUNT,), offered, private=True)
    neighbours = ({Units: units, RowCount: units}, {Units: units + 1, RowCount: units + 1})
    assert_private(target, neighbours=neighbours, claim=offered.composition, runs=RUNS)


def test_quantiles_keep_within_what_they_cost() -> None:
    middle = (aggregate("quantile", high=6.0),)
    offered = offer(query(*middle, keys=[0]), epsilon=1.0)
    neighbours = ({ValueCounts: {1: 1}}, {ValueCounts: {1: 1, 5: 1}})
    target = figures(middle, offered)
    assert_private(target, neighbours=neighbours, claim=offered.composition, runs=8_000)


def test_the_choice_of_the_largest_groups_keeps_within_what_it_costs() -> None:
    asked = query(COUNT, keys=range(4), top=2, groups=2)
    offered = offer(asked, epsilon=1.0)
    [measure] = offered.measuring.measures

    def run(counts: list[int]) -> list[float]:
        table = Exact([(g,) for g in range(4)], {measure: counts}, counts)
        answer = release(asked, offered, table)
        return [float(value or 0) for c in answer.columns for value in c.values]

    neighbours = ([3, 3, 2, 2], [4, 3, 3, 2])
    assert_private(run, neighbours=neighbours, claim=offered.composition, runs=6_000)


@pytest.mark.parametrize("aggregates", [(COUNT,), (SUM,)], ids=["count", "sum"])
def test_noise_of_half_the_size_is_found_out(aggregates: tuple[Aggregate, ...]) -> None:
    offered = offer(query(*aggregates, keys=[0]), epsilon=1.0)
    [draw] = offered.draws
    assert isinstance(draw, NoisyMeasure)
    assert isinstance(draw.mechanism, Geometric)
    half = Geometric(scale=draw.mechanism.scale / 2, sensitivity=draw.mechanism.sensitivity)
    wrong = replace(
        offered,
        measurement=replace(offered.measurement, draws=(replace(draw, mechanism=half),)),
    )
    neighbours = ({RowCount: 20, Total: 0}, {RowCount: 21, Total: 10})
    report = audit(
        figures(aggregates, wrong),
        neighbours=neighbours,
        claim=compose(*offered.releases),
        runs=RUNS,
    )
    assert report.violated
