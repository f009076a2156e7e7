"""From what other libraries wrote to a verdict.

The policies were written by Stable-Baselines3, torch and scikit-learn, as
`scripts/make_sb3_fixtures.py` and `scripts/make_onnx_fixtures.py` say. Each makes a log of its own,
which Minari, h5py, pandas or pyarrow writes, and both go through the command line.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import h5py
import jax
import jax.numpy as jnp
import minari
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from gymnasium import spaces
from minari.data_collector import EpisodeBuffer

from nacre.policies import read_policy
from nacre.policies.policy import Policy
from tests.support.advice import advise_quickly, make_quick_learner

FIXTURES = Path(__file__).parent / "policies" / "fixtures"
N_EPISODES, LENGTH, SIZE = 12, 15, 4
ARMS = ("left", "middle", "right")
DISCRETE_COST = 'kind = "transport"\nlearning_weight = 1.0\n[groups]\nkind = "halves"\n'
VECTOR_COST = 'kind = "transport"\nlearning_weight = 1.0\n[groups]\nkind = "sign"\n'

Arrays = dict[str, np.ndarray]


def make_arrays(policy: Policy) -> Arrays:
    """Episodes of a walk that does not heed the policy's actions; the rewards do."""
    draw = np.random.default_rng(0)
    walks = draw.normal(size=(N_EPISODES, LENGTH + 1, SIZE)).cumsum(axis=1).astype(np.float32) / 2
    rows = walks[:, :-1].reshape(-1, SIZE)
    actions = np.asarray(policy(jnp.asarray(rows)).sample(jax.random.key(0)))
    pushed = actions.reshape(len(rows), -1)[:, 0]
    ends = np.arange(len(rows)) % LENGTH == LENGTH - 1
    return {
        "observations": rows,
        "actions": actions,
        "rewards": (pushed * np.sign(rows[:, 0]) + draw.normal(size=len(rows))).astype(np.float32),
        "next_observations": walks[:, 1:].reshape(-1, SIZE),
        "terminals": ends & (np.arange(len(rows)) < LENGTH),
        "timeouts": ends & (np.arange(len(rows)) >= LENGTH),
    }


def write_minari(arrays: Arrays, policy: Policy, folder: Path) -> list[str]:
    """A dataset by Minari, found by its name."""
    buffers = []
    for first in range(0, N_EPISODES * LENGTH, LENGTH):
        part = {name: values[first : first + LENGTH] for name, values in arrays.items()}
        buffers.append(
            EpisodeBuffer(
                observations=np.concatenate([part["observations"], part["next_observations"][-1:]]),
                actions=part["actions"],
                rewards=list(part["rewards"]),
                terminations=list(part["terminals"]),
                truncations=list(part["timeouts"]),
            )
        )
    with warnings.catch_warnings():
        # Minari recommends to name an environment, which this dataset does not have.
        warnings.simplefilter("ignore")
        minari.create_dataset_from_buffers(
            "round/trip-v0",
            buffers,
            observation_space=spaces.Box(-np.inf, np.inf, (SIZE,), np.float32),
            action_space=policy.action_space,
            algorithm_name="a fixture",
        )
    return ["--log", "minari:round/trip-v0"]


def write_hdf5(arrays: Arrays, policy: Policy, folder: Path) -> list[str]:
    """The layout of D4RL by h5py, with what nobody reads."""
    with h5py.File(folder / "log.hdf5", "w") as file:
        for name, values in arrays.items():
            file[name] = values
        file["infos/qpos"] = np.zeros((3, 2))
    return ["--log", str(folder / "log.hdf5")]


def write_csv(arrays: Arrays, policy: Policy, folder: Path) -> list[str]:
    """A table by pandas, with named columns and texts for actions."""
    table = pd.DataFrame(arrays["observations"], columns=["speed", "load", "heat", "age"])
    following = pd.DataFrame(arrays["next_observations"], columns=[f"next_{c}" for c in table])
    table["day"] = [f"day {i // LENGTH}" for i in range(len(table))]
    table["arm"] = pd.Categorical.from_codes(arrays["actions"], categories=ARMS)
    table["gain"], table["over"] = arrays["rewards"], arrays["terminals"]
    table["weather"] = "sun"
    table.join(following).to_csv(folder / "log.csv", index=False)
    (folder / "map.toml").write_text(
        'episode = "day"\nobservation = ["speed", "load", "heat", "age"]\naction = "arm"\n'
        'next_observation = ["next_speed", "next_load", "next_heat", "next_age"]\n'
        'reward = "gain"\nterminated = "over"\nignore = ["weather"]\n'
        f"[labels]\naction = {list(ARMS)}\n"
    )
    return ["--log", str(folder / "log.csv"), "--columns", str(folder / "map.toml")]


def write_parquet(arrays: Arrays, policy: Policy, folder: Path) -> list[str]:
    """A table of lists by pyarrow."""
    columns = {name: pa.array(values.tolist()) for name, values in arrays.items()}
    pq.write_table(pa.table(columns), folder / "log.parquet")
    return ["--log", str(folder / "log.parquet")]


Writer = Callable[[Arrays, Policy, Path], list[str]]
slow = pytest.mark.slow


@pytest.mark.parametrize(
    ("file", "write"),
    [
        pytest.param("ppo_discrete.zip", write_minari, id="Minari and PPO"),
        pytest.param("sklearn.onnx", write_csv, id="pandas and scikit-learn"),
        pytest.param("ppo_box.zip", write_hdf5, id="D4RL and PPO of vectors", marks=slow),
        pytest.param("torch_gaussian.onnx", write_parquet, id="pyarrow and torch", marks=slow),
        pytest.param("a2c_linear.zip", write_hdf5, id="D4RL and A2C", marks=slow),
        pytest.param("sac.zip", write_minari, id="Minari and SAC", marks=slow),
        pytest.param("td3.zip", write_hdf5, id="D4RL and TD3", marks=slow),
        pytest.param("dqn.zip", write_csv, id="pandas and DQN", marks=slow),
    ],
)
def test_a_verdict_from_what_others_wrote(
    file: str,
    write: Writer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))
    policy = read_policy(FIXTURES / file)
    arrays = make_arrays(policy)
    given = write(arrays, policy, tmp_path)
    cost = tmp_path / "cost.toml"
    cost.write_text(DISCRETE_COST if policy.signature.discrete_actions else VECTOR_COST)
    found = advise_quickly(monkeypatch, capsys, *given, "--policy", FIXTURES / file, "--cost", cost)
    assert found["log"]["transitions"] == N_EPISODES * LENGTH
    assert found["log"]["episodes"] == N_EPISODES
    # The policy made the log: had it or its actions been read wrongly, it would show.
    assert found["log_checks"]["on_policy"]["on_policy"]


@slow
@pytest.mark.parametrize(("file", "write"), [("td3.zip", write_hdf5), ("dqn.zip", write_csv)])
def test_policies_that_are_certain_can_be_left(
    file: str,
    write: Writer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    policy = read_policy(FIXTURES / file)
    given = write(make_arrays(policy), policy, tmp_path)
    cost = tmp_path / "cost.toml"
    cost.write_text(DISCRETE_COST if policy.signature.discrete_actions else VECTOR_COST)
    found = advise_quickly(
        monkeypatch,
        capsys,
        *given,
        "--policy",
        FIXTURES / file,
        "--cost",
        cost,
        learners=(make_quick_learner(0.1),),
    )
    (candidate,) = found["candidates"]
    assert candidate["name"] == "nac-0.1"
    assert np.isfinite(candidate["cost"]["total"])
    # Weights of a policy without noise are none.
    informative = {one["estimator"] for one in candidate["estimates"] if one["informative"]}
    assert "doubly_robust" not in informative
