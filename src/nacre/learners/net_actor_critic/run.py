"""Learning a new policy, epoch by epoch: stopping, guards, interruption, resumption."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, PRNGKeyArray

from nacre.costs.description import describe_cost
from nacre.costs.family import SwitchingCost
from nacre.costs.fit import check_log_fits
from nacre.errors import InputError
from nacre.learners.net_actor_critic.checkpoint import read_checkpoint, write_checkpoint
from nacre.learners.net_actor_critic.config import LearnerConfig
from nacre.learners.net_actor_critic.epochs import LearningEpoch
from nacre.learners.net_actor_critic.problem import SwitchingProblem
from nacre.learners.net_actor_critic.step import Info, State, init_state
from nacre.learners.net_actor_critic.stopping import Plateau, find_plateau, reason_to_stop
from nacre.logs import Log
from nacre.policies.blackbox import BlackBox
from nacre.policies.cloning import full_support
from nacre.policies.cloning.fitting import clone_policy
from nacre.policies.files import fingerprint
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Policy
from nacre.policies.records import RecordedPolicy
from nacre.policies.rules import RulePolicy
from nacre.policies.tabular import TabularPolicy
from nacre.training.batches import BatchSource
from nacre.training.critics import Critics
from nacre.training.fitted_evaluation import as_rows
from nacre.training.loop import Outcome, epoch_keys, run_epoch
from nacre.training.preparation import begin_critics, fit_scaling, largest_believable
from nacre.training.progress import NoProgress, Progress, ProgressEvent
from nacre.training.sources import open_source

CLONED_ROWS = 50_000
"""Rows of the log that a clone or a softened policy is fitted to at most."""
LEAST_LOGIT = -20.0
"""Actions that a table forbids restart at this log probability: zero could never be left again."""


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


def learn(
    log: Log,
    old_policy: Policy,
    cost: SwitchingCost,
    start: ArrayLike,
    config: LearnerConfig,
    *,
    old_value: float,
    critics: Critics | None = None,
    first: Policy | None = None,
    seed: int = 0,
    reporter: Progress | None = None,
    checkpoint: str | Path | None = None,
    on_epoch: Callable[[EpochRecord, Policy], None] | None = None,
) -> Learned:
    """Lines 2 to 8 of Algorithm 1.

    Args:
        log: The old policy's log.
        old_policy: The policy in force.
        cost: The cost of leaving it.
        start: The state or states that the next episode starts from.
        config: The learner.
        old_value: Value of the old policy at the start, for the stopping rule.
        critics: Those that evaluated the old policy, wanted by `config.warm_critics`.
        first: The policy that learning starts from; if not given, as `config.actor` says.
        seed: Everything random follows from it.
        reporter: Hears of every epoch.
        checkpoint: A `.safetensors` file, written after every epoch; if it holds a run of the same
            log, policies, cost, start, configuration and seed, learning goes on from there and ends
            with the same bits.
        on_epoch: Sees every epoch that went well, and the policy after it.
    """
    check_fit(log, old_policy, cost)
    report = reporter or NoProgress()
    rows = as_rows(start, old_policy.signature)
    keys = _Keys(*jax.random.split(jax.random.key(seed), 5))
    source, opened = _open_log(log, old_policy, config)
    problem = SwitchingProblem.of(config, opened, rows, cost, source.discounted_length)
    state = _begin(log, source, old_policy, config, keys, critics, first)
    journal = Journal()
    if checkpoint is not None:
        kept = critics if config.warm_critics else None
        identity = identify_run(log, old_policy, cost, rows, config, seed, kept, first)
        journal = Journal(Path(checkpoint), identity)
        state = journal.resume(state)
    largest = jnp.asarray(largest_believable(log, config.discount), float)
    stop_reason = _reason(journal.records, old_value, config)
    healthy = complete = True
    try:
        program = LearningEpoch(problem, largest)
        with source.open_stream(program.draw, config.steps_per_epoch) as stream:
            while stop_reason is None:
                epoch, began = len(journal.records), time.perf_counter()
                program = LearningEpoch(problem.charging(_price_share(epoch, config)), largest)
                now = epoch_keys(keys.epochs, epoch, config.epochs)
                outcome = run_epoch(program, stream, state, *now)
                if not bool(outcome.ok):
                    healthy, stop_reason = False, _describe_divergence(outcome, epoch, config)
                    break
                state = outcome.state
                record = EpochRecord.of(outcome, epoch, time.perf_counter() - began)
                journal.add(record, state)
                report(_describe_epoch(record, config))
                if on_epoch is not None:
                    on_epoch(record, state.outcome)
                stop_reason = _reason(journal.records, old_value, config)
    except KeyboardInterrupt:
        complete, stop_reason = False, f"interrupted after {len(journal.records)} epochs"
    return journal.close(state, stop_reason or "", healthy, complete)


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


def check_fit(log: Log, policy: Policy, cost: SwitchingCost) -> None:
    """Raise `InputError` unless log, policy and cost speak of the same spaces."""
    check_log_fits(log, policy, "the old policy")
    cost.check(policy.observation_space, policy.action_space)


def first_policy(config: LearnerConfig, old_policy: Policy, log: Log, key: Array) -> Policy:
    """The policy that learning starts from: the old one's weights, or fresh ones."""
    if config.actor.warm_start:
        return _learnable(old_policy, log, key)
    scaling = fit_scaling(log) if log.observations.ndim == 2 else None
    return MLPPolicy.init(key, old_policy.signature, hidden=config.actor.hidden, scaling=scaling)


def _learnable(policy: Policy, log: Log, key: Array) -> Policy:
    """The old policy as something with weights and gradients: itself, or a clone of it."""
    opened = open_policy(policy, log)
    if isinstance(opened, RecordedPolicy):
        return opened.clone
    if isinstance(opened, (TabularPolicy, MLPPolicy)):
        return opened
    if isinstance(opened, RulePolicy | BlackBox):
        clone, _ = clone_policy(opened, log.observations[:CLONED_ROWS], key)
        return clone
    raise InputError(
        f"a {type(policy).__name__} has no weights to start from; set actor.warm_start to false to "
        "train from scratch"
    )


def open_policy(policy: Policy, log: Log) -> Policy:
    """The same policy, but nothing is impossible: what it rules out gets a little.

    An action of probability zero has no gradient, an infinite divergence and an infinite ratio.
    Every other number keeps its bits.
    """
    if not isinstance(policy, TabularPolicy):
        return full_support.give_full_support(policy, log.observations[:CLONED_ROWS])
    total = jax.nn.logsumexp(policy.logits, axis=-1, keepdims=True)
    return TabularPolicy(jnp.maximum(policy.logits, total + LEAST_LOGIT), policy.signature)


class _Keys(NamedTuple):
    """Keys of all that is random in a run."""

    critics: PRNGKeyArray
    prefit: PRNGKeyArray
    policy: PRNGKeyArray
    occupancy: PRNGKeyArray
    epochs: PRNGKeyArray


def _open_log(log: Log, old_policy: Policy, config: LearnerConfig) -> tuple[BatchSource, Policy]:
    """The log, ready to be sampled from, and the old policy as one that rules nothing out."""
    source = open_source(
        log, discount=config.discount, discounted_states=config.actor.discounted_states
    )
    opened = open_policy(old_policy, log)
    if config.actor.kl_weight > 0:
        source = source.ask_old(opened)
    return source, opened


def _begin(
    log: Log,
    source: BatchSource,
    old_policy: Policy,
    config: LearnerConfig,
    keys: _Keys,
    old_critics: Critics | None,
    first: Policy | None,
) -> State:
    """The state before the first epoch."""
    if config.warm_critics and old_critics is None:
        raise InputError(
            "warm_critics wants the critics that evaluated the old policy; give them, or set it to "
            "false"
        )
    _, fitted = begin_critics(
        config.critics,
        log,
        source,
        old_policy.signature,
        config.discount,
        (keys.critics, keys.prefit),
        config.prefit_steps,
        old_critics if config.warm_critics else None,
    )
    policy = first
    if policy is None:
        policy = first_policy(config, old_policy, log, keys.policy)
    return init_state(config, policy, fitted.online, keys.occupancy)


def _price_share(epoch: int, config: LearnerConfig) -> float:
    return min(1.0, epoch / config.ramp_epochs) if config.ramp_epochs else 1.0


def _describe_divergence(outcome: Outcome[State, Info], epoch: int, config: LearnerConfig) -> str:
    info = outcome.info
    return (
        f"diverged in epoch {epoch + 1} of {config.epochs} at step {int(outcome.steps)} "
        f"(critic loss {float(info.critic_loss):.3g}, mean Q {float(info.q):.3g}); "
        f"kept the policy of {f'epoch {epoch}' if epoch else 'the start'}"
    )


def _reason(history: list[EpochRecord], old_value: float, config: LearnerConfig) -> str | None:
    if len(history) >= config.epochs:
        return "all epochs done"
    if config.stopping is None:
        return None
    # Net values at a lower cost say nothing about the full one.
    judged = [record.net_value for record in history[config.ramp_epochs :]]
    if isinstance(config.stopping, Plateau):
        return find_plateau(judged, old_value, config.stopping)
    return reason_to_stop(judged, old_value, config.stopping)


def _describe_epoch(record: EpochRecord, config: LearnerConfig) -> ProgressEvent:
    numbers = record.steps, record.critic_loss, record.net_value
    return ProgressEvent("learning", record.epoch, config.epochs, *numbers)


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
