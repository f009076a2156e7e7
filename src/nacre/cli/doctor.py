"""What this machine offers and what is missing: what `nacre doctor` finds out.

Nothing heavy is imported before its turn, so that what is broken can be named.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

from nacre.versions import find_versions

EXTRAS = {
    "mujoco": "robots in MuJoCo",
    "sumo": "traffic lights in SUMO",
    "onnx": "policies as ONNX files",
    "hdf5": "logs as HDF5 files",
    "minari": "Minari's datasets",
    "track": "TensorBoard and MLflow",
    "figures": "figures of results",
}
VARIABLES = ("XLA_FLAGS", "JAX_PLATFORMS", "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "NO_COLOR")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
REQUIREMENT = re.compile(r"\s*([\w.-]+)(?:\[[^\]]*\])?\s*([^;]*?)\s*(?:;(.*))?")


@dataclass(frozen=True)
class Extra:
    """An extra of the package: what it is for, what of it is missing, how to install it."""

    purpose: str
    missing: tuple[str, ...]
    install: str

    @property
    def installed(self) -> bool:
        """Whether all of it is there."""
        return not self.missing


@dataclass(frozen=True)
class Health:
    """The state of this machine.

    Args:
        versions: Of Python, nacre and what its figures depend on.
        system: The operating system and the kind of processor.
        devices: Where JAX computes; empty if it cannot.
        cores: Processors of the machine.
        usable_cores: Those that this process may use.
        memory: Bytes in all and bytes available, as far as known.
        variables: Those of the environment that change how things are computed.
        extras: The extras of the package.
        browser: A browser for the tests of the page, if there is one.
        directory: The present directory; caches of large logs appear beside them.
        writable: Whether something can be written there.
        problems: What keeps nacre from working, each with its remedy.
    """

    versions: Mapping[str, str]
    system: str
    devices: tuple[str, ...]
    cores: int
    usable_cores: int
    memory: Mapping[str, int]
    variables: Mapping[str, str]
    extras: Mapping[str, Extra]
    browser: str | None
    directory: str
    writable: bool
    problems: tuple[str, ...]

    @property
    def healthy(self) -> bool:
        """Whether the essentials work."""
        return not self.problems

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        document = {"healthy": self.healthy} | asdict(self)
        for name, extra in self.extras.items():
            document["extras"][name]["installed"] = extra.installed
        return document


def examine_machine() -> Health:
    """Look at everything, and try what is essential."""
    devices, failure = _try_jax()
    return Health(
        find_versions(),
        f"{platform.system()} {platform.release()}, {platform.machine()}",
        devices,
        os.cpu_count() or 1,
        _count_usable(),
        find_memory(),
        {name: os.environ[name] for name in VARIABLES if name in os.environ},
        find_extras(),
        find_browser(),
        str(Path.cwd()),
        _is_writable(Path.cwd()),
        (*_find_missing_packages(), *failure),
    )


def find_extras() -> dict[str, Extra]:
    """The extras that this version of nacre has, and what of each is not there."""
    return {
        name: Extra(purpose, find_missing(name), f"pip install 'nacre[{name}]'")
        for name, purpose in EXTRAS.items()
    }


def find_missing(extra: str = "") -> tuple[str, ...]:
    """Packages that an extra, or nacre itself, asks for and that are not there.

    A package that is there in another version than the only one that does is missing too.
    """
    missing = []
    for line in _list_requirements():
        name, wanted, marker = _split(line)
        if _find_marked(marker) != extra:
            continue
        try:
            found = version(name)
        except PackageNotFoundError:
            missing.append(f"{name}{wanted}")
            continue
        if wanted.startswith("==") and found != wanted.removeprefix("=="):
            missing.append(f"{name}{wanted} (there is {found})")
    return tuple(missing)


def find_memory() -> dict[str, int]:
    """Bytes of memory in all and available to new programs; what is not known is left out."""
    found: dict[str, int] = {}
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return found
    for name, key in (("total", "MemTotal"), ("available", "MemAvailable")):
        line = re.search(rf"^{key}:\s+(\d+) kB$", text, flags=re.MULTILINE)
        if line:
            found[name] = int(line[1]) * 1024
    return found


def find_browser() -> str | None:
    """A Chromium: the one that the variable CHROMIUM names, or one on the path."""
    named = os.environ.get("CHROMIUM")
    return shutil.which(named) if named else next(filter(None, map(shutil.which, BROWSERS)), None)


def _try_jax() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The devices of JAX after a computation on them, and why there are none."""
    try:
        import jax
        import jax.numpy as jnp

        total = float(jnp.arange(4.0).sum())
        devices = tuple(str(device) for device in jax.devices())
    except Exception as error:  # Whatever it is, it is to be told.
        text = f"{type(error).__name__}: {error}".splitlines()[0]
        return (), (f"JAX does not work ({text:.200}); pip install --force-reinstall jax jaxlib",)
    if total != 6.0:
        return devices, (f"JAX computes 0 + 1 + 2 + 3 = {total:g}; try JAX_PLATFORMS=cpu",)
    return devices, ()


def _find_missing_packages() -> list[str]:
    missing = find_missing()
    named = " ".join(f"'{one.split(' ')[0]}'" for one in missing)
    return [f"{one} is not installed; pip install {named}" for one in missing]


def _list_requirements() -> list[str]:
    try:
        return requires("nacre") or []
    except PackageNotFoundError:
        return []


def _split(line: str) -> tuple[str, str, str]:
    """Name, version and marker of a requirement."""
    found = REQUIREMENT.fullmatch(line)
    if found is None:
        return line, "", ""
    return found[1], found[2], found[3] or ""


def _find_marked(marker: str) -> str:
    found = re.search(r"extra\s*==\s*['\"]([\w-]+)['\"]", marker)
    return found[1] if found else ""


def _count_usable() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _is_writable(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
