"""Questions in SQL about a clinic with and without one person: everything outside the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.curator.catalog.catalog_file import read_catalog
from tests.curator.hostile.people import fill_parquet, fill_postgres, rows
from tests.curator.hostile.verdict import asked, compared

if TYPE_CHECKING:
    from collections import Counter
    from pathlib import Path

    from quaestor.curator.catalog.model import Catalog

__all__ = ["QUESTIONS", "clinics_in_files", "clinics_on_postgres", "wrongs"]

_CATALOG = """
ledger = "ledger.db"

[tables.visits]
{visits}
unit = "patient"
rows = 2
groups = 2
dataset = "clinic"

[tables.visits.columns]
patient = "integer"
ward = {{ kind = "text", keys = ["A", "B", "C"], missing = true }}
city = "text"
age = {{ kind = "integer", low = 0, high = 120 }}
cost = {{ kind = "real", low = 0, high = 1000, granularity = 0.5 }}
weight = "real"
code = "integer"
note = "text"
smoker = "boolean"
day = "date"

[tables.labs]
{labs}
unit = "patient"
rows = 2
groups = 2
total_rows = 5
dataset = "clinic"

[tables.labs.columns]
patient = "integer"
value = {{ kind = "real", low = -5, high = 5, granularity = 0.5 }}
test = {{ kind = "text", keys = ["iron", "zinc"] }}

[tables.wards]
{wards}
public = true

[tables.wards.columns]
ward_name = "text"
level = {{ kind = "integer", low = 0, high = 3 }}

[accounts.analyst]
epsilon = 1000.0
delta = 1e-6
"""
_TEXT = r"""
SELECT COUNT(*) FROM visits;
SELECT COUNT(DISTINCT patient) FROM visits;
SELECT COUNT(*) FROM visits WHERE age > 40 AND cost <= 900;
SELECT COUNT(*) FROM visits WHERE NOT (city = 'Hapax') OR note LIKE '%a%';
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward;
SELECT ward, SUM(cost) AS n, COUNT(cost) AS m FROM visits WHERE ward IS NOT NULL GROUP BY ward;
SELECT ward, smoker, COUNT(*) AS n FROM visits GROUP BY ward, smoker;
SELECT city, COUNT(*) AS n, SUM(age) AS s FROM visits GROUP BY city;
SELECT city, COUNT(*) FROM visits WHERE city IN ('Rome', 'rome', 'Rome ', 'Hapax') GROUP BY city;
SELECT code, COUNT(*) FROM visits WHERE code IN (1, 2, 3) GROUP BY code;
SELECT SUM(age), AVG(age), STDDEV(age) FROM visits;
SELECT AVG(cost) AS a, VARIANCE(cost) AS v, SUM(cost) AS s FROM visits;
SELECT SUM(CLAMP(weight, 0, 100)) FROM visits;
SELECT SUM(CLAMP(weight, -10, 10)) AS a, SUM(CLAMP(code, -3, 7)) AS b FROM visits;
SELECT SUM(age * 2 - 10), SUM(ABS(age - 60)), SUM(cost / 7) FROM visits;
SELECT SUM(CLAMP(LN(age), 0, 5)), SUM(SQRT(cost)), SUM(CLAMP(EXP(age / 100.0), 0, 3)) FROM
    visits;
SELECT SUM(CASE WHEN smoker THEN age ELSE 0 - cost END) FROM visits;
SELECT SUM(CLAMP(CAST(note AS DOUBLE), 0, 9)) AS s, COUNT(CAST(note AS INTEGER)) AS n FROM
    visits;
SELECT SUM(age) FROM visits WHERE age BETWEEN 30 AND 50;
SELECT SUM(cost) FROM visits WHERE cost < 100 AND 50 < cost;
SELECT SUM(age % 7), SUM(ROUND(cost)), SUM(FLOOR(cost / 10)) FROM visits;
SELECT SUM(LEAST(age, 50)), SUM(GREATEST(age, 50)), SUM(COALESCE(age, 18)) FROM visits;
SELECT SUM(LENGTH(SUBSTRING(note, 1, 3))), SUM(SIGN(age - 50)) FROM visits;
SELECT MEDIAN(age) AS a, QUANTILE(cost, 0.9) AS b FROM visits;
SELECT ward, MEDIAN(cost) AS a FROM visits GROUP BY ward;
SELECT COUNT(DISTINCT city), COUNT(DISTINCT code) FROM visits;
SELECT FLOOR(age / 10) AS decade, COUNT(*) FROM visits GROUP BY decade;
SELECT YEAR(day) AS y, COUNT(*) FROM visits GROUP BY y;
SELECT UPPER(city) AS u, COUNT(*) FROM visits GROUP BY UPPER(city);
SELECT age > 40 AS old, COUNT(*) FROM visits GROUP BY age > 40;
SELECT CASE WHEN age < 30 THEN 'young' ELSE 'old' END AS a, COUNT(*) FROM visits GROUP BY 1;
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 2;
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 10 ORDER BY n;
SELECT ward, COUNT(*) AS n FROM visits JOIN labs USING (patient) GROUP BY ward;
SELECT test, SUM(value) AS s, COUNT(*) AS n FROM labs JOIN visits ON labs.patient =
    visits.patient WHERE age > 30 GROUP BY test;
SELECT test, AVG(age) AS s FROM visits AS v LEFT JOIN labs AS l ON v.patient = l.patient GROUP
    BY test;
SELECT level, COUNT(*) AS n FROM visits JOIN wards ON ward = ward_name GROUP BY level;
SELECT SUM(level) AS n, COUNT(level) FROM visits LEFT JOIN wards ON ward = ward_name;
SELECT COUNT(*) FROM (SELECT cost AS age, age AS cost, ward AS u FROM visits) AS t WHERE age > 9;
SELECT u, SUM(c0) AS g FROM (SELECT city AS u, age AS c0 FROM visits) AS t GROUP BY u;
WITH t AS (SELECT value * 2 AS x, test FROM labs WHERE value > -4) SELECT test, SUM(x) AS s FROM
    t GROUP BY test;
SELECT "Patient" , COUNT(*) AS n FROM (SELECT ward AS "Patient", age FROM visits) AS t GROUP BY
    "Patient";
SELECT SUM(value) AS s, AVG(value) AS a FROM labs WHERE test = 'iron';
SELECT COUNT(*) FROM visits WHERE day >= DATE '2024-03-01' AND MONTH(day) IN (3, 4, 5)
"""
QUESTIONS = tuple(" ".join(question.split()) for question in _TEXT.split(";"))
"""Of all that can be asked; some are refused, and then with and without the person."""


def _written(folder: Path, places: dict[str, str]) -> Catalog:
    path = folder / "quaestor.toml"
    path.write_text(_CATALOG.format(**places), encoding="utf-8")
    return read_catalog(path)


def clinics_in_files(folder: Path) -> tuple[Catalog, Catalog]:
    """With and without the person, in Parquet files."""
    made = []
    for name, target in (("with", True), ("without", False)):
        (inside := folder / name).mkdir()
        fill_parquet(inside, rows(target=target))
        tables = ("visits", "labs", "wards")
        made.append(_written(inside, {table: f'file = "{table}.parquet"' for table in tables}))
    return made[0], made[1]


def clinics_on_postgres(folder: Path, addresses: dict[str, str]) -> tuple[Catalog, Catalog]:
    """With and without the person, in databases whose addresses the environment holds."""
    made = []
    for (name, target), (variable, address) in zip(
        (("with", True), ("without", False)), addresses.items(), strict=True
    ):
        (inside := folder / name).mkdir()
        fill_postgres(address, rows(target=target))
        place = f'environment = "{variable}"'
        made.append(_written(inside, dict.fromkeys(("visits", "labs", "wards"), place)))
    return made[0], made[1]


def wrongs(clinics: tuple[Catalog, Catalog], cases: Counter[str]) -> list[str]:
    """What the answers show of the person beyond what noise is priced for."""
    found = []
    for sql in QUESTIONS:
        one, other = (asked(catalog, sql) for catalog in clinics)
        if one.broken is not None and one == other:  # wrong, and no less private
            cases["broken"] += 1
            continue
        cases["answered" if one.answered else "refused"] += 1
        found += [f"{sql}: {each.kind}: {each.words}" for each in compared(one, other)]
        if one.seen is not None and one.seen.failed:
            found.append(f"{sql}: fails")
    return found
