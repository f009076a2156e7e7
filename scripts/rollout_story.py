"""The way of one roll-out on SUMO: `python scripts/rollout_story.py OUT`.

A log of a middling controller → advice → a plan with switchback blocks → three live simulations:
with the new controller, with a broken one in its place, and with other traffic. `nacre watch` looks
at each. Every phase leaves its files in OUT and is not done again: a story that was stopped goes on
where it was. What is printed also goes to OUT/story.txt; `docs/rollout_traffic.md` shows the one
in `results/rollout`. With --docs that page is filled and its pictures are taken.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from nacre import examples
from nacre.advice.config import AdviceConfig
from nacre.advice.pipeline import advise
from nacre.cli.demo import DISCOUNT, demo_config
from nacre.cli.rollout import describe_look, describe_plan, load_policies, record_look, save_plan
from nacre.logs import Log, read_log, write_log
from nacre.policies import Controller, Policy, write_policy
from nacre.report import read_decision, read_evidence
from nacre.report.rollout_pages import format_watch
from nacre.rollout.plan_record import Plan, read_plan
from nacre.rollout.planning import PlanOptions, make_plan
from nacre.rollout.watching import look_at
from nacre.simulators.registry import NETWORK_SUFFIX, TRAFFIC
from nacre.simulators.traffic import EPISODE_LENGTH, ROUTES, TrafficSimulator

BLOCK, GAP = 2, 1
N_BLOCKS = 60
HEAVIER = ("0.5", "0.65")
"""Probability of a vehicle from the west in each second: as in the log, and in the drift."""
CHROMIUM = "/usr/bin/chromium"
PLACE = re.compile(r"(<!-- story: (\w+) -->\n).*?(<!-- end -->)", re.S)
Choose = Callable[[np.ndarray], int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--blocks", type=int, default=N_BLOCKS)
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--docs", type=Path, help="folder of the docs: page and pictures")
    options = parser.parse_args()
    out: Path = options.out
    find_advice(out, options.seed)
    plan = find_plan(out, options.seed)
    told = describe_plan(plan)
    stories = {
        "true": (TRAFFIC, None),
        "broken": (TRAFFIC, stuck),
        "drift": (str(change_traffic(out / "network")), None),
    }
    for name, (network, replaced) in stories.items():
        log = find_live_log(out, name, plan, network, replaced, options.blocks)
        told += ["", f"--- {name}", *watch(out, name, plan, log)]
    text = "\n".join(told) + "\n"
    (out / "story.txt").write_text(text, encoding="utf-8")
    print(text)
    if options.docs is not None:
        photograph(out, options.docs / "pictures")
        fill_page(options.docs / "rollout_traffic.md", text)


def find_advice(out: Path, seed: int) -> None:
    """Advice on the bundled log, by the demonstration's learners."""
    example = examples.load_traffic()
    if not (out / "old.safetensors").exists():
        out.mkdir(parents=True, exist_ok=True)
        write_policy(example.old_policy, out / "old.safetensors")
    if (out / "advice" / "decision.json").exists():
        return
    config: AdviceConfig = dataclasses.replace(demo_config(example), discount=DISCOUNT)
    found = advise(example.log, example.old_policy, example.cost, config=config, seed=seed)
    found.save(out / "advice")


def find_plan(out: Path, seed: int) -> Plan:
    """Blocks of two hours, of which the first is not counted; half of them new."""
    folder = out / "plan"
    if not (folder / "plan.json").exists():
        options = PlanOptions(
            shares=(0.5, 1.0), unit="block", episodes_per_unit=BLOCK, gap=GAP, seed=seed
        )
        record, evidence = read_decision(out / "advice"), read_evidence(out / "advice")
        plan = make_plan(record, evidence.returns, options)
        new = out / "advice" / "policy" / "new.safetensors"
        save_plan(plan, folder, new, out / "old.safetensors")
    return read_plan(folder)


def find_live_log(
    out: Path, name: str, plan: Plan, network: str, replaced: Choose | None, n_blocks: int
) -> Log:
    """The episodes of the first stage, as the plan assigns them."""
    file = out / f"live-{name}.parquet"
    if not file.exists():
        policies = load_policies(plan, out / "plan", {})
        old, new = policies["old"], policies["new"]
        if old is None or new is None:
            raise SystemExit("the plan has no policies; delete its folder")
        choices = (act(old), replaced or act(new))
        arms = np.repeat(plan.design(plan.stages[0]).draw(n_blocks), BLOCK)
        write_log(drive(network, choices, arms, new), file)
    return read_log(file)


def act(policy: Policy) -> Choose:
    """Draws of a policy's actions, one state at a time."""
    controller = Controller(policy, seed=7)
    return lambda observation: int(controller.predict(observation)[0])


def stuck(observation: np.ndarray) -> int:
    """A broken controller: it never leaves its first phase."""
    return 0


def drive(network: str, choices: tuple[Choose, Choose], arms: np.ndarray, policy: Policy) -> Log:
    """One episode for each arm, from empty roads."""
    simulator = TrafficSimulator(network)
    rows: dict[str, list[Any]] = {name: [] for name in ("o", "a", "r", "n")}
    try:
        for episode, new in enumerate(arms):
            observation = simulator.reset(5000 + episode)
            for _ in range(EPISODE_LENGTH):
                action = choices[int(new)](observation)
                following, reward, _ = simulator.step(action)
                for name, value in zip(
                    "oarn", (observation, action, reward, following), strict=True
                ):
                    rows[name].append(value)
                observation = following
    finally:
        simulator.close()
    n = len(arms) * EPISODE_LENGTH
    truncated = np.arange(1, n + 1) % EPISODE_LENGTH == 0
    return Log.from_arrays(
        np.asarray(rows["o"]),
        np.asarray(rows["a"]),
        np.asarray(rows["r"]),
        np.zeros(n, bool),
        truncated,
        np.asarray(rows["n"]),
        observation_space=policy.observation_space,
        action_space=policy.action_space,
        columns={
            "unit": np.repeat(np.arange(len(arms)) // BLOCK, EPISODE_LENGTH),
            "arm": np.repeat(arms.astype(np.int64), EPISODE_LENGTH),
        },
    )


def change_traffic(folder: Path) -> Path:
    """The same intersection with more vehicles from the west."""
    found = importlib.util.find_spec("sumo_rl")
    if found is None or found.origin is None:
        raise SystemExit("the story needs SUMO: pip install nacre[sumo]")
    folder.mkdir(parents=True, exist_ok=True)
    nets = Path(found.origin).parent / "nets" / "single-intersection"
    network = folder / f"heavier{NETWORK_SUFFIX}"
    shutil.copyfile(nets / f"single-intersection{NETWORK_SUFFIX}", network)
    routes = re.sub(f'probability="{HEAVIER[0]}"', f'probability="{HEAVIER[1]}"',
                    ROUTES.read_text())  # fmt: skip
    (folder / "heavier.rou.xml").write_text(routes)
    return network


def watch(out: Path, name: str, plan: Plan, log: Log) -> list[str]:
    """Looks after each quarter of the log, each recorded; the last one as a page."""
    policies = load_policies(plan, out / "plan", {})
    folder = out / f"watch-{name}"
    (folder / "looks.jsonl").unlink(missing_ok=True)
    told = []
    for quarter in (1, 2, 3, 4):
        part = log.select(range(quarter * log.n_episodes // 4))
        found = look_at(plan, part, 1, policies, f"live-{name}.parquet")
        document = record_look(found.document, folder, partial(format_watch, plan))
        told.append(f"{part.n_episodes:>4} episodes: {found.verdict}")
        if found.verdict not in ("keep collecting", "go on"):
            break
    return [*told, "", *describe_look(document)]


def fill_page(page: Path, story: str) -> None:
    """Put each part of the story into its place on the page."""
    first, *parts = re.split(r"^--- (\w+)$", story, flags=re.M)
    told = {"plan": first} | dict(zip(parts[::2], parts[1::2], strict=True))

    def fill(place: re.Match[str]) -> str:
        return f"{place[1]}```text\n{told[place[2]].strip(chr(10))}\n```\n{place[3]}"

    text = page.read_text(encoding="utf-8")
    page.write_text(PLACE.sub(fill, text), encoding="utf-8")


def photograph(out: Path, folder: Path) -> None:
    """The page of the plan and those of the last looks, as wide as a page of the docs."""
    from playwright.sync_api import sync_playwright

    pages = {"plan": out / "plan" / "plan.html"} | {
        f"watch-{name}": out / f"watch-{name}" / "watch.html" for name in ("true", "drift")
    }
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name, file in pages.items():
            page = browser.new_page(viewport={"width": 760, "height": 640})
            page.goto(file.resolve().as_uri())
            page.screenshot(path=folder / f"rollout-{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
