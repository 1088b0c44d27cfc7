"""Noise that suits the account, on the whole way of a question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet

from quaestor.curator import Curator
from quaestor.curator.pipeline import Inquiry, priced
from quaestor.curator.preview import Preview
from quaestor.curator.pricing.accuracy import Accuracy
from quaestor.curator.pricing.editions import (
    FIRST,
    LATEST,
    SECOND,
    THIRD,
    is_alone,
)
from quaestor.curator.pricing.priced_question import Budget, Priced, price
from quaestor.errors import BudgetExceeded
from quaestor.ledger.theory import PRICING
from tests.curator.hospital import write_hospital

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MANY = ", ".join(f"SUM(age * {times}) AS s{times}" for times in range(1, 21))
SUMS = f"SELECT {MANY} FROM visits"
BOTH = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ROLLUP(ward)"
ACCOUNT = """
[accounts.research]
epsilon = 1.0
delta = 1e-6
"""


def opened(folder: Path, accounts: str = ACCOUNT) -> Curator:
    folder.mkdir(exist_ok=True)
    curator = Curator.from_file(write_hospital(folder, accounts))
    curator.open_account("research")
    return curator


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    with opened(tmp_path) as made:
        yield made


def identity(curator: Curator, sql: str, budget: Budget) -> str:
    inquiry = Inquiry(question=sql, budget=budget)
    return priced(inquiry, catalog=curator.catalog, accounts=curator._accounts)[1].identity


def test_the_preview_says_which_noise_and_why(curator: Curator) -> None:
    seen = curator.preview(SUMS, epsilon=0.2)
    assert seen.noise == "gaussian"
    assert any("Gaussian noise: within epsilon 0.2" in note for note in seen.notes)
    assert seen.epsilon is not None
    assert seen.epsilon <= 0.2
    assert seen.delta == 1e-6
    assert Preview.from_dict(seen.to_dict()) == seen
    plain = curator.preview(SUMS, epsilon=0.2, noise="geometric")
    assert plain.noise == "geometric"
    assert not any("Gaussian" in note for note in plain.notes)
    errors = zip(seen.expected, plain.expected, strict=True)
    assert all(a.half_width < b.half_width for a, b in errors)  # type: ignore[operator]


def test_the_answer_is_charged_for_just_that_and_its_intervals_hold(curator: Curator) -> None:
    seen = curator.preview(SUMS, epsilon=0.2)
    answer = curator.ask(SUMS, epsilon=0.2)
    assert answer.releases == seen.releases
    assert answer.epsilon == seen.epsilon
    assert curator.ask(SUMS, epsilon=0.2).repeated
    foretold: dict[str, Any] = {each.name: each.half_width for each in seen.expected}
    columns: Any = answer.columns
    for column in columns:
        above = max(column.upper[0], 0) - max(column.values[0], 0)  # no sum here is below zero
        assert above <= foretold[column.name] * (1 + 1e-9)
        assert column.values[0] < 0 or above == pytest.approx(foretold[column.name])


@pytest.mark.parametrize("sql", [SUMS, BOTH, "SELECT COUNT(*) AS n FROM visits"])
def test_no_row_and_no_earlier_charge_has_a_part_in_the_choice(tmp_path: Path, sql: str) -> None:
    budgets = [Budget(epsilon=0.1), Budget(accuracy=Accuracy(within=400.0))]
    with opened(tmp_path / "full") as full, opened(tmp_path / "empty") as empty:
        place = tmp_path / "empty" / "visits.parquet"
        parquet.write_table(parquet.read_table(place).slice(0, 0), place)
        before = [identity(full, sql, each) for each in budgets]
        assert [identity(empty, sql, each) for each in budgets] == before
        full.ask("SELECT COUNT(*) AS n FROM visits WHERE age > 30", epsilon=0.5)
        assert [identity(full, sql, each) for each in budgets] == before


@pytest.mark.parametrize("sql", [SUMS, BOTH, "SELECT AVG(age) AS a FROM visits"])
@pytest.mark.usefixtures("earlier_accounts")
def test_an_answer_of_the_third_edition_is_free(
    curator: Curator, monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    with monkeypatch.context() as before:
        before.setattr("quaestor.curator.pipeline.LATEST", THIRD)
        first = curator.ask(sql, epsilon=0.1)
    assert curator.preview(sql, epsilon=0.1).free
    assert curator.ask(sql, epsilon=0.1).to_json() == first.to_json()
    assert not curator.ask(sql, epsilon=0.1, anew=True).repeated


MEANS = ", ".join(f"AVG(age * {times}) AS m{times}" for times in range(1, 21))


@pytest.mark.parametrize("edition", [FIRST, SECOND, THIRD])
@pytest.mark.usefixtures("earlier_accounts")
def test_answers_of_every_earlier_edition_are_free_where_noise_is_now_gaussian(
    curator: Curator, monkeypatch: pytest.MonkeyPatch, edition: int
) -> None:
    sql = f"SELECT {MEANS} FROM visits"
    with monkeypatch.context() as before:  # of centred totals once, as with Gaussian noise now
        before.setattr("quaestor.curator.pipeline.LATEST", edition)
        first = curator.ask(sql, epsilon=0.2, whole_error=False)
    assert curator.preview(sql, epsilon=0.2, noise="geometric").noise == "geometric"
    assert curator.preview(sql, epsilon=0.3).noise == "gaussian"
    assert curator.preview(sql, epsilon=0.2).free
    assert curator.ask(sql, epsilon=0.2).to_json() == first.to_json()


def test_an_account_of_today_is_asked_by_the_latest_edition_alone(
    curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = curator.account("research")
    assert account.opened_under == PRICING
    assert is_alone(PRICING)
    assert not is_alone(2)
    found: list[int] = []

    def noted(*given: Any, edition: int, **said: Any) -> Priced:
        found.append(edition)
        return price(*given, edition=edition, **said)

    monkeypatch.setattr("quaestor.curator.pricing.known_prices.price", noted)
    curator.preview(SUMS, epsilon=0.1)
    assert found == [LATEST, LATEST]  # with its whole error, and without
    monkeypatch.setattr(type(account), "opened_under", property(lambda _: 2))
    curator.preview(SUMS, epsilon=0.2)
    assert {LATEST, THIRD} <= set(found[2:])


def test_parts_of_a_question_have_one_noise_and_one_cap(curator: Curator) -> None:
    union = f"SELECT {MANY} FROM visits UNION ALL SELECT {MANY} FROM visits WHERE age > 40"
    seen = curator.preview(union, epsilon=0.3)
    assert seen.noise == "gaussian"
    assert seen.epsilon is not None
    assert seen.epsilon <= 0.3
    answer = curator.ask(union, epsilon=0.3)
    assert answer.epsilon == seen.epsilon


def test_where_only_geometric_noise_fits_the_refusal_says_so(curator: Curator) -> None:
    # two thirds of the account, pure: what is left is an epsilon, and hardly any moment
    curator.ask("SELECT COUNT(*) AS n FROM visits", epsilon=0.65, whole_error=False)
    asked = {"epsilon": 0.34, "whole_error": False}
    seen = curator.preview(SUMS, **asked)  # type: ignore[arg-type]
    assert not seen.fits
    assert seen.would_fit == "the same question with geometric noise (--noise geometric)"
    with pytest.raises(BudgetExceeded, match="--noise geometric"):
        curator.ask(SUMS, **asked)  # type: ignore[arg-type]
    assert curator.preview(SUMS, **asked, noise="geometric").fits  # type: ignore[arg-type]


def test_dashboards_keep_to_geometric_noise(tmp_path: Path) -> None:
    board = f"""
[accounts.research]
epsilon = 1.0
delta = 1e-6
policy = "dashboard"

[[accounts.research.queries]]
sql = "{SUMS}"
epsilon = 0.5
"""
    with opened(tmp_path, board) as curator:
        answer = curator.ask(SUMS, epsilon=0.5)
        assert answer.epsilon is not None
        assert answer.epsilon <= 0.5
        assert answer.delta == 0
