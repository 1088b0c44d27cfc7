r"""The composition experiment, as it is played.

Classic [Kairouz, Oh, Viswanath, section 3, Algorithm 1]: a bit b is hidden. In each round the
adversary, who has seen all outputs so far, picks a target and two neighbouring databases, and sees
the output about the one that b names. In the end the adversary guesses b.

Generalized [Hartmann, Bindschaedler, West, sections II to IV]: a vector of bits is hidden, one for
each round, drawn from one of two distributions; the adversary guesses which of the two. With the
vectors 0...0 and 1...1 it is the classic one.

Many runs are played at once: the adversary says which runs get which challenge.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from quaestor.accounting.releases.base import check_count
from quaestor.audit.worlds import Classic, Worlds
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.random import Generator
    from numpy.typing import NDArray

    from quaestor.audit.targets import Outputs, Target

__all__ = ["Adversary", "Challenge", "Experiment", "Transcripts"]

_CHUNK = 2**16
_FEWEST_CHUNKS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge:
    """What the adversary picks in one round: a target and two neighbouring databases.

    >>> from quaestor.audit import FourPoints
    >>> Challenge(target=FourPoints(epsilon=1.0), zero=0, one=1).one
    1
    """

    target: Target
    zero: Any
    one: Any


class Adversary(ABC):
    """Picks the challenges of ``rounds`` rounds.

    >>> from quaestor.audit import FourPoints, always
    >>> isinstance(always(FourPoints(epsilon=1.0), (0, 1)), Adversary)
    True
    """

    rounds: int

    @abstractmethod
    def challenges(
        self, past: tuple[Outputs, ...], runs: int, coins: Generator
    ) -> Iterable[tuple[NDArray[np.intp], Challenge]]:
        """Which runs get which challenge next, after the outputs of the rounds so far."""


@dataclass(frozen=True, slots=True)
class Transcripts:
    """What was played: the hidden hypothesis of each run, and the outputs of each round.

    >>> played = Transcripts(np.array([True, False]), (np.array([1, 0]),))
    >>> len(played), len(played.part(0, 1))
    (2, 1)
    """

    hidden: NDArray[np.bool_]
    rounds: tuple[Outputs, ...]
    in_turn: bool = False

    def __len__(self) -> int:
        return len(self.hidden)

    def part(self, start: int, stop: int) -> Transcripts:
        """Some of the runs."""
        rounds = tuple(each[start:stop] for each in self.rounds)
        return Transcripts(self.hidden[start:stop], rounds, self.in_turn)


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One adversary, and what may be hidden from it.

    >>> from quaestor.audit import FourPoints, always
    >>> game = Experiment(adversary=always(FourPoints(epsilon=1.0), (0, 1), rounds=3))
    >>> len(game.run(1000).rounds)
    3
    """

    adversary: Adversary
    worlds: Worlds = Classic()  # noqa: RUF009  # a frozen value

    def run(
        self,
        runs: int,
        *,
        seed: int | None = None,
        processes: int = 1,
        progress: Callable[[int], None] | None = None,
    ) -> Transcripts:
        """Play so many times.

        The hidden bits and the adversary's own coins come from ``seed``; the targets' randomness
        is their own. With several processes, each has a fresh interpreter: a target must be
        importable there, and must not draw the same noise in every process. ``progress`` is told
        how many runs were played since it was told last.
        """
        total = check_count("runs", runs, largest=10**10)
        workers = check_count("processes", processes, largest=1024)
        size = max(min(_CHUNK, -(-total // _FEWEST_CHUNKS)), 1)
        sizes = [min(size, total - start) for start in range(0, total, size)]
        seeds = np.random.SeedSequence(seed).spawn(len(sizes))
        parts: list[Transcripts] = []
        for part in self._played(sizes, seeds, workers):
            parts.append(part)
            if progress is not None:
                progress(len(part))
        return joined(parts)

    def _played(
        self, sizes: list[int], seeds: list[np.random.SeedSequence], workers: int
    ) -> Iterator[Transcripts]:
        if workers == 1:
            yield from map(self.play, sizes, seeds)
            return
        from concurrent.futures import ProcessPoolExecutor
        from concurrent.futures.process import BrokenProcessPool
        from multiprocessing import get_context
        from pickle import PicklingError, dumps

        valid = "1, as the target cannot be sent to other processes"
        try:
            dumps(self)
        except (PicklingError, AttributeError, TypeError):
            raise InvalidParameter("processes", workers, valid) from None
        try:
            with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
                yield from pool.map(self.play, sizes, seeds)
        except BrokenProcessPool:
            raise InvalidParameter("processes", workers, valid) from None

    def play(self, runs: int, seed: np.random.SeedSequence) -> Transcripts:
        """One batch of runs."""
        coins = np.random.default_rng(seed)
        hidden = coins.integers(0, 2, runs).astype(np.bool_)
        bits = self.worlds.draw(hidden, self.adversary.rounds, coins)
        past: tuple[Outputs, ...] = ()
        in_turn = False
        for i in range(self.adversary.rounds):
            pieces: list[tuple[NDArray[np.intp], Outputs]] = []
            for rows, challenge in self.adversary.challenges(past, runs, coins):
                pieces += _answers(challenge, rows, bits[rows, i])
                in_turn = in_turn or challenge.target.in_turn
            past = (*past, _merged(pieces, runs))
        return Transcripts(hidden, past, in_turn)


def _answers(
    challenge: Challenge, rows: NDArray[np.intp], bits: NDArray[np.bool_]
) -> Iterator[tuple[NDArray[np.intp], Outputs]]:
    """The target's outputs, with the runs they belong to."""
    target, databases = challenge.target, (challenge.zero, challenge.one)
    if target.in_turn or target.one_by_one:
        outputs = [target.many(databases[bit], 1) for bit in bits.tolist()]
        yield rows, _chained(outputs)
        return
    for bit, database in enumerate(databases):
        chosen = rows[bits == bit]
        if chosen.size:
            yield chosen, target.many(database, chosen.size)


def _merged(pieces: list[tuple[NDArray[np.intp], Outputs]], runs: int) -> Outputs:
    """The outputs of all runs in their order."""
    arrays = [outputs for _, outputs in pieces if isinstance(outputs, np.ndarray)]
    if len(arrays) == len(pieces) and len({(a.dtype, a.shape[1:]) for a in arrays}) == 1:
        whole = np.empty((runs, *arrays[0].shape[1:]), arrays[0].dtype)
        for rows, outputs in pieces:
            whole[rows] = outputs
        return whole
    entries: list[Any] = [None] * runs
    for rows, outputs in pieces:
        for row, output in zip(rows.tolist(), outputs, strict=True):
            entries[row] = output
    return entries


def joined(parts: list[Transcripts]) -> Transcripts:
    """Batches one after the other."""
    hidden = np.concatenate([part.hidden for part in parts])
    rounds = tuple(_chained(list(each)) for each in zip(*(p.rounds for p in parts), strict=True))
    return Transcripts(hidden, rounds, any(part.in_turn for part in parts))


def _chained(batches: list[Outputs]) -> Outputs:
    arrays = [batch for batch in batches if isinstance(batch, np.ndarray)]
    if len(arrays) == len(batches) and len({(a.dtype, a.shape[1:]) for a in arrays}) == 1:
        return np.concatenate(arrays)
    return [output for batch in batches for output in batch]
