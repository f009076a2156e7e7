"""The price of a switch, taken apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacre.logs.display import format_table

MOST_GROUPS = 12
"""That a notebook shows."""


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

    def _repr_html_(self) -> str:
        """The parts, and what moves between groups, for notebooks."""
        error = f" ± {self.standard_error:.3g}" if self.standard_error else ""
        title = f"Switching cost {self.total:.6g}{error}, averaged over {self.n_states:,} states"
        parts = [
            ("learning", f"{self.learning:.6g}", f"{self.learning_mass:.4f}"),
            ("transaction", f"{self.transaction:.6g}", f"{self.transaction_mass:.4f}"),
        ]
        shown = self.group_names[:MOST_GROUPS]
        flows = [
            (name, *(f"{mass:.4f}" for mass in row[:MOST_GROUPS]))
            for name, row in zip(shown, self.flows, strict=False)
        ]
        return "\n".join(
            [
                format_table(title, parts, ("part", "cost", "mass")),
                format_table(
                    "Mass by group: old policy down, new policy across", flows, ("", *shown)
                ),
            ]
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
