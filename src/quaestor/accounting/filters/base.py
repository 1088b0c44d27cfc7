"""What a privacy filter is: it lets releases through, chosen as one likes, up to a fixed total.

A filter has *meters*, each of which adds something up; and the basic one, of epsilons and deltas,
is part of all the others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from quaestor.accounting.releases.base import LARGEST_EPSILON, check_real
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from quaestor.accounting.releases import Release

__all__ = [
    "DeltaMeter",
    "EpsilonMeter",
    "Filter",
    "FilterTarget",
    "Meter",
    "basic_filter",
    "check_target",
    "slack_of",
    "with_reserve",
]


class Meter(ABC):
    """Something that every release uses some of.

    Costs are exact fractions that are never below the true cost, and the limit is never above the
    true limit; sums of costs are exact, so that nothing drifts however long the history is.
    """

    __slots__ = ()

    name: ClassVar[str]
    """What it is called in tables and refusals, such as ``epsilon`` or ``rho``."""

    limit: Fraction
    """How much there is in all."""

    @property
    def key(self) -> str:
        """What tells this meter's totals from those of others; the limit has no part in it."""
        return self.name

    @property
    def words(self) -> str:
        """What it counts, as half a sentence."""
        return self.name

    @abstractmethod
    def cost_of_one(self, release: Release) -> Fraction | None:
        """What one release (never a repeated one) uses; None if no amount would do."""

    def costs_of(self, releases: Sequence[Release]) -> list[Fraction | None]:
        """What each of many releases (never repeated ones) uses: the same, and sometimes sooner."""
        return [self.cost_of_one(release) for release in releases]

    def cost(self, releases: Iterable[Release]) -> Fraction | None:
        """What these releases use together; None if no amount would do.

        Raises:
            InvalidParameter: some are about people who come or go, and others about records that
                are replaced: their costs say nothing together.
        """
        from quaestor.accounting.releases.release_sum import check_neighbours

        listed = tuple(releases)
        check_neighbours(listed)
        total = Fraction(0)
        for release in listed:
            single, count = release.counted()
            one = self.cost_of_one(single)
            if one is None:
                return None
            total += one * count
        return total


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """A fully adaptive privacy filter: ``(epsilon, delta)`` holds whenever one stops.

    Analysts may choose every release, its parameters and the moment to stop by all answers so far.
    A history fits as long as every meter of ``every`` is within its limit, and, if there are any,
    at least one of ``some`` is (each of those has its own share of delta, fixed in advance).
    """

    kind: str
    epsilon: float
    delta: float
    every: tuple[Meter, ...]
    some: tuple[Meter, ...] = ()
    parameters: tuple[tuple[str, Any], ...] = ()
    """All that is needed beside kind, epsilon and delta to make the same filter again."""

    @property
    def meters(self) -> tuple[Meter, ...]:
        """All of them: those that must be within their limits, then those of which one must."""
        return (*self.every, *self.some)

    def fits(self, totals: Mapping[Meter, Fraction | None]) -> bool:
        """Whether a history with these totals is within the promise."""
        return self.holds([totals[meter] for meter in self.meters])

    def holds(self, totals: Sequence[Fraction | None]) -> bool:
        """The same, of totals in the order of ``meters``."""
        must = len(self.every)
        return all(map(_within, totals[:must], self.every)) and (
            not self.some or any(map(_within, totals[must:], self.some))
        )

    def words(self) -> str:
        """What is promised, to whom, what may be chosen, and how delta is divided."""
        from quaestor.accounting.filters.words import words_of

        return words_of(self)

    def to_dict(self) -> dict[str, Any]:
        """Kind and parameters as plain JSON values; the limits follow from them.

        :func:`~quaestor.accounting.filters.filter_from_dict` reads it back.
        """
        described = {name: _plain(value) for name, value in self.parameters}
        return {"filter": self.kind, "epsilon": self.epsilon, "delta": self.delta, **described}


def _within(total: Fraction | None, meter: Meter) -> bool:
    return total is not None and total <= meter.limit


def _plain(value: Any) -> Any:
    return [_plain(entry) for entry in value] if isinstance(value, tuple) else value


class FilterTarget(NamedTuple):
    """A promise: an epsilon, and a delta."""

    epsilon: float
    delta: float


def check_target(*, epsilon: float, delta: float) -> FilterTarget:
    """Both as floats in their ranges, or :class:`~quaestor.errors.InvalidParameter`."""
    return FilterTarget(
        check_real("epsilon", epsilon, low=0.0, high=LARGEST_EPSILON),
        check_real("delta", delta, low=0.0, high=1.0),
    )


def slack_of(*, delta: float, reserved: float) -> Fraction:
    """What is left of delta beside what is reserved for the releases' own: it must be something."""
    kept = check_real("reserved", reserved, low=0.0, high=1.0)
    if not kept < delta:
        raise InvalidParameter("reserved", reserved, f"below delta, which is {delta!r}")
    return Fraction(delta) - Fraction(kept)


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
