"""Finished tasks of an advice on disk: an interrupted one goes on and ends with the same bits.

They lie in a folder named by a digest of everything that they follow from: log, policies, cost,
start, configuration, seed, versions and the code itself. Whatever differs, they are not used.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nacre.advice.encoding import NotEncodableError, decode, encode
from nacre.advice.setting import Setting
from nacre.costs.description import describe_cost, holds_code
from nacre.errors import InputError
from nacre.files.commit import write_whole
from nacre.files.manifest import digest_json
from nacre.learners.base import Candidate
from nacre.policies.blackbox import BlackBox
from nacre.policies.files import fingerprint
from nacre.versions import find_versions, hash_code

FOLDER = ".nacre-tasks"
CLOCK = "seconds.json"


class KeptTasks:
    """The finished tasks of one advice; keeps nothing where there is no folder.

    Args:
        folder: Where they lie; None to keep nothing.
        began: When the clock was started.
    """

    def __init__(self, folder: Path | None = None, began: float = 0.0) -> None:
        self._folder, self._began = folder, began
        self.seconds_before = self._read_clock()

    @classmethod
    def open(
        cls, root: Path | None, setting: Setting, candidates: Sequence[Candidate], began: float
    ) -> KeptTasks:
        """Those of the same advice; those of others in the same place are removed."""
        identity = None if root is None else identify(setting, candidates)
        if root is None or identity is None:
            return cls(None, began)
        folder = root / identity[:32]
        if root.is_dir():
            for other in root.iterdir():
                if other != folder:
                    shutil.rmtree(other, ignore_errors=True)
        return cls(folder, began)

    def read(self, names: Iterable[str]) -> dict[str, Any]:
        """The results of all tasks that are kept; what is damaged counts as not there."""
        results = {}
        for name in names if self._folder is not None else ():
            with contextlib.suppress(OSError, ValueError):
                results[name] = decode(self._place(name).read_bytes())
        return results

    def add(self, name: str, result: Any) -> None:
        """Keep a result, if it can be kept; an advice never fails for want of room for that."""
        if self._folder is None:
            return
        with contextlib.suppress(NotEncodableError, InputError):
            write_whole(self._place(name), encode(result))
            seconds = self.seconds_before + time.perf_counter() - self._began
            write_whole(self._folder / CLOCK, json.dumps(seconds).encode())

    def _place(self, name: str) -> Path:
        folder = self._folder or Path()
        return folder / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.safetensors"

    def _read_clock(self) -> float:
        """Seconds that were spent before, up to the last task that was kept."""
        if self._folder is not None:
            with contextlib.suppress(OSError, ValueError, TypeError):
                return float(json.loads((self._folder / CLOCK).read_bytes()))
        return 0.0


def count_kept(root: Path) -> int:
    """How many finished tasks lie in a place."""
    return len(list(root.glob("*/*.safetensors")))


def identify(setting: Setting, candidates: Sequence[Candidate]) -> str | None:
    """A digest of all that the results follow from; None where a part of it has none.

    Functions of the user's own have no content that could be compared.
    """
    policies = [setting.old_policy, *setting.acting, *(one.policy for one in candidates)]
    if any(isinstance(policy, BlackBox) for policy in policies) or holds_code(setting.cost):
        return None
    rows = np.ascontiguousarray(setting.start)
    try:
        fingerprints = [fingerprint(policy) for policy in policies]
        document = {
            "log": setting.log.fingerprint(),
            "policies": fingerprints,
            "candidates": [[one.name, one.origin] for one in candidates],
            "cost": describe_cost(setting.cost),
            "start": [str(rows.dtype), rows.shape, hashlib.sha256(rows.tobytes()).hexdigest()],
            "given_start": setting.given_start,
            "config": setting.config.as_json(),
            "uncertainty": setting.uncertainty,
            "seed": setting.seed,
            "earlier": setting.earlier,
            "versions": find_versions(),
            "code": [hash_code(), *_hash_parts(setting)],
        }
        return digest_json(document)
    except (InputError, TypeError, ValueError):
        return None


def _hash_parts(setting: Setting) -> list[str]:
    """SHA-256 of the files of learners, estimators and rule, which other packages may bring."""
    parts = (*setting.config.learners, *setting.config.estimators, setting.config.rule)
    digests = []
    for part in parts:
        module = sys.modules.get(getattr(part, "__module__", None) or type(part).__module__)
        file = getattr(module, "__file__", None)
        digests.append(hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else "")
    return digests
