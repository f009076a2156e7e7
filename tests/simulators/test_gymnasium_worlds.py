"""MuJoCo's robots and other Gymnasium worlds: spaces, starts, seeds, and clear refusals."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest

from nacre.errors import InputError
from nacre.simulators.gymnasium_worlds import GymnasiumSimulator, describe_gymnasium


@pytest.fixture
def make() -> Iterator[Callable[[str], GymnasiumSimulator]]:
    made: list[GymnasiumSimulator] = []

    def make_one(name: str) -> GymnasiumSimulator:
        made.append(GymnasiumSimulator(name))
        return made[-1]

    yield make_one
    for simulator in made:
        simulator.close()


@pytest.mark.parametrize(
    ("name", "observations", "actions", "start"),
    [
        ("Hopper-v4", 11, 3, [1.25]),
        ("HalfCheetah-v4", 17, 6, []),
        ("Walker2d-v4", 17, 6, [1.25]),
        ("Ant-v4", 27, 8, [0.75, 1.0]),
    ],
)
def test_robots_start_as_in_the_published_runs(
    name: str, observations: int, actions: int, start: list[float]
) -> None:
    world = describe_gymnasium(name)
    assert world.signature.observation_size == observations
    assert world.signature.action_size == actions
    # Zeros except height and, for Ant, the quaternion's first part.
    assert world.start is not None
    expected = np.zeros(observations)
    expected[: len(start)] = start
    np.testing.assert_array_equal(world.start, expected)
    assert (world.episode_length, world.uniform_steps, world.side_by_side) == (1000, 10_000, 10)


def test_steps_are_those_of_gymnasium(make: Callable[[str], GymnasiumSimulator]) -> None:
    simulator = make("Hopper-v4")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        plain = gymnasium.make("Hopper-v4")
    np.testing.assert_array_equal(simulator.reset(3), plain.reset(seed=3)[0].astype(np.float32))
    rng = np.random.default_rng(0)
    for _ in range(100):
        action = rng.uniform(-1, 1, 3).astype(np.float32)
        observation, reward, terminated = simulator.step(action)
        theirs = plain.step(action)
        np.testing.assert_array_equal(observation, theirs[0].astype(np.float32))
        assert (reward, terminated) == (theirs[1], theirs[2])
        if terminated:
            break
    plain.close()
    assert terminated
    assert observation.dtype == np.float32


def test_starts_are_drawn_by_seed_or_nominal(make: Callable[[str], GymnasiumSimulator]) -> None:
    simulator = make("Hopper-v4")
    assert simulator.reset(1).tobytes() == simulator.reset(1).tobytes()
    assert (simulator.reset(1) != simulator.reset(2)).any()
    assert simulator.reset(1, nominal=True).tobytes() == simulator.reset(2, nominal=True).tobytes()


def test_numbers_as_observations_and_actions(make: Callable[[str], GymnasiumSimulator]) -> None:
    simulator = make("FrozenLake-v1")
    observation = simulator.reset(0)
    assert observation.dtype == np.int32
    assert observation.shape == ()
    assert simulator.step(np.int32(2))[0].dtype == np.int32
    world = describe_gymnasium("FrozenLake-v1")
    assert world.signature.observation_size == 16
    assert (world.start, world.episode_length) == (None, 100)


def test_worlds_without_a_nominal_start_say_so(make: Callable[[str], GymnasiumSimulator]) -> None:
    simulator = make("CartPole-v1")
    with pytest.raises(InputError, match="CartPole-v1 has no nominal start"):
        simulator.reset(0, nominal=True)


def test_watching_sees_resets_every_few_steps_and_ends(
    make: Callable[[str], GymnasiumSimulator],
) -> None:
    simulator = make("Hopper-v4")
    moments: list[float] = []
    seconds = simulator.watch(lambda: moments.append(simulator.environment.data.time))
    assert seconds == pytest.approx(0.04)
    simulator.reset(0)
    for _ in range(11):
        simulator.step(np.zeros(3, np.float32))
    # A step takes 0.008 s: every fifth one.
    np.testing.assert_allclose(moments, [0.0, 0.04, 0.08], atol=1e-9)
    terminated = False
    while not terminated:
        _, _, terminated = simulator.step(np.ones(3, np.float32))
    assert moments[-1] == simulator.environment.data.time


@pytest.mark.parametrize("name", ["Hoper-v4", "no world", "no_such_module:Hopper-v4", "Hopper-v1"])
def test_unknown_names_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"no world is called .* Gymnasium id such as Hopper-v4"):
        describe_gymnasium(name)


def test_tuples_are_flattened() -> None:
    assert describe_gymnasium("Blackjack-v1").signature.observation_size == 32 + 11 + 2


def test_worlds_that_need_more_say_what(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise gymnasium.error.DependencyNotInstalled("Box2D is not installed")

    monkeypatch.setattr(gymnasium, "make", refuse)
    with pytest.raises(InputError, match=r"cannot be made .Box2D is not installed.; install"):
        describe_gymnasium("LunarLander-v3")


class Desk(gymnasium.Env[Any, np.ndarray]):
    """Observations are a dictionary, actions are two choices at once, one counted from 1."""

    observation_space = gymnasium.spaces.Dict(
        {
            "queue": gymnasium.spaces.MultiDiscrete([3, 2]),
            "load": gymnasium.spaces.Box(0.0, 1.0, (2, 2), np.float32),
        }
    )
    action_space = gymnasium.spaces.MultiDiscrete([2, 3], start=[0, 1])
    taken: tuple[int, ...] = ()

    def _see(self) -> dict[str, object]:
        return {"queue": np.array([2, 0]), "load": np.full((2, 2), 0.5, np.float32)}

    def reset(self, *, seed: int | None = None, options: object = None) -> tuple[object, object]:  # type: ignore[override]
        return self._see(), {}

    def step(self, action: np.ndarray) -> tuple[object, float, bool, bool, object]:  # type: ignore[override]
        assert self.action_space.contains(action)
        self.taken = tuple(action.tolist())
        return self._see(), 1.0, False, False, {}


def test_dictionaries_and_several_choices_are_flattened() -> None:
    name = "Desk-v0"
    gymnasium.register(name, lambda **_: Desk())
    try:
        signature = describe_gymnasium(name).signature
        simulator = GymnasiumSimulator(name)
    finally:
        del gymnasium.registry[name]
    assert signature.action_size == 6
    assert signature.observation_size == 4 + 3 + 2
    expected = gymnasium.spaces.flatten(Desk.observation_space, simulator.environment._see())
    np.testing.assert_array_equal(simulator.reset(0), expected)
    seen = []
    for action in range(6):
        np.testing.assert_array_equal(simulator.step(action)[0], expected)
        seen.append(simulator.environment.taken)
    assert seen == [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3)]
