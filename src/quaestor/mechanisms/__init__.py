"""Mechanisms that really release: noise drawn exactly, from the operating system's randomness.

(But for sketches, which are drawn in floats, and say so.)

>>> from quaestor import compose, mechanisms
>>> counting = mechanisms.Geometric(scale=20.0)
>>> isinstance(counting.release(120), int)
True
>>> round(compose(counting.loss).epsilon(delta=0.0), 9)
0.05
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quaestor.mechanisms.base import Mechanism
    from quaestor.mechanisms.columns import Figure, release_count, release_mean, release_sum
    from quaestor.mechanisms.kinds.counted_quantile import CountedQuantile
    from quaestor.mechanisms.kinds.exponential import (
        ExponentialMechanism,
        NoisyMax,
        TopK,
        report_noisy_max,
        top_k,
    )
    from quaestor.mechanisms.kinds.gaussian import DiscreteGaussian, Gaussian
    from quaestor.mechanisms.kinds.geometric import Geometric
    from quaestor.mechanisms.kinds.graph_sketch import GraphSketch, SketchedGraph
    from quaestor.mechanisms.kinds.laplace import Laplace
    from quaestor.mechanisms.kinds.matrix_sketch import MatrixSketch, SketchedMatrix
    from quaestor.mechanisms.kinds.optimal_selection import OptimalSelection
    from quaestor.mechanisms.kinds.partitions import PartitionSelection
    from quaestor.mechanisms.kinds.quantile import Quantile, quantile
    from quaestor.mechanisms.kinds.quantile_reach import QuantileReach
    from quaestor.mechanisms.kinds.randomized_response import RandomizedResponse
    from quaestor.mechanisms.kinds.sketch import SketchAnswer
    from quaestor.mechanisms.kinds.staircase import Staircase
    from quaestor.mechanisms.registry import mechanism_for

__all__ = [
    "CountedQuantile",
    "DiscreteGaussian",
    "ExponentialMechanism",
    "Figure",
    "Gaussian",
    "Geometric",
    "GraphSketch",
    "Laplace",
    "MatrixSketch",
    "Mechanism",
    "NoisyMax",
    "OptimalSelection",
    "PartitionSelection",
    "Quantile",
    "QuantileReach",
    "RandomizedResponse",
    "SketchAnswer",
    "SketchedGraph",
    "SketchedMatrix",
    "Staircase",
    "TopK",
    "mechanism_for",
    "quantile",
    "release_count",
    "release_mean",
    "release_sum",
    "report_noisy_max",
    "top_k",
]

_HOMES = {
    "CountedQuantile": "kinds.counted_quantile",
    "DiscreteGaussian": "kinds.gaussian",
    "ExponentialMechanism": "kinds.exponential",
    "Figure": "columns",
    "Gaussian": "kinds.gaussian",
    "Geometric": "kinds.geometric",
    "GraphSketch": "kinds.graph_sketch",
    "Laplace": "kinds.laplace",
    "MatrixSketch": "kinds.matrix_sketch",
    "Mechanism": "base",
    "NoisyMax": "kinds.exponential",
    "OptimalSelection": "kinds.optimal_selection",
    "PartitionSelection": "kinds.partitions",
    "Quantile": "kinds.quantile",
    "QuantileReach": "kinds.quantile_reach",
    "RandomizedResponse": "kinds.randomized_response",
    "SketchAnswer": "kinds.sketch",
    "SketchedGraph": "kinds.graph_sketch",
    "SketchedMatrix": "kinds.matrix_sketch",
    "Staircase": "kinds.staircase",
    "TopK": "kinds.exponential",
    "mechanism_for": "registry",
    "quantile": "kinds.quantile",
    "release_count": "columns",
    "release_mean": "columns",
    "release_sum": "columns",
    "report_noisy_max": "kinds.exponential",
    "top_k": "kinds.exponential",
}


def __getattr__(name: str) -> Any:
    """Bring a name when it is first used: a question draws one or two kinds of noise."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
