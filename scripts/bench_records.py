"""What every record of a benchmark says besides its figures, and tables for the page of them."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results" / "bench"
PACKAGES = ("nacre", "jax", "jaxlib", "equinox", "optax", "numpy", "POT")


def make_document(command: str, commit: str, figures: Any) -> dict[str, Any]:
    """A record: what was run, by which commit, where, with which versions, and what came out."""
    return {
        "command": command,
        "commit": commit,
        "machine": {"processor": processor(), "system": platform.system()},
        "versions": {package: importlib.metadata.version(package) for package in PACKAGES},
        "figures": figures,
    }


def git(*arguments: str) -> str:
    """What a command of git prints about this repository."""
    command = ["git", *arguments]
    done = subprocess.run(  # noqa: S603 - our own commands
        command, cwd=ROOT, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def find_commit() -> str:
    """The commit of the source here, marked if the source differs from it."""
    changed = git("status", "--porcelain", "--", "src")
    return git("rev-parse", "HEAD") + ("-dirty" if changed else "")


def processor() -> str:
    """Name of the processor, as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def table(rows: Sequence[Sequence[str]], header: Sequence[str]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
