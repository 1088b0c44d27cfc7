"""Private groups of which no count is wanted: shown as often as may be, and charged for that."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from quaestor import ApproxDP
from quaestor.curator import Curator
from quaestor.curator.kernel.draws import NoisyUnits, ShownGroups
from quaestor.curator.pricing.editions import THIRD
from quaestor.curator.pricing.offers import offer
from quaestor.errors import TargetOutOfReach
from tests.curator.hospital import write_hospital
from tests.curator.pricing.tables import aggregate, query

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COLUMNS = """
patient = "integer"
ward = { kind = "text" }
age = { kind = "integer", low = 0, high = 120 }
"""
NAMES = "SELECT ward FROM visits GROUP BY ward"
MEANS = "SELECT ward, AVG(age) AS age FROM visits GROUP BY ward"


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    with Curator.from_file(write_hospital(tmp_path, columns=COLUMNS)) as made:
        made.open_account("research")
        yield made


@pytest.mark.parametrize("groups", [1, 3, 20])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 30.0])
def test_it_costs_no_more_than_was_asked(groups: int, epsilon: float) -> None:
    for asked in (
        query(keys=None, groups=groups),
        query(aggregate("sum"), keys=None, groups=groups),
    ):
        made = offer(asked, epsilon=epsilon, delta=1e-7)
        assert isinstance(made.choice, ShownGroups)
        assert made.choice.count == groups
        assert isinstance(made.choice.one, ApproxDP)
        assert made.epsilon is not None
        assert made.epsilon <= Fraction(epsilon)
        assert Fraction(1e-7) * Fraction(999, 1000) <= made.delta <= Fraction(1e-7)
        with_rho = offer(asked, rho=epsilon / 100, delta=1e-7)
        assert with_rho.rho <= Fraction(epsilon / 100)


def test_where_units_are_counted_one_measurement_is_both() -> None:
    for asked in (
        query(aggregate("units"), keys=None),
        query(aggregate("count"), keys=None),  # one row a unit: the same
    ):
        assert isinstance(offer(asked, epsilon=1.0, delta=1e-6).choice, NoisyUnits)
    rows = query(aggregate("count"), keys=None, rows=3)
    assert isinstance(offer(rows, epsilon=1.0, delta=1e-6).choice, ShownGroups)


def test_the_third_edition_had_a_threshold() -> None:
    before = offer(query(keys=None), epsilon=1.0, delta=1e-6, edition=THIRD)
    now = offer(query(keys=None), epsilon=1.0, delta=1e-6)
    assert isinstance(before.choice, NoisyUnits)
    assert isinstance(now.choice, ShownGroups)
    assert now.choice.mechanism.likely < before.choice.mechanism.threshold


def test_so_little_that_nothing_is_shown_is_refused() -> None:
    with pytest.raises(TargetOutOfReach):
        offer(query(keys=None, groups=10**4), epsilon=1e-6, delta=1e-6)


def test_names_come_alone_and_with_other_figures(curator: Curator) -> None:
    seen = curator.preview(NAMES, epsilon=5.0)
    assert any("half of the groups of" in note for note in seen.notes)
    answer = curator.ask(NAMES, epsilon=5.0)
    assert sorted(map(str, answer.column("ward").values)) == ["A", "B", "C"]
    assert any("groups are shown by chance" in note for note in answer.notes)
    assert answer.releases == seen.releases
    means = curator.ask(MEANS, epsilon=20.0)
    assert sorted(map(str, means.column("ward").values)) == ["A", "B", "C"]
    for low, high in zip(
        means.column("age").lower or (), means.column("age").upper or (), strict=True
    ):
        assert low is not None
        assert high is not None
        assert low <= 49.5 <= high or high - low < 20


@pytest.mark.usefixtures("earlier_accounts")
def test_an_answer_of_the_third_edition_is_free(
    curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr("quaestor.curator.pipeline.LATEST", THIRD)
        first = curator.ask(NAMES, epsilon=5.0)
    assert curator.ask(NAMES, epsilon=5.0).to_json() == first.to_json()
