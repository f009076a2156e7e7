"""Values by simulation: returns worked by hand, standard errors, and the same truth every time."""

from __future__ import annotations

import dataclasses
from typing import Any

import gymnasium
import jax
import numpy as np
import pytest

from nacre.errors import InputError
from nacre.estimators import simulation as simulated
from nacre.estimators.simulation import simulate_value
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Signature
from nacre.simulators.registry import World, find_world

SPACE = gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float32)
SIGNATURE = Signature(SPACE, gymnasium.spaces.Discrete(2))
POLICY = MLPPolicy.init(jax.random.key(0), SIGNATURE, hidden=(4,))


class Lottery:
    """Earns 1 a step and, at its end after three steps, a prize that its reset's seed decides."""

    made: int = 0

    def __init__(self) -> None:
        Lottery.made += 1
        self.open = True

    def reset(self, seed: int, *, nominal: bool = False) -> Any:
        self.prize = 0.0 if nominal else float(seed % 5)
        self.count = 0
        return np.zeros(1, np.float32)

    def step(self, action: Any) -> Any:
        self.count += 1
        reward = 1.0 + (self.prize if self.count == 3 else 0.0)
        return np.zeros(1, np.float32), reward, self.count == 3

    def close(self) -> None:
        assert self.open
        self.open = False
        Lottery.made -= 1


@pytest.fixture
def lottery(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(World, "make", lambda _: Lottery())
    monkeypatch.setattr(Lottery, "made", 0)
    return World("lottery", SIGNATURE, None, 10, 0, side_by_side=4)


def test_the_nominal_start_has_a_value_worked_by_hand(lottery: World) -> None:
    world = dataclasses.replace(lottery, start=np.zeros(1, np.float32))
    value = simulate_value(world, POLICY, discount=0.5, n_episodes=6, n_steps=9)
    assert value.returns.tolist() == [1.75] * 6
    assert (value.mean, value.standard_error, value.n_episodes) == (1.75, 0.0, 6)
    # Cut before the end: 1 + 1/2.
    assert simulate_value(world, POLICY, discount=0.5, n_episodes=2, n_steps=2).mean == 1.5


def test_drawn_starts_differ_and_the_error_is_that_of_the_mean(lottery: World) -> None:
    value = simulate_value(lottery, POLICY, discount=0.5, n_episodes=300, n_steps=5, seed=1)
    # 1.75 and a quarter of a prize of 0 to 4, each as likely: mean 2.25, deviation √2 / 4.
    np.testing.assert_allclose(value.mean, 2.25, atol=5 * value.standard_error)
    np.testing.assert_allclose(value.standard_error, np.sqrt(2) / 4 / np.sqrt(300), rtol=0.1)
    np.testing.assert_allclose(value.returns.std(ddof=1) / np.sqrt(300), value.standard_error)
    assert value.as_json() == {
        "mean": value.mean,
        "standard_error": value.standard_error,
        "episodes": 300,
        "steps": 5,
        "discount": 0.5,
    }
    # A nominal start can be refused where there is one.
    world = dataclasses.replace(lottery, start=np.zeros(1, np.float32))
    drawn = simulate_value(
        world, POLICY, discount=0.5, n_episodes=300, n_steps=5, seed=1, nominal=False
    )
    assert drawn.returns.tobytes() == value.returns.tobytes()


def test_episodes_are_counted_and_simulators_closed(lottery: World) -> None:
    heard: list[int] = []
    value = simulate_value(lottery, POLICY, n_episodes=107, n_steps=3, on_episodes=heard.append)
    assert heard == [50, 50, 7]
    assert value.n_episodes == 107
    assert Lottery.made == 0


def test_simulators_are_closed_after_a_failure(
    lottery: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(simulated, "run_episodes", fail)
    with pytest.raises(KeyboardInterrupt):
        simulate_value(lottery, POLICY, n_episodes=3, n_steps=3)
    assert Lottery.made == 0


def test_too_little_is_refused(lottery: World) -> None:
    for episodes, steps in ((1, 5), (5, 0)):
        with pytest.raises(InputError, match="at least 2 episodes of 1 step are needed"):
            simulate_value(lottery, POLICY, n_episodes=episodes, n_steps=steps)
    other = find_world("CartPole-v1")
    with pytest.raises(InputError, match="give a policy of this world"):
        simulate_value(other, POLICY, n_episodes=3, n_steps=3)


def test_real_worlds_have_the_same_value_every_time() -> None:
    world = find_world("CartPole-v1")
    policy = MLPPolicy.init(jax.random.key(0), world.signature, hidden=(4,))
    options: dict[str, Any] = {"n_episodes": 60, "n_steps": 100}
    first = simulate_value(world, policy, seed=1, **options)
    again = simulate_value(world, policy, seed=1, **options)
    other = simulate_value(world, policy, seed=2, **options)
    assert first.returns.tobytes() == again.returns.tobytes()
    assert first.returns.tobytes() != other.returns.tobytes()
    # It earns 1 a step until it falls, and a random network falls soon.
    longest = (1 - 0.99**100) / 0.01
    assert (first.returns >= 5).all()
    assert (first.returns <= longest).all()


def test_the_order_in_which_processes_are_done_does_not_matter(
    lottery: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def map_backwards(function: Any, tasks: Any, *, engine: str) -> Any:
        asked.append(engine)
        for index in reversed(range(len(tasks))):
            yield index, function(tasks[index])

    alone = simulate_value(lottery, POLICY, n_episodes=110, n_steps=3)
    monkeypatch.setattr(simulated, "map_tasks", map_backwards)
    together = simulate_value(lottery, POLICY, n_episodes=110, n_steps=3, engine="local")
    assert asked == ["local"]
    assert together.returns.tobytes() == alone.returns.tobytes()
    assert len(set(alone.returns.tolist())) > 1


def test_robots_start_at_their_nominal_state() -> None:
    world = find_world("Hopper-v4")
    policy = MLPPolicy.init(jax.random.key(0), world.signature, hidden=(4,))
    one_step = simulate_value(world, policy, n_episodes=4, n_steps=1)
    drawn = simulate_value(world, policy, n_episodes=4, n_steps=1, nominal=False)
    # Alive earns 1; what else the first step earns differs with the drawn action.
    np.testing.assert_allclose(one_step.returns, 1.0, atol=0.3)
    assert one_step.returns.tobytes() != drawn.returns.tobytes()


def test_traffic_runs_one_simulation_after_the_other() -> None:
    world = find_world("traffic")
    policy = MLPPolicy.init(jax.random.key(0), world.signature, hidden=(4,))
    value = simulate_value(world, policy, n_episodes=3, n_steps=10)
    # Each decision earns a share of the speed limit; vehicles come with the seed.
    assert (value.returns > 0).all()
    assert (value.returns <= 10).all()
    assert len(set(value.returns.tolist())) == 3
