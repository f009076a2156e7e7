"""Guardrails of an advice: two rooms with further outcomes whose values are known exactly."""

from __future__ import annotations

import dataclasses
import functools
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nacre.advice.guardrails import open_outcome, take_outcome
from nacre.advice.pipeline import advise
from nacre.advice.plan import plan_tasks
from nacre.advice.record import GuardrailEntry, check_decision
from nacre.advice.result import Advice
from nacre.advice.tasks import check_log, prepare_overlap, split_log
from nacre.costs import GuardrailTerms, SwitchingCost, ValueTerms, write_cost
from nacre.costs.fit import check_guardrails
from nacre.errors import InputError
from nacre.estimators import exact
from nacre.logs import Log, read_log
from tests.support.estimates import make_estimate
from tests.support.rooms import (
    BEST,
    DISCOUNT,
    GIVEN_ALONE,
    OLD,
    WORLD,
    Table,
    make_candidate,
    make_cost,
    make_policy,
    make_rooms_log,
    make_setting,
)

MOVES: Table = np.array([[0.0, 1.0], [0.0, 1.0]])
"""Each change of rooms; the best policy changes once and stays."""
NOISE: Table = np.array([[0.0, 0.0], [1.0, 1.0]])
"""Each step in the second room, where the best policy stays."""


@functools.cache
def make_log() -> Log:
    """The old policy's, with both outcomes."""
    log = make_rooms_log()
    pairs = np.asarray(log.observations), np.asarray(log.actions)
    return dataclasses.replace(log, columns={"moves": MOVES[pairs], "noise": NOISE[pairs]})


def find_change(outcome: Table) -> float:
    """The best policy's value of an outcome less the old one's, by linear solves."""
    world = dataclasses.replace(WORLD, reward=outcome)
    return float(exact.start_value(world, BEST) - exact.start_value(world, OLD))


def guard_cost(*guardrails: GuardrailTerms, **terms: Any) -> SwitchingCost:
    return dataclasses.replace(make_cost(0.1), terms=ValueTerms(guardrails=guardrails, **terms))


@functools.cache
def ask(*guardrails: GuardrailTerms) -> Advice:
    return advise(
        make_log(),
        make_policy(OLD),
        guard_cost(*guardrails),
        candidates=[make_candidate("best", BEST)],
        config=GIVEN_ALONE,
        seed=103,
    )


def find_entry(*guardrails: GuardrailTerms) -> GuardrailEntry:
    return ask(*guardrails).record.chosen_entry.guardrails[0]


HELD = GuardrailTerms("moves", 0.0)
BROKEN = GuardrailTerms("noise", 0.5)
OPEN = GuardrailTerms("noise", find_change(NOISE))
"""Exactly what the best policy adds."""


def test_the_world_is_what_the_guardrails_need() -> None:
    assert find_change(MOVES) < -1.0
    assert find_change(NOISE) > 1.0


@pytest.mark.parametrize(
    ("terms", "verdict"), [(HELD, "switch"), (BROKEN, "keep"), (OPEN, "undecided")]
)
def test_the_answer_follows_from_known_values(terms: GuardrailTerms, verdict: str) -> None:
    record, entry = ask(terms).record, find_entry(terms)
    assert record.verdict == verdict
    assert (entry.held, entry.broken) == (verdict == "switch", verdict == "keep")
    truth = find_change(MOVES if terms.column == "moves" else NOISE)
    assert entry.change.low is not None
    assert entry.change.high is not None
    assert entry.change.low < truth < entry.change.high
    assert entry.allowed == pytest.approx(terms.worst)
    if verdict != "switch":
        assert terms.column in record.reason
        assert record.probability <= 0.95


def test_all_of_them_have_to_hold() -> None:
    both = ask(HELD, OPEN).record
    assert both.verdict == "undecided"
    assert "the guardrail noise is not proven" in both.reason
    assert [one.held for one in both.chosen_entry.guardrails] == [True, False]
    # What each says does not depend on the others; upper bounds share the level.
    alone = find_entry(HELD)
    assert both.chosen_entry.guardrails[0].estimates == alone.estimates


def test_the_gain_is_the_same_with_and_without() -> None:
    with_one, without = ask(HELD).record, ask().record
    assert with_one.chosen_entry.estimates == without.chosen_entry.estimates
    assert with_one.net_gain.low == without.net_gain.low
    assert without.chosen_entry.guardrails == ()


def test_more_is_better_where_it_is_said_so() -> None:
    terms = GuardrailTerms("noise", 0.0, better="higher")
    entry, lower = find_entry(terms), find_entry(OPEN)
    assert entry.held
    assert entry.change.mean == pytest.approx(lower.change.mean)
    assert entry.estimates[0].gain == pytest.approx(-(lower.estimates[0].gain or 0.0))


def test_a_share_is_of_what_the_old_policys_episodes_show() -> None:
    entry = find_entry(GuardrailTerms("noise", 2.0, relative=True))
    returns = take_outcome(make_log(), "noise").returns(DISCOUNT)
    assert entry.old_value == pytest.approx(returns.mean(), rel=1e-3)
    assert entry.old_error is not None
    assert entry.old_value is not None
    assert entry.old_error > 0
    assert entry.allowed is not None
    assert 0 < entry.allowed < 2.0 * entry.old_value


def test_a_share_of_an_unknown_outcome_allows_nothing() -> None:
    """Where the next episode starts elsewhere, the log's own episodes are no answer."""
    advice = advise(
        make_log(),
        make_policy(OLD),
        guard_cost(GuardrailTerms("noise", 9.0, relative=True)),
        np.array([1]),
        candidates=[make_candidate("best", BEST)],
        config=GIVEN_ALONE,
        seed=103,
    )
    (entry,) = advice.record.chosen_entry.guardrails
    assert (entry.old_value, entry.allowed, entry.held, entry.broken) == (None, 0.0, False, False)


def test_a_horizon_changes_the_gain_and_not_the_guardrail() -> None:
    cost = guard_cost(HELD, episodes_per_day=10.0, horizon_days=10.0)
    advice = advise(
        make_log(),
        make_policy(OLD),
        cost,
        candidates=[make_candidate("best", BEST)],
        config=GIVEN_ALONE,
        seed=103,
    )
    assert advice.record.chosen_entry.guardrails == ask(HELD).record.chosen_entry.guardrails


def test_the_record_is_read_again_and_says_the_same() -> None:
    record = ask(HELD, BROKEN).record
    again = check_decision(record.as_json())
    assert again == record
    evidence = again.chosen_entry.as_evidence()
    level = again.interval_level
    assert [one.terms for one in evidence.guardrails] == [HELD, BROKEN]
    assert [one.terms for one in evidence.find_broken(level)] == [BROKEN]
    assert again.chosen_entry.broken == ("noise",)
    assert not again.chosen_entry.held
    document = record.as_json()
    document["candidates"][0]["guardrails"][0]["column"] = "\n" * 99
    strange = check_decision(document).chosen_entry.as_evidence()
    assert strange.find_broken(level) == evidence.find_broken(level)


def test_what_lies_outside_is_charged_by_all_that_was_seen() -> None:
    log = make_log()
    rare = np.zeros(len(log))
    rare[7] = 5.0
    setting = make_setting(log=dataclasses.replace(log, columns={"rare": rare}))
    checks = check_log(setting, report=None)
    split = split_log(setting, checks=checks, report=None)
    terms = GuardrailTerms("rare", 1.0)
    outcome = open_outcome(setting, terms, split=split, checks=checks, report=None)
    overlap = prepare_overlap(setting, split=split, report=None).measure(make_policy(BEST))
    adapted = outcome.adapt(overlap)
    seen = take_outcome(split.test, "rare", -1.0).returns_to_go(DISCOUNT)
    assert (adapted.least, adapted.most) == (min(0.0, float(seen.min())), 0.0)
    assert adapted.excess == overlap.excess
    assert outcome.old_mean > 0
    assert math.isfinite(outcome.old_error)
    # Engines send it to other processes.
    sent = pickle.loads(pickle.dumps(outcome))  # noqa: S301 - our own
    assert (sent.terms, sent.least, sent.old_mean) == (terms, outcome.least, outcome.old_mean)
    np.testing.assert_array_equal(sent.test.rewards, outcome.test.rewards)
    # One episode at most has it: too few to say anything.
    assert outcome.events <= 1
    (estimate,) = outcome.as_evidence([make_estimate(0.0)]).estimates
    assert not estimate.informative
    assert "episodes have another outcome than most" in estimate.reason
    some = dataclasses.replace(outcome, events=12)
    assert some.as_evidence([make_estimate(0.0)]).estimates[0].degrees == 11.0


def test_every_guardrail_has_the_same_tasks() -> None:
    setting = dataclasses.replace(make_setting(GIVEN_ALONE), cost=guard_cost(HELD, OPEN))
    names = [task.name for task in plan_tasks(setting, [make_candidate("best", BEST)])]
    for name in ("prepare tabular", "estimate tabular 0"):
        assert [one for one in names if one.endswith(name)] == [
            name,
            f"guardrail 0 {name}",
            f"guardrail 1 {name}",
        ]


def test_a_column_that_is_not_there_is_told_with_those_that_are() -> None:
    (problem,) = check_guardrails(make_log(), [GuardrailTerms("noises")])
    assert problem == (
        "guardrail: the column 'noises' is not a further column of the log: there are 'moves', "
        "'noise'; name one of the log's own"
    )
    (problem,) = check_guardrails(make_rooms_log(), [GuardrailTerms("noise")])
    assert "it has none" in problem


def test_numbers_that_cannot_be_added_are_told() -> None:
    log = make_log()
    gap = np.array(log.columns["noise"])
    gap[3] = np.nan
    log = dataclasses.replace(log, columns={"gap": gap, "two": np.zeros((len(log), 2))})
    problems = check_guardrails(log, [GuardrailTerms("gap"), GuardrailTerms("two")])
    assert "the column 'gap' is nan in row 3" in problems[0]
    assert "the column 'two' has 2 numbers a row" in problems[1]


def test_a_file_with_words_in_the_column_is_told(tmp_path: Path) -> None:
    lines = ["episode,observation,action,reward,terminated,mood"]
    lines += [f"{row},0,{row % 2},1.0,true,good" for row in range(8)]
    path, cost = tmp_path / "log.csv", tmp_path / "cost.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    write_cost(guard_cost(GuardrailTerms("mood")), cost)
    assert read_log(path).columns == {}
    with pytest.raises(InputError) as caught:
        advise(path, make_policy(OLD[:1]), cost, config=GIVEN_ALONE)
    assert "the column 'mood' was left out of the log (not numeric); write numbers there" in str(
        caught.value
    )
