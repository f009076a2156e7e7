"""What advise and evaluate make of their options, with the computing left out."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nacre import examples, tracking
from nacre.advice import evaluate as valuation
from nacre.advice import pipeline as advisor
from nacre.advice.config import AdviceConfig, suggest_config
from nacre.advice.evaluate import Valuation
from nacre.advice.record import Value
from nacre.cli import console, demo
from nacre.diagnostics.log_checks import LogCheckConfig
from nacre.inference.paper_rule import PaperRule
from nacre.inference.rule import BoundsRule
from nacre.training.progress import NoProgress, ProgressEvent

Invoke = Callable[..., Any]
CART = examples.find_directory()
LOG, POLICY, COST = (CART / name for name in ("log.parquet", "old.safetensors", "cost.toml"))
ADVISE = ("advise", "--log", LOG, "--policy", POLICY, "--cost", COST)
EVALUATE = ("evaluate", "--log", LOG, "--policy", POLICY)


class FoundAdvice:
    """Stands for an advice."""

    verdict = "keep"

    def as_json(self) -> dict[str, str]:
        return {"verdict": self.verdict}

    def save(self, folder: Path) -> None:
        folder.mkdir()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the advisor was asked; under "tracked", what was told to the tracker."""
    tracked: list[Any] = []
    given: dict[str, Any] = {"tracked": tracked}

    @contextlib.contextmanager
    def track(*places: Any) -> Iterator[Any]:
        tracked.append(places)
        yield SimpleNamespace(
            start=lambda config: tracked.append(sorted(config)),
            reporter=lambda tick: tracked.append(tick.stage),
            finish=lambda found, folder: tracked.append((found.verdict, folder)),
        )
        tracked.append("closed")

    def find(*arguments: Any, **options: Any) -> FoundAdvice:
        given.update(options, start=arguments[3])
        options["progress"](ProgressEvent("learning", 0, 1, 10, 0.5, 2.0))
        return FoundAdvice()

    # Imported before it is replaced: the demonstration keeps the advisor that it finds.
    assert demo.run_demo.__module__ == demo.__name__
    monkeypatch.setattr(advisor, "advise", find)
    monkeypatch.setattr(tracking, "open_tracking", track)
    monkeypatch.setattr(console, "print_advice", lambda *_: None)
    return given


def test_options_reach_the_advisor(invoke: Invoke, asked: dict[str, Any]) -> None:
    Path("start.csv").write_text("1,2\n3,4\n")
    start = ("--start", "start.csv", "--look", "2", "--looks", "5")
    options = (*start, "--confidence", "0.8", "--rule", "paper")
    given = ("--candidate", CART / "new.safetensors", "--frontier", "1", "--frontier", "5")
    outcome = invoke(*ADVISE, *options, *given, "--discount", "0.9", "--seed", "3", "-q")
    assert outcome == (0, "keep\n", "")
    np.testing.assert_array_equal(asked["start"], [[1.0, 2.0], [3.0, 4.0]])
    config = asked["config"]
    assert (config.confidence, config.rule, config.discount) == (0.8, PaperRule(), 0.9)
    assert (config.look, config.looks) == (2, 5)
    assert [candidate.name for candidate in asked["candidates"]] == ["new"]
    assert asked["candidates"][0].origin == "given as new.safetensors"
    assert asked["seed"] == 3
    names = [learner.name for learner in config.learners]
    assert names[-1] == f"{names[0]}-cost5"


def test_without_options_it_is_what_fits_the_log(invoke: Invoke, asked: dict[str, Any]) -> None:
    assert invoke(*ADVISE, "-q").code == 0
    assert asked["config"] == suggest_config(examples.load().log)
    assert asked["candidates"] == []
    assert asked["uncertainty"] == 0.0


FILE = """\
confidence = 0.9
discount = 0.97
looks = 3
rule = "paper"
[checks]
level = 0.05
[[learners]]
kind = "net_actor_critic"
"""


def test_a_file_configures_the_advice(invoke: Invoke, asked: dict[str, Any]) -> None:
    Path("advice.toml").write_text(FILE)
    assert invoke(*ADVISE, "--advice-config", "advice.toml", "-q").code == 0
    assert asked["config"] == AdviceConfig.from_toml("advice.toml")
    Path("short.toml").write_text("confidence = 0.9\n")
    assert invoke(*ADVISE, "--advice-config", "short.toml", "-q").code == 0
    assert asked["config"] == dataclasses.replace(
        suggest_config(examples.load().log), confidence=0.9
    )


def test_options_count_more_than_the_file(
    invoke: Invoke, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("advice.toml").write_text(FILE)
    # Flags, even such as say what the default is, variables, and the file of settings.
    Path("nacre.toml").write_text("[advise]\nadvice-config = 'advice.toml'\nlooks = 4\n")
    monkeypatch.setenv("NACRE_ADVISE_DISCOUNT", "0.5")
    flags = ("--confidence", "0.95", "--rule", "bounds", "--epsilon", "0.1", "--frontier", "2")
    assert invoke(*ADVISE, *flags, "-q").code == 0
    config = asked["config"]
    assert (config.confidence, config.discount, config.looks) == (0.95, 0.5, 4)
    assert config.rule == BoundsRule()
    assert config.checks == LogCheckConfig(level=0.05, epsilon=0.1)
    assert [one.name for one in config.learners] == ["nac-0.03", "nac-0.03-cost2"]


@pytest.mark.usefixtures("asked")
def test_what_is_wrong_in_the_file_is_one_line(invoke: Invoke) -> None:
    Path("advice.toml").write_text("[[estimators]]\nkind = 'fited_q'\n")
    assert invoke(*ADVISE, "--advice-config", "advice.toml") == (
        2,
        "",
        "advice.toml: estimators[0]: no estimator is called 'fited_q'; did you mean fitted_q?\n",
    )


BAD = [
    (("--rule", "papr"), "no rule is called 'papr'; did you mean paper?"),
    (("--confidence", "0.4"), "confidence = 0.4: must lie between 0.5 and 1"),
    (("--discount", "1.5"), "discount = 1.5: must lie in [0, 1]"),
    (("--budget", "soon"), "budget 'soon': give a time such as 60s, 10m or 1h, at least 10s"),
    (("--frontier", "-1"), "cost_factor = -1.0: must be finite and not negative"),
    (("--look", "0"), "Input should be greater than or equal to 1"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
@pytest.mark.usefixtures("asked")
def test_bad_options_are_named(invoke: Invoke, options: tuple[str, str], message: str) -> None:
    code, out, err = invoke(*ADVISE, *options)
    assert (code, out) == (2, "")
    assert message in err


def test_without_a_start_it_is_the_log_s_own(invoke: Invoke, asked: dict[str, Any]) -> None:
    assert json.loads(invoke(*ADVISE, "--json").out) == {"verdict": "keep"}
    assert asked["start"] is None
    assert asked["tracked"][0] == (None, None)


def test_runs_are_tracked_where_wanted(invoke: Invoke, asked: dict[str, Any]) -> None:
    out = Path("advice")
    assert invoke(*ADVISE, "--out", out, "--tensorboard", "runs", "--mlflow", "store").code == 0
    assert out.is_dir()
    assert asked["tracked"] == [
        (Path("runs"), "store"),
        ["config", "cost_model", "seed"],
        "learning",
        ("keep", out),
        "closed",
    ]


@pytest.mark.usefixtures("asked")
def test_nothing_is_learned_for_a_place_that_cannot_be_written(invoke: Invoke) -> None:
    Path("taken").write_text("")
    expected = (2, "", "taken: is a file; give a folder\n")
    assert invoke(*ADVISE, "--out", "taken") == expected
    assert invoke("demo", "--out", "taken") == expected


@pytest.mark.usefixtures("asked")
def test_an_earlier_advice_is_replaced_only_by_force(invoke: Invoke, tmp_path: Path) -> None:
    out = tmp_path / "advice"
    out.mkdir()
    (out / "decision.json").write_text("{}")
    for command in (ADVISE, ("demo",)):
        found = invoke(*command, "--out", out)
        assert found.code == 2
        assert found.err.endswith(
            "advice: holds an earlier advice; give another folder, or --force to replace it\n"
        )
    (out / "decision.json").unlink()
    out.rmdir()
    # The made-up advice makes its folder itself: trying it left nothing behind.
    assert invoke(*ADVISE, "--out", out, "--force").code == 0


@pytest.mark.parametrize(("given", "expected"), [("0.9", 0.9), ("90", 0.9), ("97.5", 0.975)])
def test_a_confidence_may_be_a_percentage(
    invoke: Invoke, asked: dict[str, Any], given: str, expected: float
) -> None:
    assert invoke(*ADVISE, "--confidence", given).code == 0
    assert asked["config"].confidence == pytest.approx(expected)


def make_value(mean: float | None, low: float, high: float, method: str) -> Value:
    return Value(mean=mean, low=low, high=high, method=method)


def make_valuation(
    *, healthy: bool = True, returns: bool = True, fitted: float | None = 4.0
) -> Valuation:
    behaviour: Any = SimpleNamespace(on_policy=returns, share=1.0)
    return Valuation(
        fitted=make_value(fitted, 3.0, 5.0, "fitted"),
        returns=make_value(4.5, 4.0, 5.0, "returns of the log") if returns else None,
        behaviour=behaviour,
        old=make_value(3.0, 2.0, 4.0, "fitted"),
        difference=make_value(1.0, 0.5, 1.5, "paired"),
        healthy=healthy,
        notes=("a note",),
        record={"seed": 2},
    )


@pytest.fixture
def question(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What was asked of the log; the answer is under "answer"."""
    given: dict[str, Any] = {"answer": make_valuation()}

    def value(log: Any, policy: Any, **options: Any) -> Valuation:
        given.update(options)
        return given["answer"]  # type: ignore[no-any-return]

    monkeypatch.setattr(valuation, "evaluate", value)
    return given


def test_values_are_printed_with_intervals_methods_and_notes(
    invoke: Invoke, question: dict[str, Any]
) -> None:
    new = ("--old-policy", CART / "new.safetensors")
    assert invoke(*EVALUATE, *new, "--start", "1,2", "--discount", "0.9") == (
        0,
        "value       4.50 (4.00 to 5.00), returns of the log\n"
        "by returns  4.50 (4.00 to 5.00)\n"
        "as fitted   4.0 (3.0 to 5.0)\n"
        "old policy  3.0 (2.0 to 4.0)\n"
        "difference  1.00 (0.50 to 1.50)\n"
        "note: a note\n",
        "",
    )
    assert question["start"].tolist() == [[1.0, 2.0]]
    assert question["discount"] == 0.9
    assert question["old_policy"] is not None
    assert not isinstance(question["progress"], NoProgress)
    document = json.loads(invoke(*EVALUATE, "--json").out)
    assert document["value"]["mean"] == 4.5
    assert document["difference"]["low"] == 0.5
    assert question["old_policy"] is None


def test_without_a_discount_the_value_is_what_whole_episodes_earn(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = valuation.default_evaluation()
    critics = dataclasses.replace(config.critics, hidden=(8,), n_critics=2, batch_size=16)
    few: dict[str, Any] = {"epochs": 1, "steps_per_epoch": 4, "prefit_steps": 4, "n_actions": 8}
    quick = dataclasses.replace(config, critics=critics, **few)
    monkeypatch.setattr(valuation, "default_evaluation", lambda: quick)
    rng = np.random.default_rng(0)
    rows = ["episode,state,action,reward,terminated"]
    rows += [f"{i // 3},{i % 3},{rng.integers(2)},{i % 3 + 1},{i % 3 == 2}" for i in range(90)]
    path = tmp_path / "ended.csv"
    path.write_text("\n".join(rows) + "\n")
    asked = ("evaluate", "--log", path, "--policy", "clone", "--discount", "1")
    document = json.loads(invoke(*asked, "--json").out)
    # Each episode earns 1 + 2 + 3.
    assert document["value"]["mean"] == pytest.approx(6.0)
    assert document["value"]["method"] == "returns of the log"
    assert document["discount"] == 1.0
    assert any("critics take a discount of 0.9" in note for note in document["notes"])
    # The bundled cart is cut off, never ends.
    outcome = invoke(*EVALUATE, "--discount", "1")
    assert outcome.code == 2
    assert "episodes do not end but are cut off" in outcome.err


def test_quiet_is_the_value_alone_and_a_breakdown_is_a_failure(
    invoke: Invoke, question: dict[str, Any]
) -> None:
    assert invoke(*EVALUATE, "--quiet") == (0, "4.5\n", "")
    assert isinstance(question["progress"], NoProgress)
    question["answer"] = make_valuation(healthy=False, returns=False)
    assert invoke(*EVALUATE, "-q") == (1, "4\n", "")
    # What is not known is no number.
    question["answer"] = make_valuation(healthy=False, returns=False, fitted=None)
    assert invoke(*EVALUATE, "-q") == (1, "unknown\n", "")
    assert "as fitted   unknown (3.0 to 5.0)" in invoke(*EVALUATE).out
