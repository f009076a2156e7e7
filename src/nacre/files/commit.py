"""Files that appear whole or not at all: one by one rename, several by one commit.

Several files are written into a staging folder within their target and flushed to disk. Then one
rename of that folder is the commit. What follows only moves files to their places; whoever finds a
commit that was not finished finishes it. So a kill at any moment leaves the old files or the new
ones, and never some of each.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import IO

from nacre.errors import InputError
from nacre.files.locks import lock_folder, try_lock
from nacre.files.manifest import FILE_NAME, build_manifest, list_names

PART = ".part"
STAGING = ".nacre-staging-"
COMMITTED = ".nacre-commit"


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under another name first, so that it is there whole or not at all.

    Raises:
        InputError: If it cannot be written; a file that was there before is as it was.
    """
    try:
        make_folder(path.parent)
        with open_whole(path) as file:
            file.write(content)
    except OSError as error:
        raise refuse(path, error) from None


@contextlib.contextmanager
def open_whole(path: Path) -> Iterator[IO[bytes]]:
    """A stream whose file takes its place when the block ends without an exception.

    What killed processes left behind of the same file is removed first. Errors of the system pass.
    """
    for leftover in path.parent.glob(f".{_escape(path.name)}.*{PART}"):
        _remove_abandoned(leftover)
    part, file = _open_part(path)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if os.name == "posix":
                # Still locked: nobody takes it for abandoned.
                part.replace(path)
        if os.name != "posix":
            part.replace(path)
        sync_folder(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def append_whole(path: Path, lines: bytes) -> None:
    """Add lines at the end of a file; what a killed process left of a line goes.

    Raises:
        InputError: If they cannot be written; the file is as it was.
    """
    try:
        make_folder(path.parent)
        is_new = not path.exists()
        with path.open("ab+") as file:
            end = _find_last_line(file)
            try:
                file.truncate(end)
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
            except BaseException:
                with contextlib.suppress(OSError):
                    file.truncate(end)
                raise
        if is_new:
            sync_folder(path.parent)
    except OSError as error:
        raise refuse(path, error) from None


def commit_files(
    folder: Path, files: Mapping[str, bytes], *, kind: str = "", absent: tuple[str, ...] = ()
) -> None:
    """Put several files into a folder, all of them or none.

    Args:
        folder: Made if it is not there. Other files in it stay.
        files: Contents by name, with `/` for folders inside.
        kind: If given, a manifest with the digests of the files is written with them. Files that
            the manifest before it has and this one does not are removed.
        absent: Names that belong to the same thing but have no file; they are removed too.

    Raises:
        InputError: If they cannot be written; what was there before is as it was.
    """
    contents = dict(files)
    if kind:
        contents[FILE_NAME] = build_manifest(kind, files, absent)
    made = not folder.exists()
    try:
        make_folder(folder)
        with lock_folder(folder):
            recover(folder)
            _check_places(folder, contents)
            _stage(folder, contents)
            _apply(folder)
    except OSError as error:
        if made:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise refuse(folder, error) from None


def check_writable(folder: Path) -> None:
    """Raise `InputError` unless files can be put into a folder; nothing stays behind."""
    made = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with lock_folder(folder):
            recover(folder)
            staging = folder / f"{STAGING}{secrets.token_hex(8)}"
            staging.mkdir()
            staging.rmdir()
        if made:
            folder.rmdir()
    except OSError as error:
        raise refuse(folder, error) from None


def settle(folder: Path) -> None:
    """Before files of a folder are read together: finish what a killed process committed.

    Raises:
        InputError: If there is such a commit and the folder cannot be written.
    """
    if not (folder / COMMITTED).is_dir():
        return
    try:
        with lock_folder(folder):
            recover(folder)
    except OSError as error:
        raise InputError(
            f"{folder}: a write was interrupted and cannot be finished here "
            f"({error.strerror or error}); make the folder writable"
        ) from None


def recover(folder: Path) -> None:
    """Finish a commit that was not finished, and remove what was never committed.

    To be called by whoever holds the folder's lock.
    """
    if (folder / COMMITTED).is_dir():
        _apply(folder)
    for leftover in folder.glob(f"{STAGING}*"):
        shutil.rmtree(leftover, ignore_errors=True)


def refuse(path: Path, error: OSError) -> InputError:
    """What to say of a place that cannot be written to."""
    place = "this folder" if path == Path() else path
    return InputError(
        f"{place}: cannot be written ({error.strerror or error}); choose another place"
    )


def make_folder(folder: Path) -> None:
    """Make a folder and those above it that are not there, and bring their names to disk."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    for place in reversed(missing):
        place.mkdir(exist_ok=True)
        sync_folder(place.parent)


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to disk, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_tree(folder: Path) -> None:
    """Bring all files of a folder to disk."""
    for place, _, names in os.walk(folder):
        for name in names:
            with (Path(place) / name).open("rb") as file:
                os.fsync(file.fileno())
        sync_folder(Path(place))


def _find_last_line(file: IO[bytes]) -> int:
    """Where the last line of a file ends."""
    end = file.seek(0, os.SEEK_END)
    while end > 0:
        begin = max(0, end - 2**16)
        file.seek(begin)
        found = file.read(end - begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return 0


def _open_part(path: Path) -> tuple[Path, IO[bytes]]:
    """A new file beside its place, locked as long as it is open."""
    while True:
        part = path.with_name(f".{path.name}.{secrets.token_hex(8)}{PART}")
        file = part.open("xb")
        # Somebody who cleans up may have taken it before it was locked.
        try_lock(file)
        if part.exists():
            return part, file
        file.close()


def _remove_abandoned(part: Path) -> None:
    """Remove a file that nobody writes any more; whoever writes it has it locked."""
    with contextlib.suppress(OSError), part.open("rb") as file:
        if try_lock(file):
            part.unlink()


def _stage(folder: Path, contents: Mapping[str, bytes]) -> None:
    staging = folder / f"{STAGING}{secrets.token_hex(8)}"
    try:
        staging.mkdir()
        for name, content in contents.items():
            place = staging / name
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("xb") as file:
                file.write(content)
        sync_tree(staging)
        staging.rename(folder / COMMITTED)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    sync_folder(folder)


def _apply(folder: Path) -> None:
    """Move what was committed to its places; may be done again from any point."""
    committed = folder / COMMITTED
    touched = {folder}
    if (committed / FILE_NAME).is_file():
        names, absent = list_names(committed)
        before = list_names(folder)[0]
        for name in sorted((before | absent) - names):
            (folder / name).unlink(missing_ok=True)
            touched.add((folder / name).parent)
    found = [path for path in committed.rglob("*") if path.is_file()]
    # The manifest goes last: until then the one before says what there was to remove.
    for path in sorted(found, key=lambda path: (path.name == FILE_NAME, path)):
        target = folder / path.relative_to(committed)
        make_folder(target.parent)
        path.replace(target)
        touched.add(target.parent)
    for place in filter(Path.is_dir, touched):
        sync_folder(place)
    shutil.rmtree(committed)
    sync_folder(folder)


def _check_places(folder: Path, names: Mapping[str, bytes]) -> None:
    """Before the commit: no place is taken by a folder, and each can be written to."""
    for name in names:
        if (folder / name).is_dir():
            raise IsADirectoryError(errno.EISDIR, f"{name} is a folder")
        for inner in PurePosixPath(name).parents:
            place = folder / inner
            if place.exists() and not place.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, f"{inner} is a file")
            if place.is_dir() and not os.access(place, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, f"{inner} cannot be written to")


def _escape(name: str) -> str:
    """A name as a pattern that matches only itself."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)
