"""Zip archives from strangers: nothing is unpacked to disk, and all sizes are known beforehand."""

from __future__ import annotations

import io
import stat
import zipfile
from pathlib import Path, PurePosixPath

from nacre.errors import InputError
from nacre.files.documents import ARCHIVE_ERRORS
from nacre.policies.formats.tensors import describe_error

LARGEST_TOTAL = 2**30
LARGEST_RATIO = 200
"""Weights are nearly incompressible; deflate itself ends at about 1,000."""
SMALL_MEMBER = 2**16
"""Short runs of zeros compress well and harm nobody."""
MOST_MEMBERS = 10_000


class Archive:
    """The members of a checked zip file, read one at a time.

    Members are never written anywhere: their names cannot lead out of a directory. Names that try
    are refused all the same, as are links, doubled names, encryption and bombs.
    """

    def __init__(self, source: Path | bytes, name: str) -> None:
        """Open an archive.

        Args:
            source: A file, or a whole archive in memory.
            name: What to call it in messages.

        Raises:
            InputError: With a line for each suspicious member.
        """
        self.name = name
        try:
            stream = io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")
        except OSError as error:
            raise InputError(f"{name}: cannot be read ({describe_error(error)})") from None
        with stream:
            try:
                self._content = stream.read(LARGEST_TOTAL + 1)
                if len(self._content) > LARGEST_TOTAL:
                    raise InputError(f"{name}: larger than {_size(LARGEST_TOTAL)}; export less")
                self._zip = zipfile.ZipFile(io.BytesIO(self._content))
                self.members = self._zip.infolist()
            except ARCHIVE_ERRORS as error:
                raise InputError(
                    f"{name}: cannot be read as a zip file ({describe_error(error)}); export it "
                    "again"
                ) from None
        problems = self._problems()
        if problems:
            raise InputError([f"{name}: {problem}" for problem in problems])
        self.names = tuple(member.filename for member in self.members)

    def read(self, member: str) -> bytes:
        """The content of one member."""
        if member not in self.names:
            raise InputError(f"{self.name}: has no member {member!r:.80}; export it again")
        try:
            return self._zip.read(member)
        except ARCHIVE_ERRORS as error:
            raise InputError(
                f"{self.name}: member {member!r:.80} is damaged ({describe_error(error)}); export "
                "it again"
            ) from None

    def _problems(self) -> list[str]:
        if len(self.members) > MOST_MEMBERS:
            return [f"has {len(self.members)} members; a policy needs no more than {MOST_MEMBERS}"]
        problems = [problem for member in self.members for problem in _member_problems(member)]
        seen: set[str] = set()
        for member in self.members:
            if member.filename in seen:
                problems.append(f"member {member.filename!r:.80} is there twice; export it again")
            seen.add(member.filename)
        total = sum(member.file_size for member in self.members)
        if total > LARGEST_TOTAL:
            problems.append(
                f"claims to unpack to {_size(total)}, more than {_size(LARGEST_TOTAL)}; it is a "
                "zip bomb or no policy"
            )
        return problems


def _member_problems(member: zipfile.ZipInfo) -> list[str]:
    path, shown = PurePosixPath(member.filename), f"member {member.filename!r:.80}"
    problems = []
    # `orig_filename` still has the backslashes and the zero bytes that `filename` has lost.
    if (
        path.is_absolute()
        or ".." in path.parts
        or "\\" in member.orig_filename
        or "\0" in member.orig_filename
        or ":" in path.parts[:1]
        or not path.parts
    ):
        problems.append(f"{shown} has a name that leads out of the archive; export it again")
    if stat.S_ISLNK(member.external_attr >> 16):
        problems.append(f"{shown} is a symbolic link; put the file itself into the archive")
    if member.flag_bits & 0x1:
        problems.append(f"{shown} is encrypted; export without a password")
    ratio = member.file_size / max(member.compress_size, 1)
    if member.file_size > SMALL_MEMBER and ratio > LARGEST_RATIO:
        problems.append(
            f"{shown} claims to unpack from {_size(member.compress_size)} to "
            f"{_size(member.file_size)}; it is a zip bomb or no policy"
        )
    return problems


def _size(count: int) -> str:
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}"
        count = count // 1024
    return f"{count:,.0f} GiB"
