"""Checksums of logs; tests of the fingerprint are those of the log."""

from __future__ import annotations

import dataclasses

import numpy as np

from nacre.logs.digests import checksum
from tests.support.logs import make_log


def test_equal_logs_have_equal_checksums_and_others_do_not() -> None:
    log = make_log(further=True)
    known = checksum(log)
    assert len(known) == 8
    assert checksum(make_log(further=True)) == known
    flipped = log.observations.copy().view(np.uint32)
    flipped[-1, 0] ^= 1
    others = [
        dataclasses.replace(log, rewards=log.rewards + np.float32(1)),
        dataclasses.replace(log, observations=flipped.view(np.float32)),
        dataclasses.replace(log, columns={}),
        make_log(),
    ]
    assert len({known, *map(checksum, others)}) == 1 + len({*map(checksum, others)})


def test_zeros_of_both_signs_are_the_same() -> None:
    log = make_log()
    rewards = log.rewards.copy()
    rewards[0] = 0.0
    assert checksum(dataclasses.replace(log, rewards=rewards)) == checksum(
        dataclasses.replace(log, rewards=np.where(rewards == 0, np.float32(-0.0), rewards))
    )
