r"""Certified curves of k adaptive releases, that can be read at every epsilon.

An analyst who may choose which of the remaining releases comes next plays a game whose state is the
multiset S of what remains. Its value is :math:`f_S = \max_i T_i f_{S - i}`, with T_i the step for
the i-th range. Proof: let the next release be the i-th. If its outcome multiplies the ratio of the
likelihoods by z, at most :math:`f_{S-i}(a z)` is lost from there on. As z has mean 1 and stays
between two ends of ratio :math:`e^{\varepsilon_i}` on both sides of 1, and f is convex, the mean of
this is at most the height at a of a chord, which two outcomes attain. A maximum of convex,
decreasing, symmetric curves is one again.

This bounds every fixed order too. The orders do differ: in all cases tried, the largest range does
most harm as the last release, or very nearly so. The tables follow the recursion through all
multisets, one size after the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from flint import arb

from quaestor.accounting.numerics.balls import outward, rational, working_precision
from quaestor.accounting.ranges.adaptive_step import Curve, StepAbove, StepBelow, prolonged
from quaestor.accounting.ranges.uneven_step import step_above

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Above", "Below", "GameTables", "Level", "Multiset"]

_BITS = 128

Multiset = tuple[int, ...]

_AT_ONCE = 1 << 14  # nodes of so many rows together, which stay near the processor


@dataclass(frozen=True, slots=True)
class Level:
    """The curves of all multisets of one size, one in each row."""

    rows: dict[Multiset, int]
    curves: Curve

    def of(self, state: Multiset) -> Curve:
        """The curve of one multiset."""
        curve: Curve = self.curves[..., self.rows[state], :]
        return curve


class GameTables:
    """What all tables share: the geometry of the lattice, and the walk through the multisets."""

    def __init__(
        self, sizes: tuple[int | Fraction, ...], counts: Multiset, cell: Fraction, reach: float
    ) -> None:
        """Take kinds of ranges, so many cells each and so often; nodes are kept up to ``reach``."""
        self._sizes, self._counts, self._cell = sizes, counts, cell
        self._last = math.ceil(Fraction(reach) / cell)  # the last node that is kept

    def _whole(self, state: Multiset) -> int:
        """A node from which on the curve of these releases is zero: the sum of their ranges."""
        each = (size * count for size, count in zip(self._sizes, state, strict=True))
        return math.ceil(sum(each, Fraction(0)))

    def _top(self, state: Multiset) -> int:
        return min(self._whole(state), self._last)

    def _smaller(self, state: Multiset) -> Iterator[tuple[int, Multiset]]:
        """What may remain after one release, by the kind of that release."""
        for kind, count in enumerate(state):
            if count:
                yield kind, (*state[:kind], count - 1, *state[kind + 1 :])

    def _larger(self, level: Level) -> list[Multiset]:
        """All multisets of one release more."""
        larger = {
            (*state[:kind], count + 1, *state[kind + 1 :])
            for state in level.rows
            for kind, count in enumerate(state)
            if count < self._counts[kind]
        }
        return sorted(larger)

    def _singles(self, curves: Sequence[Curve]) -> Level:
        """The first level, of one curve for each kind."""
        kinds = range(len(self._sizes))
        states = [tuple(int(kind == other) for other in kinds) for kind in kinds]
        longest = max(map(self._top, states)) + 1
        kept = [prolonged(each, longest, 0.0)[..., :longest] for each in curves]
        return Level({state: row for row, state in enumerate(states)}, np.stack(kept, axis=-2))

    def _walk(self, level: Level, until: int) -> Level:
        for _ in range(1, until):
            level = self._next(level)
        return level

    def _next(self, level: Level) -> Level:
        """One release more: of each kind for all multisets that have one, some rows at a time."""
        states = self._larger(level)
        top, beyond = max(map(self._top, states)), self._beyond(level)
        best = np.zeros((*level.curves.shape[:-2], len(states), top + 1))
        for kind in range(len(self._sizes)):
            rows = [
                (row, level.rows[*state[:kind], state[kind] - 1, *state[kind + 1 :]])
                for row, state in enumerate(states)
                if state[kind]
            ]
            some = max(_AT_ONCE // (top + 1), 1)
            for start in range(0, len(rows), some):
                new, old = (list(each) for each in zip(*rows[start : start + some], strict=True))
                found = self._stepped(kind, level.curves[..., old, :], top, beyond[old])
                best[..., new, :] = self._better(best[..., new, :], found)
        return Level({state: row for row, state in enumerate(states)}, self._finished(best))

    def _beyond(self, level: Level) -> Curve:
        """What bounds each curve beyond its end."""
        return np.zeros((len(level.rows), 1))

    def _stepped(self, kind: int, curves: Curve, top: int, beyond: Curve) -> Curve:
        raise NotImplementedError

    def _better(self, one: Curve, other: Curve) -> Curve:
        higher: Curve = np.maximum(one, other)
        return higher

    def _finished(self, best: Curve) -> Curve:
        return best


class Below(GameTables):
    """Lower bounds; the last release is not confined to the lattice."""

    def __init__(
        self, sizes: tuple[int, ...], counts: Multiset, cell: Fraction, reach: float
    ) -> None:
        """Follow the game until one release is left."""
        super().__init__(sizes, counts, cell, reach)
        self._steps = [StepBelow(cell, size) for size in sizes]
        if sum(counts) == 1:  # nothing released before: no delta from a = 1 on
            self._remaining = [(sizes[kind], np.zeros(1)) for kind, _ in self._smaller(counts)]
            return
        level = self._walk(self._singles([step.first for step in self._steps]), sum(counts) - 1)
        self._remaining = [(sizes[kind], level.of(state)) for kind, state in self._smaller(counts)]

    def _stepped(self, kind: int, curves: Curve, top: int, beyond: Curve) -> Curve:  # noqa: ARG002
        return self._steps[kind].heights(curves, top)

    def _finished(self, best: Curve) -> Curve:
        return StepBelow.finished(best)

    def at(self, epsilon: float) -> float:
        """A lower bound: the greatest chord between nodes, chosen in floats, computed in balls."""
        return max(self._height(epsilon, size, curve) for size, curve in self._remaining)

    def _height(self, epsilon: float, size: int, curve: Curve) -> float:
        where = Fraction(epsilon) / self._cell
        lefts = np.arange(math.ceil(where) - size, math.floor(where) + 1)
        position, cell = float(where), float(self._cell)
        far = np.expm1((lefts - position) * cell) / math.expm1(-size * cell)
        far *= np.exp((position - lefts - size) * cell)
        estimates = (1 - far) * self._estimates(curve, lefts)
        estimates += far * self._estimates(curve, lefts + size)
        left = int(lefts[np.argmax(estimates)])
        with working_precision(_BITS):
            width = rational(self._cell)
            down, whole = arb(epsilon) - width * (left + size), width * size
            near = down.expm1() / (-whole).expm1()
            height = near * self._exact(curve, left)
            height += (1 - near) * self._exact(curve, left + size)
            return min(max(outward(height).lower, 0.0), 1.0)

    def _estimates(self, curve: Curve, nodes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Curve:
        distance = np.abs(nodes)
        right = np.where(distance < len(curve), curve[np.minimum(distance, len(curve) - 1)], 0.0)
        log = -distance * float(self._cell)
        return np.where(nodes < 0, -np.expm1(log) + np.exp(log) * right, right)

    def _exact(self, curve: Curve, node: int) -> arb:
        right = arb(float(curve[abs(node)])) if abs(node) < len(curve) else arb(0)
        if node >= 0:
            return right
        log = rational(self._cell) * node
        return log.exp() * right - log.expm1()


class Above(GameTables):
    """Upper bounds; linear in e^epsilon between the nodes, where the truth is convex."""

    def __init__(
        self, sizes: tuple[int | Fraction, ...], counts: Multiset, cell: Fraction, reach: float
    ) -> None:
        super().__init__(sizes, counts, cell, reach)
        self._steps = [step_above(cell, size) for size in sizes]
        level = self._walk(self._singles([step.first for step in self._steps]), sum(counts))
        self._final = level.of(counts)

    @property
    def heights(self) -> Curve:
        """Upper bounds at the nodes from 0 on; from the last one on, the last of them holds."""
        return self._final

    def _beyond(self, level: Level) -> Curve:
        ends = [
            level.of(state)[-1] if self._whole(state) > self._last else 0.0 for state in level.rows
        ]
        return np.array(ends)[:, None]

    def _stepped(self, kind: int, curves: Curve, top: int, beyond: Curve) -> Curve:
        return self._steps[kind].heights(curves, top, beyond)

    def _finished(self, best: Curve) -> Curve:
        return StepAbove.finished(best)

    def at(self, epsilon: float) -> float:
        """An upper bound at any epsilon that is not negative."""
        where = Fraction(epsilon) / self._cell
        left = math.floor(where)
        if left >= len(self._final) - 1:
            return float(self._final[-1])
        with working_precision(_BITS):
            width = rational(self._cell)
            share = (arb(epsilon) - width * left).expm1() / width.expm1()
            near, far = arb(float(self._final[left])), arb(float(self._final[left + 1]))
            return min(outward(near + (far - near) * share).upper, 1.0)
