"""The advice: a decision, what it rests on, and the new policy ready to deploy."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from nacre.advice.record import CandidateEntry, DecisionRecord, Interval
from nacre.advice.setting import Setting
from nacre.errors import Kind, check_arguments
from nacre.inference.evidence import Verdict
from nacre.learners.base import Candidate
from nacre.logs.schema.spaces import space_to_json
from nacre.policies.policy import Policy
from nacre.training.returns import ReturnsEstimate

Axes = Annotated[
    Any, Kind("axes of matplotlib", lambda value: value is None or hasattr(value, "plot"))
]


@dataclass(frozen=True, repr=False)
class Advice:
    """Should the old policy be replaced, by what, and how sure is that?

    `new_policy` is the finalist that the verdict is about, whatever the verdict. `policy` is what
    should run next: the new policy if the verdict is to switch, else the old one.

    Args:
        record: All that is known, as `decision.json` holds it.
        finalists: The candidates that were compared on the test part.
        old_policy: The policy in force.
        index: Which finalist the verdict is about.
        setting: Log, cost and configuration, for the page.
        learned: All candidates that were learned, finalists or not.
        returns: Of the old policy's episodes, where its value was found from them.
    """

    record: DecisionRecord
    finalists: tuple[Candidate, ...]
    old_policy: Policy
    index: int
    setting: Setting
    learned: tuple[Candidate, ...] = ()
    returns: ReturnsEstimate | None = None

    @property
    def verdict(self) -> Verdict:
        """Switch, keep or undecided."""
        return self.record.verdict

    @property
    def probability(self) -> float:
        """Confidence at which the answer would just be a switch."""
        return self.record.probability

    @property
    def candidate(self) -> Candidate:
        """The finalist that the verdict is about."""
        return self.finalists[self.index]

    @property
    def chosen(self) -> CandidateEntry:
        """What the record says of it."""
        return self.record.candidates[self.index]

    @property
    def new_policy(self) -> Policy:
        """The finalist's policy, whatever the verdict."""
        return self.candidate.policy

    @property
    def policy(self) -> Policy:
        """What should run next."""
        return self.new_policy if self.verdict == "switch" else self.old_policy

    @property
    def net_gain(self) -> Interval:
        """Of the finalist, with the bounds that decide."""
        return self.record.net_gain

    def __repr__(self) -> str:
        gain = self.net_gain
        return (
            f"Advice({self.verdict}: net gain {_show(gain.mean)} [{_show(gain.low)}, "
            f"{_show(gain.high)}], candidate {self.candidate.name!r})"
        )

    def _repr_html_(self) -> str:
        """The answer and what it rests on, for notebooks."""
        from nacre.report.display import format_decision

        text: str = format_decision(self.record)
        return text

    @check_arguments
    def plot_gain(self, axes: Axes = None) -> Any:
        """Draw what every estimator says of the finalist's gain, and the net gain.

        Needs matplotlib, extra `figures`.

        Args:
            axes: Where to; new ones if not given.

        Returns:
            The axes, as from the other three.
        """
        from nacre.report.plots import plot_gain

        return plot_gain(self.record, axes)

    @check_arguments
    def plot_break_even(self, axes: Axes = None) -> Any:
        """Draw the net gain over the learning weight, and where the answer changes."""
        from nacre.report.plots import plot_break_even

        return plot_break_even(self.record, axes)

    @check_arguments
    def plot_frontier(self, axes: Axes = None) -> Any:
        """Draw gain against cost of all finalists."""
        from nacre.report.plots import plot_frontier

        return plot_frontier(self.record, axes)

    @check_arguments
    def plot_overlap(self, axes: Axes = None) -> Any:
        """Draw how much of what each finalist does lies outside of the log."""
        from nacre.report.plots import plot_overlap

        return plot_overlap(self.record, axes)

    def as_json(self) -> dict[str, Any]:
        """What `decision.json` holds and `--json` prints."""
        return self.record.as_json()

    @check_arguments
    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write `decision.json`, `evidence.npz`, `report.html`, `policy/` and `manifest.json`.

        All of them take their places or none does.

        Returns:
            The folder.
        """
        from nacre.report.saving import save_advice

        target: Path = save_advice(self, Path(folder))
        return target

    def describe_policy(self) -> Mapping[str, Any]:
        """What is written beside the policy about where it comes from."""
        document = self.as_json()
        return {name: document.get(name) for name in ("verdict", "net_gain", "seed")}

    def describe_inputs(self) -> Mapping[str, Any]:
        """How raw columns become the policy's observations, and what its actions are called."""
        provenance = self.setting.log.provenance
        kept: dict[str, Any] = {
            name: provenance.get(name) for name in ("columns", "encoding", "labels", "written")
        }
        kept["mask"] = self.new_policy.signature.n_masked
        kept["allowed"] = space_to_json(self.new_policy.observation_space).get("allowed")
        return {name: value for name, value in kept.items() if value}


def _show(number: float | None) -> str:
    return "unknown" if number is None else f"{number:.6g}"
