"""Act with a nacre policy file: NumPy and safetensors are all it takes.

    from predict import Predictor
    controller = Predictor("policy.safetensors")
    action, _ = controller.predict(observation, deterministic=True)

As a command it acts on the rows of standard input, a JSON array each:
`echo '[0.1, -0.3]' | python predict.py policy.safetensors`.

A policy that was learned from a table also takes raw rows, column by column, and answers with the
table's own word for the action: `{"age": 51, "region": "north"}`. A rule in TOML is read by `Rule`
instead of `Predictor`; as a command both are the same.
"""

from __future__ import annotations

import copy
import hashlib
import json
import math
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import safetensors

from nacre.policies.formats.numpy_columns import encode_row


def _digest(tensors: dict[str, np.ndarray], text: str) -> str:
    """SHA-256 of the file's tensors and of their description."""
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].dtype} {tensors[name].shape} ".encode())
        digest.update(np.ascontiguousarray(tensors[name]).tobytes())
    return digest.hexdigest()


class Predictor:
    """A policy in memory; drawn actions follow from one seed."""

    def __init__(self, path: str, seed: int = 0) -> None:
        with safetensors.safe_open(path, framework="np") as file:
            self._tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            metadata = file.metadata() or {}
        text = metadata.get("nacre")
        if text is None:
            raise ValueError(f"{path}: not a policy file of nacre")
        self.description = json.loads(text)
        form = self.description.get("format")
        if form not in (1, 2):
            raise ValueError(f"{path}: policy format {form!r}, not 1 or 2")
        if form == 2 and metadata.get("sha256") != _digest(self._tensors, text):
            raise ValueError(f"{path}: damaged, its digest does not fit")
        spaces = (self.description[f"{name}_space"] for name in ("observation", "action"))
        self.observation_space, self.action_space = spaces
        self.head = self.description.get("head", "categorical")
        provenance = self.description.get("provenance") or {}
        self.inputs, self.names = provenance.get("inputs") or {}, provenance.get("names", {})
        self._random = np.random.default_rng(seed)
        self._parts = self._open_parts()

    def _open_parts(self) -> list[Predictor]:
        """The two policies of a mixture or of a switch by region, or none."""
        parts = []
        for name in ("first", "second"):
            if name in self.description:
                part = copy.copy(self)
                part.description = self.description[name]
                part.head = part.description.get("head", "categorical")
                part._tensors = {
                    key.removeprefix(f"{name}."): tensor
                    for key, tensor in self._tensors.items()
                    if key.startswith(f"{name}.")
                }
                part._parts = part._open_parts()
                parts.append(part)
        return parts

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[Any, Any]:
        """Return the action for one observation or a batch of rows, and the state as it came."""
        raw = isinstance(observation, dict)
        rows, single = self._as_rows(self.encode(observation) if raw else observation)
        actions = self._act(rows, deterministic)
        labels = (self.inputs.get("labels") or {}).get("action")
        if raw and labels:
            return labels[int(actions[0])], state
        return (actions[0] if single else actions), state

    def encode(self, row: dict[str, Any]) -> np.ndarray:
        """The observation of a raw row of the table that the policy was learned from."""
        return encode_row(self.inputs, row)

    def _act(self, rows: Any, deterministic: bool) -> Any:
        if not self._parts:
            outputs = self._evaluate(rows)
            return self._mode(outputs) if deterministic else self._draw(outputs)
        if deterministic and self.action_space["type"] == "discrete":
            return np.argmax(self._mix(rows), axis=-1)
        chance = 0.5 if deterministic else self._random.random(len(rows))
        second = np.broadcast_to(chance < self._share(rows), len(rows))
        first, other = (part._act(rows, deterministic) for part in self._parts)
        return np.where(second if first.ndim == 1 else second[:, None], other, first)

    def _mix(self, rows: Any) -> Any:
        """Probabilities of discrete actions."""
        if not self._parts:
            return self._probabilities(self._evaluate(rows))
        first, second = (part._mix(rows) for part in self._parts)
        share = np.reshape(self._share(rows), (-1, 1))
        return (1 - share) * first + share * second

    def _share(self, rows: Any) -> Any:
        """Of the second policy: the mixture's, or one within a region and zero elsewhere."""
        region = self.description.get("region")
        if region is None:
            return self.description["share"]
        if cells := region["cells"]:
            apart = (rows[:, None] - np.array(cells["centres"])) / np.array(cells["scale"])
            squares = (apart**2).sum(axis=-1)
            reach = np.take(cells["reach"], squares.argmin(axis=-1))
            return (squares.min(axis=-1) <= reach).astype(float)
        if region["coordinate"] is None:
            return np.isin(rows, region["states"]).astype(float)
        above = rows[:, region["coordinate"]] - np.float32(region["limit"])
        return ((above if region["above"] else -above) >= 0).astype(float)

    def name(self, action: Any) -> Any:
        """Return what an action is called where the log came from, or the action as it is."""
        labels = self.names.get("actions", [])
        known = np.ndim(action) == 0 and 0 <= int(action) < len(labels)
        return labels[int(action)] if known else action

    def parameters(self, observation: Any) -> dict[str, np.ndarray]:
        """Return probabilities, or location and std, or the action; none of mixed vectors."""
        rows, single = self._as_rows(observation)
        if self.action_space["type"] == "discrete":
            named = {"probabilities": self._mix(rows)}
        elif self._parts:
            raise ValueError("a mixture of action vectors has no parameters; use predict")
        elif self.head == "deterministic":
            named = {"action": self._mode(self._evaluate(rows))}
        else:
            location, std = self._gaussian(self._evaluate(rows))
            named = {"location": location, "std": std}
        return {name: values[0] if single else values for name, values in named.items()}

    def _as_rows(self, observation: Any) -> tuple[np.ndarray, bool]:
        if self.observation_space["type"] == "discrete":
            rows, n = np.asarray(observation), self.observation_space["n"]
            if rows.dtype.kind not in "iu" or rows.ndim > 1 or np.any((rows < 0) | (rows >= n)):
                raise ValueError(f"give whole numbers from 0 to {n - 1}")
            return np.atleast_1d(rows), rows.ndim == 0
        rows, size = np.asarray(observation, np.float32), len(self.observation_space["low"])
        if rows.ndim not in (1, 2) or rows.shape[-1] != size or not np.all(np.isfinite(rows)):
            raise ValueError(f"give finite numbers of shape ({size},) or (batch, {size})")
        return np.atleast_2d(rows), rows.ndim == 1

    def _evaluate(self, rows: Any) -> Any:
        """What the head reads, a row each: -inf for actions that the row does not allow."""
        outputs, mask = self._evaluate_all(rows), self.observation_space.get("mask", 0)
        texts = self.observation_space.get("allowed")
        if not mask and not texts:
            return outputs
        if texts:
            allowed = np.array([[sign == "1" for sign in texts[row]] for row in rows])
        else:
            allowed = rows[:, -mask:] > 0.5
        allowed = allowed | ~allowed.any(axis=-1, keepdims=True)
        masked = np.where(allowed, outputs, -np.inf)
        silent = np.isneginf(masked).all(axis=-1, keepdims=True)
        return np.where(silent, np.where(allowed, 0.0, -np.inf), masked)

    def _evaluate_all(self, rows: Any) -> Any:
        tensors = self._tensors
        if self.description["kind"] == "tabular":
            return tensors["logits"][rows]
        if "scaling.shift" in tensors:
            rows = (rows - tensors["scaling.shift"]) / tensors["scaling.scale"]
            if "scaling.limit" in tensors:
                rows = np.clip(rows, -tensors["scaling.limit"], tensors["scaling.limit"])
        for i, activation in enumerate(self.description["activations"]):
            weight, bias = tensors[f"layers.{i}.weight"], tensors[f"layers.{i}.bias"]
            picked = i == 0 and self.observation_space["type"] == "discrete"
            rows = (weight.T[rows] if picked else rows @ weight.T) + bias
            rows = np.tanh(rows) if activation == "tanh" else rows
            rows = np.maximum(rows, 0) if activation == "relu" else rows
        return rows

    def _probabilities(self, outputs: Any) -> Any:
        if self.head == "greedy":
            return np.eye(outputs.shape[-1])[np.argmax(outputs, axis=-1)]
        weights = np.exp(outputs - outputs.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True)

    def _gaussian(self, outputs: Any) -> tuple[Any, Any]:
        location, log_std = np.split(outputs, 2, axis=-1)
        return location, np.exp(np.clip(log_std, *self.description["log_std_bounds"]))

    def _mode(self, outputs: Any) -> Any:
        if self.head in ("categorical", "greedy"):
            return np.argmax(outputs, axis=-1)
        return self._press(outputs if self.head == "deterministic" else self._gaussian(outputs)[0])

    def _draw(self, outputs: Any) -> Any:
        if self.head in ("greedy", "deterministic"):
            return self._mode(outputs)
        if self.head == "categorical":
            reach = np.cumsum(self._probabilities(outputs), axis=-1)
            noise = self._random.random((len(outputs), 1)) * reach[:, -1:]
            return np.argmax(reach > noise, axis=-1)
        location, std = self._gaussian(outputs)
        return self._press(location + std * self._random.standard_normal(location.shape))

    def _press(self, values: Any) -> Any:
        """Into the action space: squashed where the policy squashes, then clipped."""
        low, high = (np.array(self.action_space[end], np.float64) for end in ("low", "high"))
        if self.head == "squashed_gaussian":
            values = (high + low) / 2 + (high - low) / 2 * np.tanh(values)
        return np.clip(values, low, high).astype(np.float32)


class Rule:
    """A rule in TOML: the first one whose conditions all hold decides."""

    def __init__(self, path: str) -> None:
        document = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        if "otherwise" not in document:
            raise ValueError(f"{path}: not a rule of nacre")
        self.inputs = json.loads(document.get("inputs", "{}"))
        names = (self.inputs.get("columns") or {}).get("observation")
        self._names = names if isinstance(names, list) else []
        self._rules = [*document.get("rule", []), {"when": {}, **document["otherwise"]}]

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Any, Any]:
        """Return the action for one raw row or one observation, and the state as it came."""
        raw = isinstance(observation, dict)
        numbers = encode_row(self.inputs, observation) if raw else np.atleast_1d(observation)
        rule = next(rule for rule in self._rules if self._holds(rule["when"], numbers))
        if "action" not in rule:
            raise ValueError("the rule draws its actions; read it with nacre")
        return self._follow_mask(rule["action"], numbers), state

    def _follow_mask(self, action: Any, numbers: np.ndarray) -> Any:
        """The action, or the first that is allowed where it is not."""
        mask, labels = self.inputs.get("mask", 0), (self.inputs.get("labels") or {}).get("action")
        place = labels.index(action) if labels and action in labels else action
        allowed = numbers[-mask:] > 0.5 if mask else np.zeros(0, bool)
        if "allowed" in self.inputs:
            allowed = np.array([sign == "1" for sign in self.inputs["allowed"][int(numbers[0])]])
        if allowed.any() and not allowed[place]:
            place = int(np.argmax(allowed))
        return labels[place] if labels else place

    def _holds(self, when: dict[str, Any], numbers: np.ndarray) -> bool:
        for name, bounds in when.items():
            numbered = name.startswith("observation_") and name not in self._names
            place = int(name.rpartition("_")[2]) if numbered else self._names.index(name)
            least, most = bounds.get("from", -math.inf), bounds.get("to", math.inf)
            if not least <= numbers[place] <= most:
                return False
        return True


def main(path: str) -> None:
    """Act on the rows of standard input."""
    controller = Rule(path) if path.endswith(".toml") else Predictor(path)
    for line in sys.stdin:
        action, _ = controller.predict(json.loads(line), deterministic=True)
        print(json.dumps(action.tolist() if hasattr(action, "tolist") else action), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
