"""The privacy profile: the curve delta(epsilon) that a set of releases, or a theorem, promises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.accounting.numerics.bounds import Bounds

__all__ = ["Profile", "TheoremName", "WorldPair"]


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
