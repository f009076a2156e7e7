"""Tracking: runs of advice in TensorBoard, in MLflow, or in anything else that can be called."""

from nacre.tracking.tracker import Tracker, combine_reporters, open_tracking

__all__ = ["Tracker", "combine_reporters", "open_tracking"]
