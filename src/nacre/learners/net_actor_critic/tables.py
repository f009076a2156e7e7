"""Settings of Net Actor-Critic for tables: numbered states, linear critics."""

from __future__ import annotations

from nacre.learners.net_actor_critic.config import ActorConfig, LearnerConfig
from nacre.learners.net_actor_critic.occupancy import OccupancyConfig
from nacre.training.backup import CriticConfig


def table_settings() -> LearnerConfig:
    """Tables for critics and policy, and short epochs."""
    critics = CriticConfig(
        hidden=(), scale_returns=True, learning_rate=0.01, polyak=0.98, backup="mean"
    )
    return LearnerConfig(
        critics=critics,
        actor=ActorConfig(states="log", discounted_states=True, combine="mean", learning_rate=0.03),
        occupancy=OccupancyConfig(hidden=(), learning_rate=0.02, polyak=0.9, largest_ratio=100.0),
        stopping=None,
        epochs=20,
        ramp_epochs=8,
        steps_per_epoch=300,
        prefit_steps=500,
        n_cost_states=256,
    )
