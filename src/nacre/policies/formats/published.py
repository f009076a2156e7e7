"""The policy tensors of the published experiments.

`net.0` and `net.2` are the hidden layers; then `mu_layer` and `log_std_layer` with ReLU after both
hidden layers (`squashed_gaussian_mlp`), or `logits` with ReLU after the first only
(`categorical_mlp`). The metadata name the kind and the action limit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import gymnasium
import numpy as np

from nacre.errors import InputError
from nacre.policies.formats.tensors import Tensors, stack_layers, take_layer
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Signature

PUBLISHED_KINDS = ("squashed_gaussian_mlp", "categorical_mlp")


def assemble_published(tensors: Tensors, metadata: Mapping[str, str]) -> MLPPolicy:
    """The policy that these tensors are, as its kind says."""
    tensors = dict(tensors)
    hidden = [take_layer(tensors, "net.0"), take_layer(tensors, "net.2")]
    size = hidden[0][0].shape[1]
    observations = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float32)
    if metadata["kind"] == "categorical_mlp":
        last = take_layer(tensors, "logits")
        signature = Signature(observations, gymnasium.spaces.Discrete(len(last[1])))
        network = stack_layers([*hidden, last], ("relu", "identity", "identity"))
        return _checked(MLPPolicy(network, None, signature, "categorical"))
    location, log_std = take_layer(tensors, "mu_layer"), take_layer(tensors, "log_std_layer")
    if location[0].shape != log_std[0].shape:
        raise InputError(
            f"mu_layer of shape {location[0].shape} and log_std_layer of shape {log_std[0].shape} "
            "have to be of the same shape"
        )
    bound = np.full(len(location[1]), _limit(metadata), np.float32)
    signature = Signature(observations, gymnasium.spaces.Box(-bound, bound, dtype=np.float32))
    last = (np.concatenate([location[0], log_std[0]]), np.concatenate([location[1], log_std[1]]))
    network = stack_layers([*hidden, last], ("relu", "relu", "identity"))
    return _checked(MLPPolicy(network, None, signature, "squashed_gaussian"))


def _limit(metadata: Mapping[str, str]) -> float:
    text = metadata.get("action_limit", "")
    try:
        limit = float(text)
    except ValueError:
        limit = math.nan
    if not 0 < limit <= float(np.finfo(np.float32).max):
        raise InputError(f"action_limit {text!r:.60} in its metadata: expected a positive number")
    return limit


def _checked(policy: MLPPolicy) -> MLPPolicy:
    policy.check()
    return policy
