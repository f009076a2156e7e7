"""The model estimator in a linear world, where the gain has a closed form."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.errors import InputError
from nacre.estimators.base import Estimate, Estimator, Problem, report_nothing
from nacre.estimators.dynamics import DynamicsConfig
from nacre.estimators.model import Model, Prepared
from nacre.logs import Log
from nacre.policies import Gaussian, Policy, Signature, TabularPolicy
from nacre.simulators import random_world
from nacre.simulators.linear import LinearPolicy, double_integrator

WORLD = double_integrator(discount=0.9)
OLD = LinearPolicy(np.array([[-0.4, -0.6]]), np.array([0.5]))
BETTER = LinearPolicy(np.array([[-0.6, -1.0]]), np.array([0.1]))
SMALL = Model(
    DynamicsConfig(members=3, hidden=(32,), batch_size=128, learning_rate=3e-3, epochs=25),
    n_rollouts=128,
)


class Linear(Policy):
    """A linear policy of the world, as a policy that compiles."""

    gain: jax.Array
    std: jax.Array
    signature: Signature = eqx.field(
        static=True, default=Signature(WORLD.observation_space, WORLD.action_space)
    )

    def __call__(self, observations: jax.Array) -> Gaussian:
        location = observations @ self.gain.T
        return Gaussian(location, jnp.broadcast_to(jnp.log(self.std), location.shape))


def wrap(policy: LinearPolicy) -> Linear:
    return Linear(jnp.asarray(policy.gain, jnp.float32), jnp.asarray(policy.std, jnp.float32))


@functools.cache
def set_up() -> tuple[Problem, Prepared]:
    log = WORLD.sample_log(OLD, 4000, seed=101, horizon=40)
    problem = Problem(log, wrap(OLD), log.starts, WORLD.discount)
    return problem, SMALL.prepare(jax.random.key(100), problem, report_nothing)


def estimate(candidate: Policy, *, model: Model = SMALL, seed: int = 101) -> Estimate:
    problem, prepared = set_up()
    return model.estimate(jax.random.key(seed), problem, prepared, candidate, report_nothing)


def test_it_is_an_estimator() -> None:
    assert isinstance(SMALL, Estimator)
    assert SMALL.name == "model"


def test_old_policy_gains_nothing_over_itself_but_is_not_certain() -> None:
    same = estimate(wrap(OLD))
    assert same.gain == 0.0
    assert same.informative
    assert same.standard_error >= SMALL.floor * same.diagnostics["value_range"] > 0.0


def test_gain_in_a_linear_world_is_the_closed_form() -> None:
    true = WORLD.start_value(BETTER) - WORLD.start_value(OLD)
    better = estimate(wrap(BETTER))
    assert better.informative, better.reason
    assert better.basis == "model"
    # Three members: two degrees of their spread, more of what is not estimated.
    assert better.degrees >= 2.0
    assert true > 0.5
    assert abs(better.gain - true) < 3.0 * better.standard_error
    assert better.standard_error < 0.5 * true
    # Truncated episodes are compared with as many steps of the model.
    span = better.diagnostics["value_range"]
    assert abs(better.diagnostics["level_error"]) < 0.03 * span


def test_linear_world_is_explained_but_for_its_noise() -> None:
    _, prepared = set_up()
    noise = np.asarray(prepared.dynamics.noise)
    np.testing.assert_allclose(noise, np.tile(WORLD.noise_std, (3, 1)), rtol=0.15)
    assert prepared.fit["unexplained_reward"] < 0.05


def test_same_key_gives_the_same_numbers() -> None:
    assert estimate(wrap(BETTER)) == estimate(wrap(BETTER))


def test_not_informative_where_the_level_or_the_spread_is_off() -> None:
    problem, prepared = set_up()
    wrong = prepared._replace(level_error=0.2 * prepared.span)
    said = SMALL.estimate(jax.random.key(0), problem, wrong, wrap(OLD), report_nothing)
    assert not said.informative
    assert "misses the old policy's return by 20 %" in said.reason
    strict = Model(SMALL.dynamics, SMALL.n_rollouts, largest_spread=1e-9)
    spread = estimate(wrap(BETTER), model=strict)
    assert not spread.informative
    assert spread.reason.startswith("fitted models differ by")
    assert math.isinf(spread.standard_error)


def test_it_says_why_it_does_not_apply() -> None:
    problem, _ = set_up()
    assert SMALL.applies(problem) == ""
    few = Problem(problem.log.select([0, 1]), problem.old_policy, problem.start, 0.9)
    assert "the log has 2 episodes" in SMALL.applies(few)
    world = random_world(0, 4, 2, discount=0.9)
    table = np.full((4, 2), 0.5)
    finite: Log = world.sample_log(table, 200, seed=101, horizon=10)
    policy = TabularPolicy.from_probabilities(table)
    assert "discrete states" in SMALL.applies(Problem(finite, policy, finite.starts, 0.9))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Model(n_rollouts=1), "n_rollouts = 1"),
        (lambda: Model(floor=0.0), "floor = 0.0"),
        (lambda: DynamicsConfig(members=1), "members = 1"),
        (lambda: DynamicsConfig(held_out=1.0), "held_out = 1.0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    make: Callable[[], Model | DynamicsConfig], text: str
) -> None:
    with pytest.raises(InputError, match=text):
        make()
