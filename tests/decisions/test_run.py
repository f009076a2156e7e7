"""A table of decisions: an answer each, failures apart, gone on with, and an overview."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from nacre.advice.record import read_decision
from nacre.costs.toml import write_cost
from nacre.decisions.overview import dump_overview
from nacre.decisions.run import LINES, PAGE, count_failures, run_decisions
from nacre.decisions.table import read_entries
from nacre.decisions.work import decide, prepare
from nacre.errors import InputError
from nacre.files.manifest import find_changes, read_manifest
from nacre.logs import read_log, write_log
from nacre.policies import write_policy
from tests.support.rooms import BEST, OLD, make_cost, make_policy, sample_rooms

TABLE = """
[defaults]
policy = "old.safetensors"
cost = "cost.toml"
candidates = ["best.safetensors"]
advice_config = "advice.toml"

[[decision]]
name = "whole"
log = "log.parquet"

[[decision]]
name = "in-parts"
log = "parts"

[[decision]]
name = "lost"
log = "nothing.parquet"
"""
ADVICE = """
learners = ["scale_noise"]
discount = 0.8
[[estimators]]
kind = "tabular"
replicates = 100
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("decisions")
    log = sample_rooms()
    write_log(log, folder / "log.parquet")
    (folder / "parts").mkdir()
    for place, (first, last) in enumerate([(0, 11), (11, 12), (12, 30)]):
        write_log(log.select(range(first, last)), folder / "parts" / f"part-{place}.parquet")
    write_policy(make_policy(OLD), folder / "old.safetensors")
    write_policy(make_policy(BEST), folder / "best.safetensors")
    write_cost(make_cost(0.1), folder / "cost.toml")
    (folder / "advice.toml").write_text(ADVICE)
    (folder / "decisions.toml").write_text(TABLE)
    return folder


def test_a_log_in_parts_or_behind_an_address_is_the_same_log(folder: Path) -> None:
    whole = read_log(folder / "log.parquet").fingerprint()
    assert read_log(folder / "parts").fingerprint() == whole
    pytest.importorskip("fsspec")
    assert read_log(f"file://{folder / 'parts'}").fingerprint() == whole
    with pytest.raises(InputError, match=r"nothing: is not there; check the address"):
        read_log(f"file://{folder / 'nothing'}")


def test_all_are_made_but_the_one_that_cannot(folder: Path) -> None:
    out, heard = folder / "out", []
    entries = read_entries(folder / "decisions.toml")
    lines = run_decisions(
        entries, out, "threads", on_line=lambda line, left: heard.append(line["name"])
    )
    assert sorted(heard) == ["in-parts", "lost", "whole"]
    assert [line["verdict"] for line in lines] == ["switch", "switch", "failed"]
    assert count_failures(lines) == 1
    assert "nothing.parquet: is not there" in lines[2]["error"]
    # The same log in one file and in three.
    assert lines[0]["net_gain"] == lines[1]["net_gain"]
    assert lines[0]["q_value"] < lines[0]["q_value_any_dependence"] < lines[2]["q_value"] == 1.0
    assert read_decision(out / "whole").verdict == "switch"
    manifest = read_manifest(out / "whole")
    assert manifest is not None
    assert find_changes(out / "whole", manifest) == []
    assert [json.loads(one) for one in (out / LINES).read_text().splitlines()] == lines
    page = (out / PAGE).read_text()
    assert 'href="whole/report.html"' in page
    assert "2 switch, 1 failed" in page

    # Again: what is there stays, unless something that it follows from has changed.
    before = (out / "whole" / "decision.json").stat().st_mtime_ns
    assert run_decisions(entries, out, "threads") == lines
    assert (out / "whole" / "decision.json").stat().st_mtime_ns == before


def test_a_log_that_changes_meanwhile_is_refused(folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    write_log(sample_rooms(), log)
    entry = replace(read_entries(folder / "decisions.toml")[0], log=str(log))
    work, named = prepare(entry), prepare(replace(entry, sha256="another"))
    os.utime(log, (1, 1))
    with pytest.raises(InputError, match=r"has another size or time .* begin anew, or name its"):
        decide(work)
    with pytest.raises(InputError, match=r"the table says another; correct the table"):
        decide(named)


def test_names_in_the_page_are_text() -> None:
    line = {"name": "<script>", "verdict": "failed", "folder": "", "error": "<b>no</b>"}
    page = dump_overview([line]).decode()
    assert "<script>&lt;" not in page
    assert "&lt;b&gt;no" in page


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no decisions"),
        ('[[decision]]\nname = "a"\nlog = "l"', "has no cost"),
        ('[[decision]]\nname = "../a"\nlog = "l"\ncost = "c"', "names a folder"),
        ('[[decision]]\nname = "a"\nlogs = "l"\ncost = "c"', "did you mean log"),
        ('[[decision]]\nname = "a"\nlog = 3\ncost = "c"', "must be text"),
        ('[[decision]]\nname = "a"\nlog = "l"\ncost = "c"\n' * 2, "names two decisions"),
    ],
)
def test_tables_that_are_wrong(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "decisions.toml").write_text(text)
    with pytest.raises(InputError, match=message):
        read_entries(tmp_path / "decisions.toml")
