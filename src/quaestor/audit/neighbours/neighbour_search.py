"""Neighbours that are searched for: try many pairs a little, and keep to what looks worst.

The search plays runs of its own. The pair that it finds is then tested with fresh runs, so that the
result of an audit holds however long the search was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from quaestor.accounting.releases.base import check_count
from quaestor.audit.adversaries import always
from quaestor.audit.chosen_tests import NamedScore, best_bet, best_test
from quaestor.audit.distinguishers import DISTINGUISHERS
from quaestor.audit.facts import text_of
from quaestor.audit.features import learned_features
from quaestor.audit.game import Experiment
from quaestor.audit.neighbours.spaces import Pairs
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.audit.claims import Claim
    from quaestor.audit.game import Transcripts
    from quaestor.audit.neighbours.spaces import Pair

__all__ = ["Search", "found_neighbours", "search"]

_GLANCE = 160  # runs to try a pair
_LEARNED = 0.4
_SURVIVORS = 5
_RANDOM_SHARE = 0.4  # of the budget, before hill climbing
_FEW = 0.05


@dataclass(frozen=True, slots=True)
class Search:
    """A search for neighbours that are bad for a target; give it to an audit as ``neighbours``.

    >>> from quaestor.audit import Ints, Rows, search
    >>> search(Rows(Ints(0, 9)), runs=5_000).runs
    5000
    """

    space: Pairs
    runs: int
    seed: int | None

    def found(self, target: Any, claim: Claim, *, rounds: int = 1) -> Pair:
        """The pair on which a glance at the target looks worst, after ``runs`` runs."""
        coins = np.random.default_rng(self.seed)
        tried: list[_Tried] = []

        def glance(pair: Pair) -> _Tried:
            game = Experiment(adversary=always(target, pair, rounds=rounds))
            entropy = int(coins.integers(2**63))
            played = game.play(_GLANCE, np.random.SeedSequence(entropy))
            return _Tried(pair, (_suspicion(played, claim),))

        times = self.runs // _GLANCE
        for i in range(times):
            if i < times * _RANDOM_SHARE or not tried:
                tried.append(glance(self.space.draw(coins)))
                continue
            tried.sort(key=lambda each: -each.mean)
            place = int(coins.integers(min(_SURVIVORS, len(tried))))
            if coins.random() < 0.5:  # look again, lest luck be taken for guilt
                again = glance(tried[place].pair)
                tried[place] = _Tried(again.pair, tried[place].seen + again.seen)
            else:
                tried.append(glance(self.space.changed(tried[place].pair, coins)))
        return max(tried, key=lambda each: each.doubted).pair


@dataclass(frozen=True, slots=True)
class _Tried:
    pair: Pair
    seen: tuple[float, ...]

    @property
    def mean(self) -> float:
        return sum(self.seen) / len(self.seen)

    @property
    def doubted(self) -> float:
        """The mean with one glance more that showed nothing."""
        return sum(self.seen) / (len(self.seen) + 1)


def search(space: Pairs, *, runs: int = 20_000, seed: int | None = None) -> Search:
    """Search a described space for neighbours, with ``runs`` runs of the target.

    >>> from quaestor import PureDP, audit
    >>> coins = np.random.default_rng()
    >>> def clipped_above(rows):  # forgets that values may be negative
    ...     return sum(min(row, 1) for row in rows) + round(coins.laplace(scale=2.0))
    >>> searched = search(audit.Rows(audit.Ints(-50, 50), most=3), runs=4_000)
    >>> claim = PureDP(epsilon=1.0)
    >>> report = audit.audit_sequentially(clipped_above, neighbours=searched, claim=claim)
    >>> report.violated
    True
    """
    if not isinstance(space, Pairs):
        raise InvalidParameter("space", type(space).__name__, "audit.Rows or audit.Answers")
    return Search(space, check_count("runs", runs, smallest=10 * _GLANCE, largest=10**9), seed)


def found_neighbours(
    neighbours: Any, target: Any, claim: Claim, rounds: int
) -> tuple[Pair, tuple[str, ...]]:
    """A pair as it is given, or the one that a search finds, and a note that says so."""
    if isinstance(neighbours, Search):
        pair = neighbours.found(target, claim, rounds=rounds)
        note = f"neighbours found in {neighbours.runs} runs: {text_of(pair[0])}, {text_of(pair[1])}"
        return pair, (note,)
    if not (isinstance(neighbours, tuple) and len(neighbours) == 2):
        valid = "a pair of two databases, or audit.search(...)"
        raise InvalidParameter("neighbours", type(neighbours).__name__, valid)
    return (neighbours[0], neighbours[1]), ()


def _suspicion(played: Transcripts, claim: Claim) -> float:
    """What bets against the claim would have gained, or how near a test comes to it."""
    learned = int(len(played) * _LEARNED)
    sampled = learned_features(played.part(0, learned))
    learning, choosing = (
        sampled(played.part(0, learned)),
        sampled(played.part(learned, len(played))),
    )
    scores = [
        NamedScore(each.name, looks_at, score)
        for each in DISTINGUISHERS
        for looks_at, score in each.scores(learning)
    ]
    gained, nearness = 0.0, 0.0
    for towards_one in (True, False):
        bet = best_bet(scores, choosing, claim.points, towards_one=towards_one)
        near = best_test(
            scores, choosing, claim.points, towards_one=towards_one, missing=_FEW, in_turn=True
        )
        gained += max(bet.promise, 0.0) if bet else 0.0
        nearness = max(nearness, min(near.promise, 1.0) if near else 0.0)
    return gained + nearness
