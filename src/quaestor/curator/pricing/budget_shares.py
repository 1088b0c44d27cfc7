r"""How a budget is divided over the parts of a query: so that the errors are least together.

The criterion. Every aggregate has a *natural scale*, the most that one unit can move it: ``rows``
for a count, ``rows`` times the largest value for a sum, that by the number of rows for a mean.
What is made least is the sum over aggregates of the squared standard error in units of that scale.
(The number of rows, which is private, cancels.) It is linear in the variances of the parts' noise:
with weights w, the sum of the aggregates' own weights for the part,

.. math:: \sum_i w_i \frac{2s^2}{\varepsilon_i^2} \quad\text{or}\quad
   \sum_i w_i \frac{s}{2\rho_i},

where s is the number of groups that a unit may be in. Subject to :math:`\sum\varepsilon_i =
\varepsilon`, Lagrange's condition :math:`w_i/\varepsilon_i^3` = constant gives shares in proportion
to :math:`w_i^{1/3}`; subject to :math:`\sum\rho_i = \rho`, likewise to :math:`w_i^{1/2}`. A measure
that several aggregates share has the sum of their weights, so that sharing is rewarded.

Choices (of groups, of quantiles) count with the variance of their scores, in the same units. The
factors that bring them to the form above are here too. What a share buys is rounded to parameters
of few digits that keep within it exactly.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "Noise",
    "few_digits_down",
    "few_digits_up",
    "float_below",
    "least_real",
    "measure_weight",
    "quantile_weight",
    "roots",
    "selection_weight",
    "shares",
    "top_weight",
]

Noise = Literal["geometric", "gaussian"]
_FINENESS = 2**40


def roots(weights: Sequence[float], *, noise: Noise) -> tuple[float, ...]:
    """What the parts' budgets are in proportion to."""
    power = 1 / 3 if noise == "geometric" else 1 / 2
    return tuple(weight**power for weight in weights)


def shares(weights: Sequence[float], *, noise: Noise) -> tuple[Fraction, ...]:
    """Each part's share of the budget; never more than 1 together, exactly.

    >>> shares([1.0, 8.0], noise="geometric")[1] / shares([1.0, 8.0], noise="geometric")[0] < 2.001
    True
    """
    if len(weights) == 1:
        return (Fraction(1),)
    powers = roots(weights, noise=noise)
    total = math.fsum(powers) * (1 + 1e-12)
    return tuple(Fraction(math.floor(power / total * _FINENESS), _FINENESS) for power in powers)


def measure_weight(weight: float, *, spread: int, noise: Noise) -> float:
    r"""Of noise on a measure: :math:`2s^2/\varepsilon^2` or :math:`s/2\rho`."""
    return weight * (spread**2 if noise == "geometric" else spread)


def selection_weight(weight: float, *, spread: int, noise: Noise) -> float:
    r"""Of the noise by which groups are shown, as one aggregate more than use it otherwise.

    It is geometric whatever the rest is; with :math:`\rho = s\varepsilon^2/2` its variance is
    :math:`s/\rho`.
    """
    return (1 + weight) * (spread**2 if noise == "geometric" else 2 * spread)


def top_weight(*, count: int, monotonic: bool, noise: Noise) -> float:
    r"""Of choosing k groups: an exponential law of rate :math:`\varepsilon_c/2\Delta` for each.

    A choice costs its bounded range, :math:`\varepsilon_c` or half of it if monotonic, and an
    eighth of the range's square in rho.
    """
    if noise == "geometric":
        return count**2 / 2 if monotonic else 2.0 * count**2
    return count / 4 if monotonic else float(count)


def quantile_weight(weight: float, probability: float, *, spread: int, noise: Noise) -> float:
    r"""Of a quantile: a Laplace law of rate :math:`\varepsilon/2\Delta`, in ranks.

    :math:`\Delta` is max(p, 1 - p) times the rows of a unit.
    """
    lean = max(probability, 1 - probability) ** 2
    return weight * lean * (4 * spread**2 if noise == "geometric" else 2 * spread)


_DIGITS = 6
_STEP = 1e-6
_PRECISE = 1e-9


def float_below(value: Fraction) -> float:
    """The largest float that is not above a positive fraction.

    >>> from fractions import Fraction
    >>> Fraction(float_below(Fraction(1, 3))) < Fraction(1, 3)
    True
    """
    nearest = float(value)
    return nearest if nearest <= value else math.nextafter(nearest, 0.0)


def few_digits_up(value: float, holds: Callable[[float], bool]) -> float:
    """The first number of six digits from ``value`` on for which ``holds`` is true.

    >>> few_digits_up(3.3333333333, lambda scale: 0.3 * scale >= 1)
    3.33334
    """
    found = _rounded(value, ROUND_CEILING)
    while not holds(found):
        found = _rounded(found * (1 + _STEP), ROUND_CEILING)
    return found


def few_digits_down(value: float, holds: Callable[[float], bool]) -> float:
    """The first number of six digits from ``value`` downwards for which ``holds`` is true."""
    found = _rounded(value, ROUND_FLOOR)
    while not holds(found):
        found = _rounded(found * (1 - _STEP), ROUND_FLOOR)
    return found


def _rounded(value: float, rounding: str) -> float:
    return float(Context(prec=_DIGITS, rounding=rounding).create_decimal(Decimal(value)))


def least_real(holds: Callable[[float], bool], *, low: float, high: float) -> float | None:
    """The least number for which ``holds`` is true, to nine digits; None if it never is.

    ``holds`` is true from some number on. What is returned is one for which it was seen true.
    """
    if not holds(high):
        return None
    if holds(low):
        return low
    while high > low * (1 + _PRECISE):
        middle = math.sqrt(low) * math.sqrt(high)
        if not low < middle < high:
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
