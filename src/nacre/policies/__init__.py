"""Policies, their action distributions and their files."""

from nacre.policies.controller import Controller
from nacre.policies.distributions import (
    ActionDistribution,
    Categorical,
    Deterministic,
    Gaussian,
    Mixture,
    SquashedGaussian,
    Uniform,
    deterministic_choice,
)
from nacre.policies.files import fingerprint, read_policy, read_policy_with_provenance, write_policy
from nacre.policies.networks import MLP
from nacre.policies.policy import MLPPolicy, Policy, Scaling, Signature, TabularPolicy

__all__ = [
    "MLP",
    "ActionDistribution",
    "Categorical",
    "Controller",
    "Deterministic",
    "Gaussian",
    "MLPPolicy",
    "Mixture",
    "Policy",
    "Scaling",
    "Signature",
    "SquashedGaussian",
    "TabularPolicy",
    "Uniform",
    "deterministic_choice",
    "fingerprint",
    "read_policy",
    "read_policy_with_provenance",
    "write_policy",
]
