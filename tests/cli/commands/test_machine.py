"""Settings in force on the command line, the doctor, and completion."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nacre import examples
from nacre.cli import doctor

Invoke = Callable[..., Any]
CART = examples.find_directory()
PRICE = """
[cost]
log = "{0}/log.parquet"
policy = "{0}/old.safetensors"
new_policy = "{0}/new.safetensors"
cost = "{0}/cost.toml"
quiet = true
"""


def lines_of(text: str) -> dict[str, list[str]]:
    """The rows of a table of settings by option."""
    rows = (line.split() for line in text.splitlines() if line.startswith("  "))
    return {name: rest for name, *rest in rows}


def test_flags_count_more_than_environment_than_file_than_default(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command's own values, seen through what it prints: only the total when quiet."""
    Path("nacre.toml").write_text(PRICE.format(CART))
    assert invoke("cost") == (0, "4.0883\n", "")
    assert invoke("cost", "--no-quiet").out.startswith("Switching cost 4.088")
    monkeypatch.setenv("NACRE_QUIET", "0")
    assert invoke("cost").out.startswith("Switching cost 4.088")
    monkeypatch.setenv("NACRE_COST_QUIET", "1")
    assert invoke("cost").out == "4.0883\n"
    assert invoke("cost", "--no-quiet").out.startswith("Switching cost 4.088")
    monkeypatch.setenv("NACRE_COST_QUIET", "0")
    assert invoke("cost", "-q").out == "4.0883\n"
    monkeypatch.setenv("NACRE_JSON", "1")
    monkeypatch.setenv("NACRE_SEED", "5")
    assert json.loads(invoke("cost").out)["seed"] == 5
    assert json.loads(invoke("cost", "--seed", "6").out)["seed"] == 6
    assert invoke("cost", "--no-json", "--quiet").out == "4.0883\n"


def test_required_options_may_come_from_settings_and_are_missed_without(invoke: Invoke) -> None:
    assert "Missing option '--log'" in invoke("cost").err
    Path("other.toml").write_text(PRICE.format(CART))
    assert invoke("cost", "--config", "other.toml").out == "4.0883\n"


def test_the_file_is_named_by_flag_then_variable_then_habit(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seed in (("nacre.toml", 1), ("a.toml", 2), ("b.toml", 3)):
        Path(name).write_text(f"seed = {seed}\n")

    def find(*arguments: str) -> list[str]:
        return lines_of(invoke("config", "show", "bench", *arguments).out)["seed"]

    assert find() == ["1", "file", "nacre.toml"]
    monkeypatch.setenv("NACRE_CONFIG", "a.toml")
    assert find() == ["2", "file", "a.toml"]
    assert find("--config", "b.toml") == ["3", "file", "b.toml"]
    monkeypatch.setenv("NACRE_SEED", "4")
    assert find() == ["4", "environment", "NACRE_SEED"]
    monkeypatch.setenv("NACRE_BENCH_SEED", "5")
    assert find() == ["5", "environment", "NACRE_BENCH_SEED"]


def test_settings_are_shown_for_every_command(invoke: Invoke) -> None:
    shown = invoke("config", "show")
    assert shown.code == 0
    assert shown.out.startswith("file: none (nacre.toml is not here)\n\nadvise\n")
    advise = lines_of(shown.out.split("\n\n")[1])
    assert advise["log"] == ["must", "be", "given"]
    assert advise["confidence"] == ["0.95", "default"]
    assert advise["candidate"] == ["-", "default"]
    assert "config" not in advise


def test_settings_as_json(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("nacre.toml").write_text("[advise]\ncandidate = ['a', 'b']\n")
    monkeypatch.setenv("NACRE_QUIET", "yes")
    document = json.loads(invoke("config", "show", "advise", "--json").out)
    assert document["file"] == "nacre.toml"
    (options,) = document["commands"].values()
    assert options["candidate"] == {
        "value": ["a", "b"],
        "source": "file",
        "place": "nacre.toml",
        "required": False,
    }
    assert options["quiet"]["place"] == "NACRE_QUIET"
    assert options["log"] == {"value": None, "source": "default", "place": None, "required": True}
    everything = json.loads(invoke("config", "show", "--json").out)
    assert everything["commands"]["reproduce"]["out"]["value"] == "results"


def test_wrong_settings_are_one_line_each_and_code_2(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("nacre.toml").write_text("sede = 1\n[advise]\nconfidnce = 0.9\n[bench]\nrounds = 'few'\n")
    code, out, err = invoke("doctor")
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        "nacre.toml: sede = 1: is no setting of all commands; did you mean seed?",
        "nacre.toml: advise.confidnce = 0.9: nacre advise has no such option; did you mean "
        "confidence?",
        "nacre.toml: bench.rounds = 'few': must be a whole number",
    ]
    assert invoke("doctor", "--help").code == 0
    Path("nacre.toml").unlink()
    monkeypatch.setenv("NACRE_BENCH_ROUND", "1")
    assert invoke("bench").err == (
        "NACRE_BENCH_ROUND: nacre bench has no such option; did you mean NACRE_BENCH_ROUNDS?\n"
    )
    assert invoke("config", "show", "bensh").err.startswith("bensh: no such command; known are ")
    assert invoke("validate", "x.csv", "--config", "no.toml").err.startswith(
        "no.toml: no such file"
    )


@pytest.fixture
def health(monkeypatch: pytest.MonkeyPatch) -> doctor.Health:
    """That of a machine that lacks an extra, and a package."""
    found = doctor.Health(
        versions={"nacre": "1.2.3"},
        system="Linux",
        devices=(),
        cores=4,
        usable_cores=2,
        memory={"total": 8_000_000_000},
        variables={"XLA_FLAGS": "--fast"},
        extras={
            "onnx": doctor.Extra("files", (), "pip install 'nacre[onnx]'"),
            "sumo": doctor.Extra("traffic", ("sumo-rl==1.4.5",), "pip install 'nacre[sumo]'"),
        },
        browser=None,
        directory="here",
        writable=False,
        problems=("jax>=0.7 is not installed; pip install 'jax>=0.7'",),
    )
    monkeypatch.setattr(doctor, "examine_machine", lambda: found)
    return found


def test_the_doctor_says_what_is_missing_and_how_to_get_it(
    invoke: Invoke, health: doctor.Health
) -> None:
    code, out, err = invoke("doctor")
    assert code == 1
    assert err == "jax>=0.7 is not installed; pip install 'jax>=0.7'\n"
    for words in (
        "nacre 1.2.3",
        "devices     none",
        "2 usable of 4",
        "8.0 GB total",
        "--fast",
        "here, not writable",
        "missing: pip install 'nacre[sumo]'",
        "needs sumo-rl==1.4.5",
        "install chromium",
        "not everything works",
    ):
        assert words in out
    document = json.loads(invoke("doctor", "--json").out)
    assert document["healthy"] is False
    assert document["extras"]["sumo"]["missing"] == ["sumo-rl==1.4.5"]
    assert invoke("doctor", "--quiet").out == ""


# Completion


def ask_shell(instruction: str, *words: str) -> str:
    """What the command answers to bash."""
    done = subprocess.run(
        [sys.executable, "-m", "nacre.cli.app"],
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "_NACRE_COMPLETE": instruction,
            "COMP_WORDS": " ".join(words),
            "COMP_CWORD": str(len(words) - 1),
        },
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("nacre", "con"), ["convert", "config"]),
        (("nacre", "advise", "--con"), ["--confidence", "--config"]),
        (("nacre", "config", "show", "tr"), ["train-online"]),
        (("nacre", "reproduce", "gym"), ["gymnasium", "gymnasium-ct"]),
        (("nacre", "collect", "H"), ["HalfCheetah-v4", "Hopper-v4"]),
    ],
)
def test_bash_completes_commands_options_and_arguments(
    words: tuple[str, ...], offered: list[str]
) -> None:
    assert ask_shell("complete_bash", *words).split() == offered


def test_bash_is_told_whom_to_ask() -> None:
    script = ask_shell("source_bash")
    assert "_NACRE_COMPLETE=complete_bash" in script
    assert "-F _nacre_completion nacre" in script
