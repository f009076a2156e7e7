"""Policies, their action distributions and their files."""

from nacre.policies.blackbox import BlackBox
from nacre.policies.card import Card
from nacre.policies.cloning.fitting import CloneConfig, CloneMatch, clone_policy
from nacre.policies.cloning.full_support import find_start, give_full_support
from nacre.policies.cloning.log_cloning import LogCloneReport, clone_log, find_uncertainty
from nacre.policies.cloning.remembered import recall_uncertainty
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
from nacre.policies.files import PolicySource, fingerprint, read_policy, read_policy_with_provenance
from nacre.policies.formats.base import PolicyFormat, PolicyOptions, Provenance
from nacre.policies.masks import respect_mask
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.networks import MLP, Scaling
from nacre.policies.policy import Policy, Signature
from nacre.policies.records import Record, RecordedPolicy, record_policy
from nacre.policies.rules import RulePolicy
from nacre.policies.tabular import TabularPolicy
from nacre.policies.writing import (
    Delivery,
    deliver_policy,
    write_card,
    write_policy,
    write_predictor,
)

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
    "Delivery",
    "Deterministic",
    "Gaussian",
    "LogCloneReport",
    "MLPPolicy",
    "Mixture",
    "Policy",
    "PolicyFormat",
    "PolicyOptions",
    "PolicySource",
    "Provenance",
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
    "deliver_policy",
    "deterministic_choice",
    "find_start",
    "find_uncertainty",
    "fingerprint",
    "give_full_support",
    "read_policy",
    "read_policy_with_provenance",
    "recall_uncertainty",
    "record_policy",
    "respect_mask",
    "soften",
    "write_card",
    "write_policy",
    "write_predictor",
]
