"""One confidence for a whole decision: split over finalists, and over looks at a growing log."""

from __future__ import annotations

import math

from nacre.errors import InputError

SHARES = 6.0 / math.pi**2
"""Σ 1/k² = π²/6: the shares of all looks together are one."""


def split_level(confidence: float, n_finalists: int, look: int = 1, looks: int = 1) -> float:
    """The one-sided level of each bound, so that all of them hold together with `confidence`.

    Bonferroni over the finalists. The k-th look at a growing log may err with 6/(π²k²) of the whole
    error, so that any number of looks errs with no more than all of it; a single look that is known
    to be the only one takes all.

    Args:
        confidence: Of the whole decision.
        n_finalists: Candidates that compete on the test part.
        look: Which look at the log this is, from 1.
        looks: 1 if no other look was or will be taken; anything else for a growing log.
    """
    if look < 1:
        raise InputError(f"look = {look}: the first look at a log is 1")
    error = 1.0 - confidence
    if looks != 1 or look != 1:
        error *= SHARES / look**2
    return 1.0 - error / max(1, n_finalists)
