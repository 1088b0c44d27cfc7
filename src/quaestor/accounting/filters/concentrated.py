"""The filter of concentrated privacy: rhos add up."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from flint import arb

from quaestor.accounting.filters.base import Filter, Meter, check_target, slack_of, with_reserve
from quaestor.accounting.filters.moments import largest_point, room, rough_room
from quaestor.accounting.numerics.balls import ball_at_most

if TYPE_CHECKING:
    from quaestor.accounting.releases import Release

__all__ = ["RhoMeter", "concentrated_filter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RhoMeter(Meter):
    """Adds rhos up."""

    name: ClassVar[str] = "rho"
    limit: Fraction

    @property
    def words(self) -> str:
        """What it counts."""
        return "the sum of the rhos of concentrated privacy"

    def cost_of_one(self, release: Release) -> Fraction | None:
        """The release's rho, rounded up."""
        return release.concentrated_rho()


def concentrated_filter(*, epsilon: float, delta: float, reserved: float = 0.0) -> Filter:
    r"""Rhos add up.

    Theorem:
        :math:`\sum\rho_i \le \rho` [Feldman, Zrnic 2021, for Rényi
        divergences of one order], with the largest :math:`\rho` for which some order
        :math:`\lambda`, fixed in advance, has :math:`\lambda(\lambda+1)\rho \le \lambda\varepsilon
        + \ln d + g(\lambda)` (see ``moments``). *Proof.* It is
        :func:`~quaestor.accounting.filters.moment_filter` at that order, with the bound
        :math:`\lambda(\lambda+1)\rho_i` on each moment.
    """
    target = check_target(epsilon=epsilon, delta=delta)
    slack = slack_of(delta=target.delta, reserved=reserved)

    def rough(order: float) -> float:
        return rough_room(order, epsilon=target.epsilon, slack=slack) / (order * (order + 1))

    order = arb(largest_point(rough))
    limit = ball_at_most(
        lambda _: room(order, epsilon=target.epsilon, slack=slack) / (order * (order + 1))
    )
    return with_reserve(
        "zcdp",
        epsilon=target.epsilon,
        delta=target.delta,
        reserved=reserved,
        meters=(RhoMeter(limit=max(limit, Fraction(0))),),
    )
