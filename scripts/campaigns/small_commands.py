"""Commands of nacre on files so small that each takes a moment, run in processes that may die.

This process imports everything and computes nothing; each run is a fork of it. So a run costs what
the command does, without Python's start. What the campaigns share: the files, the commands, a run,
and how to tell which state a folder is in.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import json
import math
import os
import resource
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nacre.versions import find_commit
from tests.support.faults import fail_at

COMMIT = find_commit()
"""By which code; asked once, when that code is imported."""

WORLD = "CartPole-v1"
ADVISE = (
    "advise --log log.parquet --policy old.safetensors --candidate other.safetensors "
    "--cost cost.toml --advice-config advice.toml --discount 0.9"
)
CONFIG = """
learners = ["scale_noise"]
[[estimators]]
kind = "tabular"
replicates = 100
"""
LEFTOVERS = ("*.nacre-staging-*", "*.nacre-commit", "*.nacre-partial-*", "*.part", ".nacre-tasks")
"""What must be gone after the next run; parts and checkpoints are gone when they are done with."""
KEPT = (".nacre-tasks/*/*.safetensors", ".*.parts/part-*", ".cache/*/*.npz", ".cache/*/truth-*")
"""Finished work that the next run goes on with."""


@dataclass(frozen=True)
class Command:
    """A command, and what was done before it in the same folder.

    Args:
        words: With spaces between.
        before: An earlier command that left a result of its own in the same place, or nothing.
        code: With which it ends: that of watch says its verdict.
        repeats: Whether it leaves the same when it runs again; watch adds a look.
        adds: Whether the earlier result stays beside its own; where it vanished, nobody can bring
            it back.
    """

    words: str
    before: str = ""
    code: int = 0
    repeats: bool = True
    adds: bool = False


COMMANDS = {
    "advise": Command(f"{ADVISE} --out a --force", f"{ADVISE} --confidence 0.9 --out a"),
    "report": Command("report made", ""),
    "report to a file": Command("report made --out page.html"),
    "convert": Command("convert log.csv out.parquet", "convert other.csv out.parquet"),
    "convert to npz": Command("convert log.parquet out.npz", "convert other.csv out.npz"),
    "convert to csv": Command("convert log.parquet out.csv", "convert other.csv out.csv"),
    "convert to arrow": Command("convert log.parquet out.arrow", "convert other.csv out.arrow"),
    "convert with a cache": Command("convert log.parquet out.npz --cache-dir cache"),
    "collect": Command(
        f"collect {WORLD} --policy pole.safetensors --steps 1000 --out c.parquet",
        f"collect {WORLD} --policy pole.safetensors --steps 500 --out c.parquet",
    ),
    "train-online": Command(
        f"train-online {WORLD} --epochs 3 --out t.safetensors",
        f"train-online {WORLD} --epochs 2 --seed 1 --out t.safetensors",
    ),
    "reproduce": Command(
        "reproduce poles --seeds 4 --steps 1000 --out records",
        "reproduce poles --seeds 5 --steps 1000 --out records",
        adds=True,
    ),
    "reproduce to pages": Command("reproduce sumo --summary --out sumo-records --docs pages"),
    "advise-many": Command("advise-many decisions.toml --out many --engine threads"),
    "plan": Command("plan made --policy old.safetensors --out p", "plan made --risk 0.02 --out p"),
    "plan assign": Command("plan assign planned --units 40 --out assignment.csv"),
    "watch": Command("watch --plan planned --log live.parquet --out looks", code=20, repeats=False),
    "draft-map": Command("draft-map plain.csv --out map.toml --force"),
    "draft-cost": Command("draft-cost log.parquet --out drafted.toml --force"),
    "calibrate": Command(
        "calibrate finite --worlds contexts --kinds soft --seeds 100 --no-baselines --out cal",
        "calibrate finite --worlds contexts --kinds soft --seeds 101 --no-baselines --out cal",
        adds=True,
    ),
    "calibrate to pages": Command("calibrate finite --summary --out calibrated --docs pages"),
    "show": Command("show traffic --policy light.safetensors --steps 4 --render film.gif"),
    "advise with curves": Command(f"{ADVISE} --out a --tensorboard curves"),
}


@dataclass(frozen=True)
class Run:
    """How a run ended: its code, negative for a signal; what it said, called and used."""

    code: int
    out: str
    err: str
    calls: list[tuple[str, str]]
    processor: float


def import_all() -> None:
    """Import what the commands do, with small budgets in place of theirs."""
    import gymnasium  # noqa: F401
    import matplotlib as mpl

    mpl.use("Agg")
    from nacre.advice import kept_tasks, pipeline  # noqa: F401
    from nacre.cli import app, console, demo, rollout, waiting  # noqa: F401
    from nacre.experiments import run
    from nacre.experiments.calibration import advised, finite, page  # noqa: F401
    from nacre.experiments.calibration import run as calibration
    from nacre.experiments.shared import Truth
    from nacre.experiments.tables import TABLES
    from nacre.learners.online import soft_actor_critic, training
    from nacre.logs.drafting import column_map  # noqa: F401
    from nacre.report import rollout_pages, saving  # noqa: F401
    from nacre.rollout import plan_record  # noqa: F401
    from nacre.simulators import registry
    from nacre.simulators.rendering import shows  # noqa: F401
    from tests.support.advice import suggest_quick
    from tests.support.experiments import CHEAP, LEARNER

    run.CONFIGS["paper"] = lambda _: LEARNER
    TABLES["poles"] = (CHEAP,)
    # The commands give no way to ask for less.
    Truth.__init__.__defaults__ = (4, 20)
    small = functools.partial(
        dataclasses.replace,
        soft_actor_critic.OnlineConfig(hidden=(8,)),
        uniform_steps=50,
        epoch_steps=100,
        updates_per_step=0.05,
    )
    soft_actor_critic.OnlineConfig = small  # type: ignore[assignment,misc]
    training.write_trained = functools.partial(training.write_trained, n_episodes=2, n_steps=9)
    find = registry.find_world
    registry.find_world = lambda name: dataclasses.replace(find(name), episode_length=10)
    finite.ROWS = (1_000, 2_000)
    advised.suggest_config = suggest_quick  # type: ignore[attr-defined]
    calibration.find_code = lambda: "abc"  # type: ignore[attr-defined]
    if threading.active_count() > 1:
        raise SystemExit("a thread runs already: this process cannot be forked")


def lay_out(folder: Path) -> None:
    """Files that the commands name; to be called in a fork, because it computes."""
    import jax
    import numpy as np

    from nacre import examples
    from nacre.costs import TransportCost, groups
    from nacre.costs.toml import write_cost
    from nacre.logs import write_log
    from nacre.policies import MLPPolicy, TabularPolicy, write_policy
    from nacre.simulators import random_policy, random_world
    from nacre.simulators.registry import find_world

    folder.mkdir(parents=True)
    os.chdir(folder)
    write_policy(examples.load_traffic().old_policy, Path("light.safetensors"))
    world = random_world(100, 4, 2, discount=0.9)
    old, other = (random_policy(seed, world) for seed in (100, 150))
    log = world.sample_log(old, 1000, seed=100, horizon=50)
    for name in ("log.parquet", "log.csv"):
        write_log(log, Path(name))
    write_log(log.select(np.arange(4)), Path("other.csv"))
    lines = [f"{i // 4},{i % 3},{i % 5},{i % 2},{-1.5 * i},{int(i % 4 == 3)}\n" for i in range(60)]
    Path("plain.csv").write_text("episode,north,south,phase,reward,done\n" + "".join(lines))
    for name, table in (("old", old), ("other", other)):
        write_policy(TabularPolicy.from_probabilities(table), Path(f"{name}.safetensors"))
    policy = MLPPolicy.init(jax.random.key(0), find_world(WORLD).signature, hidden=(8,))
    write_policy(policy, Path("pole.safetensors"))
    write_cost(TransportCost(0.01, 0.0, groups.indices([[0], [1]])), Path("cost.toml"))
    Path("advice.toml").write_text(CONFIG)
    Path("decisions.toml").write_text(
        '[defaults]\ncost = "cost.toml"\nadvice_config = "advice.toml"\ndiscount = 0.9\n'
        'log = "log.parquet"\npolicy = "old.safetensors"\ncandidates = ["other.safetensors"]\n'
        '[[decision]]\nname = "one"\n[[decision]]\nname = "two"\n'
    )


def _share_programs(folder: Path) -> None:
    """Compiled programs are kept there, or where the user's own variable says."""
    import jax

    if jax.config.jax_compilation_cache_dir is None:  # type: ignore[attr-defined]
        jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)


def lay_out_results(folder: Path) -> None:
    """Records and a live log, as other commands and other people leave them."""
    import numpy as np

    from nacre.experiments.tables import TABLES
    from nacre.logs import read_log, write_log
    from tests.support.commands import write_right_switch
    from tests.support.rollout import add_columns

    os.chdir(folder)
    write_right_switch(Path("sumo-records"), TABLES["sumo"][0], 2.0)
    log = read_log(Path("log.parquet"))
    units = np.arange(log.n_episodes)
    write_log(add_columns(log, {"unit": units, "arm": units % 2}), Path("live.parquet"))


class Stage:
    """The files of the commands, laid out once, and what each leaves without a fault.

    Args:
        root: An empty folder, or one of an earlier run of the same code.
    """

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root, self.template = root, root / "template"
        _share_programs(root / "compiled")
        if not self.template.exists():
            making = root / "making"
            shutil.rmtree(making, ignore_errors=True)
            self._lay_out(lambda: lay_out(making))
            for words in (
                f"{ADVISE} --out made",
                "plan made --policy old.safetensors --out planned",
                COMMANDS["calibrate"].words.replace("--out cal", "--out calibrated"),
            ):
                self._require(run_command(words, making), words)
            self._lay_out(lambda: lay_out_results(making))
            making.rename(self.template)

    def prepare(self, name: str, folder: Path, *, earlier: bool = True) -> None:
        """A folder as it is before a command runs, with an earlier result or without."""
        shutil.rmtree(folder, ignore_errors=True)
        if not earlier:
            shutil.copytree(self.template, folder)
            return
        place = self.root / f"before {name}"
        if not place.exists():
            making = self.root / "making"
            shutil.rmtree(making, ignore_errors=True)
            shutil.copytree(self.template, making)
            if COMMANDS[name].before:
                words = COMMANDS[name].before
                self._require(run_command(words, making), words)
            making.rename(place)
        shutil.copytree(place, folder)

    def expect(
        self, name: str, *, earlier: bool = True
    ) -> tuple[Run, dict[str, str], dict[str, str]]:
        """A run without a fault, and digests of all files before it and after it."""
        folder = self.root / "whole"
        self.prepare(name, folder, earlier=earlier)
        before = digest(folder)
        whole = run_command(COMMANDS[name].words, folder)
        self._require(whole, COMMANDS[name].words, COMMANDS[name].code)
        after = digest(folder)
        shutil.rmtree(folder)
        return whole, before, after

    def _lay_out(self, work: Callable[[], None]) -> None:
        said = self.root / "said"
        if _in_fork(work, said):
            raise SystemExit(_read(said / "err"))

    def _require(self, ended: Run, words: str, code: int = 0) -> None:
        if ended.code != code:
            raise SystemExit(f"{words}: ended with {ended.code}: {ended.err}")


def run_command(
    words: str,
    folder: Path,
    *,
    at: int = -1,
    action: Callable[[], None] = lambda: None,
    processor_seconds: float | None = None,
) -> Run:
    """Run a command in a fork; its call number `at` on the folder fails, or it is killed."""
    import jax

    from nacre.cli import app

    said = folder.parent / f"{folder.name}.said"

    def work() -> None:
        os.chdir(folder)
        if at >= 0 or processor_seconds is not None:
            # A kill must not find the cache of compiled programs half written.
            jax.config.update("jax_persistent_cache_min_compile_time_secs", 1e9)
        with fail_at(folder, at, action) as faults:
            try:
                app.run(words.split())
            finally:
                # Streams of ours are not those that fail.
                (said / "calls").write_text(json.dumps(faults.calls))

    began = count_seconds()
    code = _in_fork(work, said, processor_seconds)
    took = count_seconds() - began
    calls = said / "calls"
    made = json.loads(calls.read_text()) if calls.exists() else []
    ended = Run(code, _read(said / "out"), _read(said / "err"), made, took)
    shutil.rmtree(said)
    return ended


def _in_fork(work: Callable[[], object], said: Path, seconds: float | None = None) -> int:
    """Do something in a fork, killed after so much processor time; the code of its end."""
    said.mkdir(exist_ok=True)
    child = os.fork()
    if child == 0:
        _work(work, said)
    look = os.WEXITED | os.WNOHANG | os.WNOWAIT
    while seconds is not None and os.waitid(os.P_PID, child, look) is None:
        if _read_seconds(child) >= seconds:
            os.kill(child, signal.SIGKILL)
            break
        time.sleep(0.001)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _work(work: Callable[[], object], said: Path) -> None:
    """In the fork: what is said goes to files, and nothing is left to the end of Python."""
    code = 1
    try:
        for stream, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(said / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
        work()
        code = 0
    except SystemExit as error:
        code = int(error.code or 0)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _read_seconds(process: int) -> float:
    """Processor time of a process so far."""
    with contextlib.suppress(OSError):
        # Linux's number of the clock that counts a process.
        return time.clock_gettime(~process << 3 | 2)
    return math.inf


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def digest(folder: Path) -> dict[str, str]:
    """SHA-256 of all files, without what says when and how long, and without unfinished work."""
    found = {}
    hidden = {
        path
        for pattern in (*LEFTOVERS, ".*.parts", ".*.checkpoint*", ".cache")
        for path in folder.rglob(pattern)
    }
    for path in sorted(folder.rglob("*")):
        # Every run has curves of its own, also one that failed.
        if (
            path.is_file()
            and ".tfevents" not in path.name
            and not hidden.intersection((path, *path.parents))
        ):
            content = _forget_times(path)
            found[path.relative_to(folder).as_posix()] = hashlib.sha256(content).hexdigest()
    return found


TIMES = {"wall_seconds", "seconds", "time", "execution", "created", "memory_megabytes"}


def _forget_times(path: Path) -> bytes:
    """The content of a file, without times."""
    content = path.read_bytes()
    if path.suffix == ".html":
        # Times stand on the page: what tells is that it is there to its end.
        return content.rstrip()[-7:]
    if path.name.startswith(("manifest.json", "entry.json")):
        return b""
    if path.suffix not in (".json", ".jsonl"):
        return content
    lines = [content] if path.suffix == ".json" else content.splitlines()
    return "\n".join(
        json.dumps(_strip(json.loads(line)), sort_keys=True) for line in lines
    ).encode()


def _strip(document: Any) -> Any:
    if isinstance(document, dict):
        return {name: _strip(value) for name, value in document.items() if name not in TIMES}
    return [_strip(value) for value in document] if isinstance(document, list) else document


def find_state(folder: Path, before: dict[str, str], after: dict[str, str]) -> str:
    """Which state a reader finds: old, new, or what is wrong with it. Looked at in a copy."""
    from nacre.errors import InputError
    from nacre.files.commit import COMMITTED, settle
    from nacre.files.manifest import find_changes, read_manifest
    from nacre.logs.storage.cache import verify_entry

    copy = folder.with_name(f"{folder.name}.copy")
    shutil.copytree(folder, copy, symlinks=True)
    try:
        for committed in list(copy.rglob(COMMITTED)):
            settle(committed.parent)
        for place in {path.parent for path in copy.rglob("manifest.json")}:
            manifest = None
            if "kind" in json.loads((place / "manifest.json").read_text()):
                manifest = read_manifest(place)
            changes = [] if manifest is None else find_changes(place, manifest)
            if changes:
                return f"mixed: {changes[0]}"
        for entry in copy.rglob("cache/*/entry.json"):
            verify_entry(entry.parent)
        found = digest(copy)
    except (InputError, ValueError) as error:
        return f"unreadable: {error}"
    finally:
        shutil.rmtree(copy)
    if found == after:
        return "new"
    # A whole cache beside the old result is finished work, as kept tasks are.
    results = {name: value for name, value in found.items() if not name.startswith("cache/")}
    return "old" if results == before else explain(found, before, after)


def explain(found: dict[str, str], before: dict[str, str], after: dict[str, str]) -> str:
    """Where a state is neither the old nor the new one: some of the files of each, or others."""
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    strange = {
        name
        for name in found.keys() | before.keys() | after.keys()
        if found.get(name) not in (before.get(name), after.get(name))
    }
    if strange:
        return f"different: {sorted(strange)}"
    new = sorted(name for name in changed if found.get(name) == after.get(name))
    return f"between: new are {new}"


def find_leftovers(folder: Path) -> list[str]:
    """Names of what unfinished runs left."""
    patterns = (*LEFTOVERS, ".*.parts", "*.parts", ".*.checkpoint*")
    return sorted({path.name for pattern in patterns for path in folder.rglob(pattern)})


def list_kept(folder: Path) -> set[str]:
    """Finished work that a run left for the next one."""
    return {str(path) for pattern in KEPT for path in folder.rglob(pattern)}


def count_seconds() -> float:
    """Processor time of all runs so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
