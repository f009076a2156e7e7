"""Logs behind addresses such as s3://bucket/log.parquet: fetched once, then read as files."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
from pathlib import Path, PurePosixPath
from typing import Any

from nacre.logs.checks.problems import Problems

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)
PACKAGES = {
    "s3": "nacre[cloud]",
    "http": "nacre[cloud]",
    "https": "nacre[cloud]",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "az": "adlfs",
    "abfs": "adlfs",
}
"""What has to be installed for the addresses that begin so."""
STATE = ("size", "mtime", "LastModified", "last_modified", "ETag", "etag", "md5", "generation")
WRITTEN = "nacre-address.json"


def is_address(name: str | os.PathLike[str]) -> bool:
    """Whether a log is not named by a path."""
    return isinstance(name, str) and _ADDRESS.match(name) is not None


def show_address(address: str) -> str:
    """An address for messages, without what may be secret in it: names, passwords, queries."""
    return re.sub(r"//[^/@]*@", "//", address.split("?")[0].split("#")[0])


def describe_state(address: str) -> list[list[str]]:
    """Sizes and times of the files of a log: other ones mean that it may have changed.

    What cannot be looked at has none; whoever opens it says what is wrong.
    """
    if is_address(address):
        problems = Problems(file=show_address(address))
        found = _list_files(address, problems)
        return [] if found is None else _describe(found[1])
    path = Path(address)
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    with contextlib.suppress(OSError):
        stats = [(file, file.stat()) for file in files if not file.is_dir()]
        return [[str(file), f"{one.st_size} {one.st_mtime_ns}"] for file, one in stats]
    return []


def fetch(address: str, problems: Problems) -> Path | None:
    """A copy of the file or folder behind an address, or None after reporting why there is none.

    The same content is fetched once for all processes of a user on this machine.
    """
    found = _list_files(address, problems)
    if found is None:
        return None
    system, infos = found
    key = json.dumps([address, _describe(infos)])
    name = hashlib.sha256(key.encode()).hexdigest()[:32]
    root = find_folder()
    target = root / name
    base = PurePosixPath(system._strip_protocol(address))
    inner = Path(base.name)
    if not (target / WRITTEN).is_file():
        part = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=root))
        try:
            for info in infos:
                place = part / inner / PurePosixPath(info["name"]).relative_to(base)
                place.parent.mkdir(parents=True, exist_ok=True)
                system.get_file(info["name"], str(place))
            (part / WRITTEN).write_text(json.dumps(show_address(address)))
            # Whoever was faster fetched the same.
            with contextlib.suppress(OSError):
                part.rename(target)
        except Exception as error:
            problems.add(f"cannot be fetched ({_word(error)})", "check the address and try again")
            return None
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return target / inner


def find_folder() -> Path:
    """Where fetched logs lie: NACRE_FETCHED, else a temporary folder of the user's."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    default = Path(tempfile.gettempdir()) / f"nacre-fetched-{user}"
    folder = Path(os.environ.get("NACRE_FETCHED") or default)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _list_files(address: str, problems: Problems) -> tuple[Any, list[dict[str, Any]]] | None:
    """The file system of an address, and what it says of each file there."""
    scheme = address.partition("://")[0].lower()
    remedy = f"install {PACKAGES.get(scheme, 'nacre[cloud]')}"
    try:
        import fsspec
    except ImportError:
        problems.add("needs the package fsspec", remedy)
        return None
    try:
        system, place = fsspec.core.url_to_fs(address)
        info = system.info(place)
        if info.get("type") != "directory":
            # A file's name as its system writes it is the one that `get_file` takes.
            return system, [{**info, "name": place}]
        found = system.find(place, detail=True)
        infos = [found[name] for name in sorted(found) if not _is_hidden(name)]
    except ImportError:
        problems.add(f"needs a package for {scheme}:// addresses", remedy)
    except FileNotFoundError:
        problems.add("is not there", "check the address")
    except Exception as error:
        problems.add(f"cannot be opened ({_word(error)})", "check the address and the credentials")
    else:
        if infos:
            return system, infos
        problems.add("is an empty folder", "give a log with at least one transition")
    return None


def _is_hidden(name: str) -> bool:
    return PurePosixPath(name).name.startswith((".", "_"))


def _describe(infos: list[dict[str, Any]]) -> list[list[str]]:
    return [
        [str(one["name"]), " ".join(str(one[key]) for key in STATE if key in one)] for one in infos
    ]


def _word(error: Exception) -> str:
    """The kind of an error; its text may hold what is secret."""
    return type(error).__name__
