"""Who runs what: as many as planned in every set, and the same for everybody who has the plan."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from nacre.errors import InputError
from nacre.rollout.design import Design, choose_design, list_assignment


@pytest.mark.parametrize(
    ("share", "size", "new"),
    [(0.5, 2, 1), (0.1, 10, 1), (0.3, 10, 3), (1.0, 1, 1), (0.001, 20, 1), (0.99, 20, 19)],
)
def test_shares_become_sets(share: float, size: int, new: int) -> None:
    design = choose_design(share, "episode")
    assert (design.set_size, design.new_per_set) == (size, new)


def test_every_set_has_as_many_new_units_as_planned() -> None:
    design = choose_design(0.3, "episode", seed=5)
    drawn = design.draw(1000).reshape(100, 10)
    assert np.all(drawn.sum(axis=1) == 3)
    # Every place is as likely: 30 of 100, four standard deviations of that are 18.
    assert np.all(np.abs(drawn.sum(axis=0) - 30) < 18)


def test_the_assignment_follows_from_seed_stage_and_set_alone() -> None:
    design = choose_design(0.5, "block", seed=5, stage=2, episodes_per_unit=3)
    np.testing.assert_array_equal(design.draw(200)[:50], design.draw(50))
    assert not np.array_equal(design.draw(200), dataclasses.replace(design, seed=6).draw(200))
    assert not np.array_equal(design.draw(200), dataclasses.replace(design, stage=3).draw(200))
    rows = list(list_assignment(design, 4))
    assert [row["unit"] for row in rows] == [0, 1, 2, 3]
    assert [row["set"] for row in rows] == [0, 0, 1, 1]
    assert [row["arm"] for row in rows] == design.draw(4).astype(int).tolist()


def test_sites_of_a_period_are_one_set() -> None:
    design = choose_design(0.25, "site", sites=6)
    assert (design.set_size, design.new_per_set) == (6, 2)
    assert choose_design(1.0, "site", sites=6).complete
    assert choose_design(0.9999, "site", sites=6).new_per_set == 5


def test_wrong_designs_are_refused() -> None:
    with pytest.raises(InputError, match="a share of units"):
        choose_design(1.5, "episode")
    with pytest.raises(InputError, match="--sites 2 or more"):
        choose_design(0.5, "site")
    with pytest.raises(InputError, match="gap = 2: a unit has 2 episodes"):
        Design("block", 2, 1, episodes_per_unit=2, gap=2)
    with pytest.raises(InputError, match="new_per_set = 3"):
        Design("episode", 2, 3)
