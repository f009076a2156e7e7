"""The speed measurement: its keys, its operation counts, its command."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import os
from typing import Any

import pytest
from typer.testing import CliRunner

from nacre.cli import app as cli
from nacre.cli import bench
from nacre.cli.bench import (
    available_threads,
    critic_products,
    evaluation_operations,
    peak_memory,
    policy_products,
    run_bench,
    train_operations,
)
from nacre.cli.commands import speed

KEYS = {
    "train_updates_per_s",
    "eval_updates_per_s",
    "gemm_gflops",
    "train_fraction_of_limit",
    "eval_fraction_of_limit",
    "default_train_updates_per_s",
    "peak_rss_mb",
    "threads",
}


@functools.cache
def tiny() -> bench.Bench:
    return run_bench(rounds=1, steps=2)


def test_all_figures_are_there_finite_and_positive() -> None:
    figures = dataclasses.asdict(tiny())
    assert set(figures) == KEYS
    assert all(math.isfinite(value) and value > 0 for value in figures.values())
    assert figures["threads"] == available_threads()


def test_fractions_are_useful_operations_over_those_of_the_matrix_product() -> None:
    """With one round there is one of each; the product is the best of those around it."""
    found = tiny()
    useful = found.train_updates_per_s * train_operations() / 1e9
    assert found.train_fraction_of_limit >= useful / found.gemm_gflops * (1 - 1e-9)
    useful = found.eval_updates_per_s * evaluation_operations() / 1e9
    assert found.eval_fraction_of_limit >= useful / found.gemm_gflops * (1 - 1e-9)


def test_operation_counts_by_hand() -> None:
    # Hopper: 11 observations and 3 actions in, 256, 256, one value out.
    critic = 14 * 256 + 256 * 256 + 256 * 1
    assert critic_products() == critic == 69_376
    # 11 observations in, 256, 256, three means and three deviations out.
    policy = 11 * 256 + 256 * 256 + 256 * 6
    assert policy_products() == policy == 69_888
    members, batch, actions = 2, 256, 1000
    forward, backward = 2 * members * batch * critic, 4 * members * batch * critic
    targets, acting = 2 * members * batch * critic, 2 * batch * policy
    assert evaluation_operations() == forward + backward + targets + acting == 319_946_752
    at_start = 4 * members * actions * critic
    assert train_operations() == forward + backward + targets + acting + at_start == 874_954_752


def test_operation_counts_follow_their_settings() -> None:
    assert evaluation_operations(1, 1) == 8 * 69_376 + 2 * 69_888
    assert evaluation_operations(4, 256) - evaluation_operations(2, 256) == 16 * 256 * 69_376
    assert train_operations(2, 256, 0) == evaluation_operations(2, 256)
    assert train_operations(2, 256, 3) - train_operations(2, 256, 2) == 8 * 69_376


def test_a_measurement_of_something_broken_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[Any] = [None]
    measure = bench._timed(lambda key: ("state", "info", 5, len(keys) < 2), keys)
    keys.append(None)
    with pytest.raises(RuntimeError, match="diverged on the made-up log"):
        measure()


def test_memory_is_in_megabytes() -> None:
    """An interpreter with JAX in it needs more than 50 MB and less than 100 GB."""
    assert 50 < peak_memory() < 1e5


def test_the_command_prints_one_json_document() -> None:
    tiny()
    done = CliRunner().invoke(cli.app, ["bench", "--json", "--rounds", "1", "--steps", "2"])
    assert done.exit_code == 0
    assert set(json.loads(done.stdout)) == KEYS


def test_the_command_prints_figures_for_people() -> None:
    done = CliRunner().invoke(cli.app, ["bench", "--rounds", "1", "--steps", "2"])
    assert done.exit_code == 0
    assert {line.split()[0] for line in done.stdout.splitlines()} == KEYS
    quiet = CliRunner().invoke(cli.app, ["bench", "-q", "--rounds", "1", "--steps", "2"])
    assert len([float(line) for line in quiet.stdout.splitlines()]) == len(KEYS)


def run_command(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        cli.run(["bench", *arguments])
    assert isinstance(caught.value.code, int)
    return caught.value.code


def test_more_threads_than_there_are_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    too_many = available_threads() + 1
    assert run_command("--threads", str(too_many), "--json") == 2
    out, err = capsys.readouterr()
    assert json.loads(out)["error"]["exit_code"] == 2
    assert err == f"--threads {too_many}: only {too_many - 1} processors are available\n"


@pytest.mark.parametrize("option", ["--threads", "--rounds", "--steps"])
def test_nothing_less_than_one_is_taken(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(option, "0") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert option in err
    assert len(err.splitlines()) == 1


def test_threads_are_taken_from_those_available(monkeypatch: pytest.MonkeyPatch) -> None:
    pinned: list[tuple[int, list[int]]] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 1, 2}, raising=False)
    monkeypatch.setattr(
        os, "sched_setaffinity", lambda pid, cpus: pinned.append((pid, list(cpus))), raising=False
    )
    speed.use_threads(2)
    assert pinned == [(0, [1, 2])]
