"""Bounds by betting against a plain loop and against confseq."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nacre.errors import InputError
from nacre.rollout.betting import betting_bounds, find_bets

X = np.array([0.1, 0.9, 0.4, 0.7, 0.65, 0.2, 0.95, 0.8, 0.3, 0.55, 0.75, 0.6])
# Capital of confseq's betting_mart after 4, 8 and 12 scores, theta 1 and theta 0, alpha 0.05.
CONFSEQ = {
    0.2: (
        (6.9609375, 84.61493297095114, 505.5880289688801),
        (0.359527587890625, 0.08580034598708153, 0.03093007162391359),
    ),
    0.35: (
        (1.8449344023323615, 6.318189555675904, 16.086910579440122),
        (0.4833404817758481, 0.14600399168520461, 0.0717380524602219),
    ),
    0.5: (
        (0.9072, 1.3766079599999999, 1.5899821938000003),
        (0.7392000000000001, 0.3144741600000001, 0.2419878661200001),
    ),
}


def bet_plainly(scores: np.ndarray, m: float, sign: float, alpha: float = 0.05) -> list[float]:
    """The capital, score by score, as the paper writes it."""
    capital, found = 1.0, []
    spread, squares, total = 0.25, 0.25, 0.5
    for t, x in enumerate(scores, start=1):
        bet = math.sqrt(2 * math.log(1 / alpha) / (spread * t * math.log(1 + t)))
        bet = min(bet, 0.5 / (m if sign > 0 else 1 - m))
        capital *= 1 + sign * bet * (x - m)
        found.append(capital)
        total += x
        squares += (x - total / (t + 1)) ** 2
        spread = squares / (t + 1)
    return found


@pytest.mark.parametrize("m", CONFSEQ)
def test_the_plain_loop_is_what_confseq_computes(m: float) -> None:
    for sign, expected in zip((1.0, -1.0), CONFSEQ[m], strict=True):
        np.testing.assert_allclose(np.array(bet_plainly(X, m, sign))[[3, 7, 11]], expected)


def test_bounds_are_where_the_plain_loop_reaches_its_limit() -> None:
    scores = np.random.default_rng(100).beta(2, 5, size=300)
    found = betting_bounds(scores, 0.05, 0.0, 1.0)
    for n in (50, 150, 300):
        low = found.low[n - 1]
        # The bound is the last mean of the grid that is ruled out.
        assert bet_plainly(scores[:n], low, 1.0)[-1] >= 20
        assert bet_plainly(scores[:n], low + 0.001, 1.0)[-1] < 20
        high = found.high[n - 1]
        assert bet_plainly(scores[:n], high, -1.0)[-1] >= 20
        assert bet_plainly(scores[:n], high - 0.001, -1.0)[-1] < 20
    # confseq's betting_lower_cs on the same scores: 0.202, 0.234, 0.246 on a grid of 1/1000.
    np.testing.assert_allclose(found.low[[49, 149, 299]], [0.202, 0.234, 0.246], atol=1.1e-3)


def test_bounds_follow_shift_and_scale() -> None:
    scores = np.random.default_rng(101).random(200)
    plain = betting_bounds(scores, 0.05, 0.0, 1.0)
    moved = betting_bounds(10 * scores - 5, 0.05, -5.0, 5.0)
    np.testing.assert_allclose(moved.low, 10 * plain.low - 5, atol=1e-9)
    np.testing.assert_allclose(moved.high, 10 * plain.high - 5, atol=1e-9)
    assert np.all(plain.low <= plain.mean)
    assert np.all(plain.mean <= plain.high)


def test_bets_do_not_see_the_score_they_are_made_on() -> None:
    scores = np.random.default_rng(102).random(50)
    changed = scores.copy()
    changed[30:] = 1.0 - changed[30:]
    np.testing.assert_array_equal(find_bets(scores, 0.05)[:31], find_bets(changed, 0.05)[:31])


def test_it_errs_no_more_than_it_may_even_with_rare_outcomes() -> None:
    rng = np.random.default_rng(103)
    wrong = np.zeros(2)
    for _ in range(60):
        scores = (rng.random(200) < 0.03).astype(float)
        found = betting_bounds(scores, 0.05, 0.0, 1.0)
        wrong += (found.low > 0.03).any(), (found.high < 0.03).any()
    # 5 % of 60 streams, and three standard errors of that.
    assert np.all(wrong <= 8)


def test_wrong_bounds_are_refused() -> None:
    with pytest.raises(InputError, match=r"score of 2 lies outside of \[0, 1\]"):
        betting_bounds(np.array([0.5, 2.0]), 0.05, 0.0, 1.0)
    with pytest.raises(InputError, match="has to be the smaller"):
        betting_bounds(np.array([0.5]), 0.05, 1.0, 0.0)
