"""Policies, their action distributions and their files."""

from nacre.policies.blackbox import BlackBox
from nacre.policies.card import Card
from nacre.policies.cloning.fitting import CloneConfig, CloneMatch, clone_policy
from nacre.policies.cloning.log_cloning import LogCloneReport, clone_log, find_uncertainty
from nacre.policies.cloning.opening import find_start, open_policy
from nacre.policies.cloning.softening import soften
from nacre.policies.controller import Controller
from nacre.policies.distributions import (
    ActionDistribution,
    Categorical,
    ClippedGaussian,
    Deterministic,
    Gaussian,
    Mixture,
    SquashedGaussian,
    Uniform,
    deterministic_choice,
)
from nacre.policies.files import (
    PolicyOptions,
    fingerprint,
    read_policy,
    read_policy_with_provenance,
    write_policy,
)
from nacre.policies.formats.rules import RulePolicy
from nacre.policies.networks import MLP
from nacre.policies.policy import MLPPolicy, Policy, Scaling, Signature, TabularPolicy
from nacre.policies.records import Record, RecordedPolicy, record_policy
from nacre.policies.writing import write_card, write_predictor

__all__ = [
    "MLP",
    "ActionDistribution",
    "BlackBox",
    "Card",
    "Categorical",
    "ClippedGaussian",
    "CloneConfig",
    "CloneMatch",
    "Controller",
    "Deterministic",
    "Gaussian",
    "LogCloneReport",
    "MLPPolicy",
    "Mixture",
    "Policy",
    "PolicyOptions",
    "Record",
    "RecordedPolicy",
    "RulePolicy",
    "Scaling",
    "Signature",
    "SquashedGaussian",
    "TabularPolicy",
    "Uniform",
    "clone_log",
    "clone_policy",
    "deterministic_choice",
    "find_start",
    "find_uncertainty",
    "fingerprint",
    "open_policy",
    "read_policy",
    "read_policy_with_provenance",
    "record_policy",
    "soften",
    "write_card",
    "write_policy",
    "write_predictor",
]
