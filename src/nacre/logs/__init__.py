"""Logs: episodes of transitions, their files, and what can be wrong with them."""

from nacre.logs.checks.problems import Problem
from nacre.logs.episodes import Log
from nacre.logs.files import read_log, validate_log, write_log
from nacre.logs.formats.base import LogFormat, WritableLogFormat
from nacre.logs.formats.in_memory import log_from_arrays, log_from_table
from nacre.logs.formats.registry import LOG_FORMATS
from nacre.logs.schema.mapping import ColumnMap, read_columns
from nacre.logs.schema.naming import (
    action_labels,
    action_names,
    observation_labels,
    observation_names,
    own_names,
)

__all__ = [
    "LOG_FORMATS",
    "ColumnMap",
    "Log",
    "LogFormat",
    "Problem",
    "WritableLogFormat",
    "action_labels",
    "action_names",
    "log_from_arrays",
    "log_from_table",
    "observation_labels",
    "observation_names",
    "own_names",
    "read_columns",
    "read_log",
    "validate_log",
    "write_log",
]
