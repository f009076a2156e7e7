"""The worlds behind the bundled logs and the tour, to find out what a policy is truly worth there.

`scripts/make_examples.py` and the tour draw the logs one episode after the other. Here many
episodes run side by side; a test compares the two.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy import special

from nacre.experiments.calibration.simulation import Array, VectorWorld
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.networks import MLP
from nacre.policies.policy import Signature
from nacre.simulators import LinearPolicy, double_integrator
from nacre.simulators.finite import FiniteWorld

HABIT = ((0.8, 0.15, 0.05), (0.75, 0.2, 0.05), (0.55, 0.35, 0.1), (0.05, 0.05, 0.9))
"""How the crew of the tour's machine decides: (4, 3)."""
TROLLEY = LinearPolicy(np.array([[-0.3, -0.5]]), np.array([0.7]))
"""The controller of the trolley, as its script has it."""
LEAST_STD = 1e-3


def as_network(policy: LinearPolicy, signature: Signature) -> MLPPolicy:
    """A linear controller as a network of one layer; without noise it gets next to none."""
    std = np.log(np.maximum(policy.std, LEAST_STD))
    weight = np.concatenate([policy.gain.T, np.zeros_like(policy.gain.T)], axis=1)
    bias = np.concatenate([np.zeros_like(std), std])
    network = MLP((jnp.asarray(weight),), (jnp.asarray(bias),), ("identity",))
    return MLPPolicy(network, None, signature, "gaussian")


def _draw_uniform(noise: Array) -> Array:
    """Uniform numbers in [0, 1] from standard normal ones."""
    return np.asarray(special.ndtr(noise))


class Rail(VectorWorld):
    """The cart and the trolley: position and velocity, one push."""

    observation_size, noise_size, discount = 2, 2, 0.97

    def __init__(self) -> None:
        self.world = double_integrator(self.discount)

    def begin(self, noise: Array) -> Array:
        """Away from rest."""
        return np.asarray(self.world.start_mean + self.world.start_std * noise)

    def step(self, states: Array, actions: Array, noise: Array) -> tuple[Array, Array, Any]:
        """Linear motion, quadratic rewards; it never ends."""
        world = self.world
        moved = states @ world.dynamics.T + actions @ world.control.T + world.noise_std * noise
        return moved, world.rewards(states, actions), np.zeros(len(states), bool)

    def steer(self, observations: Array) -> Array:
        """The best controller there is."""
        return np.asarray(observations @ self.world.optimal_policy().gain.T)


class Clinic(VectorWorld):
    """Pressure, burden of side effects and age decide on a dose."""

    observation_size, noise_size, n_actions, discount = 3, 3, 3, 0.99
    relief, load = np.array([0.0, 5.0, 10.0]), np.array([0.0, 0.35, 1.2])

    def begin(self, noise: Array) -> Array:
        """High pressure, no burden yet, any age from 45 to 85."""
        age = np.round(45.0 + 40.0 * _draw_uniform(noise[:, 2]))
        return np.stack([np.round(165.0 + 12.0 * noise[:, 0]), np.zeros(len(noise)), age], axis=1)

    def step(self, states: Array, actions: Array, noise: Array) -> tuple[Array, Array, Any]:
        """A stroke ends it; what is written down is rounded."""
        pressure, burden, age = states.T
        doses = actions.astype(np.int64)
        stroke = _draw_uniform(noise[:, 0]) < 0.3 * special.expit((pressure - 195.0) / 6.0)
        wellbeing = 1.0 - np.abs(pressure - 125.0) / 40.0 - 0.15 * burden - 4.0 * stroke
        frailty = np.maximum(0.1, 1.0 + (age - 65.0) / 15.0)
        lower = 0.8 * pressure + 0.2 * 175.0 - self.relief[doses] + 4.0 * noise[:, 1]
        later = 0.75 * burden + self.load[doses] * frailty + 0.15 * noise[:, 2]
        moved = np.stack([np.round(lower), np.round(np.maximum(later, 0.0), 2), age], axis=1)
        return moved, np.round(wellbeing, 3), stroke

    def steer(self, observations: Array) -> Array:
        """No high dose to whom it does harm."""
        pressure, burden, age = observations.T
        frail = (burden > 2.0) | (age > 60)
        usual = np.where(pressure < 120, 0, np.where(frail | (pressure < 135), 1, 2))
        return 4.0 * np.eye(3)[usual]

    def mislead(self, observations: Array) -> Array:
        """The rule in force: logarithms of its probabilities."""
        pressure = observations[:, 0]
        usual = np.where(pressure > 155, 2, np.where(pressure > 140, 1, 0))
        return np.asarray(np.log(np.where(np.arange(3) == usual[:, None], 0.66, 0.17)))


class Shop(VectorWorld):
    """Who gets which offer: weeks since the last purchase, fatigue, loyalty."""

    observation_size, noise_size, n_actions, discount = 3, 3, 3, 0.99
    lift, tiring = np.array([0.0, 1.1, 1.4]), np.array([0.0, 0.45, 0.8])

    def begin(self, noise: Array) -> Array:
        """Nobody is tired yet."""
        weeks = np.minimum(np.floor(6.0 * _draw_uniform(noise[:, 0])), 5.0)
        return np.stack([weeks, np.zeros(len(noise)), _draw_uniform(noise[:, 2])], axis=1)

    def step(self, states: Array, actions: Array, noise: Array) -> tuple[Array, Array, Any]:
        """Tired customers leave for good, at times."""
        weeks, fatigue, loyalty = states.T
        offers = actions.astype(np.int64)
        drive = 1.8 * loyalty - 1.6 - 0.08 * weeks - 0.45 * fatigue + self.lift[offers]
        buys = _draw_uniform(noise[:, 0]) < special.expit(drive)
        leaves = _draw_uniform(noise[:, 1]) < 0.002 + 0.008 * fatigue
        margin = 10.0 * buys - 5.0 * buys * (offers == 2) - 0.2 * (offers > 0)
        tired = 0.6 * fatigue + self.tiring[offers]
        moved = np.stack([np.where(buys, 0.0, weeks + 1.0), tired, loyalty], axis=1)
        return moved, margin, leaves

    def steer(self, observations: Array) -> Array:
        """Reminders to those who are not tired, coupons to almost nobody."""
        fatigue, one = observations[:, 1], np.ones(len(observations))
        return np.stack([4.0 * fatigue, 4.0 * one, -2.0 * one], axis=1)

    def mislead(self, observations: Array) -> Array:
        """The rule in force: coupons to whoever has not bought for a while."""
        weeks, _, loyalty = observations.T
        return np.stack([np.zeros(len(weeks)), 0.2 + 0.5 * loyalty, 0.25 * weeks - 0.5], axis=1)


def make_machine() -> FiniteWorld:
    """The machine of the tour: four conditions, three orders."""
    profit = np.array(
        [[1.0, 0.6, -0.3], [0.9, 0.55, -0.3], [0.7, 0.5, -0.3], [0.0, 0.0, -2.0]], np.float64
    )
    moves = np.zeros((4, 3, 4))
    for condition in range(4):
        for order, wear in enumerate((0.25, 0.1)):
            worse = min(condition + 1, 3)
            moves[condition, order, worse] += wear
            moves[condition, order, condition] += 1.0 - wear
        moves[condition, 2, 0] = 1.0
    return FiniteWorld(transition=moves, reward=profit, discount=0.99, start=np.eye(4)[0])
