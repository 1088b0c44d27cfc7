"""One person's rows never show in a status, a message, or the shape of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.curator.hostile.asking import ATTACKS, seen
from tests.curator.hostile.people import SECRETS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quaestor.curator import Curator

pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

ON_SPARK = (
    "SELECT city, COUNT(*) AS n FROM visits GROUP BY city",
    "SELECT ward, COUNT(*) AS n FROM visits JOIN labs USING (patient) GROUP BY ward",
    (
        "SELECT COUNT_IF(note LIKE '%a%a%a%a%a%a%a%a%a%a%a%a%!') AS b, COUNT_IF(note = '') AS e, "
        "COUNT_IF(UPPER(city) = 'KÖLN' OR LOWER(note) LIKE '%😀%') AS u, "
        "COUNT_IF(note LIKE '\\%' OR note = '\\n' OR note = 'x''; --') AS q FROM visits"
    ),
    (
        "SELECT SUM(cost) AS a, SUM(CLAMP(weight, 0, 100)) AS w, COUNT_IF(weight = weight) AS e, "
        "SUM(ABS(CLAMP(code, -9, 9))) AS c, SUM(CLAMP(LN(age), 0, 5)) AS l, "
        "COUNT(SQRT(CLAMP(weight, -100, 100))) AS s, COUNT_IF(YEAR(day) > 9998) AS y, "
        "SUM(CLAMP(EXP(CLAMP(weight, -30, 30)), 0, 10)) AS x FROM visits"
    ),
    (
        "SELECT COUNT(CAST(note AS INTEGER)) AS n, SUM(CLAMP(CAST(note AS DOUBLE), 0, 9)) AS s, "
        "COUNT_IF(CAST(note AS BOOLEAN)) AS b, COUNT_IF(CAST(code AS TEXT) = '1') AS t, "
        "COUNT_IF(age % age = 0) AS p, "
        "COUNT_IF(1 / (CASE WHEN city = 'Hapax' THEN 0 ELSE 1 END) = 1) AS r FROM visits"
    ),
    "SELECT COUNT(CAST(note AS DATE)) AS n FROM visits",
    "SELECT note FROM visits",
    "SELECT COUNT(*) FROM visits WHERE java_method('java.lang.System', 'exit', 0) IS NULL",
)
"""Spark takes seconds a question: the questions of the corpus, several at once."""
_WIDE = ON_SPARK[2:5]


def quiet(question: str, outcome: tuple[object, ...]) -> bool:
    """Whether nothing of the target is in it that was not in the question."""
    words = str(outcome[:-1])  # the cost is last, and its digits may be any
    return not any(secret in words and secret not in question for secret in SECRETS)


def replay(curators: tuple[Curator, Curator]) -> None:
    """Every question of the corpus, on both."""
    for attack in ATTACKS:
        for status in ("answered", "refused"):
            for question in getattr(attack, status):
                without, with_target = (seen(curator, question) for curator in curators)
                assert without == with_target, question
                assert without[0] == status, (question, without)
                assert status == "answered" or without[1] == "RefusedQuery", (question, without)
                assert quiet(question, with_target), question


def written(curator: Curator) -> list[tuple[object, ...]]:
    """What the ledger keeps of the charges; answers are noise, and compared elsewhere."""
    entries = curator.account("analyst").entries()
    return [(e.number, e.status, e.purpose, e.releases, e.dataset) for e in entries]


def test_the_corpus_is_large_and_of_all_kinds() -> None:
    questions = [q for attack in ATTACKS for q in (*attack.answered, *attack.refused)]
    assert len(questions) == len(set(questions)) >= 150
    assert len(ATTACKS) >= 12


def test_on_duckdb_nothing_shows_who_is_in_the_table(on_duckdb: tuple[Curator, Curator]) -> None:
    replay(on_duckdb)
    without, with_target = map(written, on_duckdb)
    assert without == with_target
    answered = sum(len(attack.answered) for attack in ATTACKS)
    assert len(without) == answered - 2  # two pairs are one question each: the second is free


def test_on_postgres_nothing_shows_who_is_in_the_table(
    on_postgres: tuple[Curator, Curator],
) -> None:
    replay(on_postgres)
    without, with_target = map(written, on_postgres)
    assert without == with_target


def test_on_spark_nothing_shows_who_is_in_the_table(on_spark: tuple[Curator, Curator]) -> None:
    _on_spark(on_spark, [question for question in ON_SPARK if question not in _WIDE[1:]], 4)


@pytest.mark.slow  # Spark takes ten seconds for statements that wide
def test_on_spark_no_wide_question_shows_it_either(on_spark: tuple[Curator, Curator]) -> None:
    _on_spark(on_spark, _WIDE, 3)


def _on_spark(curators: tuple[Curator, Curator], asked: Iterable[str], answered: int) -> None:
    for question in asked:
        without, with_target = (seen(curator, question) for curator in curators)
        assert without == with_target, question
        assert quiet(question, with_target), question
    assert written(curators[0]) == written(curators[1])
    assert len(written(curators[0])) == answered
