"""A small DP-SGD in numpy, and mistakes that were made in earnest.

Logistic regression on 24 features: Poisson samples, clipped gradients, Gaussian noise. The canaries
have a feature each, which no other example has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.audited.outcome import Outcome, from_outside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["Training", "one_run", "outside"]

_FEATURES = 24
_CANARIES = 1000


@dataclass(frozen=True, slots=True)
class Training:
    """DP-SGD with its parameters; each mistake is off unless it is named."""

    rate: float = 0.5
    steps: int = 8
    sigma: float = 2.0
    clips: bool = True
    by_batch: bool = False

    @property
    def claim(self) -> Any:
        """What the accountant says of it."""
        import quaestor as q

        return q.compose(
            q.PoissonSampled(release=q.Gaussian(sigma=self.sigma), rate=self.rate) * self.steps
        )

    def weights(self, examples: NDArray[np.float64], coins: np.random.Generator) -> Any:
        """The weights after training; the label of every example is one."""
        weights = np.zeros(examples.shape[1])
        for _ in range(self.steps):
            batch = examples[coins.random(len(examples)) < self.rate]
            gradients = batch / (1 + np.exp(np.clip(batch @ weights, -30, 30)))[:, None]
            total = self._clipped(gradients).sum(axis=0) if len(batch) else np.zeros_like(weights)
            if self.by_batch:
                total = total / max(1.0, float(np.linalg.norm(total)))
            weights = weights + total + self.sigma * coins.normal(size=weights.shape)
        return weights

    def _clipped(self, gradients: NDArray[np.float64]) -> NDArray[np.float64]:
        if not self.clips:
            return gradients
        lengths = np.linalg.norm(gradients, axis=1, keepdims=True)
        return np.asarray(gradients / np.maximum(1.0, lengths), np.float64)


def outside() -> Iterator[Outcome]:
    """Two datasets that differ in one outlier; the weights are what is seen."""
    coins = np.random.default_rng()
    common = np.random.default_rng(1).normal(size=(6, _FEATURES)) / 10
    common[:, 0] = -0.5
    outlier = np.zeros((1, _FEATURES))
    outlier[0, 0] = 20.0
    neighbours = (np.concatenate([common, outlier]), common)
    for name, training in (
        ("as it should be", Training()),
        ("gradients not clipped", Training(clips=False)),
        ("whole batches clipped, not gradients", Training(clips=False, by_batch=True)),
    ):
        yield from_outside(
            f"DP-SGD in numpy, {name}",
            lambda examples, training=training: training.weights(examples, coins),
            neighbours,
            training.claim,
            runs=10_000,
        )


def one_run() -> Iterator[Outcome]:
    """One training run with 1,000 canaries, each scored by its own weight."""
    from quaestor.audit import audit_one_run

    coins = np.random.default_rng()
    for name, training in (
        ("as it should be", Training()),
        ("gradients not clipped", Training(clips=False)),
        ("a tenth of the noise", Training(sigma=0.2)),
    ):
        included = coins.random(_CANARIES) < 0.5
        canaries = 20.0 * np.eye(_CANARIES)[included]
        weights = training.weights(canaries, coins)
        claim = Training().claim
        report = audit_one_run(included=included, scores=weights, delta=1e-5, claim=claim)
        words = f"**{report.verdict}**" if report.violated else report.verdict
        yield Outcome(f"one run of DP-SGD, {name}", "as above", words)
