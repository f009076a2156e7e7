"""ONNX models as policies: black boxes with recognised or declared outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from nacre.errors import InputError
from nacre.logs.schema.spaces import space_to_json
from nacre.policies.answers import FORMS, Answers, find_form
from nacre.policies.blackbox import BlackBox
from nacre.policies.formats.base import PolicyFormat, PolicyOptions, Provenance
from nacre.policies.formats.onnx_columns import takes_columns
from nacre.policies.formats.onnx_graph import build_onnx
from nacre.policies.formats.onnx_session import OnnxSession
from nacre.policies.formats.recording import record_black_box
from nacre.policies.formats.safetensors import describe_policy, dump_safetensors
from nacre.policies.policy import Policy, Signature
from nacre.policies.rules import RulePolicy

_KNOWN_NAMES = {
    "mean": ("mean", "mu", "action_mean", "mean_actions"),
    "location": ("location", "loc"),
    "std": ("std", "stddev", "sigma", "scale", "action_std"),
    "log_std": ("log_std", "logstd", "log_sigma"),
    "probabilities": (
        "probabilities",
        "probs",
        "probability",
        "output_probability",
        "action_probs",
    ),
    "logits": ("logits", "action_logits"),
    "q": ("q", "q_values", "qvalues"),
    "action": ("action", "actions", "label", "output_label"),
}


class OnnxFormat(PolicyFormat):
    """ONNX files: of any library to read, of our networks, tables and rules to write."""

    label = ".onnx"
    suffixes = (".onnx",)
    writable = True

    def read(self, source: Any, options: PolicyOptions) -> tuple[Policy, Provenance]:
        """The model as a black box, recorded at the log's states if there is a log."""
        policy = read_onnx(Path(source), options.spaces, options.outputs)
        return record_black_box(policy, options, "onnx")

    def dump(self, policy: Policy, provenance: Mapping[str, Any]) -> bytes:
        """The graph of a network, a table or a rule, under the checks of a safetensors file."""
        return build_onnx(policy, _describe(policy, provenance))


def dump_columns(policy: Policy, provenance: Mapping[str, Any]) -> bytes | None:
    """The graph that takes the columns of the table which the policy was learned from.

    Args:
        policy: The policy.
        provenance: Has under `inputs` how these columns became observations.

    Returns:
        The content of its file, or nothing where observations came as numbers.

    Raises:
        InputError: If the policy has no such form.
    """
    inputs = provenance.get("inputs") or {}
    if not takes_columns(inputs):
        return None
    return build_onnx(policy, _describe(policy, provenance), inputs)


def _describe(policy: Policy, provenance: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(policy, RulePolicy):
        dump_safetensors(policy, provenance)
        return describe_policy(policy, provenance)
    return {
        "kind": "rule",
        "head": policy.head,
        "observation_space": space_to_json(policy.observation_space),
        "action_space": space_to_json(policy.action_space),
        "provenance": dict(provenance),
    }


def read_onnx(
    path: Path,
    signature: Signature | None = None,
    outputs: str | Mapping[str, str] | None = None,
) -> BlackBox:
    """A policy from an ONNX file, with one input and outputs that say how it acts.

    Args:
        path: The file.
        signature: The spaces. Without them observations have no bounds, and actions follow from the
            outputs, without bounds as well.
        outputs: What the only output is, one of `FORMS`, or the name of the output for each array
            of a form, such as `{"mean": "output_3", "std": "output_4"}`. Recognised by the names
            and numbers if absent.

    Raises:
        InputError: If it cannot be loaded, or its outputs are not recognised.
    """
    model = OnnxSession.load(path)
    try:
        if signature is None:
            signature = model.described_signature
        names = _declared(outputs, model) if outputs is not None else _recognise(model, signature)
        form = _form_of(names)
        signature = signature or _infer_signature(model, form, names)
        _check_width(model, signature)
        asked = _Asked(model, names, _find_width(model, signature))
        policy = BlackBox(asked, signature, form, f"onnx {model.digest}")
        policy.outputs_at(_probe(signature))
    except InputError as error:
        raise InputError([f"{path}: {problem}" for problem in error.problems]) from None
    return policy


@dataclass(frozen=True, eq=False)
class _Asked:
    """A model asked for the outputs that make it a policy."""

    model: OnnxSession
    names: Mapping[str, str]
    width: int | None = None

    def __call__(self, rows: np.ndarray) -> Answers:
        seen = rows if self.width is None else rows[:, : self.width]
        answers = self.model.run(seen, list(self.names.values()))
        return dict(zip(self.names, answers, strict=True))


def _form_of(names: Mapping[str, str]) -> str:
    form = find_form(set(names))
    if form is None:
        raise InputError(
            f"outputs {', '.join(names):.60} make no policy; declare "
            f"{', '.join(' and '.join(arrays) for arrays in FORMS.values())}"
        )
    return form


def _declared(outputs: str | Mapping[str, str], model: OnnxSession) -> dict[str, str]:
    if isinstance(outputs, str):
        if outputs not in FORMS:
            raise InputError(f"outputs {outputs!r:.60} are unknown; known: {', '.join(FORMS)}")
        recognised = {key: name for name in model.outputs if (key := _key_of(name))}
        if set(FORMS[outputs]) <= set(recognised):
            return {key: recognised[key] for key in FORMS[outputs]}
        if len(model.outputs) < len(FORMS[outputs]):
            raise InputError(
                f"has {len(model.outputs)} output, {outputs!r} takes {len(FORMS[outputs])}"
            )
        return dict(zip(FORMS[outputs], model.outputs, strict=False))
    missing = [name for name in outputs.values() if name not in model.outputs]
    if missing:
        raise InputError(
            f"has no output {missing[0]!r:.60}; it has {', '.join(map(repr, model.outputs)):.100}"
        )
    return dict(outputs)


def _key_of(name: str) -> str | None:
    plain = name.lower().rpartition("/")[2].partition(":")[0]
    return next((key for key, names in _KNOWN_NAMES.items() if plain in names), None)


def _recognise(model: OnnxSession, signature: Signature | None) -> dict[str, str]:
    """Outputs by their names; a single one of another name by its numbers."""
    named = {key: name for name in model.outputs if (key := _key_of(name))}
    form = find_form(set(named))
    if form is not None:
        wanted = FORMS[form]
        if "log_std" in named and "std" in wanted and "std" not in named:
            wanted = (wanted[0], "log_std")
        return {key: named[key] for key in wanted}
    shown = ", ".join(f"{name!r} {list(v.shape)}" for name, v in model.outputs.items())
    if len(model.outputs) == 1 and signature is not None:
        name = next(iter(model.outputs))
        asked = _Asked(model, {"values": name}, _find_width(model, signature))
        values = asked(_probe(signature))["values"]
        if not signature.discrete_actions or values.dtype.kind in "iu":
            return {"action": name}
        summed = values.reshape(len(values), -1).astype(np.float64)
        if np.all(summed >= 0) and np.allclose(summed.sum(axis=-1), 1.0, atol=1e-4):
            return {"probabilities": name}
    raise InputError(
        f"outputs {shown:.120} are not recognised; declare what they are, such as "
        "outputs='logits' or outputs={'mean': '…', 'std': '…'}, and give the signature or the log"
    )


def _infer_signature(model: OnnxSession, form: str, names: Mapping[str, str]) -> Signature:
    width = model.shape[-1] if model.shape else None
    if not isinstance(width, int):
        raise InputError("its input has no fixed width; give signature=… or the log")
    observations = gymnasium.spaces.Box(-np.inf, np.inf, (width,), np.float32)
    probe = _probe(Signature(observations, gymnasium.spaces.Discrete(1)))
    values = model.run(probe, [next(iter(names.values()))])[0]
    if form in ("probabilities", "logits", "q"):
        return Signature(observations, gymnasium.spaces.Discrete(int(values.shape[-1])))
    if form == "action" and (values.dtype.kind in "iu" or values.ndim < 2):
        raise InputError(
            "answers with the number of an action; give signature=… or the log, so that their "
            "number is known"
        )
    actions = gymnasium.spaces.Box(-np.inf, np.inf, (int(values.shape[-1]),), np.float32)
    return Signature(observations, actions)


def _check_width(model: OnnxSession, signature: Signature) -> None:
    discrete = isinstance(signature.observation_space, gymnasium.spaces.Discrete)
    width = model.shape[-1] if model.shape and not discrete else None
    unmasked = signature.observation_size - signature.n_masked
    if isinstance(width, int) and width not in (signature.observation_size, unmasked):
        raise InputError(
            f"reads {width} numbers, an observation has {signature.observation_size}; give the "
            "model of this log"
        )


def _find_width(model: OnnxSession, signature: Signature) -> int | None:
    """How many numbers of an observation the model reads, if it does not read the action mask."""
    width = model.shape[-1] if model.shape and signature.n_masked else None
    return width if isinstance(width, int) else None


def _probe(signature: Signature) -> np.ndarray:
    if isinstance(signature.observation_space, gymnasium.spaces.Discrete):
        return np.zeros(2, np.int64)
    return np.zeros((2, signature.observation_size), np.float32)


ONNX = OnnxFormat()
