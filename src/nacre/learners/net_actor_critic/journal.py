"""What a run of learning leaves behind: its epochs, their copy on disk, and what it was."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array

from nacre.costs.description import describe_cost
from nacre.costs.family import SwitchingCost
from nacre.learners.net_actor_critic.checkpoint import read_checkpoint, write_checkpoint
from nacre.learners.net_actor_critic.config import LearnerConfig
from nacre.learners.net_actor_critic.step import Info, State
from nacre.logs import Log
from nacre.policies.files import fingerprint
from nacre.policies.policy import Policy
from nacre.training.critics import Critics
from nacre.training.loop import Outcome


@dataclass(frozen=True)
class EpochRecord:
    """Averages over one epoch of learning; `Info` says what each number is."""

    epoch: int
    steps: int
    critic_loss: float
    q: float
    critic_gradient_norm: float
    value: float
    cost: float
    net_value: float
    divergence: float
    actor_gradient_norm: float
    seconds: float

    @classmethod
    def of(cls, outcome: Outcome[State, Info], epoch: int, seconds: float) -> EpochRecord:
        """The record of an epoch that took so many seconds."""
        numbers = {name: float(value) for name, value in vars(outcome.info).items()}
        return cls(epoch, int(outcome.steps), **numbers, seconds=seconds)


@dataclass(frozen=True)
class Learned:
    """A new policy and how it came about.

    `healthy` is False when learning broke down; the policy is then that of the last good epoch, and
    nothing that follows may lead to a switch. `complete` is False after an interruption, and nor
    may that. `stop_reason` is a text for people.
    """

    policy: Policy
    state: State
    history: tuple[EpochRecord, ...]
    stop_reason: str
    healthy: bool
    complete: bool


class Journal:
    """The epochs so far, and their copy on disk where one is kept.

    Args:
        path: A `.safetensors` file; None to keep nothing.
        identity: What this run is; the checkpoint of another is refused.
    """

    def __init__(self, path: Path | None = None, identity: str = "") -> None:
        self.records: list[EpochRecord] = []
        self._path, self._identity = path, identity

    def resume(self, state: State) -> State:
        """The state that the file holds, and the records of its epochs; else the one given."""
        if self._path is None or not self._path.exists():
            return state
        state, records = read_checkpoint(self._path, state, self._identity)
        self.records = [EpochRecord(**record) for record in records]
        return state

    def add(self, record: EpochRecord, state: State) -> None:
        """One more epoch and the state after it."""
        self.records.append(record)
        if self._path is not None:
            records = [dataclasses.asdict(one) for one in self.records]
            write_checkpoint(self._path, state, self._identity, records)

    def close(self, state: State, stop_reason: str, healthy: bool, complete: bool) -> Learned:
        """What was learned in all epochs."""
        history = tuple(self.records)
        return Learned(state.outcome, state, history, stop_reason, healthy, complete)


def identify_run(
    log: Log,
    old_policy: Policy,
    cost: SwitchingCost,
    start: Array,
    config: LearnerConfig,
    seed: int,
    critics: Critics | None = None,
    first: Policy | None = None,
) -> str:
    """A digest of all that a run follows from, alike in every process.

    Functions of the user's own in the cost count by their names.
    """
    rows = np.asarray(start)
    described = [
        log.fingerprint(),
        fingerprint(old_policy),
        json.dumps(describe_cost(cost), sort_keys=True),
        f"{rows.dtype} {rows.shape} {hashlib.sha256(rows.tobytes()).hexdigest()}",
        json.dumps(config.as_json(), sort_keys=True),
        str(seed),
        *(
            hashlib.sha256(np.asarray(leaf).tobytes()).hexdigest()
            for leaf in jax.tree.leaves(eqx.filter(critics, eqx.is_array))
        ),
        *([] if first is None else [fingerprint(first)]),
    ]
    return hashlib.sha256("\n".join(described).encode()).hexdigest()
