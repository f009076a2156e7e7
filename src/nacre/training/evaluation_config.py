"""How a policy is evaluated offline."""

from __future__ import annotations

from dataclasses import dataclass, field

from nacre.errors import InputError
from nacre.training.backup import CriticConfig
from nacre.training.critics import Combine


@dataclass(frozen=True)
class EvaluationConfig:
    """How a policy is evaluated offline.

    Args:
        critics: The ensemble.
        epochs: Number of epochs.
        steps_per_epoch: Gradient steps in each.
        prefit_steps: Steps of plain regression on the log's returns-to-go before the first epoch.
        combine: How the members' values become one: min (the paper), mean, or a quantile.
        n_actions: Actions drawn for the value at the start, over all start states together.
        averaged: Read values off the target networks, which average over steps, instead of the
            online ones.
        bootstrap: Let each critic see its own resample of the episodes, so that the members' spread
            tells how much the estimate owes to chance.
        asked_once: Ask the policy once at each of the log's next states instead of at every step:
            sooner where the steps pass through the log several times. The same numbers but for
            rounding. Logs that are mapped are asked at every step all the same.
        clip_targets: Keep targets within what the log's rewards allow for ever, and zero where an
            episode can end.
        settled_tolerance: The estimate has settled when its last two fifths moved by no more than
            this share of the range it has covered plus its own size.
    """

    critics: CriticConfig = field(default_factory=CriticConfig)
    epochs: int = 50
    steps_per_epoch: int = 1000
    prefit_steps: int = 0
    combine: Combine = "min"
    n_actions: int = 10_000
    averaged: bool = False
    bootstrap: bool = False
    asked_once: bool = False
    clip_targets: bool = False
    settled_tolerance: float = 0.02

    def __post_init__(self) -> None:
        problems = []
        for name in ("epochs", "steps_per_epoch", "n_actions"):
            if getattr(self, name) < 1:
                problems.append(f"evaluation.{name} = {getattr(self, name)}: at least 1 is needed")
        if self.prefit_steps < 0:
            problems.append(f"evaluation.prefit_steps = {self.prefit_steps}: cannot be negative")
        if isinstance(self.combine, str):
            if self.combine not in ("min", "mean"):
                problems.append(
                    f"evaluation.combine = {self.combine!r}: known are min, mean, or a quantile "
                    "such as 0.25"
                )
        elif not 0.0 <= self.combine <= 1.0:
            problems.append(f"evaluation.combine = {self.combine}: a quantile lies in [0, 1]")
        if not self.settled_tolerance >= 0.0:
            problems.append(
                f"evaluation.settled_tolerance = {self.settled_tolerance}: cannot be negative"
            )
        if problems:
            raise InputError(problems)
