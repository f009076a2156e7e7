"""Attacks: every one can be built and misleads in truth; answers become records and tables."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nacre.experiments import attacks
from nacre.experiments.attack_cases import logs, vectors
from nacre.experiments.attacks import ATTACKS, MODULES

FINITE = [name for name, attack in ATTACKS.items() if not name.startswith("vectors")]
VECTORS = [name for name in ATTACKS if name.startswith("vectors")]


def run(name: str, seed: int = 100) -> dict[str, Any]:
    record = attacks.run_one({"attack": name, "seed": seed}, Path(), Path())
    # Records are lines of JSON without infinities.
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    return record


def made_up(name: str, verdict: str, truth: float | None, **values: Any) -> dict[str, Any]:
    attack = ATTACKS[name]
    return {
        "attack": name,
        "seed": 100,
        "kind": attack.kind,
        "what": attack.what,
        "hidden": attack.hidden,
        "same_as": attack.same_as,
        "verdict": verdict,
        "reason": f"a reason to {verdict}",
        "true_net_gain": truth,
        "wrong_switch": verdict == "switch" and truth is not None and truth <= 0,
        **values,
    }


def test_names_are_unique_and_sentences_are_sentences() -> None:
    listed = [attack for module in MODULES for attack in module.ATTACKS]
    assert len({attack.name for attack in listed}) == len(listed) >= 24
    assert len(VECTORS) <= 8
    for attack in listed:
        assert attack.what.endswith(".")
        assert "|" not in attack.what
        assert attack.same_as in ("", *ATTACKS)


@pytest.mark.parametrize("name", FINITE)
def test_candidates_that_are_given_gain_nothing(name: str) -> None:
    """But for the attacks on units, which ask for a gain that is there."""
    attack = ATTACKS[name]
    situation = attack.build(100)
    assert 100 <= len(situation.log) <= 20_000
    for candidate in situation.candidates:
        gain = situation.find_truth(candidate.policy).gain
        if attack.kind == "units":
            assert gain > 0
        else:
            assert gain <= max(situation.tolerance, 1e-12)


@pytest.mark.parametrize("name", VECTORS)
def test_attacks_on_vectors_can_be_built(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "ROWS", 2000)
    monkeypatch.setattr(vectors, "N_EPISODES", 10)
    situation = ATTACKS[name].build(100)
    assert situation.log.n_episodes >= 6
    assert len(situation.candidates) == 1


def test_the_same_seed_gives_the_same_log() -> None:
    attack = ATTACKS["drift_of_rewards"]
    first, again, other = (attack.build(seed).log.fingerprint() for seed in (100, 100, 101))
    assert first == again != other
    usual, tiny = (ATTACKS[name].build(100).log for name in ("usual_units", "tiny_units"))
    np.testing.assert_allclose(tiny.rewards, 1e-6 * usual.rewards, rtol=1e-5)


def test_an_answer_becomes_a_record() -> None:
    record = run("drift_of_rewards")
    assert (record["verdict"], record["wrong_switch"]) == ("undecided", False)
    assert record["forbidden"] == "the log drifts (rewards)"
    assert record["problems"][0].startswith("Drift: ")
    assert record["true_net_gain"] < 0
    assert (record["rows"], record["seed"]) == (10_000, 100)


def test_the_answer_does_not_depend_on_the_unit() -> None:
    usual, *others = (run(name) for name in ("usual_units", "tiny_units", "huge_units"))
    assert usual["verdict"] == "switch"
    assert not usual["wrong_switch"]
    for record in others:
        assert record["verdict"] == "switch"
        assert record["confounding"]["factor"] == pytest.approx(
            usual["confounding"]["factor"], rel=1e-3
        )


def test_a_hidden_variable_misleads_and_the_record_says_how_strong_it_has_to_be() -> None:
    """Its true factor is 4: an action of probability 1/2 has one of 0.8 or 0.2."""
    record = run("confounded_one_step")
    assert (record["verdict"], record["wrong_switch"]) == ("switch", True)
    assert record["true_net_gain"] == pytest.approx(-0.1)
    assert 1.0 < record["confounding"]["factor"] < 4.0


def test_what_is_not_accepted_is_a_record_too() -> None:
    record = run("three_episodes")
    assert (record["verdict"], record["wrong_switch"]) == ("refused", False)
    assert "3 episodes" in record["reason"]


def test_a_net_gain_within_the_tolerance_is_none() -> None:
    attack = ATTACKS["usual_units"]
    situation = attack.build(100)
    advice = attacks.ask(situation, 100)
    assert not attacks.describe(situation, advice)["wrong_switch"]
    strict = dataclasses.replace(situation, tolerance=1e6)
    assert attacks.describe(strict, advice)["wrong_switch"]


def test_logs_are_joined_and_repeated_by_whole_episodes() -> None:
    rng = np.random.default_rng(0)
    world = logs.make_routine(rng)
    log = logs.draw_log(rng, world, logs.draw_old(rng, world), 500)
    both = logs.join(log, logs.repeat(log, 2))
    assert both.n_episodes == 3 * log.n_episodes
    np.testing.assert_array_equal(both.returns(), np.tile(log.returns(), 3))
    np.testing.assert_allclose(
        np.sort(logs.shuffle(rng, log).returns()), np.sort(log.returns()), rtol=1e-12
    )


def test_the_table_of_one_seed() -> None:
    records = [
        made_up("drift_of_rewards", "undecided", -1.25),
        made_up("confounded_one_step", "switch", -0.1, confounding={"factor": 2.345}),
        made_up("three_episodes", "refused", None, reason="too | few\nepisodes"),
        made_up("usual_units", "switch", 1.2),
        made_up("tiny_units", "keep", 1.2e-6),
    ]
    lines = attacks.write_table(records).splitlines()
    assert lines[0].startswith("| attack | what was done to the log | answer |")
    assert {line.count("|") for line in lines} == {7}
    drift, hidden, few, usual, tiny = lines[2:]
    assert drift.endswith("| `undecided` | -1.25 | no | a reason to undecided |")
    assert hidden.startswith("| confounded one step |")
    assert "| `switch` | -0.1 | **yes** | a reason to switch; a hidden variable with a" in hidden
    assert "factor of 2.35 could turn it" in hidden
    assert few.endswith("| `refused` | – | no | too / few; episodes |")
    assert usual.endswith("| a reason to switch |")
    assert tiny.endswith("| a reason to keep; **not the answer to usual units** |")


def test_the_table_of_several_seeds() -> None:
    records = [
        made_up("seasons", "keep", -1.0, seed=100),
        made_up("seasons", "switch", -0.5, seed=101, reason="it is sure"),
    ]
    (line,) = attacks.write_table(records).splitlines()[2:]
    assert line.endswith("| `switch` 1, `keep` 1 | -1 to -0.5 | 1 of 2 | it is sure |")


def test_the_summary_counts_answers_by_aim() -> None:
    records = [
        made_up("seasons", "switch", -1.0),
        made_up("drift_of_rewards", "keep", -1.0),
        made_up("failures_deleted", "undecided", -1.0),
    ]
    assert attacks.write_summary(records).splitlines() == [
        "| aim | advices | switch | keep | undecided | refused | wrong switches |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| drift | 2 | 1 | 1 | 0 | 0 | 1 |",
        "| hidden variable | 1 | 0 | 0 | 1 | 0 | 0 |",
        "| *the cause is in the log* | 2 | 1 | 1 | 0 | 0 | 1 |",
        "| *the cause is not in the log* | 1 | 0 | 0 | 1 | 0 | 0 |",
    ]
    assert len(attacks.write_summary([]).splitlines()) == 2


def test_runs_name_every_attack_for_every_seed() -> None:
    runs = attacks.list_runs((100, 101))
    assert len(runs) == 2 * len(ATTACKS)
    assert runs[0] == {"attack": next(iter(ATTACKS)), "seed": 100}
