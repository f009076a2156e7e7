"""Bundled logs with policies and costs, for the demonstration, the docs and the tests.

A motor positions a cart on a rail. The controller in force pushes weakly and shakily; a proposed
one is firmer and calmer. It often pushes left where the old one would have pushed right, and that
has a price: `cost.toml` tells pushes to the left from pushes to the right.

In the other example the lights of an intersection are run by a policy of middling quality; SUMO
simulated what happened. Here only the old policy is known: a better one is to be found.

The files are made by `scripts/make_example.py` and `scripts/make_traffic_example.py`.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np

from nacre.costs import SwitchingCost, read_cost
from nacre.errors import InputError
from nacre.log import Log, read_log
from nacre.policies import MLPPolicy, Policy, read_policy
from nacre.worlds import LinearPolicy, LinearWorld, double_integrator

TRAFFIC_FILES = ("log.parquet", "old.safetensors", "cost.toml")
FILES = ("log.parquet", "old.safetensors", "new.safetensors", "cost.toml")


@dataclass(frozen=True)
class Example:
    """A log, the policy that made it, a proposed one and the price of switching.

    The world is linear with quadratic rewards, so what a linear policy is worth is known exactly.
    """

    log: Log
    old_policy: Policy
    new_policy: Policy
    cost: SwitchingCost
    world: LinearWorld

    def value(self, policy: Policy) -> float:
        """The exact value of a linear policy, in expectation over the episodes' starts."""
        return self.world.start_value(as_linear(policy))


def load() -> Example:
    """The bundled example."""
    with ExitStack() as stack:
        log, old, new, cost = (
            stack.enter_context(resources.as_file(resources.files(__name__) / "cart" / name))
            for name in FILES
        )
        return Example(
            log=read_log(log),
            old_policy=read_policy(old),
            new_policy=read_policy(new),
            cost=read_cost(cost),
            world=make_world(),
        )


@dataclass(frozen=True)
class TrafficExample:
    """The log of an intersection, the policy that made it and the price of switching."""

    log: Log
    old_policy: Policy
    cost: SwitchingCost


def load_traffic() -> TrafficExample:
    """The bundled log of an intersection: 200 episodes of 100 decisions."""
    with ExitStack() as stack:
        log, old, cost = (
            stack.enter_context(resources.as_file(resources.files(__name__) / "traffic" / name))
            for name in TRAFFIC_FILES
        )
        return TrafficExample(read_log(log), read_policy(old), read_cost(cost))


def find_directory(name: str = "cart") -> Path:
    """Where the files of an example lie, "cart" or "traffic", for use on the command line."""
    return Path(str(resources.files(__name__) / name))


def make_world() -> LinearWorld:
    """The cart on its rail: position and velocity, one push."""
    return double_integrator()


def as_linear(policy: Policy) -> LinearPolicy:
    """A Gaussian policy of one layer as gain and noise.

    Raises:
        InputError: If the policy is anything else; its value has no closed form.
    """
    if not (
        isinstance(policy, MLPPolicy)
        and policy.head == "gaussian"
        and policy.scaling is None
        and policy.network.activations == ("identity",)
    ):
        raise InputError("the value is known in closed form for linear Gaussian policies only")
    weight = np.asarray(policy.network.weights[0], np.float64)
    bias = np.asarray(policy.network.biases[0], np.float64)
    size = policy.signature.action_size
    if np.any(weight[:, size:]) or np.any(bias[:size]):
        raise InputError("the value is known in closed form for constant noise and no offset only")
    return LinearPolicy(weight[:, :size].T, np.exp(bias[size:]))
