"""What a release is, in words that every adapter translates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

__all__ = [
    "BlackBox",
    "DiscreteGaussian",
    "Exponential",
    "Gaussian",
    "Geometric",
    "Laplace",
    "Mechanism",
    "SampledGaussian",
    "SampledLaplace",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlackBox:
    """Anything that is (epsilon, delta)-differentially private."""

    epsilon: float
    delta: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaussian:
    """Normal noise on a query of sensitivity 1."""

    sigma: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Laplace:
    """Laplace noise on a query of sensitivity 1."""

    scale: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Geometric:
    """Two-sided geometric noise on a count."""

    scale: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussian:
    """Discrete Gaussian noise on a count."""

    sigma: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledGaussian:
    """Normal noise on a Poisson sample: one step of DP-SGD."""

    sigma: float
    rate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledLaplace:
    """Laplace noise on a Poisson sample."""

    scale: float
    rate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Exponential:
    """An exponential mechanism: its losses lie within a range of ``epsilon``."""

    epsilon: float


Mechanism: TypeAlias = (
    BlackBox
    | Gaussian
    | Laplace
    | Geometric
    | DiscreteGaussian
    | SampledGaussian
    | SampledLaplace
    | Exponential
)
