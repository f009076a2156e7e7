"""Planning net of the cost: against enumeration, and against the true world behind a log."""

from __future__ import annotations

import itertools

import jax
import numpy as np
import pytest
from scipy import sparse

from nacre.costs import FiniteStates, TransportCost, groups
from nacre.costs.family import SwitchingCost
from nacre.errors import InputError
from nacre.estimators import exact
from nacre.estimators.base import Problem, report_nothing
from nacre.estimators.tabular import Tabular
from nacre.estimators.tabular_world import ask_table
from nacre.learners.base import Candidate, LearningProblem
from nacre.learners.net_actor_critic.first_policy import open_policy
from nacre.learners.net_planning import OLD, Charges, PlannedWorld, climb, plan_switch
from nacre.learners.tabular_planner import TabularPlanner
from nacre.logs import Log
from nacre.policies.masks import respect_mask
from nacre.policies.policy import Signature
from nacre.policies.tabular import TabularPolicy
from nacre.simulators import FiniteWorld, random_policy, random_world
from nacre.training.progress import NoProgress
from tests.support.rooms import make_rooms_log


def plan_exactly(world: FiniteWorld, old: np.ndarray) -> PlannedWorld:
    """A world as its planner sees it, with nothing to be careful about."""
    n, n_actions = world.reward.shape
    moves = world.discount * world.continuation.reshape(n * n_actions, n)
    rows = np.einsum("sa,sat->st", old, world.discount * world.continuation)
    return PlannedWorld(
        world.reward,
        sparse.csr_matrix(moves),
        (old * world.reward).sum(axis=1),
        sparse.csr_matrix(rows),
        world.start,
    )


def find_net(world: FiniteWorld, old: np.ndarray, charges: Charges, choice: np.ndarray) -> float:
    """Net value of choices by another way: the table of the policy, and its exact value."""
    table = np.where((choice == OLD)[:, None], old, np.eye(old.shape[1])[np.maximum(choice, 0)])
    return float(exact.start_value(world, table)) - charges.total(choice)


def make_case(seed: int) -> tuple[FiniteWorld, np.ndarray, Charges]:
    rng = np.random.default_rng(seed)
    world = random_world(seed, 4, 2)
    old = random_policy(seed, world)
    moved = rng.uniform(0.0, 0.5, (4, 2))
    return world, old, Charges(moved, np.full(4, 0.01))


def test_the_plan_is_the_best_of_all_choices() -> None:
    """Of 40 random worlds; the climb is no exhaustive search, so that two may be missed."""
    missed = 0
    for seed in range(100, 140):
        world, old, charges = make_case(seed)
        best = plan_switch(plan_exactly(world, old), charges)
        nets = [
            find_net(world, old, charges, np.array(choice))
            for choice in itertools.product((OLD, 0, 1), repeat=4)
        ]
        found = find_net(world, old, charges, best)
        assert found <= max(nets) + 1e-9
        missed += found < max(nets) - 1e-6
    assert missed <= 2


def test_a_free_plan_is_the_optimal_policy() -> None:
    for seed in range(100, 105):
        world, old, charges = make_case(seed)
        nothing = Charges(0 * charges.single, 0 * charges.kept)
        value = find_net(world, old, nothing, plan_switch(plan_exactly(world, old), nothing))
        assert value == pytest.approx(
            float(exact.start_value(world, exact.optimal_policy(world))), abs=1e-8
        )


def test_a_climb_never_falls_and_stops_where_nothing_pays() -> None:
    world, old, charges = make_case(100)
    planned, keep = plan_exactly(world, old), np.full(4, OLD)
    before = find_net(world, old, charges, keep)
    choice, net = climb(planned, charges, keep)
    assert net >= before
    assert net == pytest.approx(find_net(world, old, charges, choice), abs=1e-8)
    high = Charges(charges.single + 1e6, charges.kept)
    assert np.all(climb(planned, high, keep)[0] == OLD)


def test_actions_that_are_not_allowed_are_never_taken() -> None:
    world, old, charges = make_case(101)
    planned = plan_exactly(world, old)
    rewards = np.where(np.arange(2) == 1, -np.inf, planned.rewards)
    only = PlannedWorld(
        rewards, planned.moves, planned.old_rewards, planned.old_moves, planned.start
    )
    assert not np.any(plan_switch(only, charges) == 1)


def learn(
    world: FiniteWorld, old: np.ndarray, rows: int, cost: SwitchingCost, seed: int
) -> list[Candidate]:
    log = world.sample_log(old, rows, seed=seed, horizon=50)
    policy = TabularPolicy.from_probabilities(old)
    problem = LearningProblem(log, policy, cost, np.asarray(log.starts), world.discount)
    return list(TabularPlanner().learn(jax.random.key(seed), problem, NoProgress()))


def find_true_net(
    world: FiniteWorld, old: np.ndarray, table: np.ndarray, cost: SwitchingCost
) -> float:
    new = TabularPolicy.from_probabilities(table)
    price = cost.evaluate(TabularPolicy.from_probabilities(old), new).total
    return float(exact.start_value(world, table)) - price


@pytest.mark.parametrize("seed", range(100, 103))
def test_a_log_is_enough_for_nearly_all_of_the_net_gain(seed: int) -> None:
    """Best of all rows that are the old ones or single actions, by enumeration in the truth."""
    world = random_world(seed, 4, 2)
    old = 0.5 * random_policy(seed, world) + 0.25
    cost = TransportCost(0.5, 0.02, groups.indices([[0], [1]]), state_measure=FiniteStates())
    tables = [
        np.stack([old[s] if c == OLD else np.eye(2)[c] for s, c in enumerate(choice)])
        for choice in itertools.product((OLD, 0, 1), repeat=4)
    ]
    kept = float(exact.start_value(world, old))
    best = max(kept, *(find_true_net(world, old, table, cost) for table in tables[1:]))
    found = [
        find_true_net(world, old, read_table(one), cost)
        for one in learn(world, old, 20_000, cost, seed)
    ]
    worst = -float(exact.start_value(_turn(world), exact.optimal_policy(_turn(world))))
    assert max([kept, *found]) >= best - 0.05 * (best - worst)


def read_table(candidate: Candidate) -> np.ndarray:
    assert isinstance(candidate.policy, TabularPolicy)
    return np.asarray(candidate.policy.table)


def _turn(world: FiniteWorld) -> FiniteWorld:
    """The world whose best policy is the worst of this one."""
    return FiniteWorld(
        transition=world.transition,
        reward=-world.reward,
        discount=world.discount,
        start=world.start,
        termination=world.termination,
    )


def test_a_table_of_an_intensive_care_unit_is_planned() -> None:
    """700 states and 25 actions, 30,000 rows."""
    rng = np.random.default_rng(0)
    moves = np.zeros((700, 25, 700))
    ahead = rng.integers(0, 700, (700, 25, 3))
    for k in range(3):
        np.add.at(moves, (np.arange(700)[:, None], np.arange(25), ahead[..., k]), 1 / 3)
    world = FiniteWorld(moves, rng.normal(size=(700, 25)), 0.95, np.full(700, 1 / 700))
    old = np.full((700, 25), 1 / 25)
    cost = TransportCost(1.0, 0.0, groups.halves())
    log = world.sample_log(old, 30_000, seed=100, horizon=20)
    policy = TabularPolicy.from_probabilities(old)
    problem = LearningProblem(log, policy, cost, np.asarray(log.starts), world.discount)
    first, *_ = TabularPlanner().learn(jax.random.key(0), problem, NoProgress())
    before, after = (exact.start_value(world, table) for table in (old, read_table(first)))
    assert after > before


def test_states_that_the_log_does_not_have_keep_the_old_rows() -> None:
    world = random_world(100, 6, 2)
    old = random_policy(100, world)
    log = world.sample_log(old, 4, seed=100, horizon=2)
    policy = TabularPolicy.from_probabilities(old)
    cost = TransportCost(0.0, 0.0, groups.halves())
    problem = LearningProblem(log, policy, cost, np.asarray(log.starts), world.discount)
    seen = np.asarray(log.observations)
    for one in TabularPlanner(caution=0.0).learn(jax.random.key(0), problem, NoProgress()):
        others = np.setdiff1d(np.arange(6), seen)
        np.testing.assert_allclose(read_table(one)[others], old[others], atol=1e-6)


def test_what_it_applies_to_and_wrong_settings() -> None:
    log = make_rooms_log()
    policy = TabularPolicy.from_probabilities(np.full((2, 2), 0.5))
    cost = TransportCost(1.0, 0.0, groups.halves())
    assert TabularPlanner().applies(LearningProblem(log, policy, cost, log.starts, 0.9)) == ""
    with pytest.raises(InputError, match="caution = -1: must not be negative"):
        TabularPlanner(caution=-1)


def test_what_numbered_states_forbid_is_neither_planned_nor_counted() -> None:
    """The old policy as given knows of no mask; gains are those of the true world with it."""
    world, allowed = random_world(100, 4, 3), np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1], [1, 1, 1]])
    given = np.tile([0.3, 0.4, 0.3], (4, 1))
    old = given * allowed / (given * allowed).sum(axis=1, keepdims=True)
    sampled = world.sample_log(old, 6000, seed=100, horizon=30)
    log = Log.from_arrays(
        sampled.observations,
        sampled.actions,
        sampled.rewards,
        sampled.terminated,
        truncated=sampled.truncated,
        next_observations=sampled.next_observations,
        columns={"allowed": allowed[sampled.observations]},
    )
    spaces = Signature(log.observation_space, log.action_space)
    policy = respect_mask(TabularPolicy.from_probabilities(given), spaces)
    np.testing.assert_allclose(ask_table(policy, np.arange(4)), old, atol=1e-6)
    opened = ask_table(open_policy(policy, log), np.arange(4))
    assert (opened[allowed == 0] == 0).all()
    cost = TransportCost(0.05, 0.0, groups.indices([[0], [1, 2]]))
    start = np.asarray(log.starts)
    problem = LearningProblem(log, policy, cost, start, world.discount)
    planned = TabularPlanner().learn(jax.random.key(0), problem, NoProgress())
    assert planned
    question = Problem(log, policy, start, world.discount)
    tabular = Tabular(replicates=100)
    prepared = tabular.prepare(jax.random.key(0), question, report_nothing)
    for one in planned:
        table = read_table(one)
        assert (table[allowed == 0] == 0).all()
        assert one.policy.signature == spaces
        found = tabular.estimate(jax.random.key(1), question, prepared, one.policy, report_nothing)
        truth = float(exact.start_value(world, table) - exact.start_value(world, old))
        assert abs(found.gain - truth) < 4 * found.standard_error + found.overlap_penalty
