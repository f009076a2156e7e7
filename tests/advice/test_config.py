"""The configuration: what it refuses, and what it suggests for a log."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import pytest

from nacre.advice.config import (
    KL_WEIGHT,
    AdviceConfig,
    add_cost_factors,
    default_estimators,
    suggest_config,
)
from nacre.errors import InputError
from nacre.estimators import ESTIMATORS, Estimator
from nacre.estimators.tabular import Tabular
from nacre.inference.rule import BoundsRule, Rule
from nacre.learners import LEARNERS
from nacre.learners.base import Learner
from nacre.learners.net_actor_critic.learner import NetActorCritic
from nacre.learners.scale_noise import ScaleNoise
from tests.support.learners import make_vectors
from tests.support.rooms import make_rooms_log

BAD: list[tuple[dict[str, Any], str]] = [
    ({"confidence": 0.5}, "confidence = 0.5: must lie between 0.5 and 1, as 0.95 for 95 %"),
    ({"confidence": math.nan}, "confidence = nan: must lie between 0.5 and 1, as 0.95 for 95 %"),
    ({"learning_share": 1.0}, "learning_share = 1.0: must lie between 0 and 1"),
    ({"discount": 1.1}, "discount = 1.1: must lie in [0, 1]"),
    ({"look": 0}, "look = 0 of 1: the first look at a log is 1"),
    ({"looks": 0}, "look = 1 of 0: the first look at a log is 1"),
    ({"estimators": ()}, "estimators: at least one is needed"),
    (
        {"learners": (ScaleNoise(), ScaleNoise())},
        "learners: 'noise-0.3' is there twice; each needs a name",
    ),
    (
        {"estimators": (Tabular(), Tabular(300))},
        "estimators: 'tabular' is there twice; each needs a name",
    ),
]


@pytest.mark.parametrize(("changed", "problem"), BAD)
def test_bad_configurations_are_refused(changed: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError) as caught:
        AdviceConfig(**changed)
    assert caught.value.problems == (problem,)


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(InputError) as caught:
        AdviceConfig(confidence=2.0, discount=2.0, estimators=())
    assert len(caught.value.problems) == 3


def test_the_default_is_made_of_the_parts_of_the_protocols() -> None:
    config = AdviceConfig()
    assert all(isinstance(one, Learner) for one in config.learners)
    assert all(isinstance(one, Estimator) for one in config.estimators)
    assert isinstance(config.rule, Rule)
    assert config.rule == BoundsRule()
    assert [one.name for one in config.learners] == [
        f"nac-{KL_WEIGHT:g}",
        "policy_iteration",
        "one_step",
        "noise-0.3",
    ]
    assert [one.name for one in default_estimators()] == list(ESTIMATORS.names)
    assert (config.confidence, config.look, config.looks) == (0.95, 1, 1)


def test_suggestions_fit_the_log() -> None:
    tables = suggest_config(make_rooms_log(), 0.9)
    vectors = suggest_config(make_vectors()[0], 0.97)
    assert (tables.discount, vectors.discount) == (0.9, 0.97)
    assert [one.name for one in tables.learners] == ["planner", "noise-0.3"]
    assert vectors.learners == AdviceConfig().learners
    # Estimators say themselves whether they apply.
    assert tables.estimators == vectors.estimators == default_estimators()


@pytest.mark.parametrize("config", [AdviceConfig(), suggest_config(make_rooms_log())])
def test_records_hold_every_value_as_plain_data(config: AdviceConfig) -> None:
    record = json.loads(json.dumps(config.as_json(), allow_nan=False))
    assert record["rule"] == "bounds"
    assert set(record) == {one.name for one in dataclasses.fields(AdviceConfig)}
    assert [one["name"] for one in record["learners"]] == [one.name for one in config.learners]
    assert LEARNERS.find(record["learners"][0]["kind"]) is type(config.learners[0])
    assert record["learners"][-1]["factor"] == 0.3
    assert {"tabular", "fitted_q"} <= {one["name"] for one in record["estimators"]}


def test_other_costs_of_learning_add_learners() -> None:
    config = AdviceConfig()
    more = add_cost_factors(config, (1.0, 5.0))
    assert more.learners[: len(config.learners)] == config.learners
    added = more.learners[len(config.learners) :]
    assert [one.name for one in added] == ["nac-0.03-cost5"]
    assert all(isinstance(one, NetActorCritic) and one.cost_factor == 5.0 for one in added)
    assert add_cost_factors(config, ()) == config
    with pytest.raises(InputError, match="is there twice"):
        add_cost_factors(config, (5.0, 5.0))
