"""What an experiment would tell: the interval of somebody who may run the candidate itself."""

from __future__ import annotations

import numpy as np
from scipy import stats

from nacre.experiments.calibration.case import Problem, Truth


def find_oracle_width(problem: Problem, truth: Truth, level: float) -> float:
    """Width of the interval after running the candidate for as many episodes as the log has.

    2 z √((σ_new² + σ_old²) / E), the σ the standard deviations of the returns: of the candidate's
    by the simulator, of the old policy's by the log.
    """
    episodes = max(problem.log.n_episodes, 2)
    known = float(np.var(problem.log.returns(problem.discount)))
    quantile = float(stats.norm.ppf(0.5 + level / 2))
    return 2.0 * quantile * float(np.sqrt((truth.deviation**2 + known) / episodes))
