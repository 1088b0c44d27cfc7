r"""A rho-zero-concentrated pair whose moment of one order is nearly all that is promised.

One rare outcome has the loss l and the probability p, all others together hardly any loss:
:math:`l_0 = \log\frac{1-p}{1-pe^{-l}} < 0`. It is zero-concentrated with rho if, for all
:math:`\lambda > 0`,

.. math:: pe^{\lambda l}+(1-p)e^{\lambda l_0} \le pe^{\lambda l}+1-p \le e^{\lambda(\lambda+1)\rho},
    \qquad\text{so if}\qquad p \le \inf_{\lambda>0}
    \frac{e^{\lambda(\lambda+1)\rho}-1}{e^{\lambda l}-1}.

From :math:`\lambda = l/\rho` on the quotient is at least 1, and near 0 it rises to
:math:`\rho/l` at least: of a stretch [a, b] it is at least the numerator at a over the denominator
at b, and of [0, b] at least :math:`\rho b/(e^{bl}-1)`. Turned round,
:math:`E_Q[e^{-\lambda L}] \le (1-p)^{-\lambda} \le e^{\lambda\rho}` if :math:`p \le 1-e^{-\rho}`.

With :math:`l = (2\lambda+1)\rho` the infimum is next to this :math:`\lambda`, where p is within the
share :math:`e^{-\lambda(\lambda+1)\rho}` of the most that the moment of this order allows: the
moment bound is attained but for so little, and the Gaussian is far from the worst.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.loss.laws.finite import FiniteLoss
from quaestor.accounting.numerics.certified_arithmetic import certified_arithmetic, rough_arithmetic

if TYPE_CHECKING:
    from quaestor.accounting.numerics.complexes import Floats

__all__ = ["concentrated_pair"]

_STRETCHES = 512
_CLOSE = 1e-5  # relative: how far below the infimum p may be
_MOST_ROUNDS = 40
_MOST_STRETCHES = 1 << 16  # at once; more are left where the quotient is flat, and little is gained
_LARGEST, _STEEPEST = 300.0, 1e5  # exponents, of which floats hold enough digits
_FAR = 30.0
_DOWN = 1 - 1e-9  # for the rounding of a few exponentials


def concentrated_pair(rho: float, order: float) -> FiniteLoss | None:
    """The pair for a moment of this order; None where this proof has none."""
    loss = (2 * order + 1) * rho
    if not (1e-12 < rho < 100.0 and 1e-9 < loss < _LARGEST and loss * loss / rho < _STEEPEST):
        return None
    chance = _largest_chance(rho, loss)
    if not 1e-290 < chance < min(0.5, -math.expm1(-rho) * _DOWN):
        return None
    rare = math.log(chance)
    most, other = math.log1p(-chance), math.log1p(-math.exp(rare - loss))
    with certified_arithmetic():
        return FiniteLoss(
            np.array([loss, most - other]),
            np.array([rare, most]),
            np.array([rare - loss, other]),
            blur=2.0**-48 * (1 - rare + loss),
        )


def _largest_chance(rho: float, loss: float) -> float:
    """At most the infimum, and little less: stretches are halved where it may lie."""
    ends = loss / rho * np.linspace(0.0, 1.0, _STRETCHES + 1)
    low, high = ends[:-1], ends[1:]
    settled = 0.0  # logarithms: from l/rho on
    for _ in range(_MOST_ROUNDS):
        with rough_arithmetic():  # beyond floats nothing is certain, and p is 0
            above = np.where(low > 0.0, low * (low + 1), high) * rho
            logs = _log_expm1(above) - _log_expm1(high * loss)
            first = low == 0.0
            logs[first] = math.log(rho) + np.log(high[first]) - _log_expm1(high[first] * loss)
            at_ends = float(np.min(_log_expm1(high * (high + 1) * rho) - _log_expm1(high * loss)))
        least = float(np.min(logs))
        if not math.isfinite(least):
            return 0.0
        open_ = logs < at_ends - _CLOSE
        settled = min(settled, float(np.min(logs[~open_], initial=settled)))
        if not np.any(open_):
            return math.exp(settled) * _DOWN
        if 2 * np.count_nonzero(open_) > _MOST_STRETCHES:
            break
        middles = (low[open_] + high[open_]) / 2
        low, high = (
            np.concatenate((low[open_], middles)),
            np.concatenate((middles, high[open_])),
        )
    return math.exp(min(settled, least)) * _DOWN


def _log_expm1(x: Floats) -> Floats:
    logs: Floats = np.where(
        x > _FAR,
        x + np.log1p(-np.exp(-np.maximum(x, _FAR))),
        np.log(np.expm1(np.minimum(x, _FAR))),
    )
    return logs
