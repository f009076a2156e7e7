"""Reading policies: whatever people have, by the ending of the file's name or by what it is."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from numpy.typing import ArrayLike

from nacre.errors import InputError, Kind, check_arguments
from nacre.logs import Log
from nacre.policies.blackbox import BlackBox
from nacre.policies.cloning.fitting import CloneConfig
from nacre.policies.cloning.log_cloning import find_uncertainty
from nacre.policies.cloning.remembered import remember_uncertainty
from nacre.policies.exploring import ExploringPolicy
from nacre.policies.formats.base import PolicyFormat, PolicyOptions, Provenance
from nacre.policies.formats.registry import (
    describe_formats,
    find_by_name,
    find_by_object,
    is_source,
)
from nacre.policies.formats.safetensors import describe_tensors
from nacre.policies.masks import respect_mask
from nacre.policies.networks import Activation
from nacre.policies.policy import Policy, Signature
from nacre.policies.records import RecordedPolicy
from nacre.policies.rules import RulePolicy
from nacre.policies.writing import write_policy

__all__ = [
    "PolicyOptions",
    "PolicySource",
    "fingerprint",
    "read_policy",
    "read_policy_with_provenance",
    "write_policy",
]

PolicySource = Annotated[
    Any,
    Kind("a policy (nacre.read_policy gives one), a function or the path of a file", is_source),
]
"""A policy, or what `read_policy` reads: objects that some format takes are sources too."""
_PICKLES = (".pkl", ".pickle", ".joblib", ".npy", ".npz", ".ckpt")
_TORCH = (".pt", ".pth", ".torchscript", ".d3")
_EXPORT = (
    "export the policy to ONNX: torch.onnx.export(policy, torch.zeros(1, SIZE), 'policy.onnx', "
    "input_names=['observation'], output_names=['logits']), for action vectors ['action']"
)
_EXPORT_D3RLPY = (
    "export the policy to ONNX with algo.save_policy('policy.onnx') of d3rlpy; from PyTorch 2.9 on "
    "set torch.onnx.export = functools.partial(torch.onnx.export, dynamo=False) before"
)
_ASK_RLLIB = (
    "lambda rows: algorithm.get_module().forward_inference({'obs': torch.as_tensor(rows)})"
    "['action_dist_inputs'].detach().numpy()"
)


@check_arguments
def read_policy(
    source: PolicySource,
    *,
    signature: Signature | None = None,
    log: Log | None = None,
    outputs: str | Mapping[str, str] | None = None,
    activation: Activation | None = None,
    normalization: str | os.PathLike[str] | None = None,
    clone: CloneConfig | None = None,
    states: ArrayLike | None = None,
    seed: int = 0,
) -> Policy:
    """Read a policy from a file, from a function or object, or from the log.

    Args:
        source: A path: `.safetensors` of ours or of the published experiments, `.onnx`, a
            Stable-Baselines3 `.zip`, a rule in `.toml`. The words "columns" (the log's own columns
            say how the old policy acts) and "clone" (fit one to the log's actions). A function, or
            an object with `predict`. Whatever the formats of other packages read.
        signature: The spaces, where the source does not say them; the log's if absent.
        log: The log that belongs to the policy.
        outputs: What an ONNX file's outputs or a function's answers are.
        activation: The activation of a Stable-Baselines3 zip that does not say it.
        normalization: The npz file with the statistics of a zip's normalised observations.
        clone: How clones are fitted.
        states: Further states at which a policy that can only be asked is recorded.
        seed: Seed of the cloning.

    Returns:
        The policy. Those that can only be asked (ONNX, functions) come as a `RecordedPolicy` if the
        log is given, else as a `BlackBox`.

    Raises:
        InputError: If there is no such policy; one line for each problem.
    """
    options = PolicyOptions(signature, log, outputs, activation, normalization, clone, states, seed)
    return read_policy_with_provenance(source, options)[0]


def read_policy_with_provenance(
    source: Any, options: PolicyOptions | None = None
) -> tuple[Policy, Provenance]:
    """Read a policy together with where it comes from and how well it was cloned, if it was."""
    options = options or PolicyOptions()
    policy, provenance = _read(source, options)
    # What a log forbids counts, whatever spaces were given.
    masked = dataclasses.replace(options, signature=None).spaces or options.spaces
    if masked is not None:
        policy = respect_mask(policy, masked)
    remember_uncertainty(policy, find_uncertainty(provenance))
    return policy, provenance


def _read(source: Any, options: PolicyOptions) -> tuple[Policy, Provenance]:
    if not isinstance(source, str | os.PathLike):
        return find_by_object(source).read(source, options)
    name = os.fspath(source)
    form = find_by_name(name)
    if form is not None and name in form.words:
        return form.read(name, options)
    return _check_file(name, form).read(Path(name), options)


def _check_file(source: str, form: PolicyFormat | None) -> PolicyFormat:
    """The format of a file, once it is known to be one and to be there."""
    if re.match(r"[a-z][a-z0-9+.-]+:/", source):
        raise InputError(
            f"{source}: is an address; models of MLflow and others may hold pickles, so nacre "
            "fetches none; download the ONNX file or the zip and give its path"
        )
    path = Path(source)
    suffix = path.suffix.lower()
    if form is None and suffix in _TORCH:
        raise InputError(
            f"{path}: TorchScript and PyTorch files hold programs, so nacre reads none; "
            + (_EXPORT_D3RLPY if suffix == ".d3" else _EXPORT)
        )
    if (path / "rllib_checkpoint.json").is_file():
        raise InputError(
            f"{path}: is a checkpoint of RLlib, which holds pickles; in Python give a function "
            f"that asks its module, for discrete actions nacre.read_policy({_ASK_RLLIB}, "
            "outputs='logits', log=log), or export the module to ONNX as the documentation of "
            "policies shows"
        )
    if form is None and suffix in _PICKLES:
        raise InputError(
            f"{path}: pickles run code when they are read, so nacre never does; export the policy "
            "to ONNX, or give a function"
        )
    if form is None:
        raise InputError(f"{path}: unknown kind of policy file; nacre reads {describe_formats()}")
    if not path.is_file():
        what = "is not a file" if path.exists() else "does not exist"
        raise InputError(f"{path}: {what}; give the path of a {suffix} policy file")
    return form


def fingerprint(policy: Policy) -> str:
    """SHA-256 of a policy's tensors, architecture and spaces.

    A record's and a rule's is that of all it says. Functions of the user's own count by their name.
    """
    if isinstance(policy, BlackBox | RecordedPolicy | RulePolicy):
        return policy.digest
    if isinstance(policy, ExploringPolicy):
        own = f"{fingerprint(policy.policy)} {float(policy.epsilon)}"
        return hashlib.sha256(own.encode()).hexdigest()
    tensors, description = describe_tensors(policy)
    digest = hashlib.sha256(json.dumps(description, sort_keys=True).encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tensor.shape} ".encode())
        digest.update(tensor.tobytes())
    return digest.hexdigest()
