"""Peak memory of learning on a log of Ant's shape: 27 observations, 8 actions, 1,000,000 rows."""

from __future__ import annotations

import argparse
import dataclasses
import json

import gymnasium
import jax
import numpy as np

from nacre.cli.bench import peak_memory
from nacre.costs import TransportCost, UniformBox, groups
from nacre.learners.net_actor_critic.config import default
from nacre.learners.net_actor_critic.run import learn
from nacre.logs import Log
from nacre.policies import MLPPolicy, Signature


def make_log(rows: int, seed: int) -> Log:
    """Made-up rows in episodes of 1000; memory does not depend on their content."""
    rng = np.random.default_rng(seed)
    truncated = np.zeros(rows, bool)
    truncated[999::1000] = True
    truncated[-1] = True
    observations = rng.standard_normal((rows, 27), dtype=np.float32)
    following = np.concatenate([observations[1:], observations[:1]])
    return Log.from_arrays(
        observations,
        np.tanh(rng.standard_normal((rows, 8), dtype=np.float32)),
        rng.standard_normal(rows, dtype=np.float32),
        np.zeros(rows, bool),
        truncated,
        following,
        observation_space=gymnasium.spaces.Box(-np.inf, np.inf, (27,), np.float32),
        action_space=gymnasium.spaces.Box(-1.0, 1.0, (8,), np.float32),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--steps", type=int, default=200)
    arguments = parser.parse_args()
    log = make_log(arguments.rows, seed=0)
    policy = MLPPolicy.init(jax.random.key(0), Signature(log.observation_space, log.action_space))
    config = dataclasses.replace(
        default(), epochs=1, steps_per_epoch=arguments.steps, prefit_steps=arguments.steps
    )
    cost = TransportCost(5.0, 0.0, groups.sign(0), state_measure=UniformBox())
    learned = learn(log, policy, cost, np.zeros(27), config, old_value=0.0)
    figures = {
        "rows": len(log),
        "updates": learned.history[0].steps,
        "log_mb": sum(
            array.nbytes
            for array in (log.observations, log.next_observations, log.actions, log.rewards)
        )
        / 1e6,
        "peak_rss_mb": peak_memory(),
    }
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
