"""Priors: what an attacker believes about the databases that one person is in.

A prior is a distribution over membership vectors, written down in one of a few ways. Weights are
taken in proportion: they are turned into fractions and divided by their sum, so that a prior is
exactly what it says.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any

from quaestor.accounting.releases.base import check_count, check_real
from quaestor.errors import InvalidParameter, UnknownDatabase

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "IndependentPrior",
    "MixturePrior",
    "PointPrior",
    "Prior",
    "SizePrior",
    "UniformPrior",
]

Weights = dict[int, Fraction]
_MOST_VECTORS = 4096


class Prior(ABC):
    """A distribution over the sets of databases that a person may be in.

    >>> isinstance(PointPrior(["north"]), Prior)
    True
    """

    __slots__ = ()

    @abstractmethod
    def sizes(self, count: int) -> Weights | None:
        """The law of the number of memberships, if all sets of one size are equally likely."""

    def vectors(self, names: Sequence[str]) -> Weights | None:
        """The probability of every membership (as bits); None where they are too many to list."""
        sizes = self.sizes(len(names))
        if sizes is None or sum(math.comb(len(names), size) for size in sizes) > _MOST_VECTORS:
            return None
        return {
            sum(1 << i for i in places): weight / math.comb(len(names), size)
            for size, weight in sizes.items()
            for places in combinations(range(len(names)), size)
        }

    def check(self, names: Sequence[str]) -> None:  # noqa: B027  # not all have something to refuse
        """Refuse names that there are not, and sizes that there cannot be."""

    def coin(self) -> tuple[float, bool] | None:
        """The rate of independent memberships, and whether there is at least one of them."""
        return None


def _weight(value: Any) -> Fraction:
    number = not isinstance(value, bool) and isinstance(value, int | float | Fraction)
    if not number or (isinstance(value, float) and not math.isfinite(value)) or value < 0:
        raise InvalidParameter("weight", value, "a number that is not negative")
    return Fraction(value)


def _shared(weights: Mapping[int, Fraction]) -> Weights:
    total = sum(weights.values())
    return {key: weight / total for key, weight in weights.items() if weight}


def _bits(listed: Sequence[str], names: Sequence[str]) -> int:
    member = 0
    for name in listed:
        if name not in names:
            raise UnknownDatabase(name, near=None, known=len(names))
        member |= 1 << names.index(name)
    return member


@dataclass(frozen=True, slots=True)
class PointPrior(Prior):
    """The attacker is sure: the person is in exactly these databases (in none, if left out).

    A set of databases: a name that is given twice is one database.

    >>> PointPrior(), PointPrior(["north"])
    (PointPrior(databases=()), PointPrior(databases=('north',)))
    """

    databases: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Keep a tuple of names, each once."""
        names = self.databases
        listed = not isinstance(names, str) and isinstance(names, Iterable)
        names = tuple(names) if listed else names
        if not listed or not all(isinstance(name, str) for name in names):
            raise InvalidParameter("databases", names, "a list of names")
        object.__setattr__(self, "databases", tuple(dict.fromkeys(names)))

    def check(self, names: Sequence[str]) -> None:
        """Look every name up."""
        _bits(self.databases, names)

    def sizes(self, count: int) -> Weights | None:
        """Known for nowhere and for everywhere."""
        size = len(self.databases)
        return {size: Fraction(1)} if size in (0, count) else None

    def vectors(self, names: Sequence[str]) -> Weights:
        """One."""
        return {_bits(self.databases, names): Fraction(1)}


@dataclass(frozen=True, slots=True)
class MixturePrior(Prior):
    """Some memberships, each with its weight: pairs of a list of names and a number.

    >>> MixturePrior([(["north"], 0.5), (["south"], 0.5)])
    MixturePrior(entries=((('north',), 0.5), (('south',), 0.5)))
    """

    entries: Sequence[tuple[Sequence[str], float | Fraction]]

    def __post_init__(self) -> None:
        """Check names and weights."""
        try:
            entries = tuple((PointPrior(names).databases, weight) for names, weight in self.entries)
        except InvalidParameter:
            raise
        except (TypeError, ValueError):
            raise InvalidParameter("entries", self.entries, "pairs of names and weight") from None
        if not any(_weight(weight) for _, weight in entries):
            raise InvalidParameter("entries", self.entries, "pairs with some positive weight")
        object.__setattr__(self, "entries", entries)

    def check(self, names: Sequence[str]) -> None:
        """Look every name up."""
        for listed, _ in self.entries:
            _bits(listed, names)

    def sizes(self, count: int) -> Weights | None:  # noqa: ARG002
        """Not looked for."""
        return None

    def vectors(self, names: Sequence[str]) -> Weights:
        """All of them."""
        weights: dict[int, Fraction] = {}
        for listed, weight in self.entries:
            member = _bits(listed, names)
            weights[member] = weights.get(member, Fraction(0)) + _weight(weight)
        return _shared(weights)


@dataclass(frozen=True, slots=True)
class SizePrior(Prior):
    """The number of memberships has these weights; sets of one size are equally likely.

    >>> SizePrior({0: 0.5, 1: 0.5})
    SizePrior(weights=((0, 0.5), (1, 0.5)))
    """

    weights: Mapping[int, float | Fraction] | Sequence[tuple[int, float | Fraction]]

    def __post_init__(self) -> None:
        """Check sizes and weights; a dictionary will do."""
        try:
            weights = tuple((check_count("size", n, smallest=0), each) for n, each in self._pairs())
        except InvalidParameter:
            raise
        except (TypeError, ValueError):
            raise InvalidParameter("weights", self.weights, "pairs of size and weight") from None
        if not any(_weight(weight) for _, weight in weights):
            raise InvalidParameter("weights", self.weights, "sizes with some positive weight")
        object.__setattr__(self, "weights", weights)

    def _pairs(self) -> Iterable[tuple[int, float | Fraction]]:
        return self.weights.items() if isinstance(self.weights, Mapping) else self.weights

    def check(self, names: Sequence[str]) -> None:
        """Compare the sizes with the number of databases."""
        for size, weight in self._pairs():
            if size > len(names) and weight:
                raise InvalidParameter("size", size, f"at most {len(names)}")

    def sizes(self, count: int) -> Weights:  # noqa: ARG002
        """As given."""
        shared: dict[int, Fraction] = {}
        for size, weight in self._pairs():
            shared[size] = shared.get(size, Fraction(0)) + _weight(weight)
        return _shared(shared)


@dataclass(frozen=True, slots=True, kw_only=True)
class UniformPrior(Prior):
    """Every membership with at least and at most so many databases is equally likely.

    With ``at_least=1`` this is the paper's uninformative prior on "in some database".

    >>> UniformPrior(at_least=1)
    UniformPrior(at_least=1, at_most=None)
    """

    at_least: int = 0
    at_most: int | None = None

    def __post_init__(self) -> None:
        """Check the range."""
        object.__setattr__(self, "at_least", check_count("at_least", self.at_least, smallest=0))
        if self.at_most is not None:
            most = check_count("at_most", self.at_most, smallest=self.at_least)
            object.__setattr__(self, "at_most", most)

    def check(self, names: Sequence[str]) -> None:
        """Compare the sizes with the number of databases."""
        if self.at_least > len(names):
            raise InvalidParameter("at_least", self.at_least, f"at most {len(names)}")

    def sizes(self, count: int) -> Weights:
        """As many as there are sets of each size."""
        most = count if self.at_most is None else min(self.at_most, count)
        sizes = range(self.at_least, most + 1)
        return _shared({size: Fraction(math.comb(count, size)) for size in sizes})

    def coin(self) -> tuple[float, bool] | None:
        """A fair coin for every database."""
        free = self.at_most is None and self.at_least <= 1
        return (0.5, self.at_least == 1) if free else None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndependentPrior(Prior):
    """The person is in each database with probability ``rate``, independently.

    With ``at_least_one``, given that it is at least one.

    >>> IndependentPrior(rate=0.25)
    IndependentPrior(rate=0.25, at_least_one=False)
    """

    rate: float
    at_least_one: bool = False

    def __post_init__(self) -> None:
        """Check the rate."""
        rate = check_real("rate", self.rate, low=1e-9, high=1.0)
        object.__setattr__(self, "rate", rate)

    def sizes(self, count: int) -> Weights:
        """A binomial law, exactly."""
        rate = Fraction(self.rate)
        first = 1 if self.at_least_one else 0
        return _shared(
            {
                size: math.comb(count, size) * rate**size * (1 - rate) ** (count - size)
                for size in range(first, count + 1)
            }
        )

    def coin(self) -> tuple[float, bool] | None:
        """That of the definition."""
        return self.rate, self.at_least_one
