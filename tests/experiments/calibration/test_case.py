"""What a case says of its log before any advice."""

from __future__ import annotations

import dataclasses

import numpy as np

from nacre.experiments.calibration.case import can_show
from tests.support.logs import make_log


def test_a_log_shows_gains_where_actions_and_outcomes_vary() -> None:
    log = make_log()
    assert can_show(log, varies=True)
    assert not can_show(log, varies=False)
    # Every step earns the same: then it counts that some episodes end and others are cut off.
    same = dataclasses.replace(log, rewards=np.full_like(log.rewards, -1.0))
    assert can_show(same, varies=True)
    ends = np.zeros_like(log.terminated)
    ends[log.offsets[1:] - 1] = True
    nothing = np.zeros_like(ends)
    for terminated, truncated in ((ends, nothing), (nothing, ends)):
        alike = dataclasses.replace(same, terminated=terminated, truncated=truncated)
        assert not can_show(alike, varies=True)
