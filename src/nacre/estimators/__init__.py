"""What a candidate gains over the old policy, estimated from a log."""

from nacre.estimators.base import Estimate, Estimator, Problem
from nacre.plugins.registry import Registry

ESTIMATORS: Registry[type[Estimator]] = Registry(
    "nacre.estimators",
    "estimator",
    {
        "tabular": "nacre.estimators.tabular:Tabular",
        "one_step": "nacre.estimators.one_step:OneStep",
        "fitted_q": "nacre.estimators.fitted_q:FittedQ",
        "doubly_robust": "nacre.estimators.doubly_robust:DoublyRobust",
        "model": "nacre.estimators.model:Model",
    },
)
"""Every estimator that an advice asks, in this order; other packages add theirs by entry point."""

__all__ = ["ESTIMATORS", "Estimate", "Estimator", "Problem"]
