"""Write the Stable-Baselines3 policies that the tests read, with what that library says of them.

Run in an environment of its own, with torch and stable-baselines3 and without nacre:
`python scripts/make_sb3_fixtures.py`. For every case there is `<name>.zip`, as its `save` writes
it, and `<name>.npz` with 1,000 observations and the reference outputs at them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3 import A2C, DQN, PPO, SAC, TD3
from stable_baselines3.common.vec_env import (
    DummyVecEnv,
    VecNormalize,
)

FIXTURES = Path(__file__).resolve().parent.parent / "tests" / "policies" / "fixtures"
N_OBSERVATIONS = 1000


class Drift(gymnasium.Env[np.ndarray, Any]):
    """A noisy walk that the actions push; long enough to train on for a moment."""

    def __init__(self, action_space: gymnasium.Space[Any], n_states: int | None = None) -> None:
        self.action_space = action_space
        self.n_states = n_states
        self.observation_space: gymnasium.Space[Any] = (
            gymnasium.spaces.Box(-np.inf, np.inf, (4,), np.float32)
            if n_states is None
            else gymnasium.spaces.Discrete(n_states)
        )

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Somewhere around 3."""
        super().reset(seed=seed)
        self.t, self.state = 0, self.np_random.normal(3.0, 2.0, 4)
        return self._observe(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Halfway to zero, pushed, shaken."""
        push = float(np.mean(action))
        self.state = 0.9 * self.state + push + self.np_random.normal(size=4)
        self.t += 1
        return self._observe(), -abs(float(self.state[0])), False, self.t >= 50, {}

    def _observe(self) -> Any:
        if self.n_states is not None:
            return int(abs(self.state[0]) * 2) % self.n_states
        return self.state.astype(np.float32)


def small() -> dict[str, Any]:
    # Anew each time: the algorithms write into it.
    return {"net_arch": [16, 16]}


def act_with_gaussian(model: Any, rows: np.ndarray) -> dict[str, np.ndarray]:
    normal = model.policy.get_distribution(_tensor(model, rows)).distribution
    return {"mean": normal.mean.numpy(), "std": normal.stddev.numpy()}


def act_with_logits(model: Any, rows: np.ndarray) -> dict[str, np.ndarray]:
    distribution = model.policy.get_distribution(_tensor(model, rows)).distribution
    return {"probabilities": distribution.probs.numpy()}


def act_with_actor(model: Any, rows: np.ndarray) -> dict[str, np.ndarray]:
    mean, log_std, _ = model.actor.get_action_dist_params(_tensor(model, rows))
    return {"mean": mean.numpy(), "std": log_std.exp().numpy()}


def act_greedily(model: Any, rows: np.ndarray) -> dict[str, np.ndarray]:
    return {"q": model.q_net(_tensor(model, rows)).numpy()}


def act_surely(model: Any, rows: np.ndarray) -> dict[str, np.ndarray]:
    return {}


def _tensor(model: Any, rows: np.ndarray) -> Any:
    return model.policy.obs_to_tensor(rows)[0]


def write_case(
    name: str,
    model: Any,
    reference: Callable[[Any, np.ndarray], dict[str, np.ndarray]],
    normalizer: Any = None,
) -> None:
    model.save(FIXTURES / f"{name}.zip")
    draw = np.random.default_rng(7)
    space = model.observation_space
    if isinstance(space, gymnasium.spaces.Discrete):
        rows = draw.integers(0, space.n, N_OBSERVATIONS)
    else:
        rows = draw.normal(0.0, 4.0, (N_OBSERVATIONS, *space.shape)).astype(np.float32)
    seen = rows if normalizer is None else normalizer.normalize_obs(rows)
    with torch.no_grad():
        outputs = reference(model, seen)
    actions, _ = model.predict(seen, deterministic=True)
    arrays: dict[str, Any] = {
        key: np.asarray(values, np.float32) for key, values in outputs.items()
    }
    arrays |= {"observations": rows, "actions": actions}
    np.savez_compressed(FIXTURES / f"{name}.npz", **arrays)


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    FIXTURES.mkdir(parents=True, exist_ok=True)
    box = gymnasium.spaces.Box(np.array([-1.0, -0.5]), np.array([2.0, 0.5]), dtype=np.float64)
    arms = gymnasium.spaces.Discrete(3)
    common: dict[str, Any] = {"seed": 0, "device": "cpu"}

    model = PPO("MlpPolicy", Drift(box), n_steps=64, policy_kwargs=small(), **common)
    write_case("ppo_box", model.learn(256), act_with_gaussian)
    relu = {
        "net_arch": {"pi": [16], "vf": [8, 8]},
        "activation_fn": torch.nn.ReLU,
        "share_features_extractor": False,
    }
    model = PPO("MlpPolicy", Drift(arms), n_steps=64, policy_kwargs=relu, **common)
    write_case("ppo_discrete", model.learn(256), act_with_logits)
    model = A2C("MlpPolicy", Drift(arms, n_states=6), policy_kwargs=small(), **common)
    write_case("a2c_states", model.learn(200), act_with_logits)
    model = A2C("MlpPolicy", Drift(box), policy_kwargs={"net_arch": []}, **common)
    write_case("a2c_linear", model.learn(200), act_with_gaussian)
    off = common | {"learning_starts": 100, "buffer_size": 1000}
    model = SAC("MlpPolicy", Drift(box), policy_kwargs=small(), **off)
    write_case("sac", model.learn(200), act_with_actor)
    model = TD3("MlpPolicy", Drift(box), policy_kwargs=small(), **off)
    write_case("td3", model.learn(200), act_surely)
    model = DQN("MlpPolicy", Drift(arms), policy_kwargs=small(), **off)
    write_case("dqn", model.learn(200), act_greedily)

    world = VecNormalize(DummyVecEnv([lambda: Drift(box)]), clip_obs=1.5)
    model = PPO("MlpPolicy", world, n_steps=64, policy_kwargs=small(), **common).learn(256)
    write_case("ppo_normalized", model, act_with_gaussian, world)
    np.savez(
        FIXTURES / "ppo_normalized_statistics.npz",
        mean=world.obs_rms.mean,
        var=world.obs_rms.var,
        clip=world.clip_obs,
        epsilon=world.epsilon,
    )
    model = PPO("MlpPolicy", Drift(box), n_steps=64, use_sde=True, policy_kwargs=small(), **common)
    model.save(FIXTURES / "ppo_sde.zip")


if __name__ == "__main__":
    main()
