"""Questions to accounts with blocks of time: what they reach, what pays, what is read."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from quaestor.accounting.membership.time_blocks import Calendar
from quaestor.accounting.releases import PureDP
from quaestor.curator import Curator, PlanQuestion
from quaestor.curator.accounts import open_from_catalog
from quaestor.curator.catalog.catalog_file import catalog_from_toml
from quaestor.curator.catalog.catalog_text import table_to_toml
from quaestor.curator.pricing.priced_question import plan
from quaestor.curator.questions.block_reach import charged_blocks
from quaestor.errors import (
    ApprovalNeeded,
    BudgetExceeded,
    EngineFailed,
    InvalidCatalog,
    InvalidParameter,
    RefusedQuery,
)
from quaestor.ledger import Ledger
from tests.ledger.clocks import Clock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CATALOG = """
ledger = "ledger.db"

[tables.visits]
file = "visits.parquet"
unit = "patient"
rows = 4
groups = 2
dataset = "clinic"
blocks = { date = "visited", every = "month" }

[tables.visits.columns]
patient = "integer"
visited = "date"
cost = { kind = "integer", low = 0, high = 1000 }

[tables.people]
file = "people.parquet"
unit = "patient"
rows = 1
groups = 1
dataset = "clinic"

[tables.people.columns]
patient = "integer"
age = { kind = "integer", low = 0, high = 120 }

[accounts.clinic]
epsilon = 1000.0
delta = 1e-6
policy = "blocks"
first = "2024-01"
most = 2
enforced = true
"""
JANUARY = "visited >= DATE '2024-01-01' AND visited < DATE '2024-02-01'"
SURE = 400.0
"""An epsilon at which noise is zero but for an event that nobody will see."""


def rows(person: bool = True) -> list[tuple[int, dt.date | None, int]]:  # noqa: FBT001, FBT002
    """Ten people in January and February; one more, who comes every month."""
    listed: list[tuple[int, dt.date | None, int]] = []
    for who in range(10):
        listed += [(who, dt.date(2024, 1, 31), 10), (who, dt.date(2024, 2, 1), 20)]
    listed += [(0, None, 500), (1, dt.date(2023, 12, 31), 500)]
    if person:
        listed += [(99, dt.date(2024, month, 15), 100) for month in range(1, 13)]
    return listed


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Curator]:
    """A clinic with an account by months."""
    monkeypatch.chdir(tmp_path)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE visits (patient BIGINT, visited DATE, cost BIGINT)")
        connection.executemany("INSERT INTO visits VALUES (?, ?, ?)", rows())
        connection.execute("COPY visits TO 'visits.parquet'")
        connection.execute(
            "COPY (SELECT DISTINCT patient, 40 AS age FROM visits) TO 'people.parquet'"
        )
    (tmp_path / "quaestor.toml").write_text(CATALOG, encoding="utf-8")
    with Curator.from_file() as curator:
        open_from_catalog(curator.catalog, "clinic", ledger=curator.ledger)
        yield curator


def asked(clinic: Curator, sql: str, **more: Any) -> Any:
    return clinic.ask(sql, **{"epsilon": SURE, **more})


def count(clinic: Curator, where: str = "") -> Any:
    condition = f" WHERE {where}" if where else ""
    answer = asked(clinic, f"SELECT COUNT(*) AS n FROM visits{condition}")
    return next(iter(answer.rows()))


def spent(clinic: Curator) -> set[str]:
    """The blocks that anything was charged to."""
    found = clinic.account("clinic").remaining()
    return {balance.block for balance in found if balance.spent}


def test_a_question_is_charged_to_the_months_it_can_reach(clinic: Curator) -> None:
    assert count(clinic, JANUARY) == {"n": 11}
    assert spent(clinic) == {"2024-01"}
    assert count(clinic, "visited BETWEEN DATE '2024-02-10' AND DATE '2024-03-31'") == {
        "n": 1  # who comes every month is in the first two only
    }
    assert spent(clinic) == {"2024-01", "2024-02", "2024-03"}


def test_without_a_condition_all_months_pay_and_undated_rows_do_not_count(clinic: Curator) -> None:
    assert count(clinic) == {"n": 22}
    assert spent(clinic) == set(clinic.account("clinic").blocks())


@pytest.mark.parametrize(
    ("where", "first", "last"),
    [
        (JANUARY, "2024-01", "2024-01"),
        ("visited = DATE '2024-03-31'", "2024-03", "2024-03"),
        ("DATE '2024-03-31' > visited", "2024-01", "2024-03"),
        ("visited > DATE '2024-03-31'", "2024-04", "2024-12"),
        ("visited IN (DATE '2024-05-01', DATE '2024-03-01')", "2024-03", "2024-05"),
        (f"({JANUARY}) OR visited = DATE '2024-03-01'", "2024-01", "2024-03"),
        (f"({JANUARY}) OR cost > 5", "2024-01", "2024-12"),
        (f"({JANUARY}) AND cost > 5", "2024-01", "2024-01"),
        (f"NOT ({JANUARY})", "2024-01", "2024-12"),
        ("CAST(CAST(visited AS TEXT) AS DATE) < DATE '2024-02-01'", "2024-01", "2024-12"),
        ("YEAR(visited) = 2024 AND MONTH(visited) = 1", "2024-01", "2024-12"),
        ("visited IS NULL", "2024-01", "2024-12"),
        ("visited <> DATE '2024-01-05'", "2024-01", "2024-12"),
    ],
)
def test_what_a_condition_reaches(clinic: Curator, where: str, first: str, last: str) -> None:
    query = plan(f"SELECT COUNT(*) FROM visits WHERE {where}", clinic.catalog)
    calendar = Calendar("month", "2024-01", None)
    labels = charged_blocks(query, clinic.catalog, calendar, last="2024-12").labels
    assert (labels[0], labels[-1]) == (first, last)


def test_dates_are_followed_through_sub_queries_and_unions(clinic: Curator) -> None:
    sql = (
        "SELECT COUNT(*) FROM (SELECT visited AS seen, cost FROM visits WHERE cost > 1) AS v "
        f"WHERE {JANUARY.replace('visited', 'seen')}"
    )
    calendar = Calendar("month", "2024-01", None)
    reached = charged_blocks(plan(sql, clinic.catalog), clinic.catalog, calendar, last="2024-12")
    assert reached.labels == ("2024-01",)


@pytest.mark.parametrize(
    "where",
    [
        "visited < DATE '2024-01-01'",
        "visited > DATE '2999-01-01'",
        f"{JANUARY} AND visited > DATE '2024-05-05'",
    ],
)
def test_where_nothing_is_left_to_charge_the_question_is_refused(
    clinic: Curator, where: str
) -> None:
    with pytest.raises(RefusedQuery, match="nothing to ask"):
        asked(clinic, f"SELECT COUNT(*) FROM visits WHERE {where}")
    assert not spent(clinic)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM people",
        "SELECT COUNT(*) FROM people LEFT JOIN visits ON people.patient = visits.patient",
        "SELECT COUNT(*) FROM (SELECT patient FROM visits UNION ALL SELECT patient FROM people) t",
    ],
)
def test_rows_of_no_month_are_refused(clinic: Curator, sql: str) -> None:
    with pytest.raises(RefusedQuery, match=r"rows belong to no month|UNION"):
        asked(clinic, sql)
    assert not spent(clinic)


def test_a_table_without_dates_is_asked_about_by_a_join(clinic: Curator) -> None:
    sql = (
        "SELECT COUNT(DISTINCT people.patient) AS n FROM people JOIN visits "
        f"ON people.patient = visits.patient WHERE {JANUARY}"
    )
    assert next(iter(asked(clinic, sql).rows())) == {"n": 11}
    assert spent(clinic) == {"2024-01"}


def test_nothing_of_other_months_is_read_even_if_the_reach_is_wrong(
    clinic: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is believed of a condition, no rows but those of the charged months count."""
    real = charged_blocks

    def wrong(query: Any, catalog: Any, calendar: Any, *, last: str) -> Any:
        del last
        return real(query, catalog, calendar, last="2024-01")

    monkeypatch.setattr("quaestor.curator.pipeline.charged_blocks", wrong)
    assert count(clinic) == {"n": 11}
    assert spent(clinic) == {"2024-01"}


def test_a_charge_to_other_blocks_than_are_measured_draws_nothing(
    clinic: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    from quaestor.curator.pricing.priced_question import Priced

    monkeypatch.setattr(Priced, "blocks", property(lambda _: ("2024-03",)))
    with pytest.raises(EngineFailed):
        count(clinic, JANUARY)


def test_a_full_month_is_named_and_the_others_go_on(clinic: Curator) -> None:
    account = clinic.account("clinic")
    account.reserve(PureDP(epsilon=900.0), blocks=["2024-02"])
    with pytest.raises(BudgetExceeded, match="too little left: 2024-02"):
        count(clinic, "visited < DATE '2024-04-01'")
    assert count(clinic, JANUARY)["n"] == 11


def test_a_preview_says_which_months_pay_and_which_has_the_least(clinic: Curator) -> None:
    clinic.account("clinic").reserve(PureDP(epsilon=10.0), blocks=["2024-02"])
    sql = "SELECT COUNT(*) FROM visits WHERE visited < DATE '2024-04-01'"
    shown = clinic.preview(sql, epsilon=1.0)
    assert shown.blocks == ("2024-01", "2024-02", "2024-03")
    assert any(
        "3 months pay" in note and "2024-02 has the least left" in note for note in shown.notes
    )
    assert any("rows without a date" in note for note in shown.notes)
    assert shown.to_dict()["blocks"] == list(shown.blocks)


def test_an_answer_says_what_counts_and_is_stored_for_its_months(clinic: Curator) -> None:
    sql = f"SELECT COUNT(*) AS n FROM visits WHERE {JANUARY}"
    first = asked(clinic, sql)
    assert any("only rows dated in 2024-01 count" in note for note in first.notes)
    assert all("in 2024-01" in meter for meter, _ in first.remaining)
    again = asked(clinic, sql)
    assert again.repeated
    assert list(again.rows()) == list(first.rows())


def test_when_a_month_turns_the_same_words_are_another_question(
    clinic: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, ends = charged_blocks, iter(("2024-01", "2024-02"))

    def turning(query: Any, catalog: Any, calendar: Any, *, last: str) -> Any:
        del last
        return real(query, catalog, calendar, last=next(ends))

    monkeypatch.setattr("quaestor.curator.pipeline.charged_blocks", turning)
    assert count(clinic) == {"n": 11}
    assert spent(clinic) == {"2024-01"}
    assert count(clinic) == {"n": 22}
    assert spent(clinic) == {"2024-01", "2024-02"}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('date = "visited"', 'date = "seen"', "not among the columns"),
        ('date = "visited"', 'date = "cost"', "is not a date"),
        ('every = "month"', 'every = "week"', "every must be one of"),
        ('first = "2024-01"', 'first = "2024"', "such as 2024-03"),
        ('first = "2024-01"\n', "", "first is missing"),
        ("most = 2\n", "", "the number of blocks"),
        ("most = 2", "most = 0", "from 1 to"),
        ('policy = "blocks"', 'policy = "open"', "belongs to the policy blocks"),
        ('blocks = { date = "visited", every = "month" }\n', "", "divided by time"),
    ],
)
def test_what_is_wrong_in_a_catalog_is_said(old: str, new: str, words: str) -> None:
    assert old in CATALOG
    with pytest.raises(InvalidCatalog, match=words):
        catalog_from_toml(CATALOG.replace(old, new), file="quaestor.toml", folder=".")


def test_blocks_are_kept_by_one_table_alone() -> None:
    second = 'dataset = "clinic"\nblocks = { date = "born", every = "month" }\n\n[tables.people.col'
    two = CATALOG.replace('dataset = "clinic"\n\n[tables.people.col', second)
    two = two.replace("age = {", 'born = "date"\nage = {')
    with pytest.raises(InvalidCatalog, match="exactly one table with dates"):
        catalog_from_toml(two, file="quaestor.toml", folder=".")
    believed = catalog_from_toml(two.replace("enforced = true\n", ""), file="x", folder=".")
    query = plan("SELECT COUNT(*) FROM visits", believed)
    with pytest.raises(RefusedQuery, match="by one table"):
        charged_blocks(query, believed, Calendar("month", "2024-01", 2), last="2024-12")
    uneven = two.replace('date = "born", every = "month"', 'date = "born", every = "year"')
    with pytest.raises(InvalidCatalog, match="divide all tables of a dataset in the same way"):
        catalog_from_toml(uneven, file="quaestor.toml", folder=".")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('{ date = "visited"', '{ date = "paid"'),
        ("[tables.visits", "[tables.stays"),
    ],
    ids=["another column", "another name"],
)
def test_dates_are_fixed_when_an_account_is_opened(tmp_path: Path, old: str, new: str) -> None:
    # one row, dated by two columns, would be paid for in two months
    text = CATALOG.replace('visited = "date"', 'visited = "date"\npaid = "date"')
    duckdb.sql(
        "COPY (SELECT 1 AS patient, DATE '2024-01-05' AS visited, DATE '2024-02-05' AS paid, 7 AS"
        f" cost) TO '{tmp_path}/visits.parquet'"
    )
    asked = "SELECT COUNT(*) FROM {} WHERE {} < DATE '2024-03-01'"
    with Ledger(tmp_path / "ledger.db") as ledger:
        before = catalog_from_toml(text, folder=str(tmp_path))
        open_from_catalog(before, "clinic", ledger=ledger)
        with Curator(before, ledger=ledger) as curator:
            curator.ask(asked.format("visits", "visited"), epsilon=SURE)
        after = catalog_from_toml(text.replace(old, new), folder=str(tmp_path))
        table = "stays" if "stays" in new else "visits"
        with (
            Curator(after, ledger=ledger) as curator,
            pytest.raises(RefusedQuery, match=r"opened for rows that are dated by visits\.visited"),
        ):
            curator.ask(asked.format(table, "paid" if "paid" in new else "visited"), epsilon=SURE)
        assert len(list(ledger.account("clinic").entries())) == 1


def test_a_table_with_blocks_is_written_as_it_is_read(clinic: Curator) -> None:
    table = clinic.catalog.table("visits")
    assert table is not None
    text = 'ledger = "ledger.db"\n' + table_to_toml(table)
    assert catalog_from_toml(text, file="x", folder=".").table("visits") == table


def test_a_catalog_can_turn_an_account_into_blocks(clinic: Curator) -> None:
    """The account before it may stay in the file: what it allowed is charged to the new one."""
    old = '[accounts.old]\nepsilon = 1.0\ndelta = 1e-7\ndatasets = ["clinic"]\n'
    text = CATALOG.replace("[accounts.clinic]", f'{old}\n[accounts.next]\npredecessor = "old"')
    catalog = catalog_from_toml(text, file="x", folder=".")
    with Ledger("other.db") as ledger:
        open_from_catalog(catalog, "old", ledger=ledger)
        with pytest.raises(InvalidParameter, match="so that its past is over"):
            open_from_catalog(catalog, "next", ledger=ledger)
        ledger.account("old").close()
        open_from_catalog(catalog, "next", ledger=ledger)
        account = ledger.account("next")
        assert {balance.spent for balance in account.remaining() if balance.meter == "epsilon"} == {
            1
        }
    with pytest.raises(InvalidCatalog, match="already pays"):
        catalog_from_toml(text.replace('predecessor = "old"\n', ""), file="x", folder=".")
    del clinic


@pytest.mark.usefixtures("clinic")
def test_what_was_approved_for_months_is_not_asked_of_a_later_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a condition a question reaches the present month, which is another one later."""
    (tmp_path / "strict").mkdir()
    strict = CATALOG.replace("[accounts.clinic]", "[accounts.clinic]\napproval = true")
    for file in ("visits.parquet", "people.parquet"):
        (tmp_path / "strict" / file).write_bytes((tmp_path / file).read_bytes())
    path = tmp_path / "strict" / "quaestor.toml"
    path.write_text(strict, encoding="utf-8")
    clock = Clock(monkeypatch)
    every, january = (
        "SELECT COUNT(*) AS n FROM visits",
        f"SELECT COUNT(*) AS n FROM visits WHERE {JANUARY}",
    )
    with Curator.from_file(path) as curator:
        account = curator.open_account("clinic")
        plan = [PlanQuestion(question=sql, epsilon=SURE) for sql in (every, january)]
        _, made = curator.submit_plan(plan, analyst="ann")
        _, alone = curator.submit(every, epsilon=SURE, analyst="ann", purpose="alone")
        for each in (made, alone):
            account.approve(each, by="bob")
        clock.ahead = 40 * 86400.0  # the next month has begun
        for each in (made, alone):
            with pytest.raises(ApprovalNeeded, match="a different request"):
                curator.ask(every, epsilon=SURE, analyst="ann", approval=each)
        with pytest.raises(ApprovalNeeded, match="it was approved for 2024-01 to"):
            curator.ask(every, epsilon=SURE, analyst="ann", approval=alone)
        assert account.state().entries == 0
        answer = curator.ask(january, epsilon=SURE, analyst="ann", approval=made)
        assert next(iter(answer.rows())) == {"n": 11}
        assert spent(curator) == {"2024-01"}
        account.verify()


def test_questions_together_are_paid_by_the_blocks_that_all_of_them_reach(clinic: Curator) -> None:
    january = f"SELECT COUNT(*) AS n FROM visits WHERE {JANUARY}"
    both = f"{january} UNION ALL SELECT COUNT(DISTINCT patient) FROM visits WHERE {JANUARY}"
    answer = asked(clinic, both)
    assert [row["n"] for row in answer.rows()] == [11, 11]
    (entry,) = clinic.account("clinic").entries()
    assert entry.blocks == ("2024-01",)
    with pytest.raises(RefusedQuery, match="different blocks of time"):
        asked(clinic, f"{january} UNION ALL SELECT SUM(cost) FROM visits")
    assert len(list(clinic.account("clinic").entries())) == 1
