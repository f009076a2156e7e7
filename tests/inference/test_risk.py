"""Quantiles and CVaR against NumPy and by their coverage."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import optimize, stats

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
def test_only_shares_of_the_weights_count(figure: Figure) -> None:
    """Where the weights' mean is at least one, which is all that their sum has to say."""
    rng = np.random.default_rng(102)
    returns, weights = rng.exponential(size=400), rng.uniform(1.0, 2.0, 400)
    found, same = (figure(returns, factor * weights, 0.25, LEVEL) for factor in (1.0, 5.0))
    assert (same.mean, same.low, same.high) == pytest.approx((found.mean, found.low, found.high))


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


def test_the_heaviest_episode_belongs_to_the_whole() -> None:
    """999 episodes of weight 1 and one of 100: 0.4 of 1,099 is 439.6, so 0.6 of the 440th."""
    returns, weights = np.arange(1000.0), np.append(np.ones(999), 100.0)
    tail = find_tail_mean(returns, weights, 0.4, LEVEL)
    assert tail.mean == pytest.approx((np.arange(439).sum() + 0.6 * 439) / 439.6)
    assert find_weighted_quantile(returns, weights, 0.4, LEVEL).mean == 439.0


def bound_tail(returns: np.ndarray, share: float, level: float, edge: np.ndarray) -> list[float]:
    """Centre and both bounds by Hall's (1992) cubic g(t) = t + s t² / 3 + s² t³ / 27 + s / 6.

    Student's ratio t is where g reaches the quantile of Student's distribution, found by bisection.
    `edge` is for each episode the quantile that it is held against.
    """
    parts = [b - max(b - x, 0.0) / share for x, b in zip(returns, edge, strict=True)]
    n, centre = len(parts), math.fsum(parts) / len(parts)
    spread = math.sqrt(math.fsum((part - centre) ** 2 for part in parts) / n)
    skewness = math.fsum(((part - centre) / spread) ** 3 for part in parts) / n / math.sqrt(n)
    reach = float(stats.t.ppf(level, n * share - 1))

    def straighten(goal: float) -> float:
        found = optimize.brentq(
            lambda t: t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / 6 - goal,
            *(-100.0, 100.0),
        )
        return float(found)

    error = spread / math.sqrt(n)
    low, high = straighten(reach), max(reach, -straighten(-reach))
    return [centre, centre - error * low, centre + error * high]


def test_bounds_of_the_tail_are_those_of_hall() -> None:
    """The upper one from the quantile of all episodes, the lower from that of the other half."""
    returns, share = -np.random.default_rng(104).exponential(size=81), 0.25
    halves = [np.quantile(returns[1 - side :: 2], share, method="inverted_cdf") for side in (0, 1)]
    apart = np.where(np.arange(81) % 2 == 0, halves[0], halves[1])
    whole = np.full(81, np.quantile(returns, share, method="inverted_cdf"))
    mean, _, high = bound_tail(returns, share, LEVEL, whole)
    _, low, _ = bound_tail(returns, share, LEVEL, apart)
    found = find_tail_mean(returns, np.ones(81), share, LEVEL)
    assert (found.mean, found.high) == pytest.approx((mean, high), rel=1e-9)
    assert found.low == pytest.approx(min(mean, low), rel=1e-9)


def test_few_episodes_say_nothing() -> None:
    returns, ones = np.arange(20.0), np.ones(20)
    assert math.isnan(find_tail_mean(returns, ones, 0.1, LEVEL).mean)
    assert find_weighted_quantile(returns, ones, 0.1, LEVEL).low == -math.inf
    one_carries_all = np.where(np.arange(2000) == 3, 1e6, 1e-6)
    assert count_effective(one_carries_all) < 1.1
    assert count_effective(np.zeros(3)) == 0.0
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
