"""Progress: what is said, where, and how rates and remaining times come about."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from nacre.cli.progress import LiveBar, PlainLines, open_reporter
from nacre.training.progress import NoProgress, Progress, ProgressEvent, count_parts


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def event(
    epoch: int, *, stage: str = "learning", epochs: int = 5, steps: int = 300
) -> ProgressEvent:
    return ProgressEvent(stage, epoch, epochs, steps, loss=0.123456, estimate=-7.891011)


def run(reporter: Progress, clock: Clock, n: int, seconds: float) -> None:
    for epoch in range(n):
        clock.now += seconds
        reporter(event(epoch))


@pytest.fixture(autouse=True)
def _nothing_on_stdout(capsys: pytest.CaptureFixture[str]) -> object:
    """Whatever a test does, stdout stays for results."""
    yield
    assert capsys.readouterr().out == ""


def test_plain_lines_say_epoch_loss_estimate_rate_and_time_left() -> None:
    stream, clock = io.StringIO(), Clock()
    run(PlainLines(stream, interval=0.0, clock=clock), clock, 5, 3.0)
    assert stream.getvalue().splitlines() == [
        "learning: epoch 1/5, loss 0.1235, estimate -7.891",
        "learning: epoch 2/5, loss 0.1235, estimate -7.891, 100 updates/s, 9 s left",
        "learning: epoch 3/5, loss 0.1235, estimate -7.891, 100 updates/s, 6 s left",
        "learning: epoch 4/5, loss 0.1235, estimate -7.891, 100 updates/s, 3 s left",
        "learning: epoch 5/5, loss 0.1235, estimate -7.891, 100 updates/s, 0 s left",
    ]


def test_plain_lines_keep_their_distance_but_say_the_last_epoch() -> None:
    stream, clock = io.StringIO(), Clock()
    run(PlainLines(stream, interval=2.0, clock=clock), clock, 5, 0.9)
    said = [line.split(",")[0] for line in stream.getvalue().splitlines()]
    assert said == ["learning: epoch 1/5", "learning: epoch 4/5", "learning: epoch 5/5"]


def test_compilation_in_the_first_epoch_does_not_count_and_changing_speed_is_averaged() -> None:
    stream, clock = io.StringIO(), Clock()
    lines = PlainLines(stream, interval=0.0, clock=clock)
    for epoch, seconds in enumerate((60.0, 1.0, 3.0)):
        clock.now += seconds
        lines(event(epoch))
    first, second, third = stream.getvalue().splitlines()
    assert "updates" not in first
    assert second.endswith("300 updates/s, 3 s left")
    assert third.endswith("150 updates/s, 4 s left")


def test_every_stage_has_its_own_rate_and_may_come_again() -> None:
    stream, clock = io.StringIO(), Clock()
    lines = PlainLines(stream, interval=0.0, clock=clock)
    for stage, epochs in (("old", 1), ("new", 2), ("old", 1), ("old", 1)):
        for epoch in range(epochs):
            clock.now += 2.0
            lines(event(epoch, stage=stage, epochs=epochs))
    rates = ["updates/s" in line for line in stream.getvalue().splitlines()]
    assert rates == [False, False, True, False, False]


def test_a_resumed_run_counts_from_where_it_went_on() -> None:
    stream, clock = io.StringIO(), Clock()
    lines = PlainLines(stream, interval=0.0, clock=clock)
    for epoch in (3, 4):
        clock.now += 3.0
        lines(event(epoch, epochs=7))
    assert stream.getvalue().splitlines()[-1].endswith("100 updates/s, 6 s left")


def test_a_clock_that_stands_still_does_no_harm() -> None:
    stream, clock = io.StringIO(), Clock()
    run(PlainLines(stream, interval=0.0, clock=clock), clock, 2, 0.0)
    assert stream.getvalue().splitlines()[-1].endswith(" 0 s left")


def test_plain_lines_go_to_stderr_unless_told_otherwise(
    capsys: pytest.CaptureFixture[str],
) -> None:
    PlainLines()(event(4))
    assert capsys.readouterr().err == "learning: epoch 5/5, loss 0.1235, estimate -7.891\n"


def test_the_live_bar_shows_stages_counts_and_rates() -> None:
    clock = Clock()
    console = Console(record=True, file=io.StringIO(), force_terminal=True, width=120)
    with LiveBar(console, clock=clock) as bar:
        bar(event(0, stage="evaluating the old policy", epochs=1))
        run(bar, clock, 4, 3.0)
    # Every redrawing is recorded; the last one counts.
    drawn = console.export_text().rpartition("evaluating the old policy")[2]
    first, second = drawn.rstrip().splitlines()
    assert "1/1" in first
    assert "updates/s" not in first
    assert second.startswith("learning")
    assert "4/5" in second
    assert "loss 0.1235  estimate -7.891  100 updates/s" in second
    assert "0:00:03" in second


def test_the_live_bar_knows_a_time_left_after_the_first_epoch() -> None:
    clock = Clock()
    console = Console(record=True, file=io.StringIO(), force_terminal=True, width=120)
    with LiveBar(console, clock=clock) as bar:
        run(bar, clock, 1, 50.0)
    drawn = console.export_text().rpartition("learning")[2]
    assert "updates/s" not in drawn
    assert "0:03:20 left" in drawn


def test_the_live_bar_shows_a_sign_of_life_between_stages() -> None:
    console = Console(record=True, file=io.StringIO(), force_terminal=True, width=120)
    with LiveBar(console) as bar:
        assert [task.description for task in bar._progress.tasks] == ["preparing"]
        bar(event(0, epochs=2))
        assert [task.description for task in bar._progress.tasks] == ["learning"]
        bar(event(1, epochs=2))
        assert [task.description for task in bar._progress.tasks] == ["learning", "preparing"]
        bar(event(0, stage="judging"))
        assert [task.description for task in bar._progress.tasks] == ["learning", "judging"]
    assert "preparing" in console.export_text()


def test_the_live_bar_writes_to_stderr_unless_told_otherwise(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with LiveBar() as bar:
        bar(event(0))
    assert "learning" in capsys.readouterr().err


def test_silent_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    NoProgress()(event(0))
    assert capsys.readouterr().err == ""


def test_a_terminal_gets_a_bar_anything_else_lines_and_the_quiet_nothing() -> None:
    for stream, quiet, kind in (
        (Terminal(), False, LiveBar),
        (io.StringIO(), False, PlainLines),
        (Terminal(), True, NoProgress),
    ):
        with open_reporter(quiet=quiet, stream=stream) as reporter:
            assert isinstance(reporter, kind)
            reporter(event(0))
        assert ("learning" in stream.getvalue()) is not quiet


def test_reporters_go_to_stderr_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    with open_reporter() as reporter:
        reporter(event(0))
    assert capsys.readouterr().err.startswith("learning: epoch 1/5")


# The whole of a run


def test_a_stage_that_begins_is_shown_and_no_line_is_written() -> None:
    clock, stream = Clock(), io.StringIO()
    console = Console(record=True, file=io.StringIO(), force_terminal=True, width=120)
    with LiveBar(console, clock=clock) as bar:
        bar(event(-1, epochs=4))
        (task,) = bar._progress.tasks
        assert (task.fields["done"], task.fields["ends"]) == ("0/4", None)
        clock.now += 5.0
        bar(event(0, epochs=4))
        clock.now += 1.0
        bar(event(1, epochs=4))
        assert bar._progress.tasks[0].fields["ends"] == clock.now + 2.0
    PlainLines(stream, clock=clock)(event(-1, epochs=4))
    assert stream.getvalue() == ""


def test_lines_and_bars_show_the_time_left_for_everything() -> None:
    clock, stream = Clock(), io.StringIO()
    console = Console(record=True, file=io.StringIO(), force_terminal=True, width=120)
    lines = PlainLines(stream, interval=0.0, clock=clock)
    with LiveBar(console, clock=clock) as bar:
        for share in (0.1, 0.2):
            clock.now += 10.0
            copied = ProgressEvent("copying", 0, 1, 50, share=share)
            lines(copied)
            bar(copied)
        # Nothing is heard for a while, as when loops are compiled; the time goes on.
        clock.now += 15.0
    assert stream.getvalue().splitlines() == [
        "copying: 1/1, 10% of all, about 90 s left",
        "copying: 1/1, 20% of all, about 80 s left",
    ]
    whole, stage = console.export_text().rpartition("everything")[2].rstrip().splitlines()
    assert "20%" in whole
    assert "0:01:05 left" in whole
    assert stage.startswith("copying")
    assert "loss" not in stage
    assert "left" not in stage


def test_an_overdue_end_is_a_second_away() -> None:
    clock = Clock()
    console = Console(record=True, file=io.StringIO(), force_terminal=True, width=120)
    with LiveBar(console, clock=clock) as bar:
        clock.now += 10.0
        bar(ProgressEvent("copying", 0, 1, 50, share=0.5))
        clock.now += 3600.0
    assert "0:00:01 left" in console.export_text()


def test_stages_at_the_same_time_have_paces_of_their_own() -> None:
    clock, stream = Clock(), io.StringIO()
    lines = PlainLines(stream, interval=0.0, clock=clock)
    for epoch in range(2):
        for stage, seconds in (("learning", 1.0), ("judging", 3.0)):
            clock.now += seconds
            lines(event(epoch, stage=stage, epochs=3, steps=40))
    assert [line.rpartition("estimate -7.891")[2] for line in stream.getvalue().splitlines()] == [
        "",
        "",
        ", 10 updates/s, 4 s left",
        ", 10 updates/s, 4 s left",
    ]


def test_parts_are_counted_in_hundredths() -> None:
    heard: list[ProgressEvent] = []
    clock, stream = Clock(), io.StringIO()
    lines = PlainLines(stream, interval=0.0, clock=clock)
    count = count_parts(heard.append, "collecting, in percent", 1000)
    for rows in (4, 8, 300, 700):
        count(rows)
    assert [(one.epoch, one.epochs, one.learns) for one in heard] == [
        (0, 100, False),
        (30, 100, False),
        (99, 100, False),
    ]
    for one in heard:
        clock.now += 10.0
        lines(one)
    assert stream.getvalue().splitlines() == [
        "collecting, in percent: 1/100",
        "collecting, in percent: 31/100, 23 s left",
        "collecting, in percent: 100/100, 0 s left",
    ]
