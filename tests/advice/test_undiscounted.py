"""γ = 1 where every episode ends: a corridor whose undiscounted values are known exactly."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from nacre.advice.config import AdviceConfig, settle_discount, stand_for_one
from nacre.advice.pipeline import advise
from nacre.advice.record import check_decision
from nacre.advice.result import Advice
from nacre.costs import GuardrailTerms, SegmentTerms, ValueTerms
from nacre.estimators.tabular import Tabular
from nacre.logs import Log
from nacre.report.sections.record import write_command
from nacre.simulators import FiniteWorld
from tests.support.rooms import Table, make_candidate, make_cost, make_policy

STATES = 4


def make_world() -> FiniteWorld:
    """Left or right; each step costs one, and the last door on the right is the end."""
    moves = np.zeros((STATES, 2, STATES))
    for state in range(STATES):
        moves[state, 0, max(0, state - 1)] = 1.0
        moves[state, 1, min(STATES - 1, state + 1)] = 1.0
    ends = np.zeros((STATES, 2))
    ends[-1, 1] = 1.0
    return FiniteWorld(moves, np.full((STATES, 2), -1.0), 0.99, np.eye(STATES)[0], ends)


WORLD = make_world()
OLD: Table = np.full((STATES, 2), 0.5)
FASTER: Table = np.tile([0.2, 0.8], (STATES, 1))
SLOWER: Table = np.tile([0.6, 0.4], (STATES, 1))
CONFIG = AdviceConfig(learners=(), estimators=(Tabular(replicates=100),))


def find_value(table: Table) -> float:
    """The mean number of steps, less than nothing, by a linear solve without a discount."""
    stays = np.einsum("sa,sat->st", table * (1.0 - WORLD.termination), WORLD.transition)
    return float(np.linalg.solve(np.eye(STATES) - stays, (table * WORLD.reward).sum(axis=1))[0])


def make_log(seed: int) -> Log:
    log = WORLD.sample_log(OLD, 6000, seed=seed, horizon=100_000)
    return log.select(np.flatnonzero(log.terminated[log.offsets[1:] - 1]))


def ask(log: Log, table: Table, terms: ValueTerms | None = None) -> Advice:
    return advise(
        log,
        make_policy(OLD),
        dataclasses.replace(make_cost(0.1), terms=terms or ValueTerms()),
        candidates=[make_candidate("candidate", table)],
        config=CONFIG,
        discount=1.0,
        seed=100,
        progress=False,
    )


@pytest.mark.parametrize(("table", "verdict"), [(FASTER, "switch"), (SLOWER, "keep")])
def test_the_undiscounted_gain_is_found(table: Table, verdict: str) -> None:
    for seed in (100, 101):
        record = ask(make_log(seed), table).record
        truth = find_value(table) - find_value(OLD) - record.cost.total
        assert record.verdict == verdict
        assert record.net_gain.low is not None
        assert record.net_gain.high is not None
        assert record.net_gain.low < truth < record.net_gain.high
        assert any("a discount of 1 is stood for by 0.99" in note for note in record.notes)
        assert "--discount 1 " in write_command(check_decision(record.as_json()))


def test_what_the_discount_takes_away_is_small_and_charged() -> None:
    log = make_log(100)
    discount = stand_for_one(log)
    lost = 1.0 - float(np.sum(log.returns(discount)) / np.sum(log.returns(1.0)))
    assert 0.0 < lost <= 0.02
    assert settle_discount(dataclasses.replace(CONFIG, discount=1.0), log).discount == discount
    (charged,) = ask(log, FASTER).record.chosen_entry.estimates
    plain = dataclasses.replace(CONFIG, discount=discount)
    (same,) = advise(
        log,
        make_policy(OLD),
        make_cost(0.1),
        candidates=[make_candidate("candidate", FASTER)],
        config=plain,
        seed=100,
        progress=False,
    ).record.chosen_entry.estimates
    assert charged.gain == same.gain
    test = log.split(CONFIG.learning_share, seed=100)[1]
    room = 2.0 * float(np.mean(test.returns(discount) - test.returns(1.0)))
    assert charged.overlap_penalty == pytest.approx((same.overlap_penalty or 0.0) + room, rel=1e-4)


def test_guardrails_and_segments_are_charged_alike() -> None:
    log = make_log(101)
    log = dataclasses.replace(log, columns={"steps": np.ones(len(log))})
    terms = ValueTerms(guardrails=(GuardrailTerms("steps"),), segments=SegmentTerms("", True))
    chosen = ask(log, FASTER, terms).record.chosen_entry
    truth = find_value(FASTER) - find_value(OLD)
    change, gain = chosen.guardrails[0].change, chosen.segments[0].gain
    assert change.low is not None
    assert change.high is not None
    assert change.low < -truth < change.high
    assert gain.low is not None
    assert gain.high is not None
    assert gain.low < truth < gain.high


def test_a_log_without_rewards_needs_no_care() -> None:
    log = make_log(102)
    empty = dataclasses.replace(log, rewards=np.zeros_like(log.rewards))
    assert stand_for_one(empty) == 0.99
