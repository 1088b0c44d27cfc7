r"""Two laws with atoms around one law: one that tells less, and one that tells more.

Let a cell of outcomes have the probabilities p and q under the two hypotheses. To merge it into one
outcome, whose loss is :math:`\log(p/q)`, is post-processing: it tells less. To split it into two
outcomes, one with the least and one with the largest loss of the cell, so that p and q stay what
they are, tells more: merging the two and drawing from the cell would give it back.
So the loss of an outcome is moved to a lattice of gap h in two ways.

*More.* An atom between two places of the lattice, w above the lower one, is split: the share
:math:`(1-e^{-w})/(1-e^{-h})` goes up.

*Less.* All atoms next to a place are merged. What they lose on average is not yet the loss of that
place; but as much of a neighbour can be merged into them as makes it so. That is done a few times,
for a neighbour gives some away as well. What is still too low goes one place down.

Either way the error is of the second order in the gap, for atoms away from the lattice as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from quaestor.accounting.loss.laws.lattices.lattice_loss import LatticeLoss
from quaestor.accounting.loss.laws.law import Lattice
from quaestor.accounting.numerics.complexes import UNIT
from quaestor.errors import BeyondFloats

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from quaestor.accounting.numerics.atoms import Atoms
    from quaestor.accounting.numerics.complexes import Floats

__all__ = ["Bracket", "lowered", "raised"]

_ROUNDS = 8
_MOST_GIVEN = 0.45  # of an atom, to either neighbour in one round
_MOST_PLACES = 1 << 20
_NEAR = 1e-3  # of a gap: what may be too low without going down


class Bracket(NamedTuple):
    """A law that tells less, one that tells more, and the probability of what neither has."""

    less: Atoms
    more: Atoms
    lost: float


class _LatticePlaces(NamedTuple):
    """The places of a lattice next to some losses, counted from the first, and how far off."""

    steps: NDArray[np.intp]
    ways: Floats
    lattice: Lattice
    blur: float

    @classmethod
    def of(cls, losses: Floats, anchor: float, gap: float, *, nearest: bool) -> _LatticePlaces:
        """The place below each loss, or the nearest one; the anchor is one of the places.

        The ways are off by some units of all that they are the differences of.
        """
        turns = np.floor((losses - anchor) / gap + (0.5 if nearest else 0.0))
        if float(np.ptp(turns)) > _MOST_PLACES:
            raise BeyondFloats("the losses are too far apart for a lattice")
        ways = losses - anchor - gap * turns
        first = int(np.min(turns)) - 1
        sizes = np.abs(losses) + abs(anchor) + gap * (np.abs(turns) + 2)
        low, high = (-gap / 2, gap / 2) if nearest else (0.0, gap)
        return cls(
            turns.astype(np.intp) - first,
            np.clip(ways, low, high),
            Lattice(anchor + gap * first, gap),
            16 * UNIT * float(np.max(sizes)),
        )


def raised(bracket: Bracket, anchor: float, gap: float) -> LatticeLoss:
    """The law that tells more, on the lattice of this gap through the anchor."""
    atoms = bracket.more
    places = _LatticePlaces.of(atoms.losses, anchor, gap, nearest=False)
    shares = np.expm1(-places.ways) / np.expm1(-gap)
    size = int(np.max(places.steps)) + 2
    masses = _gathered(places.steps, atoms.masses * (1 - shares), size)
    masses = masses + _gathered(places.steps + 1, atoms.masses * shares, size)
    return LatticeLoss(
        places.lattice,
        masses,
        blur=atoms.blur + places.blur + 16 * UNIT * gap,
        doubt=atoms.error + UNIT * (32 + 2 * _largest_crowd(places.steps)),
        lost=bracket.lost,
    )


def lowered(bracket: Bracket, anchor: float, gap: float) -> LatticeLoss:
    """The law that tells less, on the lattice of this gap through the anchor."""
    atoms = bracket.less
    places = _LatticePlaces.of(atoms.losses, anchor, gap, nearest=True)
    size = int(np.max(places.steps)) + 2
    masses = _gathered(places.steps, atoms.masses, size)
    excess = _gathered(places.steps, -atoms.masses * np.expm1(-places.ways), size)
    crowd = _largest_crowd(places.steps)
    for _ in range(_ROUNDS):
        masses, excess = _merged(masses, excess, gap)
    above = _over(excess, masses)
    deep = above < -_NEAR * gap
    moved = np.where(deep & (above > -0.999 * np.expm1(gap)), masses, 0.0)  # or not even there
    masses = np.where(deep, 0.0, masses)
    masses[:-1] += moved[1:]
    too_low = float(np.max(-np.where(deep, 0.0, above), initial=0.0))
    return LatticeLoss(
        places.lattice,
        masses,
        blur=atoms.blur + places.blur + too_low * (1 + 1e-9) + UNIT * gap * (1024 + 2 * crowd),
        doubt=atoms.error + UNIT * (64 + 32 * _ROUNDS + 2 * crowd),
        lost=bracket.lost,
    )


def _merged(masses: Floats, excess: Floats, gap: float) -> tuple[Floats, Floats]:
    r"""Each place with as much of a neighbour as brings its loss to the lattice, if that has it.

    The excess of a place is by what its mass p is more than :math:`e^g` times q, g its loss on the
    lattice. Shares of positive masses are added, so that rounding is relative; those that stay
    are at least a tenth, each off by at most twelve units.
    """
    above = _over(excess, masses)
    # what one unit of mass of the neighbour has in excess of this place's loss
    below_here = np.concatenate(([0.0], np.exp(gap) * above[:-1] - np.expm1(gap)))
    above_here = np.concatenate((np.exp(-gap) * above[1:] - np.expm1(-gap), [0.0]))
    wanted_below = _over(np.maximum(excess, 0.0), -below_here)
    wanted_above = _over(np.maximum(-excess, 0.0), above_here)
    up = np.minimum(_over(wanted_below[1:], masses[:-1]), _MOST_GIVEN)
    down = np.minimum(_over(wanted_above[:-1], masses[1:]), _MOST_GIVEN)
    stays = 1.0 - np.append(up, 0.0) - np.concatenate(([0.0], down))
    from_below = np.concatenate(([0.0], up * masses[:-1]))
    from_above = np.append(down * masses[1:], 0.0)
    merged = masses * stays + from_below + from_above
    return merged, excess * stays + from_below * below_here + from_above * above_here


def _over(parts: Floats, whole: Floats) -> Floats:
    """The quotient, and 0 where there is nothing to divide by."""
    there = whole > 1e-290
    quotient: Floats = np.where(there, parts, 0.0) / np.where(there, whole, 1.0)
    return quotient


def _gathered(index: NDArray[np.intp], weights: Floats, size: int) -> Floats:
    return np.asarray(np.bincount(index, weights=weights, minlength=size), np.float64)


def _largest_crowd(index: NDArray[np.intp]) -> int:
    """The most that are added in one place, one after another."""
    return int(np.max(np.bincount(index)))
