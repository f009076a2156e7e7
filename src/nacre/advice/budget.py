"""How much computing candidates get: an amount of work, not a clock, so that seeds stay seeds."""

from __future__ import annotations

import dataclasses
import re

from nacre.advice.config import AdviceConfig
from nacre.errors import InputError
from nacre.learners.base import Learner
from nacre.learners.net_actor_critic.learner import NetActorCritic
from nacre.learners.net_actor_critic.stopping import Plateau
from nacre.learners.policy_iteration import PolicyIteration

USUAL = 180.0
"""Seconds of two processors that the usual settings are meant for, on some 100,000 rows."""
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
LEAST, MOST = 10.0, 7 * 24 * 3600.0


def read_budget(text: str) -> float:
    """Seconds from a text such as "60s", "10m" or "1h".

    Raises:
        InputError: If it is not such a text, or not between ten seconds and a week.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text.strip())
    seconds = float(found[1]) * UNITS[found[2]] if found else 0.0
    if not LEAST <= seconds <= MOST:
        raise InputError(f"budget {text!r:.40}: give a time such as 60s, 10m or 1h, at least 10s")
    return seconds


def set_budget(config: AdviceConfig, seconds: float) -> AdviceConfig:
    """The same with learners that learn as long as the budget allows, or stop where they are done.

    Learners that are over in seconds, and those of other packages, stay as they are.
    """
    share = seconds / USUAL
    learners = tuple(_scale(learner, share) for learner in config.learners)
    return dataclasses.replace(config, learners=learners)


def _scale(learner: Learner, share: float) -> Learner:
    if isinstance(learner, PolicyIteration):
        iterations = max(4, round(learner.iterations * min(share, 1.0)))
        return dataclasses.replace(learner, iterations=iterations)
    if not isinstance(learner, NetActorCritic):
        return learner
    settings = learner.settings
    epochs = max(2, round(settings.epochs * share))
    stopping = settings.stopping
    if isinstance(stopping, Plateau):
        least = max(2, min(epochs, round(stopping.least_epochs * share)))
        stopping = dataclasses.replace(stopping, least_epochs=least)
    changed = dataclasses.replace(settings, epochs=epochs, stopping=stopping)
    return dataclasses.replace(learner, settings=changed)
