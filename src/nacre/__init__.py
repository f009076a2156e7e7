"""Should we replace the policy we run today? Balanced policy switching from logged data."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from nacre import examples as examples
    from nacre.advice.config import AdviceConfig as AdviceConfig
    from nacre.advice.pipeline import advise as advise
    from nacre.advice.result import Advice as Advice
    from nacre.costs import GeneralTransportCost as GeneralTransportCost
    from nacre.costs import GlobalCost as GlobalCost
    from nacre.costs import LocalCost as LocalCost
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
    from nacre.policies import read_policy as read_policy
    from nacre.policies import write_card as write_card
    from nacre.policies import write_policy as write_policy
    from nacre.policies import write_predictor as write_predictor
    from nacre.tracking import combine_reporters as combine_reporters
    from nacre.tracking import open_tracking as open_tracking

# Imported on first use: `import nacre` and `nacre --help` must not wait for JAX and Arrow.
_HOMES = {
    "Advice": "nacre.advice.result",
    "AdviceConfig": "nacre.advice.config",
    "Candidate": "nacre.learners.base",
    "Card": "nacre.policies",
    "ColumnMap": "nacre.logs",
    "Controller": "nacre.policies",
    "GeneralTransportCost": "nacre.costs",
    "GlobalCost": "nacre.costs",
    "InputError": "nacre.errors",
    "LocalCost": "nacre.costs",
    "Log": "nacre.logs",
    "SwitchingCost": "nacre.costs",
    "TransportCost": "nacre.costs",
    "advise": "nacre.advice.pipeline",
    "combine_reporters": "nacre.tracking",
    "convert_log": "nacre.logs.convert",
    "log_from_arrays": "nacre.logs",
    "log_from_table": "nacre.logs",
    "open_tracking": "nacre.tracking",
    "read_cost": "nacre.costs",
    "read_log": "nacre.logs",
    "read_policy": "nacre.policies",
    "validate_log": "nacre.logs",
    "write_log": "nacre.logs",
    "write_card": "nacre.policies",
    "write_policy": "nacre.policies",
    "write_predictor": "nacre.policies",
}
_MODULES = {"examples": "nacre.examples", "groups": "nacre.costs.groups"}

__all__ = [
    "Advice",
    "AdviceConfig",
    "Candidate",
    "Card",
    "ColumnMap",
    "Controller",
    "GeneralTransportCost",
    "GlobalCost",
    "InputError",
    "LocalCost",
    "Log",
    "SwitchingCost",
    "TransportCost",
    "__version__",
    "advise",
    "combine_reporters",
    "convert_log",
    "examples",
    "groups",
    "log_from_arrays",
    "log_from_table",
    "open_tracking",
    "read_cost",
    "read_log",
    "read_policy",
    "validate_log",
    "write_card",
    "write_log",
    "write_policy",
    "write_predictor",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        found = import_module(_MODULES[name])
    elif name in _HOMES:
        found = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'nacre' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
