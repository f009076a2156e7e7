"""Reading policies: whatever people have, by the ending of the file's name or by what it is."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import jax
from jaxtyping import ArrayLike

from nacre.errors import InputError
from nacre.logs import Log
from nacre.policies.blackbox import BlackBox
from nacre.policies.cloning.fitting import CloneConfig
from nacre.policies.cloning.log_cloning import clone_log
from nacre.policies.formats.callables import wrap_callable
from nacre.policies.formats.columns import read_columns_policy
from nacre.policies.formats.normalization import read_normalization
from nacre.policies.formats.onnx_model import read_onnx
from nacre.policies.formats.rules import build_rule
from nacre.policies.formats.safetensors import fingerprint, read_safetensors
from nacre.policies.formats.sb3 import StableBaselinesOptions, read_stable_baselines
from nacre.policies.formats.tensors import describe_error
from nacre.policies.networks import Activation
from nacre.policies.policy import Policy, Signature
from nacre.policies.records import Record, record_policy
from nacre.policies.writing import write_policy

__all__ = [
    "PolicyOptions",
    "fingerprint",
    "read_policy",
    "read_policy_with_provenance",
    "write_policy",
]

KINDS = ".safetensors, .onnx, a Stable-Baselines3 .zip, a rule in .toml, 'columns' or 'clone'"
_PICKLES = (".pkl", ".pickle", ".pt", ".pth", ".joblib", ".npy", ".npz", ".ckpt")


@dataclass(frozen=True)
class PolicyOptions:
    """What the source of a policy may leave open.

    Attributes:
        signature: The spaces, for functions, ONNX files and zips that do not say them. The log's if
            absent.
        log: The log that belongs to the policy. Policies that can only be asked are recorded at its
            states; `columns`, `clone` and rules are read from it.
        outputs: What an ONNX file's outputs or a function's answers are.
        activation: The activation of a Stable-Baselines3 zip that does not say it.
        normalization: The npz file with the statistics of a zip's normalised observations.
        clone: How clones are fitted.
        states: Further states that a policy which can only be asked is recorded at, such as the
            start of the next episode.
        seed: Seed of the cloning.
    """

    signature: Signature | None = None
    log: Log | None = None
    outputs: str | Mapping[str, str] | None = None
    activation: Activation | None = None
    normalization: str | os.PathLike[str] | None = None
    clone: CloneConfig | None = None
    states: ArrayLike | None = None
    seed: int = 0

    @property
    def spaces(self) -> Signature | None:
        """The signature that was given, or the log's."""
        if self.signature is not None or self.log is None:
            return self.signature
        return Signature(self.log.observation_space, self.log.action_space)


def read_policy(source: Any, **options: Any) -> Policy:
    """Read a policy from a file, from a function or object, or from the log.

    Args:
        source: A path: `.safetensors` of ours or of the published experiments, `.onnx`, a
            Stable-Baselines3 `.zip`, a rule in `.toml`. The words "columns" (the log's own columns
            say how the old policy acts) and "clone" (fit one to the log's actions). A function, or
            an object with `predict`.
        **options: Fields of `PolicyOptions`.

    Returns:
        The policy. Those that can only be asked (ONNX, functions) come as a `RecordedPolicy` if the
        log is given, else as a `BlackBox`.

    Raises:
        InputError: If there is no such policy; one line for each problem.
    """
    return read_policy_with_provenance(source, **options)[0]


def read_policy_with_provenance(source: Any, **options: Any) -> tuple[Policy, dict[str, Any]]:
    """Read a policy together with where it comes from and how well it was cloned, if it was."""
    settings = PolicyOptions(**options)
    if not isinstance(source, str | os.PathLike):
        return _read_callable(source, settings)
    if source in ("columns", "clone"):
        return _read_from_log(str(source), settings)
    if re.match(r"[a-z][a-z0-9+.-]+:/", str(source)):
        raise InputError(
            f"{source}: is an address; models of MLflow and others may hold pickles, so nacre "
            "fetches none; download the ONNX file or the zip and give its path"
        )
    path = Path(source)
    suffix = path.suffix.lower()
    if suffix in _PICKLES:
        raise InputError(
            f"{path}: pickles run code when they are read, so nacre never does; export the policy "
            "to ONNX, or give a function"
        )
    if suffix not in (".safetensors", ".onnx", ".zip", ".toml"):
        raise InputError(f"{path}: unknown kind of policy file; nacre reads {KINDS}")
    if not path.is_file():
        what = "is not a file" if path.exists() else "does not exist"
        raise InputError(f"{path}: {what}; give the path of a {suffix} policy file")
    if suffix == ".safetensors":
        return read_safetensors(path)
    if suffix == ".zip":
        return _read_zip(path, settings)
    if suffix == ".toml":
        return _read_rule(path, settings)
    black_box = read_onnx(path, settings.spaces, settings.outputs)
    return _record(black_box, settings, {"source": "onnx", "form": black_box.form})


def _read_callable(source: Any, options: PolicyOptions) -> tuple[Policy, dict[str, Any]]:
    if options.spaces is None:
        raise InputError(
            "a function does not say its spaces; give signature=nacre.policies.Signature(…) or the "
            "log"
        )
    if not (options.outputs is None or isinstance(options.outputs, str)):
        raise InputError("outputs of a function are one word, such as outputs='probabilities'")
    log = options.log
    name = getattr(source, "__qualname__", type(source).__qualname__)
    try:
        black_box = wrap_callable(
            source,
            options.spaces,
            form=options.outputs,
            observations=None if log is None else log.observations,
        )
    except InputError as error:
        raise InputError([f"policy {name}: {problem}" for problem in error.problems]) from None
    return _record(black_box, options, {"source": "callable", "form": black_box.form})


def _read_from_log(word: str, options: PolicyOptions) -> tuple[Policy, dict[str, Any]]:
    if options.log is None:
        raise InputError(f"the policy {word!r} is read from the log; give log=…")
    key = jax.random.key(options.seed)
    if word == "clone":
        policy, report = clone_log(options.log, key, options.clone)
        return policy, {"source": "clone", "report": report.as_json()}
    return _unpack(read_columns_policy(options.log, key, options.clone), {"source": "columns"})


def _read_zip(path: Path, options: PolicyOptions) -> tuple[Policy, dict[str, Any]]:
    scaling = None
    if options.normalization is not None:
        scaling = read_normalization(Path(options.normalization))
    given = StableBaselinesOptions(options.signature, options.activation, scaling)
    return read_stable_baselines(path, given), {"source": "stable-baselines3"}


def _read_rule(path: Path, options: PolicyOptions) -> tuple[Policy, dict[str, Any]]:
    signature = options.spaces
    if signature is None:
        raise InputError(f"{path}: a rule needs the log, whose columns it names; give log=…")
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        return build_rule(document, signature, name_observations(signature, options.log)), {
            "source": "rule"
        }
    except InputError as error:
        raise InputError([f"{path}: {problem}" for problem in error.problems]) from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"{path}: cannot be read as TOML ({describe_error(error)}); correct it there"
        ) from None


def name_observations(signature: Signature, log: Log | None) -> tuple[str, ...]:
    """What the coordinates of an observation are called: as in the log's source, else numbered."""
    columns = log.provenance.get("columns") if log is not None else None
    given = columns.get("observation") if isinstance(columns, Mapping) else None
    discrete = isinstance(signature.observation_space, gymnasium.spaces.Discrete)
    size = 1 if discrete else signature.observation_size
    if isinstance(given, list) and len(given) == size:
        return tuple(map(str, given))
    stem = given if isinstance(given, str) else "observation"
    return (stem,) if discrete else tuple(f"{stem}_{i}" for i in range(size))


def _record(
    policy: BlackBox, options: PolicyOptions, provenance: dict[str, Any]
) -> tuple[Policy, dict[str, Any]]:
    provenance = provenance | {"identity": policy.identity}
    if options.log is None:
        return policy, provenance
    key = jax.random.key(options.seed)
    record = record_policy(policy, options.log, key, states=options.states, config=options.clone)
    return _unpack(record, provenance)


def _unpack(record: Record, provenance: dict[str, Any]) -> tuple[Policy, dict[str, Any]]:
    if record.match is not None:
        provenance = provenance | {"clone_match": record.match.as_json()}
    return record.policy, provenance
