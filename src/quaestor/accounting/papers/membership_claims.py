r"""What the paper claims, by name, for comparison; nothing here is ever chosen by the library.

Paper:
    Hartmann, Bindschaedler, West, "On the Choice of Databases in Differential Privacy
    Composition", Section V-B and Appendix A.

The formula :math:`\varepsilon = \ln\sum_i w_i e^{\varepsilon_i}`, :math:`\delta = \sum_i w_i
\delta_i` for matched tuples is sound in one case only: a mixture against a *point*, in that
direction. In the other direction, and where the tuples differ, its delta is too small; for two
mixtures even its epsilon is. So every claim says whether it is sound.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from flint import arb

from quaestor.accounting.compose import compose
from quaestor.accounting.numerics.balls import ZERO, outward, rational, working_precision
from quaestor.accounting.releases import ApproxDP
from quaestor.errors import TheoremDoesNotApply

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from quaestor.accounting.releases import Release

__all__ = [
    "PaperClaim",
    "corollary_6",
    "corollary_7",
    "half_sampled",
    "mixture_formula",
    "refine_tuples",
    "theorem_3",
]


class PaperClaim(NamedTuple):
    """An (epsilon, delta) that the paper claims, rounded up; and whether it is true in general."""

    epsilon: float
    delta: float
    sound: bool
    note: str


def _boxes(releases: Iterable[Release]) -> list[ApproxDP]:
    boxes = []
    for release in releases:
        if release.black_box is None:
            raise TheoremDoesNotApply(f"applies to (epsilon, delta) releases only; got {release}")
        epsilon, delta = release.black_box
        boxes.append(ApproxDP(epsilon=epsilon, delta=delta))
    if not boxes:
        raise TheoremDoesNotApply("needs at least one release")
    return boxes


def half_sampled(release: Release) -> ApproxDP:
    r"""A black box on a sample of rate one half.

    Theorem:
        Balle, Barthe, Gaboardi 2018, Theorem 8: :math:`(\ln(1+(e^\varepsilon-1)/2), \delta/2)`.
    """
    (box,) = _boxes([release])
    with working_precision(128):
        epsilon = outward((arb(box.epsilon).expm1() / 2).log1p()).upper
    return ApproxDP(epsilon=epsilon, delta=box.delta / 2)


def refine_tuples(
    null: Mapping[int, Fraction], alternative: Mapping[int, Fraction]
) -> list[tuple[int, int, Fraction]]:
    """Match the memberships of two priors, in the order in which they are given.

    Theorem:
        Algorithm 3 (RefineTuples). It is *one* coupling of the two, and rarely the cheapest;
        :func:`quaestor.accounting.hypothesis.transport.cheapest` finds that.

    >>> refine_tuples({0: Fraction(1)}, {1: Fraction(1, 4), 2: Fraction(3, 4)})
    [(0, 1, Fraction(1, 4)), (0, 2, Fraction(3, 4))]
    """
    left, right = list(null.items()), list(alternative.items())
    matched: list[tuple[int, int, Fraction]] = []
    while left and right:
        (a, weight_a), (b, weight_b) = left.pop(0), right.pop(0)
        weight = min(weight_a, weight_b)
        matched.append((a, b, weight))
        if weight_a > weight:
            left.insert(0, (a, weight_a - weight))
        if weight_b > weight:
            right.insert(0, (b, weight_b - weight))
    return matched


def mixture_formula(parts: Sequence[tuple[Fraction, float, float]], *, point: bool) -> PaperClaim:
    r"""Weighted guarantees joined: :math:`\ln\sum w e^\varepsilon` and :math:`\sum w\delta`.

    Theorem:
        Section V-B, "Computing an HDP guarantee". **Unsound** for two mixtures; for a point
        against a mixture its epsilon is true both ways, and its delta in the reverse direction
        only where larger epsilons come with larger deltas (for example all equal ones).

    Args:
        parts: weight, epsilon and delta of every matched pair of memberships.
        point: whether one of the two priors is a single membership.
    """
    with working_precision(256):
        grown = sum((rational(w) * arb(epsilon).exp() for w, epsilon, _ in parts), ZERO)
        total = sum((rational(w) * arb(delta) for w, _, delta in parts), ZERO)
        epsilon, delta = outward(grown.log()).upper, outward(total).upper
    ordered = sorted((epsilon, delta) for _, epsilon, delta in parts)
    together = all(a[1] <= b[1] for a, b in pairwise(ordered))
    if not point:
        note = "unsound: both priors are mixtures"
    elif not together:
        note = "unsound: the reverse direction may need a larger delta"
    else:
        note = "sound: a point, and larger epsilons have the larger deltas"
    return PaperClaim(max(epsilon, 0.0), min(delta, 1.0), point and together, note)


def theorem_3(releases: Sequence[Release], *, delta: float) -> PaperClaim:
    r"""In no database, against the uniform prior on some database.

    Theorem:
        Theorem 3, with optimal composition at ``delta`` as its CompGuarantee: weights
        :math:`2^{k-i}/(2^k-1)` on :math:`M_i` composed with :math:`M_{i+1},\dots,M_k` on samples
        of rate one half. All parts have the same delta, so the joined claim is sound; with parts
        of different deltas (see :func:`corollary_6`) it is not.
    """
    boxes = _boxes(releases)
    return mixture_formula(
        [
            (weight, compose(box, *rest).epsilon(delta=delta), delta)
            for weight, box, rest in _split(boxes)
        ],
        point=True,
    )


def corollary_6(releases: Sequence[Release]) -> PaperClaim:
    r"""Theorem 3 with simple composition throughout.

    Theorem:
        Corollary 6: :math:`\varepsilon_i` plus the sum of the sampled ones, and the same for the
        deltas, joined by the mixture formula. **Unsound** for different releases: with (5, 0) and
        (0.01, 0.1) it claims a delta of 0.0667 where 0.0770 is needed in the reverse direction.
    """
    parts = []
    for weight, box, rest in _split(_boxes(releases)):
        with working_precision(128):
            epsilon = outward(sum((arb(each.epsilon) for each in rest), arb(box.epsilon))).upper
            delta = outward(sum((arb(each.delta) for each in rest), arb(box.delta))).upper
        parts.append((weight, epsilon, min(delta, 1.0)))
    return mixture_formula(parts, point=True)


def _split(boxes: Sequence[ApproxDP]) -> list[tuple[Fraction, ApproxDP, list[ApproxDP]]]:
    count = len(boxes)
    halves = [half_sampled(box) for box in boxes]
    return [
        (Fraction(2 ** (count - i), 2**count - 1), boxes[i - 1], halves[i:])
        for i in range(1, count + 1)
    ]


def corollary_7(release: Release, *, count: int) -> PaperClaim:
    r"""Equal releases and simple composition, in closed form.

    Theorem:
        Corollary 7: :math:`\ln\frac{(e^\varepsilon+1)^k-1}{2^k-1}` and
        :math:`\frac{2^{k-1}}{2^k-1}k\delta`. Sound.
    """
    (box,) = _boxes([release])
    with working_precision(256 + 4 * count):
        grown = (arb(box.epsilon).exp() + 1) ** count - 1
        epsilon = outward((grown / (arb(2) ** count - 1)).log()).upper
        share = rational(Fraction(2 ** (count - 1), 2**count - 1))
        delta = outward(share * count * arb(box.delta)).upper
    return PaperClaim(max(epsilon, 0.0), min(delta, 1.0), True, "sound: equal releases")  # noqa: FBT003
