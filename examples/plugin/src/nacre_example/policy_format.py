"""Policies as JSON: a table with the probability of each action in each state.

{"probabilities": [[0.7, 0.3], [0.1, 0.9]]}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nacre.errors import InputError
from nacre.policies import Policy, PolicyFormat, PolicyOptions, Provenance, TabularPolicy


class JsonTableFormat(PolicyFormat):
    """Tables of probabilities in JSON files, to read and to write."""

    label = "a table in .json"
    suffixes = (".json",)
    writable = True

    def read(self, source: Any, options: PolicyOptions) -> tuple[Policy, Provenance]:
        """The table, and the provenance that its file holds."""
        path = Path(source)
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            policy = TabularPolicy.from_probabilities(document["probabilities"])
        except InputError as error:
            raise InputError([f"{path}: {problem}" for problem in error.problems]) from None
        except (OSError, KeyError, TypeError, ValueError):
            raise InputError(
                f'{path}: expected {{"probabilities": [[…], …]}}, a row for each state; correct '
                "it there"
            ) from None
        return policy, {"source": "json table", **document.get("provenance", {})}

    def dump(self, policy: Policy, provenance: Mapping[str, Any]) -> bytes:
        """The table of a tabular policy."""
        if not isinstance(policy, TabularPolicy):
            raise InputError(f"a {type(policy).__name__} is no table; write it as .safetensors")
        table = np.asarray(policy.table, np.float64).tolist()
        return json.dumps({"probabilities": table, "provenance": dict(provenance)}).encode()


JSON_TABLE = JsonTableFormat()
"""What the entry point names: `json-table = "nacre_example.policy_format:JSON_TABLE"`."""
