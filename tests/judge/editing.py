"""Changes a run directory as somebody might who wants to fool the analysis: captures, events, the plan.

What is not meant to be found is put right: checksums, the captures' index, the plan's digest.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.judge.judging.packets import MESSAGE, SkippedError, open_frame, split

HEADER_BYTES = 24
ETHERNET_IP_UDP = 42
HOP_COUNT = 6


@dataclass
class Frame:
    """A record of a capture; little-endian, with nanoseconds, as the testbed writes them."""

    time_ns: int
    data: bytearray
    original_bytes: int

    @property
    def messages(self) -> list[tuple[int, int]]:
        """The ids of the messages in it."""
        try:
            payload = open_frame(bytes(self.data), self.original_bytes).payload
        except SkippedError:
            return []
        return [(p.source, p.sequence) for p in split(payload)[0] if p.type == MESSAGE]

    def seal(self) -> None:
        """Make the checksum right after a change."""
        self.data[40:42] = b"\0\0"
        ip, udp = self.data[14:], self.data[34:]
        words = bytes(ip[12:20]) + struct.pack(">HH", 17, len(udp)) + bytes(udp) + b"\0" * (len(udp) % 2)
        total = sum(struct.unpack(f">{len(words) // 2}H", words)) % 0xFFFF
        self.data[40:42] = struct.pack(">H", 0xFFFF - total)


@dataclass
class Capture:
    """The capture of an interface, in one file."""

    path: Path
    frames: list[Frame] = field(default_factory=list)
    header: bytes = b""

    @classmethod
    def read(cls, path: Path) -> Capture:
        """All of a file."""
        data, found = path.read_bytes(), cls(path)
        found.header, at = data[:HEADER_BYTES], HEADER_BYTES
        while at < len(data):
            seconds, rest, captured, original = struct.unpack_from("<4I", data, at)
            at += 16
            found.frames.append(Frame(seconds * 10**9 + rest, bytearray(data[at : at + captured]), original))
            at += captured
        return found

    def write(self) -> None:
        """Replace the file; the index beside it has no use any more."""
        records = [
            struct.pack("<4I", *divmod(f.time_ns, 10**9), len(f.data), f.original_bytes) + bytes(f.data)
            for f in self.frames
        ]
        self.path.write_bytes(self.header + b"".join(records))
        self.path.with_name(self.path.name + ".idx").unlink(missing_ok=True)


class Edited:
    """A run directory that is changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.index = self._json("captures/index.json")
        self.plan = self._json("plan.json")
        self.rows = {row["interface"]: row for row in self.index["interfaces"]}
        self.ids = {node["name"]: node["node_id"] for node in self.plan["nodes"]}

    def capture(self, interface: str) -> Capture:
        """What an interface saw."""
        return Capture.read(self.path / "captures" / self.rows[interface]["file"])

    def interfaces(self, node: str) -> list[str]:
        """Those of a router."""
        return [name for name, row in self.rows.items() if row["node"] == node]

    def interface(self, node: str, peer: str) -> str:
        """That of a router towards a neighbour."""
        return next(n for n, row in self.rows.items() if (row["node"], row["peer"]) == (node, peer))

    def keep(self, interface: str, wanted: Callable[[Frame], bool]) -> int:
        """Leave frames out of a capture and of the index's count; how many."""
        capture = self.capture(interface)
        kept = [frame for frame in capture.frames if wanted(frame)]
        gone = len(capture.frames) - len(kept)
        capture.frames = kept
        capture.write()
        row = self.rows[interface]
        row["frames"] -= gone
        row["bytes"] = sum(frame.original_bytes for frame in kept)
        self._write("captures/index.json", self.index)
        return gone

    def exchange(self, one: str, other: str) -> None:
        """Exchange the captures of two interfaces, and their counts in the index."""
        paths = [self.path / "captures" / self.rows[name]["file"] for name in (one, other)]
        first, second = (path.read_bytes() for path in paths)
        paths[0].write_bytes(second)
        paths[1].write_bytes(first)
        ends = self.rows[one], self.rows[other]
        for key in ("frames", "bytes"):
            ends[0][key], ends[1][key] = ends[1][key], ends[0][key]
        self._write("captures/index.json", self.index)

    def events(self) -> list[dict[str, Any]]:
        """All of them, in order."""
        lines = (self.path / "events.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def write_events(self, events: Iterable[dict[str, Any]]) -> None:
        """Replace them."""
        lines = [json.dumps(event, ensure_ascii=False, separators=(",", ":")) for event in events]
        (self.path / "events.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def plan_more(self, client: str, action: dict[str, Any]) -> None:
        """Plan something that nobody did."""
        node = next(node for node in self.plan["nodes"] if node["name"] == client)
        node["script"] = sorted([*node["script"], action], key=lambda a: a["at_ns"])
        text = json.dumps(self.plan)
        (self.path / "plan.json").write_text(text, encoding="utf-8")
        digest = hashlib.sha256(text.encode()).hexdigest()
        self._write("manifest.json", self._json("manifest.json") | {"plan_sha256": digest})

    def _json(self, name: str) -> dict[str, Any]:
        document: dict[str, Any] = json.loads((self.path / name).read_text(encoding="utf-8"))
        return document

    def _write(self, name: str, document: object) -> None:
        (self.path / name).write_text(json.dumps(document), encoding="utf-8")
