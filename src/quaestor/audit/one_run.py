r"""Audits of training from one run: many canaries, each in or out by a fair coin.

m canaries are put into the data or left out, each by a coin of its own. The target runs once. An
attacker who knows everything but the coins gives each canary a score, guesses "in" for the largest
and "out" for the smallest, c' guesses in all, and leaves the rest alone [Steinke, Nasr, Jagielski
2023]. How many guesses may be right if the target keeps its claim?

Theorem (after Mahloujifar, Melis, Chaudhuri 2024, Theorem 9):
    Let the target be f-DP with f symmetric, and :math:`\bar f = 1 - f`. Let :math:`p_i` be the
    probability that exactly i of the c' guesses are right. Then for every set T of numbers

    .. math:: \sum_{i \in T} \frac{i}{m} p_i \le \bar f\Bigl(\sum_{i \in T} \frac{c' - i + 1}{m}
       p_{i-1}\Bigr).

    Proof: fix the coins u and a canary j, and let O be the outputs after which i guesses are right,
    i in T, and that on j is one of them. If coin j is turned, the same outputs have i - 1 right
    guesses, and that on j is wrong. The two runs are neighbours, so :math:`P_u(O) \le \bar
    f(P_{u'}(O))`. Take the mean over j and u; u' is as uniform as u, and :math:`\bar f` is concave.

With T all numbers above i, and :math:`r_i = \sum_{k \ge i} \frac km p_k`, :math:`h_i = \sum_{k \ge
i} \frac{c'-k}m p_k`, this is :math:`h_i \ge \bar f^{-1}(r_{i+1})`. Suppose that c right guesses or
more have probability alpha at least. Probability that is moved from some i to i - 1 lowers the sums
r, raises the sums h, and so breaks no constraint but possibly the one that it served to meet. So,
going down from the top, all of it can be moved until nothing lies above c, c has exactly alpha,
and each lower :math:`p_i` is as small as its constraint allows; the rest ends at 0. If the
probabilities found in this way add up to more than 1, then c or more right guesses have a
probability below alpha under the claim, and seeing them refutes it with confidence
:math:`1 - \alpha`.

For a claim of points :math:`(\varepsilon_j, \delta_j)`, :math:`\bar f^{-1}(y) = \max_j \max(0,
(y - \delta_j)e^{-\varepsilon_j}, 1 - \delta_j - (1 - y)e^{\varepsilon_j})`. Lower bounds come from
a lattice, as in :mod:`quaestor.audit.anytime.bets`: the largest point up to which all are refuted.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from quaestor.accounting.numerics.digits import rounded_down, rounded_up
from quaestor.accounting.releases.base import check_real
from quaestor.audit.claims import Claim
from quaestor.audit.report import percent
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from quaestor.accounting.compose import Composition
    from quaestor.accounting.releases import Release

    Floats = NDArray[np.float64]

__all__ = ["OneRunReport", "audit_one_run", "one_run_guesses", "refuted"]

_EPSILONS = np.concatenate([np.arange(0.0, 4.0, 0.01), np.arange(4.0, 20.0, 0.05)])
_MUS = np.geomspace(0.02, 8.0, 180)
_TANGENTS = np.geomspace(0.05, 12.0, 24)
_SHARES = (1.0, 0.3, 0.1)  # of the canaries that are guessed, if nobody says
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class OneRunReport:
    """How many guesses about canaries were right in one run, and what that proves.

    With a probability of at least ``confidence`` the target is not (epsilon', delta)-DP for any
    epsilon' below ``epsilon``, is not mu'-Gaussian-DP for any mu' below ``mu``, and does not keep a
    claim that is ``violated``: all at once.

    >>> report = audit_one_run(included=[True, False] * 500, scores=[1.0, 0.0] * 500)
    >>> report.correct == report.guesses, report.epsilon > 3
    (True, True)
    """

    canaries: int
    guesses: int
    correct: int
    epsilon: float
    delta: float
    mu: float
    confidence: float
    claimed_epsilon: float | None
    violated: bool

    @property
    def verdict(self) -> str:
        """The result in words."""
        seen = f"{self.correct} of {self.guesses} guesses about {self.canaries} canaries are right"
        least = f"epsilon at least {rounded_down(self.epsilon)} at delta = {self.delta!r}"
        sure = f"with {percent(self.confidence)} confidence"
        if self.claimed_epsilon is None:
            return f"{seen}: {least} {sure}"
        word = "VIOLATES its claim" if self.violated else "consistent"
        return f"{word}: {seen}; {least} {sure}, claimed {rounded_up(self.claimed_epsilon)}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"verdict": "violates" if self.violated else "consistent", **asdict(self)}


def audit_one_run(  # noqa: PLR0913  # what an audit may be told
    *,
    included: ArrayLike,
    scores: ArrayLike,
    delta: float = 0.0,
    claim: Release | Composition | Claim | None = None,
    guesses: int | None = None,
    confidence: float = 0.95,
) -> OneRunReport:
    """Bound the privacy of one run from its canaries.

    ``included`` are the coins: each canary was in with probability 1/2, independently of all
    others and of everything else. ``scores`` are larger where the attacker takes a canary for one
    that was in; they are made without knowing the coins. ``guesses`` says how many of the most
    certain ones count, half "in" and half "out"; it must not depend on the coins. Without it, three
    numbers of guesses are tried, and each gets a third of what may go wrong.

    >>> coins = np.random.default_rng(7)
    >>> included = coins.random(2000) < 0.5
    >>> scores = included + coins.normal(size=2000)
    >>> report = audit_one_run(included=included, scores=scores, delta=1e-5)
    >>> 0.4 < report.mu < 1.0
    True
    """
    bits, values = np.asarray(included), np.asarray(scores, np.float64)
    if bits.ndim != 1 or bits.shape != values.shape or not bits.size:
        raise InvalidParameter("scores", values.shape, "one for each canary")
    if not np.isin(bits, (0, 1)).all():
        raise InvalidParameter("included", "something else", "true or false for each canary")
    if np.isnan(values).any():
        raise InvalidParameter("scores", math.nan, "numbers")
    check_real("confidence", confidence, low=0.5, high=1 - 1e-9)
    at = check_real("delta", delta, low=0.0, high=1.0)
    claimed = None if claim is None else Claim.of(claim)
    sizes = _sizes(bits.size, guesses)
    missing = (1 - confidence) * (1 - 1e-9) / len(sizes) / (2 if claimed is None else 3)
    found = [
        _judged(one_run_guesses(bits.astype(np.bool_), values, size), bits.size, at, missing)
        for size in sizes
    ]
    best = max(found, key=lambda each: (each[2], each[3]))
    violated = claimed is not None and any(
        refuted(_lines(claimed)[:, :, None], bits.size, size, correct, missing)[0]
        for size, correct, _, _ in found
    )
    return OneRunReport(
        canaries=bits.size,
        guesses=best[0],
        correct=best[1],
        epsilon=best[2],
        delta=at,
        mu=max(each[3] for each in found),
        confidence=confidence,
        claimed_epsilon=None if claimed is None else claimed.composition.epsilon(delta=at),
        violated=violated,
    )


def one_run_guesses(included: NDArray[np.bool_], scores: Floats, guesses: int) -> tuple[int, int]:
    """How many guesses are made, and how many are right: "in" for the larger half, "out" else.

    Ties are in the order of the canaries, which knows nothing of the coins.

    >>> one_run_guesses(np.array([True, False, True]), np.array([2.0, 1.0, 0.0]), 2)
    (2, 1)
    """
    order = np.argsort(scores, kind="stable")
    low, high = guesses // 2, guesses - guesses // 2
    out, into = order[:low], order[order.size - high :]
    return guesses, int(np.sum(~included[out]) + np.sum(included[into]))


def refuted(points: Floats, canaries: int, guesses: int, correct: int, missing: float) -> Any:
    """Whether so many right guesses refute each claim, with ``missing`` left for an error.

    The axes of ``points``: the points of one claim; epsilon and delta; the claims.

    >>> claims = np.array([[[1.0, 9.0], [0.0, 0.0]]])
    >>> refuted(claims, 100, 100, 100, 0.05).tolist()
    [True, False]
    """
    lift, delta = np.exp(np.minimum(points[:, 0], 500.0)), points[:, 1]
    right = np.full(points.shape[2], missing * correct / canaries)
    wrong = np.full(points.shape[2], missing * (guesses - correct) / canaries)
    for i in range(correct - 1, -1, -1):
        steep, flat = (right - delta) / lift, 1 - delta - (1 - right) * lift
        needed = np.maximum(wrong, np.maximum(steep, flat).max(axis=0) - 1e-15)
        right = right + i / (guesses - i) * (needed - wrong)
        wrong = needed
        if np.all(right + wrong > 2 * guesses / canaries):
            break
        right = np.minimum(right, 1.0)
    return right + wrong > guesses / canaries * (1 + _ROUNDING)


def _sizes(canaries: int, guesses: int | None) -> tuple[int, ...]:
    if guesses is None:
        return tuple(sorted({max(int(canaries * share), 1) for share in _SHARES}))
    if not (isinstance(guesses, int) and 1 <= guesses <= canaries):
        raise InvalidParameter("guesses", guesses, f"between 1 and {canaries}, the canaries")
    return (guesses,)


def _judged(
    guessed: tuple[int, int], canaries: int, delta: float, missing: float
) -> tuple[int, int, float, float]:
    """The guesses, the right ones, and the bounds on epsilon and mu."""
    size, correct = guessed
    epsilons = np.stack([_EPSILONS, np.full(_EPSILONS.size, delta)])[None]
    profiles = np.array([[np.full(_MUS.size, e), _gaussian_deltas(e)] for e in (0.0, *_TANGENTS)])

    def bound(lattice: Floats, points: Floats) -> float:
        stands = ~refuted(points, canaries, size, correct, missing)
        first = int(np.argmax(stands)) if stands.any() else lattice.size
        return float(lattice[first - 1]) if first else 0.0

    return size, correct, bound(_EPSILONS, epsilons), bound(_MUS, profiles)


def _gaussian_deltas(epsilon: float) -> Floats:
    """At least the delta of mu-Gaussian-DP, for each mu of the lattice."""

    def delta(mu: float) -> float:
        near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
        tails = [math.erfc(x / math.sqrt(2)) / 2 for x in (near, far)]
        return min(tails[0] - math.exp(epsilon) * tails[1] + 1e-12, 1.0)

    return np.array([delta(float(mu)) for mu in _MUS])


def _lines(claim: Claim) -> Floats:
    """The points of a claim; of a curve many more."""
    points = list(claim.points)
    if len(points) > 1:
        points += [(float(e), claim.composition.delta(epsilon=float(e))) for e in _TANGENTS]
    return np.array(points)
