"""Time steps: whoever asks, waits or looks meanwhile learns no more of an engine's time."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.curator import Curator
from quaestor.curator.catalog.catalog_file import read_catalog
from quaestor.curator.engines.engine import Engine
from quaestor.curator.engines.stop import Stop
from quaestor.errors import EngineFailed, RefusedQuery
from tests.curator.hospital import write_hospital

if TYPE_CHECKING:
    from pathlib import Path

STEP = 1.0
COUNT = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture
def curator(tmp_path: Path) -> Any:
    """A curator whose new answers leave at steps of a second."""
    with Curator(read_catalog(write_hospital(tmp_path)), time_step=STEP) as made:
        made.open_account("research")
        yield made


def test_nobody_sees_an_answer_before_its_step(curator: Curator) -> None:
    curator.warm_up()
    begun = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(curator.ask, COUNT, epsilon=1.0)
        second = pool.submit(curator.ask, COUNT, epsilon=1.0)
        while not curator.preview(COUNT, epsilon=1.0).free:
            assert not first.done() or time.monotonic() - begun >= STEP
        seen = time.monotonic() - begun
        assert first.result() == second.result()
    assert seen >= STEP  # not even that there is an answer


def test_failures_after_the_charge_wait_as_answers_do(
    curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_engine: Engine, _measurement: object) -> None:
        raise EngineFailed

    monkeypatch.setattr(Engine, "measure", failing)
    begun = time.monotonic()
    with pytest.raises(EngineFailed):
        curator.ask(COUNT, epsilon=1.0)
    assert time.monotonic() - begun >= STEP
    (pending,) = curator.ledger.pending()
    assert pending.state == "left"


def test_stored_answers_previews_and_refusals_do_not_wait(
    curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    curator.ask(COUNT, epsilon=1.0)
    slept: list[float] = []
    monkeypatch.setattr("quaestor.curator.charged_questions.sleep", slept.append)
    curator.ask(COUNT, epsilon=1.0)
    curator.preview(COUNT, epsilon=2.0)
    with pytest.raises(RefusedQuery):
        curator.ask("SELECT patient FROM visits", epsilon=1.0)
    assert not slept


def test_what_is_stopped_before_its_step_fails_though_the_engine_had_finished(
    curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, measure = Stop(), Engine.measure

    def stopped_afterwards(engine: Engine, measurement: Any) -> Any:
        found = measure(engine, measurement)
        stop.now()
        return found

    monkeypatch.setattr(Engine, "measure", stopped_afterwards)
    with stop.watching(), pytest.raises(EngineFailed):
        curator.ask(COUNT, epsilon=1.0)
    (pending,) = curator.ledger.pending()
    assert pending.state == "left"  # just as if it had been stopped while the engine worked
