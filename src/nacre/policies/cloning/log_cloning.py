"""The old policy fitted to what it did: for logs that come without one."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from nacre.errors import InputError
from nacre.logs import Log
from nacre.policies.cloning.fitting import CloneConfig, fit, init_clone, scale_last, split_rows
from nacre.policies.distributions import Categorical, ClippedGaussian, Gaussian, SquashedGaussian
from nacre.policies.distributions.gaussian import normal_cdf
from nacre.policies.heads import USUAL_LOG_STD, Head, make_distribution, plain_gaussian
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Signature

_LEVELS = np.arange(1, 10) / 10
# Below this share, actions on a bound are rounded samples rather than clipped ones.
_SHARE_ON_BOUNDS = 0.005


@dataclass(frozen=True)
class LogCloneReport:
    """How well a clone foretells the actions of episodes that it was not fitted to.

    Attributes:
        n_rows: Transitions fitted to.
        n_held_out: Transitions held out, in whole episodes where there are several.
        log_likelihood: Mean log likelihood of a held-out action, in nats.
        baseline: The same for the best distribution that looks at no state.
        calibration_error: Discrete actions: mean distance between the probability given to an
            action and how often it is taken, over ten bins. Action vectors: mean distance between
            the deciles and the share of actions below them.
        head: The kind of distribution.
        uncertainty: Share of the probability that may lie on the wrong actions, because the clone
            was fitted to these episodes and not to others: mean over held-out states of a bound on
            the total variation distance, from clones of two halves of the episodes. 0 where there
            are no two episodes to tell.
    """

    n_rows: int
    n_held_out: int
    log_likelihood: float
    baseline: float
    calibration_error: float
    head: Head
    uncertainty: float = 0.0

    def as_json(self) -> dict[str, float | str]:
        """For the record."""
        return dataclasses.asdict(self)


def clone_log(
    log: Log, key: PRNGKeyArray, config: CloneConfig | None = None
) -> tuple[MLPPolicy, LogCloneReport]:
    """Fit a policy to the actions of a log, by maximum likelihood.

    Discrete actions are classified. Action vectors get a Gaussian, clipped to the action space if
    actions lie on its bounds, else whichever of a clipped and a squashed one foretells better.

    Args:
        log: The log.
        key: Key of the initial weights, the batches and what is held out.
        config: How to fit.

    Returns:
        The policy, and how well it does on what was held out.
    """
    config = config or CloneConfig()
    split_key, fit_key = jax.random.split(key)
    kept, tested = _split(log, config.held_out, split_key)
    signature = Signature(log.observation_space, log.action_space)
    heads, fits = _find_heads(log, signature), []
    # Two halves of half the steps follow.
    total = (len(heads) + 1) * config.n_steps
    for index, head in enumerate(heads):
        part = config.as_part(index * config.n_steps, total)
        policy = _fit(log, kept, head, signature, fit_key, part)
        fits.append((policy, _judge(policy, log, kept, tested)))
    policy, report = max(fits, key=lambda fitted: fitted[1].log_likelihood)
    last = config.as_part(len(heads) * config.n_steps, total)
    uncertainty = _compare_halves(log, kept, tested, report.head, fit_key, last)
    return policy, dataclasses.replace(report, uncertainty=uncertainty)


def find_uncertainty(provenance: Mapping[str, Any]) -> float:
    """Of a policy that `read_policy_with_provenance` read; 0 unless it is a clone of a log."""
    report = provenance.get("report")
    return float(report["uncertainty"]) if isinstance(report, Mapping) else 0.0


def _compare_halves(
    log: Log,
    kept: np.ndarray,
    tested: np.ndarray,
    head: Head,
    key: PRNGKeyArray,
    config: CloneConfig,
) -> float:
    """Mean of √(KL / 2) / 2 between clones of two halves of the episodes, each of half the updates.

    √(KL / 2) bounds the total variation distance (Pinsker). Two halves differ twice as much as
    fits to the whole do: each has half of the rows, and the errors of both are in the difference.
    """
    episodes = np.unique(log.episode_ids[kept])
    if len(episodes) < 2:
        return 0.0
    _, half = split_rows(len(episodes), 0.5, key)
    first = np.isin(log.episode_ids[kept], episodes[half])
    shorter = dataclasses.replace(config, n_steps=max(20, config.n_steps // 2))
    signature = Signature(log.observation_space, log.action_space)
    rows = jnp.asarray(log.observations[tested])
    one, other = (
        _fit(log, kept[part], head, signature, key, shorter.as_part(before, config.n_steps))(rows)
        for part, before in ((first, 0), (~first, shorter.n_steps))
    )
    assert isinstance(one, Categorical | Gaussian)  # noqa: S101 - the heads of clones
    away = jnp.sqrt(jnp.maximum(one.kl(other), 0.0) / 2.0)  # type: ignore[arg-type]
    return float(jnp.mean(jnp.minimum(away, 1.0))) / 2.0


def _split(log: Log, held_out: float, key: PRNGKeyArray) -> tuple[np.ndarray, np.ndarray]:
    if log.n_episodes < 2:
        return split_rows(len(log), held_out, key)
    _, episodes = split_rows(log.n_episodes, held_out, key)
    tested = np.isin(log.episode_ids, episodes)
    return np.flatnonzero(~tested), np.flatnonzero(tested)


def _find_heads(log: Log, signature: Signature) -> tuple[Head, ...]:
    if signature.discrete_actions:
        return ("categorical",)
    plain = plain_gaussian(signature)
    low, high = (np.asarray(limit) for limit in signature.action_limits)
    squashable = bool(np.all(np.isfinite([low, high])) and np.all(low < high))
    on_bounds = np.mean((log.actions <= low) | (log.actions >= high))
    if not squashable or on_bounds > _SHARE_ON_BOUNDS:
        return (plain,)
    return (plain, "squashed_gaussian")


def _fit(
    log: Log,
    rows: np.ndarray,
    head: Head,
    signature: Signature,
    key: PRNGKeyArray,
    config: CloneConfig,
) -> MLPPolicy:
    actions = log.actions[rows]
    start = init_clone(signature, head, log.observations[rows], key, config)
    start = dataclasses.replace(start, log_std_bounds=USUAL_LOG_STD)
    if head != "categorical":
        spread = actions.std(axis=0)
        top = max(USUAL_LOG_STD[1], float(np.ceil(np.log(spread.max() + 1.0))) + 2.0)
        start = dataclasses.replace(start, log_std_bounds=(USUAL_LOG_STD[0], top))
    if head in ("gaussian", "clipped_gaussian"):
        start = _start_at(start, actions.mean(axis=0), np.maximum(spread, 1e-6))
    loss = _Unlikelihood(head, signature, start.log_std_bounds)
    return fit(start, log.observations[rows], actions, loss, key, config)


@dataclass(frozen=True)
class _Unlikelihood:
    """Minus the log likelihood of actions; equal ones share a compiled loop."""

    head: Head
    signature: Signature
    log_std_bounds: tuple[float, float]

    def __call__(self, outputs: Array, actions: Array) -> Array:
        made = make_distribution(self.head, outputs, self.signature, self.log_std_bounds)
        return -made.log_prob(actions)


def _start_at(policy: MLPPolicy, mean: np.ndarray, spread: np.ndarray) -> MLPPolicy:
    """Let the last layer start at the actions' own mean and spread."""
    scale = np.concatenate([spread, np.ones_like(spread)])
    centre = np.concatenate([mean, np.log(spread)])
    return scale_last(policy, centre, scale)


def _judge(policy: MLPPolicy, log: Log, kept: np.ndarray, tested: np.ndarray) -> LogCloneReport:
    actions = log.actions[tested]
    distribution = policy(jnp.asarray(log.observations[tested]))
    likelihood = float(jnp.mean(distribution.log_prob(jnp.asarray(actions))))
    if isinstance(distribution, Categorical):
        counts = np.bincount(log.actions[kept], minlength=distribution.n_actions) + 0.5
        baseline = float(np.mean(np.log(counts / counts.sum())[actions]))
        error = _choice_error(np.asarray(distribution.probabilities), actions)
    elif isinstance(distribution, Gaussian):
        baseline = _plain_likelihood(distribution, log.actions[kept], actions)
        error = _decile_error(distribution, actions)
    else:
        raise InputError(f"a {type(distribution).__name__} cannot be judged by its likelihood")
    return LogCloneReport(len(kept), len(tested), likelihood, baseline, error, policy.head)


def _choice_error(probabilities: np.ndarray, actions: np.ndarray) -> float:
    taken = np.arange(probabilities.shape[1]) == actions[:, None]
    bins = np.minimum((probabilities * 10).astype(int), 9).ravel()
    total = np.bincount(bins, minlength=10)
    said = np.bincount(bins, probabilities.ravel(), minlength=10)
    seen = np.bincount(bins, taken.ravel().astype(float), minlength=10)
    return float(np.abs(said - seen).sum() / total.sum())


def _decile_error(distribution: Gaussian, actions: np.ndarray) -> float:
    latent = np.asarray(distribution.unsquash(jnp.asarray(actions)))
    z = jnp.asarray(latent - distribution.location) / distribution.std
    lower = upper = np.asarray(normal_cdf(z))
    if isinstance(distribution, ClippedGaussian):
        # An atom spreads evenly over the ranks that it covers.
        lower = np.where(actions <= np.asarray(distribution.low), 0.0, lower)
        upper = np.where(actions >= np.asarray(distribution.high), 1.0, upper)
    width = np.maximum(upper - lower, 1e-9)[..., None]
    below = np.mean(np.clip((_LEVELS - lower[..., None]) / width, 0.0, 1.0), axis=0)
    return float(np.mean(np.abs(below - _LEVELS)))


def _plain_likelihood(kind: Gaussian, fitted: np.ndarray, actions: np.ndarray) -> float:
    """Log likelihood under one distribution of the same kind for all states."""
    latent = np.asarray(kind.unsquash(jnp.asarray(fitted)))
    mean = jnp.asarray(latent.mean(axis=0), jnp.float32)
    log_std = jnp.log(jnp.maximum(jnp.asarray(latent.std(axis=0), jnp.float32), 1e-6))
    if isinstance(kind, SquashedGaussian | ClippedGaussian):
        plain: Gaussian = type(kind)(mean, log_std, kind.low, kind.high)
    else:
        plain = Gaussian(mean, log_std)
    return float(jnp.mean(plain.log_prob(jnp.asarray(actions))))
