r"""Bets against a claim: evidence that may be looked at after every run.

A run hides a fair bit B and shows an output Y. Before it, a set S of outputs is fixed, by whatever
was seen in earlier runs. If the target is :math:`(\varepsilon, \delta)`-DP, then

.. math:: g = 2\cdot 1[Y \in S]\,(1[B = 1] - e^\varepsilon\,1[B = 0]) - \delta
   \quad\text{has}\quad E[g \mid \text{past}] = P_1(S) - e^\varepsilon P_0(S) - \delta \le 0.

So a gambler who starts with 1 and stakes a share of it on g, at odds fixed before the run, owns

.. math:: W_t = \prod_{i \le t} (1 + \lambda_i g_i + \mu_i h_i),

with h the same for a set T, disjoint from S, and the worlds exchanged, and :math:`\lambda, \mu \ge
0` so small that no factor is negative. Under the claim W is a nonnegative supermartingale, and by
Ville's inequality :math:`P[\sup_t W_t \ge 1/\alpha] \le \alpha`: whenever one stops, and however
sets, points and stakes were chosen from the past, W of at least :math:`1/\alpha` refutes the claim
with confidence :math:`1 - \alpha`. A claim of many points, such as a trade-off curve, says that
each g has no positive mean, whichever point it is made of: one W tests the whole curve.

*Bounds.* The same bets are laid against each epsilon of a lattice at a fixed delta, each with its
own stakes. Let :math:`\varepsilon^*` be the least epsilon that is true, and e the least point of
the lattice that is not below it: the target is (e, delta)-DP, so that its W reaches
:math:`1/\alpha` with probability at most alpha. The bound is the largest point L such that all
points up to L were refuted; if it is too large, e was refuted. So :math:`\varepsilon^* > L` at
every time, with confidence :math:`1 - \alpha`.

*What is assumed.* Given the past, a run is (epsilon, delta)-DP in its own bit, which is fair. Runs
need not be alike, nor independent of what they have in common, so long as that knows nothing of
the bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Stakes", "Tally", "best_stakes", "log_growth"]

_MOST_LOST = 0.98  # of what is owned, in one run
_HALVINGS = 40
_CAUTION = 0.5  # of the stake that would have won the most: what was seen was chosen to look well
_DOUBT = 0.5  # of a lost bet, added to what was seen
_UPWARD = 1 + 1e-12  # rounding, many times over
_BEYOND = 500.0  # stakes against larger epsilons are below 1e-217: nothing is ever won


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How often each of five things happened: bets on either world won, lost, or not called."""

    one_won: int = 0
    one_lost: int = 0
    zero_won: int = 0
    zero_lost: int = 0
    neither: int = 0

    @classmethod
    def of(
        cls, for_one: NDArray[np.bool_], for_zero: NDArray[np.bool_], hidden: NDArray[np.bool_]
    ) -> Tally:
        """Of sets that are made disjoint: what lies in both lies in neither."""
        one, zero = for_one & ~for_zero, for_zero & ~for_one
        return cls(
            one_won=int(np.sum(one & hidden)),
            one_lost=int(np.sum(one & ~hidden)),
            zero_won=int(np.sum(zero & ~hidden)),
            zero_lost=int(np.sum(zero & hidden)),
            neither=int(np.sum(~(one | zero))),
        )


@dataclass(frozen=True, slots=True)
class Stakes:
    """The stakes against several hypotheses at once, and what each outcome multiplies them by.

    ``logs`` has one row for each field of :class:`Tally`, and one column for each hypothesis.
    """

    logs: Floats

    def gained(self, tally: Tally) -> Floats:
        """By how much the logarithm of what is owned grows, against each hypothesis."""
        counts = np.array(
            [tally.one_won, tally.one_lost, tally.zero_won, tally.zero_lost, tally.neither]
        )
        gained: Floats = counts @ self.logs
        return gained


def best_stakes(tally: Tally, points_one: Floats, points_zero: Floats) -> Stakes:
    """Half of the stakes that would have won the most on this tally, with some doubt.

    The points have two rows, epsilons and deltas; a column for each hypothesis.
    """
    rest_one = tally.neither + tally.zero_won + tally.zero_lost
    rest_zero = tally.neither + tally.one_won + tally.one_lost
    one = _share(tally.one_won, tally.one_lost, rest_one, points_one)
    zero = _share(tally.zero_won, tally.zero_lost, rest_zero, points_zero)
    loss_one, loss_zero = _odds(points_one), _odds(points_zero)
    paid_one, paid_zero = one * points_one[1], zero * points_zero[1]
    worst = np.maximum(one * loss_one + paid_zero, zero * loss_zero + paid_one)
    shrink = np.minimum(1.0, _MOST_LOST / np.maximum(worst, 1e-300))
    one, zero = one * shrink, zero * shrink
    paid = one * points_one[1] + zero * points_zero[1]
    return Stakes(
        np.log1p(
            np.stack(
                [
                    2 * one - paid * _UPWARD,
                    -2 * one * _lift(points_one) * _UPWARD - paid * _UPWARD,
                    2 * zero - paid * _UPWARD,
                    -2 * zero * _lift(points_zero) * _UPWARD - paid * _UPWARD,
                    -paid * _UPWARD,
                ]
            )
        )
    )


def log_growth(won: Floats, lost: Floats, rest: Floats, points: Floats) -> Floats:
    """What half of the best stakes on one world would have gained, with some doubt.

    >>> alone = np.array([[1.0], [0.0]])
    >>> bool(log_growth(np.array([90.0]), np.array([10.0]), np.array([0.0]), alone)[0] > 5)
    True
    """
    share = _share(won, lost, rest, points)
    gained: Floats = (
        won * np.log1p(share * (2 - points[1]))
        + (lost + _DOUBT) * np.log1p(-share * _odds(points))
        + rest * np.log1p(-share * points[1])
    )
    return gained


def _odds(points: Floats) -> Floats:
    """What is lost for a stake of 1."""
    odds: Floats = (2 * _lift(points) + points[1]) * _UPWARD
    return odds


def _lift(points: Floats) -> Floats:
    lift: Floats = np.exp(np.minimum(points[0], _BEYOND))
    return lift


def _share(won: Floats | int, lost: Floats | int, rest: Floats | int, points: Floats) -> Floats:
    """Half the stake of the largest growth, which is where its derivative, which falls, is zero."""
    gain, loss, fee = 2 - points[1], _odds(points), points[1]
    low = np.zeros(np.broadcast(np.asarray(won), gain).shape)
    high = low + _MOST_LOST / loss
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        slope = (
            won * gain / (1 + middle * gain)
            - (lost + _DOUBT) * loss / (1 - middle * loss)
            - rest * fee / (1 - middle * fee)
        )
        low, high = np.where(slope > 0, middle, low), np.where(slope > 0, high, middle)
    return _CAUTION * low
