"""The basic filter: epsilons and deltas add up."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from quaestor.accounting.filters.base import Filter, check_target
from quaestor.accounting.filters.meter import Meter

if TYPE_CHECKING:
    from quaestor.accounting.releases import Release

__all__ = ["DeltaMeter", "EpsilonMeter", "basic_filter", "with_reserve"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EpsilonMeter(Meter):
    """Adds epsilons up."""

    name: ClassVar[str] = "epsilon"
    limit: Fraction

    @property
    def words(self) -> str:
        """What it counts."""
        return "the sum of the epsilons"

    def cost_of_one(self, release: Release) -> Fraction | None:
        """The release's epsilon: exactly, or rounded up; None where the loss has no bound."""
        return release.pure_loss().epsilon


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaMeter(Meter):
    """Adds deltas up."""

    name: ClassVar[str] = "delta"
    limit: Fraction

    @property
    def words(self) -> str:
        """What it counts."""
        return "the sum of the releases' own deltas"

    def cost_of_one(self, release: Release) -> Fraction | None:
        """The release's probability of telling everything: exactly, or rounded up."""
        return release.pure_loss().delta


def basic_filter(*, epsilon: float, delta: float) -> Filter:
    r"""Epsilons and deltas add up, whatever is chosen and when.

    Theorem:
        Rogers, Roth, Ullman, Vadhan 2016, Section 4.1: :math:`\sum\varepsilon_i \le \varepsilon`
        and :math:`\sum\delta_i \le \delta` along every path. *Proof.* Each release is a
        post-processing of one that tells everything with probability :math:`\delta_i` and
        otherwise has a loss of at most :math:`\varepsilon_i` [Kairouz, Oh, Viswanath, Theorem 2.5].
        The probability that any tells everything is the expectation of :math:`\sum\delta_i`;
        without that, the loss is at most :math:`\sum\varepsilon_i`, on every path.

    >>> basic_filter(epsilon=1.0, delta=1e-6).kind
    'basic'
    """
    target = check_target(epsilon=epsilon, delta=delta)
    return Filter(
        kind="basic",
        epsilon=target.epsilon,
        delta=target.delta,
        every=(
            EpsilonMeter(limit=Fraction(target.epsilon)),
            DeltaMeter(limit=Fraction(target.delta)),
        ),
    )


def with_reserve(  # noqa: PLR0913  # a filter has these parts
    kind: str,
    *,
    epsilon: float,
    reserved: float,
    delta: float,
    meters: tuple[Meter, ...],
    parameters: tuple[tuple[str, object], ...] = (),
) -> Filter:
    r"""A filter with some meters, and for nothing the sum of epsilons as one more way to fit.

    Theorem:
        Let :math:`F_1, F_2, \dots` be filters for :math:`(\varepsilon, \delta_j)`, and let a
        history fit if it is within at least one of them. Then :math:`(\varepsilon, \sum\delta_j)`
        holds. *Proof.* Totals only grow, so a transcript that ends within :math:`F_j` has been
        within it all the time, and has the same probability in both worlds as if one had stopped
        before ever leaving :math:`F_j`. So :math:`P(S) - e^\varepsilon Q(S) \le \delta_j` for
        every set S of such transcripts, and every transcript belongs to one of these sets.

        The sum of epsilons is a filter for :math:`(\varepsilon, 0)`, hence free. Deltas of
        releases are apart: with their sum at most the ``reserved`` part on every path, the
        probability that anything at all is told outright is at most that.
    """
    return Filter(
        kind=kind,
        epsilon=epsilon,
        delta=delta,
        every=(DeltaMeter(limit=Fraction(reserved)),),
        some=(EpsilonMeter(limit=Fraction(epsilon)), *meters),
        parameters=(*parameters, ("reserved", reserved)),
    )
