"""The privacy profile: the curve delta(epsilon) that a set of releases, or a theorem, promises."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from quaestor.accounting.numerics.bounds import Bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Profile", "TheoremName", "WorldPair", "least_epsilon", "step_out"]

_ZERO = Bounds.exactly(0.0)
_SURELY = 0.75  # of a guess: where delta is mostly far more than what is looked for
_MOST_STEPS = 48  # each four times as long as the one before


@dataclass(frozen=True, slots=True, kw_only=True)
class TheoremName:
    """What a theorem is called, and where it is stated."""

    name: str
    source: str


class WorldPair(NamedTuple):
    """The curves of two worlds: the one over the other, and the other over the one."""

    over: Profile
    under: Profile


class Profile(ABC):
    """A curve delta(epsilon), for epsilon >= 0, that bounds both directions of a comparison."""

    theorem: TheoremName = TheoremName(name="", source="")
    """The theorem that made it; nameless for what is only a part of another curve."""

    knows_small_deltas: bool = False
    """Whether deltas below 1e-290 are told from 0."""

    knows_its_end: bool = False
    """Whether it is exact where nothing is left but what is told outright."""

    takes_long: bool = False
    """Whether a bracket from the privacy-loss engine is had much sooner than its answers."""

    pairs_suffice: bool = True
    """Whether no comparison that the curve covers tells more than one of ``world_pairs``."""

    def world_pairs(self) -> tuple[WorldPair, ...]:
        """Pairs of worlds that really occur, seen from the false alarms of a test.

        The curve of a maximum is no pair's own: its conjugate is the convex hull of several
        regions, which no single test reaches. So the pairs are named one by one.
        """
        return (WorldPair(self, self),)

    def parts(self) -> tuple[Profile, ...]:
        """The curves of which it takes the best at every point; itself, if it is one curve."""
        return (self,)

    def within(self, width: float) -> Profile:  # noqa: ARG002
        """The same to a relative ``width``, where that can be asked for; else it is what it is."""
        return self

    def shared(self) -> Profile:
        """The same for many points: what is computed for one may serve others, as narrowly."""
        return self

    def upper_ends(self) -> Profile:
        """The same where only upper ends are asked for: lower ends may be 0, and cost nothing."""
        return self

    @abstractmethod
    def delta_bounds(self, *, epsilon: float) -> Bounds:
        """Enclose the curve at ``epsilon`` (not negative; may be infinite)."""

    def delta_or_less(self, *, epsilon: float, least: float) -> Bounds:  # noqa: ARG002
        """The same; where delta is below ``least``, how far below need not be found out."""
        return self.delta_bounds(epsilon=epsilon)

    @abstractmethod
    def epsilon_bounds(self, *, delta: float) -> Bounds:
        """Enclose the least epsilon whose delta is at most ``delta`` (infinite if none is)."""

    @abstractmethod
    def supports(self, at_most: int) -> Sequence[float]:
        """Epsilons whose supporting lines, at most so many, draw the privacy region well."""

    def exact_vertices(self, at_most: int) -> tuple[tuple[Bounds, Bounds], ...] | None:  # noqa: ARG002
        """All corners (false positive, false negative) of the region, where few and known."""
        return None

    def exact_false_negative(self, false_positive: float) -> Bounds | None:  # noqa: ARG002
        """The region's boundary at one point, where it is known without searching."""
        return None


def least_epsilon(  # noqa: PLR0913  # a search has this much to know
    curve: Callable[[float], Bounds],
    *,
    target: Bounds,
    guess: float,
    largest: float,
    polish: int = 0,
    stride: float = 0.25,
) -> Bounds:
    """Invert a decreasing certified curve: enclose the least epsilon in [0, largest] that fits.

    The search is a safeguarded secant on the logarithm of delta, from ``guess``, in steps that are
    at first a share ``stride`` of it: small where the curve is known well only near there. Whatever
    it does, the ends are only moved on the curve's own certified word: the upper end fits by an
    upper bound, the lower end does not by a lower bound. At ``largest`` (maybe infinite) the curve
    must be known to fit.
    """
    start = guess if 0.0 < guess < largest else min(largest, 2.0) / 2
    if curve(_SURELY * start).lower <= target.upper and curve(0.0).upper <= target.lower:
        return _ZERO  # mostly the nearer place says no, where the curve is known well
    root = _secant_root(
        lambda epsilon: _log_excess(curve(epsilon), target),
        guess=start,
        largest=largest,
        stride=stride,
    )
    low, high = step_out(curve, target, root, largest)
    for _ in range(polish):
        middle = (root + high) / 2
        if high < largest and curve(middle).upper <= target.lower:
            high = middle
        middle = (root + low) / 2
        if low > 0.0 and curve(middle).lower > target.upper:
            low = middle
    return Bounds(lower=low, upper=high)


def step_out(
    curve: Callable[[float], Bounds], target: Bounds, root: float, largest: float
) -> tuple[float, float]:
    """Step away from the estimated root until the curve certifies either side."""
    doubt = min(curve(root).relative_width / 16, 1e-3)
    first = max(root * max(doubt, 1e-14), 5e-324)
    low, high = 0.0, largest
    step = first
    while low < (probe := max(root - step, 0.0)):
        if curve(probe).lower > target.upper:
            low = probe
            break
        step *= 4
    step = first
    for _ in range(_MOST_STEPS):
        if not (probe := root + step) < min(high, 1e300):
            break
        if curve(probe).upper <= target.lower:
            high = probe
            break
        step *= 4
    return low, high


def _log_excess(delta: Bounds, target: Bounds) -> float:
    """How far the curve lies above the target, in nats; 0 where the intervals cannot tell."""
    if delta.overlaps(target):
        return 0.0
    value = (delta.lower + delta.upper) / 2
    aim = (target.lower + target.upper) / 2
    if value <= 0.0:
        return -800.0
    return math.log(value) - math.log(aim) if aim > 0.0 else 800.0


def _secant_root(
    excess: Callable[[float], float], *, guess: float, largest: float, stride: float
) -> float:
    """Estimate the zero of a decreasing function on [0, largest] (Anderson-Bjorck regula falsi)."""
    left, right = 0.0, largest
    at_left, at_right = 0.0, 0.0  # 0: not known yet
    middle, last_sign = guess, 0
    for _ in range(100):
        value = excess(middle)
        if value == 0.0:
            return middle
        sign = 1 if value > 0.0 else -1
        if sign > 0:
            if last_sign == sign and at_left:
                at_right *= max(1 - value / at_left, 0.0) or 0.5
            left, at_left = middle, value
        else:
            if last_sign == sign and at_right:
                at_left *= max(1 - value / at_right, 0.0) or 0.5
            right, at_right = middle, value
        last_sign = sign
        if right - left <= 4e-16 * right:
            break
        if at_left and at_right:
            middle = left + (right - left) * at_left / (at_left - at_right)
        else:
            middle = min(right, (1 + stride) * middle) if sign > 0 else middle / (1 + stride)
            stride = min(2 * stride, 0.25)
        if not left < middle < right:
            middle = (left + right) / 2 if right < math.inf else 2 * left
    return (left + right) / 2 if right < math.inf else left
