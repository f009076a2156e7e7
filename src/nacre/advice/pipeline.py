"""The whole way: checks → split → learners → finalists → estimators × finalists → rule → record."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Sequence
from pathlib import Path

from jaxtyping import ArrayLike

from nacre.advice.assembly import build_advice
from nacre.advice.config import AdviceConfig, settle_discount, suggest_config
from nacre.advice.config_file import read_changes
from nacre.advice.inputs import (
    CandidateSource,
    ColumnsSource,
    ConfigSource,
    CostSource,
    Inputs,
    LogSource,
    PolicySource,
    read_inputs,
)
from nacre.advice.kept_tasks import KeptTasks
from nacre.advice.plan import plan_tasks
from nacre.advice.propensities import settle_propensities
from nacre.advice.result import Advice
from nacre.advice.running import EngineSource, run_tasks
from nacre.advice.setting import Setting
from nacre.errors import check_arguments
from nacre.training.progress_display import Shown, open_progress


@check_arguments
def advise(
    log: LogSource,
    old_policy: PolicySource,
    cost: CostSource,
    start: ArrayLike | None = None,
    *,
    candidates: Sequence[CandidateSource] = (),
    discount: float | None = None,
    confidence: float | None = None,
    config: ConfigSource | None = None,
    uncertainty: float | None = None,
    seed: int = 0,
    columns: ColumnsSource | None = None,
    progress: Shown = None,
    resume: str | os.PathLike[str] | None = None,
    engine: EngineSource = "threads",
    acting: Sequence[PolicySource] = (),
    earlier: int = 0,
) -> Advice:
    """Should we replace the old policy, by what, and how sure is that?

    Args:
        log: Episodes of the old policy, or their file.
        old_policy: The policy in force, its file, or "clone" or "columns" to take it from the log.
        cost: The cost of leaving it, its cost.toml, or a function of the old and the new policy.
        start: The state or states that the next episode starts from; the log's own if not given.
        candidates: Policies of your own, to be compared with the learned ones.
        discount: γ; the configuration's, or 0.99, if not given.
        confidence: Probability with which the decision has to be right; the configuration's, or
            0.95, if not given.
        config: Learners, estimators and rule, or their TOML file; what is not said there, or all if
            nothing is given, is what fits the log.
        uncertainty: Share of the old policy's probability that may lie on the wrong actions, where
            it is a clone of the log; known if it is cloned here.
        seed: Everything random follows from it.
        columns: Which column of the log's file holds what, or the file that says so.
        progress: Hears of the progress of every task. Terminals and notebooks show it if nothing
            is given; False is silent.
        resume: A folder in which finished tasks are kept: the same advice, asked for again, goes on
            from there. Where the old policy is a Python function, nothing is kept.
        engine: Where tasks run: threads, local, dask or ray. The answer is the same.
        acting: Further policies that acted in the log, as after a stage of a roll-out. Its column
            `acting_policy` says where: 0 for the old policy, 1 for the first of these.
        earlier: Episodes at its beginning that an advice of this seed was about: divided so again.
    """
    began = time.perf_counter()
    # A file is read before the log: that may take long.
    changes = {} if config is None or isinstance(config, AdviceConfig) else read_changes(config)
    inputs = log, old_policy, cost, start, candidates, uncertainty, seed
    given = read_inputs(*inputs, columns=columns, acting=acting, earlier=earlier)
    if not isinstance(config, AdviceConfig):
        config = dataclasses.replace(suggest_config(given.log), **changes)
    setting = _settle(given, _set_levels(config, discount, confidence), seed)
    folder = Path(resume) if resume else None
    kept = KeptTasks.open(folder, setting, given.candidates, began)
    graph = plan_tasks(setting, given.candidates)
    with open_progress(progress) as heard:
        results, execution = run_tasks(graph, kept, heard, setting, engine)
    results = {**results, "given": given.candidates}
    return build_advice(setting, results, execution, began=began - kept.seconds_before)


def _settle(given: Inputs, wanted: AdviceConfig, seed: int) -> Setting:
    """What every task knows, with the discount and the probabilities that the log allows."""
    config = settle_discount(wanted, given.log)
    config = settle_propensities(config, given.log, given.uncertainty)
    undiscounted = wanted.discount == 1.0 and int(given.log.episode_lengths.max()) > 1
    return dataclasses.replace(given.as_setting(config, seed), undiscounted=undiscounted)


def _set_levels(
    config: AdviceConfig, discount: float | None, confidence: float | None
) -> AdviceConfig:
    """The configuration with those of the two that are given."""
    return dataclasses.replace(
        config,
        discount=config.discount if discount is None else discount,
        confidence=config.confidence if confidence is None else confidence,
    )
