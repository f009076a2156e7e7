"""Logs: episodes of transitions, their files, and what can be wrong with them."""

from nacre.log.episodes import Log
from nacre.log.files import read_log, validate_log, write_log
from nacre.log.mapping import ColumnMap, read_columns
from nacre.log.naming import (
    action_labels,
    action_names,
    observation_labels,
    observation_names,
)
from nacre.log.problems import Problem
from nacre.log.tabular import log_from_arrays, log_from_table

__all__ = [
    "ColumnMap",
    "Log",
    "Problem",
    "action_labels",
    "action_names",
    "log_from_arrays",
    "log_from_table",
    "observation_labels",
    "observation_names",
    "read_columns",
    "read_log",
    "validate_log",
    "write_log",
]
