"""Few databases with few outcomes: every outcome of both mixtures, listed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from flint import arb

from quaestor.accounting.hypothesis.outcomes import Outcomes
from quaestor.accounting.numerics.atoms import UNIT
from quaestor.accounting.numerics.balls import working_precision

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.accounting.hypothesis.outcomes import Floats
    from quaestor.accounting.hypothesis.priors import Weights
    from quaestor.accounting.membership.release_order import Kind
    from quaestor.accounting.releases import Release

__all__ = ["enumerated", "kind_outcomes"]

_MOST_OUTCOMES = 1 << 20
_MOST_WORK = 1 << 26
_FURTHEST = 250.0


def kind_outcomes(kind: Kind) -> tuple[Floats, Floats] | None:
    """All outcomes of one database, with the person and without; None if they are not few."""
    with_it, without = np.ones(1), np.ones(1)
    for release, count in kind:
        pair = _release_outcomes(release, count)
        if pair is None or with_it.size * pair[0].size > _MOST_OUTCOMES:
            return None
        with_it = np.multiply.outer(with_it, pair[0]).ravel()
        without = np.multiply.outer(without, pair[1]).ravel()
    return with_it, without


def _release_outcomes(release: Release, count: int) -> tuple[Floats, Floats] | None:
    if release.black_box is not None:
        return _responses(*release.black_box, count) if count <= 1000 else None
    laws = release.losses()
    law = laws[0].listed() if count == 1 and len(laws) == 1 else None
    if law is None or law is not laws[0] or law.infinite.upper or law.blur or law.error:
        return None
    return np.exp(law.log_first), np.exp(law.log_second)


def _responses(epsilon: float, delta: float, count: int) -> tuple[Floats, Floats]:
    """So many equal black boxes: told in, each number of lies, told out."""
    with working_precision(128):
        odds = (-arb(epsilon)).exp()
        kept = (count * (-arb(delta)).log1p()).exp() if delta < 1.0 else arb(0)
        told = float(1 - kept) if delta else 0.0
        term = kept * (-count * odds.log1p()).exp()
        masses = []
        for lies in range(count + 1):
            masses.append(float(term))
            term = term * odds * (count - lies) / (lies + 1)
    middle = np.array(masses)
    ends = ([told], [0.0])
    with_it = np.concatenate((ends[0], middle, ends[1]))
    return with_it, with_it[::-1].copy()


def enumerated(kinds: Sequence[Kind], null: Weights, alternative: Weights) -> Outcomes | None:
    """The first mixture against the second, if all outcomes together are few."""
    pairs = []
    size = 1
    reach = math.fsum(_reach(release) * count for kind in kinds for release, count in kind)
    if reach > _FURTHEST:
        return None
    for kind in kinds:
        pair = kind_outcomes(kind)
        if pair is None:
            return None
        size *= pair[0].size
        if size > _MOST_OUTCOMES or size * (len(null) + len(alternative)) > _MOST_WORK:
            return None
        pairs.append(pair)
    depth = len(kinds) + sum(count for kind in kinds for _, count in kind)
    error = UNIT * (64 * depth + 16 * reach + 64 + len(null) + len(alternative))
    first, second = _mixture(pairs, null), _mixture(pairs, alternative)
    return Outcomes(first, second, error=error, reach=reach * (1 + 1e-12) + 1e-12)


def _reach(release: Release) -> float:
    """The largest finite loss."""
    if release.black_box is not None:
        return release.black_box[0]
    return max(law.largest for law in release.losses())


def _mixture(pairs: Sequence[tuple[Floats, Floats]], prior: Weights) -> Floats:
    total = np.zeros(math.prod(p.size for p, _ in pairs))
    for member, weight in prior.items():
        law = np.full(1, float(weight))
        for i, (with_it, without) in enumerate(pairs):
            law = np.multiply.outer(law, with_it if member >> i & 1 else without).ravel()
        total += law
    return total
