"""A measurement: the whole of a question as the kernel knows it.

What is charged, what is drawn and how many cells there are all come from this one object. It is
checked when it is made: codes of declared cells are distinct, every draw is for as many cells as
one unit may be in, and there is noise for every measure.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from quaestor.curator.kernel.cut_measures import CUT
from quaestor.curator.kernel.dated_rows import ChargedBlocks
from quaestor.curator.kernel.draws import (
    Draw,
    NoisyMeasure,
    NoisyQuantile,
    NoisyReach,
    NoisyTop,
    NoisyUnits,
    ShownGroups,
)
from quaestor.curator.kernel.measures import Measure, Units
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.accounting.releases import Release
    from quaestor.curator.language.expressions import Expression, Kind, Value
    from quaestor.curator.language.query import Relation

__all__ = ["MOST_CELLS", "CellKey", "Cells", "Code", "Measurement", "code_of", "value_of"]

MOST_CELLS: Final = 100_000
_GREATEST: Final = 2**53
_DRAWS: Final = {NoisyMeasure, NoisyQuantile, NoisyReach, NoisyTop, NoisyUnits, ShownGroups}
_DAY_ZERO: Final = dt.date(1970, 1, 1).toordinal()
_TIME_ZERO: Final = dt.datetime(1970, 1, 1)  # noqa: DTZ001  # times are in UTC, without saying so
_MICROSECOND: Final = dt.timedelta(microseconds=1)
_FIRST_TIME, _LAST_TIME = -62_135_596_800_000_000, 253_402_300_799_999_999

Code = int | float | str
"""What is the identity of a group: a whole number, a float, or a text by its bytes."""


def code_of(value: Value, kind: Kind) -> Code | None:  # noqa: PLR0911  # a kind, a line
    """The code of a constant; of one that no value of the kind can equal there is none.

    >>> code_of(40.0, "integer"), code_of("2024-01-01", "date"), code_of(-0.0, "real")
    (40, 19723, 0.0)
    >>> code_of(40.5, "integer")
    Traceback (most recent call last):
    ValueError: no integer equals 40.5
    """
    if value is None:
        return None
    if kind == "text" and isinstance(value, str) and "\0" not in value:
        value.encode()  # a lone surrogate is a ValueError, too
        return value
    if kind == "date" and isinstance(value, str):
        return dt.date.fromisoformat(value).toordinal() - _DAY_ZERO
    if kind == "timestamp" and isinstance(value, str):
        return (dt.datetime.fromisoformat(value) - _TIME_ZERO) // _MICROSECOND
    if kind == "boolean" and isinstance(value, bool):
        return int(value)
    if kind in {"integer", "real"} and isinstance(value, int | float):
        number = float(value)
        if kind == "real" and math.isfinite(number) and number == value:
            return number + 0.0
        if kind == "integer" and abs(number) <= _GREATEST and number == value == int(value):
            return int(value)
    raise ValueError(f"no {kind} equals {value!r}")


def value_of(code: Any, kind: Kind) -> Value:
    """The value that has a code, as it comes back of a private key: texts in hexadecimal digits."""
    if code is None:
        return None
    if kind == "text":
        return bytes.fromhex(str(code)).decode("utf-8", errors="replace")
    if kind == "date":
        days = min(max(int(code) + _DAY_ZERO, 1), dt.date.max.toordinal())
        return dt.date.fromordinal(days).isoformat()
    if kind == "timestamp":
        since = min(max(int(code), _FIRST_TIME), _LAST_TIME)
        return (_TIME_ZERO + since * _MICROSECOND).isoformat(sep=" ")
    return bool(int(code)) if kind == "boolean" else int(code)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellKey:
    """What rows are told apart by: an expression, and the codes that are cells.

    ``None`` for the codes: the values are private, and only groups of enough units are shown.
    ``None`` among them: rows without a value.
    """

    expression: Expression
    kind: Kind
    codes: tuple[Code | None, ...] | None

    def __post_init__(self) -> None:
        """Check that codes are distinct: two cells of one code would be two looks at it."""
        if self.codes is None:
            if self.kind == "real":
                raise InvalidParameter("key", "a real", "a kind whose values are told apart")
            return
        types = {"real": float, "text": str}
        known = [code for code in self.codes if code is not None]
        if any(type(code) is not types.get(self.kind, int) for code in known):
            raise InvalidParameter("codes", self.codes, f"codes of a {self.kind}")
        if not self.codes or len(set(self.codes)) < len(self.codes):
            raise InvalidParameter("codes", len(self.codes), "distinct, and at least one")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """The cells of a question, and in how many of them one unit may be."""

    keys: tuple[CellKey, ...]
    groups: int

    def __post_init__(self) -> None:
        """Check that there are not too many cells."""
        if type(self.groups) is not int or self.groups < 1:
            raise InvalidParameter("groups", self.groups, "a positive whole number")
        if self._declared > MOST_CELLS:
            raise InvalidParameter("cells", self._declared, f"at most {MOST_CELLS:,}")

    @property
    def _declared(self) -> int:
        return math.prod(len(key.codes) for key in self.keys if key.codes is not None)

    @property
    def count(self) -> int | None:
        """How many cells there are; None if that is private."""
        private = any(key.codes is None for key in self.keys)
        return None if private else self._declared

    @property
    def binding(self) -> bool:
        """Whether a unit can be in more cells than it may be."""
        return self.count is None or self.count > self.groups

    def is_text(self, column: str) -> bool:
        """Whether a column of the statement holds a private key that is a text."""
        return self._kind(column) == "text"

    @property
    def reals(self) -> frozenset[str]:
        """Columns of the statement that hold a private key that is a float."""
        private = (f"p{at}" for at, key in enumerate(self.keys) if key.codes is None)
        return frozenset(column for column in private if self._kind(column) == "real")

    def _kind(self, column: str) -> str:
        return "" if column == "g" else self.keys[int(column[1:])].kind


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """A question: rows, the cells they are in, and what is drawn of each cell.

    ``choice`` decides which cells are shown, if that is not public.
    """

    dataset: str
    """The dataset that pays; the rows must be of its tables."""
    rows: Relation
    cells: Cells
    choice: NoisyUnits | ShownGroups | NoisyTop | None
    draws: tuple[NoisyMeasure | NoisyQuantile | NoisyReach, ...]
    blocks: ChargedBlocks | None = None
    """The blocks of time that pay, where each has a budget: no other rows are read."""
    fine: tuple[str, ...] = ()
    """Columns that are read in finer steps: only how they are rounded, never what counts."""
    outer_groups: int | None = None
    """In how many cells a unit may be under outer limits, where what limits cut is measured."""

    def __post_init__(self) -> None:
        """Check that everything that is drawn is priced for all the cells a unit may be in."""
        private = self.cells.count is None
        if private != isinstance(self.choice, NoisyUnits | ShownGroups):
            raise InvalidParameter("choice", self.choice, "of groups by units, if they are private")
        for draw in self.all_draws:
            if type(draw) not in _DRAWS:
                raise InvalidParameter("draws", type(draw).__name__, "draws of the kernel")
        spread = self.spread
        chosen: list[Measure] = []  # not hashed: what is nested too deeply is refused elsewhere
        for draw in self.draws:
            if draw.measure.by_cell and draw.spread < spread:
                raise InvalidParameter("spread", draw.spread, f"{spread}: the cells of a unit")
            if isinstance(draw, NoisyReach) and draw.measure.chosen not in chosen:
                raise InvalidParameter("draws", draw.measure, "after the quantile that it is about")
            chosen.append(draw.measure)
        self._check_cut()
        chooses = isinstance(self.choice, NoisyUnits | ShownGroups)
        if chooses and self.choice.count < spread:  # type: ignore[union-attr]
            raise InvalidParameter("contributions", self.choice, f"at least {spread}")
        if self.blocks is not None and type(self.blocks) is not ChargedBlocks:
            raise InvalidParameter("blocks", type(self.blocks).__name__, "charged blocks")
        if not self.all_draws:
            raise InvalidParameter("draws", 0, "at least one")

    def _check_cut(self) -> None:
        """Check that there are outer limits where what limits cut is drawn."""
        if isinstance(self.choice, NoisyTop) and type(self.choice.measure) in CUT:
            raise InvalidParameter("choice", self.choice, "of groups by what is shown of them")
        groups = self.outer_groups
        if any(type(draw.measure) in CUT for draw in self.draws) and (
            type(groups) is not int or groups < self.cells.groups
        ):
            raise InvalidParameter("outer_groups", groups, "as many groups as count, or more")

    @property
    def spread(self) -> int:
        """In how many of the cells that are shown one unit may be, at most."""
        limits = [self.cells.groups]
        if self.cells.count is not None:
            limits.append(self.cells.count)
        if isinstance(self.choice, NoisyTop):
            limits.append(self.choice.mechanism.count)
        return min(limits)

    @property
    def all_draws(self) -> tuple[Draw, ...]:
        """The choice and the draws."""
        return self.draws if self.choice is None else (self.choice, *self.draws)

    @cached_property
    def releases(self) -> tuple[Release, ...]:
        """What is charged; equal releases are counted together."""
        counts: dict[Release, int] = {}
        for draw in self.all_draws:
            counts[draw.one] = counts.get(draw.one, 0) + draw.count
        return tuple(release * count for release, count in counts.items())

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What the engine is asked for: each once, histograms in place of their quantiles."""
        asked: dict[Measure, None] = {Units(): None} if self.cells.count is None else {}
        for draw in self.all_draws:
            ranked = isinstance(draw, NoisyQuantile | NoisyReach)
            asked[draw.measure.histogram if ranked else draw.measure] = None  # type: ignore[attr-defined]
        return tuple(asked)
