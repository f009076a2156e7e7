"""How far a candidate leaves the log's actions: not at all, a little, and by hand."""

from __future__ import annotations

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.diagnostics import action_support as support
from nacre.diagnostics.action_support import LARGEST_EXCESS, LARGEST_RARE, Support, examine_support
from nacre.learners.scale_noise import calm_policy
from nacre.policies.distributions import Deterministic, Mixture, Uniform
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Policy, Signature
from nacre.policies.tabular import TabularPolicy
from tests.diagnostics.test_on_policy import BOX, FREE, PLANE, make_policy, sample_log

GAUSSIANS = ["squashed_gaussian", "gaussian", "clipped_gaussian"]


def shift_mean(policy: MLPPolicy, by: float) -> MLPPolicy:
    shift = jnp.array([by, by, 0.0, 0.0])
    return eqx.tree_at(lambda p: p.network.biases[-1], policy, policy.network.biases[-1] + shift)


@pytest.mark.parametrize("head", GAUSSIANS)
def test_a_policy_hardly_leaves_its_own_actions(head: str) -> None:
    """A hundredth of the draws lie outside of the central 99 %, by little."""
    policy = make_policy(head)
    found = examine_support(sample_log(policy), policy, policy)
    assert 0.0 < found.excess < 0.005
    assert found.supported
    assert found.divergence == pytest.approx(0.0, abs=1e-6)
    calmer = calm_policy(policy, 0.3)
    assert calmer is not None
    calm = examine_support(sample_log(policy), policy, calmer)
    assert calm.excess < found.excess / 10
    # It differs, but only inwards.
    assert calm.divergence is not None
    assert calm.divergence > 0.1


@pytest.mark.parametrize("head", ["squashed_gaussian", "gaussian"])
def test_the_excess_grows_with_the_shift(head: str) -> None:
    policy = calm_policy(make_policy(head, sharpen=0.3), 0.2)
    assert isinstance(policy, MLPPolicy)
    log = sample_log(policy)
    found = [examine_support(log, policy, shift_mean(policy, by)) for by in (0.0, 0.5, 1.5, 4.0)]
    excesses = [one.excess for one in found]
    assert excesses == sorted(excesses)
    assert found[0].supported
    assert not found[-1].supported
    divergences = [one.divergence for one in found]
    assert divergences == sorted(divergences)  # type: ignore[type-var]


def test_the_excess_of_certain_actions_by_hand() -> None:
    """A standard normal and a certain 3.5758: one unit above its 99.5 % point.

    Shares of the range where it is bounded, of the central part's width where not.
    """
    signature = Signature(PLANE, FREE)
    normal = MLPPolicy.init(jax.random.key(0), signature, head="gaussian", hidden=())
    blank = eqx.tree_at(
        lambda p: (p.network.weights[-1], p.network.biases[-1]), normal, replace_fn=jnp.zeros_like
    )
    certain = MLPPolicy.init(jax.random.key(0), signature, head="deterministic", hidden=())
    certain = eqx.tree_at(
        lambda p: (p.network.weights[-1], p.network.biases[-1]),
        certain,
        (jnp.zeros((2, 2)), jnp.full(2, 3.5758293)),
    )
    found = examine_support(sample_log(blank), blank, certain)
    assert found.excess == pytest.approx(1 / (2 * 2.5758293), abs=1e-4)
    assert found.divergence is None
    boxed = Signature(PLANE, gymnasium.spaces.Box(-10.0, 10.0, (2,), np.float32))
    bounded = examine_support(
        sample_log(blank),
        MLPPolicy(blank.network, None, boxed, "clipped_gaussian"),
        MLPPolicy(certain.network, None, boxed, "deterministic"),
    )
    assert bounded.excess == pytest.approx(1 / 20, abs=1e-4)


def test_a_deterministic_old_policy_holds_its_own_action_alone() -> None:
    policy, other = make_policy("deterministic"), make_policy("deterministic", seed=1)
    log = sample_log(policy)
    assert examine_support(log, policy, policy).excess == 0.0
    found = examine_support(log, policy, other)
    states = jnp.asarray(log.observations)
    gaps = np.abs(np.asarray(policy(states).mode() - other(states).mode())) / 4.0
    # 4096 of 10,000 states: within five standard errors of their mean.
    allowed = 5 * gaps.std() / np.sqrt(2 * 4096)
    assert found.excess == pytest.approx(gaps.mean(), abs=allowed)


def test_rare_discrete_actions_by_hand() -> None:
    """Actions below 1 %: mass 0.3 on them in state 0, 0.1 in state 1."""
    old = TabularPolicy.from_probabilities([[0.995, 0.005, 0.0], [0.5, 0.491, 0.009]])
    new = TabularPolicy.from_probabilities([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]])
    log = sample_log(old)
    share = np.mean(log.observations == 0)
    found = examine_support(log, old, new)
    assert found.excess == pytest.approx(0.3 * share + 0.1 * (1 - share), abs=0.01)
    assert (found.supported, found.limit) == (False, LARGEST_RARE)
    assert found.divergence == np.inf
    same = examine_support(log, old, old)
    assert same.excess == pytest.approx(0.005 * share + 0.009 * (1 - share), abs=1e-3)
    assert same.supported
    assert same.divergence == 0.0


def test_the_divergence_by_hand() -> None:
    """KL of (1/2, 1/2) from (1/4, 3/4): log(4/3) / 2."""
    old = TabularPolicy.from_probabilities([[0.25, 0.75]])
    new = TabularPolicy.from_probabilities([[0.5, 0.5]])
    found = examine_support(sample_log(old, episodes=2), old, new)
    assert found.divergence == pytest.approx(np.log(4 / 3) / 2, rel=1e-5)
    assert found.excess == 0.0


def test_the_same_seed_looks_at_the_same_states(monkeypatch: pytest.MonkeyPatch) -> None:
    policy, other = make_policy("squashed_gaussian"), make_policy("squashed_gaussian", seed=1)
    log = sample_log(policy)
    monkeypatch.setattr(support, "N_STATES", 200)
    first = examine_support(log, policy, other, seed=3)
    assert examine_support(log, policy, other, seed=3) == first
    second = examine_support(log, policy, other, seed=4)
    assert second.excess != first.excess
    assert second.excess == pytest.approx(first.excess, rel=0.2)


def test_other_bounds_have_no_divergence_but_an_excess() -> None:
    policy = make_policy("squashed_gaussian")
    wider = Signature(PLANE, gymnasium.spaces.Box(-3.0, 3.0, (2,), np.float32))
    other = MLPPolicy(policy.network, None, wider, "squashed_gaussian")
    found = examine_support(sample_log(policy), policy, other)
    assert found.divergence is None
    assert found.excess > 0.0


class Softened(Policy):
    """Nine times of ten the middle, else anything in the box."""

    signature: Signature = eqx.field(static=True)

    def __call__(self, observations: jax.Array) -> Mixture:
        shape = (*observations.shape[:-1], 2)
        parts = (
            Deterministic(jnp.zeros(shape)),
            Uniform(jnp.full(shape, -2.0), jnp.full(shape, 2.0)),
        )
        return Mixture(jnp.broadcast_to(jnp.array([0.9, 0.1]), shape), parts)


def test_what_a_mixture_holds_is_looked_up() -> None:
    """Its central 99 % reach nearly to both bounds, to 0.01; from 0 it would be 0.2 to there."""
    mixed = Softened(Signature(PLANE, BOX))
    log = sample_log(make_policy("deterministic"))
    low = shift_mean(make_policy("squashed_gaussian", sharpen=0.0), -0.5)
    quiet = calm_policy(low, 0.01)
    assert quiet is not None
    found = examine_support(log, mixed, quiet)
    assert found.excess < 0.01
    assert found.divergence is None
    assert examine_support(log, mixed, mixed).excess < 0.01


@pytest.mark.parametrize("excess", [LARGEST_EXCESS + 1e-9, np.nan, np.inf])
def test_what_is_beyond_the_limit_or_unknown_is_not_supported(excess: float) -> None:
    assert not Support(excess, LARGEST_EXCESS, None).supported
    assert Support(LARGEST_EXCESS, LARGEST_EXCESS, None).supported
