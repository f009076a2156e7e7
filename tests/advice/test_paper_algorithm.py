"""Net Actor-Critic from end to end on a finite world whose answers are known."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
import pytest

from nacre.advice import paper_algorithm as algorithm
from nacre.advice.paper_algorithm import (
    Outcome,
    evaluate_old,
    net_actor_critic,
    training_estimate,
    with_evaluation_states,
)
from nacre.costs import FiniteStates, LogStates, UniformBox
from nacre.estimators import exact
from nacre.learners import LearnerConfig, ProgressEvent, default
from nacre.policies.tabular import TabularPolicy
from nacre.training.backup import Form
from nacre.training.fitted_evaluation import read_values
from tests.support.learners import make_finite, make_learner, singletons

LOW, HIGH = 0.1, 50.0
SEED = 2
CONFIG = make_learner()


def run(weight: float = LOW, config: LearnerConfig = CONFIG, **options: Any) -> Outcome:
    finite = make_finite(5)
    given: dict[str, Any] = {"start": np.arange(4), "seed": SEED} | options
    return net_actor_critic(finite.log, finite.policy, singletons(weight), config=config, **given)


@functools.cache
def outcome(form: Form, weight: float) -> Outcome:
    return run(weight, dataclasses.replace(CONFIG, form=form))


def same_bits(mine: Any, theirs: Any) -> bool:
    leaves = (jax.tree.leaves(eqx.filter(tree, eqx.is_array)) for tree in (mine, theirs))
    return all(map(np.array_equal, *leaves))


def test_a_cheap_switch_that_pays_is_made() -> None:
    finite, found = make_finite(5), outcome("apart", LOW)
    assert found.choice == "switch"
    assert found.policy is found.new_policy
    assert found.complete
    assert found.net_value == found.new_value - found.cost.total
    assert found.cost.total == pytest.approx(LOW * found.cost.learning_mass, rel=1e-4)
    # True values by linear solves; estimates from 2000 rows are within a tenth of the range.
    low, high = exact.value_range(finite.world)
    old = float(exact.start_value(finite.world, finite.table))
    assert isinstance(found.new_policy, TabularPolicy)
    new = float(exact.start_value(finite.world, np.asarray(found.new_policy.table)))
    assert abs(found.old_value - old) < 0.1 * (high - low)
    assert abs(found.new_value - new) < 0.1 * (high - low)
    assert new - found.cost.total > old


def test_at_a_prohibitive_price_the_old_policy_is_returned() -> None:
    found = outcome("apart", HIGH)
    assert found.choice == "keep"
    assert found.policy is make_finite(5).policy
    assert found.cost.learning_mass < 0.05
    assert found.net_value <= found.old_value


@pytest.mark.parametrize(("weight", "choice"), [(LOW, "switch"), (HIGH, "keep")])
def test_the_net_form_decides_alike(weight: float, choice: str) -> None:
    net, apart = outcome("net", weight), outcome("apart", weight)
    assert net.choice == apart.choice == choice
    assert net.old_value == apart.old_value  # the old policy has no cost in either form
    moved = (net.cost.learning_mass, apart.cost.learning_mass)
    assert abs(moved[0] - moved[1]) < 0.05


def test_a_policy_that_did_not_change_has_the_same_value_and_is_kept() -> None:
    """Both evaluations use the same networks, batches and noise, so the tie is exact."""
    still = dataclasses.replace(CONFIG.actor, learning_rate=1e-30)
    found = run(config=dataclasses.replace(CONFIG, actor=still, epochs=1))
    assert same_bits(found.new_policy, make_finite(5).policy)
    assert found.new_value == found.old_value
    assert found.cost.total == 0.0
    assert found.choice == "keep"


@pytest.mark.parametrize("form", ["apart", "net"])
def test_without_reevaluation_the_training_critics_judge(form: Form) -> None:
    heard: list[ProgressEvent] = []
    config = dataclasses.replace(CONFIG, form=form, reevaluate=False)
    found = run(config=config, progress=heard.append)
    fresh = outcome(form, LOW)
    assert found.new_evaluation is None
    assert fresh.new_evaluation is not None
    assert {event.stage for event in heard} == {"evaluating the old policy", "learning"}
    assert found.old_value == fresh.old_value
    assert same_bits(found.learned.state, fresh.learned.state)
    said, _ = read_values(
        config.evaluation,
        found.learned.state.critics.online,
        found.new_policy,
        jax.numpy.arange(4),
        jax.random.key(SEED),
    )
    # Net critics have the cost in them: what they say is the net value.
    expected = found.net_value if form == "net" else found.new_value
    assert float(said) == pytest.approx(expected, rel=1e-6)
    again = training_estimate(config, found.learned, np.arange(4), found.cost.total, SEED)
    assert again == found.new_value


def test_every_stage_is_reported_and_the_same_seed_gives_the_same_outcome() -> None:
    heard: list[ProgressEvent] = []
    found = run(progress=heard.append)
    stages = list(dict.fromkeys(event.stage for event in heard))
    assert stages == ["evaluating the old policy", "learning", "evaluating the new policy"]
    assert len(heard) == 5 + 4 + 5
    first = outcome("apart", LOW)
    assert same_bits(found.learned.state, first.learned.state)
    assert (found.old_value, found.new_value) == (first.old_value, first.new_value)
    other = run(seed=SEED + 1)
    assert other.old_value != first.old_value


@pytest.mark.parametrize("warm", [False, True])
def test_costs_share_the_old_policy_s_evaluation(warm: bool) -> None:
    """Given or found on the way: the same bits, also where learning goes on with its critics."""
    config = dataclasses.replace(CONFIG, warm_critics=warm)
    finite, heard = make_finite(5), list[ProgressEvent]()
    shared = evaluate_old(finite.log, finite.policy, np.arange(4), config, seed=SEED)
    apart = run(config=config)
    given = run(config=config, old_evaluation=shared, progress=heard.append)
    assert same_bits(shared.critics, apart.old_evaluation.critics)
    np.testing.assert_array_equal(shared.member_curves, apart.old_evaluation.member_curves)
    assert same_bits(given.learned.state, apart.learned.state)
    assert given.as_json()["cost"] == apart.as_json()["cost"]
    assert (given.old_value, given.new_value) == (apart.old_value, apart.new_value)
    assert "evaluating the old policy" not in {event.stage for event in heard}
    # Another price is another outcome of the same old value.
    high = run(HIGH, config, old_evaluation=shared)
    assert high.old_value == given.old_value
    assert high.cost.learning_mass < given.cost.learning_mass


def test_the_outcome_as_a_record() -> None:
    found = outcome("apart", LOW)
    record = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert record["choice"] == "switch"
    assert record["net_value"] == found.net_value
    assert record["cost"]["total"] == found.cost.total
    assert (record["healthy"], record["complete"]) == (True, True)
    assert record["stop_reason"] == "all epochs done"
    assert [epoch["epoch"] for epoch in record["epochs"]] == [0, 1, 2, 3]
    text = repr(found)
    assert text.startswith("Outcome(switch: old value ")
    assert "all epochs done" in text
    assert "\n" not in text


def interrupt_at(stage: str, epoch: int) -> Callable[[ProgressEvent], None]:
    def report(event: ProgressEvent) -> None:
        if (event.stage, event.epoch) == (stage, epoch):
            raise KeyboardInterrupt

    return report


def test_ctrl_c_while_learning_keeps_what_there_is_and_the_old_policy(tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    found = run(progress=interrupt_at("learning", 1), checkpoint=path)
    assert found.choice == "keep"
    assert found.policy is make_finite(5).policy
    assert not found.complete
    assert not found.as_json()["complete"]
    assert found.learned.stop_reason == "interrupted after 2 epochs"
    assert len(found.learned.history) == 2
    assert found.new_evaluation is None
    assert np.isfinite(found.new_value)

    resumed, whole = run(checkpoint=path), outcome("apart", LOW)
    assert resumed.choice == "switch"
    assert same_bits(resumed.learned.state, whole.learned.state)
    assert resumed.net_value == whole.net_value


def test_ctrl_c_while_evaluating_keeps_the_learned_policy_but_does_not_switch() -> None:
    found = run(progress=interrupt_at("evaluating the new policy", 1))
    assert found.choice == "keep"
    assert not found.complete
    assert found.learned.complete
    assert found.new_evaluation is None
    assert same_bits(found.new_policy, outcome("apart", LOW).new_policy)
    with pytest.raises(KeyboardInterrupt):  # nothing there yet that could be kept
        run(progress=interrupt_at("evaluating the old policy", 1))


def change_results(monkeypatch: pytest.MonkeyPatch, name: str, **changed: Any) -> None:
    """Let a function of the algorithm return another result."""
    real = getattr(algorithm, name)
    monkeypatch.setattr(
        algorithm, name, lambda *a, **k: dataclasses.replace(real(*a, **k), **changed)
    )


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("learn", {"healthy": False, "stop_reason": "diverged in epoch 2 of 4 at step 7"}),
        ("learn", {"complete": False}),
        ("evaluate_policy", {"healthy": False}),
        ("evaluate_policy", {"value": float("nan")}),
        ("evaluate_policy", {"value": float("inf")}),
    ],
)
def test_no_switch_comes_of_what_broke(
    name: str, changed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    change_results(monkeypatch, name, **changed)
    found = run()
    assert found.choice == "keep"
    assert found.policy is make_finite(5).policy


def test_our_own_configuration_and_the_logs_starts_are_taken_if_none_are_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Any] = []

    def stop(policy: Any, log: Any, start: Any, config: Any, **_: Any) -> None:
        seen.extend((start, config))
        raise KeyboardInterrupt

    monkeypatch.setattr(algorithm, "evaluate_policy", stop)
    finite = make_finite(5)
    with pytest.raises(KeyboardInterrupt):
        net_actor_critic(finite.log, finite.policy, singletons(1.0))
    np.testing.assert_array_equal(seen[0], finite.log.starts)
    assert seen[1] == default().evaluation


def test_the_final_price_draws_as_many_states_as_configured_where_it_draws() -> None:
    config = dataclasses.replace(CONFIG, n_cost_states_evaluation=123)
    cost = singletons(1.0)
    boxed = dataclasses.replace(cost, state_measure=UniformBox(limit=3.0, n=5))
    assert with_evaluation_states(boxed, config).state_measure == UniformBox(limit=3.0, n=123)
    for measure in (LogStates(), LogStates(7), FiniteStates()):
        given = dataclasses.replace(cost, state_measure=measure)
        assert with_evaluation_states(given, config) is given
