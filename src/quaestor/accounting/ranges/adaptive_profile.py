"""The profile of adaptively chosen releases of bounded range."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import arb

from quaestor.accounting.curves.profile import Profile
from quaestor.accounting.numerics.balls import ONE, outward, rational, refined
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.ranges.adaptive_curves import Above, Below
from quaestor.accounting.ranges.cells import RangeCells, fitted_cells
from quaestor.errors import InvalidParameter, TheoremDoesNotApply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["AdaptiveRange"]

_MOST_WORK = 2e9
"""Chords compared for one table: some ten seconds."""

_LITTLE_WORK = 3e7
"""What is spent at once, before it is known whether less would do: a tenth of a second."""

_FEWEST_CELLS, _MOST_CELLS_AT_ONCE, _MOST_CELLS = 8, 256, 4096

_ALIKE = (0.0, 1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 3.0, math.inf)
"""By how much ranges may differ to be taken for one kind; the first that is not too much work."""

_DEPTHS = (50.0, 100.0, 200.0, 400.0, 690.0)
"""How small a delta a table reaches down to: to e to the minus this."""

_TINY = 1e-280  # of epsilons that floats can hardly tell from zero, delta is at most their sum

_DEEPER = 18.0
"""So much deeper than the delta that is asked for, the end of a table has no influence."""


class _Tables:
    """The two sides of the bracket, with the crumbs of the lattice taken into account."""

    def __init__(self, lattice: RangeCells, reach: float) -> None:
        self._below = Below(lattice.sizes, lattice.counts, lattice.narrow, reach)
        self._above = Above(lattice.sizes, lattice.counts, lattice.wide, reach)
        self._crumbs = lattice.crumbs

    def lower(self, epsilon: float) -> float:
        """A lower bound of delta."""
        return self._below.at(epsilon)

    def upper(self, epsilon: float) -> float:
        """An upper bound of delta; the curve's slope in a = e^epsilon is at least -1."""
        if self._crumbs:
            epsilon = math.nextafter(float(Fraction(epsilon) - self._crumbs), -math.inf)
        if epsilon >= 0.0:
            return self._above.at(epsilon)
        return min(math.nextafter(self._above.at(0.0) - epsilon, math.inf), 1.0)


class AdaptiveRange(Profile):
    r"""The least that adaptively chosen releases of bounded range guarantee, as a bracket.

    Theorem:
        Dong, Durfee, Rogers (arXiv 1909.13830), Theorem 3, for ``count`` releases of every range.
        Each release is chosen after the outcomes of those before it. Where the ranges differ, the
        analyst may also choose in which order they are used, as the outcomes suggest; so the upper
        end is true for every order, and the lower end is what the worst analyst attains. An
        analyst who chooses the *ranges* themselves by the outcomes is not covered.

    Accuracy:
        Brackets aim at a relative width of ``width`` in epsilon; what is wider, because more work
        than the limit would be needed, is still certain. (Near epsilon 0, which may be all of the
        bracket, ``width`` is meant relative to delta.)

    Args:
        ranges: pairs (range, count). A range may be 0, which reveals nothing.
        width: the relative width of epsilon to aim at.

    Raises:
        TheoremDoesNotApply: if even the coarsest lattice is too much work, which begins at some
            10,000 releases.
    """

    def __init__(self, ranges: Sequence[tuple[float, int]], *, width: float = 1e-3) -> None:
        """Sort the ranges, and see whether they can be dealt with at all."""
        kinds: Counter[float] = Counter()
        for range_, count in ranges:
            if not (math.isfinite(range_) and range_ >= 0.0):
                raise InvalidParameter("range", range_, "finite and not negative")
            if count < 0:
                raise InvalidParameter("count", count, "not negative")
            if range_ > 0.0 and count > 0:
                kinds[range_] += count
        if not 0.0 < width < 1.0:
            raise InvalidParameter("width", width, "between 0 and 1")
        self._ranges = sorted(kinds.items(), reverse=True)
        self._count = sum(kinds.values())
        self._width = width
        self._total = sum((Fraction(each) * n for each, n in self._ranges), Fraction(0))
        self._deviation = math.hypot(*(math.sqrt(n) * each / 2 for each, n in self._ranges))
        self._tables: dict[tuple[int, float], _Tables] = {}
        self.total_epsilon = outward(rational(self._total))
        needs_tables = self._count > 1 and self.total_epsilon.upper >= _TINY
        self._alike = self._feasible_likeness() if needs_tables else 0.0

    def delta_bounds(self, *, epsilon: float) -> Bounds:
        """Enclose the total delta at ``epsilon``."""
        if epsilon >= self.total_epsilon.upper or Fraction(epsilon) >= self._total:
            return Bounds.exactly(0.0)
        if self.total_epsilon.upper < _TINY:
            return Bounds(lower=0.0, upper=self.total_epsilon.upper)
        distance = self._total - Fraction(epsilon)
        if distance <= self._ranges[-1][0]:
            return outward(refined(lambda _: _ending_delta(self._ranges, distance)))
        far = max(epsilon - self._deviation * self._deviation / 2, 0.0) / self._deviation
        bounds = Bounds(lower=0.0, upper=1.0)
        for tables in self._finer_and_finer(far * far / 2):
            found = Bounds(lower=tables.lower(epsilon), upper=tables.upper(epsilon))
            bounds = bounds.intersection(found)
            earlier = tables.lower(epsilon * (1 - self._width))
            if bounds.relative_width <= self._width or bounds.upper <= earlier:
                break
        return bounds

    def epsilon_bounds(self, *, delta: float) -> Bounds:
        """Enclose the least epsilon that is true at ``delta``."""
        if delta >= 1.0 or not self._count:
            return Bounds.exactly(0.0)
        if delta <= 0.0:
            return self.total_epsilon
        if self.total_epsilon.upper < _TINY:
            return Bounds(lower=0.0, upper=self.total_epsilon.upper)
        if self._count == 1 or _ending_distance(self._ranges, delta) <= self._ranges[-1][0]:
            total = self._total
            ending = refined(lambda _: rational(total) - _ending_distance(self._ranges, delta))
            return outward(ending).clipped(0.0, self.total_epsilon.upper)
        bounds = Bounds(lower=0.0, upper=self.total_epsilon.upper)
        for tables in self._finer_and_finer(-math.log(delta)):
            bounds = bounds.intersection(self._inverse(tables, delta))
            if bounds.relative_width <= self._width:
                break
        return bounds

    def supports(self, at_most: int) -> Sequence[float]:
        """Evenly spread epsilons, up to where a delta of 1e-12 is reached."""
        largest = self.epsilon_bounds(delta=1e-12).upper
        if largest == 0.0:
            return [0.0]
        gaps = max(at_most - 2, 1)
        return [*(largest * i / gaps for i in range(gaps + 1)), self.total_epsilon.upper]

    def _inverse(self, tables: _Tables, delta: float) -> Bounds:
        largest = self.total_epsilon.upper
        lower = _last_with(lambda epsilon: tables.lower(epsilon) > delta, largest)[0]
        upper = _last_with(lambda epsilon: tables.upper(epsilon) > delta, largest)[1]
        return Bounds(lower=lower, upper=upper)

    def _feasible_likeness(self) -> float:
        """How much alike ranges must be to count as one kind, for the work to be feasible."""
        for cells in (self._cells_for_the_width(), _FEWEST_CELLS):
            for alike in _ALIKE:
                if self._work(cells, _DEPTHS[0], alike) <= _MOST_WORK:
                    return alike
        raise TheoremDoesNotApply(
            f"the adaptive optimum of {self._count} releases of bounded range is too much work: "
            "use a theorem with a closed formula"
        )

    def _finer_and_finer(self, depth: float) -> Iterator[_Tables]:
        """Tables that reach deep enough, ever finer while that helps and is not too much work."""
        enough = next((each for each in _DEPTHS if each >= depth + _DEEPER), _DEPTHS[-1])
        cells = self._cells_for_the_width()
        while cells < _MOST_CELLS_AT_ONCE and self._work(2 * cells, enough) <= _LITTLE_WORK:
            cells *= 2
        while cells > _FEWEST_CELLS and self._work(cells, enough) > _MOST_WORK:
            cells = max(cells // 2, _FEWEST_CELLS)
        yield self._built(cells, enough)
        cells *= 2
        while (
            self._alike <= self._width
            and cells <= _MOST_CELLS
            and self._work(cells, enough) <= _MOST_WORK
        ):
            yield self._built(cells, enough)
            cells *= 2

    def _cells_for_the_width(self) -> int:
        """As many as mostly suffice: the bracket's relative width is about 1.7 / cells^2."""
        return max(math.ceil(1.35 / math.sqrt(self._width)), _FEWEST_CELLS)

    def _reach(self, depth: float) -> float:
        """An epsilon whose delta is about ``exp(-depth)`` or less; only accuracy depends on it."""
        reach = self._deviation * self._deviation / 2 + self._deviation * math.sqrt(2 * depth)
        return min(reach, self.total_epsilon.upper)

    def _lattice(self, cells: int, alike: float) -> RangeCells:
        return fitted_cells(
            self._ranges,
            cells=cells,
            alike=max(alike, self._width / 8),
            negligible=self._deviation * self._width / 8,
        )

    def _work(self, cells: int, depth: float, alike: float | None = None) -> float:
        lattice = self._lattice(cells, self._alike if alike is None else alike)
        return lattice.work(self._reach(depth))

    def _built(self, cells: int, depth: float) -> _Tables:
        if (cells, depth) not in self._tables:
            lattice = self._lattice(cells, self._alike)
            self._tables[cells, depth] = _Tables(lattice, self._reach(depth))
        return self._tables[cells, depth]


def _last_with(holds: Callable[[float], bool], largest: float) -> tuple[float, float]:
    """Two close numbers in [0, largest]; the first has the property (or is 0), the second has not.

    At ``largest`` the property is known not to hold. The second is 0 if the property never holds.
    """
    if not holds(0.0):
        return 0.0, 0.0
    low, high = 0.0, largest
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if holds(middle):
            low = middle
        else:
            high = middle
    return low, high


def _ending_delta(ranges: Sequence[tuple[float, int]], distance: Fraction) -> arb:
    r"""Enclose delta at a distance from the sum of all ranges that is at most the smallest.

    There only the highest loss of all counts. With d the distance,

    .. math:: \delta = (1 - e^{-d/(k+1)})^{k+1} / \prod_i (1 - e^{-\varepsilon_i}).

    Proof: the losses of an outcome with a low one sum up to at most epsilon, so that only the
    outcome whose losses are all high, the t_i, counts. What the analyst would do after other
    outcomes does not matter, nor does the order. It remains to maximise
    :math:`\prod_i q_i \cdot (1 - e^{\varepsilon - \sum t_i})`, where with
    :math:`s_i = \varepsilon_i - t_i` we have
    :math:`q_i = (1 - e^{-s_i}) / (1 - e^{-\varepsilon_i})`. The numerator is a product of
    :math:`1 - e^{-s}` over k+1 numbers s of sum d, and the logarithm of each factor is concave:
    all s are equal. For one release this is its whole curve, as epsilon is not negative.
    """
    factors = sum(count for _, count in ranges) + 1
    return (-(-rational(distance) / factors).expm1()) ** factors / _scale(ranges)


def _ending_distance(ranges: Sequence[tuple[float, int]], delta: float) -> arb:
    """Enclose the distance at which ``_ending_delta`` is ``delta``, were it valid everywhere."""
    factors = sum(count for _, count in ranges) + 1
    each = (arb(delta) * _scale(ranges)).root(factors)
    return -factors * (-each).log1p()


def _scale(ranges: Sequence[tuple[float, int]]) -> arb:
    scale = ONE
    for range_, count in ranges:
        scale *= (-(-arb(range_)).expm1()) ** count
    return scale
