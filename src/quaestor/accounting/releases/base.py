"""What a release is: a frozen description of something that was, or will be, published."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

from quaestor.errors import InvalidParameter

__all__ = ["LARGEST_COUNT", "LARGEST_EPSILON", "Release", "Repeated", "check_count", "check_real"]

LARGEST_COUNT = 10**15
LARGEST_EPSILON = 1e6


def check_real(field: str, value: object, *, low: float, high: float) -> float:
    """Return ``value`` as a float in ``[low, high]``, or raise :class:`InvalidParameter`."""
    valid = f"a number in [{low:g}, {high:g}]"
    if isinstance(value, bool) or not isinstance(value, Real | Fraction):
        raise InvalidParameter(field, value, valid)
    number = float(value)
    if math.isnan(number) or not low <= number <= high:
        raise InvalidParameter(field, value, valid)
    return number + 0.0  # no negative zero


def check_count(field: str, value: object) -> int:
    """Return ``value`` as a positive integer, or raise :class:`InvalidParameter`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidParameter(field, value, f"a whole number from 1 to {LARGEST_COUNT:.0e}")
    count = int(value)
    if not 1 <= count <= LARGEST_COUNT:
        raise InvalidParameter(field, value, f"a whole number from 1 to {LARGEST_COUNT:.0e}")
    return count


class Release:
    """A description of one release: what is promised of it, not how it is made.

    Descriptions are values: frozen, hashable, equal when their parameters are, and they go
    through JSON and through expressions without loss.
    """

    __slots__ = ()

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
        )
        return f"{type(self).__name__}({', '.join(written)})"


def _written(value: object) -> str:
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
        object.__setattr__(self, "count", check_count("count", self.count))

    def __str__(self) -> str:
        """``release * count``, as the command line writes it."""
        return f"{self.release} * {self.count}"


def repeated(release: Release, count: int) -> Release:
    """``release * count``: collapses nested counts, and a count of one."""
    times = check_count("count", count)
    if isinstance(release, Repeated):
        return repeated(release.release, release.count * times)
    return release if times == 1 else Repeated(release=release, count=times)
