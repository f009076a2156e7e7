"""Scores of sets against a loop, and in a world that changes meanwhile."""

from __future__ import annotations

import numpy as np

from nacre.rollout.design import choose_design
from nacre.rollout.scores import score_sets


def test_scores_are_means_of_new_minus_means_of_old_units() -> None:
    design = choose_design(0.4, "episode")
    rng = np.random.default_rng(100)
    outcomes, chosen = rng.normal(size=(7, 5)), design.draw(35).reshape(7, 5)
    found = score_sets(outcomes, chosen, design)
    for row, flags, value, spread in zip(
        outcomes, chosen, found.values, found.spreads, strict=True
    ):
        new, old = row[flags], row[~flags]
        np.testing.assert_allclose(value, new.mean() - old.mean())
        factor = 1 / 2 + 1 / 3
        np.testing.assert_allclose(spread, [old.var(ddof=1) * factor, new.var(ddof=1) * factor])
    np.testing.assert_allclose(found.scale(3.0).values, 3.0 * found.values)
    assert found.scale(3.0).variance == np.float64(9.0) * found.variance


def test_a_single_unit_of_an_arm_has_no_spread() -> None:
    design = choose_design(0.1, "episode")
    outcomes = np.random.default_rng(101).normal(size=(4, 10))
    found = score_sets(outcomes, design.draw(40).reshape(4, 10), design)
    assert np.all(found.spreads[:, 0] > 0)
    assert np.all(found.spreads[:, 1] == 0)


def test_a_world_that_changes_slowly_does_not_matter() -> None:
    design = choose_design(0.5, "block", seed=7)
    n = 400
    trend = np.linspace(0.0, 100.0, 2 * n)
    chosen = design.draw(2 * n).reshape(n, 2)
    found = score_sets(trend.reshape(n, 2) + 1.5 * chosen, chosen, design)
    # Neighbours differ by an eighth: nothing else is left of a change of a hundred.
    assert abs(found.values.mean() - 1.5) < 0.02


def test_without_old_units_the_outcomes_are_the_scores() -> None:
    design = choose_design(1.0, "episode")
    found = score_sets(np.arange(3.0)[:, None], np.ones((3, 1), bool), design)
    np.testing.assert_array_equal(found.values, [0.0, 1.0, 2.0])
    assert np.isnan(found.old).all()
