"""Threads take turns at the working precision, which is one setting of the whole process."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from flint import ctx

from quaestor.accounting.numerics import precision_turns
from quaestor.accounting.numerics.precision_turns import working_precision
from quaestor.mechanisms import Geometric
from quaestor.mechanisms.samplers import noise

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def _hasty() -> Iterator[None]:
    """Threads change places all the time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def test_another_thread_waits_and_the_precision_is_as_before() -> None:
    before, inside = ctx.prec, threading.Event()

    def other() -> int:
        inside.set()
        with working_precision(20):
            return int(ctx.prec)

    with ThreadPoolExecutor(1) as pool:
        with working_precision(160):
            found = pool.submit(other)
            inside.wait()
            with working_precision(300):
                assert ctx.prec == 300
            for _ in range(1000):
                assert ctx.prec == 160
            assert not found.done()
        assert found.result() == 20
    assert ctx.prec == before


@pytest.mark.usefixtures("_hasty")
def test_noise_is_prepared_in_many_threads_at_once() -> None:
    """A table that another thread has spoiled failed after the charge, once in a few restarts."""
    before = ctx.prec

    def draw(place: int) -> int:
        return len(Geometric(scale=10.0 + place / 8).release([0] * 3))

    noise.laplace_noise.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(draw, range(64))) == [3] * 64
    assert ctx.prec == before


def test_a_turn_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision_turns, "_LONGEST", 0.01)
    monkeypatch.setattr(precision_turns, "_TURNS", precision_turns._Turns())

    def forget() -> None:
        precision_turns._TURNS.taken()  # as if its thread had been interrupted

    thread = threading.Thread(target=forget)
    thread.start()
    thread.join()
    for _ in range(2):
        with working_precision(100):
            assert ctx.prec == 100
