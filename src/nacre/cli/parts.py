"""The policies of partial switches as files: those that the log proves, and all regions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nacre.advice.record import DecisionRecord
from nacre.policies import deliver_policy
from nacre.rollout.net_curve import NetCurve
from nacre.rollout.plan_record import CurvePoint

FOLDER = "parts"


def deliver_parts(curve: NetCurve, folder: Path, record: DecisionRecord) -> tuple[CurvePoint, ...]:
    """Write them like any policy that is handed over; the points with the names of their files."""
    points: list[CurvePoint] = []
    for number, point in enumerate(curve.points):
        wanted = (point.proven and point.share < 1) or point.is_region
        points.append(point)
        if not (wanted and curve.policies):
            continue
        provenance: dict[str, Any] = {
            "origin": f"a part of the switch to {record.chosen}: {point.name}",
            "candidate": record.chosen,
            "names": record.names,
        }
        stem = f"part-{number + 1}"
        delivered = deliver_policy(curve.policies[number], folder / FOLDER, stem, provenance)
        if f"{stem}.safetensors" in delivered.files:
            points[-1] = point.model_copy(update={"file": f"{FOLDER}/{stem}.safetensors"})
    return tuple(points)
