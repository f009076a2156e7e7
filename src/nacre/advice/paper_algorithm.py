"""Net Actor-Critic from end to end: evaluate the old policy, learn, evaluate, decide."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
from jaxtyping import ArrayLike

from nacre.costs.breakdown import CostBreakdown
from nacre.costs.family import SwitchingCost
from nacre.costs.measures import UniformBox
from nacre.inference.paper_rule import Choice, decide
from nacre.learners.net_actor_critic.config import LearnerConfig, default
from nacre.learners.net_actor_critic.journal import Learned
from nacre.learners.net_actor_critic.run import check_fit, learn
from nacre.logs import Log
from nacre.policies.policy import Policy
from nacre.training.critics import Critics
from nacre.training.fitted_evaluation import (
    Evaluation,
    as_rows,
    evaluate_policy,
    prepare_evaluation,
    read_values,
)
from nacre.training.progress import NoProgress, Progress


@dataclass(frozen=True)
class Outcome:
    """What Net Actor-Critic found and decided.

    `policy` is what should run next: the new policy if the choice is to switch, else the old one.
    `new_value` is that of the new policy without the cost, by fresh critics if `new_evaluation` is
    there, else by those that trained it. In the net form `new_evaluation` is of the net value.
    `complete` is False after an interruption.
    """

    choice: Choice
    policy: Policy
    old_value: float
    new_value: float
    net_value: float
    cost: CostBreakdown
    learned: Learned
    old_evaluation: Evaluation
    new_evaluation: Evaluation | None
    complete: bool

    @property
    def new_policy(self) -> Policy:
        """The policy that was learned, whether chosen or not."""
        return self.learned.policy

    def __repr__(self) -> str:
        return (
            f"Outcome({self.choice}: old value {self.old_value:.6g}, new value "
            f"{self.new_value:.6g} - cost {self.cost.total:.6g} = net {self.net_value:.6g}; "
            f"{self.learned.stop_reason})"
        )

    def as_json(self) -> dict[str, Any]:
        """Plain numbers for a record."""
        return {
            "choice": self.choice,
            "old_value": self.old_value,
            "new_value": self.new_value,
            "net_value": self.net_value,
            "cost": self.cost.as_json(),
            "stop_reason": self.learned.stop_reason,
            "healthy": self.learned.healthy,
            "complete": self.complete,
            "epochs": [dataclasses.asdict(record) for record in self.learned.history],
        }


def net_actor_critic(
    log: Log,
    old_policy: Policy,
    cost: SwitchingCost,
    start: ArrayLike | None = None,
    config: LearnerConfig | None = None,
    *,
    seed: int = 0,
    old_evaluation: Evaluation | None = None,
    progress: Progress | None = None,
    checkpoint: str | Path | None = None,
) -> Outcome:
    """Algorithm 1 with the decision w.

    Ctrl-C during learning or thereafter ends it with what there is, and the choice is to keep.

    Args:
        log: The old policy's log.
        old_policy: The policy in force.
        cost: The cost of leaving it.
        start: The state or states that the next episode starts from; the log's own if not given.
        config: The learner; `nacre.learners.default()` if not given.
        seed: Everything random follows from it.
        old_evaluation: What `evaluate_old` returned for the same log, policy, start, configuration
            and seed; evaluated here if not given.
        progress: Hears of every epoch of every stage.
        checkpoint: Where learning is kept from epoch to epoch, to go on after an interruption.
    """
    config = config or default()
    check_fit(log, old_policy, cost)
    start = as_rows(log.starts if start is None else start, old_policy.signature)
    report = progress or NoProgress()
    if old_evaluation is None:
        old_evaluation = evaluate_old(log, old_policy, start, config, seed=seed, progress=report)
    _, learning_seed, cost_seed = _seeds(seed)
    learned = learn(
        log,
        old_policy,
        cost,
        start,
        config,
        old_value=old_evaluation.value,
        critics=old_evaluation.critics,
        seed=learning_seed,
        progress=report,
        checkpoint=checkpoint,
    )
    price = with_evaluation_states(cost, config).evaluate(
        old_policy, learned.policy, log, seed=cost_seed
    )
    charged = price.total if config.form == "net" else None
    new_evaluation = _reevaluate(learned, log, start, config, seed, report, charged)
    if new_evaluation is None:
        new_value = training_estimate(config, learned, start, price.total, seed)
    else:
        new_value = new_evaluation.value + (charged or 0.0)
    # Asked for and not there: somebody interrupted it.
    complete = learned.complete and not (config.reevaluate and new_evaluation is None)
    evaluations = old_evaluation, new_evaluation
    return _conclude(old_policy, learned, evaluations, new_value, price, complete)


def _reevaluate(
    learned: Learned,
    log: Log,
    start: ArrayLike,
    config: LearnerConfig,
    seed: int,
    report: Progress,
    charged: float | None,
) -> Evaluation | None:
    """The learned policy by fresh critics; None where not wanted or interrupted.

    Critics of the net form are `charged` with the cost, and say the net value.
    """
    if not (config.reevaluate and learned.complete):
        return None
    stage = "evaluating the new policy"
    try:
        return _evaluate(learned.policy, log, start, config, seed, report, stage, charged)
    except KeyboardInterrupt:
        return None


def _conclude(
    old_policy: Policy,
    learned: Learned,
    evaluations: tuple[Evaluation, Evaluation | None],
    new_value: float,
    price: CostBreakdown,
    complete: bool,
) -> Outcome:
    """The decision w, from values that are trusted only if nothing broke down."""
    old_evaluation, new_evaluation = evaluations
    trusted = (
        complete
        and learned.healthy
        and old_evaluation.healthy
        and (new_evaluation is None or new_evaluation.healthy)
    )
    net_value = new_value - price.total
    choice = decide(old_evaluation.value, net_value, trusted=trusted)
    return Outcome(
        choice,
        learned.policy if choice == "switch" else old_policy,
        old_evaluation.value,
        new_value,
        net_value,
        price,
        learned,
        old_evaluation,
        new_evaluation,
        complete,
    )


def evaluate_old(
    log: Log,
    old_policy: Policy,
    start: ArrayLike,
    config: LearnerConfig,
    *,
    seed: int = 0,
    progress: Progress | None = None,
    critics: Critics | None = None,
) -> Evaluation:
    """Algorithm 2 for the old policy: the same for every cost, so that costs can share it.

    It begins with the critics given, or with fresh ones.
    """
    rows = as_rows(start, old_policy.signature)
    stage = "evaluating the old policy"
    return _evaluate(
        old_policy, log, rows, config, seed, progress or NoProgress(), stage, critics=critics
    )


def _evaluate(
    policy: Policy,
    log: Log,
    start: ArrayLike,
    config: LearnerConfig,
    seed: int,
    report: Progress,
    stage: str,
    charged: float | None = None,
    critics: Critics | None = None,
) -> Evaluation:
    prepared = None
    if critics is not None:
        prepared = prepare_evaluation(
            log,
            policy.signature,
            config.evaluation,
            discount=config.discount,
            seed=_seeds(seed)[0],
        )
        prepared = prepared.begin_with(config.evaluation, critics)
    return evaluate_policy(
        policy,
        log,
        start,
        config.evaluation,
        discount=config.discount,
        # One seed for both evaluations: both policies get the same networks, batches and noise.
        seed=_seeds(seed)[0],
        prepared=prepared,
        on_epoch=lambda epoch: report(epoch.at(stage)),
        switching_cost=charged,
    )


def _seeds(seed: int) -> tuple[int, int, int]:
    """Seeds of the evaluations, of learning and of the final cost."""
    return 3 * seed, 3 * seed + 1, 3 * seed + 2


def training_estimate(
    config: LearnerConfig, learned: Learned, start: ArrayLike, price: float, seed: int
) -> float:
    """Value of the learned policy by the critics that trained it, as the paper's runs take it."""
    value, _ = read_values(
        config.evaluation,
        learned.state.critics.online,
        learned.policy,
        as_rows(start, learned.policy.signature),
        jax.random.key(seed),
    )
    return float(value) + (price if config.form == "net" else 0.0)


def with_evaluation_states(cost: SwitchingCost, config: LearnerConfig) -> SwitchingCost:
    """The same cost with as many sampled states as the final cost wants."""
    if isinstance(cost.state_measure, UniformBox):
        measure = dataclasses.replace(cost.state_measure, n=config.n_cost_states_evaluation)
        return dataclasses.replace(cost, state_measure=measure)
    return cost
