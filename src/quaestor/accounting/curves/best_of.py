"""Several true answers to one question: the least upper end, the greatest lower end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.accounting.curves.profile import Profile
from quaestor.accounting.numerics.bounds import Bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quaestor.accounting.curves.profile import Statement, WorldPair

__all__ = ["Best"]


class Best(Profile):
    """Curves that are all sound; some of them are brackets of the truth, and have lower ends."""

    def __init__(
        self,
        theorem: Statement,
        *,
        brackets: Sequence[Profile],
        others: Sequence[Profile] = (),
    ) -> None:
        """Take both ends of ``brackets``, and the upper ends of ``others``."""
        self.theorem, self._brackets, self._others = theorem, brackets, others

    def parts(self) -> tuple[Profile, ...]:
        """Each of the curves."""
        return (*self._brackets, *self._others)

    def delta_bounds(self, *, epsilon: float) -> Bounds:
        """Enclose the least delta."""
        return self._ask(lambda profile: profile.delta_bounds(epsilon=epsilon))

    def epsilon_bounds(self, *, delta: float) -> Bounds:
        """Enclose the least epsilon."""
        return self._ask(lambda profile: profile.epsilon_bounds(delta=delta))

    def supports(self, at_most: int) -> Sequence[float]:
        """Those of the first bracket."""
        return self._brackets[0].supports(at_most)

    pairs_suffice = False

    def world_pairs(self) -> tuple[WorldPair, ...]:
        """Those of the first bracket; the others' lower ends are of many mechanisms."""
        return self._brackets[0].world_pairs()

    def _ask(self, question: Callable[[Profile], Bounds]) -> Bounds:
        brackets = [question(profile) for profile in self._brackets]
        uppers = [question(profile).upper for profile in self._others]
        lower = max(bounds.lower for bounds in brackets)
        upper = min([*uppers, *(bounds.upper for bounds in brackets)])
        return Bounds(lower=min(lower, upper), upper=upper)
