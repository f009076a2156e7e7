"""A log in many files: what they hold does not depend on how many there are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nacre.cli import app
from nacre.errors import InputError
from nacre.logs import Log, write_log
from nacre.logs.shards import survey_log
from tests.support.logs import make_log


@pytest.fixture(scope="module")
def log() -> Log:
    return make_log((3, 1, 4, 2) * 5)


def write_shards(log: Log, folder: Path, shards: int) -> Path:
    folder.mkdir()
    for place, episodes in enumerate(np.array_split(np.arange(log.n_episodes), shards)):
        write_log(log.select(episodes), folder / f"part-{place}.parquet")
    return folder


@pytest.mark.parametrize("shards", [1, 3, 7])
def test_a_survey_is_that_of_the_whole_log(log: Log, shards: int, tmp_path: Path) -> None:
    folder = write_shards(log, tmp_path / "log", shards)
    here = survey_log(str(folder), discount=0.9)
    there = survey_log(str(folder), discount=0.9, engine="threads")
    assert here.as_json() == there.as_json()
    assert here.files == shards
    assert here.returns.tobytes() == log.returns(0.9).tobytes()
    np.testing.assert_array_equal(here.lengths, log.episode_lengths)
    assert here.rewards == (log.rewards.min(), log.rewards.max())
    returns = log.returns(0.9)
    assert here.as_json()["mean_return"] == returns.mean()
    assert here.as_json()["standard_error"] == pytest.approx(
        returns.std(ddof=1) / np.sqrt(log.n_episodes), rel=1e-12
    )


def test_files_behind_an_address_are_the_same(log: Log, tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    folder = write_shards(log, tmp_path / "log", 2)
    assert survey_log(f"file://{folder}").as_json() == survey_log(str(folder)).as_json()
    with pytest.raises(InputError, match="is not there; check the address"):
        survey_log(f"file://{tmp_path / 'nothing'}")


def test_files_of_different_logs_are_refused(log: Log, tmp_path: Path) -> None:
    folder = write_shards(log, tmp_path / "log", 2)
    write_log(make_log(width=3), folder / "part-2.parquet")
    with pytest.raises(InputError, match=r"part-2\.parquet: holds vectors of 3.*vectors of 2"):
        survey_log(str(folder))


def test_every_problem_of_every_file_is_named(log: Log, tmp_path: Path) -> None:
    folder = write_shards(log, tmp_path / "log", 3)
    for name in ("part-0.parquet", "part-2.parquet"):
        (folder / name).write_bytes(b"nothing")
    with pytest.raises(InputError) as caught:
        survey_log(str(folder))
    named = [Path(problem.split(":")[0]).name for problem in caught.value.problems]
    assert named == ["part-0.parquet", "part-2.parquet"]


def test_the_command_says_what_all_files_hold(
    log: Log, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_shards(log, tmp_path / "log", 3)
    with pytest.raises(SystemExit, match="0"):
        app.run(["validate", str(folder), "--engine", "threads"])
    printed = capsys.readouterr().out
    assert f"{len(log):,} transitions in 20 episodes in 3 files" in printed
