"""What the critics stored with the published policies say of them, beside the simulated truth.

    python scripts/measure_stored_critics.py FOLDER_OF_PUBLISHED_POLICIES

writes `results/studies/stored_critics.json`, from which docs/deviations.md has its table. The
simulated values and the fitted ones are those of the records of the configuration `paper`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import jax
import numpy as np

from nacre.experiments.old_policies import Source
from nacre.experiments.summary import summarise
from nacre.experiments.tables import RANDOM, TABLES, Row
from nacre.files.commit import write_whole
from nacre.simulators.registry import find_world
from nacre.training.fitted_evaluation import as_rows, read_values
from nacre.versions import find_commit

RESULTS = Path("results")
TARGET = RESULTS / "studies" / "stored_critics.json"


def measure(row: Row, source: Source) -> dict[str, Any]:
    """Minimum of both critics at the nominal start, averaged over the policy's actions."""
    world = find_world(row.world)
    policy = source.make_policy(row, world, 0)
    critics = source.read_critics(row, policy.signature)
    assert critics is not None  # noqa: S101 - the row is not random
    assert world.start is not None  # noqa: S101 - all worlds of the tables have a nominal start
    start = as_rows(np.asarray(world.start), policy.signature)
    value, _ = read_values(row.paper.learner.evaluation, critics, policy, start, jax.random.key(0))
    found = next(
        summary
        for summary in summarise(row.table, RESULTS)
        if summary.row == row and summary.config == "paper"
    )
    return {
        "policy": row.old_policy,
        "stored": round(float(value), 1),
        "fitted": round(found.old_value["fitted"] or 0.0, 1),
        "simulated": round(found.old_value["true"] or 0.0, 1),
    }


def main() -> None:
    """Measure all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    source = Source(parser.parse_args().folder)
    rows = {
        row.old_policy: row
        for table in ("sumo", "gymnasium")
        for row in TABLES[table]
        if row.old_policy != RANDOM
    }
    source.check(rows.values(), with_critics=True)
    lines = [measure(row, source) for row in rows.values()]
    document = {"commit": find_commit(), "critics": lines}
    write_whole(TARGET, (json.dumps(document, indent=1) + "\n").encode())
    print(f"written: {TARGET}")


if __name__ == "__main__":
    main()
