"""Questions in Python, our own way and ibis's, are the questions that SQL asks."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import ibis
import pytest
from ibis import _

from quaestor.curator.aggregates.paired_numbers import (
    correlation,
    covariance,
    covariance_of_all,
    intercept,
    slope,
)
from quaestor.curator.builder.tables import (
    Question,
    absolute,
    case,
    clamp,
    coalesce,
    col,
    count,
    count_distinct,
    exp,
    floor,
    greatest,
    least,
    ln,
    lower,
    mean,
    median,
    month,
    quantile,
    rounded,
    sqrt,
    stddev,
    table,
    total,
    upper,
    variance,
    year,
)
from quaestor.curator.pricing.priced_question import plan
from quaestor.curator.questions.stored_form import fingerprint
from quaestor.curator.sql import parse
from quaestor.curator.sql.from_ibis import from_ibis, ibis_table
from quaestor.errors import RefusedQuery
from tests.curator.sql.hospital import CATALOG

VISITS = table("visits")
PAIRS: list[tuple[Question, str]] = [
    (VISITS.aggregate(n=count()), "SELECT COUNT(*) AS n FROM visits"),
    (
        VISITS.where(col("age") >= 18, col("smoker"))
        .group_by("sex", decade=floor(col("age") / 10))
        .aggregate(people=count(), cost=mean("cost"))
        .having(col("people") > 100)
        .order_by("cost", descending=True)
        .limit(5),
        (
            "SELECT sex, FLOOR(age / 10) AS decade, COUNT(*) AS people, AVG(cost) AS cost "
            "FROM visits "
            "WHERE age >= 18 AND smoker GROUP BY sex, decade HAVING people > 100 "
            "ORDER BY 4 DESC LIMIT 5"
        ),
    ),
    (
        VISITS.group_by("age").aggregate(n=count()).order_by("n", descending=True).limit(3),
        "SELECT age, COUNT(*) AS n FROM visits GROUP BY age ORDER BY n DESC LIMIT 3",
    ),
    (
        VISITS.where((col("sex") == "F") | ~col("smoker") & (col("age") != 3)).aggregate(
            a=total("age") / count(), b=count_distinct("patient"), c=count("city")
        ),
        (
            "SELECT SUM(age) / COUNT(*) AS a, COUNT(DISTINCT patient) AS b, COUNT(city) AS c "
            "FROM visits WHERE sex = 'F' OR NOT smoker AND age <> 3"
        ),
    ),
    (
        VISITS.where(
            col("city").isin("Rome", "Oslo"),
            col("city").like("R%"),
            ~col("code").is_null(),
            col("day") > dt.date(2020, 1, 31),
            col("day") < "2021-01-31",
            col("age").between(3, 9),
        )
        .group_by("city")
        .aggregate(a=median("cost"), b=quantile("cost", 0.9), c=variance("age"), d=stddev("age")),
        (
            "SELECT city, MEDIAN(cost) AS a, QUANTILE(cost, 0.9) AS b, VARIANCE(age) AS c, "
            "STDDEV(age) AS d FROM visits WHERE city IN ('Rome', 'Oslo') AND city LIKE 'R%' AND "
            "code IS NOT NULL AND day > DATE '2020-01-31' AND day < '2021-01-31' "
            "AND age BETWEEN 3 AND 9 GROUP BY city"
        ),
    ),
    (
        VISITS.aggregate(
            a=correlation("age", col("cost") + 1),
            b=covariance("age", "cost"),
            c=covariance_of_all("age", "cost"),
            d=slope("cost", "age"),
            e=intercept("cost", "age"),
        ),
        (
            "SELECT CORR(age, cost + 1) AS a, COVAR_SAMP(age, cost) AS b, "
            "COVAR_POP(age, cost) AS c, REGR_SLOPE(cost, age) AS d, "
            "REGR_INTERCEPT(cost, age) AS e FROM visits"
        ),
    ),
    (
        VISITS.aggregate(
            a=mean(clamp(col("weight"), 0, 100)),
            b=total(least(col("age"), 50) - greatest(col("age"), 7) * 2),
            c=total(case((col("smoker"), 1), otherwise=0)),
            d=total(case((col("smoker"), col("cost")))),
            e=mean(sqrt(absolute(-col("change"))) + rounded(col("cost") / 3)),
            f=mean(coalesce(col("age"), 0) % 5 + month(col("day"))),
            g=mean(ln(col("cost") + 1) + exp(col("change") / 10)),
            h=total(col("smoker").cast("integer")),
        ),
        (
            "SELECT AVG(CLAMP(weight, 0, 100)) AS a, "
            "SUM(LEAST(age, 50) - GREATEST(age, 7) * 2) AS b, "
            "SUM(CASE WHEN smoker THEN 1 ELSE 0 END) AS c, "
            "SUM(CASE WHEN smoker THEN cost END) AS d, "
            "AVG(SQRT(ABS(-change)) + ROUND(cost / 3)) AS e, "
            "AVG(COALESCE(age, 0) % 5 + MONTH(day)) AS f, "
            "AVG(LN(cost + 1) + EXP(change / 10)) AS g, "
            "SUM(CAST(smoker AS INTEGER)) AS h FROM visits"
        ),
    ),
    (
        VISITS.join(table("cities"), "city").group_by("region").aggregate(n=count()),
        "SELECT region, COUNT(*) AS n FROM visits JOIN cities USING (city) GROUP BY region",
    ),
    (
        table("visits", "v")
        .join(table("labs", "l"), ("patient", "patient"), how="left")
        .where(col("l.value") > 0, upper(lower(col("v.city"))) == "ROME")
        .aggregate(n=count()),
        (
            "SELECT COUNT(*) AS n FROM visits v LEFT JOIN labs l ON v.patient = l.patient "
            "WHERE l.value > 0 AND UPPER(LOWER(v.city)) = 'ROME'"
        ),
    ),
    (
        VISITS.select("sex", double=2 * col("age"), born=2026 - year(col("day")))
        .where(col("double") > 30)
        .group_by("sex")
        .aggregate(x=mean("double"), y=mean(clamp(col("born"), 0, 20))),
        (
            "SELECT sex, AVG(double) AS x, AVG(CLAMP(born, 0, 20)) AS y FROM "
            "(SELECT sex, 2 * age AS double, 2026 - YEAR(day) AS born FROM visits) "
            "WHERE double > 30 "
            "GROUP BY sex"
        ),
    ),
    (VISITS.group_by("city").aggregate(), "SELECT city FROM visits GROUP BY city"),
]


@pytest.mark.parametrize(("question", "text"), PAIRS, ids=[text[:60] for _, text in PAIRS])
def test_the_builder_asks_what_sql_asks(question: Question, text: str) -> None:
    query = plan(question, CATALOG)
    assert fingerprint(query) == fingerprint(parse(text, CATALOG))
    assert [o.name for o in query.outputs] == [o.name for o in parse(text, CATALOG).outputs]


REFUSED: list[tuple[Any, str]] = [
    (lambda: VISITS.aggregate(m=mean("weight")), "no bounds"),
    (lambda: VISITS.group_by("patient").aggregate(n=count()), "one group per person"),
    (lambda: VISITS.group_by("cost").aggregate(n=count()), "real number"),
    (lambda: VISITS.group_by("sex").aggregate(sex=count()), "two outputs have the same name"),
    (lambda: VISITS.group_by("sex").aggregate(), "known from the catalog"),
    (lambda: VISITS.aggregate(n=col("age")), "neither a key nor an output"),
    (lambda: VISITS.aggregate(n=count()).having(col("m") > 3), "neither a key nor an output"),
    (lambda: VISITS.aggregate(n=count()).having(col("n") + 3), "condition"),
    (lambda: VISITS.where(count() > 3).aggregate(n=count()), "where single rows are evaluated"),
    (
        lambda: VISITS.where(col("age") > "a").aggregate(n=count()),
        "whole number with a text",
    ),
    (lambda: VISITS.where(col("age") == None).aggregate(n=count()), "NULL"),  # noqa: E711
    (lambda: VISITS.where(col("age").isin(1, None)).aggregate(n=count()), "other than None"),
    (lambda: VISITS.where(col("age").isin(col("cost"))).aggregate(n=count()), "constants"),
    (lambda: VISITS.where(col("age") > 10**16).aggregate(n=count()), "10^15"),
    (lambda: VISITS.where(col("age") > -math.inf).aggregate(n=count()), "10^15"),
    (lambda: VISITS.where(col("agee") > 1).aggregate(n=count()), "did you mean 'age'"),
    (lambda: VISITS.where(col("v.age") > 1).aggregate(n=count()), "there is no table"),
    (lambda: VISITS.where(col("age")).aggregate(n=count()), "true or false"),
    (lambda: VISITS.where(col("age") > 1 and col("age") < 3), "cannot be used with and, or, not"),
    (lambda: VISITS.where(col("age") > b"a").aggregate(n=count()), "not a constant"),  # type: ignore[operator]
    (lambda: VISITS.aggregate(n=quantile("age", 2)), "from 0 to 1"),
    (lambda: VISITS.aggregate(n=count()).limit(0), "at least 1"),
    (lambda: table("visit").aggregate(n=count()), "did you mean 'visits'"),
    (lambda: table("cities").aggregate(n=count()), "public"),
    (lambda: VISITS.join(table("staff"), "city").aggregate(n=count()), "datasets"),
    (lambda: VISITS.join(table("labs"), ("code", "patient")).aggregate(n=count()), "two people"),
]


@pytest.mark.parametrize(("make", "reason"), REFUSED, ids=[reason for _, reason in REFUSED])
def test_the_builder_refuses_what_sql_refuses(make: Any, reason: str) -> None:
    with pytest.raises(RefusedQuery) as caught:
        make().query(CATALOG)
    assert reason in str(caught.value)
    assert caught.value.remedy
    assert caught.value.line is None


def test_a_term_without_end_is_refused() -> None:
    deep = col("age")
    for _depth in range(3_000):
        deep = absolute(deep)
    with pytest.raises(RefusedQuery, match="deeply"):
        VISITS.where(deep > 1).aggregate(n=count()).query(CATALOG)


def ibis_pairs() -> list[tuple[Any, str]]:
    visits, cities = ibis_table(CATALOG, "Visits"), ibis_table(CATALOG, "cities")
    return [
        (visits.aggregate(n=visits.count()), "SELECT COUNT(*) AS n FROM visits"),
        (
            visits.filter(visits.age > 30)
            .group_by("sex")
            .aggregate(n=_.count(), m=_.cost.mean(), u=_.patient.nunique(), s=_.cost.std()),
            (
                "SELECT sex, COUNT(*) AS n, AVG(cost) AS m, COUNT(DISTINCT patient) AS u, "
                "STDDEV(cost) AS s FROM visits WHERE age > 30 GROUP BY sex"
            ),
        ),
        (
            visits.group_by("age")
            .aggregate(n=_.count())
            .filter(_.n > 10)
            .order_by(ibis.desc("n"))
            .limit(3),
            "SELECT age, COUNT(*) n FROM visits GROUP BY age HAVING n > 10 ORDER BY n DESC LIMIT 3",
        ),
        (
            visits.group_by("age").aggregate(n=_.count()).order_by(ibis.desc("n")).limit(3),
            "SELECT age, COUNT(*) AS n FROM visits GROUP BY age ORDER BY n DESC LIMIT 3",
        ),
        (
            visits.group_by("sex").aggregate(n=_.count(), s=_.age.sum()).mutate(m=_.s / _.n),
            (
                "SELECT sex, COUNT(*) AS n, SUM(age) AS s, SUM(age) / COUNT(*) AS m FROM visits "
                "GROUP BY sex"
            ),
        ),
        (
            visits.filter(visits.day > ibis.date(2020, 1, 31)).aggregate(
                x=visits.age.quantile(0.9)
            ),
            "SELECT QUANTILE(age, 0.9) AS x FROM visits WHERE day > DATE '2020-01-31'",
        ),
        (
            visits.join(cities, "city").group_by("region").aggregate(n=_.count()),
            "",
        ),
        (visits.aggregate(x=_.weight.clip(0, 90).mean()), ""),
        (visits.mutate(d=(visits.age / 10).floor()).group_by("d").aggregate(n=_.count()), ""),
    ]


@pytest.mark.parametrize(("expression", "text"), ibis_pairs(), ids=range(len(ibis_pairs())))
def test_ibis_asks_what_sql_asks(expression: Any, text: str) -> None:
    query = from_ibis(expression, CATALOG, rows=3)
    assert query.contribution.rows == 3
    if text:
        assert fingerprint(query) == fingerprint(parse(text, CATALOG, rows=3))


def test_ibis_bounds_are_seen_through_its_way_of_clipping() -> None:
    visits = ibis_table(CATALOG, "visits")
    (mean_of,) = from_ibis(visits.aggregate(x=_.weight.clip(0, 90).mean()), CATALOG).aggregates
    assert (mean_of.low, mean_of.high) == (0, 90)


def test_ibis_expressions_are_refused_like_sql() -> None:
    visits = ibis_table(CATALOG, "visits")
    for expression, reason in (
        (visits.age.max(), "one person"),
        (visits, "never shown|single rows"),
        (visits.aggregate(x=visits.weight.mean()), "no bounds"),
        (visits.group_by("patient").aggregate(n=_.count()), "one group per person"),
        (visits.limit(3).aggregate(n=_.count()), "a subquery with ORDER BY or LIMIT"),
    ):
        with pytest.raises(RefusedQuery, match=reason):
            from_ibis(expression, CATALOG)
    with pytest.raises(RefusedQuery, match="not an ibis expression"):
        from_ibis("SELECT 1", CATALOG)
    with pytest.raises(RefusedQuery, match="did you mean 'visits'"):
        ibis_table(CATALOG, "visit")
