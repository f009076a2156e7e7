"""The states that gain most by a switch: a region, found on the learning part of a log.

At a numbered state s the switch adds about d(s) Σ_a (π_n - π_o)(a|s) Q_o(s, a), d the discounted
number of visits and Q_o the old policy's values in the world that the learning part's counts
describe; it costs μ(s) F(s). States where the first exceeds the second are the region. Vectors are
taken together in clusters, and Q_o is that of critics that are linear in features. Nothing here
sees the test part, so that the region is tested like any other candidate.
"""

from __future__ import annotations

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from nacre.advice.setting import Setting
from nacre.costs.statewise import Transport
from nacre.logs import Log
from nacre.policies.distributions import ActionDistribution
from nacre.policies.policy import Policy, ask
from nacre.policies.region import Region
from nacre.rollout.regions import ROWS_PER_CELL, choose_cells, find_cells
from nacre.rollout.sequences import Floats
from nacre.training.linear_critics import add_up, fit_critics
from nacre.training.state_action_features import StateActionFeatures

NAME = "the states that gain most"
CLUSTERS = 6
FEATURES = 128
RIDGE = 1e-4
MOST_STATES = 2000


def find_gaining_states(
    setting: Setting, learning: Log, old_policy: Policy, new_policy: Policy
) -> Region | None:
    """The region; None where the cost is no transport, or where it is all states or none."""
    signature = old_policy.signature
    if not isinstance(setting.cost.statewise, Transport):
        return None
    if not isinstance(signature.observation_space, gymnasium.spaces.Discrete):
        return _find_gaining_clusters(setting, learning, old_policy, new_policy)
    if not signature.discrete_actions:
        return None
    states = jnp.arange(signature.observation_size)
    said = ask(old_policy, states), ask(new_policy, states)
    old, new = (np.asarray(one.probabilities, np.float64) for one in said)  # type: ignore[attr-defined]
    values = solve_counts(learning, old, setting.config.discount)
    gains = count_visits(learning, setting.config.discount, len(old)) * ((new - old) * values).sum(
        axis=1
    )
    cost = _find_costs(setting, said)
    share = np.bincount(np.asarray(learning.observations), minlength=len(old)) / len(learning)
    chosen = np.flatnonzero(gains > share * cost)
    if len(chosen) in (0, len(old)):
        return None
    return Region(NAME, states=tuple(int(state) for state in chosen))


def _find_gaining_clusters(
    setting: Setting, learning: Log, old_policy: Policy, new_policy: Policy
) -> Region | None:
    """Clusters of vectors where the switch pays by the old policy's critics."""
    count, discount = min(CLUSTERS, len(learning) // ROWS_PER_CELL), setting.config.discount
    if count < 2:
        return None
    rng = np.random.default_rng(setting.seed)
    features = StateActionFeatures.draw(learning, old_policy.signature, FEATURES, rng)
    sums = add_up(features, learning, np.zeros(learning.n_episodes, np.int64))
    critics = fit_critics((sums,), learning, old_policy, discount, RIDGE)
    cells, _ = find_cells(learning, count, setting.seed)
    count = len(cells.centres)
    rows = np.linspace(0, len(learning) - 1, min(len(learning), MOST_STATES)).astype(np.int64)
    states, actions = np.asarray(learning.observations[rows]), learning.actions[rows]
    scale, centres = np.asarray(cells.scale), np.asarray(cells.centres)
    squares = (((states[:, None] - centres) / scale) ** 2).sum(axis=-1)
    members = squares.argmin(axis=1)
    old, new = (critics.read(states, actions, one)[1] for one in (old_policy, new_policy))
    step = rows - learning.offsets[learning.episode_ids[rows]]
    # Discounted visits of an episode fall on these rows alike.
    visits = np.power(discount, step) * (len(learning) / len(rows) / learning.n_episodes)
    gains = np.bincount(members, visits * (new - old), count)
    asked = jnp.asarray(states)
    costs = _find_costs(setting, (ask(old_policy, asked), ask(new_policy, asked))) / len(rows)
    chosen = np.flatnonzero(gains > np.bincount(members, costs, count))
    if len(chosen) in (0, count):
        return None
    return choose_cells(NAME, cells, chosen.tolist())


def _find_costs(setting: Setting, said: tuple[ActionDistribution, ActionDistribution]) -> Floats:
    """What the switch costs at each state, before the share of the state."""
    shared = setting.cost.per_episode()
    compared = shared.statewise.compare(*said, jax.random.key(0))
    cost = shared.learning_weight * np.asarray(compared.learning)
    return np.asarray(cost + shared.transaction_weight * np.asarray(compared.transaction))


def solve_counts(log: Log, policy: Floats, discount: float) -> Floats:
    """(S, A) values of a policy in the world of the log's counts; unseen pairs earn the mean."""
    n_states, n_actions = policy.shape
    pair = np.asarray(log.observations, np.int64) * n_actions + np.asarray(log.actions, np.int64)
    counts = np.bincount(pair, minlength=n_states * n_actions)
    seen = np.maximum(counts, 1)
    rewards = np.bincount(pair, log.rewards, n_states * n_actions) / seen
    rewards = np.where(counts > 0, rewards, float(np.mean(log.rewards)))
    going_on = ~log.terminated
    flat = pair[going_on] * n_states + np.asarray(log.next_observations, np.int64)[going_on]
    moved = np.bincount(flat, minlength=n_states * n_actions * n_states)
    moves = moved.reshape(n_states * n_actions, n_states) / seen[:, None]
    # What was never tried leads nowhere.
    follow = (moves[:, :, None] * policy[None]).reshape(len(seen), -1)
    solved = np.linalg.solve(np.eye(len(seen)) - discount * follow, rewards)
    return np.asarray(solved.reshape(n_states, n_actions))


def count_visits(log: Log, discount: float, n_states: int) -> Floats:
    """(S,) discounted visits of a state in an episode: Σ_t γ^t P(s_t = s)."""
    step = np.arange(len(log)) - np.repeat(log.offsets[:-1], log.episode_lengths)
    weights = np.power(discount, step)
    visits = np.bincount(np.asarray(log.observations, np.int64), weights, n_states)
    return np.asarray(visits / log.n_episodes)
