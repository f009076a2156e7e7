"""What a policy from outside answers, checked, as the parameters that our heads read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nacre.errors import InputError
from nacre.policies.heads import Head, count_outputs, plain_gaussian
from nacre.policies.policy import Signature, describe_space

FORMS: dict[str, tuple[str, ...]] = {
    "mean_std": ("mean", "std"),
    "squashed": ("location", "std"),
    "probabilities": ("probabilities",),
    "logits": ("logits",),
    "q": ("q",),
    "action": ("action",),
}
"""What can be answered, and the arrays that it takes; `log_std` may stand for `std`.

`mean_std` is a Gaussian, clipped by the action space; `squashed` one squashed into it by tanh;
`q` are values of which the largest is chosen.
"""
WIDEST_LOG_STD = (-20.0, 20.0)

Answers = Mapping[str, np.ndarray]


def find_form(names: set[str]) -> str | None:
    """The form that arrays of these names are; the one that says most where there are several."""
    if "log_std" in names:
        names = names | {"std"}
    return next((form for form, arrays in FORMS.items() if names >= set(arrays)), None)


def find_head(form: str, signature: Signature) -> Head:
    """The head of a form.

    Raises:
        InputError: If the form does not fit the action space.
    """
    discrete = signature.discrete_actions
    if form == "action":
        return "categorical" if discrete else "deterministic"
    if discrete != (form in ("probabilities", "logits", "q")):
        fitting = "probabilities, logits, q" if discrete else "mean_std, squashed"
        raise InputError(
            f"{form!r} does not fit the action space {describe_space(signature.action_space)}; it "
            f"can be one of action, {fitting}"
        )
    if discrete:
        return "categorical"
    return plain_gaussian(signature) if form == "mean_std" else "squashed_gaussian"


def head_outputs(form: str, answers: Answers, signature: Signature, n_rows: int) -> np.ndarray:
    """Answers as the rows (n, outputs) that the head of their form reads, float32.

    Raises:
        InputError: If they have the wrong shape, or are no numbers, actions or probabilities.
    """
    size = signature.action_size
    if form == "action" and signature.discrete_actions:
        return _choose(_whole(answers["action"], n_rows, size), size)
    if form == "q":
        best = np.argmax(_rows(answers, "q", n_rows, size), axis=-1)
        return _choose(best, size)
    if form == "probabilities":
        return _logs(_rows(answers, "probabilities", n_rows, size))
    if form in ("logits", "action"):
        return _rows(answers, form, n_rows, size).astype(np.float32)
    centre = _rows(answers, FORMS[form][0], n_rows, size)
    if "log_std" in answers:
        log_std = _rows(answers, "log_std", n_rows, size)
    else:
        std = _rows(answers, "std", n_rows, size)
        _refuse_rows(~np.all(std >= 0, axis=-1), "std", std, "give numbers that are not negative")
        with np.errstate(divide="ignore"):
            log_std = np.log(std)
    both = np.concatenate([centre, np.clip(log_std, *WIDEST_LOG_STD)], axis=-1)
    outputs = both.astype(np.float32)
    assert outputs.shape == (n_rows, count_outputs("gaussian", size))  # noqa: S101 - as built
    return outputs


def _choose(actions: np.ndarray, size: int) -> np.ndarray:
    return np.where(np.arange(size) == actions[:, None], 0.0, -np.inf).astype(np.float32)


def _logs(probabilities: np.ndarray) -> np.ndarray:
    total = probabilities.sum(axis=-1, keepdims=True)
    wrong = ~np.all(probabilities >= 0, axis=-1) | (np.abs(total[:, 0] - 1.0) > 1e-3)
    _refuse_rows(
        wrong,
        "probabilities",
        probabilities,
        "they must not be negative and must add up to one",
    )
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(probabilities / total), np.float32)


def _rows(answers: Answers, name: str, n_rows: int, size: int) -> np.ndarray:
    values = as_numbers(answers[name], name)
    if values.ndim == 1 and size == 1:
        values = values[:, None]
    if values.shape != (n_rows, size):
        raise InputError(
            f"{name} of shape {values.shape} for {n_rows} observations; expected {(n_rows, size)}"
        )
    # -inf is a logit like others: never.
    sound = np.isfinite(values) | (values == -np.inf) if name == "logits" else np.isfinite(values)
    _refuse_rows(~np.all(sound, axis=-1), name, values, "NaN and infinity are no answer")
    if name == "logits":
        _refuse_rows(np.all(values == -np.inf, axis=-1), name, values, "allow at least one action")
    return values


def as_numbers(values: Any, name: str) -> np.ndarray:
    """An answer as an array of double precision."""
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} {values!r:.60} is not made of numbers") from None


def _whole(values: Any, n_rows: int, size: int) -> np.ndarray:
    actions = as_numbers(values, "action")
    if actions.shape == (n_rows, 1):
        actions = actions[:, 0]
    if actions.shape != (n_rows,):
        raise InputError(
            f"action of shape {actions.shape} for {n_rows} observations; expected {(n_rows,)}, a "
            "whole number each"
        )
    wrong = ~((actions >= 0) & (actions < size) & (actions == np.floor(actions)))
    _refuse_rows(wrong, "action", actions, f"give whole numbers from 0 to {size - 1}")
    return actions.astype(np.int64)


def _refuse_rows(wrong: np.ndarray, name: str, values: np.ndarray, remedy: str) -> None:
    if np.any(wrong):
        row = int(np.argmax(wrong))
        raise InputError(
            f"{name} at observation {row} is {np.array2string(values[row], threshold=6):.60}; "
            f"{remedy}"
        )
