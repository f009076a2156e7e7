"""How fast learning and evaluation run, against what the matrix products alone would allow."""

from __future__ import annotations

import dataclasses
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from nacre.costs import TransportCost, UniformBox, groups
from nacre.learners.net_actor_critic.config import LearnerConfig, default, paper
from nacre.learners.net_actor_critic.epochs import LearningEpoch
from nacre.learners.net_actor_critic.problem import SwitchingProblem
from nacre.learners.net_actor_critic.step import State, init_state
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Signature
from nacre.training.backup import CriticState
from nacre.training.batches import Batch
from nacre.training.evaluation_config import EvaluationConfig
from nacre.training.evaluation_epochs import EvaluationEpoch
from nacre.training.loop import run_once
from nacre.training.transitions import Transitions

OBSERVATIONS, ACTIONS, HIDDEN = 11, 3, 256
N_ROWS = 100_000
GEMM_SIZES = (256, 512, 1024)


@dataclass(frozen=True)
class Bench:
    """Results of one run; rates are medians over rounds that take turns."""

    train_updates_per_s: float
    eval_updates_per_s: float
    gemm_gflops: float
    train_fraction_of_limit: float
    eval_fraction_of_limit: float
    default_train_updates_per_s: float
    peak_rss_mb: float
    threads: int


def run_bench(
    *,
    rounds: int = 5,
    steps: int = 100,
    seed: int = 0,
    on_round: Callable[[int], None] | None = None,
) -> Bench:
    """Measure the paper's settings on Hopper shapes, and our default.

    Every round measures the matrix product, training, evaluation and the product again, so that a
    busy moment of the machine hits numerator and denominator alike. `on_round` hears of each.
    """
    settings = paper("Hopper-v4").learner
    train = _trainer(settings, steps, seed)
    evaluate = _evaluator(settings.evaluation, steps, seed)
    train_default = _trainer(default(), steps, seed)
    gemm = _gemm()
    rows = []
    for done in range(rounds):
        before, training, after = gemm(), train(), gemm()
        evaluation, last = evaluate(), gemm()
        rows.append(
            {
                "gemm": max(before, after, last),
                "train": training,
                "eval": evaluation,
                "train_fraction": training * train_operations() / ((before + after) / 2) / 1e9,
                "eval_fraction": evaluation * evaluation_operations() / ((after + last) / 2) / 1e9,
                "default": train_default(),
            }
        )
        if on_round is not None:
            on_round(done + 1)
    median = {name: statistics.median(row[name] for row in rows) for name in rows[0]}
    return Bench(
        train_updates_per_s=median["train"],
        eval_updates_per_s=median["eval"],
        gemm_gflops=median["gemm"],
        train_fraction_of_limit=median["train_fraction"],
        eval_fraction_of_limit=median["eval_fraction"],
        default_train_updates_per_s=median["default"],
        peak_rss_mb=peak_memory(),
        threads=available_threads(),
    )


def critic_products() -> int:
    """P: multiply-adds of one critic on one row."""
    return (OBSERVATIONS + ACTIONS) * HIDDEN + HIDDEN * HIDDEN + HIDDEN


def policy_products() -> int:
    """P_π: multiply-adds of one policy pass on one row; the head gives means and deviations."""
    return OBSERVATIONS * HIDDEN + HIDDEN * HIDDEN + HIDDEN * 2 * ACTIONS


def evaluation_operations(n_critics: int = 2, batch: int = 256) -> int:
    """Floating-point operations of one evaluation update: 8·M·B·P + 2·B·P_π.

    Forward 2·M·B·P, backward 4·M·B·P, targets 2·M·B·P, the policy at the next states 2·B·P_π.
    """
    return 8 * n_critics * batch * critic_products() + 2 * batch * policy_products()


def train_operations(n_critics: int = 2, batch: int = 256, n_actions: int = 1000) -> int:
    """One training update: an evaluation update plus 4·M·N·P for N actions at the start."""
    extra = 4 * n_critics * n_actions * critic_products()
    return evaluation_operations(n_critics, batch) + extra


def available_threads() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def peak_memory() -> float:
    """Largest resident memory of this process so far, in MB (10⁶ bytes)."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def _trainer(config: LearnerConfig, steps: int, seed: int) -> Callable[[], float]:
    # The start is read once an epoch: as much of it as these steps are of a whole one.
    n_actions = max(1, config.evaluation.n_actions * steps // config.steps_per_epoch)
    evaluation = dataclasses.replace(config.evaluation, n_actions=n_actions)
    config = dataclasses.replace(config, steps_per_epoch=steps, evaluation=evaluation)
    source, problem, first = make_learning(config, seed)
    state, program = [first], LearningEpoch(problem, jnp.asarray(1e9))
    return _timed(lambda key: run_once(program, source, steps, state[0], key), state)


def _evaluator(config: EvaluationConfig, steps: int, seed: int) -> Callable[[], float]:
    signature, source, policy = make_problem(seed)
    critics = config.critics.init(jax.random.key(seed), signature)
    state = [CriticState.init(config.critics, critics)]
    program = EvaluationEpoch.of(config.critics, policy, 0.99, 1e9)
    return _timed(lambda key: run_once(program, source, steps, state[0], key), state)


def _timed(
    epoch: Callable[[Any], tuple[Any, ...]], state: list[State] | list[CriticState]
) -> Callable[[], float]:
    """Updates a second of the next epoch, measured anew at each call; one is run to compile."""
    count = [0]

    def measure() -> float:
        count[0] += 1
        began = time.perf_counter()
        after = jax.block_until_ready(epoch(jax.random.key(count[0])))
        elapsed = time.perf_counter() - began
        state[0], _, steps, ok = after
        if not bool(ok):
            raise RuntimeError("learning diverged on the made-up log; the speed means nothing")
        return float(steps) / elapsed

    measure()
    return measure


def _gemm() -> Callable[[], float]:
    """Rate of a compiled square matrix product in GFLOP/s: the best over a few sizes."""
    products = []
    for size in GEMM_SIZES:
        matrix = jnp.asarray(np.random.default_rng(0).normal(size=(size, size)) / size, jnp.float32)
        repeat = max(1, 2 * 1024**3 // size**3 // 8)

        def chain(matrix: jax.Array, repeat: int = repeat) -> jax.Array:
            product: jax.Array = jax.lax.fori_loop(0, repeat, lambda _, x: x @ matrix, matrix)
            return product

        compiled = jax.jit(chain)
        jax.block_until_ready(compiled(matrix))
        products.append((compiled, matrix, 2.0 * repeat * size**3))

    def measure() -> float:
        best = 0.0
        for compiled, matrix, operations in products:
            began = time.perf_counter()
            jax.block_until_ready(compiled(matrix))
            best = max(best, operations / (time.perf_counter() - began) / 1e9)
        return best

    return measure


def make_learning(config: LearnerConfig, seed: int) -> tuple[Transitions, SwitchingProblem, State]:
    """A made-up log, the published cost on it, and the state before the first update."""
    signature, source, policy = make_problem(seed)
    cost = TransportCost(5.0, 0.0, groups.sign(0), state_measure=UniformBox())
    start = jnp.zeros((1, OBSERVATIONS))
    problem = SwitchingProblem.of(config, policy, start, cost, source.discounted_length)
    critics = config.critics.init(jax.random.key(seed), signature)
    return source, problem, init_state(config, policy, critics, jax.random.key(seed))


def make_problem(seed: int) -> tuple[Signature, Transitions, MLPPolicy]:
    """A made-up log of Hopper's shape; speed does not depend on its content."""
    rng = np.random.default_rng(seed)

    def rows(*shape: int) -> jax.Array:
        return jnp.asarray(rng.normal(size=shape), jnp.float32)

    signature = Signature(
        gymnasium.spaces.Box(-np.inf, np.inf, (OBSERVATIONS,), np.float32),
        gymnasium.spaces.Box(-1.0, 1.0, (ACTIONS,), np.float32),
    )
    transitions = Transitions(
        Batch(
            rows(N_ROWS, OBSERVATIONS),
            jnp.tanh(rows(N_ROWS, ACTIONS)),
            rows(N_ROWS),
            rows(N_ROWS, OBSERVATIONS),
            jnp.zeros(N_ROWS),
            jnp.ones(N_ROWS),
        ),
        jnp.zeros((1, OBSERVATIONS)),
        jnp.asarray(100.0),
    )
    policy = MLPPolicy.init(jax.random.key(seed), signature, hidden=(HIDDEN, HIDDEN))
    return signature, transitions, policy
