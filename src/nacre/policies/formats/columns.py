"""The word "columns": the old policy as the log's own columns tell it."""

from __future__ import annotations

import re
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from nacre.errors import InputError
from nacre.logs import Log
from nacre.policies.answers import Answers, find_form, find_head, head_outputs
from nacre.policies.cloning.fitting import CloneConfig
from nacre.policies.formats.base import PolicyFormat, PolicyOptions, Provenance
from nacre.policies.formats.recording import add_match
from nacre.policies.policy import Policy, Signature
from nacre.policies.records import Record, hash_rows, record_rows, tabulate_outputs

_NAMES = {
    "probabilities": ("probabilities", "probability", "probs", "prob"),
    "logits": ("logits", "logit"),
    "mean": ("mean", "mu"),
    "std": ("std", "sigma"),
    "log_std": ("log_std",),
}
_PREFIX = re.compile(r"(old_|action_|old_action_|behavior_|behaviour_)?(.+)")


class ColumnsFormat(PolicyFormat):
    """A policy whose distributions the log's columns hold row by row."""

    label = "'columns'"
    words = ("columns",)

    def read(self, source: Any, options: PolicyOptions) -> tuple[Policy, Provenance]:
        """The record of the columns."""
        log = require_log(str(source), options)
        record = read_columns_policy(log, jax.random.key(options.seed), options.clone)
        return add_match(record, {"source": "columns"})


def require_log(word: str, options: PolicyOptions) -> Log:
    """The log that a word refers to.

    Raises:
        InputError: If there is none.
    """
    if options.log is None:
        raise InputError(f"the policy {word!r} is read from the log; give log=…")
    return options.log


def read_columns_policy(log: Log, key: PRNGKeyArray, config: CloneConfig | None = None) -> Record:
    """The policy whose probabilities, or means and standard deviations, the log holds row by row.

    Columns are `probabilities` or `probability_0`, `probability_1`, …, or `mean` and `std` in the
    same two ways; a prefix `old_` or `action_` is read over. Rows of equal observations are
    averaged. States that are not in the log get what a clone of the rows says.

    Raises:
        InputError: If there are no such columns, or they hold something else.
    """
    signature = Signature(log.observation_space, log.action_space)
    answers = _find_answers(log)
    form = find_form(set(answers))
    if form is None:
        raise InputError(
            f"log: none of its columns {', '.join(map(repr, log.columns)) or '(it has none)':.100} "
            "says how the old policy acts; add probability_0, probability_1, … (all actions, not "
            "the taken one alone) or mean and std, or give 'clone' to fit a policy to the actions"
        )
    try:
        head = find_head(form, signature)
        head_outputs(form, answers, signature, len(log))
    except InputError as error:
        raise InputError([f"log: column {problem}" for problem in error.problems]) from None
    if form == "logits":
        form, answers = "probabilities", {"probabilities": _softmax(answers["logits"])}
    if isinstance(log.observation_space, gymnasium.spaces.Discrete):
        return Record(_tabulate(form, answers, log, signature), None, None)
    _, first, group = np.unique(hash_rows(log.observations), return_index=True, return_inverse=True)
    averaged = {name: _average(values, group, len(first)) for name, values in answers.items()}
    outputs = head_outputs(form, averaged, signature, len(first))
    return record_rows(head, outputs, log.observations[first], signature, key, config)


def _find_answers(log: Log) -> dict[str, np.ndarray]:
    """Columns by what they are: a column of vectors, or numbered ones side by side."""
    found: dict[str, np.ndarray] = {}
    numbered: dict[str, dict[int, np.ndarray]] = {}
    for name, values in log.columns.items():
        stem, _, number = name.rpartition("_")
        if values.ndim == 1 and number.isdecimal() and (key := _key_of(stem)):
            numbered.setdefault(key, {})[int(number)] = values
        elif key := _key_of(name):
            found[key] = values if values.ndim > 1 else values[:, None]
    for key, parts in numbered.items():
        if sorted(parts) != list(range(len(parts))):
            raise InputError(
                f"log: {key} has the columns {sorted(parts)}; number them from 0 without gaps"
            )
        found.setdefault(key, np.stack([parts[i] for i in range(len(parts))], axis=-1))
    return found


def _key_of(name: str) -> str | None:
    match = _PREFIX.fullmatch(name.lower())
    plain = match[2] if match else name
    return next((key for key, names in _NAMES.items() if plain in names), None)


def _softmax(logits: np.ndarray) -> np.ndarray:
    return np.asarray(jax.nn.softmax(jnp.asarray(logits, jnp.float32), axis=-1))


def _average(values: np.ndarray, group: np.ndarray, count: int) -> np.ndarray:
    total = np.zeros((count, values.shape[1]))
    np.add.at(total, group, values)
    return total / np.bincount(group, minlength=count)[:, None]


def _tabulate(form: str, answers: Answers, log: Log, signature: Signature) -> Policy:
    """A row for each state; those that the log never met get the average of all rows."""
    n = signature.observation_size
    met = np.isin(np.arange(n), log.observations)
    states = np.searchsorted(np.flatnonzero(met), log.observations)
    table = {}
    for name, values in answers.items():
        rows = np.tile(values.mean(axis=0), (n, 1))
        rows[met] = _average(values, states, int(met.sum()))
        table[name] = rows
    outputs = head_outputs(form, table, signature, n)
    return tabulate_outputs(find_head(form, signature), outputs, signature)


COLUMNS = ColumnsFormat()
