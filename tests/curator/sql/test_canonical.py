"""The same question in other words has the same fingerprint; another question has another."""

from __future__ import annotations

import json
from itertools import combinations

import pytest

from quaestor.curator.questions.plan import describe
from quaestor.curator.questions.stored_form import canonical_json, fingerprint, from_dict, to_dict
from quaestor.curator.sql import parse
from quaestor.errors import InvalidParameter
from tests.curator.sql.hospital import CATALOG

SAME = [
    [
        "SELECT sex, COUNT(*) AS n FROM visits WHERE age > 40 GROUP BY sex",
        "select SEX, count(*) as n\nfrom Visits v where V.age > 40 group by v.sex;",
        'SELECT "sex", COUNT(1) AS n FROM visits WHERE (40 < age) GROUP BY 1',
        "SELECT v.sex, COUNT(*) AS n FROM (SELECT * FROM visits WHERE age > 40) v GROUP BY v.sex",
        "WITH v AS (SELECT * FROM visits) SELECT sex, COUNT(*) n FROM v WHERE age > 40 GROUP BY 1",
        "SELECT sex, COUNT(patient) AS n FROM visits WHERE age > 40 AND age > 40 GROUP BY sex",
    ],
    [
        "SELECT AVG(age + cost) x FROM visits WHERE smoker AND age = 3 AND sex IN ('M', 'F')",
        "SELECT AVG(cost + age) x FROM visits WHERE sex IN ('F', 'M', 'F') AND 3 = age AND smoker",
        (
            "SELECT AVG(cost + age) x FROM (SELECT * FROM visits WHERE 3 = age AND smoker) t "
            "WHERE sex IN ('F', 'M')"
        ),
    ],
    [
        "SELECT COUNT(*) AS n FROM visits v JOIN cities c ON v.city = c.city",
        "SELECT COUNT(*) AS n FROM visits AS a INNER JOIN cities AS b USING (city)",
        "SELECT COUNT(*) AS n FROM cities JOIN visits ON cities.city = visits.city",
    ],
    ["SELECT AVG(age) AS x FROM visits WHERE age BETWEEN 3 AND 9",
     "SELECT AVG(age) AS x FROM visits WHERE age >= 3 AND 9 >= age"],
    ["SELECT COUNT(*) AS n FROM visits", "SELECT n FROM (SELECT COUNT(*) AS n FROM visits)"],
    ["SELECT COUNT(*) AS n FROM visits WHERE age > 30 + 10.0",
     "SELECT COUNT(*) AS n FROM visits WHERE age > 40.0"],
    ["SELECT COUNT(*) AS m FROM visits"],
    ["SELECT COUNT(*) AS n FROM visits WHERE age > 41"],
    ["SELECT COUNT(*) AS n FROM visits WHERE age >= 40"],
    ["SELECT COUNT(*) AS n FROM visits WHERE age - 40 > 0"],
    ["SELECT COUNT(*) AS n FROM visits WHERE 40 - age > 0"],
    ["SELECT COUNT(DISTINCT patient) AS n FROM visits"],
    ["SELECT COUNT(*) AS n FROM labs"],
    ["SELECT COUNT(*) AS n FROM visits LEFT JOIN cities USING (city)"],
    ["SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex"],
    ["SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex ORDER BY n"],
    ["SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex ORDER BY n DESC"],
    ["SELECT QUANTILE(age, 0.5) AS x FROM visits", "SELECT MEDIAN(age) AS x FROM visits",
     "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age) AS x FROM visits"],
    ["SELECT QUANTILE(age, 0.25) AS x FROM visits",
     "SELECT PERCENTILE_DISC(0.75) WITHIN GROUP (ORDER BY age DESC) AS x FROM visits",
     "SELECT APPROX_QUANTILE(age, 0.25) AS x FROM visits"],
]  # fmt: skip


@pytest.mark.parametrize("texts", SAME, ids=lambda texts: texts[0])
def test_other_words_for_one_question_have_one_fingerprint(texts: list[str]) -> None:
    assert len({fingerprint(parse(text, CATALOG)) for text in texts}) == 1


def test_different_questions_have_different_fingerprints() -> None:
    marks = [fingerprint(parse(texts[0], CATALOG)) for texts in SAME]
    assert all(left != right for left, right in combinations(marks, 2))
    assert all(len(mark) == 64 and int(mark, 16) >= 0 for mark in marks)


def test_contributions_are_part_of_the_question() -> None:
    text = "SELECT sex, COUNT(*) FROM visits GROUP BY sex"
    marks = {fingerprint(parse(text, CATALOG, rows=rows)) for rows in (None, 1, 20)}
    assert len(marks) == 2
    assert parse(text, CATALOG, rows=3, groups=1).contribution.rows == 3


@pytest.mark.parametrize("texts", SAME, ids=lambda texts: texts[0])
def test_a_query_survives_json(texts: list[str]) -> None:
    query = parse(texts[0], CATALOG)
    assert from_dict(json.loads(json.dumps(to_dict(query)))) == query
    assert canonical_json(from_dict(json.loads(canonical_json(query)))) == canonical_json(query)


@pytest.mark.parametrize(
    "data", [{}, {"is": "Query"}, {"is": "Scan", "table": "a"}, {"is": "Popen"}]
)
def test_what_is_no_query_is_refused(data: dict[str, str]) -> None:
    with pytest.raises(InvalidParameter, match="what to_dict wrote"):
        from_dict(data)


DESCRIBED = {
    "SELECT COUNT(*) FROM visits": "COUNT(*) of visits; of each unit at most 20 rows count",
    "SELECT sex, AVG(age), COUNT(DISTINCT patient) FROM visits WHERE smoker GROUP BY sex": (
        "AVG(age) and COUNT(DISTINCT unit) of visits where smoker by sex (2 values); "
        "of each unit at most 20 rows in each of 2 groups count"
    ),
    "SELECT city FROM visits JOIN cities USING (city) WHERE region = 'north' GROUP BY city": (
        "which groups there are of visits with cities where region = 'north' "
        "by city (private values); of each unit at most 20 rows in each of 5 groups count"
    ),
    "SELECT age FROM visits GROUP BY age ORDER BY COUNT(*) DESC LIMIT 3": (
        "COUNT(*) of visits by age (122 values) for the 3 largest groups; "
        "of each unit at most 20 rows in each of 5 groups count"
    ),
    "SELECT MEDIAN(cost), COUNT(DISTINCT city), SUM(IF(smoker, 1, 0)) FROM visits": (
        "QUANTILE(cost, 0.5), COUNT(DISTINCT city) and SUM(CASE WHEN smoker THEN 1 ELSE 0 END) "
        "of visits; of each unit at most 20 rows count"
    ),
}


@pytest.mark.parametrize(("text", "words"), DESCRIBED.items())
def test_a_question_in_english(text: str, words: str) -> None:
    assert describe(parse(text, CATALOG)) == words
