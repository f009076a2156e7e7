"""What weighted episodes prove of the last lesson: by the way they came, and by where they are.

One policy is learned as in the last lesson, at whatever price, and judged as there. It is also
judged by hasty critics, who stop after one epoch and are wrong, to see how far episodes put them
right. One JSON line a log (row, seed), so that it can be stopped and gone on with.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
from nacre.advice.court import Court
from nacre.advice.findings import Incumbent
from nacre.advice.school import School

from nacre.advice.config import AdviceConfig
from nacre.estimators.doubly_robust import SecondOpinion, weigh_episodes
from nacre.experiments.records import read_lines
from nacre.experiments.run import parse_seeds, published_cost
from nacre.experiments.shared import Shared, Truth, share_row
from nacre.experiments.tables import find_row
from nacre.training.fitted_evaluation import Evaluation, as_rows
from nacre.training.progress import Agenda, NoProgress
from nacre.versions import find_commit, find_versions

ROWS = ("sumo-cl10-ct1-optimal",)
TRUTH = Truth(episodes=200, steps=700)


def run(name: str, shared: Shared, steps: int) -> dict[str, Any]:
    """The last lesson, and what everybody says of it before the price."""
    row, old, seed, config = find_row(name), shared.old_policy, shared.seed, AdviceConfig()
    lesson = config.thrift
    if lesson is None:
        raise ValueError("there is no last lesson")
    log, agenda = shared.log(steps), Agenda(NoProgress(), {})
    cost, start = published_cost(row, shared.world), as_rows(shared.start(log), old.signature)
    learn, judge = log.split(config.learning_share, seed=seed)
    court = Court(judge, np.asarray(start), config, seed, agenda)
    school = School(learn, old, cost, np.asarray(start), config, seed, agenda)
    candidate = school.propose(lesson, school.learn(lesson, None), noise=1.0)
    discount = config.learner.discount

    def hear(epochs: int) -> list[Evaluation]:
        judges = dataclasses.replace(config.judges, epochs=epochs)
        return [court.evaluate(one, "judging", judges) for one in (old, candidate.policy)]

    def weigh(judged: list[Evaluation], *, by_state: bool) -> SecondOpinion:
        return weigh_episodes(
            judge,
            old,
            candidate.policy,
            *(one.critics for one in judged),
            discount=discount,
            seed=seed,
            by_state=by_state,
        )

    patient, hasty = hear(config.patience * config.judges.epochs), hear(1)
    doubted = court.doubt(candidate, old, log)
    feared, checked = (
        court.assess(
            candidate,
            patient[1],
            Incumbent(old, patient[0], 0.0, on_policy=True),
            dataclasses.replace(doubted, checked=one),
            cost,
            log,
        ).assessment
        for one in (False, True)
    )
    truths = [shared.truth(one, TRUTH, discount) for one in (old, candidate.policy)]
    return {
        "row": name,
        "seed": seed,
        "steps": steps,
        "cost": checked.cost.total,
        "patient": _describe(
            patient, weigh(patient, by_state=False), weigh(patient, by_state=True)
        ),
        "hasty": _describe(hasty, weigh(hasty, by_state=False), weigh(hasty, by_state=True)),
        # What is proven before the price: the verdict turns there.
        "bound_feared": feared.gain.bound(config.confidence) + feared.gain.cost,
        "bound": checked.gain.bound(config.confidence) + checked.gain.cost,
        "true_gain": truths[1]["mean"] - truths[0]["mean"],
        "true_error": float(np.hypot(*(one["standard_error"] for one in truths))),
        "versions": find_versions(),
        "commit": find_commit(),
    }


def _describe(judged: list[Evaluation], by_way: SecondOpinion, by_state: SecondOpinion) -> Any:
    old, new = (np.asarray(one.per_critic, float) for one in judged)
    return {
        "critics": float(np.mean(new - old)),
        "spread": float(np.std(new - old, ddof=1)),
        "by_way": by_way.as_json(),
        "by_state": by_state.as_json(),
    }


def write_table(lines: list[dict[str, Any]]) -> str:
    """A line for each log."""
    rows = [
        "| row | seed | critics | episodes by their way | episodes by state | hasty critics | "
        "episodes by state, hasty critics | proven | true gain |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for line in sorted(lines, key=lambda one: (one["row"], one["seed"])):
        patient, hasty = line["patient"], line["hasty"]
        rows.append(
            f"| {line['row']} | {line['seed']} | {patient['critics']:.2f} | "
            f"{_write(patient['by_way'])} | {_write(patient['by_state'])} | "
            f"{hasty['critics']:.2f} | {_write(hasty['by_state'])} | {line['bound']:.2f} | "
            f"{line['true_gain']:.2f} ± {line['true_error']:.2f} |"
        )
    return "\n".join(rows)


def _write(opinion: dict[str, Any]) -> str:
    count = f"({opinion['effective_episodes']:.0f})"
    if not opinion["usable"]:
        return f"none {count}"
    return f"{opinion['gain']:.2f} ± {opinion['standard_error']:.2f} {count}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--seeds", default="100-103")
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--cache", type=Path, default=Path("results/.cache/proof"))
    parser.add_argument("--old-policies", type=Path, default=Path("../shared/paper_policies"))
    parser.add_argument("--out", type=Path, default=Path("results/calibration/proof.jsonl"))
    parser.add_argument("--table", action="store_true", help="print the table of what is there")
    options = parser.parse_args()
    lines = read_lines(options.out)
    if options.table:
        print(write_table(lines))
        return
    options.out.parent.mkdir(parents=True, exist_ok=True)
    done = {(line["row"], line["seed"]) for line in lines}
    for name in options.rows.split(","):
        for seed in parse_seeds(options.seeds):
            if (name, seed) in done:
                continue
            shared = share_row(name, seed, options.cache, options.old_policies)
            line = run(name, shared, options.steps)
            print(write_table([line]).splitlines()[-1], flush=True)
            with options.out.open("a") as file:
                file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
