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


def find_actor(tensors: Tensors, *, state_noise: bool = False) -> Actor:
    """The reader for these tensors, by their names.

    Args:
        tensors: All of the policy's.
        state_noise: Whether it was trained with state-dependent exploration.

    Raises:
        InputError: If they are of no MLP policy that is known.
    """
    names = set(tensors)
    strange = sorted(name for name in names if re.search(r"features_extractor\.|lstm", name))
    if strange:
        raise InputError(
            f"tensor {strange[0]!r:.80} belongs to a convolutional, recurrent or custom network; "
            "nacre reads MlpPolicy, so export the policy to ONNX instead"
        )
    if "action_net.weight" in names and "value_net.weight" not in names:
        return assemble_random_search
    if "action_net.weight" in names:
        return assemble_mean if state_noise else assemble_actor_critic
    if "actor.mu.weight" in names and "actor.log_std.weight" in names:
        return assemble_soft_actor
    if "actor.mu.0.weight" in names and "actor.log_std" in names:
        return assemble_soft_mean
    if "actor.mu.weight" in names and "actor.log_std" in names:
        return assemble_soft_mean
    if "actor.mu.0.weight" in names:
        return assemble_sure_actor
    if any(name.startswith("quantile_net.quantile_net.") for name in names):
        return assemble_quantiles
    if "action_net.0.weight" in names:
        return assemble_random_search
    if any(name.startswith("q_net.q_net.") for name in names):
        return assemble_greedy
    raise InputError(
        f"tensors {', '.join(sorted(names))[:100]} are of no PPO, A2C, SAC, TD3, DQN or ARS with "
        "an MlpPolicy; export the policy to ONNX instead"
    )


def assemble_actor_critic(
    tensors: Tensors, signature: Signature, activation: Activation, scaling: Scaling | None
) -> MLPPolicy:
    """PPO, A2C and TRPO: logits, or a mean with a standard deviation that no state changes."""
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


def assemble_mean(
    tensors: Tensors, signature: Signature, activation: Activation, scaling: Scaling | None
) -> MLPPolicy:
    """PPO, A2C and TRPO with state-dependent exploration: the mean, clipped to the action space."""
    tensors = dict(tensors)
    hidden = [
        *_take_stack(tensors, "mlp_extractor.shared_net"),
        *_take_stack(tensors, "mlp_extractor.policy_net"),
    ]
    last = take_layer(tensors, "action_net")
    return _network(hidden, last, activation, signature, "deterministic", scaling)


def assemble_soft_mean(
    tensors: Tensors, signature: Signature, activation: Activation, scaling: Scaling | None
) -> MLPPolicy:
    """SAC and TQC with state-dependent exploration: tanh of the mean, which is cut at ±2 before.

    clip(x, -2, 2) = relu(x + 2) - relu(x - 2) - 2, so that one more layer does it.
    """
    _refuse_discrete(signature, "SAC")
    tensors = dict(tensors)
    hidden = _take_stack(tensors, "actor.latent_pi")
    clipped = "actor.mu.0.weight" in tensors
    weight, bias = take_layer(tensors, "actor.mu.0" if clipped else "actor.mu")
    layers, activations = [*hidden], [activation] * len(hidden)
    if clipped:
        layers.append((np.concatenate([weight, weight]), np.concatenate([bias + 2, bias - 2])))
        activations.append("relu")
        eye = np.eye(len(bias), dtype=np.float32)
        weight, bias = np.concatenate([eye, -eye], axis=1), np.full(len(bias), -2.0, np.float32)
    stretched = [*layers, (weight, bias), _stretch(signature, "SAC")]
    network = stack_layers(stretched, (*activations, "tanh", "identity"))
    return MLPPolicy(network, scaling, signature, "deterministic")


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
    activations = (*[activation] * (len(layers) - 1), "tanh", "identity")
    network = stack_layers([*layers, _stretch(signature, "TD3")], activations)
    return MLPPolicy(network, scaling, signature, "deterministic")


def _stretch(signature: Signature, what: str) -> Layer:
    """From [-1, 1] to the action space, as one more layer."""
    low, high = (np.asarray(limit, np.float64) for limit in signature.action_limits)
    if not np.all(np.isfinite([low, high])):
        raise InputError(f"{what} acts within bounds, but the action space has infinite ones")
    return np.diag((high - low) / 2).astype(np.float32), ((high + low) / 2).astype(np.float32)


def assemble_greedy(
    tensors: Tensors, signature: Signature, activation: Activation, scaling: Scaling | None
) -> MLPPolicy:
    """DQN: the action of the largest Q-value."""
    if not signature.discrete_actions:
        raise InputError("DQN needs discrete actions, the action space is a Box; correct it")
    *hidden, last = _take_stack(dict(tensors), "q_net.q_net")
    return _network(hidden, last, activation, signature, "greedy", scaling)


def assemble_quantiles(
    tensors: Tensors, signature: Signature, activation: Activation, scaling: Scaling | None
) -> MLPPolicy:
    """QR-DQN: the action with the largest mean over quantiles, which a last layer can take."""
    if not signature.discrete_actions:
        raise InputError("QR-DQN needs discrete actions, the action space is a Box; correct it")
    *hidden, (weight, bias) = _take_stack(dict(tensors), "quantile_net.quantile_net")
    n = signature.action_size
    if len(bias) % n:
        raise InputError(
            f"its last layer has {len(bias)} numbers for {n} actions; give the action space that "
            "it was trained with"
        )
    last = weight.reshape(-1, n, weight.shape[1]).mean(axis=0), bias.reshape(-1, n).mean(axis=0)
    return _network(hidden, last, activation, signature, "greedy", scaling)


def assemble_random_search(
    tensors: Tensors, signature: Signature, activation: Activation, scaling: Scaling | None
) -> MLPPolicy:
    """ARS: a linear map without a constant, clipped, or an MLP whose output is squashed."""
    tensors = dict(tensors)
    if "action_net.weight" in tensors:
        tensors["action_net.0.weight"] = tensors.pop("action_net.weight")
        if "action_net.bias" in tensors:
            tensors["action_net.0.bias"] = tensors.pop("action_net.bias")
    linear = "action_net.0.bias" not in tensors
    for name in [name for name in tensors if name.endswith(".weight")]:
        constant = np.zeros(len(tensors[name]), np.float32)
        tensors.setdefault(name.removesuffix("weight") + "bias", constant)
    *hidden, last = _take_stack(tensors, "action_net")
    if signature.discrete_actions:
        return _network(hidden, last, activation, signature, "greedy", scaling)
    if linear:
        return _network(hidden, last, activation, signature, "deterministic", scaling)
    activations = (*[activation] * len(hidden), "tanh", "identity")
    network = stack_layers([*hidden, last, _stretch(signature, "ARS")], activations)
    return MLPPolicy(network, scaling, signature, "deterministic")


ACTORS: dict[Actor, Activation] = {
    assemble_actor_critic: "tanh",
    assemble_mean: "tanh",
    assemble_soft_mean: "relu",
    assemble_quantiles: "relu",
    assemble_random_search: "relu",
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
    if head.endswith("gaussian") or head == "deterministic":
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
