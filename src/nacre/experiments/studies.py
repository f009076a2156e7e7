"""Studies whose tables and pictures the docs show: `python -m nacre.experiments.studies NAME`.

A study is a list of runs, each a line of its file. A study that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nacre.errors import InputError
from nacre.experiments import (
    attacks,
    bandit_study,
    bundled_study,
    learner_study,
    partial_study,
    risk_study,
    robot_study,
    rollout_study,
    simulated_study,
    undecided_study,
)
from nacre.experiments.old_policies import SHIPPED
from nacre.experiments.records import CACHE, Record, append_line, read_lines
from nacre.experiments.run import parse_seeds
from nacre.parallel.memory import let_programs_go
from nacre.versions import find_commit, find_versions

FOLDER = "studies"


@dataclass(frozen=True)
class Study:
    """What a study runs, and what its records look like.

    Args:
        name: Of the study, its file and its picture.
        list_runs: What each record is about, for these seeds.
        run_one: Makes one record: run, folder of the cache, folder of the old policies.
        tables: Writers of Markdown, by the names that pages call them.
        draw: Draws its picture, if it has one.
    """

    name: str
    list_runs: Callable[[Sequence[int]], list[dict[str, Any]]]
    run_one: Callable[[dict[str, Any], Path, Path], Record]
    tables: Mapping[str, Callable[[Sequence[Record]], str]]
    draw: Callable[[Sequence[Record], Path], None] | None = None

    def find_file(self, out: Path) -> Path:
        """Where its records lie below the folder of results."""
        return out / FOLDER / f"{self.name}.jsonl"


STUDIES = {
    study.name: study
    for study in (
        Study(
            "learner",
            learner_study.list_runs,
            learner_study.run_one,
            {"learner": learner_study.write_table, "averaging": learner_study.write_long_table},
            learner_study.draw,
        ),
        Study(
            "bundled",
            bundled_study.list_runs,
            bundled_study.run_one,
            {"bundled": bundled_study.write_table},
        ),
        Study(
            "robots",
            robot_study.list_runs,
            robot_study.run_one,
            {"robots": robot_study.write_table},
        ),
        Study(
            "bandits",
            bandit_study.list_runs,
            bandit_study.run_one,
            {"bandits": bandit_study.write_table},
        ),
        Study(
            "attacks",
            attacks.list_runs,
            attacks.run_one,
            {"attacks": attacks.write_table, "attacks-summary": attacks.write_summary},
        ),
        Study(
            "partial",
            partial_study.list_runs,
            partial_study.run_one,
            {"partial": partial_study.write_table},
        ),
        Study(
            "undecided",
            undecided_study.list_runs,
            undecided_study.run_one,
            {"undecided": undecided_study.write_table},
        ),
        Study("risk", risk_study.list_runs, risk_study.run_one, {"risk": risk_study.write_table}),
        Study(
            "simulated",
            simulated_study.list_runs,
            simulated_study.run_one,
            {"simulated": simulated_study.write_table},
        ),
        Study(
            "rollout",
            rollout_study.list_runs,
            rollout_study.run_one,
            {
                "rollout-errors": rollout_study.write_errors,
                "rollout-power": rollout_study.write_power,
            },
        ),
    )
}


def run_study(
    study: Study,
    seeds: Sequence[int],
    out: Path,
    old_policies: Path,
    only: Mapping[str, str] | None = None,
) -> list[Record]:
    """Run what is not there yet; each record is kept as soon as it is made.

    A record says which commit made it, with which versions of what it depends on.

    Args:
        study: The study.
        seeds: Seeds.
        out: Folder of results.
        old_policies: Folder of the old policies that are files.
        only: Leave out runs that differ in these fields.

    Returns:
        The records that were made.
    """
    runs = study.list_runs(seeds)
    for field, value in (only or {}).items():
        runs = [run for run in runs if str(run.get(field)) == value]
        if not runs:
            raise InputError(f"--only {field}={value}: study {study.name} has no such run")
    file, made = study.find_file(out), []
    there = read_lines(file)
    for run in runs:
        if any(run.items() <= record.items() for record in map(_without_nested, there)):
            continue
        record = study.run_one(run, out / CACHE / FOLDER / study.name, old_policies)
        made.append(record | {"versions": find_versions(), "commit": find_commit()})
        append_line(file, made[-1])
        let_programs_go()
    return made


def _without_nested(record: Record) -> dict[str, Any]:
    """The plain fields of a record, among them all that say what it is about."""
    return {name: value for name, value in record.items() if not isinstance(value, (dict, list))}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a study, or print its tables with --table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--seeds", type=parse_seeds, default=(100,), help="such as 100-103")
    parser.add_argument("--only", action="append", default=[], metavar="FIELD=VALUE")
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--old-policies", type=Path, default=SHIPPED)
    parser.add_argument("--table", action="store_true", help="run nothing, print the tables")
    options = parser.parse_args(arguments)
    study = STUDIES[options.study]
    if options.table:
        records = read_lines(study.find_file(options.out))
        print("\n\n".join(write(records) for write in study.tables.values()))
        return
    only = dict(choice.split("=", 1) for choice in options.only)
    made = run_study(study, options.seeds, options.out, options.old_policies, only)
    print(f"{len(made)} records made; all in {study.find_file(options.out)}")


if __name__ == "__main__":
    main()
