"""Quaestor: exactly how much privacy is lost when many private answers are given.

>>> import quaestor as q
>>> spent = q.compose(q.ApproxDP(epsilon=0.1, delta=1e-8) * 30)
>>> spent.epsilon(delta=1e-6)
2.3693499904651665
>>> spent.epsilon_bounds(delta=1e-6).width < 1e-15
True
"""

from __future__ import annotations

from quaestor.accounting.bounds import Bounds
from quaestor.accounting.calibrate import calibrate, calibrate_bounds, largest_count
from quaestor.accounting.compose import Composition, compose, compose_nonadaptive
from quaestor.accounting.explain import Explanation, ExplanationRow
from quaestor.accounting.expressions import parse_release
from quaestor.accounting.releases import (
    ApproxDP,
    BoundedRange,
    DensityPair,
    DiscreteGaussian,
    ExponentialMechanism,
    Gaussian,
    GaussianDP,
    Geometric,
    Laplace,
    PoissonSampled,
    ProbabilityVectors,
    PureDP,
    RandomizedResponse,
    Release,
    Repeated,
    SampledWithoutReplacement,
    Staircase,
    ZeroConcentratedDP,
)
from quaestor.accounting.releases.codec import release_from_json
from quaestor.accounting.tradeoff import Tradeoff, Vertex
from quaestor.errors import (
    InvalidExpression,
    InvalidParameter,
    MissingExtra,
    QuaestorError,
    TargetOutOfReach,
    TheoremDoesNotApply,
)

__all__ = [
    "ApproxDP",
    "BoundedRange",
    "Bounds",
    "Composition",
    "DensityPair",
    "DiscreteGaussian",
    "Explanation",
    "ExplanationRow",
    "ExponentialMechanism",
    "Gaussian",
    "GaussianDP",
    "Geometric",
    "InvalidExpression",
    "InvalidParameter",
    "Laplace",
    "MissingExtra",
    "PoissonSampled",
    "ProbabilityVectors",
    "PureDP",
    "QuaestorError",
    "RandomizedResponse",
    "Release",
    "Repeated",
    "SampledWithoutReplacement",
    "Staircase",
    "TargetOutOfReach",
    "TheoremDoesNotApply",
    "Tradeoff",
    "Vertex",
    "ZeroConcentratedDP",
    "calibrate",
    "calibrate_bounds",
    "compose",
    "compose_nonadaptive",
    "largest_count",
    "parse_release",
    "release_from_json",
]

__version__ = "0.1.0"
