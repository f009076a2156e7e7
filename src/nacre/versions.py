"""What figures depend on besides their settings: versions of packages, and the commit."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("nacre", "jax", "jaxlib", "equinox", "optax", "numpy", "gymnasium", "mujoco", "libsumo")


def find_versions() -> dict[str, str]:
    """Versions of what the figures depend on, as far as installed."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def find_commit() -> str | None:
    """The commit that this code stands on, where it lies in a repository."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"],  # noqa: S607
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


@functools.cache
def hash_code() -> str:
    """SHA-256 of the source of nacre."""
    digest = hashlib.sha256()
    root = Path(__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
