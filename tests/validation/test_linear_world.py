"""Net Actor-Critic on a linear-quadratic world whose values and best gain are known."""

import dataclasses
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

from nacre.advice.paper_algorithm import Outcome, net_actor_critic
from nacre.costs import TransportCost, groups
from nacre.learners.net_actor_critic.config import ActorConfig, LearnerConfig
from nacre.logs import Log
from nacre.policies import MLP, Gaussian, MLPPolicy, Policy, Signature
from nacre.simulators import LinearPolicy, LinearWorld, double_integrator
from nacre.training.backup import CriticConfig
from nacre.training.fitted_evaluation import EvaluationConfig
from tests.support.policies import expect

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("linear")]

CRITICS = CriticConfig(
    n_critics=2,
    hidden=(64, 64),
    scale_observations=True,
    scale_returns=True,
    learning_rate=1e-3,
    backup="mean",
    polyak=0.98,
)
CONFIG = LearnerConfig(
    discount=0.97,
    critics=CRITICS,
    actor=ActorConfig(states="log", discounted_states=True, combine="mean", learning_rate=1e-2),
    evaluation=EvaluationConfig(
        dataclasses.replace(CRITICS, backup="own", polyak=0.95),
        epochs=6,
        steps_per_epoch=500,
        prefit_steps=2000,
        combine="mean",
        averaged=True,
    ),
    stopping=None,
    epochs=6,
    steps_per_epoch=500,
    prefit_steps=2000,
    n_cost_states=64,
)


class Solved(NamedTuple):
    """The world, its best and its old policy, the old one's log and what was learned from it."""

    world: LinearWorld
    best: LinearPolicy
    old: LinearPolicy
    log: Log
    outcome: Outcome


def as_policy(linear: LinearPolicy, signature: Signature) -> MLPPolicy:
    """A linear-Gaussian policy as a network without hidden layers."""
    weight = np.concatenate([linear.gain.T, np.zeros((2, 1))], axis=1)
    bias = np.array([0.0, np.log(linear.std[0])])
    network = MLP(
        (jnp.asarray(weight, jnp.float32),), (jnp.asarray(bias, jnp.float32),), ("identity",)
    )
    return MLPPolicy(network, None, signature, "gaussian")


def simulate(world: LinearWorld, policy: Policy, n_episodes: int, seed: int) -> tuple[float, float]:
    """Mean discounted return and its standard error."""

    def act(observations: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        distribution = expect(Gaussian, policy(jnp.asarray(observations)))
        noise = rng.normal(size=distribution.location.shape)
        return np.asarray(distribution.location) + np.asarray(distribution.std) * noise

    horizon = 400
    log = world.sample_log(act, n_episodes * horizon, seed=seed, horizon=horizon)
    returns = log.returns(world.discount)
    return returns.mean(), returns.std(ddof=1) / np.sqrt(len(returns))


@pytest.fixture(scope="module")
def solved() -> Solved:
    world = double_integrator(0.97)
    best = world.optimal_policy()
    old = LinearPolicy(0.4 * best.gain, np.array([0.6]))
    log = world.sample_log(old, 20_000, seed=0, horizon=100)
    policy = as_policy(old, Signature(log.observation_space, log.action_space))
    cost = TransportCost(0.5, 0.0, groups.sign(0))
    outcome = net_actor_critic(log, policy, cost, config=CONFIG, seed=0)
    return Solved(world, best, old, log, outcome)


def test_evaluation_is_within_three_percent_of_the_closed_form(solved: Solved) -> None:
    world, _, old, log, outcome = solved
    truth = world.value(old).at(log.starts).mean()
    assert abs(outcome.old_value - truth) < 0.03 * abs(truth)


def test_evaluation_of_the_new_policy_is_within_three_percent_of_the_simulation(
    solved: Solved,
) -> None:
    world, _, old, log, outcome = solved
    simulated, error = simulate(world, outcome.new_policy, 500, seed=1)
    # The log's starts are a sample of the world's: the closed form tells the difference.
    policy = as_linear_policy(outcome.new_policy)
    shift = world.value(policy).at(log.starts).mean() - world.start_value(policy)
    scale = abs(world.start_value(old))
    assert abs(outcome.new_value - (simulated + shift)) < 0.03 * scale + 2 * error


def as_linear_policy(policy: Policy) -> LinearPolicy:
    network = expect(MLPPolicy, policy).network
    weight, bias = np.asarray(network.weights[0]), np.asarray(network.biases[0])
    return LinearPolicy(weight[:, :1].T.astype(float), np.exp(bias[1:]).astype(float))


def test_learned_policy_lies_between_old_and_optimal_and_closer_to_optimal(solved: Solved) -> None:
    world, best, old, _, outcome = solved
    simulated, error = simulate(world, outcome.new_policy, 500, seed=2)
    old_value, best_value = world.start_value(old), world.start_value(best)
    assert old_value < simulated - 3 * error
    assert simulated < best_value + 3 * error
    assert best_value - simulated < 0.5 * (best_value - old_value)
    assert outcome.choice == "switch"
