"""Whole advices where the truth is known: worlds, cases, runner, baselines and summary."""

from nacre.experiments.calibration.case import Case, Problem, Truth

__all__ = ["Case", "Problem", "Truth"]
