"""Configurations: the paper's tables value by value, our own, and what is refused."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from nacre.errors import InputError
from nacre.learners import (
    ActorConfig,
    LearnerConfig,
    OccupancyConfig,
    PaperSettings,
    StoppingRule,
    default,
    paper,
)
from nacre.training.backup import CriticConfig
from nacre.training.fitted_evaluation import EvaluationConfig
from tests.support.policies import expect

# Table "hyper_shared", row by row.
SHARED: dict[str, Any] = {
    "Number of repetitions": 10,
    "Offline data size": 1_000_000,
    "Batch sample size": 256,
    "Train from scratch": False,
    "c_l": (5.0,),
    "Random seeds": (4, 5, 6, 7, 8, 9, 10, 11, 12, 13),
    "Number of Monte Carlo state samples for cost function in training": 10,
    "Number of Monte Carlo state samples for cost function in evaluation": 10_000,
    "Steps per epoch": 1000,
    "Number of epochs in training": 100,
    "Number of epochs in evaluation": 50,
    "Discount rate": 0.99,
    "Learning rate": 0.0003,
    "M": 2,
    "Number of Monte Carlo action samples for net value estimate in evaluation": 10_000,
    "Maximum length of one episode": 1000,
    "Maximum 2-norm for gradient in Q-networks": 1.0,
    "Epochs_stop": 20,
    "b_u": 50.0,
    "b_d": 10.0,
}
ACTION_SAMPLES = "Number of Monte Carlo action samples for net value estimate in training"
ACTOR_NORM = "Maximum 2-norm for gradients in net values"
# Tables "hyper_ant", "hyper_hc", "hyper_hopper" and "hyper_sumo".
OWN: dict[str, dict[str, Any]] = {
    "Ant-v4": {ACTOR_NORM: 1.0, ACTION_SAMPLES: 1000, "alpha": 1.0, "c_t": (0.0, 1.0)},
    "HalfCheetah-v4": {ACTOR_NORM: 5.0, ACTION_SAMPLES: 2000, "alpha": 0.15, "c_t": (0.0, 0.1)},
    "Hopper-v4": {ACTOR_NORM: 1.0, ACTION_SAMPLES: 1000, "alpha": 1.0, "c_t": (0.0, 0.1)},
    "sumo": {
        "Offline data size": 100_000,
        ACTOR_NORM: None,
        "Maximum 2-norm for gradient in Q-networks": None,
        "Number of epochs in training": 150,
        "Maximum length of one episode": 100,
        "Steps per epoch": 400,
        "alpha": 0.5,
        "b_u": 5.0,
        "b_d": 5.0,
        "c_l": (0.5, 5.0, 10.0),
        "c_t": (0.01, 0.1, 1.0),
        # Its actions are finitely many, so nothing is sampled; our own default stands there.
        ACTION_SAMPLES: 1000,
    },
}
PAIRS = {
    "Ant-v4": {(5.0, 0.0), (5.0, 1.0)},
    "HalfCheetah-v4": {(5.0, 0.0), (5.0, 0.1)},
    "Hopper-v4": {(5.0, 0.0), (5.0, 0.1)},
    "sumo": {(0.5, 0.01), (5.0, 0.1), (10.0, 1.0)},
}


def read_rows(settings: PaperSettings) -> dict[str, Any]:
    """The settings under the names of the paper's rows."""
    learner = settings.learner
    stopping = expect(StoppingRule, learner.stopping)
    return {
        "Number of repetitions": settings.repetitions,
        "Offline data size": settings.data_size,
        "Batch sample size": learner.critics.batch_size,
        "Train from scratch": not learner.actor.warm_start,
        "c_l": settings.learning_weights,
        "Random seeds": settings.seeds,
        "Number of Monte Carlo state samples for cost function in training": learner.n_cost_states,
        "Number of Monte Carlo state samples for cost function in evaluation": (
            learner.n_cost_states_evaluation
        ),
        "Steps per epoch": learner.steps_per_epoch,
        "Number of epochs in training": learner.epochs,
        "Number of epochs in evaluation": learner.evaluation.epochs,
        "Discount rate": learner.discount,
        "Learning rate": learner.actor.learning_rate,
        "M": learner.critics.n_critics,
        "Number of Monte Carlo action samples for net value estimate in evaluation": (
            learner.evaluation.n_actions
        ),
        "Maximum length of one episode": settings.episode_length,
        "Maximum 2-norm for gradient in Q-networks": learner.critics.max_gradient_norm,
        "Epochs_stop": stopping.least_epochs,
        "b_u": stopping.upper_bound,
        "b_d": stopping.lower_bound,
        ACTOR_NORM: learner.actor.max_gradient_norm,
        ACTION_SAMPLES: learner.actor.n_action_samples,
        "alpha": stopping.growth_rate,
        "c_t": settings.transaction_weights,
    }


@pytest.mark.parametrize("world", OWN)
def test_every_value_of_the_papers_tables(world: str) -> None:
    settings = paper(world)
    assert read_rows(settings) == SHARED | OWN[world]
    assert set(settings.cost_pairs) == PAIRS[world]
    assert settings.world == world


@pytest.mark.parametrize("world", OWN)
def test_what_the_papers_text_says_besides_its_tables(world: str) -> None:
    learner = paper(world).learner
    assert learner.critics.learning_rate == learner.actor.learning_rate
    assert learner.evaluation.critics == learner.critics
    assert learner.evaluation.steps_per_epoch == learner.steps_per_epoch
    assert learner.critics.backup == learner.evaluation.combine == learner.actor.combine == "min"
    assert learner.actor.states == "start"
    assert learner.actor.sampling == "ordinary"
    assert learner.actor.kl_weight == 0.0
    assert learner.occupancy is None
    assert learner.prefit_steps == learner.evaluation.prefit_steps == 0
    assert not learner.critics.layer_norm
    assert not learner.critics.scale_observations
    assert not learner.critics.scale_returns
    assert not learner.reevaluate  # the published runs reuse the training critics


def test_a_world_that_the_paper_has_not_is_refused_with_those_it_has() -> None:
    with pytest.raises(InputError) as caught:
        paper("Walker2d-v4")
    (problem,) = caught.value.problems
    for word in ("'Walker2d-v4'", "Ant-v4", "HalfCheetah-v4", "Hopper-v4", "sumo"):
        assert word in problem


def test_default_differs_from_the_paper_where_its_description_says() -> None:
    ours, theirs = default(), paper("Hopper-v4").learner
    assert ours.actor.states == "log"
    assert ours.critics.n_critics == 5
    assert ours.critics.layer_norm
    assert ours.critics.scale_observations
    assert ours.critics.scale_returns
    assert ours.critics.max_gradient_norm is None
    assert ours.prefit_steps > 0
    assert ours.evaluation.prefit_steps > 0
    assert ours.reevaluate
    assert ours.evaluation.critics.backup == "own"
    assert ours.actor.sampling == "quasi"
    assert ours.actor.n_action_samples < theirs.actor.n_action_samples
    assert ours.discount == theirs.discount
    assert ours.form == "apart"
    assert theirs.form == "net"


@pytest.mark.parametrize(
    "config", [default(), *(paper(world).learner for world in OWN)], ids=["default", *OWN]
)
def test_configurations_can_be_keys_and_records(config: LearnerConfig) -> None:
    twin = dataclasses.replace(config)
    assert twin is not config
    assert {config: "found"}[twin] == "found"
    record = json.loads(json.dumps(config.as_json(), allow_nan=False))
    assert record["discount"] == config.discount
    assert record["critics"]["n_critics"] == config.critics.n_critics
    assert record["evaluation"]["critics"]["hidden"] == list(config.evaluation.critics.hidden)
    assert dataclasses.replace(config, epochs=config.epochs + 1) != config


BAD_ACTORS: list[tuple[dict[str, Any], str]] = [
    ({"states": "everywhere"}, "actor.states = 'everywhere': known are start, log, mixture"),
    ({"sampling": "sobol"}, "actor.sampling = 'sobol': known are ordinary, quasi"),
    ({"combine": "max"}, "actor.combine = 'max': known are min, mean"),
    ({"start_share": 1.5}, "actor.start_share = 1.5: must lie in [0, 1]"),
    ({"start_share": float("nan")}, "actor.start_share = nan: must lie in [0, 1]"),
    ({"n_start_states": 0}, "actor.n_start_states = 0: at least 1 is needed"),
    ({"n_action_samples": 0}, "actor.n_action_samples = 0: at least 1 is needed"),
    ({"n_log_action_samples": -1}, "actor.n_log_action_samples = -1: at least 1 is needed"),
    ({"kl_weight": -0.1}, "actor.kl_weight = -0.1: must be finite and not negative"),
    (
        {"kl_weight": float("nan")},
        "actor.kl_weight = nan: must be finite and not negative",
    ),
    ({"learning_rate": 0.0}, "actor.learning_rate = 0.0: must be positive"),
    (
        {"max_gradient_norm": 0.0},
        "actor.max_gradient_norm = 0.0: must be positive, or None for no limit",
    ),
    ({"hidden": (8, 0)}, "actor.hidden = (8, 0): layers have at least one unit"),
]


@pytest.mark.parametrize(("values", "problem"), BAD_ACTORS)
def test_bad_actors_are_refused(values: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError) as caught:
        ActorConfig(**values)
    assert caught.value.problems == (problem,)


BAD_LEARNERS: list[tuple[dict[str, Any], str]] = [
    ({"discount": 1.0}, "discount = 1.0: must lie in [0, 1)"),
    ({"discount": -0.1}, "discount = -0.1: must lie in [0, 1)"),
    ({"epochs": 0}, "epochs = 0: at least 1 is needed"),
    ({"steps_per_epoch": 0}, "steps_per_epoch = 0: at least 1 is needed"),
    ({"n_cost_states": 0}, "n_cost_states = 0: at least 1 is needed"),
    ({"n_cost_states_evaluation": 0}, "n_cost_states_evaluation = 0: at least 1 is needed"),
    ({"prefit_steps": -1}, "prefit_steps = -1: cannot be negative"),
    ({"form": "gross"}, "form = 'gross': known are apart, net"),
    (
        {"occupancy": OccupancyConfig()},
        "occupancy corrects discounted visits, actor.discounted_states is False: set it to True, "
        "or occupancy to None",
    ),
    (
        {"warm_critics": True, "prefit_steps": 5},
        "prefit_steps = 5 would overwrite the critics that warm_critics brings: set one of the two",
    ),
    *(
        (
            {"warm_critics": True, "critics": CriticConfig(**other)},
            "warm_critics takes over the critics of the evaluation, which are built otherwise: "
            "give critics and evaluation.critics the same networks and scalings",
        )
        for other in (
            {"n_critics": 3},
            {"hidden": (8,)},
            {"layer_norm": True},
            {"scale_observations": True},
            {"scale_returns": True},
        )
    ),
]


@pytest.mark.parametrize(("values", "problem"), BAD_LEARNERS)
def test_bad_learners_are_refused(values: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError) as caught:
        LearnerConfig(**values)
    assert caught.value.problems == (problem,)


BAD_OTHERS: list[tuple[type[Any], dict[str, Any], str]] = [
    (StoppingRule, {"least_epochs": -1}, "stopping.least_epochs = -1: cannot be negative"),
    (StoppingRule, {"growth_rate": 0.0}, "stopping.growth_rate = 0.0: must be positive"),
    (StoppingRule, {"upper_bound": -5.0}, "stopping.upper_bound = -5.0: must be positive"),
    (StoppingRule, {"lower_bound": float("nan")}, "stopping.lower_bound = nan: must be positive"),
    (OccupancyConfig, {"learning_rate": 0.0}, "occupancy.learning_rate = 0.0: must be positive"),
    (OccupancyConfig, {"polyak": 1.0}, "occupancy.polyak = 1.0: must lie in [0, 1)"),
    (
        OccupancyConfig,
        {"largest_ratio": 0.5},
        "occupancy.largest_ratio = 0.5: at least 1 is needed",
    ),
    (OccupancyConfig, {"hidden": (0,)}, "occupancy.hidden = (0,): layers have at least one unit"),
    (CriticConfig, {"n_critics": 0}, "critics.n_critics = 0: at least 1 is needed"),
    (EvaluationConfig, {"epochs": 0}, "evaluation.epochs = 0: at least 1 is needed"),
]


@pytest.mark.parametrize(("kind", "values", "problem"), BAD_OTHERS)
def test_bad_parts_are_refused(kind: type[Any], values: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError) as caught:
        kind(**values)
    assert caught.value.problems == (problem,)


def test_warm_critics_may_go_on_with_other_steps() -> None:
    """What they are built from has to agree; how they are fitted need not."""
    other = CriticConfig(learning_rate=0.1, polyak=0.5, backup="own", batch_size=7)
    config = LearnerConfig(critics=other, warm_critics=True)
    assert config.critics.alike(config.evaluation.critics)
    assert all(paper(world).learner.warm_critics for world in OWN)
    assert not default().warm_critics


def test_all_problems_are_named_at_once() -> None:
    with pytest.raises(InputError) as caught:
        LearnerConfig(discount=2.0, epochs=0, prefit_steps=-1)
    assert [problem.split(" = ")[0] for problem in caught.value.problems] == [
        "discount",
        "epochs",
        "prefit_steps",
    ]


def test_configurations_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        default().epochs = 3  # type: ignore[misc]
