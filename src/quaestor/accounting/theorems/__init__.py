"""The composition theorems, one family a file, each usable alone.

A theorem is a function from releases to a :class:`~quaestor.accounting.profile.Profile`, the curve
that it promises for them. It raises :class:`~quaestor.errors.TheoremDoesNotApply` where it says
nothing. ``THEOREMS`` lists them all, in the order in which ``explain`` shows them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quaestor.accounting.theorems.advanced import advanced
from quaestor.accounting.theorems.basic import basic, basic_sharp
from quaestor.accounting.theorems.closed_form import (
    closed_form_heterogeneous,
    closed_form_homogeneous,
)
from quaestor.accounting.theorems.moments import moments
from quaestor.accounting.theorems.optimal import optimal_homogeneous
from quaestor.accounting.theorems.region import implied_delta, region_inclusion, total_variation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from quaestor.accounting.black_boxes import BlackBoxes
    from quaestor.accounting.profile import Profile
    from quaestor.accounting.releases import Release
    from quaestor.accounting.theorems.losses import WorstDirection

__all__ = [
    "THEOREMS",
    "Theorem",
    "advanced",
    "basic",
    "basic_sharp",
    "closed_form_heterogeneous",
    "closed_form_homogeneous",
    "exact_heterogeneous",
    "implied_delta",
    "moments",
    "optimal_heterogeneous",
    "optimal_homogeneous",
    "privacy_loss",
    "region_inclusion",
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Theorem:
    """One row of ``explain``: a theorem's name, where it stands, and the function that knows it."""

    name: str
    source: str
    profile: Callable[[Iterable[Release]], Profile]
    white_box: bool = False  # whether it uses what is known of the mechanisms


_KOV = "Kairouz-Oh-Viswanath"

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
)
