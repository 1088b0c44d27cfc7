r"""Exact draws by inversion, from a uniform number whose bits are drawn as they are needed.

Outcome k has the weight :math:`w_k`, and :math:`F_k = \sum_{i \le k} w_i / \sum_i w_i`. With U
uniform on [0, 1) the least k with :math:`U < F_k` has exactly the probability
:math:`w_k/\sum_i w_i`. Only some bits of U are known at a time. From b bits, the whole number u,
it is known that :math:`u \le 2^bU < u+1`, so that a comparison with :math:`F_k` is certain unless
:math:`2^bF_k` lies close to u; then (and only then) further bits of U are drawn and :math:`F_k` is
enclosed more narrowly. The comparison that is made in the end is the one between the real numbers
U and :math:`F_k`; equality has probability 0. So the law of the outcome is exact, not nearly so:
no :math:`F_k` is ever rounded.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Protocol

import numpy as np
from flint import arb

from quaestor.accounting.numerics.balls import ZERO, working_precision
from quaestor.mechanisms.samplers.randomness import WORD, halves, word, words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

__all__ = ["Inversion", "Weights", "all_happen", "exactly", "happens"]

_TABLE_BITS = 160  # of precision, for thresholds of 64 bits
_TRIES = 20
_GUIDE = 16  # bits that decide most draws of an array
_GUIDED = 2**14  # draws that repay finding out which bits decide
_DOUBT = 2  # |2^64 F - T| is below this for every threshold T of the table
_LAST = 2**WORD - 2**10  # the table ends here; what lies beyond is found one by one


class Weights(Protocol):
    """What is drawn from: outcomes 0, 1, 2, ... with weights, as balls at the working precision."""

    @property
    def size(self) -> int | None:
        """How many outcomes there are; ``None`` for infinitely many."""

    def weight(self, outcome: int) -> arb:
        """The weight of one outcome."""

    def total(self) -> arb:
        """The sum of all weights."""


def happens(chance: Callable[[], arb], *, drawn: int | None = None, bits: int = WORD) -> bool:
    """Whether U < ``chance()``, a ball at the working precision; true with exactly that chance.

    ``drawn`` holds the first bits of U, if some are known.
    """
    if drawn is None:
        drawn = word()
    while True:
        with working_precision(bits + WORD):
            ball = chance() * arb(2) ** bits
            if ball >= drawn + 1:
                return True
            if ball <= drawn:
                return False
        drawn, bits = drawn << WORD | word(), bits + WORD


def all_happen(chances: Sequence[Callable[[], arb]], which: NDArray[np.intp]) -> NDArray[np.bool_]:
    r"""Independent coins: whether :math:`U_i` is below the chance that ``which[i]`` names.

    Each coin has 64 bits of its own, the whole number u. Where a ball says that
    :math:`2^{64}c \ge u + 1`, or that it is at most u, the coin is decided; else it goes on as
    :func:`happens` does, with more bits. So every coin falls with exactly its chance.
    """
    yes, no = np.zeros(len(chances), np.uint64), np.zeros(len(chances), np.uint64)
    never, always = np.zeros(len(chances), np.bool_), np.zeros(len(chances), np.bool_)
    for at, chance in enumerate(chances):
        with working_precision(2 * WORD):
            ball = chance() * arb(2) ** WORD
            down, up = ball.lower().floor().unique_fmpz(), ball.upper().ceil().unique_fmpz()
        low, high = 0 if down is None else int(down), 2**WORD if up is None else int(up)
        never[at], yes[at] = low < 1, min(max(low, 1), 2**WORD) - 1
        always[at], no[at] = high >= 2**WORD, min(max(high, 0), 2**WORD - 1)
    drawn = words(which.size)
    below = ~never[which] & (drawn <= yes[which])
    above = ~always[which] & (drawn >= no[which])
    for place in np.flatnonzero(~below & ~above):
        below[place] = happens(chances[which[place]], drawn=int(drawn[place]))
    return below


class Inversion:
    """Draws from two or more ``weights`` through a table of 64-bit thresholds.

    ``T_k`` is within 2 of ``2^64 F_k`` (checked when the table is made). A word w at or above
    ``T_k + 2`` says ``U >= F_k``; below ``T_k - 2`` it says ``U < F_k``; in between it says
    nothing, and the draw goes on exactly, as it does beyond the end of the table.
    """

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._thresholds, self._complete = _thresholds(weights)

    def one(self) -> int:
        """One outcome."""
        drawn = word()
        table = self._thresholds
        found = bisect_right(table, drawn)
        if found and drawn - table[found - 1] < _DOUBT:
            return exactly(self._weights, drawn)
        if found < len(table):
            return found if table[found] - drawn > _DOUBT else exactly(self._weights, drawn)
        return found if self._complete else exactly(self._weights, drawn)

    def many(self, size: int) -> NDArray[np.int64]:
        """An array of independent outcomes.

        Sixteen bits of U each; where these leave more than one outcome possible, 64. Few draws do
        not repay the guide that says so, and take 64 at once.
        """
        if size < _GUIDED:
            return self._in_words(words(size))
        first = halves(size)
        found = self._guide[first].astype(np.int64)
        places = np.flatnonzero(found < 0)
        if places.size:
            more = words(places.size) >> np.uint64(_GUIDE)
            drawn = first[places].astype(np.uint64) << np.uint64(WORD - _GUIDE) | more
            found[places] = self._in_words(drawn)
        return found

    def _in_words(self, drawn: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The outcome of each word: what the table says, drawn on exactly where it is not sure."""
        index = np.searchsorted(self._array, drawn, side="right")
        below = self._array[np.maximum(index - 1, 0)]
        above = self._array[np.minimum(index, self._array.size - 1)]
        doubtful = (index > 0) & (drawn - below < np.uint64(_DOUBT))
        inside = index < self._array.size
        doubtful |= inside & (above - drawn <= np.uint64(_DOUBT))
        if not self._complete:
            doubtful |= ~inside
        for place in np.flatnonzero(doubtful):
            index[place] = exactly(self._weights, int(drawn[place]))
        return index

    @cached_property
    def _array(self) -> NDArray[np.uint64]:
        return np.array(self._thresholds, np.uint64)

    @cached_property
    def _guide(self) -> NDArray[np.int32]:
        """The outcome of every sixteen bits, or -1 where they are not enough.

        A cell of words is decided if its least word has passed for certain every threshold that
        its largest word may have passed.
        """
        cell = 2 ** (WORD - _GUIDE)
        starts = np.arange(2**_GUIDE, dtype=np.uint64) * np.uint64(cell)
        ends = starts + np.uint64(cell - 1)
        table = self._array
        passed = np.searchsorted(table + np.uint64(_DOUBT), starts, side="right")
        touched = np.searchsorted(table - np.minimum(table, np.uint64(_DOUBT)), ends, side="right")
        decided = passed == touched
        if not self._complete:
            decided &= touched < table.size
        return np.where(decided, passed, -1).astype(np.int32)


def exactly(weights: Weights, drawn: int) -> int:
    """The least k with U < F_k, where ``drawn`` holds the first 64 bits of U."""
    bits = WORD
    while True:
        found = _decided(weights, drawn, bits)
        if found is not None:
            return found
        drawn, bits = drawn << WORD | word(), bits + WORD


def _decided(weights: Weights, drawn: int, bits: int) -> int | None:
    """That k, if so many bits of U can tell."""
    last = None if weights.size is None else weights.size - 1
    with working_precision(bits + 2 * WORD):
        unit = weights.total() / arb(2) ** bits
        start, end = drawn * unit, (drawn + 1) * unit
        summed, outcome = ZERO, 0
        while outcome != last:
            summed += weights.weight(outcome)
            if summed >= end:
                return outcome
            if not summed <= start:
                return None
            outcome += 1
        return outcome


def _thresholds(weights: Weights) -> tuple[list[int], bool]:
    """The whole numbers next to ``2^64 F_k``, and whether they are all that are needed.

    The last outcome needs none. Where they come too close to 2^64 the table ends, with a threshold
    that is too low: words below it are decided by it, and all others are drawn on exactly.
    """
    for _ in range(_TRIES):
        made = _made(weights)
        if made is not None:
            return made
    raise ArithmeticError("the precision of the table does not suffice")


def _made(weights: Weights) -> tuple[list[int], bool] | None:
    """The table; none if another thread has lowered the precision meanwhile."""
    found: list[int] = []
    last = None if weights.size is None else weights.size - 1
    with working_precision(_TABLE_BITS):
        unit = arb(2) ** WORD / weights.total()
        summed, threshold = ZERO, 0
        for outcome in count():
            if outcome == last:
                return found, True
            summed += weights.weight(outcome)
            scaled = summed * unit
            whole = scaled.mid().floor().unique_fmpz()
            if whole is None or not scaled.rad() < 1:
                return None
            threshold = max(threshold, int(whole))
            found.append(min(threshold, _LAST))
            if threshold > _LAST:
                break
    return found, False
