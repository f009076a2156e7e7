"""Vector-state worlds of mechanics: carts, pendulums, a car in a valley, a lander."""

from __future__ import annotations

from typing import Any

import numpy as np

from nacre.experiments.calibration.simulation import Array, VectorWorld
from nacre.simulators.linear import LinearWorld, double_integrator

WALL = 5.0
"""Place and speed of the cart stay within ±this; controllers that hold it never get there."""


def prefer(action: Array, n_actions: int) -> Array:
    """Preferences (N, n) for a number in [-1, 1]: the actions lie evenly on that line."""
    places = np.linspace(-1.0, 1.0, n_actions)
    return -4.0 * np.abs(np.clip(action, -1.0, 1.0)[:, None] - places)


class Integrator(VectorWorld):
    """A cart on a line that should come to rest: closed forms exist, `nacre.simulators.linear`."""

    observation_size, noise_size, discount, horizon = 2, 2, 0.97, 100

    def __init__(self, rng: np.random.Generator) -> None:
        self.linear: LinearWorld = double_integrator(self.discount)
        # Actions in [-1, 1] stand for pushes this strong; only the best controllers meet the limit.
        self.push = float(rng.uniform(3.0, 6.0))
        self.gain = self.linear.optimal_policy().gain / self.push

    def begin(self, noise: Array) -> Array:
        """Away from rest."""
        return self.linear.start_mean + self.linear.start_std * noise

    def step(self, states: Array, actions: Array, noise: Array) -> tuple[Array, Array, Any]:
        """Linear dynamics, quadratic cost."""
        pushes = self.push * actions
        moved = states @ self.linear.dynamics.T + pushes @ self.linear.control.T
        moved = np.clip(moved + self.linear.noise_std * noise, -WALL, WALL)
        return moved, self.linear.rewards(states, pushes), np.zeros(len(states), bool)

    def steer(self, observations: Array) -> Array:
        """The optimal linear gain."""
        return observations @ self.gain.T

    def mislead(self, observations: Array) -> Array:
        """Pushes too weakly, and brakes too little."""
        return -(0.15 * observations[:, :1] + 0.1 * observations[:, 1:]) / self.push


class Pendulum(VectorWorld):
    """Swing a pendulum up and hold it: three numbers seen, one torque."""

    observation_size, noise_size, horizon = 3, 2, 200

    def __init__(self, rng: np.random.Generator) -> None:
        self.torque, self.gravity = float(rng.uniform(3.0, 5.0)), 10.0
        self.spread = float(rng.uniform(0.5, 3.0))

    def begin(self, noise: Array) -> Array:
        """Anywhere around hanging; angle 0 is upright."""
        angle = np.pi + self.spread * np.tanh(noise[:, 0])
        return np.stack([angle, 0.5 * noise[:, 1]], axis=-1)

    def observe(self, states: Array) -> Array:
        """Cosine, sine and speed."""
        return np.stack([np.cos(states[:, 0]), np.sin(states[:, 0]), states[:, 1]], axis=-1)

    def step(self, states: Array, actions: Array, noise: Array) -> tuple[Array, Array, Any]:
        """The usual pendulum with a little noise on its speed."""
        torque, angle, speed = self.torque * actions[:, 0], *states.T
        off = (angle + np.pi) % (2 * np.pi) - np.pi
        rewards = -(off**2 + 0.1 * speed**2 + 0.001 * torque**2)
        pushed = 1.5 * self.gravity * np.sin(angle) + 3.0 * torque
        speed = np.clip(speed + 0.05 * (pushed + 0.5 * noise[:, 0]), -8.0, 8.0)
        return np.stack([angle + 0.05 * speed, speed], axis=-1), rewards, np.zeros(len(angle), bool)

    def steer(self, observations: Array) -> Array:
        """Pump energy until it is near the top, then hold."""
        cosine, sine, speed = observations.T
        energy = speed**2 / 6.0 + 0.5 * self.gravity * (cosine - 1.0)
        pump = -np.sign(speed + 1e-3) * np.clip(energy, -1.0, 1.0)
        hold = -(8.0 * sine + 1.6 * speed) / self.torque
        near = cosine > 0.85
        wanted: Array = np.clip(np.where(near, hold, pump), -1.0, 1.0)
        return wanted[:, None]

    def mislead(self, observations: Array) -> Array:
        """Brakes wherever it moves."""
        return np.clip(-0.3 * observations[:, 2:], -1.0, 1.0)


class CartPole(VectorWorld):
    """Balance a pole on a cart by pushes left or right; it ends when the pole falls."""

    observation_size, noise_size, n_actions, horizon, discount = 4, 4, 2, 300, 0.99

    def __init__(self, rng: np.random.Generator) -> None:
        self.force, self.half = float(rng.uniform(6.0, 12.0)), float(rng.uniform(0.4, 0.7))
        self.gust = float(rng.uniform(0.0, 0.15))

    def begin(self, noise: Array) -> Array:
        """Near the middle."""
        return 0.05 * np.clip(noise, -2.0, 2.0)

    def step(self, states: Array, actions: Array, noise: Array) -> tuple[Array, Array, Any]:
        """The textbook's equations; one for each step that it stands."""
        place, speed, angle, turn = states.T
        force = np.where(actions > 0.5, self.force, -self.force)
        mass, pole = 1.1, 0.1 * self.half
        pushed = (force + pole * turn**2 * np.sin(angle)) / mass
        bend = (9.8 * np.sin(angle) - np.cos(angle) * pushed) / (
            self.half * (4.0 / 3.0 - 0.1 * np.cos(angle) ** 2 / mass)
        )
        drive = pushed - pole * bend * np.cos(angle) / mass
        moved = np.stack(
            [
                place + 0.02 * speed,
                speed + 0.02 * drive,
                angle + 0.02 * turn,
                turn + 0.02 * bend + self.gust * noise[:, 3],
            ],
            axis=-1,
        )
        fallen = (np.abs(moved[:, 0]) > 2.4) | (np.abs(moved[:, 2]) > 0.21)
        return moved, np.ones(len(states)), fallen

    def steer(self, observations: Array) -> Array:
        """Pushes towards where the pole falls, and back to the middle."""
        push = observations @ np.array([0.3, 0.6, 8.0, 2.0])
        return prefer(2.0 * push, 2)

    def mislead(self, observations: Array) -> Array:
        """Looks at the angle only."""
        return prefer(5.0 * observations[:, 2], 2)


class MountainCar(VectorWorld):
    """A weak car in a valley has to swing up to the flag: -1 a step until it is there."""

    observation_size, noise_size, n_actions, horizon, discount = 2, 1, 3, 200, 0.99

    def __init__(self, rng: np.random.Generator) -> None:
        self.power = float(rng.uniform(0.0012, 0.002))

    def begin(self, noise: Array) -> Array:
        """At the bottom, at rest."""
        return np.stack([-0.5 + 0.1 * np.tanh(noise[:, 0]), np.zeros(len(noise))], axis=-1)

    def observe(self, states: Array) -> Array:
        """Place and speed, the speed in a larger unit."""
        return np.multiply(states, [1.0, 20.0])

    def step(self, states: Array, actions: Array, noise: Array) -> tuple[Array, Array, Any]:
        """The textbook's equations."""
        place, speed = states.T
        speed = speed + self.power * (actions - 1.0) - 0.0025 * np.cos(3.0 * place)
        speed = np.clip(speed + 0.0003 * noise[:, 0], -0.07, 0.07)
        place = np.clip(place + speed, -1.2, 0.6)
        speed = np.where((place <= -1.2) & (speed < 0), 0.0, speed)
        return np.stack([place, speed], axis=-1), -np.ones(len(place)), place >= 0.5

    def steer(self, observations: Array) -> Array:
        """Drives on in the direction that it moves in."""
        return prefer(8.0 * observations[:, 1], 3)

    def mislead(self, observations: Array) -> Array:
        """Drives to the right as often as the speed says left."""
        return prefer(0.4 - 0.5 * observations[:, 1], 3)


class Acrobot(VectorWorld):
    """Two links hang down; torque at the joint between them should lift the end."""

    observation_size, noise_size, n_actions, horizon, discount = 6, 4, 3, 200, 0.98

    def __init__(self, rng: np.random.Generator) -> None:
        self.torque, self.height = float(rng.uniform(1.0, 1.6)), float(rng.uniform(-0.3, 0.8))

    def begin(self, noise: Array) -> Array:
        """Hanging, nearly at rest."""
        return 0.05 * np.clip(noise, -2.0, 2.0)

    def observe(self, states: Array) -> Array:
        """Cosines and sines of both angles, both speeds."""
        first, second = states[:, 0], states[:, 1]
        turns = np.stack([np.cos(first), np.sin(first), np.cos(second), np.sin(second)], axis=-1)
        return np.concatenate([turns, states[:, 2:]], axis=-1)

    def _accelerate(self, states: Array, torque: Array) -> Array:
        first, second, speed1, speed2 = states.T
        inner = 1.0 + 0.25 + 0.25 + np.cos(second) + 2.0
        cross = 0.25 + 0.5 * np.cos(second) + 1.0
        pull2 = 0.5 * 9.8 * np.cos(first + second - np.pi / 2)
        pull1 = (
            -0.5 * speed2**2 * np.sin(second)
            - speed2 * speed1 * np.sin(second)
            + 1.5 * 9.8 * np.cos(first - np.pi / 2)
            + pull2
        )
        bend2 = torque + cross / inner * pull1 - 0.5 * speed1**2 * np.sin(second) - pull2
        bend2 = bend2 / (0.25 + 1.0 - cross**2 / inner)
        bend1 = -(cross * bend2 + pull1) / inner
        return np.stack([speed1, speed2, bend1, bend2], axis=-1)

    def step(self, states: Array, actions: Array, noise: Array) -> tuple[Array, Array, Any]:
        """The textbook's equations, two small steps of the midpoint rule."""
        torque = self.torque * (actions - 1.0)
        moved = states
        for _ in range(2):
            middle = moved + 0.05 * self._accelerate(moved, torque)
            moved = moved + 0.1 * self._accelerate(middle, torque)
            moved[:, 2:] = np.clip(moved[:, 2:], [-12.0, -25.0], [12.0, 25.0])
        lifted = -np.cos(moved[:, 0]) - np.cos(moved[:, 0] + moved[:, 1]) > self.height
        return moved, np.where(lifted, 0.0, -1.0), lifted

    def steer(self, observations: Array) -> Array:
        """Torque against the swing of the first link, which pumps energy into it."""
        return prefer(-8.0 * observations[:, 4], 3)

    def mislead(self, observations: Array) -> Array:
        """Brakes the second link."""
        return prefer(np.clip(-0.5 * observations[:, 5], -1, 1), 3)


class Lander(VectorWorld):
    """Come down softly beside the mark: height, drift and two thrusters; a crash costs."""

    observation_size, noise_size, action_size, horizon, discount = 4, 4, 2, 150, 0.98

    def __init__(self, rng: np.random.Generator) -> None:
        self.wind, self.crash = float(rng.uniform(0.02, 0.1)), float(rng.uniform(20.0, 60.0))

    def begin(self, noise: Array) -> Array:
        """High up, off the mark."""
        return np.array([0.0, 3.0, 0.0, 0.0]) + np.array([1.0, 0.3, 0.2, 0.2]) * noise

    def step(self, states: Array, actions: Array, noise: Array) -> tuple[Array, Array, Any]:
        """Gravity 1, thrust up to 2, wind on both speeds; the ground ends it."""
        aside, height, drift, sink = states.T
        thrust = 1.0 + actions[:, 1]
        drift = drift + 0.1 * actions[:, 0] + self.wind * noise[:, 2]
        sink = sink + 0.1 * (thrust - 1.0) + 0.5 * self.wind * noise[:, 3]
        sink = sink - 0.02
        aside, height = aside + 0.1 * drift, height + 0.1 * sink
        down = height <= 0.0
        fuel = 0.05 * (actions**2).sum(axis=-1)
        hard = np.maximum(np.abs(sink) - 0.3, 0.0) + 0.5 * np.maximum(np.abs(drift) - 0.3, 0.0)
        landing = 10.0 - 3.0 * np.abs(aside) - self.crash * hard
        rewards = -fuel - 0.1 + np.where(down, landing, 0.0)
        away = (np.abs(aside) > 8.0) | (height > 8.0)
        rewards = rewards - np.where(away & ~down, self.crash / 2, 0.0)
        return np.stack([aside, height, drift, sink], axis=-1), rewards, down | away

    def steer(self, observations: Array) -> Array:
        """Back to the mark, and down at a speed that falls with the height."""
        aside, height, drift, sink = observations.T
        wanted = -np.clip(0.35 * height + 0.1, 0.1, 0.8)
        return np.stack([-(0.6 * aside + 1.4 * drift), 2.5 * (wanted - sink) + 0.2], -1).clip(-1, 1)

    def mislead(self, observations: Array) -> Array:
        """Lets it fall faster, and hardly looks aside."""
        sink = observations[:, 3]
        return np.stack([-0.3 * observations[:, 2], 0.8 * (-0.9 - sink)], -1).clip(-1, 1)
