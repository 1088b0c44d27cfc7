"""Descriptions of releases, one kind a file, and the registry that knows them all."""

from __future__ import annotations

from quaestor.accounting.releases.base import Release, Repeated, counts_of
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
from quaestor.accounting.releases.release_sum import ReleaseSum, each_release
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

# Every kind that expressions and JSON may name. A new mechanism adds one line here.
RELEASES: dict[str, type[Release]] = {
    "PureDP": PureDP,
    "ApproxDP": ApproxDP,
    "Gaussian": Gaussian,
    "GaussianDP": GaussianDP,
    "ZeroConcentratedDP": ZeroConcentratedDP,
    "Laplace": Laplace,
    "Geometric": Geometric,
    "DiscreteGaussian": DiscreteGaussian,
    "DiscreteGaussianVector": DiscreteGaussianVector,
    "Staircase": Staircase,
    "BoundedRange": BoundedRange,
    "ExponentialMechanism": ExponentialMechanism,
    "RandomizedResponse": RandomizedResponse,
    "PoissonSampled": PoissonSampled,
    "PoissonSampledReplaceOne": PoissonSampledReplaceOne,
    "TruncatedPoissonGaussian": TruncatedPoissonGaussian,
    "MixtureOfGaussians": MixtureOfGaussians,
    "SampledWithoutReplacement": SampledWithoutReplacement,
    "SampledWithReplacement": SampledWithReplacement,
    "ToeplitzMechanism": ToeplitzMechanism,
    "MatrixMechanism": MatrixMechanism,
    "ContinualCounting": ContinualCounting,
    "RandomAllocation": RandomAllocation,
    "ShuffledEpoch": ShuffledEpoch,
    "RenyiDP": RenyiDP,
    "RepeatAndSelect": RepeatAndSelect,
    "PrivacyProfile": PrivacyProfile,
    "GroupPrivacy": GroupPrivacy,
    "GraphSketch": GraphSketch,
    "MatrixSketch": MatrixSketch,
    "ProbabilityVectors": ProbabilityVectors,
    "DensityPair": DensityPair,
    "Repeated": Repeated,
}
