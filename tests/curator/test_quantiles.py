"""Quantiles from a question to an answer: intervals in values, lists, and what was asked before."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from quaestor.curator import Curator
from quaestor.curator.accounts import open_from_catalog
from quaestor.curator.catalog.catalog_file import read_catalog
from quaestor.curator.kernel.draws import NoisyQuantile
from quaestor.curator.kernel.measures import Chosen, ValueCounts
from quaestor.curator.language.expressions import Column
from quaestor.curator.pricing.editions import EARLIER, FIRST, LATEST
from quaestor.curator.pricing.offers import measures_of
from quaestor.errors import InvalidParameter, NotPlanned, RefusedQuery
from quaestor.mechanisms import CountedQuantile
from tests.curator.hospital import VISITS, write_hospital
from tests.curator.pricing.tables import aggregate, query

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from quaestor.curator.language.query import Query
    from quaestor.curator.pricing.offers import Measuring

MEDIAN = "SELECT MEDIAN(age) AS m FROM visits"
AGES = sorted(age for _, _, age in VISITS)


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    """Of the hospital, with an account that is open."""
    path = write_hospital(tmp_path)
    open_from_catalog(read_catalog(path), "research")
    with Curator.from_file(path) as opened:
        yield opened


def test_a_median_has_an_interval_in_values_in_every_form(curator: Curator) -> None:
    answer = curator.ask(MEDIAN, epsilon=20.0)
    [column] = answer.columns
    assert column.lower is not None
    assert column.upper is not None
    [low], [high] = column.lower, column.upper
    assert low is not None
    assert high is not None
    assert low <= AGES[len(AGES) // 2] <= high
    assert high - low <= 16
    assert not column.approximate
    frame = answer.to_pandas()
    assert list(frame.columns) == ["m", "m_error", "m_low", "m_high"]
    assert answer.to_csv().splitlines()[0] == "m,m_error,m_low,m_high"
    assert json.loads(answer.to_json())["columns"][0]["lower"] == [low]
    assert any("in values" in note for note in answer.notes)


def test_the_interval_can_be_left_out_for_a_better_quantile(curator: Curator) -> None:
    with_interval = curator.preview(MEDIAN, epsilon=1.0, whole_error=False)
    without = curator.preview(MEDIAN, epsilon=1.0, quantile_intervals=False, whole_error=False)
    assert len(with_interval.releases) == 2
    assert [str(each) for each in without.releases] == [
        "ExponentialMechanism(epsilon=1.0, sensitivity=0.5, monotonic=False)"
    ]
    assert "rank is off" in without.expected[0].words
    answer = curator.ask(MEDIAN, epsilon=20.0, quantile_intervals=False, whole_error=False)
    assert answer.columns[0].lower is None
    assert curator.ask(MEDIAN, epsilon=20.0).columns[0].lower is not None


def test_what_is_made_of_a_quantile_has_the_error_of_its_interval(curator: Curator) -> None:
    sql = "SELECT MEDIAN(age) AS m, MEDIAN(age) * 2 AS twice FROM visits"
    once, twice = curator.ask(sql, epsilon=20.0).columns
    assert once.lower is not None
    assert once.upper is not None
    assert twice.lower is not None
    assert twice.upper is not None
    width = float(once.upper[0] or 0) - float(once.lower[0] or 0)
    assert width <= float(twice.upper[0] or 0) - float(twice.lower[0] or 0) <= 2 * width + 2
    bare = curator.ask(sql, epsilon=20.0, quantile_intervals=False)
    assert bare.column("twice").standard_errors == (None,)
    assert bare.column("twice").lower == (None,)


@pytest.mark.parametrize(
    "call",
    [
        "QUANTILE(age, [0.25, 0.5, 0.975]) AS q",
        "PERCENTILE(age, [0.25, 0.5, 0.975]) AS q",
        "QUANTILE_CONT(age, [0.25, 0.5, 0.975]) AS q",
        "PERCENTILE_CONT([0.25, 0.5, 0.975]) WITHIN GROUP (ORDER BY age) AS q",
        "QUANTILE(age, [0.25, 0.5, 0.975]) FILTER (WHERE ward = 'A') AS q",
    ],
)
def test_several_quantiles_are_as_many_columns_of_one_histogram(
    curator: Curator, call: str
) -> None:
    answer = curator.ask(f"SELECT COUNT(*) AS n, {call} FROM visits", epsilon=60.0)
    assert [column.name for column in answer.columns] == ["n", "q_25", "q_50", "q_97_5"]
    [row] = answer.rows()
    assert [row["q_25"], row["q_50"], row["q_97_5"]] == pytest.approx([35, 50, 78], abs=5)
    for column in answer.columns[1:]:
        assert column.lower is not None


def test_a_list_without_a_name_is_named_after_its_column(curator: Curator) -> None:
    seen = curator.preview("SELECT QUANTILE(age, [0.1, 1]) FROM visits", epsilon=1.0)
    assert [each.name for each in seen.expected] == ["quantile_age_10", "quantile_age_100"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("QUANTILE(age, [])", "1 to 20"),
        (f"QUANTILE(age, [{', '.join(['0.5'] * 21)}])", "1 to 20"),
        ("QUANTILE(age, [0.5, 1.5])", "from 0 to 1"),
        ("QUANTILE(age, ['0.5'])", "from 0 to 1"),
        ("QUANTILE(age, [0.5, [0.6]])", "is not supported"),
        ("QUANTILE(age, [0.25, 0.5]) * 2", "is not supported"),
        ("QUANTILE(age, [0.25, 0.5]) AS q, COUNT(*) AS q_50", "two outputs"),
    ],
)
def test_lists_that_are_none_are_refused(curator: Curator, call: str, words: str) -> None:
    with pytest.raises(RefusedQuery, match=words):
        curator.preview(f"SELECT {call} FROM visits", epsilon=1.0)


# Editions of pricing.


def opened_before(path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Open an account as the first edition would have."""
    monkeypatch.setattr("quaestor.curator.pricing.offers.measures_of", _first)
    open_from_catalog(read_catalog(path), name)
    monkeypatch.undo()


def _first(query: Query, **_: object) -> Measuring:
    return measures_of(query, edition=FIRST)


@pytest.mark.parametrize(
    "accounts",
    [
        f'policy = "dashboard"\nqueries = [{{ sql = "{MEDIAN}", epsilon = 1.0 }}]\n',
        'policy = "planned"\nplan = ["ExponentialMechanism(epsilon=1.0, sensitivity=0.5)"]\n',
    ],
    ids=["dashboard", "plan"],
)
@pytest.mark.usefixtures("earlier_accounts")
def test_what_was_declared_before_is_answered_as_it_was_declared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, accounts: str
) -> None:
    path = write_hospital(tmp_path, f"[accounts.wall]\nepsilon = 3.0\ndelta = 1e-7\n{accounts}")
    opened_before(path, "wall", monkeypatch)
    with Curator.from_file(path) as curator:
        seen = curator.preview(MEDIAN, epsilon=1.0)
        assert seen.fits
        assert len(seen.releases) == 1
        answer = curator.ask(MEDIAN, epsilon=1.0)
        assert answer.columns[0].lower is None
        assert curator.ask(MEDIAN, epsilon=1.0).repeated
        with pytest.raises(NotPlanned):
            curator.preview(MEDIAN, epsilon=0.5)


@pytest.mark.usefixtures("earlier_accounts")
def test_an_answer_of_an_earlier_edition_is_free_and_a_new_one_is_priced_anew(
    tmp_path: Path, curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quaestor.curator.pricing.offers.measures_of", _first)
    with Curator.from_file(tmp_path / "quaestor.toml") as earlier:
        before = earlier.ask(MEDIAN, whole_error=False, epsilon=1.0)
    monkeypatch.undo()
    assert curator.preview(MEDIAN, whole_error=False, epsilon=1.0).free
    assert curator.ask(MEDIAN, whole_error=False, epsilon=1.0).to_json() == before.to_json()
    anew = curator.ask(MEDIAN, whole_error=False, epsilon=1.0, anew=True)
    assert len(anew.releases) == 2
    # now both are stored: the latest edition's is given
    assert curator.ask(MEDIAN, whole_error=False, epsilon=1.0).to_json() == anew.to_json()


def test_there_is_no_other_edition() -> None:
    assert tuple(range(LATEST - 1, 0, -1)) == EARLIER
    with pytest.raises(InvalidParameter, match="edition"):
        measures_of(query(aggregate("quantile")), edition=LATEST + 1)


def test_no_row_is_left_out_of_a_median_however_many_there_are() -> None:
    """If some were, a person's rows would take the place of others', and move ranks by more."""
    counts = ValueCounts(operand=Column("x"), low=0, high=3, step=1.0, rows=2)
    median = CountedQuantile(probability=0.5, low=0, high=3, epsilon=1.0, rows=2)
    drawn = NoisyQuantile(
        measure=Chosen(histogram=counts, probability=0.5), mechanism=median, spread=1
    )
    assert drawn.draw([{0: 2**40, 3: 2**41}, {0: 2**45 - 2**30, 3: 2**45}]).tolist() == [3, 3]
