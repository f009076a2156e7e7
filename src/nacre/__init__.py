"""Should we replace the policy we run today? Balanced policy switching from logged data."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Tasks run side by side. Inside of one, XLA's further threads would only take turns with the
# others, and sums that several threads share have other last bits. Read when JAX is first used.
if "xla_cpu_multi_thread_eigen" not in os.environ.get("XLA_FLAGS", ""):
    _flags = os.environ.get("XLA_FLAGS", ""), "--xla_cpu_multi_thread_eigen=false"
    os.environ["XLA_FLAGS"] = " ".join(flag for flag in _flags if flag)

if TYPE_CHECKING:
    from nacre import estimators as estimators
    from nacre import examples as examples
    from nacre import learners as learners
    from nacre.advice.config import AdviceConfig as AdviceConfig
    from nacre.advice.evaluate import Valuation as Valuation
    from nacre.advice.evaluate import evaluate as evaluate
    from nacre.advice.pipeline import advise as advise
    from nacre.advice.result import Advice as Advice
    from nacre.costs import GeneralTransportCost as GeneralTransportCost
    from nacre.costs import GlobalCost as GlobalCost
    from nacre.costs import LocalCost as LocalCost
    from nacre.costs import PolicyCost as PolicyCost
    from nacre.costs import SwitchingCost as SwitchingCost
    from nacre.costs import TransportCost as TransportCost
    from nacre.costs import groups as groups
    from nacre.costs import read_cost as read_cost
    from nacre.errors import InputError as InputError
    from nacre.learners.base import Candidate as Candidate
    from nacre.logs import ColumnMap as ColumnMap
    from nacre.logs import Log as Log
    from nacre.logs import log_from_arrays as log_from_arrays
    from nacre.logs import log_from_table as log_from_table
    from nacre.logs import read_log as read_log
    from nacre.logs import validate_log as validate_log
    from nacre.logs import write_log as write_log
    from nacre.logs.convert import convert_log as convert_log
    from nacre.policies import Card as Card
    from nacre.policies import Controller as Controller
    from nacre.policies import TabularPolicy as TabularPolicy
    from nacre.policies import read_policy as read_policy
    from nacre.policies import write_card as write_card
    from nacre.policies import write_policy as write_policy
    from nacre.policies import write_predictor as write_predictor
    from nacre.tracking import combine_reporters as combine_reporters
    from nacre.tracking import open_tracking as open_tracking

# The public names by their homes. Imported on first use: `import nacre` and `nacre --help` must not
# wait for JAX and Arrow. A test keeps the imports above, which type checkers read, the same.
PUBLIC = {
    "nacre": ("estimators", "examples", "learners"),
    "nacre.advice.config": ("AdviceConfig",),
    "nacre.advice.evaluate": ("Valuation", "evaluate"),
    "nacre.advice.pipeline": ("advise",),
    "nacre.advice.result": ("Advice",),
    "nacre.costs": (
        "GeneralTransportCost",
        "GlobalCost",
        "LocalCost",
        "PolicyCost",
        "SwitchingCost",
        "TransportCost",
        "groups",
        "read_cost",
    ),
    "nacre.errors": ("InputError",),
    "nacre.learners.base": ("Candidate",),
    "nacre.logs": (
        "ColumnMap",
        "Log",
        "log_from_arrays",
        "log_from_table",
        "read_log",
        "validate_log",
        "write_log",
    ),
    "nacre.logs.convert": ("convert_log",),
    "nacre.policies": (
        "Card",
        "Controller",
        "TabularPolicy",
        "read_policy",
        "write_card",
        "write_policy",
        "write_predictor",
    ),
    "nacre.tracking": ("combine_reporters", "open_tracking"),
}
_HOMES = {name: home for home, names in PUBLIC.items() for name in names}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'nacre' has no attribute {name!r}")
    home = _HOMES[name]
    if home == __name__:
        return import_module(f"{home}.{name}")
    found = getattr(import_module(home), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
