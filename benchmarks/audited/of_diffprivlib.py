"""diffprivlib: its mechanisms from outside, its tools and models from inside."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.audited.outcome import Outcome, from_outside, looked_inside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quaestor.audit import Primitive

__all__ = ["inside", "outside"]


def outside() -> Iterator[Outcome]:
    """Mechanisms of the library, on two values that are as far apart as they may be."""
    from quaestor import ApproxDP, PureDP

    theirs = import_module("diffprivlib.mechanisms")

    one, some = PureDP(epsilon=1.0), ApproxDP(epsilon=0.9, delta=1e-3)
    unit: dict[str, Any] = {"epsilon": 1.0, "sensitivity": 1}
    loose: dict[str, Any] = {"epsilon": 0.9, "delta": 1e-3, "sensitivity": 1}
    ends: dict[str, Any] = {"lower": 0, "upper": 1}
    for mechanism, neighbours, claim in (
        (theirs.Laplace(**unit), (0.0, 1.0), one),
        (theirs.LaplaceTruncated(**unit, **ends), (0.0, 1.0), one),
        (theirs.LaplaceFolded(**unit, **ends), (0.0, 1.0), one),
        (theirs.LaplaceBoundedDomain(**unit, **ends), (0.0, 1.0), one),
        (theirs.LaplaceBoundedNoise(epsilon=0.9, delta=0.1, sensitivity=1), (0.0, 1.0), None),
        (theirs.Snapping(**unit, **ends), (0.0, 1.0), one),
        (theirs.Staircase(**unit), (0.0, 1.0), one),
        (theirs.Geometric(**unit), (0, 1), one),
        (theirs.GeometricTruncated(**unit, lower=0, upper=5), (0, 1), one),
        (theirs.Gaussian(**loose), (0.0, 1.0), some),
        (theirs.GaussianAnalytic(**loose), (0.0, 1.0), some),
        (theirs.GaussianDiscrete(**loose), (0, 1), some),
        (theirs.Uniform(delta=0.2, sensitivity=1), (0.0, 1.0), ApproxDP(epsilon=0.0, delta=0.2)),
        (theirs.Binary(epsilon=1.0, value0="a", value1="b"), ("a", "b"), one),
    ):
        known = claim or ApproxDP(epsilon=0.9, delta=0.1)
        name = f"diffprivlib `{type(mechanism).__name__}`"
        yield from_outside(name, mechanism, neighbours, known)


def _primitive(kind: Any, **more: Any) -> Primitive:
    from quaestor import PureDP
    from quaestor.audit import Primitive

    return Primitive(
        owner=kind,
        name="randomise",
        sensitivity=lambda noise: float(noise.sensitivity),
        parameters=lambda noise: (noise.epsilon, getattr(noise, "delta", 0.0), noise.sensitivity),
        claim=lambda noise: PureDP(epsilon=float(noise.epsilon)),
        **more,
    )


def inside() -> Iterator[Outcome]:
    """Tools and models: a person replaced, and a person removed."""
    theirs, models, tools = (
        import_module(f"diffprivlib.{name}") for name in ("mechanisms", "models", "tools")
    )
    warnings.simplefilter("ignore")
    primitives = [
        *(
            _primitive(kind)
            for kind in (
                theirs.Laplace,
                theirs.LaplaceTruncated,
                theirs.LaplaceFolded,
                theirs.LaplaceBoundedDomain,
                theirs.Geometric,
                theirs.GeometricTruncated,
                theirs.GeometricFolded,
            )
        ),
        _primitive(theirs.Exponential, value=lambda noise: list(noise.utility), by_entry=True),
        _primitive(theirs.Bingham),
    ]
    rows = np.random.default_rng(1).uniform(0, 1, (20, 2))
    rows[0] = 1.0
    other = rows.copy()
    other[0] = 0.0
    unit: dict[str, Any] = {"epsilon": 1.0, "bounds": (0, 1)}
    halves = np.arange(20) % 2
    algorithms: dict[str, Any] = {
        "tools.mean": lambda x: tools.mean(x[:, 0], **unit),
        "tools.var": lambda x: tools.var(x[:, 0], **unit),
        "tools.sum": lambda x: tools.sum(x[:, 0], **unit),
        "tools.count_nonzero": lambda x: tools.count_nonzero(x[:, 0] > 0.5, epsilon=1.0),
        "tools.histogram": lambda x: tools.histogram(x[:, 0], epsilon=1.0, bins=4, range=(0, 1))[0],
        "tools.median": lambda x: tools.median(x[:, 0], **unit),
        "models.StandardScaler": lambda x: _fitted(models.StandardScaler(**unit), x).mean_,
        "models.GaussianNB": lambda x: (
            models.GaussianNB(**unit).fit(x, halves[20 - len(x) :]).theta_
        ),
        "models.LinearRegression": lambda x: (
            models.LinearRegression(epsilon=1.0, bounds_X=(0, 1), bounds_y=(0, 1))
            .fit(x, halves[20 - len(x) :])
            .coef_
        ),
        "models.KMeans": lambda x: (
            _fitted(models.KMeans(n_clusters=2, random_state=1, **unit), x).cluster_centers_
        ),
        "models.PCA": lambda x: (
            _fitted(models.PCA(1, data_norm=1.5, random_state=1, **unit), x).components_
        ),
    }
    for name, algorithm in algorithms.items():
        for words, neighbours in (
            ("a row replaced", (rows, other)),
            ("a row removed", (rows, rows[1:])),
        ):
            yield looked_inside(
                f"diffprivlib `{name}`, {words}", algorithm, neighbours, primitives, 1.0
            )


def _fitted(model: Any, rows: Any) -> Any:
    return model.fit(rows)
