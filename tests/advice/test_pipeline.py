"""Advice from end to end on a small finite world whose answers are known."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import PRNGKeyArray

from nacre.advice import finalists
from nacre.advice.pipeline import advise
from nacre.advice.record import check_decision
from nacre.advice.result import Advice
from nacre.costs import TransportCost, groups
from nacre.errors import InputError
from nacre.estimators.base import Estimate, Estimator, Problem, Report
from nacre.estimators.tabular import Tabular
from nacre.inference.paper_rule import PaperRule
from nacre.inference.rule import BoundsRule, Rule
from nacre.learners.base import Candidate, LearningProblem
from nacre.learners.scale_noise import ScaleNoise
from nacre.logs import Log
from nacre.parallel import local as engines
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Policy, Signature
from nacre.simulators import FiniteWorld
from nacre.training.progress import Progress, ProgressEvent
from nacre.training.returns import value_from_returns
from tests.support.advice import make_quick_learner, suggest_quick
from tests.support.rooms import (
    BEST,
    BETTER,
    CONFIG,
    DISCOUNT,
    GIVEN_ALONE,
    HIGH_PRICE,
    LOW_PRICE,
    NAMES,
    OLD,
    WORLD,
    WORSE,
    Table,
    ask_about_rooms,
    find_rooms_advice,
    find_value,
    make_candidate,
    make_cost,
    make_policy,
    make_rooms_log,
    sample_rooms,
)

MINE = make_candidate("best", BEST)


@dataclasses.dataclass(frozen=True)
class Stated:
    """An estimator that says what it was told to say."""

    gain: float = 1.0
    error: float = 0.1
    name: str = "stated"
    extrapolates: bool = False

    def applies(self, problem: Problem) -> str:
        return ""

    def prepare(self, key: PRNGKeyArray, problem: Problem, report: Report) -> None:
        return None

    def estimate(
        self, key: PRNGKeyArray, problem: Problem, prepared: None, candidate: Policy, report: Report
    ) -> Estimate:
        return Estimate(self.name, self.gain, self.error, "model")


@dataclasses.dataclass(frozen=True)
class Proposes:
    """A learner that proposes several candidates at once."""

    tables: tuple[bytes, ...]
    name: str = "proposes"

    def applies(self, problem: LearningProblem) -> str:
        return ""

    def learn(
        self, key: PRNGKeyArray, problem: LearningProblem, report: Progress
    ) -> Sequence[Candidate]:
        tables = [np.frombuffer(table).reshape(2, 2) for table in self.tables]
        return [make_candidate(f"learned {i}", table) for i, table in enumerate(tables)]


def strip_time(advice: Advice) -> dict[str, Any]:
    document = advice.as_json()
    assert document.pop("wall_seconds") > 0
    return document


def join(*logs: Log) -> Log:
    """One log after the other."""
    lengths = np.concatenate([log.episode_lengths for log in logs])
    parts: dict[str, Any] = {
        name: np.concatenate([getattr(log, name) for log in logs]) for name in NAMES
    }
    return Log.from_arrays(
        **parts,
        offsets=np.append(0, np.cumsum(lengths)),
        observation_space=logs[0].observation_space,
        action_space=logs[0].action_space,
    )


# The three verdicts


def test_a_switch_that_pays_is_advised() -> None:
    advice = find_rooms_advice(LOW_PRICE)
    assert advice.verdict == "switch"
    assert advice.probability > 0.95
    assert advice.policy is advice.new_policy is advice.candidate.policy
    true = find_value(BEST) - find_value(OLD) - advice.chosen.cost.total
    gain = advice.net_gain
    assert true > 0.5
    assert None not in (gain.low, gain.mean, gain.high)
    assert 0 < gain.low <= true <= gain.high  # type: ignore[operator]
    assert advice.record.basis == ("tabular (data)",)
    assert advice.record.old_value.method == "returns of the log"
    assert advice.record.old_value.mean == pytest.approx(find_value(OLD), abs=0.3)
    assert advice.record.new_value.mean == pytest.approx(find_value(BEST), abs=0.3)
    assert "with 95 % confidence" in advice.record.reason


def test_a_prohibitive_cost_keeps() -> None:
    advice = ask_about_rooms(HIGH_PRICE, config=GIVEN_ALONE)
    assert advice.verdict == "keep"
    assert advice.policy is advice.old_policy
    assert advice.new_policy is advice.candidate.policy
    assert advice.net_gain.high is not None
    assert advice.net_gain.high < 0
    assert advice.probability < 0.05
    # The old policy's value does not depend on the cost.
    assert advice.record.old_value == find_rooms_advice(LOW_PRICE).record.old_value


def test_at_the_break_even_weight_the_verdict_turns() -> None:
    first = ask_about_rooms(config=GIVEN_ALONE)
    turning = first.chosen.break_even.learning_weight
    assert turning is not None
    assert turning > LOW_PRICE
    verdicts = [
        ask_about_rooms(share * turning, config=GIVEN_ALONE).verdict for share in (0.99, 1.01)
    ]
    assert verdicts[0] == "switch"
    assert verdicts[1] != "switch"


def test_little_evidence_is_undecided_and_says_how_much_more() -> None:
    """Rewards with much noise, and a cost that takes most of the gain."""
    noisy = sample_rooms(world=dataclasses.replace(WORLD, reward_noise=3.0))
    free = ask_about_rooms(0.0, noisy, config=GIVEN_ALONE).net_gain
    assert free.mean is not None
    assert free.low is not None
    mass = make_cost(1.0).evaluate(make_policy(OLD), MINE.policy, noisy).total
    weight = (free.mean - 0.3 * (free.mean - free.low)) / mass
    advice = ask_about_rooms(weight, noisy, config=GIVEN_ALONE)
    assert advice.verdict == "undecided"
    assert advice.policy is advice.old_policy
    assert 0.5 < advice.probability < 0.95
    assert "is expected but not proven" in advice.record.reason
    # Its net gain is 0.3 of what it must exceed: (1 / 0.3)² - 1 times as many test episodes more.
    assert advice.record.more_episodes == pytest.approx((1 / 0.3**2 - 1) * 15, rel=0.1)
    # Who asks for less confidence gets a verdict.
    bolder = dataclasses.replace(GIVEN_ALONE, confidence=advice.probability - 0.01)
    assert ask_about_rooms(weight, noisy, config=bolder).verdict == "switch"


# What must never switch


@pytest.mark.parametrize("seed", range(110, 120))
def test_a_truly_bad_candidate_is_never_switched_to(seed: int) -> None:
    advice = ask_about_rooms(
        0.0,
        sample_rooms(seed=seed),
        candidates=[make_candidate("bad", WORSE)],
        config=GIVEN_ALONE,
        seed=seed,
    )
    assert advice.verdict == "keep"


@pytest.mark.parametrize("seed", range(120, 125))
def test_the_old_policy_itself_is_never_switched_to(seed: int) -> None:
    noisy = sample_rooms(world=dataclasses.replace(WORLD, reward_noise=1.0), seed=seed)
    same = [make_candidate("same", OLD)]
    for weight in (0.0, LOW_PRICE):
        advice = ask_about_rooms(weight, noisy, candidates=same, config=GIVEN_ALONE, seed=seed)
        assert advice.verdict in ("undecided", "keep")
        assert advice.net_gain.mean == pytest.approx(0.0, abs=1e-9)


def test_what_the_log_never_saw_cannot_be_proven() -> None:
    """The second action ends everything at a great loss, and the old policy never takes it."""
    trap = FiniteWorld(
        transition=np.stack([np.eye(2), np.eye(2)[::-1]], axis=1),
        reward=np.array([[0.5, -100.0], [1.0, -100.0]]),
        discount=DISCOUNT,
        start=np.array([0.5, 0.5]),
        termination=np.array([[0.1, 1.0], [0.1, 1.0]]),
    )
    careful = np.array([[1.0, 0.0], [1.0, 0.0]])
    log = trap.sample_log(careful, 1500, seed=126, horizon=50)
    bold = make_candidate("bold", np.array([[0.5, 0.5], [0.5, 0.5]]))
    advice = advise(
        log, make_policy(careful), make_cost(0.0), config=GIVEN_ALONE, candidates=[bold], seed=1
    )
    assert advice.verdict == "undecided"
    assert advice.record.reason.startswith("this log cannot tell")
    assert "explore" in advice.record.remedy
    assert advice.chosen.estimates[0].overlap_penalty is not None
    assert advice.chosen.estimates[0].overlap_penalty > 0
    assert advice.chosen.overlap["missing"]


def test_every_informative_estimator_has_to_prove_it() -> None:
    def ask(*estimators: Estimator) -> Advice:
        config = dataclasses.replace(GIVEN_ALONE, estimators=(*GIVEN_ALONE.estimators, *estimators))
        return ask_about_rooms(config=config)

    assert ask(Stated(1.0)).verdict == "switch"
    assert ask(Stated(0.0)).verdict == "undecided"
    # One that says nothing takes no part; it is written down all the same.
    for silent in (Stated(math.nan), Stated(1.0, math.inf), Stated(1.0, 0.0)):
        advice = ask(silent)
        assert advice.verdict == "switch"
        assert advice.record.basis == ("tabular (data)",)
        assert [one.estimator for one in advice.chosen.estimates] == ["tabular", "stated"]
        json.dumps(advice.as_json(), allow_nan=False)


def test_without_an_informative_estimator_the_log_cannot_tell() -> None:
    config = dataclasses.replace(GIVEN_ALONE, estimators=(Stated(math.nan),))
    advice = ask_about_rooms(config=config)
    assert advice.verdict == "undecided"
    assert advice.net_gain.model_dump() == {"mean": None, "low": None, "high": None}
    assert advice.probability == 0.5
    assert "no estimator is informative" in advice.record.reason


def test_what_lies_outside_is_charged_on_who_extrapolates() -> None:
    shy = np.array([[0.5, 0.5], [0.0, 1.0]])
    log = sample_rooms(shy)
    pair = (Stated(1.0, name="charged", extrapolates=True), Stated(1.0, name="not charged"))
    advice = advise(
        dataclasses.replace(log, rewards=log.rewards + 1.0),
        make_policy(shy),
        make_cost(LOW_PRICE),
        config=dataclasses.replace(GIVEN_ALONE, estimators=pair),
        candidates=[MINE],
        seed=2,
    )
    charged, other = advice.chosen.estimates
    assert advice.chosen.overlap["penalty"] > 0
    assert charged.overlap_penalty is not None
    assert charged.overlap_allowance is not None
    # What is estimated at more than the log ever had to go is charged with more than the range.
    overlap = advice.chosen.overlap
    assert charged.overlap_penalty == pytest.approx(
        overlap["excess"] * (overlap["old_value"] + 1.0 - overlap["least"])
    )
    assert other.overlap_penalty == 0.0


@pytest.mark.parametrize("rule", [BoundsRule(), PaperRule()])
def test_drift_forbids_a_switch_and_names_where_it_began(rule: Rule) -> None:
    richer = dataclasses.replace(WORLD, reward=3.0 * np.asarray(WORLD.reward))
    log = join(make_rooms_log(), sample_rooms(world=richer, seed=102))
    advice = ask_about_rooms(log=log, config=dataclasses.replace(CONFIG, rule=rule))
    assert advice.verdict == "undecided"
    assert advice.record.forbidden == "the log drifts (rewards)"
    assert advice.record.reason == advice.record.forbidden
    assert "--since 30" in advice.record.remedy
    assert advice.record.log_checks["drift"]["found"] == ["rewards"]
    assert advice.net_gain.low is not None
    assert advice.net_gain.low > 0


def test_repeated_episodes_count_once() -> None:
    log = make_rooms_log()
    twice = join(log, log)
    once, again = (ask_about_rooms(log=one) for one in (log, twice))
    assert again.record.log_checks["duplicates"] != once.record.log_checks["duplicates"]
    for one, other in zip(once.record.candidates, again.record.candidates, strict=True):
        assert one.estimates == other.estimates
    assert any(note.startswith("Repeated episodes") for note in again.record.notes)
    assert not any(note.startswith("Repeated episodes") for note in once.record.notes)


def test_where_all_episodes_are_alike_nothing_can_be_told() -> None:
    """A policy without noise in a world without noise: one episode, many times."""
    fixed = np.array([[0.0, 1.0], [1.0, 0.0]])
    advice = advise(
        sample_rooms(fixed),
        make_policy(fixed),
        make_cost(0.0),
        config=GIVEN_ALONE,
        candidates=[make_candidate("other", OLD)],
    )
    assert advice.verdict != "switch"
    assert advice.record.forbidden.startswith("only 1 different episodes")
    assert any("Collect more episodes" in note for note in advice.record.notes)
    # The log's own value is known all the same.
    assert advice.record.old_value.mean == pytest.approx(find_value(fixed), abs=0.05)


def test_a_foreign_log_is_named_and_never_switches() -> None:
    advice = ask_about_rooms(log=sample_rooms(0.5 * OLD + 0.5 * WORSE))
    assert advice.verdict != "switch"
    assert "not made by the given old policy" in advice.record.forbidden
    assert advice.record.log_checks["on_policy"]["on_policy"] is False
    assert any(note.startswith("Foreign episodes") for note in advice.record.notes)
    assert advice.record.old_value.method != "returns of the log"


def test_a_mixed_log_leaves_foreign_episodes_out_of_the_old_value() -> None:
    own = make_rooms_log().select(np.arange(20))
    advice = ask_about_rooms(log=join(own, sample_rooms(WORSE).select(np.arange(10))))
    facts = advice.record.log_checks["on_policy"]
    assert (facts["episodes"], facts["foreign_episodes"]) == (30, 10)
    assert advice.record.old_value.mean == value_from_returns(own, DISCOUNT, seed=103).mean


# Candidates and finalists


def test_a_candidate_more_does_not_change_what_is_said_of_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(finalists, "RANKING", ())
    more = [MINE, make_candidate("better", BETTER)]
    alone, both = (ask_about_rooms(config=GIVEN_ALONE, candidates=some) for some in ([MINE], more))
    one, other = alone.record.candidates[0].estimates[0], both.record.candidates[0].estimates[0]
    assert (one.gain, one.standard_error) == (other.gain, other.standard_error)
    assert alone.record.candidates[0].cost == both.record.candidates[0].cost
    # Two have to be proven together: the bounds are wider.
    assert (alone.record.interval_level, both.record.interval_level) == (0.95, 0.975)
    assert one.low is not None
    assert other.low is not None
    assert other.low < one.low
    # Nor does their order.
    turned = ask_about_rooms(config=GIVEN_ALONE, candidates=more[::-1])
    assert turned.record.candidates[1].estimates == both.record.candidates[0].estimates
    assert turned.candidate.name == both.candidate.name == "best"


def blend(share: float) -> Table:
    return share * BEST + (1 - share) * OLD


def test_at_most_three_finalists_the_best_of_the_learning_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shares = (0.2, 1.0, 0.0, 0.6, 0.8)
    given = [make_candidate(f"share {share}", blend(share)) for share in shares]
    advice = ask_about_rooms(config=GIVEN_ALONE, candidates=given)
    assert [one.name for one in advice.finalists] == ["share 1.0"]
    assert [one.name for one in advice.record.candidates] == [one.name for one in advice.finalists]
    assert advice.candidate.name == "share 1.0"
    untested = [note for note in advice.record.notes if "was not tested" in note]
    assert [note.split(" was ")[0] for note in untested] == [
        f"the candidate share {share}" for share in shares if share != 1.0
    ]
    assert advice.record.interval_level == pytest.approx(0.95)
    # At a cost that takes more than a change gains, the smallest change is the best.
    high = ask_about_rooms(HIGH_PRICE, config=GIVEN_ALONE, candidates=given)
    assert [one.name for one in high.finalists] == ["share 0.0"]
    # Where nobody can tell them apart there are as many as may be tested.
    monkeypatch.setattr(finalists, "RANKING", ())
    blind = ask_about_rooms(config=GIVEN_ALONE, candidates=given)
    assert [one.name for one in blind.finalists] == ["share 0.2", "share 1.0", "share 0.0"]
    assert blind.record.interval_level == pytest.approx(1 - 0.05 / 3)


def test_finalists_are_chosen_without_the_test_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """What estimators see before and after: the learning part for the choice, then the test."""
    seen: list[set[bytes]] = []
    real = Tabular.prepare

    def prepare(estimator: Tabular, key: Any, problem: Problem, report: Report) -> Any:
        seen.append({episode.actions.tobytes() for episode in problem.log.episodes()})
        return real(estimator, key, problem, report)

    monkeypatch.setattr(Tabular, "prepare", prepare)
    monkeypatch.setattr(engines, "count_processors", lambda: 1)
    given = [make_candidate(f"share {share}", blend(share)) for share in (0.2, 0.4, 0.6, 0.8)]
    ask_about_rooms(config=GIVEN_ALONE, candidates=given)
    assert len(seen) == 2
    assert not seen[0] & seen[1]
    assert sum(map(len, seen)) == make_rooms_log().n_episodes


def test_a_learner_may_propose_several() -> None:
    tables = tuple(blend(share).tobytes() for share in (0.1, 0.4, 0.7, 1.0))
    config = dataclasses.replace(CONFIG, learners=(Proposes(tables),))
    advice = ask_about_rooms(config=config, candidates=[])
    assert [one.name for one in advice.finalists] == ["learned 3"]
    assert len(advice.learned) == 4
    assert advice.verdict == "switch"


def test_without_any_candidate_the_old_policy_is_its_own() -> None:
    advice = ask_about_rooms(config=GIVEN_ALONE, candidates=[])
    assert [one.name for one in advice.finalists] == ["unchanged"]
    assert advice.verdict != "switch"
    assert advice.net_gain.mean == 0.0


def test_what_is_suggested_for_tables_finds_the_switch_that_pays() -> None:
    """The planner proposes more than one, and the best of them is a finalist."""
    advice = ask_about_rooms(config=None, candidates=[], discount=DISCOUNT)
    assert advice.verdict == "switch"
    assert {one.name.split("-")[0] for one in advice.learned} == {"planner", "noise"}
    assert len(advice.record.candidates) == len(advice.finalists)
    table = np.asarray(advice.new_policy.table, np.float64)  # type: ignore[attr-defined]
    true = find_value(table / table.sum(axis=1, keepdims=True)) - find_value(OLD)
    assert true - advice.chosen.cost.total > 0.5
    low, high = advice.net_gain.low, advice.net_gain.high
    assert low is not None
    assert high is not None
    assert low <= true - advice.chosen.cost.total <= high


def test_net_actor_critic_goes_the_same_way() -> None:
    config = dataclasses.replace(CONFIG, learners=(make_quick_learner(0.1, noise=1.0),))
    advice = ask_about_rooms(config=config, candidates=[])
    (learned,) = advice.learned
    assert learned.name == advice.candidate.name == "nac-0.1"
    assert learned.origin == "Net Actor-Critic with KL weight 0.1"
    assert len(learned.curve) == 1


# Everything random follows from the seed


def test_the_same_seed_gives_the_same_record() -> None:
    noisy = sample_rooms(world=dataclasses.replace(WORLD, reward_noise=1.0))
    first, again, other = (strip_time(ask_about_rooms(log=noisy, seed=seed)) for seed in (4, 4, 5))
    assert first == again
    assert first != other


def test_any_number_of_threads_gives_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    learners = (make_quick_learner(0.1), make_quick_learner(0.3), ScaleNoise())
    config = dataclasses.replace(CONFIG, learners=learners)
    found = []
    for threads in (1, 4):
        monkeypatch.setattr(engines, "count_processors", lambda threads=threads: threads)
        found.append(strip_time(ask_about_rooms(config=config)))
    assert found[0] == found[1]


# Progress and interruption


def test_progress_rises_to_one() -> None:
    heard: list[ProgressEvent] = []
    ask_about_rooms(progress=heard.append)
    shares = [tick.share for tick in heard]
    assert None not in shares
    assert shares == sorted(shares)  # type: ignore[type-var]
    assert shares[0] is not None
    assert 0 < shares[0] < 0.5
    assert shares[-1] == 1.0
    stages = {tick.stage for tick in heard}
    assert {"tabular: old policy", "tabular: best"} <= stages


def test_an_interruption_ends_it() -> None:
    heard: list[ProgressEvent] = []

    def stop(tick: ProgressEvent) -> None:
        heard.append(tick)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask_about_rooms(config=dataclasses.replace(CONFIG, learners=()), progress=stop)
    assert len(heard) == 1


def test_a_failure_in_one_task_ends_the_others() -> None:
    heard: list[str] = []

    def fail(tick: ProgressEvent) -> None:
        heard.append(tick.stage)
        if tick.stage == "tabular: old policy":
            raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError, match="the disk is full"):
        ask_about_rooms(progress=fail)
    assert "tabular: best" not in heard


# What is given has to fit


def test_candidates_that_do_not_fit_are_refused_before_anything_is_learned() -> None:
    three = make_candidate("three", np.full((3, 2), 0.5))
    four = make_candidate("four", np.full((2, 4), 0.25))
    heard: list[ProgressEvent] = []
    with pytest.raises(InputError) as caught:
        ask_about_rooms(candidates=[three, four], uncertainty=2.0, progress=heard.append)
    assert [problem.split(":")[0] for problem in caught.value.problems] == [
        "uncertainty = 2.0",
        "candidate three",
        "candidate four",
    ]
    assert not heard


def test_too_few_episodes_are_refused() -> None:
    with pytest.raises(InputError, match=r"the log has 3 episodes; advice needs at least 4"):
        ask_about_rooms(log=make_rooms_log().select([0, 1, 2]))


@pytest.mark.parametrize("start", [7, [[0.5]], -1])
def test_a_start_that_is_no_state_is_refused_at_once(start: Any) -> None:
    heard: list[ProgressEvent] = []
    with pytest.raises(InputError, match="start"):
        ask_about_rooms(start=start, progress=heard.append)
    assert not heard


def test_discount_and_confidence_may_be_given_beside_a_configuration() -> None:
    advice = ask_about_rooms(discount=0.5, confidence=0.9)
    assert advice.record.config["discount"] == 0.5
    assert advice.record.confidence_level == 0.9
    with pytest.raises(InputError, match="discount = 1: 30 of 30 episodes do not end"):
        ask_about_rooms(discount=1.0)


# Starts, prices, looks, rules


def test_a_file_is_taken_where_a_configuration_is(tmp_path: Path) -> None:
    path = tmp_path / "advice.toml"
    path.write_text(CONFIG.as_toml(), encoding="utf-8")
    by_file = ask_about_rooms(config=str(path)).as_json()
    by_object = find_rooms_advice(LOW_PRICE).as_json()
    assert by_file | {"wall_seconds": 0} == by_object | {"wall_seconds": 0}
    # What the file does not say fits the log.
    path.write_text('learners = []\nestimators = ["tabular"]\n', encoding="utf-8")
    record = ask_about_rooms(config=path, confidence=0.9).record
    assert record.config["learners"] == []
    assert (record.config["confidence"], record.config["discount"]) == (0.9, 0.99)


def test_a_bad_file_is_refused_before_the_log_is_read(tmp_path: Path) -> None:
    path = tmp_path / "advice.toml"
    path.write_text("discount = 2\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"advice\.toml: discount = 2\.0: must lie in"):
        advise("no_such_log.parquet", make_policy(OLD), make_cost(LOW_PRICE), config=path)


def test_a_start_of_its_own() -> None:
    """From the second room, where no episode of the log starts."""
    advice = ask_about_rooms(start=1)
    old, new = find_value(OLD, 1), find_value(BEST, 1)
    assert old - find_value(OLD) == pytest.approx(0.5, abs=1e-9)
    assert advice.record.old_value.method == "tabular"
    assert advice.record.old_value.mean == pytest.approx(old, abs=0.2)
    true = new - old - advice.chosen.cost.total
    assert advice.net_gain.mean == pytest.approx(true, abs=0.3)


def test_an_uncertain_price_widens_the_interval_and_can_undecide() -> None:
    known, vague = (
        ask_about_rooms(weight, config=GIVEN_ALONE) for weight in (4.0, {"mean": 4.0, "sd": 100.0})
    )
    assert vague.chosen.cost.total == known.chosen.cost.total
    errors = [one.chosen.price.error for one in (known, vague)]
    assert None not in errors
    expected = math.hypot(errors[0] or 0.0, 100.0 * known.chosen.cost.learning_mass)
    assert errors[1] == pytest.approx(expected)
    assert (known.verdict, vague.verdict) == ("switch", "undecided")


def test_what_a_clone_does_not_know_widens_the_interval() -> None:
    known, vague = (
        ask_about_rooms(4.0, config=GIVEN_ALONE, uncertainty=share) for share in (0.0, 0.2)
    )
    expected = math.hypot(known.chosen.price.error or 0.0, 0.2 * 4.0)
    assert vague.chosen.price.error == pytest.approx(expected)
    assert vague.net_gain.mean == known.net_gain.mean
    assert vague.net_gain.low is not None
    assert known.net_gain.low is not None
    assert vague.net_gain.low < known.net_gain.low
    assert any("20.0% of its probability" in note for note in vague.record.notes)
    assert not known.record.notes


def test_later_looks_have_to_prove_more() -> None:
    def look(number: int, looks: int) -> Advice:
        config = dataclasses.replace(GIVEN_ALONE, look=number, looks=looks)
        return ask_about_rooms(config=config)

    only, first, third = look(1, 1), look(1, 5), look(3, 5)
    levels = [one.record.interval_level for one in (only, first, third)]
    share = 6 / math.pi**2
    assert levels == pytest.approx([0.95, 1 - 0.05 * share, 1 - 0.05 * share / 9])
    lows = [one.net_gain.low or 0.0 for one in (only, first, third)]
    assert lows[0] > lows[1] > lows[2]
    means = {one.net_gain.mean for one in (only, first, third)}
    assert len(means) == 1
    assert (third.record.look, third.record.looks) == (3, 5)


def test_the_paper_s_rule_compares_point_estimates() -> None:
    config = dataclasses.replace(GIVEN_ALONE, rule=PaperRule())
    turning = find_rooms_advice(LOW_PRICE).chosen.break_even.expected_learning_weight
    assert turning is not None
    verdicts = []
    for share in (0.99, 1.01):
        advice = ask_about_rooms(share * turning, config=config)
        verdicts.append(advice.verdict)
        assert advice.record.rule == "paper"
        assert advice.record.reason.startswith("point estimates")
        # It is sure of nothing: the interval holds zero.
        assert advice.net_gain.low is not None
        assert advice.net_gain.high is not None
        assert advice.net_gain.low < 0 < advice.net_gain.high
    assert verdicts == ["switch", "keep"]


# The record


@pytest.mark.parametrize("weight", [LOW_PRICE, HIGH_PRICE])
def test_the_record_goes_through_json_exactly(weight: float) -> None:
    advice = find_rooms_advice(weight)
    text = json.dumps(advice.as_json(), allow_nan=False)
    again = check_decision(json.loads(text))
    assert json.dumps(again.as_json(), allow_nan=False) == text
    assert again.net_gain == advice.net_gain
    assert again.candidates[0].estimates == advice.record.candidates[0].estimates
    # What was decided can be decided again from the record alone.
    evidence = [one.as_evidence() for one in again.candidates]
    for entry, one in zip(again.candidates, evidence, strict=True):
        assert one.bounds(again.interval_level) == (entry.net_gain.low, entry.net_gain.high)
        assert one.net_gain == entry.net_gain.mean


def test_the_record_says_what_it_rests_on() -> None:
    record = find_rooms_advice(LOW_PRICE).record
    log = make_rooms_log()
    assert record.log == {"sha256": log.fingerprint(), "transitions": 1500, "episodes": 30}
    assert record.seed == 103
    assert [one["name"] for one in record.config["estimators"]] == ["tabular"]
    assert record.config["discount"] == DISCOUNT
    assert record.policy["uncertainty"] == 0.0
    assert {"nacre", "jax"} <= set(record.versions)
    assert record.cost_model["kind"] == "transport"


@functools.cache
def make_vectors() -> tuple[Log, MLPPolicy]:
    """Two observations, one action: the reward is the action; nothing else matters."""
    space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    signature = Signature(space, gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32))
    old = MLPPolicy.init(jax.random.key(100), signature, hidden=())
    states = np.random.default_rng(100).normal(size=(401, 2)).astype(np.float32)
    actions = np.asarray(old(jnp.asarray(states[:-1])).sample(jax.random.key(101)))
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
    """The same function with small networks: every estimator is in the record."""
    log, old = make_vectors()
    config = suggest_quick(log, DISCOUNT)
    cost = TransportCost(0.1, 0.0, groups.sign(0))
    advice = advise(log, old, cost, log.starts[:3], config=config, seed=1)
    assert [one.name for one in advice.finalists] == ["noise-0.3"]
    assert advice.record.log_checks["on_policy"]["on_policy"]
    # From another start, critics say what the old policy is worth there.
    assert advice.record.old_value.method == "fitted_q"
    estimates = {one.estimator: one for one in advice.chosen.estimates}
    # Those that do not apply to such a log are no estimates of the finalist.
    assert "fitted_q" in estimates
    assert not {"tabular", "one_step"} & set(estimates)
    assert {"tabular", "one_step"} <= set(advice.record.not_applicable)
    assert "old_value" in estimates["fitted_q"].diagnostics
    json.dumps(advice.as_json(), allow_nan=False)
