"""The connection beside the pool: one thread at a time, and nothing old after it was forgotten."""

from __future__ import annotations

import threading

import pytest

from quaestor.ledger.store.spare_connection import SpareConnection


class Opened:
    """What can be closed."""

    closed = False

    def close(self) -> None:
        """Note it."""
        self.closed = True


def test_it_is_kept_from_one_to_the_next() -> None:
    spare = SpareConnection(Opened)
    with spare.taken() as first:
        pass
    with spare.taken() as second:
        assert second is first


def test_two_threads_never_have_the_same_one() -> None:
    spare, begun, had = SpareConnection(Opened), threading.Barrier(2, timeout=60), list[object]()

    def take() -> None:
        with spare.taken() as mine:
            had.append(mine)
            begun.wait()

    others = [threading.Thread(target=take) for _ in range(2)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert had.count(None) == 1


def test_one_that_was_forgotten_while_somebody_had_it_does_not_come_back() -> None:
    """Whatever made it useless, such as another log beside the file, holds for this one too."""
    spare = SpareConnection(Opened)
    with spare.taken() as old:
        spare.forget()
        assert old is not None
        open_meanwhile = not old.closed
    assert open_meanwhile
    assert old.closed
    with spare.taken() as new:
        assert new is not None
        assert new is not old


def test_one_that_has_failed_is_not_used_again() -> None:
    spare = SpareConnection(Opened)
    with pytest.raises(KeyboardInterrupt), spare.taken() as old:
        raise KeyboardInterrupt
    assert old is not None
    assert old.closed
    with spare.taken() as new:
        assert new is not None
        assert new is not old


def test_one_that_is_forgotten_is_closed_at_once() -> None:
    """Not when Python looks for cycles: until then a file's log would stay beside it."""
    spare = SpareConnection(Opened)
    with spare.taken() as old:
        pass
    spare.forget()
    assert old is not None
    assert old.closed
