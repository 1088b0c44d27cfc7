"""CORR, COVAR and REGR: what SQL defines, from shared totals, with intervals that hold."""

from __future__ import annotations

import random
import statistics
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from quaestor.curator.language.expressions import Case, Column, Constant, IsNull, Not
from quaestor.curator.pricing.offers import offer
from quaestor.curator.questions.stored_form import from_wire, to_wire
from tests.curator.pricing.tables import Exact, aggregate, exact, query, release
from tests.mechanisms.sources import seed

if TYPE_CHECKING:
    from quaestor.curator.language.query import Aggregate

NAMES = ("correlation", "covariance", "covariance_of_all", "slope", "intercept")
ONE, OTHER = Column("x"), Column("y")
X_BOUNDS, Y_BOUNDS = (0.0, 100.0), (-20.0, 60.0)


def pair(name: str) -> Aggregate:
    """Of y by x, each NULL where the other one is, as it is planned."""
    null = Constant(None, "integer")
    return aggregate(
        name,
        operand=Case(((Not(IsNull(ONE)), OTHER),), null),
        low=Y_BOUNDS[0],
        high=Y_BOUNDS[1],
        second=Case(((Not(IsNull(OTHER)), ONE),), null),
        second_low=X_BOUNDS[0],
        second_high=X_BOUNDS[1],
    )


def people(number: int, r: float) -> list[dict[str, Any]]:
    """Two whole numbers that go together so much."""
    coins = random.Random(f"{number} {r}")
    rows = []
    for u in range(number):
        a, b = coins.gauss(), coins.gauss()
        x, y = 45 + 18 * a, 22 + 14 * (r * a + (1 - r * r) ** 0.5 * b)
        rows.append(
            {
                "u": u,
                "x": round(min(max(x, X_BOUNDS[0]), X_BOUNDS[1])),
                "y": round(min(max(y, Y_BOUNDS[0]), Y_BOUNDS[1])),
            }
        )
    return rows


def definitions(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Straight from the standard library, of the rows where both have a value."""
    both = [(row["x"], row["y"]) for row in rows if None not in (row["x"], row["y"])]
    xs, ys = [x for x, _ in both], [y for _, y in both]
    line = statistics.linear_regression(xs, ys)
    sample = statistics.covariance(xs, ys)
    return {
        "correlation": statistics.correlation(xs, ys),
        "covariance": sample,
        "covariance_of_all": sample * (len(xs) - 1) / len(xs),
        "slope": line.slope,
        "intercept": line.intercept,
    }


def test_with_hardly_any_noise_figures_are_those_of_the_definitions() -> None:
    rows = people(8000, 0.6)
    rows += [{"u": 8000 + u, "x": None, "y": 50} for u in range(300)]
    rows += [{"u": 9000 + u, "x": 99, "y": None} for u in range(300)]
    truth = definitions(rows)
    for names in (NAMES, *((name,) for name in NAMES)):
        asked = query(*map(pair, names))
        offered = offer(asked, epsilon=1e4)
        [row] = release(asked, offered, exact(asked, offered.measuring.measures, rows)).rows()
        for place, name in enumerate(names):
            assert row[f"a{place}"] == pytest.approx(truth[name], rel=2e-3, abs=1e-3), name


def test_all_of_them_share_six_measures_whichever_number_comes_first() -> None:
    asked = query(*map(pair, NAMES))
    assert len(offer(asked, epsilon=1.0).measuring.measures) == 6
    of = pair("correlation")
    turned = aggregate(
        "correlation",
        operand=of.second,
        low=of.second_low,
        high=of.second_high,
        second=of.operand,
        second_low=of.low,
        second_high=of.high,
    )
    both = offer(query(of, turned), epsilon=1.0).measuring.measures
    assert len(both) == 6
    assert len(offer(query(pair("covariance")), epsilon=1.0).measuring.measures) == 4


@pytest.mark.parametrize("terms", [{"epsilon": 2.0}, {"rho": 0.3}], ids=["epsilon", "rho"])
@pytest.mark.parametrize(("number", "r"), [(3000, 0.6), (3000, -0.97), (300, 0.3), (60, 0.0)])
def test_intervals_hold_the_truth_as_often_as_they_say(
    monkeypatch: pytest.MonkeyPatch, terms: dict[str, Any], number: int, r: float
) -> None:
    seed(monkeypatch, 31)
    groups = 2000
    rows = [{**row, "k": 0} for row in people(number, r)]
    truth = definitions(rows)
    one = query(*map(pair, NAMES), keys=[0])
    asked = query(*one.aggregates, keys=range(groups))
    offered = offer(asked, **terms)
    once = exact(one, offered.measuring.measures, rows)
    everywhere = Exact(
        [(g,) for g in range(groups)],
        {measure: values * groups for measure, values in once.values.items()},
        once.units * groups,
    )
    answer = release(asked, offered, everywhere)
    spread = 4 * (0.95 * 0.05 / groups) ** 0.5
    for place, name in enumerate(NAMES):
        column = answer.column(f"a{place}")
        assert column.approximate
        assert column.lower is not None
        assert column.upper is not None
        assert column.standard_errors is not None
        lower = np.array([-np.inf if end is None else end for end in column.lower], float)
        upper = np.array([np.inf if end is None else end for end in column.upper], float)
        held = np.mean((lower <= truth[name]) & (truth[name] <= upper))
        assert held >= 0.95 - spread, name
        figures = np.array(column.values, float)
        if name == "correlation":
            assert np.nanmax(np.abs(figures)) <= 1.0
            assert lower.min() >= -1.0
            assert upper.max() <= 1.0
        if number == 3000 and r == 0.6:  # and they are no wider than needed
            assert held <= 0.99, name
            stated = float(np.median(np.array(column.standard_errors, float)))
            error = float(np.sqrt(np.mean((figures - truth[name]) ** 2)))
            assert error == pytest.approx(stated, rel=0.1), name


def test_where_nothing_varies_there_is_no_correlation_and_no_line() -> None:
    asked = query(*map(pair, NAMES), keys=range(300))
    offered = offer(asked, epsilon=4.0)
    rows = [{"u": u, "k": 0, "x": 50, "y": 20} for u in range(3000)]
    answer = release(asked, offered, exact(asked, offered.measuring.measures, rows))
    for place, name in enumerate(NAMES):
        column = answer.column(f"a{place}")
        assert column.lower is not None
        assert column.upper is not None
        if name == "correlation":
            assert None in column.values
            ends = list(zip(column.lower, column.upper, strict=True))
            assert sum(end == (-1.0, 1.0) for end in ends) > 0.9 * len(ends)
        if name in {"slope", "intercept"}:
            assert None in column.values
            assert sum(end is None for end in column.lower) > 0.9 * len(column.lower)


def test_they_are_stored_with_both_numbers_and_others_as_before() -> None:
    assert from_wire(to_wire(pair("slope"))) == pair("slope")
    assert "second" not in str(to_wire(aggregate("mean")))
