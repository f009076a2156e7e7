"""What an advice leaves on disk: all of it readable, nothing of an earlier one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from nacre.advice.config import AdviceConfig
from nacre.advice.record import check_decision, read_decision
from nacre.advice.result import Advice
from nacre.advice.setting import Setting
from nacre.costs import TransportCost, groups
from nacre.errors import InputError
from nacre.learners.base import Candidate
from nacre.policies import TabularPolicy, fingerprint, read_policy
from nacre.policies.formats import onnx_model
from nacre.report.evidence import read_evidence
from nacre.report.saving import gather_evidence, rewrite_page, save_advice
from nacre.simulators import random_world
from tests.report.conftest import DOCUMENT

FILES = {
    "decision.json",
    "evidence.npz",
    "manifest.json",
    "report.html",
    "policy/new.safetensors",
    "policy/new.onnx",
    "policy/predict.py",
    "policy/README.md",
}


@pytest.fixture(scope="module")
def advice() -> Advice:
    """About a small world; its figures are those of the kept decision."""
    world = random_world(100, 5, 4, discount=0.9, terminating=False)
    old = np.full((5, 4), 0.25)
    policies = [
        TabularPolicy.from_probabilities(np.full((5, 4), 0.1) + 0.6 * np.eye(4)[[index] * 5])
        for index in range(3)
    ]
    log = world.sample_log(old, 200, seed=100, horizon=20)
    names = [one["name"] for one in DOCUMENT["candidates"]]
    finalists = tuple(
        Candidate(name, policy, "by hand", curve, "<enough>" if curve else "")
        for name, policy, curve in zip(names, policies, ((), (1.0, 2.0, 3.0), (1.5,)), strict=True)
    )
    old_policy = TabularPolicy.from_probabilities(old)
    cost = TransportCost(4.0, 1.0, groups.halves())
    config = AdviceConfig(discount=0.9)
    setting = Setting(log, old_policy, cost, np.asarray(log.starts), False, config, 0.0, 7)
    record = check_decision(DOCUMENT)
    return Advice(record, finalists, old_policy, 2, setting, finalists)


def _list_files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_everything_is_written_and_read_back(tmp_path: Path, advice: Advice) -> None:
    pytest.importorskip("onnx")
    assert advice.save(tmp_path / "advice") == tmp_path / "advice"
    assert _list_files(tmp_path / "advice") == FILES
    assert read_decision(tmp_path / "advice") == advice.record
    policy = read_policy(tmp_path / "advice" / "policy" / "new.safetensors")
    assert fingerprint(policy) == fingerprint(advice.new_policy)
    card = (tmp_path / "advice" / "policy" / "README.md").read_text(encoding="utf-8")
    assert "by hand" in card
    assert "<script" not in card
    page = (tmp_path / "advice" / "report.html").read_text(encoding="utf-8")
    assert "&lt;enough&gt;" in page
    assert "Where the change happens" in page


def test_arrays_are_those_of_the_log_and_of_what_was_learned(
    tmp_path: Path, advice: Advice
) -> None:
    evidence = gather_evidence(advice)
    np.testing.assert_allclose(evidence.returns, advice.setting.log.returns(0.9))
    assert evidence.curve_names == tuple(one.name for one in advice.finalists[1:])
    np.testing.assert_array_equal(evidence.curves, [[1.0, 2.0, 3.0], [1.5, np.nan, np.nan]])
    assert evidence.stop_reasons == ("<enough>", "<enough>")
    assert len(evidence.state_names) == 4
    save_advice(advice, tmp_path)
    np.testing.assert_array_equal(read_evidence(tmp_path).curves, evidence.curves)


def test_a_policy_that_cannot_be_written_is_noted_and_no_old_one_stays(
    tmp_path: Path, advice: Advice, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "new.onnx").write_bytes(b"of an earlier advice")

    def refuse(*given: object) -> bytes:
        raise InputError("such a policy has no graph")

    monkeypatch.setattr(onnx_model, "build_onnx", refuse)
    save_advice(advice, tmp_path)
    assert _list_files(tmp_path) == FILES - {"policy/new.onnx"}
    document = json.loads((tmp_path / "decision.json").read_bytes())
    assert document["notes"][-1] == "no new.onnx: such a policy has no graph"


def test_a_folder_that_is_a_file_is_told(tmp_path: Path, advice: Advice) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be written"):
        save_advice(advice, tmp_path / "file")


def test_the_page_is_written_again_from_unchanged_files_only(
    tmp_path: Path, advice: Advice
) -> None:
    folder = save_advice(advice, tmp_path / "advice")
    page = (folder / "report.html").read_bytes()
    (folder / "report.html").write_bytes(b"damaged")
    assert rewrite_page(folder) == folder / "report.html"
    assert (folder / "report.html").read_bytes() == page
    rewrite_page(folder, tmp_path / "elsewhere.html")
    assert (tmp_path / "elsewhere.html").read_bytes() == page
    record = (folder / "decision.json").read_bytes()
    (folder / "decision.json").write_bytes(record.replace(b"switch", b"keep  "))
    with pytest.raises(InputError, match=r"decision\.json: its content was changed"):
        rewrite_page(folder)
    with pytest.raises(InputError, match=r"decision\.json: is not the file that manifest\.json"):
        read_decision(folder)
    (folder / "decision.json").write_bytes(record)
    # A policy of another advice beside the record of this one.
    (folder / "policy" / "new.safetensors").write_bytes(b"of another advice")
    with pytest.raises(InputError, match=r"new\.safetensors: has 17 bytes"):
        rewrite_page(folder)


def test_a_second_advice_replaces_the_first_as_a_whole(tmp_path: Path, advice: Advice) -> None:
    save_advice(advice, tmp_path)
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    save_advice(advice, tmp_path)
    assert _list_files(tmp_path) == FILES | {"notes.txt"}
    rewrite_page(tmp_path)
