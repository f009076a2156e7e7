"""Online training: it improves, is the same every time, goes on where it was, and never breaks."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import re
from pathlib import Path
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array
from numpy.typing import NDArray

from nacre.errors import InputError
from nacre.estimators.simulation import simulate_value
from nacre.learners.online.episodes import Episodes
from nacre.learners.online.replay import Replay
from nacre.learners.online.soft_actor_critic import (
    OnlineConfig,
    entropy_of,
    init_soft,
    scale_critics,
    step_soft,
    target_entropy,
)
from nacre.learners.online.training import OnlineResult, train_online, write_trained
from nacre.policies import fingerprint, read_policy_with_provenance
from nacre.policies.distributions import Categorical, Deterministic, Gaussian, SquashedGaussian
from nacre.policies.policy import Signature
from nacre.training.backup import Backup
from nacre.training.batches import Batch
from nacre.training.progress import ProgressEvent
from tests.support.online import CONFIG, CRITICS, Line, LineWorld, make_line, make_ring

ROOT = Path(__file__).resolve().parents[3]
BOX = gymnasium.spaces.Box
DISCRETE = gymnasium.spaces.Discrete


@functools.cache
def trained(kind: str) -> OnlineResult:
    return train_online(make_line() if kind == "line" else make_ring(), CONFIG, seed=3)


@pytest.mark.parametrize(("kind", "best"), [("line", 3.2), ("ring", 2.9)])
def test_training_comes_near_the_best_policy(kind: str, best: float) -> None:
    """Best: line 0 at x = 0.5, then 1 a step, Σ_{t≥1} 0.8^t + 0.5 = 4.5, exploring less;

    ring: two steps without reward, then 1 a step, Σ_{t≥1} 0.8^t = 4. A random policy has about
    1.4 and 1.7.
    """
    result = trained(kind)
    world = make_line() if kind == "line" else make_ring()
    value = simulate_value(world, result.policy, discount=0.8, n_episodes=100, n_steps=40)
    assert result.stop_reason == "all epochs done"
    assert value.mean > best
    assert value.mean > result.history[0].value + 0.5


@pytest.mark.parametrize("kind", ["line", "ring"])
def test_records_count_steps_updates_and_episodes(kind: str) -> None:
    history = trained(kind).history
    assert [record.steps for record in history] == [60, 100, 100, 100, 100]
    assert [record.updates for record in history] == [0, 100, 100, 100, 100]
    assert all(record.episodes >= 6 for record in history)
    assert all(np.isfinite(record.value) for record in history)
    assert history[-1].temperature > 0.0
    if kind == "ring":
        assert [record.episodes for record in history] == [6, 10, 10, 10, 10]
        assert 0.0 < history[-1].entropy < math.log(2.0)


@pytest.mark.parametrize("kind", ["line", "ring"])
def test_a_seed_decides_every_bit(kind: str) -> None:
    world = make_line() if kind == "line" else make_ring()
    short = dataclasses.replace(CONFIG, epochs=1)
    first, again, other = (train_online(world, short, seed=seed) for seed in (1, 1, 2))
    assert fingerprint(first.policy) == fingerprint(again.policy)
    assert first.history[-1].value == again.history[-1].value
    assert fingerprint(first.policy) != fingerprint(other.policy)


class Stop:
    """Interrupts at an epoch, as a user would."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch

    def __call__(self, event: ProgressEvent) -> None:
        if event.epoch == self.epoch:
            raise KeyboardInterrupt


@pytest.mark.parametrize("epoch", [0, 2])
def test_a_stopped_training_ends_with_the_same_bits(tmp_path: Path, epoch: int) -> None:
    path = tmp_path / "training.safetensors"
    stopped = train_online(make_line(), CONFIG, seed=3, checkpoint=path, progress=Stop(epoch))
    assert not stopped.complete
    assert len(stopped.history) == epoch + 1
    resumed = train_online(make_line(), CONFIG, seed=3, checkpoint=path)
    whole = trained("line")
    assert resumed.complete
    assert fingerprint(resumed.policy) == fingerprint(whole.policy)
    assert [record.value for record in resumed.history] == [
        record.value for record in whole.history
    ]
    finished = train_online(make_line(), CONFIG, seed=3, checkpoint=path)
    assert finished.history == resumed.history


def test_it_stops_at_a_value_and_can_be_told_to_go_on(tmp_path: Path) -> None:
    path = tmp_path / "training.safetensors"
    values = [record.value for record in trained("ring").history]
    modest = dataclasses.replace(CONFIG, stop_value=values[1])
    early = train_online(make_ring(), modest, seed=3, checkpoint=path)
    assert early.stop_reason == f"reached {values[1]:.4g} in epoch 1"
    assert len(early.history) == 2
    later = train_online(make_ring(), CONFIG, seed=3, checkpoint=path)
    assert fingerprint(later.policy) == fingerprint(trained("ring").policy)


def test_another_trainings_checkpoint_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "training.safetensors"
    short = dataclasses.replace(CONFIG, epochs=1)
    train_online(make_ring(), short, seed=3, checkpoint=path)
    with pytest.raises(InputError, match="checkpoint of another run"):
        train_online(make_ring(), short, seed=4, checkpoint=path)


def test_what_breaks_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reward that overflows: the policy is that of the epoch before."""

    class Broken(Line):
        def step(self, action: NDArray[np.float32]) -> tuple[NDArray[np.float32], float, bool]:
            observation, _, terminated = super().step(action)
            return observation, math.inf if made else 1.0, terminated

    made: list[ProgressEvent] = []

    class Listener:
        def __call__(self, event: ProgressEvent) -> None:
            if event.epoch == 1:
                made.append(event)

    monkeypatch.setattr(LineWorld, "make", lambda self: Broken())
    result = train_online(make_line(), CONFIG, seed=3, progress=Listener())
    assert not result.healthy
    assert result.stop_reason.startswith("diverged in epoch 2 of 4; kept the policy before it")
    assert len(result.history) == 2
    assert all(np.all(np.isfinite(weight)) for weight in result.policy.network.weights)


def test_simulators_are_closed_whatever_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Line] = []
    monkeypatch.setattr(Line, "close", lambda self: closed.append(self))
    train_online(make_line(), CONFIG, seed=3, progress=Stop(0))
    assert len(closed) == 2


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"discount": 1.0}, "discount = 1.0: must lie in"),
        ({"actor_learning_rate": 0.0}, "actor_learning_rate = 0.0: must be positive"),
        ({"first_temperature": math.nan}, "first_temperature = nan: must be positive"),
        ({"epochs": 0}, "epochs = 0: at least 1"),
        ({"uniform_steps": 0}, "uniform_steps = 0: at least 1"),
        ({"updates_per_step": 0.0}, "updates_per_step = 0.0: must be positive"),
        ({"entropy_share": 1.5}, "entropy_share = 1.5: must lie in"),
        ({"hidden": (0,)}, r"hidden = \(0,\): layers have at least one unit"),
    ],
)
def test_impossible_configurations_are_refused(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        dataclasses.replace(CONFIG, **changes)


def test_updates_keep_their_ratio_and_an_epoch_is_ten_episodes_if_not_told() -> None:
    """Rounds of 20 steps at 0.13 updates a step: 2.6 each, 13 in an epoch of 100."""
    config = dataclasses.replace(CONFIG, epochs=1, epoch_steps=None, updates_per_step=0.13)
    history = train_online(make_ring(), config).history
    assert (history[1].steps, history[1].updates) == (100, 13)


def test_worlds_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="epoch_steps = 100: line runs 20 episodes of up to 10"):
        train_online(make_line(side_by_side=20), CONFIG)
    with pytest.raises(InputError, match="line: its actions are unbounded"):
        train_online(make_line(high=np.inf), CONFIG)


def test_a_trained_policy_is_written_with_its_value_and_its_making(tmp_path: Path) -> None:
    result = trained("ring")
    path = tmp_path / "ring_good.safetensors"
    written = write_trained(result, make_ring(), path, n_episodes=4, n_steps=25)
    assert json.loads(path.with_suffix(".json").read_text()) == json.loads(json.dumps(written))
    assert [value["steps"] for value in written["values"]] == [25, 10]
    assert written["values"][0]["discount"] == 0.8
    policy, provenance = read_policy_with_provenance(path)
    assert fingerprint(policy) == fingerprint(result.policy) == written["fingerprint"]
    assert provenance["training"]["steps"] == 460
    assert provenance["training"]["updates"] == 400
    assert provenance["training"]["config"]["critics"]["polyak"] == 0.9


FOLDERS = ROOT / "results" / "policies", ROOT / "src" / "nacre" / "experiments" / "policies"
SHIPPED = sorted(path for folder in FOLDERS for path in folder.glob("*.json"))


@pytest.mark.parametrize("record", SHIPPED, ids=lambda path: path.stem)
def test_shipped_policies_are_those_of_their_records_and_of_the_page(record: Path) -> None:
    document = json.loads(record.read_text())
    policy, provenance = read_policy_with_provenance(record.with_suffix(".safetensors"))
    assert fingerprint(policy) == document["fingerprint"]
    assert provenance["training"] == document["training"]
    value = document["values"][0]
    assert (value["episodes"], value["steps"], value["discount"]) == (200, 700, 0.99)
    page = (ROOT / "docs" / "online.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| `{record.stem}` \|.*$", page, flags=re.M)
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    figures = [f"{one['mean']:.1f} ± {one['standard_error']:.1f}" for one in document["values"]]
    assert cells[2:4] == [*figures, ""][:2]
    assert cells[4] == f"{document['training']['steps']:,}"
    assert cells[5] == f"{document['training']['updates']:,}"


def test_returns_are_those_of_episodes_that_had_room() -> None:
    """Ring, always going on from a drawn place: 12 steps hold one whole episode of 10 each."""
    world = make_ring()
    simulators = [world.make(), world.make()]
    episodes = Episodes(world, simulators, 12, np.random.SeedSequence(0), 0.5)
    starts = episodes.observations
    for _ in range(12):
        rows = episodes.act(np.ones(2, np.int32))
    expected = [
        sum(0.5**t for t in range(10) if (start + t + 1) % 3 == 2) for start in starts.tolist()
    ]
    assert episodes.returns == pytest.approx(expected, abs=1e-12)
    assert rows["rewards"].shape == (2,)


def test_replay_keeps_rows_in_order_and_draws_only_those() -> None:
    replay = Replay(Signature(BOX(-9.0, 9.0, (1,), np.float32), DISCRETE(2)), 10)
    for i in range(3):
        replay.add(
            {
                "observations": np.full((2, 1), i),
                "actions": np.array([0, 1]),
                "rewards": np.array([i, i + 0.5]),
                "next_observations": np.full((2, 1), i + 1),
                "terminated": np.array([False, i == 2]),
            }
        )
    np.testing.assert_array_equal(replay.rewards, [0.0, 0.5, 1.0, 1.5, 2.0, 2.5])
    batches = replay.sample(np.random.default_rng(0), 4, 50)
    assert batches.rewards.shape == (4, 50)
    assert set(np.unique(batches.rewards)) == {0.0, 0.5, 1.0, 1.5, 2.0, 2.5}
    np.testing.assert_array_equal(batches.terminated, batches.rewards == 2.5)
    np.testing.assert_array_equal(batches.next_observations, batches.observations + 1)
    np.testing.assert_array_equal(batches.actions, (batches.rewards % 1) * 2)


def test_entropy_of_discrete_actions_is_exact() -> None:
    probabilities = np.array([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]])
    found = entropy_of(Categorical.from_probabilities(probabilities), jnp.zeros((1, 2, 1)))
    np.testing.assert_allclose(found, [1.5 * math.log(2.0), 0.0], atol=1e-6)


@pytest.mark.parametrize("squashed", [False, True])
def test_entropy_of_vectors_agrees_with_the_density(squashed: bool) -> None:
    """Mean of -log π over the same noise, to 0.02: the normal part is exact, the other's is not."""
    location, log_std = jnp.array([[0.3, -0.5]]), jnp.array([[-0.7, 0.1]])
    distribution = (
        SquashedGaussian(location, log_std, (-1.0, -3.0), (1.0, 3.0))
        if squashed
        else Gaussian(location, log_std)
    )
    uniforms = jax.random.uniform(jax.random.key(0), (20_000, 1, 2))
    sampled = -jnp.mean(distribution.log_prob(distribution.transform(uniforms)), axis=0)
    np.testing.assert_allclose(entropy_of(distribution, uniforms), sampled, atol=0.02)


def test_entropy_far_beyond_the_bounds_keeps_its_gradient() -> None:
    """At location 12 a float32 action is the bound itself; d/dm E log(1 - tanh²) = -2 there."""

    def entropy(location: Array) -> Array:
        distribution = SquashedGaussian(location, jnp.full((1, 1), -2.0), (-1.0,), (1.0,))
        return entropy_of(distribution, jnp.full((1, 1, 1), 0.5))[0]

    gradient = jax.grad(entropy)(jnp.full((1, 1), 12.0))
    np.testing.assert_allclose(gradient, -2.0, atol=1e-4)


def test_what_has_no_entropy_is_refused() -> None:
    with pytest.raises(InputError, match="a Deterministic has no entropy"):
        entropy_of(Deterministic(jnp.zeros((1, 1))), jnp.zeros((1, 1, 0)))


def test_target_entropies() -> None:
    config = OnlineConfig(entropy_per_coordinate=-1.0, entropy_share=0.25)
    box = Signature(BOX(-9.0, 9.0, (1,), np.float32), BOX(-3.0, 3.0, (2,), np.float32))
    assert target_entropy(config, box) == pytest.approx(2 * (math.log(3.0) - 1.0))
    four = Signature(BOX(-9.0, 9.0, (1,), np.float32), DISCRETE(4))
    assert target_entropy(config, four) == pytest.approx(0.25 * math.log(4.0))


def test_critics_are_scaled_by_the_spread_of_returns() -> None:
    """Rewards ±3, γ = 0.8: 3 / 0.6 = 5."""
    signature = make_ring().signature
    state = init_soft(CONFIG, jax.random.key(0), signature)
    rewards = np.array([3.0, -3.0], np.float32)
    scaled = scale_critics(CONFIG, state, rewards)
    np.testing.assert_allclose([scaled.critics.online.spread, scaled.critics.target.spread], 5.0)
    plain = dataclasses.replace(CONFIG, critics=dataclasses.replace(CRITICS, scale_returns=False))
    for config, same in ((plain, rewards), (CONFIG, np.ones(4, np.float32))):
        assert float(scale_critics(config, state, same).critics.online.spread) == 1.0


@pytest.mark.parametrize("backup", ["min", "mean", "own"])
def test_a_step_moves_the_temperature_against_the_entropys_excess(backup: Backup) -> None:
    """A fresh policy of two actions has nearly log 2: more than aimed at, so α sinks."""
    critics = dataclasses.replace(CRITICS, backup=backup)
    config = dataclasses.replace(CONFIG, critics=critics)
    state = init_soft(config, jax.random.key(0), make_ring().signature)
    places = jnp.array([0, 1, 2, 0])
    batch = Batch(places, places % 2, jnp.ones(4), places, jnp.zeros(4), jnp.ones(4))
    after, info = step_soft(config, batch, jax.random.key(1), state)
    assert float(info.entropy) > target_entropy(config, state.policy.signature)
    # Adam's first step has the length of the learning rate.
    moved = float(after.log_temperature - state.log_temperature)
    assert moved == pytest.approx(-config.temperature_learning_rate, rel=1e-3)
    assert float(info.temperature) == pytest.approx(config.first_temperature, rel=1e-5)
