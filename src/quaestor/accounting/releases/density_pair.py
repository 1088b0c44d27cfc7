"""A mechanism of one's own, given by two densities."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from quaestor.accounting.releases.base import Release, check_real, remembered
from quaestor.accounting.releases.opinion import Opinion, without_ceiling
from quaestor.accounting.releases.vectors import MANY, vectors_curve
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quaestor.accounting.loss.laws.law import Law

__all__ = ["DensityPair"]

_NODES = 24  # of the rule in each cell; its error is judged by one of 16
_COARSE_NODES = 16
_LARGEST_TAIL = 1e-3
_NARROW = 1e-12  # a cell whose loss is one number


@dataclass(frozen=True, slots=True, kw_only=True)
class DensityPair(Release):
    r"""Cells of the outputs, with their probabilities in two neighbouring worlds and their losses.

    Made by :meth:`DensityPair.of` from two densities. Within a cell the loss is known to lie
    between two ends. Moving the cell's mass to the ends, so that its probability in both worlds
    stays, makes a pair that dominates the true one; merging each cell into one outcome is
    post-processing, and makes a pair that the true one dominates. So the answer is a bracket,
    which narrows with the square of the cells' size.

    Guarantee:
        That of the densities themselves, in both directions, if the ratio of the densities is
        monotone within each cell and Gauss-Legendre rules see the densities as they are: the
        masses' error is judged by two rules, and not proved. It is up to you that the densities
        dominate what the mechanism does on any two neighbours.

    >>> edges = [0.0, 0.25, 0.5, 0.75, 1.0]
    >>> step = DensityPair.of(lambda x: 1.5 - x, lambda x: 0.5 + x, edges=edges)
    >>> len(step.p)
    4
    """

    p: tuple[float, ...]
    q: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    error: float = 0.0

    bracketed: ClassVar[bool] = True
    directed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check that cells are probabilities with losses between their ends."""
        for name in ("p", "q", "low", "high"):
            object.__setattr__(self, name, _floats(name, getattr(self, name)))
            if len(getattr(self, name)) != len(self.p):
                raise InvalidParameter(name, len(getattr(self, name)), "as long as p")
        for name in ("p", "q"):
            masses = getattr(self, name)
            if not masses or min(masses) <= 0.0 or not math.fsum(masses) <= 1.0 + 1e-6:
                raise InvalidParameter(name, "masses", "positive, and at most 1 in all")
            if math.fsum(masses) < 1.0 - _LARGEST_TAIL:
                outside = 1.0 - math.fsum(masses)
                raise InvalidParameter("edges", f"{outside:.2g} outside", "around nearly all of it")
        if not all(low <= high for low, high in zip(self.low, self.high, strict=True)):
            raise InvalidParameter("low", "above high", "the lower end of a cell's loss")
        object.__setattr__(self, "error", check_real("error", self.error, low=0.0, high=1.0))

    @classmethod
    def of(
        cls,
        p: Callable[[float], float],
        q: Callable[[float], float],
        *,
        edges: Sequence[float],
    ) -> DensityPair:
        """Cells between ``edges`` of the outputs with densities ``p`` and ``q``.

        Put an edge wherever a density has a kink, or the ratio of the two turns; beyond the first
        and the last edge everything counts as told.

        >>> import math
        >>> def bell(x, at): return math.exp(-((x - at) ** 2) / 2) / math.sqrt(2 * math.pi)
        >>> cells = [i / 8 for i in range(-72, 81)]
        >>> pair = DensityPair.of(lambda x: bell(x, 1), lambda x: bell(x, 0), edges=cells)
        >>> len(pair.p)
        152
        """
        places = _floats("edges", edges)
        if len(places) < 2 or any(a >= b for a, b in pairwise(places)):
            raise InvalidParameter("edges", "these", "two or more numbers that rise")
        losses = [_log(p(x)) - _log(q(x)) for x in places]
        pairs = list(pairwise(places))
        masses = {}
        error = 1e-15
        for name, density in (("p", p), ("q", q)):
            fine = [_integral(density, a, b, _NODES) for a, b in pairs]
            coarse = [_integral(density, a, b, _COARSE_NODES) for a, b in pairs]
            largest = max(abs(x - y) / x for x, y in zip(fine, coarse, strict=True))
            error, masses[name] = max(error, 4 * largest), tuple(fine)
        ends = list(pairwise(losses))
        return cls(
            p=masses["p"],
            q=masses["q"],
            low=tuple(min(end) for end in ends),
            high=tuple(max(end) for end in ends),
            error=error,
        )

    def losses(self) -> tuple[Law, ...]:
        """Every cell's mass at the ends of its loss: more than is lost."""
        return (
            _at_the_ends(self.p, self.q, self.low, self.high, self.error),
            _at_the_ends(self.q, self.p, _negated(self.high), _negated(self.low), self.error),
        )

    def least_losses(self) -> tuple[Law, ...]:
        """Every cell as one outcome: less than is lost."""
        return _merged(self.p, self.q, self.error), _merged(self.q, self.p, self.error)

    # From the parameters alone.

    @remembered
    def opinion(self) -> Opinion | None:
        """From below: every cell as one outcome."""
        if len(self.p) > MANY:
            return None
        missing = abs(1 - math.fsum(self.p)) + abs(1 - math.fsum(self.q))
        merged = vectors_curve(self.p, self.q, error=self.error + missing)
        return Opinion(without_ceiling(merged), None, math.inf)


def _negated(losses: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(-loss for loss in losses)


def _floats(name: str, value: Any) -> tuple[float, ...]:
    try:
        entries = tuple(float(entry) for entry in value)
    except (TypeError, ValueError):
        raise InvalidParameter(name, value, "a list of numbers") from None
    if not all(map(math.isfinite, entries)):
        raise InvalidParameter(name, "an infinite one", "finite numbers")
    return entries


def _log(density: float) -> float:
    if not 0.0 < density < math.inf:
        raise InvalidParameter("density", density, "positive and finite at every edge")
    return math.log(density)


@lru_cache
def _rule(nodes: int) -> tuple[tuple[float, float], ...]:
    import numpy as np

    places, weights = np.polynomial.legendre.leggauss(nodes)
    return tuple(zip(places.tolist(), weights.tolist(), strict=True))


def _integral(density: Callable[[float], float], low: float, high: float, nodes: int) -> float:
    middle, half = (low + high) / 2, (high - low) / 2
    terms = (weight * density(middle + half * place) for place, weight in _rule(nodes))
    mass = half * math.fsum(terms)
    if not 0.0 < mass < math.inf:
        raise InvalidParameter("density", mass, "positive between every two edges")
    return mass


def _at_the_ends(
    first: tuple[float, ...],
    second: tuple[float, ...],
    low: tuple[float, ...],
    high: tuple[float, ...],
    error: float,
) -> Law:
    r"""Split each mass so that its probability in both worlds stays.

    With the ends a and b of the loss and m its value for the whole cell, the shares of the first
    world's mass are :math:`\frac{1-e^{a-m}}{1-e^{a-b}}` at b and
    :math:`e^{a-m}\frac{1-e^{m-b}}{1-e^{a-b}}` at a: each in its own logarithm, for the lesser one
    may carry most of the second world. m is rounded up, so that the second world has too little.
    """
    import numpy as np

    from quaestor.accounting.loss.laws.finite import FiniteLoss
    from quaestor.accounting.numerics.bounds import Bounds

    p, q, a, b = (np.array(column) for column in (first, second, low, high))
    logs = np.log(p), np.log(q)
    doubt = 2 * error + 2.0**-50 * (np.abs(logs[0]) + np.abs(logs[1]))
    middle = np.clip(logs[0] - logs[1] + doubt, a, b)  # rounded up
    narrow = b - a < _NARROW
    whole = _log_share(np.where(narrow, 1.0, b - a))
    at_low, at_high = (middle < b) & ~narrow, (middle > a) | narrow
    shares = (
        (a - middle)[at_low] + _log_share((b - middle)[at_low]) - whole[at_low],
        np.where(narrow, 0.0, _log_share(np.where(narrow, 1.0, middle - a)) - whole)[at_high],
    )
    losses = np.concatenate((a[at_low], b[at_high]))
    log_first = np.concatenate((logs[0][at_low] + shares[0], logs[0][at_high] + shares[1]))
    excess = max(math.fsum(first) - 1.0, math.fsum(second) - 1.0, 0.0)
    # what rounding the middle up, or a given middle outside its ends, takes from the second world
    missing = float(np.sum(q * np.abs(np.expm1(np.minimum(logs[0] - logs[1] - middle, 1.0)))))
    return FiniteLoss(
        losses,
        log_first,
        log_first - losses,
        infinite=Bounds(lower=0.0, upper=_outside(first, error)),
        opposite=Bounds(lower=0.0, upper=min(_outside(second, error) + missing + _NARROW, 1.0)),
        blur=2.0**-46 * float(np.max(np.abs(losses))),
        error=4 * error + 2 * excess + 2.0**-40,
    )


def _log_share(x: Any) -> Any:
    """``log(1 - e^-x)`` for positive x."""
    import numpy as np

    return np.log(-np.expm1(-x))


def _outside(masses: tuple[float, ...], error: float) -> float:
    """At most what lies outside the cells."""
    return min(max(1.0 - math.fsum(masses), 0.0) + error, 1.0)


def _merged(first: tuple[float, ...], second: tuple[float, ...], error: float) -> Law:
    import numpy as np

    from quaestor.accounting.loss.laws.finite import FiniteLoss
    from quaestor.accounting.numerics.bounds import Bounds

    logs = np.log(np.array(first)), np.log(np.array(second))
    doubt = 2 * error + 2.0**-50 * float(np.max(np.abs(logs[0]) + np.abs(logs[1])))
    excess = max(math.fsum(first) - 1.0, math.fsum(second) - 1.0, 0.0)
    return FiniteLoss(
        logs[0] - logs[1],
        *logs,
        infinite=Bounds(lower=0.0, upper=_outside(first, error)),
        opposite=Bounds(lower=0.0, upper=_outside(second, error)),
        blur=doubt,
        error=4 * error + 2 * excess,
    )
