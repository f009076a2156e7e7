"""An intersection from its raw file to a decision: `python scripts/intersection_story.py OUT`.

The raw file is the bundled log of SUMO as a table with names, the reward in euros. The advice is
kept in OUT, and what the page tells goes to OUT/story.txt; `docs/intersection.md` shows the one in
`results/intersection`. With --docs that page is filled; with --told nothing is run.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
from pathlib import Path

import numpy as np

import nacre
from nacre import examples
from nacre.advice.record import DecisionRecord, Interval
from nacre.learners.scale_noise import scale_noise
from nacre.policies import write_policy
from nacre.report import read_decision
from nacre.report.sections.base import build_context
from nacre.report.sections.estimators import list_rows
from nacre.report.sections.verdict import state_remedy, state_verdict
from nacre.report.sentences import state_interval
from nacre.report.terms import state_highest_cost, state_payback, state_scope

NOISE = 1.5
"""Temperature of the proposal: the same preferences, followed less stubbornly."""
DISCOUNT = 0.99
EUROS = 0.25
"""What a decision of five seconds is worth at full speed, compared with standing still."""
LANES = ("north_1", "north_2", "west_1", "west_2")
SEEN = (
    "green_north_south",
    "green_west_east",
    "may_change",
    *(f"density_{lane}" for lane in LANES),
    *(f"queue_{lane}" for lane in LANES),
)
ROADS = ("north-south", "west-east")
MAP = f"""episode = "period"
step = "decision"
observation = {json.dumps(SEEN)}
action = "green"
reward = "benefit"
terminated = false
truncated = "cut"

[labels]
action = {json.dumps(ROADS)}
"""
COST = """kind = "transport"
learning_weight = 4000.0
transaction_weight = 80.0

[groups]
kind = "indices"
sets = [[0], [1]]
names = ["green north-south", "green west-east"]

[value]
unit = "€"
episodes_per_day = 100
horizon_days = 30
"""
PLACE = re.compile(r"(<!-- story: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=0, help="that of the command on the page")
    parser.add_argument("--docs", type=Path, help="folder of the docs: the page is filled")
    parser.add_argument("--told", action="store_true", help="run nothing, fill the page")
    options = parser.parse_args()
    out: Path = options.out
    if not options.told:
        write_inputs(out)
        text = "\n".join(tell(find_advice(out, options.seed), (out / "signals.csv"))) + "\n"
        (out / "story.txt").write_text(text, encoding="utf-8")
    text = (out / "story.txt").read_text(encoding="utf-8")
    print(text)
    if options.docs is not None:
        page = options.docs / "intersection.md"
        page.write_text(fill(page.read_text(encoding="utf-8"), text), encoding="utf-8")


def write_inputs(out: Path) -> None:
    """The raw file, the column map, the cost, and the old controller."""
    example = examples.load_traffic()
    log = example.log
    out.mkdir(parents=True, exist_ok=True)
    with (out / "signals.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["period", "decision", *SEEN, "green", "benefit", "cut"])
        benefits = np.round(EUROS * np.asarray(log.rewards, np.float64), 5)
        for row, episode in enumerate(log.episode_ids):
            seen = [f"{number:.6g}" for number in log.observations[row]]
            step = row - log.offsets[episode]
            green, cut = ROADS[int(log.actions[row])], bool(log.truncated[row])
            rows.writerow([episode, step, *seen, green, benefits[row], cut])
    (out / "map.toml").write_text(MAP, encoding="utf-8")
    (out / "cost.toml").write_text(COST, encoding="utf-8")
    (out / "only.toml").write_text("learners = []\n", encoding="utf-8")
    write_policy(example.old_policy, out / "old.safetensors")
    proposal = scale_noise(example.old_policy, NOISE)
    if proposal is None:
        raise SystemExit("the old controller has no noise to scale")
    write_policy(proposal, out / "proposal.safetensors")


def find_advice(out: Path, seed: int) -> DecisionRecord:
    """Advice on the proposal alone; one that is there is not asked for again."""
    if not (out / "advice" / "decision.json").exists():
        nacre.advise(
            out / "signals.csv",
            out / "old.safetensors",
            out / "cost.toml",
            columns=out / "map.toml",
            candidates=[out / "proposal.safetensors"],
            config=out / "only.toml",
            discount=DISCOUNT,
            seed=seed,
        ).save(out / "advice")
    return read_decision(out / "advice")


def tell(record: DecisionRecord, file: Path) -> list[str]:
    """What the page shows, under headings."""
    lines = file.read_text(encoding="utf-8").splitlines()
    value, cost = record.value, record.cost
    gain = value["gain_per_episode"]
    context = build_context(record)
    sentences = [
        state_verdict(record),
        state_payback(record),
        state_highest_cost(context.line, record),
        state_remedy(record),
        state_scope(record),
    ]
    estimates = [
        f"{row.estimate.estimator:<14}{state_interval(row.interval, context.unit)}"
        if row.counts
        else f"{row.estimate.estimator:<14}says nothing: {row.remark}"
        for row in list_rows(context.chosen, record.interval_level)
    ]
    told = [
        "--- file",
        *lines[:3],
        f"... {len(lines) - 1:,} rows",
        "--- answer",
        *(sentence for sentence in sentences if sentence),
        "--- figures",
        f"gain of one period   {state_interval(Interval.of(**gain), context.unit)}",
        f"cost of the switch   {cost.total:,.0f} € = {cost.learning:,.0f} € learning + "
        f"{cost.transaction:,.0f} € transaction",
        f"decisions that give green to the other road   {cost.flows[0][1] + cost.flows[1][0]:.0%}"
        if cost.flows
        else "",
        "--- estimators",
        *estimates,
        "--- candidates",
        *(
            f"{one.name:<18}{state_interval(one.net_gain, context.unit)}"
            for one in record.candidates
        ),
    ]
    return [line.replace("\u00a0", " ").replace("\u202f", " ") for line in told if line]


def fill(page: str, story: str) -> str:
    """The page with each part of the story in its place."""
    parts = dict(re.findall(r"^--- (\w+)\n(.*?)(?=^--- |\Z)", story, re.DOTALL | re.MULTILINE))
    return PLACE.sub(lambda at: f"{at[1]}```text\n{parts[at[2]].rstrip()}\n```\n{at[3]}", page)


if __name__ == "__main__":
    main()
