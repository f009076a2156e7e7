"""Logs of simulated worlds: in parts, anywhere, and resumable.

A log is made of parts. Each part runs some simulations side by side from seeds of its own, so that
the log does not depend on where it was made or how often they were stopped.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from nacre.errors import InputError
from nacre.files.commit import open_whole, refuse, write_whole
from nacre.files.documents import ARCHIVE_ERRORS
from nacre.logs import Log
from nacre.logs.checks.problems import show_reason
from nacre.parallel.engine import EngineSource, map_tasks
from nacre.policies.files import fingerprint
from nacre.policies.policy import Policy
from nacre.simulators.registry import World
from nacre.simulators.rollouts import Columns, draw_actions, run_steps, uniform_actions

EPISODES_PER_PART = 50


@dataclass(frozen=True)
class Part:
    """Rows of a log that are collected in one go."""

    index: int
    actions: Literal["uniform", "policy"]
    rows: int


def plan_parts(world: World, n_steps: int, uniform_steps: int) -> list[Part]:
    """First the uniform steps, then the policy's, in parts of fifty full episodes at most."""
    size = EPISODES_PER_PART * world.episode_length
    uniform_steps = min(uniform_steps, n_steps)
    parts: list[Part] = []
    for kind, total in (("uniform", uniform_steps), ("policy", n_steps - uniform_steps)):
        sizes = [min(size, total - done) for done in range(0, total, size)]
        for rows in sizes:
            parts.append(Part(len(parts), "uniform" if kind == "uniform" else "policy", rows))
    return parts


def collect_log(
    world: World,
    policy: Policy,
    n_steps: int,
    *,
    seed: int,
    parts_folder: Path | None = None,
    uniform_steps: int | None = None,
    engine: EngineSource | None = None,
    on_rows: Callable[[int], None] | None = None,
) -> Log:
    """Let a policy act in a world and keep what happens.

    Args:
        world: The world.
        policy: Acts after the first uniform steps.
        n_steps: Transitions in all.
        seed: Everything random follows from it.
        parts_folder: Where parts are kept until the log is whole. A folder with parts of the same
            collection is gone on with; it is left to the caller to delete it. If not given, a
            folder of the system's that does not outlast the call.
        uniform_steps: Steps with uniform actions at the beginning; if not given, as published for
            the worlds of the published experiments, none elsewhere.
        engine: Where to collect; here if not given. Workers write into `parts_folder`.
        on_rows: Hears of collected rows, those found on disk included.
    """
    if n_steps < 1:
        raise InputError(f"{n_steps} steps: give at least 1")
    check_policy(world, policy)
    uniform = world.uniform_steps if uniform_steps is None else uniform_steps
    if uniform < 0:
        raise InputError(f"{uniform} uniform steps: give 0 or more")
    parts = plan_parts(world, n_steps, uniform)
    identity = {
        "world": world.name,
        "policy": fingerprint(policy),
        "steps": n_steps,
        "uniform_steps": uniform,
        "seed": seed,
    }
    with tempfile.TemporaryDirectory() as passing:
        folder = Path(passing) / "parts" if parts_folder is None else parts_folder
        _open_folder(folder, identity)
        there = [part for part in parts if _part_file(folder, part).exists()]
        missing = [part for part in parts if part not in there]
        if on_rows is not None:
            on_rows(sum(part.rows for part in there))
        tasks = [_Task(world, policy, part, seed, folder) for part in missing]
        for index, _ in map_tasks(_collect_part, tasks, engine=engine):
            if on_rows is not None:
                on_rows(missing[index].rows)
        return _assemble(world, [_read_part(folder, part) for part in parts], identity)


def check_policy(world: World, policy: Policy) -> None:
    """Raise `InputError` unless the policy's spaces are the world's."""
    problems = []
    for what in ("observation_space", "action_space"):
        ours, theirs = getattr(world.signature, what), getattr(policy.signature, what)
        same = type(ours) is type(theirs) and ours.shape == theirs.shape
        if not same or getattr(ours, "n", 0) != getattr(theirs, "n", 0):
            problems.append(
                f"the policy's {what.replace('_', ' ')} is {theirs}, that of {world.name} is "
                f"{ours}: give a policy of this world"
            )
    if problems:
        raise InputError(problems)


@dataclass(frozen=True)
class _Task:
    world: World
    policy: Policy
    part: Part
    seed: int
    folder: Path


def _collect_part(task: _Task) -> None:
    world, part = task.world, task.part
    draw_seed, reset_seed = (
        int(child.generate_state(1)[0] >> 1)
        for child in np.random.SeedSequence([task.seed, part.index]).spawn(2)
    )
    n_simulators = min(world.side_by_side, part.rows)
    simulators = [world.make() for _ in range(n_simulators)]
    try:
        choose = (
            uniform_actions(world.signature, draw_seed)
            if part.actions == "uniform"
            else draw_actions(task.policy, draw_seed)
        )
        columns = run_steps(
            simulators,
            choose,
            -(-part.rows // n_simulators),
            episode_length=world.episode_length,
            seed=reset_seed,
        )
    finally:
        for simulator in simulators:
            simulator.close()
    _write_part(_part_file(task.folder, part), _cut(columns, part.rows))


def _cut(columns: Columns, rows: int) -> Columns:
    """The first rows; the last of them ends its episode."""
    kept = {name: values[:rows] for name, values in columns.items()}
    truncated = kept["truncated"].copy()
    truncated[-1] = not kept["terminated"][-1]
    return kept | {"truncated": truncated}


def _open_folder(folder: Path, identity: dict[str, Any]) -> None:
    """Make the folder ours: keep the parts of the same collection, refuse those of another."""
    manifest = folder / "collection.json"
    text = json.dumps(identity, sort_keys=True)
    try:
        if manifest.exists():
            if manifest.read_text() == text:
                return
            raise InputError(
                f"{folder}: holds parts of another collection; delete it or choose another place"
            )
        # Whole or not at all: a run can be killed right here and must still go on.
        write_whole(manifest, text.encode())
    except OSError as error:
        raise InputError(f"{folder}: cannot be used ({error.strerror}); choose another") from None


def _part_file(folder: Path, part: Part) -> Path:
    digest = hashlib.sha256(json.dumps(asdict(part)).encode()).hexdigest()[:8]
    return folder / f"part-{part.index:05d}-{digest}.npz"


def _write_part(path: Path, columns: Columns) -> None:
    try:
        with open_whole(path) as stream:
            np.savez(stream, **columns)  # type: ignore[arg-type]
    except OSError as error:
        raise refuse(path, error) from None


def _read_part(folder: Path, part: Part) -> Columns:
    path = _part_file(folder, part)
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            columns = {name: archive[name] for name in archive.files}
    except ARCHIVE_ERRORS as error:
        raise InputError(
            f"{path}: damaged ({show_reason(error)}); delete it and collect again"
        ) from None
    if len(columns.get("rewards", ())) != part.rows:
        raise InputError(f"{path}: does not hold {part.rows} rows; delete it and collect again")
    return columns


def _assemble(world: World, parts: list[Columns], identity: dict[str, Any]) -> Log:
    ends = np.cumsum([part["episode"][-1] + 1 for part in parts])
    firsts = np.append(0, ends[:-1])
    columns: dict[str, Any] = {
        name: np.concatenate([part[name] for part in parts]) for name in parts[0]
    }
    columns["episode"] = np.concatenate(
        [part["episode"] + first for part, first in zip(parts, firsts, strict=True)]
    )
    return Log.from_arrays(
        **columns,
        observation_space=world.signature.observation_space,
        action_space=world.signature.action_space,
        provenance={"collection": identity},
    )


def discard_parts(folder: Path) -> None:
    """Delete a collection's parts."""
    shutil.rmtree(folder, ignore_errors=True)
