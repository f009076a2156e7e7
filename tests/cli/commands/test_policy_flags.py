"""What flags say about a policy reaches every command that reads one: plan, watch, train-online."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box

from nacre.cli import watching
from nacre.cli.policy_flags import PolicyFlags
from nacre.cli.rollout import load_policies
from nacre.errors import InputError
from nacre.learners.online import training
from nacre.logs import write_log
from nacre.policies import Policy, write_policy
from nacre.report import Evidence, write_evidence
from nacre.rollout.plan_record import read_plan
from tests.support.rollout import make_record, play, play_design
from tests.support.rooms import BEST, make_policy

Invoke = Callable[..., Any]
FIXTURES = Path(__file__).parents[2] / "policies" / "fixtures"
HIDDEN = {":serialized:": "gAV"}
ROWS = jnp.asarray(np.random.default_rng(0).normal(size=(40, 4)), jnp.float32)
SPACES = """[observation_space]
type = "box"
low = [-9.0, -9.0, -9.0, -9.0]
high = [9.0, 9.0, 9.0, 9.0]

[action_space]
type = "discrete"
n = 3
"""
DICT = "<class 'dict'>"
BOX = "<class 'gymnasium.spaces.box.Box'>"
COST = 'kind = "transport"\nlearning_weight = 1.0\n[groups]\nkind = "sign"\ncoordinate = 0\n'


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A zip that says neither its activation nor its observations' space in plain text."""
    path = tmp_path / "old.zip"
    hidden = {
        "observation_space": {":type:": BOX} | HIDDEN,
        "policy_kwargs": {":type:": DICT} | HIDDEN,
    }
    with zipfile.ZipFile(FIXTURES / "ppo_discrete.zip") as told, zipfile.ZipFile(path, "w") as new:
        for name in told.namelist():
            content = told.read(name)
            if name == "data":
                content = json.dumps(json.loads(content) | hidden).encode()
            new.writestr(name, content)
    return path


@pytest.fixture
def flags(tmp_path: Path) -> dict[str, Any]:
    """All four: without any of them the zip cannot be read, or is another policy."""
    spaces = tmp_path / "spaces.toml"
    spaces.write_text(SPACES)
    return {
        "--epsilon": 0.25,
        "--normalization": FIXTURES / "ppo_normalized_statistics.npz",
        "--activation": "relu",
        "--signature": spaces,
    }


def lay(flags: dict[str, Any]) -> list[Any]:
    return [part for flag in flags.items() for part in flag]


def read(source: Path, flags: dict[str, Any]) -> Policy:
    return PolicyFlags(**{name.strip("-"): value for name, value in flags.items()}).read(source)


def ask(policy: Any) -> np.ndarray:
    return np.asarray(policy(ROWS).probabilities)


@pytest.fixture
def advice(tmp_path: Path) -> Path:
    folder = tmp_path / "advice"
    (folder / "policy").mkdir(parents=True)
    (folder / "decision.json").write_text(json.dumps(make_record().as_json()))
    write_evidence(
        Evidence(returns=play(np.zeros(200, bool)).returns(0.8)), folder / "evidence.npz"
    )
    write_policy(make_policy(BEST), folder / "policy" / "new.safetensors")
    return folder


def test_each_flag_counts(source: Path, flags: dict[str, Any]) -> None:
    whole = read(source, flags)
    for left_out in flags:
        others = {name: value for name, value in flags.items() if name != left_out}
        if left_out in ("--activation", "--signature"):
            with pytest.raises(InputError, match=left_out.strip("-")):
                read(source, others)
        else:
            assert np.abs(ask(read(source, others)) - ask(whole)).max() > 1e-4, left_out
    assert whole.observation_space == Box(-9.0, 9.0, (4,))


def test_plan_keeps_the_policy_as_the_flags_say(
    advice: Path, source: Path, flags: dict[str, Any], invoke: Invoke, tmp_path: Path
) -> None:
    out = tmp_path / "plan"
    done = invoke("plan", advice, "--policy", source, *lay(flags), "--out", out, "--quiet")
    assert done.code == 0, done.lines
    kept = load_policies(read_plan(out), out, {})["old"]
    assert kept is not None
    np.testing.assert_allclose(ask(kept), ask(read(source, flags)), atol=1e-6)
    assert (out / "policy" / "old.safetensors").is_file()
    # Asked again with another share of exploration, that one counts.
    other = load_policies(read_plan(out), out, {}, PolicyFlags(0.5))["old"]
    assert other is not None
    np.testing.assert_allclose(ask(other), ask(read(source, flags | {"--epsilon": 0.5})), atol=1e-6)


def test_watch_looks_with_the_policy_as_the_flags_say(
    advice: Path,
    source: Path,
    flags: dict[str, Any],
    invoke: Invoke,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out, live = tmp_path / "plan", tmp_path / "live.parquet"
    assert invoke("plan", advice, "--out", out, "--quiet").code == 0
    found = read_plan(out)
    write_log(play_design(found.design(found.stages[0]), 20), live)
    jobs: list[watching.Watch] = []

    def take_look(job: watching.Watch) -> str:
        jobs.append(job)
        return "keep collecting"

    monkeypatch.setattr(watching, "take_look", take_look)
    given = ("watch", "--plan", out, "--log", live, "--old-policy", source, "--new-policy", source)
    assert invoke(*given, *lay(flags)).code == 0
    old, new = jobs[0].policies["old"], jobs[0].policies["new"]
    assert old is not None
    assert new is not None
    np.testing.assert_array_equal(ask(old), ask(read(source, flags)))
    # Exploration and statistics are the old policy's own.
    shared = {name: flags[name] for name in ("--activation", "--signature")}
    np.testing.assert_array_equal(ask(new), ask(read(source, shared)))


def test_train_online_leaves_the_policy_as_the_flags_say(
    source: Path,
    flags: dict[str, Any],
    invoke: Invoke,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cost = tmp_path / "cost.toml"
    cost.write_text(COST)
    left: list[Any] = []

    def train(*arguments: Any, leaving: Any, **options: Any) -> Any:
        left.append(leaving)
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "train_online", train)
    command = (
        "train-online",
        "CartPole-v1",
        "--method",
        "net",
        "--out",
        tmp_path / "n.safetensors",
    )
    done = invoke(*command, "--policy", source, "--cost", cost, *lay(flags))
    assert left, done.lines
    np.testing.assert_array_equal(ask(left[0].old_policy), ask(read(source, flags)))


@pytest.mark.parametrize(
    ("flag", "value", "told"),
    [
        ("--epsilon", "2", "epsilon 2.0: no probability; give a number from 0 to 1"),
        ("--activation", "softsign", "'softsign'"),
        ("--normalization", "nowhere.npz", "nowhere.npz"),
        ("--signature", "nowhere.toml", "nowhere.toml: cannot be read as TOML"),
    ],
)
@pytest.mark.parametrize("command", ["plan", "watch", "train-online"])
def test_a_flag_that_cannot_be_is_named(
    command: str,
    flag: str,
    value: str,
    told: str,
    advice: Path,
    source: Path,
    flags: dict[str, Any],
    invoke: Invoke,
    tmp_path: Path,
) -> None:
    out, live, cost = tmp_path / "plan", tmp_path / "live.parquet", tmp_path / "cost.toml"
    cost.write_text(COST)
    given: dict[str, tuple[Any, ...]] = {
        "plan": ("plan", advice, "--policy", source, "--out", out),
        "watch": ("watch", "--plan", out, "--log", live, "--old-policy", source),
        "train-online": (
            "train-online",
            "CartPole-v1",
            "--method",
            "net",
            "--out",
            out,
            "--policy",
            source,
            "--cost",
            cost,
        ),
    }
    if command == "watch":
        assert invoke("plan", advice, "--out", out, "--quiet").code == 0
        write_log(play(np.zeros(20, bool)), live)
    done = invoke(*given[command], *lay(flags | {flag: value}))
    assert done.code == 2, done.lines
    assert told in done.err
