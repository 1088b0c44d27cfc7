"""Optimal composition of different black boxes: exact wherever that can be computed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from flint import arb

from quaestor.accounting.numerics.atoms import UNIT, AtomCurve, Atoms, mixture_bounds
from quaestor.accounting.numerics.balls import ZERO, ball_of, refined, working_precision
from quaestor.accounting.theorems.black_box_profile import BlackBoxProfile
from quaestor.accounting.theorems.black_boxes import BlackBoxes
from quaestor.accounting.theorems.losses import WorstDirection
from quaestor.accounting.theorems.optimal import RandomizedResponsePower

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from quaestor.accounting.curves.profile import Profile
    from quaestor.accounting.releases import Release

    Group = tuple[float, int]

__all__ = ["exact_heterogeneous", "optimal_heterogeneous"]

_LARGEST_HALF = 2**21  # atoms on one side of the meeting point
_MANY_ATOMS = 2**14  # on one side, from which a bracket is had sooner
_FEW_ATOMS, _VERY_FEW = 300, 8  # beside one large group that is treated in closed form
_SMALL_LATTICE = 20_000  # points: a fraction of a millisecond a question
_LARGEST_LATTICE = 4_000_000  # points
_MOST_LOOKUPS = 20_000_000  # for one picture of the region
_MOST_WORK = 3_000_000_000  # multiplications


def optimal_heterogeneous(releases: Iterable[Release]) -> Profile:
    r"""The least (epsilon, delta) that holds for every composition of different black boxes.

    Theorem:
        Murtagh, Vadhan, "The Complexity of Computing the Optimal Composition of Differential
        Privacy", Theorem 1.5: the least :math:`\varepsilon_g` with

        .. math:: \prod_i \frac{1}{1+e^{\varepsilon_i}} \sum_S \max\Bigl(0,
            e^{\sum_{i \in S}\varepsilon_i} - e^{\varepsilon_g} e^{\sum_{i \notin S}\varepsilon_i}
            \Bigr) \le 1 - \frac{1-\delta_g}{\prod_i (1-\delta_i)} .

        Computing it is #P-hard in general. Exact here: one group of any size beside few others
        (in closed form), up to 40 different epsilons and whatever else has at most four million
        million outcomes (meeting in the middle), and epsilons that are decimals with a common
        base (a lattice). Everything else comes out of the privacy-loss engine, as a certified
        bracket of relative width 1e-4 or less.

    Assumes:
        The epsilons and deltas are fixed in advance; the mechanisms may be chosen adaptively.

    >>> from quaestor.accounting.releases import PureDP
    >>> curve = optimal_heterogeneous([PureDP(epsilon=0.01) * 500, PureDP(epsilon=0.2) * 20])
    >>> round(curve.delta_bounds(epsilon=3.0).upper, 12)
    0.000319066653
    """
    history = tuple(releases)
    return exact_heterogeneous(BlackBoxes.of(history)) or WorstDirection(history)


def exact_heterogeneous(boxes: BlackBoxes) -> Profile | None:
    """The exact profile of different black boxes; None where only a bracket is within reach.

    Theorem:
        Murtagh, Vadhan, Theorem 1.5, where it can be computed exactly.
    """
    if len(boxes.responses) <= 1:
        return RandomizedResponsePower(boxes)
    largest = max(boxes.responses, key=lambda group: group[1])
    others = [group for group in boxes.responses if group != largest]
    lattice = _common_lattice(boxes.responses)
    if len(others) < 10:
        atoms = BlackBoxes.pure(tuple(others)).atom_count()
        if atoms <= _FEW_ATOMS and not (atoms > _VERY_FEW and lattice and lattice.is_small):
            return _OneLargeGroup(boxes, largest, others)
    halves = _split(boxes.responses)
    if halves is not None and not (lattice and lattice.is_small):
        return _MeetInTheMiddle(boxes, *halves)
    if lattice is not None:
        return _Lattice(boxes, lattice)
    return None


def _split(groups: Sequence[Group]) -> tuple[list[Group], list[Group]] | None:
    """Two halves of as equally many atoms as a greedy choice gives; None if they are too many."""
    halves: tuple[list[Group], list[Group]] = ([], [])
    sizes = [1, 1]
    for group in sorted(groups, key=lambda group: group[1], reverse=True):
        smaller = sizes.index(min(sizes))
        halves[smaller].append(group)
        sizes[smaller] *= group[1] + 1
        if sizes[smaller] > _LARGEST_HALF:
            return None
    return halves


def _group_atoms(group: Group) -> Atoms:
    """``count`` randomized responses of one epsilon: an atom for every number of lies."""
    epsilon, count = group
    masses = np.empty(count + 1)
    with working_precision(128):
        odds = (-arb(epsilon)).exp()
        term = (-count * odds.log1p()).exp()
        for lies in range(count + 1):
            masses[lies] = float(term)
            term = term * odds * (count - lies) / (lies + 1)
    losses = (count - 2.0 * np.arange(count + 1, dtype=np.float64)) * epsilon
    return Atoms(losses=losses, masses=masses, blur=count * epsilon * UNIT, error=2 * UNIT)


def _product_atoms(groups: Iterable[Group]) -> Atoms:
    product = Atoms(losses=np.zeros(1), masses=np.ones(1), blur=0.0, error=0.0)
    for group in groups:
        product = product @ _group_atoms(group)
    return product


class _OneLargeGroup(BlackBoxProfile):
    """Few atoms beside one group: a mixture of shifted closed forms, in ball arithmetic."""

    def __init__(self, boxes: BlackBoxes, largest: Group, others: Sequence[Group]) -> None:
        super().__init__(boxes)
        self._power = RandomizedResponsePower(BlackBoxes.pure((largest,)))
        with working_precision(256):
            self._atoms = tuple(BlackBoxes.pure(tuple(others)).atoms().items())

    def _pure_delta(self, epsilon: float) -> arb:
        def mixture(bits: int) -> arb:
            with working_precision(bits + 64):
                return sum(
                    (
                        mass * self._power.pure_curve(Fraction(epsilon) - loss, bits)
                        for loss, mass in self._atoms
                    ),
                    ZERO,
                )

        return refined(mixture)


class _MeetInTheMiddle(BlackBoxProfile):
    """Enumerate each half, sort one, and look every atom of the other up in it."""

    def __init__(self, boxes: BlackBoxes, left: Sequence[Group], right: Sequence[Group]) -> None:
        super().__init__(boxes)
        self._groups = left, right
        self.takes_long = math.prod(count + 1 for _, count in left) > _MANY_ATOMS

    @cached_property
    def _left(self) -> Atoms:
        atoms = _product_atoms(self._groups[0])
        order = np.argsort(atoms.losses)  # neighbours look in neighbouring places
        return replace(atoms, losses=atoms.losses[order], masses=atoms.masses[order])

    @cached_property
    def _right(self) -> AtomCurve:
        return AtomCurve(_product_atoms(self._groups[1]))

    def supports(self, at_most: int) -> Sequence[float]:
        """Fewer where each evaluation is a pass over a million atoms."""
        return super().supports(min(at_most, max(_MOST_LOOKUPS // self._left.losses.size, 17)))

    def _pure_delta(self, epsilon: float) -> arb:
        left = self._left
        return ball_of(
            mixture_bounds(
                left.losses, left.masses, self._right, epsilon, blur=left.blur, error=left.error
            )
        )


@dataclass(frozen=True, slots=True)
class _LatticeSteps:
    """Epsilons read as whole multiples of a base."""

    groups: Sequence[Group]
    multiples: Sequence[int]
    base: float

    @property
    def size(self) -> int:
        return sum(n * count for (_, count), n in zip(self.groups, self.multiples, strict=True))

    @property
    def is_small(self) -> bool:
        """Whether it is quicker than anything else, and its rounding below 1e-12."""
        count = sum(count for _, count in self.groups)
        return self.size <= _SMALL_LATTICE and self.size * count <= 1000 * _SMALL_LATTICE

    @property
    def blur(self) -> float:
        """How far a sum of the floats can be from its place on the lattice."""
        misreading = sum(
            abs(Fraction(epsilon) - n * Fraction(self.base)) * count
            for (epsilon, count), n in zip(self.groups, self.multiples, strict=True)
        )
        return (float(misreading) + UNIT * self.base * self.size) * 1.000001


def _common_lattice(groups: Sequence[Group]) -> _LatticeSteps | None:
    """The coarsest base of which every epsilon, read as a decimal, is a multiple."""
    if len(groups) ** 2 / 2 > _LARGEST_LATTICE:
        return None  # different whole multiples: they add up to more
    total = sum(epsilon * count for epsilon, count in groups)
    decimals, base = [], Fraction(0)
    for epsilon, _ in groups:
        decimals.append(Fraction(Decimal(repr(epsilon))))
        base = _common_divisor(base, decimals[-1])
        if total > 1.001 * _LARGEST_LATTICE * base:  # it only gets finer
            return None
    multiples = [int(decimal / base) for decimal in decimals]
    size = sum(n * count for (_, count), n in zip(groups, multiples, strict=True))
    work = size * sum(count for _, count in groups)
    if size > _LARGEST_LATTICE or work > _MOST_WORK:
        return None
    return _LatticeSteps(groups, multiples, float(base))


def _common_divisor(first: Fraction, second: Fraction) -> Fraction:
    """The largest of which both are multiples."""
    numerator = math.gcd(first.numerator * second.denominator, second.numerator * first.denominator)
    return Fraction(numerator, first.denominator * second.denominator)


class _Lattice(BlackBoxProfile):
    """Convolve one two-point step after another on a common lattice."""

    def __init__(self, boxes: BlackBoxes, steps: _LatticeSteps) -> None:
        super().__init__(boxes)
        self._steps = steps
        self.takes_long = not steps.is_small

    @cached_property
    def _curve(self) -> AtomCurve:
        steps = self._steps
        masses = np.zeros(steps.size + 1)
        masses[0], filled = 1.0, 1
        for (epsilon, count), multiple in zip(steps.groups, steps.multiples, strict=True):
            truth = 1 / (1 + math.exp(-epsilon))
            lie = math.exp(-epsilon) * truth
            for _ in range(count):
                old = masses[:filled].copy()
                masses[:filled] *= lie
                masses[multiple : filled + multiple] += truth * old
                filled += multiple
        losses = (2.0 * np.arange(steps.size + 1, dtype=np.float64) - steps.size) * steps.base
        count = sum(count for _, count in steps.groups)
        return AtomCurve(
            Atoms(losses=losses, masses=masses, blur=steps.blur, error=16 * count * UNIT)
        )

    def _pure_delta(self, epsilon: float) -> arb:
        return ball_of(self._curve.bounds(epsilon))
