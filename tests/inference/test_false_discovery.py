"""False-discovery rates: worked by hand, and by their definition."""

from __future__ import annotations

import numpy as np
import pytest

from nacre.inference.false_discovery import find_q_values


def test_worked_by_hand() -> None:
    # p-values 0.01, 0.04, 0.03, 0.5: 4·0.01/1, 4·0.03/2, 4·0.04/3, 0.5; then the least from behind.
    found = find_q_values([0.99, 0.96, 0.97, 0.5])
    assert found == pytest.approx([0.04, 0.16 / 3, 0.16 / 3, 0.5])
    harmonic = 1 + 1 / 2 + 1 / 3 + 1 / 4
    dependent = find_q_values([0.99, 0.96, 0.97, 0.5], any_dependence=True)
    assert dependent == pytest.approx([min(1.0, harmonic * q) for q in found])


def test_a_failure_never_makes_another_rate_better() -> None:
    before = find_q_values([0.99, 0.9])
    after = find_q_values([0.99, 0.9, 0.0])
    assert after[2] == 1.0
    assert all(new >= old for new, old in zip(after, before, strict=False))
    assert find_q_values([]) == []


def test_a_confidence_beyond_its_range_counts_as_its_end() -> None:
    """Rounding may lead out of it."""
    assert find_q_values([0.99, -0.5, 0.9]) == find_q_values([0.99, 0.0, 0.9])
    assert find_q_values([1.5, 0.2]) == find_q_values([1.0, 0.2])


def test_among_worthless_decisions_few_runs_find_any() -> None:
    """With nothing to find, any finding is false: the rate is how often there is one."""
    draws = np.random.default_rng(0).uniform(size=(2000, 20))
    found = [min(find_q_values(list(draw))) <= 0.1 for draw in draws]
    assert np.mean(found) <= 0.1 + 3 * np.sqrt(0.09 / 2000)
