"""Arrays beside the decision: kept, read back, refused when damaged; where the change happens."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

from nacre import examples
from nacre.costs import FiniteStates, TransportCost, groups
from nacre.errors import InputError
from nacre.policies import TabularPolicy
from nacre.report import Evidence, examine_change, read_evidence, write_evidence
from nacre.report.document import check_decision
from nacre.report.evidence_charts import draw_evidence
from nacre.simulators import random_world
from tests.report.conftest import DOCUMENT, EXAMPLE

FULL = Evidence(
    returns=np.asarray([1.0, 2.0, 4.0]),
    old_members=np.asarray([2.0, 2.5]),
    curve_names=("a", "b"),
    curves=np.asarray([[1.0, 2.0], [3.0, np.nan]]),
    stop_reasons=("enough", "worse"),
    state_names=("one",),
    state_costs=np.asarray([0.5]),
    action_names=("left", "right"),
    old_actions=np.asarray([[0.2, 0.8]]),
    new_actions=np.asarray([[0.9, 0.1]]),
    concentration=np.linspace(0, 1, 21),
    state_gains=np.asarray([1.5]),
    gain_concentration=np.linspace(0, 1, 21) ** 0.5,
)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    write_evidence(FULL, tmp_path / "evidence.npz")
    found = read_evidence(tmp_path)
    for name in Evidence.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(found, name), getattr(FULL, name))


def test_a_folder_without_arrays_gives_none(tmp_path: Path) -> None:
    found = read_evidence(tmp_path)
    assert found.returns.size == found.curves.size == 0
    write_evidence(found, tmp_path / "evidence.npz")
    assert read_evidence(tmp_path).state_names == ()


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04broken"])
def test_damaged_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "evidence.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"evidence.npz: cannot be read"):
        read_evidence(tmp_path)


def test_pickled_arrays_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "evidence.npz", returns=np.asarray([{"a": 1}], dtype=object))
    with pytest.raises(InputError, match=r"evidence.npz: cannot be read"):
        read_evidence(tmp_path)


def test_arrays_that_would_fill_the_memory_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "evidence.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("returns.npy", b"\0" * 20_000_000)
    with pytest.raises(InputError, match=r"'returns.npy' has more than"):
        read_evidence(tmp_path)


def test_words_for_numbers_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "evidence.npz", returns=np.asarray(["many", "few"]))
    with pytest.raises(InputError, match=r"evidence.npz: could not convert"):
        read_evidence(tmp_path)


def test_shapes_have_to_fit() -> None:
    with pytest.raises(InputError) as caught:
        Evidence(returns=np.zeros((2, 2)), curves=np.zeros((2, 2)), stop_reasons=("a", "b", "c"))
    assert [problem.split()[1] for problem in caught.value.problems] == ["returns", "curves", "3"]


def test_nothing_is_drawn_of_nothing() -> None:
    drawn = draw_evidence(Evidence(), check_decision(DOCUMENT))
    assert drawn.returns is drawn.curves is drawn.concentration is None
    assert drawn.states == drawn.stop_reasons == []


def test_everything_is_drawn_of_everything() -> None:
    drawn = draw_evidence(FULL, check_decision(DOCUMENT))
    assert str(drawn.returns).count("point new") == 2
    assert str(drawn.curves).count("<polyline") == 2
    assert drawn.stop_reasons == [("a", "enough"), ("b", "worse")]
    assert [(name, facts) for name, facts, _ in drawn.states] == [("one", "cost 0.5, gain 1.5")]
    assert "90\u00a0%" in drawn.states[0][2]
    assert drawn.concentration == (
        "The dearest tenth of the states bears 10\u00a0% of the cost. The tenth that gains most "
        "brings 32\u00a0% of what first actions gain."
    )


def test_constant_returns_and_lost_curves_can_be_drawn() -> None:
    lost = Evidence(returns=np.ones(5), curve_names=("a",), curves=np.full((1, 3), np.nan))
    drawn = draw_evidence(lost, check_decision(DOCUMENT))
    assert drawn.returns is not None
    assert drawn.curves is None


def test_the_change_is_where_the_policies_differ() -> None:
    world = random_world(3, 5, 4, discount=0.9, terminating=False)
    old = np.full((5, 4), 0.25)
    new = old.copy()
    new[2] = [1.0, 0.0, 0.0, 0.0]
    cost = TransportCost(4.0, 1.0, groups.halves(), state_measure=FiniteStates())
    log = world.sample_log(old, 400, seed=0, horizon=50)
    change = examine_change(
        TabularPolicy.from_probabilities(old), TabularPolicy.from_probabilities(new), cost, log
    )
    assert change.state_names[0] == "dearest: state 2"
    # Half of the mass moves to the other group: 4 · 1/2 + 1 · 1/2. Elsewhere all of it stays.
    np.testing.assert_allclose(change.state_costs[[0, -1]], [2.5, 1.0], atol=1e-5)
    np.testing.assert_allclose(change.new_actions[0], [1, 0, 0, 0], atol=1e-5)
    assert change.action_names == ("action 0", "action 1", "action 2", "action 3")
    visited = float(np.mean(np.asarray(log.observations) == 2))
    expected = 2.5 * visited / (2.5 * visited + (1 - visited))
    place = np.interp(visited, np.linspace(0, 1, 21), change.concentration)
    assert place == pytest.approx(expected, abs=0.03)
    assert Evidence(**change.as_fields()).action_names == change.action_names


def test_action_vectors_are_told_by_their_groups() -> None:
    example = examples.load()
    change = examine_change(example.old_policy, example.new_policy, example.cost, example.log)
    assert change.action_names == example.cost.statewise.group_names(
        example.new_policy.action_space
    )
    np.testing.assert_allclose(change.old_actions.sum(axis=1), 1.0, atol=1e-5)
    assert change.state_names[0].startswith("dearest: (")
    assert np.all(np.diff(change.state_costs) <= 0)
    assert change.concentration[0] == 0.0
    assert change.concentration[-1] == pytest.approx(1.0)


def test_the_kept_example_can_be_read() -> None:
    found = read_evidence(EXAMPLE)
    assert len(found.state_names) == 4
