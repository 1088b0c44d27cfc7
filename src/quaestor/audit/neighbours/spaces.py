"""Spaces of neighbours: described domains, and the pairs of databases that differ by one person."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from quaestor.accounting.releases.base import check_count, check_real
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.random import Generator

    Pair = tuple[Any, Any]

__all__ = ["Answers", "Categories", "Domain", "Floats", "Ints", "Pairs", "Records", "Rows"]

_EDGE = 0.4  # how often an end, or a value that is special, is drawn


class Domain(ABC):
    """The values that one entry may have.

    >>> import numpy as np
    >>> isinstance(Ints(0, 3).draw(np.random.default_rng()), int)
    True
    """

    @abstractmethod
    def draw(self, coins: Generator) -> Any:
        """Any value; the ends and other special ones are frequent."""

    def changed(self, value: Any, coins: Generator) -> Any:
        """A value near this one, or any other."""
        del value
        return self.draw(coins)


@dataclass(frozen=True, slots=True)
class Ints(Domain):
    """Whole numbers from ``low`` to ``high``.

    >>> Ints(0, 3).high
    3
    """

    low: int
    high: int

    def __post_init__(self) -> None:
        """Check the order."""
        if not self.low <= self.high:
            raise InvalidParameter("high", self.high, f"at least low, {self.low}")

    def draw(self, coins: Generator) -> int:
        """Any of them."""
        special = [self.low, self.high, *(x for x in (-1, 0, 1) if self.low <= x <= self.high)]
        if coins.random() < _EDGE:
            return int(special[coins.integers(len(special))])
        return int(coins.integers(self.low, self.high, endpoint=True))

    def changed(self, value: Any, coins: Generator) -> int:
        """A step, or any other."""
        step = int(coins.integers(-2, 3))
        near = min(max(int(value) + step, self.low), self.high)
        return near if coins.random() < 0.5 else self.draw(coins)


@dataclass(frozen=True, slots=True)
class Floats(Domain):
    """Numbers from ``low`` to ``high``.

    >>> Floats(0.0, 1.0).low
    0.0
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        """Check the order."""
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low <= self.high):
            raise InvalidParameter("high", self.high, f"finite and at least low, {self.low}")

    def draw(self, coins: Generator) -> float:
        """Any of them."""
        special = [self.low, self.high, (self.low + self.high) / 2]
        special += [0.0] if self.low <= 0.0 <= self.high else []
        if coins.random() < _EDGE:
            return float(special[coins.integers(len(special))])
        return float(coins.uniform(self.low, self.high))

    def changed(self, value: Any, coins: Generator) -> float:
        """A step of any size, or any other."""
        step = (self.high - self.low) * 10.0 ** -coins.uniform(0.0, 4.0) * coins.choice([-1, 1])
        near = min(max(float(value) + float(step), self.low), self.high)
        return near if coins.random() < 0.5 else self.draw(coins)


class Categories(Domain):
    """Any of some values.

    >>> Categories("a", "b").values
    ('a', 'b')
    """

    def __init__(self, *values: Any) -> None:
        """Take the values as they are."""
        if not values:
            raise InvalidParameter("values", 0, "at least one")
        self.values = values

    def draw(self, coins: Generator) -> Any:
        """Any of them."""
        return self.values[coins.integers(len(self.values))]


class Records(Domain):
    """Dictionaries of named fields, each with a domain of its own.

    >>> import numpy as np
    >>> record = Records(age=Ints(0, 99), sex=Categories("f", "m")).draw(np.random.default_rng())
    >>> sorted(record)
    ['age', 'sex']
    """

    def __init__(self, **fields: Domain) -> None:
        """Take the fields by name."""
        self.fields: Mapping[str, Domain] = fields

    def draw(self, coins: Generator) -> dict[str, Any]:
        """A value for each field."""
        return {name: domain.draw(coins) for name, domain in self.fields.items()}

    def changed(self, value: Any, coins: Generator) -> dict[str, Any]:
        """Another value for one field."""
        name = list(self.fields)[coins.integers(len(self.fields))]
        return {**value, name: self.fields[name].changed(value[name], coins)}


class Pairs(ABC):
    """Pairs of databases that differ by one person.

    >>> isinstance(Rows(Ints(0, 3)), Pairs)
    True
    """

    @abstractmethod
    def draw(self, coins: Generator) -> Pair:
        """Any pair."""

    @abstractmethod
    def changed(self, pair: Pair, coins: Generator) -> Pair:
        """A pair like this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """Rows in common, and what one person makes of them: a row more, or another row."""

    common: list[Any]
    own: Any
    instead: Any
    place: int


class Rows(Pairs):
    """Lists of rows of which one is added or removed, or replaced.

    ``fewest`` and ``most`` are the numbers of rows that both databases have in common.

    >>> import numpy as np
    >>> one, other = Rows(Ints(0, 3), fewest=2, most=4).draw(np.random.default_rng())
    >>> len(one) - len(other)
    1
    """

    def __init__(
        self,
        row: Domain,
        *,
        fewest: int = 0,
        most: int = 6,
        relation: Literal["add_remove", "replace_one"] = "add_remove",
    ) -> None:
        """Say what a row is, how many there may be, and what a person may change."""
        if relation not in ("add_remove", "replace_one"):
            raise InvalidParameter("relation", relation, '"add_remove" or "replace_one"')
        self.row, self.relation = row, relation
        self.fewest = check_count("fewest", fewest + 1) - 1
        self.most = check_count("most", most + 1, smallest=fewest + 1) - 1

    def draw(self, coins: Generator) -> Pair:
        """Some rows; sometimes all alike."""
        size = int(coins.integers(self.fewest, self.most, endpoint=True))
        common = [self.row.draw(coins) for _ in range(size)]
        if common and coins.random() < 0.25:
            common = [common[0]] * size
        place = int(coins.integers(0, size, endpoint=True))
        own, instead = self.row.draw(coins), self.row.draw(coins)
        return self._pair(_Table(common=common, own=own, instead=instead, place=place))

    def changed(self, pair: Pair, coins: Generator) -> Pair:
        """Another row in common, one more or less, or another row of the person."""
        table = self._table(pair)
        common, own, instead, place = list(table.common), table.own, table.instead, table.place
        what = int(coins.integers(5))
        if what == 0 and len(common) < self.most:
            common.insert(int(coins.integers(len(common) + 1)), self.row.draw(coins))
        elif what == 1 and len(common) > self.fewest:
            common.pop(int(coins.integers(len(common))))
        elif what == 2 and common:
            i = int(coins.integers(len(common)))
            common[i] = self.row.changed(common[i], coins)
        elif what == 3:
            instead = self.row.changed(instead, coins)
        else:
            own = self.row.changed(own, coins)
        place = min(place, len(common))
        return self._pair(_Table(common=common, own=own, instead=instead, place=place))

    def _pair(self, table: _Table) -> Pair:
        before, after = table.common[: table.place], table.common[table.place :]
        other = [] if self.relation == "add_remove" else [table.instead]
        return [*before, table.own, *after], [*before, *other, *after]

    def _table(self, pair: Pair) -> _Table:
        first, second = pair
        place = next(
            (i for i, rows in enumerate(zip(first, second, strict=False)) if rows[0] != rows[1]),
            min(len(first) - 1, len(second)),
        )
        common = [*first[:place], *first[place + 1 :]]
        instead = second[place] if len(second) == len(first) else first[place]
        return _Table(common=common, own=first[place], instead=instead, place=place)


class Answers(Pairs):
    """Answers of queries: vectors in which one person changes each entry by ``change`` at most.

    A ``length`` of None is a single number.

    >>> import numpy as np
    >>> one, other = Answers(Ints(0, 9), length=3).draw(np.random.default_rng())
    >>> max(abs(a - b) for a, b in zip(one, other)) <= 1
    True
    """

    def __init__(
        self, entry: Ints | Floats, *, length: int | None = None, change: float = 1
    ) -> None:
        """Say what an entry is, and by how much a person may change it."""
        self.entry, self.length = entry, length
        self.change = check_real("change", change, low=0.0, high=1e300)
        if length is not None:
            check_count("length", length, largest=10_000)

    def draw(self, coins: Generator) -> Pair:
        """Often all entries change by as much as they may."""
        size = self.length or 1
        values = [self.entry.draw(coins) for _ in range(size)]
        if coins.random() < 0.5:
            values = [values[0]] * size
        whole = coins.random() < 0.5
        others = [self._moved(value, coins, whole=whole) for value in values]
        return self._told(values, others)

    def changed(self, pair: Pair, coins: Generator) -> Pair:
        """Other values, or other changes, of one entry."""
        values, others = ([side] if self.length is None else list(side) for side in pair)
        i = int(coins.integers(len(values)))
        if coins.random() < 0.5:
            values[i] = self.entry.changed(values[i], coins)
        others[i] = self._moved(values[i], coins, whole=bool(coins.random() < 0.7))
        return self._told(values, others)

    def _moved(self, value: float, coins: Generator, *, whole: bool) -> float:
        share = 1.0 if whole else coins.uniform()
        step = self.change * share * (1 if coins.random() < 0.5 else -1)
        if isinstance(self.entry, Ints):
            return min(max(value + math.trunc(step), self.entry.low), self.entry.high)
        return min(max(value + step, self.entry.low), self.entry.high)

    def _told(self, values: list[Any], others: list[Any]) -> Pair:
        return (values[0], others[0]) if self.length is None else (values, others)
