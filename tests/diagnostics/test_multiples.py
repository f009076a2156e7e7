"""Logs that were written several times over: how often each episode is there has a divisor."""

from __future__ import annotations

import numpy as np
import pytest

from nacre.diagnostics.multiples import find_multiple


def draw_counts(seed: int, n: int = 100, cells: int = 12) -> np.ndarray:
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(n, rng.dirichlet(np.full(cells, 5.0)))
    return counts[counts > 0]


@pytest.mark.parametrize("times", [5, 10, 37, 50])
def test_a_multiplied_log_is_found(times: int) -> None:
    counts = draw_counts(100) * times
    assert find_multiple(counts, int(counts.sum())) % times == 0


def test_a_few_more_episodes_do_not_hide_it() -> None:
    counts = draw_counts(100) * 50
    counts[0] += 1
    assert find_multiple(counts, int(counts.sum())) == 50


def test_honest_numbers_have_no_divisor() -> None:
    """Of 600 logs of many sizes next to none; the level is 1 in 1000."""
    found = 0
    for seed in range(300, 900):
        rng = np.random.default_rng(seed)
        counts = draw_counts(seed, int(rng.integers(20, 20_000)), int(rng.integers(2, 60)))
        found += find_multiple(counts, int(counts.sum())) > 1
    assert found <= 2


def test_equal_numbers_by_design_are_not_copies() -> None:
    """Every start is there a hundred times; nearly all end in the same way, a few do not."""
    rng = np.random.default_rng(100)
    for _ in range(50):
        fails = rng.binomial(100, 0.05, 30)
        counts = np.concatenate([100 - fails, fails])
        assert find_multiple(counts[counts > 0], 3000) == 1
