"""Functions and objects with a `predict` as policies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np

from nacre.errors import InputError
from nacre.policies.answers import FORMS, Answers, find_form, find_head, head_outputs
from nacre.policies.blackbox import BlackBox
from nacre.policies.formats.base import PolicyFormat, PolicyOptions, Provenance
from nacre.policies.formats.recording import record_black_box
from nacre.policies.formats.tensors import describe_error
from nacre.policies.policy import Policy, Signature

N_PROBES = 3
ASKED = ("predict_proba", "predict")
"""Methods that answer, the better one first."""


class CallableFormat(PolicyFormat):
    """A function, or an object with `predict`."""

    label = "a function or an object with predict"

    def takes(self, source: object) -> bool:
        """Whatever can be asked."""
        return any(map(callable, (source, *(getattr(source, name, None) for name in ASKED))))

    def read(self, source: Any, options: PolicyOptions) -> tuple[Policy, Provenance]:
        """The function as a black box, recorded at the log's states if there is a log."""
        if options.spaces is None:
            raise InputError(
                "a function does not say its spaces; give signature=nacre.policies.Signature(…) or "
                "the log"
            )
        if not (options.outputs is None or isinstance(options.outputs, str)):
            raise InputError("outputs of a function are one word, such as outputs='probabilities'")
        rows = None if options.log is None else options.log.observations
        name = getattr(source, "__qualname__", type(source).__qualname__)
        try:
            policy = wrap_callable(source, options.spaces, form=options.outputs, observations=rows)
        except InputError as error:
            raise InputError([f"policy {name}: {problem}" for problem in error.problems]) from None
        return record_black_box(policy, options, "callable")


def wrap_callable(
    source: Any,
    signature: Signature,
    *,
    form: str | None = None,
    observations: np.ndarray | None = None,
) -> BlackBox:
    """A function, or an object with `predict_proba` or `predict`, as a policy.

    It is called with one observation or with a batch of rows, whichever it takes, and answers with

    - an action, or a pair of an action and a state as simulators' policies do;
    - a dictionary with `probabilities`, `logits`, `q`, `mean` and `std`, or `action`;
    - a pair of mean and standard deviation;
    - a vector of probabilities, for discrete actions.

    Args:
        source: The function or object.
        signature: The spaces between which it acts.
        form: What it answers, one of `FORMS`; found out by asking if absent.
        observations: Rows to ask at while finding out; drawn from the space if absent.

    Raises:
        InputError: If it does not answer, answers at random, or in no form that is known.
    """
    function = _find_function(source)
    probes = _find_probes(signature, observations)
    batched = _answers_batches(function, probes, signature, form)

    def ask(rows: np.ndarray) -> Answers:
        if batched:
            return _name_answer(_call(function, rows), signature, form, batch=True)
        answers = [_name_answer(_call(function, row), signature, form) for row in rows]
        return {name: _as_array([answer.get(name) for answer in answers]) for name in answers[0]}

    answers = ask(probes)
    found = form or find_form(set(answers))
    if found not in FORMS or not set(FORMS[found]) <= {*answers, *_alias(answers)}:
        raise InputError(
            f"answers {', '.join(sorted(answers)) or 'nothing':.60}; expected one of "
            f"{', '.join(FORMS)}"
        )
    find_head(found, signature)
    head_outputs(found, answers, signature, len(probes))
    again = ask(probes)
    if any(not np.array_equal(answers[name], again[name]) for name in answers):
        raise InputError(
            "answers the same observation differently from call to call: it draws its actions; "
            "answer with probabilities, or with mean and std, instead"
        )
    return BlackBox(ask, signature, found, _identify(source))


def _alias(answers: Answers) -> tuple[str, ...]:
    return ("std",) if "log_std" in answers else ()


def _find_function(source: Any) -> Callable[[Any], Any]:
    if callable(getattr(source, "predict_proba", None)):
        return _ClassProbabilities(source)
    if callable(getattr(source, "predict", None)):
        return source.predict  # type: ignore[no-any-return]
    if callable(source):
        return source  # type: ignore[no-any-return]
    raise InputError(
        f"a {type(source).__name__} is no policy; give a function, or an object with predict"
    )


class _ClassProbabilities:
    """A classifier's probabilities, spread over all actions: it may not have met every class."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self._classes = np.asarray(getattr(source, "classes_", []))

    def __call__(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        known = np.asarray(self._source.predict_proba(np.atleast_2d(rows)))
        if len(self._classes) != known.shape[-1] or self._classes.dtype.kind not in "iu":
            known_classes = known
        else:
            known_classes = np.zeros((len(known), int(self._classes.max()) + 1))
            known_classes[:, self._classes] = known
        return {"probabilities": known_classes if np.ndim(rows) > 1 else known_classes[0]}


def _call(function: Callable[[Any], Any], observation: Any) -> Any:
    try:
        return function(observation)
    except Exception as error:
        raise InputError(
            f"raises {type(error).__name__} ({describe_error(error)}) for an observation of shape "
            f"{np.shape(observation)}; it has to answer one observation or a batch of rows"
        ) from error


def _name_answer(
    answer: Any, signature: Signature, form: str | None, *, batch: bool = False
) -> dict[str, np.ndarray]:
    """An answer as arrays by name."""
    if isinstance(answer, Mapping):
        named = {str(name): _as_array(value) for name, value in answer.items()}
    elif isinstance(answer, tuple) and len(answer) == 2:
        named = _name_pair(answer, form)
    else:
        value = _as_array(answer)
        wide = value.ndim == (2 if batch else 1) and value.shape[-1] == signature.action_size
        guess = "probabilities" if signature.discrete_actions and wide else "action"
        named = {form if form in FORMS and len(FORMS[form]) == 1 else guess: value}
    if signature.discrete_actions and "probabilities" in named:
        named["probabilities"] = _pad(named["probabilities"], signature.action_size)
    return named


def _name_pair(answer: tuple[Any, Any], form: str | None) -> dict[str, np.ndarray]:
    first, second = answer
    if form in ("mean_std", "squashed"):
        return dict(zip(FORMS[form], map(_as_array, answer), strict=True))
    # Policies of simulators return the action and their memory, which is nothing or a tuple.
    if form == "action" or second is None or isinstance(second, tuple):
        return {"action": _as_array(first)}
    return {"mean": _as_array(first), "std": _as_array(second)}


def _as_array(value: Any) -> np.ndarray:
    try:
        return np.asarray(value)
    except ValueError:
        raise InputError(f"answers {value!r:.60}, whose parts differ in length") from None


def _pad(probabilities: np.ndarray, size: int) -> np.ndarray:
    missing = size - probabilities.shape[-1] if probabilities.ndim else 0
    if missing <= 0:
        return probabilities
    return np.pad(probabilities, [*[(0, 0)] * (probabilities.ndim - 1), (0, missing)])


def _answers_batches(
    function: Callable[[Any], Any], probes: np.ndarray, signature: Signature, form: str | None
) -> bool:
    """Whether it takes rows: it answers as many, and the same ones in another order."""
    order = np.roll(np.arange(len(probes)), 1)
    try:
        answers = _name_answer(_call(function, probes), signature, form, batch=True)
        turned = _name_answer(_call(function, probes[order]), signature, form, batch=True)
        found = form or find_form(set(answers))
        if found not in FORMS:
            return False
        straight = head_outputs(found, answers, signature, len(probes))
        rolled = head_outputs(found, turned, signature, len(probes))
    except (InputError, KeyError):
        return False
    return bool(np.allclose(straight[order], rolled, rtol=1e-4, atol=1e-5, equal_nan=True))


def _find_probes(signature: Signature, observations: np.ndarray | None) -> np.ndarray:
    if observations is not None and len(observations) >= N_PROBES:
        chosen = np.linspace(0, len(observations) - 1, N_PROBES).astype(int)
        return np.asarray(np.asarray(observations)[chosen])
    space, draw = signature.observation_space, np.random.default_rng(0)
    if isinstance(space, gymnasium.spaces.Discrete):
        return np.asarray(draw.integers(0, space.n, N_PROBES))
    low = np.clip(space.low, -1.0, None)  # type: ignore[attr-defined]
    high = np.maximum(np.clip(space.high, None, 1.0), low)  # type: ignore[attr-defined]
    low = np.minimum(low, high)
    return np.asarray(draw.uniform(low, high, (N_PROBES, len(low))), np.float32)


def _identify(source: Any) -> str:
    named = source if hasattr(source, "__qualname__") else type(source)
    return f"callable {named.__module__}.{named.__qualname__}"


CALLABLES = CallableFormat()
