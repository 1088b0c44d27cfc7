"""What bounded range composes to: the optima, and the best answer where there is no optimum."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING

from quaestor.accounting.curves.profile import Profile, TheoremName
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.ranges.adaptive_profile import AdaptiveRange
from quaestor.accounting.ranges.non_adaptive import NonAdaptiveRange
from quaestor.accounting.releases import ZeroConcentratedDP
from quaestor.accounting.theorems import (
    ADAPTIVE_OPTIMUM,
    CONCENTRATED,
    FIXED_IN_ADVANCE,
    IN_BLOCKS,
    SHARP_MOMENTS,
)
from quaestor.accounting.theorems.bounded_range import has_range, ranges_of
from quaestor.accounting.theorems.losses import WorstDirection, privacy_loss
from quaestor.accounting.theorems.range_game import RangeGame
from quaestor.errors import TheoremDoesNotApply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from quaestor.accounting.curves.profile import WorldPair
    from quaestor.accounting.releases import Release

__all__ = [
    "adaptive_optimum",
    "best_of_ranges",
    "concentrated_range",
    "non_adaptive_optimum",
    "ranges_in_blocks",
]

BEST = TheoremName(name="bounded range", source="the best of the above")
BEST_IN_ADVANCE = TheoremName(
    name="bounded range, fixed in advance", source="the best of the above"
)

MOST_RELEASES = 1_000
"""Beyond so many the adaptive optimum takes many seconds: ask ``AdaptiveRange`` itself."""

_WIDTH, _MIXED_WIDTH = 1e-3, 1e-3
"""What is aimed at where nothing is asked for: ranges alone, and beside other releases."""


def adaptive_optimum(releases: Iterable[Release], *, width: float = 1e-3) -> AdaptiveRange:
    """The least that holds for bounded-range releases whose queries are chosen adaptively.

    Theorem:
        Dong, Durfee, Rogers 2020, Theorem 3, as a certified bracket; see
        :class:`~quaestor.accounting.ranges.adaptive_profile.AdaptiveRange`.

    >>> from quaestor.accounting.releases import BoundedRange
    >>> curve = adaptive_optimum([BoundedRange(epsilon=0.1) * 10])
    >>> 0.6341 < curve.epsilon_bounds(delta=1e-6).upper < 0.6343
    True
    """
    ranges = ranges_of(releases)
    if sum(count for _, count in ranges) > MOST_RELEASES:
        raise TheoremDoesNotApply(f"not computed beyond {MOST_RELEASES:,} releases")
    return AdaptiveRange(ranges, width=width)


def non_adaptive_optimum(releases: Iterable[Release]) -> NonAdaptiveRange:
    """The least that holds for equal ranges if every query is fixed before the first answer.

    Theorem:
        Dong, Durfee, Rogers 2020, Theorem 2. *Unsound where queries are chosen adaptively.*
    """
    ranges = ranges_of(releases)
    if len(ranges) != 1:
        raise TheoremDoesNotApply("needs the same range for all releases")
    ((epsilon, count),) = ranges
    return NonAdaptiveRange(count=count, epsilon=epsilon)


def ranges_in_blocks(releases: Iterable[Release]) -> RangeGame:
    """What releases of bounded range come to in blocks, beside whatever else there is.

    Theorem:
        Dong, Durfee, Rogers 2020, Theorem 3, for blocks of equal releases, whose pairs of worlds
        compose: stated and proved in :mod:`quaestor.accounting.theorems.range_game`.

    >>> from quaestor.accounting.releases import BoundedRange
    >>> curve = ranges_in_blocks([BoundedRange(epsilon=0.15) * 3000])
    >>> 32.43 < curve.epsilon_bounds(delta=1e-9).upper < 32.46
    True
    """
    history = tuple(releases)
    return RangeGame(history, losses=privacy_loss(history))


def concentrated_range(releases: Iterable[Release]) -> WorstDirection:
    r"""Bounded range as concentrated privacy, beside whatever else there is.

    Theorem:
        A release of range :math:`\varepsilon` is :math:`\varepsilon^2/8`-zCDP (proved in
        ``log_moment`` of ``releases.range_moments``); its moments compose with
        those of all others.
    """
    return privacy_loss([_concentrated(release) for release in releases])


def _concentrated(release: Release) -> Release:
    single, count = release.counted()
    if single.range_epsilon is None:
        return release
    square = single.range_epsilon * single.range_epsilon / 8
    rho = max(Bounds.exactly(square).widened(ulps=2).upper, 1e-150)
    return ZeroConcentratedDP(rho=rho) * count


class Best(Profile):
    """Several true answers to one question: the least upper end, the greatest lower end.

    All curves are sound; some of them are brackets of the truth, and have lower ends.
    """

    def __init__(  # noqa: PLR0913  # what is known, and how well
        self,
        theorem: TheoremName,
        *,
        brackets: Sequence[Profile],
        others: Sequence[Profile] = (),
        attained: Sequence[Profile] = (),
        game: Profile | None = None,
        width: float = _WIDTH,
        suffices: bool = False,
    ) -> None:
        """Take both ends of ``brackets``, upper ends of ``others``, lower ends of ``attained``.

        ``game``, which costs most, is asked where these are wider than ``width``; if that
        ``suffices``, no more are asked than it takes.
        """
        self.theorem, self._brackets, self._others = theorem, brackets, others
        self._attained, self._game, self._width = attained, game, width
        self._suffices = suffices

    def parts(self) -> tuple[Profile, ...]:
        """Each of the curves that bound the answer from above."""
        game = () if self._game is None else (self._game,)
        return (*self._brackets, *self._others, *game)

    def shared(self) -> Best:
        """The same of curves for many points."""
        brackets, others = (
            [profile.shared() for profile in each] for each in (self._brackets, self._others)
        )
        return Best(
            self.theorem,
            brackets=brackets,
            others=others,
            attained=self._attained,
            game=self._game,
            width=self._width,
            suffices=self._suffices,
        )

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
        found = Bounds(lower=0.0, upper=math.inf)
        for profile in (*self._brackets, *self._others, *self._attained):
            answer = question(profile)
            lower = found.lower if profile in self._others else max(found.lower, answer.lower)
            upper = found.upper if profile in self._attained else min(found.upper, answer.upper)
            found = Bounds(lower=min(lower, upper), upper=upper)
            if self._suffices and found.relative_width <= self._width:
                return found
        if self._game is None or found.relative_width <= self._width:
            return found
        narrower = question(self._game)
        upper = min(found.upper, narrower.upper)
        return Bounds(lower=min(max(found.lower, narrower.lower), upper), upper=upper)


def best_of_ranges(
    releases: tuple[Release, ...],
    *,
    losses: WorstDirection,
    in_advance: bool,
    width: float | None = None,
) -> Profile:
    """The tightest sound answer about releases of which some have a bounded range.

    Theorem:
        The best of those above, and of the privacy losses: each holds, so all of them do.

    ``losses`` is their composition in the privacy-loss engine, where the upper end takes the one
    pair that is worst for its range at every epsilon, and the lower end randomized response of
    half the range, which has that range. ``in_advance`` says whether all queries are fixed before
    the first answer.
    """
    theorem = BEST_IN_ADVANCE if in_advance else BEST
    brackets: list[Profile] = [losses]
    others = [CONCENTRATED.of(releases)]
    attained: list[Profile] = []
    mixed = not all(map(has_range, releases))
    suffices = width is not None
    width = (_MIXED_WIDTH if mixed else _WIDTH) if width is None else width
    if not mixed:
        others.append(SHARP_MOMENTS.of(releases))
        if len(ranges_of(releases)) == 1:
            fixed = FIXED_IN_ADVANCE.of(releases)
            if in_advance:
                return Best(theorem, brackets=[*brackets, fixed], others=others)
            attained.append(fixed)  # by an analyst who does not adapt
        with suppress(TheoremDoesNotApply):
            adaptive = ADAPTIVE_OPTIMUM.names(adaptive_optimum(releases, width=width))
            # whoever fixes queries in advance can do less harm, not more
            (others if in_advance else brackets).append(adaptive)
    game = None
    with suppress(TheoremDoesNotApply):
        game = IN_BLOCKS.names(
            RangeGame(releases, losses=losses, width=width, in_advance=in_advance)
        )
    return Best(
        theorem,
        brackets=brackets,
        others=others,
        attained=attained,
        game=game,
        width=width,
        suffices=suffices,
    )
