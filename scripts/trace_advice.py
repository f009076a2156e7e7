"""How far one advice runs through the house: `python scripts/trace_advice.py [EXAMPLE] [--full]`.

`nacre advise` runs on a bundled example under `sys.setprofile`, in all threads. Printed are

- the modules of nacre in which a function is entered,
- the pairs of modules of which one calls the other, and
- the crossings: how often control passes from one module of nacre to another, at a call and at its
  return. Code of other packages in between is looked through, so that a function that JAX or a
  thread pool calls counts as called by whoever handed it over, where that is on the same stack.

Importing a module is not entering it. Compiled code crosses nothing; its Python runs once, when it
is compiled. Learners and estimators run for a few updates, with `--full` for as many as always; the
modules are the same, the crossings differ by what is reported of each epoch.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import json
import sys
import threading
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import nacre
from nacre import examples
from nacre.advice import config as advice_config
from nacre.advice.config import AdviceConfig
from nacre.cli import app
from nacre.logs import Log

ROOT = str(Path(nacre.__file__).parent)
FEW = {"epochs": 1, "steps_per_epoch": 4, "prefit_steps": 4, "n_actions": 64, "n_members": 2}
"""Of every part that has such settings."""
TOP = 8


class Trace:
    """Counts modules and crossings; one for all threads."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.calls: Counter[tuple[str, str]] = Counter()

    @property
    def crossings(self) -> int:
        """Each call into another module, and its return."""
        return 2 * self.calls.total()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """What `sys.setprofile` calls."""
        target = frame.f_code.co_filename
        if event != "call" or not target.startswith(ROOT) or frame.f_code.co_name == "<module>":
            return
        self.modules.add(target)
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(ROOT):
            caller = caller.f_back
        if caller is not None and caller.f_code.co_filename != target:
            self.calls[caller.f_code.co_filename, target] += 1


def shrink(part: Any) -> Any:
    """The same part, and all parts within it, with a few updates only."""
    if not dataclasses.is_dataclass(part) or isinstance(part, type):
        return part
    names = [one.name for one in dataclasses.fields(part) if one.init]
    values = {name: FEW.get(name, shrink(getattr(part, name))) for name in names}
    return dataclasses.replace(part, **values)


def suggest_few(log: Log, discount: float = 0.99) -> AdviceConfig:
    """What is suggested for the log, with a few updates."""
    config = SUGGEST(log, discount)
    return dataclasses.replace(
        config,
        learners=tuple(map(shrink, config.learners)),
        estimators=tuple(map(shrink, config.estimators)),
    )


SUGGEST = advice_config.suggest_config


def trace_advice(name: str, *, full: bool = False) -> Trace:
    """Run the command on an example and count."""
    trace = Trace()
    arguments = ["advise", *examples.find_sources(name).arguments(), "--json", "--quiet"]
    advice_config.suggest_config = SUGGEST if full else suggest_few
    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.suppress(SystemExit):
            app.run(arguments)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        advice_config.suggest_config = SUGGEST
    # Nothing may be counted of an advice that failed half-way.
    json.loads(printed.getvalue())["verdict"]
    return trace


def name_module(path: str) -> str:
    """`nacre.costs.plans` of its file."""
    parts = Path(path).relative_to(ROOT).with_suffix("").parts
    return ".".join(["nacre", *(part for part in parts if part != "__init__")])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("example", nargs="?", default="cart", choices=examples.NAMES)
    parser.add_argument("--full", action="store_true", help="as many updates as always")
    given = parser.parse_args()
    trace = trace_advice(given.example, full=given.full)
    print(f"modules    {len(trace.modules)}")
    print(f"pairs      {len(trace.calls)}")
    print(f"crossings  {trace.crossings}")
    for (caller, target), count in trace.calls.most_common(TOP):
        print(f"  {2 * count:5d}  {name_module(caller)} -> {name_module(target)}")


if __name__ == "__main__":
    main()
