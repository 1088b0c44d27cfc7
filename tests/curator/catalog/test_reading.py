"""What a catalog says when it is right."""

from __future__ import annotations

import math
import os
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quaestor import All, AtMost, InvalidCatalog, MissingAddress
from quaestor.curator.catalog import (
    Catalog,
    ColumnFacts,
    DashboardQuery,
    Source,
    Table,
    catalog_from_toml,
    find_catalog,
    read_catalog,
)
from quaestor.curator.language.query import Contribution
from tests.curator.catalog.examples import VISITS, documented, with_column

if TYPE_CHECKING:
    from pathlib import Path


def column(text: str) -> ColumnFacts:
    table = catalog_from_toml(with_column(f"x = {text}")).table("visits")
    assert table is not None
    found = table.column("x")
    assert found is not None
    return found


def test_a_small_catalog_is_read_whole() -> None:
    assert catalog_from_toml(VISITS) == Catalog(
        ledger="ledger.db",
        tables=(
            Table(
                name="visits",
                source=Source(engine="duckdb", files="visits.parquet"),
                unit="patient",
                contribution=Contribution(rows=20, groups=5),
                dataset="visits",
                columns=(
                    ColumnFacts(name="patient", kind="integer"),
                    ColumnFacts(name="age", kind="integer", low=0.0, high=120.0, granularity=1.0),
                    ColumnFacts(name="sex", kind="text", keys=("F", "M")),
                ),
            ),
        ),
    )


def test_the_documented_example_is_read_whole() -> None:
    catalog = catalog_from_toml(documented())
    assert [table.name for table in catalog.tables] == ["visits", "stays", "admissions", "wards"]
    assert [table.private for table in catalog.tables] == [True, True, True, False]
    assert catalog.datasets == ("north", "south")
    assert catalog.membership == All(AtMost(1, of=["north", "south"]))
    stays, admissions = catalog.table("STAYS"), catalog.table("admissions")
    assert stays is not None
    assert stays.source == Source(engine="duckdb", connection="clinic.duckdb", table="main.stays")
    assert admissions is not None
    assert admissions.source == Source(
        engine="postgres", connection="SOUTH_DATABASE", table="clinic.admissions"
    )
    research, yearbook, wall = catalog.accounts
    assert research.shares == (("ada", 0.6, 5e-7), ("*", 0.2, 1e-7))
    assert research.expected == ("Geometric(scale=100) * 50",)
    assert yearbook.plan == (("south", ("Laplace(scale=50) * 12", "Gaussian(sigma=100) * 4")),)
    assert wall.queries[1] == DashboardQuery(sql="SELECT AVG(age) FROM visits", rho=0.005)
    assert wall.beside
    assert catalog.account("wall") is wall
    assert catalog.account("hall") is None


def test_an_empty_catalog_declares_nothing() -> None:
    assert catalog_from_toml("") == Catalog(tables=(), ledger="ledger.db")


def test_an_account_pays_for_the_only_dataset_there_is() -> None:
    text = VISITS + "[accounts.all]\nepsilon = 1\ndelta = 0\n"
    assert catalog_from_toml(text).accounts[0].datasets == ("visits",)


def test_a_plan_may_name_its_datasets() -> None:
    text = (
        VISITS
        + '[accounts.a]\nepsilon = 1\ndelta = 0\npolicy = "planned"\n'
        + 'plan.visits = "PureDP(epsilon=0.1)"\n'
    )
    assert catalog_from_toml(text).accounts[0].plan == (("visits", ("PureDP(epsilon=0.1)",)),)


@pytest.mark.parametrize(
    ("lines", "source"),
    [
        ('file = "x.CSV"', Source(engine="duckdb", files="x.CSV")),
        ('engine = "duckdb"\nfile = "a/*.tsv.gz"', Source(engine="duckdb", files="a/*.tsv.gz")),
        (
            'database = "c.duckdb"',
            Source(engine="duckdb", connection="c.duckdb", table="visits"),
        ),
        ('environment = "PG"', Source(engine="postgres", connection="PG", table="visits")),
        (
            'master = "spark://host:7077"\ntable = "v"',
            Source(engine="spark", connection="spark://host:7077", table="v"),
        ),
        (
            'master = "sc://host"\nfile = "s3a://bucket/v.parquet"',
            Source(engine="spark", connection="sc://host", files="s3a://bucket/v.parquet"),
        ),
        ('master = "local[*]"', Source(engine="spark", connection="local[*]", table="visits")),
    ],
)
def test_the_place_of_a_table_says_its_engine(lines: str, source: Source) -> None:
    text = VISITS.replace('file = "visits.parquet"', lines)
    assert catalog_from_toml(text).tables[0].source == source


# Numbers.


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ('{ kind = "integer", keys = [3, -1] }', (3, -1)),
        ('{ kind = "real", keys = [3, 0.5, -0.0] }', (3.0, 0.5, 0.0)),
        ('{ kind = "boolean", keys = [true] }', (True,)),
        ('{ kind = "date", keys = [2026-01-31, "2026-02-01"] }', ("2026-01-31", "2026-02-01")),
        ('{ kind = "text", keys = ["", "a"], missing = true }', ("", "a", None)),
        ('{ kind = "real", low = 0, high = 1, granularity = 0.1, keys = [0.3] }', (0.3,)),
    ],
)
def test_keys_are_values_of_their_kind(text: str, keys: tuple[object, ...]) -> None:
    found = column(text).keys
    assert found == keys
    assert [type(key) for key in found or ()] == [type(key) for key in keys]


@example(ends=[999_999_986_991_104.0, 999_999_986_991_105.0])
@example(ends=[-1e15, -999_999_999_999_999.0])
@given(
    ends=st.lists(
        st.floats(min_value=-1e15, max_value=1e15), min_size=2, max_size=2, unique=True
    ).map(sorted)
)
def test_reals_without_a_granularity_get_steps_that_never_overflow(ends: list[float]) -> None:
    low, high = ends
    facts = column(f'{{ kind = "real", low = {low!r}, high = {high!r} }}')
    assert facts.low is not None
    assert facts.high is not None
    assert facts.granularity is not None
    step = Fraction(facts.granularity)
    first, last = Fraction(facts.low) / step, Fraction(facts.high) / step
    assert first.denominator == last.denominator == 1
    assert math.log2(facts.granularity).is_integer()
    assert max(abs(first), abs(last)) <= 2**24
    assert 1 <= last - first <= 2**20
    # outward, unless that would pass the largest size there is; and by less than a step
    least, most = Fraction(low), Fraction(high)
    below, above = Fraction(facts.low), Fraction(facts.high)
    assert least - step < below <= least or min(10**15 - above, 10**15 + below) < step
    assert most <= above < most + step or min(10**15 - above, 10**15 + below) < step
    assert max(abs(below), abs(above)) <= 10**15
    half = step / 2
    fewest = math.ceil(most / half) - math.floor(least / half)
    furthest = max(math.ceil(most / half), -math.floor(least / half))
    assert fewest > 2**20 or furthest > 2**24 or half < 2.0**-40  # half the step would not do


def test_decimal_steps_count_as_they_are_written() -> None:
    facts = column('{ kind = "real", low = 0.3, high = 12.7, granularity = 0.1 }')
    assert (facts.low, facts.high, facts.granularity) == (0.3, 12.7, 0.1)


# Files.


def test_a_catalog_is_found_from_below(tmp_path: Path) -> None:
    (tmp_path / "quaestor.toml").write_text(VISITS, encoding="utf-8")
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    assert find_catalog(deep) == (tmp_path / "quaestor.toml").resolve()
    nearer = tmp_path / "a" / "quaestor.toml"
    nearer.write_text("", encoding="utf-8")
    assert find_catalog(deep) == nearer.resolve()


def test_where_there_is_no_catalog_init_is_named(tmp_path: Path) -> None:
    if any((folder / "quaestor.toml").exists() for folder in tmp_path.parents):
        pytest.fail("a stray quaestor.toml lies above the temporary folder")
    with pytest.raises(InvalidCatalog, match="run  quaestor init") as caught:
        find_catalog(tmp_path)
    assert caught.value.line is None


def test_files_are_where_the_catalog_is(tmp_path: Path) -> None:
    path = tmp_path / "quaestor.toml"
    path.write_text(VISITS, encoding="utf-8")
    assert read_catalog(path) == read_catalog(tmp_path) == catalog_from_toml(VISITS)
    assert read_catalog(path).folder == str(tmp_path)
    assert read_catalog(path).ledger_address() == str(tmp_path / "ledger.db")


def test_the_address_of_a_ledger_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    catalog = catalog_from_toml('ledger = { environment = "QUAESTOR_TEST_LEDGER" }')
    assert catalog.ledger_environment == "QUAESTOR_TEST_LEDGER"
    monkeypatch.delenv("QUAESTOR_TEST_LEDGER", raising=False)
    with pytest.raises(MissingAddress, match="export QUAESTOR_TEST_LEDGER="):
        catalog.ledger_address()
    monkeypatch.setitem(os.environ, "QUAESTOR_TEST_LEDGER", "postgresql://somewhere/ledger")
    assert catalog.ledger_address() == "postgresql://somewhere/ledger"
