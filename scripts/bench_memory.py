"""Peak memory of learning on a log of Ant's shape: 27 observations, 8 actions, 1,000,000 rows."""

from __future__ import annotations

import argparse
import dataclasses

import jax
import numpy as np
from bench_shared import make_log, write_figures

from nacre.cli.bench import peak_memory
from nacre.costs import TransportCost, UniformBox, groups
from nacre.learners.net_actor_critic.config import default
from nacre.learners.net_actor_critic.run import learn
from nacre.policies import MLPPolicy, Signature


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
    write_figures(figures)


if __name__ == "__main__":
    main()
