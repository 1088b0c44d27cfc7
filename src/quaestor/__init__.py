"""Quaestor: exactly how much privacy is lost when many private answers are given.

>>> import quaestor as q
>>> spent = q.compose(q.ApproxDP(epsilon=0.1, delta=1e-8) * 30)
>>> spent.epsilon(delta=1e-6)
2.3693499904651665
>>> spent.epsilon_bounds(delta=1e-6).width < 1e-15
True
"""

from __future__ import annotations

from quaestor.accounting.calibrate import calibrate, calibrate_bounds, largest_count
from quaestor.accounting.compose import Composition, compose, compose_nonadaptive
from quaestor.accounting.explain import Explanation, ExplanationRow
from quaestor.accounting.expressions import parse_release
from quaestor.accounting.hypothesis import hypothesis_bounds
from quaestor.accounting.hypothesis.priors import (
    IndependentPrior,
    MixturePrior,
    PointPrior,
    Prior,
    SizePrior,
    UniformPrior,
)
from quaestor.accounting.hypothesis.result import HypothesisGuarantee
from quaestor.accounting.membership import compose_across
from quaestor.accounting.membership.facts import (
    All,
    AtMost,
    ExactlyOne,
    Exclusive,
    Fact,
    Implies,
    Vectors,
    fact_from_json,
)
from quaestor.accounting.membership.result import AcrossComposition, WorstMemberships
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.releases import (
    ApproxDP,
    BoundedRange,
    DensityPair,
    DiscreteGaussian,
    ExponentialMechanism,
    Gaussian,
    GaussianDP,
    Geometric,
    GraphSketch,
    Laplace,
    MatrixSketch,
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
    AccountClosed,
    AccountExists,
    AccountOverdrawn,
    AnswerPending,
    ApprovalNeeded,
    BeyondFloats,
    BudgetExceeded,
    CertificationFault,
    ChargeSettled,
    ClockWentBack,
    ContradictoryFacts,
    EngineFailed,
    InconsistentAnswers,
    InvalidCatalog,
    InvalidExpression,
    InvalidHistory,
    InvalidParameter,
    InvalidPlan,
    KeyReused,
    LedgerCorrupted,
    LedgerUnavailable,
    MissingAddress,
    MissingExtra,
    NotPlanned,
    QuaestorError,
    RefusedQuery,
    SourceKnown,
    SourceUnavailable,
    TargetOutOfReach,
    TheoremDoesNotApply,
    UnknownAccount,
    UnknownAnalyst,
    UnknownDatabase,
    UnreadableTable,
)
from quaestor.moved_modules import forward as _forward

__all__ = [
    "AccountClosed",
    "AccountExists",
    "AccountOverdrawn",
    "AcrossComposition",
    "All",
    "AnswerPending",
    "ApprovalNeeded",
    "ApproxDP",
    "AtMost",
    "BeyondFloats",
    "BoundedRange",
    "Bounds",
    "BudgetExceeded",
    "CertificationFault",
    "ChargeSettled",
    "ClockWentBack",
    "Composition",
    "ContradictoryFacts",
    "DensityPair",
    "DiscreteGaussian",
    "EngineFailed",
    "ExactlyOne",
    "Exclusive",
    "Explanation",
    "ExplanationRow",
    "ExponentialMechanism",
    "Fact",
    "Gaussian",
    "GaussianDP",
    "Geometric",
    "GraphSketch",
    "HypothesisGuarantee",
    "Implies",
    "InconsistentAnswers",
    "IndependentPrior",
    "InvalidCatalog",
    "InvalidExpression",
    "InvalidHistory",
    "InvalidParameter",
    "InvalidPlan",
    "KeyReused",
    "Laplace",
    "LedgerCorrupted",
    "LedgerUnavailable",
    "MatrixSketch",
    "MissingAddress",
    "MissingExtra",
    "MixturePrior",
    "NotPlanned",
    "PointPrior",
    "PoissonSampled",
    "Prior",
    "ProbabilityVectors",
    "PureDP",
    "QuaestorError",
    "RandomizedResponse",
    "RefusedQuery",
    "Release",
    "Repeated",
    "SampledWithoutReplacement",
    "SizePrior",
    "SourceKnown",
    "SourceUnavailable",
    "Staircase",
    "TargetOutOfReach",
    "TheoremDoesNotApply",
    "Tradeoff",
    "UniformPrior",
    "UnknownAccount",
    "UnknownAnalyst",
    "UnknownDatabase",
    "UnreadableTable",
    "Vectors",
    "Vertex",
    "WorstMemberships",
    "ZeroConcentratedDP",
    "calibrate",
    "calibrate_bounds",
    "compose",
    "compose_across",
    "compose_nonadaptive",
    "fact_from_json",
    "hypothesis_bounds",
    "largest_count",
    "parse_release",
    "release_from_json",
]

__version__ = "0.1.0"

_forward()
