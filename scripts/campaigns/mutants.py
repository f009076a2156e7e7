"""Mutation testing: small changes of the code that decides, costs and commits must fail a test.

    PYTHONPATH=. python scripts/campaigns/mutants.py --sample 160 --out results/faults

A mutant is a module with one operator, comparison, constant or condition changed. It is killed if
one of the tests beside it fails. A sample is drawn by what a mutant is: its module, its function,
the code and the change. So the same code has the same sample on whichever line it stands, and
records stay true until the code itself changes. With --count nothing is tried: it says how many of
the sample have a record, and what came of them.

Each mutant is tried in a fork of this process, so that it costs the tests alone. The tests are
imported beforehand, and the fork exchanges the code of one function. Where something is changed
that runs at import, such as a constant of the module, or where the import of the tests computes,
the fork imports the changed module instead. With --wide, what survives the tests beside it is tried
with all tests of that folder, then with all that import the module. Mutants that a test has found,
and those that do the same as the code, to rounding, are not tried again; of several tries the last
one counts. The record of those that do the same says why.
"""

from __future__ import annotations

import argparse
import ast
import copy
import functools
import gc
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TARGETS = {
    "nacre.files.commit": ["tests/files/test_commit.py"],
    "nacre.files.locks": ["tests/files/test_commit.py"],
    "nacre.files.manifest": ["tests/files/test_manifest.py", "tests/files/test_commit.py"],
    "nacre.inference.intervals": [
        "tests/inference/test_intervals.py",
        "tests/inference/test_rule.py",
    ],
    "nacre.inference.rule": [
        "tests/inference/test_rule.py",
        "tests/inference/test_guardrails.py",
    ],
    "nacre.inference.break_even": ["tests/inference/test_break_even.py"],
    "nacre.inference.evidence": [
        "tests/inference/test_evidence.py",
        "tests/inference/test_rule.py",
        "tests/inference/test_guardrails.py",
    ],
    "nacre.inference.price": ["tests/inference/test_price.py"],
    "nacre.inference.multiplicity": ["tests/inference/test_multiplicity.py"],
    "nacre.inference.false_discovery": ["tests/inference/test_false_discovery.py"],
    "nacre.inference.guardrails": ["tests/inference/test_guardrails.py"],
    "nacre.inference.paper_rule": [
        "tests/inference/test_paper_rule.py",
        "tests/inference/test_rule.py",
    ],
    "nacre.inference.risk": ["tests/inference/test_risk.py"],
    "nacre.inference.sensitivity": ["tests/inference/test_sensitivity.py"],
    "nacre.training.backup": ["tests/training/test_backup.py"],
    "nacre.costs.statewise": ["tests/costs/test_statewise.py"],
    "nacre.costs.links": ["tests/costs/test_links.py", "tests/costs/test_family.py"],
    "nacre.costs.family": ["tests/costs/test_family.py"],
    "nacre.costs.groups": ["tests/costs/test_groups.py"],
    "nacre.costs.matching": ["tests/costs/test_matching.py"],
    "nacre.costs.whole": ["tests/costs/test_whole.py"],
    "nacre.costs.moments": ["tests/costs/test_moments.py"],
    "nacre.costs.weights": ["tests/costs/test_weights.py"],
}
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
EQUIVALENT = {
    ("nacre.inference.rule", "1.0 - error if error > 0", "Gt → GtE"): (
        "find_error gives no zero: it solves between LEAST_ERROR and LARGEST_ERROR, both positive"
    ),
    ("nacre.inference.intervals", "strict=True", "True → False"): (
        "both lists are made from the same estimates, so that none is longer"
    ),
    ("nacre.inference.sensitivity", "total = np.concatenate", "0.0 → 1.0"): (
        "k = 0 is never better than k = 1, which raises the weight of the smallest outcome alone"
    ),
    ("nacre.files.manifest", "file.read(largest + 1)", "1 → 2"): (
        "one byte more than is allowed is enough to refuse a file, and two are the same"
    ),
    ("nacre.inference.risk", "abs(skewness) < LEAST", "Lt → LtE"): (
        "at a skewness of LEAST both ways give the same quantile, to rounding"
    ),
    ("nacre.inference.sensitivity", "turned - safe > TOLERANCE", "Gt → GtE"): (
        "halves of the first interval are never TOLERANCE to the last digit"
    ),
    ("nacre.inference.sensitivity", "np.arange(int(steps.max()) + 2)", "2 → 3"): (
        "one more step without rows adds nothing"
    ),
    ("nacre.inference.false_discovery", "np.clip(1.0 - np.asarray", "1.0 → 2.0"): (
        "of the upper end: rates above one are cut to one after it, and the order stays"
    ),
    ("nacre.costs.groups", "zip(self.lower, self.upper, strict=True)", "True → False"): (
        "boxes with more bounds on one side than on the other are refused when they are made"
    ),
    ("nacre.costs.moments", "(density_alpha - density_beta) / mass, 0.0)", "0.0 → 1.0"): (
        "an interval without mass is far from the mean, or narrower than rounding: its point next "
        "to the mean is the same one standard deviation further"
    ),
    ("nacre.costs.matching", "n = ground.shape[-1]", "1 → 2"): "grounds are square",
    ("nacre.costs.matching", "through < search.distance", "Lt → LtE"): (
        "of two ways that cost the same either may be taken"
    ),
    ("nacre.costs.whole", "if changed else 0.0", "0.0 → 1.0"): (
        "where nothing changed the costs of all states are zero, whatever they are multiplied by"
    ),
    ("nacre.costs.moments", "mass = jnp.where(possible, mass, 1.0)", "1.0 → 2.0"): (
        "only boxes that are not possible are divided by it, and their quotients are not used"
    ),
    ("nacre.costs.statewise", "learning > SMALLEST_MOVE, learning, 1.0", "1.0 → 2.0"): (
        "surplus and deficit are below SMALLEST_MOVE there: their product is below rounding"
    ),
    ("nacre.costs.family", "CHUNK = 4096", "4096 → 4097"): (
        "so many states go through the networks at once; the results are the same to rounding"
    ),
}
"""Why no test can tell a mutant from the code, by module, a part of the code, and the change."""
NAMES = ("module", "function", "code", "change", "place")
DRAW = 100
"""The seed of the sample."""
UNCHANGED = 99
LONGEST = 120
"""Processor seconds of one mutant; one that takes more is killed by that."""


@dataclass(frozen=True)
class Change:
    """What a mutant is, wherever its line stands.

    Attributes:
        module: Its name.
        function: In which the change is, with its class; nothing at the top of the module.
        code: The statement that is changed; of a loop, a condition or the like only its head.
        change: What becomes of which kind of node.
        place: Which of the same changes in the same code it is, counted from 0.
        number: Which of the module's changes it is; no part of what it is.
    """

    module: str
    function: str
    code: str
    change: str
    place: int
    number: int

    @property
    def identity(self) -> tuple[str, str, str, str, int]:
        """What tells it from all others."""
        return self.module, self.function, self.code, self.change, self.place

    @property
    def lot(self) -> str:
        """By which the order is drawn."""
        return hashlib.sha256(json.dumps([DRAW, *self.identity]).encode()).hexdigest()


@dataclass(frozen=True)
class Mutant:
    """A change, the tree of the module with it, and the function in which that is, if any."""

    what: Change
    tree: ast.Module
    function: ast.FunctionDef | None

    @property
    def module(self) -> str:
        """Its name."""
        return self.what.module


def list_changes(module: str, tree: ast.Module) -> Iterator[Change]:
    """Every change that could be made."""
    seen: Counter[tuple[str, str, str]] = Counter()
    homes = dict(_list_homes(tree))
    for number, (node, field) in enumerate(_list_places(tree)):
        function, code = homes[id(node)]
        change = f"{type(node).__name__} {_describe(node, field)}"
        found = (function, code, change)
        yield Change(module, *found, seen[found], number)
        seen[found] += 1


def _list_homes(
    node: ast.AST, function: str = "", code: str = ""
) -> Iterator[tuple[int, tuple[str, str]]]:
    """For every node below: the function that it is in, and the statement or its head."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            # What stands before the body, such as defaults, is found by the name.
            name = f"{function}.{inner.name}".removeprefix(".")
            yield from _list_homes(inner, name, f"def {inner.name}")
            continue
        is_line = isinstance(inner, ast.stmt) and not hasattr(inner, "body")
        is_head = (
            isinstance(inner, ast.expr) and isinstance(node, ast.stmt) and hasattr(node, "body")
        )
        here = ast.unparse(inner) if is_line or is_head else code
        yield id(inner), (function, here)
        yield from _list_homes(inner, function, here)


def _list_places(tree: ast.Module) -> Iterator[tuple[Any, str]]:
    skipped = {id(inner) for node in ast.walk(tree) for inner in _list_quiet(node)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
            yield node, "ops"
        elif isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in SWAPS:
            yield node, "op"
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield node, "not"
        elif isinstance(node, ast.Constant) and type(node.value) in (bool, int, float):
            yield node, "value"


def _list_quiet(node: ast.AST) -> Iterator[ast.AST]:
    """What says nothing at run time, or only what people read: annotations, texts of errors."""
    parts: list[ast.AST | None] = []
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        parts = [node.returns, *node.decorator_list]
    elif isinstance(node, ast.ClassDef):
        # Whether a class of data is frozen is for those who write code.
        parts = [*node.decorator_list]
    elif isinstance(node, (ast.arg, ast.AnnAssign)):
        parts = [node.annotation]
    elif isinstance(node, (ast.Raise, ast.JoinedStr)):
        parts = [node]
    for part in parts:
        if part is not None:
            yield from ast.walk(part)


def _describe(node: Any, field: str) -> str:
    if field == "ops":
        return f"{type(node.ops[0]).__name__} → {SWAPS[type(node.ops[0])].__name__}"
    if field == "op":
        return f"{type(node.op).__name__} → {SWAPS[type(node.op)].__name__}"
    return "removed" if field == "not" else f"{node.value} → {_change_value(node.value)}"


def _change_value(value: bool | float) -> bool | float:
    return not value if isinstance(value, bool) else value + 1


def make_mutant(tree: ast.Module, number: int) -> ast.Module:
    """A copy with one change."""
    changed = copy.deepcopy(tree)
    node, field = list(_list_places(changed))[number]
    if field == "ops":
        node.ops[0] = SWAPS[type(node.ops[0])]()
    elif field == "op":
        node.op = SWAPS[type(node.op)]()
    elif field == "value":
        node.value = _change_value(node.value)
    else:
        # Twice not, without a look at what it is.
        node.operand = ast.UnaryOp(ast.Not(), node.operand)
    return ast.fix_missing_locations(changed)


class Replaced(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives a mutant in place of a module."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        self.name, self.path, self.tree = name, path, tree

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Only of that module."""
        if fullname != self.name:
            return None
        return importlib.util.spec_from_file_location(fullname, self.path, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        """Run the mutant."""
        exec(compile(self.tree, str(self.path), "exec"), module.__dict__)  # noqa: S102


def list_tests(name: str, *, wide: bool) -> list[tuple[str, ...]]:
    """Files of tests beside a module; then the others of that folder; then all that import it."""
    if not wide:
        return [tuple(TARGETS[name])]
    package, _, last = name.rpartition(".")
    ours = re.compile(
        rf"(from|import) {re.escape(name)}\b|from {re.escape(package)} import .*\b{last}\b"
    )
    room = ROOT / "tests" / package.removeprefix("nacre.").replace(".", "/")
    importing = [
        path
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if path.parent != room and ours.search(path.read_text(encoding="utf-8"))
    ]
    tests = [tuple(TARGETS[name])]
    for paths in (sorted(room.glob("test_*.py")), importing):
        names = [path.relative_to(ROOT).as_posix() for path in paths]
        tests.append(tuple(file for file in names if file not in tests[0]))
    return [files for files in tests if files]


def try_mutant(
    tests: Sequence[str], prepare: Callable[[], None], longest: int = LONGEST
) -> tuple[str, float]:
    """Whether a test fails after a change in a fork, and the processor seconds that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child = os.fork()
    if child == 0:
        _run_tests(tests, prepare, longest)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if code == -signal.SIGALRM:
        raise SystemExit(
            f"{' '.join(tests)}: not done in {20 * longest} s: the machine is too busy"
        )
    if code == UNCHANGED:
        raise SystemExit("the function of a mutant was not found")
    return ("survived" if code == 0 else "killed"), round(seconds, 1)


def _run_tests(tests: Sequence[str], prepare: Callable[[], None], longest: int) -> None:
    """In the fork: all these tests, until one fails."""
    code = 1
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (longest, longest + 1))
        signal.alarm(20 * longest)
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (1, 2):
            os.dup2(null, stream)
        # Processes that tests start import the module as it is: they are not changed.
        prepare()
        code = _call_pytest("-x", *tests)
    except LookupError:
        code = UNCHANGED
    finally:
        os._exit(code)


def _call_pytest(*words: str) -> int:
    import pytest

    quiet = ["-W", "ignore::pytest.PytestAssertRewriteWarning", "-p", "no:cacheprovider"]
    return int(pytest.main([*quiet, f"--rootdir={ROOT}", *words]))


def import_tests(module: str) -> bool:
    """Import the tests of a module, and whether nothing was computed by that: then forks are safe.

    What computes has started threads.
    """
    if _call_pytest("--collect-only", "-qq", *TARGETS[module]):
        raise SystemExit(f"{module}: its tests cannot be collected")
    from jax._src import xla_bridge

    return not xla_bridge.backends_are_initialized() and threading.active_count() == 1


def find_function(tree: ast.Module, number: int) -> ast.FunctionDef | None:
    """The function or method in whose body a change is; None for what runs at import."""
    changed = list(_list_places(tree))[number][0]
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    outers: list[ast.Module | ast.ClassDef] = [tree, *classes]
    for outer in outers:
        for node in outer.body:
            if isinstance(node, ast.FunctionDef) and any(
                changed is part for line in node.body for part in ast.walk(line)
            ):
                return node
    return None


def exchange(path: Path, mutant: ast.Module, function: ast.FunctionDef) -> None:
    """Give a function of a module that is imported the code of the mutant.

    Raises:
        LookupError: If there is no such function.
    """
    codes = list(_list_codes(compile(mutant, str(path), "exec")))
    found = False
    for living in gc.get_objects():
        if not isinstance(living, FunctionType):
            continue
        code = living.__code__
        if code.co_filename != str(path) or code.co_name != function.name:
            continue
        for changed in codes:
            if (changed.co_qualname, changed.co_firstlineno) == (
                code.co_qualname,
                code.co_firstlineno,
            ):
                living.__code__, found = changed, True
    if not found:
        raise LookupError(function.name)


def _list_codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _list_codes(constant)


def import_others() -> None:
    """Packages that the tests need; none of ours, so that a mutant is the first."""
    import equinox  # noqa: F401
    import gymnasium  # noqa: F401
    import jax  # noqa: F401
    import optax  # noqa: F401
    import ot  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import pydantic  # noqa: F401
    import pytest  # noqa: F401
    import scipy.optimize
    import scipy.stats  # noqa: F401


def draw_sample(size: int) -> list[Change]:
    """Mutants in the order in which they are tried: a prefix is a sample too."""
    changes = [
        change
        for name in TARGETS
        for change in list_changes(name, ast.parse(_find_path(name).read_text(encoding="utf-8")))
    ]
    return sorted(changes, key=lambda change: change.lot)[:size]


def identify(record: dict[str, Any]) -> tuple[Any, ...]:
    """What a record is of; nothing known of those that only had a line's number."""
    return tuple(record.get(name) for name in ("module", "function", "code", "change", "place"))


def count_records(sample: Sequence[Change], records: Sequence[dict[str, Any]]) -> str:
    """How many of a sample have a record, and what came of them the last time."""
    last = {identify(record): record for record in records}
    found = [last[change.identity] for change in sample if change.identity in last]
    killed = sum(record["outcome"] == "killed" for record in found)
    same = sum("equivalent" in record for record in found)
    told = f"{killed} killed, {same} the same to rounding, {len(found) - killed - same} survived"
    return f"{len(sample)} drawn, {len(found)} with a record: {told}"


def find_commit() -> str:
    """The commit of code and tests. Ours are not imported here, as a mutant has to be the first."""
    words = ["git", "rev-parse", "HEAD"]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout[:-1]  # noqa: S603


def _find_path(name: str) -> Path:
    return ROOT / "src" / f"{name.replace('.', '/')}.py"


def main() -> None:
    """Try the mutants of the sample that have no record yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/faults"))
    parser.add_argument("--sample", type=int, default=160)
    parser.add_argument("--only", nargs="*", default=list(TARGETS))
    parser.add_argument("--count", action="store_true", help="Only say what there is.")
    parser.add_argument("--wide", action="store_true", help="Survivors with more tests, too.")
    options = parser.parse_args()
    commit = find_commit()
    import_others()
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "mutants.jsonl"
    lines = file.read_text().splitlines() if file.exists() else []
    tried = [json.loads(line) for line in lines]
    sample = draw_sample(options.sample)
    print(count_records(sample, tried), flush=True)
    if options.count:
        return
    done = {identify(one) for one in tried if one["outcome"] == "killed" or "equivalent" in one}
    left = [one for one in sample if one.identity not in done and one.module in options.only]
    inside: list[Mutant] = []
    outside: list[Mutant] = []
    for what in left:
        tree = ast.parse(_find_path(what.module).read_text(encoding="utf-8"))
        function = find_function(tree, what.number)
        mutant = Mutant(what, make_mutant(tree, what.number), function)
        (outside if function is None else inside).append(mutant)
    for name in TARGETS:
        swapped = [mutant for mutant in inside if mutant.module == name]
        work = functools.partial(try_swapped, swapped, file, commit, wide=options.wide)
        if swapped and not _in_fork(work):
            outside = [*swapped, *outside]
    try_all(outside, file, commit, wide=options.wide)


def _in_fork(work: Callable[[], bool]) -> bool:
    """What something says that is done in a fork; this process itself imports nothing of ours."""
    child = os.fork()
    if child == 0:
        code = 2
        try:
            code = 0 if work() else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def try_swapped(mutants: list[Mutant], file: Path, commit: str, *, wide: bool) -> bool:
    """Mutants of one module, after its tests were imported; False where that is not possible."""
    if not import_tests(mutants[0].module):
        return False
    try_all(mutants, file, commit, wide=wide)
    return True


def try_all(mutants: list[Mutant], file: Path, commit: str, *, wide: bool) -> None:
    """One mutant after the other; each has its line as soon as it is tried."""
    seconds_of = functools.cache(_time_tests)
    for mutant in mutants:
        began = time.time()
        prepare = functools.partial(change, mutant, swapped="nacre" in sys.modules)
        outcome, seconds, n_files = "survived", 0.0, 0
        for tests in list_tests(mutant.module, wide=wide):
            if outcome == "survived":
                outcome, took = try_mutant(tests, prepare, LONGEST + round(3 * seconds_of(tests)))
                seconds, n_files = seconds + took, n_files + len(tests)
        record = {
            **{name: getattr(mutant.what, name) for name in NAMES},
            "outcome": outcome,
            "processor_seconds": round(seconds, 1),
            "test_files": n_files,
            "commit": commit,
        }
        if outcome == "survived" and (reason := find_reason(mutant)):
            record["equivalent"] = reason
        with file.open("a") as stream:
            stream.write(json.dumps(record) + "\n")
        lasted = f"{time.time() - began:.0f} s"
        print(*mutant.what.identity, outcome, round(seconds, 1), lasted, flush=True)


def _time_tests(tests: tuple[str, ...]) -> float:
    """Processor seconds of tests without any change, which have to pass."""
    outcome, seconds = try_mutant(tests, lambda: None, 20 * LONGEST)
    if outcome == "killed":
        raise SystemExit(f"tests fail without any change: {' '.join(tests)}")
    return seconds


def find_reason(mutant: Mutant) -> str:
    """Why no test can find a mutant; nothing where one could."""
    what = mutant.what
    for (module, part, changed), reason in EQUIVALENT.items():
        if module == what.module and part in what.code and what.change.endswith(changed):
            return reason
    return ""


def change(mutant: Mutant, *, swapped: bool) -> None:
    """In the fork: put a mutant in the place of a function, or of a module to be imported."""
    path = _find_path(mutant.module)
    if swapped and mutant.function is not None:
        exchange(path, mutant.tree, mutant.function)
    else:
        sys.meta_path.insert(0, Replaced(mutant.module, path, mutant.tree))


if __name__ == "__main__":
    main()
