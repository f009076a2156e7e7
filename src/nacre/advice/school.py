"""Episodes to learn from and the candidates that come of them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import jax
import numpy as np

from nacre.advice.config import AdviceConfig, Lesson
from nacre.costs.family import SwitchingCost
from nacre.learners.net_actor_critic.run import CLONED_ROWS, Learned, learn
from nacre.learners.scale_noise import Candidate, calm_policy
from nacre.logs import Log
from nacre.policies.cloning.fitting import N_STRETCHES, CloneConfig
from nacre.policies.cloning.full_support import find_start
from nacre.policies.policy import Policy
from nacre.training.progress import Agenda, ProgressEvent

COPYING = "copying the old policy"
STAGES = ("learning", "judging", "doubting")
"""What a learned candidate goes through."""


@dataclass(frozen=True)
class School:
    """Net Actor-Critic in several configurations, from the same start.

    Args:
        log: Episodes that nobody judges by.
        old_policy: The policy in force.
        cost: The price of leaving it.
        start: (N, …) states that the next episode starts from.
        config: How advice is found.
        seed: Everything random follows from it.
        agenda: Hears of every epoch.
    """

    log: Log
    old_policy: Policy
    cost: SwitchingCost
    start: np.ndarray
    config: AdviceConfig
    seed: int
    agenda: Agenda

    def find_first(self) -> Policy | None:
        """What learning starts from.

        The same whether the policy came as weights, as a file that can be asked, or as columns.
        """
        config = self.config
        if not (config.learner.actor.warm_start and config.lessons):
            return None

        def copied(done: int, total: int) -> None:
            epoch = done * N_STRETCHES // total - 1
            self.agenda(ProgressEvent(COPYING, epoch, N_STRETCHES, total // N_STRETCHES))

        first = find_start(
            self.old_policy,
            self.log.observations[:CLONED_ROWS],
            jax.random.key(self.seed),
            CloneConfig(on_steps=copied),
            config.copy_divergence,
        )
        self.agenda.finish(COPYING)
        return first

    def learn(self, lesson: Lesson, first: Policy | None) -> Learned:
        """What is found by one of the configuration's lessons."""
        config, stage = self.config, f"learning {lesson.name}"
        actor = dataclasses.replace(config.learner.actor, kl_weight=lesson.kl_weight)
        self.agenda.begin(stage, config.learner.epochs)
        cost = self.cost
        learning, transaction = (lesson.cost_factor * price for price in cost.prices)
        learned = learn(
            self.log,
            self.old_policy,
            dataclasses.replace(cost, learning_weight=learning, transaction_weight=transaction),
            self.start,
            dataclasses.replace(config.learner, actor=actor),
            old_value=float(np.mean(self.log.returns(config.learner.discount))),
            first=first,
            seed=self.seed + [*config.lessons, config.thrift].index(lesson),
            reporter=lambda event: self.agenda(dataclasses.replace(event, stage=stage)),
        )
        if not learned.complete:
            raise KeyboardInterrupt
        self.agenda.finish(stage)
        return learned

    def propose(self, lesson: Lesson, learned: Learned, noise: float | None = None) -> Candidate:
        """What was learned, as a candidate, with this share of its noise or the usual one."""
        policy, origin = learned.policy, lesson.origin
        share = self.config.learned_noise if noise is None else noise
        calmer = None if share == 1.0 else calm_policy(policy, share)
        if calmer is not None:
            policy, origin = calmer, f"{origin}, with {share:g} of its noise"
        return Candidate(lesson.name, policy, origin)
