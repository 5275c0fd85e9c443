"""The records of pcap and pcapng files, by the documents of the formats."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

MICROSECONDS, NANOSECONDS = 0xA1B2C3D4, 0xA1B23C4D
SECTION, INTERFACE, ENHANCED = 0x0A0D0D0A, 1, 6
BYTE_ORDER = 0x1A2B3C4D
RESOLUTION, END_OF_OPTIONS = 9, 0


@dataclass(frozen=True, slots=True)
class Record:
    """One frame: when it passed, as far as it was captured, and how long it was."""

    time_ns: int
    data: bytes
    original_bytes: int

    @property
    def partial(self) -> bool:
        """Whether it was captured in part."""
        return len(self.data) < self.original_bytes


@dataclass(slots=True)
class Capture:
    """What a file holds."""

    records: list[Record] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)


def read_capture(path: Path) -> Capture:
    """All records of a file."""
    data = path.read_bytes()
    found = Capture()
    if len(data) >= 4 and struct.unpack_from("<I", data)[0] == SECTION:
        _read_blocks(data, found)
    else:
        _read_records(data, found)
    return found


def _read_records(data: bytes, found: Capture) -> None:
    order, unit_ns = _byte_order(data)
    at = 24
    while at < len(data):
        if at + 16 > len(data):
            found.skipped["truncated_file"] += 1
            return
        seconds, rest, captured, original = struct.unpack_from(f"{order}4I", data, at)
        at += 16
        if at + captured > len(data):
            found.skipped["truncated_file"] += 1
            return
        time_ns = seconds * 10**9 + rest * unit_ns
        found.records.append(Record(time_ns, data[at : at + captured], original))
        at += captured


def _byte_order(data: bytes) -> tuple[str, int]:
    for order in "<>":
        magic = struct.unpack_from(f"{order}I", data)[0] if len(data) >= 24 else 0
        if magic in (MICROSECONDS, NANOSECONDS):
            return order, 1000 if magic == MICROSECONDS else 1
    raise ValueError("neither a pcap nor a pcapng file")


def _read_blocks(data: bytes, found: Capture) -> None:
    order, clocks, at = "<", list[Fraction](), 0
    while at < len(data):
        if at + 12 > len(data):
            found.skipped["truncated_file"] += 1
            return
        if struct.unpack_from("<I", data, at)[0] == SECTION:
            order = "<" if struct.unpack_from("<I", data, at + 8)[0] == BYTE_ORDER else ">"
            clocks = []
        kind, size = struct.unpack_from(f"{order}II", data, at)
        if at + size > len(data):
            found.skipped["truncated_file"] += 1
            return
        body = data[at + 8 : at + size - 4]
        if kind == INTERFACE:
            clocks.append(_tick_ns(body[8:], order))
        elif kind == ENHANCED:
            found.records.append(_enhanced(body, order, clocks))
        at += size


def _tick_ns(options: bytes, order: str) -> Fraction:
    """How many nanoseconds an interface's clock counts at once."""
    for code, value in _options(options, order):
        if code == RESOLUTION:
            base = 2 if value[0] & 0x80 else 10
            return Fraction(10**9, base ** (value[0] & 0x7F))
    return Fraction(1000)


def _options(data: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(data):
        code, size = struct.unpack_from(f"{order}HH", data, at)
        if code == END_OF_OPTIONS:
            return
        yield code, data[at + 4 : at + 4 + size]
        at += 4 + size + -size % 4


def _enhanced(body: bytes, order: str, clocks: list[Fraction]) -> Record:
    interface, high, low, captured, original = struct.unpack_from(f"{order}5I", body)
    time_ns = int(((high << 32) + low) * clocks[interface])
    return Record(time_ns, body[20 : 20 + captured], original)
