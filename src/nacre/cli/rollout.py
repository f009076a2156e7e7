"""What plan and watch print for people, and the files that they leave."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nacre.advice.record import Interval
from nacre.cli.console import format_interval
from nacre.cli.policy_flags import NO_FLAGS, PolicyFlags
from nacre.errors import InputError
from nacre.files.commit import commit_files, settle
from nacre.logs.checks.problems import show_path
from nacre.policies import Policy, fingerprint
from nacre.policies.exploring import add_exploration
from nacre.policies.formats.safetensors import SAFETENSORS
from nacre.report.rollout_pages import PLAN_PAGE, WATCH_PAGE, format_plan
from nacre.rollout.plan_record import FILE_NAME, Plan, PolicyFile

LOOKS_FILE = "looks.jsonl"
ASSIGNMENT = ("unit", "set", "place", "arm")


def describe_plan(plan: Plan) -> list[str]:
    """Lines for people."""
    lines = [
        f"advice      {plan.verdict}, candidate {plan.candidate}",
        f"promised    gain of an episode {format_interval(plan.promised)}, before the cost",
        f"cost        {plan.cost:.4g} for the whole switch",
    ]
    for stage in plan.stages:
        lines.append("")
        lines.append(f"stage {stage.number}     {stage.share:.0%}: {stage.policy}")
        lines.append(
            f"  cost      {stage.step_cost:.4g} to begin; stepping back {stage.step_back_cost:.4g}"
        )
        if stage.episodes is not None:
            lines.append(
                f"  needs     {stage.episodes:,} episodes on average, {stage.episodes_late:,} in "
                f"90 % of cases (a test with one look: {stage.fixed_size_episodes:,})"
            )
        if stage.share < 1:
            lines.append(f"  goes on   above a gain of {stage.break_even:.4g} an episode")
        if stage.loss_budget is not None:
            lines.append(
                f"  may lose  {stage.loss_budget:.4g} until a loss of the promised size is found"
            )
        if stage.note:
            lines.append(f"  note      {stage.note}")
    if plan.value:
        value = plan.value
        lines += [
            "",
            f"in stages   mean net gain {value['staged']:.4g}, worst 5 % "
            f"{value['staged_loss']:.4g}; at once {value['at_once']:.4g}, worst 5 % "
            f"{value['at_once_loss']:.4g}; keep 0 (simulated, by {value['worlds']})",
        ]
    for number, step in enumerate(plan.next_steps):
        price = "unknown" if step.price is None else f"{step.price:.4g}"
        head = "next step" if number == 0 else "or"
        lines += ["", f"{head:<10}  {step.what} (price {price})"]
    return [*lines, *(f"note: {note}" for note in plan.notes)]


def describe_look(look: Mapping[str, Any]) -> list[str]:
    """Lines for people."""
    gain, prices = look["gain"], look["prices"]
    more = look["more_episodes"]
    onward = prices["next_stage"]
    lines = [
        str(look["verdict"]).upper(),
        str(look["reason"]),
        "",
        f"stage       {look['stage']}, {look['share']:.0%} new; {look['episodes']:,} episodes, "
        f"{look['sets']:,} whole sets",
        f"gain        {format_interval(Interval.of(**gain))} an episode; going on pays above "
        f"{look['break_even']:.4g}",
        f"promise     {look['promise']}",
        f"prices      {'no next stage' if onward is None else f'next stage {onward:.4g}'}, step "
        f"back {prices['step_back']:.4g}; paid already {prices['paid']:.4g}",
    ]
    if more is not None:
        lines.append(f"how long    about {more:,} further episodes")
    marks = {"ok": "ok", "failed": "FAILED", "not checked": "-"}
    lines += [f"{marks[check['status']]:<10}  {check['text']}" for check in look["checks"]]
    lines += [
        f"{'BROKEN' if rail['broken'] else 'ok':<10}  guardrail {rail['text']}"
        for rail in look["guardrails"]
    ]
    return [*lines, *(f"note: {note}" for note in look["notes"])]


def save_plan(
    plan: Plan,
    folder: Path,
    new_file: Path | None,
    old_file: Path | None,
    flags: PolicyFlags = NO_FLAGS,
) -> Plan:
    """Write `plan.json`, the policies beside it, and the page.

    What flags say about the old policy is in the file that is written, where it has such a form;
    exploration on top is in the plan.

    Returns:
        The plan with the names of its policies' files.

    Raises:
        InputError: If a policy is not the one of the advice.
    """
    contents: dict[str, bytes] = {}
    named = {}
    for name, source in (("new", new_file), ("old", old_file)):
        entry = PolicyFile()
        if source is not None and source.is_file():
            own = flags if name == "old" else NO_FLAGS
            policy = replace(own, epsilon=0.0).read(source)
            target, content = f"policy/{name}{source.suffix}", source.read_bytes()
            if own != NO_FLAGS:
                with contextlib.suppress(InputError):
                    content = SAFETENSORS.dump(policy, {})
                    target = f"policy/{name}.safetensors"
            add_exploration(policy, own.epsilon)
            entry = PolicyFile(file=target, sha256=fingerprint(policy), epsilon=own.epsilon or None)
            _check_policy(plan, f"{name}_policy" if name == "new" else "policy", source, entry)
            contents[target] = content
        named[f"{name}_policy"] = entry
    plan = plan.model_copy(update=named)
    text = json.dumps(plan.as_json(), indent=2, allow_nan=False) + "\n"
    pages = {FILE_NAME: text.encode(), PLAN_PAGE: format_plan(plan).encode()}
    commit_files(folder, contents | pages)
    return plan


def _check_policy(plan: Plan, name: str, source: Path, entry: PolicyFile) -> None:
    """Raise `InputError` if the advice was about another policy; clones have no file of theirs."""
    known = plan.advice.get(name) or {}
    if known.get("uncertainty") or known.get("sha256") in (None, entry.sha256):
        return
    which = "old" if name == "policy" else "new"
    raise InputError(
        f"{show_path(source)}: is not the {which} policy of this advice; give the file that "
        f"nacre advise {'was given' if which == 'old' else 'wrote'}"
    )


def load_policies(
    plan: Plan, folder: Path, given: Mapping[str, Path | None], flags: PolicyFlags = NO_FLAGS
) -> dict[str, Policy | None]:
    """What should act, by "old" and "new": as given, else as the plan has it.

    Flags are about policies that are given, or that the plan could only copy; exploration and
    statistics about the old one.

    Raises:
        InputError: If a policy of the plan is gone or another one by now.
    """
    found: dict[str, Policy | None] = {}
    for name, entry in (("old", plan.old_policy), ("new", plan.new_policy)):
        source = given.get(name) or (folder / entry.file if entry.file else None)
        if source is None:
            found[name] = None
            continue
        told = flags if name == "old" else flags.for_others
        if given.get(name) is None and source.suffix == ".safetensors":
            # What was said about it is in the file that the plan wrote, but for exploration.
            told = PolicyFlags(told.epsilon)
        policy = replace(told, epsilon=0.0).read(source)
        epsilon = told.epsilon
        if given.get(name) is None:
            epsilon = epsilon or entry.epsilon or 0.0
        if given.get(name) is None and entry.sha256 not in (None, fingerprint(policy)):
            raise InputError(
                f"{show_path(source)}: is not the policy that was planned with; make the plan anew"
            )
        found[name] = add_exploration(policy, epsilon)
    return found


def _check_same_plan(before: bytes, document: Mapping[str, Any], file: Path) -> None:
    """Raise `InputError` if an earlier look was by another plan: errors add up over looks."""
    for number, line in enumerate(before.splitlines(), start=1):
        try:
            known = json.loads(line).get("plan_sha256")
        except (ValueError, AttributeError, RecursionError):
            raise InputError(
                f"{show_path(file)}, line {number}: is no look; restore the file, or give --out "
                "with a new folder"
            ) from None
        if known not in (None, document["plan_sha256"]):
            raise InputError(
                f"{show_path(file)}: look {number} was by another plan than this one; give the "
                "plan that it was by, or --out with a new folder"
            )


def record_look(
    document: dict[str, Any], folder: Path, format_page: Callable[[dict[str, Any]], str]
) -> dict[str, Any]:
    """Add a look to `looks.jsonl`, numbered and dated, and write its page; both or neither.

    The path of its bounds is not in the line.

    Raises:
        InputError: If it cannot be written, or earlier looks were by another plan.
    """
    file = folder / LOOKS_FILE
    settle(folder)
    try:
        before = file.read_bytes() if file.exists() else b""
    except OSError as error:
        raise InputError(
            f"{show_path(file)}: cannot be read ({error.strerror}); give --out"
        ) from None
    # What was not written to its end is left out.
    before = before[: before.rfind(b"\n") + 1]
    _check_same_plan(before, document, file)
    dated = document | {
        "look": before.count(b"\n") + 1,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    kept = {name: value for name, value in dated.items() if name != "path"}
    line = json.dumps(kept, allow_nan=False) + "\n"
    page = format_page(dated).encode()
    commit_files(folder, {LOOKS_FILE: before + line.encode(), WATCH_PAGE: page})
    return dated
