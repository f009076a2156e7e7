"""Policy files: safetensors with a description in the metadata, never a pickle.

Layout: tensors `layers.<i>.weight` (outputs, inputs), `layers.<i>.bias`, optional `scaling.shift`
and `scaling.scale` (and `scaling.limit`), or `logits` for a table; those of the policies of a
mixture or a region begin with `first.` and `second.`; metadata key `nacre` with one JSON document
(format, kind, spaces, architecture, provenance), key `sha256` with the digest of the tensors and of
that document. Format 1 had no digest.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import jax.numpy as jnp
import numpy as np
import safetensors

from nacre.errors import InputError
from nacre.logs.schema.spaces import SpaceError, space_from_json, space_to_json
from nacre.policies.formats.base import PolicyFormat, PolicyOptions, Provenance
from nacre.policies.formats.published import PUBLISHED_KINDS, assemble_published
from nacre.policies.formats.tensors import (
    Tensors,
    check_tensors,
    describe_error,
    digest_tensors,
    pack_tensors,
    stack_layers,
    take,
)
from nacre.policies.mixture import MixturePolicy, mix_policies
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.networks import MLP, Scaling
from nacre.policies.policy import Policy, Signature
from nacre.policies.region import RegionPolicy, region_from_json, switch_region
from nacre.policies.tabular import TabularPolicy

FORMAT = 2
READABLE = (1, FORMAT)
PARTS = ("first", "second")
"""Of a mixture, and of a switch by region."""
DEEPEST = 8
"""Mixtures of mixtures: each step of a roll-out may begin with the last one."""
LARGEST_FILE = 2**31


class SafetensorsFormat(PolicyFormat):
    """Files of ours and of the published experiments."""

    label = ".safetensors"
    suffixes = (".safetensors",)
    writable = True

    def read(self, source: Any, options: PolicyOptions) -> tuple[Policy, Provenance]:
        """The policy, and the provenance that its file holds."""
        return read_safetensors(Path(source))

    def dump(self, policy: Policy, provenance: Mapping[str, Any]) -> bytes:
        """The file of a network or a table."""
        return dump_safetensors(policy, provenance)


def dump_safetensors(policy: Policy, provenance: Mapping[str, Any]) -> bytes:
    """The content of a policy's file.

    Raises:
        InputError: If it has no file form, holds NaN, or its provenance has no JSON form.
    """
    tensors, _ = describe_tensors(policy)
    problems = check_tensors(tensors)
    if problems:
        raise InputError(problems)
    try:
        text = json.dumps(describe_policy(policy, provenance))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"provenance has no JSON form ({describe_error(error)}); give plain numbers, texts, "
            "lists and dictionaries"
        ) from None
    metadata = {"nacre": text, "sha256": digest_tensors(tensors, text)}
    return pack_tensors(tensors, metadata)


def describe_policy(policy: Policy, provenance: Mapping[str, Any]) -> dict[str, Any]:
    """The description that a policy's file holds beside its tensors."""
    return describe_tensors(policy)[1] | {"format": FORMAT, "provenance": dict(provenance)}


def read_safetensors(path: Path) -> tuple[Policy, dict[str, Any]]:
    """A policy of ours or of the published experiments, and where its file says it comes from.

    Raises:
        InputError: If there is no such file or it is not a policy; one line for each problem.
    """
    tensors, metadata = _open(path)
    try:
        if "nacre" in metadata:
            description = _parse(metadata["nacre"])
            digest = digest_tensors(tensors, metadata["nacre"])
            if description["format"] != 1 and metadata.get("sha256") != digest:
                _refuse_damaged()
            return _assemble(tensors, description), description["provenance"]
        if metadata.get("kind") in PUBLISHED_KINDS:
            return assemble_published(tensors, metadata), {"published": metadata}
    except InputError as error:
        _raise_for(path, error.problems)
    raise InputError(
        f"{path}: neither a nacre policy nor a published one (metadata kind is "
        f"{metadata.get('kind')!r:.60}); write it with nacre.write_policy"
    )


def _refuse_damaged() -> None:
    raise InputError("is damaged: its digest does not fit; restore or export it again")


def _raise_for(path: Path, problems: tuple[str, ...] | list[str]) -> None:
    if problems:
        raise InputError([f"{path}: {problem}" for problem in problems]) from None


def _open(path: Path) -> tuple[Tensors, dict[str, str]]:
    """Tensors and metadata of a file, each tensor checked to be finite numbers."""
    try:
        _check_file(path)
        with safetensors.safe_open(path, framework="np") as file:
            tensors = {name: np.asarray(file.get_tensor(name)) for name in file.keys()}  # noqa: SIM118
            metadata = dict(file.metadata() or {})
    except InputError:
        raise
    except (safetensors.SafetensorError, OSError, TypeError, ValueError) as error:
        raise InputError(
            f"{path}: cannot be read as safetensors ({describe_error(error)}); export the policy "
            "again"
        ) from None
    _raise_for(path, check_tensors(tensors))
    return tensors, metadata


def _check_file(path: Path) -> None:
    if path.stat().st_size > LARGEST_FILE:
        raise InputError(f"{path}: larger than 2 GiB; a policy of ours never is")


def _parse(text: str) -> dict[str, Any]:
    """The description as a dictionary with a provenance, its format checked."""
    try:
        description = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"its description is not JSON ({describe_error(error)}); export the policy again"
        ) from None
    if not isinstance(description, dict) or "format" not in description:
        raise InputError("its description has no format; export the policy again")
    if description["format"] not in READABLE:
        raise InputError(
            f"policy format {description['format']!r:.60}, this nacre reads 1 and {FORMAT}: "
            "update nacre or export the policy again"
        )
    provenance = description.setdefault("provenance", {})
    if not isinstance(provenance, dict):
        raise InputError(
            f"its provenance is {provenance!r:.60}, expected an object; export the policy again"
        )
    return description


def describe_tensors(policy: Policy) -> tuple[Tensors, dict[str, Any]]:
    """All numbers of a policy by name, and what else makes it one; whatever has no file raises."""
    description: dict[str, Any] = {
        "observation_space": space_to_json(policy.observation_space),
        "action_space": space_to_json(policy.action_space),
    }
    if isinstance(policy, TabularPolicy):
        return {"logits": np.array(policy.logits)}, description | {"kind": "tabular"}
    if isinstance(policy, MixturePolicy):
        return _describe_mixture(policy, description)
    if isinstance(policy, RegionPolicy):
        return _describe_region(policy, description)
    if not isinstance(policy, MLPPolicy):
        raise InputError(f"a {type(policy).__name__} has no file form; clone it into a network")
    tensors = {}
    for i, (weight, bias) in enumerate(
        zip(policy.network.weights, policy.network.biases, strict=True)
    ):
        tensors[f"layers.{i}.weight"] = np.ascontiguousarray(np.asarray(weight).T)
        tensors[f"layers.{i}.bias"] = np.array(bias)
    if policy.scaling is not None:
        tensors["scaling.shift"] = np.array(policy.scaling.shift)
        tensors["scaling.scale"] = np.array(policy.scaling.scale)
        if policy.scaling.limit is not None:
            tensors["scaling.limit"] = np.array(policy.scaling.limit)
    return tensors, description | {
        "kind": "mlp",
        "head": policy.head,
        "activations": list(policy.network.activations),
        "log_std_bounds": list(policy.log_std_bounds),
    }


def _describe_mixture(
    policy: MixturePolicy, description: dict[str, Any]
) -> tuple[Tensors, dict[str, Any]]:
    tensors = _describe_parts(policy, description)
    return tensors, description | {"kind": "mixture", "share": float(policy.share)}


def _describe_region(
    policy: RegionPolicy, description: dict[str, Any]
) -> tuple[Tensors, dict[str, Any]]:
    tensors = _describe_parts(policy, description)
    return tensors, description | {"kind": "region", "region": dataclasses.asdict(policy.region)}


def _describe_parts(policy: MixturePolicy | RegionPolicy, description: dict[str, Any]) -> Tensors:
    """The tensors of both policies, each with its name before those of its tensors."""
    tensors: Tensors = {}
    for name in PARTS:
        part_tensors, description[name] = describe_tensors(getattr(policy, name))
        tensors |= {f"{name}.{key}": tensor for key, tensor in part_tensors.items()}
    return tensors


def _assemble(tensors: Tensors, description: Mapping[str, Any], depth: int = 0) -> Policy:
    """The policy that a description and its tensors make, every tensor used."""
    tensors = dict(tensors)
    signature = Signature(
        _space(description, "observation_space"), _space(description, "action_space")
    )
    kind = description.get("kind")
    policy: Policy
    if kind == "tabular":
        policy = _assemble_table(tensors, signature)
    elif kind == "mlp":
        policy = _assemble_network(tensors, description, signature)
    elif kind == "mixture":
        first, second = _assemble_parts(tensors, description, depth)
        policy = mix_policies(first, second, _take_share(description))
    elif kind == "region":
        first, second = _assemble_parts(tensors, description, depth)
        policy = switch_region(first, second, region_from_json(description.get("region")))
    else:
        raise InputError(
            f"unknown kind of policy {kind!r:.60}; known: mixture, mlp, region, tabular"
        )
    if tensors:
        raise InputError(
            f"tensors {', '.join(map(repr, sorted(tensors)))[:100]} belong to nothing in its "
            "description; export the policy again"
        )
    return policy


def _assemble_parts(
    tensors: Tensors, description: Mapping[str, Any], depth: int
) -> tuple[Policy, Policy]:
    parts = []
    for name in PARTS:
        part = description.get(name)
        if not isinstance(part, dict) or depth >= DEEPEST:
            raise InputError(
                f"its {name} policy is no policy, or mixtures hold mixtures {DEEPEST} times over; "
                "export it again"
            )
        keys = [key for key in tensors if key.startswith(f"{name}.")]
        own = {key.removeprefix(f"{name}."): tensors.pop(key) for key in keys}
        parts.append(_assemble(own, part, depth + 1))
    return parts[0], parts[1]


def _take_share(description: Mapping[str, Any]) -> float:
    share = description.get("share")
    if not isinstance(share, int | float) or isinstance(share, bool):
        raise InputError(f"share {share!r:.60}: expected a number from 0 to 1")
    return share


def _assemble_table(tensors: Tensors, signature: Signature) -> TabularPolicy:
    logits = take(tensors, "logits")
    expected = (signature.observation_size, signature.action_size)
    discrete = isinstance(signature.observation_space, gymnasium.spaces.Discrete)
    if logits.shape != expected or not discrete or not signature.discrete_actions:
        raise InputError(
            f"a table of shape {logits.shape} does not fit its spaces: it needs discrete ones and "
            f"shape {expected}"
        )
    return TabularPolicy(jnp.asarray(logits), signature)


def _assemble_network(
    tensors: Tensors, description: Mapping[str, Any], signature: Signature
) -> MLPPolicy:
    activations = description.get("activations")
    if not isinstance(activations, list) or not all(isinstance(name, str) for name in activations):
        raise InputError(f"activations {activations!r:.60}: expected a list with one name a layer")
    layers = [
        (take(tensors, f"layers.{i}.weight"), take(tensors, f"layers.{i}.bias"))
        for i in range(len(activations))
    ]
    network: MLP = stack_layers(layers, tuple(activations))
    scaling = None
    if "scaling.shift" in tensors or "scaling.scale" in tensors:
        shift, scale = take(tensors, "scaling.shift"), take(tensors, "scaling.scale")
        limit = jnp.asarray(take(tensors, "scaling.limit")) if "scaling.limit" in tensors else None
        scaling = Scaling(jnp.asarray(shift), jnp.asarray(scale), limit)
    bounds = description.get("log_std_bounds")
    if not (
        isinstance(bounds, list)
        and len(bounds) == 2
        and all(isinstance(bound, int | float) and abs(bound) < 1e6 for bound in bounds)
    ):
        raise InputError(f"log_std_bounds {bounds!r:.60}: expected two numbers")
    head: Any = description.get("head")
    policy = MLPPolicy(network, scaling, signature, head, (float(bounds[0]), float(bounds[1])))
    policy.check()
    return policy


def _space(description: Mapping[str, Any], name: str) -> gymnasium.Space[Any]:
    try:
        return space_from_json(description.get(name))
    except SpaceError as error:
        raise InputError(f"{name}: {describe_error(error)}") from None


SAFETENSORS = SafetensorsFormat()
