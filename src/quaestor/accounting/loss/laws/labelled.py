r"""One of several losses, chosen at random, where the choice is told with the outcome.

The worlds choose alike: with :math:`P = \sum w_iP_i` and :math:`Q = \sum w_iQ_i` on labelled
outcomes the loss is that of the chosen pair, so that moments and curves are means:
:math:`M = \sum w_iM_i`.

A choice that is rarer than what may be left out is left out with all its outcomes: batches that
are cut once in 1e15 steps add that to delta, however much they tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from flint import arb

from quaestor.accounting.loss.engine.exponential_sums import as_nats
from quaestor.accounting.loss.laws.law import Large, Law
from quaestor.accounting.numerics.balls import working_precision
from quaestor.accounting.numerics.complexes import UNIT, expm1, log1p

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.accounting.loss.laws.closed_form import Curve
    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["LabelledLoss"]

_NEAR = 30.0  # exponents up to which M - 1 is summed by itself


class LabelledLoss(Law):
    """Each of these losses with its probability; none tells all outright.

    Probabilities sum to 1, or to less where something was left out. ``rounded`` says that they,
    and rates within the losses, are off by a unit or two.
    """

    def __init__(self, parts: Sequence[tuple[float, Law]], *, rounded: bool = False) -> None:
        self.blur, self.doubt = (8 * UNIT, 16 * UNIT) if rounded else (0.0, 0.0)
        self.parts = [(weight, law) for weight, law in parts if weight > 0.0]
        self.largest = max(law.largest for _, law in self.parts)
        self.least = min(law.least for _, law in self.parts)
        self.decays_quickly = False
        self.can_be_truncated = any(law.can_be_truncated for _, law in self.parts)
        self._missing = 0.0

    def truncated(self, lost: float, above: float) -> Sequence[tuple[Law, int]]:
        """Without the rare choices, and without the rare outcomes of the others."""
        each = lost / (2 * len(self.parts))
        kept, left_out = [], 0.0
        for weight, law in self.parts:
            if weight <= each:
                left_out += weight
            elif not law.can_be_truncated:
                kept.append((weight, law))
            else:
                ((shorter, _),) = law.truncated(min(each / weight, 0.5), above)
                kept.append((weight, shorter))
        if not kept:
            return [(self, 1)]
        shortened = LabelledLoss(kept)
        shortened.blur, shortened.doubt = self.blur, self.doubt
        shortened.can_be_truncated = False
        shortened._missing = left_out
        shortened.lost = left_out + sum(weight * law.lost for weight, law in kept)
        shortened.lost *= 1 + 64 * UNIT
        shortened.large = _large(kept)
        return [(shortened, 1)]

    def reversed_loss(self) -> Law | None:
        """The same choice of reversed losses: the worlds choose alike."""
        turned = [(weight, law.reversed_loss()) for weight, law in self.parts]
        known = [(weight, law) for weight, law in turned if law is not None]
        return LabelledLoss(known, rounded=self.doubt > 0.0) if len(known) == len(turned) else None

    def curve(self, count: int) -> Curve | None:
        curves = [(weight, law.curve(1)) for weight, law in self.parts]
        if count != 1 or any(curve is None for _, curve in curves):
            return None
        total = sum((arb(weight) for weight, _ in curves), arb(0))

        def mean(epsilon: arb) -> arb:
            terms = (arb(weight) * curve(epsilon) for weight, curve in curves if curve is not None)
            return sum(terms, arb(0)) / total

        return mean

    def _log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        known = [(weight, *law.log_moment(s)) for weight, law in self.parts]
        top = max(float(np.max(values.real)) for _, values, _ in known)
        if max(abs(float(np.max(np.abs(values.real)))) for _, values, _ in known) <= _NEAR:
            terms = [weight * expm1(values) for weight, values, _ in known]
            total, top = sum(terms[1:], terms[0]) - self._missing, 0.0
            size = np.abs(1 + total)
            values = log1p(total)
            rounding = sum(
                weight * np.minimum(np.abs(moments) * np.exp(moments.real) + np.abs(term), 1e300)
                for (weight, moments, _), term in zip(known, terms, strict=True)
            )
        else:
            terms = [
                np.asarray(weight * np.exp(moments - top), np.complex128)
                for weight, moments, _ in known
            ]
            total = sum(terms[1:], terms[0])
            size = np.asarray(np.abs(total), np.float64)
            values = np.asarray(top + np.log(np.where(total == 0, 1e-300, total)), np.complex128)
            rounding = sum(
                np.abs(term) * (1 + np.abs(moments))
                for (_, moments, _), term in zip(known, terms, strict=True)
            )
        doubt = 32 * UNIT * np.asarray(rounding, np.float64)
        for weight, moments, errors in known:
            share = weight * np.exp(np.minimum(moments.real - top, 700.0))
            doubt = doubt + share * np.expm1(np.minimum(errors, 700.0))
        return values, as_nats(doubt, size) + 8 * UNIT * abs(top)

    def rough_log_moments(self, thetas: Floats) -> Floats:
        logs = [np.log(weight) + law.rough_log_moments(thetas) for weight, law in self.parts]
        near: Floats = np.log1p(
            sum(
                weight * np.expm1(np.minimum(law.rough_log_moments(thetas), _NEAR))
                for weight, law in self.parts
            )
        )
        far: Floats = np.logaddexp.reduce(logs)
        values: Floats = np.where(far > _NEAR - 5, far, near)
        return values

    def work(self, count: int, step: float) -> float:
        return sum(law.work(count, step) for _, law in self.parts)

    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:
        """The mean of what is left of each, weighed as the tilted law weighs them."""
        at = np.array([complex(theta)])
        known = [law.log_moment(at) for _, law in self.parts]
        weights = np.log([weight for weight, _ in self.parts])
        logs = weights + np.array([values.real[0] for values, _ in known])
        errors = np.array([errors[0] for _, errors in known])
        shares = np.exp(logs + errors - np.logaddexp.reduce(logs - errors)) * (1 + 1e-9)
        left = sum(
            share * np.exp(-law.decay(theta, low, high))
            for share, (_, law) in zip(shares, self.parts, strict=True)
        )
        falls: Floats = np.maximum(-np.log(np.maximum(left, 1e-300)) - 1e-9, 0.0)
        return falls


def _large(parts: Sequence[tuple[float, Law]]) -> Large | None:
    """What was set aside of some of these: of a choice its share of the probability."""
    known = [(weight, law.large) for weight, law in parts if law.large is not None]
    if not known:
        return None
    with working_precision(128):
        first = sum((-large.log_none.expm1() * weight for weight, large in known), arb(0))
        second = sum((-large.log_none_second.expm1() * weight for weight, large in known), arb(0))
        off = arb(1, 16 * UNIT)  # the weights are rounded
        return Large(
            min(large.least for _, large in known),
            (-first * off).log1p(),
            (-second * off).log1p(),
        )
