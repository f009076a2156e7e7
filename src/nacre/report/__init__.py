"""The page that people read: one HTML file about one decision."""

from nacre.advice.record import read_decision
from nacre.report.change import examine_change
from nacre.report.evidence import Evidence, read_evidence, write_evidence
from nacre.report.page import format_report, write_report
from nacre.report.sections import SECTIONS, Context, Section

__all__ = [
    "SECTIONS",
    "Context",
    "Evidence",
    "Section",
    "examine_change",
    "format_report",
    "read_decision",
    "read_evidence",
    "write_evidence",
    "write_report",
]
