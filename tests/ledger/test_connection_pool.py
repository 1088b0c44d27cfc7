"""The pool of connections to a file: few at once, the last one first, and none for two."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter

import pytest

from quaestor.ledger.store.connection_pool import ConnectionPool


class Opened:
    """Connects to a database in memory, and remembers what it has opened."""

    def __init__(self) -> None:
        self.all: list[sqlite3.Connection] = []

    def __call__(self) -> sqlite3.Connection:
        """Open one more."""
        self.all.append(sqlite3.connect(":memory:", check_same_thread=False))
        return self.all[-1]

    def is_open(self, at: int) -> bool:
        """Whether one of them is open."""
        try:
            self.all[at].execute("SELECT 1")
        except sqlite3.ProgrammingError:
            return False
        return True


@pytest.fixture
def opened() -> Opened:
    return Opened()


def pool_of(opened: Opened, size: int = 2, patience: float = 0.01) -> ConnectionPool:
    return ConnectionPool(opened, size=size, patience=patience)


def test_the_connection_that_was_used_last_is_used_next(opened: Opened) -> None:
    pool = pool_of(opened)
    first, second = pool.raw_connection(), pool.raw_connection()
    second.close()
    first.close()
    assert pool.raw_connection().driver_connection is opened.all[0]
    assert pool.raw_connection().driver_connection is opened.all[1]
    assert len(opened.all) == 2


def test_more_than_there_are_places_for_is_refused_after_the_wait(opened: Opened) -> None:
    pool = pool_of(opened)
    lent = [pool.raw_connection() for _ in range(2)]
    with pytest.raises(TimeoutError):
        pool.raw_connection()
    lent[0].close()
    lent[0].close()  # once more: nothing is given back twice
    pool.raw_connection()
    with pytest.raises(TimeoutError):
        pool.raw_connection()


def test_what_is_invalid_is_closed_and_its_place_is_free(opened: Opened) -> None:
    pool = pool_of(opened, size=1)
    lent = pool.raw_connection()
    lent.invalidate()
    lent.close()
    assert not opened.is_open(0)
    assert pool.raw_connection().driver_connection is opened.all[1]


def test_a_connection_that_cannot_be_made_takes_no_place(opened: Opened) -> None:
    broken = [True, True, False]

    def connect() -> sqlite3.Connection:
        if broken.pop(0):
            raise sqlite3.OperationalError
        return opened()

    pool = ConnectionPool(connect, size=1, patience=0.01)
    for _ in range(2):
        with pytest.raises(sqlite3.OperationalError):
            pool.raw_connection()
    assert pool.raw_connection().driver_connection is opened.all[0]


def test_after_it_began_anew_all_places_are_there_and_nothing_of_before_is_used(
    opened: Opened,
) -> None:
    pool = pool_of(opened)
    lost = pool.raw_connection()  # as if an interrupt had come before it could be given back
    pool.raw_connection().close()
    pool.dispose()
    assert not opened.is_open(1)
    assert opened.is_open(0)
    lost.close()
    assert not opened.is_open(0)
    assert len({id(pool.raw_connection().driver_connection) for _ in range(2)}) == 2


def test_a_child_process_leaves_the_connections_of_its_parent_open(opened: Opened) -> None:
    pool = pool_of(opened)
    pool.raw_connection().close()
    pool.dispose(close=False)
    assert opened.is_open(0)
    assert pool.raw_connection().driver_connection is opened.all[1]


def test_many_threads_share_few_connections_and_no_two_have_one_at_once(opened: Opened) -> None:
    pool = pool_of(opened, size=3, patience=60.0)
    using: Counter[int] = Counter()
    clashes = []

    def work() -> None:
        for turn in range(50):
            lent = pool.raw_connection()
            key = id(lent.driver_connection)
            using[key] += 1
            lent.driver_connection.execute("SELECT 1").fetchall()
            if using[key] != 1:
                clashes.append(key)
            using[key] -= 1
            (lent.invalidate if turn % 10 == 9 else lent.close)()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not clashes
    assert sum(opened.is_open(at) for at in range(len(opened.all))) <= 3
