"""Finite worlds along a line or a ring: chains, queues, stocks, machines, capital."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import stats

from nacre.simulators.finite import FiniteWorld

Generator = np.random.Generator


def empty(n_states: int, n_actions: int) -> tuple[npt.NDArray[np.float64], ...]:
    """Transition (S, A, S), reward (S, A) and termination (S, A), all zero."""
    pairs = (n_states, n_actions)
    return np.zeros((*pairs, n_states)), np.zeros(pairs), np.zeros(pairs)


def river_swim(rng: Generator) -> FiniteWorld:
    """Swim against the current: a small reward downstream, a large one far upstream."""
    n = int(rng.integers(5, 9))
    up, stay = rng.uniform(0.3, 0.6), rng.uniform(0.3, 0.45)
    transition, reward, _ = empty(n, 2)
    for state in range(n):
        below, above = max(state - 1, 0), min(state + 1, n - 1)
        transition[state, 0, below] = 1.0
        transition[state, 1, above] += up
        transition[state, 1, state] += min(stay, 1 - up)
        transition[state, 1, below] += 1 - up - min(stay, 1 - up)
    reward[0, 0], reward[-1, 1] = rng.uniform(0.01, 0.1), 1.0
    return FiniteWorld(transition, reward, rng.uniform(0.93, 0.98), np.eye(n)[1])


def corridor(rng: Generator) -> FiniteWorld:
    """A long way to one reward at its end: forward, back or wait, γ = 0.99."""
    n = int(rng.integers(15, 31))
    slip, fee = rng.uniform(0.0, 0.2), rng.uniform(0.0, 0.02)
    transition, reward, termination = empty(n, 3)
    for state in range(n):
        for action, move in enumerate((1, -1, 0)):
            transition[state, action, np.clip(state + move, 0, n - 1)] += 1 - slip
            transition[state, action, state] += slip
    reward -= fee
    reward[-1, 0], termination[-1, 0] = rng.uniform(5.0, 15.0), 1.0
    return FiniteWorld(transition, reward, 0.99, np.eye(n)[0], termination)


def admission(rng: Generator) -> FiniteWorld:
    """A queue: accept an arrival for a fee or turn it away; waiting costs more the longer it is."""
    n = int(rng.integers(8, 16))
    arrive, serve = rng.uniform(0.3, 0.7), rng.uniform(0.3, 0.6)
    fee, holding = rng.uniform(2.0, 6.0), rng.uniform(0.1, 0.5)
    # State: length of the queue, times whether somebody asks to be admitted.
    transition, reward, _ = empty(2 * n, 2)
    for length in range(n):
        for asks in range(2):
            for action in range(2):
                accepted = asks and action and length < n - 1
                now = length + int(bool(accepted))
                row = transition[2 * length + asks, action]
                for served, chance in ((1, serve if now else 0.0), (0, 1 - (serve if now else 0))):
                    row[2 * (now - served) + 1] += chance * arrive
                    row[2 * (now - served)] += chance * (1 - arrive)
                reward[2 * length + asks, action] = fee * bool(accepted) - holding * now
    discount = rng.uniform(0.93, 0.98)
    return FiniteWorld(transition, reward, discount, np.eye(2 * n)[1], reward_noise=0.1)


def inventory(rng: Generator) -> FiniteWorld:
    """Order stock against random demand: sales pay, storage and missed sales cost."""
    most, orders = int(rng.integers(8, 15)), int(rng.integers(4, 7))
    demand = stats.poisson(rng.uniform(1.5, 3.5)).pmf(np.arange(40))
    price, unit, storage = rng.uniform(3, 5), rng.uniform(1, 2), rng.uniform(0.1, 0.4)
    fixed, missed = rng.uniform(0.2, 1.0), rng.uniform(0.5, 2.0)
    transition, reward, _ = empty(most + 1, orders)
    for stock in range(most + 1):
        for order in range(orders):
            ready = min(stock + order, most)
            reward[stock, order] -= unit * order + fixed * (order > 0)
            for wanted, chance in enumerate(demand):
                sold = min(ready, wanted)
                transition[stock, order, ready - sold] += chance
                reward[stock, order] += chance * (price * sold - missed * (wanted - sold))
            reward[stock, order] -= storage * ready
    transition /= transition.sum(axis=-1, keepdims=True)
    start = np.eye(most + 1)[most // 2]
    return FiniteWorld(transition, reward, rng.uniform(0.9, 0.97), start, reward_noise=0.5)


def maintenance(rng: Generator) -> FiniteWorld:
    """A machine wears out: run, repair or replace it before it breaks."""
    n = int(rng.integers(6, 11))
    wear, repair = rng.uniform(0.2, 0.5), rng.uniform(1.0, 3.0)
    replace, breakdown = rng.uniform(4.0, 8.0), rng.uniform(15.0, 40.0)
    transition, reward, _ = empty(n, 3)
    for state in range(n):
        failing = 0.6 * (state / (n - 1)) ** 3
        worse = min(state + 1, n - 1)
        transition[state, 0, 0] += failing
        transition[state, 0, worse] += (1 - failing) * wear
        transition[state, 0, state] += (1 - failing) * (1 - wear)
        reward[state, 0] = 3.0 * (1 - 0.5 * state / (n - 1)) - failing * breakdown
        transition[state, 1, max(state - 2, 0)] = 0.8
        transition[state, 1, state] += 0.2
        reward[state, 1] = 1.0 - repair
        transition[state, 2, 0] = 1.0
        reward[state, 2] = -replace
    return FiniteWorld(transition, reward, rng.uniform(0.93, 0.98), np.eye(n)[0], reward_noise=0.2)


def gambler(rng: Generator) -> FiniteWorld:
    """Bet one, two or four coins until the goal or ruin; only the goal pays."""
    goal = int(rng.integers(8, 15))
    bets = (1, 2, 4)
    chances = rng.uniform(0.35, 0.6, len(bets))
    transition, reward, termination = empty(goal, len(bets))
    for capital in range(1, goal):
        for action, wanted in enumerate(bets):
            bet = min(wanted, capital, goal - capital)
            # Where a win and a loss end in one pair, only one of them may: the other walks there.
            up, down, chance = capital + bet, capital - bet, chances[action]
            reward[capital, action] = chance * (up >= goal)
            ends = chance * (up >= goal) + (1 - chance) * (down <= 0)
            termination[capital, action] = ends
            if up < goal:
                transition[capital, action, up] += chance
            if down > 0:
                transition[capital, action, down] += 1 - chance
            left = transition[capital, action].sum()
            transition[capital, action] = (
                transition[capital, action] / left if left > 0 else np.eye(goal)[capital]
            )
    transition[0, :, 0], termination[0] = 1.0, 1.0
    start = np.eye(goal)[goal // 2]
    return FiniteWorld(transition, reward, 0.98, start, termination)


def ring(rng: Generator) -> FiniteWorld:
    """A network ring: take the message on, back, or hand it over; delivery pays long after."""
    n = int(rng.integers(8, 15))
    target, loss = int(rng.integers(n // 3, 2 * n // 3 + 1)), rng.uniform(0.02, 0.15)
    # State: place on the ring, then a countdown of three steps after the handing over.
    wait = 3
    transition, reward, _ = empty(n + wait, 3)
    for place in range(n):
        for action, move in enumerate((1, -1)):
            transition[place, action, (place + move) % n] += 1 - loss
            transition[place, action, 0] += loss
            reward[place, action] = -0.05
        arrived = rng.uniform(0.7, 1.0) if place == target else 0.0
        transition[place, 2, n] = arrived
        transition[place, 2, 0] += 1 - arrived
        reward[place, 2] = -0.2
    for step in range(wait):
        following = n + step + 1 if step + 1 < wait else 0
        transition[n + step, :, following] = 1.0
        reward[n + step] = 10.0 if step + 1 == wait else 0.0
    return FiniteWorld(transition, reward, rng.uniform(0.95, 0.99), np.eye(n + wait)[0])
