"""What an advice is given: objects, or files that hold them, checked before anything is learned."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import ArrayLike
from numpy.typing import NDArray

from nacre.advice.config import AdviceConfig
from nacre.advice.names import name_files
from nacre.advice.setting import Setting
from nacre.costs import PolicyCost, SwitchingCost, read_cost
from nacre.costs.fit import check_guardrails, check_log_fits, check_same_spaces
from nacre.errors import InputError
from nacre.learners.base import Candidate
from nacre.logs import Log, read_log
from nacre.logs.acting import ACTING, find_acting
from nacre.logs.schema.mapping import Columns
from nacre.policies import (
    Policy,
    PolicyOptions,
    Signature,
    find_uncertainty,
    read_policy_with_provenance,
    recall_uncertainty,
    respect_mask,
)
from nacre.policies import (
    PolicySource as PolicySource,
)
from nacre.training.fitted_evaluation import as_rows

LEAST_EPISODES = 4

FilePath = str | os.PathLike[str]
LogSource = Log | FilePath
CostSource = SwitchingCost | Callable[[Policy, Policy], Any] | FilePath
CandidateSource = Candidate | FilePath
ConfigSource = AdviceConfig | FilePath
ColumnsSource = Columns


@dataclass(frozen=True)
class Inputs:
    """Everything that an advice is about.

    Args:
        log: Episodes of the old policy.
        old_policy: The policy in force.
        cost: The cost of leaving it.
        start: (N, …) states that the next episode starts from.
        given_start: Whether the user named them.
        candidates: Policies of the user's own.
        uncertainty: Share of the old policy's probability that may lie on the wrong actions.
        acting: Further policies that acted in the log.
        earlier: Episodes at the log's beginning that an earlier advice was about.
    """

    log: Log
    old_policy: Policy
    cost: SwitchingCost
    start: NDArray[np.generic]
    given_start: bool
    candidates: tuple[Candidate, ...]
    uncertainty: float
    acting: tuple[Policy, ...] = ()
    earlier: int = 0

    def as_setting(self, config: AdviceConfig, seed: int) -> Setting:
        """What every task of the advice knows."""
        return Setting(
            self.log,
            self.old_policy,
            self.cost,
            self.start,
            self.given_start,
            config,
            self.uncertainty,
            seed,
            acting=self.acting,
            earlier=self.earlier,
        )


def read_inputs(
    log: LogSource,
    old_policy: PolicySource,
    cost: CostSource,
    start: ArrayLike | None,
    candidates: Sequence[CandidateSource],
    uncertainty: float | None,
    seed: int,
    *,
    columns: ColumnsSource | None = None,
    acting: Sequence[PolicySource] = (),
    earlier: int = 0,
) -> Inputs:
    """Read what is a file, and check that everything fits together.

    A clone of the log knows how far it may be off; what is given as `uncertainty` counts more.
    """
    episodes = log if isinstance(log, Log) else read_log(log, columns=columns)
    policy, known = _read_policy(old_policy, episodes, seed)
    share = known if uncertainty is None else uncertainty
    model = _read_cost(cost)
    names = iter(name_files([one for one in candidates if not isinstance(one, Candidate)]))
    further = tuple(_read_candidate(one, episodes, seed, names) for one in candidates)
    others = tuple(_read_policy(one, episodes, seed)[0] for one in acting)
    check_inputs(episodes, policy, model, further, share)
    check_acting(episodes, policy, others, earlier)
    rows = np.asarray(as_rows(episodes.starts if start is None else start, policy.signature))
    given = start is not None
    return Inputs(episodes, policy, model, rows, given, further, share, others, earlier)


def check_inputs(
    log: Log,
    old_policy: Policy,
    cost: SwitchingCost,
    candidates: Sequence[Candidate],
    uncertainty: float,
) -> None:
    """Raise `InputError` unless everything speaks of the same spaces and there is enough of it."""
    check_log_fits(log, old_policy, "the old policy")
    cost.check(old_policy.observation_space, old_policy.action_space)
    problems = check_guardrails(log, cost.terms.guardrails)
    if log.n_episodes < LEAST_EPISODES:
        problems.append(
            f"the log has {log.n_episodes} episodes; advice needs at least {LEAST_EPISODES}, some "
            "to learn from and others to test on"
        )
    if not 0.0 <= uncertainty <= 1.0:
        problems.append(f"uncertainty = {uncertainty}: a share lies between 0 and 1")
    for candidate in candidates:
        try:
            check_same_spaces(old_policy, candidate.policy)
        except InputError as error:
            problems += [f"candidate {candidate.name}: {problem}" for problem in error.problems]
    if problems:
        raise InputError(problems)


def check_acting(log: Log, old_policy: Policy, acting: Sequence[Policy], earlier: int) -> None:
    """Raise `InputError` unless it is known who acted in each episode, the old policy in enough."""
    problems = []
    if acting and ACTING not in log.columns:
        problems.append(
            f"the log has no column {ACTING!r}: with further acting policies it has to say who "
            "acted in each episode, 0 for the old policy"
        )
    numbers = find_acting(log)
    if numbers.max() > len(acting):
        problems.append(
            f"column {ACTING!r}, episode {int(np.argmax(numbers > len(acting)))}: found "
            f"{numbers.max()}, but {len(acting)} further policies are given; give all that acted"
        )
    own = int((numbers == 0).sum())
    if own < LEAST_EPISODES:
        problems.append(
            f"the old policy acted in {own} episodes; advice needs at least {LEAST_EPISODES} of "
            "its own, to know what it is worth"
        )
    if not 0 <= earlier < log.n_episodes:
        problems.append(f"earlier = {earlier}: the log has {log.n_episodes} episodes in all")
    for place, policy in enumerate(acting, start=1):
        try:
            check_same_spaces(old_policy, policy)
        except InputError as error:
            problems += [f"acting policy {place}: {problem}" for problem in error.problems]
    if problems:
        raise InputError(problems)


def _read_cost(source: CostSource) -> SwitchingCost:
    """As it is, or a file's, or that of a function of two policies."""
    if isinstance(source, SwitchingCost):
        return source
    return read_cost(source) if isinstance(source, str | os.PathLike) else PolicyCost(source)


def _read_policy(source: PolicySource, log: Log, seed: int) -> tuple[Policy, float]:
    if isinstance(source, Policy):
        return _mask(source, log), recall_uncertainty(source)
    options = PolicyOptions(log=log, seed=seed)
    policy, provenance = read_policy_with_provenance(source, options)
    return policy, find_uncertainty(provenance)


def _mask(policy: Policy, log: Log) -> Policy:
    """What the log forbids counts for policies that were not read with it, too."""
    return respect_mask(policy, Signature(log.observation_space, log.action_space))


def _read_candidate(
    source: CandidateSource, log: Log, seed: int, names: Iterator[str]
) -> Candidate:
    if isinstance(source, Candidate):
        return dataclasses.replace(source, policy=_mask(source.policy, log))
    policy, _ = _read_policy(source, log, seed)
    return Candidate(next(names), policy, f"given as {Path(source).name}")
