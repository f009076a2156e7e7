"""The epochs of an online training, in memory and on disk."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from nacre.costs.description import describe_cost
from nacre.learners.net_actor_critic.checkpoint import read_checkpoint, write_checkpoint
from nacre.learners.online.net_actor_critic import Leaving, NetOnlineConfig
from nacre.learners.online.replay import Replay
from nacre.learners.online.soft_actor_critic import OnlineConfig, SoftState
from nacre.policies import fingerprint
from nacre.simulators.registry import World


@dataclass(frozen=True)
class OnlineEpoch:
    """One epoch of online training; the first has uniform actions and no updates.

    `value` is the mean discounted return of its episodes, those that had room for their full length
    before the epoch's end; NaN where none had. The rest are averages over the updates.
    """

    epoch: int
    steps: int
    updates: int
    episodes: int
    value: float
    critic_loss: float
    q: float
    entropy: float
    temperature: float
    seconds: float


def name_method(config: OnlineConfig) -> str:
    """What the training is called."""
    return "net actor-critic" if isinstance(config, NetOnlineConfig) else "soft actor-critic"


def identify(world: World, config: OnlineConfig, seed: int, leaving: Leaving | None) -> str:
    """A digest of all that a training follows from."""
    settings = config.as_json() | {"stop_value": None}
    parts: list[Any] = [world.name, world.side_by_side, settings, seed]
    if isinstance(config, NetOnlineConfig):
        parts.append(name_method(config))
    if leaving is not None:
        parts += [fingerprint(leaving.old_policy), describe_cost(leaving.cost)]
    described = json.dumps(parts, sort_keys=True)
    return hashlib.sha256(described.encode()).hexdigest()


class Journal:
    """The epochs so far, and their copy on disk, with the state and the replay, if kept."""

    def __init__(self, path: Path | None, identity: str, replay: Replay) -> None:
        self.history: list[OnlineEpoch] = []
        self._path, self._identity, self._replay = path, identity, replay

    def resume(self, state: SoftState) -> SoftState:
        """The state that the file holds, and its epochs and rows; else the one given."""
        if self._path is None or not self._path.exists():
            return state
        like = cast(Any, (state, self._replay.columns))
        restored, records = read_checkpoint(self._path, like, self._identity)
        state, columns = cast(Any, restored)
        self.history += [OnlineEpoch(**record) for record in records]
        self._replay.restore(columns, sum(record.steps for record in self.history))
        return state

    def add(self, record: OnlineEpoch, state: SoftState) -> None:
        """One more epoch and the state after it."""
        self.history.append(record)
        if self._path is not None:
            records = [dataclasses.asdict(one) for one in self.history]
            kept = cast(Any, (state, self._replay.columns))
            write_checkpoint(self._path, kept, self._identity, records)
