"""The same bits wherever tasks run, also when their workers are killed."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from threadpoolctl import threadpool_info

from nacre.advice.record import read_decision
from nacre.costs.toml import write_cost
from nacre.decisions.run import run_decisions
from nacre.decisions.table import read_entries
from nacre.errors import InputError
from nacre.logs import read_log, write_log
from nacre.parallel import dask_engine
from nacre.parallel.engine import Engine, open_engine
from nacre.parallel.payload import count_processors
from nacre.policies import write_policy
from tests.support.rooms import BEST, OLD, ask_about_rooms, make_cost, make_policy, sample_rooms

TABLE = """
[defaults]
policy = "old.safetensors"
cost = "cost.toml"
candidates = ["best.safetensors"]
advice_config = "advice.toml"
"""
ADVICE = """
learners = []
discount = 0.8
[[estimators]]
kind = "tabular"
replicates = 100
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four logs, and the table of the decisions about them."""
    folder = tmp_path_factory.mktemp("decisions")
    names = [f"log-{number}" for number in range(4)]
    for number, name in enumerate(names):
        write_log(sample_rooms(seed=101 + number), folder / f"{name}.parquet")
    write_policy(make_policy(OLD), folder / "old.safetensors")
    write_policy(make_policy(BEST), folder / "best.safetensors")
    write_cost(make_cost(0.1), folder / "cost.toml")
    (folder / "advice.toml").write_text(ADVICE)
    decisions = [f'[[decision]]\nname = "{name}"\nlog = "{name}.parquet"\n' for name in names]
    (folder / "decisions.toml").write_text(TABLE + "".join(decisions))
    return folder


@pytest.fixture(scope="module")
def scheduler() -> Iterator[Any]:
    """One for all tests: a worker is started, and loads what it needs, once."""
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    with (
        dask_engine.start_cluster(1) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def _choose(name: str, request: pytest.FixtureRequest) -> Engine:
    if name == "dask":
        return Engine("dask", request.getfixturevalue("scheduler").scheduler.address)
    if name == "ray" and importlib.util.find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    return Engine(name, workers=1)


@pytest.mark.parametrize("name", ["local", "dask", "ray"])
def test_every_engine_gives_the_same_record(
    name: str, folder: Path, request: pytest.FixtureRequest
) -> None:
    log = read_log(folder / "log-0.parquet")
    here = ask_about_rooms(log=log)
    there = ask_about_rooms(log=log, engine=_choose(name, request))
    assert _without_run(there.as_json()) == _without_run(here.as_json())
    # How it ran is recorded where it was not here.
    assert here.record.execution == {}
    assert there.record.execution["engine"] == name
    for figures in there.record.execution["tasks"].values():
        assert figures["seconds"] > 0
        assert min(figures["bytes_in"], figures["bytes_out"], figures["memory"]) > 0
    assert {"split", "finalists", "costs"} < set(there.record.execution["tasks"])


def test_a_killed_worker_changes_no_bit(folder: Path, tmp_path: Path, scheduler: Any) -> None:
    entries = read_entries(folder / "decisions.toml")
    here = run_decisions(entries, tmp_path / "here", "threads")
    killed: list[int] = []

    def kill(line: dict[str, Any], left: int) -> None:
        # The next decision is at work when this one is heard of.
        if not killed:
            killed.extend(scheduler.run(os.getpid).values())
            os.kill(killed[0], signal.SIGKILL)

    engine = Engine("dask", scheduler.scheduler.address)
    there = run_decisions(entries, tmp_path / "there", engine, on_line=kill)
    assert [line["verdict"] for line in here] == ["switch"] * 4
    assert [_without_run(line) for line in there] == [_without_run(line) for line in here]
    for entry in entries:
        records = [read_decision(tmp_path / name / entry.name) for name in ("here", "there")]
        assert len({_without_run(record.as_json()) for record in records}) == 1
    assert killed != list(scheduler.run(os.getpid).values())


def test_a_worker_of_dask_has_one_thread_for_each_task(scheduler: Any) -> None:
    with open_engine(Engine("dask", scheduler.scheduler.address)) as workers:
        assert workers.submit(count_processors).result(timeout=200) == 1
        threads = {each["num_threads"] for each in workers.submit(threadpool_info).result()}
        assert threads == {1}


def test_a_worker_that_ends_is_started_again_however_often() -> None:
    pytest.importorskip("distributed", reason="Dask is not installed")
    with dask_engine.start_cluster(1) as cluster:
        killed = set()
        for _ in range(3):
            with open_engine(Engine("dask", cluster.scheduler_address)) as workers:
                process = workers.submit(os.getpid).result(timeout=200)
            os.kill(process, signal.SIGKILL)
            killed.add(process)
        assert len(killed) == 3


def test_nobody_waits_for_ever_where_there_are_no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="Dask is not installed")
    monkeypatch.setattr(dask_engine, "LONGEST_WITHOUT", 0.5)
    with (
        dask_engine.start_cluster(0) as cluster,
        open_engine(Engine("dask", cluster.scheduler_address)) as workers,
    ):
        future = workers.submit(int, "12")
        with pytest.raises(InputError, match=r"no worker for 0\.5 seconds; look at the"):
            future.result(timeout=120)


def _without_run(document: dict[str, Any]) -> str:
    return json.dumps({**document, "wall_seconds": 0, "execution": {}}, sort_keys=True)
