"""The configuration `authors`: every difference from the paper's settings, one by one."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from nacre.costs import describe_cost, groups
from nacre.errors import InputError
from nacre.experiments import run
from nacre.experiments.authors import (
    AuthorsConfig,
    Orthant,
    evaluate_unclipped,
    separate_cost,
    stop_on_last,
)
from nacre.experiments.measures import PublishedStyle
from nacre.experiments.records import read_records
from nacre.experiments.run import run_plan
from nacre.experiments.tables import TABLES, find_row
from nacre.learners.net_actor_critic.stopping import Plateau, StoppingRule
from nacre.policies.distributions import Categorical, SquashedGaussian
from nacre.policies.files import write_policy
from nacre.policies.network_policy import MLPPolicy
from nacre.simulators.registry import find_world
from nacre.training.backup import CriticConfig
from nacre.training.critics import Critics
from nacre.training.fitted_evaluation import EvaluationConfig
from tests.support.experiments import CHEAP, LEARNER, make_plan, write_critics
from tests.support.policies import box

CRITICS = CriticConfig(hidden=(8, 8), batch_size=16)
SMALL = AuthorsConfig(
    dataclasses.replace(
        LEARNER,
        form="apart",
        critics=CRITICS,
        evaluation=EvaluationConfig(CRITICS, epochs=2, steps_per_epoch=3, n_actions=16),
        stopping=StoppingRule(least_epochs=99, value="last"),
    ),
    refit_steps=40,
)


@pytest.mark.parametrize("row", ["hopper-suboptimal", "sumo-cl5-ct0.1-optimal"])
def test_it_differs_from_the_paper_in_the_named_pieces_alone(row: str) -> None:
    paper = find_row(row).paper.learner
    found = AuthorsConfig.of(find_row(row))
    assert found.learner.form == "apart"
    assert found.learner.evaluation.critics.max_gradient_norm is None
    assert isinstance(found.learner.stopping, StoppingRule)
    assert found.learner.stopping.value == "last"
    evaluation = paper.evaluation
    assert found.refit_steps == evaluation.epochs * evaluation.steps_per_epoch
    # Undone one by one, it is the paper's again.
    assert isinstance(paper.stopping, StoppingRule)
    undone = dataclasses.replace(
        found.learner, form="net", evaluation=evaluation, stopping=paper.stopping
    )
    assert undone == paper
    assert found.learner.critics == paper.critics
    assert separate_cost(paper).stopping == paper.stopping
    assert evaluate_unclipped(paper).form == "net"
    assert stop_on_last(dataclasses.replace(paper, stopping=Plateau())).stopping == Plateau()


def make_gaussian(shift: float = 0.0) -> SquashedGaussian:
    rng = np.random.default_rng(0)
    location = jnp.asarray(rng.normal(size=(6, 3)) + shift, float)
    bounds = (-1.0,) * 3, (1.0,) * 3
    return SquashedGaussian(location, jnp.asarray(rng.normal(size=(6, 3)) * 0.3, float), *bounds)


def test_the_group_is_a_product_of_normal_probabilities() -> None:
    gaussian = make_gaussian(99.5)
    mass = np.asarray(Orthant().mass_of(gaussian))
    standardised = (np.array([0.0, 100.0, 100.0]) - gaussian.location) / gaussian.std
    np.testing.assert_allclose(mass[:, 0], stats.norm.cdf(standardised).prod(axis=-1), atol=1e-6)
    np.testing.assert_allclose(mass.sum(axis=-1), 1.0, atol=1e-6)


def test_without_a_limit_it_is_the_sign_of_the_first_coordinate() -> None:
    gaussian = make_gaussian()
    mine, other = Orthant(np.inf).mass_of(gaussian), groups.sign(0).mass_of(gaussian)
    np.testing.assert_allclose(mine, other, atol=1e-6)
    # The limit counts only where coordinates come near it.
    np.testing.assert_allclose(Orthant().mass_of(gaussian), other, atol=1e-6)
    far = make_gaussian(200.0)
    assert float(jnp.max(Orthant().mass_of(far)[:, 0])) == 0.0


def test_groups_that_do_not_fit_are_refused() -> None:
    assert Orthant().names(box(2)) == ("u[0] ≤ 0 and every other u ≤ 100", "the rest")
    choices = Categorical.from_probabilities(np.array([0.5, 0.5]))
    with pytest.raises(InputError, match="need a normal policy"):
        Orthant().mass_of(choices)
    with pytest.raises(InputError, match=r"use groups.halves\(\)"):
        Orthant().names(find_world("CartPole-v1").signature.action_space)
    with pytest.raises(InputError, match="no transport plans"):
        Orthant().atoms(choices, jax.random.key(0), 3)


def test_the_cost_has_these_groups_for_action_vectors_only() -> None:
    hopper, traffic = find_row("hopper-suboptimal"), TABLES["sumo"][0]
    world = find_world("Hopper-v4")
    described = describe_cost(run.choose_cost(AuthorsConfig.of(hopper), hopper, world))
    assert described["groups"] == {"kind": "nacre.experiments.authors.Orthant"}
    for config in (hopper.paper.learner, AuthorsConfig.of(traffic)):
        cost = run.choose_cost(config, CHEAP, find_world("CartPole-v1"))
        assert describe_cost(cost)["groups"] == {"kind": "halves"}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "CONFIGS", {"authors": lambda _: SMALL})


def run_one(folder: Path, **changed: Any) -> dict[str, Any]:
    row = dataclasses.replace(CHEAP, **changed)
    ((place,),) = run_plan(make_plan(folder, row, configs=("authors",)))
    return read_records(place.out, place.table, place.config)[place.key]


@pytest.mark.usefixtures("small")
def test_a_record_has_all_measures_and_begins_with_the_stored_critics(tmp_path: Path) -> None:
    """Six small steps away from critics that say 1000 everywhere, the evaluation still says so."""
    world, folder = find_world("CartPole-v1"), tmp_path / "policies"
    folder.mkdir()
    policy = MLPPolicy.init(jax.random.key(1), world.signature, hidden=(4,))
    write_policy(policy, folder / "pole.safetensors")
    with pytest.raises(InputError, match=r"pole_critics.safetensors: the critics stored with"):
        run_one(tmp_path, old_policy="pole")
    critics = Critics.init(jax.random.key(0), world.signature, n_critics=2, hidden=(8, 8))
    level = (*critics.biases[:-1], jnp.full_like(critics.biases[-1], 1000.0))
    write_critics(dataclasses.replace(critics, biases=level), folder / "pole_critics.safetensors")
    record = run_one(tmp_path, old_policy="pole")
    fitted, price = record["old_value"]["fitted"], record["switching_cost"]["evaluation"]["total"]
    assert fitted["value"] == pytest.approx(1000.0, abs=5.0)
    assert set(record["old_policy"]) == {"name", "sha256", "critics"}
    refitted = record["new_value"]["refitted"]
    assert refitted["steps"] == record["learner"]["refit_steps"] == 40
    assert refitted["value"] != record["new_value"]["estimated"]
    assert "refit" in record["seconds"]
    found = PublishedStyle.of(record)
    expected = refitted["value"] - price - fitted["value"]
    assert found.improvement == pytest.approx(expected)
    assert found.new_value == "refitted"
    assert record["improvement"]["published_style"] == found.improvement
    # Kept apart, the critics know nothing of the cost.
    estimated = record["new_value"]["estimated"] - price
    assert record["net_value"]["estimated"] == pytest.approx(estimated)
    # Other critics are another setting.
    write_critics(critics, folder / "pole_critics.safetensors")
    with pytest.raises(InputError, match="made with another old_policy"):
        run_one(tmp_path, old_policy="pole")
