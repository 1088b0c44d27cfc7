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
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from flint import arb

from quaestor.accounting.numerics.balls import outward, rational, working_precision
from quaestor.accounting.ranges.adaptive_step import Curve, StepAbove, StepBelow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Above", "Below"]

_BITS = 128

_Multiset = tuple[int, ...]
_Level = dict[_Multiset, Curve]


class _GameCurves:
    """What both sides share: the geometry of the lattice, and the walk through the multisets."""

    def __init__(
        self, sizes: tuple[int, ...], counts: _Multiset, cell: Fraction, reach: float
    ) -> None:
        self._sizes, self._counts, self._cell = sizes, counts, cell
        self._last = math.ceil(Fraction(reach) / cell)  # the last node that is kept

    def _whole(self, state: _Multiset) -> int:
        """The node from which on the curve of these releases is zero: the sum of their ranges."""
        return sum(size * count for size, count in zip(self._sizes, state, strict=True))

    def _top(self, state: _Multiset) -> int:
        return min(self._whole(state), self._last)

    def _smaller(self, state: _Multiset) -> Iterator[tuple[int, _Multiset]]:
        """What may remain after one release, by the kind of that release."""
        for kind, count in enumerate(state):
            if count:
                yield kind, (*state[:kind], count - 1, *state[kind + 1 :])

    def _larger(self, level: _Level) -> set[_Multiset]:
        """All multisets of one release more."""
        return {
            (*state[:kind], count + 1, *state[kind + 1 :])
            for state in level
            for kind, count in enumerate(state)
            if count < self._counts[kind]
        }

    def _walk(
        self, level: _Level, until: int, curve: Callable[[_Level, _Multiset], Curve]
    ) -> _Level:
        for _ in range(1, until):
            level = {state: curve(level, state) for state in self._larger(level)}
        return level

    def _singles(self) -> list[_Multiset]:
        kinds = range(len(self._sizes))
        return [tuple(int(kind == other) for other in kinds) for kind in kinds]


class Below(_GameCurves):
    """Lower bounds; the last release is not confined to the lattice."""

    def __init__(
        self, sizes: tuple[int, ...], counts: _Multiset, cell: Fraction, reach: float
    ) -> None:
        super().__init__(sizes, counts, cell, reach)
        self._steps = [StepBelow(cell, size) for size in sizes]
        level = {
            state: step.first[: self._top(state) + 1]
            for state, step in zip(self._singles(), self._steps, strict=True)
        }
        level = self._walk(level, sum(counts) - 1, self._curve)
        level[(0,) * len(sizes)] = np.zeros(1)  # nothing released: no delta from a = 1 on
        self._remaining = [(sizes[kind], level[state]) for kind, state in self._smaller(counts)]

    def _curve(self, level: _Level, state: _Multiset) -> Curve:
        top = self._top(state)
        heights = [
            self._steps[kind].heights(level[smaller], top) for kind, smaller in self._smaller(state)
        ]
        return StepBelow.finished(np.max(heights, axis=0))

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


class Above(_GameCurves):
    """Upper bounds; linear in e^epsilon between the nodes, where the truth is convex."""

    def __init__(
        self, sizes: tuple[int, ...], counts: _Multiset, cell: Fraction, reach: float
    ) -> None:
        super().__init__(sizes, counts, cell, reach)
        self._steps = [StepAbove(cell, size) for size in sizes]
        level = {
            state: step.first[: self._top(state) + 1]
            for state, step in zip(self._singles(), self._steps, strict=True)
        }
        self._final = self._walk(level, sum(counts), self._curve)[counts]

    @property
    def heights(self) -> Curve:
        """Upper bounds at the nodes from 0 on; from the last one on, the last of them holds."""
        return self._final

    def _curve(self, level: _Level, state: _Multiset) -> Curve:
        top = self._top(state)
        heights = []
        for kind, smaller in self._smaller(state):
            curve = level[smaller]
            beyond = float(curve[-1]) if self._whole(smaller) > self._last else 0.0
            heights.append(self._steps[kind].heights(curve, top, beyond))
        return StepAbove.finished(np.max(heights, axis=0))

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
