"""Policies of Stable-Baselines3, read without that library, without PyTorch, without a pickle run.

A zip written by `model.save` holds `policy.pth`, the weights, and `data`, a JSON document in which
anything that JSON cannot hold is a pickle in base64 beside a text for people. The pickles are never
touched; what is needed of them stands in the texts, or is asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from nacre.errors import InputError
from nacre.policies.formats.archives import Archive
from nacre.policies.formats.base import PolicyFormat, PolicyOptions, Provenance
from nacre.policies.formats.normalization import read_normalization
from nacre.policies.formats.sb3_networks import ACTORS, find_actor
from nacre.policies.formats.tensors import Tensors, check_tensors
from nacre.policies.formats.torch import read_state_dict, read_torch
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.networks import Activation, Scaling
from nacre.policies.policy import Policy, Signature

_MEMBERS = ("data", "policy.pth", "_stable_baselines3_version", "system_info.txt")
_ACTIVATIONS: dict[str, Activation] = {"ReLU": "relu", "Tanh": "tanh", "Identity": "identity"}
_LARGEST_DATA = 2**24


@dataclass(frozen=True)
class StableBaselinesOptions:
    """What a zip may leave open.

    Attributes:
        signature: The spaces, where the zip does not say them in plain text; else they must agree.
        activation: The hidden layers' activation, likewise.
        scaling: What VecNormalize did to the observations; see `read_normalization`.
        log_signature: The spaces of the log that belongs to the policy: they stand in where the zip
            does not say its own in plain text and nobody gave them.
    """

    signature: Signature | None = None
    activation: Activation | None = None
    scaling: Scaling | None = None
    log_signature: Signature | None = None


class StableBaselinesFormat(PolicyFormat):
    """Zips written by `model.save` of Stable-Baselines3."""

    label = "a Stable-Baselines3 .zip"
    suffixes = (".zip",)

    def read(self, source: Any, options: PolicyOptions) -> tuple[Policy, Provenance]:
        """The policy as a network of ours."""
        scaling = None
        if options.normalization is not None:
            scaling = read_normalization(Path(options.normalization))
        given = StableBaselinesOptions(
            options.signature, options.activation, scaling, options.spaces
        )
        policy = read_stable_baselines(Path(source), given)
        provenance: Provenance = {"source": "stable-baselines3"}
        if uses_state_noise(Path(source)):
            provenance["notes"] = [
                "state-dependent exploration is left out: the policy acts by its mean, as predict "
                "with deterministic=True does"
            ]
        return policy, provenance


def read_stable_baselines(path: Path, options: StableBaselinesOptions | None = None) -> MLPPolicy:
    """The policy of a PPO, A2C, TRPO, SAC, TQC, TD3, DDPG, DQN, QR-DQN or ARS zip with an MLP.

    PPO's and A2C's Gaussians are clipped to the action space, as `predict` does; SAC's are squashed
    into it; TD3's action is certain, DQN's is that of the largest Q-value. With state-dependent
    exploration (use_sde) the action is the mean: noise that is kept for several steps is no noise
    that a policy without memory has.

    Raises:
        InputError: If it is something else; the text says what to export instead.
    """
    options = options or StableBaselinesOptions()
    archive = Archive(path, str(path))
    _check_members(archive)
    tensors = read_state_dict(archive.read("policy.pth"), f"{path}: policy.pth")
    try:
        data = _read_data(archive)
        _raise_for(check_tensors(tensors))
        return _assemble(tensors, data, options)
    except InputError as error:
        prefix = f"{path}: "
        raise InputError(
            [prefix + problem.removeprefix(prefix) for problem in error.problems]
        ) from None


def _check_members(archive: Archive) -> None:
    """Refuse what does not belong there, wherever a program could hide."""
    problems: list[str] = []
    for name in archive.names:
        if name.endswith(".pth") and "/" not in name:
            if name != "policy.pth":
                # Optimisers are of no use here; a file that holds more than numbers is no accident.
                try:
                    read_torch(archive.read(name), f"{archive.name}: {name}")
                except InputError as error:
                    problems += error.problems
        elif name not in _MEMBERS:
            problems.append(
                f"{archive.name}: member {name!r:.80} is not of Stable-Baselines3; save the model "
                "again with model.save"
            )
    problems += [
        f"{archive.name}: has no member {name!r}; save the model with model.save, or export the "
        "policy to ONNX"
        for name in ("data", "policy.pth")
        if name not in archive.names
    ]
    if problems:
        raise InputError(problems)


def _read_data(archive: Archive) -> dict[str, Any]:
    content = archive.read("data")
    if len(content) > _LARGEST_DATA:
        raise InputError(
            f"member 'data' has {len(content):,} bytes; save the model without buffers"
        )
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        raise InputError(
            "member 'data' is not JSON; save the model again with model.save"
        ) from None
    if not isinstance(data, dict):
        raise InputError("member 'data' is not a JSON object; save the model again with model.save")
    return data


def _assemble(
    tensors: Tensors, data: Mapping[str, Any], options: StableBaselinesOptions
) -> MLPPolicy:
    signature = _find_signature(data, options.signature, options.log_signature)
    actor = find_actor(tensors, state_noise=data.get("use_sde") is True)
    activation = _find_activation(data, options.activation, ACTORS[actor])
    policy = actor(tensors, signature, activation, options.scaling)
    policy.check()
    return policy


def uses_state_noise(path: Path) -> bool:
    """Whether a zip that was read before has state-dependent exploration."""
    return _read_data(Archive(path, str(path))).get("use_sde") is True


def _find_signature(
    data: Mapping[str, Any], given: Signature | None, fallback: Signature | None = None
) -> Signature:
    problems, spaces = [], []
    for name in ("observation_space", "action_space"):
        try:
            spaces.append(_parse_space(data.get(name)))
        except InputError as error:
            problems += [
                f"{name}: {problem}; give a log, whose spaces are taken then, or the spaces as "
                "signature=nacre.policies.Signature(…)"
                for problem in error.problems
            ]
    if problems:
        if given is None and fallback is None:
            raise InputError(problems)
        return given or fallback  # type: ignore[return-value]
    found = Signature(*spaces)
    if given is None or given == found:
        return found
    # Bounds are text rounded to eight digits: given ones that differ by less are better.
    for name in ("observation_space", "action_space"):
        mine, other = getattr(given, name), getattr(found, name)
        if type(mine) is not type(other) or mine.shape != other.shape or not _alike(mine, other):
            raise InputError(
                f"{name} is {other} in the zip, but the given signature has {mine}; leave the "
                "signature out or correct it"
            )
    return given


def _alike(given: gymnasium.Space[Any], found: gymnasium.Space[Any]) -> bool:
    if isinstance(given, gymnasium.spaces.Box) and isinstance(found, gymnasium.spaces.Box):
        return np.allclose(given.low, found.low, rtol=1e-4) and np.allclose(
            given.high, found.high, rtol=1e-4
        )
    return given == found


def _parse_space(form: Any) -> gymnasium.Space[Any]:
    """A space from the plain parts of its JSON form."""
    kind = form.get(":type:") if isinstance(form, dict) else None
    name = re.fullmatch(r"<class 'gym(?:nasium)?\.spaces\.[\w.]*?(\w+)'>", str(kind))
    if name is None:
        raise InputError(f"is {kind!r:.80} in the zip, expected a gymnasium space")
    if name[1] == "Discrete":
        n, start = _whole(form.get("n")), _whole(form.get("start", 0))
        if n is None or n < 1 or start != 0:
            raise InputError(
                f"Discrete with n = {form.get('n')!r:.40} and start = {form.get('start')!r:.40}, "
                "expected one that starts at 0"
            )
        return gymnasium.spaces.Discrete(n)
    if name[1] != "Box":
        raise InputError(f"is a {name[1]:.40}; nacre reads Box and Discrete, so flatten it")
    # Zips of before 2022 say shape, later ones _shape.
    shape = form.get("_shape", form.get("shape"))
    if not isinstance(shape, list) or len(shape) != 1 or _whole(shape[0]) is None:
        raise InputError(f"is a Box of shape {shape!r:.60}; flatten it to one axis")
    size = int(shape[0])
    return gymnasium.spaces.Box(
        _parse_bounds(form.get("low"), size), _parse_bounds(form.get("high"), size)
    )


def _parse_bounds(text: Any, size: int) -> np.ndarray:
    """Numbers from the text of an array, such as "[-1.  0.5]"."""
    words = text.strip("[] \n").split() if isinstance(text, str) and len(text) < 10**6 else []
    try:
        bounds = np.array([float(word) for word in words], np.float32)
    except ValueError:
        bounds = np.array([], np.float32)
    if bounds.shape != (size,):
        raise InputError(f"has the bounds {text!r:.60} for {size} coordinates")
    return bounds


def _whole(value: Any) -> int | None:
    text = str(value)
    return int(text) if re.fullmatch(r"-?\d{1,10}", text) else None


def _find_activation(
    data: Mapping[str, Any], given: Activation | None, default: Activation
) -> Activation:
    settings = data.get("policy_kwargs")
    text = settings.get("activation_fn") if isinstance(settings, dict) else None
    if text is None:
        hidden = isinstance(settings, dict) and set(settings) == {":type:", ":serialized:"}
        if hidden and given is None:
            raise InputError(
                "its policy_kwargs are not readable without running a pickle; give the hidden "
                "layers' activation as activation='relu' or 'tanh'"
            )
        return given or default
    name = re.fullmatch(r"<class '[\w.]*?(\w+)'>", str(text))
    found = _ACTIVATIONS.get(name[1]) if name else None
    if found is None:
        raise InputError(
            f"activation {text!r:.80}: nacre reads {', '.join(_ACTIVATIONS)}; export the policy to "
            "ONNX instead"
        )
    if given not in (None, found):
        raise InputError(f"activation is {found} in the zip, but {given} was given; leave it out")
    return found


def _raise_for(problems: list[str]) -> None:
    if problems:
        raise InputError(problems)


STABLE_BASELINES = StableBaselinesFormat()
