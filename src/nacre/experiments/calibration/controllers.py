"""Hand-written controllers as networks: real policies with weights, which learners can start from.

A controller is written down as a function of observations. Its network has one hidden layer of
random tanh units; the last layer is fitted by ridge regression at observations that the world
shows. From then on the network is the policy, whatever it does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from nacre.experiments.calibration.simulation import Array, VectorWorld, roll_out
from nacre.policies.heads import Head
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.networks import MLP, Scaling

UNITS = 96
RIDGE = 1e-4
N_EPISODES = 40
N_STEPS = 100
LEAST_NOISE = 0.02
"""Standard deviation of actions, or temperature, from which on a policy counts as noisy."""


@dataclass(frozen=True)
class Skill:
    """How a controller acts.

    Args:
        share: From 0 for the poor controller to 1 for the good one; below 0 for the opposite of
            the good one.
        noise: Standard deviation of an action in [-1, 1], or temperature of the preferences; 0
            for a deterministic policy.
    """

    share: float
    noise: float


@dataclass(frozen=True, eq=False)
class Workshop:
    """Makes networks of controllers of one world.

    Args:
        world: The world.
        scaling: Of the observations.
        weights: (d, units) and
        biases: (units,) of the hidden layer.
        observations: (N, d) where controllers are fitted.
        squashed: Whether Gaussian policies of a box are squashed, else clipped.
    """

    world: VectorWorld
    scaling: Scaling
    weights: Array
    biases: Array
    observations: NDArray[np.float32]
    squashed: bool

    @classmethod
    def open(cls, world: VectorWorld, rng: np.random.Generator) -> Workshop:
        """Observations of good, poor and random steering; hidden units at random."""
        seen = np.concatenate(
            [_visit(world, control, rng) for control in (world.steer, world.mislead)]
        )
        scaling = Scaling.fit(seen)
        size = seen.shape[1]
        weights = rng.normal(0.0, 1.0 / np.sqrt(size), (size, UNITS))
        weights *= rng.uniform(0.3, 3.0, UNITS)
        return cls(
            world, scaling, weights, rng.uniform(-2.0, 2.0, UNITS), seen, bool(rng.integers(2))
        )

    def make(self, skill: Skill) -> MLPPolicy:
        """The network of a controller."""
        wanted = self._aim(skill)
        hidden = np.tanh(
            np.asarray(self.scaling(jnp.asarray(self.observations))) @ self.weights + self.biases
        )
        design = np.concatenate([hidden, np.ones((len(hidden), 1))], axis=-1)
        gram = design.T @ design + RIDGE * len(design) * np.eye(UNITS + 1)
        last = np.linalg.solve(gram, design.T @ wanted)
        head = self._find_head(skill)
        if head.endswith("gaussian"):
            spread = np.zeros((UNITS + 1, wanted.shape[1]))
            spread[-1] = np.log(skill.noise)
            last = np.concatenate([last, spread], axis=-1)
        layers = [(self.weights, self.biases), (last[:-1], last[-1])]
        network = MLP(
            tuple(jnp.asarray(weight, jnp.float32) for weight, _ in layers),
            tuple(jnp.asarray(bias, jnp.float32) for _, bias in layers),
            ("tanh", "identity"),
        )
        policy = MLPPolicy(network, self.scaling, self.world.signature, head)
        policy.check()
        return policy

    def _aim(self, skill: Skill) -> Array:
        """What the last layer should say at the observations."""
        seen = np.asarray(self.observations, np.float64)
        steered = self.world.steer(seen)
        if skill.share < 0:
            wanted = -steered
        else:
            wanted = skill.share * steered + (1 - skill.share) * self.world.mislead(seen)
        if self.world.n_actions:
            return wanted / max(skill.noise, LEAST_NOISE)
        if self._find_head(skill) == "squashed_gaussian":
            return np.arctanh(0.95 * np.clip(wanted, -1.0, 1.0))
        return np.clip(wanted, -1.0, 1.0)

    def _find_head(self, skill: Skill) -> Head:
        noisy = skill.noise >= LEAST_NOISE
        if self.world.n_actions:
            return "categorical" if noisy else "greedy"
        if not noisy:
            return "deterministic"
        return "squashed_gaussian" if self.squashed else "clipped_gaussian"


def _visit(
    world: VectorWorld, control: Callable[[Array], Array], rng: np.random.Generator
) -> NDArray[np.float32]:
    """Observations along episodes that a controller steers, with random actions in between."""

    def choose(observations: NDArray[np.float32], step: int) -> NDArray[np.float64]:
        wanted = control(np.asarray(observations, np.float64))
        lost = rng.random(len(wanted)) < 0.3
        if world.n_actions:
            actions = wanted.argmax(axis=-1)
            return np.where(lost, rng.integers(world.n_actions, size=len(wanted)), actions)
        shaken = wanted + 0.2 * rng.standard_normal(wanted.shape)
        return np.clip(np.where(lost[:, None], rng.uniform(-1, 1, wanted.shape), shaken), -1, 1)

    seed = int(rng.integers(2**31))
    steps = list(roll_out(world, choose, N_EPISODES, N_STEPS, seed))
    return np.concatenate([step.observations[step.running] for step in steps])
