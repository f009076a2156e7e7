"""Did as many units run the new policy as were to? A sequential test of the sample ratio.

Under the plan each of n units is a new one with probability p. The e-value is the likelihood of the
counts under a Beta prior around p, divided by that under p itself (Lindon and Malek, 2020). It
exceeds 1/α at any time with a probability of at most α, so it may be looked at as often as one
likes.
"""

from __future__ import annotations

import math

from scipy.special import betaln

CONCENTRATION = 100.0
"""How near to p the prior is: about as if so many units had been seen."""


def ratio_p_value(new: int, old: int, share: float) -> float:
    """The always-valid p-value 1 / e, at most 1, for the counts of new and old units."""
    if not 0.0 < share < 1.0:
        wrong = old if share >= 1.0 else new
        return 0.0 if wrong else 1.0
    first, second = CONCENTRATION * share, CONCENTRATION * (1.0 - share)
    log_e = (
        betaln(first + new, second + old)
        - betaln(first, second)
        - new * math.log(share)
        - old * math.log1p(-share)
    )
    return math.exp(min(0.0, -float(log_e)))
