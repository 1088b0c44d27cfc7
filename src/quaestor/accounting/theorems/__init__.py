"""The composition theorems, one family a file, each usable alone.

A theorem is a function from releases to a :class:`~quaestor.accounting.curves.profile.Profile`, the
curve that it promises for them. It raises :class:`~quaestor.errors.TheoremDoesNotApply` where it
says nothing. ``THEOREMS`` lists them all, in the order in which ``explain`` shows them. A new one
is a file with such a function, and a line there. What ``compose`` answers with is chosen in
:mod:`quaestor.accounting.compose`, never by the list; the curve carries the name of its theorem.

Those that need numpy are imported when they are first asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from quaestor.accounting.curves.profile import Profile, TheoremName
from quaestor.accounting.theorems.advanced import advanced
from quaestor.accounting.theorems.basic import basic, basic_sharp
from quaestor.accounting.theorems.bounded_range import (
    durfee_rogers,
    optimal_divergence,
    range_moments,
    sharp_range_moments,
)
from quaestor.accounting.theorems.closed_form import (
    closed_form_heterogeneous,
    closed_form_homogeneous,
)
from quaestor.accounting.theorems.moments import moments
from quaestor.accounting.theorems.optimal import optimal_homogeneous
from quaestor.accounting.theorems.region import implied_delta, region_inclusion, total_variation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from quaestor.accounting.releases import Release
    from quaestor.accounting.theorems.heterogeneous import (
        exact_heterogeneous,
        optimal_heterogeneous,
    )
    from quaestor.accounting.theorems.losses import privacy_loss
    from quaestor.accounting.theorems.range_optimum import (
        adaptive_optimum,
        best_of_ranges,
        concentrated_range,
        non_adaptive_optimum,
        ranges_in_blocks,
    )

__all__ = [
    "THEOREMS",
    "Theorem",
    "adaptive_optimum",
    "advanced",
    "basic",
    "basic_sharp",
    "best_of_ranges",
    "closed_form_heterogeneous",
    "closed_form_homogeneous",
    "concentrated_range",
    "durfee_rogers",
    "exact_heterogeneous",
    "implied_delta",
    "moments",
    "non_adaptive_optimum",
    "optimal_divergence",
    "optimal_heterogeneous",
    "optimal_homogeneous",
    "privacy_loss",
    "range_moments",
    "ranges_in_blocks",
    "region_inclusion",
    "sharp_range_moments",
    "total_variation",
]

_ON_FIRST_USE = {
    "adaptive_optimum": "range_optimum",
    "best_of_ranges": "range_optimum",
    "concentrated_range": "range_optimum",
    "exact_heterogeneous": "heterogeneous",
    "non_adaptive_optimum": "range_optimum",
    "optimal_heterogeneous": "heterogeneous",
    "privacy_loss": "losses",
    "ranges_in_blocks": "range_optimum",
}

P = TypeVar("P", bound=Profile)


def __getattr__(name: str) -> Any:
    if name not in _ON_FIRST_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_ON_FIRST_USE[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


@dataclass(frozen=True, slots=True, kw_only=True)
class Theorem(TheoremName):
    """One row of ``explain``: a theorem's name, where it stands, and the function that knows it."""

    profile: Callable[[Iterable[Release]], Profile]
    white_box: bool = False  # whether it uses what is known of the mechanisms
    of_ranges: bool = False  # whether it is about bounded range only
    in_advance: bool = False  # whether it holds only for queries fixed before the first answer

    def of(self, releases: Iterable[Release]) -> Profile:
        """The curve that it promises for these releases, under its name."""
        return self.names(self.profile(releases))

    def names(self, profile: P) -> P:
        """The same curve, which says from now on that this theorem made it."""
        profile.theorem = self
        return profile


def _later(name: str) -> Callable[[Iterable[Release]], Profile]:
    def profile(releases: Iterable[Release]) -> Profile:
        curve: Profile = __getattr__(name)(releases)
        return curve

    profile.__name__ = name
    return profile


def _of_ranges(
    name: str,
    source: str,
    profile: Callable[[Iterable[Release]], Profile],
    *,
    in_advance: bool = False,
) -> Theorem:
    return Theorem(
        name=name,
        source=source,
        profile=profile,
        white_box=True,
        of_ranges=True,
        in_advance=in_advance,
    )


_KOV = "Kairouz-Oh-Viswanath"
_DDR = "Dong-Durfee-Rogers"

# What ``compose`` answers with, by name; the rest only stands beside it.
OPTIMAL = Theorem(name="optimal", source=f"{_KOV} 3.3", profile=optimal_homogeneous)
OPTIMAL_HETEROGENEOUS = Theorem(
    name="optimal, heterogeneous",
    source="Murtagh-Vadhan 1.5",
    profile=_later("optimal_heterogeneous"),
)
PRIVACY_LOSS = Theorem(
    name="privacy loss",
    source="Zhu-Dong-Wang 10",
    profile=_later("privacy_loss"),
    white_box=True,
)
SHARP_MOMENTS = _of_ranges("range, sharp moments", f"{_DDR} 5", sharp_range_moments)
CONCENTRATED = _of_ranges("range, concentrated", "range and zCDP", _later("concentrated_range"))
ADAPTIVE_OPTIMUM = _of_ranges("range, adaptive optimum", f"{_DDR} 3", _later("adaptive_optimum"))
IN_BLOCKS = _of_ranges("range, in blocks", f"{_DDR} 3, in blocks", _later("ranges_in_blocks"))
FIXED_IN_ADVANCE = _of_ranges(
    "range, fixed in advance", f"{_DDR} 2", _later("non_adaptive_optimum"), in_advance=True
)

THEOREMS: tuple[Theorem, ...] = (
    Theorem(name="basic", source=f"{_KOV} 3.1", profile=basic),
    Theorem(name="basic, sharp", source=f"{_KOV} 3.3 (i = 0)", profile=basic_sharp),
    Theorem(name="region inclusion", source=f"{_KOV} A.1", profile=region_inclusion),
    Theorem(name="advanced", source=f"{_KOV} 3.2", profile=advanced),
    Theorem(name="closed form", source=f"{_KOV} 3.4", profile=closed_form_homogeneous),
    Theorem(
        name="closed form, heterogeneous", source=f"{_KOV} 3.5", profile=closed_form_heterogeneous
    ),
    Theorem(name="moments", source=f"{_KOV} (22)", profile=moments),
    OPTIMAL,
    OPTIMAL_HETEROGENEOUS,
    PRIVACY_LOSS,
    _of_ranges("range, first bound", "Durfee-Rogers", durfee_rogers),
    _of_ranges("range, divergence", f"{_DDR} Prop. 4", optimal_divergence),
    _of_ranges("range, moments", f"{_DDR} 5", range_moments),
    SHARP_MOMENTS,
    CONCENTRATED,
    ADAPTIVE_OPTIMUM,
    IN_BLOCKS,
    FIXED_IN_ADVANCE,
)
