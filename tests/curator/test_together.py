"""Several questions asked together, and shares of released values: one charge, all or nothing."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from quaestor.curator import Curator
from quaestor.curator.answers.outputs import answer_of
from quaestor.curator.engines.engine import Engine
from quaestor.curator.kernel.draws import NoisyMeasure
from quaestor.curator.kernel.figures import Prepared, Released
from quaestor.curator.pricing.editions import THIRD
from quaestor.curator.pricing.offers import measures_of
from quaestor.curator.pricing.priced_compound import PricedCompound, price_question
from quaestor.curator.pricing.priced_question import Budget, plan, plan_question, price
from quaestor.errors import BudgetExceeded, EngineFailed
from tests.curator.hospital import VISITS, truth_by_ward, write_hospital

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from quaestor.curator.answers.answer import Answer
    from quaestor.curator.kernel.draws import Draw
    from quaestor.curator.language.query import Query
    from quaestor.curator.pricing.offers import Measuring

ROLLUP = "SELECT ward, GROUPING(ward) AS g, COUNT(*) AS n FROM visits GROUP BY ROLLUP (ward)"
UNION = (
    "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward UNION ALL "
    "SELECT 'all', COUNT(DISTINCT patient) FROM visits ORDER BY n DESC"
)
SHARE = "SELECT ward, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS share FROM visits GROUP BY ward"
SURE = 500.0  # so little noise that every figure is exact, but for one in e^20


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    with Curator.from_file(write_hospital(tmp_path, rows=2)) as made:
        made.open_account("research")
        yield made


def _rows(answer: Answer) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in answer.rows()]


def _compound(curator: Curator, sql: str, budget: Budget) -> PricedCompound:
    asked = price_question(plan_question(sql, curator.catalog), budget, curator.catalog, delta=1e-6)
    assert isinstance(asked, PricedCompound)
    return asked


def test_a_rollup_has_the_groups_and_their_total(curator: Curator) -> None:
    answer = curator.ask(ROLLUP, epsilon=SURE, whole_error=False)
    wards = [(ward, 0, count) for ward, count in truth_by_ward().items()]
    assert _rows(answer) == [*sorted(wards), (None, 1, len(VISITS))]
    assert [column.kind for column in answer.columns] == ["text", "integer", "integer"]
    assert "stands for all of its values" in answer.notes[0]


def test_a_union_has_the_rows_of_all_parts_in_one_order(curator: Curator) -> None:
    answer = curator.ask(UNION, epsilon=SURE, whole_error=False)
    rows = [*truth_by_ward().items(), ("all", len({patient for patient, *_ in VISITS}))]
    assert sorted(_rows(answer)) == sorted(rows)
    assert [n for _, n in _rows(answer)] == sorted((n for _, n in rows), reverse=True)


@pytest.mark.parametrize("sql", [ROLLUP, UNION])
def test_all_parts_are_one_charge_of_what_was_offered(curator: Curator, sql: str) -> None:
    preview = curator.preview(sql, epsilon=1.0)
    answer = curator.ask(sql, epsilon=1.0)
    (entry,) = curator.account("research").entries()
    assert tuple(entry.releases) == answer.releases == preview.releases
    assert answer.epsilon == preview.epsilon
    assert 0.9999 < (answer.epsilon or 0) <= 1.0
    assert preview.rows == len(answer)
    again = curator.ask(sql, epsilon=1.0)
    assert again.repeated
    assert _rows(again) == _rows(answer)
    assert len(list(curator.account("research").entries())) == 1


@pytest.mark.parametrize("budget", [Budget(epsilon=0.7), Budget(rho=0.01)])
def test_parts_never_cost_more_than_the_whole(curator: Curator, budget: Budget) -> None:
    sql = "SELECT ward, age > 40 AS old, COUNT(*), AVG(age) FROM visits GROUP BY CUBE (ward, old)"
    asked = _compound(curator, sql, dataclasses.replace(budget, whole_error=True))
    assert len(asked.parts) == 4
    assert asked.releases == tuple(r for m in asked.measurements for r in m.releases)
    spent = [part.offer.rho if budget.rho else part.offer.epsilon for part in asked.parts]
    whole = budget.rho or budget.epsilon or 0
    assert 0.999 * whole < sum(each or 0 for each in spent) <= whole


def test_private_groups_of_all_parts_share_one_delta(tmp_path: Path) -> None:
    columns = (
        'patient = "integer"\nward = "text"\nage = { kind = "integer", low = 0, high = 120 }\n'
    )
    curator = Curator.from_file(write_hospital(tmp_path, columns=columns))
    sets = "GROUPING SETS ((ward, age // 50), (ward), ())"
    sql = f"SELECT ward, COUNT(*) FROM visits GROUP BY {sets}"
    asked = _compound(curator, sql, Budget(epsilon=1.0))
    deltas = [part.offer.delta for part in asked.parts]
    assert [delta > 0 for delta in deltas] == [True, True, False]
    assert sum(deltas) <= 1e-8


def test_a_set_that_is_named_twice_is_paid_for_once(curator: Curator) -> None:
    plain = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    sets = plain.replace("BY ward", "BY GROUPING SETS ((ward), ward, (ward, ward))")
    assert plan_question(sets, curator.catalog) == plan(plain, curator.catalog)
    twice = ROLLUP.replace("ROLLUP (ward)", "GROUPING SETS ((ward), (), (ward), ())")
    budget = Budget(epsilon=1.0)
    assert _compound(curator, twice, budget).identity == _compound(curator, ROLLUP, budget).identity


def test_a_charge_that_is_too_small_draws_nothing(
    curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[object] = []
    monkeypatch.setattr(Prepared, "draw", lambda *_, **__: drawn.append(1))
    less = property(lambda asked: asked.parts[0].releases)
    monkeypatch.setattr(PricedCompound, "releases", less)
    with pytest.raises(EngineFailed):
        curator.ask(ROLLUP, epsilon=1.0)
    assert not drawn


def test_one_part_that_fails_leaves_the_charge_and_shows_nothing(
    curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, asked = Engine.measure, []

    def failing(engine: Engine, measurement: object) -> object:
        asked.append(measurement)
        if len(asked) > 1:
            raise RuntimeError("patient 17 is ill")
        return whole(engine, measurement)  # type: ignore[arg-type]

    drawn: list[object] = []
    monkeypatch.setattr(Engine, "measure", failing)
    monkeypatch.setattr(Prepared, "draw", lambda *_, **__: drawn.append(1))
    with pytest.raises(EngineFailed) as caught:
        curator.ask(ROLLUP, epsilon=1.0)
    assert "ill" not in str(caught.value)
    assert not drawn
    assert len(list(curator.account("research").entries())) == 1


def test_what_does_not_fit_together_is_refused_together(tmp_path: Path) -> None:
    small = "[accounts.research]\nepsilon = 1.0\ndelta = 1e-6\n"
    with Curator.from_file(write_hospital(tmp_path, small, rows=2)) as curator:
        curator.open_account("research")
        with pytest.raises(BudgetExceeded) as caught:
            curator.ask(ROLLUP, epsilon=1.5)
        assert "the same question with epsilon" in str(caught.value)
        assert not list(curator.account("research").entries())
        assert curator.ask(ROLLUP, epsilon=0.9).receipt == 1


def test_an_accuracy_is_that_of_every_part(curator: Curator) -> None:
    from quaestor.curator import Accuracy

    asked = _compound(curator, UNION, Budget(accuracy=Accuracy(within=20.0)))
    for part in asked.parts:
        (expected,) = part.offer.expected
        assert expected.half_width is not None
        assert 15 <= expected.half_width <= 20


def test_shares_add_up_and_are_those_of_the_counts(curator: Curator) -> None:
    answer = curator.ask(SHARE, epsilon=SURE, whole_error=False)
    truth = truth_by_ward()
    for ward, share in _rows(answer):
        assert share == pytest.approx(100 * truth[str(ward)] / len(VISITS), abs=1e-9)
    column = answer.column("share")
    assert column.lower is not None
    assert column.upper is not None
    assert "totals cover only the groups" in " ".join(answer.notes)


def _covered(curator: Curator, sql: str, epsilon: float, exact: list[int], runs: int) -> float:
    """How often intervals of shares cover the truth, with noise drawn anew each time."""
    asked = price(plan(sql, curator.catalog), Budget(epsilon=epsilon), curator.catalog, delta=0.0)
    (draw,) = asked.offer.measurement.draws
    assert isinstance(draw, NoisyMeasure)
    truth = [100 * each / sum(exact) for each in exact]
    inside = 0
    for _ in range(runs):
        figures: dict[Draw, Any] = {draw: draw.draw(exact)}
        released = Released(np.arange(len(exact)), None, figures)
        share = answer_of(asked.query, asked.offer, released).column("share")
        ends = zip(share.values, share.lower or (), share.upper or (), truth, strict=True)
        for value, low, high, true in ends:
            if value is None:  # the noisy total is 0, and nothing is said
                assert (low, high) == (None, None)
                inside += 1
                continue
            assert low is not None
            assert high is not None
            assert 0.0 <= low <= high <= 100.0
            inside += low <= true <= high
    return inside / (runs * len(exact))


@pytest.mark.parametrize(
    ("epsilon", "exact"),
    [(1.0, [500, 300, 4]), (0.2, [40, 30, 20]), (0.05, [5, 1, 0]), (1.0, [1000, 0, 0])],
)
def test_intervals_of_shares_cover_the_truth(
    curator: Curator, epsilon: float, exact: list[int]
) -> None:
    # 95 % wanted; below 0.9 of 450 has a chance of less than 1e-6 if it is 0.95
    assert _covered(curator, SHARE, epsilon, exact, 150) >= 0.9


VARIANCES = "SELECT ward, VARIANCE(age) AS v FROM visits GROUP BY {}"


@pytest.mark.usefixtures("earlier_accounts")
@pytest.mark.parametrize("by", ["ward", "ROLLUP (ward)"])
def test_answers_of_the_third_edition_are_free_and_what_is_new_is_measured_anew(
    curator: Curator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """Their totals were others: what was answered, approved or declared so stays known."""

    def third(query: Query, **terms: Any) -> Measuring:
        return measures_of(query, **{**terms, "edition": THIRD})

    sql = VARIANCES.format(by)
    for module in ("offers", "priced_compound"):
        monkeypatch.setattr(f"quaestor.curator.pricing.{module}.measures_of", third)
    with Curator.from_file(tmp_path / "quaestor.toml") as earlier:
        before = earlier.ask(sql, epsilon=1.0)
    monkeypatch.undo()
    assert curator.preview(sql, epsilon=1.0).free
    again = curator.ask(sql, epsilon=1.0)
    assert again.repeated
    assert _rows(again) == _rows(before)
    anew = curator.ask(sql, epsilon=1.0, anew=True)
    assert len(anew.releases) < len(before.releases)
    assert _rows(curator.ask(sql, epsilon=1.0)) == _rows(anew)
