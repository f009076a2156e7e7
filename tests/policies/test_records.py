"""Black boxes that were asked once: exact where asked, cloned elsewhere, compiled everywhere."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from nacre.logs import Log
from nacre.policies import (
    Categorical,
    MLPPolicy,
    PolicyOptions,
    RecordedPolicy,
    Signature,
    TabularPolicy,
    fingerprint,
    read_policy,
    read_policy_with_provenance,
    record_policy,
)
from nacre.policies.records import hash_rows
from tests.support.policies import (
    CHOICES,
    QUICK,
    VECTORS,
    Answering,
    ask_black_box,
    expect,
    make_log,
    say_action,
    say_gaussian,
    say_logits,
)

CASES = [(say_logits, CHOICES), (say_gaussian, VECTORS), (say_action, VECTORS)]


@pytest.mark.parametrize(("function", "signature"), CASES)
def test_what_was_asked_is_exact_in_compiled_code(
    function: Answering, signature: Signature
) -> None:
    black_box, log = ask_black_box(function, signature), make_log(signature)
    record = record_policy(black_box, log, jax.random.key(0), config=QUICK)
    assert isinstance(record.policy, RecordedPolicy)
    evaluate = eqx.filter_jit(lambda policy, rows: policy(rows))
    for rows in (log.observations, log.next_observations):
        said, expected = (
            evaluate(record.policy, jnp.asarray(rows)),
            black_box.distribution_at(rows),
        )
        assert str(jax.tree.structure(said)) == str(jax.tree.structure(expected))
        for mine, other in zip(jax.tree.leaves(said), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-6)


def test_other_states_get_what_the_clone_says() -> None:
    black_box, log = ask_black_box(say_logits, CHOICES), make_log(CHOICES)
    record = record_policy(black_box, log, jax.random.key(0), config=QUICK)
    rows = jnp.asarray(log.observations) + 0.01
    assert not np.any(expect(RecordedPolicy, record.policy).look_up(rows)[1])
    np.testing.assert_array_equal(
        expect(Categorical, record.policy(rows)).logits,
        expect(Categorical, expect(MLPPolicy, record.clone)(rows)).logits,
    )


def test_further_states_can_be_asked() -> None:
    black_box, log = ask_black_box(say_logits, CHOICES), make_log(CHOICES)
    start = np.array([3.0, -3.0])
    record = record_policy(black_box, log, jax.random.key(0), states=start, config=QUICK)
    said = expect(Categorical, record.policy(jnp.asarray(start, jnp.float32))).logits
    np.testing.assert_allclose(said, say_logits(start[None])["logits"][0], rtol=1e-6)


def test_every_state_is_asked_once() -> None:
    asked = []

    def count(rows: np.ndarray) -> dict[str, np.ndarray]:
        asked.append(len(rows))
        return say_logits(rows)

    log = make_log(CHOICES)
    black_box = ask_black_box(count, CHOICES)
    before = len(asked)
    record_policy(black_box, log, jax.random.key(0), config=QUICK)
    # All observations, and the one that follows the last row.
    assert asked[before:] == [401]


def test_zero_and_minus_zero_are_the_same_state() -> None:
    rows = np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 1.5]], np.float32)
    hashes = hash_rows(rows)
    assert hashes[0] == hashes[1] != hashes[2]


def test_hashes_tell_close_states_apart() -> None:
    # Neighbours in single precision, and permutations of coordinates.
    start = np.float32(0.1)
    line = start + np.arange(20_000, dtype=np.float32) * np.spacing(start)
    rows = np.stack([line, line[::-1]], axis=-1)
    hashes = hash_rows(np.concatenate([rows, -rows[:, ::-1]]))
    assert len(np.unique(hashes)) == 40_000
    # The upper halves are uniform: about n²/2³³ of 40,000 collide.
    assert len(np.unique(hashes >> np.uint64(32))) >= 39_990


def test_states_that_share_a_first_hash_are_told_apart() -> None:
    black_box, log = ask_black_box(say_logits, CHOICES), make_log(CHOICES)
    record = record_policy(black_box, log, jax.random.key(0), config=QUICK)
    policy = expect(RecordedPolicy, record.policy)
    crowded = eqx.tree_at(
        lambda p: p.keys,
        policy,
        policy.keys.at[5].set(policy.keys[6]),
    )
    crowded = RecordedPolicy(crowded.keys, crowded.checks, crowded.outputs, crowded.clone, window=2)
    rows = jnp.asarray(np.concatenate([log.observations, log.next_observations[-1:]]))
    known = np.asarray(crowded.look_up(rows)[1])
    # The state whose key was overwritten is lost, its neighbour is still found.
    assert known.sum() == len(rows) - 1
    kept = np.asarray(crowded.look_up(rows)[0])[known]
    np.testing.assert_array_equal(kept, np.asarray(policy.look_up(rows)[0])[known])


def test_discrete_observations_become_a_table() -> None:
    signature = Signature(Discrete(4), Discrete(2))
    black_box = ask_black_box(lambda s: [0.25, 0.75] if s else [1.0, 0.0], signature)
    log = Log.from_arrays([0, 1, 2], [0, 1, 1], np.zeros(3), [False, False, True])
    record = record_policy(black_box, log, jax.random.key(0))
    assert isinstance(record.policy, TabularPolicy)
    assert record.match is None
    np.testing.assert_allclose(
        record.policy.table, [[1.0, 0.0], [0.25, 0.75], [0.25, 0.75], [0.25, 0.75]], atol=1e-6
    )
    boxed = Signature(Discrete(3), Box(-1.0, 1.0, (1,)))
    sure = ask_black_box(lambda s: [s / 2 - 0.5], boxed)
    policy = record_policy(sure, log, jax.random.key(0)).policy
    np.testing.assert_allclose(policy(jnp.arange(3)).mode(), [[-0.5], [0.0], [0.5]])


def test_reading_with_the_log_records_at_once() -> None:
    log = make_log(CHOICES)
    policy, provenance = read_policy_with_provenance(
        say_logits, PolicyOptions(log=log, clone=QUICK)
    )
    assert isinstance(policy, RecordedPolicy)
    assert provenance["source"] == "callable"
    assert provenance["clone_match"]["n_rows"] + provenance["clone_match"]["n_held_out"] == 401
    assert fingerprint(policy) == fingerprint(read_policy(say_logits, log=log, clone=QUICK))
