"""The timing of whole advices: what is measured, recorded, gone on with, tabulated and drawn."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from nacre.costs import read_cost
from nacre.logs import read_log
from nacre.policies import read_policy

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = """
import pathlib, sys
assert sys.argv[1:3] == ["advise", "--log"], sys.argv
with pathlib.Path({calls!r}).open("a") as calls:
    calls.write("{name} ")
{body}
"""


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("bench_advice")


@pytest.fixture
def timings(bench: ModuleType) -> ModuleType:
    return importlib.import_module("advice_timings")


@pytest.fixture
def page(bench: ModuleType) -> ModuleType:
    return importlib.import_module("record_benchmarks")


def write_program(folder: Path, name: str, body: str) -> Path:
    """A package called nacre that does nothing but this; which one ran is kept in `calls`."""
    package = folder / name / "nacre"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    text = PROGRAM.format(calls=str(folder / "calls"), name=name, body=body)
    (package / "__main__.py").write_text(text)
    return package.parent


def fill_cache(cache: Path, name: str) -> None:
    """Files of a log that the made-up programs never read."""
    (cache / name).mkdir(parents=True)
    for file in ("log.parquet", "old.safetensors", "cost.toml"):
        (cache / name / file).write_text(name)


def run(verdict: str | None, seconds: float) -> dict[str, Any]:
    return {
        "seconds": seconds,
        "cpu_seconds": 2 * seconds,
        "peak_mb": 100 * seconds,
        "verdict": verdict,
    }


def entry(maker: str, rows: int, target: float | None, *rounds: dict[str, Any]) -> dict[str, Any]:
    numbered = [{"round": number, **one} for number, one in enumerate(rounds)]
    facts = {"kind": maker, "maker": maker, "rows": rows, "target_seconds": target}
    return {f"{maker}-{rows}": {**facts, "rounds": numbered}}


@pytest.fixture
def document() -> dict[str, Any]:
    logs = {
        **entry("control", 3000, None, {"now": run("switch", 30.0)}),
        **entry(
            "control",
            1000,
            25.0,
            {"now": run("keep", 10.0), "first": run("switch", 40.0)},
            {"now": run("undecided", 12.0), "first": run("switch", 20.0)},
            {"now": run("keep", 11.0), "first": run(None, 1.0)},
        ),
        **entry("finite", 500, 2.0, {"now": run("keep", 4.0), "first": run("keep", 2.0)}),
        **entry("hopper", 9000, 5.0, {"now": run(None, 1.0), "first": run("keep", 2.0)}),
    }
    figures = {"first_commit": "a" * 40, "logs": logs}
    return {"command": "python scripts/bench_advice.py", "commit": "b" * 40, "figures": figures}


@pytest.mark.slow
def test_a_whole_advice_is_timed_and_not_timed_again(
    bench: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "LOGS", (bench.BenchLog("bandit", "contexts", 300),))
    out, cache = tmp_path / "made" / "advice.json", tmp_path / "cache"
    options = ["--no-old", "--rounds", "1", "--out", str(out), "--cache", str(cache)]
    bench.main(options)
    record = json.loads(out.read_text())
    found = record["figures"]["logs"]["contexts-300"]
    measured = found["rounds"][0]["now"]
    assert set(found["rounds"][0]) == {"round", "now"}
    assert measured["verdict"] in ("switch", "keep", "undecided")
    assert measured["seconds"] > 0
    assert measured["cpu_seconds"] > 0
    assert measured["peak_mb"] > 100
    assert record["commit"].startswith(bench.git("rev-parse", "HEAD"))
    monkeypatch.setattr(bench, "measure", None)
    bench.main(options)
    assert json.loads(out.read_text()) == record


def test_files_of_a_log_are_what_advice_reads(
    bench: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker = importlib.import_module("make_bench_logs")
    monkeypatch.setattr("sys.argv", ["make_bench_logs.py", "bandit", "70", str(tmp_path)])
    maker.main()
    log = read_log(tmp_path / "log.parquet")
    assert (len(log), log.n_episodes) == (70, 70)
    old_policy = read_policy(tmp_path / "old.safetensors")
    assert old_policy.signature.observation_space.shape == (10,)
    assert read_cost(tmp_path / "cost.toml").learning_weight > 0
    assert set(maker.MAKERS) == {one.maker for one in bench.LOGS}


def test_both_versions_take_turns_and_rounds_are_gone_on_with(
    bench: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = [bench.BenchLog("finite", "finite", rows) for rows in (10, 20)]
    monkeypatch.setattr(bench, "LOGS", tuple(logs))
    sources = {
        name: write_program(tmp_path, name, f'print(\'{{"verdict": "{verdict}"}}\')')
        for name, verdict in (("now", "keep"), ("first", "switch"))
    }
    (tmp_path / "src").symlink_to(sources["now"])
    monkeypatch.setattr(bench, "ROOT", tmp_path)
    monkeypatch.setattr(
        bench, "check_out", lambda commit: bench.contextlib.nullcontext(sources["first"])
    )
    cache, out, calls = tmp_path / "cache", tmp_path / "advice.json", tmp_path / "calls"
    for log in logs:
        fill_cache(cache, log.name)
    options = ["--out", str(out), "--cache", str(cache)]
    bench.main([*options, "--rounds", "1", "--no-old", "--largest", "10"])
    assert calls.read_text().split() == ["now"]
    calls.write_text("")
    bench.main([*options, "--rounds", "2"])
    # A round without the first version says nothing about it: both run again.
    assert calls.read_text().split() == ["now", "first"] * 2 + ["first", "now"] * 2
    found = json.loads(out.read_text())["figures"]["logs"]
    assert list(found) == ["finite-10", "finite-20"]
    for one in found.values():
        assert [each["round"] for each in one["rounds"]] == [0, 1]
        assert {each["now"]["verdict"] for each in one["rounds"]} == {"keep"}
        assert {each["first"]["verdict"] for each in one["rounds"]} == {"switch"}
    calls.write_text("")
    (cache / "finite-20" / "cost.toml").write_text("another price")
    bench.main([*options, "--rounds", "1"])
    assert calls.read_text().split() == ["now", "first"]
    monkeypatch.setattr(bench, "find_commit", lambda: "another")
    bench.main([*options, "--rounds", "1", "--largest", "10"])
    record = json.loads(out.read_text())
    assert (record["commit"], list(record["figures"]["logs"])) == ("another", ["finite-10"])


def test_failures_and_processes_that_do_not_end_are_recorded(
    bench: ModuleType, tmp_path: Path
) -> None:
    fill_cache(tmp_path, "log")
    broken = write_program(tmp_path, "broken", "sys.exit(f'{sys.argv[3]}: is not readable')")
    found = bench.measure(broken, tmp_path / "log")
    assert found["verdict"] is None
    assert found["error"] == "exit code 1: log.parquet: is not readable"
    endless = write_program(tmp_path, "endless", "import time; time.sleep(60)")
    found = bench.measure(endless, tmp_path / "log", longest=0.5)
    assert found["error"].startswith("exit code -9")


def test_the_first_version_is_a_commit_of_this_repository(bench: ModuleType) -> None:
    try:
        files = bench.git("ls-tree", "--name-only", f"{bench.FIRST_COMMIT}:src/nacre")
    except bench.subprocess.CalledProcessError:
        pytest.skip("the history is not there")
    assert "advisor.py" in files.split()


def test_the_table_has_medians_ratios_and_targets(
    timings: ModuleType, document: dict[str, Any]
) -> None:
    lines = timings.tabulate(document["figures"]).splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    assert [row[:3] for row in cells] == [
        ["30 states", "500", "2, missed"],
        ["cart-pole", "1,000", "25, met"],
        ["cart-pole", "3,000", "–"],
        ["Hopper", "9,000", "5"],
    ]
    assert cells[1][3:7] == ["11.0", "22.0", "1200", "keep, undecided"]
    # 10/40 and 12/20; the round in which the first version failed has no ratio.
    assert cells[1][7:] == ["30.0", "switch, failed", "0.42", "0.42"]
    assert cells[2][7:] == ["–"] * 4
    assert cells[3][3:] == ["–", "–", "–", "failed", "2.0", "keep", "–", "–"]


def test_the_section_says_what_is_recorded_or_that_nothing_is(
    timings: ModuleType, document: dict[str, Any]
) -> None:
    text = timings.describe(document, "pictures/bench_advice.svg")
    assert timings.tabulate(document["figures"]) in text
    assert "`aaaaaaa`" in text
    assert "(commit `bbbbbbb`)" in text
    changed = {**document, "commit": "c" * 40 + "-dirty"}
    assert "(commit `ccccccc` with changes)" in timings.describe(changed, "picture.svg")
    assert "3 times the rows (1,000 to 3,000) take 2.7 times as long" in text
    assert "(pictures/bench_advice.svg)" in text
    nothing = timings.describe(None, "pictures/bench_advice.svg")
    assert nothing.startswith(text.splitlines()[0])
    assert "Not measured yet" in nothing
    assert "svg" not in nothing


def test_the_figure_is_the_same_for_the_same_record(
    timings: ModuleType, document: dict[str, Any], tmp_path: Path
) -> None:
    for name in ("one.svg", "two.svg"):
        timings.draw(document["figures"], tmp_path / name)
    text = (tmp_path / "one.svg").read_text()
    assert text.startswith("<?xml")
    assert text == (tmp_path / "two.svg").read_text()


def test_the_table_is_printed_from_the_record_alone(
    bench: ModuleType,
    timings: ModuleType,
    document: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "advice.json"
    bench.main(["--table", "--out", str(out)])
    assert capsys.readouterr().out == "nothing is recorded\n"
    out.write_text(json.dumps(document))
    bench.main(["--table", "--out", str(out)])
    assert capsys.readouterr().out == timings.tabulate(document["figures"]) + "\n"


def test_the_page_of_benchmarks_is_that_of_the_records(page: ModuleType) -> None:
    assert page.render_page() == page.PAGE.read_text(encoding="utf-8")
    assert page.is_recorded("advice") == (page.PAGE.parent / page.PICTURE).is_file()


def test_the_page_and_its_figure_are_written_from_a_record(
    page: ModuleType, document: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in page.RESULTS.glob("*.json"):
        (tmp_path / path.name).write_text(path.read_text())
    (tmp_path / "advice.json").write_text(json.dumps(document))
    (tmp_path / "docs" / "pictures").mkdir(parents=True)
    monkeypatch.setattr(page, "RESULTS", tmp_path)
    monkeypatch.setattr(page, "PAGE", tmp_path / "docs" / "bench.md")
    page.write_page()
    text = (tmp_path / "docs" / "bench.md").read_text(encoding="utf-8")
    assert "| cart-pole | 1,000 | 25, met |" in text
    assert (tmp_path / "docs" / page.PICTURE).is_file()
