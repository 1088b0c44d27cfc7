r"""Sums of :math:`we^{itL}` at many evenly spaced t: every place is spread over a lattice.

With t = 0, step, ..., and a lattice of M places whose gap g makes :math:`Mg\cdot step = 2\pi`, the
sums over losses *on* the lattice are one Fourier transform. A loss between is replaced by the 2r
lattice places around it, with Lagrange's weights. What these leave out of :math:`e^{itL}` is at
most :math:`(tg)^{2r}/(2r)!` times the product of the 2r ways, which is largest in the middle: at
most :math:`(tg/2)^{2r}/\sqrt{\pi r}`. That is least at small t, where the moments are largest.

*Rounding.* A weight is the product of 2r factors, each off by a unit. The sizes of all weights of
one loss sum up to less than 2, and, added one after another from the furthest place to the nearest,
the sums on the way to less than 5: so many units for every loss that is added in one place.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from quaestor.accounting.numerics.complexes import UNIT
from quaestor.accounting.numerics.transform_sizes import smooth_size
from quaestor.errors import BeyondFloats

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["EvenSums", "even_sums", "lagrange_weights"]

AROUND = 8  # lattice places on either side of a loss
_FINER = 4  # times as many lattice places as the fastest turn needs
_SIZES, _ON_THE_WAY = 2.0, 5.0  # see above
_LARGEST = 1 << 23  # transform
_NODES = sorted(range(1 - AROUND, AROUND + 1), key=lambda node: -abs(2 * node - 1))
_SCALES = [1 / math.prod(node - other for other in _NODES if other != node) for node in _NODES]


class EvenSums(NamedTuple):
    """Sums at t = 0, step, ..., a row for each law; and the share of all w they are off by."""

    values: Complexes
    off: Floats


def even_sums(
    weights: Floats, losses: Floats, rows: NDArray[np.intp], *, step: float, count: int
) -> EvenSums:
    """The sums of w e^(itL), for weights that are not negative.

    Losses come in blocks of neighbours, those of the laws 0, 1, ... in this order; ``rows`` says of
    which law each block is. Besides what is said of the sums, angles are off by 8 units of
    themselves.
    """
    if not 2 * _FINER * count < _LARGEST:
        raise BeyondFloats("a line has too many points for a transform")
    size = smooth_size(2 * _FINER * count)
    number, block = int(rows[-1]) + 1, losses.shape[1]
    turns = losses * (step * size / (2 * math.pi))
    floors = np.floor(turns)
    spread = lagrange_weights((turns - floors).ravel()) * weights.ravel()
    places = np.mod(floors, size).astype(np.intp) + ((size + 2 * AROUND) * rows)[:, None]
    alone = np.all(floors == floors[:, :1], axis=1)  # all next to one place: added up at once
    joined = spread.reshape(-1, *losses.shape)[:, alone].sum(axis=2)
    apart = np.repeat(~alone, block)
    spread = np.concatenate((joined, spread[:, apart]), axis=1)
    first = np.concatenate((places[alone, 0], places.ravel()[apart]))
    crowd = int(np.max(np.bincount(first)))
    lattices = np.bincount(
        (first + (np.array(_NODES)[:, None] + AROUND)).ravel(),
        weights=spread.ravel(),
        minlength=number * (size + 2 * AROUND),
    ).reshape(number, -1)
    lattices[:, size : size + AROUND] += lattices[:, :AROUND]  # before the first is at the end
    lattices[:, AROUND : 2 * AROUND] += lattices[:, -AROUND:]
    values = np.conj(np.fft.rfft(lattices[:, AROUND:-AROUND], axis=1)[:, :count])
    angles = math.pi / size * np.arange(count) * (1 + 1e-9)  # t times half a gap
    between = angles ** (2 * AROUND) / math.sqrt(math.pi * AROUND) * 1.001
    units = 64 + 4 * AROUND + block + 8 * (math.log2(size) + 4)
    off = UNIT * (_SIZES * units + _ON_THE_WAY * crowd)
    return EvenSums(np.asarray(values, np.complex128), between + off)


def lagrange_weights(ways: Floats) -> Floats:
    """The weights of lattice places for points between 0 and 1: a row for each, furthest first."""
    differences = [ways - node for node in _NODES]
    weights = np.empty((len(_NODES), ways.size))
    before = np.ones(ways.shape)
    for row, difference, scale in zip(weights, differences, _SCALES, strict=True):
        np.multiply(before, scale, out=row)
        before = before * difference
    after = np.ones(ways.shape)
    for row, difference in zip(weights[::-1], differences[::-1], strict=True):
        np.multiply(row, after, out=row)
        after = after * difference
    return weights
