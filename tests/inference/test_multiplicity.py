"""One confidence for a whole decision."""

from __future__ import annotations

import math

import pytest

from nacre.errors import InputError
from nacre.inference.multiplicity import split_level


def test_bonferroni_over_finalists() -> None:
    assert split_level(0.95, 1) == pytest.approx(0.95)
    assert split_level(0.95, 5) == pytest.approx(0.99)
    assert split_level(0.95, 0) == pytest.approx(0.95)


def test_all_looks_together_err_no_more_than_allowed() -> None:
    errors = [1.0 - split_level(0.95, 1, look, looks=2) for look in range(1, 100_000)]
    assert math.fsum(errors) <= 0.05
    assert math.fsum(errors) == pytest.approx(0.05, rel=1e-4)
    # Who asks again without having said so is charged as if he had.
    assert split_level(0.95, 1, look=3) == split_level(0.95, 1, look=3, looks=9)


def test_there_is_no_look_before_the_first() -> None:
    with pytest.raises(InputError, match="look = 0: the first look at a log is 1"):
        split_level(0.95, 1, look=0)
