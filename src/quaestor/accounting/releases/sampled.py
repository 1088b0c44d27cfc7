"""Releases on a random sample of the people."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from quaestor.accounting.releases.base import Release, Repeated, check_count, check_real
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.law import Law

__all__ = ["PoissonSampled", "SampledWithoutReplacement"]


def _check_inner(release: object) -> None:
    if not isinstance(release, Release) or isinstance(
        release, Repeated | PoissonSampled | SampledWithoutReplacement
    ):
        raise InvalidParameter("release", release, "a single release that is not itself sampled")


def _single_loss(release: Release) -> Law:
    """The one loss of a symmetric release; sampling others is not known here.

    Of a bracketed release only more and less than its loss are known, and a sample of these would
    not say which of the two it is.
    """
    laws = release.losses()
    if release.bracketed or len(laws) != 1 or laws[0].known_by_moments_only:
        raise InvalidParameter("release", str(release), "one whose sampled version is known")
    return laws[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoissonSampled(Release):
    r"""A release on a sample that has each person with probability ``rate``, independently.

    Guarantee:
        For neighbours that differ by one person's presence: the pair (1 - q) Q + q P against Q, for
        removing, and the same turned round for adding [Zhu, Dong, Wang 2022, Theorem 11]. The two
        compose apart, and the worse one counts at the end.
    """

    release: Release
    rate: float

    directed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        _check_inner(self.release)
        object.__setattr__(self, "rate", check_real("rate", self.rate, low=0.0, high=1.0))

    def losses(self) -> tuple[Law, ...]:
        """Removing, and adding."""
        from quaestor.accounting.loss.laws.sampled import poisson_sampled

        return poisson_sampled(_single_loss(self.release), self.rate)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledWithoutReplacement(Release):
    r"""A release on ``sample`` of ``population`` people, drawn without replacement.

    Guarantee:
        For neighbours that differ by one person's *replacement* [Zhu, Dong, Wang 2022, Proposition
        30, as stated there and not proved again here]: with q = sample/population, the pair
        (1 - q) Q + q P against Q where the loss is positive, and its mirror image where it is
        negative. The inner release's own promise must be about replacement too. Releases whose
        losses are finitely many.
    """

    release: Release
    sample: int
    population: int

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        _check_inner(self.release)
        population = check_count("population", self.population)
        object.__setattr__(self, "population", population)
        sample = check_count("sample", self.sample, largest=population)
        object.__setattr__(self, "sample", sample)

    def losses(self) -> tuple[Law, ...]:
        """One loss, the same in both directions."""
        from quaestor.accounting.loss.laws.sampled import sampled_without_replacement

        rate = math.nextafter(self.sample / self.population, 1.0)
        return sampled_without_replacement(_single_loss(self.release), rate)
