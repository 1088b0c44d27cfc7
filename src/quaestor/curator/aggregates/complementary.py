r"""Totals of what a row has of its range and of what it lacks: figures of one operand, one epsilon.

Let :math:`u = (x - low)/(high - low)`. Every row adds 1 to the totals of u and of 1 - u together,
wherever its value is, so that a unit of m rows moves the pair by m in the sum of magnitudes, just
what it moves a count by: both have geometric noise of the whole epsilon. So do the totals of
:math:`u^2`, :math:`2u(1-u)` and :math:`(1-u)^2`, of which squares come, too. One total more, of 1
for every row without a value, makes it all rows, at the same price. With rows n, a sum S of u and a
sum Q of its squares come

.. math:: \text{COUNT}(x) = n,\quad \text{SUM}(x) = low\,n + (high - low)S,\quad
   \text{AVG}(x) = low + (high - low)\frac Sn,\quad
   \text{VAR\_POP}(x) = (high - low)^2\left(\frac Qn - \frac{S^2}{n^2}\right).

Of Gaussian noise it is no better than totals about the middle and the rows, each with a share of
the rho: there squares of moves add up, and these are at right angles.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from quaestor.curator.aggregates.aggregate_kind import (
    even_times,
    evened,
    third_evened,
)
from quaestor.curator.kernel.measures import JointTotals, Total
from quaestor.curator.language.expressions import Arithmetic, Case, Constant, IsNull

if TYPE_CHECKING:
    from quaestor.curator.aggregates.aggregate_kind import Stepped
    from quaestor.curator.language.expressions import Expression

__all__ = ["Complements"]


@dataclass(frozen=True, kw_only=True)
class Complements:
    """The totals of one operand in whole steps, at most so many rows of a unit.

    With ``absent`` rows without a value are counted too, in a total of their own; with ``squares``
    there are those of the second degree. The totals are in finer steps than ``asked``, so that
    they add up for units that have too many rows, too; ``third`` says how fine: as in the third
    edition of pricing.
    """

    asked: Stepped
    rows: int
    absent: bool
    squares: bool = False
    third: bool = False

    @cached_property
    def whole(self) -> Stepped:
        """The operand in the steps of the totals of the first degree."""
        return (third_evened if self.third else evened)(self.asked, self.rows)

    @property
    def low(self) -> float:
        """The least that a value can be."""
        return self.whole.low * self.whole.step

    @property
    def width(self) -> float:
        """How far the bounds are apart."""
        return (self.whole.high - self.whole.low) * self.whole.step

    @cached_property
    def steps(self) -> int:
        """How many steps one row adds to all totals together."""
        if not self.squares:
            return self.whole.high - self.whole.low
        square: int = (self.asked.high - self.asked.low) ** 2
        times = even_times(square, self.rows)
        return square * times if times else even_times(1, self.rows)

    @property
    def step(self) -> float:
        """The step of the totals."""
        return self.width**2 / self.steps if self.squares else self.whole.step

    @cached_property
    def measure(self) -> JointTotals:
        """What is drawn.

        Units of too many rows are cut as they are in a count of the operand, and in its sum: by
        their rows with a value. The total of rows without one comes last and has what is left of
        the joint bound, so that all of them are so many steps times the rows that count.
        """
        whole, operand = self.whole, self.whole.operand
        above: Expression = operand
        if whole.low:
            above = Arithmetic("-", operand, Constant(whole.low * whole.step, "real"))
        below: Expression = Arithmetic("-", Constant(whole.high * whole.step, "real"), operand)
        operands = [above, below]
        if self.squares:
            twice = Arithmetic("*", Constant(2.0, "real"), Arithmetic("*", above, below))
            operands = [Arithmetic("*", above, above), twice, Arithmetic("*", below, below)]
        step, steps = self.step, self.steps
        if self.absent:
            none, all_of_it = Constant(None, "real"), Constant(steps * step, "real")
            operands.append(Case(((IsNull(operand), all_of_it),), none))
        totals = tuple(
            Total(operand=each, low=0, high=steps, step=step, rows=self.rows) for each in operands
        )
        return JointTotals(totals=totals, bound=self.rows * steps)

    @property
    def all_rows(self) -> tuple[float, ...]:
        """What times the totals, divided by the steps of a row, is the number of all rows."""
        return (1.0,) * (2 + self.squares + self.absent)

    @property
    def held_rows(self) -> tuple[float, ...]:
        """What times the totals is the number of rows with a value."""
        return (1.0,) * (2 + self.squares) + (0.0,) * self.absent

    @property
    def shares(self) -> tuple[float, ...]:
        """What times the totals is the sum of u."""
        return ((1.0, 0.5, 0.0) if self.squares else (1.0, 0.0)) + (0.0,) * self.absent

    @property
    def squared_shares(self) -> tuple[float, ...]:
        """What times the totals is the sum of squares of u; with ``squares`` only."""
        return (1.0, 0.0, 0.0) + (0.0,) * self.absent

    @property
    def mixed_shares(self) -> tuple[float, ...]:
        """What times the totals is the sum of 2u(1-u); with ``squares`` only."""
        return (0.0, 1.0, 0.0) + (0.0,) * self.absent

    @property
    def loose(self) -> float:
        """How far one total is off at most because of whole steps, as a part of the rows.

        A value is rounded by half a step in each of at most three totals; what that is too much
        for the joint bound may be taken off one of them. A unit of too many rows is rounded down
        by less than a step in each, and has at least one row.
        """
        return 3.01 / self.steps
