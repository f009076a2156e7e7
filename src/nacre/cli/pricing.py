"""From files to the cost of a switch."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from nacre.cli.policy_flags import NO_FLAGS, PolicyFlags
from nacre.costs import CostBreakdown, SwitchingCost, describe_cost, read_cost
from nacre.costs.fit import check_log_fits
from nacre.errors import InputError
from nacre.logs import ColumnMap, Log, read_log
from nacre.logs.checks.problems import show_path
from nacre.policies import Policy, fingerprint
from nacre.versions import find_versions

T = TypeVar("T")


@dataclass(frozen=True)
class Pricing:
    """The cost of a switch with everything it was made from."""

    log: Log
    old_policy: Policy
    new_policy: Policy
    cost: SwitchingCost
    breakdown: CostBreakdown
    seed: int
    wall_seconds: float

    def as_json(self) -> dict[str, Any]:
        """The record of the pricing: its result, its inputs by SHA-256, configuration, versions."""
        return {
            "cost": self.breakdown.as_json(),
            "per_state": summarise_states(self.cost, self.breakdown),
            "log": self.log.identify(),
            "policy": {"sha256": fingerprint(self.old_policy)},
            "new_policy": {"sha256": fingerprint(self.new_policy)},
            "config": {"cost": describe_cost(self.cost)},
            "seed": self.seed,
            "versions": find_versions(),
            "wall_seconds": self.wall_seconds,
        }


@dataclass(frozen=True)
class Sources:
    """Where the parts of a pricing are read from.

    Args:
        log: The log's file or dataset.
        policy: The policy in force: a file, or "columns" or "clone" to take it from the log.
        new_policy: The one proposed, likewise.
        cost: The cost's file.
        columns: Which column of the log holds what.
        flags: What is said about the policies; exploration is on top of the one in force.
    """

    log: str | Path
    policy: str | Path
    new_policy: str | Path
    cost: Path
    columns: ColumnMap | None = None
    flags: PolicyFlags = NO_FLAGS


def price_files(sources: Sources, *, seed: int) -> Pricing:
    """Read log, policies and cost, check that they fit together, and find the cost.

    Raises:
        InputError: With the problems of all files.
    """
    started = time.perf_counter()
    problems: list[str] = []

    def attempt(step: Callable[..., T], *arguments: object) -> T | None:
        try:
            return step(*arguments)
        except InputError as error:
            problems.extend(error.problems)
            return None

    def read(source: str | Path, flags: PolicyFlags) -> Policy:
        return flags.read(source, log=the_log, seed=seed)

    the_cost = attempt(read_cost, sources.cost)
    the_log = attempt(lambda: read_log(sources.log, columns=sources.columns))
    old = attempt(read, sources.policy, sources.flags)
    new = attempt(read, sources.new_policy, dataclasses.replace(sources.flags, epsilon=0.0))
    if not problems:
        attempt(check_log_fits, the_log, old, show_path(sources.policy))
        attempt(check_log_fits, the_log, new, show_path(sources.new_policy))
    if problems or the_cost is None or old is None or new is None or the_log is None:
        raise InputError(problems)
    try:
        breakdown = the_cost.evaluate(old, new, the_log, seed=seed)
    except InputError as error:
        # Log and policies fit together: what is wrong now is what the cost asks of them.
        place = show_path(sources.cost)
        raise InputError([f"{place}: {text}" for text in error.problems]) from None
    seconds = time.perf_counter() - started
    return Pricing(the_log, old, new, the_cost, breakdown, seed, seconds)


def summarise_states(cost: SwitchingCost, breakdown: CostBreakdown) -> dict[str, Any]:
    """How the cost is spread over the states, before the link.

    `highest_state` is the position of the state with the highest cost: a row of the log where the
    cost averages over all of it. `carry_half` is the smallest number of states on which half of the
    cost falls; it is absent where states have different weights.
    """
    costs = breakdown.per_state
    summary: dict[str, Any] = {
        "median": float(np.median(costs)),
        "ninth_decile": float(np.quantile(costs, 0.9)),
        "highest": float(costs.max()),
        "highest_state": int(costs.argmax()),
        "carry_half": None,
    }
    if getattr(cost.state_measure, "weights", None) is None and costs.sum() > 0:
        reached = np.cumsum(np.sort(costs)[::-1])
        summary["carry_half"] = int(np.searchsorted(reached, 0.5 * reached[-1])) + 1
    return summary
