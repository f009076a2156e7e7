"""A cost.toml to edit, drafted from a log: what `nacre draft-cost` writes."""

from __future__ import annotations

import numpy as np
from gymnasium.spaces import Discrete

from nacre.logs import Log, action_labels

SHARE = 0.1
"""Of the returns' spread: the learning weight of a draft, a number to be replaced."""


def draft_cost(log: Log) -> str:
    """Return the text of a cost.toml: each action a kind of its own, the weights to be edited."""
    returns = log.returns()
    spread = float(np.std(returns))
    weight = _round(SHARE * spread) or 1.0
    lines = [
        "# What it costs to replace the old policy: a draft. The weights are yours to know.",
        f"# Unit: that of the reward. An episode of the log earns {returns.mean():.4g} on average,",
        f"# with a standard deviation of {spread:.4g}.",
        'kind = "transport"',
        "",
        "# EDIT: cost if every decision became one of another kind.",
        f"learning_weight = {weight!r}",
        "",
        "# EDIT: cost of any change at all; at most the learning weight.",
        f"transaction_weight = {_round(weight / 10)!r}",
        "",
    ]
    if not isinstance(log.action_space, Discrete):
        return "\n".join([*lines, "[groups]", 'kind = "sign"', "coordinate = 0", ""])
    n = int(log.action_space.n)
    labels = action_labels(log) or tuple(range(n))
    named = ", ".join(str(label) for label in labels[:n])
    sets = ", ".join(f"[{action}]" for action in range(n))
    lines += [f"# Actions of one kind stand in one list. In order: {named}.", "[groups]"]
    return "\n".join([*lines, 'kind = "indices"', f"sets = [{sets}]", ""])


def _round(weight: float) -> float:
    return float(f"{weight:.1g}")
