"""Worlds with known answers: finite ones and linear ones with quadratic rewards."""

from nacre.simulators.finite import (
    FiniteWorld,
    random_policy,
    random_world,
    two_state_cost,
    two_state_policies,
    two_state_world,
)
from nacre.simulators.linear import LinearPolicy, LinearWorld, QuadraticValue, double_integrator

__all__ = [
    "FiniteWorld",
    "LinearPolicy",
    "LinearWorld",
    "QuadraticValue",
    "double_integrator",
    "random_policy",
    "random_world",
    "two_state_cost",
    "two_state_policies",
    "two_state_world",
]
