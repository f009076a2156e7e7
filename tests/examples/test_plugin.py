"""The example package: installed, its six parts are found by name and take part in an advice."""

from __future__ import annotations

import dataclasses
import json
import math
import tomllib
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from nacre.advice import config as advice_config
from nacre.advice.config import AdviceConfig
from nacre.cli import app as cli
from nacre.errors import InputError
from nacre.estimators import ESTIMATORS, Problem
from nacre.estimators.base import report_nothing
from nacre.inference import RULES
from nacre.inference.evidence import Circumstances
from nacre.inference.rule import apply_rule
from nacre.learners import LEARNERS
from nacre.logs import LOG_FORMATS, Log, read_log, write_log
from nacre.plugins.registry import Registry
from nacre.policies import TabularPolicy, read_policy, write_policy
from nacre.policies.formats.registry import POLICY_FORMATS
from nacre.report import SECTIONS
from nacre.simulators import FiniteWorld
from tests.support.estimates import make_estimate, make_evidence

PACKAGE = Path(__file__).parents[2] / "examples" / "plugin"
PROJECT = tomllib.loads((PACKAGE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REGISTRIES: tuple[Registry[Any], ...] = (
    ESTIMATORS,
    LEARNERS,
    RULES,
    LOG_FORMATS,
    POLICY_FORMATS,
    SECTIONS,
)
DISCOUNT = 0.9
OLD = np.array([[0.7, 0.3], [0.3, 0.7]])
COST = """\
kind = "transport"
learning_weight = 0.05
transaction_weight = 0.01
[groups]
kind = "indices"
sets = [[0], [1]]
"""
FILE = """\
rule = "majority"
[[learners]]
kind = "monte_carlo_greedy"
share = 0.25
[[estimators]]
kind = "importance_sampling"
least_effective = 30
"""


def make_world() -> FiniteWorld:
    """Two states, each with one good action; every second step is the last."""
    return FiniteWorld(
        transition=np.full((2, 2, 2), 0.5),
        reward=np.array([[0.0, 1.0], [1.0, 0.0]]),
        discount=DISCOUNT,
        start=np.array([0.5, 0.5]),
        termination=np.full((2, 2), 0.5),
        reward_noise=0.1,
    )


def make_log(n_transitions: int = 1200, seed: int = 101) -> Log:
    return make_world().sample_log(OLD, n_transitions, seed=seed, horizon=60)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the package as a package manager does; afterwards nobody knows of it any more."""
    folder = tmp_path / "site-packages" / "nacre_example-0.1.0.dist-info"
    folder.mkdir(parents=True)
    name, version = PROJECT["name"], PROJECT["version"]
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    groups = (
        f"[{group}]\n" + "".join(f"{entry} = {value}\n" for entry, value in entries.items())
        for group, entries in PROJECT["entry-points"].items()
    )
    (folder / "entry_points.txt").write_text("".join(groups))
    monkeypatch.syspath_prepend(str(PACKAGE / "src"))
    monkeypatch.syspath_prepend(str(folder.parent))
    for registry in REGISTRIES:
        # As in a process that has asked for nothing yet; undone with the fixture.
        monkeypatch.setattr(registry, "_theirs", None)
        monkeypatch.setattr(registry, "_loaded", {})


def suggest_foreign_learners(log: Log, discount: float = 0.99) -> AdviceConfig:
    """What is suggested for the log, without our own learners: they would do better."""
    config = SUGGEST(log, discount)
    foreign = (one for one in config.learners if one.name in LEARNERS.foreign_names)
    return dataclasses.replace(config, learners=tuple(foreign))


SUGGEST = advice_config.suggest_config


def test_every_part_is_one_file_and_one_line() -> None:
    entries = PROJECT["entry-points"]
    assert set(entries) == {registry.group for registry in REGISTRIES}
    files = {path.stem for path in (PACKAGE / "src" / "nacre_example").glob("*.py")}
    named = [value for lines in entries.values() for value in lines.values()]
    assert len(named) == len(REGISTRIES)
    assert {value.split(":")[0].removeprefix("nacre_example.") for value in named} == (
        files - {"__init__"}
    )


@pytest.mark.usefixtures("installed")
def test_all_six_take_part_in_an_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log, out = make_log(), tmp_path / "advice"
    write_log(log, tmp_path / "log.jsonl")
    write_policy(TabularPolicy.from_probabilities(OLD), tmp_path / "old.json")
    (tmp_path / "cost.toml").write_text(COST)
    assert len(read_log(tmp_path / "log.jsonl")) == len(log)
    assert np.asarray(read_policy(tmp_path / "old.json").table) == pytest.approx(OLD)  # type: ignore[attr-defined]
    monkeypatch.setattr(advice_config, "suggest_config", suggest_foreign_learners)
    files = {"--log": "log.jsonl", "--policy": "old.json", "--cost": "cost.toml"}
    given = [text for option, name in files.items() for text in (option, str(tmp_path / name))]
    rest = ["--discount", str(DISCOUNT), "--rule", "majority", "--out", str(out)]
    with pytest.raises(SystemExit) as ended:
        cli.run(["advise", *given, *rest, "--json", "--quiet"])
    printed = capsys.readouterr()
    assert ended.value.code == 0, printed.err
    record = json.loads(printed.out)
    assert record["rule"] == "majority"
    assert "monte_carlo_greedy" in [one["name"] for one in record["config"]["learners"]]
    (learned,) = (one for one in record["candidates"] if one["name"] == "monte_carlo_greedy")
    (estimate,) = (one for one in learned["estimates"] if one["estimator"] == "importance_sampling")
    assert estimate["informative"]
    truth = _true_gain(0.5 * OLD + 0.5 * np.eye(2)[[1, 0]])
    assert estimate["low"] < truth < estimate["high"]
    assert "estimators were informative about" in (out / "report.html").read_text(encoding="utf-8")
    assert record["verdict"] == "switch"


def test_afterwards_nobody_knows_of_it() -> None:
    assert [registry.foreign_names for registry in REGISTRIES] == [()] * len(REGISTRIES)


def _true_gain(new: np.ndarray) -> float:
    """In closed form: every step is alike, and half of them are followed by another."""
    value = [float(table[0, 1] + table[1, 0]) / 2 for table in (new, OLD)]
    return (value[0] - value[1]) / (1.0 - DISCOUNT / 2)


@pytest.mark.usefixtures("installed")
def test_its_parts_are_configured_in_a_file_as_ours_are(tmp_path: Path) -> None:
    path = tmp_path / "advice.toml"
    path.write_text(FILE, encoding="utf-8")
    config = AdviceConfig.from_toml(path)
    (learner,), (estimator,) = config.learners, config.estimators
    assert learner == LEARNERS.find("monte_carlo_greedy")(share=0.25)  # type: ignore[call-arg]
    assert estimator == ESTIMATORS.find("importance_sampling")(least_effective=30.0)  # type: ignore[call-arg]
    assert config.rule == RULES.find("majority")()
    record = config.as_json()
    kinds = [record[name][0]["kind"] for name in ("learners", "estimators")]
    assert [*kinds, record["rule"]] == ["monte_carlo_greedy", "importance_sampling", "majority"]
    for one in (config, AdviceConfig(), AdviceConfig(rule=config.rule)):
        path.write_text(one.as_toml(), encoding="utf-8")
        assert AdviceConfig.from_toml(path) == one
    path.write_text(FILE.replace("share", "shares"), encoding="utf-8")
    with pytest.raises(InputError, match="monte_carlo_greedy has no such field; did you mean sha"):
        AdviceConfig.from_toml(path)


@pytest.mark.usefixtures("installed")
def test_importance_sampling_is_right_where_enough_episodes_carry_the_weight() -> None:
    estimator = ESTIMATORS.find("importance_sampling")()
    gaps = []
    for seed in range(100, 120):
        log = make_log(seed=seed)
        problem = Problem(log, TabularPolicy.from_probabilities(OLD), log.starts, DISCOUNT)
        assert estimator.applies(problem) == ""
        key = jax.random.key(0)
        prepared = estimator.prepare(key, problem, report_nothing)
        new = 0.75 * OLD + 0.25 * np.eye(2)[[1, 0]]
        candidate = TabularPolicy.from_probabilities(new)
        estimate = estimator.estimate(key, problem, prepared, candidate, report_nothing)
        assert estimate.informative
        gaps.append((estimate.gain - _true_gain(new)) / estimate.standard_error)
    # Twenty standard normal numbers: their mean stays within 4/√20, their spread near one.
    assert abs(np.mean(gaps)) < 4 / math.sqrt(20)
    assert 0.5 < np.std(gaps) < 1.6


@pytest.mark.usefixtures("installed")
def test_importance_sampling_says_nothing_where_it_cannot() -> None:
    estimator, key = ESTIMATORS.find("importance_sampling")(), jax.random.key(0)
    old, log = TabularPolicy.from_probabilities(OLD), make_log(60)
    problem = Problem(log, old, log.starts, DISCOUNT)
    prepared = estimator.prepare(key, problem, report_nothing)
    best = TabularPolicy.from_probabilities(np.eye(2)[[1, 0]])
    assert "carry the weight" in _abstain(estimator, problem, prepared, best)
    assert "do not differ" in _abstain(
        dataclasses.replace(estimator, least_effective=2.0),  # type: ignore[type-var]
        problem,
        prepared,
        old,
    )
    cut = make_world().sample_log(OLD, 60, seed=101, horizon=1)
    assert "cut off" in estimator.applies(Problem(cut, old, cut.starts, DISCOUNT))
    with pytest.raises(InputError, match="least_effective = 1"):
        type(estimator)(least_effective=1.0)  # type: ignore[call-arg]


def _abstain(estimator: Any, problem: Problem, prepared: Any, candidate: TabularPolicy) -> str:
    found = estimator.estimate(jax.random.key(0), problem, prepared, candidate, report_nothing)
    assert not found.informative
    return str(found.reason)


@pytest.mark.usefixtures("installed")
def test_the_majority_decides_where_all_would_not() -> None:
    rule, circumstances = RULES.find("majority")(), Circumstances(0.95, 100)
    two_of_three = make_evidence(make_estimate(9.0), make_estimate(8.0), make_estimate(-3.0))
    assert rule([two_of_three], circumstances).verdict == "switch"
    assert RULES.find("bounds")()([two_of_three], circumstances).verdict == "undecided"
    one_of_two = make_evidence(make_estimate(9.0), make_estimate(-3.0))
    assert rule([one_of_two], circumstances).verdict == "undecided"
    assert rule([make_evidence(make_estimate(-9.0))], circumstances).verdict == "keep"
    assert rule([make_evidence()], circumstances).verdict == "undecided"
    forbidden = Circumstances(0.95, 100, forbidden="the log is not the old policy's own")
    assert apply_rule(rule, [two_of_three], forbidden).verdict == "undecided"
