"""Linear worlds with quadratic rewards: continuous actions, and closed forms to check against."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import gymnasium
import numpy as np
import numpy.typing as npt
import scipy.linalg

from nacre.errors import InputError
from nacre.simulators.frozen import freeze_arrays

if TYPE_CHECKING:
    from nacre.logs import Log

Array = npt.NDArray[np.float64]
Controller = Callable[[Array, np.random.Generator], Array]
"""Observations (N, n) and a generator in, actions (N, m) out."""


@dataclass(frozen=True, eq=False)
class QuadraticValue:
    """V(x) = constant - x' matrix x.

    Attributes:
        matrix: (n, n), symmetric.
        constant: what noise costs and the reward's offset earns.
    """

    matrix: Array
    constant: float

    def at(self, states: npt.ArrayLike) -> Array:
        """V of states (..., n); (...)."""
        x = np.asarray(states, dtype=np.float64)
        value: Array = self.constant - np.einsum("...i,ij,...j->...", x, self.matrix, x)
        return value

    def expect(self, mean: npt.ArrayLike, covariance: npt.ArrayLike) -> float:
        """E V(x) for x of this mean (n,) and covariance (n, n)."""
        return float(self.at(mean) - np.trace(self.matrix @ np.asarray(covariance)))


@dataclass(frozen=True, eq=False)
class LinearPolicy:
    """u = gain x + noise, the noise independent normal with this standard deviation.

    Attributes:
        gain: (m, n).
        std: (m,).
    """

    gain: Array
    std: Array

    def __call__(self, observations: Array, rng: np.random.Generator) -> Array:
        """Actions (N, m) for observations (N, n)."""
        noise = rng.standard_normal((len(observations), len(self.std)))
        actions: Array = observations @ self.gain.T + noise * self.std
        return actions


@dataclass(frozen=True, eq=False)
class LinearWorld:
    """x' = A x + B u + w with reward offset - x'Qx - u'Ru; episodes never terminate.

    The closed forms hold for actions without bounds. A log needs a box: ``action_limit`` should be
    so generous that no action meets it, and ``sample_log`` refuses one beyond it.

    Attributes:
        dynamics: A (n, n).
        control: B (n, m).
        noise_std: (n,), standard deviations of the independent normal w.
        state_weight: Q (n, n), symmetric positive semidefinite.
        action_weight: R (m, m), symmetric positive definite.
        discount: γ in [0, 1).
        start_mean: (n,), and
        start_std: (n,), of the independent normal first state.
        offset: the reward at rest.
        action_limit: the action space is the box ±limit.
    """

    dynamics: Array
    control: Array
    noise_std: Array
    state_weight: Array
    action_weight: Array
    discount: float
    start_mean: Array
    start_std: Array
    offset: float = 0.0
    action_limit: float = 100.0

    def __post_init__(self) -> None:
        """Copies the arrays to read-only float64 and refuses what has no closed form."""
        freeze_arrays(self, _SHAPES)
        problems = _find_shape_problems(self) or _find_value_problems(self)
        if problems:
            raise InputError(problems)

    @property
    def observation_space(self) -> gymnasium.spaces.Box:
        """All of R^n."""
        return gymnasium.spaces.Box(-np.inf, np.inf, (len(self.dynamics),), np.float32)

    @property
    def action_space(self) -> gymnasium.spaces.Box:
        """[-limit, limit]^m."""
        shape = (self.control.shape[1],)
        return gymnasium.spaces.Box(-self.action_limit, self.action_limit, shape, np.float32)

    def rewards(self, states: Array, actions: Array) -> Array:
        """r(x, u) of states (..., n) and actions (..., m); (...)."""
        penalty = np.einsum("...i,ij,...j->...", states, self.state_weight, states)
        effort = np.einsum("...i,ij,...j->...", actions, self.action_weight, actions)
        reward: Array = self.offset - penalty - effort
        return reward

    def value(self, policy: LinearPolicy) -> QuadraticValue:
        """V of a linear policy, from the discounted Lyapunov equation.

        P = Q + K'RK + γ (A + BK)' P (A + BK), and noise adds the constant
        [offset - tr(R Σ) - γ tr(P (W + B Σ B'))] / (1-γ), with Σ and W the covariances of the
        policy's noise and the world's.
        """
        gain, spread = _read_policy(self, policy)
        closed = np.sqrt(self.discount) * (self.dynamics + self.control @ gain)
        radius = float(np.abs(np.linalg.eigvals(closed)).max())
        if radius >= 1:
            raise InputError(
                f"gain: {gain.tolist()} makes discounted states grow by {radius:.4g} a step, "
                "so the value is not finite: give a gain that keeps it below 1"
            )
        cost = self.state_weight + gain.T @ self.action_weight @ gain
        matrix = np.asarray(scipy.linalg.solve_discrete_lyapunov(closed.T, cost))
        pushed = np.diag(self.noise_std**2) + self.control @ spread @ self.control.T
        drift = np.trace(self.action_weight @ spread) + self.discount * np.trace(matrix @ pushed)
        return QuadraticValue(matrix, float((self.offset - drift) / (1.0 - self.discount)))

    def start_value(self, policy: LinearPolicy) -> float:
        """The policy's value, in expectation over the first state."""
        return self.value(policy).expect(self.start_mean, np.diag(self.start_std**2))

    def optimal_policy(self) -> LinearPolicy:
        """The best policy of all, linear and without noise, from the discounted Riccati equation.

        K = -γ (R + γ B'PB)^-1 B'PA, with P the stabilising solution for √γ A and √γ B.
        """
        root = np.sqrt(self.discount)
        matrix = scipy.linalg.solve_discrete_are(
            root * self.dynamics, root * self.control, self.state_weight, self.action_weight
        )
        coupling = self.discount * self.control.T @ matrix
        gain = -np.linalg.solve(self.action_weight + coupling @ self.control, coupling)
        return LinearPolicy(gain @ self.dynamics, np.zeros(self.control.shape[1]))

    def sample_log(self, policy: Controller, n_transitions: int, *, seed: int, horizon: int) -> Log:
        """Runs the policy for episodes of ``horizon`` steps until n_transitions are logged.

        All episodes run side by side. Their last steps are truncated, and so is the one that fills
        the log; none is terminated.

        Args:
            policy: observations (N, n) and a generator in, actions (N, m) out.
            n_transitions: the exact number of rows.
            seed: the same seed and policy give the same log.
            horizon: length of an episode.
        """
        from nacre.logs import Log

        for name, number in (("n_transitions", n_transitions), ("horizon", horizon)):
            if number < 1:
                raise InputError(f"{name}: {number} is below 1, give a positive number")
        rng = np.random.default_rng(seed)
        n_episodes = -(-n_transitions // horizon)
        states, actions = self._run_episodes(policy, n_episodes, horizon, rng)
        rewards = self.rewards(states[:, :-1], actions)
        ends = np.zeros((n_episodes, horizon), dtype=bool)
        ends[:, -1] = True
        ends.reshape(-1)[n_transitions - 1] = True

        def flatten(array: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
            """(episode, step, ...) to (row, ...)."""
            return array.reshape(n_episodes * horizon, *array.shape[2:])[:n_transitions]

        return Log.from_arrays(
            observations=flatten(states[:, :-1]).astype(np.float32),
            actions=flatten(actions).astype(np.float32),
            rewards=flatten(rewards).astype(np.float32),
            terminated=np.zeros(n_transitions, dtype=bool),
            truncated=flatten(ends),
            next_observations=flatten(states[:, 1:]).astype(np.float32),
            episode=np.arange(n_transitions) // horizon,
            observation_space=self.observation_space,
            action_space=self.action_space,
            provenance={"world": "linear", "seed": seed, "horizon": horizon},
        )

    def _run_episodes(
        self, policy: Controller, n_episodes: int, horizon: int, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """States (episode, horizon + 1, n) and actions (episode, horizon, m)."""
        n, m = self.control.shape
        states, actions = np.empty((horizon + 1, n_episodes, n)), np.empty((horizon, n_episodes, m))
        states[0] = self.start_mean + self.start_std * rng.standard_normal((n_episodes, n))
        for step in range(horizon):
            chosen = np.asarray(policy(states[step], rng), dtype=np.float64)
            if chosen.shape != (n_episodes, m):
                raise InputError(f"policy: actions {chosen.shape}, expected {(n_episodes, m)}")
            largest = float(np.abs(chosen).max())
            if not largest <= self.action_limit:
                raise InputError(
                    f"policy: action of size {largest:.4g} at step {step} is beyond the limit "
                    f"{self.action_limit:g}: steer more gently or raise action_limit"
                )
            actions[step] = chosen
            noise = self.noise_std * rng.standard_normal((n_episodes, n))
            states[step + 1] = states[step] @ self.dynamics.T + chosen @ self.control.T + noise
        return states.swapaxes(0, 1), actions.swapaxes(0, 1)


_SHAPES = {
    "dynamics": "nn",
    "control": "nm",
    "noise_std": "n",
    "state_weight": "nn",
    "action_weight": "mm",
    "start_mean": "n",
    "start_std": "n",
}


def _find_shape_problems(world: LinearWorld) -> list[str]:
    if world.control.ndim != 2:
        return [f"control: shape {world.control.shape}, expected (n, m)"]
    sizes = dict(zip("nm", world.control.shape, strict=True))
    expected = {name: tuple(sizes[letter] for letter in axes) for name, axes in _SHAPES.items()}
    return [
        f"{name}: shape {getattr(world, name).shape}, expected {shape} to go with control (n, m) = "
        f"{world.control.shape}"
        for name, shape in expected.items()
        if getattr(world, name).shape != shape
    ]


def _find_value_problems(world: LinearWorld) -> list[str]:
    problems = [
        f"{name}: holds NaN or infinity, give finite numbers"
        for name in _SHAPES
        if not np.all(np.isfinite(getattr(world, name)))
    ]
    if problems:
        return problems
    for name, least in (("state_weight", -1e-12), ("action_weight", 1e-12)):
        weight = getattr(world, name)
        if not np.allclose(weight, weight.T) or np.linalg.eigvalsh(weight).min() < least:
            kind = "semidefinite" if least < 0 else "definite"
            problems.append(f"{name}: {weight.tolist()} is not symmetric positive {kind}")
    for name in ("noise_std", "start_std"):
        if np.any(getattr(world, name) < 0):
            problems.append(f"{name}: holds negative values, give standard deviations")
    if not 0 <= world.discount < 1:
        problems.append(f"discount: {world.discount} is outside [0, 1)")
    if not world.action_limit > 0:
        problems.append(f"action_limit: {world.action_limit} is not above 0")
    return problems


def _read_policy(world: LinearWorld, policy: LinearPolicy) -> tuple[Array, Array]:
    """The gain (m, n) and the covariance of the noise (m, m)."""
    n, m = world.control.shape
    gain, std = np.asarray(policy.gain, np.float64), np.asarray(policy.std, np.float64)
    if gain.shape != (m, n) or std.shape != (m,):
        raise InputError(
            f"policy: gain {gain.shape} and std {std.shape}, expected {(m, n)} and {(m,)}"
        )
    return gain, np.diag(std**2)


def double_integrator(discount: float = 0.97) -> LinearWorld:
    """A cart on a line: position and velocity, one push, noise on both, started away from rest.

    Without control it drifts off; the reward asks it to come to rest at the origin.
    """
    step = 0.2
    return LinearWorld(
        dynamics=np.array([[1.0, step], [0.0, 1.0]]),
        control=np.array([[0.5 * step**2], [step]]),
        noise_std=np.array([0.02, 0.05]),
        state_weight=np.diag([1.0, 0.1]),
        action_weight=np.array([[0.1]]),
        discount=discount,
        start_mean=np.array([1.0, 0.0]),
        start_std=np.array([0.3, 0.3]),
        action_limit=10.0,
    )
