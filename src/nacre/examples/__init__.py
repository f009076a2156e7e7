"""Bundled logs with policies and costs, for the demonstration, the docs and the tests.

| name | log | old policy |
| --- | --- | --- |
| `cart` | our own Parquet: a motor positions a cart | our own safetensors, and a better one |
| `traffic` | our own Parquet: the lights of an intersection | our own safetensors |
| `treatment` | CSV with named columns and texts, episodes of uneven length | none |
| `offers` | Parquet of named columns | its probabilities, row by row |
| `calls` | CSV of single decisions, texts and propensities: a bandit log | none |
| `desk` | CSV of single decisions, with guardrails and segments | a rule file |
| `trolley` | arrays with the names of D4RL | an ONNX file |

The controller of the cart pushes weakly and shakily; a proposed one is firmer and steadier. It
often pushes left where the old one would have pushed right, and that has a cost: `cost.toml` tells
pushes to the left from pushes to the right. In the other examples only the old policy is known, or
not even that: a better one is to be found. SUMO simulated the traffic; every other world is a few
lines of our own.

The files are made by `scripts/make_example.py`, `scripts/make_traffic_example.py`,
`scripts/make_examples.py`, `scripts/make_calls_example.py` and `scripts/make_desk_example.py`.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np

from nacre.costs import SwitchingCost, read_cost
from nacre.errors import InputError, check_arguments
from nacre.logs import Log, read_log
from nacre.policies import MLPPolicy, Policy, read_policy
from nacre.simulators import LinearPolicy, LinearWorld, double_integrator

TRAFFIC_FILES = ("log.parquet", "old.safetensors", "cost.toml")
FILES = ("log.parquet", "old.safetensors", "new.safetensors", "cost.toml")
_SOURCES = {
    "cart": ("log.parquet", "old.safetensors", 0.97),
    "traffic": ("log.parquet", "old.safetensors", 0.99),
    "treatment": ("log.csv", "clone", 0.99),
    "offers": ("log.parquet", "columns", 0.99),
    "calls": ("log.csv", "clone", 0.99),
    "desk": ("log.csv", "old.toml", 1.0),
    "trolley": ("log.npz", "old.onnx", 0.97),
}
NAMES = tuple(_SOURCES)
"""Of the bundled examples."""


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

    @check_arguments
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


@check_arguments
def find_directory(name: str = "cart") -> Path:
    """Where the files of an example lie, one of `NAMES`, for use on the command line."""
    if name not in _SOURCES:
        raise InputError(f"example {name!r}: not known; choose one of {', '.join(NAMES)}")
    return Path(str(resources.files(__name__) / name))


@dataclass(frozen=True)
class Sources:
    """An example as its owner has it: files, and the word that says where the old policy is.

    Attributes:
        log: The log.
        policy: A file, or "clone" or "columns" if the log is all there is.
        cost: The price of switching.
        columns: Which column of the log holds what, where the log does not say.
        discount: γ.
        candidate: A policy that is proposed, where there is one.
    """

    log: Path
    policy: str
    cost: Path
    columns: Path | None = None
    discount: float = 0.99
    candidate: Path | None = None

    def arguments(self) -> list[str]:
        """What `nacre advise` is called with."""
        given = ["--log", str(self.log), "--policy", self.policy, "--cost", str(self.cost)]
        if self.columns is not None:
            given += ["--columns", str(self.columns)]
        if self.candidate is not None:
            given += ["--candidate", str(self.candidate)]
        return [*given, "--discount", f"{self.discount:g}"]


@check_arguments
def find_sources(name: str) -> Sources:
    """The files of an example, one of `NAMES`."""
    folder = find_directory(name)
    log, policy, discount = _SOURCES[name]
    columns, candidate = folder / "map.toml", folder / "proposal.toml"
    return Sources(
        folder / log,
        policy if policy in ("clone", "columns") else str(folder / policy),
        folder / "cost.toml",
        columns if columns.is_file() else None,
        discount,
        candidate if candidate.is_file() else None,
    )


def make_world() -> LinearWorld:
    """The cart on its rail: position and velocity, one push."""
    return double_integrator()


@check_arguments
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
