"""What a release is: a frozen description of something that was, or will be, published."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass, fields
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import TYPE_CHECKING, Any, ClassVar

from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quaestor.accounting.loss.laws.law import Law

__all__ = [
    "LARGEST_COUNT",
    "LARGEST_EPSILON",
    "Release",
    "Repeated",
    "check_count",
    "check_real",
    "counts_of",
    "positive",
]

LARGEST_COUNT = 10**15
LARGEST_EPSILON = 1e6


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
    valid = f"a whole number from {smallest} to {largest}"
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidParameter(field, value, valid)
    count = int(value)
    if not smallest <= count <= largest:
        raise InvalidParameter(field, value, valid)
    return count


def positive(release: Release, *names: str) -> None:
    """Check that these parameters of a frozen description are positive and finite."""
    for name in names:
        value = check_real(name, getattr(release, name), low=1e-150, high=1e150)
        object.__setattr__(release, name, value)


class Release:
    """A description of one release: what is promised of it, not how it is made.

    Descriptions are values: frozen, hashable, equal when their parameters are, and they go
    through JSON and through expressions without loss.
    """

    __slots__ = ()

    bracketed: ClassVar[bool] = False
    """Whether ``losses`` is more than is lost, and ``least_losses`` less."""

    directed: ClassVar[bool] = False
    """Whether removing and adding a person may differ."""

    def losses(self) -> tuple[Law, ...]:
        """The laws of the privacy loss: one, or one for removing and one for adding a person."""
        raise NotImplementedError

    def least_losses(self) -> tuple[Law, ...]:
        """Laws of at most the privacy loss, for the lower ends of answers."""
        return self.losses()

    def counted(self) -> tuple[Release, int]:
        """The single release, and how often it is made: the one way to look into a count."""
        return self, 1

    def __mul__(self, count: int) -> Release:
        """The same release, ``count`` times.

        Only the kind and its parameters repeat: the mechanisms may differ from time to time.
        """
        return repeated(self, count)

    __rmul__ = __mul__

    def to_dict(self) -> dict[str, Any]:
        """The description as plain JSON values, under the name of its type."""
        described: dict[str, Any] = {"type": type(self).__name__}
        for field in fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            value = getattr(self, field.name)
            described[field.name] = value.to_dict() if isinstance(value, Release) else value
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
        return f"[{', '.join(map(repr, value))}]"
    return str(value) if isinstance(value, Release) else repr(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated(Release):
    """One release, ``count`` times; written ``release * count``.

    Guarantee:
        That of ``count`` releases, each with the guarantee of ``release``, and each free to
        depend on the answers before it.
    """

    release: Release
    count: int

    def __post_init__(self) -> None:
        """Refuse counts that are not positive whole numbers."""
        if not isinstance(self.release, Release) or isinstance(self.release, Repeated):
            raise InvalidParameter("release", self.release, "a release that is not itself repeated")
        object.__setattr__(self, "count", check_count("count", self.count, smallest=2))

    def counted(self) -> tuple[Release, int]:
        """The release that is repeated, and its count."""
        return self.release, self.count

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
