"""Policies that can only be asked: they have answers, but no weights of ours and no gradient."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from nacre.errors import InputError
from nacre.logs.schema.spaces import space_to_json
from nacre.policies.answers import WIDEST_LOG_STD, Answers, find_head, head_outputs
from nacre.policies.distributions import ActionDistribution
from nacre.policies.heads import Head, make_distribution
from nacre.policies.policy import Policy, Signature

CHUNK = 65_536


class BlackBox(Policy):
    """A policy from outside, such as an ONNX file or a function.

    It is evaluated with NumPy, outside of anything compiled: ask it at the states that matter once
    (`nacre.policies.record_policy`), and work with the record.

    Attributes:
        ask: From observations (n, size), or (n,) if discrete, to arrays by name, a row each.
        form: Which of `nacre.policies.answers.FORMS` it answers.
        identity: A text that tells it from other policies, such as the digest of its file.
    """

    ask: Callable[[np.ndarray], Answers] = eqx.field(static=True)
    signature: Signature = eqx.field(static=True)
    form: str = eqx.field(static=True)
    identity: str = eqx.field(static=True)

    def __check_init__(self) -> None:
        find_head(self.form, self.signature)

    @property
    def head(self) -> Head:
        """The head that makes its outputs a distribution."""
        return find_head(self.form, self.signature)

    def outputs_at(self, observations: np.ndarray) -> np.ndarray:
        """Parameters (n, outputs) of its distributions, in the order of its head, float32."""
        rows = as_batch(observations, self.signature)
        chunks = [
            self._outputs_of(rows[first : first + CHUNK]) for first in range(0, len(rows), CHUNK)
        ]
        return np.concatenate(chunks) if chunks else self._outputs_of(rows)

    def _outputs_of(self, rows: np.ndarray) -> np.ndarray:
        outputs = head_outputs(self.form, self.ask(rows), self.signature, len(rows))
        return np.asarray(self.signature.mask_outputs(jnp.asarray(outputs), jnp.asarray(rows)))

    def distribution_at(self, observations: np.ndarray) -> ActionDistribution:
        """The distributions of actions at n observations."""
        outputs = jnp.asarray(self.outputs_at(observations))
        return make_distribution(self.head, outputs, self.signature, WIDEST_LOG_STD)

    def __call__(self, observations: Array) -> ActionDistribution:
        """The distribution of actions at each observation; not within compiled functions."""
        if isinstance(observations, jax.core.Tracer):
            raise InputError(
                "a policy from outside cannot be asked within a compiled function; record it at "
                "the log's states with nacre.policies.record_policy(policy, log), or clone it"
            )
        rows = np.asarray(observations)
        lead = rows.shape if self._discrete_observations else rows.shape[:-1]
        flat = rows.reshape(-1, *rows.shape[len(lead) :])
        outputs = jnp.asarray(self.outputs_at(flat))
        return make_distribution(
            self.head, outputs.reshape(*lead, -1), self.signature, WIDEST_LOG_STD
        )

    @property
    def _discrete_observations(self) -> bool:
        return isinstance(self.observation_space, gymnasium.spaces.Discrete)

    @property
    def digest(self) -> str:
        """SHA-256 of its identity, form and spaces."""
        spaces = [space_to_json(self.observation_space), space_to_json(self.action_space)]
        return hashlib.sha256(json.dumps([self.identity, self.form, spaces]).encode()).hexdigest()


def as_batch(observations: object, signature: Signature) -> np.ndarray:
    """Observations (n, size) in single precision, or (n,) integers if discrete."""
    rows = np.asarray(observations)
    if isinstance(signature.observation_space, gymnasium.spaces.Discrete):
        if rows.ndim != 1 or rows.dtype.kind not in "iu":
            raise InputError(
                f"observations of type {rows.dtype} and shape {rows.shape}; give whole numbers in "
                "one axis"
            )
        return rows
    size = signature.observation_size
    if rows.ndim != 2 or rows.shape[1] != size or rows.dtype.kind not in "fiu":
        raise InputError(
            f"observations of type {rows.dtype} and shape {rows.shape}; give numbers of shape "
            f"(rows, {size})"
        )
    return rows.astype(np.float32, copy=False)
