"""Vector-state worlds of trade and technology: stock, queues, doses, heat, traffic."""

from __future__ import annotations

from typing import Any

import numpy as np

from nacre.experiments.calibration.simulation import Array, VectorWorld


def _nobody(n: int) -> Any:
    return np.zeros(n, bool)


class Stock(VectorWorld):
    """Order goods that arrive two steps later; demand has a slow rhythm."""

    observation_size, noise_size, discount, horizon = 4, 2, 0.97, 150

    def __init__(self, rng: np.random.Generator) -> None:
        self.demand, self.swing = float(rng.uniform(3.0, 6.0)), float(rng.uniform(0.0, 1.5))
        self.missed, self.storage = float(rng.uniform(2.0, 5.0)), float(rng.uniform(0.1, 0.4))

    def begin(self, noise: Array) -> Array:
        """Some stock, the usual orders on their way, a random point of the rhythm."""
        n = len(noise)
        usual = np.full(n, self.demand)
        phase = np.pi * np.tanh(noise[:, 1])
        return np.stack([2 * usual + noise[:, 0], usual, usual, phase], axis=-1)

    def observe(self, states: Array) -> Array:
        """Stock, both deliveries, and the rhythm, in units of the usual demand."""
        shown = states / self.demand
        return np.concatenate([shown[:, :3], np.sin(states[:, 3:])], axis=-1)

    def step(self, states: Array, actions: Array, noise: Array) -> tuple[Array, Array, Any]:
        """Deliver, sell, order; sales pay 1, storage and missed sales cost."""
        stock, first, second, phase = states.T
        wanted = self.demand + self.swing * np.sin(phase) + 1.2 * noise[:, 0]
        wanted = np.maximum(wanted, 0.0)
        ready = stock + first
        sold = np.minimum(ready, wanted)
        left = np.minimum(ready - sold, 6.0 * self.demand)
        order = self.demand * (1.0 + actions[:, 0])
        rewards = sold - self.missed * (wanted - sold) - self.storage * left - 0.3 * order
        moved = np.stack([left, second, order, phase + 0.2], axis=-1)
        return moved, rewards / self.demand, _nobody(len(stock))

    def steer(self, observations: Array) -> Array:
        """Order up to a level that follows the rhythm."""
        position = observations[:, :3].sum(axis=-1)
        target = 3.6 + 1.5 * self.swing / self.demand * observations[:, 3]
        order: Array = np.clip(target - position, -1.0, 1.0)
        return order[:, None]

    def mislead(self, observations: Array) -> Array:
        """Looks at the stock on hand alone, and so orders too late and too much."""
        return np.clip(1.2 * (1.4 - observations[:, :1]), -1.0, 1.0)


class Queues(VectorWorld):
    """Three queues and one server: which to serve next, at different costs of waiting."""

    observation_size, noise_size, n_actions, discount, horizon = 3, 6, 3, 0.98, 150

    def __init__(self, rng: np.random.Generator) -> None:
        self.arrivals = rng.dirichlet(np.full(3, 4.0)) * rng.uniform(0.7, 0.9)
        self.waiting, self.speed = rng.uniform(0.5, 3.0, 3), rng.uniform(1.0, 1.6, 3)

    def begin(self, noise: Array) -> Array:
        """A few in each."""
        return np.abs(2.0 * noise[:, :3])

    def observe(self, states: Array) -> Array:
        """Lengths, in tens."""
        return states / 10.0

    def step(self, states: Array, actions: Array, noise: Array) -> tuple[Array, Array, Any]:
        """Work arrives in lognormal pieces, the server takes some off one queue."""
        n = len(states)
        served = np.zeros_like(states)
        chosen = actions.astype(int)
        served[np.arange(n), chosen] = self.speed[chosen]
        pieces = self.arrivals * np.exp(0.5 * noise[:, 3:] - 0.125)
        moved = np.clip(np.maximum(states - served, 0.0) + pieces, 0.0, 30.0)
        return moved, -(moved @ self.waiting) / 10.0, _nobody(n)

    def steer(self, observations: Array) -> Array:
        """The c-mu rule: where waiting costs most per unit of work, if somebody is there."""
        return 3.0 * self.waiting * self.speed * np.tanh(6.0 * observations)

    def mislead(self, observations: Array) -> Array:
        """Serves the shortest queue first."""
        return -4.0 * observations


class Dosing(VectorWorld):
    """A drug with slow effect: hold a level in its window without poisoning the patient."""

    observation_size, noise_size, discount, horizon = 4, 4, 0.98, 120

    def __init__(self, rng: np.random.Generator) -> None:
        self.clear, self.pass_on = float(rng.uniform(0.08, 0.2)), float(rng.uniform(0.1, 0.25))
        self.harm = float(rng.uniform(15.0, 40.0))

    def begin(self, noise: Array) -> Array:
        """No drug yet; the patient's own rate of clearance varies."""
        n = len(noise)
        rate = self.clear * np.exp(0.25 * noise[:, 0])
        return np.stack([np.zeros(n), np.zeros(n), 1.0 + 0.2 * noise[:, 1], rate], axis=-1)

    def observe(self, states: Array) -> Array:
        """Concentration, effect, severity, and a noisy-free measure of clearance."""
        return np.multiply(states, [1.0, 1.0, 1.0, 5.0])

    def step(self, states: Array, actions: Array, noise: Array) -> tuple[Array, Array, Any]:
        """Dose from 0 to 0.4; too high a concentration may end it badly."""
        blood, effect, severity, rate = states.T
        dose = 0.2 * (1.0 + actions[:, 0])
        blood = np.maximum(blood * (1 - rate) + dose + 0.02 * noise[:, 2], 0.0)
        effect = effect + self.pass_on * (blood - effect)
        relief = effect / (0.5 + effect)
        severity = np.clip(severity + 0.05 * (0.55 - relief) + 0.02 * noise[:, 3], 0.0, 2.0)
        # Poisoning by chance: the normal number is turned into a uniform one by its tail.
        poisoned = blood > 1.6 + 0.4 * np.abs(noise[:, 1])
        rewards = 1.0 - severity - 0.1 * dose - np.where(poisoned, self.harm, 0.0)
        return np.stack([blood, effect, severity, rate], axis=-1), rewards, poisoned

    def steer(self, observations: Array) -> Array:
        """Keeps the concentration where it helps, below where it harms."""
        blood, rate = observations[:, 0], observations[:, 3] / 5.0
        wanted = 1.15 * rate + 0.6 * (1.15 - blood)
        return np.clip(wanted / 0.2 - 1.0, -1.0, 1.0)[:, None]

    def mislead(self, observations: Array) -> Array:
        """Doses by how ill the patient looks, and hardly by what is in the blood."""
        return np.clip(0.8 * (observations[:, 2:3] - 1.0) - 0.3, -1.0, 1.0)


class Heating(VectorWorld):
    """A house with slow walls: comfort by day and night against the price of heat."""

    observation_size, noise_size, discount, horizon = 5, 2, 0.98, 144

    def __init__(self, rng: np.random.Generator) -> None:
        self.leak, self.power = float(rng.uniform(0.03, 0.08)), float(rng.uniform(1.5, 3.0))
        self.price = float(rng.uniform(0.05, 0.3))

    def begin(self, noise: Array) -> Array:
        """Inside, walls, outside, hour."""
        n = len(noise)
        inside = 17.0 + 2.0 * noise[:, 0]
        return np.stack([inside, inside, 4.0 + 3.0 * noise[:, 1], np.zeros(n)], axis=-1)

    def observe(self, states: Array) -> Array:
        """Temperatures around 20 degrees in tens, and the hour as a circle."""
        turn = 2 * np.pi * states[:, 3:] / 72.0
        return np.concatenate([(states[:, :3] - 20.0) / 10.0, np.cos(turn), np.sin(turn)], axis=-1)

    def step(self, states: Array, actions: Array, noise: Array) -> tuple[Array, Array, Any]:
        """Three steps an hour."""
        inside, walls, outside, hour = states.T
        heat = 0.5 * (1.0 + actions[:, 0])
        inside = inside + self.power * heat + 0.15 * (walls - inside)
        inside = inside + self.leak * (outside - inside) + 0.1 * noise[:, 0]
        walls = walls + 0.05 * (inside - walls) + 0.02 * (outside - walls)
        outside = outside + 0.05 * (4.0 - 5.0 * np.cos(2 * np.pi * hour / 72.0) - outside)
        outside = outside + 0.2 * noise[:, 1]
        at_home = np.cos(2 * np.pi * hour / 72.0 + np.pi) > -0.5
        wanted = np.where(at_home, 20.5, 17.0)
        rewards = -0.1 * np.minimum(np.abs(inside - wanted), 10.0) - self.price * heat
        moved = np.stack([inside, walls, outside, (hour + 1) % 72.0], axis=-1)
        return moved, rewards, _nobody(len(inside))

    def steer(self, observations: Array) -> Array:
        """A thermostat with a night setting that looks at the walls, too."""
        wanted = np.where(-observations[:, 3] > -0.5, 0.05, -0.3)
        short = wanted - observations[:, 0] + 0.15 * (wanted - observations[:, 1])
        return np.clip(6.0 * short + 0.1, -1.0, 1.0)[:, None]

    def mislead(self, observations: Array) -> Array:
        """Heats by what it is like outside."""
        return np.clip(-0.6 * observations[:, 2:3] - 1.0, -1.0, 1.0)


class Junction(VectorWorld):
    """Traffic lights: hold the green or change it; changing loses time."""

    observation_size, noise_size, n_actions, discount, horizon = 5, 2, 2, 0.97, 150

    def __init__(self, rng: np.random.Generator) -> None:
        self.flows = rng.uniform(0.2, 0.55, 2)
        self.flow_out, self.lost = float(rng.uniform(1.2, 1.6)), int(rng.integers(1, 3))

    def begin(self, noise: Array) -> Array:
        """Cars on both roads, which is green, steps since, steps of yellow left."""
        n = len(noise)
        cars = np.abs(3.0 * noise)
        return np.concatenate([cars, np.zeros((n, 3))], axis=-1)

    def observe(self, states: Array) -> Array:
        """Cars in tens, the green, time since in tens, yellow."""
        return np.multiply(states, [0.1, 0.1, 1.0, 0.1, 1.0])

    def step(self, states: Array, actions: Array, noise: Array) -> tuple[Array, Array, Any]:
        """Action 1 changes the lights unless they are changing."""
        cars, green, since, yellow = states[:, :2], states[:, 2], states[:, 3], states[:, 4]
        change = (actions > 0.5) & (yellow <= 0)
        green = np.where(change, 1 - green, green)
        yellow = np.where(change, self.lost, np.maximum(yellow - 1, 0))
        since = np.where(change, 0.0, np.minimum(since + 1, 30.0))
        open_road = np.stack([green == 0, green == 1], axis=-1) & (yellow <= 0)[:, None]
        come = self.flows * np.exp(0.6 * noise - 0.18)
        cars = np.clip(np.maximum(cars - self.flow_out * open_road, 0.0) + come, 0.0, 40.0)
        moved = np.concatenate([cars, np.stack([green, since, yellow], axis=-1)], axis=-1)
        return moved, -cars.sum(axis=-1) / 10.0, _nobody(len(cars))

    def steer(self, observations: Array) -> Array:
        """Changes when the green road is nearly empty and cars wait at the other."""
        red_first = observations[:, 2] > 0.5
        red = np.where(red_first, observations[:, 0], observations[:, 1])
        green = np.where(red_first, observations[:, 1], observations[:, 0])
        urge = 20.0 * (0.5 * red - green - 0.03)
        return np.stack([np.zeros(len(red)), np.clip(urge, -6.0, 6.0)], axis=-1)

    def mislead(self, observations: Array) -> Array:
        """Changes by the clock, far too soon."""
        urge = 10.0 * (observations[:, 3] - 0.05)
        return np.stack([np.zeros(len(urge)), urge], axis=-1)
