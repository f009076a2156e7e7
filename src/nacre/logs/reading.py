"""From an opened file to the content of a log: here, or in a process of its own.

Formats that are read by native libraries have `native = True`. Their files are opened by another
process, which leaves the arrays in a folder: what it says about them is checked like a cache.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymnasium.spaces import Space

from nacre.errors import InputError
from nacre.files.isolation import is_isolating, run_isolated
from nacre.logs.checks.assembly import Content, assemble
from nacre.logs.checks.problems import Problem, Problems
from nacre.logs.formats.base import LogFormat
from nacre.logs.formats.compression import ALWAYS_ALLOWED_BYTES, LARGEST_RATIO
from nacre.logs.schema.mapping import ColumnMap
from nacre.logs.schema.sources import draft_log
from nacre.logs.storage.arena import Arena, open_memory, take_arrays
from nacre.logs.storage.arrays import (
    build_content,
    describe_content,
    list_arrays,
    open_content,
    write_content,
)
from nacre.logs.storage.stores import MEMORY, MappedStore, Store

MODULES = {
    ".parquet": ("pyarrow.parquet", "nacre.logs.formats.tables"),
    ".arrow": ("pyarrow", "nacre.logs.formats.tables"),
    ".hdf5": ("h5py",),
}
"""What the other process imports once for all files of a format, by its first suffix."""


@dataclass(frozen=True)
class Reading:
    """A file and how it is to be read.

    Attributes:
        file: The file, or the folder of a dataset.
        form: Its format.
        columns: Which column holds what.
        spaces: Given by the caller.
    """

    file: Path
    form: LogFormat
    columns: ColumnMap
    spaces: dict[str, Space[Any]]

    @property
    def is_isolated(self) -> bool:
        """Whether another process opens it."""
        return bool(getattr(self.form, "native", False)) and is_isolating()

    @property
    def size(self) -> int:
        """Bytes of the file, or of the files of the dataset."""
        files = [self.file] if self.file.is_file() else self.file.rglob("*")
        return sum(file.stat().st_size for file in files if file.is_file())

    @property
    def most_bytes(self) -> int:
        """Bytes that its arrays may take in memory; what grows to more was made to fill it."""
        return ALWAYS_ALLOWED_BYTES + LARGEST_RATIO * self.size

    def run(self, function: str, **arguments: Any) -> Any:
        """What a function of this module returns for this, in another process."""
        suffix = next(iter(self.form.suffixes), ".hdf5")
        modules = MODULES.get(suffix, ())
        name = f"{__name__}:{function}"
        return run_isolated(name, self.size, modules=modules, reading=self, **arguments)


def estimate_bytes(reading: Reading) -> int:
    """About how many bytes the arrays would take; 0 if that cannot be said."""
    try:
        if reading.is_isolated:
            return int(reading.run("estimate_here"))
        return estimate_here(reading)
    except (InputError, OSError):
        # Whatever is wrong with the file will be found and named when it is opened.
        return 0


def estimate_here(reading: Reading) -> int:
    """The same, in this process."""
    try:
        return int(reading.form.estimate_bytes(reading.file))
    except Exception:
        return 0


def make_content(reading: Reading, store: Store, problems: Problems) -> Content | None:
    """The content of a log, its large arrays in the given store; None after reporting why not."""
    if not reading.is_isolated:
        return make_here(reading, store, problems)
    if isinstance(store, MappedStore):
        folder = store.directory
        answer = _ask(reading, problems, "write_arrays", folder=folder)
        return _take(answer, lambda told: open_content(folder, told), problems)
    with open_memory() as (handle, name):
        answer = _ask(reading, problems, "fill_memory", memory=name)
        return _take(
            answer, lambda told: build_content(take_arrays(handle, told["arrays"]), told), problems
        )


def make_here(reading: Reading, store: Store, problems: Problems) -> Content | None:
    """The same, in this process."""
    # Whoever gives spaces or columns asks for another log than the file's own.
    is_own = not reading.spaces and reading.columns == ColumnMap()
    form = reading.form
    read = getattr(form, "open_compared", form.open) if is_own else form.open
    source = read(reading.file, problems, reading.columns, store)
    if source is None:
        return None
    with closing(source):
        draft = draft_log(source, reading.spaces, problems, reading.columns)
        metadata = source.metadata
    content = None if draft is None else assemble(draft, problems)
    if content is None or problems:
        return None
    if is_own and not metadata.fits(content):
        problems.add("is damaged: its digest does not fit", "restore it, or write it anew")
        return None
    return content


def write_arrays(reading: Reading, folder: Path, file: str) -> dict[str, Any]:
    """In the other process: make the content and leave it in a folder."""
    problems = Problems(file=file)
    content = make_here(reading, MappedStore(folder), problems)
    return _report(problems) if content is None else write_content(folder, content)


def fill_memory(reading: Reading, memory: str, file: str) -> dict[str, Any]:
    """In the other process: make the content and leave it in memory."""
    problems = Problems(file=file)
    claimed = estimate_here(reading)
    if claimed > reading.most_bytes:
        problems.add(
            f"claims {claimed} bytes of numbers in {reading.size}",
            "write it anew, or only the rows there are",
        )
        return _report(problems)
    arena = Arena(memory, reading.most_bytes)
    MEMORY.share(arena)
    content = make_here(reading, MEMORY, problems)
    if content is None:
        return _report(problems)
    places = {name: arena.place(values) for name, values in list_arrays(content).items()}
    arena.drop_all_but(places)
    return {"arrays": places, **describe_content(content)}


def _report(problems: Problems) -> dict[str, Any]:
    return {"problems": [dataclasses.asdict(problem) for problem in problems.found]}


def _ask(
    reading: Reading, problems: Problems, function: str, **arguments: Any
) -> dict[str, Any] | None:
    """What the other process says of the arrays; None after reporting what it says is wrong."""
    try:
        answer = reading.run(function, file=problems.file, **arguments)
    except InputError as error:
        message, _, remedy = error.problems[0].rpartition("; ")
        problems.add(message, remedy)
        return None
    if "problems" in answer:
        problems.found += [Problem(**problem) for problem in answer["problems"]]
        return None
    return dict(answer)


def _take(
    answer: dict[str, Any] | None,
    take: Callable[[dict[str, Any]], Content | None],
    problems: Problems,
) -> Content | None:
    """The content, if there is an answer and what the other process left is one."""
    if answer is None:
        return None
    try:
        content = take(answer)
    except (ValueError, TypeError, OSError, KeyError):
        content = None
    if content is None:
        problems.add("could not be read", "write it anew or give another")
    return content
