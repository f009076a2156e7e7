"""A configuration in TOML: what is written is read again, and what is wrong is named."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.advice.config import AdviceConfig, add_cost_factors, suggest_config
from nacre.advice.config_file import build_changes, describe_config
from nacre.diagnostics.log_checks import LogCheckConfig
from nacre.errors import InputError
from nacre.estimators.dynamics import DynamicsConfig
from nacre.estimators.fitted_q import FittedQ
from nacre.estimators.model import Model
from nacre.estimators.one_step import OneStep
from nacre.estimators.tabular import Tabular
from nacre.inference.paper_rule import PaperRule
from nacre.inference.rule import BoundsRule
from nacre.learners import ActorConfig, LearnerConfig, OccupancyConfig, Plateau, StoppingRule
from nacre.learners.net_actor_critic.learner import NetActorCritic
from nacre.learners.scale_noise import ScaleNoise
from nacre.learners.tabular_planner import TabularPlanner
from nacre.logs.documents import parse_document
from nacre.training.backup import CriticConfig
from nacre.training.evaluation_config import EvaluationConfig
from tests.support.advice import make_quick_learner, suggest_quick
from tests.support.rooms import make_rooms_log

WRITTEN = """
confidence = 0.9
learning_share = 0.4
discount = 0.97
rule = "paper"

[checks]
epsilon = 0.1

[[learners]]
kind = "net_actor_critic"
kl_weight = 0.1

[learners.settings]
epochs = 5
stopping = "none"

[learners.settings.critics]
hidden = [32, 32]

[[learners]]
kind = "scale_noise"

[[estimators]]
kind = "fitted_q"
sets = 3
sizes = [64, 128]

[[estimators]]
kind = "one_step"
folds = 3
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "advice.toml"
    path.write_text(text, encoding="utf-8")
    return path


def read(folder: Path, text: str) -> AdviceConfig:
    return AdviceConfig.from_toml(write(folder, text))


def complain(folder: Path, text: str) -> list[str]:
    """What is said of a file, without its name."""
    path = write(folder, text)
    with pytest.raises(InputError) as caught:
        AdviceConfig.from_toml(path)
    assert all(problem.startswith(f"{path}: ") for problem in caught.value.problems)
    return [problem.removeprefix(f"{path}: ") for problem in caught.value.problems]


def test_a_file_changes_what_it_names_and_nothing_else(tmp_path: Path) -> None:
    config = read(tmp_path, WRITTEN)
    plain = NetActorCritic(0.1)
    critics = dataclasses.replace(plain.settings.critics, hidden=(32, 32))
    learner = dataclasses.replace(
        plain,
        settings=dataclasses.replace(plain.settings, epochs=5, stopping=None, critics=critics),
    )
    assert config == AdviceConfig(
        learners=(learner, ScaleNoise()),
        estimators=(FittedQ(sets=3, sizes=(64, 128)), OneStep(folds=3)),
        rule=PaperRule(),
        confidence=0.9,
        learning_share=0.4,
        discount=0.97,
        checks=LogCheckConfig(epsilon=0.1),
    )


def test_names_alone_are_parts_as_they_come(tmp_path: Path) -> None:
    text = 'learners = ["tabular_planner"]\nestimators = ["tabular"]\n[rule]\nkind = "bounds"\n'
    config = read(tmp_path, text)
    assert (config.learners, config.estimators) == ((TabularPlanner(),), (Tabular(),))
    assert config.rule == BoundsRule()
    assert read(tmp_path, "learners = []\n").learners == ()


def test_what_is_not_said_is_the_base_s(tmp_path: Path) -> None:
    base = suggest_config(make_rooms_log(), 0.8)
    config = AdviceConfig.from_toml(write(tmp_path, "confidence = 0.9\n"), base)
    assert config == dataclasses.replace(base, confidence=0.9)
    assert read(tmp_path, "") == AdviceConfig()


def test_a_table_may_be_of_another_class_than_the_default(tmp_path: Path) -> None:
    head = '[[learners]]\nkind = "net_actor_critic"\n[learners.settings'
    (plain,) = read(tmp_path, f"{head}.stopping]\nshare = 0.1\n").learners
    assert plain.settings.stopping == Plateau(8, 0.1)  # type: ignore[attr-defined]
    text = f'{head}.stopping]\nkind = "stopping_rule"\ngrowth_rate = 2\n'
    (other,) = read(tmp_path, text).learners
    assert other.settings.stopping == StoppingRule(growth_rate=2.0)  # type: ignore[attr-defined]
    text = f"{head}]\nactor = {{ discounted_states = true }}\n{head}.occupancy]\npolyak = 0.9\n"
    text = text.replace(f"{head}.occupancy]", "[learners.settings.occupancy]")
    (third,) = read(tmp_path, text).learners
    assert third.settings.occupancy == OccupancyConfig(polyak=0.9)  # type: ignore[attr-defined]


def read_again(config: AdviceConfig) -> list[AdviceConfig]:
    """By the text of a file, and by what a record holds."""
    documents = parse_document(config.as_toml(), "advice.toml"), json.loads(write_json(config))
    return [dataclasses.replace(AdviceConfig(), **build_changes(one)) for one in documents]


def write_json(config: AdviceConfig) -> str:
    return json.dumps(config.as_json(), allow_nan=False)


@pytest.mark.parametrize(
    "config",
    [
        AdviceConfig(),
        suggest_config(make_rooms_log()),
        suggest_quick(),
        add_cost_factors(AdviceConfig(), (5.0,)),
        AdviceConfig(learners=(), rule=PaperRule("points")),
        AdviceConfig(learners=(make_quick_learner(),), estimators=(Tabular(name='a "b" \x7f'),)),
    ],
)
def test_what_is_written_is_read_again(config: AdviceConfig, tmp_path: Path) -> None:
    assert read_again(config) == [config, config]
    assert read(tmp_path, config.as_toml()).as_toml() == config.as_toml()


COUNTS = st.integers(1, 300)
SHARES = st.floats(0.01, 0.99)
CRITICS = st.builds(
    CriticConfig,
    n_critics=COUNTS,
    hidden=st.lists(COUNTS, max_size=3).map(tuple),
    layer_norm=st.booleans(),
    learning_rate=st.floats(1e-9, 1.0),
    max_gradient_norm=st.none() | st.floats(0.1, 10.0),
    backup=st.sampled_from(["min", "mean", "own"]),
)
EVALUATIONS = st.builds(
    EvaluationConfig,
    critics=CRITICS,
    epochs=COUNTS,
    combine=st.sampled_from(["min", "mean"]) | SHARES,
    averaged=st.booleans(),
)
STOPPING = (
    st.none()
    | st.builds(Plateau, least_epochs=COUNTS, share=SHARES)
    | st.builds(StoppingRule, least_epochs=COUNTS, growth_rate=SHARES)
)
SETTINGS = st.builds(
    LearnerConfig,
    critics=CRITICS,
    actor=st.builds(ActorConfig, averaging=st.none() | SHARES, discounted_states=st.just(True)),
    occupancy=st.none() | st.builds(OccupancyConfig, polyak=SHARES),
    evaluation=EVALUATIONS,
    stopping=STOPPING,
    form=st.sampled_from(["apart", "net"]),
)
LEARNERS = (
    st.builds(NetActorCritic, kl_weight=SHARES, noise=SHARES, settings=SETTINGS)
    | st.builds(ScaleNoise, factor=SHARES)
    | st.builds(TabularPlanner, caution=SHARES)
)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9)
ESTIMATORS = (
    st.builds(Tabular, replicates=st.integers(100, 900), name=NAMES)
    | st.builds(FittedQ, groups=st.integers(4, 90), ridge=SHARES, name=NAMES)
    | st.builds(OneStep, propensities=st.sampled_from(["known", "logged"]), name=NAMES)
    | st.builds(Model, dynamics=st.builds(DynamicsConfig, epochs=COUNTS), name=NAMES)
)
CONFIGS = st.builds(
    AdviceConfig,
    learners=st.lists(LEARNERS, max_size=3, unique_by=lambda one: one.name).map(tuple),
    estimators=st.lists(ESTIMATORS, min_size=1, max_size=3, unique_by=lambda one: one.name).map(
        tuple
    ),
    rule=st.builds(BoundsRule) | st.builds(PaperRule, name=NAMES),
    confidence=st.floats(0.51, 0.99),
    learning_share=SHARES,
    discount=SHARES,
    look=COUNTS,
    looks=COUNTS,
    checks=st.builds(LogCheckConfig, epsilon=st.none() | SHARES),
)


@settings(max_examples=60, deadline=None)
@given(CONFIGS)
def test_any_configuration_is_read_again(config: AdviceConfig) -> None:
    assert read_again(config) == [config, config]


PROBLEMS = [
    (
        "confidance = 0.9",
        "confidance = 0.9: an advice configuration has no such field; did you mean confidence?",
    ),
    ("confidence = 'high'", "confidence = 'high': must be a number"),
    ("confidence = 2", "confidence = 2.0: must lie between 0.5 and 1"),
    ("look = 1.5", "look = 1.5: must be a whole number"),
    ("rule = 'papr'", "rule: no rule is called 'papr'; did you mean paper?"),
    ("rule = 3", "rule = 3: must be the name of a rule, or a table with its kind"),
    ("[checks]\nepsilon = 2", "checks.epsilon 2.0: no probability; give a number from 0 to 1"),
    ("checks = 'strict'", "checks = 'strict': must be a table"),
    ("learners = 'none'", "learners = 'none': must be a list; write [[learners]] above each of"),
    ("[learners]\nkind = 'scale_noise'", "must be a list; write [[learners]] above each of them"),
    ("estimators = []", "estimators: at least one is needed"),
    ("[[learners]]\nfactor = 0.1", "learners[0]: has no kind; known are net_actor_critic, one"),
    ("[[learners]]\nkind = 1", "learners[0]: kind = 1: must be text; known are net_actor_critic"),
    (
        "[[learners]]\nkind = 'net_actor'",
        "learners[0]: no learner is called 'net_actor'; did you mean net_actor_critic?",
    ),
    ("estimators = ['xyz']", "no estimator is called 'xyz'; known are tabular, one_step, fitted_q"),
    (
        "[[learners]]\nkind = 'net_actor_critic'\nkl_wait = 0.1",
        "learners[0].kl_wait = 0.1: net_actor_critic has no such field; did you mean kl_weight?",
    ),
    (
        "[[learners]]\nkind = 'scale_noise'\nx = 1",
        "learners[0].x = 1: scale_noise has no such field; known are factor",
    ),
    (
        "learners = [{ kind = 'net_actor_critic', kl_weight = 'much' }]",
        "learners[0].kl_weight = 'much': must be a number",
    ),
    (
        "learners = [{ kind = 'net_actor_critic', kl_weight = -1 }]",
        "learners[0].kl_weight = -1.0: must be finite and not negative",
    ),
    (
        "learners = ['scale_noise', 'scale_noise']",
        "learners: 'noise-0.3' is there twice; each needs a name",
    ),
    (
        "learners = [{ kind = 'scale_noise', name = 'mine' }]",
        "learners[0].name = 'mine': its settings name it 'noise-0.3'; leave it out",
    ),
    (
        "estimators = [{ kind = 'fitted_q', sets = 0 }]",
        "estimators[0].sets = 0: give at least 2",
    ),
    (
        "estimators = [{ kind = 'fitted_q', sizes = [8, 'a'] }]",
        "estimators[0].sizes = [8, 'a']: must be a list of whole numbers",
    ),
    (
        "learners = [{ kind = 'net_actor_critic', settings = { critics = { backup = 'max' } } }]",
        "learners[0].settings.critics.backup = 'max': must be one of min, mean, own",
    ),
    (
        "estimators = ['tabular', { kind = 'model', dynamics = { members = 1 } }]",
        "estimators[1].dynamics.members = 1: give at least 2",
    ),
    (
        "learners = [{ kind = 'net_actor_critic', settings = { stopping = { kind = 'stop' } } }]",
        "learners[0].settings.stopping.kind = 'stop': known are stopping_rule, plateau",
    ),
    ("confidence = ", "end of document: not valid TOML: Invalid value"),
]


@pytest.mark.parametrize(("text", "problem"), PROBLEMS)
def test_what_is_wrong_in_a_file_is_named(tmp_path: Path, text: str, problem: str) -> None:
    (found,) = complain(tmp_path, text)
    assert problem in found


def test_every_problem_is_named_at_once(tmp_path: Path) -> None:
    text = "confidence = 'a'\ndiscont = 1\nlearners = [{ kind = 'x' }, { y = 1 }]\nrule = 'z'\n"
    assert len(complain(tmp_path, text)) == 5


def test_a_file_that_is_not_there_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist; give the path of an advice config"):
        AdviceConfig.from_toml(tmp_path / "absent.toml")


@dataclass(frozen=True)
class Unregistered(BoundsRule):
    """A rule of this process alone."""


def test_what_no_file_can_say_is_refused() -> None:
    config = AdviceConfig(rule=Unregistered())
    assert describe_config(config)["rule"]["kind"] == "Unregistered"
    with pytest.raises(InputError, match=r"no file form \(config: rule: no rule is called 'Unreg"):
        config.as_toml()
    with pytest.raises(InputError, match=r"no file form \(<object .* has no form in TOML"):
        AdviceConfig(rule=PaperRule(object())).as_toml()  # type: ignore[arg-type]
    listed: Any = [8]
    with pytest.raises(InputError, match="what a file says of it is another one"):
        AdviceConfig(learners=(with_hidden(listed),)).as_toml()


def with_hidden(hidden: tuple[int, ...]) -> NetActorCritic:
    plain = NetActorCritic()
    critics = dataclasses.replace(plain.settings.critics, hidden=hidden)
    return dataclasses.replace(plain, settings=dataclasses.replace(plain.settings, critics=critics))
