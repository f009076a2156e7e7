"""Policies from outside, asked once at the states that matter and kept as arrays.

Compiled code cannot ask a black box. It can look up what the black box said: states are found by a
hash of their bits, in a sorted array. Every state that was asked for gets exactly what was said;
any other gets what a clone says.
"""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, UInt
from numpy.typing import ArrayLike

from nacre.errors import InputError
from nacre.logs import Log
from nacre.policies.answers import WIDEST_LOG_STD
from nacre.policies.blackbox import BlackBox, as_batch
from nacre.policies.cloning.fitting import CloneConfig, CloneMatch, clone_outputs
from nacre.policies.distributions import ActionDistribution
from nacre.policies.heads import Head, digest_outputs, make_distribution
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.networks import MLP
from nacre.policies.policy import Policy, Signature
from nacre.policies.tabular import TabularPolicy

MOST_STATES = 1_000_000
"""Discrete observation spaces up to this size are asked for altogether."""


class RecordedPolicy(Policy):
    """What a policy said at known states, and a clone of it for all others; compiles.

    Attributes:
        keys: Hashes of the known states, sorted.
        checks: A second hash of each, against the rare pair that shares the first.
        outputs: What the head reads at each.
        clone: Answers elsewhere, and is where learning can start.
        window: How many states share a first hash at most.
    """

    keys: UInt[Array, " rows"]
    checks: UInt[Array, " rows"]
    outputs: Float[Array, "rows outputs"]
    clone: MLPPolicy
    window: int = eqx.field(static=True)

    @classmethod
    def build(
        cls, observations: np.ndarray, outputs: np.ndarray, clone: MLPPolicy
    ) -> RecordedPolicy:
        """The record of outputs (n, outputs) at observations (n, size), the first of equal ones."""
        hashes = hash_rows(observations)
        _, first = np.unique(hashes, return_index=True)
        chosen = hashes[first]
        keys = (chosen >> np.uint64(32)).astype(np.uint32)
        checks = chosen.astype(np.uint32)
        window = int(np.max(np.unique(keys, return_counts=True)[1]))
        return cls(
            jnp.asarray(keys),
            jnp.asarray(checks),
            jnp.asarray(outputs[first], jnp.float32),
            clone,
            window,
        )

    @property
    def signature(self) -> Signature:
        """The spaces between which it acts."""
        return self.clone.signature

    @property
    def head(self) -> Head:
        """The head that makes its outputs a distribution."""
        return self.clone.head

    @property
    def n_states(self) -> int:
        """How many states are known."""
        return int(self.keys.shape[0])

    def __call__(self, observations: Array) -> ActionDistribution:
        """What was said, or what the clone says."""
        outputs, known = self.look_up(observations)
        guessed = self.clone.network(self.clone.encode(observations))
        chosen = jnp.where(known[..., None], outputs, guessed)
        chosen = self.signature.mask_outputs(chosen, observations)
        return make_distribution(self.head, chosen, self.signature, WIDEST_LOG_STD)

    def look_up(self, observations: Array) -> tuple[Float[Array, "... outputs"], Array]:
        """Recorded outputs at each observation, and whether there are any."""
        keys, checks = _hash(jnp.asarray(observations, jnp.float32))
        place = jnp.searchsorted(self.keys, keys)
        found, known = jnp.zeros_like(place), jnp.zeros(place.shape, bool)
        for i in range(self.window):
            here = jnp.minimum(place + i, self.n_states - 1)
            match = (self.keys[here] == keys) & (self.checks[here] == checks)
            found, known = jnp.where(match, here, found), known | match
        return self.outputs[found], known

    @property
    def digest(self) -> str:
        """SHA-256 of all that was said."""
        return digest_outputs(self.head, self.keys, self.checks, self.outputs)


@dataclass(frozen=True)
class Record:
    """A policy that compiles, in place of one that does not.

    Attributes:
        policy: Exact at every state that was asked for.
        clone: The network behind it, from which learning can start; none for discrete observations,
            all of which are known.
        match: How well the clone matches, likewise.
    """

    policy: Policy
    clone: MLPPolicy | None
    match: CloneMatch | None


def record_policy(
    policy: BlackBox,
    log: Log,
    key: PRNGKeyArray,
    *,
    states: ArrayLike | None = None,
    config: CloneConfig | None = None,
) -> Record:
    """Ask a policy at all states of a log, clone it for the others.

    Args:
        policy: The policy.
        log: Its observations and next observations are asked for, each once.
        key: Key of the cloning.
        states: Further states, such as the start.
        config: How to clone.
    """
    signature = policy.signature
    space = signature.observation_space
    if isinstance(space, gymnasium.spaces.Discrete):
        return Record(_tabulate(policy, int(space.n)), None, None)
    rows = [as_batch(log.observations, signature), as_batch(log.next_observations, signature)]
    if states is not None:
        rows.append(as_batch(np.atleast_2d(np.asarray(states)), signature))
    return record_rows(policy.head, None, np.concatenate(rows), policy, key, config)


def record_rows(
    head: Head,
    outputs: np.ndarray | None,
    observations: np.ndarray,
    policy: BlackBox | Signature,
    key: PRNGKeyArray,
    config: CloneConfig | None = None,
) -> Record:
    """Keep outputs at observations, or ask for them, and clone them."""
    _, first = np.unique(hash_rows(observations), return_index=True)
    distinct = observations[np.sort(first)]
    if outputs is None:
        assert isinstance(policy, BlackBox)  # noqa: S101 - someone has to be asked
        kept = policy.outputs_at(distinct)
    else:
        kept = outputs[np.sort(first)]
    signature = policy if isinstance(policy, Signature) else policy.signature
    clone, match = clone_outputs(head, kept, distinct, signature, key, config)
    return Record(RecordedPolicy.build(distinct, kept, clone), clone, match)


def hash_rows(observations: np.ndarray) -> np.ndarray:
    """64 bits (n,) of each observation (n, size); equal numbers have equal bits."""
    rows = np.asarray(observations, np.float32)
    chunk = 1 << 20
    parts = []
    for first in range(0, len(rows), chunk):
        keys, checks = _hash(jnp.asarray(rows[first : first + chunk]))
        high = np.asarray(keys).astype(np.uint64) << np.uint64(32)
        parts.append(high | np.asarray(checks).astype(np.uint64))
    if not parts:
        raise InputError("there is no observation to ask at; give at least one")
    return np.concatenate(parts)


def _tabulate(policy: BlackBox, n: int) -> Policy:
    """All states of a finite space: nothing has to be looked up or guessed."""
    if n > MOST_STATES:
        raise InputError(
            f"{n:,} discrete states are more than {MOST_STATES:,}; give observations as vectors"
        )
    return tabulate_outputs(policy.head, policy.outputs_at(np.arange(n)), policy.signature)


def tabulate_outputs(head: Head, outputs: np.ndarray, signature: Signature) -> Policy:
    """The policy whose head reads the row of outputs (states, outputs) of each discrete state."""
    rows = jnp.asarray(outputs)
    if head == "categorical":
        return TabularPolicy(rows, signature)
    network = MLP((rows,), (jnp.zeros(rows.shape[1]),), ("identity",))
    return MLPPolicy(network, None, signature, head, WIDEST_LOG_STD)


@jax.jit
def _hash(rows: Float[Array, "... size"]) -> tuple[UInt[Array, "..."], UInt[Array, "..."]]:
    """Two hashes of 32 bits: sums of scrambled coordinates, scrambled again."""
    # Zero and minus zero are the same state.
    bits = jax.lax.bitcast_convert_type(jnp.where(rows == 0, 0.0, rows), jnp.uint32)
    hashes = []
    for seed in (1, 2):
        draw = np.random.default_rng(seed).integers(0, 2**32, (2, rows.shape[-1]), np.uint32)
        mixed = _scramble(bits * jnp.asarray(draw[0] | 1) + jnp.asarray(draw[1]))
        hashes.append(_scramble(jnp.sum(mixed, axis=-1, dtype=jnp.uint32)))
    return hashes[0], hashes[1]


def _scramble(x: UInt[Array, "..."]) -> UInt[Array, "..."]:
    """A bijection of 32 bits in which every bit depends on every other."""
    for factor in np.random.default_rng(3).integers(2**31, 2**32, 3, np.uint32):
        x = (x ^ (x >> 15)) * jnp.uint32(factor | 1)
    return x ^ (x >> 16)
