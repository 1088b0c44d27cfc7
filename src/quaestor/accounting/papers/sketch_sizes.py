r"""How many rows and how much weight a sketch needs: exactly, beside the papers' formulas.

A sketch of r rows multiplies whatever it is asked for by :math:`\chi^2_r/r`. Rows therefore follow
from the tails of chi-square, and the weight from the sketch's own loss, by calibration. The papers
bound both: Blocki, Blum, Datta, Sheffet (2012), as Kairouz, Oh and Viswanath state it (Appendix D),
and with their Theorem 3.4 in place of advanced composition.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from flint import arb

from quaestor.accounting.calibrate import calibrate
from quaestor.accounting.numerics.balls import rational, working_precision
from quaestor.accounting.numerics.chi_square import chi_square_tails
from quaestor.accounting.releases import GraphSketch, MatrixSketch
from quaestor.accounting.releases.base import check_count, check_real
from quaestor.accounting.releases.sketch import MOST_ROWS
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "SketchRow",
    "bbds_graph_weight",
    "bbds_matrix_weight",
    "bbds_rows",
    "check_probability",
    "kov_graph_weight",
    "least_rows",
    "least_weight",
    "relative_error",
    "sketch_weights",
]

_BITS = 128
_KINDS: dict[str, type[GraphSketch | MatrixSketch]] = {
    "graph": GraphSketch,
    "matrix": MatrixSketch,
}


def bbds_rows(*, eta: float, nu: float) -> int:
    """The rows of Lemma 1: 8 ln(2/nu)/eta^2.

    >>> bbds_rows(eta=0.1, nu=0.05)
    2952
    """
    return math.ceil(8 * math.log(2 / nu) / eta**2)


def bbds_graph_weight(*, rows: int, epsilon: float, delta: float) -> float:
    """The weight of the paper's pseudo-code, sqrt(32 r ln(2/delta)) ln(4r/delta)/epsilon.

    Stated for epsilon below 1, and for graphs of more nodes than that.

    >>> round(bbds_graph_weight(rows=2952, epsilon=1.0, delta=1e-6))
    27151
    """
    return math.sqrt(32 * rows * math.log(2 / delta)) * math.log(4 * rows / delta) / epsilon


def kov_graph_weight(*, rows: int, epsilon: float, delta: float) -> float:
    """The weight by Theorem 3.4: 4 sqrt(4 r ln(e + 2 epsilon/delta)) ln(4r/delta)/epsilon.

    The constant before the root is 4 here and 2 sqrt(2) in the pseudo-code, so that this one is the
    larger unless epsilon and delta are of one size.

    >>> round(kov_graph_weight(rows=2952, epsilon=1.0, delta=1e-6))
    38397
    """
    root = math.sqrt(4 * rows * math.log(math.e + 2 * epsilon / delta))
    return 4 * root * math.log(4 * rows / delta) / epsilon


def bbds_matrix_weight(*, rows: int, epsilon: float, delta: float) -> float:
    """The least singular value for variances, 16 sqrt(r ln(2/delta)) ln(16r/delta)/epsilon."""
    return 16 * math.sqrt(rows * math.log(2 / delta)) * math.log(16 * rows / delta) / epsilon


def check_probability(field: str, value: object) -> float:
    """A number strictly between 0 and 1, or :class:`InvalidParameter`."""
    number = check_real(field, value, low=1e-200, high=1.0)
    if number == 1.0:
        raise InvalidParameter(field, value, "a number in [1e-200, 1)")
    return number


def _keeps(rows: int, eta: float, nu: float) -> bool:
    r"""Whether certainly :math:`P(|\chi^2_r/r-1| > \eta) \le \nu`."""
    with working_precision(_BITS):
        half, gap = arb(rows) / 2, arb(eta)
        above = chi_square_tails(rows, half * (1 + gap))[1]
        return bool(above + chi_square_tails(rows, half * (1 - gap))[0] <= rational(Fraction(nu)))


@lru_cache(maxsize=256)
def relative_error(*, rows: int, nu: float) -> float:
    r"""The least eta with :math:`P(|\chi^2_r/r-1| > \eta) \le \nu`, rounded up.

    >>> round(relative_error(rows=768, nu=0.05), 4)
    0.0999
    """
    rows = check_count("rows", rows, largest=MOST_ROWS)
    nu = check_probability("nu", nu)
    low, high = 0.0, 1.0
    while not _keeps(rows, high, nu):
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if _keeps(rows, middle, nu) else (middle, high)
    return high


def least_rows(*, eta: float, nu: float) -> int:
    r"""The rows from which on :math:`P(|\chi^2_r/r-1| > \eta) \le \nu`: certified for the answer.

    That one row fewer would not do is checked, too; that still fewer would not is taken from the
    tails' falling in r.

    >>> least_rows(eta=0.1, nu=0.05)
    768
    """
    eta = check_real("eta", eta, low=1e-3, high=10.0)
    nu = check_probability("nu", nu)
    bad, good = 0, 1
    while not _keeps(good, eta, nu):
        bad, good = good, 2 * good
        if good > MOST_ROWS:
            raise InvalidParameter("eta", eta, f"one for which {MOST_ROWS} rows suffice")
    while good - bad > 1:
        middle = (bad + good) // 2
        bad, good = (bad, middle) if _keeps(middle, eta, nu) else (middle, good)
    return good


def least_weight(
    kind: str, *, rows: int, epsilon: float, delta: float, sensitivity: float = 1.0
) -> float:
    """The least weight with which a ``"graph"`` or ``"matrix"`` sketch is (epsilon, delta)-DP.

    Only the ratio of weight and sensitivity matters; the product is rounded up.

    >>> round(least_weight("graph", rows=768, epsilon=1.0, delta=1e-6), 1)
    176.6
    """
    build = _KINDS.get(kind)
    if build is None:
        raise InvalidParameter("kind", kind, f"one of {', '.join(_KINDS)}")
    epsilon = check_real("epsilon", epsilon, low=1e-6, high=1e3)
    delta = check_real("delta", delta, low=1e-200, high=0.9)
    rows = build(rows=rows, weight=1.0).rows
    weight = calibrate(lambda weight: build(rows=rows, weight=weight), epsilon=epsilon, delta=delta)
    if sensitivity == 1.0:
        return weight
    sensitivity = build(rows=1, weight=1.0, sensitivity=sensitivity).sensitivity
    return math.nextafter(weight * sensitivity, math.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class SketchRow:
    """What one source asks for: rows, and weight."""

    kind: str
    source: str
    rows: int
    weight: float


def sketch_weights(*, epsilon: float, delta: float, eta: float, nu: float) -> tuple[SketchRow, ...]:
    """Rows and weights for a target: exact, and by the papers' formulas, for sensitivity 1."""
    rows, stated = least_rows(eta=eta, nu=nu), bbds_rows(eta=eta, nu=nu)
    found: list[SketchRow] = []
    formulas: dict[str, dict[str, Callable[..., float]]] = {
        "graph": {
            "Blocki et al. 2012": bbds_graph_weight,
            "Kairouz-Oh-Viswanath": kov_graph_weight,
        },
        "matrix": {"Blocki et al. 2012": bbds_matrix_weight},
    }
    for kind, papers in formulas.items():
        for source, count in (("exact", rows), ("exact, rows of the paper", stated)):
            weight = least_weight(kind, rows=count, epsilon=epsilon, delta=delta)
            found.append(SketchRow(kind=kind, source=source, rows=count, weight=weight))
        for source, formula in papers.items():
            weight = formula(rows=stated, epsilon=epsilon, delta=delta)
            found.append(SketchRow(kind=kind, source=source, rows=stated, weight=weight))
    return tuple(found)
