"""What several records share, made once and kept: logs, old policies' evaluations and truths.

Everything here is a cache: it can be deleted at any time and is made again, the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import numpy as np

from nacre.advice.paper_algorithm import evaluate_old
from nacre.errors import InputError
from nacre.estimators.simulation import simulate_value
from nacre.experiments.old_policies import make_old_policy as make_old_policy
from nacre.experiments.records import read_record, write_record
from nacre.experiments.tables import find_row
from nacre.learners.net_actor_critic.checkpoint import read_checkpoint, write_checkpoint
from nacre.learners.net_actor_critic.config import LearnerConfig
from nacre.logs import Log, read_log, write_log
from nacre.policies.files import fingerprint
from nacre.policies.policy import Policy
from nacre.simulators.collection import collect_log, discard_parts
from nacre.simulators.registry import World, find_world
from nacre.training.critics import Critics
from nacre.training.fitted_evaluation import Evaluation, init_critics
from nacre.training.progress import NoProgress, Progress, count_parts
from nacre.training.returns import value_from_returns

TRUTH_SEED = 1_000_000
"""Truths are simulated with seeds from here on, which no log is collected with."""
ONLINE_SEED = 2_000_000
"""Logs of new policies, which critics are refitted to, are collected with seeds from here on."""


@dataclass(frozen=True)
class Truth:
    """How true values are simulated."""

    episodes: int = 200
    steps: int = 700


@dataclass(frozen=True)
class Shared:
    """The cache of one world, old policy and seed.

    Args:
        folder: Where it lies.
        world: The world.
        old_policy: Its old policy.
        seed: The seed of the record.
        report: Hears of what takes long.
    """

    folder: Path
    world: World
    old_policy: Policy
    seed: int
    report: Progress = field(default_factory=NoProgress)

    def log(self, n_steps: int) -> Log:
        """The log of the old policy, collected by the published scheme."""
        name = f"log-{n_steps}"
        return self._collect(name, self.old_policy, n_steps, self.seed, self.world.uniform_steps)

    def online_log(self, policy: Policy, n_steps: int) -> Log:
        """A log of another policy, without uniform steps."""
        name = f"online-{fingerprint(policy)[:16]}-{n_steps}"
        return self._collect(name, policy, n_steps, ONLINE_SEED + self.seed, 0)

    def _collect(
        self, name: str, policy: Policy, n_steps: int, seed: int, uniform_steps: int
    ) -> Log:
        path, parts = self.folder / f"{name}.npz", self.folder / f"{name}.parts"
        if path.exists():
            with contextlib.suppress(InputError):
                log = read_log(path)
                # A kill may have come between the log and this.
                discard_parts(parts)
                return log
        log = collect_log(
            self.world,
            policy,
            n_steps,
            seed=seed,
            parts_folder=parts,
            uniform_steps=uniform_steps,
            on_rows=count_parts(self.report, "collecting, in percent", n_steps),
        )
        write_log(log, path)
        discard_parts(parts)
        return log

    def evaluation(
        self, log: Log, config: LearnerConfig, progress: Progress, begin: Critics | None = None
    ) -> Evaluation:
        """The old policy's offline evaluation, the same for every cost.

        It begins with the critics given, or with fresh ones.
        """
        follows = [log.fingerprint(), config.as_json()["evaluation"], config.discount, self.seed]
        if begin is not None:
            follows.append([hash_array(leaf) for leaf in jax.tree.leaves(begin)])
        described = json.dumps(follows)
        identity = hashlib.sha256(described.encode()).hexdigest()
        path = self.folder / f"evaluation-{identity[:16]}.safetensors"
        start = self.start(log)
        like = init_critics(
            config.evaluation.critics,
            jax.random.key(0),
            log,
            self.old_policy.signature,
            config.discount,
        )
        if path.exists():
            with contextlib.suppress(InputError):
                critics, (kept,) = read_checkpoint(path, like, identity)
                return _as_evaluation(kept, critics)
        found = evaluate_old(
            log,
            self.old_policy,
            start,
            config,
            seed=self.seed,
            progress=progress,
            critics=begin,
        )
        write_checkpoint(path, found.critics, identity, [_as_plain(found)])
        return found

    def start(self, log: Log) -> np.ndarray:
        """The nominal start, or the log's own where the world has none."""
        return log.starts if self.world.start is None else self.world.start

    def truth(self, policy: Policy, truth: Truth, discount: float) -> dict[str, Any]:
        """The simulated value of a policy; the same draws for every policy of this seed."""
        key = json.dumps([fingerprint(policy), truth.episodes, truth.steps, discount, self.seed])
        path = self.folder / f"truth-{hashlib.sha256(key.encode()).hexdigest()[:16]}.json"
        if path.exists():
            with contextlib.suppress(InputError):
                return dict(read_record(path)["value"])
        value = simulate_value(
            self.world,
            policy,
            discount=discount,
            n_episodes=truth.episodes,
            n_steps=truth.steps,
            seed=TRUTH_SEED + self.seed,
            on_episodes=count_parts(self.report, "simulating, in percent", truth.episodes),
        ).as_json()
        write_record(path, {"value": value})
        return value

    def log_value(self, log: Log, discount: float) -> dict[str, Any]:
        """The old policy's value from its own episodes' returns, the uniform ones left out."""
        uniform = self.world.uniform_steps
        own = np.flatnonzero(log.offsets[:-1] >= uniform)
        kept = log.select(own) if len(own) else log
        estimate = value_from_returns(kept, discount)
        values = {"mean": estimate.mean, "low": estimate.low, "high": estimate.high}
        # A single episode has no interval, and JSON no infinity.
        return {name: value if np.isfinite(value) else None for name, value in values.items()}


def hash_array(leaf: Any) -> str:
    """SHA-256 of the numbers of an array."""
    return hashlib.sha256(np.asarray(leaf).tobytes()).hexdigest()


def _as_plain(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "value": evaluation.value,
        "per_critic": evaluation.per_critic.tolist(),
        "curve": evaluation.curve.tolist(),
        "member_curves": evaluation.member_curves.tolist(),
        "losses": evaluation.losses.tolist(),
        "settled": bool(evaluation.settled),
        "healthy": bool(evaluation.healthy),
        "reason": evaluation.reason,
    }


def _as_evaluation(kept: dict[str, Any], critics: Any) -> Evaluation:
    arrays = {
        name: np.asarray(kept[name]) for name in ("per_critic", "curve", "member_curves", "losses")
    }
    return Evaluation(**(kept | arrays), critics=critics)


def share_row(name: str, seed: int, cache: Path, old_policies: Path | None) -> Shared:
    """What a study of one row and seed keeps, in a folder of its own."""
    row = find_row(name)
    world = find_world(row.world)
    old_policy = make_old_policy(row, world, old_policies, seed)
    return Shared(cache / f"{name}-{seed}", world, old_policy, seed)
