"""The command line: what it prints, where, and with which exit code."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from gymnasium.spaces import Box
from typer.testing import CliRunner

import nacre
from nacre import examples
from nacre.cli import app as cli
from nacre.errors import InputError
from nacre.policies import MLPPolicy, Signature, TabularPolicy, write_policy
from tests.support.commands import few_updates

CART = examples.find_directory()
SEEDED = (
    "advise",
    "demo",
    "validate",
    "convert",
    "cost",
    "collect",
    "train-online",
    "simulate",
    "show",
    "report",
    "evaluate",
    "bench",
    "doctor",
    "plan",
    "plan assign",
    "watch",
)


class Outcome(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.err.splitlines()


@pytest.fixture
def invoke(capfd: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Runs a command in this process, through the entry point that the shell calls."""

    def run(*arguments: str | Path) -> Outcome:
        capfd.readouterr()
        with pytest.raises(SystemExit) as caught:
            cli.run([str(argument) for argument in arguments])
        assert isinstance(caught.value.code, int)
        return Outcome(caught.value.code, *capfd.readouterr())

    return run


def test_errors_are_json_where_json_was_asked_for(invoke: Callable[..., Outcome]) -> None:
    wrong = invoke("cost", "--json", "--log", "none.csv")
    assert wrong.code == 2
    assert json.loads(wrong.out)["error"] == {
        "problems": [wrong.err.rstrip("\n")],
        "exit_code": 2,
    }
    missing = invoke("report", "nowhere", "--json")
    assert missing.code == 2
    assert "nowhere" in json.loads(missing.out)["error"]["problems"][0]
    assert invoke("report", "nowhere").out == ""


def run_process(*arguments: str | Path, **variables: str) -> Outcome:
    """Runs a command in a process of its own."""
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "nacre.cli.app", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, **variables},
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def price(**replaced: str | Path) -> list[str | Path]:
    """The arguments that price the bundled switch, some of them replaced."""
    given = {
        "log": CART / "log.parquet",
        "policy": CART / "old.safetensors",
        "new_policy": CART / "new.safetensors",
        "cost": CART / "cost.toml",
    } | replaced
    options = [(f"--{name.replace('_', '-')}", value) for name, value in given.items()]
    return ["cost", *(part for option in options for part in option)]


def test_help_names_every_command_and_every_command_has_help_with_examples() -> None:
    runner = CliRunner()
    overview = runner.invoke(cli.app, ["--help"])
    assert overview.exit_code == 0
    for command in (*SEEDED, "reproduce", "calibrate", "config show"):
        assert f"\n  {command.split()[0]} " in overview.output
        shown = runner.invoke(cli.app, [*command.split(), "--help"])
        assert shown.exit_code == 0
        assert f"Examples:\n    nacre {command}" in shown.output
        options = {"--config", "--json", "--quiet", "--help"}
        options |= {"--seed"} if command in SEEDED else set()
        assert all(option in shown.output for option in options)


def test_commands_are_listed_in_groups_in_the_order_of_a_user_s_way(
    invoke: Callable[..., Outcome],
) -> None:
    lines = invoke("--help").out.splitlines()
    groups: dict[str, list[str]] = {}
    for line in lines[lines.index("Advice:") :]:
        if line.endswith(":"):
            groups[line.removesuffix(":")] = []
        elif line.startswith("  ") and not line.startswith("  Start"):
            groups[list(groups)[-1]].append(line.split()[0])
    assert groups == {
        "Advice": ["advise", "demo", "report", "advise-many", "verify", "evaluate"],
        "After the decision": ["plan", "plan", "watch"],
        "Logs and costs": ["validate", "convert", "cost", "draft-map", "draft-cost"],
        "Simulated worlds": ["collect", "train-online", "simulate", "show"],
        "Measuring": ["reproduce", "calibrate", "bench"],
        "This machine": ["doctor", "config"],
    }
    assert invoke("config").out == invoke("config", "--help").out


def test_help_and_version_import_nothing_heavy() -> None:
    heavy = {"jax", "numpy", "pyarrow", "gymnasium", "scipy", "equinox", "safetensors", "rich"}
    code = (
        "import sys\nfrom nacre.cli.app import run\n"
        "try:\n    run(sys.argv[1:])\n"
        f"except SystemExit:\n    print(sorted({heavy!r} & set(sys.modules)))"
    )
    for arguments in (
        ["--help"],
        ["--version"],
        ["cost", "--help"],
        ["cost"],
        ["config", "show"],
        ["--show-completion", "bash"],
    ):
        done = subprocess.run(  # noqa: S603 - our own code
            [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
        )
        assert done.stdout.splitlines()[-1] == "[]", arguments


def test_version_and_no_command(invoke: Callable[..., Outcome]) -> None:
    assert invoke("--version") == (0, f"nacre {nacre.__version__}\n", "")
    bare = invoke()
    assert bare.code == 0
    assert bare.out == invoke("--help").out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["bogus"], "nacre: No such command 'bogus'"),
        (["cost"], "nacre cost: Missing option '--log'"),
        (price()[:-2], "nacre cost: Missing option '--cost'"),
        (["validate"], "nacre validate: Missing "),
        (["demo", "--sed", "1"], "nacre demo: No such option"),
        (["demo", "--seed", "many"], "nacre demo: Invalid value for '--seed'"),
        (["demo", "--seed", "-1"], "nacre demo: Invalid value for '--seed'"),
    ],
)
def test_wrong_usage_is_one_line_and_code_2(
    invoke: Callable[..., Outcome], arguments: list[str | Path], text: str
) -> None:
    code, out, err = invoke(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(text)
    assert err.count("\n") == 1
    assert "--help'" in err


# Logs


COLUMNS: dict[str, list[Any]] = {
    "episode": [0, 0, 0, 1, 1],
    "observation_0": [0.0, 1.0, 2.0, 5.0, 6.0],
    "action_0": [0.5, -0.5, 0.0, 1.0, -1.0],
    "reward": [1.0, 1.0, 1.0, 0.0, 0.0],
    "terminated": [False, False, True, False, False],
    "truncated": [False, False, False, False, True],
    "next_observation_0": [1.0, 2.0, 3.0, 6.0, 7.0],
}
BOXES: dict[str, Any] = {
    "observation_space": Box(-np.inf, np.inf, (1,)),
    "action_space": Box(-1.0, 1.0, (1,)),
}


def write_csv(path: Path, columns: dict[str, list[Any]]) -> Path:
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(str(value) for value in row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def change(column: str, row: int, value: object) -> dict[str, list[Any]]:
    values = list(COLUMNS[column])
    values[row] = value
    return COLUMNS | {column: values}


def without(column: str) -> dict[str, list[Any]]:
    return {name: values for name, values in COLUMNS.items() if name != column}


def one_more_row(*values: object) -> dict[str, list[Any]]:
    pairs = zip(COLUMNS.items(), values, strict=True)
    return {name: [*column, value] for (name, column), value in pairs}


def test_valid_log_is_summarised(invoke: Callable[..., Outcome], tmp_path: Path) -> None:
    path = write_csv(tmp_path / "log.csv", COLUMNS)
    code, out, err = invoke("validate", path)
    assert (code, err) == (0, "")
    assert out.startswith(f"{path}: no problems found\nLog of 5 transitions in 2 episodes")
    assert "note" in out
    assert invoke("validate", path, "--quiet") == (0, "", "")


def test_valid_log_as_json(invoke: Callable[..., Outcome]) -> None:
    code, out, err = invoke("validate", CART / "log.parquet", "--json", "--seed", "3")
    assert (code, err) == (0, "")
    summary = json.loads(out)
    log = examples.load().log
    assert summary["valid"] is True
    assert summary["problems"] == []
    assert summary["transitions"] == log.n_transitions
    assert summary["truncated"] == log.n_episodes
    assert summary["sha256"] == log.fingerprint()
    assert summary["returns"]["mean"] == pytest.approx(log.returns().mean())


WRONG_LOGS: dict[str, tuple[dict[str, list[Any]], list[str]]] = {
    "missing column": (without("reward"), ["reward"]),
    "two missing columns": (
        {name: COLUMNS[name] for name in COLUMNS if name not in ("reward", "terminated")},
        ["'reward'", "'terminated'"],
    ),
    "not a number": (change("reward", 1, "nan"), ["row 1", "nan"]),
    "infinite": (change("observation_0", 3, "inf"), ["observation_0", "row 3", "inf"]),
    "not numeric": (change("reward", 2, "high"), ["reward", "row 2", "high"]),
    "wrong dtype": (change("terminated", 0, 0.5), ["terminated", "row 0", "0.5"]),
    "goes on after the end": (change("terminated", 1, True), ["row 1"]),
    "does not continue": (change("next_observation_0", 0, 1.5), ["row 0", "1.5"]),
    "duplicate step": (
        {"step": [0, 0, 1, 0, 1]} | COLUMNS,
        ["step", "row 1"],
    ),
    "empty": ({name: [] for name in COLUMNS}, ["at least one"]),
}


@pytest.mark.parametrize("name", WRONG_LOGS)
def test_every_wrong_log_gives_code_2_and_one_line_a_problem(
    invoke: Callable[..., Outcome], tmp_path: Path, name: str
) -> None:
    columns, words = WRONG_LOGS[name]
    path = write_csv(tmp_path / "log.csv", columns)
    code, out, err = invoke("validate", path)
    assert (code, out) == (2, "")
    lines = [line for line in err.splitlines() if not line.startswith("next: ")]
    assert lines
    assert all(line.startswith(f"{path}: ") and "; " in line for line in lines)
    assert all(any(word in line for line in lines) for word in words), err
    assert "Traceback" not in err
    listed = json.loads(invoke("validate", path, "--json").out)
    assert listed["valid"] is False
    assert [problem["text"] for problem in listed["problems"]] == lines


def test_all_problems_of_a_log_are_printed(invoke: Callable[..., Outcome], tmp_path: Path) -> None:
    columns = change("reward", 1, "nan") | {"observation_0": [0.0, "x", 2.0, 5.0, "inf"]}
    columns["terminated"] = [False, "maybe", True, False, False]
    outcome = invoke("validate", write_csv(tmp_path / "log.csv", columns))
    assert outcome.code == 2
    for column in ("reward", "observation_0", "terminated"):
        assert any(f"column '{column}'" in line for line in outcome.lines), outcome.err


def test_one_step_episodes_are_allowed(invoke: Callable[..., Outcome], tmp_path: Path) -> None:
    columns = one_more_row(2, 9.0, 0.1, 3.0, True, False, 8.0)
    outcome = invoke("validate", write_csv(tmp_path / "log.csv", columns))
    assert outcome.code == 0
    assert "6 transitions in 3 episodes" in outcome.out


def test_ragged_lists_in_parquet_are_named(invoke: Callable[..., Outcome], tmp_path: Path) -> None:
    table = {name: COLUMNS[name] for name in ("episode", "reward", "terminated", "truncated")}
    lists = {"observation": [[0.0], [1.0], [2.0, 2.0], [3.0], [4.0]], "action": [[0.0]] * 5}
    pq.write_table(pa.table(table | lists), tmp_path / "log.parquet")
    outcome = invoke("validate", tmp_path / "log.parquet")
    assert outcome.code == 2
    assert any("observation" in line and "row 2" in line for line in outcome.lines), outcome.err


def test_action_outside_its_space_is_named(invoke: Callable[..., Outcome], tmp_path: Path) -> None:
    log = nacre.Log.from_arrays(
        np.arange(5.0)[:, None],
        np.array([[0.5], [-0.5], [0.0], [1.0], [-1.0]]),
        np.zeros(5),
        np.eye(5, dtype=bool)[4],
        next_observations=np.arange(1.0, 6.0)[:, None],
        **BOXES,
    )
    nacre.write_log(log, tmp_path / "log.parquet")
    assert invoke("validate", tmp_path / "log.parquet").code == 0
    table = pq.read_table(tmp_path / "log.parquet")
    place = table.schema.get_field_index("action")
    field = table.schema.field(place)
    outside = pa.array([[0.5], [-0.5], [3.0], [1.0], [-1.0]], type=field.type)
    pq.write_table(table.set_column(place, field, outside), tmp_path / "log.parquet")
    outcome = invoke("validate", tmp_path / "log.parquet")
    assert outcome.code == 2
    assert any("action" in line and "row 2" in line and "3" in line for line in outcome.lines)


def test_object_arrays_are_refused(invoke: Callable[..., Outcome], tmp_path: Path) -> None:
    arrays: dict[str, Any] = {
        name.removesuffix("_0"): np.asarray(values) for name, values in COLUMNS.items()
    }
    arrays["reward"] = np.array([1, "a", None, [], {}], dtype=object)
    np.savez(tmp_path / "log.npz", **arrays)
    outcome = invoke("validate", tmp_path / "log.npz")
    assert outcome.code == 2
    assert any("reward" in line and "object" in line for line in outcome.lines), outcome.err


@pytest.mark.parametrize("name", ["absent.parquet", "log.xyz", "empty.csv", "text.parquet", "."])
def test_files_that_are_no_logs(invoke: Callable[..., Outcome], tmp_path: Path, name: str) -> None:
    (tmp_path / "log.xyz").write_text("x")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "text.parquet").write_text("this is no Parquet file")
    outcome = invoke("validate", tmp_path / name)
    assert (outcome.code, outcome.out) == (2, "")
    assert len(outcome.lines) == 1
    assert outcome.err.startswith(str(tmp_path / name))


# Prices


def test_price_is_printed_with_parts_flows_and_spread(invoke: Callable[..., Outcome]) -> None:
    code, out, err = invoke(*price())
    assert (code, err) == (0, "")
    for text in ("Switching cost 4.088", "of the log", "learning", "transaction", "total"):
        assert text in out
    assert out.count("action[0] ≤ 0") == 2
    assert "Half of the cost falls on" in out
    assert invoke(*price(), "--quiet").out == "4.0883\n"


def test_price_as_json_is_the_library_s_answer(invoke: Callable[..., Outcome]) -> None:
    code, out, err = invoke(*price(), "--json", "--seed", "5")
    assert (code, err) == (0, "")
    document = json.loads(out)
    example = examples.load()
    breakdown = example.cost.evaluate(example.old_policy, example.new_policy, example.log, seed=5)
    assert document["cost"] == breakdown.as_json()
    assert document["log"]["sha256"] == example.log.fingerprint()
    assert document["policy"]["sha256"] != document["new_policy"]["sha256"]
    assert nacre.costs.build_cost(document["config"]["cost"]) == example.cost
    assert document["seed"] == 5
    assert {"python", "nacre", "jax", "numpy"} <= set(document["versions"])
    spread = document["per_state"]
    assert (
        spread["highest"]
        == breakdown.per_state[spread["highest_state"]]
        == breakdown.per_state.max()
    )
    highest_first = np.sort(breakdown.per_state)[::-1]
    half = breakdown.per_state.sum() / 2
    assert highest_first[: spread["carry_half"]].sum() >= half
    assert highest_first[: spread["carry_half"] - 1].sum() < half


def test_drawn_states_give_a_standard_error_and_the_seed_counts(
    invoke: Callable[..., Outcome], tmp_path: Path
) -> None:
    path = tmp_path / "cost.toml"
    path.write_text((CART / "cost.toml").read_text() + "n = 50\n")
    first, again, other = (
        invoke(*price(cost=path), "--seed", seed).out for seed in ("1", "1", "2")
    )
    assert " ± " in first
    assert "50 states drawn from the log" in first
    assert "of the log)" not in first
    assert first == again
    assert first != other


def test_many_groups_are_printed_as_largest_flows(
    invoke: Callable[..., Outcome], tmp_path: Path
) -> None:
    cost = nacre.TransportCost(
        2.0,
        groups=nacre.groups.thresholds({0: [-1.0, -0.5, -0.2, 0.0, 0.2, 0.5, 1.0]}),
        state_measure=nacre.costs.UniformBox(2.0, 100),
    )
    nacre.costs.write_cost(cost, tmp_path / "cost.toml")
    outcome = invoke(*price(cost=tmp_path / "cost.toml"))
    assert outcome.code == 0
    assert "largest flows of 8 groups" in outcome.out
    assert "averaged over 100 states\n" in outcome.out
    flows = [line.split()[-1] for line in outcome.out.splitlines() if " action[0] " in line]
    assert 0 < len(flows) <= 12
    assert flows == sorted(flows, reverse=True)


def test_weighted_single_state_and_link(invoke: Callable[..., Outcome], tmp_path: Path) -> None:
    path = tmp_path / "cost.toml"
    text = (CART / "cost.toml").read_text().replace('"log"', '"given"\nstates = [[1.0, 0.0]]')
    path.write_text(f'link = "positive"\n{text}weights = [1.0]\n')
    outcome = invoke(*price(cost=path))
    assert outcome.code == 0
    assert "averaged over 1 state\n" in outcome.out
    assert "total after the link" in outcome.out
    assert "Half of the cost" not in outcome.out


def test_problems_of_all_files_are_printed(invoke: Callable[..., Outcome], tmp_path: Path) -> None:
    (tmp_path / "cost.toml").write_text("kind = 'locl'\n")
    (tmp_path / "old.safetensors").write_text("no tensors")
    wrong = price(
        log=tmp_path / "absent.parquet",
        policy=tmp_path / "old.safetensors",
        new_policy=tmp_path / "absent.safetensors",
        cost=tmp_path / "cost.toml",
    )
    outcome = invoke(*wrong)
    assert (outcome.code, outcome.out) == (2, "")
    starts = ["cost.toml: kind", "absent.parquet: ", "old.safetensors: ", "absent.safetensors: "]
    assert len(outcome.lines) == len(starts)
    for line, start in zip(outcome.lines, starts, strict=True):
        assert line.startswith(f"{tmp_path}/{start}")


def test_policies_that_do_not_fit_the_log_are_named(
    invoke: Callable[..., Outcome], tmp_path: Path
) -> None:
    wide, table = tmp_path / "wide.safetensors", tmp_path / "table.safetensors"
    signature = Signature(Box(-1.0, 1.0, (3,)), Box(-1.0, 1.0, (1,)))
    write_policy(MLPPolicy.init(jax.random.key(0), signature, hidden=()), wide)
    write_policy(TabularPolicy.from_probabilities(np.full((3, 2), 0.5)), table)
    outcome = invoke(*price(policy=wide, new_policy=table))
    assert (outcome.code, outcome.out) == (2, "")
    assert [line.split(" does not fit the log: its ")[0] for line in outcome.lines] == [
        str(wide),
        str(table),
        str(table),
    ]
    assert "vectors of 3 numbers, those of the log are vectors of 2" in outcome.lines[0]


def test_cost_that_does_not_fit_the_actions_is_refused(
    invoke: Callable[..., Outcome], tmp_path: Path
) -> None:
    path = tmp_path / "cost.toml"
    text = (CART / "cost.toml").read_text()
    for old, new, words in (
        ("coordinate = 0", "coordinate = 1", "groups use action coordinate 1"),
        ('"sign"\ncoordinate = 0', '"halves"', "index sets need discrete actions"),
        ('"log"', '"finite"', "finitely many states needs discrete observations"),
        ("learning_weight = 12.0", "learning_weight = 0.5", "is below transaction_weight = 1"),
    ):
        path.write_text(text.replace(old, new))
        outcome = invoke(*price(cost=path))
        assert (outcome.code, outcome.out) == (2, "")
        assert len(outcome.lines) == 1
        assert outcome.err.startswith(f"{path}: ")
        assert words in outcome.err


# The demonstration


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demonstration on a few episodes: its figures mean nothing, its way is the same."""
    from nacre.cli import demo

    example = examples.load_traffic()
    short = dataclasses.replace(example, log=example.log.select(np.arange(12)))
    monkeypatch.setattr(examples, "load_traffic", lambda: short)
    monkeypatch.setattr(demo, "demo_config", few_updates)


@pytest.mark.usefixtures("quick")
def test_demo_goes_the_whole_way(invoke: Callable[..., Outcome], tmp_path: Path) -> None:
    code, out, err = invoke("demo", "--out", tmp_path / "advice")
    assert code == 0
    assert ": old policy" in err
    assert "100% of all" in err
    for word in ("intersection", "net gain", "old value", "cost", "nacre advise --log"):
        assert word in out
    kept = json.loads((tmp_path / "advice" / "decision.json").read_text())
    assert kept["verdict"].upper() in out
    assert (tmp_path / "advice" / "policy" / "new.safetensors").is_file()
    page = tmp_path / "advice" / "report.html"
    first = page.read_bytes()
    page.unlink()
    assert invoke("report", tmp_path / "advice").out == f"{page}\n"
    assert page.read_bytes() == first


def test_the_demo_s_hint_calls_what_the_shell_finds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from nacre.cli import demo

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "a folder" / "python"))
    assert demo.name_program() == f"'{tmp_path}/a folder/python' -m nacre"
    beside = tmp_path / "a folder" / "nacre"
    beside.parent.mkdir()
    beside.touch(mode=0o755)
    assert demo.suggest().splitlines()[-1].startswith(f"  '{beside}' advise --log ")
    monkeypatch.setenv("PATH", str(beside.parent))
    assert demo.suggest().splitlines()[-1].startswith("  nacre advise --log ")


@pytest.mark.usefixtures("quick")
def test_demo_figures_add_up_and_quiet_is_the_verdict(invoke: Callable[..., Outcome]) -> None:
    figures = json.loads(invoke("demo", "--json", "--quiet").out)
    (candidate,) = figures["candidates"]
    assert candidate["net_gain"] == figures["net_gain"]
    assert candidate["name"] == figures["chosen"] == "noise-0.3"
    estimators = {one["estimator"] for one in candidate["estimates"]}
    assert "fitted_q" in estimators
    assert not {"tabular", "one_step"} & estimators
    assert figures["old_value"]["method"] == "returns of the log"
    assert invoke("demo", "--quiet").out == figures["verdict"] + "\n"


# Failures


def test_failures_are_one_line_and_code_1(
    invoke: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise RuntimeError("the sky\nfell")

    monkeypatch.setattr(examples, "load_traffic", fail)
    told = (
        "failed: RuntimeError: the sky (a fault of nacre: please report it with the command and "
        "what NACRE_DEBUG=1 shows)\n"
    )
    assert invoke("demo") == (1, "", told)
    monkeypatch.setenv("NACRE_DEBUG", "1")
    with pytest.raises(RuntimeError, match="the sky"):
        cli.run(["demo"])


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (KeyboardInterrupt(), (130, "", "")),
        (BrokenPipeError(32, "Broken pipe"), (1, "", "")),
        (InputError(["a: one", "b: two\nlines"]), (2, "", "a: one\nb: two lines\n")),
    ],
    ids=["interrupted", "reader gone", "bad input"],
)
def test_interruptions_end_without_a_word_too_many(
    invoke: Callable[..., Outcome],
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    expected: Outcome,
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(examples, "load_traffic", fail)
    monkeypatch.setattr(os, "dup2", lambda *_: None)
    assert invoke("demo") == expected


def test_warnings_are_one_line(
    invoke: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    def warn() -> None:
        warnings.simplefilter("always")
        warnings.warn("the sky\nis low", RuntimeWarning, stacklevel=1)
        raise KeyboardInterrupt

    monkeypatch.setattr(examples, "load_traffic", warn)
    assert invoke("demo") == (130, "", "warning: the sky is low\n")


def test_processes_exit_with_the_same_codes_and_no_traceback(tmp_path: Path) -> None:
    done = run_process(*price(), "--json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["cost"]["n_states"] == 10_000
    missing = run_process("validate", tmp_path / "absent.csv")
    assert (missing.code, missing.out, missing.err.count("\n")) == (2, "", 1)
    usage = run_process("cost", "--log")
    assert (usage.code, usage.out, usage.err.count("\n")) == (2, "", 1)


def test_terminals_without_our_signs_get_substitutes() -> None:
    done = run_process(*price(), PYTHONIOENCODING="ascii", NO_COLOR="1")
    assert (done.code, done.err) == (0, "")
    assert "action[0] ? 0" in done.out
    assert "\x1b" not in done.out


def test_a_reader_that_leaves_early_is_no_failure_to_talk_about() -> None:
    command = f"'{sys.executable}' -m nacre.cli.app --help | true"
    done = subprocess.run(  # noqa: S603 - our own command
        ["/bin/sh", "-c", command], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""


def test_lazy_names_are_the_real_ones() -> None:
    from nacre import costs

    assert nacre.TransportCost is costs.TransportCost
    assert nacre.groups is costs.groups
    assert nacre.examples is examples
    assert set(nacre.__all__) <= set(dir(nacre))
    for name in nacre.__all__:
        assert getattr(nacre, name) is not None
    with pytest.raises(AttributeError, match="'nacre' has no attribute 'fortune'"):
        nacre.fortune  # noqa: B018
