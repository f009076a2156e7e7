"""Raw rows give the same action in the library, with predict.py and in an ONNX runtime."""

from __future__ import annotations

import csv
import dataclasses
import runpy
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnxruntime
import pytest

from nacre.errors import InputError
from nacre.logs import Log, read_log
from nacre.logs.formats.csv_style import MISSING_TEXTS
from nacre.policies import (
    Categorical,
    MLPPolicy,
    Policy,
    RulePolicy,
    Scaling,
    Signature,
    TabularPolicy,
    deliver_policy,
    read_policy,
)
from nacre.policies.formats import numpy_columns
from nacre.policies.mixture import mix_policies
from tests.support.policies import expect

NAMES = ["age", "income", "region", "floor", "size", "called at", "day", "price"]
MASK = ["allowed_none", "allowed_mail", "allowed_call"]
MAP: dict[str, Any] = {
    "episode": False,
    "terminated": True,
    "observation": NAMES,
    "action": "offer",
    "reward": "spent",
    "labels": {"action": ["none", "mail", "call"], "size": ["S", "M", "L"]},
    "encode": {"region": "one_hot", "floor": "one_hot", "called at": "time", "day": "date"},
    "rare": {"region": 20},
    "missing": {
        "income": "median",
        "region": "category",
        "floor": "category",
        "size": "mean",
        "day": "median",
    },
    "missing_values": ["n.d."],
    "unit": {"price": "€"},
    "time_format": {"day": "%d.%m.%Y"},
}
KEPT = ("columns", "encoding", "labels", "written")
TOLERANCE = 1e-5


def make_table(folder: Path, n: int = 200) -> Path:
    """Every kind of column, with missing values, rare categories, units and decimal commas."""
    rng = np.random.default_rng(101)
    rows = []
    for i in range(n):
        allowed = [1, *map(int, rng.random(2) < 0.7)]
        rows.append(
            [
                f"{rng.uniform(20, 80):.1f}".replace(".", ","),
                str(rng.choice(["n.d.", "NA", "31000,5", "52000"])),
                "" if i % 9 == 0 else str(rng.choice(["north", "söuth", f"village {i}"])),
                "" if i % 7 == 0 else str(rng.integers(3)),
                "" if i % 5 == 0 else str(rng.choice(["S", "M", "L"])),
                f"2024-0{1 + i % 9}-1{i % 9} {i % 24:02d}:{i % 60:02d}:30",
                "" if i % 6 == 0 else f"{1 + i % 28:02d}.02.2024",
                f"{rng.uniform(1, 5):.2f} €".replace(".", ","),
                *allowed,
                ["none", "mail", "call"][int(rng.choice(np.flatnonzero(allowed)))],
                "1,5",
            ]
        )
    path = folder / "table.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=";").writerows([[*NAMES, *MASK, "offer", "spent"], *rows])
    return path


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_table(tmp_path_factory.mktemp("raw"))


@pytest.fixture(scope="module")
def log(table: Path) -> Log:
    return read_log(table, columns=MAP)


def make_network(log: Log) -> MLPPolicy:
    signature = Signature(log.observation_space, log.action_space)
    scaling = Scaling.fit(np.asarray(log.observations))
    return MLPPolicy.init(jax.random.key(101), signature, hidden=(16,), scaling=scaling)


def make_rule(log: Log) -> RulePolicy:
    """Two boxes, one that never holds the first action."""
    size = log.observations.shape[1]
    lower, upper = np.full((2, size), -np.inf), np.full((2, size), np.inf)
    lower[0, 0], upper[1, 1] = 50.0, 40000.0
    outputs = np.log(np.array([[1e-30, 1e-30, 1.0], [0.2, 0.5, 0.3], [0.0, 1.0, 0.0]]) + 1e-38)
    signature = Signature(log.observation_space, log.action_space)
    low, high, said = (jnp.asarray(part, jnp.float32) for part in (lower, upper, outputs))
    return RulePolicy(low, high, said, signature, "categorical")


def make_policies(log: Log) -> dict[str, Policy]:
    network, rule = make_network(log), make_rule(log)
    other = dataclasses.replace(network, head="greedy")
    return {
        "network": network,
        "rule": rule,
        "mixture": mix_policies(network, other, 0.3),
    }


def read_rows(table: Path) -> list[dict[str, str]]:
    with table.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter=";"))


def as_inputs(rows: list[dict[str, str]]) -> dict[str, np.ndarray]:
    """What somebody gives to an ONNX runtime: texts, float64, seconds since 1970."""

    def number(text: str) -> float:
        plain = text.replace("€", "").replace(",", ".").strip()
        return float("nan") if plain in ("", "NA", "n.d.") else float(plain)

    def day(text: str) -> str:
        return "-".join(reversed(text.split("."))) if text else "NaT"

    times = {
        "called at": [row["called at"].replace(" ", "T") for row in rows],
        "day": [day(row["day"]) for row in rows],
    }
    given: dict[str, np.ndarray] = {
        name: np.array(values, "datetime64[s]").astype(np.int64) for name, values in times.items()
    }
    for name in ("region", "size"):
        given[name] = np.array([row[name] for row in rows], object)
    for name in ("age", "income", "floor", "price", *MASK):
        given[name] = np.array([number(row[name]) for row in rows])
    return given


def open_session(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("kind", ["network", "rule", "mixture"])
def test_raw_rows_get_the_same_action_in_all_three_ways(
    log: Log, table: Path, tmp_path: Path, kind: str
) -> None:
    policy, rows = make_policies(log)[kind], read_rows(table)
    inputs = {key: log.provenance[key] for key in KEPT}
    delivery = deliver_policy(policy, tmp_path, "new", {"inputs": inputs})
    assert not delivery.missing
    assert {"new.onnx", "new.raw.onnx", "predict.py"} <= set(delivery.files)
    said = expect(Categorical, policy(jnp.asarray(log.observations)))
    labels = [MAP["labels"]["action"][action] for action in np.asarray(said.mode())]
    # Other categories than those of the log are as rare ones.
    strange = {**rows[1], "region": "nowhere"}
    rare = next(row for row in rows if row["region"].startswith("village"))
    session = open_session(tmp_path / "new.raw.onnx")
    names = [output.name for output in session.get_outputs()]
    answers = dict(zip(names, session.run(None, as_inputs(rows)), strict=True))
    np.testing.assert_allclose(answers["probabilities"], said.probabilities, atol=TOLERANCE)
    assert answers["label"].tolist() == labels
    both = session.run(["probabilities"], as_inputs([strange, {**strange, **_only(rare)}]))[0]
    np.testing.assert_array_equal(both[0], both[1])
    if kind == "rule":
        return
    predictor = runpy.run_path(str(tmp_path / "predict.py"))["Predictor"]
    controller = predictor(str(tmp_path / "new.safetensors"))
    assert [controller.predict(row, deterministic=True)[0] for row in rows] == labels
    encoded = np.stack([controller.encode(row) for row in [*rows, strange]])
    np.testing.assert_allclose(encoded[:-1], log.observations, atol=TOLERANCE)


def _only(row: dict[str, str]) -> dict[str, str]:
    return {"region": row["region"]}


@pytest.mark.parametrize(
    ("column", "value"),
    [("age", float("nan")), ("price", float("inf")), ("size", "XL"), ("floor", 7.0)],
)
def test_what_the_log_refuses_is_refused_with_the_name_of_its_column(
    log: Log, table: Path, tmp_path: Path, column: str, value: Any
) -> None:
    inputs = {key: log.provenance[key] for key in KEPT}
    deliver_policy(make_network(log), tmp_path, "new", {"inputs": inputs})
    session, given = open_session(tmp_path / "new.raw.onnx"), as_inputs(read_rows(table)[:3])
    session.run(None, given)
    given[column][1] = value
    with pytest.raises(Exception, match=f"column '{column}': a value is missing, or not one"):
        session.run(None, given)
    predictor = runpy.run_path(str(tmp_path / "predict.py"))["Predictor"]
    controller = predictor(str(tmp_path / "new.safetensors"))
    with pytest.raises(ValueError, match=f"column '{column}'|finite numbers"):
        controller.predict({**read_rows(table)[1], column: value}, deterministic=True)


def test_numbered_states_are_given_by_their_labels(tmp_path: Path) -> None:
    inputs = {
        "columns": {"observation": "light", "action": "do"},
        "labels": {"observation": ["red", "green"], "action": ["wait", "go", "turn"]},
    }
    policy = TabularPolicy.from_probabilities([[0.7, 0.3, 0.0], [0.1, 0.6, 0.3]])
    deliver_policy(policy, tmp_path, "new", {"inputs": inputs})
    session = open_session(tmp_path / "new.raw.onnx")
    given = {"light": np.array(["green", "red", "green"], object)}
    assert session.run(["label"], given)[0].tolist() == ["go", "wait", "go"]
    with pytest.raises(Exception, match="column 'light'"):
        session.run(None, {"light": np.array([""], object)})


def test_a_file_for_columns_is_no_old_policy(log: Log, tmp_path: Path) -> None:
    inputs = {key: log.provenance[key] for key in KEPT}
    deliver_policy(make_network(log), tmp_path, "new", {"inputs": inputs})
    with pytest.raises(InputError, match="takes the columns of a table, not observations; give"):
        read_policy(tmp_path / "new.raw.onnx", log=log)


def test_what_stands_for_a_missing_number_is_the_same_in_both() -> None:
    assert set(numpy_columns.MISSING) | {""} == set(MISSING_TEXTS)
