from __future__ import annotations

import pickle

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.errors import InputError
from nacre.logs import Log, episodes
from tests.support.logs import assert_same, logs, make_log


def test_shapes_and_dtypes_of_vectors() -> None:
    log = make_log((3, 1, 4))
    assert (log.n_transitions, len(log), log.n_episodes) == (8, 8, 3)
    assert log.observations.shape == log.next_observations.shape == (8, 2)
    assert {log.observations.dtype, log.actions.dtype, log.rewards.dtype} == {np.dtype("float32")}
    np.testing.assert_array_equal(log.episode_lengths, [3, 1, 4])
    np.testing.assert_array_equal(log.episode_ids, [0, 0, 0, 1, 2, 2, 2, 2])
    np.testing.assert_array_equal(log.starts, log.observations[[0, 3, 4]])


def test_shapes_and_dtypes_of_elements() -> None:
    log = make_log(discrete_observations=True, discrete_actions=True)
    assert log.observations.dtype == log.actions.dtype == np.int32
    assert log.observations.shape == log.actions.shape == (8,)
    assert log.starts.shape == (3,)


def test_arrays_are_read_only_but_those_given_stay_writable() -> None:
    rewards = np.ones(2, dtype=np.float32)
    log = Log.from_arrays(np.zeros((2, 1)), [0, 1], rewards, [False, True], columns={"x": rewards})
    rewards[0] = 2.0
    for values in (log.rewards, log.columns["x"], log.offsets):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 3


@settings(max_examples=40, deadline=None)
@given(log=logs(), discount=st.sampled_from([0.0, 0.5, 0.99, 1.0]))
def test_returns_agree_with_a_plain_loop(log: Log, discount: float) -> None:
    to_go = np.zeros(len(log))
    for start, stop in zip(log.offsets[:-1], log.offsets[1:], strict=True):
        total = 0.0
        for row in range(stop - 1, start - 1, -1):
            total = float(log.rewards[row]) + discount * total
            to_go[row] = total
    # Sums of at most 6 numbers of size about 1 in double precision.
    np.testing.assert_allclose(log.returns_to_go(discount), to_go, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        log.returns(discount), to_go[log.offsets[:-1]], rtol=1e-12, atol=1e-12
    )


def test_returns_to_go_of_one_long_episode() -> None:
    n, discount = 5_000, 0.99
    log = Log.from_arrays(np.zeros((n, 1)), np.zeros(n, int), np.ones(n), np.arange(n) == n - 1)
    expected = (1 - discount ** np.arange(n, 0, -1)) / (1 - discount)
    np.testing.assert_allclose(log.returns_to_go(discount), expected, rtol=1e-11)


@pytest.mark.parametrize("discount", [-0.1, 1.1, float("nan")])
def test_impossible_discounts_are_refused(discount: float) -> None:
    for method in (make_log().returns, make_log().returns_to_go):
        with pytest.raises(InputError, match="discount"):
            method(discount)


def test_episode_and_iteration_agree_with_select() -> None:
    log = make_log((3, 1, 4), further=True)
    for index, episode in enumerate(log.episodes()):
        assert_same(episode, log.select([index]))
        assert np.shares_memory(episode.observations, log.observations)
    assert_same(log.episode(-1), log.episode(2))
    for index in (3, -4):
        with pytest.raises(InputError, match=f"no episode {index}"):
            log.episode(index)


def test_select_keeps_the_given_order() -> None:
    log = make_log((3, 1, 4), further=True)
    chosen = log.select([2, 0, -1])
    rows = [4, 5, 6, 7, 0, 1, 2, 4, 5, 6, 7]
    np.testing.assert_array_equal(chosen.offsets, [0, 4, 7, 11])
    np.testing.assert_array_equal(chosen.observations, log.observations[rows])
    np.testing.assert_array_equal(chosen.terminated, log.terminated[rows])
    np.testing.assert_array_equal(chosen.columns["mean"], log.columns["mean"][rows])


@pytest.mark.parametrize("indices", [[], [0.5], [[0]], [3], [-4]])
def test_impossible_selections_are_refused(indices: list[int]) -> None:
    with pytest.raises(InputError, match="episode"):
        make_log((3, 1, 4)).select(indices)


@settings(max_examples=40, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 4), min_size=2, max_size=9),
    fraction=st.floats(0.01, 0.99),
    seed=st.integers(0, 100),
)
def test_split_is_a_partition_of_the_episodes(
    lengths: list[int], fraction: float, seed: int
) -> None:
    n = sum(lengths)
    log = Log.from_arrays(
        np.arange(n)[:, None],
        np.zeros(n, int),
        np.zeros(n),
        np.zeros(n, bool),
        next_observations=np.arange(n)[:, None] + 1,
        offsets=np.append(0, np.cumsum(lengths)),
    )
    first, second = log.split(fraction, seed=seed)
    assert 1 <= first.n_episodes <= log.n_episodes - 1
    assert abs(first.n_episodes - fraction * log.n_episodes) <= 1
    starts = np.concatenate([first.starts, second.starts])[:, 0]
    np.testing.assert_array_equal(np.sort(starts), log.starts[:, 0])
    rows = np.concatenate([first.observations, second.observations])[:, 0]
    np.testing.assert_array_equal(np.sort(rows), np.arange(n))
    again, _ = log.split(fraction, seed=seed)
    assert_same(first, again)


def test_split_depends_on_the_seed_and_says_so() -> None:
    log = make_log((1,) * 20)
    first, second = log.split(0.5, seed=1)
    other, _ = log.split(0.5, seed=2)
    assert first.fingerprint() != other.fingerprint()
    assert first.provenance["notes"] == ["first part of a split by episodes, fraction 0.5, seed 1"]
    assert second.provenance["world"] == "a test"


def test_split_refuses_what_it_cannot_do() -> None:
    with pytest.raises(InputError, match="at least 2 episodes"):
        make_log((5,)).split(0.5, seed=0)
    for fraction in (0.0, 1.0, -1.0, float("nan")):
        with pytest.raises(InputError, match="between 0 and 1"):
            make_log().split(fraction, seed=0)


@settings(max_examples=40, deadline=None)
@given(log=logs(), seed=st.integers(0, 100), data=st.data())
def test_subsample_has_the_number_asked_for(log: Log, seed: int, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, len(log)))
    sample = log.subsample(n, seed=seed)
    assert len(sample) == n == sample.offsets[-1]
    last = sample.offsets[1:] - 1
    assert (sample.terminated[last] | sample.truncated[last]).all()
    whole = {episode.fingerprint() for episode in log.episodes()}
    cut = [e for e in sample.episodes() if e.fingerprint() not in whole]
    assert len(cut) <= 1
    for episode in cut:
        assert episode.truncated[-1]
        assert not episode.terminated.any()
    assert_same(sample, log.subsample(n, seed=seed))


def test_subsample_of_everything_is_the_log() -> None:
    log = make_log((3, 1, 4), further=True)
    assert log.subsample(8, seed=3).fingerprint() == log.fingerprint()


def test_subsample_cuts_the_episode_chosen_last() -> None:
    log = make_log((4,))
    sample = log.subsample(3, seed=0)
    np.testing.assert_array_equal(sample.observations, log.observations[:3])
    np.testing.assert_array_equal(sample.truncated, [False, False, True])
    np.testing.assert_array_equal(sample.terminated, [False, False, False])
    assert not log.truncated.any()


@pytest.mark.parametrize("n", [0, -1, 9])
def test_subsample_refuses_other_numbers(n: int) -> None:
    with pytest.raises(InputError, match="from 1 to 8"):
        make_log((3, 1, 4)).subsample(n, seed=0)


def test_fingerprint_sees_every_part() -> None:
    def build(**changes: object) -> str:
        arguments: dict[str, object] = {
            "observations": [[0.0], [1.0]],
            "actions": [0, 1],
            "rewards": [1.0, 2.0],
            "terminated": [False, True],
            "next_observations": [[1.0], [2.0]],
            "columns": {"x": [1, 2]},
        }
        return Log.from_arrays(**(arguments | changes)).fingerprint()  # type: ignore[arg-type]

    prints = [
        build(),
        build(observations=[[0.5], [1.0]]),
        build(actions=[1, 1]),
        build(rewards=[1.0, 2.5]),
        build(terminated=[False, False]),
        build(truncated=[False, True]),
        build(next_observations=[[1.0], [3.0]]),
        build(columns={"x": [1, 3]}),
        build(columns={"y": [1, 2]}),
        build(action_space=Discrete(3)),
        build(episode=[0, 1]),
    ]
    assert len(set(prints)) == len(prints)
    assert build(provenance={"world": "elsewhere"}) == prints[0]
    assert build(observations=[[-0.0], [1.0]]) == prints[0]


def test_repr_tells_counts_shapes_spaces_and_returns() -> None:
    log = Log.from_arrays(
        np.arange(6.0).reshape(3, 2),
        [0, 1, 1],
        [1.0, 2.0, 4.0],
        [False, True, False],
        [False, False, True],
        np.arange(6.0).reshape(3, 2) + 2,
        columns={"chance": [0.1, 0.2, 0.3]},
    )
    assert repr(log) == (
        "Log of 3 transitions in 2 episodes (1 terminated, 1 truncated)\n"
        "  observations (3, 2) Box(-inf, inf)\n"
        "  actions      (3,) Discrete(2)\n"
        "  returns      mean 3.5, min 3, max 4\n"
        "  columns      chance"
    )
    assert "columns" not in repr(make_log())


def test_a_log_survives_pickling_between_processes() -> None:
    log = make_log(further=True)
    assert_same(pickle.loads(pickle.dumps(log)), log)  # noqa: S301


def test_offsets_and_episode_say_the_same() -> None:
    arrays = ([[0.0], [1.0], [5.0]], [0, 1, 0], [1, 2, 3], [False, False, False])
    successors = [[1.0], [2.0], [6.0]]
    a = Log.from_arrays(*arrays, next_observations=successors, offsets=[0, 2, 3])
    b = Log.from_arrays(*arrays, next_observations=successors, episode=[7, 7, 3])
    assert_same(a, b)


def test_episodes_end_at_the_flags_when_nothing_else_is_said() -> None:
    log = Log.from_arrays(
        [[0.0], [1.0], [5.0], [6.0], [7.0]],
        [0, 1, 0, 0, 0],
        [1, 2, 3, 4, 5],
        [False, True, False, False, False],
        [False, False, True, False, False],
        [[1.0], [2.0], [6.0], [7.0], [8.0]],
    )
    np.testing.assert_array_equal(log.offsets, [0, 2, 3, 5])


@pytest.mark.parametrize(
    "offsets", [[0, 2], [1, 3], [0, 2, 2, 3], [0, 3, 2, 3], [0.0, 3.0], [[0, 3]], [0], [0, 4]]
)
def test_offsets_that_mark_no_episodes_are_refused(offsets: list[int]) -> None:
    with pytest.raises(InputError, match=r"offsets.*from 0 to the number of rows, 3"):
        Log.from_arrays(np.zeros((3, 1)), [0, 0, 0], [0, 0, 0], [False] * 3, offsets=offsets)


def test_episode_and_offsets_together_are_refused() -> None:
    with pytest.raises(InputError, match="both episode and offsets"):
        Log.from_arrays([[0.0]], [0], [0], [True], episode=[0], offsets=[0, 1])


def test_arrays_are_named_as_the_caller_knows_them() -> None:
    with pytest.raises(InputError) as caught:
        Log.from_arrays([[0.0], [np.nan]], [[1.0], [2.0, 3.0]], [1, np.inf], [False, True])
    text = "\n".join(caught.value.problems)
    assert "log: column 'actions': is ragged" in text
    assert "log: column 'observations[0]', row 1: is missing, NaN" in text
    assert "log: column 'rewards', row 1:" in text
    assert "found inf" in text


def test_every_problem_of_given_arrays_is_reported_at_once() -> None:
    with pytest.raises(InputError) as caught:
        Log.from_arrays(
            np.zeros((3, 2, 2)),
            np.array([None, 1, 2], dtype=object),
            ["a", "b", "c"],
            [0, 1, 2],
            offsets=[0, 3],
            action_space=Box(0, 1, (2, 2)),
            provenance={"x": [{1, 2}]},  # type: ignore[list-item]
            columns={"reward": [0, 0, 0], "short": [1], 7: [0, 0, 0]},  # type: ignore[dict-item]
        )
    text = "\n".join(caught.value.problems)
    for part in (
        "'observations': has the shape (3, 2, 2)",
        "'actions': holds Python objects",
        "'rewards': has the dtype <U1",
        "'terminated', row 2: is neither true nor false, found 2",
        "the action space",
        "flatten it to one axis",
        "the provenance cannot be written as JSON",
        "'reward': cannot be the name of a further column",
        "column 7: cannot be the name of a further column",
        "'short': has 1 rows where the others have 3",
    ):
        assert part in text


def test_scalars_instead_of_arrays_are_refused() -> None:
    with pytest.raises(InputError, match=r"terminated = True: give an array of numbers"):
        Log.from_arrays(0.0, 0, 1.0, True)
    with pytest.raises(InputError, match="offsets"):
        Log.from_arrays([[0.0]], [0], 1.0, [True], offsets=[0, 1])


def test_an_empty_log_is_refused() -> None:
    with pytest.raises(InputError, match="the log is empty"):
        Log.from_arrays(np.zeros((0, 2)), np.zeros((0, 1)), [], [])


def test_returns_do_not_depend_on_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    log = make_log((5, 2, 17, 1, 3, 9))
    whole = log.returns(0.9), log.returns_to_go(0.9)
    for rows in (1, 4, 20):
        monkeypatch.setattr(episodes, "BLOCK_ROWS", rows)
        np.testing.assert_array_equal(log.returns(0.9), whole[0])
        np.testing.assert_array_equal(log.returns_to_go(0.9), whole[1])
