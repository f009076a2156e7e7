"""What a stage needs, by simulation, against the formula of the fixed-size test."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

from nacre.rollout.design import choose_design
from nacre.rollout.simulation import count_fixed, draw_scores, find_inflation, simulate_stage

LEVELS: dict[str, Any] = {"alpha": 0.05, "power": 0.8, "seed": 100}


def test_the_fixed_size_is_that_of_the_formula() -> None:
    expected = np.ceil((ndtri(0.95) + ndtri(0.8)) ** 2 * 4.0 / 0.25)
    assert count_fixed(0.5, 4.0, 0.05, 0.8) == expected


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_looking_always_takes_at_most_twice_the_fixed_size(share: float) -> None:
    returns = np.random.default_rng(100).normal(3.0, 2.0, 500)
    design = choose_design(share, "episode")
    need = simulate_stage(returns, design, 0.8, 0.0, **LEVELS)
    assert need is not None
    # 2² (1/k + 1/(m - k)), up to the log's own error.
    assert need.variance == pytest.approx(4.0 * design.score_factor, rel=0.2)
    assert need.mean_sets < 2 * need.fixed_sets
    assert need.proven > 0.95
    # A loss cannot be found sooner than there are bounds, nor cost less.
    assert need.loss >= 20 * design.new_per_set * 0.8


def test_a_promise_below_what_it_has_to_exceed_cannot_be_proven() -> None:
    returns = np.random.default_rng(100).normal(size=100)
    design = choose_design(0.5, "episode")
    assert simulate_stage(returns, design, 0.3, 0.4, **LEVELS) is None
    assert simulate_stage(returns, design, 1e-4, 0.0, **LEVELS) is None


def test_blocks_keep_what_neighbours_share() -> None:
    rng = np.random.default_rng(101)
    returns = np.repeat(rng.normal(size=200), 20)
    near = draw_scores(returns, choose_design(0.5, "block"), (2000,), rng)
    apart = draw_scores(returns, choose_design(0.5, "episode"), (2000,), rng)
    assert near.variance < 0.2 * apart.variance


def test_rare_outcomes_may_be_larger_than_those_seen() -> None:
    rng = np.random.default_rng(102)
    assert find_inflation(rng.normal(size=2000)) < 1.1
    assert find_inflation((rng.random(500) < 0.01).astype(np.float64)) > 1.5
