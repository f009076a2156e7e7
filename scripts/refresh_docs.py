"""Run the pages and write what they print into them: `python scripts/refresh_docs.py [PAGE ...]`.

No figure in the documentation is typed by hand. A page is run from top to bottom in an empty
directory:

- `python` blocks share one namespace; what one prints stands in a `text` block right below it;
- lines `$ nacre ...` of `console` blocks run on the command line; output stands below them, or is
  left out altogether;
- a `toml` block that begins with the comment `# name.toml` is written to that file first.

`...` stands for any text. `tests/test_docs.py` runs the same pages and compares.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import itertools
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from typer.testing import CliRunner

import nacre
from nacre.cli.app import app

ROOT = Path(__file__).resolve().parent.parent

_FENCE = re.compile(r"```(\w*)\s*$")
_FILE_NAME = re.compile(r"# (\w+\.toml)$")
_TERMINAL = {"COLUMNS": "80", "NO_COLOR": "1"}


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its lines, and the line of the page that opens it, from 0."""

    language: str
    lines: tuple[str, ...]
    start: int

    @property
    def stop(self) -> int:
        """The line after the closing fence."""
        return self.start + len(self.lines) + 2

    @property
    def text(self) -> str:
        """The content."""
        return "\n".join(self.lines) + "\n"


@dataclass(frozen=True)
class Output:
    """What a piece of a page printed, what the page shows, and which of its lines show it.

    `shown` is None where the page shows nothing; `start` is then where it would go.
    """

    printed: str
    shown: str | None
    start: int
    stop: int
    language: str

    @property
    def agrees(self) -> bool:
        """Whether the page shows what was printed, or leaves it out."""
        if self.shown is None:
            return True
        check = doctest.OutputChecker().check_output
        return check(f"{self.shown}\n", f"{self.printed}\n", doctest.ELLIPSIS)

    @property
    def is_stale(self) -> bool:
        """Whether the page has to be written anew: also where a Python block shows nothing."""
        missing = self.shown is None and self.language == "python" and bool(self.printed)
        return missing or not self.agrees


def find_pages() -> list[Path]:
    """The README and every page under docs/."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def find_blocks(text: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    blocks: list[Block] = []
    opened: tuple[str, int] | None = None
    lines = text.splitlines()
    for number, line in enumerate(lines):
        fence = _FENCE.match(line)
        if opened is None and fence:
            opened = fence[1], number
        elif opened is not None and line.rstrip() == "```":
            language, start = opened
            blocks.append(Block(language, tuple(lines[start + 1 : number]), start))
            opened = None
    return blocks


def run_page(page: Path) -> list[Output]:
    """Run a page in a directory of its own and return what its pieces printed."""
    blocks = find_blocks(page.read_text(encoding="utf-8"))
    outputs: list[Output] = []
    with (
        tempfile.TemporaryDirectory() as directory,
        contextlib.chdir(directory),
        _module_of(page) as module,
    ):
        for block, following in itertools.zip_longest(blocks, blocks[1:]):
            if block.language == "toml":
                _write_file(block)
            elif block.language == "python":
                printed = _run_python(block, page, module.__dict__)
                outputs.append(_compare(block, following, printed))
            elif block.language == "console":
                outputs.extend(_run_commands(block, page))
    return outputs


def refresh_page(page: Path) -> bool:
    """Write what a page prints into it where it shows something else; return whether it did."""
    lines = page.read_text(encoding="utf-8").splitlines()
    stale = [output for output in run_page(page) if output.is_stale]
    for output in reversed(stale):
        content = output.printed.splitlines()
        if output.language == "python":
            content = ["```text", *content, "```"] if content else []
            content = content if output.shown is not None else ["", *content]
        lines[output.start : output.stop] = content
    if stale:
        page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return bool(stale)


@contextlib.contextmanager
def _module_of(page: Path) -> Iterator[ModuleType]:
    """A module for the names of a page: dataclasses look their home up among the modules."""
    module = ModuleType(f"page_{page.stem}")
    sys.modules[module.__name__] = module
    try:
        yield module
    finally:
        del sys.modules[module.__name__]


def _write_file(block: Block) -> None:
    name = _FILE_NAME.match(block.lines[0]) if block.lines else None
    if name:
        Path(name[1]).write_text(block.text, encoding="utf-8")


def _run_python(block: Block, page: Path, namespace: dict[str, Any]) -> str:
    # Empty lines before it give tracebacks the line numbers of the page.
    source = "\n" * (block.start + 1) + block.text
    code = compile(source, str(page), "exec", dont_inherit=True)
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        exec(code, namespace)  # noqa: S102 - our own pages
    return _clean(stream.getvalue())


def _compare(block: Block, following: Block | None, printed: str) -> Output:
    """What a Python block printed, against the text block that comes right after it."""
    if following is None or following.language != "text" or following.start - block.stop > 1:
        return Output(printed, None, block.stop, block.stop, "python")
    shown = _clean(following.text)
    return Output(printed, shown, following.start, following.stop, "python")


def _run_commands(block: Block, page: Path) -> Iterator[Output]:
    for command, start, stop in _find_commands(block):
        words = shlex.split(command)
        if words[0] != "nacre":
            continue
        result = CliRunner().invoke(app, words[1:], env=_TERMINAL)
        if result.exit_code != 0:
            raise RuntimeError(
                f"{page.name}: '{command}' exits with {result.exit_code}: "
                f"{result.exception or result.output}"
            )
        first = block.start + 1
        shown = _clean("\n".join(block.lines[start:stop])) if stop > start else None
        yield Output(_clean(result.output), shown, first + start, first + stop, "console")


def _find_commands(block: Block) -> Iterator[tuple[str, int, int]]:
    """Each command after a `$`, continued lines joined, and the lines of the block below it."""
    starts = [number for number, line in enumerate(block.lines) if line.startswith("$ ")]
    for number, stop in zip(starts, [*starts[1:], len(block.lines)], strict=True):
        command = block.lines[number].removeprefix("$ ")
        start = number + 1
        while command.endswith("\\"):
            command = command.removesuffix("\\") + block.lines[start].strip()
            start += 1
        yield command, start, stop


def _clean(text: str) -> str:
    """Output without trailing blanks and without the place where nacre is installed."""
    package = str(Path(nacre.__file__).parent)
    lines = [line.rstrip() for line in text.replace(package, ".../nacre").splitlines()]
    return "\n".join(lines).strip("\n")


def main(names: list[str]) -> None:
    for page in [Path(name).resolve() for name in names] or find_pages():
        if refresh_page(page):
            sys.stdout.write(f"{page.name}: refreshed\n")


if __name__ == "__main__":
    main(sys.argv[1:])
