"""The ``init`` and ``dataset`` commands: from a file of data to a catalog."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from quaestor.cli.commands.catalog import dataset
from quaestor.curator.catalog import ColumnFacts, Source, read_catalog
from quaestor.curator.language.query import Contribution

if TYPE_CHECKING:
    from tests.cli.running import Run

CLI_REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
VISITS = ("dataset", "add", "visits", "--file", "visits.parquet")
PATIENTS = ("--unit", "patient", "--rows", "20", "--groups", "5")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table in it, where the commands are called."""
    monkeypatch.chdir(tmp_path)
    rows = duckdb.sql(
        "SELECT 1 AS patient, 30 AS age, 'F' AS sex, 70.5::DOUBLE AS weight,"
        " TIMESTAMP '2026-01-31 07:00:00' AS visited, 8100 AS cost, [1] AS readings"
    )
    rows.write_parquet("visits.parquet")
    return tmp_path


def words(text: str) -> str:
    """The text without frames and line ends."""
    return " ".join(re.sub(r"[│┃┏┓┗┛━─┡┩╇┳└┘┴|]", " ", text).split())


def test_a_file_becomes_a_catalog_in_two_commands(quaestor: Run, folder: Path) -> None:
    first = quaestor("init")
    assert (first.status, first.err) == (0, "")
    assert "Wrote quaestor.toml" in first.out
    second = quaestor(
        *VISITS,
        *PATIENTS,
        *("--bounds", "age=0:120", "--bounds", "weight=0:300", "--granularity", "weight=0.1"),
        *("--keys", "sex=F,M", "--kind", "cost=real"),
    )
    assert (second.status, second.err) == (0, "")
    table = read_catalog(folder).tables[0]
    assert table.source == Source(engine="duckdb", files="visits.parquet")
    assert (table.unit, table.dataset) == ("patient", "visits")
    assert table.contribution == Contribution(rows=20, groups=5)
    assert table.columns == (
        ColumnFacts(name="patient", kind="integer"),
        ColumnFacts(name="age", kind="integer", low=0.0, high=120.0, granularity=1.0),
        ColumnFacts(name="sex", kind="text", keys=("F", "M")),
        ColumnFacts(name="weight", kind="real", low=0.0, high=300.0, granularity=0.1),
        ColumnFacts(name="visited", kind="timestamp"),
        ColumnFacts(name="cost", kind="real"),
    )
    said = words(second.out)
    assert (
        "privacy unit patient, at most 20 rows in each of 5 groups, charged to dataset visits"
    ) in said
    assert "0 to 300 in steps of 0.1" in said
    assert "SUM, AVG, VARIANCE and MEDIAN need bounds" in said
    assert "Left out, because their types or names are not supported: readings" in said


def test_programs_get_all_of_it(quaestor: Run, folder: Path) -> None:
    assert quaestor("init", "--json").json == {"catalog": "quaestor.toml"}
    added = quaestor(*VISITS, *PATIENTS, "--keys", "sex=F,M", "--json").json
    assert (added.pop("left_out"), added.pop("notes")) == (["readings"], [])
    assert quaestor("dataset", "show", "VISITS", "--json").json == added
    path = str((folder / "quaestor.toml").resolve())
    assert added.pop("catalog") == path
    assert quaestor("dataset", "list", "--json").json == {"catalog": path, "tables": [added]}
    assert added["columns"][2] == {
        "name": "sex",
        "kind": "text",
        "low": None,
        "high": None,
        "granularity": None,
        "keys": ["F", "M"],
    }
    assert [entry["column"] for entry in added["missing"]] == ["age", "weight", "visited", "cost"]
    assert (added["unit"], added["rows"], added["groups"]) == ("patient", 20, 5)


def test_people_see_the_tables_and_a_table(quaestor: Run, folder: Path) -> None:
    quaestor("init")
    assert "has no tables yet" in quaestor("dataset", "list").out
    quaestor(*VISITS, *PATIENTS, "--dataset", "clinic [north]")
    (folder / "wards.csv").write_text("ward,beds\nA,10\n", encoding="utf-8")
    quaestor("dataset", "add", "wards", "--file", "wards.csv", "--public", "--bounds", "beds=0:99")
    listed = words(quaestor("dataset", "list").out)
    assert "visits patient 20 rows in each of 5 groups clinic [north] 6 visits.parquet" in listed
    assert "wards public - - 2 wards.csv" in listed
    shown = words(quaestor("dataset", "show", "wards").out)
    assert "public: its rows are not about people" in shown
    assert "beds real 0 to 99" in shown  # bounds say that text in a CSV file is a number
    assert "ward text" in shown
    assert "still missing" in shown


def test_many_keys_are_not_all_shown(quaestor: Run, folder: Path) -> None:
    quaestor("init")
    numbers = ",".join(map(str, range(100)))
    run = quaestor(*VISITS, *PATIENTS, "--keys", f"age={numbers}")
    assert "keys 0, 1, 2, 3, 4, 5 and 94 more" in words(run.out)
    column = read_catalog(folder).tables[0].column("age")
    assert column is not None
    assert column.keys == tuple(range(100))


def test_files_are_named_as_seen_from_the_catalog(
    quaestor: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "data").mkdir()
    (folder / "visits.parquet").rename(folder / "data" / "visits.parquet")
    quaestor("init")
    monkeypatch.chdir(folder / "data")
    assert quaestor(*VISITS, *PATIENTS).status == 0
    assert read_catalog(folder).tables[0].source.files == "data/visits.parquet"
    assert "data/visits.parquet" in quaestor("dataset", "list").out


def test_a_catalog_can_be_named(quaestor: Run, folder: Path) -> None:
    quaestor("init", "elsewhere")
    run = quaestor(*VISITS, *PATIENTS, "--catalog", "elsewhere", "--json")
    assert run.json["catalog"] == str(Path("elsewhere") / "quaestor.toml")
    assert read_catalog(folder / "elsewhere").tables[0].source.files == "../visits.parquet"
    listed = quaestor("dataset", "list", "--catalog", "elsewhere/quaestor.toml", "--json")
    assert len(listed.json["tables"]) == 1


def test_a_table_of_a_database_is_added(quaestor: Run, folder: Path) -> None:
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.execute("CREATE TABLE all_visits (patient VARCHAR, nights INTEGER)")
    quaestor("init")
    place = ("--database", "clinic.duckdb", "--table", "all_visits", "--engine", "duckdb")
    run = quaestor("dataset", "add", "visits", *place, *PATIENTS)
    assert run.status == 0
    source = Source(engine="duckdb", connection="clinic.duckdb", table="all_visits")
    assert read_catalog(folder).tables[0].source == source


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((*VISITS,), "invalid_parameter", "or give --public"),
        ((*VISITS, *PATIENTS, "--public"), "invalid_parameter", "left out for a --public table"),
        ((*VISITS, "--unit", "patient", "--groups", "1"), "invalid_parameter", "--rows must be"),
        ((*VISITS, *PATIENTS, "--groups", "0"), "invalid_parameter", "--groups must be given"),
        ((*VISITS, "--unit", "Patient", *PATIENTS[2:]), "invalid_catalog", "mean 'patient'?"),
        ((*VISITS, *PATIENTS, "--bounds", "agee=0:1"), "invalid_parameter", "mean 'age'?"),
        ((*VISITS, *PATIENTS, "--bounds", "age"), "invalid_parameter", "COLUMN=0:120"),
        ((*VISITS, *PATIENTS, "--bounds", "age=0"), "invalid_parameter", "such as 0:120"),
        ((*VISITS, *PATIENTS, "--bounds", "age=0:x"), "invalid_parameter", "must be a number"),
        ((*VISITS, *PATIENTS, "--bounds", "age=0:inf"), "invalid_catalog", "not inf"),
        ((*VISITS, *PATIENTS, "--bounds", "age=0:nan"), "invalid_catalog", "not nan"),
        ((*VISITS, *PATIENTS, "--bounds", "age=9:1"), "invalid_catalog", "must be below high"),
        ((*VISITS, *PATIENTS, "--granularity", "age=0.5"), "invalid_catalog", "high are missing"),
        ((*VISITS, *PATIENTS, "--granularity", "age=x"), "invalid_parameter", "must be a number"),
        ((*VISITS, *PATIENTS, "--keys", "age=a,b"), "invalid_parameter", "of kind integer"),
        ((*VISITS, *PATIENTS, "--keys", "sex=F,F"), "invalid_catalog", "'F' is listed twice"),
        ((*VISITS, *PATIENTS, "--keys", "sex=F", "--keys", "sex=M"), "invalid_parameter", "once"),
        ((*VISITS, *PATIENTS, "--keys", "visited=soon"), "invalid_parameter", "of kind timestamp"),
        (
            (*VISITS, *PATIENTS, "--keys", "visited=2024-01-11T08:30+02:00"),
            "invalid_parameter",
            "of kind timestamp",
        ),
        ((*VISITS, *PATIENTS, "--kind", "age=number"), "invalid_parameter", "one of integer"),
        ((*VISITS, *PATIENTS, "--engine", "spark"), "invalid_catalog", "needs master"),
        ((*VISITS, *PATIENTS, "--table", "x"), "invalid_catalog", "cannot be combined"),
        (("dataset", "add", "v", *PATIENTS), "invalid_catalog", "place of the table is missing"),
        (("dataset", "add", "order", *VISITS[3:], *PATIENTS), "invalid_catalog", "reserved"),
        (
            ("dataset", "add", "v", "--file", "no.csv", *PATIENTS),
            "unreadable_table",
            "no such file",
        ),
        (
            ("dataset", "add", "v", "--environment", "NO_SUCH", *PATIENTS),
            "missing_address",
            "export",
        ),
        (("dataset", "show", "visit"), "invalid_parameter", "see  quaestor dataset list"),
        (("init",), "invalid_catalog", "a catalog already exists"),
        (("dataset", "list", "--catalog", "no.toml"), "invalid_catalog", "quaestor init"),
    ],
)
def test_bad_input_ends_with_status_2_and_changes_nothing(
    quaestor: Run, folder: Path, arguments: tuple[str, ...], code: str, message: str
) -> None:
    quaestor("init")
    before = (folder / "quaestor.toml").read_bytes()
    run = quaestor(*arguments, "--json")
    assert run.status == 2
    assert run.error["code"] == code
    assert message in run.error["message"]
    plain = quaestor(*arguments)
    assert plain.status == 2
    assert plain.err.startswith("quaestor: ")
    assert (folder / "quaestor.toml").read_bytes() == before


def test_a_wrong_catalog_is_named_with_its_line(quaestor: Run, folder: Path) -> None:
    (folder / "quaestor.toml").write_text("[tables.visits]\nfiel = 'a.csv'\n", encoding="utf-8")
    for arguments in (("dataset", "list"), ("dataset", "show", "visits"), (*VISITS, *PATIENTS)):
        error = quaestor(*arguments, "--json").error
        assert (error["code"], error["line"]) == ("invalid_catalog", 2)
        assert error["remedy"] == "did you mean 'file'?"
        assert "quaestor.toml, line 2: table 'visits': unknown key" in quaestor(*arguments).err


def test_a_near_name_is_offered(quaestor: Run, folder: Path) -> None:
    assert folder.is_dir()
    quaestor("init")
    quaestor(*VISITS, *PATIENTS)
    assert "did you mean 'visits'?" in quaestor("dataset", "show", "vists").err
    again = quaestor(*VISITS, *PATIENTS)
    assert again.status == 2
    assert "table 'visits' already exists" in again.err


def test_columns_whose_names_cannot_be_written_are_left_out(quaestor: Run, folder: Path) -> None:
    heading = f'patient,"a ""quoted"" one",quaestor_x,{"x" * 64}\n'
    (folder / "v.csv").write_text(heading, encoding="utf-8")
    quaestor("init")
    added = quaestor("dataset", "add", "v", "--file", "v.csv", *PATIENTS, "--json").json
    assert [column["name"] for column in added["columns"]] == ["patient"]
    assert added["left_out"] == ['a "quoted" one', "quaestor_x", "x" * 64]


# What holds for all commands.


def test_every_dataset_command_takes_json_and_is_documented(quaestor: Run) -> None:
    reference = CLI_REFERENCE.read_text(encoding="utf-8")
    for command in dataset.registered_commands:
        shown = quaestor("dataset", str(command.name), "--help")
        assert shown.status == 0
        assert "--json" in shown.out
        assert command.callback is not None
        assert words(str(command.callback.__doc__).splitlines()[0]) in words(shown.out)
        assert f"`dataset {command.name}`" in reference
        for option in set(re.findall(r"--[a-z]+", shown.out)) - {"--help"}:
            assert option in reference, (command.name, option)


def test_the_accountant_does_without_the_catalog() -> None:
    code = (
        "import sys, quaestor.cli.app\n"
        "print([name for name in sys.modules if name.startswith('quaestor.curator')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    assert done.stdout == "[]\n"


def test_reading_a_catalog_starts_no_engine(folder: Path) -> None:
    code = (
        "import sys\nfrom quaestor.curator.catalog import read_catalog\n"
        "read_catalog(sys.argv[1])\n"
        "heavy = ('duckdb', 'ibis', 'pyspark', 'psycopg', 'pandas', 'pyarrow', 'sqlalchemy')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    (folder / "quaestor.toml").write_text("", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    assert done.stdout == "[]\n"
