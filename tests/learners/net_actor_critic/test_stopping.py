"""Algorithm 3, branch by branch, and what must hold for any values."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.errors import InputError
from nacre.learners.net_actor_critic.stopping import (
    Plateau,
    StoppingRule,
    find_plateau,
    reason_to_stop,
)

RULE = StoppingRule(least_epochs=2, growth_rate=0.5, upper_bound=10.0, lower_bound=4.0)
GREW = "net value above (1 + growth rate) times the old value for 2 epochs"
POSITIVE = "net value positive for 2 epochs where the old value is not"
ABOVE = "net value above the upper bound for 2 epochs"
BELOW = "net value below the lower bound for 2 epochs"


@pytest.mark.parametrize(
    ("old_value", "last_two", "reason"),
    [
        # v_0 = 8 > 0: (1 + α) v_0 = 12, v_0 + b_u = 18, v_0 - b_d = 4.
        (8.0, (12.1, 12.1), GREW),
        (8.0, (12.0, 12.1), None),
        (8.0, (12.1, 12.0), None),
        (8.0, (8.0, 8.0), None),
        (8.0, (4.0, 4.0), BELOW),
        (8.0, (3.0, 4.0), BELOW),
        (8.0, (4.0, 4.1), None),  # as printed this would stop: one bad epoch, then a better one
        (8.0, (4.1, 4.0), None),
        # v_0 = 40: (1 + α) v_0 = 60 lies above v_0 + b_u = 50.
        (40.0, (50.0, 50.1), ABOVE),
        (40.0, (50.1, 50.0), None),  # the printed second comparison is strict
        (40.0, (49.9, 50.1), None),
        (40.0, (60.1, 60.1), GREW),
        # v_0 = 0 is not positive.
        (0.0, (0.1, 0.1), POSITIVE),
        (0.0, (0.0, 0.1), None),
        (0.0, (-4.0, -4.0), BELOW),
        # v_0 = -20: v_0 + b_u = -10, v_0 - b_d = -24.
        (-20.0, (0.1, 0.1), POSITIVE),
        (-20.0, (0.1, 0.0), ABOVE),
        (-20.0, (-10.0, -9.9), ABOVE),
        (-20.0, (-10.0, -10.0), None),
        (-20.0, (-20.0, -20.0), None),
        (-20.0, (-24.0, -24.0), BELOW),
        (-20.0, (-24.0, -23.9), None),
    ],
)
def test_every_branch_by_hand(
    old_value: float, last_two: tuple[float, float], reason: str | None
) -> None:
    assert reason_to_stop(last_two, old_value, RULE) == reason


def test_only_the_last_two_epochs_count() -> None:
    assert reason_to_stop([100.0, 100.0, 8.0, 8.0], 8.0, RULE) is None
    assert reason_to_stop([8.0, -50.0, 100.0, 100.0], 8.0, RULE) == GREW


@pytest.mark.parametrize("least", [0, 1, 2, 3, 7])
def test_never_before_the_least_number_of_epochs_nor_before_two(least: int) -> None:
    rule = StoppingRule(least_epochs=least, growth_rate=0.5, upper_bound=10.0, lower_bound=4.0)
    stops = [n for n in range(12) if reason_to_stop([100.0] * n, 8.0, rule) is not None]
    assert stops == list(range(max(least, 2), 12))


@pytest.mark.parametrize("bad", [math.nan, (math.nan, 1.0), (1.0, math.nan)])
def test_nothing_is_concluded_from_nan(bad: float | tuple[float, float]) -> None:
    old_value, last_two = (8.0, bad) if isinstance(bad, tuple) else (bad, (1.0, 1.0))
    assert reason_to_stop(last_two, old_value, RULE) is None


numbers = st.floats(-1e4, 1e4)
rises = st.floats(0.0, 1e4)
rules = st.builds(
    StoppingRule,
    least_epochs=st.just(2),
    growth_rate=st.floats(1e-3, 10.0),
    upper_bound=st.floats(1e-3, 100.0),
    lower_bound=st.floats(1e-3, 100.0),
)


@given(numbers, numbers, numbers, rises, rises, rules)
def test_raising_values_never_turns_a_stop_for_success_off(
    first: float, second: float, old: float, more: float, most: float, rule: StoppingRule
) -> None:
    if reason_to_stop([first, second], old, rule) in (GREW, POSITIVE, ABOVE):
        raised = reason_to_stop([first + more, second + most], old, rule)
        assert raised in (GREW, POSITIVE, ABOVE)


@given(numbers, numbers, numbers, rises, rises, rules)
def test_lowering_values_of_a_failure_never_makes_it_a_success_nor_goes_on(
    first: float, second: float, old: float, less: float, least: float, rule: StoppingRule
) -> None:
    # With a non-positive old value nothing below it is positive, with a positive one nothing below
    # it has grown, so a failure stays one.
    if reason_to_stop([first, second], old, rule) == BELOW:
        assert reason_to_stop([first - less, second - least], old, rule) == BELOW


@given(numbers, st.floats(0.0, 0.9), st.floats(0.0, 0.9), rules)
def test_values_a_little_below_the_old_one_go_on(
    old: float, first: float, second: float, rule: StoppingRule
) -> None:
    last_two = [old - rule.lower_bound * share for share in (first, second)]
    assert reason_to_stop(last_two, old, rule) is None


@given(st.lists(numbers, min_size=2, max_size=6), numbers, rules)
def test_longer_histories_change_nothing_but_the_count(
    values: list[float], old: float, rule: StoppingRule
) -> None:
    assert reason_to_stop(values, old, rule) == reason_to_stop(values[-2:], old, rule)


@pytest.mark.parametrize(
    ("net_values", "old_value", "stops"),
    [
        # 3 of a range of 68 is less than a twentieth, 4 is not.
        ([56.0, 71.0, 77.0, 80.0], 12.0, True),
        ([56.0, 71.0, 77.0, 81.0], 12.0, False),
        # Critics that begin below the old value and rise steadily go on.
        ([-39.0, -30.0, -20.0, -10.0], -32.0, False),
        ([20.0, 30.0, 25.0], 12.0, True),
        # Nothing has moved: nothing can be added.
        ([5.0, 5.0, 5.0], 5.0, False),
        ([20.0, 30.0], 12.0, False),
    ],
)
def test_plateaus_by_hand(net_values: list[float], old_value: float, stops: bool) -> None:
    reason = find_plateau(net_values, old_value, Plateau(least_epochs=3, share=0.05))
    assert (reason is not None) is stops
    assert reason is None or "less than 5 %" in reason


@given(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=8), st.floats(-1e3, 1e3))
def test_a_plateau_knows_no_unit(net_values: list[float], old_value: float) -> None:
    rule = Plateau(least_epochs=2)
    found = find_plateau(net_values, old_value, rule)
    doubled = find_plateau([2.0 * value for value in net_values], 2.0 * old_value, rule)
    assert doubled == found


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"least_epochs": 0}, "stopping.least_epochs = 0: at least 1 is needed"),
        ({"share": 0.0}, "stopping.share = 0.0: must lie between 0 and 1"),
        ({"share": math.nan}, "stopping.share = nan: must lie between 0 and 1"),
    ],
)
def test_plateaus_that_make_no_sense(settings: dict[str, float], problem: str) -> None:
    with pytest.raises(InputError) as caught:
        Plateau(**settings)  # type: ignore[arg-type]
    assert str(caught.value) == problem
