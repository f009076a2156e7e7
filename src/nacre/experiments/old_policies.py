"""Old policies of the tables: drawn anew, shipped with the package, or published files.

Rows name the published files, which are not part of this package. Without a folder the rows use
our own policies of the same worlds, which lie in `policies/` beside this module, each with a JSON
file that says how it was made and what it is worth.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import safetensors
from safetensors.numpy import load_file

from nacre.errors import InputError
from nacre.experiments.tables import RANDOM, Row
from nacre.policies import read_policy
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Policy, Signature
from nacre.simulators.collection import check_policy
from nacre.simulators.registry import World
from nacre.training.critics import Critics

SHIPPED = Path(__file__).parent / "policies"
OURS = {
    "ant_weak": "ant_weak",
    "ant_optimal": "ant_good",
    "halfcheetah_optimal": "halfcheetah_good",
    "hopper_optimal": "hopper_good",
    "sumo_optimal": "traffic_good",
}
"""Our own policy in place of each published one."""
PREFIX = "nacre:"
"""Stands before the names of ours, so that no record of one is taken for one of a published one."""
REMEDY = "give the folder of the published files with --old-policies"


@dataclass(frozen=True)
class Source:
    """Where the old policies that are files come from.

    Args:
        folder: Folder of the published files; None for those that the package ships.
    """

    folder: Path | None = None

    def name(self, row: Row) -> str:
        """What records call the old policy of a row: "random", its published name, or ours."""
        if row.old_policy == RANDOM or self.folder is not None:
            return row.old_policy
        return f"{PREFIX}{OURS.get(row.old_policy, row.old_policy)}"

    def policy_file(self, row: Row) -> Path:
        """The file of a row's old policy."""
        if self.folder is not None:
            return self.folder / f"{row.old_policy}.safetensors"
        return SHIPPED / f"{OURS.get(row.old_policy, row.old_policy)}.safetensors"

    def critics_file(self, row: Row) -> Path:
        """The file of the critics that the published runs begin with; ours have none."""
        folder = SHIPPED if self.folder is None else self.folder
        return folder / f"{row.old_policy}_critics.safetensors"

    def check(self, rows: Iterable[Row], *, with_critics: bool = False) -> None:
        """Name every file that is missing, all at once.

        Raises:
            InputError: If a row's policy, or its critics where they are wanted, is not there.
        """
        problems = []
        for row in rows:
            if row.old_policy == RANDOM:
                continue
            wanted = [(self.policy_file(row), "the old policy")]
            if with_critics:
                wanted.append((self.critics_file(row), "the critics stored with the old policy"))
            problems += [
                f"{path}: {what} of row {row.name} is not there; {REMEDY}"
                for path, what in wanted
                if not path.is_file()
            ]
        if problems:
            raise InputError(list(dict.fromkeys(problems)))

    def make_policy(self, row: Row, world: World, seed: int) -> Policy:
        """The old policy of a row: read from its file, or drawn anew for each seed."""
        if row.old_policy == RANDOM:
            # The published networks for discrete actions have no activation after the second layer.
            activations: Any = ("relu", "identity", "identity")
            return MLPPolicy.init(
                jax.random.key(seed),
                world.signature,
                activations=activations if world.signature.discrete_actions else None,
            )
        self.check([row])
        policy = read_policy(self.policy_file(row))
        check_policy(world, policy)
        if isinstance(policy, MLPPolicy):
            # Published files do not know the bounds of the observations; the cost draws from them.
            parts = policy.network, policy.scaling, world.signature, policy.head
            policy = MLPPolicy(*parts, policy.log_std_bounds)
        return policy

    def read_critics(self, row: Row, signature: Signature) -> Critics | None:
        """The critics stored with a row's old policy; None where it is drawn anew."""
        if row.old_policy == RANDOM:
            return None
        self.check([row], with_critics=True)
        return read_critics(self.critics_file(row), signature)


def make_old_policy(row: Row, world: World, folder: Path | None, seed: int) -> Policy:
    """The old policy of a row, from a folder of published files or from the package."""
    return Source(folder).make_policy(row, world, seed)


def read_critics(path: Path, signature: Signature) -> Critics:
    """Two critics as the published files keep them: `q1`, `q2`, layers `q.0`, `q.2` and `q.4`.

    Args:
        path: A `.safetensors` file.
        signature: The spaces that they are about.
    """
    try:
        tensors = load_file(path)
    except (OSError, safetensors.SafetensorError) as error:
        raise InputError(f"{path}: could not be read as safetensors ({error})") from None
    weights, biases = [], []
    for layer in ("q.0", "q.2", "q.4"):
        names = [f"{critic}.{layer}" for critic in ("q1", "q2")]
        absent = [
            name for name in names if not {f"{name}.weight", f"{name}.bias"} <= tensors.keys()
        ]
        if absent:
            raise InputError(f"{path}: has no layer {absent[0]}; {REMEDY}")
        weights.append(np.stack([tensors[f"{name}.weight"].T for name in names]))
        biases.append(np.stack([tensors[f"{name}.bias"][None] for name in names]))
    inputs, outputs = signature.observation_size, signature.action_size
    if not signature.discrete_actions:
        inputs, outputs = inputs + outputs, 1
    found = weights[0].shape[1], weights[-1].shape[2]
    if found != (inputs, outputs):
        raise InputError(
            f"{path}: critics of {found[0]} inputs and {found[1]} outputs, this world needs "
            f"{inputs} and {outputs}; {REMEDY}"
        )
    return Critics(
        tuple(jnp.asarray(weight) for weight in weights),
        tuple(jnp.asarray(bias) for bias in biases),
        (),
        None,
        jnp.asarray(0.0),
        jnp.asarray(1.0),
        signature,
    )


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
