"""The composition theorems, one family a file, each usable alone.

A theorem is a function from releases to a :class:`~quaestor.accounting.curves.profile.Profile`, the
curve that it promises for them. It raises :class:`~quaestor.errors.TheoremDoesNotApply` where it
says nothing. ``THEOREMS`` lists them all, in the order in which ``explain`` shows them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

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

    from quaestor.accounting.curves.profile import Profile
    from quaestor.accounting.releases import Release
    from quaestor.accounting.theorems.black_boxes import BlackBoxes
    from quaestor.accounting.theorems.losses import WorstDirection

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
    "region_inclusion",
    "sharp_range_moments",
    "total_variation",
]


def privacy_loss(releases: Iterable[Release]) -> WorstDirection:
    """See :func:`quaestor.accounting.theorems.losses.privacy_loss`.

    Theorem:
        Zhu, Dong, Wang, Theorem 10. Imported on first use, because it needs numpy.
    """
    from quaestor.accounting.theorems import losses

    return losses.privacy_loss(releases)


def optimal_heterogeneous(releases: Iterable[Release]) -> Profile:
    """See :func:`quaestor.accounting.theorems.heterogeneous.optimal_heterogeneous`.

    Theorem:
        Murtagh, Vadhan, Theorem 1.5. Imported on first use, because it needs numpy and equal
        releases do not.
    """
    from quaestor.accounting.theorems import heterogeneous

    return heterogeneous.optimal_heterogeneous(releases)


def exact_heterogeneous(boxes: BlackBoxes) -> Profile | None:
    """See :func:`quaestor.accounting.theorems.heterogeneous.exact_heterogeneous`.

    Theorem:
        Murtagh, Vadhan, Theorem 1.5, where it can be computed exactly. Imported on first use.
    """
    from quaestor.accounting.theorems import heterogeneous

    return heterogeneous.exact_heterogeneous(boxes)


def best_of_ranges(
    releases: tuple[Release, ...], *, losses: WorstDirection, in_advance: bool, width: float = 1e-3
) -> Profile:
    """See :func:`quaestor.accounting.theorems.range_optimum.best_of_ranges`.

    Theorem:
        The best of Dong, Durfee, Rogers. Imported on first use, because it needs numpy.
    """
    from quaestor.accounting.theorems import range_optimum

    return range_optimum.best_of_ranges(releases, losses=losses, in_advance=in_advance, width=width)


def adaptive_optimum(releases: Iterable[Release]) -> Profile:
    """See :func:`quaestor.accounting.theorems.range_optimum.adaptive_optimum`.

    Theorem:
        Dong, Durfee, Rogers, Theorem 3. Imported on first use.
    """
    from quaestor.accounting.theorems import range_optimum

    return range_optimum.adaptive_optimum(releases)


def non_adaptive_optimum(releases: Iterable[Release]) -> Profile:
    """See :func:`quaestor.accounting.theorems.range_optimum.non_adaptive_optimum`.

    Theorem:
        Dong, Durfee, Rogers, Theorem 2, for queries fixed in advance. Imported on first use.
    """
    from quaestor.accounting.theorems import range_optimum

    return range_optimum.non_adaptive_optimum(releases)


def concentrated_range(releases: Iterable[Release]) -> Profile:
    """See :func:`quaestor.accounting.theorems.range_optimum.concentrated_range`.

    Theorem:
        A range of epsilon is epsilon^2/8-zCDP. Imported on first use.
    """
    from quaestor.accounting.theorems import range_optimum

    return range_optimum.concentrated_range(releases)


@dataclass(frozen=True, slots=True, kw_only=True)
class Theorem:
    """One row of ``explain``: a theorem's name, where it stands, and the function that knows it."""

    name: str
    source: str
    profile: Callable[[Iterable[Release]], Profile]
    white_box: bool = False  # whether it uses what is known of the mechanisms
    of_ranges: bool = False  # whether it is about bounded range only
    in_advance: bool = False  # whether it holds only for queries fixed before the first answer


_KOV = "Kairouz-Oh-Viswanath"
_DDR = "Dong-Durfee-Rogers"


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
    Theorem(name="optimal", source=f"{_KOV} 3.3", profile=optimal_homogeneous),
    Theorem(
        name="optimal, heterogeneous",
        source="Murtagh-Vadhan 1.5",
        profile=optimal_heterogeneous,
    ),
    Theorem(name="privacy loss", source="Zhu-Dong-Wang 10", profile=privacy_loss, white_box=True),
    _of_ranges("range, first bound", "Durfee-Rogers", durfee_rogers),
    _of_ranges("range, divergence", f"{_DDR} Prop. 4", optimal_divergence),
    _of_ranges("range, moments", f"{_DDR} 5", range_moments),
    _of_ranges("range, sharp moments", f"{_DDR} 5", sharp_range_moments),
    _of_ranges("range, concentrated", "range and zCDP", concentrated_range),
    _of_ranges("range, adaptive optimum", f"{_DDR} 3", adaptive_optimum),
    _of_ranges("range, fixed in advance", f"{_DDR} 2", non_adaptive_optimum, in_advance=True),
)
