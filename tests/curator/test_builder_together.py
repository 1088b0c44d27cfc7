"""ROLLUP, CUBE, GROUPING SETS and UNION ALL in the builder: the same stored question as in SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from quaestor.curator import (
    Curator,
    col,
    count,
    count_distinct,
    cube,
    floor,
    grouping,
    grouping_sets,
    mean,
    rollup,
    table,
)
from quaestor.curator.language.compound import Compound
from quaestor.curator.pricing.priced_compound import price_question
from quaestor.curator.pricing.priced_question import Budget, plan, plan_question
from quaestor.errors import RefusedQuery
from tests.curator.hospital import write_hospital
from tests.curator.sql.hospital import CATALOG

if TYPE_CHECKING:
    from pathlib import Path

    from quaestor.curator.builder.tables import AnyQuestion

VISITS = table("visits")
DECADE = floor(col("age") / 10)
PAIRS: list[tuple[AnyQuestion, str]] = [
    (
        VISITS.group_by(rollup("sex", "smoker")).aggregate(
            g=grouping("sex", "smoker"), n=count(), m=mean("cost")
        ),
        (
            "SELECT sex, smoker, GROUPING(sex, smoker) AS g, COUNT(*) AS n, AVG(cost) AS m "
            "FROM visits GROUP BY ROLLUP (sex, smoker)"
        ),
    ),
    (
        VISITS.where(col("age") >= 18)
        .group_by(cube("sex", "decade"), decade=DECADE)
        .aggregate(n=count())
        .having(col("n") > 10)
        .order_by("n", descending=True)
        .limit(7),
        (
            "SELECT sex, FLOOR(age / 10) AS decade, COUNT(*) AS n FROM visits WHERE age >= 18 "
            "GROUP BY CUBE (sex, decade) HAVING n > 10 ORDER BY n DESC LIMIT 7"
        ),
    ),
    (
        VISITS.group_by(grouping_sets(("sex", "smoker"), "smoker", ())).aggregate(n=count()),
        (
            "SELECT sex, smoker, COUNT(*) AS n FROM visits "
            "GROUP BY GROUPING SETS ((sex, smoker), (smoker), ())"
        ),
    ),
    (
        VISITS.group_by("sex", rollup(("smoker", "age"))).aggregate(n=count_distinct("patient")),
        (
            "SELECT sex, smoker, age, COUNT(DISTINCT patient) AS n FROM visits "
            "GROUP BY sex, ROLLUP ((smoker, age))"
        ),
    ),
    (
        VISITS.group_by(grouping_sets(rollup("sex"), "smoker")).aggregate(n=count()),
        (
            "SELECT sex, smoker, COUNT(*) AS n FROM visits "
            "GROUP BY GROUPING SETS (ROLLUP (sex), (smoker))"
        ),
    ),
    (
        VISITS.group_by("sex")
        .aggregate(n=count())
        .union_all(VISITS.aggregate(sex="all", n=count()))
        .order_by("n", descending=True)
        .limit(2),
        (
            "SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex UNION ALL "
            "SELECT 'all', COUNT(*) FROM visits ORDER BY n DESC LIMIT 2"
        ),
    ),
    (
        VISITS.aggregate(a=mean("cost"))
        .union_all(VISITS.where(col("smoker")).aggregate(a=mean("cost")))
        .union_all(VISITS.group_by(rollup("sex")).aggregate(b=count()).rows.aggregate(n=count())),
        (
            "SELECT AVG(cost) AS a FROM visits UNION ALL SELECT AVG(cost) FROM visits WHERE smoker "
            "UNION ALL SELECT COUNT(*) FROM visits"
        ),
    ),
]


@pytest.mark.parametrize(("built", "sql"), PAIRS)
def test_both_are_the_same_stored_question(built: AnyQuestion, sql: str) -> None:
    asked, written = (plan_question(each, CATALOG) for each in (built, sql))
    assert isinstance(asked, Compound)
    assert asked == written
    one, other = (
        price_question(each, Budget(epsilon=1.0), CATALOG, delta=1e-6) for each in (asked, written)
    )
    assert one.fingerprint == other.fingerprint
    assert one.words == other.words


def test_one_set_is_an_ordinary_question() -> None:
    built = VISITS.group_by(grouping_sets(("sex",))).aggregate(n=count())
    assert plan(built, CATALOG) == plan(
        "SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex", CATALOG
    )


def test_refusals_are_those_of_sql() -> None:
    with pytest.raises(RefusedQuery, match="grouping sets"):
        cube(*"abcdefg")
    with pytest.raises(RefusedQuery, match="one is expected"):
        plan(VISITS.group_by(rollup("sex")).aggregate(n=count()), CATALOG)
    one = VISITS.aggregate(n=count())
    for built, words in (
        (VISITS.group_by(rollup("sx")).aggregate(n=count()), "sx"),
        (VISITS.group_by("sex").aggregate(g=grouping("sex")), "subtotal"),
        (VISITS.group_by(rollup("sex")).aggregate(g=grouping("age")), "none of group_by"),
        (one.union_all(one), "same question"),
        (one.union_all(VISITS.aggregate(n="x", m=count())), "outputs"),
        (one.union_all(VISITS.aggregate(n=mean("age"))).order_by("m"), "no output"),
        (VISITS.group_by(rollup("sex"), "sex").aggregate(sex=count()), "the same name"),
    ):
        with pytest.raises(RefusedQuery, match=words):
            plan_question(built, CATALOG)


def test_what_was_asked_in_sql_is_free_in_the_builder(tmp_path: Path) -> None:
    with Curator.from_file(write_hospital(tmp_path, rows=2)) as curator:
        curator.open_account("research")
        first = curator.ask(
            "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ROLLUP (ward)", epsilon=1.0
        )
        built = table("visits").group_by(rollup("ward")).aggregate(n=count())
        assert curator.preview(built, epsilon=1.0).free
        again = curator.ask(built, epsilon=1.0)
        assert again.repeated
        assert list(again.rows()) == list(first.rows())
