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
