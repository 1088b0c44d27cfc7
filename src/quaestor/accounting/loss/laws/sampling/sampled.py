r"""Losses under sampling: what is compared when a person is in the data only with some probability.

With (P, Q) the pair of the release itself and w = 1 - q + q dP/dQ:

* Poisson sampling, removing a person: w Q against Q, the loss log w; adding: Q against w Q, the
  loss -log w [Zhu, Dong, Wang 2022, Theorem 11];
* a fixed number without replacement, replacing a person: log w where that is positive, and its
  mirror image where it is negative [same, Proposition 30, for symmetric pairs; taken from there].

All of it in logarithms of both measures: P e^-L is not Q once P has underflowed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.loss.laws.finite import FiniteLoss
from quaestor.accounting.loss.laws.mixture import log_mixture
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.numerics.complexes import UNIT
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.numerics.complexes import Floats

_POINTS = 400
_LEAST_SHARE = 1e-30  # of the delta at 0
_LARGEST_INNER = 1e6

__all__ = ["no_loss", "poisson_sampled", "sampled_without_replacement"]


def no_loss() -> FiniteLoss:
    """The loss of a release that nobody is in."""
    return FiniteLoss(np.zeros(1), np.zeros(1), np.zeros(1))


def poisson_sampled(law: Law, rate: float) -> tuple[Law, ...]:
    """Both directions, removing a person and adding one, of a law with finitely many atoms."""
    removing = _removed(_listed(law), rate)
    return removing, removing.turned()


def sampled_without_replacement(law: Law, rate: float) -> tuple[Law, ...]:
    r"""The replacement of one person; the same in both directions, for a symmetric pair.

    With A and B the masses of positive losses in the two worlds and C that of none, the middle has
    :math:`C + (1-q)(A-B)`, and :math:`A-B = \sum P(1-e^{-l})` plus what is infinite.
    """
    if rate == 1.0:
        return (law,)
    atoms = law.listed()
    if atoms is None:
        return (_from_profile(law, rate),)
    over, under, level = atoms.losses > 0, atoms.losses < 0, atoms.losses == 0
    ups, downs = log_mixture(atoms.losses[over], rate), log_mixture(-atoms.losses[under], rate)
    excess = np.exp(atoms.log_first[over]) * -np.expm1(-atoms.losses[over])
    told = atoms.infinite.lower  # what else there may be stands for atoms that were left out
    rest = float(np.sum(np.exp(atoms.log_first[level])))
    rest += (1.0 - rate) * (told + float(np.sum(excess)))
    middle = np.array([math.log(rest)]) if rest > 0.0 else np.zeros(0)
    left_out = Bounds(lower=0.0, upper=2 * (atoms.infinite.upper - atoms.infinite.lower))
    infinite = _scaled(atoms.infinite, rate, left_out)
    mixed = _mixed(atoms.log_second[over], atoms.log_first[over], rate)
    first = np.concatenate((mixed, middle, atoms.log_first[under]))
    mixed = _mixed(atoms.log_first[under], atoms.log_second[under], rate)
    second = np.concatenate((atoms.log_second[over], middle, mixed))
    return (
        FiniteLoss(
            np.concatenate((ups, np.zeros(middle.size), -downs)),
            first,
            second,
            infinite=infinite,
            opposite=infinite,
            blur=_blur(atoms, rate),
            error=atoms.error,
        ),
    )


def _from_profile(law: Law, rate: float) -> FiniteLoss:
    r"""More than is lost, from points of :math:`q\,\delta(\log(1+(e^\varepsilon-1)/q))`.

    At epsilons that are evenly apart, up to where next to nothing is left.
    """
    from quaestor.accounting.loss.engine.loss_profile import LossProfile
    from quaestor.accounting.loss.laws.detection_curve import detection_loss

    profile = LossProfile([(law, 1)])
    largest = law.largest
    if not math.isfinite(largest):
        least = profile.delta_bounds(epsilon=0.0).upper * _LEAST_SHARE
        largest = profile.epsilon_bounds(delta=least).upper
    epsilons, deltas = [], []
    for i in range(_POINTS + 1):
        epsilon = min(largest * (i / _POINTS), _LARGEST_INNER)
        outer = (
            math.log1p(rate * math.expm1(epsilon))
            if epsilon < 600.0
            else (epsilon + math.log(rate + (1 - rate) * math.exp(-epsilon)))
        )
        outer *= 1 + 8 * UNIT
        # what the rounding of epsilon costs is less than what delta is rounded up by
        delta = profile.delta_bounds(epsilon=epsilon).upper
        epsilons.append(outer)
        deltas.append(min(rate * delta * (1 + 1e-14), 1.0))
    return detection_loss(epsilons, deltas)


def _removed(atoms: FiniteLoss, rate: float) -> FiniteLoss:
    """(1 - q) Q + q P against Q: what only P shows is told, what only Q shows has w = 1 - q.

    Of what only Q may show, as much as is certain is an atom; the rest stands for atoms that were
    left out, and may as well be told.
    """
    losses = log_mixture(atoms.losses, rate)
    log_second = atoms.log_second
    log_first = _mixed(log_second, atoms.log_first, rate)
    alone, stays = atoms.opposite.lower, math.log1p(-rate)
    if alone > 0.0:
        losses = np.append(losses, stays)
        log_first = np.append(log_first, math.log(alone) + stays)
        log_second = np.append(log_second, math.log(alone))
    left_out = Bounds(lower=0.0, upper=atoms.opposite.upper - alone)
    return FiniteLoss(
        losses,
        log_first,
        log_second,
        infinite=_scaled(atoms.infinite, rate, left_out),
        opposite=left_out,
        blur=_blur(atoms, rate),
        error=atoms.error,
    )


def _mixed(without: Floats, with_person: Floats, rate: float) -> Floats:
    """The log-masses of (1 - q) Q + q P, from both: off by two units of the larger summand's."""
    mixed: Floats = np.logaddexp(math.log1p(-rate) + without, math.log(rate) + with_person)
    return mixed


def _blur(atoms: FiniteLoss, rate: float) -> float:
    """How far log w can be off, beyond eight units of itself.

    What l is off by (its blur and four units), and what the mixture adds (two units of l and of
    log q), both times the slope of log w, which is at most 1; and two units of log w. That is more
    than eight units of log w only where w is near 1 although l is not near 0.
    """
    ratios = log_mixture(atoms.losses, rate)
    slopes = np.exp(np.minimum(atoms.losses + math.log(rate) - ratios, 0.0))
    sizes = slopes * (np.abs(atoms.losses) + abs(math.log(rate))) - np.abs(ratios)
    return atoms.blur + 6 * UNIT * float(np.max(sizes, initial=0.0))


def _scaled(told: Bounds, rate: float, left_out: Bounds) -> Bounds:
    """What is told of what was told, and what else may be: an exact 0 stays one."""
    if told.upper == left_out.upper == 0.0:
        return told
    scaled = Bounds(lower=told.lower * rate, upper=told.upper * rate + left_out.upper)
    return scaled.widened(ulps=2).clipped(0.0, 1.0)


def _listed(law: Law) -> FiniteLoss:
    atoms = law.listed()
    if atoms is None:
        kind = type(law).__name__.removesuffix("Loss")
        raise InvalidParameter("release", kind, "a release whose sampled version is known")
    return atoms
