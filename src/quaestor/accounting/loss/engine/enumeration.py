"""Few losses with few values, few times: every sum of them, listed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.numerics.atoms import UNIT, AtomCurve, Atoms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.accounting.loss.engine.loss_sum import Product
    from quaestor.accounting.loss.laws.law import Law, Values
    from quaestor.accounting.numerics.complexes import Floats

__all__ = ["enumerated", "listed_atoms"]

_MOST_SUMS = 1 << 17
_LARGEST_COUNT = 2000  # beyond this the line is better
_MOST_VALUES = 64  # of one loss that comes more than once


def enumerated(product: Product) -> AtomCurve | None:
    """The exact curve of a product that has few different sums; None if they are many."""
    atoms = listed_atoms(product.terms)
    return None if atoms is None else AtomCurve(atoms)


def listed_atoms(terms: Sequence[tuple[Law, int]], *, most: int = _MOST_SUMS) -> Atoms | None:
    """All sums of losses, each with its count; None if there are more than ``most``."""
    groups: list[Values] = []
    blur = error = 0.0
    for law, count in terms:
        values = law.few_values(count)
        if values is None:
            return None
        groups += values
        blur, error = blur + count * law.blur, error + 2 * count * law.doubt
    sums = 1
    for losses, _, count in groups:
        if count > _LARGEST_COUNT or (losses.size > _MOST_VALUES and count > 1):
            return None
        sums *= math.comb(count + losses.size - 1, losses.size - 1)
        if sums > most:
            return None
    atoms = Atoms(losses=np.zeros(1), masses=np.ones(1), blur=0.0, error=0.0)
    for losses, log_masses, count in groups:
        atoms = atoms @ _power(losses, log_masses, count)
    return replace(atoms, blur=atoms.blur + blur, error=atoms.error + error)


def _power(losses: Floats, log_masses: Floats, count: int) -> Atoms:
    """``count`` independent copies: one atom for every way to share the count among the values.

    A log-mass is off by eight units. Those that are below -750 by more than the number of ways
    can make up for belong to masses that underflow, and are accounted for as such.
    """
    largest = float(np.max(np.abs(log_masses)))
    if count == 1:
        return Atoms(
            losses=losses,
            masses=np.exp(log_masses),
            blur=8 * UNIT * float(np.max(np.abs(losses))),
            error=UNIT * (16 + 16 * min(largest, 750.0)),
        )
    shares = np.zeros((1, 0))
    left = np.array([float(count)])
    for _ in range(losses.size - 1):
        options = [np.arange(rest + 1.0) for rest in left]
        rows = np.repeat(np.arange(left.size), [len(option) for option in options])
        taken = np.concatenate(options)
        shares = np.column_stack((shares[rows], taken))
        left = left[rows] - taken
    shares = np.column_stack((shares, left))
    factorials = np.array([math.lgamma(i + 1.0) for i in range(count + 1)])
    logs = factorials[count] - np.sum(factorials[shares.astype(int)], axis=1)
    logs = logs + shares @ log_masses
    ways = float(factorials[count]) + count
    size = ways + min(count * largest, 750.0 + ways)
    return Atoms(
        losses=shares @ losses,
        masses=np.exp(logs),
        blur=32 * UNIT * (count + losses.size) * float(np.max(np.abs(losses))),
        error=UNIT * (64 + 32 * losses.size) * size,
    )
