"""Compressed text, unpacked as it is read, up to a limit."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

CODECS = {".gz": "gzip", ".zst": "zstd"}
# Logs shrink by a factor of ten or so. What grows without end was made to fill the memory.
LARGEST_RATIO = 200
ALWAYS_ALLOWED_BYTES = 2**28
# Text is parsed while it is unpacked and takes many times its size then: it is stopped earlier.
LARGEST_TEXT_RATIO = 100
ALWAYS_ALLOWED_TEXT = 2**25


class TooLargeError(ValueError):
    """A file that unpacks to more than can be a log."""


def find_codec(path: Path) -> str | None:
    """Return how a file is compressed, by its suffix."""
    return CODECS.get(path.suffix.lower())


def open_binary(path: Path) -> IO[bytes]:
    """Open a file for reading, unpacked if its suffix says that it is compressed.

    Reading raises `TooLargeError` once more came out than a log can hold in what was read so far.
    """
    codec = find_codec(path)
    if codec is None:
        return path.open("rb")
    return io.BufferedReader(_Unpacked(path, codec), 2**20)


@contextmanager
def compress(stream: IO[bytes], path: Path) -> Iterator[Any]:
    """Give a stream that compresses to `stream` as the suffix of `path` says."""
    codec = find_codec(path)
    if codec is None:
        yield stream
        return
    import pyarrow as pa

    with pa.CompressedOutputStream(pa.PythonFile(_LeftOpen(stream), mode="w"), codec) as packed:
        yield packed


class _LeftOpen(io.RawIOBase):
    """Writes to a stream that is not closed with it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._stream.write(data)


class _Unpacked(io.RawIOBase):
    def __init__(self, path: Path, codec: str) -> None:
        import pyarrow as pa

        self._packed = pa.OSFile(str(path))
        self._stream = pa.CompressedInputStream(self._packed, codec)
        self._n_read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        unpacked = self._stream.read(len(buffer))
        self._n_read += len(unpacked)
        if self._n_read > max(ALWAYS_ALLOWED_TEXT, LARGEST_TEXT_RATIO * self._packed.tell()):
            raise TooLargeError(f"it unpacks to more than {LARGEST_TEXT_RATIO} times its size")
        buffer[: len(unpacked)] = unpacked
        return len(unpacked)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()
