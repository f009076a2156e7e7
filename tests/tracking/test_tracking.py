"""Tracked runs, read back from what TensorBoard and MLflow keep."""

from __future__ import annotations

import builtins
import dataclasses
import errno
import json
import os
import pickle
import socket
import struct
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nacre.advice.result import Advice
from nacre.errors import InputError
from nacre.tracking import Tracker, combine_reporters, open_tracking, tensorboard_events
from nacre.tracking.entries import clean_name, flatten, read_decision
from nacre.tracking.mlflow_run import LONGEST_PARAMETER, check_store, shorten
from nacre.tracking.tracker import FILES
from nacre.training.progress import ProgressEvent
from tests.support.faults import fail_at, raise_error
from tests.support.made_up import make_advice
from tests.support.rooms import BEST, make_candidate

TICKS = [
    ProgressEvent("learning nac-0.03", epoch, 3, 100, loss, estimate)
    for epoch, (loss, estimate) in enumerate([(4.0, 1.0), (2.0, float("nan")), (1.0, 3.0)])
]


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("nothing here may use the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Path]:
    """Tracks a run of a few epochs; returns where."""

    def track(
        advice: Advice | None = None, ticks: list[ProgressEvent] = TICKS, **wanted: Any
    ) -> Path:
        advice = make_advice() if advice is None else advice
        places = {"tensorboard": tmp_path / "board", "mlflow": str(tmp_path / "store")}
        with open_tracking(**(wanted or places)) as tracker:
            for tick in ticks:
                tracker.reporter(tick)
            tracker.finish(advice, advice.save(tmp_path / "advice"))
        return tmp_path

    return track


def read_events(folder: Path) -> Iterator[Any]:
    """Event messages of the one file of a folder: length, checksum, message, checksum."""
    from tensorboardX.proto.event_pb2 import Event

    (path,) = folder.iterdir()
    content = path.read_bytes()
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        yield Event.FromString(content[12 : 12 + length])
        content = content[16 + length :]


def read_board(folder: Path) -> tuple[dict[str, list[tuple[int, float]]], dict[str, str]]:
    """Curves and texts by tag."""
    curves: dict[str, list[tuple[int, float]]] = {}
    texts: dict[str, str] = {}
    for event in read_events(folder):
        for value in event.summary.value:
            if value.HasField("tensor"):
                texts[value.tag] = value.tensor.string_val[0].decode()
            else:
                curves.setdefault(value.tag, []).append((event.step, value.simple_value))
    return curves, texts


def find_runs(store: Path) -> tuple[Any, list[Any]]:
    """A client of the store, and the runs of our experiment, the last one first."""
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=store.as_uri())
    experiment: Any = client.get_experiment_by_name("nacre")
    return client, list(client.search_runs([experiment.experiment_id]))


def test_events_hold_curves_decision_and_settings(run: Callable[..., Path]) -> None:
    folder = run()
    curves, texts = read_board(folder / "board" / "run-1")
    assert curves["learning_nac-0.03/loss"] == [(1, 4.0), (2, 2.0), (3, 1.0)]
    # NaN leaves a gap.
    assert curves["learning_nac-0.03/estimate"] == [(1, 1.0), (3, 3.0)]
    advice = make_advice()
    for name, value in read_decision(advice).items():
        ((step, seen),) = curves[name]
        assert step == 0
        assert seen == pytest.approx(value, rel=1e-6)
    text = next(value for tag, value in texts.items() if tag.startswith("decision"))
    assert "    verdict: switch" in text.splitlines()
    assert any('"seed": "7"' in value for value in texts.values())
    assert any("report.html" in value for value in texts.values())
    assert any("FINISHED" in value for value in texts.values())


def test_every_run_gets_a_folder_of_its_own(run: Callable[..., Path], tmp_path: Path) -> None:
    for _ in range(2):
        run(tensorboard=tmp_path / "board")
    assert sorted(path.name for path in (tmp_path / "board").iterdir()) == ["run-1", "run-2"]


def test_mlflow_holds_parameters_curves_decision_and_files(run: Callable[..., Path]) -> None:
    advice = make_advice(config={"learner": {"epochs": 3, "note": "x" * 9000}})
    folder = run(advice)
    client, (found,) = find_runs(folder / "store")
    assert found.info.status == "FINISHED"
    parameters = found.data.params
    assert (parameters["config.learner.epochs"], parameters["seed"]) == ("3", "7")
    assert parameters["config.learner.note"] == "x" * (LONGEST_PARAMETER - 1) + "…"
    assert found.data.tags["nacre.verdict"] == "switch"
    assert found.data.tags["nacre.reason"] == "because"
    for name, value in read_decision(advice).items():
        assert found.data.metrics[name] == value
    history = client.get_metric_history(found.info.run_id, "learning_nac-0.03/loss")
    assert [(point.step, point.value) for point in history] == [(1, 4.0), (2, 2.0), (3, 1.0)]
    kept = {item.path for item in client.list_artifacts(found.info.run_id)}
    assert kept == set(FILES)
    for name in FILES:
        copy = Path(client.download_artifacts(found.info.run_id, name, str(folder)))
        assert copy.read_bytes() == (folder / "advice" / name).read_bytes()


def test_decision_figures_are_those_of_the_advice() -> None:
    advice = make_advice()
    numbers = read_decision(advice)
    document = advice.as_json()
    assert numbers["decision/probability"] == document["probability"]
    assert numbers["decision/net_gain"] == document["net_gain"]["mean"]
    assert numbers["decision/net_gain_low"] == document["net_gain"]["low"]
    assert numbers["decision/cost"] == document["cost"]["total"]
    assert numbers["decision/old_value_high"] == document["old_value"]["high"]


def test_settings_given_at_the_start_are_not_given_again(tmp_path: Path) -> None:
    with open_tracking(mlflow=str(tmp_path / "store")) as tracker:
        tracker.start({"epochs": 3, "weights": (0.1, 0.2), "nothing": None, "flag": True})
        tracker.finish(make_advice())
    _, (found,) = find_runs(tmp_path / "store")
    assert found.data.params == {
        "epochs": "3",
        "weights": "[0.1, 0.2]",
        "nothing": "null",
        "flag": "True",
    }


def test_more_settings_than_one_request_holds(tmp_path: Path) -> None:
    settings = {f"setting_{i}": i for i in range(230)}
    with open_tracking(mlflow=str(tmp_path / "store")) as tracker:
        tracker.start(settings)
    _, (found,) = find_runs(tmp_path / "store")
    assert found.data.params == {name: str(value) for name, value in settings.items()}


@pytest.mark.parametrize(
    ("error", "status"), [(ValueError("no"), "FAILED"), (KeyboardInterrupt(), "KILLED")]
)
def test_runs_that_end_early_say_so(tmp_path: Path, error: BaseException, status: str) -> None:
    def work() -> None:
        with open_tracking(None, str(tmp_path / "store")) as tracker:
            tracker.reporter(TICKS[0])
            raise error

    with pytest.raises(type(error)):
        work()
    _, (found,) = find_runs(tmp_path / "store")
    assert found.info.status == status


def test_without_a_place_nothing_is_written(tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    with open_tracking() as tracker:
        tracker.reporter(TICKS[0])
        tracker.finish(make_advice(), None)
    assert (tracker.places, sorted(tmp_path.rglob("*"))) == ([], before)


class Broken:
    """A place whose server is gone."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        def fail(*_: object) -> None:
            raise ConnectionError("gone\nfor good")

        return fail


def test_a_place_that_fails_is_left_and_the_run_goes_on(tmp_path: Path) -> None:
    with open_tracking(tmp_path / "board") as tracker:
        tracker.places.insert(0, Broken())
        with pytest.warns(RuntimeWarning, match="Broken is given up.*ConnectionError: gone for"):
            tracker.reporter(TICKS[0])
        tracker.reporter(TICKS[2])
    curves, _ = read_board(tmp_path / "board" / "run-1")
    assert curves["learning_nac-0.03/loss"] == [(1, 4.0), (3, 1.0)]


def test_reporters_are_told_in_order() -> None:
    heard: list[tuple[str, ProgressEvent]] = []
    both = combine_reporters(
        lambda tick: heard.append(("first", tick)), lambda tick: heard.append(("second", tick))
    )
    both(TICKS[0])
    assert heard == [("first", TICKS[0]), ("second", TICKS[0])]
    combine_reporters()(TICKS[0])


# Names and places


HOSTILE = [
    "../../escape",
    "/etc/passwd",
    "..",
    ".",
    "a/../../b",
    "a\\..\\b",
    "\x00",
    "",
    "-rf",
    "é",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_no_paths(name: str) -> None:
    cleaned = clean_name(name)
    assert cleaned not in ("", ".", "..")
    assert not set(cleaned) & set("/\\\x00")
    assert ".." not in cleaned


def test_names_that_differ_stay_different() -> None:
    names = [*HOSTILE, "a b", "a/b", "a:b", "a?b", "plain", "x" * 300 + "1", "x" * 300 + "2"]
    cleaned = [clean_name(name) for name in names]
    assert len(set(cleaned)) == len(names)
    assert clean_name("fitted_q noise-0.3") == "fitted_q_noise-0.3"
    assert max(map(len, cleaned)) < 250


def test_hostile_stages_and_candidates_stay_inside(run: Callable[..., Path]) -> None:
    ticks = [ProgressEvent(f"learning {name}", 0, 1, 1, 1.0, 2.0) for name in HOSTILE]
    named = dataclasses.replace(
        make_candidate("mine", BEST), name="../../../escape", origin="$(touch x)"
    )
    advice = make_advice("switch", named)
    folder = run(advice, ticks)
    _, (found,) = find_runs(folder / "store")
    assert found.data.tags["nacre.chosen"] == "../../../escape"
    assert sum(name.endswith("/loss") for name in found.data.metrics) == len(HOSTILE)
    assert sorted(path.name for path in folder.iterdir()) == ["advice", "board", "store"]
    assert not list(folder.parent.glob("*escape*"))


@pytest.mark.parametrize(
    ("store", "message"),
    [
        ("", "give a folder"),
        ("a\nb", "give a folder"),
        ("ftp://host/x", "kind 'ftp': not known here"),
        ("postgresql://me:secret@host/x", "kind 'postgresql'"),
        ("databricks:profile", "kind 'databricks'"),
        ("s3://bucket/x", "kind 's3'"),
        ("http://", "the name of the server"),
        ("https://host:port/", "the name of the server"),
        ("https://host/?a=b", "the name of the server"),
        ("https://me:secret@host/", "MLFLOW_TRACKING_PASSWORD"),
        ("sqlite://runs.db", "sqlite:/// and the path"),
        ("sqlite:///", "sqlite:/// and the path"),
        ("file://elsewhere/share", "file:/// and the path"),
        ("file:///tmp/x?y", "file:/// and the path"),
    ],
)
def test_stores_are_checked(store: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        check_store(store)
    assert "secret" not in str(caught.value)


def test_paths_of_stores_are_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    expected = (tmp_path / "a store").as_uri()
    for given in ("a store", "x/../a store", f"file:{tmp_path}/a%20store", expected):
        assert check_store(given) == expected
    for server in ("http://localhost:5000", "https://host/mlflow"):
        assert check_store(server) == server
    # What looks escaped in a plain path is its name.
    assert check_store("%2e%2e").endswith("/%252e%252e")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is a file"):
        check_store("file")
    with pytest.raises(InputError, match="is no path"):
        check_store("file:///%00")


def test_databases_need_the_whole_library(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match="pip install mlflow, or give a folder"),
        open_tracking(mlflow=f"sqlite:///{tmp_path}/runs.db"),
    ):
        pass


def test_a_file_is_no_folder_for_events(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(InputError, match="is a file; give a folder for TensorBoard"),
        open_tracking(tmp_path / "file"),
    ):
        pass
    with (
        pytest.raises(InputError, match="no folder can be made there"),
        open_tracking(tmp_path / "file" / "below"),
    ):
        pass


def rewrite(store: Path, old: str, new: str) -> None:
    """Change a line of our experiment's description."""
    (path,) = (p for p in store.glob("*/meta.yaml") if "name: nacre" in p.read_text())
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_artefacts_do_not_leave_the_store(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with open_tracking(mlflow=str(store)):
        pass
    place = (tmp_path / "elsewhere").as_uri()
    rewrite(store, f"artifact_location: {store.as_uri()}", f"artifact_location: {place}")
    with (
        pytest.raises(InputError, match="keeps its files elsewhere"),
        open_tracking(mlflow=str(store)),
    ):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_deleted_experiments_are_named(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with open_tracking(mlflow=str(store)):
        pass
    client, (found,) = find_runs(store)
    client.delete_experiment(found.info.experiment_id)
    with pytest.raises(InputError, match="is deleted"), open_tracking(mlflow=str(store)):
        pass


class Canary:
    """Leaves a file behind if anyone unpickles it."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.place,)


def test_nothing_in_a_store_is_run(run: Callable[..., Path], tmp_path: Path) -> None:
    canary = tmp_path / "sang"
    store = tmp_path / "store"
    with open_tracking(mlflow=str(store)):
        pass
    _, (found,) = find_runs(store)
    model = store / found.info.experiment_id / found.info.run_id / "artifacts" / "model"
    model.mkdir()
    for name in ("python_model.pkl", "model.pth"):
        (model / name).write_bytes(pickle.dumps(Canary(canary)))
    (model / "MLmodel").write_text("flavors: {python_function: {python_model: python_model.pkl}}")
    yaml = (
        f"!!python/object/apply:pathlib.Path.touch [!!python/object/apply:pathlib.Path [{canary}]]"
    )
    rewrite(store, "name: nacre\n", f"name: nacre\nextra: {yaml}\n")
    # The store is refused or used, but nothing in it is run.
    with pytest.raises(InputError, match="no run can be started there"):
        run(mlflow=str(store))
    rewrite(store, f"extra: {yaml}\n", "")
    run(mlflow=str(store))
    assert not canary.exists()
    pickle.loads((model / "model.pth").read_bytes())  # noqa: S301 - shows that it would have sung
    assert canary.exists()


def test_links_in_the_folder_are_no_artefacts(tmp_path: Path) -> None:
    (tmp_path / "private").write_text("secret")
    folder = tmp_path / "advice"
    folder.mkdir()
    (folder / "report.html").symlink_to(tmp_path / "private")
    with open_tracking(mlflow=str(tmp_path / "store")) as tracker:
        tracker.finish(make_advice(), folder)
    client, (found,) = find_runs(tmp_path / "store")
    assert client.list_artifacts(found.info.run_id) == []


@pytest.mark.parametrize(
    ("library", "wanted"),
    [("tensorboardX", {"tensorboard": Path("board")}), ("mlflow", {"mlflow": "store"})],
)
def test_missing_libraries_are_named(
    library: str, wanted: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.split(".")[0] == library:
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r"pip install 'nacre\[track\]'"), open_tracking(**wanted):
        pass
    assert list(tmp_path.iterdir()) == []


def test_use_is_not_reported(run: Callable[..., Path]) -> None:
    run()
    assert os.environ["MLFLOW_DISABLE_TELEMETRY"] == "true"
    assert sys.modules["mlflow.telemetry"].get_telemetry_client() is None


def test_settings_become_dotted_texts() -> None:
    nested = {"a": {"b": 1, "c": [1, {"d": 2}]}, "e": {}, "f": np.float32(0.5), "g/h": "text"}
    found = flatten(nested)
    assert found["a.b"] == "1"
    assert json.loads(found["a.c"]) == [1, {"d": 2}]
    assert (found["e"], found["f"], found[clean_name("g/h")]) == ("{}", "0.5", "text")
    assert shorten("abcdef", 6) == "abcdef"
    assert shorten("abcdefg", 6) == "abcde…"


def test_a_tracker_alone_forgets_its_places_when_closed() -> None:
    tracker = Tracker([Broken()])
    with pytest.warns(RuntimeWarning, match="given up"):
        tracker.close()
    assert tracker.places == []


def test_a_folder_may_be_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensorboard_events, "MOST_RUNS", 2)
    with open_tracking(tmp_path):
        pass
    with pytest.raises(InputError, match="holds too many runs"), open_tracking(tmp_path):
        pass


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("at", range(1, 9))
def test_a_full_disk_costs_the_curves_and_nothing_else(tmp_path: Path, at: int) -> None:
    directory = tmp_path / "curves"
    with fail_at(directory, at, raise_error(errno.ENOSPC)) as faults:
        try:
            with (
                warnings.catch_warnings(record=True) as told,
                open_tracking(tensorboard=directory) as tracker,
            ):
                warnings.simplefilter("always")
                tracker.start({"seed": 0})
                # More than wait in the queue of the thread that writes.
                for step in range(40):
                    tracker.reporter(ProgressEvent("training", step, 40, step, 0.5, 1.0))
        except InputError as error:
            assert "(No space left on device); " in str(error)  # noqa: PT017
            return
    given_up = [str(one.message) for one in told if "is given up" in str(one.message)]
    assert bool(given_up) == (len(faults.calls) > at)
