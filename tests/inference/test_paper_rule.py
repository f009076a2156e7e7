"""The decision w: strict improvement of sound numbers switches, everything else keeps."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.inference import decide

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(finite, finite)
def test_switches_exactly_if_the_net_value_is_larger(old: float, net: float) -> None:
    assert decide(old, net) == ("switch" if net > old else "keep")


@given(finite)
def test_ties_keep_the_old_policy(value: float) -> None:
    assert decide(value, value) == "keep"


def test_the_smallest_improvement_switches() -> None:
    assert decide(1.0, math.nextafter(1.0, 2.0)) == "switch"
    assert decide(-0.0, 0.0) == "keep"


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_keeps(bad: float) -> None:
    assert decide(0.0, bad) == "keep"
    assert decide(bad, 0.0) == "keep"
    assert decide(bad, bad) == "keep"


@given(finite, finite)
def test_what_is_not_trusted_keeps(old: float, net: float) -> None:
    assert decide(old, net, trusted=False) == "keep"
