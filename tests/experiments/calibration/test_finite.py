"""The finite suite: valid and varied worlds, old policies of the right kind, true candidates."""

from __future__ import annotations

import numpy as np
import pytest

from nacre.errors import InputError
from nacre.estimators import exact
from nacre.experiments.calibration import finite
from nacre.experiments.calibration.case import Case, draw_rows
from nacre.experiments.calibration.offers import OFFERS, offer_tables
from nacre.experiments.calibration.tables import KINDS, find_best, find_range, make_old_table
from nacre.policies.tabular import TabularPolicy

SEEDS = (100, 101, 102)


def make(world: str, kind: str = "random", seed: int = 100) -> Case:
    return Case("finite", world, kind, seed)


@pytest.mark.parametrize("name", finite.WORLDS)
def test_every_family_has_something_to_decide_and_varies_with_the_seed(name: str) -> None:
    worlds = [finite.make_world(make(name, seed=seed)) for seed in SEEDS]
    for world in worlds:
        low, high = find_range(world)
        assert np.isfinite([low, high]).all()
        assert high > low
        assert float(exact.start_value(world, find_best(world))) == pytest.approx(high)
        # No drawn policy is outside of the range that the two optima span.
        drawn = make_old_table(world, "random", np.random.default_rng(0))
        assert low - 1e-9 <= float(exact.start_value(world, drawn)) <= high + 1e-9
    shapes = {(world.reward.shape, float(world.reward.sum()), world.discount) for world in worlds}
    rows = {float(np.round(world.continuation, 6).std()) for world in worlds}
    assert max(len(shapes), len(rows)) == len(SEEDS)


@pytest.mark.parametrize("name", ["cliff_walking", "treatment", "ring", "contexts"])
def test_old_policies_are_of_their_kind(name: str) -> None:
    world = finite.make_world(make(name))
    best, (low, high) = find_best(world), find_range(world)
    tables = {kind: make_old_table(world, kind, np.random.default_rng(1)) for kind in KINDS}
    values = {kind: float(exact.start_value(world, table)) for kind, table in tables.items()}
    for kind in ("deterministic_optimal", "deterministic_poor"):
        assert set(np.unique(tables[kind])) == {0.0, 1.0}
    for kind in ("random", "soft", "epsilon_greedy"):
        assert (tables[kind] > 0).all()
    assert values["deterministic_optimal"] == pytest.approx(high)
    assert values["deterministic_poor"] < high - 0.1 * (high - low)
    assert (tables["epsilon_greedy"][best == 1] >= 0.7).all()
    assert (tables["nearly_optimal"][best == 1] >= 0.9).all()
    with pytest.raises(InputError, match="no kind of old policy is called 'wild'"):
        make_old_table(world, "wild", np.random.default_rng(0))


@pytest.mark.parametrize("kind", ["random", "nearly_optimal"])
def test_given_candidates_are_what_their_names_say(kind: str) -> None:
    seen = set()
    for seed in range(100, 105):
        case = make("maintenance", kind, seed)
        world = finite.make_world(case)
        old = make_old_table(world, kind, case.generator("old policy"))
        known, (low, high) = float(exact.start_value(world, old)), find_range(world)
        offer, tables = offer_tables(world, old, case)
        seen.add(offer)
        for name, table in tables.items():
            gain = (float(exact.start_value(world, table)) - known) / (high - low)
            if name in ("same", "equal"):
                assert abs(gain) < 1e-10
            elif name in ("halfway", "improved", "optimal"):
                assert gain > 0
            else:
                assert gain < -0.01
    assert seen == set(OFFERS)


def test_a_case_is_fully_determined_and_another_seed_is_another_case() -> None:
    first, again = (finite.build(make("inventory", "soft")) for _ in range(2))
    assert first.log.fingerprint() == again.log.fingerprint()
    assert [one.name for one in first.candidates] == [one.name for one in again.candidates]
    assert first.cost == again.cost
    assert first.facts == again.facts
    other = finite.build(make("inventory", "soft", 101))
    assert other.log.fingerprint() != first.log.fingerprint()
    assert 5_000 <= len(first.log) <= 100_000


def test_truth_is_exact_and_agrees_with_simulation() -> None:
    problem = finite.build(make("two_arms", "soft", 103))
    world = finite.make_world(problem.case)
    best = TabularPolicy.from_probabilities(find_best(world))
    truth = problem.find_truth(best)
    log = world.sample_log(find_best(world), 60_000, seed=1, horizon=400)
    returns = log.returns(world.discount)[:-1]
    error = returns.std() / np.sqrt(len(returns))
    simulated = returns.mean() - problem.old_value
    assert truth.standard_error == 0.0
    assert abs(truth.gain - simulated) < 4 * error
    assert truth.deviation == pytest.approx(returns.std(), rel=0.05)
    assert problem.find_truth(problem.old_policy).gain == pytest.approx(0.0, abs=1e-9)
    assert problem.find_cost(problem.old_policy) >= 0.0


def test_rows_stay_within_their_bounds() -> None:
    rng = np.random.default_rng(0)
    drawn = [draw_rows(rng, 5_000, 100_000) for _ in range(500)]
    assert min(drawn) >= 5_000
    assert max(drawn) <= 100_000
    assert 15_000 < np.median(drawn) < 32_000
