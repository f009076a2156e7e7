"""Logs: episodes of transitions, their files, and what can be wrong with them."""

from nacre.log.episodes import Log
from nacre.log.files import read_log, validate_log, write_log
from nacre.log.mapping import ColumnMap, read_columns
from nacre.log.problems import Problem

__all__ = [
    "ColumnMap",
    "Log",
    "Problem",
    "read_columns",
    "read_log",
    "validate_log",
    "write_log",
]
