"""plan, plan assign and watch: files, exit codes, and one line for what is wrong."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import pty
import re
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nacre.logs import write_log
from nacre.policies import TabularPolicy, fingerprint, read_policy, write_policy
from nacre.report import Evidence, write_evidence
from nacre.rollout.plan_record import read_plan
from tests.support.faults import fail_at, raise_error
from tests.support.rollout import RICHER, make_record, play, play_design
from tests.support.rooms import BEST, OLD, WORSE, make_policy

Invoke = Callable[..., Any]


@pytest.fixture
def advice(tmp_path: Path) -> Path:
    """An advice folder, with the old policy beside it."""
    folder = tmp_path / "advice"
    (folder / "policy").mkdir(parents=True)
    (folder / "decision.json").write_text(json.dumps(make_record().as_json()))
    returns = play(np.zeros(200, bool), seed=105).returns(0.8)
    write_evidence(Evidence(returns=returns), folder / "evidence.npz")
    write_policy(make_policy(BEST), folder / "policy" / "new.safetensors")
    write_policy(make_policy(OLD), tmp_path / "old.safetensors")
    return folder


@pytest.fixture
def plan(advice: Path, invoke: Invoke) -> Path:
    """A plan folder with one half and then all."""
    out = advice.parent / "plan"
    old = advice.parent / "old.safetensors"
    done = invoke("plan", advice, "--stages", "50%,1", "--policy", old, "--out", out, "--quiet")
    assert (done.code, done.out) == (0, "2\n")
    return out


def write_live(plan: Path, n_units: int = 100, **options: Any) -> Path:
    found = read_plan(plan)
    path = plan.parent / "live.parquet"
    write_log(play_design(found.design(found.stages[0]), n_units, **options), path)
    return path


def test_a_plan_is_printed_and_written(advice: Path, invoke: Invoke) -> None:
    done = invoke("plan", advice, "--json", "--seed", "4", "--guardrail", "length >= 10")
    document = json.loads(done.out)
    assert [stage["share"] for stage in document["stages"]] == [0.1, 0.5, 1.0]
    assert document["seed"] == 4
    told = invoke("plan", advice, "--unit", "block", "--block", "3", "--gap", "1")
    assert told.code == 0
    assert "stage 1     50%: the new policy in 1 of 2 blocks" in told.out


def test_a_plan_keeps_its_policies(plan: Path) -> None:
    found = read_plan(plan)
    assert found.new_policy.file == "policy/new.safetensors"
    assert (plan / str(found.old_policy.file)).is_file()
    assert "Roll-out in 2 stages" in (plan / "plan.html").read_text(encoding="utf-8")


def test_the_assignment_is_that_of_the_plan(plan: Path, invoke: Invoke, tmp_path: Path) -> None:
    out = tmp_path / "assignment.csv"
    done = invoke("plan", "assign", plan, "--units", "7", "--out", out)
    assert done.code == 0
    rows = out.read_text().splitlines()
    assert rows[0] == "unit,set,place,arm"
    assert len(rows) == 1 + 8
    found = read_plan(plan)
    drawn = found.design(found.stages[0]).draw(8).astype(int)
    assert [int(row.split(",")[3]) for row in rows[1:]] == drawn.tolist()
    assert invoke("plan", "assign", plan, "--units", "7").out == out.read_text()
    told = json.loads(invoke("plan", "assign", plan, "--units", "2", "--json").out)
    assert told["assignment"][0]["arm"] == drawn[0]
    assert invoke("plan", "assign", plan, "--stage", "3").lines == [
        "--stage 3: the plan has stages 1 to 2"
    ]


@pytest.mark.parametrize(
    ("options", "verdict", "code"),
    [
        ({}, "next stage", 10),
        ({"new": WORSE}, "step back", 30),
        ({"n_units": 10}, "keep collecting", 0),
        ({"world": RICHER}, "stop", 20),
    ],
)
def test_a_watch_ends_with_the_code_of_its_verdict(
    options: dict[str, Any], verdict: str, code: int, plan: Path, invoke: Invoke
) -> None:
    live = write_live(plan, **options)
    done = invoke("watch", "--plan", plan / "plan.json", "--log", live, "--quiet")
    assert (done.code, done.out) == (code, f"{verdict}\n")


def test_every_look_is_recorded(plan: Path, invoke: Invoke) -> None:
    live = write_live(plan)
    first = json.loads(invoke("watch", "--plan", plan, "--log", live, "--json").out)
    told = invoke("watch", "--plan", plan, "--log", live)
    assert told.out.startswith("NEXT STAGE\n")
    looks = [json.loads(line) for line in (plan / "looks.jsonl").read_text().splitlines()]
    assert [look["look"] for look in looks] == [1, 2]
    assert looks[0]["gain"] == looks[1]["gain"] == first["gain"]
    assert "Next stage." in (plan / "watch.html").read_text(encoding="utf-8")


def test_a_look_that_cannot_be_saved_is_told_after_its_verdict(plan: Path, invoke: Invoke) -> None:
    live = write_live(plan)
    invoke("watch", "--plan", plan, "--log", live)
    before = (plan / "looks.jsonl").read_bytes()
    with fail_at(plan, 3, raise_error(errno.ENOSPC)):
        done = invoke("watch", "--plan", plan, "--log", live, "--quiet")
    assert (done.code, done.out) == (2, "next stage\n")
    assert "cannot be written (No space left on device)" in done.err
    assert (plan / "looks.jsonl").read_bytes() == before


def test_a_plan_is_written_whole_or_not_at_all(plan: Path, advice: Path, invoke: Invoke) -> None:
    before = {path: path.read_bytes() for path in plan.rglob("*") if path.is_file()}
    with fail_at(plan, 9, raise_error(errno.EIO)):
        done = invoke("plan", advice, "--risk", "0.02", "--out", plan)
    assert done.code == 2
    assert {path: path.read_bytes() for path in plan.rglob("*") if path.is_file()} == before


def test_following_ends_when_there_is_something_to_do(
    plan: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = write_live(plan, 10)
    waited = []

    def grow(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 1:
            live.write_bytes(b"half of a file")
        else:
            write_live(plan, 100)

    monkeypatch.setattr(time, "sleep", grow)
    done = invoke("watch", "--plan", plan, "--log", live, "--follow", "--every", "7", "--quiet")
    assert done.code == 10
    assert done.out == "keep collecting\nnext stage\n"
    assert waited == [7.0, 7.0]
    assert 'content="7"' in (plan / "watch.html").read_text(encoding="utf-8")


def test_a_live_log_may_lie_in_several_files(plan: Path, invoke: Invoke) -> None:
    found = read_plan(plan)
    log = play_design(found.design(found.stages[0]), 100)
    (plan.parent / "days").mkdir()
    days = [plan.parent / "days" / f"{day}.parquet" for day in range(2)]
    for day, part in zip(days, (range(40), range(40, 100)), strict=True):
        write_log(log.select(part), day)
    told = []
    for given in ([days[1], days[0]], [plan.parent / "days"], [write_live(plan)]):
        logs = [word for one in given for word in ("--log", one)]
        done = invoke("watch", "--plan", plan, *logs, "--json")
        assert done.code == 10, done.lines
        told.append(json.loads(done.out)["gain"])
    assert told[0] == told[1] == told[2]
    twice = invoke("watch", "--plan", plan, "--log", days[0], "--log", days[0])
    assert (twice.code, len(twice.lines)) == (2, 1)
    assert twice.lines[0].endswith("is given twice; give every live log once")


def test_following_waits_for_the_first_whole_episode(
    plan: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = plan.parent / "live.csv"
    whole = plan.parent / "whole.csv"
    found = read_plan(plan)
    write_log(play_design(found.design(found.stages[0]), 100), whole)
    _, head, *rows = whole.read_text().splitlines(keepends=True)
    # Nothing, the names of the columns, half of an episode, everything.
    contents = iter(["", head, head, head, head, head + "".join(rows[:7]), "".join([head, *rows])])
    live.write_text(next(contents))
    monkeypatch.setattr(time, "sleep", lambda seconds: live.write_text(next(contents)))
    done = invoke("watch", "--plan", plan, "--log", live, "--follow", "--quiet")
    assert (done.code, done.out) == (10, "next stage\n"), done.lines
    live.write_text(head)
    empty = invoke("watch", "--plan", plan, "--log", live)
    assert (empty.code, len(empty.lines)) == (2, 1)
    assert "the log is empty" in empty.lines[0]


def refuse(done: Any, words: str) -> None:
    assert done.code == 2, done.out
    assert len(done.lines) == 1, done.lines
    assert words in done.lines[0]


def test_a_plan_that_was_changed_is_refused(plan: Path, invoke: Invoke) -> None:
    live, file = write_live(plan, 10), plan / "plan.json"
    watch = ("watch", "--plan", plan, "--log", live)
    assert invoke(*watch).code == 0
    written = json.loads(file.read_text())

    def change(**changes: Any) -> None:
        stage = written["stages"][0] | changes
        file.write_text(json.dumps(written | {"stages": [stage, *written["stages"][1:]]}))

    change(share=0.4)
    refuse(invoke(*watch), "stage 1: share = 0.4, but 1 of 2 units are new; it was changed by hand")
    change(break_even=0.0)
    refuse(invoke(*watch), "stage 1: break_even = 0, by its costs it is 0.48")
    # Consistent, but not what the first look was by: errors add up over looks.
    file.write_text(json.dumps(written | {"risk": 0.3}))
    refuse(invoke(*watch), "looks.jsonl: look 1 was by another plan than this one")
    assert invoke(*watch, "--out", plan.parent / "anew").code == 0
    file.write_text(json.dumps(written))
    assert invoke(*watch).code == 0
    (plan / "looks.jsonl").write_text("{half\n")
    refuse(invoke(*watch), "looks.jsonl, line 1: is no look")


def test_policies_of_another_advice_are_refused(advice: Path, invoke: Invoke) -> None:
    old, out = advice.parent / "old.safetensors", advice.parent / "plan"
    digests = {"sha256": fingerprint(make_policy(OLD)), "uncertainty": 0.0}
    record = make_record(policy=digests, new_policy={"sha256": fingerprint(make_policy(BEST))})
    (advice / "decision.json").write_text(json.dumps(record.as_json()))
    given = ("plan", advice, "--policy", old, "--out", out, "--quiet")
    assert invoke(*given).code == 0
    write_policy(make_policy(WORSE), old)
    refuse(invoke(*given), "old.safetensors: is not the old policy of this advice")
    write_policy(make_policy(OLD), old)
    write_policy(make_policy(WORSE), advice / "policy" / "new.safetensors")
    refuse(invoke(*given), "new.safetensors: is not the new policy of this advice")


def test_a_reward_that_is_no_number_is_named(plan: Path, invoke: Invoke) -> None:
    live, found = plan.parent / "live.csv", read_plan(plan)
    write_log(play_design(found.design(found.stages[0]), 10), live)
    _, head, *rows = live.read_text().splitlines()
    place = head.replace(chr(34), "").split(",").index("reward")
    broken = rows[30].split(",")
    broken[place] = "nan"
    live.write_text("\n".join([head, *rows[:30], ",".join(broken), *rows[31:]]) + "\n")
    refuse(invoke("watch", "--plan", plan, "--log", live), "reward")


def test_what_is_wrong_is_said_in_one_line(plan: Path, advice: Path, invoke: Invoke) -> None:
    live = write_live(plan, 10)
    for arguments, words in (
        (("plan", advice, "--stages", "a,b"), "give shares with commas between"),
        (("plan", advice, "--unit", "car"), "give episode, block or site"),
        (("plan", advice, "--unit", "site"), "--sites 2 or more"),
        (("plan", advice, "--least", "0"), "give both"),
        (("plan", advice, "--region", "states 1"), "partial switches need --log"),
        (("plan", advice, "--live", live), "--live and --plan: give both"),
        (("plan", advice, "--log", live), "need --policy and --cost"),
        (("plan", plan), "decision.json: cannot be read"),
        (("watch", "--plan", advice, "--log", live), "plan.json: cannot be read"),
        (("watch", "--plan", advice / "decision.json", "--log", live), "is no plan"),
        (("watch", "--plan", plan, "--log", live, "--stage", "9"), "has stages 1 to 2"),
        (("watch", "--plan", plan, "--log", plan / "none.csv"), "none.csv"),
    ):
        done = invoke(*arguments)
        assert done.code == 2, arguments
        assert len(done.lines) == 1, done.lines
        assert words in done.lines[0]
    write_policy(make_policy(WORSE), plan / "policy" / "new.safetensors")
    done = invoke("watch", "--plan", plan, "--log", live)
    assert done.code == 2
    assert "is not the policy that was planned with" in done.lines[0]


COST = """\
kind = "transport"
learning_weight = 0.1
transaction_weight = 0.0
[groups]
kind = "halves"
"""


def test_a_live_log_joins_the_old_one_for_a_new_advice(
    plan: Path, invoke: Invoke, tmp_path: Path
) -> None:
    live, old = write_live(plan, 40), tmp_path / "old.parquet"
    write_log(play(np.zeros(60, bool), seed=105), old)
    second, found = tmp_path / "second.parquet", read_plan(plan)
    write_log(play_design(found.design(found.stages[1]), 10, seed=107), second)
    cost, out = tmp_path / "cost.toml", tmp_path / "advice-2"
    cost.write_text(COST)
    arguments = ("advise", "--log", old, "--cost", cost, "--discount", "0.8")
    stages = ("--live", live, "--live", second, "--plan", plan)
    done = invoke(*arguments, *stages, "--out", out, "--json")
    assert done.code == 0, done.lines
    record = json.loads(done.out)
    assert record["verdict"] == "switch"
    # The old policy is the plan's, the new one competes, and the look is counted.
    assert [one["episodes"] for one in record["log"]["acting"]] == [80, 30]
    assert record["policy"]["uncertainty"] == 0
    # The learned one does better on the learning part, so that "best" need not be tested.
    assert {one["name"] for one in record["candidates"]} <= {"best", "planner", "planner-bold"}
    assert record["look"] == 4
    for wrong, words in (
        (("--live", live), "--live and --plan: give both"),
        ((*stages, "--seed", "4"), "was divided with seed 0"),
        ((*stages, "--stage", "7"), "--stage: given 1 times, but --live 2 times"),
        ((*stages, "--stage", "1", "--stage", "7"), "has stages 1 to 2"),
        ((*stages, "--stage", "1", "--stage", "1"), "unit 0 has 2 episodes"),
    ):
        refuse(invoke(*arguments, *wrong), words)
    # The advice about both logs can be planned like any other, with parts of the switch or without.
    again = ("plan", out, "--policy", tmp_path / "old.safetensors", "--json")
    plain = json.loads(invoke(*again).out)
    assert plain["old_returns"]["episodes"] == 80
    whole = invoke(*again, "--log", old, "--cost", cost, *stages)
    assert whole.code == 0, whole.lines
    assert [one["share"] for one in json.loads(whole.out)["curve"]][-1] == 1.0
    refuse(invoke(*again, "--log", old, "--cost", cost), "as --log and --live, with their --plan")


def test_parts_of_a_switch_are_written_like_any_policy(
    advice: Path, invoke: Invoke, tmp_path: Path
) -> None:
    log, cost, out = tmp_path / "log.parquet", tmp_path / "cost.toml", tmp_path / "plan"
    write_log(play(np.zeros(60, bool), seed=105), log)
    cost.write_text(COST)
    (advice / "decision.json").write_text(json.dumps(make_record(cost_model={}).as_json()))
    old = ("--policy", tmp_path / "old.safetensors")
    given = ("plan", advice, "--log", log, *old, "--cost", cost)
    done = invoke(*given, "--region", "states 1", "--region", "known", "--out", out, "--json")
    assert done.code == 0, done.lines
    document = json.loads(done.out)
    files = {point["name"]: point["file"] for point in document["curve"]}
    part = read_policy(out / files["where states 1"])
    assert isinstance(part, TabularPolicy)
    np.testing.assert_allclose(part.table, np.stack([OLD[0], BEST[1]]), atol=1e-6)
    assert files["where the log knows the state"] is not None
    proven = [point for point in document["curve"] if point["proven"] and point["share"] < 1]
    assert proven
    assert all((out / point["file"]).is_file() for point in proven)
    assert (out / "parts" / "predict.py").is_file()
    assert document["value"]["worlds"] == "tabular"
    assert "worlds that tabular fitted to the log" in (out / "plan.html").read_text("utf-8")
    refused = invoke(*given, "--region", "cluster 1 of 2")
    assert refused.code == 2
    assert "clusters are of vectors" in refused.lines[0]


@pytest.mark.parametrize("columns", [80, 120])
def test_a_watch_fits_into_a_terminal(plan: Path, columns: int) -> None:
    """Through a pseudo-terminal: no line is longer than it is wide, the exit code is the same."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (40, columns))
    given = ["--plan", str(plan), "--log", str(write_live(plan))]
    command = [sys.executable, "-m", "nacre", "watch", *given]
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=theirs)  # noqa: S603
    os.close(theirs)
    shown = b"".join(read_until_closed(ours))
    assert process.wait(timeout=60) == 10
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode("utf-8")).splitlines()
    assert "NEXT STAGE" in lines
    *told, page = (line for line in lines if line)
    assert page == f"the page: {plan / 'watch.html'}"
    assert max(map(len, told)) <= columns


def read_until_closed(descriptor: int) -> Iterator[bytes]:
    """What is written at the other side of a pseudo-terminal."""
    with contextlib.suppress(OSError), os.fdopen(descriptor, "rb", 0) as file:
        while part := file.read(65536):
            yield part
