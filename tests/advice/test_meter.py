"""How much of an advice is done."""

from __future__ import annotations

import pytest

from nacre.advice.meter import Meter
from nacre.training.progress import ProgressEvent


def make_meter() -> tuple[Meter, list[ProgressEvent]]:
    heard: list[ProgressEvent] = []
    return Meter(lambda event: heard.append(event), {"read": 1.0, "learn": 3.0}), heard


def test_tasks_count_by_their_work() -> None:
    meter, heard = make_meter()
    assert meter.share == 0.0
    learn = meter.listen("learn")
    learn(ProgressEvent("nac: epoch", 0, 2, 10, 0.5, 1.0))
    assert meter.share == pytest.approx(3 / 8)
    assert heard == [ProgressEvent("nac: epoch", 0, 2, 10, 0.5, 1.0, share=3 / 8)]
    # A second stage of the same task begins again from nothing: the share does not fall.
    learn(ProgressEvent("nac: another", 0, 4, 10))
    assert meter.share == pytest.approx(3 / 8)
    meter.finish("learn")
    assert meter.share == pytest.approx(3 / 4)


def test_the_last_task_ends_at_one_and_says_so() -> None:
    meter, heard = make_meter()
    meter.finish("learn")
    assert not heard
    meter.finish("read")
    assert heard == [ProgressEvent("decision", 0, 1, 0, share=1.0)]


def test_a_stage_that_only_begins_has_done_nothing() -> None:
    meter, heard = make_meter()
    meter.listen("read")(ProgressEvent("reading", -1, 5, 0))
    assert heard[0].share == 0.0


def test_once_stopped_every_task_ends_at_its_next_event() -> None:
    meter, heard = make_meter()
    read = meter.listen("read")
    read(ProgressEvent("reading", 0, 5, 0))
    meter.stop()
    with pytest.raises(KeyboardInterrupt):
        read(ProgressEvent("reading", 1, 5, 0))
    assert len(heard) == 1


def test_what_is_no_work_is_done() -> None:
    assert Meter(lambda tick: None, {}).share == 1.0
