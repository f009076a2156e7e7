"""The test of the sample ratio against the likelihoods, and on streams."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from nacre.rollout.sample_ratio import CONCENTRATION, ratio_p_value


def test_the_e_value_is_the_ratio_of_two_likelihoods() -> None:
    new, old, share = 12, 4, 0.5
    prior = stats.betabinom(new + old, CONCENTRATION * share, CONCENTRATION * (1 - share))
    e_value = prior.pmf(new) / stats.binom(new + old, share).pmf(new)
    assert ratio_p_value(new, old, share) == pytest.approx(min(1.0, 1.0 / e_value))
    assert ratio_p_value(300, 200, 0.5) < 1e-3
    assert ratio_p_value(0, 0, 0.3) == 1.0


def test_a_stage_with_one_arm_has_no_units_of_the_other() -> None:
    assert ratio_p_value(10, 0, 1.0) == 1.0
    assert ratio_p_value(10, 1, 1.0) == 0.0


def test_looking_after_every_unit_alarms_no_more_than_it_may() -> None:
    rng = np.random.default_rng(100)
    alarms = 0
    for _ in range(300):
        counts = np.cumsum(rng.random(150) < 0.2)
        alarms += any(
            ratio_p_value(int(new), n - int(new), 0.2) < 0.05 for n, new in enumerate(counts, 1)
        )
    assert alarms <= 0.05 * 300
