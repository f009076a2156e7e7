"""The sections of the page, in their order: one file each, registered by one line each."""

from nacre.plugins.registry import Registry
from nacre.report.sections.base import Context, Drawing, Section

SECTIONS: Registry[type[Section]] = Registry(
    "nacre.report_sections",
    "section of the page",
    {
        "verdict": "nacre.report.sections.verdict:Verdict",
        "next_steps": "nacre.report.sections.next_steps:NextSteps",
        "guardrails": "nacre.report.sections.guardrails:Guardrails",
        "gain": "nacre.report.sections.gain:Gain",
        "risk": "nacre.report.sections.risk:Risk",
        "segments": "nacre.report.sections.segments:Segments",
        "estimators": "nacre.report.sections.estimators:Estimators",
        "cost": "nacre.report.sections.cost:Cost",
        "prices": "nacre.report.sections.prices:OtherPrices",
        "candidates": "nacre.report.sections.candidates:Candidates",
        "assumptions": "nacre.report.sections.assumptions:Assumptions",
        "overlap": "nacre.report.sections.overlap:Overlap",
        "log_checks": "nacre.report.sections.log_checks:LogChecks",
        "columns": "nacre.report.sections.columns:Columns",
        "learning": "nacre.report.sections.learning:Learning",
        "change": "nacre.report.sections.change:Change",
        "starts": "nacre.report.sections.starts:Starts",
        "words": "nacre.report.sections.words:Words",
        "record": "nacre.report.sections.record:Record",
    },
)
"""What the page shows. Sections of other packages come before the words and the record."""

LAST = ("words", "record")

__all__ = ["LAST", "SECTIONS", "Context", "Drawing", "Section"]
