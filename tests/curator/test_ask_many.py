"""Many questions at once: the same prices, refusals and figures as one by one, in fewer scans."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.curator import Curator, PlanQuestion, pipeline, question_batch
from quaestor.curator.answers.answer import Answer
from quaestor.curator.charged_questions import released
from quaestor.curator.engines.engine import EnginePool
from quaestor.curator.engines.shared_scans import measured_together
from quaestor.curator.engines.stop import Stop
from quaestor.curator.pipeline import Inquiry
from quaestor.curator.pricing.priced_question import Budget
from quaestor.errors import BudgetExceeded, EngineFailed, RefusedQuery
from tests.curator.door import fetched, priced
from tests.curator.hospital import write_hospital

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from quaestor.curator.kernel.measurement import Measurement
    from quaestor.ledger import Account

BY_WARD = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
AGES = "SELECT ward, SUM(age) AS s FROM visits GROUP BY ward"
MEANS = "SELECT ward, AVG(age) AS m FROM visits GROUP BY ward"
SMALL = "[accounts.research]\nepsilon = 1.0\ndelta = 1e-6\n"


def questions(*texts: str, epsilon: float = 0.1) -> list[PlanQuestion]:
    return [PlanQuestion(question=text, epsilon=epsilon) for text in texts]


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    with Curator.from_file(write_hospital(tmp_path, SMALL)) as made:
        made.open_account("research")
        yield made


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements about private rows that DuckDB was sent."""
    from quaestor.curator.engines.duckdb.connection import DuckConnection

    listed: list[str] = []
    plain = DuckConnection._asked

    def asked(self: DuckConnection, sql: str) -> Any:
        if sql != "SELECT 1":
            listed.append(sql)
        return plain(self, sql)

    monkeypatch.setattr(DuckConnection, "_asked", asked)
    return listed


def account(curator: Curator) -> Account:
    return curator.account("research")


def test_questions_about_the_same_groups_are_one_statement(
    curator: Curator, sent: list[str]
) -> None:
    budget = Budget(epsilon=0.1, whole_error=False)
    inquiries = [Inquiry(question=text, budget=budget) for text in (BY_WARD, AGES, MEANS)]
    assert all(isinstance(one, Answer) for one in curator.answered_many(inquiries))
    assert len(sent) == 1


def test_what_limits_cut_is_measured_in_fewer_statements_too(
    curator: Curator, sent: list[str]
) -> None:
    for text in (BY_WARD, AGES, MEANS):
        curator.ask(text, epsilon=0.1, anew=True)
    alone = len(sent)
    curator.ask_many(questions(BY_WARD, AGES, MEANS), anew=True)
    assert len(sent) - alone < alone / 2


def test_prices_refusals_and_receipts_are_those_of_asking_one_by_one(
    tmp_path: Path,
) -> None:
    texts = [
        BY_WARD, AGES, "SELECT patient FROM visits", BY_WARD, MEANS,
        "SELECT COUNT(*) AS n FROM visits WHERE age > 30", "SELECT COUNT(*) AS n FROM nowhere",
        "SELECT AVG(AUTO(age)) AS a FROM visits", MEANS, "SELECT MEDIAN(age) AS m FROM visits",
        "SELECT ward, COUNT(*) AS n FROM visits WHERE age < 50 GROUP BY ward",
    ]  # fmt: skip
    rng = random.Random(22)
    asked = [PlanQuestion(question=t, epsilon=rng.choice([0.1, 0.3, 2.0])) for t in texts * 2]
    one_by_one, together = tmp_path / "one", tmp_path / "many"
    outcomes = []
    for folder in (one_by_one, together):
        folder.mkdir()
        with Curator.from_file(write_hospital(folder, SMALL)) as made:
            made.open_account("research")
            if folder is together:
                found = made.ask_many(asked)
            else:
                found = [_alone(made, each) for each in asked]
            entries = [(e.status, str(e.releases), e.purpose) for e in account(made).entries()]
            outcomes.append(([_summary(one) for one in found], entries, account(made).remaining()))
            made.ledger.verify()
    assert outcomes[0] == outcomes[1]
    kinds = {kind for kind, *_ in outcomes[0][0]}
    assert {"Answer", "RefusedQuery", "BudgetExceeded"} <= kinds


def _alone(curator: Curator, asked: PlanQuestion) -> Any:
    try:
        return curator.ask(asked.question, epsilon=asked.epsilon)
    except (RefusedQuery, BudgetExceeded) as refused:
        return refused


def _rows(one: Any) -> list[Any]:
    assert isinstance(one, Answer)
    return list(one.rows())


def _summary(one: Any) -> tuple[Any, ...]:
    if isinstance(one, Answer):
        return (
            "Answer",
            one.epsilon,
            one.delta,
            one.receipt,
            one.repeated,
            [c.name for c in one.columns],
        )
    return type(one).__name__, str(one)


def test_a_repetition_in_a_batch_is_the_same_answer_and_free(curator: Curator) -> None:
    first, other, again = curator.ask_many(questions(BY_WARD, AGES, BY_WARD))
    assert isinstance(first, Answer)
    assert isinstance(again, Answer)
    assert isinstance(other, Answer)
    assert (first.repeated, again.repeated) == (False, True)
    assert list(first.rows()) == list(again.rows())
    assert len(list(account(curator).entries())) == 2


def test_asked_anew_each_repetition_is_charged_and_has_its_own_noise(curator: Curator) -> None:
    found = curator.ask_many(questions(*[AGES] * 6), anew=True)
    rows = [str(list(one.rows())) for one in found if isinstance(one, Answer)]
    assert len(set(rows)) == 6
    assert len(list(account(curator).entries())) == 6


class Killed(BaseException):
    """The process ends."""


@pytest.mark.parametrize("moment", ["planning", "computing", "drawing noise"])
def test_what_was_charged_before_a_crash_is_completed_by_asking_again(
    curator: Curator, moment: str
) -> None:
    def dying(words: str) -> None:
        if words == moment and (moment != "planning" or list(account(curator).entries())):
            raise Killed

    curator.progress = dying
    asked = questions(BY_WARD, AGES)
    with pytest.raises(Killed):
        curator.ask_many(asked)
    charged = [entry.status for entry in account(curator).entries()]
    assert charged == ["reserved"] * (1 if moment == "planning" else 2)
    left = account(curator).remaining()
    curator.progress = lambda _: None
    assert all(isinstance(one, Answer) for one in curator.ask_many(asked))
    statuses = [entry.status for entry in account(curator).entries()]
    if moment == "drawing noise":  # of the first noise may have been drawn: it is charged again
        assert statuses == ["reserved", "released", "released"]
    else:
        assert statuses == ["released"] * 2
    assert (account(curator).remaining() == left) == (moment == "computing")


def test_nothing_is_drawn_before_all_that_is_measured_together_is_charged(
    curator: Curator,
) -> None:
    seen: list[list[str]] = []

    def look(words: str) -> None:
        if words in {"computing", "drawing noise"}:
            seen.append([entry.status for entry in account(curator).entries()])

    curator.progress = look
    curator.ask_many(questions(BY_WARD, AGES, MEANS))
    assert seen == [
        ["reserved"] * 3,
        ["reserved"] * 3,
        ["released", "reserved", "reserved"],
        ["released", "released", "reserved"],
    ]


def test_a_batch_that_is_stopped_keeps_its_charges_and_says_nothing(curator: Curator) -> None:
    stop = Stop()
    with stop.watching():
        curator.progress = lambda words: stop.now() if words == "computing" else None
        found = curator.ask_many(questions(BY_WARD, AGES))
    assert [type(one) for one in found] == [EngineFailed, EngineFailed]
    assert len({str(one) for one in found}) == 1


def test_a_batch_that_is_stopped_charges_nothing_more(
    curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(question_batch, "MOST_HELD", 1)
    stop = Stop()
    with stop.watching():
        curator.progress = lambda words: stop.now() if words == "computing" else None
        found = curator.ask_many(questions(BY_WARD, AGES, MEANS))
    assert [type(one) for one in found] == [EngineFailed] * 3
    assert [entry.status for entry in account(curator).entries()] == ["void"]  # nothing was sent


def test_a_fault_that_nobody_foresaw_is_raised_once_the_others_are_answered(
    curator: Curator,
) -> None:
    def faulty(words: str) -> None:
        if words == "planning" and len(list(account(curator).entries())) == 1:
            raise ZeroDivisionError

    curator.progress = faulty
    with pytest.raises(ZeroDivisionError):
        curator.ask_many(questions(BY_WARD, AGES))
    curator.progress = lambda _: None
    assert [entry.status for entry in account(curator).entries()] == ["released"]
    first, second = curator.ask_many(questions(BY_WARD, AGES))
    assert isinstance(first, Answer)
    assert first.repeated
    assert isinstance(second, Answer)


def test_a_fault_while_measuring_is_the_outcome_of_what_was_measured(
    curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(question_batch, "MOST_HELD", 1)
    said: list[str] = []

    def faulty(words: str) -> None:
        said.append(words)
        if said.count("computing") == 1 and words == "computing":
            raise ZeroDivisionError

    curator.progress = faulty
    with pytest.raises(ZeroDivisionError):
        curator.ask_many(questions(BY_WARD, AGES))
    assert "released" in [entry.status for entry in account(curator).entries()]  # the second


def test_a_charge_that_is_no_longer_held_fails_its_own_question_only(curator: Curator) -> None:
    engines = EnginePool(curator.catalog)
    try:
        asked = []
        for text in (BY_WARD, AGES, MEANS):
            inquiry = Inquiry(question=text, budget=Budget(epsilon=0.1))
            payer, known = pipeline.priced(
                inquiry, catalog=curator.catalog, accounts=curator._accounts
            )
            found = pipeline.charged(
                known,
                inquiry,
                payer=payer,
                accounts=curator._accounts,
                engines=engines,
                progress=lambda _: None,
            )
            assert not isinstance(found, Answer)
            asked.append(found)
        asked[1].charge.void("the test settles it")
        made = released(asked, engines, lambda _: None)
    finally:
        engines.close()
    assert [type(one) for one in made] == [Answer, EngineFailed, Answer]
    statuses = [entry.status for entry in account(curator).entries()]
    assert statuses == ["released", "void", "released"]
    left = account(curator).remaining()
    again = curator.ask_many(questions(BY_WARD, MEANS))
    assert [isinstance(one, Answer) and one.repeated for one in again] == [True, True]
    assert account(curator).remaining() == left


def test_batches_in_opposite_order_do_not_wait_for_each_other(curator: Curator) -> None:
    with ThreadPoolExecutor(2) as threads:
        made = [
            threads.submit(curator.ask_many, questions(*texts, epsilon=0.05))
            for texts in ((BY_WARD, AGES, MEANS), (MEANS, AGES, BY_WARD))
        ]
        one, other = (each.result(timeout=300) for each in made)
    assert all(isinstance(each, Answer) for each in (*one, *other))
    assert [_rows(e) for e in one] == [_rows(e) for e in reversed(other)]
    assert len(list(account(curator).entries())) == 3


_FIGURES = (
    "COUNT(*) AS n", "SUM(age) AS s", "AVG(age) AS a", "MEDIAN(age) AS m",
    "COUNT(DISTINCT ward) AS w", "COUNT(DISTINCT patient) AS p", "VARIANCE(age) AS v",
    "COUNT_IF(age > 40) AS c",
)  # fmt: skip
_SHAPES = (
    "SELECT {0} FROM visits",
    "SELECT ward, {0} FROM visits GROUP BY ward",
    "SELECT ward, {0} FROM visits WHERE age < 60 GROUP BY ward",
    "SELECT age, {0} FROM visits GROUP BY age",
    "SELECT ward, {0} FROM visits GROUP BY ward ORDER BY COUNT(*) DESC LIMIT 2",
    "SELECT ward, {0} FROM visits GROUP BY CUBE (ward)",
)


def test_shared_statements_have_the_figures_of_each(tmp_path: Path) -> None:
    """Random questions of few shapes, so that many share; a unit has more rows than count."""
    from quaestor.curator.catalog.catalog_file import read_catalog

    catalog = read_catalog(write_hospital(tmp_path, rows=2))
    rng = random.Random(7)
    measurements: list[Measurement] = []
    for _ in range(40):
        figures = ", ".join(rng.sample(_FIGURES, rng.choice([1, 2])))
        try:
            asked = priced(
                catalog, rng.choice(_SHAPES).format(figures), whole_error=rng.random() < 0.5
            )
        except RefusedQuery:
            continue
        measurements += asked.measurements
    engines = EnginePool(catalog)
    try:
        ready = [(engines.prepared(each), each) for each in measurements]
        for (engine, each), found in zip(ready, measured_together(ready), strict=True):
            assert found is not None
            prepared, exact = found
            exact, alone = fetched(exact), fetched(engine.measure(each)[1])
            assert prepared.measurement == each
            assert (exact.groups, exact.units) == (alone.groups, alone.units)
            assert exact.values == alone.values
    finally:
        engines.close()
    assert len(measurements) > 25
