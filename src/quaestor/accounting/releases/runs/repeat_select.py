"""The best of a random number of runs: private selection, and hyperparameters that are tuned."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from quaestor.accounting.releases.base import PureLoss, Release, check_real, remembered
from quaestor.accounting.releases.opinion import Curve, Opinion
from quaestor.accounting.releases.release_sum import ReleaseSum, check_neighbours
from quaestor.accounting.releases.runs.base_run import law_of_run, singles
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.loss.selection.best_run import Selection
    from quaestor.accounting.loss.selection.run_counts import RunCount

__all__ = ["RepeatAndSelect"]

_LARGEST_MEAN = 1e9
_SHAPES = (-0.9, 1e4)
_HIGHER = (1, 2, 4, 8, 16)  # times an order


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatAndSelect(Release):
    r"""The best output of a random number of runs; the other outputs, and how many, stay secret.

    Each run makes ``release`` (one release, a count of one, or a sum) afresh, and its output has a
    quality that follows from that output alone. Ties are broken at random, or by which run was
    first. The number K of runs is drawn apart from the data:

    * ``shape=1`` geometric, ``shape=0`` logarithmic, any other number above -1 the truncated
      negative binomial distribution of that shape, each with this ``mean`` and at least one run;
    * without a shape, Poisson. If there is no run, the answer says so and nothing else.

    Guarantee:
        Let :math:`a(y) = E[K(1-y)^{K-1}]`, and R the curve of detections of one run. For all theta

        .. math:: \delta'(\varepsilon) \le \int_0^1(a-\theta)_+dy + E_P\Bigl[\max_y\bigl(
                  \min(a(y),\theta)-e^{\varepsilon-L}a(R(y))\bigr)_+\Bigr],

        proved in :mod:`quaestor.accounting.loss.selection.best_run`. Of a release of which only an
        epsilon is known, the largest loss is exactly
        :math:`\varepsilon+(\eta+1)\log\frac{e^\varepsilon+\gamma}{1+\gamma e^\varepsilon}`, and
        :math:`\varepsilon+m\tanh(\varepsilon/2)` for Poisson; [Papernot, Steinke, arXiv 2110.03620,
        Corollary 3] has :math:`(2+\eta)\varepsilon`. Moments grow by at most
        :math:`\max_ya(y)(a(y)/a(R(y)))^{\lambda-1}`, which their Theorems 2 and 6 bound. The lower
        end is attained by some run with these losses, and some order of its outputs: a run with
        few outputs may lose less.

    >>> from quaestor import Gaussian, compose
    >>> tuned = RepeatAndSelect(release=Gaussian(sigma=10.0), mean=10, shape=0)
    >>> compose(tuned).epsilon(delta=1e-6) < compose(Gaussian(sigma=10.0) * 3).epsilon(delta=1e-6)
    True
    """

    release: Release | ReleaseSum
    mean: float
    shape: float | None = None

    bracketed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        if not isinstance(self.release, Release | ReleaseSum) or not singles(self.release):
            raise InvalidParameter("release", self.release, "a release, or a sum of releases")
        check_neighbours(release for release, _ in singles(self.release))
        if self.shape == math.inf:
            object.__setattr__(self, "shape", None)
        if self.shape is not None:
            shape = check_real("shape", self.shape, low=_SHAPES[0], high=_SHAPES[1])
            object.__setattr__(self, "shape", shape)
        least = 1e-9 if self.shape is None else 1.0
        mean = check_real("mean", self.mean, low=least, high=_LARGEST_MEAN)
        object.__setattr__(self, "mean", mean)

    @property
    def neighbours(self) -> str | None:  # type: ignore[override]  # a fact of the kind elsewhere
        """Those of its runs."""
        return check_neighbours(release for release, _ in singles(self.release))

    @property
    def counts_people(self) -> bool:  # type: ignore[override]  # a fact of the kind elsewhere
        """That of its runs."""
        return self.release.counts_people

    def _runs(self) -> RunCount:
        from quaestor.accounting.loss.selection.run_counts import RunCount

        return RunCount(self.mean, self.shape)

    def _selection(self) -> Selection:
        return _selection(self.release, self.mean, self.shape)

    def losses(self) -> tuple[Law, ...]:
        """More than is lost, from points of the bound."""
        return (_law(self.release, self.mean, self.shape),)

    @remembered
    def least_losses(self) -> tuple[Law, ...]:
        """Of a run with finitely many losses: if the likeliest output is the best, or the worst.

        Of others nothing is known from below.
        """
        from quaestor.accounting.loss.laws.sampling.sampled import no_loss
        from quaestor.accounting.loss.selection.best_run import selected_pair

        run, *others = singles(self.release)
        laws = run[0].least_losses() if not others and run[1] == 1 else ()
        atoms = laws[0].listed() if laws and not run[0].bracketed else None
        if atoms is None:
            return (no_loss(),)
        ways = (selected_pair(atoms, self._runs(), best_first=best) for best in (True, False))
        return tuple(no_loss() if law is None else law for law in ways)

    @remembered
    def pure_loss(self) -> PureLoss:
        """What is told outright only where a run tells something outright."""
        runs = [release.pure_loss() for release, _ in singles(self.release)]
        if any(run.epsilon is None for run in runs) and not any(run.delta for run in runs):
            return PureLoss(None, Fraction(0))
        return self._pure_loss_of_laws()

    @remembered
    def log_moment(self, order: float) -> Fraction | None:
        """That of one run and what selection adds, or that of the law, where its loss is finite."""
        own = None if self.pure_loss().epsilon is None else Release.log_moment(self, order)
        if any(release.pure_loss().delta for release, _ in singles(self.release)):
            return own
        found = [own]
        for times in _HIGHER:  # a log-moment divided by its order never falls
            moment = self._moment_of_runs(order * times)
            found.append(None if moment is None else moment / times)
        return min((each for each in found if each is not None), default=None)

    def _moment_of_runs(self, order: float) -> Fraction | None:
        """That of one run, and what selection adds; no run at all adds its chance to the moment."""
        total = Fraction(max(self._selection().log_factor(order), 0.0))
        if self.shape is None:
            total += Fraction(math.exp(-self.mean) * (1 + 1e-12))
        for release, count in singles(self.release):
            one = release.log_moment(order)
            if one is None:
                return None
            total += count * one
        return total

    def with_record_replaced(self) -> Release:
        """Every run with a record replaced."""
        runs = tuple(each.with_record_replaced() * count for each, count in singles(self.release))
        return RepeatAndSelect(release=_joined(runs), mean=self.mean, shape=self.shape)

    def with_group(self, size: int) -> Release | None:
        """Every run with so many changes, where that is known."""
        runs = []
        for release, count in singles(self.release):
            group = release.with_group(size)
            if group is None:
                return None
            runs.append(group * count)
        return RepeatAndSelect(release=_joined(tuple(runs)), mean=self.mean, shape=self.shape)

    # From the parameters alone.

    @remembered
    def opinion(self) -> Opinion | None:
        """From below: the test of one run, where the best output is the likeliest."""
        (run, count), *others = singles(self.release)
        known = run.opinion()
        if known is None or known.test is None or others or count > 1:
            return None
        test, reached = known.test, self._reached

        def curve(at: float) -> Curve:
            best = 0.0
            for share in (0.0, 0.5, 1.0):
                found = test(at * share)
                speaks = reached(max(found.least, 0.0)) * (1 - 1e-9)
                alarms = reached(min(math.exp(min(found.log_most, 0.0)), 1.0)) * (1 + 1e-9)
                if alarms == 0.0 or at + math.log(alarms) < 1.0:
                    paid = math.exp(at + math.log(alarms)) if alarms else 0.0
                    best = max(best, speaks - paid - 1e-12)
            return best, 1.0

        return Opinion(curve, None, math.inf, tells=known.tells)

    def _reached(self, better: float) -> float:
        """The chance that the best run is among the best outputs, which one run hits so often."""
        import numpy as np

        return float(self._runs().reached(np.array([better]))[0])


def _joined(runs: tuple[Release, ...]) -> Release | ReleaseSum:
    return runs[0] if len(runs) == 1 else ReleaseSum(runs)


@lru_cache(maxsize=256)
def _selection(run: Release | ReleaseSum, mean: float, shape: float | None) -> Selection:
    from quaestor.accounting.loss.selection.best_run import Selection
    from quaestor.accounting.loss.selection.run_counts import RunCount

    return Selection(law_of_run(run), RunCount(mean, shape))


@lru_cache(maxsize=256)
def _law(run: Release | ReleaseSum, mean: float, shape: float | None) -> Law:
    from quaestor.accounting.loss.laws.detection_curve import detection_loss

    return detection_loss(*_selection(run, mean, shape).points())
