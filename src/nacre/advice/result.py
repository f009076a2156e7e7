"""The advice: a verdict, the evidence behind it, and the new policy ready to deploy."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacre.costs.breakdown import CostBreakdown
from nacre.diagnostics.action_support import Support
from nacre.diagnostics.on_policy import Behaviour
from nacre.errors import InputError
from nacre.estimators.doubly_robust import SecondOpinion
from nacre.inference.break_even import BreakEven
from nacre.inference.gain import Gain
from nacre.inference.verdict import Judgement, Verdict
from nacre.learners.scale_noise import Candidate
from nacre.policies.card import Card
from nacre.policies.formats.onnx_graph import build_onnx
from nacre.policies.formats.safetensors import describe_policy, dump_safetensors
from nacre.policies.policy import Policy
from nacre.policies.writing import write_card, write_predictor, write_whole
from nacre.report import Evidence, write_evidence, write_report
from nacre.report.evidence import FILE_NAME as EVIDENCE_FILE

FORMAT = 1
POLICY_FILE = "new.safetensors"
POLICY_FILES = {
    POLICY_FILE: "the policy; read it with nacre.read_policy",
    "new.onnx": "the same for ONNX runtimes",
}


@dataclass(frozen=True)
class Estimate:
    """A value with its interval, and how it was found."""

    mean: float
    low: float
    high: float
    method: str

    def as_json(self) -> dict[str, Any]:
        """Plain numbers; a bound that is not known is null."""
        return {
            "mean": finite(self.mean),
            "low": finite(self.low),
            "high": finite(self.high),
            "method": self.method,
        }


@dataclass(frozen=True)
class Assessment:
    """All that is known of one candidate."""

    candidate: Candidate
    value: Estimate
    gain: Gain
    cost: CostBreakdown
    support: Support
    break_even: BreakEven
    trusted: bool
    notes: tuple[str, ...] = ()
    second: SecondOpinion | None = None
    proof: SecondOpinion | None = None

    def as_json(self, confidence: float) -> dict[str, Any]:
        """Plain numbers for the record."""
        low, high = self.gain.interval(confidence)
        return {
            "name": self.candidate.name,
            "origin": self.candidate.origin,
            "value": self.value.as_json(),
            "net_gain": {"mean": finite(self.gain.mean), "low": finite(low), "high": finite(high)},
            "confidence": self.gain.confidence,
            "differences": [finite(float(d)) for d in self.gain.differences],
            "doubt": finite(self.gain.doubt),
            "pessimistic": finite(self.gain.pessimistic),
            "cost": self.cost.as_json(),
            "cost_error": finite(self.gain.cost_error),
            "support": {
                "excess": self.support.excess,
                "limit": self.support.limit,
                "divergence": finite(self.support.divergence),
                "supported": self.support.supported,
            },
            "second_opinion": None if self.second is None else self.second.as_json(),
            **({} if self.proof is None else {"proof": self.proof.as_json()}),
            "break_even": self.break_even.as_json(),
            "trusted": self.trusted,
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class StartVerdict:
    """The answer if the next episode starts from one certain state."""

    state: NDArray[np.generic]
    gain: Gain
    verdict: Verdict

    def as_json(self, confidence: float) -> dict[str, Any]:
        """Plain numbers for the record."""
        low, high = self.gain.interval(confidence)
        return {
            "state": np.asarray(self.state).tolist(),
            "verdict": self.verdict,
            "confidence": self.gain.confidence,
            "net_gain": {"mean": finite(self.gain.mean), "low": finite(low), "high": finite(high)},
        }


@dataclass(frozen=True)
class Advice:
    """Should the old policy be replaced, by what, and how sure is that?

    `new_policy` is the candidate that the verdict is about, whatever the verdict. `policy` is what
    should run next: the new policy if the verdict is to switch, else the old one.
    """

    judgement: Judgement
    assessments: tuple[Assessment, ...]
    old_policy: Policy
    old_value: Estimate
    fitted_old_value: Estimate
    behaviour: Behaviour
    confidence_level: float
    record: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    starts: tuple[StartVerdict, ...] = ()
    evidence: Evidence = field(default_factory=Evidence)

    @property
    def verdict(self) -> Verdict:
        """Switch, keep or undecided."""
        return self.judgement.verdict

    @property
    def confidence(self) -> float:
        """Probability that the net gain of the best candidate is positive."""
        return self.judgement.confidence

    @property
    def chosen(self) -> Assessment:
        """The candidate that the verdict is about."""
        return self.assessments[self.judgement.chosen]

    @property
    def new_policy(self) -> Policy:
        """The candidate's policy, whatever the verdict."""
        return self.chosen.candidate.policy

    @property
    def policy(self) -> Policy:
        """What should run next."""
        return self.new_policy if self.verdict == "switch" else self.old_policy

    @property
    def net_gain(self) -> Estimate:
        """Of the chosen candidate."""
        low, high = self.chosen.gain.interval(self.confidence_level)
        return Estimate(self.chosen.gain.mean, low, high, "paired fitted evaluation")

    def __repr__(self) -> str:
        gain = self.net_gain
        return (
            f"Advice({self.verdict}: net gain {gain.mean:.6g} [{gain.low:.6g}, {gain.high:.6g}], "
            f"confidence {self.confidence:.1%}, candidate {self.chosen.candidate.name!r})"
        )

    def as_json(self) -> dict[str, Any]:
        """What `decision.json` holds and `--json` prints."""
        chosen = self.chosen
        cost = chosen.cost.as_json()
        names = ("total", "learning", "transaction", "learning_mass", "transaction_mass")
        gain = self.net_gain.as_json()
        gain.pop("method")
        return {
            "format": FORMAT,
            "verdict": self.verdict,
            "confidence": self.confidence,
            "reason": self.judgement.reason,
            "more_episodes": self.judgement.more_episodes,
            "net_gain": gain,
            "old_value": self.old_value.as_json(),
            "fitted_old_value": self.fitted_old_value.as_json(),
            "new_value": chosen.value.as_json(),
            "cost": {name: cost[name] for name in names} | {"flows": cost.get("flows")},
            "break_even": {
                "learning_weight": chosen.break_even.learning_weight,
                "transaction_weight": chosen.break_even.transaction_weight,
            },
            "chosen": chosen.candidate.name,
            "candidates": [one.as_json(self.confidence_level) for one in self.assessments],
            "behaviour": {
                "on_policy": self.behaviour.on_policy,
                "share": self.behaviour.share,
                "text": self.behaviour.describe(),
            },
            "notes": list(self.notes),
            "starts": [one.as_json(self.confidence_level) for one in self.starts],
            **self.record,
        }

    def save(self, folder: str | Path) -> Path:
        """Write `decision.json`, `evidence.npz`, `report.html` and `policy/`.

        Each file is written whole or not at all.

        Returns:
            The folder.
        """
        folder = Path(folder)
        document = self.as_json()
        places = folder / "policy"
        provenance = {
            "advice": {name: document.get(name) for name in ("verdict", "net_gain", "seed")}
        }
        files: dict[str, str] = {}
        notes = list(document["notes"])
        for name, text in POLICY_FILES.items():
            try:
                blob = _dump(self.new_policy, name, provenance)
            except InputError as error:
                notes.append(f"no {name}: {error.problems[0]}")
                # One of another policy, from an earlier advice, must not be taken for this one's.
                with contextlib.suppress(OSError):
                    (places / name).unlink(missing_ok=True)
                continue
            write_whole(places / name, blob)
            files[name] = text
        if POLICY_FILE in files:
            write_predictor(places / "predict.py")
            files["predict.py"] = f"acts with {POLICY_FILE}, without JAX"
        document["notes"] = notes
        write_card(places / "README.md", self._card(document, files))
        text = json.dumps(document, indent=2, allow_nan=False) + "\n"
        write_whole(folder / "decision.json", text.encode())
        write_evidence(self.evidence, folder / EVIDENCE_FILE)
        write_report(document, folder / "report.html", evidence=self.evidence)
        return folder

    def _card(self, document: Mapping[str, Any], files: Mapping[str, str]) -> Card:
        return Card(
            self.new_policy,
            title=f"New policy: {self.chosen.candidate.name}",
            files=files,
            trained_on=document.get("log", {}),
            training={"origin": self.chosen.candidate.origin, "seed": document.get("seed")},
            cost=document.get("cost_model", {}),
            verdict={
                name: document[name] for name in ("verdict", "confidence", "reason", "net_gain")
            },
            limits=[*self.chosen.notes, *self.notes],
        )


def _dump(policy: Policy, name: str, provenance: Mapping[str, Any]) -> bytes:
    blob = dump_safetensors(policy, provenance)
    if name == POLICY_FILE:
        return blob
    return build_onnx(policy, describe_policy(policy, provenance))


def finite(number: float | None) -> float | None:
    """The number, or None where there is none or JSON has none for it."""
    return float(number) if number is not None and math.isfinite(number) else None
