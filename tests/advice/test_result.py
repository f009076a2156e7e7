"""What advice says of itself, and what it leaves on disk."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import onnxruntime
import pytest

from nacre.advice.config import AdviceConfig
from nacre.advice.record import Interval, finite, read_decision
from nacre.advice.setting import Setting
from nacre.errors import InputError
from nacre.learners.base import Candidate
from nacre.policies import fingerprint, read_policy
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Policy, Signature
from tests.support.learners import by_sign, make_vectors
from tests.support.made_up import make_advice
from tests.support.rooms import BEST, BETTER, make_candidate, make_policy


def read_json(folder: Path) -> dict[str, Any]:
    """The record, which may hold no NaN nor infinity."""
    document: dict[str, Any] = json.loads(
        (folder / "decision.json").read_text(),
        parse_constant=lambda name: pytest.fail(f"{name} in the JSON"),
    )
    return document


@pytest.mark.parametrize(
    ("verdict", "switches"), [("switch", True), ("keep", False), ("undecided", False)]
)
def test_what_should_run_next(verdict: str, *, switches: bool) -> None:
    mine = make_candidate("mine", BEST)
    advice = make_advice(verdict, mine)
    assert advice.verdict == verdict
    assert advice.policy is (mine.policy if switches else advice.old_policy)
    assert advice.new_policy is mine.policy
    assert advice.probability == 0.97


def test_the_chosen_candidate_is_that_of_the_decision() -> None:
    both = make_candidate("mine", BEST), make_candidate("other", BETTER)
    advice = make_advice("keep", *both, index=1)
    assert advice.candidate is both[1]
    assert advice.chosen is advice.record.candidates[1]
    assert advice.record.chosen_entry.name == "other"
    assert advice.as_json()["chosen"] == "other"
    # Two of one name are told apart.
    twins = make_candidate("twin", BEST), make_candidate("twin", BETTER)
    assert make_advice("keep", *twins, index=1).new_policy is twins[1].policy


def test_it_is_shown_in_one_line() -> None:
    assert repr(make_advice()) == ("Advice(switch: net gain 2.5 [1.5, 3.5], candidate 'mine')")
    unknown = make_advice("undecided", net_gain=Interval(mean=None, low=None, high=None))
    assert "net gain unknown [unknown, unknown]" in repr(unknown)


def test_the_document_is_the_record() -> None:
    advice = make_advice()
    document = advice.as_json()
    assert document == advice.record.as_json()
    assert document["net_gain"] == {"mean": 2.5, "low": 1.5, "high": 3.5}
    assert document["cost"]["learning_mass"] == pytest.approx(0.48, abs=1e-4)
    assert np.sum(document["cost"]["flows"]) == pytest.approx(1.0, abs=1e-4)
    assert advice.describe_policy() == {
        "verdict": "switch",
        "net_gain": document["net_gain"],
        "seed": 7,
    }


# On disk


def make_vector_advice() -> Any:
    log, old = make_vectors()
    setting = Setting(log, old, by_sign(1.0), log.starts, False, AdviceConfig(), 0.0, 0)
    new = MLPPolicy.init(jax.random.key(105), old.signature, hidden=(4,))
    return make_advice("keep", Candidate("mine", new, "by hand"), setting=setting)


@pytest.mark.parametrize("kind", ["table", "network"])
def test_the_policy_s_files_act_like_the_policy(kind: str, tmp_path: Path) -> None:
    advice = make_advice("keep") if kind == "table" else make_vector_advice()
    assert advice.save(tmp_path) == tmp_path
    folder = tmp_path / "policy"
    names = {path.name for path in folder.iterdir()}
    assert names == {"new.safetensors", "new.onnx", "predict.py", "README.md"}
    again = read_policy(folder / "new.safetensors")
    assert fingerprint(again) == fingerprint(advice.new_policy)
    states: Any = np.array([0, 1])
    if kind == "network":
        states = np.random.default_rng(100).normal(size=(5, 2)).astype(np.float32)
    session = onnxruntime.InferenceSession(folder / "new.onnx")
    (entry,) = session.get_inputs()
    number = np.int64 if "int64" in entry.type else np.float32
    (action,) = session.run(["action"], {entry.name: states.astype(number)})
    expected = advice.new_policy(jnp.asarray(states)).mode()
    np.testing.assert_allclose(action, expected, atol=1e-5)


def test_what_is_saved_holds_everything_and_reads_back(tmp_path: Path) -> None:
    advice = make_advice()
    assert advice.save(str(tmp_path / "advice")) == tmp_path / "advice"
    folder = tmp_path / "advice"
    assert {path.name for path in folder.iterdir()} == {
        "decision.json",
        "evidence.npz",
        "manifest.json",
        "report.html",
        "policy",
    }
    assert read_json(folder) == advice.as_json()
    assert read_decision(folder) == advice.record
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "mine" in page
    assert "because" in page


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_not_known_is_saved_as_null(bad: float, tmp_path: Path) -> None:
    unknown = Interval(mean=finite(bad), low=finite(-bad), high=finite(bad))
    make_advice("undecided", net_gain=unknown).save(tmp_path)
    assert read_json(tmp_path)["net_gain"] == {"mean": None, "low": None, "high": None}


def test_the_card_says_what_the_verdict_was(tmp_path: Path) -> None:
    make_advice("undecided").save(tmp_path)
    card = (tmp_path / "policy" / "README.md").read_text()
    for text in ("New policy: mine", "undecided", "because", "a note", "new.onnx", "by hand"):
        assert text in card


class Closed(Policy):
    """A policy that has no file form."""

    signature: Signature = eqx.field(static=True)

    def __call__(self, observations: jax.Array) -> Any:
        return make_policy(BEST)(observations)


def test_a_policy_without_a_file_form_leaves_a_note_and_no_stale_file(tmp_path: Path) -> None:
    make_advice().save(tmp_path)
    closed = Closed(make_policy(BEST).signature)
    make_advice("switch", Candidate("closed", closed, "by hand")).save(tmp_path)
    names = {path.name for path in (tmp_path / "policy").iterdir()}
    assert "new.safetensors" not in names
    assert "new.onnx" not in names
    notes = read_json(tmp_path)["notes"]
    assert [note.split(":")[0] for note in notes[1:]] == ["no new.safetensors", "no new.onnx"]


def test_a_folder_that_cannot_be_written_gets_nothing(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file")
    with pytest.raises(InputError, match="cannot be written"):
        make_advice().save(taken)
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
    assert taken.read_text() == "a file"


def test_saving_twice_writes_the_same(tmp_path: Path) -> None:
    first, again = (make_advice().save(tmp_path / name) for name in ("a", "b"))
    files = sorted(path.relative_to(first) for path in first.rglob("*") if path.is_file())
    assert {"decision.json", "policy/new.onnx", "report.html"} <= {str(name) for name in files}
    for name in files:
        assert (first / name).read_bytes() == (again / name).read_bytes()
