"""Sources of bits for tests: seeded, scripted, counted. Production code has none of these."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from quaestor.mechanisms.samplers import randomness

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

__all__ = ["Counted", "Scripted", "as_halves", "as_words", "install", "seed"]


def install(monkeypatch: pytest.MonkeyPatch, source: object) -> None:
    """Take all randomness from ``source`` until the test ends, and none that was left over."""
    monkeypatch.setattr(randomness, "_from_system", source)
    monkeypatch.setattr(randomness, "_block", [])


def seed(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """A repeatable source."""
    install(monkeypatch, np.random.Generator(np.random.PCG64(number)).bytes)


class Counted:
    """Counts the bytes that are asked for, and refuses to give any."""

    def __init__(self) -> None:
        self.bytes = 0

    def __call__(self, size: int) -> bytes:
        """Count, and refuse."""
        self.bytes += size
        message = "randomness was used"
        raise AssertionError(message)


class Scripted:
    """Gives the parts of a script, one a call, and nothing else."""

    def __init__(self, *parts: bytes) -> None:
        self.parts = list(parts)

    def __call__(self, size: int) -> bytes:
        """The next part, which must be as long as what is asked for."""
        part = self.parts.pop(0)
        assert len(part) == size
        return part


def as_words(values: Iterable[int]) -> bytes:
    """Words of 64 bits."""
    return np.array(list(values), np.uint64).tobytes()


def as_halves(values: Iterable[int]) -> bytes:
    """Words of 16 bits."""
    return np.array(list(values), np.uint16).tobytes()
