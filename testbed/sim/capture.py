"""Captures of the simulator: one nanosecond pcap a router interface, and their index.

The files are what the emulated world's capture writes: little-endian, magic
0xa1b23c4d, link type Ethernet. Records are kept in memory and appended in
pieces, so that any number of interfaces needs one open file at a time.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Protocol

MAGIC_NANOSECONDS = 0xA1B23C4D
LINKTYPE_ETHERNET = 1
FLUSH_BYTES = 64 * 1024

_FILE_HEADER = struct.Struct("<IHHiIII")
_RECORD_HEADER = struct.Struct("<IIII")
_SECOND = 1_000_000_000


class Tap(Protocol):
    """Whoever is shown the frames that pass an interface."""

    def record(self, time_ns: int, frame: bytes) -> None:
        """Note that `frame` passed at `time_ns`."""


class Capture:
    """The pcap of one interface."""

    __slots__ = ("_pending", "_pending_bytes", "_snap_bytes", "frame_bytes", "packets", "path")

    def __init__(self, path: Path, snap_bytes: int) -> None:
        self.path = path
        self.packets = 0
        self.frame_bytes = 0
        self._snap_bytes = snap_bytes
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        path.write_bytes(_FILE_HEADER.pack(MAGIC_NANOSECONDS, 2, 4, 0, 0, snap_bytes, LINKTYPE_ETHERNET))

    def record(self, time_ns: int, frame: bytes) -> None:
        """Note that `frame` passed at `time_ns`."""
        size = len(frame)
        kept = min(size, self._snap_bytes)
        header = _RECORD_HEADER.pack(*divmod(time_ns, _SECOND), kept, size)
        self._pending.append(header + (frame if kept == size else frame[:kept]))
        self.packets += 1
        self.frame_bytes += size
        self._pending_bytes += kept
        if self._pending_bytes >= FLUSH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Append what is held to the file."""
        pending, self._pending, self._pending_bytes = self._pending, [], 0
        if pending:
            with self.path.open("ab") as out:
                out.write(b"".join(pending))
