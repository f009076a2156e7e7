"""A log as a source of mini-batches: on the device, or in its files where it is too large."""

from __future__ import annotations

import numpy as np

from nacre.logs import Log
from nacre.training.batches import BatchSource
from nacre.training.mapped import MappedTransitions
from nacre.training.transitions import Transitions


def open_source(
    log: Log,
    *,
    discount: float = 0.99,
    discounted_states: bool = False,
    resampling: np.ndarray | None = None,
) -> BatchSource:
    """A log ready to be sampled from: on the device, or where it lies if it is too large.

    Args:
        log: The log.
        discount: γ.
        discounted_states: Let states weigh γ^t, t steps into their episode, scaled to mean one.
        resampling: (E, M) how often each critic sees each episode; once if not given.
    """
    make = MappedTransitions if log.is_mapped else Transitions.from_log
    source: BatchSource = make(
        log, discount=discount, discounted_states=discounted_states, resampling=resampling
    )
    return source
