"""Attacks: whole advices on logs that should mislead, the answer given, and the truth.

A record is an attack and a seed; docs/attacks.md shows the tables. A wrong switch is the answer
`switch` where the truth is no gain after the cost.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nacre.advice.config import suggest_config
from nacre.advice.pipeline import advise
from nacre.advice.result import Advice
from nacre.diagnostics.log_checks import LogCheckConfig
from nacre.errors import InputError
from nacre.experiments.attack_cases import (
    behaviour,
    drift,
    edges,
    hidden,
    repeats,
    unseen,
    vectors,
)
from nacre.experiments.attack_cases.situation import Attack, Situation
from nacre.experiments.records import Record

MODULES = (drift, repeats, behaviour, unseen, hidden, edges, vectors)
ATTACKS: dict[str, Attack] = {
    attack.name: attack for module in MODULES for attack in module.ATTACKS
}
"""All attacks by name."""
REFUSED = "refused"
"""Verdict of an advice that did not accept its input."""
VERDICTS = ("switch", "keep", "undecided", REFUSED)


def list_runs(seeds: Sequence[int]) -> list[dict[str, Any]]:
    """What each record is about."""
    return [{"attack": name, "seed": seed} for seed in seeds for name in ATTACKS]


def run_one(run: dict[str, Any], cache: Path, old_policies: Path) -> Record:
    """Build an attack, ask for advice, and compare the answer with the truth."""
    attack = ATTACKS[run["attack"]]
    began = time.perf_counter()
    situation = attack.build(run["seed"])
    about = {
        **run,
        "kind": attack.kind,
        "what": attack.what,
        "hidden": attack.hidden,
        "same_as": attack.same_as,
        "rows": len(situation.log),
        "episodes": situation.log.n_episodes,
    }
    try:
        answer = describe(situation, ask(situation, run["seed"]))
    except InputError as error:
        answer = {"verdict": REFUSED, "reason": str(error), "wrong_switch": False}
    return {
        **about,
        **answer,
        "seconds": round(time.perf_counter() - began, 1),
    }


def ask(situation: Situation, seed: int) -> Advice:
    """Ask for advice as a user would."""
    config = suggest_config(situation.log, situation.discount)
    if not situation.learns:
        config = dataclasses.replace(config, learners=())
    return advise(
        situation.log,
        situation.old_policy,
        situation.cost,
        config=dataclasses.replace(config, checks=LogCheckConfig(epsilon=situation.epsilon)),
        candidates=situation.candidates,
        seed=seed,
    )


def describe(situation: Situation, advice: Advice) -> Record:
    """What was said, and the truth of the candidate that it is about."""
    said = advice.record
    truth = situation.find_truth(advice.new_policy)
    cost = situation.cost.evaluate(situation.old_policy, advice.new_policy, situation.log)
    net_gain = truth.gain - float(cost.total)
    return {
        "verdict": advice.verdict,
        "reason": said.reason,
        "remedy": said.remedy,
        "forbidden": said.forbidden,
        "problems": list(said.log_checks["problems"]),
        "chosen": said.chosen,
        "basis": list(said.basis),
        "net_gain": said.net_gain.model_dump(mode="json"),
        "true_net_gain": net_gain,
        "standard_error": truth.standard_error,
        "wrong_switch": advice.verdict == "switch" and net_gain <= situation.tolerance,
        "confounding": dict(said.confounding),
    }


def write_table(records: Sequence[Record]) -> str:
    """A line for each attack: what was done, the answers, the truth, the sentence."""
    rows = [
        "| attack | what was done to the log | answer | true net gain | wrong switch | sentence |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name in ATTACKS:
        same = [record for record in records if record["attack"] == name]
        if same:
            cells = (
                name.replace("_", " "),
                same[0]["what"],
                _count_verdicts(same),
                _show_truth(same),
                _show_wrong(same),
                _quote(same) + _find_change(same, records),
            )
            rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def write_summary(records: Sequence[Record]) -> str:
    """How often each answer was given, by what the attacks aim at."""
    rows = [
        f"| aim | advices | {' | '.join(VERDICTS)} | wrong switches |",
        f"| --- | --- |{' --- |' * (len(VERDICTS) + 1)}",
    ]
    kinds = list(dict.fromkeys(attack.kind for attack in ATTACKS.values()))
    for kind in kinds:
        same = [record for record in records if record["kind"] == kind]
        if same:
            rows.append(_summarise(kind, same))
    for title, hidden_ones in (("in", False), ("not in", True)):
        same = [record for record in records if record["hidden"] == hidden_ones]
        if records:
            rows.append(_summarise(f"*the cause is {title} the log*", same))
    return "\n".join(rows)


def _summarise(title: str, records: Sequence[Record]) -> str:
    counts = Counter(record["verdict"] for record in records)
    wrong = sum(record["wrong_switch"] for record in records)
    cells = [title, len(records), *(counts[verdict] for verdict in VERDICTS), wrong]
    return f"| {' | '.join(map(str, cells))} |"


def _count_verdicts(records: Sequence[Record]) -> str:
    counts = Counter(record["verdict"] for record in records)
    if len(records) == 1:
        return f"`{records[0]['verdict']}`"
    return ", ".join(f"`{verdict}` {counts[verdict]}" for verdict in VERDICTS if counts[verdict])


def _show_truth(records: Sequence[Record]) -> str:
    """The true net gain, or its range over seeds."""
    gains = [one for record in records if (one := record.get("true_net_gain")) is not None]
    if not gains:
        return "–"
    low, high = (f"{gain:.3g}" for gain in (min(gains), max(gains)))
    return low if low == high else f"{low} to {high}"


def _show_wrong(records: Sequence[Record]) -> str:
    wrong = sum(record["wrong_switch"] for record in records)
    return f"{wrong} of {len(records)}" if len(records) > 1 else ("**yes**" if wrong else "no")


def _quote(records: Sequence[Record]) -> str:
    """The sentence of a wrong switch if there is one, and what hidden confounding would turn it."""
    record = next((one for one in records if one["wrong_switch"]), records[0])
    sentence = str(record["reason"]).replace("|", "/").replace("\n", "; ")
    factor = record.get("confounding", {}).get("factor")
    if factor is not None and math.isfinite(factor):
        sentence += f"; a hidden variable with a factor of {factor:.2f} could turn it"
    return sentence


def _find_change(records: Sequence[Record], others: Sequence[Record]) -> str:
    """Whether the answer differs from that of the attack whose answer it has to repeat."""
    answers = {(one["attack"], one["seed"]): one["verdict"] for one in others}
    for record in records:
        base = record["same_as"]
        if base and answers.get((base, record["seed"]), record["verdict"]) != record["verdict"]:
            return f"; **not the answer to {base.replace('_', ' ')}**"
    return ""
