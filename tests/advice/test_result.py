"""What advice says of itself, and what it leaves on disk."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import onnxruntime
import pytest
from nacre.diagnostics.action_support import Support
from nacre.inference.gain import Gain
from nacre.inference.verdict import Judgement

from nacre.advice import result as module
from nacre.advice.result import Advice, Assessment, Estimate, finite
from nacre.costs import CostBreakdown, TransportCost, groups
from nacre.diagnostics.on_policy import Behaviour
from nacre.errors import InputError
from nacre.inference.break_even import BreakEven
from nacre.learners.scale_noise import Candidate
from nacre.policies import TabularPolicy, fingerprint, read_policy
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Policy, Signature

OLD = TabularPolicy.from_probabilities([[0.5, 0.5], [0.5, 0.5]])
NEW = TabularPolicy.from_probabilities([[0.1, 0.9], [0.8, 0.2]])
STATES = np.array([0, 0, 1, 1])
COST = TransportCost(2.0, 0.5, groups.indices([[0], [1]])).evaluate(OLD, NEW, STATES)
GAIN = Gain(np.array([2.0, 3.0, 4.0]), COST.total)


def assess(policy: Policy = NEW, **changed: Any) -> Assessment:
    plain = Assessment(
        Candidate("mine", policy, "by hand"),
        Estimate(5.0, 4.0, 6.0, "fitted"),
        GAIN,
        COST,
        Support(0.01, 0.02, 0.3),
        BreakEven(5.0, 6.0, 2.0, 3.0),
        trusted=True,
        notes=("a note",),
    )
    return dataclasses.replace(plain, **changed)


def make_advice(verdict: str = "switch", *assessments: Assessment, **changed: Any) -> Advice:
    plain = Advice(
        Judgement(verdict, 0, 0.97, "because"),  # type: ignore[arg-type]
        assessments or (assess(),),
        OLD,
        Estimate(2.0, 1.5, 2.5, "returns of the log"),
        Estimate(2.1, 1.0, 3.2, "fitted"),
        Behaviour(np.zeros(4), np.ones(4, bool), 1.0, 0.5),
        0.95,
        {"seed": 7, "log": {"sha256": "abc", "transitions": 4, "episodes": 4}},
        ("every episode looks like the old policy's own",),
    )
    return dataclasses.replace(plain, **changed)


def read_json(folder: Path) -> dict[str, Any]:
    """The record, which may hold no NaN nor infinity."""
    return json.loads(
        (folder / "decision.json").read_text(),
        parse_constant=lambda name: pytest.fail(f"{name} in the JSON"),
    )


@pytest.mark.parametrize(("verdict", "runs"), [("switch", NEW), ("keep", OLD), ("undecided", OLD)])
def test_what_should_run_next(verdict: str, runs: Policy) -> None:
    advice = make_advice(verdict)
    assert advice.verdict == verdict
    assert advice.policy is runs
    assert advice.new_policy is NEW
    assert advice.confidence == 0.97


def test_the_chosen_candidate_is_the_judgement_s() -> None:
    other = assess(candidate=Candidate("other", OLD, "by hand"))
    advice = make_advice("keep", assess(), other, judgement=Judgement("keep", 1, 0.1, "because"))
    assert advice.chosen is other
    assert advice.as_json()["chosen"] == "other"
    assert [one["name"] for one in advice.as_json()["candidates"]] == ["mine", "other"]


def test_the_net_gain_is_that_of_the_chosen_at_the_level_asked_for() -> None:
    advice = make_advice()
    low, high = GAIN.interval(0.95)
    assert advice.net_gain == Estimate(GAIN.mean, low, high, "paired fitted evaluation")
    wider = make_advice(confidence_level=0.99).net_gain
    assert wider.low < low < high < wider.high
    assert repr(advice) == (
        f"Advice(switch: net gain {GAIN.mean:.6g} [{low:.6g}, {high:.6g}], confidence 97.0%, "
        "candidate 'mine')"
    )


def test_the_document_by_hand() -> None:
    document = make_advice().as_json()
    # Both states: 0.4 and 0.3 of the mass changes its group, so 0.35 on average.
    assert document["cost"]["learning_mass"] == pytest.approx(0.35, abs=1e-6)
    assert document["cost"]["total"] == pytest.approx(2.0 * 0.35 + 0.5 * 0.65, abs=1e-6)
    assert np.sum(document["cost"]["flows"]) == pytest.approx(1.0, abs=1e-6)
    assert document["break_even"] == {"learning_weight": 5.0, "transaction_weight": 2.0}
    assert document["new_value"] == {"mean": 5.0, "low": 4.0, "high": 6.0, "method": "fitted"}
    assert document["old_value"]["method"] == "returns of the log"
    assert set(document["net_gain"]) == {"mean", "low", "high"}
    (candidate,) = document["candidates"]
    assert candidate["differences"] == [2.0, 3.0, 4.0]
    assert candidate["support"] == {
        "excess": 0.01,
        "limit": 0.02,
        "divergence": 0.3,
        "supported": True,
    }
    assert candidate["notes"] == ["a note"]
    assert (document["reason"], document["seed"]) == ("because", 7)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_known_is_null(bad: float, tmp_path: Path) -> None:
    broken = assess(
        value=Estimate(bad, bad, bad, "fitted"),
        gain=Gain(np.array([1.0, bad, 2.0]), COST.total, doubt=bad, pessimistic=bad),
        support=Support(1.0, 0.02, bad),
        break_even=BreakEven(None, None, None, None),
    )
    with np.errstate(invalid="ignore"):
        make_advice("keep", broken).save(tmp_path)
    document = read_json(tmp_path)
    assert document["net_gain"] == {"mean": None, "low": None, "high": None}
    assert document["new_value"]["mean"] is None
    (candidate,) = document["candidates"]
    assert candidate["differences"] == [1.0, None, 2.0]
    assert candidate["doubt"] is candidate["pessimistic"] is None
    assert candidate["support"]["divergence"] is None
    assert candidate["confidence"] == 0.0
    assert finite(bad) is None
    assert (finite(None), finite(2)) == (None, 2.0)


def make_network() -> MLPPolicy:
    space = gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float32)
    signature = Signature(space, gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32))
    return MLPPolicy.init(jax.random.key(0), signature, hidden=(4,))


@pytest.mark.parametrize("policy", [NEW, make_network()], ids=["table", "network"])
def test_the_policy_s_files_act_like_the_policy(policy: Policy, tmp_path: Path) -> None:
    make_advice("keep", assess(policy)).save(tmp_path)
    folder = tmp_path / "policy"
    names = {path.name for path in folder.iterdir()}
    assert names == {"new.safetensors", "new.onnx", "predict.py", "README.md"}
    again = read_policy(folder / "new.safetensors")
    assert fingerprint(again) == fingerprint(policy)
    states = np.array([0, 1])
    if isinstance(policy, MLPPolicy):
        states = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    session = onnxruntime.InferenceSession(folder / "new.onnx")
    (entry,) = session.get_inputs()
    kind = np.int64 if "int64" in entry.type else np.float32
    (action,) = session.run(["action"], {entry.name: states.astype(kind)})
    np.testing.assert_allclose(action, policy(jnp.asarray(states)).mode(), atol=1e-5)


def test_the_card_says_what_the_verdict_was(tmp_path: Path) -> None:
    make_advice("undecided").save(tmp_path)
    card = (tmp_path / "policy" / "README.md").read_text()
    for text in ("New policy: mine", "undecided", "because", "a note", "new.onnx", "by hand"):
        assert text in card


def test_advice_without_a_record_is_saved_too(tmp_path: Path) -> None:
    make_advice(record={}).save(tmp_path)
    assert "seed" not in read_json(tmp_path)


class Closed(Policy):
    """A policy that has no file form."""

    signature: Signature = eqx.field(static=True)

    def __call__(self, observations: jax.Array) -> Any:
        return NEW(observations)


def test_a_policy_without_a_file_form_leaves_a_note_and_no_stale_file(tmp_path: Path) -> None:
    make_advice().save(tmp_path)
    closed = Closed(NEW.signature)
    make_advice("switch", assess(closed)).save(tmp_path)
    names = {path.name for path in (tmp_path / "policy").iterdir()}
    assert "new.safetensors" not in names
    assert "new.onnx" not in names
    notes = read_json(tmp_path)["notes"]
    assert [note.split(":")[0] for note in notes[1:]] == ["no new.safetensors", "no new.onnx"]


def test_without_onnx_the_rest_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any) -> bytes:
        raise InputError("onnx is not installed")

    monkeypatch.setattr(module, "build_onnx", refuse)
    make_advice().save(tmp_path)
    assert not (tmp_path / "policy" / "new.onnx").exists()
    assert read_json(tmp_path)["notes"][1] == "no new.onnx: onnx is not installed"
    assert "new.onnx" not in (tmp_path / "policy" / "README.md").read_text()
    assert (tmp_path / "policy" / "new.safetensors").exists()


def test_a_folder_that_cannot_be_written_gets_nothing(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file")
    with pytest.raises(InputError, match="cannot be written"):
        make_advice().save(taken)
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
    assert taken.read_text() == "a file"


def test_a_decision_is_only_there_once_all_of_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any) -> None:
        raise InputError("README.md: cannot be written (No space left on device)")

    monkeypatch.setattr(module, "write_card", fail)
    with pytest.raises(InputError, match="No space left"):
        make_advice().save(tmp_path)
    assert not (tmp_path / "decision.json").exists()
    assert not [path for path in tmp_path.rglob("*") if path.name.endswith(".part")]


def test_saving_twice_writes_the_same(tmp_path: Path) -> None:
    first, again = (make_advice().save(tmp_path / name) for name in ("a", "b"))
    files = sorted(path.relative_to(first) for path in first.rglob("*") if path.is_file())
    assert {"decision.json", "policy/new.onnx", "report.html"} <= {str(name) for name in files}
    for name in files:
        assert (first / name).read_bytes() == (again / name).read_bytes()


def test_a_cost_from_one_state_has_no_error_and_no_nan(tmp_path: Path) -> None:
    """Its error is not known, and what is not known never switches."""
    unsure: CostBreakdown = dataclasses.replace(COST, standard_error=math.nan)
    gain = Gain(GAIN.differences, COST.total, unsure.standard_error)
    assert gain.bound(0.95) == -math.inf
    make_advice("keep", assess(cost=unsure, gain=gain)).save(tmp_path)
    assert read_json(tmp_path)["candidates"][0]["cost"]["standard_error"] is None
