"""An advice on disk: the record, its arrays, the page, and the new policy ready to deploy."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nacre.advice.record import FILE_NAME as RECORD_FILE
from nacre.advice.record import DecisionRecord
from nacre.advice.result import Advice
from nacre.errors import InputError
from nacre.learners.base import Candidate
from nacre.policies.card import Card
from nacre.policies.formats.onnx_graph import build_onnx
from nacre.policies.formats.rules import RULES
from nacre.policies.formats.safetensors import describe_policy, dump_safetensors
from nacre.policies.policy import Policy
from nacre.policies.rules import RulePolicy
from nacre.policies.writing import write_card, write_predictor, write_whole
from nacre.report.change import examine_change
from nacre.report.evidence import FILE_NAME as EVIDENCE_FILE
from nacre.report.evidence import Evidence, Numbers, write_evidence
from nacre.report.page import write_report

PAGE_FILE = "report.html"
POLICY_FILE = "new.safetensors"
RULE_FILE = "new.toml"
POLICY_FILES = {
    POLICY_FILE: "the policy; read it with nacre.read_policy",
    "new.onnx": "the same for ONNX runtimes",
}


def save_advice(advice: Advice, folder: Path) -> Path:
    """Write `decision.json`, `evidence.npz`, `report.html` and `policy/`.

    Each file is written whole or not at all. Where the new policy cannot be written in a format,
    the record has a note of it.

    Returns:
        The folder.
    """
    evidence = gather_evidence(advice)
    files, missing = _write_policy(advice, folder / "policy")
    record = advice.record
    if missing:
        record = record.model_copy(update={"notes": (*record.notes, *missing)})
    write_card(folder / "policy" / "README.md", _describe(advice, record, files))
    text = json.dumps(record.as_json(), indent=2, allow_nan=False) + "\n"
    write_whole(folder / RECORD_FILE, text.encode())
    write_evidence(evidence, folder / EVIDENCE_FILE)
    write_report(record, folder / PAGE_FILE, evidence)
    return folder


def gather_evidence(advice: Advice) -> Evidence:
    """The arrays behind a decision, for the page."""
    setting = advice.setting
    change = examine_change(
        setting.old_policy, advice.new_policy, setting.cost, setting.log, seed=setting.seed
    )
    learned = [candidate for candidate in advice.learned if candidate.curve]
    return Evidence(
        returns=np.asarray(setting.log.returns(setting.config.discount), np.float64),
        curve_names=tuple(candidate.name for candidate in learned),
        curves=_stack_curves(learned),
        stop_reasons=tuple(candidate.stop_reason for candidate in learned),
        **change.as_fields(),
    )


def _stack_curves(learned: Sequence[Candidate]) -> Numbers:
    """(C, N), NaN after the end of each."""
    curves = np.full((len(learned), max((len(one.curve) for one in learned), default=0)), np.nan)
    for row, candidate in zip(curves, learned, strict=True):
        row[: len(candidate.curve)] = candidate.curve
    return curves


def _write_policy(advice: Advice, folder: Path) -> tuple[dict[str, str], list[str]]:
    """What was written, by name, and why something else was not."""
    provenance = {"advice": advice.describe_policy()}
    if isinstance(advice.new_policy, RulePolicy):
        for name in POLICY_FILES:
            (folder / name).unlink(missing_ok=True)
        write_whole(folder / RULE_FILE, RULES.dump(advice.new_policy, provenance))
        return {RULE_FILE: "the rule; read it with nacre.read_policy and the log"}, []
    files: dict[str, str] = {}
    missing = []
    for name, meaning in POLICY_FILES.items():
        try:
            content = _dump(advice.new_policy, name, provenance)
        except InputError as error:
            missing.append(f"no {name}: {error.problems[0]}")
            # One of another policy, from an earlier advice, must not be taken for this one's.
            with contextlib.suppress(OSError):
                (folder / name).unlink(missing_ok=True)
            continue
        write_whole(folder / name, content)
        files[name] = meaning
    if POLICY_FILE in files:
        write_predictor(folder / "predict.py")
        files["predict.py"] = f"acts with {POLICY_FILE}, without JAX"
    return files, missing


def _dump(policy: Policy, name: str, provenance: Mapping[str, Any]) -> bytes:
    content = dump_safetensors(policy, provenance)
    if name == POLICY_FILE:
        return content
    return build_onnx(policy, describe_policy(policy, provenance))


def _describe(advice: Advice, record: DecisionRecord, files: Mapping[str, str]) -> Card:
    document = record.as_json()
    return Card(
        advice.new_policy,
        title=f"New policy: {advice.candidate.name}",
        files=files,
        trained_on=record.log,
        training={"origin": advice.candidate.origin, "seed": record.seed},
        cost=record.cost_model,
        verdict={name: document[name] for name in ("verdict", "reason", "remedy", "net_gain")},
        limits=[*advice.chosen.notes, *record.notes],
    )
