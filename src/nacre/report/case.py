"""The recorded evidence at other prices: what the page's sliders compute, computed in Python."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize

from nacre.inference.break_even import LEAST_MASS, Price, reprice
from nacre.inference.gain import Gain
from nacre.inference.ruling import Circumstances, reach_verdict
from nacre.inference.verdict import LARGEST_FACTOR, Judgement
from nacre.report.document import CandidateEntry, Decision, read_number
from nacre.report.text import clean

LINEAR_LINKS = ("identity", "times_states")


@dataclass(frozen=True)
class Limit:
    """Costs below which a candidate is switched to, and below which a gain is expected of it."""

    proven: float = -math.inf
    expected: float = -math.inf


@dataclass(frozen=True)
class Case:
    """Gains and prices of all candidates, and the rule that decides between them.

    `linear` is whether the cost is linear in its weights, so that other prices can be tried.
    """

    gains: tuple[Gain, ...]
    prices: tuple[Price, ...]
    trusted: tuple[bool, ...]
    new_values: tuple[float, ...]
    old_value: float
    confidence_level: float
    n_episodes: int
    rule: str
    on_policy: bool
    behaviour: str
    linear: bool

    @property
    def weights(self) -> tuple[float, float]:
        """The recorded c_l and c_t."""
        return self.prices[0].learning_weight, self.prices[0].transaction_weight

    def reprice(self, index: int, learning_weight: float, transaction_weight: float) -> Gain:
        """The gain of one candidate at other weights."""
        return reprice(self.gains[index], self.prices[index], learning_weight, transaction_weight)

    def judge_at(self, learning_weight: float, transaction_weight: float) -> Judgement:
        """The verdict at other weights, by the rule that made the recorded one."""
        gains = [
            self.reprice(index, learning_weight, transaction_weight)
            for index in range(len(self.gains))
        ]
        circumstances = Circumstances(
            self.confidence_level,
            self.n_episodes,
            self.old_value,
            self.rule,
            self.on_policy,
            self.behaviour,
        )
        return reach_verdict(gains, self.new_values, self.trusted, circumstances)

    def find_limits(self) -> tuple[Limit, ...]:
        """Of each candidate, the costs up to which it is switched to and hoped for.

        Both regions of weights are half-planes: c_l L + c_t T below the limit.
        """
        return tuple(self._find_limit(index) for index in range(len(self.gains)))

    def _find_limit(self, index: int) -> Limit:
        gain, price = self.gains[index], self.prices[index]
        if self.rule == "paper":
            edge = self.new_values[index] - self.old_value - gain.cost + price.total
            return Limit(edge, edge) if self.trusted[index] else Limit()
        if not self.trusted[index] or not gain.sound:
            return Limit()
        hoped = gain.mean + price.total

        def spare(total: float) -> float:
            scale = total / price.total if price.total >= LEAST_MASS else 1.0
            moved = dataclasses.replace(
                gain, cost=gain.cost + total - price.total, cost_error=gain.cost_error * scale
            )
            return moved.bound(self.confidence_level)

        if hoped <= 0 or not self.on_policy or spare(0.0) <= 0:
            return Limit(expected=hoped)
        if spare(hoped) >= 0:
            return Limit(hoped, hoped)
        return Limit(float(optimize.brentq(spare, 0.0, hoped)), hoped)

    def find_turns(self) -> dict[str, Limit]:
        """For each weight, the other one kept, up to where it is switched and a gain expected."""
        learning, transaction = self.weights
        turns = {}
        for name, other in (("learning", transaction), ("transaction", learning)):
            ends: dict[str, list[float]] = {"proven": [0.0], "expected": [0.0]}
            for limit, price in zip(self.find_limits(), self.prices, strict=True):
                masses = price.learning_mass, price.transaction_mass
                mass, beside = masses if name == "learning" else masses[::-1]
                for kind, found in ends.items():
                    found.append(find_end(getattr(limit, kind) - other * beside, mass))
            turns[name] = Limit(max(ends["proven"]), max(ends["expected"]))
        return turns

    def as_json(self, decision: Decision) -> dict[str, Any]:
        """What the page's script needs; quantiles of Student's t come with it."""
        level = self.confidence_level
        return {
            "level": level,
            "rule": self.rule,
            "on_policy": self.on_policy,
            "behaviour": clean(self.behaviour),
            "old_value": _known(self.old_value),
            "episodes": self.n_episodes,
            "largest_factor": LARGEST_FACTOR,
            "learning_weight": self.weights[0],
            "transaction_weight": self.weights[1],
            "candidates": [
                {
                    "name": clean(entry.name, 80),
                    "sound": gain.sound,
                    "mean": _known(gain.mean),
                    "cost": gain.cost,
                    "spread": _known(gain.spread),
                    "cost_error": _known(gain.cost_error),
                    "doubt": _known(gain.doubt),
                    "pessimistic": None if gain.pessimistic is None else _known(gain.pessimistic),
                    "members": len(gain.differences),
                    "value": _known(value),
                    "trusted": trusted,
                    "learning_mass": price.learning_mass,
                    "transaction_mass": price.transaction_mass,
                    "quantile": _known(gain.quantile(level)),
                    "wide_quantile": _known(gain.quantile((1 + level) / 2)),
                }
                for entry, gain, price, value, trusted in zip(
                    decision.candidates,
                    self.gains,
                    self.prices,
                    self.new_values,
                    self.trusted,
                    strict=True,
                )
            ],
        }


def build_case(decision: Decision) -> Case:
    """The evidence that a decision records."""
    scale = read_number(decision.config, "spread_scale", 1.0)
    behaviour = decision.behaviour
    fitted = decision.candidates
    return Case(
        gains=tuple(_read_gain(entry, scale) for entry in fitted),
        prices=tuple(_read_price(entry, decision.cost_model) for entry in fitted),
        trusted=tuple(entry.trusted for entry in fitted),
        new_values=tuple(_number(entry.value.mean) for entry in fitted),
        old_value=_number((decision.fitted_old_value or decision.old_value).mean),
        confidence_level=decision.confidence_level,
        n_episodes=int(read_number(decision.log, "episodes", 0)),
        rule=str(decision.config.get("rule", "bounds")),
        on_policy=behaviour is None or behaviour.on_policy,
        behaviour="" if behaviour is None else behaviour.text,
        linear=decision.cost_model.get("link", "identity") in LINEAR_LINKS
        and decision.cost_model.get("kind") != "global",
    )


def find_end(spare: float, mass: float) -> float:
    """The weight at which what is to spare is used up: infinite where the weight moves nothing."""
    if spare <= 0:
        return 0.0
    return spare / mass if mass > LEAST_MASS else math.inf


def _read_gain(entry: CandidateEntry, scale: float) -> Gain:
    """What is not known is NaN: nothing can be proven with it."""
    lost = entry.pessimistic is None and not entry.support.supported
    return Gain(
        np.asarray([_number(d) for d in entry.differences], np.float64),
        entry.cost.total,
        _number(entry.cost.standard_error if entry.cost_error is None else entry.cost_error),
        _number(entry.doubt),
        math.nan if lost else entry.pessimistic,
        scale,
    )


def _read_price(entry: CandidateEntry, model: dict[str, Any]) -> Price:
    """The cost as a linear function of its weights.

    Mass is what the plain transport cost charges for. Others charge for distances: there the units
    follow from the recorded parts, as far as their weight is not zero.
    """
    cost = entry.cost
    learning = read_number(model, "learning_weight", read_number(model, "weight", 1.0))
    transaction = read_number(model, "transaction_weight", 0.0)
    masses = cost.learning_mass, cost.transaction_mass
    if model.get("kind", "transport") != "transport" or model.get("link", "identity") != "identity":
        parts = cost.learning + cost.transaction
        factor = cost.total / parts if parts else 1.0
        masses = (
            factor * cost.learning / learning if learning else 0.0,
            factor * cost.transaction / transaction if transaction else 0.0,
        )
    return Price(learning, transaction, *masses)


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
