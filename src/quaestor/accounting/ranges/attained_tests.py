r"""What an analyst attains in the game, as tests: a pair of worlds that is never above the truth.

The lower table of :mod:`.adaptive_curves` knows heights at its nodes only, which is of no use
where other releases move epsilon to places between them. Here each node keeps the *test* behind
its height: the probabilities p and q with which an analyst who plays for that node raises an alarm
in the first world and in the second. With them :math:`f(b) \ge p - b q` at every b, not at the
node alone: the analyst may play for a node that is not the right one.

A choice with the losses t and :math:`t - \varepsilon` and then the tests :math:`(p_1, q_1)` or
:math:`(p_2, q_2)` is the test :math:`p = w p_1 + (1-w) p_2,\; q = w e^{-t} q_1 + (1-w)
e^{\varepsilon-t} q_2`, where w is the probability of t. With :math:`s = a q` for the node's own
a, both have the same weights: :math:`s = w s_1 + (1-w) s_2`, and nothing overflows. A test of a
turned around, with both worlds exchanged, is one of 1/a: :math:`(1-q, 1-p)`.

The greatest of all these lines is convex, so it is the profile of a pair of worlds (the concave
hull of the points (q, p) is its trade-off curve). An outcome for each side of the hull: its
probabilities are what p and q gain along the side. Whichever points are left out, the rest is as
true; the hull is made of so few that each turn is certain in floats.

*Rounding.* All numbers are sums of products of positive numbers: p is rounded down and s up by a
factor for each step. The points that are kept are what was computed, as if they were exact: a
side's gain in p is then one rounding away from the truth, and that in q is known to an error that
is stated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.numerics.balls import outward, rational, working_precision
from quaestor.accounting.ranges.adaptive_curves import GameTables
from quaestor.accounting.ranges.adaptive_step import prolonged
from quaestor.accounting.ranges.uneven_step import UnevenChords

if TYPE_CHECKING:
    from fractions import Fraction

    from quaestor.accounting.ranges.adaptive_curves import Multiset
    from quaestor.accounting.ranges.adaptive_step import Curve

__all__ = ["AttainedTests", "TestSides", "sides_of"]

_BITS = 96
_UNIT = 2.0**-53
_DOWN, _UP = 1 - 2.0**-49, 1 + 2.0**-49
_LEAST = 1e-280  # of a probability that is kept
_LARGEST_ERROR = 1e-9
_LEAST_REST = 1e-6  # of what is left of 1, which floats must know


@dataclass(frozen=True, slots=True, kw_only=True)
class TestSides:
    """The sides of a hull with losses above 0, the steepest first.

    ``first`` and ``second`` are their probabilities, as logarithms, in either world. Each is known
    to the share ``error``. The sides with losses below 0 are these with the worlds exchanged; the
    ``rest``, of loss 0, has the same probability in both.
    """

    first: Curve
    second: Curve
    rest: float
    error: float


class AttainedTests(GameTables):
    """For every node from 0 on, the test of an analyst who plays for it on the lattice."""

    def __init__(
        self, sizes: tuple[int | Fraction, ...], counts: Multiset, cell: Fraction, reach: float
    ) -> None:
        """Follow the game through all multisets."""
        super().__init__(sizes, counts, cell, reach)
        self._steps = [_TestStep(cell, size) for size in sizes]
        level = self._walk(self._singles([step.of_one for step in self._steps]), sum(counts))
        self.tests: Curve = level.of(counts)
        """The p of every node, and its s."""

    def sides(self) -> TestSides | None:
        """The sides of the hull of all tests; None where floats know none for certain."""
        return sides_of(self.tests, float(self._cell))

    def _stepped(self, kind: int, curves: Curve, top: int, beyond: Curve) -> Curve:  # noqa: ARG002
        return self._steps[kind].tests(curves, top)

    def _better(self, one: Curve, other: Curve) -> Curve:
        higher: Curve = np.where(other[0] - other[1] > one[0] - one[1], other, one)
        return higher


class _TestStep:
    """One release more: for every node the chord that is highest in floats, and its test."""

    def __init__(self, cell: Fraction, size: int | Fraction) -> None:
        self._chords = UnevenChords(cell, size, lambda ball: ball.lower)
        self.of_one = _tests_of_one(cell, size)
        with working_precision(_BITS):
            part = size - self._chords.cells
            self._rises = [
                [outward(rational(cell * away).exp()).upper for away in (place, place - 1)]
                for place in (part, 1 - part)
            ]

    def tests(self, rest: Curve, top: int) -> Curve:
        """The tests at the nodes 0 to ``top``, if ``rest`` are those of what comes after."""
        nodes, length = self._every_place(rest, top)
        count = top + 1
        heights = nodes[0] - nodes[1]
        shape = (*heights.shape[:-1], count)
        best, height, other = np.full(shape, -1.0), np.empty(shape), np.empty(shape)
        chosen = np.zeros(shape, np.int64)
        starts = self._chords.starts(length)
        weights = zip(starts, self._chords.near, self._chords.far, strict=True)
        for choice, ((left, right), near, far) in enumerate(weights):
            np.multiply(heights[..., left : left + count], near, out=height)
            np.multiply(heights[..., right : right + count], far, out=other)
            height += other
            better = height > best
            np.copyto(best, height, where=better)
            np.copyto(chosen, choice, where=better)
        here = np.arange(count)
        lefts, rights = (np.array(each)[chosen] + here for each in zip(*starts, strict=True))
        found = np.stack(
            [
                self._chords.near[chosen] * np.take_along_axis(each, lefts, axis=-1)
                + self._chords.far[chosen] * np.take_along_axis(each, rights, axis=-1)
                for each in nodes
            ]
        )
        found[0] *= _DOWN
        found[1] *= _UP
        found[:, (found[0] < _LEAST) | (found[0] <= found[1])] = 0.0  # never an alarm
        return found

    def _every_place(self, rest: Curve, top: int) -> tuple[Curve, int]:
        """The tests at all nodes that are needed, and between them; no alarm beyond."""
        cells = self._chords.cells
        right = prolonged(rest, max(top, cells) + cells + 3, 0.0)
        here = right[..., 1 : cells + 2]
        fall = self._chords.slope * (1 + 8 * _UNIT)  # at least e^(-x)
        turned = np.stack([(1.0 - fall * here[1]) * _DOWN, fall * (1.0 - here[0]) * _UP])
        nodes = np.concatenate([turned[..., ::-1], right], axis=-1)
        if self._chords.even:
            return nodes, nodes.shape[-1]
        rows = [nodes, *(_between(nodes, *rises) for rises in self._rises)]
        return np.concatenate(rows, axis=-1), nodes.shape[-1]


def _between(nodes: Curve, after: float, before: float) -> Curve:
    """Between each node and the next, the better of their two tests."""
    one = np.stack([nodes[0], nodes[1] * (after * _UP)])
    other = np.stack([nodes[0, ..., 1:], nodes[1, ..., 1:] * (before * _UP)])
    other = np.concatenate([other, one[..., -1:]], axis=-1)
    better: Curve = np.where(other[0] - other[1] > one[0] - one[1], other, one)
    return better


def _tests_of_one(cell: Fraction, size: int | Fraction) -> Curve:
    r"""The best tests of one release: t is half way between epsilon and the range.

    So p is the probability of t, and :math:`s = p e^{\varepsilon - t}`.
    """
    last = math.ceil(size)
    tests = np.zeros((2, last + 1))
    with working_precision(_BITS):
        for node in range(last):
            half = rational(cell * (size - node)) / 2
            alarm = (-half).expm1() / (-rational(cell * size)).expm1()
            tests[:, node] = max(outward(alarm).lower, 0.0), outward(alarm * (-half).exp()).upper
    return tests


class _Side:
    """From one test to the next, which raises more alarms."""

    __slots__ = ("error", "first", "loss", "node", "second")

    def __init__(self, tests: Curve, cell: float, start: int | None, node: int) -> None:
        p, s = float(tests[0, node]), float(tests[1, node])
        before_p = before_s = 0.0
        if start is not None:
            before_p = float(tests[0, start])
            before_s = float(tests[1, start]) * math.exp(-cell * (start - node))
        more_p, more_s = p - before_p, s - before_s
        self.node = node
        self.error = math.inf
        if more_p > 0.0 and more_s > 0.0:
            place = cell * node
            self.first, self.second = math.log(more_p), math.log(more_s) - place
            self.loss = self.first - self.second
            logs = abs(self.first) + abs(self.second) + place + 1.0
            moved = 8.0 + 4 * (place + 1.0)  # of e^(-cell node), beside s and what was before it
            self.error = _UNIT * (8 * logs + moved * (s + before_s) / more_s)

    def turns_after(self, steeper: _Side) -> bool:
        """Whether this is surely less steep."""
        return self.loss < steeper.loss - 8 * (self.error + steeper.error)


def sides_of(tests: Curve, cell: float) -> TestSides | None:
    """The hull of (0, 0) and of the tests at the nodes, from the last node to the first.

    A test that floats cannot tell from being inside of the hull is left out, and so is one that
    does not come before its own mirror image.
    """
    sides: list[_Side] = []
    for node in range(tests.shape[1] - 1, -1, -1):
        if tests[0, node] <= _LEAST or tests[1, node] <= _LEAST:
            continue
        while True:
            side = _Side(tests, cell, sides[-1].node if sides else None, node)
            known = side.error <= _LARGEST_ERROR
            if not sides or (known and side.turns_after(sides[-1])):
                break
            if not known and not tests[0, node] > tests[0, sides[-1].node]:
                break  # nothing gained
            sides.pop()
        if known and side.loss > 8 * side.error:
            sides.append(side)
    while sides:
        rest = (
            1.0
            - float(tests[0, sides[-1].node])
            - math.exp(-cell * sides[-1].node) * float(tests[1, sides[-1].node])
        )
        if rest > _LEAST_REST:
            break
        sides.pop()
    if not sides:
        return None
    return TestSides(
        first=np.array([side.first for side in sides]),
        second=np.array([side.second for side in sides]),
        rest=rest,
        error=max(16 * _UNIT / rest, *(side.error for side in sides)),
    )
