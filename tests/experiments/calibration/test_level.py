"""The level of a decision by simulation, with rules whose level is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from nacre.errors import InputError
from nacre.estimators import exact
from nacre.experiments.calibration.level import Trial, make_equals, measure, simulate_level


def test_candidates_are_worth_exactly_what_the_old_policy_is() -> None:
    world, old, equal = make_equals(20, 3)
    known = float(exact.start_value(world, old))
    assert len(equal) == 20
    for table in equal:
        assert float(exact.start_value(world, table)) == pytest.approx(known, abs=1e-10)
        assert np.abs(table - old).max() > 0.01


def test_intervals_are_exact() -> None:
    level = measure(2000, 100)
    assert level.share == 0.05
    assert level.low < 0.05 < level.high
    assert level.high == pytest.approx(stats.binomtest(100, 2000).proportion_ci().high)
    assert level.holds(0.05)
    assert not measure(2000, 300).holds(0.05)
    assert measure(10, 0).low == 0.0
    assert measure(10, 10).high == 1.0


def test_decisions_by_chance_have_the_level_of_the_chance() -> None:
    def decide(trial: Trial) -> bool:
        return bool(np.random.default_rng([trial.seed, trial.look]).random() < 0.1)

    once = simulate_level(decide, runs=200)
    assert once.low <= 0.1 <= once.high
    five = simulate_level(decide, looks=5, runs=100)
    assert five.low <= 1 - 0.9**5 <= five.high


def test_looks_see_a_growing_log_and_all_candidates() -> None:
    seen: list[tuple[int, int, int]] = []

    def decide(trial: Trial) -> bool:
        seen.append((trial.look, trial.log.n_episodes, len(trial.candidates)))
        return False

    level = simulate_level(decide, candidates=5, looks=5, runs=2)
    assert level.switches == 0
    assert [look for look, *_ in seen] == [1, 2, 3, 4, 5] * 2
    sizes = [episodes for _, episodes, _ in seen[:5]]
    assert sizes == sorted(sizes)
    assert sizes[0] * 4 < sizes[-1]
    assert {count for *_, count in seen} == {5}


def test_a_rule_that_ignores_its_candidates_number_exceeds_the_level() -> None:
    """Each candidate at 5 %: one is level, twenty are not."""

    def decide(trial: Trial) -> bool:
        chance = np.random.default_rng(trial.seed)
        return bool((chance.random(len(trial.candidates)) < 0.05).any())

    assert simulate_level(decide, candidates=1, runs=200).holds(0.05)
    assert not simulate_level(decide, candidates=20, runs=60).holds(0.05)


def test_nothing_to_simulate_is_refused() -> None:
    with pytest.raises(InputError, match="at least 1"):
        simulate_level(lambda trial: False, runs=0)
