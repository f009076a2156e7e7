"""Quantiles and CVaR against NumPy and by their coverage."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from nacre.errors import InputError
from nacre.inference.risk import (
    RiskFigure,
    count_effective,
    find_tail_mean,
    find_weighted_quantile,
)

LEVEL = 0.9
REPEATS = 1000
N = 300
Figure = Callable[..., RiskFigure]


def test_without_weights_they_are_the_plain_ones() -> None:
    returns = np.random.default_rng(100).normal(size=1000)
    ones = np.ones(1000)
    quantile = find_weighted_quantile(returns, ones, 0.1, LEVEL)
    assert quantile.mean == np.quantile(returns, 0.1, method="inverted_cdf")
    tail = find_tail_mean(returns, ones, 0.1, LEVEL)
    assert tail.mean == pytest.approx(np.sort(returns)[:100].mean())
    assert quantile.low < quantile.mean < quantile.high
    assert tail.low < tail.mean < tail.high < quantile.mean


def test_weights_count_like_repeated_episodes() -> None:
    rng = np.random.default_rng(101)
    returns, counts = rng.exponential(size=400), rng.integers(0, 4, 400)
    repeated = np.repeat(returns, counts)
    for figure in (find_weighted_quantile, find_tail_mean):
        weighted = figure(returns, counts.astype(float), 0.25, LEVEL)
        plain = figure(repeated, np.ones(len(repeated)), 0.25, LEVEL)
        assert weighted.mean == pytest.approx(plain.mean)
        # Repeated episodes are not as many as they look.
        assert weighted.low <= plain.low + 1e-12


@pytest.mark.parametrize("figure", [find_weighted_quantile, find_tail_mean])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", ["normal", "exponential", "losses"])
def test_lower_bounds_hold_at_their_level(figure: Figure, weighted: bool, shape: str) -> None:
    """At least 88 of 100 at 90 %: 1,000 logs of 300 episodes, truth by a million draws.

    Weighted: two actions, drawn evenly by the old policy and 3 : 1 by the new one.
    """
    rng = np.random.default_rng(103)

    def draw(actions: np.ndarray) -> np.ndarray:
        size = actions.shape
        noise = {
            "normal": rng.normal(size=size),
            "exponential": rng.exponential(size=size),
            "losses": -rng.exponential(size=size),
        }[shape]
        return np.asarray(actions + noise)

    chance = 0.75 if weighted else 0.5
    truth_draws = np.sort(draw((rng.uniform(size=1_000_000) < chance).astype(float)))
    worst = truth_draws[:100_000]
    truth = worst.mean() if figure is find_tail_mean else worst[-1]
    actions = (rng.uniform(size=(REPEATS, N)) < 0.5).astype(float)
    returns = draw(actions)
    weights = np.where(actions > 0, 1.5, 0.5) if weighted else np.ones_like(actions)
    found = [figure(*pair, 0.1, LEVEL) for pair in zip(returns, weights, strict=True)]
    assert np.mean([one.low <= truth for one in found]) >= 0.88
    assert np.mean([one.high >= truth for one in found]) >= 0.87
    assert all(math.isfinite(one.low) for one in found)


def test_few_episodes_say_nothing() -> None:
    returns, ones = np.arange(20.0), np.ones(20)
    assert math.isnan(find_tail_mean(returns, ones, 0.1, LEVEL).mean)
    assert find_weighted_quantile(returns, ones, 0.1, LEVEL).low == -math.inf
    one_carries_all = np.where(np.arange(2000) == 3, 1e6, 1e-6)
    assert count_effective(one_carries_all) < 1.1
    assert math.isnan(find_tail_mean(np.arange(2000.0), one_carries_all, 0.1, LEVEL).mean)


@pytest.mark.parametrize(
    ("returns", "weights", "share", "problem"),
    [
        ([1.0, 2.0], [1.0], 0.1, "same length"),
        ([1.0, math.nan], [1.0, 1.0], 0.1, "finite"),
        ([1.0, 2.0], [0.0, 0.0], 0.1, "positive"),
        ([1.0, 2.0], [1.0, 1.0], 1.0, "between 0 and 1"),
    ],
)
def test_bad_input_is_told(
    returns: list[float], weights: list[float], share: float, problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        find_tail_mean(np.array(returns), np.array(weights), share, LEVEL)
