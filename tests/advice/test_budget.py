"""Budgets: what is read, and what they change."""

from __future__ import annotations

import pytest

from nacre.advice.budget import USUAL, read_budget, set_budget
from nacre.advice.config import AdviceConfig
from nacre.errors import InputError
from nacre.learners.net_actor_critic.learner import NetActorCritic
from nacre.learners.net_actor_critic.stopping import Plateau
from nacre.learners.policy_iteration import PolicyIteration
from nacre.learners.scale_noise import ScaleNoise

CONFIG = AdviceConfig(learners=(NetActorCritic(), PolicyIteration(), ScaleNoise()))


@pytest.mark.parametrize(
    ("text", "seconds"), [("60s", 60.0), ("10m", 600.0), ("1.5h", 5400.0), (" 90s ", 90.0)]
)
def test_times_are_read(text: str, seconds: float) -> None:
    assert read_budget(text) == seconds


@pytest.mark.parametrize("text", ["", "60", "-3m", "1s", "ten minutes", "1e3s", "9999h", "5 m"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="give a time such as 60s, 10m or 1h"):
        read_budget(text)


def test_the_usual_budget_changes_nothing() -> None:
    assert set_budget(CONFIG, USUAL) == CONFIG


def test_more_budget_is_more_epochs_and_less_is_fewer() -> None:
    counts = []
    for seconds in (30.0, 60.0, USUAL, 600.0):
        nac, iteration, noise = set_budget(CONFIG, seconds).learners
        assert isinstance(nac, NetActorCritic)
        assert isinstance(iteration, PolicyIteration)
        assert isinstance(nac.settings.stopping, Plateau)
        assert nac.settings.stopping.least_epochs <= nac.settings.epochs
        assert noise == ScaleNoise()
        counts.append((nac.settings.epochs, iteration.iterations))
    assert counts == [(4, 4), (8, 4), (24, 12), (80, 12)]
