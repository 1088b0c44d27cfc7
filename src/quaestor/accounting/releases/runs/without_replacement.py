"""Releases on a sample of a fixed size, drawn without replacement."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from quaestor.accounting.releases.base import PureLoss, Release, check_count, remembered
from quaestor.accounting.releases.loss_ends import LossEnd, loss_of_sample
from quaestor.accounting.releases.release_sum import ReleaseSum, check_neighbours
from quaestor.accounting.releases.sampled import OfSample, has_one_law
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.releases.opinion import Opinion

__all__ = ["SampledWithoutReplacement"]

_ABOVE = 1 + Fraction(1, 2**50)  # the rate as a float


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledWithoutReplacement(OfSample):
    r"""A release on ``sample`` of ``population`` people, drawn without replacement.

    ``release`` is one release, a count of one, or a sum: all of them on the same sample.

    Guarantee:
        For neighbours that differ by one person's *replacement* [Zhu, Dong, Wang 2022, Proposition
        30]: with q = sample/population, the pair
        (1 - q) Q + q P against Q where the loss is positive, and its mirror image where it is
        negative. The inner release's own promise must be about replacement too.
        Proof: let R be the release on samples without the person, A and B on samples with one or
        the other. A sample with the person is one without, with somebody replaced; so of all S
        with :math:`A(S) = a` both R and B have at least :math:`f(a)`, and P(S) - e^epsilon Q(S) is
        at most :math:`qa - (e^\varepsilon - 1 + q)f(a)`. Releases with continuous losses (Gaussian
        and Laplace noise) are counted from points of their profile, a little above it. So are sums,
        releases whose two directions differ and those that are known by moments: f is then the
        worse of both directions, for either person may stand for the other.

    >>> from quaestor import RandomizedResponse, compose
    >>> one = RandomizedResponse(epsilon=1.0)
    >>> step = SampledWithoutReplacement(release=one, sample=50, population=100)
    >>> round(compose(step).epsilon(delta=0.0), 4)  # ln(1 + (e - 1) / 2)
    0.6201
    """

    release: Release | ReleaseSum  # type: ignore[assignment]  # others sample one release
    sample: int
    population: int

    neighbours: ClassVar[str | None] = "replace_record"
    counts_people: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        if not isinstance(self.release, Release | ReleaseSum) or not self._parts():
            raise InvalidParameter("release", self.release, "a release, or a sum of releases")
        if check_neighbours(each for each, _ in self._parts()) == "add_remove":
            valid = "about records that are replaced, as a sample of a fixed size is"
            raise InvalidParameter("release", str(self.release), valid)
        if self.release.counts_people:
            valid = "about data of any size and order: give the smaller sample of the population"
            raise InvalidParameter("release", str(self.release), valid)
        population = check_count("population", self.population)
        object.__setattr__(self, "population", population)
        sample = check_count("sample", self.sample, largest=population)
        object.__setattr__(self, "sample", sample)

    def _whole(self) -> Release | None:
        """The one release that all of them are; None where only their profile is known.

        Gaussians on the same sample are one.
        """
        (one, count), *others = self._parts()
        if not others and count == 1 and (has_one_law(one) or one.known_mu() is not None):
            return one
        ends = [(each.at_least().known_mu(), each.known_mu(), n) for each, n in self._parts()]
        if any(least is None or most is None for least, most, _ in ends):
            return None
        from quaestor.accounting.releases.derived.bounded_shift import ShiftBetween

        return ShiftBetween.of_squares(
            sum((Fraction(least or 0) ** 2 * times for least, _, times in ends), Fraction(0)),
            sum((Fraction(most or 0) ** 2 * times for _, most, times in ends), Fraction(0)),
        )

    @property
    def bracketed(self) -> bool:  # type: ignore[override]  # a fact of the kind elsewhere
        """For all but samples of everybody: of several steps no neighbours need attain the pair."""
        whole = self._whole()
        return whole is None or whole.bracketed or not self._is_everybody()

    def _is_everybody(self) -> bool:
        return self.sample == self.population

    @remembered
    def losses(self) -> tuple[Law, ...]:
        """One loss, the same in both directions."""
        from quaestor.accounting.loss.laws.sampling.sampled import sampled_without_replacement
        from quaestor.accounting.releases.runs.base_run import law_of_run

        whole = self._whole()
        law = law_of_run(self.release) if whole is None else whole.losses()[0]
        return sampled_without_replacement(law, self._rate())

    def _rate(self) -> float:
        return math.nextafter(self.sample / self.population, 1.0)

    def least_losses(self) -> tuple[Law, ...]:
        r"""Removing a person from a Poisson sample; of profiles nothing.

        That occurs where B is R. Its profile is the same for a positive epsilon, and adding, its
        mirror image, never has more: the two differ by :math:`s\int(P-Q)` over a set where P is
        above Q. Of several steps the pair above has the worse of both in each, which no choice of
        A, B and R need attain.
        """
        if not self.bracketed:
            return self.losses()
        whole = self._whole()
        if whole is None:
            from quaestor.accounting.loss.laws.sampling.sampled import no_loss

            return (no_loss(),)
        if self._is_everybody():
            return whole.at_least().losses()
        rate = math.nextafter(self.sample / self.population, 0.0)
        return whole.at_least().poisson_sampled_losses(rate)[:1]

    @remembered
    def pure_loss(self) -> PureLoss:
        """From the end of the curve."""
        return self._pure_loss_of_parts() if self._whole() is None else OfSample.pure_loss(self)

    @remembered
    def concentrated_rho(self) -> Fraction | None:
        """The whole's, where nothing is told outright, or that of its epsilon."""
        parts = [(each.concentrated_rho(), count) for each, count in self._parts()]
        return self._least_of(Release.concentrated_rho(self), parts)

    @remembered
    def squared_mu(self) -> Fraction | None:
        """The whole's, where nothing is told outright, or that of its epsilon."""
        parts = [(each.squared_mu(), count) for each, count in self._parts()]
        return self._least_of(Release.squared_mu(self), parts)

    @remembered
    def log_moment(self, order: float) -> Fraction | None:
        """The whole's, or that of its law, where that tells nothing outright."""
        if self._whole() is not None:
            return Release.log_moment(self, order)
        bounded = self.pure_loss().epsilon is not None
        own = Release.log_moment(self, order) if bounded else None
        return self._least_of(own, [(e.log_moment(order), n) for e, n in self._parts()])

    # From the parameters alone.

    @remembered
    def loss_ends(self) -> tuple[LossEnd, ...] | None:
        """Replacing a person, where the losses are finitely many."""
        whole = self._whole()
        if whole is None or not whole.losses_are_listed:
            return None
        ends, rate = whole.loss_ends(), Fraction(self.sample, self.population)
        if ends is None or len(ends) != 1 or rate == 1:
            return ends
        (end,) = ends
        outright = end.outright[0] * rate, end.outright[1] * rate * _ABOVE
        if end.largest is None:
            return (LossEnd(None, outright),)
        least, largest = loss_of_sample(end.largest, rate)
        return (LossEnd((least, largest * _ABOVE), outright),)

    @remembered
    def opinion(self) -> Opinion | None:
        """Replacing a person."""
        if self._whole() is None or not isinstance(self.release, Release):
            return None
        return self._opinion(self.sample / self.population, adding=False)
