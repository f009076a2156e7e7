"""The tracing script counts what it says; a whole advice under it takes too long for a test."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np

from nacre.learners.net_actor_critic.learner import NetActorCritic
from nacre.logs import log_from_arrays

ROOT = Path(__file__).resolve().parent.parent


def load_script() -> ModuleType:
    path = ROOT / "scripts" / "trace_advice.py"
    spec = importlib.util.spec_from_file_location("trace_advice", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["trace_advice"] = module
    spec.loader.exec_module(module)
    return module


def test_calls_between_modules_are_counted_with_their_returns() -> None:
    script = load_script()
    trace = script.Trace()
    earlier = sys.getprofile()
    sys.setprofile(trace)
    try:
        log_from_arrays(
            {
                "observations": np.zeros((2, 1)),
                "actions": [0, 1],
                "rewards": [0.0, 1.0],
                "terminated": [False, True],
                "episode": [0, 0],
            }
        )
    finally:
        sys.setprofile(earlier)
    names = {script.name_module(path) for path in trace.modules}
    assert {"nacre.logs.formats.in_memory", "nacre.logs.checks.assembly"} <= names
    called = {(script.name_module(one), script.name_module(other)) for one, other in trace.calls}
    assert all(one != other for one, other in called)
    assert ("nacre.logs.checks.assembly", "nacre.logs.checks.columns") in called
    assert trace.crossings == 2 * sum(trace.calls.values()) > 0


def test_parts_are_given_a_few_updates() -> None:
    script = load_script()
    small = script.shrink(NetActorCritic())
    assert small.settings.epochs == script.FEW["epochs"]
    assert small.settings.critics == NetActorCritic().settings.critics
