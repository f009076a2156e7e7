"""Learning curves, where something was learned."""

from __future__ import annotations

import numpy as np

from nacre.advice.record import DecisionRecord
from nacre.report.evidence import Evidence
from nacre.report.sections.base import build_context
from nacre.report.sections.learning import Learning

CURVES = Evidence(
    curve_names=("nac-0.3", "b"),
    curves=np.asarray([[1.0, 2.0], [3.0, np.nan]]),
    stop_reasons=("enough", "<worse>"),
)


def test_every_candidate_has_a_curve_and_the_chosen_one_stands_out(record: DecisionRecord) -> None:
    page = str(Learning().render(build_context(record, CURVES)))
    assert page.count("<polyline") == 2
    assert page.count('class="curve new"') == 1
    assert "<bdi>b</bdi>: <bdi>&lt;worse&gt;</bdi>" in page


def test_nothing_is_drawn_of_nothing(record: DecisionRecord) -> None:
    assert Learning().render(build_context(record)) is None
    lost = Evidence(curve_names=("a",), curves=np.full((1, 3), np.nan))
    assert Learning().render(build_context(record, lost)) is None
