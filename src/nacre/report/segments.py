"""Segments in words: who gains, who loses, and of whom the log cannot tell."""

from __future__ import annotations

from collections.abc import Sequence

from nacre.advice.record import CandidateEntry, SegmentEntry
from nacre.report.text import clean, format_share

STARTS = "start states"


def name_column(column: str) -> str:
    """The column, or that these are start states."""
    return clean(column) or STARTS


def state_shares(entries: Sequence[SegmentEntry]) -> list[str]:
    """A sentence for each column: how many segments are proven better and worse, with shares."""
    sentences = []
    for column in dict.fromkeys(one.column for one in entries):
        some = [one for one in entries if one.column == column]
        better, worse = (
            [one for one in some if one.answer == word] for word in ("better", "worse")
        )
        least, most = _add_up(worse), _add_up([one for one in some if one not in better])
        share = least if least == most else f"between {least} and {most}"
        sentences.append(
            f"{name_column(column)}: {len(better)} of {len(some)} segments proven better, "
            f"{len(worse)} proven worse; {share} of the episodes lie in segments made worse"
        )
    return sentences


def _add_up(entries: Sequence[SegmentEntry]) -> str:
    return format_share(sum(one.share for one in entries))


def state_segments(candidate: CandidateEntry) -> list[str]:
    """A line for each column, for terminals."""
    shares = state_shares(candidate.segments)
    return [f"segments    {one}".replace("\u00a0", " ") for one in shares]
