"""Net Actor-Critic as a learner: one candidate, or none where learning broke down."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import jax
import numpy as np
import pytest

from nacre.errors import InputError
from nacre.learners import paper
from nacre.learners.base import Candidate, Learner, LearningProblem
from nacre.learners.net_actor_critic import learner as module
from nacre.learners.net_actor_critic.config import ActorConfig, LearnerConfig
from nacre.learners.net_actor_critic.learner import NetActorCritic, default_settings
from nacre.learners.net_actor_critic.occupancy import OccupancyConfig
from nacre.learners.net_actor_critic.run import learn as run_learner
from nacre.learners.net_actor_critic.stopping import Plateau
from nacre.policies.tabular import TabularPolicy
from nacre.training.backup import CriticConfig
from nacre.training.progress import NoProgress, ProgressEvent
from tests.support.rooms import (
    DISCOUNT,
    LOW_PRICE,
    OLD,
    Table,
    find_value,
    make_cost,
    make_policy,
    make_rooms_log,
)

# Tables for critics and policy, and few short epochs.
SETTINGS = LearnerConfig(
    critics=CriticConfig(
        hidden=(), scale_returns=True, learning_rate=0.01, polyak=0.98, backup="mean"
    ),
    actor=ActorConfig(states="log", discounted_states=True, combine="mean", learning_rate=0.03),
    occupancy=OccupancyConfig(hidden=(), learning_rate=0.02, polyak=0.9, largest_ratio=100.0),
    stopping=None,
    epochs=3,
    ramp_epochs=0,
    steps_per_epoch=100,
    prefit_steps=100,
    n_cost_states=256,
)
QUICK = NetActorCritic(0.02, noise=1.0, settings=SETTINGS)


def pose(weight: float = LOW_PRICE) -> LearningProblem:
    log = make_rooms_log()
    return LearningProblem(log, make_policy(OLD), make_cost(weight), log.starts, DISCOUNT)


def learn(learner: NetActorCritic = QUICK, seed: int = 100, **given: Any) -> list[Candidate]:
    return list(learner.learn(jax.random.key(seed), pose(**given), NoProgress()))


@functools.cache
def find_one() -> Candidate:
    (candidate,) = learn()
    return candidate


def read_table(candidate: Candidate) -> Table:
    assert isinstance(candidate.policy, TabularPolicy)
    table: Table = np.asarray(candidate.policy.table, np.float64)
    normalised: Table = table / table.sum(axis=1, keepdims=True)
    return normalised


def find_mass(candidate: Candidate) -> float:
    """Mass that changes its group."""
    breakdown = make_cost(1.0).evaluate(make_policy(OLD), candidate.policy, make_rooms_log())
    return breakdown.learning_mass


def test_it_learns_what_is_better_by_exact_truth() -> None:
    candidate = find_one()
    assert (candidate.name, candidate.origin) == (
        "nac-0.02",
        "Net Actor-Critic with KL weight 0.02",
    )
    gain = find_value(read_table(candidate)) - find_value(OLD)
    assert gain - LOW_PRICE * find_mass(candidate) > 0.3
    assert len(candidate.curve) == SETTINGS.epochs
    assert np.all(np.isfinite(candidate.curve))


def test_the_same_key_gives_the_same_candidate() -> None:
    (again,) = learn()
    np.testing.assert_array_equal(read_table(again), read_table(find_one()))
    assert again.curve == find_one().curve
    (other,) = learn(seed=101)
    assert not np.array_equal(read_table(other), read_table(find_one()))


def test_what_is_learned_is_proposed_with_less_noise() -> None:
    (scaled,) = learn(dataclasses.replace(QUICK, noise=0.5))
    squares = read_table(find_one()) ** 2
    expected = squares / squares.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(read_table(scaled), expected, rtol=1e-4)
    assert scaled.origin == "Net Actor-Critic with KL weight 0.02, with 0.5 of its noise"


def test_a_larger_cost_of_learning_moves_less_mass() -> None:
    far = dataclasses.replace(QUICK, cost_factor=1000.0)
    assert far.name == "nac-0.02-cost1000"
    (near,) = learn(far)
    assert find_mass(near) < 0.5 * find_mass(find_one())
    assert near.origin.endswith("as if the switch cost 1000 times as much")


def test_a_larger_weight_stays_nearer() -> None:
    (near,) = learn(dataclasses.replace(QUICK, kl_weight=10.0))
    assert near.name == "nac-10"
    assert find_mass(near) < 0.5 * find_mass(find_one())


def break_down(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    monkeypatch.setattr(
        module, "learn", lambda *a, **k: dataclasses.replace(run_learner(*a, **k), **changes)
    )


def test_what_broke_down_is_not_proposed(monkeypatch: pytest.MonkeyPatch) -> None:
    break_down(monkeypatch, healthy=False, stop_reason="diverged in epoch 2; kept that of epoch 1")
    (dropped,) = learn()
    assert dropped.problem == (
        "Learning diverged in epoch 2. It was begun again with KL weight 0.2 and smaller steps, "
        "and dropped: Learning diverged in epoch 2."
    )


def test_a_collapse_is_begun_again_with_safer_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[LearnerConfig] = []

    def collapse_once(*a: Any, **k: Any) -> Any:
        seen.append(a[4])
        learned = run_learner(*a, **k)
        return dataclasses.replace(learned, healthy=len(seen) > 1, stop_reason="diverged")

    monkeypatch.setattr(module, "learn", collapse_once)
    (candidate,) = learn()
    assert not candidate.problem
    assert candidate.name == "nac-0.02"
    assert candidate.origin.endswith(
        "begun again with KL weight 0.2 and smaller steps: Learning diverged."
    )
    first, second = seen
    assert second.actor.learning_rate < first.actor.learning_rate
    assert second.critics.learning_rate < first.critics.learning_rate


def test_epochs_grow_with_the_rows_and_nothing_jumps() -> None:
    steps = [module.count_steps(1000, rows) for rows in (0, 1600, 4000, 7999, 8000, 10**6)]
    assert steps == [200, 200, 500, 999, 1000, 1000]
    assert module.count_steps(100, 10**6) == 100


def test_an_interruption_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    break_down(monkeypatch, complete=False)
    with pytest.raises(KeyboardInterrupt):
        learn()


def test_every_epoch_is_told() -> None:
    heard: list[ProgressEvent] = []

    def listen(event: ProgressEvent) -> None:
        heard.append(event)

    QUICK.learn(jax.random.key(100), pose(), listen)
    epochs = [tick.epoch for tick in heard if tick.epoch >= 0]
    assert epochs[-1] == SETTINGS.epochs - 1
    assert epochs == sorted(epochs)


def test_it_is_a_learner_that_applies_to_every_log() -> None:
    assert isinstance(QUICK, Learner)
    assert QUICK.applies(pose()) == ""
    assert isinstance(default_settings().stopping, Plateau)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"kl_weight": -1.0}, "kl_weight = -1.0: must be finite and not negative"),
    ({"kl_weight": math.nan}, "kl_weight = nan: must be finite and not negative"),
    ({"cost_factor": math.inf}, "cost_factor = inf: must be finite and not negative"),
    ({"noise": 0.0}, "noise = 0.0: must lie in (0, 1]"),
    ({"noise": 1.5}, "noise = 1.5: must lie in (0, 1]"),
    (
        {"settings": paper("Hopper-v4").learner},
        "settings.warm_critics: candidates are learned from other episodes than the old policy is "
        "evaluated on; set it to false",
    ),
]


@pytest.mark.parametrize(("changed", "problem"), BAD)
def test_bad_settings_are_refused(changed: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError) as caught:
        NetActorCritic(**changed)
    assert caught.value.problems == (problem,)
