"""Which tensors of Stable-Baselines3 are the policy, and the network of ours that they make."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from nacre.errors import InputError
from nacre.policies.formats.tensors import Layer, Tensors, stack_layers, take, take_layer
from nacre.policies.heads import USUAL_LOG_STD, Head
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.networks import Activation, Scaling
from nacre.policies.policy import Signature

Actor = Callable[[Tensors, Signature, Activation, Scaling | None], MLPPolicy]


def find_actor(tensors: Tensors) -> Actor:
    """The reader for these tensors, by their names.

    Raises:
        InputError: If they are of no MLP policy that is known.
    """
    names = set(tensors)
    strange = sorted(
        name for name in names if re.search(r"features_extractor\.|lstm|quantile_net", name)
    )
    if strange:
        raise InputError(
            f"tensor {strange[0]!r:.80} belongs to a convolutional, recurrent or custom network; "
            "nacre reads MlpPolicy, so export the policy to ONNX instead"
        )
    if "action_net.weight" in names:
        return assemble_actor_critic
    if "actor.mu.weight" in names and "actor.log_std.weight" in names:
        return assemble_soft_actor
    if "actor.mu.0.weight" in names and "actor.log_std" not in names:
        return assemble_sure_actor
    if any(name.startswith("q_net.q_net.") for name in names):
        return assemble_greedy
    raise InputError(
        f"tensors {', '.join(sorted(names))[:100]} are of no PPO, A2C, SAC, TD3 or DQN with an "
        "MlpPolicy; export the policy to ONNX instead"
    )


def assemble_actor_critic(
    tensors: Tensors, signature: Signature, activation: Activation, scaling: Scaling | None
) -> MLPPolicy:
    """PPO and A2C: logits, or a mean with a standard deviation that no state changes."""
    tensors = dict(tensors)
    hidden = [
        *_take_stack(tensors, "mlp_extractor.shared_net"),
        *_take_stack(tensors, "mlp_extractor.policy_net"),
    ]
    weight, bias = take_layer(tensors, "action_net")
    if signature.discrete_actions:
        return _network(hidden, (weight, bias), activation, signature, "categorical", scaling)
    log_std = take(tensors, "log_std")
    if log_std.shape != bias.shape:
        raise InputError(
            f"log_std of shape {log_std.shape}, the action has {len(bias)} coordinates; nacre "
            "reads policies trained with use_sde=False"
        )
    last = np.concatenate([weight, np.zeros_like(weight)]), np.concatenate([bias, log_std])
    bounds = (
        min(USUAL_LOG_STD[0], float(log_std.min())),
        max(USUAL_LOG_STD[1], float(log_std.max())),
    )
    return _network(hidden, last, activation, signature, "clipped_gaussian", scaling, bounds)


def assemble_soft_actor(
    tensors: Tensors, signature: Signature, activation: Activation, scaling: Scaling | None
) -> MLPPolicy:
    """SAC: a Gaussian squashed by tanh and stretched to the action space."""
    tensors = dict(tensors)
    hidden = _take_stack(tensors, "actor.latent_pi")
    mean, log_std = take_layer(tensors, "actor.mu"), take_layer(tensors, "actor.log_std")
    if mean[0].shape != log_std[0].shape:
        raise InputError(
            f"actor.mu of shape {mean[0].shape} and actor.log_std of shape {log_std[0].shape} have "
            "to be alike; save the model again"
        )
    last = np.concatenate([mean[0], log_std[0]]), np.concatenate([mean[1], log_std[1]])
    return _network(hidden, last, activation, signature, "squashed_gaussian", scaling)


def assemble_sure_actor(
    tensors: Tensors, signature: Signature, activation: Activation, scaling: Scaling | None
) -> MLPPolicy:
    """TD3 and DDPG: tanh of the last layer, stretched to the action space by one more."""
    _refuse_discrete(signature, "TD3")
    layers = _take_stack(dict(tensors), "actor.mu")
    low, high = (np.asarray(limit, np.float64) for limit in signature.action_limits)
    if not np.all(np.isfinite([low, high])):
        raise InputError("TD3 acts within bounds, but the action space has infinite ones")
    stretch = (np.diag((high - low) / 2).astype(np.float32), ((high + low) / 2).astype(np.float32))
    activations = (*[activation] * (len(layers) - 1), "tanh", "identity")
    network = stack_layers([*layers, stretch], activations)
    return MLPPolicy(network, scaling, signature, "deterministic")


def assemble_greedy(
    tensors: Tensors, signature: Signature, activation: Activation, scaling: Scaling | None
) -> MLPPolicy:
    """DQN: the action of the largest Q-value."""
    if not signature.discrete_actions:
        raise InputError("DQN needs discrete actions, the action space is a Box; correct it")
    *hidden, last = _take_stack(dict(tensors), "q_net.q_net")
    return _network(hidden, last, activation, signature, "greedy", scaling)


ACTORS: dict[Actor, Activation] = {
    assemble_actor_critic: "tanh",
    assemble_soft_actor: "relu",
    assemble_sure_actor: "relu",
    assemble_greedy: "relu",
}
"""Readers, and the activation of each algorithm unless it was told otherwise."""


def _network(
    hidden: list[Layer],
    last: Layer,
    activation: Activation,
    signature: Signature,
    head: Head,
    scaling: Scaling | None,
    bounds: tuple[float, float] = USUAL_LOG_STD,
) -> MLPPolicy:
    if head.endswith("gaussian"):
        _refuse_discrete(signature, "a Gaussian policy")
    activations = (*[activation] * len(hidden), "identity")
    return MLPPolicy(stack_layers([*hidden, last], activations), scaling, signature, head, bounds)


def _refuse_discrete(signature: Signature, what: str) -> None:
    if signature.discrete_actions:
        raise InputError(f"{what} needs an action space that is a Box, it is Discrete; correct it")


def _take_stack(tensors: Tensors, prefix: str) -> list[Layer]:
    """Layers prefix.0, prefix.2, …: every second module of a stack is an activation."""
    places = sorted(
        int(match[1])
        for name in tensors
        if (match := re.fullmatch(re.escape(prefix) + r"\.(\d{1,4})\.weight", name))
    )
    if places != list(range(0, 2 * len(places), 2)):
        raise InputError(
            f"{prefix} has layers {places}, expected every second number; it is no plain MLP, so "
            "export the policy to ONNX instead"
        )
    layers = [take_layer(tensors, f"{prefix}.{place}") for place in places]
    left = [name for name in tensors if name.startswith(f"{prefix}.")]
    if left:
        raise InputError(
            f"tensor {left[0]!r:.80} belongs to no linear layer; export the policy to ONNX instead"
        )
    return layers
