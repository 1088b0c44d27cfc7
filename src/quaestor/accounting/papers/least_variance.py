r"""How much noise k answers need: the least variance that fits a target, beside the papers'.

Section 4.1 of Kairouz, Oh and Viswanath gives the variance
:math:`8k\Delta^2\ln(e+\varepsilon/\delta)/\varepsilon^2` for Laplace noise (Corollary 4.2, for
epsilon up to 0.9) and Gaussian noise (Theorem 4.3, for any epsilon; that is too much said, it holds
for :math:`\varepsilon \le 8\ln(e+\varepsilon/\delta)`), and of the same order for staircase noise.
The least variance follows from the loss itself, by calibration. Sensitivity is 1 throughout; any
other multiplies each variance by its square.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quaestor.accounting.calibrate import calibrate
from quaestor.accounting.releases import (
    Gaussian,
    Geometric,
    Laplace,
    Release,
    Staircase,
)
from quaestor.accounting.releases.base import check_count, check_real
from quaestor.accounting.releases.staircase import staircase_variance

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["VarianceRow", "least_variances", "paper_variance", "staircase_variance"]

_GOLDEN = (math.sqrt(5) - 1) / 2
_TURNS = 4  # of the search for gamma, on which little depends


@dataclass(frozen=True, slots=True, kw_only=True)
class VarianceRow:
    """One kind of noise: the release that fits, its variance, and what the paper asks for.

    ``source`` names the statement, or is empty where there is none; ``stated`` says whether the
    target lies in the range for which that is proved.
    """

    release: Release
    variance: float
    paper: float | None
    source: str
    stated: bool


def paper_variance(*, epsilon: float, delta: float, count: int) -> float:
    """The variance of Corollary 4.2 and Theorem 4.3, for sensitivity 1.

    >>> round(paper_variance(epsilon=0.5, delta=1e-6, count=100), 1)
    41991.6
    """
    return 8 * count * math.log(math.e + epsilon / delta) / epsilon**2


def least_variances(*, epsilon: float, delta: float, count: int) -> tuple[VarianceRow, ...]:
    """The least noise of each kind with which ``count`` answers fit the target.

    Every release fits by a certified upper bound. The staircase's gamma is searched for, too, and
    may not be the very best.
    """
    epsilon = check_real("epsilon", epsilon, low=1e-6, high=1e3)
    delta = check_real("delta", delta, low=1e-290, high=1.0)
    count = check_count("count", count)

    def fitted(build: Callable[[float], Release]) -> Release:
        return build(calibrate(lambda x: build(x) * count, epsilon=epsilon, delta=delta))

    gaussian = fitted(lambda sigma: Gaussian(sigma=sigma))
    laplace = fitted(lambda scale: Laplace(scale=scale))
    geometric = fitted(lambda scale: Geometric(scale=scale))
    staircase = _best_staircase(fitted)
    paper = paper_variance(epsilon=epsilon, delta=delta, count=count)
    holds = epsilon <= 8 * math.log(math.e + epsilon / delta)
    return (
        _row(gaussian, paper, "Kairouz-Oh-Viswanath 4.3", stated=holds),
        _row(laplace, paper, "Kairouz-Oh-Viswanath 4.2", stated=epsilon <= 0.9),
        _row(geometric, None, "", stated=False),
        _row(staircase, None, "", stated=False),
    )


def _row(release: Release, paper: float | None, source: str, *, stated: bool) -> VarianceRow:
    return VarianceRow(
        release=release, variance=_variance(release), paper=paper, source=source, stated=stated
    )


def _variance(release: Release) -> float:
    variance = release.noise_variance()
    assert variance is not None  # noqa: S101  # every kind of noise above knows it
    return variance


def _best_staircase(fitted: Callable[[Callable[[float], Release]], Release]) -> Release:
    """Golden section in gamma; the epsilon of one answer is calibrated for each."""

    def tried(gamma: float) -> tuple[float, Release]:
        release = fitted(lambda epsilon: Staircase(epsilon=epsilon, gamma=gamma))
        return _variance(release), release

    left, right = 0.0, 0.5
    inner, outer = right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)
    at_inner, at_outer = tried(inner), tried(outer)
    best = min(at_inner, at_outer, tried(0.5), key=lambda each: each[0])
    for _ in range(_TURNS):
        if at_inner[0] < at_outer[0]:
            right, outer, at_outer = outer, inner, at_inner
            inner = right - _GOLDEN * (right - left)
            at_inner = tried(inner)
        else:
            left, inner, at_inner = inner, outer, at_outer
            outer = left + _GOLDEN * (right - left)
            at_outer = tried(outer)
        best = min(best, at_inner, at_outer, key=lambda each: each[0])
    return best[1]
