"""Answers about a sum of losses: the smallest certified interval for delta or epsilon."""

from __future__ import annotations

import math
from collections import Counter
from contextlib import suppress
from copy import copy
from functools import partial
from typing import TYPE_CHECKING

from flint import arb

from quaestor.accounting.curves.epsilon_search import least_epsilon
from quaestor.accounting.curves.profile import Profile
from quaestor.accounting.loss.engine.brackets import Brackets
from quaestor.accounting.loss.engine.enumeration import enumerated
from quaestor.accounting.loss.engine.inversion import Line
from quaestor.accounting.loss.engine.laplace_sums import few_laplace
from quaestor.accounting.loss.engine.loss_sum import Product
from quaestor.accounting.loss.engine.rare_outcomes import (
    COARSE,
    RareOutcomes,
    crossing,
    least_width,
)
from quaestor.accounting.numerics.balls import (
    ONE,
    ZERO,
    ball_of,
    between,
    outward,
    working_precision,
)
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.errors import BeyondFloats

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quaestor.accounting.loss.laws.law import Law

__all__ = ["LossProfile"]

_WIDTH = 1e-4  # relative, in delta: what smoothing aims at
_WIDEST = 0.02  # relative, in delta: what smoothing aims at where that is enough; not vague
_LITTLE_WORK = 5e5  # evaluations of e^(sL): about a tenth of a second
_MOST_REFINEMENTS = 4
_HOPELESS = 0.99  # of a relative width: two lines that say no more than this, and no third is drawn
_MOST_LINES = 12
_HELPED = 1.5  # times less left open: what makes one more line worth while
_FINEST = 1e-6  # relative, in epsilon: where the search ends
_WAYS = (1e-3, 1e-2, 0.1, 0.5, 2.0, 8.0, 64.0)  # above a guess, as shares of it
_NEAR = 0.1  # relative, in epsilon: where a line was drawn for about the right place
_NEIGHBOURS = 2  # lines that are asked before another one is drawn
_NARROW = 1e-3  # relative: brackets that leave no more open are not improved on
_VAGUE = 1e-2  # a line that leaves more open, and more than is wanted, asks the moment bound too


class LossProfile(Profile):
    """The profile of independent losses in one direction: failures merged with the finite part."""

    def __init__(self, laws: Sequence[tuple[Law, int]], *, width: float = _WIDTH) -> None:
        """Keep the laws; lines are drawn when questions come."""
        self.product = Product(laws)
        self.width = width
        self._lines: dict[float, Line] = {}
        self._inherited: list[Line] = []
        self._first: tuple[Product, tuple[float, float], Line] | None = None
        self._shares = False
        self._asked = _FINEST
        self._rare = _rare_outcomes(self.product, width)
        self._brackets = Brackets.of(self.product, width=width)
        self._log_kept, self._told = _log_kept(laws), _least_told(laws)
        listed = enumerated(self.product)
        self._exact = (
            self.product.closed_form() or few_laplace(self.product)
            if listed is None
            else listed.bounds
        )

    def within(self, width: float) -> LossProfile:
        """The same, to answer within a relative ``width``; narrower costs more nodes."""
        narrower = copy(self)
        narrower.width = min(width / 10, _WIDTH)
        narrower._lines, narrower._inherited = {}, []
        narrower._rare = _rare_outcomes(self.product, narrower.width)
        narrower._brackets = Brackets.of(self.product, width=narrower.width)
        return narrower

    def roughly(self, width: float) -> LossProfile:
        """The same, to answer within a relative ``width`` with as few nodes as mostly suffice."""
        rougher = copy(self)
        rougher.width, rougher._asked = min(width, _WIDEST), max(width, _FINEST)
        rougher._lines, rougher._inherited = {}, []
        rougher._rare = _rare_outcomes(self.product, min(width / 10, _WIDTH))
        return rougher

    def shared(self) -> LossProfile:
        """The same for many points: a line drawn for one serves others where it is as narrow."""
        many = copy(self)
        many._shares, many._lines = True, {}
        return many

    def then(self, laws: Sequence[tuple[Law, int]]) -> LossProfile:
        """The same with more losses; lines already drawn are carried on."""
        longer = copy(self)
        longer.product = self.product.then(laws)
        longer._lines, longer._exact = {}, None
        longer._rare = _rare_outcomes(longer.product, self.width)
        longer._brackets = Brackets.of(longer.product, width=self.width)
        added = Product(laws)
        lines = [*self._lines.values(), *self._inherited][-2:]
        longer._inherited = []
        for line in lines:
            with suppress(BeyondFloats):  # the new losses have no moments there: a line less
                if line.lattice is not None or line.aside is not None:  # these are drawn anew
                    continue
                if (more := line.with_more(added)).is_finite:
                    longer._inherited.append(more)
        with working_precision(128):
            longer._log_kept = self._log_kept + _log_kept(laws)
        longer._told = max(self._told, _least_told(laws))
        return longer

    def _failure(self) -> arb:
        """The probability that some loss is infinite."""
        with working_precision(128):
            if self._log_kept.is_finite():
                return -self._log_kept.expm1()
            return between(arb(self._told), ONE)  # it may be all, or nearly

    def _finite_delta(self, epsilon: float) -> Bounds:
        """Enclose delta given that no loss is infinite."""
        if not self.product.terms:
            return Bounds.exactly(0.0)
        if epsilon >= self.product.largest():  # which next to 0 may have been a little more
            return Bounds(lower=0.0, upper=0.0 if epsilon > 1e-300 else 5e-324)
        if self._exact is not None:
            return self._exact(epsilon)
        if self._brackets is not None and self._brackets.are_best(epsilon):
            found = self._brackets.delta(epsilon)
            if self._brackets.satisfy(found, width=_VAGUE):
                return found
            return found.intersection(self._on(self._line(epsilon), epsilon))
        return self._on(self._line(epsilon), epsilon)

    def _on(self, line: Line | None, epsilon: float) -> Bounds:
        """What a line says, together with the moment bound where more is not known."""
        known = Bounds(lower=0.0, upper=1.0) if line is None else line.delta(epsilon)
        if self.product.moments_only:
            upper = self._moment_delta(epsilon)
        elif known.relative_width > max(_VAGUE, self.width):
            upper = min(known.upper, self._moment_delta(epsilon))
        else:
            return known
        return Bounds(lower=known.lower, upper=max(upper, known.lower))

    def _moment_delta(self, epsilon: float) -> float:
        """The moment bound; near the largest loss, where it has no order, that of a little less."""
        bound = self.product.moment_delta(epsilon)
        if bound < _VAGUE or epsilon == 0.0:
            return bound
        return min(bound, self.product.moment_delta(0.95 * epsilon))

    def at_most(self, *, epsilon: float) -> float:
        """A quick upper bound on the total delta: the moment bound."""
        failure = outward(self._failure()).upper
        finite = 0.0 if epsilon > 1e-300 or not self.product.terms else 5e-324
        if self.product.terms and epsilon < self.product.largest():
            finite = self._moment_delta(epsilon)
        return min((finite + failure) * (1 + 1e-12), 1.0)

    def may_exceed(self, *, epsilon: float, delta: float) -> bool:
        """Whether the total delta may be more than this at ``epsilon``; no is certain."""
        if self.at_most(epsilon=epsilon) <= delta:
            return False
        rest = delta - outward(self._failure()).upper
        return self._rare is None or rest <= 0.0 or not self._rare.surely_below(epsilon, rest)

    def _line(self, epsilon: float) -> Line | None:
        """The line for this epsilon; None where the numbers are beyond floats."""
        for line in self._inherited:
            if line.delta(epsilon).relative_width <= 4 * self.width:
                return line
        return self._near_line(epsilon) or self._own_line(epsilon)

    def _near_line(self, epsilon: float) -> Line | None:
        """A line that was drawn for a point nearby and is as narrow here, if lines are shared."""
        if not self._shares:
            return None
        near = sorted(self._lines, key=lambda place: abs(place - epsilon))[:_NEIGHBOURS]
        lines = (self._lines[place] for place in near)
        return next(
            (each for each in lines if each.delta(epsilon).relative_width <= self.width), None
        )

    def _own_line(self, epsilon: float) -> Line | None:
        if epsilon not in self._lines:
            try:
                self._lines[epsilon] = self._narrow_line(epsilon)
            except (ArithmeticError, ValueError, MemoryError):
                return None
        return self._lines[epsilon]

    def _narrow_line(self, epsilon: float) -> Line:
        """Smooth less where an atom of the loss lies at epsilon, and smoothing costs more."""
        if self._rare is not None:
            return self._line_without_rare(self._rare, epsilon)
        if self._asked > _FINEST:  # another way is there for what takes long
            return Line.through(self.product, epsilon, width=self.width, most_work=_LITTLE_WORK)
        line, width = self._first_line(epsilon), self.width
        vague = self._is_vague(line, epsilon)
        for _ in range(_MOST_REFINEMENTS):
            if not vague:
                break
            width /= 30
            finer = Line.through(self.product, epsilon, width=width)
            if finer.smoothing >= line.smoothing:
                break
            line, before = finer, vague
            vague = self._is_vague(line, epsilon)
            if min(before, vague) > _HOPELESS:
                break
        return line

    def _first_line(self, epsilon: float) -> Line:
        """One that is not refined; the last one is kept, as it may be refined next."""
        drawn = self._first
        if drawn is None or drawn[0] is not self.product or drawn[1] != (epsilon, self.width):
            line = Line.through(self.product, epsilon, width=self.width)
            drawn = self._first = self.product, (epsilon, self.width), line
        return drawn[2]

    def _is_vague(self, line: Line, epsilon: float) -> float:
        """The relative width of what it says there; 0 where less smoothing would not help."""
        if line.smoothing == 0.0 or line.limited:
            return 0.0
        vague = line.delta(epsilon).relative_width
        return vague if vague > 10 * self.width else 0.0

    def _better_guess(self, delta: float, guess: float, largest: float) -> float:
        """Near the largest loss: where a line that says little at the guess meets the target.

        To refine it at the guess takes longest where the guess is worst.
        """
        drawn_otherwise = self._rare is not None or self._inherited or self._asked > _FINEST
        if drawn_otherwise or self._near_line(guess) is not None:
            return guess
        with suppress(ArithmeticError, ValueError, MemoryError):
            line = self._first_line(guess)
            if self._is_vague(line, guess):
                found = self._solved(
                    partial(self._on, line), delta, guess=guess, largest=largest, order=line.slope
                )
                if found.lower > 0.0:
                    return (found.lower + found.upper) / 2
        return guess

    def _line_without_rare(self, rare: RareOutcomes, epsilon: float) -> Line:
        """One that leaves out what is rare, or one through all losses where that says more."""
        line, vague = None, 1.0
        with suppress(ArithmeticError, ValueError, MemoryError):
            line = rare.narrow_line(epsilon, width=self.width)
            vague = line.delta(epsilon).relative_width
        if line is None or vague > 10 * self.width:
            whole = rare.whole_line(epsilon, width=self.width, vague=vague)
            if whole is not None and whole.delta(epsilon).relative_width < vague:
                line = whole
        if line is None:
            raise BeyondFloats("no line suits")
        return line

    def delta_bounds(self, *, epsilon: float) -> Bounds:
        """Enclose the total delta at ``epsilon``."""
        failure = self._failure()
        if math.isinf(epsilon) or failure == 1:
            return outward(failure)
        return _merged(self._finite_delta(epsilon), failure)

    def delta_or_less(self, *, epsilon: float, least: float) -> Bounds:
        """The same; the moment bound suffices where it is below ``least``."""
        if self._exact is None and self._near_line(epsilon) is None:
            quick = self.at_most(epsilon=epsilon)
            if quick <= least:
                return Bounds(lower=0.0, upper=quick)
        return self.delta_bounds(epsilon=epsilon)

    def epsilon_bounds(self, *, delta: float) -> Bounds:
        """Enclose the least epsilon that is true at ``delta``."""
        if delta >= 1.0:
            return Bounds.exactly(0.0)
        failure = outward(self._failure())
        if delta < failure.lower:
            return Bounds.exactly(math.inf)
        largest = self.product.largest()
        if delta <= failure.upper:
            return Bounds(lower=0.0, upper=largest if failure.upper == 0.0 else math.inf)
        return self._steep_enough(delta)._search(delta, largest)

    def _steep_enough(self, delta: float) -> LossProfile:
        """The same; where a width was asked for, with lines as rough as that allows in epsilon.

        In epsilon a line leaves open what it leaves open in delta, over how steeply delta falls:
        about as e^(-order epsilon).
        """
        drawn_otherwise = self._exact or self._rare or self._brackets
        if self._asked <= _FINEST or drawn_otherwise is not None:
            return self
        finite = max(delta - outward(self._failure()).upper, 5e-324)
        order = self.product.best_order(delta=finite)
        steep = copy(self)
        steep.width = min(self._asked * order * self.product.typical_epsilon(finite), _WIDEST)
        return steep

    def _search(self, delta: float, largest: float) -> Bounds:
        """Draw a line, solve on it, and draw a better one there, until it stays."""
        guess = self._guess(delta)
        if self._exact is not None:
            return least_epsilon(
                lambda epsilon: self.delta_bounds(epsilon=epsilon),
                target=Bounds.exactly(delta),
                guess=guess,
                largest=largest,
            )
        found = Bounds(lower=0.0, upper=largest)
        if self._brackets is not None and self._brackets.are_best(guess):
            found = self._on_brackets(self._brackets, delta, largest)
            if self._brackets.satisfy(found, width=_NARROW):
                return found
        return found.intersection(self._search_on_lines(delta, guess, largest))

    def _on_brackets(self, brackets: Brackets, delta: float, largest: float) -> Bounds:
        """The same on pairs of lines on a lattice."""
        return brackets.epsilon(
            lambda pair, guess: self._solved(
                pair.delta, delta, guess=guess, largest=largest, order=_order(pair.more)
            ),
            delta=max(delta - outward(self._failure()).upper, 5e-324),
            largest=largest,
        )

    def _search_on_lines(self, delta: float, guess: float, largest: float) -> Bounds:
        """The same on lines through the losses themselves."""
        if self._rare is not None and not self._inherited and not self._rare.suits(guess):
            return self._search_without_rare(self._rare, delta, largest)
        found = Bounds(lower=0.0, upper=largest)
        guess = self._better_guess(delta, guess, largest)
        for i in range(4):
            line = self._line(guess) if i == 0 else self._own_line(guess)
            solved = self._solved(
                partial(self._on, line), delta, guess=guess, largest=largest, order=_order(line)
            )
            found = found.intersection(solved)
            guess = (found.lower + found.upper) / 2
            if line is None or self.product.moments_only or found.relative_width <= _FINEST:
                break
            narrow = found.relative_width < max(1e-3, self._asked)
            if narrow and line.delta(guess).relative_width <= 10 * self.width:
                break
        return found

    def _search_without_rare(self, rare: RareOutcomes, delta: float, largest: float) -> Bounds:
        """The same on lines without outcomes that are rare beside this delta.

        First coarse ones, each drawn where the last one led; then as fine as is needed, for what a
        line leaves open is in proportion to the width that it was drawn for.
        """
        finite = max(delta - outward(self._failure()).upper, 5e-324)
        guess, width = rare.first_epsilon(finite), max(COARSE, self.width)
        found, reached, most_work = Bounds(lower=0.0, upper=largest), math.inf, math.inf
        for _ in range(_MOST_LINES):
            try:
                line = rare.line(guess, width=width, delta=finite, most_work=most_work)
            except (ArithmeticError, ValueError, MemoryError):
                break
            enough = min(found.upper, self._enough(line, delta, guess))
            solved = self._solved(
                line.delta, delta, guess=guess, largest=enough, order=_order(line)
            )
            found = found.intersection(solved)
            if found.relative_width <= self._asked:
                return found
            if found.relative_width >= _NEAR:  # where the truth is, is not known yet
                last, guess = guess, crossing(line, finite, guess)
                if abs(last - guess) >= _NEAR * last:
                    continue
            else:
                guess = (found.lower + found.upper) / 2
            drawn, width = width, self._finer(rare, line, width, found, reached)
            if width >= drawn:
                break
            most_work = rare.most_work if reached == math.inf else math.inf
            reached = found.relative_width
        return self._without_lines(rare, delta, found, guess, largest)

    def _finer(
        self, rare: RareOutcomes, line: Line, width: float, found: Bounds, reached: float
    ) -> float:
        """For which width to draw next, after a line for this one; the same if none is worth it.

        ``reached`` is what the line before left open. Of many different losses, one more line that
        is as fine as its work allows costs least. Otherwise the finest that is cheap, if that is
        as fine as is needed; or else what is needed.
        """
        left = found.relative_width
        enough = left <= self.width  # and the rest is to be cheap
        if rare.are_many and reached == math.inf:
            return max(width * 0.3 * _FINEST / left, width / 1000)
        if enough and (rare.are_many or left > reached / _HELPED):
            return width
        share = 0.5 * width / min(left, 1.0)
        cheap = max(share * _FINEST, least_width(line, width, self.width, cheap=True))
        needed = share * self.width
        if enough or cheap <= needed:
            finer = cheap
        else:
            finer = max(needed, least_width(line, width, self.width))
        return width if finer > width / 2 else max(finer, width / 1000)

    def _without_lines(
        self, rare: RareOutcomes, delta: float, found: Bounds, guess: float, largest: float
    ) -> Bounds:
        """What else is known, where lines without what is rare left much open."""
        if found.relative_width > 10 * self.width:
            found = found.intersection(self._on_whole_line(rare, delta, found, guess))
        if found.relative_width > _VAGUE:
            on_moments = self._solved(self._moments, delta, guess=guess, largest=largest)
            found = found.intersection(on_moments)
        return found

    def _enough(self, line: Line, delta: float, guess: float) -> float:
        """An epsilon above a guess that is surely enough; infinite if the line knows of none."""
        failure = outward(self._failure()).upper
        for way in _WAYS:
            epsilon = guess * (1 + way)
            if (line.delta(epsilon).upper + failure) * (1 + 1e-12) <= delta:
                return epsilon
        return math.inf

    def _on_whole_line(
        self, rare: RareOutcomes, delta: float, found: Bounds, guess: float
    ) -> Bounds:
        """What a line through all losses adds, where the others left so much open."""
        line = rare.whole_line(guess, width=self.width, vague=found.relative_width)
        if line is None:
            return found
        return self._solved(line.delta, delta, guess=guess, largest=self.product.largest())

    def _moments(self, epsilon: float) -> Bounds:
        return self._on(None, epsilon)

    def _solved(
        self,
        finite: Callable[[float], Bounds],
        delta: float,
        *,
        guess: float,
        largest: float,
        order: float = 0.0,
    ) -> Bounds:
        """Enclose the least epsilon by what a curve says about finite losses."""
        failure = self._failure()

        return least_epsilon(
            lambda epsilon: _merged(finite(epsilon), failure),
            target=Bounds.exactly(delta),
            guess=guess,
            largest=largest,
            stride=0.01,
            order=order,
        )

    def _guess(self, delta: float) -> float:
        """Where an inherited line crosses delta, or else the moment bound's epsilon."""
        failure = outward(self._failure()).upper
        for line in self._inherited:
            low, high = 0.0, max(16.0 * line.peak / line.theta, 1.0)
            for _ in range(40):
                middle = (low + high) / 2
                low, high = (
                    (middle, high) if line.delta(middle).lower > delta - failure else (low, middle)
                )
            return high
        return self.product.typical_epsilon(max(delta - failure, 5e-324))

    def supports(self, at_most: int) -> Sequence[float]:
        """Evenly spread epsilons, up to where a delta of 1e-12 beyond the failures is reached."""
        failure = outward(self._failure()).upper
        if failure >= 1.0:
            return [0.0]
        largest = self.epsilon_bounds(delta=min(failure + 1e-12, 1.0)).upper
        gaps = max(at_most - 1, 1)
        return [largest * i / gaps for i in range(gaps + 1)]


def _rare_outcomes(product: Product, width: float) -> RareOutcomes | None:
    return RareOutcomes(product, width=width) if product.can_be_truncated else None


def _order(line: Line | None) -> float:
    """About how steeply the logarithm of delta falls where a line was drawn; 0: not known."""
    return 0.0 if line is None else max(line.slope, 0.0)


def _merged(finite: Bounds, failure: arb) -> Bounds:
    """The total delta: of what is finite, and of what fails beside it."""
    if failure.is_zero():
        return finite.clipped(0.0, 1.0)
    ball = ball_of(finite)
    with working_precision(128):
        return outward(ball + (1 - ball) * failure).clipped(0.0, 1.0)


def _least_told(laws: Sequence[tuple[Law, int]]) -> float:
    """What is told outright at least: by one of the losses alone."""
    return max((law.infinite.lower for law, _ in laws), default=0.0)


def _log_kept(laws: Sequence[tuple[Law, int]]) -> arb:
    """The log of the probability that every loss is finite; minus infinity if some never is."""
    chances = Counter[Bounds]()
    for law, count in laws:
        if law.infinite.upper > 0.0:
            chances[law.infinite] += count
    with working_precision(128):
        if any(chance.lower >= 1.0 for chance in chances):
            return arb.neg_inf()
        return sum(((-ball_of(chance)).log1p() * n for chance, n in chances.items()), ZERO)
