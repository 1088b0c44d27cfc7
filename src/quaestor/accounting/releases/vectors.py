"""A mechanism of one's own, given by two probability vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from quaestor.accounting.releases.base import Release, remembered
from quaestor.accounting.releases.loss_ends import LossEnd, exactly, logarithm
from quaestor.accounting.releases.opinion import Opinion
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.numerics.bounds import Bounds
    from quaestor.accounting.releases.opinion import Curve

__all__ = ["MANY", "ProbabilityVectors", "vectors_curve"]

MANY = 1000  # outcomes: more take longer than a second opinion may


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbabilityVectors(Release):
    """The probabilities of every outcome in two neighbouring worlds.

    Guarantee:
        That of the pair itself, in both directions: it is up to you that it dominates what the
        mechanism does on any two neighbours.

    >>> from quaestor import compose
    >>> coin = ProbabilityVectors(p=(0.75, 0.25), q=(0.25, 0.75))
    >>> round(compose(coin).epsilon(delta=0.0), 6)  # ln 3
    1.098612
    """

    p: tuple[float, ...]
    q: tuple[float, ...]

    directed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check that both are probabilities of the same outcomes."""
        for name in ("p", "q"):
            object.__setattr__(self, name, _probabilities(name, getattr(self, name)))
        if len(self.p) != len(self.q):
            raise InvalidParameter("q", len(self.q), f"as long as p, which has {len(self.p)}")

    def losses(self) -> tuple[Law, ...]:
        """The pair, and the pair turned round."""
        return _loss(self.p, self.q), _loss(self.q, self.p)

    # From the parameters alone.

    @remembered
    def loss_ends(self) -> tuple[LossEnd, ...]:
        """The largest ratio, and what only one world shows."""
        return _end(self.p, self.q), _end(self.q, self.p)

    @remembered
    def opinion(self) -> Opinion | None:
        """The sum itself."""
        if len(self.p) > MANY:
            return None
        return Opinion(vectors_curve(self.p, self.q), None, math.inf)


def _probabilities(name: str, value: Any) -> tuple[float, ...]:
    try:
        entries = tuple(float(entry) for entry in value)
    except (TypeError, ValueError):
        raise InvalidParameter(name, value, "a list of probabilities") from None
    if not entries or not all(0.0 <= entry <= 1.0 for entry in entries):
        raise InvalidParameter(name, value, "a list of probabilities")
    if abs(math.fsum(entries) - 1.0) > 1e-9:
        raise InvalidParameter(name, math.fsum(entries), "probabilities that sum to 1")
    return entries


def _loss(first: tuple[float, ...], second: tuple[float, ...]) -> Law:
    import numpy as np

    from quaestor.accounting.loss.laws.finite import FiniteLoss
    from quaestor.accounting.numerics.bounds import Bounds

    p, q = np.array(first), np.array(second)
    both = (p > 0) & (q > 0)
    outright, never = math.fsum(p[q == 0]), math.fsum(q[p == 0])
    if not np.any(both):
        nothing, everything = np.zeros(0), Bounds.exactly(1.0)
        return FiniteLoss(nothing, nothing, nothing, infinite=everything, opposite=everything)
    p, q = p[both], q[both]
    logs = np.log(p), np.log(q)
    near = np.abs(p - q) < q / 2  # there the difference is exact
    losses = np.where(near, np.log1p(np.where(near, p - q, 0.0) / q), logs[0] - logs[1])
    size = np.where(near, 0.0, np.abs(logs[0]) + np.abs(logs[1]))
    off = max(abs(math.fsum(first) - 1.0), abs(math.fsum(second) - 1.0))
    return FiniteLoss(
        losses,
        *logs,
        infinite=_around(outright),
        opposite=_around(never),
        blur=2.0**-51 * float(np.max(size)),
        error=2 * off + 2.0**-50,
    )


def _around(sum_of_floats: float) -> Bounds:
    from quaestor.accounting.numerics.bounds import Bounds

    exact = Bounds.exactly(sum_of_floats)
    return exact if sum_of_floats == 0.0 else exact.widened(ulps=2).clipped(0.0, 1.0)


def _end(first: tuple[float, ...], second: tuple[float, ...]) -> LossEnd:
    """Sums that are not quite 1 leave this much open."""
    nothing = Fraction(0)
    pairs = [(Fraction(p), Fraction(q)) for p, q in zip(first, second, strict=True) if p > 0.0]
    outright = sum((p for p, q in pairs if not q), nothing)
    sums = [sum(map(Fraction, each), nothing) for each in (first, second)]
    doubt = 4 * (abs(sums[0] - 1) + abs(sums[1] - 1)) + Fraction(1, 2**48)
    ratios = [p / q for p, q in pairs if q]
    span = max(outright * (1 - doubt), nothing), min(outright * (1 + doubt), Fraction(1))
    if not ratios:
        return LossEnd(exactly(0), exactly(1))
    largest = logarithm(max(ratios))
    blur = doubt * (1 + max(abs(largest[0]), abs(largest[1])) + Fraction(1500, 1))
    return LossEnd((largest[0] - blur, largest[1] + blur), span)


def vectors_curve(
    p: tuple[float, ...], q: tuple[float, ...], *, error: float = 0.0
) -> Callable[[float], Curve]:
    """The sum itself, in both directions; vectors that do not quite sum to 1 leave that open."""
    doubt = 1e-14 + 8 * error + 4 * (abs(math.fsum(p) - 1) + abs(math.fsum(q) - 1))

    def curve(at: float) -> Curve:
        odds = math.exp(at) if at < 700.0 else math.inf
        ends = [
            math.fsum(
                a - (odds * b if b else 0.0)
                for a, b in zip(first, second, strict=True)
                if a > (odds * b if b else 0.0)
            )
            for first, second in ((p, q), (q, p))
        ]
        return max(max(ends) - doubt, 0.0), min(max(ends) + doubt, 1.0)

    return curve
