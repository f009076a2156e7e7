"""Who gains: the same estimators on each segment of the test part, with bounds that hold together.

A segment named by a column is estimated from its own episodes alone. A start state is estimated
from all of them, as the estimators know how to start anywhere.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from nacre.advice import tasks
from nacre.advice.record import Interval, SegmentEntry
from nacre.advice.setting import Setting, Split
from nacre.costs.segment_terms import SegmentTerms
from nacre.errors import InputError
from nacre.estimators.base import Estimate
from nacre.inference.intervals import find_centre, find_hull, list_informative
from nacre.learners.base import Candidate
from nacre.logs import Log
from nacre.logs.segments import Segment, segment_by_column, segment_by_start
from nacre.parallel.graph import Task

LEAST_EPISODES = 10
"""Of the test part; fewer say nothing about a segment."""
Estimates = tuple[tuple[Estimate, ...], ...]
"""Of one segment: for each finalist what every estimator says."""


def list_segments(log: Log, terms: SegmentTerms, given_start: bool = False) -> list[Segment]:
    """The segments that are asked for; none where nothing is said.

    Raises:
        InputError: If the log cannot be segmented so.
    """
    if given_start and terms.as_json():
        raise InputError(
            "segments: they are read off the log's own starts, and another start is given; leave "
            "out one of the two"
        )
    by_column = segment_by_column(log, terms.column) if terms.column else []
    return by_column + (segment_by_start(log) if terms.start_states else [])


def name_segment(number: int) -> str:
    """The task of a segment."""
    return f"segment {number}"


def plan_segments(setting: Setting) -> list[Task]:
    """A task for each segment; all finalists are compared in it."""
    segments = list_segments(setting.log, setting.cost.terms.segments, setting.given_start)
    return [
        Task(
            name_segment(number),
            partial(estimate_segment, setting, segment),
            {"split": "split", "finalists": "finalists"},
            work=4.0,
        )
        for number, segment in enumerate(segments)
    ]


def estimate_segment(
    setting: Setting,
    segment: Segment,
    *,
    split: Split,
    finalists: tuple[Candidate, ...],
    report: Any,
) -> Estimates:
    """What every estimator says of each finalist in one segment, less what lies outside of it."""
    if segment.state is None:
        part = _take(split, segment)
        if part is None:
            return ((),) * len(finalists)
    else:
        start = np.asarray(setting.log.starts)[segment.episodes[:1]]
        setting, part = dataclasses.replace(setting, start=start, given_start=True), split
    meter = tasks.prepare_overlap(setting, split=part, report=report)
    overlaps = [meter.measure(one.policy) for one in finalists]
    found = tasks.estimate_candidates(setting, part, finalists, overlaps, report=report)
    return tuple(tuple(some) for some in found)


def _take(split: Split, segment: Segment) -> Split | None:
    """The split with the segment's episodes as its test part; none where there are few."""
    assert split.log is not None and split.episodes is not None  # noqa: S101, PT018 - of a log
    learning, test = split.episodes
    own = test[np.isin(test, segment.episodes)]
    if len(own) < LEAST_EPISODES:
        return None
    return Split.take(split.log, (learning, own), split.old_policy)


def enter_segments(
    setting: Setting, results: Mapping[str, Any], place: int, level: float
) -> tuple[SegmentEntry, ...]:
    """A finalist's segments as the record holds them.

    Args:
        setting: The setting.
        results: Of the graph.
        place: Of the finalist.
        level: One-sided, at which all lower bounds hold together, and all upper ones.
    """
    segments = list_segments(setting.log, setting.cost.terms.segments, setting.given_start)
    each = 1.0 - (1.0 - level) / max(1, len(segments))
    entries = []
    for number, segment in enumerate(segments):
        estimates = results[name_segment(number)][place]
        low, high = find_hull(estimates, each)
        usable = list_informative(estimates)
        entries.append(
            SegmentEntry(
                column=segment.column,
                label=segment.label,
                episodes=len(segment.episodes),
                share=len(segment.episodes) / setting.log.n_episodes,
                gain=Interval.of(find_centre(usable) if usable else None, low, high),
                basis=tuple(one.estimator for one in usable),
                reason="" if usable else _find_reason(estimates),
            )
        )
    return tuple(entries)


def _find_reason(estimates: Sequence[Estimate]) -> str:
    reasons = dict.fromkeys(f"{one.estimator}: {one.reason}" for one in estimates)
    return "; ".join(reasons) or f"fewer than {LEAST_EPISODES} episodes to test on"


def describe_segments(entries: Sequence[SegmentEntry]) -> dict[str, Any]:
    """How many segments of each column are better, worse, or not known, with bounds of the shares.

    At least the segments that are proven to lose are worse, and at most those that are not proven
    to gain: both shares are bounds that hold whenever all intervals do.
    """
    described = []
    for column in dict.fromkeys(one.column for one in entries):
        some = [one for one in entries if one.column == column]
        better = [one for one in some if one.answer == "better"]
        worse = [one for one in some if one.answer == "worse"]
        described.append(
            {
                "column": column,
                "segments": len(some),
                "better": len(better),
                "worse": len(worse),
                "share_worse": {"low": len(worse) / len(some), "high": 1 - len(better) / len(some)},
                "episodes_worse": {
                    "low": math.fsum(one.share for one in worse),
                    "high": max(0.0, 1.0 - math.fsum(one.share for one in better)),
                },
            }
        )
    return {"segments": described} if described else {}
