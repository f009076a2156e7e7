"""Learning from end to end: prices that bind, guards, interruption and resumption."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.costs import SwitchingCost, TableImportance, TransportCost, WeightedStates, groups
from nacre.costs.toml import parse_cost
from nacre.errors import InputError
from nacre.learners import Learned, Plateau, ProgressEvent, StoppingRule, learn
from nacre.learners.net_actor_critic import run as run_module
from nacre.learners.net_actor_critic.first_policy import LEAST_LOGIT, first_policy, open_policy
from nacre.learners.net_actor_critic.journal import identify_run
from nacre.policies import fingerprint
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Policy
from nacre.policies.tabular import TabularPolicy
from nacre.training.loop import run_epoch
from tests.support.learners import make_finite, make_learner, make_vectors, singletons
from tests.support.policies import expect

CONFIG = make_learner()
COST = singletons(2.0)
EVERYWHERE = np.arange(4)


def run_learning(cost: SwitchingCost = COST, config: Any = CONFIG, **options: Any) -> Learned:
    finite = make_finite(5)
    given = {"old_value": 1.0, "seed": 7} | options
    return learn(finite.log, finite.policy, cost, EVERYWHERE, config, **given)


@functools.cache
def uninterrupted() -> Learned:
    return run_learning()


def moved_mass(learned: Learned) -> float:
    finite = make_finite(5)
    return singletons(1.0).evaluate(finite.policy, learned.policy, finite.log).learning_mass


def same_bits(mine: Any, theirs: Any) -> bool:
    leaves = (jax.tree.leaves(eqx.filter(tree, eqx.is_array)) for tree in (mine, theirs))
    return all(map(np.array_equal, *leaves))


def without_time(learned: Learned) -> list[dict[str, Any]]:
    records = [dataclasses.asdict(record) for record in learned.history]
    for record in records:
        del record["seconds"]
    return records


def test_a_whole_run_says_what_it_did() -> None:
    heard: list[ProgressEvent] = []
    learned = run_learning(progress=heard.append)
    assert (learned.healthy, learned.complete) == (True, True)
    assert learned.stop_reason == "all epochs done"
    assert learned.policy is learned.state.policy
    assert [record.epoch for record in learned.history] == [0, 1, 2, 3]
    assert all(record.steps == 300 for record in learned.history)
    assert all(np.isfinite(list(record.values())).all() for record in without_time(learned))
    assert [(event.stage, event.epoch, event.epochs) for event in heard] == [
        ("learning", epoch, 4) for epoch in range(4)
    ]
    last = learned.history[-1]
    assert (heard[-1].loss, heard[-1].estimate) == (last.critic_loss, last.net_value)
    assert same_bits(learned.state, uninterrupted().state)
    assert not same_bits(learned.state, run_learning(seed=8).state)


def test_a_higher_price_never_moves_more_mass() -> None:
    """Between seeds the mass varies by a few hundredths where the price is neither low nor high."""
    cheap, priced, prohibitive = (
        moved_mass(run_learning(singletons(weight))) for weight in (0.1, 2.0, 50.0)
    )
    assert cheap > priced - 0.05
    assert priced > prohibitive - 0.05
    assert cheap > 0.5
    assert prohibitive < 0.02


@pytest.mark.parametrize(
    ("old_value", "rule", "reason", "epochs"),
    [
        (1e6, StoppingRule(least_epochs=2), "below the lower bound", 2),
        (1e6, StoppingRule(least_epochs=3), "below the lower bound", 3),
        (-1e6, StoppingRule(least_epochs=2, growth_rate=1.0), "above the upper bound", 2),
        (1e6, StoppingRule(least_epochs=9), "all epochs done", 4),
        # Nothing adds to the distance from a million.
        (1e6, Plateau(least_epochs=3), "added less than 5 %", 3),
    ],
)
def test_the_stopping_rule_ends_it_early(
    old_value: float, rule: StoppingRule | Plateau, reason: str, epochs: int
) -> None:
    # An old value of minus a million is below the upper bound whatever the new one is, unless that
    # is positive.
    config = dataclasses.replace(CONFIG, stopping=rule)
    learned = run_learning(config=config, old_value=old_value)
    assert len(learned.history) == epochs
    positive = learned.history[-1].net_value > 0 and old_value < 0
    assert ("positive" if positive else reason) in learned.stop_reason
    assert learned.healthy
    assert without_time(learned) == without_time(uninterrupted())[:epochs]


def test_every_epoch_shows_its_policy() -> None:
    seen: list[tuple[int, str]] = []
    learned = run_learning(
        on_epoch=lambda record, policy: seen.append((record.epoch, fingerprint(policy)))
    )
    assert [epoch for epoch, _ in seen] == [record.epoch for record in learned.history]
    assert len({policy for _, policy in seen}) == len(seen)
    assert seen[-1][1] == fingerprint(learned.policy)


def test_an_average_is_what_is_learned(tmp_path: Path) -> None:
    actor = dataclasses.replace(CONFIG.actor, averaging=0.99)
    config = dataclasses.replace(CONFIG, actor=actor, epochs=2)
    path, seen = tmp_path / "run.safetensors", []
    learned = run_learning(config=config, on_epoch=lambda _, policy: seen.append(policy))
    assert same_bits(learned.policy, learned.state.average)
    assert same_bits(seen[-1], learned.policy)
    assert not same_bits(learned.policy, learned.state.policy)
    assert not run_learning(config=config, checkpoint=path, progress=Interrupt(1)).complete
    assert same_bits(run_learning(config=config, checkpoint=path).policy, learned.policy)


class Interrupt:
    """A reporter that stops the run after some epochs, as Ctrl-C would."""

    def __init__(self, epochs: int) -> None:
        self.epochs = epochs

    def __call__(self, event: ProgressEvent) -> None:
        if event.epoch + 1 == self.epochs:
            raise KeyboardInterrupt


def test_resumed_equals_uninterrupted_bit_for_bit(tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    stopped = run_learning(checkpoint=path, progress=Interrupt(2))
    assert (stopped.healthy, stopped.complete) == (True, False)
    assert stopped.stop_reason == "interrupted after 2 epochs"
    assert len(stopped.history) == 2
    assert not same_bits(stopped.state, uninterrupted().state)

    heard: list[ProgressEvent] = []
    resumed = run_learning(checkpoint=str(path), progress=heard.append)
    assert [event.epoch for event in heard] == [2, 3]
    assert resumed.complete
    assert same_bits(resumed.state, uninterrupted().state)
    assert without_time(resumed) == without_time(uninterrupted())

    again = run_learning(checkpoint=path, progress=Interrupt(1))
    assert again.stop_reason == "all epochs done"
    assert same_bits(again.state, resumed.state)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "changed",
    [
        {"seed": 8},
        {"config": dataclasses.replace(CONFIG, epochs=5)},
        {"cost": singletons(0.6)},
        {"start": np.array([0, 1, 2, 2])},
        {"log": make_finite(5, n_rows=1999).log},
        {"old_policy": TabularPolicy.from_probabilities(np.full((4, 3), 1 / 3))},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_a_checkpoint_of_another_run_is_refused(changed: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    run_learning(checkpoint=path, progress=Interrupt(1))
    finite = make_finite(5)
    given: dict[str, Any] = {
        "log": finite.log,
        "old_policy": finite.policy,
        "cost": COST,
        "start": EVERYWHERE,
        "config": CONFIG,
        "seed": 7,
    }
    with pytest.raises(InputError, match="checkpoint of another run"):
        learn(**given | changed, old_value=1.0, checkpoint=path)


def test_a_damaged_checkpoint_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    path.write_bytes(b"garbage")
    with pytest.raises(InputError) as caught:
        run_learning(checkpoint=path)
    (problem,) = caught.value.problems
    assert problem.startswith(f"{path}: not a readable checkpoint")


def test_a_run_that_diverges_is_stopped_within_the_epoch() -> None:
    loud = dataclasses.replace(CONFIG.critics, learning_rate=1e30)
    learned = run_learning(config=dataclasses.replace(CONFIG, critics=loud))
    assert (learned.healthy, learned.complete) == (False, True)
    assert learned.history == ()
    assert learned.stop_reason.startswith("diverged in epoch 1 of 4 at step ")
    step = int(learned.stop_reason.split("at step ")[1].split()[0])
    assert step < 300
    assert learned.stop_reason.endswith("kept the policy of the start")
    assert same_bits(learned.policy, make_finite(5).policy)


def test_a_later_divergence_keeps_the_last_good_epoch_on_disk_and_in_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def break_down(*arguments: Any) -> Any:
        calls.append(1)
        outcome = run_epoch(*arguments)
        return outcome._replace(ok=outcome.ok & (len(calls) != 3))

    path = tmp_path / "run.safetensors"
    good = run_learning(checkpoint=tmp_path / "good.safetensors", progress=Interrupt(2))
    monkeypatch.setattr(run_module, "run_epoch", break_down)
    learned = run_learning(checkpoint=path)
    assert not learned.healthy
    assert learned.stop_reason.startswith("diverged in epoch 3 of 4 at step 300 (critic loss ")
    assert learned.stop_reason.endswith("kept the policy of epoch 2")
    assert without_time(learned) == without_time(uninterrupted())[:2]
    assert same_bits(learned.state, good.state)
    # The break-down was not the run's own fault: going on from the last good epoch ends well.
    assert same_bits(run_learning(checkpoint=path).state, uninterrupted().state)


def test_warm_critics_are_gone_on_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """Learning begins with the very critics that are given, and ends elsewhere for it."""
    finite, seen = make_finite(5), list[Any]()
    critics = CONFIG.critics.init(jax.random.key(9), finite.policy.signature)
    warm = dataclasses.replace(CONFIG, warm_critics=True, epochs=1)

    def look(program: Any, stream: Any, state: Any, *further: Any) -> Any:
        seen.append(state)
        return run_epoch(program, stream, state, *further)

    monkeypatch.setattr(run_module, "run_epoch", look)
    learned = run_learning(config=warm, critics=critics)
    assert same_bits(seen[0].critics.online, critics)
    assert same_bits(seen[0].critics.target, critics)
    again = run_learning(config=warm, critics=critics)
    assert same_bits(again.state, learned.state)
    cold = run_learning(config=dataclasses.replace(CONFIG, epochs=1), critics=critics)
    assert not same_bits(seen[2].critics.online, critics)
    assert not same_bits(cold.state, learned.state)


def test_warm_critics_have_to_be_given() -> None:
    warm = dataclasses.replace(CONFIG, warm_critics=True)
    with pytest.raises(InputError, match="warm_critics wants the critics that evaluated the old"):
        run_learning(config=warm)


def test_a_run_with_other_warm_critics_is_another_run(tmp_path: Path) -> None:
    path, signature = tmp_path / "run.safetensors", make_finite(5).policy.signature
    first, second = (CONFIG.critics.init(jax.random.key(seed), signature) for seed in (1, 2))
    warm = dataclasses.replace(CONFIG, warm_critics=True)
    run_learning(config=warm, critics=first, checkpoint=path, progress=Interrupt(1))
    with pytest.raises(InputError, match="checkpoint of another run"):
        run_learning(config=warm, critics=second, checkpoint=path)
    assert run_learning(config=warm, critics=first, checkpoint=path).complete


COSTS = {
    "transport": TransportCost(5.0, 0.1, groups.halves()),
    "states": TransportCost(
        5.0, 0.1, groups.halves(), state_measure=WeightedStates(np.array([0, 3]))
    ),
    "table": TransportCost(
        5.0, 0.1, groups.halves(), importance=TableImportance((1.0, 2.0, 1.0, 1.0))
    ),
    "file": parse_cost(
        """
        kind = "general"
        learning_weight = 2.0
        transaction_weight = 0.5
        [groups]
        kind = "indices"
        sets = [[0], [1, 2]]
        [plan]
        learning_ground = "one"
        """
    ),
    "function": TransportCost(5.0, 0.1, groups.halves(), importance=lambda states: 1.0 + states),
}


def identities() -> dict[str, str]:
    """Identities of runs that differ in their costs."""
    finite = make_finite(5)
    return {
        name: identify_run(finite.log, finite.policy, cost, jnp.asarray(EVERYWHERE), CONFIG, 7)
        for name, cost in COSTS.items()
    }


def test_another_process_computes_the_same_identities() -> None:
    code = "import json; from tests.learners.net_actor_critic.test_run import identities; "
    code += "print(json.dumps(identities()))"
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
        env={**os.environ, "PYTHONHASHSEED": "12345"},
    )
    mine = identities()
    assert json.loads(done.stdout) == mine
    assert len(set(mine.values())) == len(COSTS)


def test_every_one_of_many_start_states_counts_for_the_identity() -> None:
    finite = make_finite(5)
    starts = np.zeros(5000, np.int32)
    first = identify_run(finite.log, finite.policy, COST, jnp.asarray(starts), CONFIG, 0)
    starts[2500] = 1
    assert first != identify_run(finite.log, finite.policy, COST, jnp.asarray(starts), CONFIG, 0)


def test_a_table_is_opened_without_touching_what_it_allows() -> None:
    table = TabularPolicy.from_probabilities([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])
    log = make_finite(5).log
    opened = open_policy(table, log)
    assert isinstance(opened, TabularPolicy)
    np.testing.assert_array_equal(opened.logits[0, :2], table.logits[0, :2])
    np.testing.assert_array_equal(opened.logits[1], table.logits[1])
    np.testing.assert_allclose(opened.logits[0, 2], LEAST_LOGIT, atol=1e-5)
    np.testing.assert_allclose(opened.table, table.table, atol=1e-8)

    # Logits are known up to a constant, the least one is relative to it.
    lower = TabularPolicy(table.logits - 100.0, table.signature)
    opened = expect(TabularPolicy, open_policy(lower, log))
    np.testing.assert_allclose(opened.table, table.table, atol=1e-6)
    assert np.all(np.isfinite(opened.logits))


def test_learning_starts_from_the_old_policy_or_from_scratch() -> None:
    finite, (log, old) = make_finite(5), make_vectors()
    cold = dataclasses.replace(CONFIG.actor, warm_start=False, hidden=(5,))
    scratch = dataclasses.replace(CONFIG, actor=cold)
    key = jax.random.key(0)
    assert same_bits(first_policy(CONFIG, finite.policy, finite.log, key), finite.policy)
    assert first_policy(CONFIG, old, log, key) is old

    table = first_policy(scratch, finite.policy, finite.log, key)
    assert isinstance(table, MLPPolicy)
    assert (table.network.sizes, table.head, table.scaling) == ((4, 5, 3), "categorical", None)
    vectors = first_policy(scratch, old, log, key)
    assert isinstance(vectors, MLPPolicy)
    assert vectors.network.sizes == (2, 5, 4)
    assert vectors.scaling is not None
    np.testing.assert_allclose(vectors.scaling.shift, log.observations.mean(axis=0), atol=1e-5)


class Constant(Policy):
    """A policy without weights of a known form."""

    inner: TabularPolicy
    signature: Any = eqx.field(static=True)

    def __call__(self, observations: jax.Array) -> Any:
        return self.inner(observations)


def test_a_policy_without_weights_cannot_be_started_from() -> None:
    finite = make_finite(5)
    policy = Constant(finite.policy, finite.policy.signature)
    with pytest.raises(InputError, match=r"a Constant has no weights .* actor\.warm_start"):
        first_policy(CONFIG, policy, finite.log, jax.random.key(0))


def test_log_policy_cost_and_start_have_to_fit() -> None:
    finite, (log, vectors) = make_finite(5), make_vectors()

    def refuse(log: Any, policy: Policy, cost: SwitchingCost, start: Any) -> tuple[str, ...]:
        with pytest.raises(InputError) as caught:
            learn(log, policy, cost, start, CONFIG, old_value=0.0)
        return caught.value.problems

    small = TabularPolicy.from_probabilities(np.full((2, 3), 1 / 3))
    (problem,) = refuse(finite.log, small, COST, 0)
    assert problem.startswith("the old policy does not fit the log: its observations are")
    assert len(refuse(log, finite.policy, COST, 0)) == 2
    assert refuse(finite.log, finite.policy, TransportCost(1.0, 0.0, groups.sign(0)), 0)
    assert refuse(log, vectors, TransportCost(1.0, 0.0, groups.sign(0)), [0.0, 0.0, 0.0])
