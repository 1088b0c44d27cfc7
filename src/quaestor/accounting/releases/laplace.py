"""Laplace noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quaestor.accounting.releases.base import Release, positive

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.law import Law

__all__ = ["Laplace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Laplace(Release):
    r"""Laplace noise on a query of L1 sensitivity ``sensitivity``.

    Guarantee:
        :math:`\delta(\varepsilon) = 1 - e^{(\varepsilon - \Delta/b)/2}` up to
        :math:`\varepsilon = \Delta/b`, and 0 from there on.
    """

    scale: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        positive(self, "scale", "sensitivity")

    def losses(self) -> tuple[Law, ...]:
        """One loss, the same in both directions."""
        from quaestor.accounting.loss.laws.laplace import LaplaceLoss

        return (LaplaceLoss(self.sensitivity / self.scale),)
