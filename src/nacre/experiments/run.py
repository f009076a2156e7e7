"""Running the rows of a table: each record goes through the same stages and is kept at once."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nacre.advice.config import AdviceConfig
from nacre.costs import TransportCost, groups
from nacre.costs.description import describe_cost
from nacre.costs.family import SwitchingCost
from nacre.costs.groups import ActionGroups
from nacre.costs.measures import LogStates, UniformBox
from nacre.errors import InputError
from nacre.experiments.advised import run_advice
from nacre.experiments.authors import AuthorsConfig, Orthant
from nacre.experiments.learned import Clock, run_learner
from nacre.experiments.measures import PublishedStyle
from nacre.experiments.old_policies import Source, digest
from nacre.experiments.records import CACHE, Place, add_record, is_done
from nacre.experiments.shared import Shared, Truth
from nacre.experiments.tables import RANDOM, Row
from nacre.learners.net_actor_critic.config import LearnerConfig
from nacre.logs import Log
from nacre.parallel.engine import EngineSource, map_tasks
from nacre.policies.files import fingerprint
from nacre.policies.policy import Policy
from nacre.simulators.registry import World, find_world
from nacre.training.progress import NoProgress, Progress, ProgressEvent
from nacre.versions import find_commit, find_versions

Config = LearnerConfig | AuthorsConfig | AdviceConfig
CONFIGS: dict[str, Callable[[Row], Config]] = {
    "paper": lambda row: row.paper.learner,
    "authors": AuthorsConfig.of,
    "default": lambda row: AdviceConfig(),
}
"""A learner decides by the paper's rule, a configuration of advice by its bounds."""
LARGEST_STATE = 100.0
"""The published cost draws states from the observation box, clipped to this."""


@dataclass(frozen=True)
class Plan:
    """What is to be run, and how.

    Args:
        rows: Rows of one table.
        configs: Names of configurations.
        seeds: Seeds.
        out: Folder of the records.
        old_policies: Folder of the published old policies; None for those of the package.
        steps: Transitions of each log; the paper's number if not given.
        truth: How true values are simulated.
        open_reporter: Makes what hears of epochs, in the process that runs them.
    """

    rows: tuple[Row, ...]
    configs: tuple[str, ...]
    seeds: tuple[int, ...]
    out: Path
    old_policies: Path | None
    steps: int | None = None
    truth: Truth = dataclasses.field(default_factory=Truth)
    open_reporter: Callable[[], Progress] = NoProgress

    def __post_init__(self) -> None:
        unknown = [config for config in self.configs if config not in CONFIGS]
        if unknown:
            known = ", ".join(CONFIGS)
            raise InputError(f"no configuration is called {unknown[0]!r}: known are {known}")
        if self.steps is not None and self.steps < 1000:
            raise InputError(f"--steps {self.steps}: a log has at least 1000")

    @property
    def source(self) -> Source:
        """Where old policies come from."""
        return Source(self.old_policies)

    def check_files(self) -> None:
        """Raise `InputError` that names every file the plan needs and does not find."""
        for config in self.configs:
            stored = any(isinstance(CONFIGS[config](row), AuthorsConfig) for row in self.rows)
            self.source.check(self.rows, with_critics=stored)


@dataclass(frozen=True)
class Group:
    """Records that share a log: one world, one old policy, one seed."""

    plan: Plan
    rows: tuple[Row, ...]
    seed: int


def plan_groups(plan: Plan) -> list[Group]:
    """Rows by world and old policy, for each seed; the seeds in the order given."""

    def key(row: Row) -> tuple[str, str]:
        return row.world, row.old_policy

    rows = sorted(plan.rows, key=key)
    together = [tuple(same) for _, same in itertools.groupby(rows, key)]
    return [Group(plan, rows, seed) for seed in plan.seeds for rows in together]


def run_plan(plan: Plan, *, engine: EngineSource | None = None) -> Iterator[list[Place]]:
    """Run everything that is not there yet; yields the records of each group as it is done.

    Files that are missing are named before anything runs.
    """
    plan.check_files()
    for _, places in map_tasks(run_group, plan_groups(plan), engine=engine):
        yield places


def run_group(group: Group) -> list[Place]:
    """Run the missing records of a group, one after the other; each is kept as soon as it is made.

    Not by whoever waits for the groups: a group may take hours, and what is whole when it is killed
    should stay.
    """
    plan = group.plan
    world = find_world(group.rows[0].world)
    old_policy = plan.source.make_policy(group.rows[0], world, group.seed)
    name = f"{world.name.replace('/', '_')}-{fingerprint(old_policy)[:12]}-{group.seed}"
    report = Prefixed(f"{world.name} seed {group.seed}", plan.open_reporter())
    shared = Shared(plan.out / CACHE / name, world, old_policy, group.seed, report)
    log: Log | None = None
    places = []
    for row, config in itertools.product(group.rows, plan.configs):
        place = Place.of(plan.out, row, config, group.seed)
        settings = describe_settings(plan, row, config, group.seed, world, old_policy)
        if not is_done(place, settings, CONFIGS[config](row)):
            log = shared.log(settings["steps"]) if log is None else log
            record = run_record(plan, row, config, shared, log)
            add_record(place, {**settings, **record})
        places.append(place)
    return places


def describe_settings(
    plan: Plan, row: Row, config: str, seed: int, world: World, old_policy: Policy
) -> dict[str, Any]:
    """What the record follows from, as plain data."""
    made = CONFIGS[config](row)
    old = {"name": plan.source.name(row), "sha256": fingerprint(old_policy)}
    if isinstance(made, AuthorsConfig) and row.old_policy != RANDOM:
        old["critics"] = digest(plan.source.critics_file(row))
    return {
        "table": row.table,
        "row": row.name,
        "config": config,
        "seed": seed,
        "steps": plan.steps or row.paper.data_size,
        "learner": made.as_json(),
        "cost": describe_cost(choose_cost(made, row, world)),
        "old_policy": old,
        "truth": dataclasses.asdict(plan.truth),
    }


def choose_cost(config: Config, row: Row, world: World) -> SwitchingCost:
    """The cost of a row, with the groups of the published code where the configuration is its."""
    vectors = groups.sign(0) if not isinstance(config, AuthorsConfig) else Orthant()
    return published_cost(row, world, vectors=vectors)


def published_cost(
    row: Row, world: World, *, n: int = 10_000, vectors: ActionGroups | None = None
) -> SwitchingCost:
    """The cost of the published runs: states drawn from the box, two groups of actions.

    Args:
        row: Whose weights.
        world: Whose actions.
        n: States to draw.
        vectors: Groups of action vectors; by the sign of the first coordinate if not given.
    """
    return TransportCost(
        row.learning_weight,
        row.transaction_weight,
        groups.halves() if world.signature.discrete_actions else vectors or groups.sign(0),
        state_measure=UniformBox(n=n, limit=LARGEST_STATE),
    )


def run_record(plan: Plan, row: Row, config: str, shared: Shared, log: Log) -> dict[str, Any]:
    """Evaluate, learn, decide, and compare with the truth."""
    settings = CONFIGS[config](row)
    report = Prefixed(f"{row.name} {config} seed {shared.seed}", plan.open_reporter())
    cost = choose_cost(settings, row, shared.world)
    clock = Clock()
    checkpoint = None
    if isinstance(settings, AdviceConfig):
        advice, record = run_advice(shared, log, cost, settings, plan.truth, report)
        new_policy, training_cost = advice.new_policy, None
        price: dict[str, Any] = advice.chosen.cost.model_dump(mode="json")
        clock.laps["advise"] = round(float(advice.record.wall_seconds or 0.0), 1)
    else:
        checkpoint = shared.folder / f"learning-{row.name}-{config}.safetensors"
        begin = None
        if isinstance(settings, AuthorsConfig):
            begin = plan.source.read_critics(row, shared.old_policy.signature)
        outcome, record = run_learner(
            shared, log, cost, settings, plan.truth, report, begin, checkpoint, clock
        )
        new_policy, price = outcome.new_policy, outcome.cost.as_json()
        history = outcome.learned.history
        training_cost = history[-1].cost if history else None
    on_log = dataclasses.replace(cost, state_measure=LogStates()).evaluate(
        shared.old_policy, new_policy, log, seed=shared.seed
    )
    clock.lap("rest")
    record |= {
        "switching_cost": {
            "training": training_cost,
            "evaluation": price,
            "log_states": on_log.as_json(),
        },
        "log": log.identify(),
        "new_policy": {"sha256": fingerprint(new_policy)},
        "versions": find_versions(),
        "commit": find_commit(),
        "seconds": clock.laps,
    }
    record["improvement"]["published_style"] = PublishedStyle.of(record).improvement
    if checkpoint is not None:
        with contextlib.suppress(OSError):
            checkpoint.unlink(missing_ok=True)
    return record


class Prefixed:
    """Lines of progress that say which record they are about."""

    def __init__(self, prefix: str, report: Progress) -> None:
        self._prefix = prefix
        self._report = report

    def __call__(self, event: ProgressEvent) -> None:
        """Hand on a line of progress."""
        self._report(dataclasses.replace(event, stage=f"{self._prefix}: {event.stage}"))


def parse_seeds(text: str) -> tuple[int, ...]:
    """Seeds from text such as "4-13" or "4,5,9"."""
    seeds: list[int] = []
    for piece in text.split(","):
        first, dash, last = piece.strip().partition("-")
        try:
            low = int(first)
            high = int(last) if dash else low
        except ValueError:
            raise InputError(f"--seeds {text!r:.40}: write 4-13 or 4,5,9") from None
        if not 0 <= low <= high < 2**20:
            raise InputError(f"--seeds {text!r:.40}: from a small number to a larger one")
        seeds += [seed for seed in range(low, high + 1) if seed not in seeds]
    return tuple(seeds)


def list_places(plan: Plan) -> Sequence[Place]:
    """Where all records of a plan belong, done or not."""
    return [
        Place.of(plan.out, row, config, seed)
        for seed in plan.seeds
        for row in plan.rows
        for config in plan.configs
    ]
