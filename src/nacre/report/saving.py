"""An advice on disk: the record, its arrays, the page, and the new policy ready to deploy."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from nacre.advice.record import FILE_NAME as RECORD_FILE
from nacre.advice.record import DecisionRecord, read_decision
from nacre.advice.result import Advice
from nacre.errors import InputError
from nacre.files.commit import commit_files, settle, write_whole
from nacre.files.locks import lock_folder
from nacre.files.manifest import find_changes, read_manifest
from nacre.learners.base import Candidate
from nacre.policies.card import Card, format_card
from nacre.policies.formats.onnx_columns import describe_columns, takes_columns
from nacre.policies.writing import prepare_delivery
from nacre.report.change import examine_change
from nacre.report.evidence import FILE_NAME as EVIDENCE_FILE
from nacre.report.evidence import Evidence, Numbers, dump_evidence, read_evidence
from nacre.report.page import dump_report

PAGE_FILE = "report.html"
KIND = "advice"
POLICY_FILES = (
    "policy/new.safetensors",
    "policy/new.onnx",
    "policy/new.raw.onnx",
    "policy/new.toml",
    "policy/predict.py",
)


def save_advice(advice: Advice, folder: Path) -> Path:
    """Write `decision.json`, `evidence.npz`, `report.html`, `policy/` and `manifest.json`.

    All files take their places at once or none does. Where the new policy cannot be written in a
    format, the record has a note of it.

    Returns:
        The folder.
    """
    evidence = gather_evidence(advice)
    provenance = {
        "advice": advice.describe_policy(),
        "inputs": advice.describe_inputs(),
        "names": advice.record.names,
    }
    policy, delivery = prepare_delivery(advice.new_policy, "new", provenance)
    record = advice.record
    if delivery.missing:
        record = record.model_copy(update={"notes": (*record.notes, *delivery.missing)})
    text = json.dumps(record.as_json(), indent=2, allow_nan=False) + "\n"
    files = {
        RECORD_FILE: text.encode(),
        EVIDENCE_FILE: dump_evidence(evidence),
        PAGE_FILE: dump_report(record, evidence),
        "policy/README.md": format_card(_describe(advice, record, delivery.files)).encode(),
        **{f"policy/{name}": content for name, content in policy.items()},
    }
    commit_files(folder, files, kind=KIND, absent=POLICY_FILES)
    return folder


def rewrite_page(folder: Path, out: Path | None = None) -> Path:
    """Write the page of a saved advice again, in its folder if no other place is given.

    Raises:
        InputError: If a file is not the one that was saved, or the page cannot be written.
    """
    page = out or folder / PAGE_FILE
    settle(folder)
    with lock_folder(folder):
        manifest = read_manifest(folder)
        problems = [] if manifest is None else find_changes(folder, manifest)
        # A page that is missing or damaged is what is written anew here.
        problems = [one for one in problems if not one.startswith(f"{folder / PAGE_FILE}: ")]
        if problems:
            raise InputError(problems)
        content = dump_report(read_decision(folder), read_evidence(folder))
        if manifest is None or page.resolve() != (folder / PAGE_FILE).resolve():
            write_whole(page, content)
            return page
        kept = {name: (folder / name).read_bytes() for name in manifest.files if name != PAGE_FILE}
        commit_files(folder, {**kept, PAGE_FILE: content}, kind=KIND, absent=manifest.absent)
    return page


def gather_evidence(advice: Advice) -> Evidence:
    """The arrays behind a decision, for the page."""
    setting = advice.setting
    change = examine_change(
        setting.old_policy, advice.new_policy, setting.cost, setting.log, seed=setting.seed
    )
    learned = [candidate for candidate in advice.learned if candidate.curve]
    found = advice.returns
    if found is None:
        seen, tails = setting.own.returns(setting.config.discount), np.zeros(0)
    else:
        seen, tails = found.episode_values - found.tails, found.tails
    return Evidence(
        returns=np.asarray(seen, np.float64),
        tails=tails,
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


def _describe(advice: Advice, record: DecisionRecord, files: Mapping[str, str]) -> Card:
    document = record.as_json()
    return Card(
        advice.new_policy,
        title=f"New policy: {advice.candidate.name}",
        files=files,
        columns=_describe_columns(advice, record.log.get("columns")),
        trained_on={name: fact for name, fact in record.log.items() if name != "columns"},
        training={"origin": advice.candidate.origin, "seed": record.seed},
        cost=record.cost_model,
        verdict={name: document[name] for name in ("verdict", "reason", "remedy", "net_gain")},
        limits=[*advice.chosen.notes, *record.notes],
    )


def _describe_columns(advice: Advice, rows: object) -> dict[str, str]:
    """What the policy observes and how: by column."""
    inputs = advice.describe_inputs()
    kinds = dict(describe_columns(inputs)) if takes_columns(inputs) else {}
    found = {}
    for row in rows if isinstance(rows, list) else []:
        if row.get("meaning") in ("observation", "allowed"):
            column = str(row.get("column"))
            facts = [row.get("type"), row.get("encoding"), kinds.get(column)]
            facts[2] = facts[2] and f"in ONNX {facts[2]}"
            found[column] = ", ".join(str(fact) for fact in facts if fact)
    return found
