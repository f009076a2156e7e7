"""A policy with the `predict` that controllers, simulators and evaluation scripts expect."""

from __future__ import annotations

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from nacre.errors import InputError, check_arguments
from nacre.policies.policy import Policy, describe_space


class Controller:
    """Acts step by step with a policy; drawn actions come from one seed."""

    @check_arguments
    def __init__(self, policy: Policy, seed: int = 0) -> None:
        self.policy = policy
        self._key = jax.random.key(seed)

    @check_arguments
    def predict(
        self,
        observation: object,
        state: tuple[np.ndarray, ...] | None = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = False,
    ) -> tuple[np.ndarray, tuple[np.ndarray, ...] | None]:
        """Action for one observation or a batch of them.

        Args:
            observation: A vector or a batch of rows; an integer or integers if discrete.
            state: Handed back unchanged: these policies have no memory.
            episode_start: Accepted and ignored, for the same reason.
            deterministic: Take the mode instead of a draw.

        Returns:
            The action or actions, as arrays of the action space's type, and the state.
        """
        rows, single = self._check(observation)
        if deterministic:
            actions = np.asarray(_mode(self.policy, rows))
        else:
            self._key, key = jax.random.split(self._key)
            actions = np.asarray(_draw(self.policy, rows, key))
        space = self.policy.action_space
        actions = actions.astype(space.dtype)
        if isinstance(space, gymnasium.spaces.Box):
            actions = np.clip(actions, space.low, space.high)
        return (actions.squeeze(axis=0) if single else actions), state

    def _check(self, observation: object) -> tuple[np.ndarray, bool]:
        """The observations as a batch, and whether a single one was given."""
        space = self.policy.observation_space
        given = " ".join(repr(observation).split())[:60]
        try:
            rows = np.asarray(observation)
            if isinstance(space, gymnasium.spaces.Box):
                with np.errstate(over="ignore"):
                    rows = rows.astype(np.float32, casting="same_kind")
        except (TypeError, ValueError):
            raise InputError(
                f"observation {given} is not made of numbers: {_expected(self.policy)}"
            ) from None
        if isinstance(space, gymnasium.spaces.Discrete):
            if not np.issubdtype(rows.dtype, np.integer) or rows.ndim > 1:
                raise InputError(
                    f"observation {given} of type {rows.dtype} and shape {rows.shape}: "
                    f"{_expected(self.policy)}"
                )
            if rows.size and (rows.min() < 0 or rows.max() >= int(space.n)):
                raise InputError(
                    f"observation {given} lies outside {describe_space(space)}: "
                    f"{_expected(self.policy)}"
                )
            return np.atleast_1d(rows), rows.ndim == 0
        if rows.ndim not in (1, 2) or rows.shape[-1] != self.policy.signature.observation_size:
            raise InputError(f"observation of shape {rows.shape}: {_expected(self.policy)}")
        if not np.all(np.isfinite(rows)):
            place = ", ".join(str(int(index)) for index in np.argwhere(~np.isfinite(rows))[0])
            raise InputError(
                f"observation[{place}] is NaN or infinite in float32: repair the sensor or drop "
                "the row"
            )
        return np.atleast_2d(rows), rows.ndim == 1


def _expected(policy: Policy) -> str:
    size = policy.signature.observation_size
    if isinstance(policy.observation_space, gymnasium.spaces.Discrete):
        return f"give a whole number from 0 to {size - 1}, or a list of them"
    return f"give shape ({size},) or (batch, {size})"


@eqx.filter_jit
def _mode(policy: Policy, rows: np.ndarray) -> Array:
    return policy(jnp.asarray(rows)).mode()


@eqx.filter_jit
def _draw(policy: Policy, rows: np.ndarray, key: PRNGKeyArray) -> Array:
    return policy(jnp.asarray(rows)).sample(key)
