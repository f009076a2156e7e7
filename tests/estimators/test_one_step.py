"""Gains on bandit logs against the exact truth of simulated bandits."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, Space
from numpy.typing import ArrayLike
from scipy import stats

from nacre.errors import InputError
from nacre.estimators.base import Estimate, Estimator, Problem, report_nothing
from nacre.estimators.one_step import OneStep
from nacre.estimators.policy_ratios import PolicyRatios
from nacre.estimators.scores import count_effective
from nacre.inference.sensitivity import WeightedOutcomes, worst_gain
from nacre.logs import Log
from nacre.policies.heads import Head
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.networks import MLP
from nacre.policies.policy import Policy, Signature
from nacre.policies.tabular import TabularPolicy
from tests.support.policies import expect

Draw = Callable[[np.random.Generator, int], Log]


@dataclass(frozen=True)
class Bandit:
    """A way to draw logs of the old policy, a candidate, and the candidate's true gain."""

    draw: Draw
    old: Policy
    new: Policy
    gain: float


def make_log(
    x: np.ndarray,
    a: np.ndarray,
    r: np.ndarray,
    observations: Space[Any],
    actions: Space[Any],
    columns: dict[str, np.ndarray] | None = None,
) -> Log:
    n = len(r)
    return Log.from_arrays(
        x,
        a,
        np.asarray(r, np.float32),
        np.ones(n, bool),
        next_observations=x,
        offsets=np.arange(n + 1),
        observation_space=observations,
        action_space=actions,
        columns=columns,
    )


def softmax(logits: np.ndarray) -> np.ndarray:
    return np.asarray(jax.nn.softmax(jnp.asarray(logits), axis=-1), np.float64)


def choose(rng: np.random.Generator, probabilities: np.ndarray) -> np.ndarray:
    below = np.cumsum(probabilities, axis=1) < rng.random(len(probabilities))[:, None]
    return np.asarray(np.minimum(below.sum(axis=1), probabilities.shape[1] - 1), np.int32)


def table_bandit(
    seed: int, *, noise: str = "normal", spread: float = 1.0, shift: float = 1.0
) -> Bandit:
    """20 contexts, 4 actions; `noise` says what rewards look like, `shift` how far policies lie."""
    rng = np.random.default_rng(seed)
    logits, means = rng.normal(size=(20, 4)) * spread, rng.normal(size=(20, 4))
    old, new = softmax(logits), softmax(logits + shift * rng.normal(size=(20, 4)))
    if noise == "rare":
        means = np.minimum(0.01 * np.exp(0.7 * means), 0.5)
    frequencies = rng.dirichlet(np.ones(20))

    def draw(rng: np.random.Generator, n: int) -> Log:
        x = rng.choice(20, n, p=frequencies).astype(np.int32)
        a = choose(rng, old[x])
        mean = means[x, a]
        if noise == "rare":
            r = (rng.random(n) < mean).astype(float)
        elif noise == "losses":
            r = mean - rng.lognormal(0.0, 1.2, n) + math.exp(0.72)
        else:
            r = mean + rng.normal(size=n)
        return make_log(x, a, r, Discrete(20), Discrete(4), {"propensity": old[x, a]})

    gain = float(frequencies @ ((new - old) * means).sum(axis=1))
    return Bandit(
        draw, TabularPolicy.from_probabilities(old), TabularPolicy.from_probabilities(new), gain
    )


def table_of(policy: Policy) -> np.ndarray:
    return np.asarray(expect(TabularPolicy, policy).table)


def linear_policy(
    weights: ArrayLike, biases: ArrayLike, signature: Signature, head: Head
) -> MLPPolicy:
    network = MLP(
        (jnp.asarray(weights, jnp.float32),), (jnp.asarray(biases, jnp.float32),), ("identity",)
    )
    return MLPPolicy(network, None, signature, head)


def vector_bandit(seed: int, *, shift: float = 1.0) -> Bandit:
    """Contexts in R³, three actions, rewards that are neither linear nor smooth in the context."""
    rng = np.random.default_rng(seed)
    space = Box(-np.inf, np.inf, (3,))
    signature = Signature(space, Discrete(3))
    first = 0.7 * rng.normal(size=(3, 3))
    second = first + shift * rng.normal(size=(3, 3))
    waves, kinks = rng.normal(size=(2, 3, 3))

    def mean(x: np.ndarray) -> np.ndarray:
        return np.asarray(np.sin(2.0 * x @ waves) + np.abs(x @ kinks))

    many = rng.normal(size=(300_000, 3))
    difference = softmax(many @ second) - softmax(many @ first)
    gain = float((difference * mean(many)).sum(axis=1).mean())

    def draw(rng: np.random.Generator, n: int) -> Log:
        x = rng.normal(size=(n, 3)).astype(np.float32)
        a = choose(rng, softmax(x @ first))
        r = mean(x)[np.arange(n), a] + rng.normal(size=n)
        return make_log(x, a, r, space, Discrete(3))

    old, new = (linear_policy(w, np.zeros(3), signature, "categorical") for w in (first, second))
    return Bandit(draw, old, new, gain)


def continuous_bandit(seed: int, *, shift: float = 0.3, scale: float = 0.7) -> Bandit:
    """Contexts in R², actions in R; the gain is a closed form of Gaussian moments.

    r = -(a - t·x)² + sin(a) + noise with a ~ N(w·x, σ²) and x ~ N(0, 1): E sin(a) = 0 for both.
    """
    rng = np.random.default_rng(seed)
    observations, actions = Box(-np.inf, np.inf, (2,)), Box(-np.inf, np.inf, (1,))
    signature = Signature(observations, actions)
    target, first = rng.normal(size=(2, 1)), 0.5 * rng.normal(size=(2, 1))
    second = first + shift * (target - first)
    deviation, other = 0.8, 0.8 * scale

    def policy(weights: np.ndarray, std: float) -> MLPPolicy:
        full = np.concatenate([weights, np.zeros((2, 1))], axis=1)
        return linear_policy(full, [0.0, math.log(std)], signature, "gaussian")

    def value(weights: np.ndarray, std: float) -> float:
        return -float(np.sum((weights - target) ** 2)) - std**2

    def draw(rng: np.random.Generator, n: int) -> Log:
        x = rng.normal(size=(n, 2))
        a = x @ first + deviation * rng.normal(size=(n, 1))
        r = (np.sin(a) - (a - x @ target) ** 2)[:, 0] + rng.normal(size=n)
        return make_log(x.astype(np.float32), a.astype(np.float32), r, observations, actions)

    gain = value(second, other) - value(first, deviation)
    return Bandit(draw, policy(first, deviation), policy(second, other), gain)


def estimate(
    log: Log, old: Policy, new: Policy, estimator: OneStep | None = None, seed: int = 0
) -> Estimate:
    estimator = estimator or OneStep()
    problem = Problem(log, old, log.starts, 0.99)
    assert estimator.applies(problem) == ""
    key = jax.random.key(seed)
    prepared = estimator.prepare(key, problem, report_nothing)
    return estimator.estimate(key, problem, prepared, new, report_nothing)


def bounds(said: Estimate, level: float = 0.95) -> tuple[float, float]:
    reach = float(stats.t.ppf(level, said.degrees)) * said.standard_error + said.overlap_penalty
    return said.gain - reach, said.gain + reach


def count_misses(bandit: Bandit, n: int, logs: int, estimator: OneStep | None = None) -> list[int]:
    """How many of the logs that say something put the lower, or the upper, bound past the truth."""
    below = above = informative = 0
    for number in range(logs):
        log = bandit.draw(np.random.default_rng([100, number]), n)
        said = estimate(log, bandit.old, bandit.new, estimator, number)
        low, high = bounds(said)
        informative += said.informative
        below += said.informative and low > bandit.gain
        above += said.informative and high < bandit.gain
    return [informative, int(below), int(above)]


def most_misses(logs: int, level: float) -> int:
    """So many of `logs` are chance once in a thousand if the level is right."""
    return int(stats.binom.ppf(0.999, logs, level))


def check_coverage(bandit: Bandit, n: int, logs: int, estimator: OneStep | None = None) -> None:
    informative, below, above = count_misses(bandit, n, logs, estimator)
    assert informative >= 0.9 * logs
    assert below <= most_misses(informative, 0.05)
    assert below + above <= most_misses(informative, 0.10)


BANDITS: dict[str, Callable[[], Bandit]] = {
    "table": lambda: table_bandit(100),
    "table, rare conversions": lambda: table_bandit(101, noise="rare"),
    "table, large losses": lambda: table_bandit(102, noise="losses"),
    "table, heavy weights": lambda: table_bandit(103, spread=2.0, shift=3.0),
    "table, rare and heavy": lambda: table_bandit(104, noise="rare", spread=1.5, shift=2.5),
    "vectors": lambda: vector_bandit(105),
    "vectors, heavy weights": lambda: vector_bandit(106, shift=2.0),
    "action vectors": lambda: continuous_bandit(107),
}


@pytest.mark.parametrize("name", ["table", "table, rare and heavy", "vectors"])
def test_bounds_hold_as_often_as_they_say(name: str) -> None:
    check_coverage(BANDITS[name](), 400, 60)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1000, 5000])
@pytest.mark.parametrize("name", list(BANDITS))
def test_coverage_over_many_logs(name: str, n: int) -> None:
    check_coverage(BANDITS[name](), n, 300)


@pytest.mark.parametrize("name", ["table", "vectors", "action vectors"])
def test_large_logs_find_the_truth(name: str) -> None:
    """Within four standard errors, which are small: an estimator that says nothing fails."""
    bandit = BANDITS[name]()
    log = bandit.draw(np.random.default_rng(108), 20_000)
    said = estimate(log, bandit.old, bandit.new)
    assert said.informative
    assert said.basis == "data"
    assert abs(said.gain - bandit.gain) < 4.0 * said.standard_error + said.overlap_penalty
    assert said.standard_error < 0.03 * float(np.std(log.rewards))


def test_a_reward_model_makes_the_error_smaller() -> None:
    """Against plain weighting of rewards, on contexts that explain most of them."""
    bandit = continuous_bandit(109)
    log = bandit.draw(np.random.default_rng(109), 4000)
    problem = Problem(log, bandit.old, log.starts, 0.99)
    estimator, key = OneStep(), jax.random.key(0)
    prepared = estimator.prepare(key, problem, report_nothing)
    scores = estimator.score(problem, prepared, bandit.new)
    assert scores is not None
    plain = (scores.ratios - 1.0) * np.asarray(log.rewards)
    assert scores.values.std() < 0.6 * plain.std()


@pytest.mark.parametrize("name", list(BANDITS))
def test_the_old_policy_gains_nothing_over_itself(name: str) -> None:
    bandit = BANDITS[name]()
    for seed in (110, 111):
        log = bandit.draw(np.random.default_rng(seed), 1500)
        said = estimate(log, bandit.old, bandit.old)
        low, high = bounds(said, 0.8)
        assert said.standard_error > 0
        assert low < 0 < high
        assert abs(said.gain) < 1e-5 * float(np.abs(log.rewards).max())
        assert said.overlap_penalty == 0.0


def test_logged_propensities_agree_with_known_ones() -> None:
    bandit = table_bandit(114)
    log = bandit.draw(np.random.default_rng(114), 5000)
    known = estimate(log, bandit.old, bandit.new)
    # The policy may then be a rough clone: taken actions have their own probability.
    rough = TabularPolicy.from_probabilities(0.9 * table_of(bandit.old) + 0.025)
    logged = estimate(log, rough, bandit.new, OneStep(propensities="logged"))
    assert logged.informative
    assert logged.gain == pytest.approx(known.gain, abs=2 * known.standard_error)


def test_estimated_propensities_cover_with_their_uncertainty() -> None:
    """A clone from the counts of another log of the same size."""
    bandit = table_bandit(115)
    wrong = 0
    for number in range(40):
        rng = np.random.default_rng([115, number])
        other, log = bandit.draw(rng, 500), bandit.draw(rng, 500)
        counts = np.full((20, 4), 0.5)
        np.add.at(counts, (other.observations, other.actions), 1.0)
        table = counts / counts.sum(axis=1, keepdims=True)
        away = np.abs(table - table_of(bandit.old)).sum(axis=1)[log.observations] / 2
        estimator = OneStep(propensities="estimated", uncertainty=float(away.mean()))
        said = estimate(log, TabularPolicy.from_probabilities(table), bandit.new, estimator)
        low, high = bounds(said)
        wrong += not low <= bandit.gain <= high
        assert said.overlap_penalty > 0
    assert wrong <= most_misses(40, 0.10)


@pytest.mark.parametrize("rare", [1e-3, 1e-5, 1e-7])
def test_what_the_log_hardly_tried_is_charged(rare: float) -> None:
    """A hundredth of the candidate's mass on an action that pays nothing and was hardly tried.

    The log knows the other change well (action 1 pays more). What it does not know is in the
    interval: the truth is covered whether or not the rare action was met.
    """
    old = np.tile([0.5, 0.5 - rare, rare], (3, 1))
    new = np.tile([0.3, 0.69, 0.01], (3, 1))
    old_policy, new_policy = map(TabularPolicy.from_probabilities, (old, new))
    means = np.array([0.4, 0.6, 0.0])
    truth = float((new - old)[0] @ means)
    for seed in range(116, 122):
        rng = np.random.default_rng(seed)
        x = rng.integers(0, 3, 3000).astype(np.int32)
        a = choose(rng, old[x])
        r = (rng.random(3000) < means[a]).astype(float)
        said = estimate(make_log(x, a, r, Discrete(3), Discrete(3)), old_policy, new_policy)
        low, high = bounds(said)
        assert said.informative
        assert low <= truth <= high
        # 0.01 of the mass, rewards between 0 and 1; above that only what chance adds.
        assert said.overlap_penalty <= 0.01 + 1e-9
        assert rare > 1e-4 or said.overlap_penalty > 0.009
        assert 0.0 < high - low < 0.12


def test_vanishing_weights_are_not_effective() -> None:
    assert count_effective(np.full(1000, 1e-3)) == pytest.approx(1.0)
    assert count_effective(np.ones(1000)) == pytest.approx(1000.0)
    assert count_effective(np.array([10.0, 0.0, 0.0])) == pytest.approx(1.0)
    assert count_effective(np.zeros(3)) == 0.0


def test_moments_of_weights_by_hand() -> None:
    """Old (0.8, 0.2), new (0.2, 0.8): ρ is 1/4 or 4; at the limit 2 it is 1/4 or 2."""
    ratios = PolicyRatios(np.array([4.0]), np.array([[0.2, 0.8]]), np.array([[4.0, 0.25]]))
    assert ratios.second_moment(math.inf)[0] == pytest.approx(0.8 * 0.75**2 + 0.2 * 9.0)
    assert ratios.second_moment(2.0)[0] == pytest.approx(0.8 * 0.75**2 + 0.2 * 1.0)
    assert ratios.excess(1.0)[0] == pytest.approx(0.6)
    assert ratios.excess(2.0)[0] == pytest.approx(0.4)
    assert ratios.excess(math.inf)[0] == 0.0


def test_a_deterministic_old_policy_says_nothing_about_another_one() -> None:
    old = np.tile([1.0, 0.0], (4, 1))
    rng = np.random.default_rng(117)
    x = rng.integers(0, 4, 500).astype(np.int32)
    log = make_log(x, np.zeros(500, np.int32), rng.normal(size=500), Discrete(4), Discrete(2))
    policies = [TabularPolicy.from_probabilities(t) for t in (old, old[:, ::-1], 0.9 * old + 0.05)]
    for candidate in policies[1:]:
        said = estimate(log, policies[0], candidate)
        assert not said.informative
        assert "never or hardly tried" in said.reason
        assert math.isinf(said.standard_error)
    same = estimate(log, policies[0], policies[0])
    assert same.informative
    assert same.gain == 0.0


def test_deterministic_action_vectors_have_no_weights() -> None:
    bandit = continuous_bandit(118)
    log = bandit.draw(np.random.default_rng(118), 200)
    signature = bandit.old.signature
    point = linear_policy(np.zeros((2, 1)), [0.3], signature, "deterministic")
    other = linear_policy(np.zeros((2, 1)), [0.4], signature, "deterministic")
    for old, new in ((point, other), (bandit.old, point), (point, bandit.new)):
        said = estimate(log, old, new)
        assert not said.informative
        assert "deterministic" in said.reason
    assert estimate(log, point, point).gain == 0.0


def test_wrong_probabilities_are_noticed() -> None:
    """The log was made by another policy than the one given."""
    bandit = table_bandit(119)
    log = bandit.draw(np.random.default_rng(119), 5000)
    shuffled = TabularPolicy.from_probabilities(table_of(bandit.old)[:, ::-1])
    said = estimate(log, shuffled, bandit.new)
    assert not said.informative
    assert "do not fit" in said.reason


def test_a_rare_start_is_reached_by_weights() -> None:
    """The next episode starts in context 3 only: the gain there, not the average one."""
    rng = np.random.default_rng(120)
    x = rng.integers(0, 5, 6000).astype(np.int32)
    a = rng.integers(0, 2, 6000).astype(np.int32)
    log = make_log(x, a, x * a + rng.normal(size=6000), Discrete(5), Discrete(2))
    old, new = (
        TabularPolicy.from_probabilities(np.tile(row, (5, 1))) for row in ([0.5, 0.5], [0.2, 0.8])
    )
    estimator, key = OneStep(), jax.random.key(0)
    problem = Problem(log, old, np.array([3], np.int32), 0.99)
    prepared = estimator.prepare(key, problem, report_nothing)
    said = estimator.estimate(key, problem, prepared, new, report_nothing)
    assert said.gain == pytest.approx(0.9, abs=4 * said.standard_error)
    assert said.standard_error < 0.1


def test_starts_that_the_log_does_not_know() -> None:
    bandit = vector_bandit(121)
    log = bandit.draw(np.random.default_rng(121), 400)
    own, elsewhere = log.starts, np.full((1, 3), 2.0, np.float32)
    fresh = bandit.draw(np.random.default_rng(122), 300).starts
    longer = np.concatenate([fresh, own])
    for start, fits in ((own, True), (longer, True), (fresh, True), (elsewhere, False)):
        why = OneStep().applies(Problem(log, bandit.old, start, 0.99))
        assert (why == "") == fits
    table = table_bandit(121)
    rows = table.draw(np.random.default_rng(121), 200)
    met = rows.select(np.flatnonzero(rows.observations != 7))
    why = OneStep().applies(Problem(met, table.old, np.array([7], np.int32), 0.99))
    assert "no episode" in why


def test_what_it_does_not_apply_to() -> None:
    bandit = table_bandit(123)
    log = bandit.draw(np.random.default_rng(123), 60)

    def ask(log: Log, estimator: OneStep | None = None) -> str:
        return (estimator or OneStep()).applies(Problem(log, bandit.old, log.starts, 0.99))

    assert ask(log) == ""
    assert "fewer than" in ask(log.select(np.arange(20)))
    cut = replace(log, terminated=np.zeros(60, bool), truncated=np.ones(60, bool))
    assert "cut off" in ask(cut)
    joined = replace(log, offsets=np.concatenate([[0], np.arange(2, 61)]))
    assert "more than one step" in ask(joined)
    assert "the same" in ask(replace(log, rewards=np.ones(60, np.float32)))
    assert "no column" in ask(log, OneStep(propensities="logged", column="p"))


def test_the_same_key_gives_the_same_numbers() -> None:
    bandit = continuous_bandit(124)
    log = bandit.draw(np.random.default_rng(124), 300)
    first, second, other = (estimate(log, bandit.old, bandit.new, seed=seed) for seed in (1, 1, 2))
    assert first == second
    assert first.gain != other.gain


def test_its_scores_feed_the_sensitivity_analysis() -> None:
    """At Λ = 1 the self-normalised gain lies within an error or so of the estimate."""
    bandit = table_bandit(125)
    log = bandit.draw(np.random.default_rng(125), 2000)
    problem = Problem(log, bandit.old, log.starts, 0.99)
    estimator, key = OneStep(), jax.random.key(0)
    prepared = estimator.prepare(key, problem, report_nothing)
    scores = estimator.score(problem, prepared, bandit.new)
    assert scores is not None
    sample = WeightedOutcomes(*scores.split(), scores.probabilities)
    assert scores.probabilities == pytest.approx(log.columns["propensity"], rel=1e-4)
    said = estimator.estimate(key, problem, prepared, bandit.new, report_nothing)
    gain, error = worst_gain(sample, 1.0)
    assert gain == pytest.approx(said.gain, abs=said.standard_error)
    assert error == pytest.approx(said.standard_error, rel=0.3)
    assert worst_gain(sample, 2.0)[0] < gain


def test_it_is_an_estimator_and_checks_its_settings() -> None:
    assert isinstance(OneStep(), Estimator)
    assert OneStep().name == "one_step"
    with pytest.raises(InputError, match="folds 1"):
        OneStep(folds=1)
    with pytest.raises(InputError, match="propensities"):
        OneStep(propensities="guessed")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="share"):
        OneStep(uncertainty=2.0)


def test_bad_logged_propensities_are_named() -> None:
    bandit = table_bandit(126)
    log = bandit.draw(np.random.default_rng(126), 100)
    column = np.array(log.columns["propensity"])
    column[7] = 0.0
    bad = replace(log, columns={"propensity": column})
    with pytest.raises(InputError, match="row 7"):
        estimate(bad, bandit.old, bandit.new, OneStep(propensities="logged"))
