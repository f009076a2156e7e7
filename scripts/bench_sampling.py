"""Action samples at the start: 1000 ordinary ones against 128 quasi-random ones.

Prints, from one run, the variance of the actor's gradient at a fixed policy for both, and the
speed of learning with both. `--out FILE` writes the same figures as JSON.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import time
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from bench_shared import write_figures

from nacre.cli.bench import make_learning
from nacre.learners.net_actor_critic.config import LearnerConfig, paper
from nacre.learners.net_actor_critic.epochs import LearningEpoch
from nacre.learners.net_actor_critic.objective import objective_terms
from nacre.learners.net_actor_critic.problem import SwitchingProblem
from nacre.learners.net_actor_critic.step import State
from nacre.policies.policy import Policy
from nacre.training.loop import run_once
from nacre.training.noise import Sampling
from nacre.training.transitions import Transitions

VARIANTS: dict[Sampling, int] = {"ordinary": 1000, "quasi": 128}
WARM_UP = 200


def configure(sampling: Sampling, steps: int) -> LearnerConfig:
    config = paper("Hopper-v4").learner
    actor = dataclasses.replace(
        config.actor, sampling=sampling, n_action_samples=VARIANTS[sampling]
    )
    return dataclasses.replace(config, actor=actor, steps_per_epoch=steps)


def gradient_variance(
    problem: SwitchingProblem, source: Transitions, state: State, n_keys: int
) -> tuple[float, float]:
    """Sum over parameters of the variance of ∇E Q(s₀, a) over keys, and the squared mean."""
    batch = source.take(jnp.arange(2))

    @eqx.filter_jit
    def gradient(key: jax.Array) -> jax.Array:
        def value(policy: Policy) -> jax.Array:
            return objective_terms(problem, policy, state.critics.online, batch, key)[0]

        leaves = jax.tree.leaves(eqx.filter_grad(value)(state.policy))
        return jnp.concatenate([leaf.ravel() for leaf in leaves])

    rows = np.stack([np.asarray(gradient(jax.random.key(i)), np.float64) for i in range(n_keys)])
    return float(rows.var(axis=0, ddof=1).sum()), float((rows.mean(axis=0) ** 2).sum())


def run_learning(problem: SwitchingProblem, source: Transitions, state: State, seed: int) -> State:
    """The state after one epoch."""
    program = LearningEpoch(problem, jnp.asarray(1e9))
    n_steps = problem.config.steps_per_epoch
    outcome = run_once(program, source, n_steps, state, jax.random.key(seed))
    after: State = jax.block_until_ready(outcome.state)
    return after


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()

    source, problem, first = make_learning(configure("ordinary", WARM_UP), seed=0)
    fixed = run_learning(problem, source, first, 0)
    figures: dict[str, Any] = {"keys": arguments.keys, "updates_before": WARM_UP}
    problems: dict[str, SwitchingProblem] = {}
    states: dict[str, State] = {}
    rates: dict[str, list[float]] = {}
    for name, samples in VARIANTS.items():
        _, problems[name], _ = make_learning(configure(name, arguments.steps), seed=0)
        variance, signal = gradient_variance(problems[name], source, fixed, arguments.keys)
        figures[name] = {
            "samples": samples,
            "gradient_variance": variance,
            "relative_variance": variance / signal,
        }
        states[name] = run_learning(problems[name], source, fixed, 1)
        rates[name] = []
    for i in range(arguments.rounds):
        for name in VARIANTS:
            began = time.perf_counter()
            states[name] = run_learning(problems[name], source, states[name], i)
            rates[name].append(arguments.steps / (time.perf_counter() - began))
    for name in VARIANTS:
        figures[name]["updates_per_s"] = statistics.median(rates[name])
    figures["variance_ratio"] = (
        figures["quasi"]["gradient_variance"] / figures["ordinary"]["gradient_variance"]
    )
    figures["speed_up"] = statistics.median(
        quasi / plain for quasi, plain in zip(rates["quasi"], rates["ordinary"], strict=True)
    )
    write_figures(figures, arguments.out)


if __name__ == "__main__":
    main()
