"""Run every benchmark on this machine, keep the figures under results/bench, write docs/bench.md.

`--page-only` writes the page again from the figures that are there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import Any

import advice_timings
from bench_records import RESULTS, ROOT, find_commit, make_document, table

PAGE = ROOT / "docs" / "bench.md"
PICTURE = "pictures/bench_advice.svg"

NACRE = [sys.executable, "-m", "nacre"]
COMMANDS = {
    "threads-1": ["nacre", "bench", "--json", "--threads", "1", "--rounds", "5"],
    "threads-2": ["nacre", "bench", "--json", "--threads", "2", "--rounds", "5"],
    "sampling": ["python", "scripts/bench_sampling.py"],
    "memory": ["python", "scripts/bench_memory.py"],
    "costs": ["python", "scripts/bench_costs.py", "--json"],
    "plans": ["python", "scripts/bench_plans.py", "--json"],
    "reading": ["python", "scripts/bench_reading.py"],
    "messy": ["python", "scripts/bench_reading.py", "--messy"],
    "reading-since": ["python", "scripts/compare_reading.py", "1738884", "--rounds", "7"],
    "collecting": ["python", "scripts/bench_collecting.py"],
    "mapped": ["python", "scripts/bench_mapped.py"],
    "advice": ["python", "scripts/bench_advice.py"],
}


def record(name: str, command: list[str]) -> None:
    """Run one benchmark and keep what it printed."""
    program = {"nacre": NACRE, "python": [sys.executable]}[command[0]]
    print(f"{name}: {' '.join(command)}", file=sys.stderr, flush=True)
    printed = subprocess.run(  # noqa: S603 - our own commands
        [*program, *command[1:]], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    document = make_document(" ".join(command), find_commit(), json.loads(printed))
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(document, indent=2) + "\n")


def is_recorded(name: str) -> bool:
    """Whether a benchmark has been run."""
    return (RESULTS / f"{name}.json").is_file()


def load(name: str) -> dict[str, Any]:
    """One recorded document."""
    document: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return document


def write_page() -> None:
    """docs/bench.md and its figure from the recorded figures."""
    PAGE.write_text(render_page(), encoding="utf-8")
    if is_recorded("advice"):
        advice_timings.draw(load("advice")["figures"], PAGE.parent / PICTURE)


def render_page() -> str:
    """The text of docs/bench.md."""
    sections = (
        describe_speed(),
        describe_advice(),
        describe_sampling(),
        describe_memory(),
        describe_reading(),
        describe_mapped(),
        describe_collecting(),
        describe_costs(),
    )
    one = load("threads-1")
    introduction = f"""# Benchmarks

On one thread learning reaches {one["figures"]["train_fraction_of_limit"]:.0%} and evaluation
{one["figures"]["eval_fraction_of_limit"]:.0%} of the rate of a plain matrix product. The machine
({one["machine"]["processor"]}, jax {one["versions"]["jax"]}) was shared: ratios say more than
rates. `scripts/record_benchmarks.py` measures another one and writes this page from
`results/bench/`.
"""
    return "\n".join((introduction, *sections))


def describe_speed() -> str:
    """Updates and matrix products a second, with one thread and two."""
    one, two = load("threads-1"), load("threads-2")
    speed = table(
        [
            (f"`{name}`", f"{one['figures'][name]:.3g}", f"{two['figures'][name]:.3g}")
            for name in one["figures"]
        ],
        ("", "one thread", "two threads"),
    )
    gains = ", ".join(
        f"{what} {two['figures'][name] / one['figures'][name]:.2f} times"
        for what, name in (
            ("training", "train_updates_per_s"),
            ("evaluation", "eval_updates_per_s"),
        )
    )
    return f"""## Speed

`{one["command"]}` and with two threads: the paper's settings on Hopper's shapes (11 → 3, 2 critics,
256 × 256, batch 256, 1000 action samples, 10 cost states). Fractions are
[useful operations](nac.md#operation-count) over the rate of a plain matrix product.

{speed}

Two threads against one: {gains}.
"""


def describe_advice() -> str:
    """Seconds of whole advices; they take hours to measure and may not be there."""
    document = load("advice") if is_recorded("advice") else None
    return advice_timings.describe(document, PICTURE)


def describe_sampling() -> str:
    """Ordinary against quasi-random action samples."""
    document = load("sampling")
    sampling = document["figures"]
    samples = table(
        [
            (
                f"{sampling[name]['samples']} {word}",
                f"{sampling[name]['gradient_variance']:.3g}",
                f"{sampling[name]['updates_per_s']:.3g}",
            )
            for name, word in (("ordinary", "ordinary"), ("quasi", "quasi-random"))
        ],
        ("action samples", "variance of the gradient", "updates/s"),
    )
    return f"""## Action samples

`{document["command"]}`: the actor's gradient over {sampling["keys"]} keys, and learning in turns.
Variance ratio {sampling["variance_ratio"]:.2f}, speed-up {sampling["speed_up"]:.2f}.

{samples}
"""


def describe_memory() -> str:
    """Peak memory of learning."""
    document = load("memory")
    memory = document["figures"]
    return f"""## Memory

`{document["command"]}`: learning on {memory["rows"]:,} rows of Ant's shape (27 → 8),
{memory["log_mb"]:.0f} MB of arrays, takes up to {memory["peak_rss_mb"]:.0f} MB.
"""


def describe_reading() -> str:
    """Parquet by `read_log` against CSV by pandas."""
    document = load("reading")
    reading = document["figures"]
    read = table(
        [
            (what, f"{reading[f'parquet_{name}']:.3g}", f"{reading[f'csv_pandas_{name}']:.3g}")
            for what, name in (
                ("seconds", "seconds"),
                ("processor seconds", "cpu_seconds"),
                ("peak memory, MB", "peak_mb"),
            )
        ],
        ("", "Parquet, `read_log`", "CSV, pandas"),
    )
    return f"""## Reading logs

`{document["command"]}`: {reading["rows"]:,} rows of Ant's shape from Parquet, all checks included,
are read {reading["times_faster"]:.2f} times faster than by pandas from CSV without any. The peak is
{reading["parquet_peak_over_arrays"]:.2f} times the arrays.

{read}
{describe_messy()}"""


def describe_messy() -> str:
    """A messy table by `read_log` against pyarrow alone."""
    document = load("messy")
    messy = document["figures"]
    kinds = ("arrow", "numbers", "encoded")
    rows = [
        (what, *(f"{messy[kind][name]:.3g}" for kind in kinds))
        for what, name in (("processor seconds", "cpu_seconds"), ("peak memory, MB", "peak_mb"))
    ]
    rows.append(
        (
            "times pyarrow's processor seconds",
            *(f"{messy['times_arrow_cpu'][k]:.2f}" for k in kinds),
        )
    )
    heads = ("", "pyarrow alone", "`read_log`, numbers", "`read_log`, all columns encoded")
    return f"""
`{document["command"]}`: a [messy table](logs.md#messy-tables) of {messy["rows"]:,} rows,
{messy["file_mb"]:.0f} MB of CSV, all checks included. Encoded are texts, times, units and missing
values. The least of two turns.

{table(rows, heads)}
{describe_since()}"""


def describe_since() -> str:
    """The same files by an earlier commit."""
    document = load("reading-since")
    figures = document["figures"]
    rows = [
        (
            f"{what}, {figures[case]['rows']:,} rows",
            *(f"{figures[case][who]['cpu_seconds']:.2f}" for who in ("before", "now")),
            *(f"{figures[case]['ratio'][key]:.2f}" for key in ("cpu_seconds", "peak_mb")),
            f"{figures[case]['ratio_here']['cpu_seconds']:.2f}",
        )
        for case, what in (
            ("parquet", "Parquet of Ant's shape"),
            ("csv", "CSV of Ant's shape"),
            ("labels", "CSV with labels"),
        )
    ]
    heads = (
        "",
        "processor seconds before",
        "now",
        "ratio",
        "ratio of the peaks of memory",
        "ratio in one process",
    )
    return f"""
`{document["command"]}`: by the source of commit `{figures["commit_before"]}` and by this one, in
turns, medians of {figures["rounds"]}. What Parquet takes longer now is safety: a file of ours is
compared with its checksum, and opened in a process of its own. The last column is without that
process (`NACRE_ISOLATION=off`): memory that two processes share costs more to fill than one's own.

{table(rows, heads)}
"""


def describe_mapped() -> str:
    """Training from a log in files against one in memory."""
    document = load("mapped")
    mapped = document["figures"]
    trained = table(
        [
            (
                what,
                f"{mapped[f'mapped_{name}']:.3g}",
                f"{mapped[f'memory_{name}']:.3g}",
                f"{mapped[f'mapped_{name}'] / mapped[f'memory_{name}']:.2f}",
            )
            for what, name in (
                ("learning, updates/s", "learning_updates_per_s"),
                ("learning, updates per processor second", "learning_updates_per_cpu_s"),
                ("evaluation, updates/s", "evaluation_updates_per_s"),
                ("evaluation, updates per processor second", "evaluation_updates_per_cpu_s"),
                ("peak resident memory, MB", "peak_resident_mb"),
            )
        ],
        ("", "mapped", "in memory", "ratio"),
    )
    return f"""## Training from logs larger than memory

`{document["command"]}`: default settings on {mapped["rows"]:,} mapped rows of Ant's shape,
{mapped["array_mb"] / 1000:.1f} GB, against {mapped["rows_in_memory"]:,} in memory, in turns.

{trained}
"""


def describe_collecting() -> str:
    """Steps a second of simulators."""
    document = load("collecting")
    collected = table(
        [
            (
                world,
                f"{speed['steps_per_s']:,.0f}",
                f"{speed['speed_up']:.2f}" if "speed_up" in speed else "–",
            )
            for world, speed in document["figures"].items()
        ],
        ("world", "steps/s of one process", "times one environment alone"),
    )
    return f"""## Collecting logs

`{document["command"]}`

{collected}
"""


def describe_costs() -> str:
    """Costs and plans against other libraries, as they were printed."""
    documents = [load(name) for name in ("costs", "plans")]
    others = "\n\n".join(
        f"`{document['command']}`\n\n```json\n{json.dumps(document['figures'], indent=2)}\n```"
        for document in documents
    )
    return f"""## Costs and plans

{others}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page-only", action="store_true")
    parser.add_argument("--only", nargs="*", choices=list(COMMANDS), default=list(COMMANDS))
    arguments = parser.parse_args()
    if not arguments.page_only:
        for name in arguments.only:
            record(name, COMMANDS[name])
    write_page()


if __name__ == "__main__":
    main()
