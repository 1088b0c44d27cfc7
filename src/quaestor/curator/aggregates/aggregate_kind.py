"""What an aggregate is: its names, of what it may be asked, its measures, and its words.

Each aggregate is one file of this folder and one line of the registry in ``__init__``. Whoever
reads, prices or describes a question asks the aggregate; nobody else knows one by name.

Aggregates of numbers (:class:`OfNumbers`) take their operands in whole steps between public
bounds, some of them centred on the middle of the bounds.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from quaestor.curator.analysis.facts import (
    ValueFacts,
    article,
    default_step,
    number_facts,
)
from quaestor.curator.analysis.intervals import bounds_remedy
from quaestor.curator.catalog.default_steps import default_granularity
from quaestor.curator.kernel.measures import RowCount, Total
from quaestor.curator.language.expressions import (
    Arithmetic,
    Cast,
    Column,
    Constant,
    Expression,
    spell,
)
from quaestor.curator.language.query import Aggregate
from quaestor.errors import InvalidParameter, RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.curator.aggregates.complementary import Complements
    from quaestor.curator.aggregates.recipe import Recipe
    from quaestor.curator.analysis.static_analysis import Analysis
    from quaestor.curator.kernel.cut_measures import Counted
    from quaestor.curator.language.terms import Term

__all__ = [
    "MOST_FINE_STEPS",
    "MOST_STEPS",
    "AggregateKind",
    "OfNumbers",
    "Spelling",
    "SqlCall",
    "SqlReader",
    "Stepped",
    "centred_steps",
    "even_times",
    "evened",
    "finer",
    "of_one_operand",
    "rows_of",
    "second_finer",
    "squared_steps",
    "stepped",
    "third_evened",
    "total_of",
]

MOST_STEPS = 2**24  # from 0 to a value: so no sum of 2^38 rows leaves 63 bits
MOST_FINE_STEPS = 2**34  # of one unit in a total: so those of 2^27 units stay within 61 bits
_THIRD_EVEN_STEPS = 2**22
_MOST_EVEN_STEPS = 2**28  # of one unit in a total: so those of 2^33 units stay within 61 bits
_FEW_EVEN_STEPS = 2**24  # of one row, however many rows a unit has: 2^37 of them stay within
_LARGEST, _LARGEST_OF_UNIT = 2**36, 2**50  # of the kernel's totals
_CLOSE = Fraction(1, 10**6)  # a bound that is a decimal fraction is a multiple but for rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlCall:
    """An aggregate as SQL has it, taken apart: operand and condition are nodes of the parser.

    Without an operand it is of the rows themselves. ``second`` is the other number of two, as in
    ``CORR``. The condition is one that is part of the
    call, as in ``COUNT_IF``.
    """

    function: str
    operand: Any = None
    probability: float = 0.5
    condition: Any = None
    second: Any = None


class SqlReader(Protocol):
    """What an aggregate needs to read its own calls."""

    def only(self, node: Any, *names: str) -> None:
        """Refuse the node if it says anything beside these arguments."""

    def value(self, node: Any) -> Expression:
        """What a node means in one row."""

    def refused(self, node: Any) -> RefusedQuery:
        """The refusal of something that is not part of the language."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """One way to write an aggregate in SQL.

    ``word`` is a node of the parser or, with ``arguments``, a function that the parser has no word
    for (in small letters), with so many arguments. ``label`` is what an output without a name of
    its own is called.
    """

    word: str
    read: Callable[[Any, SqlReader], SqlCall]
    label: str = ""
    arguments: int | None = None

    def fits(self, node: Any) -> bool:
        """Whether the node is written so."""
        if self.arguments is None:
            return type(node).__name__ == self.word
        if type(node).__name__ != "Anonymous" or str(node.this).lower() != self.word:
            return False
        return len(node.expressions) == self.arguments

    def label_of(self, node: Any) -> str:
        """What an output that is this node is called."""
        return self.label or str(node.key if self.arguments is None else self.word)


def of_one_operand(function: str) -> Callable[[Any, SqlReader], SqlCall]:
    """How calls of one operand are read: ``SUM(x)``, or a function that the parser has no word for.

    The arguments beside it are those that the parser notes for some dialects.
    """

    def read(node: Any, reader: SqlReader) -> SqlCall:
        if isinstance(node.this, str):
            reader.only(node, "this", "expressions")
            return SqlCall(function=function, operand=node.expressions[0])
        reader.only(node, "this", "big_int", "quantile", "expression")
        return SqlCall(function=function, operand=node.this)

    return read


class AggregateKind(ABC):
    """One aggregate: all that anybody has to know of it."""

    name: ClassVar[str]
    """What stored questions call it, for good."""
    spellings: ClassVar[tuple[Spelling, ...]] = ()
    """How it is written in SQL."""
    functions: ClassVar[tuple[Callable[..., Term], ...]] = ()
    """The builder's functions for it, under their own names."""
    centres: ClassVar[bool] = False
    """Whether it measures rows, and the total of its operand less the middle of its bounds."""
    degree: ClassVar[int] = 0
    """Of which degree the complementary totals are that it can be made of; 0: of none."""
    buys_interval: ClassVar[bool] = False
    """Whether its interval costs something beside the figure, and may be left out."""
    adds_up: ClassVar[bool] = False
    """Whether it adds values of its operand up, so that they are not rounded before."""
    once: ClassVar[bool] = False
    """Whether a unit counts once in a group, however many rows it has there."""
    ranks: ClassVar[bool] = False
    """Whether the groups where it is largest may be chosen by the exponential mechanism."""

    def plan(
        self,
        operand: Expression | None,
        analysis: Analysis,
        *,
        probability: float = 0.5,
        second: Expression | None = None,
    ) -> Aggregate:
        """The aggregate of an operand, with its public bounds; refused where they are not known.

        ``second`` is the other operand of aggregates of two.
        """
        del second
        if operand is None:
            return Aggregate(function=self.name)
        return self.planned(operand, analysis.facts(operand), probability=probability)

    @abstractmethod
    def planned(self, operand: Expression, facts: ValueFacts, *, probability: float) -> Aggregate:
        """The aggregate of an operand of which this is known."""

    def whole(self, aggregate: Aggregate, analysis: Analysis) -> bool:
        """Whether what is released is a whole number, in every group."""
        del aggregate, analysis
        return False

    def facts(self, aggregate: Aggregate, analysis: Analysis) -> ValueFacts:
        """What is known of it once it is released: noise has no bounds."""
        whole = self.whole(aggregate, analysis)
        return ValueFacts(kind="integer" if whole else "real", nullable=not whole)

    @abstractmethod
    def recipe(self, aggregate: Aggregate, rows: int, *, centred: bool) -> Recipe:
        """Its measures, and what it is made of them; a unit counts with so many rows.

        ``centred`` says that an aggregate of the same operand that ``centres`` is beside it.
        """

    def first_recipe(self, aggregate: Aggregate, rows: int, *, centred: bool) -> Recipe:
        """Its recipe in the first edition of pricing, where that was another one."""
        return self.second_recipe(aggregate, rows, centred=centred)

    def second_recipe(self, aggregate: Aggregate, rows: int, *, centred: bool) -> Recipe:
        """Its recipe in the second edition of pricing, where that was another one."""
        return self.recipe(aggregate, rows, centred=centred)

    def of_totals(self, aggregate: Aggregate, totals: Complements) -> Recipe:
        """Its recipe of complementary totals of its ``degree`` or a higher one."""
        raise NotImplementedError(f"{aggregate.function} of {type(totals).__name__}")

    def without_interval(self, recipe: Recipe) -> Recipe:
        """One of its recipes without what the interval costs, if it ``buys_interval``."""
        return recipe

    def cuts(self, aggregate: Aggregate, rows: int) -> tuple[tuple[Counted, float], ...] | None:
        """The measures that limits cut, and what is taken off each value first.

        None: the whole error is not known.
        """
        del aggregate, rows
        return None

    def spell(self, aggregate: Aggregate, operand: str) -> str:
        """The aggregate in SQL, for previews."""
        del aggregate
        return f"{self.name.upper()}({operand})"


class OfNumbers(AggregateKind):
    """An aggregate of a number with known bounds."""

    word: ClassVar[str]
    """Its usual name in SQL."""

    def planned(self, operand: Expression, facts: ValueFacts, *, probability: float) -> Aggregate:
        """With bounds that are whole numbers of steps."""
        word = self.word
        if facts.kind == "boolean":  # the share of those that are true
            operand = Cast(operand, "integer")
            facts = number_facts("integer", 0.0, 1.0, grain=0, nullable=facts.nullable)
        if not facts.number:
            remedy = (
                f"declare the column as a number with bounds, or write "
                f"{word}(CAST({spell(operand)} AS INTEGER))"
            )
            raise RefusedQuery(
                f"{word} needs a number, and {spell(operand)} is {article(facts.kind)}",
                remedy=remedy
                if facts.kind not in {"date", "timestamp"}
                else f"write {word}(CLAMP(YEAR(...), 1900, 2100))",
            )
        if not facts.bounded:
            raise RefusedQuery(
                (
                    f"{word} of {spell(operand)} has no bounds, so one person could change it "
                    "without limit"
                ),
                remedy=bounds_remedy(operand),
            )
        if not facts.most <= 1e15:
            raise RefusedQuery(
                f"{spell(operand)} may be larger than 10^15", remedy=bounds_remedy(operand)
            )
        low, high, step = _steps(facts, bare=isinstance(operand, Column))
        return Aggregate(
            function=self.name,
            operand=operand,
            low=low,
            high=high,
            step=step,
            probability=probability,
        )

    def recipe(self, aggregate: Aggregate, rows: int, *, centred: bool) -> Recipe:
        """That of the operand in whole steps."""
        return self.of_steps(aggregate, self.steps(aggregate), rows, centred=centred)

    def first_recipe(self, aggregate: Aggregate, rows: int, *, centred: bool) -> Recipe:
        """That of the operand in whole steps."""
        return self.first_of_steps(aggregate, self.steps(aggregate), rows, centred=centred)

    def second_recipe(self, aggregate: Aggregate, rows: int, *, centred: bool) -> Recipe:
        """That of the operand in whole steps."""
        return self.second_of_steps(aggregate, self.steps(aggregate), rows, centred=centred)

    def first_of_steps(
        self, aggregate: Aggregate, whole: Stepped, rows: int, *, centred: bool
    ) -> Recipe:
        """The recipe for an operand in whole steps in the first edition of pricing."""
        return self.second_of_steps(aggregate, whole, rows, centred=centred)

    def second_of_steps(
        self, aggregate: Aggregate, whole: Stepped, rows: int, *, centred: bool
    ) -> Recipe:
        """The recipe for an operand in whole steps in the second edition of pricing."""
        return self.of_steps(aggregate, whole, rows, centred=centred)

    @staticmethod
    def steps(aggregate: Aggregate) -> Stepped:
        """The operand in whole steps."""
        if aggregate.operand is None:
            raise InvalidParameter(aggregate.function, None, "given an operand")
        return stepped(
            aggregate.operand, low=aggregate.low, high=aggregate.high, step=aggregate.step
        )

    @abstractmethod
    def of_steps(self, aggregate: Aggregate, whole: Stepped, rows: int, *, centred: bool) -> Recipe:
        """The recipe for an operand in whole steps."""

    def spell(self, aggregate: Aggregate, operand: str) -> str:
        """By its usual name."""
        del aggregate
        return f"{self.word}({operand})"


def _steps(facts: ValueFacts, *, bare: bool) -> tuple[float, float, float]:
    """Bounds that are whole numbers of steps, and the step."""
    most = max(abs(facts.low), abs(facts.high))
    step = default_step(facts.low, facts.high)
    if facts.kind == "integer" and most <= MOST_STEPS:
        step = 1.0
    if bare and facts.step is not None and most / facts.step <= MOST_STEPS:
        step = facts.step
    low, high = math.floor(facts.low / step) * step, math.ceil(facts.high / step) * step
    return float(low), float(high), float(step)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stepped:
    """An operand less its ``centre``, from ``low`` to ``high`` whole steps."""

    operand: Expression
    low: int
    high: int
    step: float
    centre: float = 0.0

    @property
    def reach(self) -> int:
        """The most steps that a value is from 0."""
        return max(abs(self.low), abs(self.high))


def stepped(operand: Expression, *, low: float, high: float, step: float) -> Stepped:
    """The operand as it is, its bounds moved outwards to whole steps.

    >>> from quaestor.curator.language.expressions import Column
    >>> counted = stepped(Column("age"), low=0.0, high=12.25, step=0.5)
    >>> counted.low, counted.high
    (0, 25)
    """
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise InvalidParameter("bounds", (low, high), "two finite numbers in order")
    if not (math.isfinite(step) and step > 0):
        raise InvalidParameter("step", step, "a positive number")
    first, last = Fraction(low) / Fraction(step), Fraction(high) / Fraction(step)
    lowest = round(first) if abs(first - round(first)) < _CLOSE else math.floor(first)
    highest = round(last) if abs(last - round(last)) < _CLOSE else math.ceil(last)
    if max(abs(lowest), abs(highest)) > MOST_STEPS:
        raise InvalidParameter(
            "step", step, f"coarser: the bounds may be {MOST_STEPS} steps from 0 at most"
        )
    return Stepped(operand=operand, low=lowest, high=highest, step=step)


def finer(whole: Stepped, rows: int) -> Stepped:
    """The same in steps so small that nothing worth adding up is rounded to none.

    Only where steps were chosen as a part of the bounds: declared ones stay, and so do steps of
    one, which whole numbers are counted in. Larger ones become one, if that is not too many.

    >>> from quaestor.curator.language.expressions import Column
    >>> cube = finer(stepped(Column("cube"), low=0.0, high=1024.0 * 2**20, step=1024.0), 4)
    >>> cube.step, cube.high
    (1.0, 1073741824)
    """
    bounds = whole.low * whole.step, whole.high * whole.step
    if whole.step == 1.0:
        return whole
    if whole.step not in (default_step(*bounds), default_granularity(*bounds)):
        return whole
    return _divided(whole, rows)


def second_finer(whole: Stepped, rows: int) -> Stepped:
    """The same in the second edition of pricing: of bounds that are far from zero it is coarser."""
    bounds = whole.low * whole.step, whole.high * whole.step
    return finer(whole, rows) if whole.step == default_step(*bounds) else whole


def evened(whole: Stepped, rows: int) -> Stepped:
    """The same in steps so small that it hardly matters how what a unit has is rounded to them.

    A unit with more rows than count counts with a share of what it has, rounded towards zero: in
    steps of one, of somebody who smoked at two visits of three and counts with one, nothing is left
    of the visits that were counted either way.

    >>> from quaestor.curator.language.expressions import Column
    >>> flag = evened(stepped(Column("smoker"), low=0.0, high=1.0, step=1.0), 4)
    >>> flag.high, flag.high * flag.step
    (67108864, 1.0)
    """
    times = max(even_times(whole.high - whole.low, rows), 1)
    while times > 1 and whole.reach * times > min(_LARGEST, _LARGEST_OF_UNIT // rows):
        times //= 2
    return _finer_by(whole, times)


def even_times(width: int, rows: int) -> int:
    """Into how many parts to divide steps of which a row has so many; 0 if these are too many.

    A power of two: what is a whole number of steps stays one.
    """

    def fits(steps: int) -> bool:
        few = steps <= _FEW_EVEN_STEPS and rows * steps <= _LARGEST_OF_UNIT
        return few or rows * steps <= _MOST_EVEN_STEPS

    if not fits(width):
        return 0
    times = 1
    while fits(width * times * 2):
        times *= 2
    return times


def third_evened(whole: Stepped, rows: int) -> Stepped:
    """The same in the third edition of pricing: 2^22 steps of a unit at most."""
    times = 1
    while rows * whole.reach * times * 2 <= _THIRD_EVEN_STEPS:
        times *= 2
    return _finer_by(whole, times)


def _finer_by(whole: Stepped, times: int) -> Stepped:
    return replace(whole, low=whole.low * times, high=whole.high * times, step=whole.step / times)


def _divided(whole: Stepped, rows: int) -> Stepped:
    times = 1
    least = 1.0 if whole.step > 1 else 0.0
    while rows * whole.reach * times * 2 <= MOST_FINE_STEPS and whole.step / (2 * times) >= least:
        times *= 2
    return _finer_by(whole, times)


def centred_steps(whole: Stepped) -> Stepped:
    """The operand less the middle of its bounds.

    If the middle lies between two steps, steps are halved, unless they would be too many; then
    the middle is rounded down to a step.

    >>> from quaestor.curator.language.expressions import Column
    >>> flag = centred_steps(stepped(Column("smoker"), low=0.0, high=1.0, step=1.0))
    >>> flag.centre, flag.low, flag.high, flag.step
    (0.5, -1, 1, 0.5)
    """
    twice, width = whole.low + whole.high, whole.high - whole.low
    if twice % 2 and width <= MOST_STEPS:
        step, middle, factor = whole.step / 2, twice, 2
    else:
        step, middle, factor = whole.step, twice // 2, 1
    centre = middle * step
    operand = whole.operand
    if centre:
        operand = Arithmetic("-", operand, Constant(centre, "real"))
    return Stepped(
        operand=operand,
        low=whole.low * factor - middle,
        high=whole.high * factor - middle,
        step=step,
        centre=centre,
    )


def squared_steps(middle: Stepped) -> Stepped:
    """The square of a centred operand, centred itself.

    Its step is the square of the operand's, doubled until bounds of 2^24 steps hold it.
    """
    largest, step = middle.reach**2, middle.step**2
    doublings = max(0, (largest - 1).bit_length() - MOST_STEPS.bit_length() + 1)
    product = Arithmetic("*", middle.operand, middle.operand)
    high = -(-largest // 2**doublings)
    return centred_steps(Stepped(operand=product, low=0, high=high, step=step * 2**doublings))


def total_of(whole: Stepped, rows: int) -> Total:
    """The measure that adds the steps of an operand up."""
    return Total(operand=whole.operand, low=whole.low, high=whole.high, step=whole.step, rows=rows)


def rows_of(operand: Expression, rows: int) -> RowCount:
    """The measure that counts the rows where an operand has a value."""
    return RowCount(rows=rows, operand=operand)
