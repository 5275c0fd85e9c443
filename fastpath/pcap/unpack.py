"""Unpacks a capture compressed by gzip or zstd into a pipe, which the compiled reader reads as it fills.

Nothing is written to disk, and no more is in memory than the pipe and a window hold. A file that expands
beyond all measure, as one does that was made to fill memory or disk, is read up to a limit.
"""

from __future__ import annotations

import fcntl
import os
import threading
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
FREE_BYTES = 1 << 28
"""So much may come out of any file."""
MOST_RATIO = 500
"""Of what comes out to what went in, beyond `FREE_BYTES`. Captures shrink to a half or a fiftieth."""
_CHUNK, _PIPE = 1 << 14, 1 << 20
"""Of what is cut off, the last chunk is lost: it is small."""


def compression_of(path: str) -> str:
    """`gzip`, `zstd`, or empty: by the first bytes of the file, whatever its name.

    Raises:
        OSError: it cannot be read.
    """
    with Path(path).open("rb", buffering=0) as file:
        magic = file.read(4)
    return "gzip" if magic.startswith(GZIP) else "zstd" if magic == ZSTD else ""


class Unpacking:
    """A thread that unpacks one file; `why` it ended early is known once the pipe has ended."""

    def __init__(self, path: str, compression: str) -> None:
        self._path = path
        self._compression = compression
        self._why = ""
        self._thread: threading.Thread | None = None

    def start(self) -> int:
        """Begin; the descriptor to read from, which the caller closes."""
        readable, writable = os.pipe()
        with suppress(PermissionError):  # whoever has many pipes gets small ones
            fcntl.fcntl(writable, fcntl.F_SETPIPE_SZ, _PIPE)
        self._thread = threading.Thread(target=self._work, args=(writable,), daemon=True)
        self._thread.start()
        return readable

    @property
    def why(self) -> str:
        """Why the file was not read to its end; empty: it was, or the pipe's other end was closed before."""
        if self._thread is not None:
            self._thread.join()
        return self._why

    def _work(self, writable: int) -> None:
        try:
            with pa.OSFile(self._path) as file:
                self._unpack(file, writable)
        except BrokenPipeError:
            pass  # the reader had enough
        except (OSError, pa.ArrowException) as error:
            self._why = f"cannot be unpacked ({self._compression}): {error}"
        finally:
            os.close(writable)

    def _unpack(self, file: pa.NativeFile, pipe: int) -> None:
        room = max(FREE_BYTES, MOST_RATIO * file.size())
        with pa.CompressedInputStream(file, self._compression) as stream:
            while chunk := stream.read(min(_CHUNK, room)):
                room -= len(chunk)
                rest = memoryview(chunk)
                while rest:
                    rest = rest[os.write(pipe, rest) :]
            if room == 0:
                self._why = f"expands to more than {MOST_RATIO} times its size; it was read up to there"
