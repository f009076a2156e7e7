"""The price of a switch, taken apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class CostBreakdown:
    """The price of a switch and where it comes from.

    `learning` and `transaction` are the averages of the two terms times c_l and c_t; the total is
    their sum, or the link of it. Everything averaged, and `per_state`, is weighted with the states'
    importance; `flows` go from the group of the row to that of the column. `standard_error` is the
    Monte-Carlo error of the total, from drawn states and actions; NaN if just one state was drawn.
    """

    total: float
    learning: float
    transaction: float
    learning_mass: float
    transaction_mass: float
    flows: np.ndarray
    group_names: tuple[str, ...]
    per_state: np.ndarray
    standard_error: float
    n_states: int

    def __repr__(self) -> str:
        error = f" ± {self.standard_error:.3g}" if self.standard_error else ""
        return (
            f"CostBreakdown(total={self.total:.6g}{error}, learning={self.learning:.6g}, "
            f"transaction={self.transaction:.6g}, moved mass={self.learning_mass:.4g}, "
            f"states={self.n_states})"
        )

    def as_json(self) -> dict[str, Any]:
        """Plain numbers for a decision record; the per-state costs are left out."""
        return {
            "total": self.total,
            "learning": self.learning,
            "transaction": self.transaction,
            "learning_mass": self.learning_mass,
            "transaction_mass": self.transaction_mass,
            "standard_error": None if math.isnan(self.standard_error) else self.standard_error,
            "n_states": self.n_states,
            "groups": list(self.group_names),
            "flows": self.flows.tolist(),
        }
