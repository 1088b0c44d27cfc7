r"""The loss of Gaussian noise where a person is in a random one of several steps.

With :math:`P = \frac1t\sum_iN(\mu e_i, I)` and :math:`Q = N(0, I)` the ratio is the mean of t
independent ratios :math:`R_i = e^{\mu w_i-\mu^2/2}`, so the loss is the logarithm of a sum of
lognormals. Each ratio is cut into cells: the cell's mass at its ends, with the masses of both
worlds as they are, makes a pair that dominates; a cell as one outcome makes one that is dominated.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.loss.laws.batches.gathered import GatheredLoss
from quaestor.accounting.loss.laws.batches.ratio_sums import UNIT, RatioSum, scattered, sum_of
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.numerics.certified_arithmetic import certified_arithmetic

if TYPE_CHECKING:
    from quaestor.accounting.numerics.complexes import Floats

__all__ = ["allocated_losses", "least_allocated_losses"]

_FURTHEST = 13.5  # deviations, beyond which either world has less than
_BEYOND = 1e-40
_CELLS = 8192
_NODES = 6  # of the rule in a cell, a few hundredths wide: exact up to rounding
_ROUNDING = 1e-12  # of masses, and of the ratio of two
_ATOMS = 500


@lru_cache(maxsize=256)
def allocated_losses(mu: float, steps: int) -> tuple[GatheredLoss, GatheredLoss]:
    """More than is lost: removing, and adding."""
    with certified_arithmetic():
        law = sum_of(_ends(mu), steps)
        logs = np.log(law.values / law.terms)
        at = np.exp(_loss_places(logs, law.second))
        masses = scattered(law.values / law.terms, law.second, at)
        kept = masses > 0.0
        losses, second = np.log(at[kept]), np.log(masses[kept])
        lost = Bounds(lower=0.0, upper=law.lost)
        removing = GatheredLoss(
            losses,
            second + losses,
            second,
            infinite=lost,
            opposite=lost,
            blur=law.blur + 32 * UNIT,
            error=law.error + law.blur + 64 * UNIT,
        )
        return removing, removing.turned()


@lru_cache(maxsize=256)
def least_allocated_losses(mu: float, steps: int) -> tuple[GatheredLoss, GatheredLoss]:
    """Less than is lost: removing, and adding."""
    with certified_arithmetic():
        law = sum_of(_middles(mu), steps)
        logs = np.log(law.values / law.terms)
        places = _loss_places(logs, law.second)
        group = np.searchsorted(places, logs)
        first = law.second if law.first is None else law.first
        masses = [np.bincount(group, each, places.size + 1) for each in (first, law.second)]
        kept = (masses[0] > 0.0) & (masses[1] > 0.0)
        left_out = float(sum(np.sum(each[~kept]) for each in masses))
        lost = Bounds(lower=0.0, upper=law.lost + left_out)
        log_first, log_second = (np.log(each[kept]) for each in masses)
        removing = GatheredLoss(
            log_first - log_second,
            log_first,
            log_second,
            infinite=lost,
            opposite=lost,
            blur=2 * law.error,
            error=law.error,
        )
        return removing, removing.turned()


def _cells(mu: float) -> tuple[Floats, Floats, Floats]:
    """Edges of cells of the noise, and the masses between them in the second and first world."""
    edges = np.linspace(-_FURTHEST, _FURTHEST + mu, _CELLS + 1)
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    half = (edges[1:] - edges[:-1]) / 2
    at = ((edges[1:] + edges[:-1]) / 2)[:, None] + half[:, None] * nodes
    scale = half / math.sqrt(2 * math.pi)
    second, first = (scale * (np.exp(-((at - x) ** 2) / 2) @ weights) for x in (0.0, mu))
    return edges, second, first


def _ends(mu: float) -> RatioSum:
    edges, second, first = _cells(mu)
    ratios = np.exp(mu * edges - mu * mu / 2)
    share = np.clip((first / second / ratios[:-1] - 1.0) / np.expm1(mu * np.diff(edges)), 0.0, 1.0)
    masses = np.zeros(edges.size)
    masses[1:] += second * share
    masses[:-1] += second * (1.0 - share)
    return RatioSum(ratios, masses, None, 1, _BEYOND, _ROUNDING, _ROUNDING)


def _middles(mu: float) -> RatioSum:
    edges, second, first = _cells(mu)
    middles = (edges[1:] + edges[:-1]) / 2
    return RatioSum(
        np.exp(mu * middles - mu * mu / 2), second, first, 1, _BEYOND, _ROUNDING, _ROUNDING
    )


def _loss_places(logs: Floats, masses: Floats) -> Floats:
    """Losses around which atoms are gathered: dense where most of the mass is."""
    mean = float(masses @ logs)
    spread = math.sqrt(max(float(masses @ (logs - mean) ** 2), 1e-30))
    ends = [math.asinh((end - mean) / spread) for end in (float(logs[0]), float(logs[-1]))]
    places: Floats = mean + spread * np.sinh(np.linspace(ends[0], ends[1], _ATOMS))
    places[0], places[-1] = logs[0], logs[-1]
    return np.unique(places)
