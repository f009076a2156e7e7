"""Tables of the campaigns of faults, from the records that `scripts/campaigns` leave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from nacre.experiments.listing import format_markdown
from nacre.experiments.records import Record

FOLDER = "faults"


def write_kills(records: Sequence[Record]) -> str:
    """By command: when it was killed, what a reader found, and what came of the next run.

    A run that ended before its moment came was not killed and does not count.
    """
    records = [one for one in records if one.get("killed", True)]
    header = ["command", "at random", "at a call", "found old", "found new", "not clean"]
    rows = []
    for command, kills in _group(records, "command"):
        found = Counter(one["found"] for one in kills)
        rows.append(
            [
                command,
                str(sum("share" in one for one in kills)),
                str(sum("call" in one for one in kills)),
                str(found["old"]),
                str(found["new"]),
                str(sum(not one["clean"] for one in kills)),
            ]
        )
    return _end_with_sum(header, rows)


def write_write_faults(records: Sequence[Record]) -> str:
    """By command: how many calls change a file, and how each fault ended, the last time of each."""
    header = [
        "command",
        "calls",
        "faults",
        "refused, old stays",
        "refused, new is there",
        "done",
        "not clean",
    ]
    rows = []
    last = {(one["command"], one.get("call"), one.get("fault")): one for one in records}
    for command, faults in _group(list(last.values()), "command"):
        ends = Counter(one["outcome"] for one in faults)
        unclean = sum(count for outcome, count in ends.items() if outcome.startswith("not"))
        calls = max((one.get("calls", 0) for one in faults), default=0)
        counts = (
            calls or "",
            len(faults),
            ends["refused"],
            ends["refused, new"],
            ends["done"],
            unclean,
        )
        rows.append([command, *map(str, counts)])
    return _end_with_sum(header, rows)


def write_mutations(records: Sequence[Record]) -> str:
    """By kind of file: how damaged files were read."""
    outcomes = ("refused", "equal", "different", "raised", "several lines", "aborted")
    header = ["kind", "with digest", "files", *outcomes[:3], "anything else"]
    rows = []
    for kind, rounds in _group(records, "kind"):
        counts: Counter[str] = Counter()
        for one in rounds:
            counts.update(one["outcomes"])
        shown = [str(counts[name]) for name in outcomes[:3]]
        rest = str(sum(counts[name] for name in outcomes[3:]))
        digests = "yes" if rounds[0]["digests"] else "no"
        rows.append([kind, digests, str(counts.total()), *shown, rest])
    return _end_with_sum(header, rows)


def write_scales(records: Sequence[Record]) -> str:
    """By verdict: logs in several units of the reward; then the numbers at the edge."""
    logs = [one for one in records if "log" in one]
    edges = [one for one in records if "edge" in one]
    rows = [
        [
            verdict,
            str(len(same)),
            str(sum(not one["same_verdict"] for one in same)),
            f"{max(one['largest_difference'] for one in same):.0e}",
        ]
        for verdict, same in _group(logs, "verdict")
    ]
    header = ["verdict", "logs", "another verdict in another unit", "largest difference of a bound"]
    verdicts = Counter(one["verdict"] for one in edges)
    told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
    unclean = sum(not one["clean"] for one in edges)
    table = format_markdown(header, rows)
    return f"{table}\n\nNumbers at the edge, without a cost: {told}; not clean: {unclean}."


def write_traps(records: Sequence[Record]) -> str:
    """One sentence: how many were refused, and at which price."""
    refused = sum(one["outcome"] == "refused" for one in records)
    seconds = max((one["processor_seconds"] for one in records), default=0.0)
    megabytes = max((one["megabytes"] for one in records), default=0.0)
    return (
        f"{refused} of {len(records)} files were refused. None took more than {seconds:.1f} s of "
        f"the processor or {megabytes:.0f} MB."
    )


def write_mutants(records: Sequence[Record]) -> str:
    """By module: changes of the code, and what tests find of them; the last try counts.

    Earlier records know a change by its line alone: which code that was is not known any more.
    """
    names = ("module", "function", "code", "change", "place")
    last = {tuple(one[name] for name in names): one for one in records if "code" in one}
    rows = [
        [
            module,
            str(len(tried)),
            str(sum(one["outcome"] == "killed" for one in tried)),
            str(sum("equivalent" in one for one in tried)),
        ]
        for module, tried in sorted(_group(list(last.values()), "module"))
    ]
    return _end_with_sum(["module", "changes", "found by a test", "same to rounding"], rows)


def write_fuzzing(records: Sequence[Record]) -> str:
    """By reader: for how long it was fuzzed by the processor's seconds, and what came of it."""
    header = ["reader", "s of the processor", "files", "refused", "read", "anything else"]
    rows = []
    for reader, rounds in _group(records, "reader"):
        counts: Counter[str] = Counter()
        for one in rounds:
            counts.update(one["counts"])
            counts.update(one["again"])
        # What only a clock has counted is none.
        spent = round(sum(one.get("processor_seconds", 0) for one in rounds))
        known = counts["refused"], counts["read"] + counts["read in time"]
        shown = (spent, counts.total(), *known, counts.total() - sum(known))
        rows.append([reader, *map(str, shown)])
    return _end_with_sum(header, rows)


def write_isolation(records: Sequence[Record]) -> str:
    """One sentence: what the last measurement of the other process found."""
    if not records:
        return "There are no records yet."
    last = records[-1]
    ratio, repeats = last["processor"]["ratio"], len(last["runs"]) // 2
    return (
        f"A good log of {last['rows']:,} rows takes {ratio:.2f} times the processor time that it "
        f"takes without the other process (median of {repeats} in turn)."
    )


def write_determinism(records: Sequence[Record]) -> str:
    """By case: how many numbers of the record differ from those of one core."""
    header = ["advice", "numbers", "different", "largest relative difference", "same policy"]
    rows = [
        [
            one["case"],
            str(one["numbers"]),
            str(one["differing"]),
            f"{one['largest_relative_difference']:.0e}",
            "yes" if one["same_policy"] else "no",
        ]
        for one in records
    ]
    return format_markdown(header, rows) if rows else "There are no records yet."


TABLES: dict[str, tuple[Path, Callable[[Sequence[Record]], str]]] = {
    f"faults-{name}": (Path(FOLDER, f"{file}.jsonl"), write)
    for name, file, write in (
        ("kills", "kills", write_kills),
        ("writes", "write_faults", write_write_faults),
        ("mutations", "mutations", write_mutations),
        ("scales", "reward_scale", write_scales),
        ("traps", "traps", write_traps),
        ("mutants", "mutants", write_mutants),
        ("fuzzing", "fuzzing", write_fuzzing),
        ("isolation", "isolation_cost", write_isolation),
        ("determinism", "determinism", write_determinism),
    )
}
"""By the names that pages call them: the file below the folder of results, and its writer."""


def _group(records: Sequence[Record], name: str) -> Iterable[tuple[str, list[Record]]]:
    """Records by a field, in the order in which its values first occur."""
    for value in dict.fromkeys(str(one[name]) for one in records):
        yield value, [one for one in records if str(one[name]) == value]


def _end_with_sum(header: list[str], rows: list[list[str]]) -> str:
    """A table whose last row adds up what can be added up."""
    if not rows:
        return "There are no records yet."
    sums = [
        str(sum(map(int, column))) if all(one.isdecimal() for one in column) else ""
        for column in zip(*rows, strict=True)
    ]
    return format_markdown(header, [*rows, ["all", *sums[1:]]])
