"""Black boxes that were asked once: exact where asked, cloned elsewhere, compiled everywhere."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from nacre.errors import InputError
from nacre.logs import Log
from nacre.policies import (
    CloneConfig,
    MLPPolicy,
    PolicyOptions,
    RecordedPolicy,
    Signature,
    TabularPolicy,
    clone_policy,
    fingerprint,
    read_policy,
    read_policy_with_provenance,
    record_policy,
)
from nacre.policies.records import hash_rows

QUICK = CloneConfig(hidden=(16,), n_steps=300, batch_size=64)
VECTORS = Signature(Box(-np.inf, np.inf, (2,)), Box(-1.0, 1.0, (1,)))
CHOICES = Signature(Box(-np.inf, np.inf, (2,)), Discrete(3))


def make_log(signature, n=400, seed=0):
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(n + 1, 2)).astype(np.float32)
    actions = (
        draw.integers(0, 3, n)
        if signature.discrete_actions
        else draw.uniform(-1, 1, (n, 1)).astype(np.float32)
    )
    return Log.from_arrays(
        rows[:-1],
        actions,
        np.zeros(n),
        np.zeros(n, bool),
        truncated=np.arange(n) % 40 == 39,
        next_observations=rows[1:],
        observation_space=signature.observation_space,
        action_space=signature.action_space,
    )


def say_logits(rows):
    return {"logits": np.stack([rows[:, 0], rows[:, 1], 0.5 * rows[:, 0] * rows[:, 1]], axis=-1)}


def say_gaussian(rows):
    return {"mean": np.sin(rows[:, :1]), "std": np.exp(0.3 * rows[:, 1:] - 1.0)}


def say_action(rows):
    return {"action": np.tanh(rows[:, :1] - rows[:, 1:])}


CASES = [(say_logits, CHOICES), (say_gaussian, VECTORS), (say_action, VECTORS)]


@pytest.mark.parametrize(("function", "signature"), CASES)
def test_what_was_asked_is_exact_in_compiled_code(function, signature):
    black_box, log = read_policy(function, signature=signature), make_log(signature)
    record = record_policy(black_box, log, jax.random.key(0), config=QUICK)
    assert isinstance(record.policy, RecordedPolicy)
    evaluate = eqx.filter_jit(lambda policy, rows: policy(rows))
    for rows in (log.observations, log.next_observations):
        said, expected = evaluate(record.policy, jnp.asarray(rows)), black_box.distribution_at(rows)
        assert jax.tree.structure(said) == jax.tree.structure(expected)
        for mine, other in zip(jax.tree.leaves(said), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-6)


def test_other_states_get_what_the_clone_says():
    black_box, log = read_policy(say_logits, signature=CHOICES), make_log(CHOICES)
    record = record_policy(black_box, log, jax.random.key(0), config=QUICK)
    rows = jnp.asarray(log.observations) + 0.01
    assert not np.any(record.policy.look_up(rows)[1])
    np.testing.assert_array_equal(record.policy(rows).logits, record.clone(rows).logits)


def test_further_states_can_be_asked():
    black_box, log = read_policy(say_logits, signature=CHOICES), make_log(CHOICES)
    start = np.array([3.0, -3.0])
    record = record_policy(black_box, log, jax.random.key(0), states=start, config=QUICK)
    said = record.policy(jnp.asarray(start, jnp.float32)).logits
    np.testing.assert_allclose(said, say_logits(start[None])["logits"][0], rtol=1e-6)


def test_every_state_is_asked_once():
    asked = []

    def count(rows):
        asked.append(len(rows))
        return say_logits(rows)

    log = make_log(CHOICES)
    black_box = read_policy(count, signature=CHOICES)
    before = len(asked)
    record_policy(black_box, log, jax.random.key(0), config=QUICK)
    # All observations, and the one that follows the last row.
    assert asked[before:] == [401]


def test_zero_and_minus_zero_are_the_same_state():
    rows = np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 1.5]], np.float32)
    hashes = hash_rows(rows)
    assert hashes[0] == hashes[1] != hashes[2]


def test_hashes_tell_close_states_apart():
    # Neighbours in single precision, and permutations of coordinates.
    start = np.float32(0.1)
    line = start + np.arange(20_000, dtype=np.float32) * np.spacing(start)
    rows = np.stack([line, line[::-1]], axis=-1)
    hashes = hash_rows(np.concatenate([rows, -rows[:, ::-1]]))
    assert len(np.unique(hashes)) == 40_000
    # The upper halves are uniform: about n²/2³³ of 40,000 collide.
    assert len(np.unique(hashes >> np.uint64(32))) >= 39_990


def test_states_that_share_a_first_hash_are_told_apart():
    black_box, log = read_policy(say_logits, signature=CHOICES), make_log(CHOICES)
    policy = record_policy(black_box, log, jax.random.key(0), config=QUICK).policy
    crowded = eqx.tree_at(lambda p: p.keys, policy, policy.keys.at[5].set(policy.keys[6]))
    crowded = RecordedPolicy(crowded.keys, crowded.checks, crowded.outputs, crowded.clone, window=2)
    rows = jnp.asarray(np.concatenate([log.observations, log.next_observations[-1:]]))
    known = np.asarray(crowded.look_up(rows)[1])
    # The state whose key was overwritten is lost, its neighbour is still found.
    assert known.sum() == len(rows) - 1
    kept = np.asarray(crowded.look_up(rows)[0])[known]
    np.testing.assert_array_equal(kept, np.asarray(policy.look_up(rows)[0])[known])


def test_discrete_observations_become_a_table():
    signature = Signature(Discrete(4), Discrete(2))
    black_box = read_policy(lambda s: [0.25, 0.75] if s else [1.0, 0.0], signature=signature)
    log = Log.from_arrays([0, 1, 2], [0, 1, 1], np.zeros(3), [False, False, True])
    record = record_policy(black_box, log, jax.random.key(0))
    assert isinstance(record.policy, TabularPolicy)
    assert record.match is None
    np.testing.assert_allclose(
        record.policy.table, [[1.0, 0.0], [0.25, 0.75], [0.25, 0.75], [0.25, 0.75]], atol=1e-6
    )
    boxed = Signature(Discrete(3), Box(-1.0, 1.0, (1,)))
    sure = read_policy(lambda s: [s / 2 - 0.5], signature=boxed)
    policy = record_policy(sure, log, jax.random.key(0)).policy
    np.testing.assert_allclose(policy(jnp.arange(3)).mode(), [[-0.5], [0.0], [0.5]])


def test_reading_with_the_log_records_at_once():
    log = make_log(CHOICES)
    policy, provenance = read_policy_with_provenance(
        say_logits, PolicyOptions(log=log, clone=QUICK)
    )
    assert isinstance(policy, RecordedPolicy)
    assert provenance["source"] == "callable"
    assert provenance["clone_match"]["n_rows"] + provenance["clone_match"]["n_held_out"] == 401
    assert fingerprint(policy) == fingerprint(read_policy(say_logits, log=log, clone=QUICK))


# ---- clones


@pytest.mark.parametrize(
    ("function", "signature", "divergence"),
    [(say_logits, CHOICES, 2e-3), (say_gaussian, VECTORS, 3e-2), (say_action, VECTORS, 2e-3)],
)
def test_clones_match_on_states_held_out(function, signature, divergence):
    rows = np.random.default_rng(1).normal(size=(3000, 2)).astype(np.float32)
    config = CloneConfig(hidden=(32,), n_steps=1500, batch_size=128)
    black_box = read_policy(function, signature=signature)
    clone, match = clone_policy(black_box, rows, jax.random.key(0), config)
    assert isinstance(clone, MLPPolicy)
    assert clone.head == black_box.head
    assert (match.n_rows, match.n_held_out) == (2700, 300)
    assert match.divergence < divergence
    assert match.largest_difference < 0.7
    fresh = np.random.default_rng(2).normal(size=(1000, 2)).astype(np.float32)
    assert np.mean(np.abs(clone(fresh).mode() - black_box(fresh).mode())) < 0.05


def test_a_clone_of_a_sure_choice():
    rows = np.random.default_rng(1).normal(size=(2000, 2)).astype(np.float32)
    black_box = read_policy(lambda r: np.where(r[:, 0] > 0, 2, 0), signature=CHOICES)
    _, match = clone_policy(black_box, rows, jax.random.key(0), QUICK)
    assert match.agreement > 0.97
    assert 0 < match.divergence < 0.2


def test_clones_are_reproducible():
    rows = np.random.default_rng(1).normal(size=(200, 2)).astype(np.float32)
    black_box = read_policy(say_logits, signature=CHOICES)
    one, two = (clone_policy(black_box, rows, jax.random.key(4), QUICK) for _ in range(2))
    assert fingerprint(one[0]) == fingerprint(two[0])
    assert one[1] == two[1]


def test_too_few_observations():
    black_box = read_policy(say_logits, signature=CHOICES)
    with pytest.raises(InputError, match="fewer than 2"):
        clone_policy(black_box, np.zeros((1, 2)), jax.random.key(0))
    with pytest.raises(InputError, match="no observation"):
        hash_rows(np.zeros((0, 2)))


@pytest.mark.parametrize("change", [{"n_steps": 0}, {"learning_rate": 0.0}, {"held_out": 1.0}])
def test_configurations_that_make_no_sense(change):
    with pytest.raises(InputError):
        CloneConfig(**change)
