"""Releases on a random sample of the people."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from quaestor.accounting.releases.base import (
    PureLoss,
    Release,
    check_real,
    counts_of,
    remembered,
    root_below,
)
from quaestor.accounting.releases.loss_ends import (
    NO_LOSS,
    LossEnd,
    logarithm,
    loss_of_sample,
)
from quaestor.accounting.releases.opinion import MARGIN, Detection, Opinion, rho_of_loss
from quaestor.accounting.releases.release_sum import ReleaseSum, check_neighbours, each_release
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.releases.opinion import Curve

__all__ = ["OfSample", "PoissonSampled", "has_one_law"]

_LARGEST_RATE = 1 - 2.0**-40  # of a profile: a larger sample is all but the whole


class OfSample(Release):
    """What is known of every release on a sample: it tells no more than the whole.

    Its rho and mu are at most those of the whole (divergences are jointly quasi-convex), and what
    its own epsilon says. Only releases that are the same in both directions can be sampled here.
    """

    __slots__ = ()

    release: Release

    @property
    def counts_people(self) -> bool:  # type: ignore[override]  # a fact of the kind elsewhere
        """That of the whole, unless the sample has a fixed size."""
        return self.release.counts_people

    def _parts(self) -> tuple[tuple[Release, int], ...]:
        return tuple(counts_of(each_release((self.release,))).items())

    def _check_inner(self) -> None:
        inner = self.release
        single = isinstance(inner, Release) and inner.counted()[1] == 1
        if not single or isinstance(inner, OfSample):
            raise InvalidParameter("release", inner, "a single release that is not itself sampled")

    def _single_loss(self) -> Law:
        """The one loss of a symmetric release; sampling others is not known here.

        Of a bracketed release only more and less than its loss are known, and a sample of these
        would not say which of the two it is; but a Gaussian of a larger mu is more in a sample,
        too.
        """
        laws = self.release.losses()
        unknown = self.release.bracketed and self.release.known_mu() is None
        if unknown or len(laws) != 1 or laws[0].known_by_moments_only:
            raise InvalidParameter(
                "release", str(self.release), "one whose sampled version is known"
            )
        return laws[0]

    @remembered
    def pure_loss(self) -> PureLoss:
        """From the end of the curve, where the sampled version is known."""
        _ = self.losses()  # refuses the others
        return super().pure_loss()

    @remembered
    def concentrated_rho(self) -> Fraction | None:
        """The whole's, where nothing is told outright, or that of its epsilon."""
        return self._least(super().concentrated_rho(), self.release.concentrated_rho())

    @remembered
    def squared_mu(self) -> Fraction | None:
        """The whole's, where nothing is told outright, or that of its epsilon."""
        return self._least(super().squared_mu(), self.release.squared_mu())

    def _least(self, own: Fraction | None, whole: Fraction | None) -> Fraction | None:
        tells = self.release.pure_loss().delta > 0
        known = [cost for cost in (own, None if tells else whole) if cost is not None]
        return min(known, default=None)

    # Of a run of several releases on one sample.

    def _pure_loss_of_parts(self) -> PureLoss:
        parts = [each.pure_loss() for each, _ in self._parts()]
        if any(each.epsilon is None for each in parts) and not any(each.delta for each in parts):
            return PureLoss(None, Fraction(0))
        return self._pure_loss_of_laws()

    def _least_of(
        self, own: Fraction | None, parts: list[tuple[Fraction | None, int]]
    ) -> Fraction | None:
        tells = any(each.pure_loss().delta for each, _ in self._parts())
        if tells or any(cost is None for cost, _ in parts):
            return own
        costs = ((cost or Fraction(0)) * times for cost, times in parts)
        whole = sum(costs, Fraction(0))
        return whole if own is None else min(own, whole)

    # From the parameters alone.

    def _opinion(self, rate: float, *, adding: bool) -> Opinion | None:
        r"""The pair (1 - q) Q + q P against Q: :math:`q\,\delta(\log(1+(e^\varepsilon-1)/q))`."""
        inner = self.release.opinion()
        return (
            None if inner is None or rate == 0.0 else _sampled_opinion(inner, rate, adding=adding)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PoissonSampled(OfSample):
    r"""A release on a sample that has each person with probability ``rate``, independently.

    ``release`` is one release, a count of one, or a sum: one coin a person for all of them.

    Guarantee:
        For neighbours that differ by one person's presence: the pair (1 - q) Q + q P against Q, for
        removing, and the same turned round for adding [Zhu, Dong, Wang 2022, Theorem 11]. The two
        compose apart, and the worse one counts at the end. A sample of a sample is a sample, at
        the product of the rates: each person is in it with that probability, independently. Of
        sums, of releases whose two directions differ and of those that are known by moments, the
        profiles of the whole are sampled
        (:mod:`~quaestor.accounting.releases.runs.sampled_run`).

    >>> from quaestor import Laplace, compose
    >>> step = PoissonSampled(release=Laplace(scale=1.0), rate=0.5)
    >>> round(compose(step).epsilon(delta=0.0), 4)  # ln(1 + (e - 1) / 2)
    0.6201
    """

    release: Release | ReleaseSum  # type: ignore[assignment]  # others sample one release
    rate: float

    directed: ClassVar[bool] = True
    neighbours: ClassVar[str | None] = "add_remove"

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        if not isinstance(self.release, Release | ReleaseSum) or not self._parts():
            raise InvalidParameter("release", self.release, "a release, or a sum of releases")
        if check_neighbours(each for each, _ in self._parts()) == "replace_record":
            valid = "about people who come or go, as a Poisson sample is"
            raise InvalidParameter("release", str(self.release), valid)
        if self.release.counts_people:
            valid = "about data of any size and order: a sample has no fixed population"
            raise InvalidParameter("release", str(self.release), valid)
        object.__setattr__(self, "rate", check_real("rate", self.rate, low=0.0, high=1.0))

    def one(self) -> Release:
        """The first release of the sample: the only one, if it is simple."""
        return self._parts()[0][0]

    @property
    def bracketed(self) -> bool:  # type: ignore[override]  # a fact of the kind elsewhere
        """Where only the profiles of the whole are known, or rates were multiplied."""
        return not self.is_simple()

    def is_simple(self) -> bool:
        """Whether it is one release, not itself sampled, with one law for both directions."""
        (one, count), *others = self._parts()
        return not others and count == 1 and has_one_law(one)

    def _as_one(self, towards: float) -> PoissonSampled | None:
        """The same as a sample of one release, rates and shifts rounded; None where there is none.

        Samples of samples, and Gaussians on the same sample, which are one.
        """
        (one, count), *others = self._parts()
        if not others and count == 1 and isinstance(one, PoissonSampled):
            rate = _rounded(Fraction(self.rate) * Fraction(one.rate), towards)
            return PoissonSampled(release=one.release, rate=min(rate, 1.0))
        parts = [(each if towards > 0 else each.at_least(), n) for each, n in self._parts()]
        squares = [(each.known_mu(), times) for each, times in parts]
        if self.is_simple() or any(mu is None for mu, _ in squares):
            return None
        from quaestor.accounting.releases.gaussian import GaussianDP

        total = sum(((mu or 0) ** 2 * times for mu, times in squares), Fraction(0))
        root = root_below(Fraction(total))
        if len(parts) == count == 1 and one.bracketed:  # both of its ends are floats
            shift = float(parts[0][0].known_mu() or 0)
        else:
            shift = _rounded(root, math.inf) if towards > 0 else _rounded(root, 0.0)
        return PoissonSampled(release=GaussianDP(mu=shift), rate=self.rate)

    def losses(self) -> tuple[Law, ...]:
        """Removing, and adding."""
        if self.rate == 0.0:
            from quaestor.accounting.loss.laws.sampling.sampled import no_loss

            return (no_loss(),)
        if self.is_simple():
            law = self._single_loss()
            return (law,) if self.rate == 1.0 else self.one().poisson_sampled_losses(self.rate)
        same = self._as_one(math.inf)
        if same is not None:
            return same.losses()
        from quaestor.accounting.releases.runs.base_run import law_of_run
        from quaestor.accounting.releases.runs.sampled_run import sampled_run

        if self.rate > _LARGEST_RATE:
            return (law_of_run(self.release),)
        return sampled_run(self.release, self.rate)

    def least_losses(self) -> tuple[Law, ...]:
        """Of profiles nothing from below."""
        if self.is_simple():
            return self.losses()
        same = self._as_one(0.0)
        if same is not None:
            return same.least_losses()
        from quaestor.accounting.loss.laws.sampling.sampled import no_loss

        return (no_loss(),)

    @remembered
    def pure_loss(self) -> PureLoss:
        """From the end of the curve, where the sampled version is known."""
        if self.is_simple():
            return OfSample.pure_loss(self)
        same = self._as_one(math.inf)
        if same is not None:
            return same.pure_loss()
        return self._pure_loss_of_parts()

    @remembered
    def concentrated_rho(self) -> Fraction | None:
        """The whole's, where nothing is told outright, or that of its epsilon."""
        if self.is_simple():
            return OfSample.concentrated_rho(self)
        return self._least_of(
            Release.concentrated_rho(self), [(e.concentrated_rho(), n) for e, n in self._parts()]
        )

    @remembered
    def squared_mu(self) -> Fraction | None:
        """The whole's, where nothing is told outright, or that of its epsilon."""
        if self.is_simple():
            return OfSample.squared_mu(self)
        return self._least_of(
            Release.squared_mu(self), [(e.squared_mu(), n) for e, n in self._parts()]
        )

    @remembered
    def log_moment(self, order: float) -> Fraction | None:
        """The whole's, or that of its law, where that tells nothing outright."""
        if self.is_simple():
            return Release.log_moment(self, order)
        same = self._as_one(math.inf)
        if same is not None:
            return same.log_moment(order)
        bounded = self.pure_loss().epsilon is not None
        own = Release.log_moment(self, order) if bounded else None
        return self._least_of(own, [(e.log_moment(order), n) for e, n in self._parts()])

    def outdoes(self, other: Release) -> bool:
        """A smaller sample is a sample of the sample."""
        if isinstance(other, PoissonSampled):
            if self.release == other.release:
                return self.rate >= other.rate
            if not self.is_simple() or not other.is_simple():
                return False
            return self.rate >= other.rate and self.one().outdoes(other.one())
        return other.known_epsilon() == 0

    def rough_size(self) -> float:
        """The whole's, in proportion."""
        return self.rate * sum(each.rough_size() * count for each, count in self._parts())

    def with_record_replaced(self) -> Release:
        """The same sample, in which one person may stand for another."""
        from quaestor.accounting.releases.derived.replace_one import PoissonSampledReplaceOne

        (one, count), *others = self._parts()
        if not others and count == 1 and one.known_mu() is not None:
            return PoissonSampledReplaceOne(release=one, rate=self.rate)
        same = self if self.is_simple() else self._as_one(math.inf)
        if same is None:
            return Release.with_record_replaced(self)
        if not same.is_simple():
            return same.with_record_replaced()
        return PoissonSampledReplaceOne(release=same.one(), rate=same.rate)

    # From the parameters alone.

    @remembered
    def loss_ends(self) -> tuple[LossEnd, ...] | None:
        r"""Removing a person: :math:`\log(1-q+qe^L)`; adding one: its negative, of the least L."""
        if not self.is_simple():
            return None
        ends, rate = self.one().loss_ends(), Fraction(self.rate)
        if ends is None:
            return None
        if rate in (0, 1):
            return ends if rate else (NO_LOSS,)
        (end,) = ends
        outright = end.outright[0] * rate, end.outright[1] * rate
        largest = None if end.largest is None else loss_of_sample(end.largest, rate)
        removing = LossEnd(largest, outright)
        if (
            end.outright[1] > 0 or end.largest is None
        ):  # what the person alone could not have caused
            return removing, LossEnd(logarithm(1 / (1 - rate)))
        least = loss_of_sample((-end.largest[1], -end.largest[0]), rate)
        return removing, LossEnd((-least[1], -least[0]))

    @remembered
    def opinion(self) -> Opinion | None:
        """Removing a person, and adding one."""
        return self._opinion(self.rate, adding=True) if self.is_simple() else None


def has_one_law(release: Release) -> bool:
    """From what is written of its kind: whether its own sampled law is known."""
    plain = not (release.bracketed or release.directed or isinstance(release, OfSample))
    return plain and not release.known_by_moments


def _rounded(exact: Fraction, towards: float) -> float:
    return math.nextafter(float(exact), towards)


def _sampled_opinion(inner: Opinion, rate: float, *, adding: bool) -> Opinion:
    whole, whole_test = inner.curve, inner.test

    def moved(at: float) -> float:
        rise = math.expm1(at) / rate if at < 700.0 else math.inf
        if rise < 1e300:
            return math.log1p(rise)
        return at + math.log(-math.expm1(-at) + rate * math.exp(-at)) - math.log(rate)

    def added(at: float) -> float:
        left = rate - math.expm1(at) * (1 - rate) if at < 700.0 else -1.0
        if left <= -1e-9:
            return 0.0
        left = max(left, 0.0) + 1e-14 * (1 + rate)  # the more is left, the more is told
        odds = at + math.log(rate) - math.log(left)
        return left * whole(max(odds * (1 - 1e-14) - 1e-9, 0.0))[1] * (1 + MARGIN)

    def curve(at: float) -> Curve:
        level = moved(at)
        doubt = 4e-15 * (abs(level) + abs(math.log(rate)) + at)
        low = rate * whole(level + doubt)[0] * (1 - MARGIN)
        high = rate * whole(max(level - doubt, 0.0))[1] * (1 + MARGIN) + 5e-324
        return low, min(max(high, added(at)) if adding else high, 1.0)

    def test(at: float) -> Detection:
        assert whole_test is not None  # noqa: S101
        inside = whole_test(moved(at))
        without = [math.exp(min(x, 0.0)) for x in (inside.log_least, inside.log_most)]
        least = (rate * inside.least + (1 - rate) * without[0]) * (1 - MARGIN)
        most = min((rate * inside.most + (1 - rate) * without[1]) * (1 + MARGIN), 1.0)
        return inside._replace(least=least, most=most)

    largest = math.inf
    if inner.largest < 700.0:
        largest = math.log1p(rate * math.expm1(inner.largest)) * (1 + MARGIN)
    rho = rho_of_loss(largest) if largest < math.inf and not inner.tells else math.inf
    if adding and not inner.tells:  # divergences of mixtures are at most those of their parts
        rho = min(rho, inner.rho)
    held = None if whole_test is None else test
    return Opinion(curve, held, rho, largest=largest, tells=inner.tells)
