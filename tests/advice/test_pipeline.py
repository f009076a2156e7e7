"""Advice from end to end on a small finite world whose answers are known."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from pathlib import Path
from typing import Any

import gymnasium
import jax
import numpy as np
import pytest
from nacre.diagnostics.action_support import Support

from nacre.advice import config as advice_config
from nacre.advice import court, school
from nacre.advice import pipeline as advisor
from nacre.advice.config import AdviceConfig, Lesson, suggest_config
from nacre.advice.pipeline import advise
from nacre.advice.result import Advice
from nacre.costs import SwitchingCost, TransportCost, groups
from nacre.errors import InputError
from nacre.estimators import exact
from nacre.learners import ActorConfig, LearnerConfig, Plateau, ProgressEvent, default, paper
from nacre.learners.scale_noise import Candidate
from nacre.logs import Log
from nacre.parallel import local as engines
from nacre.policies import TabularPolicy, fingerprint, read_policy
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Signature
from nacre.report.document import read_decision
from nacre.report.evidence import read_evidence
from nacre.simulators import FiniteWorld
from nacre.training.backup import CriticConfig
from nacre.training.fitted_evaluation import EvaluationConfig
from nacre.training.returns import value_from_returns

DISCOUNT = 0.8
# Two rooms. The first action stays where one is, the second changes rooms; only staying in the
# second room pays. It starts in the first.
WORLD = FiniteWorld(
    transition=np.stack([np.eye(2), np.eye(2)[::-1]], axis=1),
    reward=np.array([[0.0, 0.0], [1.0, 0.0]]),
    discount=DISCOUNT,
    start=np.array([1.0, 0.0]),
)
OLD = np.full((2, 2), 0.5)
BEST = np.array([[0.02, 0.98], [0.98, 0.02]])
WORSE = np.array([[0.999, 0.001], [0.001, 0.999]])
NAMES = ("observations", "actions", "rewards", "terminated", "truncated", "next_observations")

CRITICS = CriticConfig(
    hidden=(), scale_returns=True, learning_rate=0.03, polyak=0.8, backup="own", batch_size=64
)
JUDGES = EvaluationConfig(
    dataclasses.replace(CRITICS, n_critics=4),
    epochs=4,
    steps_per_epoch=100,
    prefit_steps=100,
    combine="mean",
    averaged=True,
    bootstrap=True,
)
CONFIG = AdviceConfig(
    LearnerConfig(
        discount=DISCOUNT,
        critics=dataclasses.replace(CRITICS, backup="mean"),
        actor=ActorConfig(states="log", combine="mean", learning_rate=0.05),
        stopping=None,
        epochs=3,
        steps_per_epoch=100,
        prefit_steps=100,
        n_cost_states=16,
    ),
    kl_weights=(0.02,),
    learned_noise=1.0,
    calm_factors=(0.3,),
    judges=JUDGES,
    spread_scale=1.0,
    doubt_share=0.0,
    thrift=None,
)
CHEAP, DEAR = 0.1, 50.0


def price(weight: Any) -> SwitchingCost:
    """Each action a group of its own."""
    return TransportCost(weight, 0.0, groups.indices([[0], [1]]))


def policy(table: np.ndarray) -> TabularPolicy:
    return TabularPolicy.from_probabilities(table)


@functools.cache
def log_of(kind: str = "old") -> Log:
    """Thirty episodes of fifty steps: all logs have one shape, and nothing is compiled twice."""
    return sample({"old": OLD, "worse": WORSE}[kind])


def sample(table: np.ndarray, world: FiniteWorld = WORLD) -> Log:
    return world.sample_log(table, 1500, seed=1, horizon=50)


def value(table: Any) -> float:
    rows = np.asarray(table, np.float64)
    return float(exact.start_value(WORLD, rows / rows.sum(axis=-1, keepdims=True)))


def ask(weight: Any = CHEAP, log: Log | None = None, **options: Any) -> Advice:
    given: dict[str, Any] = {"config": CONFIG, "seed": 3} | options
    return advise(log or log_of(), policy(OLD), price(weight), **given)


@functools.cache
def found(weight: float) -> Advice:
    return ask(weight)


def judged_alone(config: AdviceConfig = CONFIG, **changes: Any) -> AdviceConfig:
    """Nothing learned, nothing calmed: only what is brought is judged."""
    return dataclasses.replace(config, kl_weights=(), calm_factors=(), **changes)


# The three verdicts


def test_a_switch_that_pays_is_advised() -> None:
    advice = found(CHEAP)
    assert advice.verdict == "switch"
    assert advice.confidence > 0.95
    assert advice.policy is advice.new_policy
    # The truth by linear solves: the gain is real, and the interval is not far from it.
    true = value(advice.new_policy.table) - value(OLD) - advice.chosen.cost.total  # type: ignore[attr-defined]
    assert true > 0.5
    assert advice.net_gain.mean == pytest.approx(true, abs=0.4)
    assert advice.net_gain.low <= advice.net_gain.mean <= advice.net_gain.high
    assert advice.net_gain.low > 0
    assert advice.old_value.mean == pytest.approx(value(OLD), abs=0.3)
    assert advice.old_value.method == "returns of the log"
    assert "with 95 % confidence" in advice.judgement.reason


def test_a_prohibitive_price_keeps() -> None:
    advice = found(DEAR)
    assert advice.verdict == "keep"
    assert advice.policy is advice.old_policy
    assert advice.net_gain.mean <= 0
    assert advice.confidence < 0.5
    # Nothing depends on the price but what was learned for it.
    assert advice.old_value == found(CHEAP).old_value
    assert advice.fitted_old_value == found(CHEAP).fitted_old_value


def test_at_the_break_even_price_the_verdict_turns() -> None:
    advice = found(CHEAP)
    turning = advice.chosen.break_even.learning_weight
    assert turning is not None
    assert turning > CHEAP
    chosen = [advice.chosen.candidate]
    verdicts = [
        ask(weight, config=judged_alone(), candidates=chosen).verdict
        for weight in (0.99 * turning, 1.01 * turning)
    ]
    assert verdicts[0] == "switch"
    assert verdicts[1] != "switch"


def test_little_evidence_is_undecided_and_says_how_much_more() -> None:
    """Rewards with much noise, and a price that takes most of the gain."""
    noisy = sample(OLD, dataclasses.replace(WORLD, reward_noise=3.0))
    better = Candidate("better", policy(BEST), "by hand")
    free = ask(0.0, noisy, config=judged_alone(), candidates=[better]).chosen.gain
    mass = price(1.0).evaluate(policy(OLD), better.policy, noisy).total
    weight = (free.mean - 0.3 * (free.mean - free.bound(0.95))) / mass
    advice = ask(weight, noisy, config=judged_alone(), candidates=[better])
    assert advice.verdict == "undecided"
    assert advice.policy is advice.old_policy
    assert 0.5 < advice.confidence < 0.95
    # The gain is 0.3 of what it must exceed: (1 / 0.3)² - 1 times as many more.
    expected = (1 / 0.3**2 - 1) * noisy.n_episodes
    assert advice.judgement.more_episodes == pytest.approx(expected, rel=0.02)
    assert "is expected but not proven" in advice.judgement.reason
    # Who asks for less confidence gets a verdict.
    bolder = judged_alone(confidence=advice.confidence - 0.01)
    assert ask(weight, noisy, config=bolder, candidates=[better]).verdict == "switch"


# What is judged


def test_every_candidate_is_assessed() -> None:
    heard: list[ProgressEvent] = []
    mine = [Candidate("mine", policy(BEST), "by hand"), Candidate("bad", policy(WORSE), "by hand")]
    advice = ask(candidates=mine, reporter=heard.append)
    names = [one.candidate.name for one in advice.assessments]
    assert names == ["mine", "bad", "calm-0.3", "learned-0.02"]
    assert {event.stage for event in heard} == {
        "examining the log",
        "learning learned-0.02",
        "judging the old policy",
        *(f"judging {name}" for name in names),
    }
    shares = [event.share for event in heard]
    assert shares == sorted(shares)
    assert 0 < shares[0] < 0.5
    assert shares[-1] == pytest.approx(1.0)
    by_name = {one.candidate.name: one for one in advice.assessments}
    assert by_name["mine"].gain.mean > 0 > by_name["bad"].gain.mean
    assert advice.judgement.chosen in (0, 3)
    for name, table in (("mine", BEST), ("bad", WORSE)):
        true = value(table) - value(OLD) - by_name[name].cost.total
        assert by_name[name].gain.mean == pytest.approx(true, abs=0.5)
    # Calming an even choice changes nothing: the same critics, to the bit, and no gain.
    assert np.all(by_name["calm-0.3"].gain.differences == 0.0)
    # Bringing more does not change what is said of the others.
    alone = {one.candidate.name: one.gain.mean for one in found(CHEAP).assessments}
    assert alone["learned-0.02"] == by_name["learned-0.02"].gain.mean


def test_what_is_learned_can_be_proposed_with_less_noise() -> None:
    config = dataclasses.replace(CONFIG, learned_noise=0.5)
    plain, calmer = found(CHEAP).assessments[-1], ask(CHEAP, config=config).assessments[-1]
    assert calmer.candidate.origin == f"{plain.candidate.origin}, with 0.5 of its noise"
    before, after = (one.candidate.policy.table for one in (plain, calmer))
    squared = before**2
    np.testing.assert_allclose(after, squared / squared.sum(axis=-1, keepdims=True), rtol=1e-4)
    # Nothing else was learned.
    alike = dataclasses.replace(CONFIG, learned_noise=1.0)
    assert ask(CHEAP, config=alike).assessments[-1].gain.mean == plain.gain.mean


def test_a_frontier_moves_less_mass_where_learning_thought_it_dear() -> None:
    config = dataclasses.replace(CONFIG, cost_factors=(1.0, 1000.0))
    by_name = {one.candidate.name: one for one in ask(CHEAP, config=config).assessments}
    near, far = by_name["learned-0.02-cost1000"], by_name["learned-0.02"]
    assert near.cost.learning_mass < 0.5 * far.cost.learning_mass
    assert near.value.mean < far.value.mean
    assert near.candidate.origin == (
        "Net Actor-Critic with KL weight 0.02, as if the switch cost 1000 times as much"
    )
    # Both pay today's price, and the frontier does not change who was there before.
    assert near.cost.total == pytest.approx(CHEAP * near.cost.learning_mass, rel=1e-3)
    alone = {one.candidate.name: one.gain.mean for one in found(CHEAP).assessments}
    assert alone["learned-0.02"] == far.gain.mean


def test_what_the_log_does_not_hold_is_judged_by_the_worst_critic() -> None:
    """An action that the old policy never takes."""
    shy = np.array([[0.999, 0.001], [0.999, 0.001]])
    log = sample(shy)
    heard: list[ProgressEvent] = []
    advice = advise(
        log,
        policy(shy),
        price(CHEAP),
        config=judged_alone(),
        candidates=[Candidate("bold", policy(BEST), "by hand")],
        reporter=heard.append,
    )
    bold = advice.chosen
    assert not bold.support.supported
    assert bold.gain.pessimistic is not None
    assert bold.notes == (
        "leaves the actions that the log holds: judged by the worst of the critics",
    )
    assert "doubting bold" in {event.stage for event in heard}
    assert bold.gain.bound(0.95) <= bold.gain.pessimistic - bold.cost.total
    assert advice.verdict != "switch"


def test_the_same_seed_gives_the_same_bits() -> None:
    first, again, other = found(CHEAP), ask(), ask(seed=4)
    kept = [strip_time(advice) for advice in (first, again, other)]
    assert kept[0] == kept[1]
    assert kept[0] != kept[2]
    np.testing.assert_array_equal(first.new_policy.logits, again.new_policy.logits)  # type: ignore[attr-defined]


def strip_time(advice: Advice) -> dict[str, Any]:
    document = advice.as_json()
    assert document.pop("wall_seconds") > 0
    return document


def test_without_noise_there_is_nothing_to_calm() -> None:
    assert advisor._calm(policy(np.eye(2)), CONFIG) == []
    assert [one.name for one in advisor._calm(policy(OLD), CONFIG)] == ["calm-0.3"]


# The record

KEYS = {
    "verdict": None,
    "confidence": None,
    "net_gain": {"mean", "low", "high"},
    "old_value": {"mean", "low", "high", "method"},
    "new_value": {"mean", "low", "high", "method"},
    "cost": {"total", "learning", "transaction", "learning_mass", "transaction_mass"},
    "break_even": {"learning_weight", "transaction_weight"},
    "candidates": None,
    "log": {"sha256", "transitions", "episodes"},
    "policy": {"sha256"},
    "config": None,
    "seed": None,
    "versions": None,
    "wall_seconds": None,
}


@pytest.mark.parametrize("weight", [CHEAP, DEAR])
def test_what_is_saved_holds_everything_and_reads_back(weight: float, tmp_path: Path) -> None:
    advice = found(weight)
    assert advice.save(tmp_path / "advice") == tmp_path / "advice"
    text = (tmp_path / "advice" / "decision.json").read_text()
    document = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} in the JSON"))
    assert document == json.loads(json.dumps(advice.as_json()))
    for key, parts in KEYS.items():
        assert key in document
        assert parts is None or parts <= set(document[key])
    assert document["log"] == {
        "sha256": log_of().fingerprint(),
        "transitions": 1500,
        "episodes": 30,
    }
    assert document["policy"] == {"sha256": fingerprint(policy(OLD)), "uncertainty": 0.0}
    assert (document["seed"], document["verdict"]) == (3, advice.verdict)
    assert document["config"]["learner"]["discount"] == DISCOUNT
    assert [one["name"] for one in document["candidates"]] == ["calm-0.3", "learned-0.02"]
    again = read_policy(tmp_path / "advice" / "policy" / "new.safetensors")
    assert fingerprint(again) == fingerprint(advice.new_policy)
    assert read_decision(tmp_path / "advice")["verdict"] == advice.verdict


# Starts


def test_a_start_of_its_own() -> None:
    """From the second room, where no episode of the log starts: the critics lead there."""
    mine = [Candidate("mine", policy(BEST), "by hand")]
    advice = ask(start=1, config=judged_alone(), candidates=mine)
    there = WORLD.starting_at(1)
    old = float(exact.start_value(there, OLD))
    assert advice.old_value.method == "returns of the log, moved to the start by critics"
    assert advice.old_value.mean == pytest.approx(old, abs=0.3)
    assert old - value(OLD) == pytest.approx(0.5, abs=1e-9)
    assert advice.old_value.low < advice.old_value.mean < advice.old_value.high
    # The critics are still held against the returns from where those start.
    assert advice.chosen.gain.doubt == pytest.approx(0.0, abs=0.1)
    true = float(exact.start_value(there, BEST)) - old - advice.chosen.cost.total
    assert advice.chosen.gain.mean == pytest.approx(true, abs=0.5)


def test_the_log_s_own_start_may_be_named() -> None:
    named, left = ask(start=[0]), found(CHEAP)
    returns = value_from_returns(log_of(), DISCOUNT, seed=3)
    for advice in (named, left):
        old = advice.old_value
        assert old.method == "returns of the log"
        assert old.mean == returns.mean
        np.testing.assert_allclose([old.low, old.high], [returns.low, returns.high], rtol=1e-12)


@pytest.mark.parametrize("start", [7, [[0.5]], -1])
def test_a_start_that_is_no_state_is_refused_at_once(start: Any) -> None:
    heard: list[ProgressEvent] = []
    with pytest.raises(InputError, match="start"):
        ask(start=start, reporter=heard.append)
    assert not heard


# What must never switch


def test_too_few_episodes_are_refused() -> None:
    with pytest.raises(InputError, match=r"the log has 3 episodes; advice needs at least 4"):
        ask(log=log_of().select([0, 1, 2]))


def test_a_foreign_log_is_named_and_never_switches() -> None:
    advice = ask(log=log_of("worse"))
    assert not advice.behaviour.on_policy
    assert advice.verdict != "switch"
    assert "the log was not made by the given old policy" in advice.judgement.reason
    assert advice.old_value.method == "fitted"
    document = advice.as_json()
    assert document["behaviour"]["on_policy"] is False
    assert any("not made by the given old policy" in note for note in document["notes"])


def test_a_gain_on_a_foreign_log_is_undecided() -> None:
    """Evidence for a gain there is; whose actions were logged is the question."""
    foreign = sample(0.5 * OLD + 0.5 * WORSE)
    mine = [Candidate("mine", policy(BEST), "by hand")]
    advice = ask(log=foreign, config=judged_alone(), candidates=mine)
    assert advice.chosen.gain.bound(0.95) > 0
    assert advice.verdict == "undecided"
    assert advice.judgement.reason.startswith("a gain is expected, but the log was not made by")


def test_a_mixed_log_leaves_foreign_episodes_out_of_the_old_value() -> None:
    own, foreign = log_of().select(np.arange(20)), log_of("worse").select(np.arange(10))
    both = Log.from_arrays(
        **{name: np.concatenate([getattr(log, name) for log in (own, foreign)]) for name in NAMES},
        offsets=np.arange(0, 1501, 50),
        observation_space=own.observation_space,
        action_space=own.action_space,
    )
    advice = ask(log=both, config=judged_alone(), candidates=[Candidate("mine", policy(BEST), "")])
    assert advice.behaviour.on_policy
    np.testing.assert_array_equal(advice.behaviour.own, np.arange(30) < 20)
    assert advice.old_value.mean == value_from_returns(own, DISCOUNT, seed=3).mean
    assert "10 of 30 episodes were not made by the old policy" in advice.notes[0]


@pytest.mark.parametrize("which", ["the old policy", "learned-0.02"])
@pytest.mark.parametrize(
    "changed",
    [{"healthy": False}, {"per_critic": np.array([math.nan, 5.0, 5.0, 5.0])}],
    ids=["unhealthy", "nan"],
)
def test_no_switch_comes_of_what_broke(
    which: str, changed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = court.Court.evaluate

    def broken(bench: Any, policy: Any, stage: str, config: Any = None, **given: Any) -> Any:
        evaluation = real(bench, policy, stage, config, **given)
        return dataclasses.replace(evaluation, **changed) if which in stage else evaluation

    monkeypatch.setattr(court.Court, "evaluate", broken)
    for rule in ("bounds", "paper"):
        advice = ask(config=dataclasses.replace(CONFIG, rule=rule))
        assert advice.verdict == "keep"
        json.dumps(advice.as_json(), allow_nan=False)


def test_a_gain_has_to_stand_some_way_towards_the_worst_critic() -> None:
    advice = found(CHEAP)
    config = dataclasses.replace(CONFIG, doubt_share=0.4)
    heard: list[ProgressEvent] = []
    doubted = ask(CHEAP, config=config, reporter=heard.append)
    for one, before in zip(doubted.assessments, advice.assessments, strict=True):
        # Nobody searched for less noise.
        stage = f"doubting {one.candidate.name}"
        assert (stage in {event.stage for event in heard}) is one.candidate.searched
        expected = one.candidate.searched and before.gain.mean + before.cost.total > 0
        assert one.gain.mean == before.gain.mean
        assert (one.gain.pessimistic is not None) is expected
        if one.gain.pessimistic is not None:
            # Part of the way: below the mean, above what the worst alone would say.
            assert one.gain.pessimistic <= one.gain.mean + one.cost.total
    certain = dataclasses.replace(config, doubt_share=0.9)
    most = ask(CHEAP, config=certain)
    lows = [one.gain.pessimistic for one in (doubted.chosen, most.chosen)]
    assert None not in lows
    assert lows[1] <= lows[0]  # type: ignore[operator]


def test_doubt_begins_where_the_judges_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    real, heard = court.Court.evaluate, {}

    def listen(bench: Any, policy: Any, stage: str, config: Any = None) -> Any:
        evaluation = heard[stage] = real(bench, policy, stage, config)
        return evaluation

    monkeypatch.setattr(court.Court, "evaluate", listen)
    name = ask(config=dataclasses.replace(CONFIG, doubt_share=0.4)).chosen.candidate.name
    doubted, judged = heard[f"doubting {name}"], heard[f"judging {name}"]
    assert len(doubted.curve) == len(judged.curve) == CONFIG.judges.epochs
    assert doubted.value <= judged.value + 1e-4


def test_a_pessimistic_evaluation_that_broke_is_not_trusted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = court.Court.evaluate

    def broken(bench: Any, policy: Any, stage: str, config: Any = None, **given: Any) -> Any:
        evaluation = real(bench, policy, stage, config, **given)
        doubting = stage.startswith("doubting")
        return dataclasses.replace(evaluation, healthy=False) if doubting else evaluation

    monkeypatch.setattr(court, "examine_support", lambda *a, **k: Support(1.0, 0.02, None))
    switching = ask(config=judged_alone(), candidates=[found(CHEAP).chosen.candidate])
    assert switching.chosen.gain.pessimistic is not None
    assert switching.chosen.trusted
    monkeypatch.setattr(court.Court, "evaluate", broken)
    advice = ask(config=judged_alone(), candidates=[found(CHEAP).chosen.candidate])
    assert not advice.chosen.trusted
    assert advice.verdict == "keep"


def test_a_candidate_that_broke_down_in_learning_is_not_proposed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = school.learn
    monkeypatch.setattr(
        school, "learn", lambda *a, **k: dataclasses.replace(real(*a, **k), healthy=False)
    )
    advice = ask()
    assert [one.candidate.name for one in advice.assessments] == ["calm-0.3"]
    assert advice.verdict == "keep"
    alone = ask(config=dataclasses.replace(CONFIG, calm_factors=()))
    assert [one.candidate.name for one in alone.assessments] == ["unchanged"]
    assert alone.verdict == "keep"
    assert np.all(alone.chosen.gain.differences == 0)


def test_critics_that_miss_the_returns_lower_the_confidence() -> None:
    """Critics hardly fitted: they say little of the returns, and the doubt is that difference."""
    poor = dataclasses.replace(
        JUDGES,
        epochs=1,
        steps_per_epoch=2,
        prefit_steps=0,
        critics=dataclasses.replace(JUDGES.critics, scale_returns=False),
    )
    config = judged_alone(judges=poor)
    advice = ask(config=config, candidates=[Candidate("mine", policy(BEST), "")])
    missed = abs(advice.fitted_old_value.mean - advice.old_value.mean)
    assert 0 < advice.chosen.gain.doubt < missed
    assert advice.verdict != "switch"


@pytest.mark.parametrize("threads", [1, 3])
def test_who_convinces_spares_the_lessons_after_it(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "count_processors", lambda: threads)
    config = dataclasses.replace(CONFIG, kl_weights=(0.02, 0.1), cost_factors=(1.0, 2.0))
    assert [one.name for one in config.find_earlier(config.lessons[3])] == ["learned-0.02-cost2"]
    heard: list[ProgressEvent] = []
    cheap = ask(CHEAP, config=config, reporter=heard.append)
    names = [one.candidate.name for one in cheap.assessments]
    # Other prices are no reason to be spared.
    assert names == ["calm-0.3", "learned-0.02", "learned-0.02-cost2"]
    assert cheap.verdict == "switch"
    assert "learning learned-0.1" not in {event.stage for event in heard}
    assert cheap.evidence.curve_names == ("learned-0.02", "learned-0.02-cost2")
    # At a price that nothing is worth, everything is tried; and at any price if so wanted.
    once = dataclasses.replace(config, cost_factors=(1.0,))
    every = ["calm-0.3", "learned-0.02", "learned-0.1"]
    assert [one.candidate.name for one in ask(DEAR, config=once).assessments] == every
    lavish = ask(CHEAP, config=dataclasses.replace(once, sparing=False))
    assert [one.candidate.name for one in lavish.assessments] == every
    assert lavish.assessments[1].gain.mean == cheap.assessments[1].gain.mean


def test_any_number_of_threads_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    config = dataclasses.replace(CONFIG, kl_weights=(0.02, 0.1), sparing=False, doubt_share=0.4)
    found = []
    for threads in (1, 4):
        monkeypatch.setattr(engines, "count_processors", lambda threads=threads: threads)
        found.append(ask(config=config).as_json())
        del found[-1]["wall_seconds"]
    assert found[0] == found[1]


def test_a_failure_in_one_thread_ends_the_others() -> None:
    heard: list[ProgressEvent] = []

    def fail(event: ProgressEvent) -> None:
        heard.append(event)
        if event.stage == "judging the old policy":
            raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError, match="the disk is full"):
        ask(reporter=fail)
    assert "judging learned-0.02" not in {event.stage for event in heard}


def test_ctrl_c_while_learning_ends_it() -> None:
    def stop(event: ProgressEvent) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(reporter=stop)


# The paper's rule


def test_the_paper_s_rule_compares_point_estimates() -> None:
    config = dataclasses.replace(CONFIG, rule="paper")
    for weight, verdict in ((CHEAP, "switch"), (DEAR, "keep")):
        advice, bounds = ask(weight, config=config), found(weight)
        assert advice.verdict == verdict
        best = max(bounds.assessments, key=lambda one: one.gain.mean)
        assert advice.chosen.candidate.name == best.candidate.name
        net = best.value.mean - best.cost.total
        assert (net > advice.fitted_old_value.mean) == (verdict == "switch")
        assert advice.judgement.reason.startswith(f"point estimates: {net:.4g} after the cost")
        assert advice.judgement.more_episodes is None
    foreign = ask(log=log_of("worse"), config=config)
    assert "the log was not made by the given old policy" in foreign.judgement.reason


# Configurations


def test_candidates_that_do_not_fit_are_refused_before_anything_is_learned() -> None:
    three = Candidate("three", policy(np.full((3, 2), 0.5)), "")
    four = Candidate("four", policy(np.full((2, 4), 0.25)), "")
    heard: list[ProgressEvent] = []
    with pytest.raises(InputError) as caught:
        ask(candidates=[three, four], reporter=heard.append)
    assert [problem.split(":")[0] for problem in caught.value.problems] == [
        "candidate three",
        "candidate four",
    ]
    assert not heard


BAD: list[tuple[dict[str, Any], str]] = [
    ({"confidence": 0.5}, "confidence = 0.5: must lie between 0.5 and 1"),
    ({"confidence": math.nan}, "confidence = nan: must lie between 0.5 and 1"),
    ({"learning_share": 1.0}, "learning_share = 1.0: must lie between 0 and 1"),
    ({"rule": "guess"}, "rule = 'guess': known are bounds, paper"),
    (
        {"kl_weights": (0.1, -1.0)},
        "kl_weights = (0.1, -1.0): must be finite and not negative",
    ),
    (
        {"cost_factors": (1.0, 2.0, 2.0)},
        "cost_factors = (1.0, 2.0, 2.0): must be finite, not negative and different",
    ),
    (
        {"kl_weights": (math.nan,)},
        "kl_weights = (nan,): must be finite and not negative",
    ),
    (
        {"thrift": Lesson(math.inf)},
        "thrift.kl_weight = inf: must be finite and not negative",
    ),
    ({"patience": 0}, "patience = 0: judges go on for their epochs at least"),
    ({"learned_noise": 0.0}, "learned_noise = 0.0: must lie in (0, 1]"),
    ({"calm_factors": (1.0,)}, "calm_factors = (1.0,): must lie between 0 and 1"),
    ({"spread_scale": 0.0}, "spread_scale = 0.0: must be finite and positive"),
    ({"doubt_share": 1.1}, "doubt_share = 1.1: must lie in [0, 1)"),
    ({"copy_divergence": math.nan}, "copy_divergence = nan: cannot be negative"),
    ({"panels": 0}, "panels = 0: at least 1 has to judge"),
    (
        {"judges": dataclasses.replace(JUDGES, bootstrap=False)},
        "judges: at least 3 bootstrapped critics are needed for an interval",
    ),
    (
        {"judges": EvaluationConfig(CriticConfig(n_critics=2), bootstrap=True)},
        "judges: at least 3 bootstrapped critics are needed for an interval",
    ),
    (
        {"learner": paper("Hopper-v4").learner},
        "learner.warm_critics: candidates are learned from other episodes than the old policy is "
        "judged by; set it to false",
    ),
]


@pytest.mark.parametrize(("changed", "problem"), BAD)
def test_bad_configurations_are_refused(changed: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError) as caught:
        AdviceConfig(**changed)
    assert caught.value.problems == (problem,)


def test_suggestions_fit_the_log() -> None:
    tables = suggest_config(log_of(), 0.9)
    assert tables.learner.critics.hidden == tables.judges.critics.hidden == ()
    assert tables.learner.discount == 0.9
    small = suggest_config(vectors()[0])
    large = AdviceConfig()
    assert small.learner.critics == default().critics
    assert large.learner.critics.hidden == (64, 64)
    assert isinstance(large.learner.stopping, Plateau)
    assert small.learner.epochs < large.learner.epochs
    for config in (tables, small, large):
        record = json.loads(json.dumps(config.as_json(), allow_nan=False))
        assert record["confidence"] == 0.95
        assert config.judges.bootstrap


def test_large_logs_of_vectors_get_all_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advice_config, "SMALL_LOG", 10)
    assert suggest_config(vectors()[0], 0.97).learner == dataclasses.replace(
        AdviceConfig().learner, discount=0.97
    )


@functools.cache
def vectors() -> tuple[Log, MLPPolicy]:
    """Two observations, one action: the reward is the action; nothing else matters."""
    space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    signature = Signature(space, gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32))
    old = MLPPolicy.init(jax.random.key(0), signature, hidden=())
    states = np.random.default_rng(0).normal(size=(401, 2)).astype(np.float32)
    actions = np.asarray(old(states[:-1]).sample(jax.random.key(1)))
    ends = np.arange(400) % 20 == 19
    log = Log.from_arrays(
        observations=states[:-1],
        actions=actions,
        rewards=actions[:, 0],
        terminated=ends,
        truncated=np.zeros(400, bool),
        next_observations=states[1:],
        offsets=np.arange(0, 401, 20),
        observation_space=space,
        action_space=signature.action_space,
    )
    return log, old


def test_action_vectors_go_the_same_way() -> None:
    """The same function with small networks: every candidate assessed, nothing unknown."""
    log, old = vectors()
    critics = CriticConfig(
        n_critics=3,
        hidden=(),
        scale_returns=True,
        learning_rate=0.01,
        backup="own",
        batch_size=32,
    )
    judges = dataclasses.replace(JUDGES, critics=critics, epochs=2, n_actions=64)
    learner = dataclasses.replace(
        CONFIG.learner, critics=dataclasses.replace(critics, backup="mean"), epochs=1
    )
    config = dataclasses.replace(CONFIG, learner=learner, judges=judges, calm_factors=())
    start = log.starts[:3]
    advice = advise(log, old, TransportCost(0.1, 0.0, groups.sign(0)), start, config=config, seed=1)
    assert [one.candidate.name for one in advice.assessments] == ["learned-0.02"]
    assert advice.behaviour.on_policy
    assert advice.old_value.method == "returns of the log, moved to the start by critics"
    document = json.loads(json.dumps(advice.as_json(), allow_nan=False))
    for candidate in document["candidates"]:
        assert None not in candidate["differences"]
        assert candidate["support"]["divergence"] > 0


def test_each_of_several_starts_has_its_own_verdict() -> None:
    """The verdict from one start alone is the one that it gets among several."""
    both = ask(start=np.array([0, 1]), candidates=[found(CHEAP).chosen.candidate])
    assert [int(one.state) for one in both.starts] == [0, 1]
    for one in both.starts:
        assert one.gain.cost == both.chosen.gain.cost
        assert one.verdict == ("switch" if one.gain.bound(both.confidence_level) > 0 else "keep")
    # Both starts weigh the same: the gain from both is the mean of the gains from each.
    apart = np.mean([one.gain.differences for one in both.starts], axis=0)
    np.testing.assert_allclose(apart, both.chosen.gain.differences, rtol=1e-4, atol=1e-4)
    assert [entry["state"] for entry in both.as_json()["starts"]] == [0, 1]
    assert not found(CHEAP).starts


def test_an_uncertain_price_widens_the_interval_and_can_undecide() -> None:
    known, vague = (
        ask(config=judged_alone(), candidates=[found(CHEAP).chosen.candidate], weight=weight)
        for weight in (5.0, {"mean": 5.0, "sd": 100.0})
    )
    assert vague.chosen.cost.total == known.chosen.cost.total
    moved = known.chosen.cost.learning_mass
    assert vague.chosen.gain.cost_error == pytest.approx(
        math.hypot(known.chosen.gain.cost_error, 100.0 * moved)
    )
    assert vague.net_gain.low < known.net_gain.low
    assert (known.verdict, vague.verdict) == ("switch", "undecided")
    assert vague.as_json()["cost_model"]["weight_errors"] == [100.0, 0.0]


def test_the_evidence_is_gathered_and_kept(tmp_path: Path) -> None:
    advice = found(CHEAP)
    evidence = advice.evidence
    np.testing.assert_allclose(evidence.returns, log_of().returns(DISCOUNT))
    assert evidence.old_members.mean() == pytest.approx(advice.fitted_old_value.mean, rel=1e-6)
    assert evidence.curve_names == ("learned-0.02",)
    assert evidence.curves.shape == (1, CONFIG.learner.epochs)
    assert len(evidence.state_gains) == len(evidence.state_names)
    # The new policy is better: where it gains most, its first action is an advantage.
    assert evidence.state_gains.max() > 0
    advice.save(tmp_path)
    np.testing.assert_array_equal(read_evidence(tmp_path).curves, evidence.curves)
    assert "Where the change happens" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_what_a_clone_does_not_know_widens_the_interval() -> None:
    candidate = found(CHEAP).chosen.candidate
    known, vague = (
        ask(5.0, config=judged_alone(), candidates=[candidate], uncertainty=share)
        for share in (0.0, 0.2)
    )
    assert vague.chosen.gain.cost_error == pytest.approx(
        math.hypot(known.chosen.gain.cost_error, 0.2 * 5.0)
    )
    assert vague.chosen.gain.mean == known.chosen.gain.mean
    assert vague.net_gain.low < known.net_gain.low
    assert "20.0% of its probability" in vague.notes[1]
    assert len(known.notes) == 1
    with pytest.raises(InputError, match="uncertainty = 2"):
        ask(uncertainty=2.0)
