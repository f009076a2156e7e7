"""Rewards that come back by chance, and rewards that differ by rounding."""

from __future__ import annotations

import numpy as np
import pytest

from nacre.diagnostics.reward_values import find_real, group_rewards

RNG = np.random.default_rng(100)
CONTEXT = RNG.integers(6, size=6000).astype(np.uint64)


def any_real(rewards: np.ndarray, context: np.ndarray) -> bool:
    return bool(find_real(rewards, context).any())


def test_copies_do_not_make_real_numbers_discrete() -> None:
    fresh = RNG.normal(size=120)
    assert any_real(np.tile(fresh, 50), np.tile(CONTEXT[:120], 50))
    # Not even where each was copied another number of times.
    chosen = RNG.integers(120, size=6000)
    assert any_real(fresh[chosen], CONTEXT[:120][chosen])


def test_lists_of_values_stay_discrete() -> None:
    coin = (RNG.random(6000) < 0.5).astype(float)
    for rewards in (
        coin,
        RNG.poisson(4.0, 6000).astype(float),
        # Two values of its own in each context.
        coin + np.sqrt(2.0) * CONTEXT,
        # Seven irregular values everywhere.
        RNG.normal(size=7)[RNG.integers(7, size=6000)],
    ):
        assert not any_real(rewards, CONTEXT)
    # One context only: prices with two digits.
    prices = np.array([1.99, 4.49, 9.99, 12.5, 17.25, 20.0, 3.1], np.float32)
    bought = prices[RNG.integers(7, size=6000)].astype(float)
    assert not any_real(bought, np.zeros(6000, np.uint64))


@pytest.mark.parametrize("largest", [20.0, 90.0, 900.0])
@pytest.mark.parametrize("contexts", [1, 8])
def test_amounts_in_cents_come_back(largest: float, contexts: int) -> None:
    """Three thousand amounts with two digits behind the point, no copies; then some."""
    for seed in range(100, 110):
        rng = np.random.default_rng(seed)
        amounts = np.round(largest * rng.beta(2.0, 5.0, 3000), 2).astype(np.float32).astype(float)
        context = rng.integers(contexts, size=3000).astype(np.uint64)
        assert not any_real(amounts, context), seed
        if largest / contexts > 100.0:
            copies = np.append(np.arange(3000), np.arange(1500))
            assert any_real(amounts[copies], context[copies]), seed


def test_nothing_bought_is_no_copy_of_nothing_bought() -> None:
    """Zeros among real numbers come back, copies of the numbers do not."""
    amounts = np.where(RNG.random(6000) < 0.8, 0.0, RNG.gamma(2.0, 20.0, 6000))
    copies = np.append(np.arange(6000), np.arange(2000))
    found = find_real(amounts[copies], CONTEXT[copies])
    np.testing.assert_array_equal(found, amounts[copies] > 0.0)


def test_rounding_joins_rewards() -> None:
    fresh = np.linspace(-1.0, 1.0, 50)
    rounded = np.tile(fresh, 4) + RNG.uniform(-1e-6, 1e-6, 200)
    groups = group_rewards(rounded, np.zeros(200, np.uint64))
    assert len(np.unique(groups)) == 50
    np.testing.assert_array_equal(groups[:50], groups[150:])


def test_a_dense_series_is_not_one_value() -> None:
    rewards = np.linspace(0.0, 1.0, 200_000)
    assert len(np.unique(group_rewards(rewards, np.zeros(200_000, np.uint64)))) == 200_000
