"""The one place that randomness comes from: the operating system's generator.

No mechanism takes a seed or a generator, so that no parameter can weaken it. Everything random
goes through three functions here (:func:`word`, :func:`words`, :func:`halves`), and these go
through one private name, ``_from_system``.

Single draws share a block of words, for asking the system costs more than drawing does. A word
leaves the block when it is used, and the child of a fork starts with an empty block: no word is
ever used twice.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["WORD", "halves", "uniform_below", "uniforms_below", "word", "words"]

WORD = 64  # bits
_BLOCK = 512  # words

_from_system = os.urandom
_block: list[int] = []
os.register_at_fork(after_in_child=_block.clear)


def word() -> int:
    """Sixty-four uniform bits.

    Threads may call it together: taking a word out of the block is one step that no other thread
    can share.
    """
    while True:
        try:
            return _block.pop()
        except IndexError:
            _block.extend(words(_BLOCK).tolist())


def words(count: int) -> NDArray[np.uint64]:
    """So many times sixty-four uniform bits."""
    return np.frombuffer(_from_system(8 * count), np.uint64)


def halves(count: int) -> NDArray[np.uint16]:
    """So many times sixteen uniform bits."""
    return np.frombuffer(_from_system(2 * count), np.uint16)


def uniform_below(limit: int) -> int:
    """A uniform whole number in ``[0, limit)``.

    Exact: as many bits as the largest number needs are uniform among that power of two; those
    that are too large are drawn again, which leaves the rest equally likely.
    """
    bits = (limit - 1).bit_length()
    while True:
        drawn = 0
        for _ in range(0, bits, WORD):
            drawn = drawn << WORD | word()
        drawn >>= -bits % WORD
        if drawn < limit:
            return drawn


def uniforms_below(limits: NDArray[np.int64]) -> NDArray[np.int64]:
    """One uniform whole number below each limit (each from 1 to 2^62), by the same rejection."""
    masks = limits.astype(np.uint64) - np.uint64(1)
    for shift in (1, 2, 4, 8, 16, 32):
        masks |= masks >> np.uint64(shift)
    drawn = (words(limits.size) & masks).astype(np.int64)
    again = np.flatnonzero(drawn >= limits)
    while again.size:
        drawn[again] = (words(again.size) & masks[again]).astype(np.int64)
        again = again[drawn[again] >= limits[again]]
    return drawn
