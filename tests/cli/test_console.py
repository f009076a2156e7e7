"""What is printed of an advice."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from nacre.advice.record import BreakEvenEntry, Interval
from nacre.advice.result import Advice
from nacre.cli import console
from tests.support.made_up import make_advice


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> object:
    """Prints an advice on a wide terminal; returns the text."""
    monkeypatch.setenv("COLUMNS", "160")

    def show(advice: Advice, out: Path | None = None) -> str:
        capsys.readouterr()
        console.print_advice(advice, out)
        return capsys.readouterr().out

    return show


def test_the_verdict_and_what_it_rests_on_are_printed(shown: object) -> None:
    assert callable(shown)
    text = shown(make_advice(), Path("advice"))
    for part in (
        "SWITCH",
        "because",
        "net gain    2.5 (1.5 to 3.5)",
        "basis       fitted_q (model)",
        "old value   2.00 (1.50 to 2.50), returns of the log",
        "new value   5.0 (4.0 to 6.0), candidate mine",
        "break-even  switch up to learning weight 5 or transaction weight 2",
        "note: a remark",
        "note: a note",
        "the page: advice/report.html",
    ):
        assert part in text


def test_what_is_not_known_is_said_to_be(shown: object) -> None:
    assert callable(shown)
    text = shown(
        make_advice(
            "undecided",
            net_gain=Interval(mean=None, low=None, high=None),
            basis=(),
            remedy="log episodes with more exploration",
            break_even=BreakEvenEntry(),
        )
    )
    for part in (
        "UNDECIDED",
        "log episodes with more exploration",
        "net gain    unknown (bounds unknown)",
        "no informative estimator",
        "none: no weight changes the answer",
    ):
        assert part in text
    assert "the page" not in text


def test_markup_in_names_is_printed_as_it_is(shown: object) -> None:
    assert callable(shown)
    text = shown(make_advice(reason="[bold]not bold[/bold]", chosen="[red]mine"))
    assert "[bold]not bold[/bold]" in text
    assert "[red]mine" in text


def test_json_holds_no_nan(capsys: pytest.CaptureFixture[str]) -> None:
    console.print_json(make_advice().as_json())
    assert json.loads(capsys.readouterr().out)["verdict"] == "switch"
    with pytest.raises(ValueError, match="not JSON compliant"):
        console.print_json({"value": math.nan})
