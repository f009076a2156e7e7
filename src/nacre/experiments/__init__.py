"""The paper's tables as data: run them, resume them, compare with the published figures."""

from nacre.experiments.tables import TABLES, Published, Row, find_rows

__all__ = ["TABLES", "Published", "Row", "find_rows"]
