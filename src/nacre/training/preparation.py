"""What comes before the first epoch: fresh critics, scaled and fitted to the log's returns."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, PRNGKeyArray

from nacre.errors import InputError
from nacre.logs import Log
from nacre.policies.networks import Scaling
from nacre.policies.policy import Signature
from nacre.training.backup import CriticConfig, CriticState, step_critics
from nacre.training.batches import Batch, BatchSource, Drawable, Rows
from nacre.training.critics import Critics
from nacre.training.features import Floats
from nacre.training.loop import run_once
from nacre.training.returns import bootstrapped_returns_to_go

LARGEST_BELIEVABLE = 100.0
"""Critics beyond this many times the largest possible |value| have exploded."""


def init_critics(
    config: CriticConfig,
    key: PRNGKeyArray,
    log: Log,
    signature: Signature,
    discount: float,
    to_go: Floats | None = None,
) -> Critics:
    """A fresh ensemble with the scalings that the configuration asks for, taken from the log.

    `to_go` are the log's `bootstrapped_returns_to_go`, where the caller has them.
    """
    scaling = None
    if config.scale_observations and log.observations.ndim == 2:
        scaling = fit_scaling(log)
    shift, spread = 0.0, 1.0
    if config.scale_returns:
        if to_go is None:
            to_go = bootstrapped_returns_to_go(log, discount)
        shift = float(to_go.mean())
        # A policy that earns the same everywhere has no spread; another one would have some.
        spread = max(float(to_go.std()), 1e-3 * abs(shift), 1e-6)
    return config.init(key, signature, scaling=scaling, shift=shift, spread=spread)


def begin_critics(
    config: CriticConfig,
    log: Log,
    source: BatchSource,
    signature: Signature,
    discount: float,
    keys: tuple[PRNGKeyArray, PRNGKeyArray],
    n_steps: int,
    given: Critics | None = None,
) -> tuple[CriticState, CriticState]:
    """Critics that have seen nothing, or those given, and the same fitted to the log's returns.

    Args:
        config: The critics.
        log: The log.
        source: The same, ready to be sampled from.
        signature: The spaces.
        discount: γ.
        keys: Of the networks and of the fit.
        n_steps: Steps of the fit; none leaves the critics as they are.
        given: Critics to begin with instead of fresh ones.
    """
    to_go = None
    if n_steps and config.scale_returns:
        # What scales the critics is what they are fitted to: found once.
        to_go = bootstrapped_returns_to_go(log, discount)
    critics = given
    if critics is None:
        critics = init_critics(config, keys[0], log, signature, discount, to_go)
    fresh = CriticState.init(config, critics)
    fitted = prefit(config, fresh, log, source, discount, keys[1], n_steps, to_go)
    return fresh, fitted


def fit_scaling(log: Log) -> Scaling:
    """`Scaling.fit` of a log's observations, to the bit also where they are not in memory."""
    rows = log.observations
    if not log.is_mapped:
        return Scaling.fit(rows)
    shift, spread = rows.mean(axis=0, dtype=np.float64), rows.std(axis=0, dtype=np.float64)
    scale = np.where(spread > 1e-6 * np.abs(shift) + 1e-12, spread, 1.0)
    return Scaling(jnp.asarray(shift, jnp.float32), jnp.asarray(scale, jnp.float32))


def prefit(
    config: CriticConfig,
    state: CriticState,
    log: Log,
    source: BatchSource,
    discount: float,
    key: PRNGKeyArray,
    n_steps: int,
    to_go: Floats | None = None,
) -> CriticState:
    """Fit the critics to the log's returns-to-go: exact for the policy that made the log."""
    if n_steps == 0:
        return state
    if to_go is None:
        to_go = bootstrapped_returns_to_go(log, discount)
    fitted = fit_critics(config, source.with_targets(to_go), state, key, n_steps)
    return CriticState.init(config, fitted.online)


def fit_critics(
    config: CriticConfig, source: BatchSource, state: CriticState, key: PRNGKeyArray, n_steps: int
) -> CriticState:
    """Steps of plain regression on the target of every row of the log."""
    return run_once(Regression(config), source, n_steps, state, key).state


class Regression(eqx.Module):
    """Steps of plain regression on the rows' targets; nothing is told of them."""

    config: CriticConfig = eqx.field(static=True)

    def draw(self, rows: Drawable, key: PRNGKeyArray) -> Batch:
        """The rows of the step with this key."""
        return rows.sample(key, self.config.batch_size)

    def step(self, rows: Rows, key: PRNGKeyArray, state: CriticState) -> tuple[CriticState, None]:
        """One gradient step towards the targets."""
        batch = self.draw(rows, key)
        if batch.targets is None:
            raise InputError("the rows have no targets to be fitted to; give them `with_targets`")
        after, _ = step_critics(self.config, state, batch, batch.targets)
        return after, None

    def empty_info(self) -> None:
        """Nothing is told."""

    def is_healthy(self, info: None) -> Bool[Array, ""]:
        """Regression is looked at when it is done."""
        return jnp.asarray(True)

    def finish(
        self, state: CriticState, info: None, key: PRNGKeyArray
    ) -> tuple[None, Bool[Array, ""]]:
        """Nothing to add."""
        return None, jnp.asarray(True)


def largest_believable(log: Log, discount: float) -> float:
    """Mean |Q| beyond which critics are taken to have exploded.

    Counted from the largest possible |value|, max |r| / (1 - γ), but from no less than one: fresh
    networks are of that order whatever the rewards.
    """
    largest_value = float(np.abs(log.rewards).max()) / (1.0 - discount)
    # Single precision ends there, and rewards may come close to it.
    return min(LARGEST_BELIEVABLE * max(1.0, largest_value), float(np.finfo(np.float32).max))


def limit_values(log: Log, discount: float) -> tuple[float, float]:
    """The least and the largest value that the log's rewards allow: one reward for ever.

    Zero lies between them where an episode can end.
    """
    low, high = float(np.min(log.rewards)), float(np.max(log.rewards))
    if np.any(log.terminated):
        # An end after the first step earns one reward and nothing more.
        return min(low, low / (1.0 - discount)), max(high, high / (1.0 - discount))
    return low / (1.0 - discount), high / (1.0 - discount)


def draw_resampling(n_episodes: int, n_members: int, seed: int) -> np.ndarray:
    """(E, M) how often each member sees each episode, of mean one for every member."""
    counts = np.random.default_rng(seed).multinomial(
        n_episodes, np.full(n_episodes, 1.0 / n_episodes), size=n_members
    )
    return counts.T.astype(np.float32)
