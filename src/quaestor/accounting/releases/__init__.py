"""Descriptions of releases, one kind a file, and the registry that knows them all.

A kind is imported when it is first used: most questions need one or two of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quaestor.accounting.kinds_by_name import Kinds
from quaestor.accounting.releases.base import Release, Repeated, counts_of
from quaestor.accounting.releases.release_sum import ReleaseSum, each_release

if TYPE_CHECKING:
    from quaestor.accounting.releases.black_box import ApproxDP, PureDP
    from quaestor.accounting.releases.bounded_range import BoundedRange, ExponentialMechanism
    from quaestor.accounting.releases.density_pair import DensityPair
    from quaestor.accounting.releases.derived.discrete_vector import DiscreteGaussianVector
    from quaestor.accounting.releases.derived.gaussian_mixture import MixtureOfGaussians
    from quaestor.accounting.releases.derived.matrix_mechanism import MatrixMechanism
    from quaestor.accounting.releases.derived.profile_points import GroupPrivacy, PrivacyProfile
    from quaestor.accounting.releases.derived.random_allocation import RandomAllocation
    from quaestor.accounting.releases.derived.renyi import RenyiDP
    from quaestor.accounting.releases.derived.replace_one import PoissonSampledReplaceOne
    from quaestor.accounting.releases.derived.running_totals import ContinualCounting
    from quaestor.accounting.releases.derived.shuffled_epoch import ShuffledEpoch
    from quaestor.accounting.releases.derived.toeplitz import ToeplitzMechanism
    from quaestor.accounting.releases.derived.truncated_sample import TruncatedPoissonGaussian
    from quaestor.accounting.releases.derived.with_replacement import SampledWithReplacement
    from quaestor.accounting.releases.discrete_gaussian import DiscreteGaussian
    from quaestor.accounting.releases.gaussian import Gaussian, GaussianDP, ZeroConcentratedDP
    from quaestor.accounting.releases.geometric import Geometric
    from quaestor.accounting.releases.laplace import Laplace
    from quaestor.accounting.releases.randomized_response import RandomizedResponse
    from quaestor.accounting.releases.runs.repeat_select import RepeatAndSelect
    from quaestor.accounting.releases.runs.without_replacement import SampledWithoutReplacement
    from quaestor.accounting.releases.sampled import PoissonSampled
    from quaestor.accounting.releases.sketch import GraphSketch, MatrixSketch
    from quaestor.accounting.releases.staircase import Staircase
    from quaestor.accounting.releases.vectors import ProbabilityVectors

__all__ = [
    "RELEASES",
    "ApproxDP",
    "BoundedRange",
    "ContinualCounting",
    "DensityPair",
    "DiscreteGaussian",
    "DiscreteGaussianVector",
    "ExponentialMechanism",
    "Gaussian",
    "GaussianDP",
    "Geometric",
    "GraphSketch",
    "GroupPrivacy",
    "Laplace",
    "MatrixMechanism",
    "MatrixSketch",
    "MixtureOfGaussians",
    "PoissonSampled",
    "PoissonSampledReplaceOne",
    "PrivacyProfile",
    "ProbabilityVectors",
    "PureDP",
    "RandomAllocation",
    "RandomizedResponse",
    "Release",
    "ReleaseSum",
    "RenyiDP",
    "RepeatAndSelect",
    "Repeated",
    "SampledWithReplacement",
    "SampledWithoutReplacement",
    "ShuffledEpoch",
    "Staircase",
    "ToeplitzMechanism",
    "TruncatedPoissonGaussian",
    "ZeroConcentratedDP",
    "counts_of",
    "each_release",
]

# Every kind that expressions and JSON may name, and its file. A new mechanism adds one line here.
RELEASES: Kinds[Release] = Kinds(
    __name__,
    {
        "PureDP": "black_box",
        "ApproxDP": "black_box",
        "Gaussian": "gaussian",
        "GaussianDP": "gaussian",
        "ZeroConcentratedDP": "gaussian",
        "Laplace": "laplace",
        "Geometric": "geometric",
        "DiscreteGaussian": "discrete_gaussian",
        "DiscreteGaussianVector": "derived.discrete_vector",
        "Staircase": "staircase",
        "BoundedRange": "bounded_range",
        "ExponentialMechanism": "bounded_range",
        "RandomizedResponse": "randomized_response",
        "PoissonSampled": "sampled",
        "PoissonSampledReplaceOne": "derived.replace_one",
        "TruncatedPoissonGaussian": "derived.truncated_sample",
        "MixtureOfGaussians": "derived.gaussian_mixture",
        "SampledWithoutReplacement": "runs.without_replacement",
        "SampledWithReplacement": "derived.with_replacement",
        "ToeplitzMechanism": "derived.toeplitz",
        "MatrixMechanism": "derived.matrix_mechanism",
        "ContinualCounting": "derived.running_totals",
        "RandomAllocation": "derived.random_allocation",
        "ShuffledEpoch": "derived.shuffled_epoch",
        "RenyiDP": "derived.renyi",
        "RepeatAndSelect": "runs.repeat_select",
        "PrivacyProfile": "derived.profile_points",
        "GroupPrivacy": "derived.profile_points",
        "GraphSketch": "sketch",
        "MatrixSketch": "sketch",
        "ProbabilityVectors": "vectors",
        "DensityPair": "density_pair",
        "Repeated": "base",
    },
)


def __getattr__(name: str) -> Any:
    if name not in RELEASES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return RELEASES[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
