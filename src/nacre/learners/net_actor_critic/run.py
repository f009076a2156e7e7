"""Learning a new policy, epoch by epoch: stopping, guards, interruption, resumption."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from nacre.costs.family import SwitchingCost
from nacre.costs.fit import check_log_fits
from nacre.errors import InputError, check_arguments
from nacre.learners.net_actor_critic.config import LearnerConfig
from nacre.learners.net_actor_critic.epochs import LearningEpoch
from nacre.learners.net_actor_critic.first_policy import first_policy, open_policy
from nacre.learners.net_actor_critic.journal import EpochRecord, Journal, Learned, identify_run
from nacre.learners.net_actor_critic.problem import SwitchingProblem
from nacre.learners.net_actor_critic.step import Info, State, init_state
from nacre.learners.net_actor_critic.stopping import Plateau, find_plateau, reason_to_stop
from nacre.logs import Log
from nacre.policies.policy import Policy
from nacre.training.batches import BatchSource, BatchStream
from nacre.training.critics import Critics
from nacre.training.fitted_evaluation import as_rows
from nacre.training.loop import Outcome, epoch_keys, run_epoch
from nacre.training.preparation import begin_critics, largest_believable, limit_values
from nacre.training.progress import NoProgress, Progress, ProgressEvent
from nacre.training.sources import open_source


@check_arguments
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
    progress: Progress | None = None,
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
        progress: Hears of every epoch.
        checkpoint: A `.safetensors` file, written after every epoch; if it holds a run of the same
            log, policies, cost, start, configuration and seed, learning goes on from there and ends
            with the same bits.
        on_epoch: Sees every epoch that went well, and the policy after it.
    """
    check_fit(log, old_policy, cost)
    report = progress or NoProgress()
    rows = as_rows(start, old_policy.signature)
    keys = _Keys(*jax.random.split(jax.random.key(seed), 5))
    source, opened = _open_log(log, old_policy, config)
    limits = limit_values(log, config.discount)
    problem = SwitchingProblem.of(config, opened, rows, cost, source.discounted_length, limits)
    state = _begin(log, source, old_policy, config, keys, critics, first)
    journal = Journal()
    if checkpoint is not None:
        kept = critics if config.warm_critics else None
        identity = identify_run(log, old_policy, cost, rows, config, seed, kept, first)
        journal = Journal(Path(checkpoint), identity)
        state = journal.resume(state)
    largest = jnp.asarray(largest_believable(log, config.discount), float)
    listener = on_epoch or (lambda record, policy: None)
    course = _Course(config, problem, largest, keys.epochs, old_value, report, listener, journal)
    return course.run(state, source)


@dataclass(frozen=True)
class _Course:
    """How a run goes on: what is given, who listens, and where its epochs are kept."""

    config: LearnerConfig
    problem: SwitchingProblem
    largest: Float[Array, ""]
    key: PRNGKeyArray
    old_value: float
    report: Progress
    on_epoch: Callable[[EpochRecord, Policy], None]
    journal: Journal

    def run(self, state: State, source: BatchSource) -> Learned:
        """Epoch after epoch, until there is a reason to stop."""
        config, records = self.config, self.journal.records
        stop_reason = _reason(records, self.old_value, config)
        healthy = complete = True
        try:
            draw = LearningEpoch(self.problem, self.largest).draw
            with source.open_stream(draw, config.steps_per_epoch) as stream:
                while stop_reason is None:
                    epoch, began = len(records), time.perf_counter()
                    outcome = self._run_epoch(epoch, stream, state)
                    if not bool(outcome.ok):
                        healthy, stop_reason = False, _describe_divergence(outcome, epoch, config)
                        break
                    state = outcome.state
                    record = EpochRecord.of(outcome, epoch, time.perf_counter() - began)
                    self.journal.add(record, state)
                    self.report(_describe_epoch(record, config))
                    self.on_epoch(record, state.outcome)
                    stop_reason = _reason(records, self.old_value, config)
        except KeyboardInterrupt:
            complete, stop_reason = False, f"interrupted after {len(records)} epochs"
        return self.journal.close(state, stop_reason or "", healthy, complete)

    def _run_epoch(self, epoch: int, stream: BatchStream, state: State) -> Outcome[State, Info]:
        problem = self.problem.charging(_price_share(epoch, self.config))
        keys = epoch_keys(self.key, epoch, self.config.epochs)
        return run_epoch(LearningEpoch(problem, self.largest), stream, state, *keys)


def check_fit(log: Log, policy: Policy, cost: SwitchingCost) -> None:
    """Raise `InputError` unless log, policy and cost speak of the same spaces."""
    check_log_fits(log, policy, "the old policy")
    cost.check(policy.observation_space, policy.action_space)


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
