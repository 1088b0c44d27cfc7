"""A release on a sample in which one person may be drawn several times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from quaestor.accounting.releases.base import Release, check_count, remembered
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.law import Law

__all__ = ["SampledWithReplacement"]

_POINTS = 150
_LEAST_CHANCE = 1e-40  # of being drawn more often than is listed: counted as told
_MOST_DRAWS = 64
_LARGEST_SAMPLE = 10**9
_UP = 1 + 1e-13


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledWithReplacement(Release):
    r"""A release on ``sample`` draws from ``population`` people, each draw from all of them.

    ``release`` is described for one record that is replaced, and must be known for groups
    (``with_group``): whoever is drawn j times is replaced j times.

    Guarantee:
        For neighbours that differ by one person's *replacement*, with :math:`b_j` the chance of
        being drawn j times and :math:`\eta = 1-b_0`:
        :math:`\delta(\varepsilon) = \sum_{j\ge1} b_j\,\delta_j(\log(1+(e^\varepsilon-1)/\eta))`
        [Balle, Barthe, Gaboardi 2018].
        Proof: let :math:`A_j, B_j` be the release where one or the other was drawn j times, and R
        where neither was. Of all S with :math:`A_j(S) = a` both :math:`B_j` and R have at least
        :math:`f_j(a)`. Share :math:`(e^\varepsilon-1)b_0R(S)` among the j as :math:`b_j/\eta`.

    >>> from quaestor import Laplace, compose
    >>> step = SampledWithReplacement(release=Laplace(scale=2.0), sample=1, population=100)
    >>> compose(step).epsilon(delta=0.0) < 0.01
    True
    """

    release: Release
    sample: int
    population: int

    neighbours: ClassVar[str | None] = "replace_record"
    bracketed: ClassVar[bool] = True
    counts_people: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        inner = self.release
        if not isinstance(inner, Release) or inner.counted()[1] > 1 or not inner.with_group(2):
            raise InvalidParameter("release", inner, "a single release that is known for groups")
        population = check_count("population", self.population, largest=_LARGEST_SAMPLE)
        object.__setattr__(self, "population", population)
        sample = check_count("sample", self.sample, largest=_LARGEST_SAMPLE)
        object.__setattr__(self, "sample", sample)

    @remembered
    def losses(self) -> tuple[Law, ...]:
        """More than is lost, from points of the profile."""
        from quaestor.accounting.loss.engine.loss_profile import LossProfile
        from quaestor.accounting.loss.laws.detection_curve import detection_loss

        chances = _chances(self.sample, self.population)
        drawn = math.fsum(chances) * _UP  # at least once
        profiles = []
        for times, chance in enumerate(chances[:-1], start=1):
            group = self.release.with_group(times)
            assert group is not None  # noqa: S101
            profiles += [(chance, LossProfile([(law, 1)])) for law in group.losses()[:1]]
        furthest = profiles[-1][1]
        largest = furthest.product.largest()
        if not math.isfinite(largest):
            largest = furthest.epsilon_bounds(delta=_LEAST_CHANCE).upper
        epsilons, deltas = [], []
        for i in range(_POINTS + 1):
            inner = largest * (i / _POINTS) ** 2
            if inner > 700.0:
                break
            epsilons.append(math.log1p(drawn * math.expm1(inner)) * _UP)
            terms = (chance * p.delta_bounds(epsilon=inner).upper for chance, p in profiles)
            deltas.append(min((math.fsum(terms) + chances[-1]) * _UP, 1.0))
        return (detection_loss(epsilons, deltas),)

    def least_losses(self) -> tuple[Law, ...]:
        """From below nothing is known."""
        from quaestor.accounting.loss.laws.sampling.sampled import no_loss

        return (no_loss(),)

    def with_record_replaced(self) -> Release:
        """It is about that already."""
        return self


@lru_cache(maxsize=256)
def _chances(sample: int, population: int) -> tuple[float, ...]:
    """Of being drawn once, twice, ..., each rounded up; the last is that of more often."""
    from quaestor.accounting.numerics.balls import outward, rational, working_precision

    share = Fraction(1, population)
    found = []
    with working_precision(256):
        one, none = rational(share), (-rational(share)).log1p()
        term = (none * sample).exp() if population > 1 else rational(Fraction(0))
        left = 1 - term
        if population == 1:
            raise InvalidParameter("population", 1, "at least 2")
        for times in range(1, min(sample, _MOST_DRAWS) + 1):
            term = term * (sample - times + 1) / times * one / (1 - one)
            found.append(outward(term).upper)
            left = left - term
            if left < _LEAST_CHANCE:
                break
        rest = 0.0 if len(found) == sample else max(outward(left).upper, 0.0)
    return (*found, rest)
