"""What a release is: a frozen description of something that was, or will be, published."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import lru_cache
from numbers import Integral, Rational, Real
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar, cast

from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.numerics.complexes import Floats
    from quaestor.accounting.releases.loss_ends import LossEnd
    from quaestor.accounting.releases.opinion import Opinion
    from quaestor.accounting.releases.release_sum import ReleaseSum

__all__ = [
    "LARGEST_COUNT",
    "LARGEST_EPSILON",
    "PureLoss",
    "Release",
    "Repeated",
    "Strength",
    "check_count",
    "check_real",
    "counts_of",
    "positive",
    "remembered",
    "root_below",
    "times",
]

LARGEST_COUNT = 10**15
LARGEST_EPSILON = 1e6
_REMEMBERED = 1 << 15  # different releases of a kind whose facts are kept
_DOUBT = Fraction(1) + Fraction(1, 2**40)  # more than what floats did to a law's largest loss

Method = TypeVar("Method", bound=Callable[..., Any])


def remembered(method: Method) -> Method:
    """Keep the answers of a method of descriptions: equal ones answer alike."""
    return cast("Method", lru_cache(maxsize=_REMEMBERED)(method))


def check_real(field: str, value: object, *, low: float, high: float) -> float:
    """Return ``value`` as a float in ``[low, high]``, or raise :class:`InvalidParameter`.

    Fractions and integers that are not floats are refused: rounding them would change what is
    promised.
    """
    if type(value) is float and low <= value <= high:
        return value + 0.0  # the usual case, and quick
    valid = f"a number in [{low:g}, {high:g}]"
    if isinstance(value, bool) or not isinstance(value, Real | Fraction):
        raise InvalidParameter(field, value, valid)
    try:
        number = float(value)
    except OverflowError:
        raise InvalidParameter(field, value, valid) from None
    if math.isnan(number) or not low <= number <= high:
        raise InvalidParameter(field, value, valid)
    if isinstance(value, Rational) and number != value:
        raise InvalidParameter(field, value, f"{valid} that a float can hold")
    return number + 0.0  # no negative zero


def check_count(
    field: str, value: object, *, smallest: int = 1, largest: int = LARGEST_COUNT
) -> int:
    """Return ``value`` as a whole number in range, or raise :class:`InvalidParameter`."""
    if type(value) is int and smallest <= value <= largest:
        return value  # the usual case, and quick
    valid = f"a whole number from {smallest} to {largest}"
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidParameter(field, value, valid)
    count = int(value)
    if not smallest <= count <= largest:
        raise InvalidParameter(field, value, valid)
    return count


def times(size: int, value: float) -> float:
    """``size`` times the value, rounded up where floats cannot hold it."""
    exact = size * Fraction(value)
    near = float(exact)
    return near if near >= exact else math.nextafter(near, math.inf)


def root_below(square: Fraction) -> Fraction:
    """The root, rounded down by less than a 2^-250th of itself."""
    bits = max(square.denominator.bit_length() - square.numerator.bit_length(), 0) // 2 + 256
    return Fraction(math.isqrt((square.numerator << 2 * bits) // square.denominator), 1 << bits)


def positive(release: Release, *names: str) -> None:
    """Check that these parameters of a frozen description are positive and finite."""
    for name in names:
        value = check_real(name, getattr(release, name), low=1e-150, high=1e150)
        object.__setattr__(release, name, value)


class PureLoss(NamedTuple):
    """The release is ``(epsilon, delta)``-DP; an epsilon of None says that there is no such bound.

    The delta is a probability that everything is told. Apart from it, the loss is finite: of
    moments and of Gaussian guarantees one may ask even where there is no epsilon.
    """

    epsilon: Fraction | None
    delta: Fraction


class Strength(NamedTuple):
    """The parameter that says how much a kind of release tells: more of it tells more, or less."""

    field: str
    more_tells_more: bool


class Release:
    """A description of one release: what is promised of it, not how it is made.

    Descriptions are values: frozen, hashable, equal when their parameters are, and they go
    through JSON and through expressions without loss.

    A kind needs its parameters, checks of their ranges, and :meth:`losses`; every other fact has a
    default that follows from the loss, or says that nothing is known. A kind that knows better
    says so in its own file.

    >>> from quaestor import PureDP
    >>> release = PureDP(epsilon=0.1) * 30
    >>> isinstance(release, Release), str(release)
    (True, 'PureDP(epsilon=0.1) * 30')
    """

    __slots__ = ()

    bracketed: ClassVar[bool] = False
    """Whether ``losses`` is more than is lost, and ``least_losses`` less."""

    directed: ClassVar[bool] = False
    """Whether removing and adding a person may differ."""

    neighbours: ClassVar[str | None] = None
    """Which neighbours its promise is about: ``"add_remove"`` (a person comes or goes),
    ``"replace_record"`` (a record becomes another one), or None where that is for you to say."""

    losses_are_listed: ClassVar[bool] = False
    """Whether its losses are finitely many, so that a fixed number of people may be sampled."""

    known_by_moments: ClassVar[bool] = False
    """Whether only bounds on its moments are known, and no pair of worlds."""

    moments_of_rho: ClassVar[bool] = False
    """Whether its moments are known by its rho alone, as those of a Gaussian are."""

    worst_varies: ClassVar[bool] = False
    """Whether the worst of its kind is another one for another question: see ``worst_losses``."""

    counts_people: ClassVar[bool] = False
    """Whether its promise is about data of one size, or about places in an order. Both change with
    everybody who is left out, so a Poisson sample of it is not known. Kinds that are made of other
    releases say what these say."""

    strength: ClassVar[Strength | None] = None
    """What a weaker version of it has less of (or more); None where no single parameter says."""

    def losses(self) -> tuple[Law, ...]:
        """The laws of the privacy loss: one, or one for removing and one for adding a person."""
        raise NotImplementedError

    def least_losses(self) -> tuple[Law, ...]:
        """Laws of at most the privacy loss, for the lower ends of answers."""
        return self.losses()

    def worst_losses(self, order: float) -> tuple[Law, ...]:  # noqa: ARG002
        """The same of the worst of its kind where the moment of this order decides, about."""
        return self.least_losses()

    def at_least(self) -> Release:
        """A release that it tells at least as much as: itself, where what it tells is known."""
        return self

    def counted(self) -> tuple[Release, int]:
        """The single release, and how often it is made: the one way to look into a count."""
        return self, 1

    # What it promises by its definition, exactly.

    def known_epsilon(self) -> Fraction | None:
        """The least epsilon with which it is epsilon-DP; None if it is not, or it is not known."""
        return None

    def known_mu(self) -> Fraction | None:
        """The mu of the Gaussian that it is, or is at most, if it is bracketed; None if none."""
        return None

    @property
    def range_epsilon(self) -> float | None:
        """The bounded range that it is known by; None for all other kinds."""
        return None

    @property
    def black_box(self) -> tuple[float, float] | None:
        """Its (epsilon, delta), if it is the worst of all that promise it; None for all others."""
        return None

    # What is true of it at worst, rounded up: costs that may be added up.

    @remembered
    def pure_loss(self) -> PureLoss:
        """The largest finite loss and the probability of an infinite one."""
        from quaestor.accounting.numerics.balls import at_least

        exact = self.known_epsilon()
        if exact is not None:
            return PureLoss(at_least(exact), Fraction(0))
        ends = self.loss_ends()
        if ends is None:
            return self._pure_loss_of_laws()
        delta = at_least(max(end.outright[1] for end in ends)) or Fraction(0)
        bounds = [end.largest[1] for end in ends if end.largest is not None]
        if len(bounds) < len(ends):
            return PureLoss(None, delta)
        return PureLoss(at_least(max(*bounds, Fraction(0))), delta)

    def _pure_loss_of_laws(self) -> PureLoss:
        from quaestor.accounting.numerics.balls import at_least

        laws = self.losses()
        delta = max(Fraction(law.infinite.upper) for law in laws)
        largest = max(law.largest for law in laws)
        if not math.isfinite(largest):
            return PureLoss(None, delta)
        return PureLoss(at_least(max(Fraction(largest), Fraction(0)) * _DOUBT), delta)

    @remembered
    def concentrated_rho(self) -> Fraction | None:
        """A rho with which it is zero-concentrated; None if none is known.

        >>> from quaestor.accounting.releases import Gaussian
        >>> Gaussian(sigma=2.0).concentrated_rho()
        Fraction(1, 8)
        """
        from quaestor.accounting.releases.moments import rho_of_epsilon

        return rho_of_epsilon(self.pure_loss().epsilon)

    @remembered
    def squared_mu(self) -> Fraction | None:
        """The square of a mu with which it is Gaussian-DP; None if none is known.

        >>> from quaestor.accounting.releases import GaussianDP
        >>> GaussianDP(mu=0.5).squared_mu()
        Fraction(1, 4)
        """
        from quaestor.accounting.releases.moments import squared_mu_of_epsilon

        return squared_mu_of_epsilon(self.pure_loss().epsilon)

    @remembered
    def log_moment(self, order: float) -> Fraction | None:
        r"""A bound on :math:`\log E[e^{\lambda L}]` in both directions; None if it is infinite.

        L is the loss given that not everything was told. Of several bounds the least is taken:
        the loss's own law, what an epsilon-DP release has at most, and what its rho says.
        """
        from quaestor.accounting.releases import moments

        of_rho = moments.log_moment_of_rho(self.concentrated_rho(), order)
        if self.moments_of_rho:
            return of_rho
        of_epsilon = moments.log_moment_of_epsilon(self.pure_loss().epsilon, order)
        return moments.least(moments.log_moment_of_laws(self, order), of_epsilon, of_rho)

    def rough_log_moments(self, orders: Floats) -> Floats:
        """About its log-moments at these orders: to choose by, and infinite where unknown."""
        from quaestor.accounting.releases.moments import rough_log_moments_of_laws

        return rough_log_moments_of_laws(self, orders)

    def spread(self) -> Fraction | None:
        """The length of an interval that has its losses, whatever the neighbours; None if endless.

        An epsilon-DP release has at most two epsilon.
        """
        epsilon = self.pure_loss().epsilon
        return None if epsilon is None else 2 * epsilon

    # How it stands to other releases, and to itself under other circumstances.

    def outdoes(self, other: Release) -> bool:
        """Whether it certainly tells at least as much as another; false where nothing is known.

        True only if the other's pair is a post-processing of its own, by one channel that maps
        "with the person" to "with" and "without" to "without".
        """
        if self == other or other.known_epsilon() == 0:
            return True
        mine, others = self.known_mu(), other.known_mu()
        return mine is not None and others is not None and mine >= others

    def rough_size(self) -> float:
        """A number that is never less for a release that outdoes another."""
        epsilon, mu = self.known_epsilon(), self.known_mu()
        if epsilon is not None:
            return float(epsilon)
        return 0.0 if mu is None else float(mu * mu)

    def with_record_replaced(self) -> Release:
        """The release as it looks to somebody whose record changes within its database.

        As a person who goes and another one who comes, unless a kind knows better.

        Raises:
            InvalidParameter: only moments are known, and nothing of two changes of them.
        """
        if self.neighbours == "replace_record":
            return self
        if self.known_by_moments:
            raise InvalidParameter(
                "neighbours",
                "replace_record",
                (
                    f'"add_remove" or "replace" when {type(self).__name__} is among the releases: '
                    "no bound is known for replacing one record of it"
                ),
            )
        from quaestor.accounting.releases.derived.two_changes import ReplacedRecord

        return ReplacedRecord(release=self)

    def with_group(self, size: int) -> Release | None:  # noqa: ARG002
        """The release as it looks to so many people who change together; None where not known.

        :class:`~quaestor.accounting.releases.derived.profile_points.GroupPrivacy` then iterates
        its curve.
        """
        return None

    def replaced_sample_losses(self, rate: float) -> tuple[Law, ...]:
        """The law of replacing a person who is in the data with this probability."""
        from quaestor.accounting.loss.laws.sampling.sampled import sampled_without_replacement

        (law,) = self.with_record_replaced().losses()
        return sampled_without_replacement(law, rate)

    def poisson_sampled_losses(self, rate: float) -> tuple[Law, ...]:
        """The laws of removing and adding a person who is in the data with this probability."""
        from quaestor.accounting.loss.laws.sampling.sampled import poisson_sampled

        (law,) = self.losses()
        return poisson_sampled(law, rate)

    def noise_variance(self) -> float | None:
        """The variance of the noise that it adds; None where it adds none, or it is not known."""
        return None

    # What its answers are held against: from the parameters alone, and never from a law.

    def loss_ends(self) -> tuple[LossEnd, ...] | None:
        """Where its curve ends: once, or for removing and for adding; None where it is not known.

        >>> from quaestor.accounting.releases import Laplace
        >>> Laplace(scale=4.0).loss_ends()[0].largest[1]
        Fraction(1, 4)
        """
        from quaestor.accounting.releases.loss_ends import LossEnd, exactly

        epsilon = self.known_epsilon()
        return None if epsilon is None else (LossEnd(exactly(epsilon)),)

    def opinion(self) -> Opinion | None:
        """What it reveals, in plain floats; None where there is no closed form."""
        return None

    # A value: repeated, written, and read back.

    def __mul__(self, count: int) -> Release:
        """The same release, ``count`` times.

        Only the kind and its parameters repeat: the mechanisms may differ from time to time.
        """
        return repeated(self, count)

    __rmul__ = __mul__

    def __add__(self, other: Release | ReleaseSum) -> ReleaseSum:
        """This release, and then the other: both are made, about the same people."""
        from quaestor.accounting.releases.release_sum import ReleaseSum

        return ReleaseSum((self,)) + other

    def to_dict(self) -> dict[str, Any]:
        """The description as plain JSON values, under the name of its type."""
        described: dict[str, Any] = {"type": type(self).__name__}
        for field in fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            value = getattr(self, field.name)
            described[field.name] = value.to_dict() if hasattr(value, "to_dict") else value
        return described

    def to_json(self) -> str:
        """The description as JSON text; :func:`quaestor.release_from_json` reads it back."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def __str__(self) -> str:
        """The expression that the command line takes for this release."""
        written = (
            f"{field.name}={_written(getattr(self, field.name))}"
            for field in fields(self)  # type: ignore[arg-type]  # every subclass is a dataclass
            if getattr(self, field.name) is not None
        )
        return f"{type(self).__name__}({', '.join(written)})"


def _written(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_written, value))}]"
    plain = isinstance(value, str) or hasattr(value, "to_dict")
    return str(value) if plain else repr(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated(Release):
    """One release, ``count`` times; written ``release * count``.

    Guarantee:
        That of ``count`` releases, each with the guarantee of ``release``, and each free to
        depend on the answers before it.

    >>> from quaestor import PureDP
    >>> PureDP(epsilon=0.1) * 30 == Repeated(release=PureDP(epsilon=0.1), count=30)
    True
    """

    release: Release
    count: int

    def __post_init__(self) -> None:
        """Refuse counts that are not positive whole numbers."""
        if not isinstance(self.release, Release) or self.release.counted()[1] > 1:
            raise InvalidParameter("release", self.release, "a release that is not itself repeated")
        object.__setattr__(self, "count", check_count("count", self.count, smallest=2))

    def counted(self) -> tuple[Release, int]:
        """The release that is repeated, and its count."""
        return self.release, self.count

    @property
    def counts_people(self) -> bool:  # type: ignore[override]  # a fact of the kind elsewhere
        """The release's."""
        return self.release.counts_people

    def with_record_replaced(self) -> Release:
        """Each of them with a record replaced."""
        return self.release.with_record_replaced() * self.count

    def losses(self) -> tuple[Law, ...]:
        """Refused: a count of releases has no loss of its own; composition counts them."""
        raise InvalidParameter("release", str(self), "a single release, without a count")

    def __str__(self) -> str:
        """``release * count``, as the command line writes it."""
        return f"{self.release} * {self.count}"


def repeated(release: Release, count: int) -> Release:
    """``release * count``: collapses nested counts, and a count of one."""
    times = check_count("count", count)
    single, before = release.counted()
    times = check_count("count", times * before)
    return single if times == 1 else Repeated(release=single, count=times)


def counts_of(releases: Iterable[Release]) -> Counter[Release]:
    """How often each single release is among these, equal ones counted together, as they come."""
    counts: Counter[Release] = Counter()
    for release in releases:
        single, count = release.counted()
        counts[single] += count
    return counts
