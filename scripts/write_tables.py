"""Write the tables and figures of the studies into the docs, from their records.

A page says where: the lines between `<!-- table: NAME -->` and `<!-- end -->` are replaced.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import calibrate_advice
import shrink_log
import study_learner
import study_panels
import study_proof
import time_decision

from nacre.advice.config import AdviceConfig
from nacre.experiments.records import read_lines, read_record

ROOT = Path(__file__).resolve().parents[1]
PLACE = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


@dataclass(frozen=True)
class Study:
    """Records, what they look like as a table, and as a picture where there is one.

    They are the lines of a file, or all records of a row of the paper's tables in a folder.
    """

    records: str
    write: Callable[[list[dict[str, Any]]], str]
    draw: Callable[[list[dict[str, Any]], Path], None] | None = None
    picture: str = ""


def write_thrift(records: list[dict[str, Any]]) -> str:
    """What the last lesson changed, a line for each seed."""
    lesson = AdviceConfig().thrift
    rows = [
        "| seed | best of the others, expected | last lesson, 95 % interval | true net gain | "
        "verdict |",
        "| --- | --- | --- | --- | --- |",
    ]
    for record in records:
        gains = {one["name"]: one["net_gain"] for one in record["candidates"]}
        last = gains.pop(lesson.name) if lesson is not None else {}
        best, truth = max(gain["mean"] for gain in gains.values()), record["improvement"]
        rows.append(
            f"| {record['seed']} | {best:.2f} | {last['mean']:.2f} "
            f"[{last['low']:.2f}, {last['high']:.2f}] | "
            f"{truth['true']:.2f} ± {truth['standard_error']:.2f} | {record['decision']} |"
        )
    return "\n".join(rows)


STUDIES = {
    "calibration": Study("calibration/finite.jsonl", calibrate_advice.write_table),
    "learner": Study(
        "learner/study.jsonl", study_learner.write_table, study_learner.draw, "learner.svg"
    ),
    "averaging": Study("learner/study.jsonl", study_learner.write_long_table),
    "panels": Study("calibration/panels.jsonl", study_panels.write_table),
    "proof": Study("calibration/proof.jsonl", study_proof.write_table),
    "timing": Study("bench/decision.jsonl", time_decision.write_table),
    "shrinking": Study(
        "calibration/shrinking.jsonl", shrink_log.write_table, shrink_log.draw, "shrinking.svg"
    ),
    "thrift": Study("sumo/default/sumo-cl10-ct1-optimal", write_thrift),
}


def read_study(study: Study, results: Path) -> list[dict[str, Any]]:
    """The records of a study, none where there are none yet."""
    path = results / study.records
    if path.is_dir():
        return [read_record(one) for one in sorted(path.glob("seed-*.json"))]
    return read_lines(path)


def render(text: str, results: Path = ROOT / "results") -> str:
    """A page with its tables as the records say."""

    def fill(found: re.Match[str]) -> str:
        study = STUDIES[found[2]]
        lines = read_study(study, results)
        return f"{found[1]}{study.write(lines)}\n{found[3]}"

    return PLACE.sub(fill, text)


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    docs = ROOT / "docs"
    for page in sorted(docs.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        page.write_text(render(text), encoding="utf-8")
    for study in STUDIES.values():
        lines = read_study(study, ROOT / "results")
        if study.draw is not None and lines:
            study.draw(lines, docs / "pictures" / study.picture)


if __name__ == "__main__":
    main()
