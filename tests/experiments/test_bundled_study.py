"""The worlds behind the bundled logs are those that made the logs; the study's table."""

from __future__ import annotations

import numpy as np
import pytest

from nacre import examples
from nacre.estimators import exact
from nacre.experiments import bundled_study
from nacre.experiments.bundled_worlds import HABIT, Clinic, Shop, make_machine
from nacre.experiments.calibration.simulation import VectorWorld, roll_out
from nacre.logs import read_log

N = 400


def softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


@pytest.mark.parametrize(("name", "world"), [("treatment", Clinic()), ("offers", Shop())])
def test_worlds_pay_what_the_logs_hold(name: str, world: VectorWorld) -> None:
    """Mean rewards and next states of the first six steps, within five standard errors."""
    rng = np.random.default_rng(0)

    def act(seen: np.ndarray, number: int) -> np.ndarray:
        chances = softmax(world.mislead(seen.astype(np.float64)))
        return np.asarray((rng.random(len(seen))[:, None] > chances.cumsum(axis=1)).sum(axis=1))

    sources = examples.find_sources(name)
    log = read_log(sources.log, columns=sources.columns)
    steps = np.concatenate([np.arange(n) for n in log.episode_lengths])
    for number, step in enumerate(roll_out(world, act, 10 * N, 6, 5)):
        rows = steps == number
        drawn = np.column_stack([step.rewards, step.following])[step.running]
        logged = np.column_stack([log.rewards[rows], log.next_observations[rows]])
        # The last step of an episode has no next state of its own in the file.
        inner = ~(log.terminated | log.truncated)[rows]
        error = drawn.std(axis=0) * np.sqrt(1 / len(drawn) + 1 / inner.sum())
        apart = np.abs(drawn.mean(axis=0) - logged[inner].mean(axis=0))
        assert np.all(apart <= 5 * error + 0.02)


def test_the_machine_is_the_tour_s() -> None:
    """The tour says that no rule earns more than 16.6 net: checked to half a unit."""
    world = make_machine()
    best = exact.optimal_policy(world)
    assert best.argmax(axis=1).tolist() == [0, 0, 2, 2]
    gain = exact.start_value(world, best) - exact.start_value(world, np.array(HABIT))
    assert gain - 0.9 == pytest.approx(16.6, abs=0.5)


def test_tables_tell_shares_and_what_was_dropped() -> None:
    def candidate(name: str, gain: float, problem: str = "") -> dict[str, object]:
        return {"name": name, "net_gain": gain, "problem": problem}

    records = [
        {
            "example": "trolley",
            "learners": "quick",
            "there": 10.0,
            "finalists": [{"net_gain": gain}, {"net_gain": 1.0}],
            "candidates": [candidate("a", gain), candidate("b", -1.0, "It fell.")],
        }
        for gain in (9.5, 8.0)
    ]
    table = bundled_study.write_table(records)
    assert "| trolley | quick | 10.0 | 8.8 (least 8.0) | 1 of 2 | a 8.8; b dropped |" in table
    runs = bundled_study.list_runs([100, 101])
    assert len(runs) == 2 * (2 * len(bundled_study.EXAMPLES) - 1)
