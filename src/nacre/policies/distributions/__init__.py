"""Distributions over actions: the one place that knows continuous from discrete.

Parameters carry any leading batch shape `...`; a policy evaluated at a million states returns one
distribution object. Sampling is a transform of uniform noise, differentiable wherever such a
transform exists, so ordinary and quasi-random noise take the same way (`transform`).
"""

from nacre.policies.distributions.categorical import Categorical, deterministic_choice
from nacre.policies.distributions.clipped import ClippedGaussian
from nacre.policies.distributions.gaussian import Gaussian, SquashedGaussian
from nacre.policies.distributions.interface import (
    ActionDistribution,
    ContinuousDistribution,
    DiscreteDistribution,
    Groups,
)
from nacre.policies.distributions.mixture import Mixture
from nacre.policies.distributions.vectors import Deterministic, Uniform

__all__ = [
    "ActionDistribution",
    "Categorical",
    "ClippedGaussian",
    "ContinuousDistribution",
    "Deterministic",
    "DiscreteDistribution",
    "Gaussian",
    "Groups",
    "Mixture",
    "SquashedGaussian",
    "Uniform",
    "deterministic_choice",
]
