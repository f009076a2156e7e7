"""When to stop learning, as pure functions of what the epochs averaged: Algorithm 3, and ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from nacre.errors import InputError, check_arguments


@check_arguments
@dataclass(frozen=True)
class StoppingRule:
    """The thresholds of Algorithm 3.

    Args:
        least_epochs: "Epochs_stop": never stop before this many epochs.
        growth_rate: α, the rise over a positive old value that is enough.
        upper_bound: b_u, the rise in net value that is enough.
        lower_bound: b_d, the fall in net value that is too much.
        value: What is compared: the average net value of an epoch (the paper), or the one at its
            end, "last", as the published code does.
    """

    least_epochs: int = 20
    growth_rate: float = 1.0
    upper_bound: float = 50.0
    lower_bound: float = 10.0
    value: Literal["mean", "last"] = "mean"

    def __post_init__(self) -> None:
        problems = []
        if self.value not in ("mean", "last"):
            problems.append(f"stopping.value = {self.value!r}: known are mean, last")
        if self.least_epochs < 0:
            problems.append(f"stopping.least_epochs = {self.least_epochs}: cannot be negative")
        for name in ("growth_rate", "upper_bound", "lower_bound"):
            if not getattr(self, name) > 0:
                problems.append(f"stopping.{name} = {getattr(self, name)}: must be positive")
        if problems:
            raise InputError(problems)


@check_arguments
def reason_to_stop(net_values: Sequence[float], old_value: float, rule: StoppingRule) -> str | None:
    """Why learning should stop after these epochs, or None to go on (Algorithm 3).

    With v_1, v_2 the last two averages, it stops if both exceed (1 + α) v_0, or 0 where v_0 is not
    positive; if v_1 ≥ v_0 + b_u and v_2 > v_0 + b_u; or if both are at most v_0 - b_d.

    Args:
        net_values: Average estimated net value of the new policy in each epoch so far.
        old_value: v_0, the value of the old policy.
        rule: The thresholds.
    """
    if len(net_values) < max(rule.least_epochs, 2):
        return None
    last_two = net_values[-2:]
    upper, lower = old_value + rule.upper_bound, old_value - rule.lower_bound
    if old_value > 0:
        if all(value > (1.0 + rule.growth_rate) * old_value for value in last_two):
            return "net value above (1 + growth rate) times the old value for 2 epochs"
    elif old_value <= 0 and all(value > 0 for value in last_two):
        return "net value positive for 2 epochs where the old value is not"
    if last_two[0] >= upper and last_two[1] > upper:
        return "net value above the upper bound for 2 epochs"
    # The printed last branch asks v_2 > v_0 - b_d; the prose, "worse for consecutive 2 epochs".
    if all(value <= lower for value in last_two):
        return "net value below the lower bound for 2 epochs"
    return None


@check_arguments
@dataclass(frozen=True)
class Plateau:
    """Stop where going on hardly pays.

    Args:
        least_epochs: Never stop before this many epochs.
        share: An epoch that adds less than this share of the range seen so far is the last.
    """

    least_epochs: int = 3
    share: float = 0.05

    def __post_init__(self) -> None:
        problems = []
        if self.least_epochs < 1:
            problems.append(f"stopping.least_epochs = {self.least_epochs}: at least 1 is needed")
        if not 0 < self.share < 1:
            problems.append(f"stopping.share = {self.share}: must lie between 0 and 1")
        if problems:
            raise InputError(problems)


@check_arguments
def find_plateau(net_values: Sequence[float], old_value: float, rule: Plateau) -> str | None:
    """Why learning should stop after these epochs, or None to go on.

    The range is that of all epochs so far and of the old value: what is learned at all, however far
    the critics still are from the truth.
    """
    if len(net_values) < max(rule.least_epochs, 2):
        return None
    seen = [old_value, *net_values]
    added = net_values[-1] - net_values[-2]
    if added < rule.share * (max(seen) - min(seen)):
        return f"the last epoch added less than {100 * rule.share:g} % of what the others moved"
    return None
