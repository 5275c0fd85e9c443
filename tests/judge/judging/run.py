"""What a run directory holds, by docs/run-directory.md."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.judge.judging.packets import MESSAGE, Frame, Packet, SkippedError, open_frame, split
from tests.judge.judging.pcap import read_capture

FOREVER = 2**63 - 1
Event = Mapping[str, Any]
LACKING = {
    *("truncated_file", "truncated", "ip_fragments", "damaged_file"),
    *("bad_block", "untimed", "unknown_link", "foreign"),
}
"""Reasons to skip a frame that make a capture incomplete."""


@dataclass(frozen=True, slots=True)
class Sight:
    """A packet that an interface of a router saw."""

    interface: str
    node: int
    peer: int
    at_client: bool
    sent: bool
    time_ns: int
    packet: Packet


@dataclass(slots=True)
class Captures:
    """All that was captured on routers."""

    sights: list[Sight] = field(default_factory=list)
    frames: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    incomplete: dict[str, str] = field(default_factory=dict)
    """Why an interface's captures lack something, by its name."""

    @property
    def messages(self) -> Iterator[Sight]:
        """Those of the sights that are messages."""
        return (sight for sight in self.sights if sight.packet.type == MESSAGE)


@dataclass(frozen=True, slots=True)
class Run:
    """A run directory, read."""

    path: Path
    manifest: Mapping[str, Any]
    plan: Mapping[str, Any]
    events: list[Event]
    captures: Captures
    access: list[Mapping[str, Any]]
    """The rows of the captures' index for interfaces to clients."""

    @property
    def ids(self) -> dict[str, int]:
        """Node ids by name."""
        return {node["name"]: node["node_id"] for node in self.plan["nodes"]}

    @property
    def clients(self) -> dict[str, int]:
        """Ids of the clients by name."""
        return {n["name"]: n["node_id"] for n in self.plan["nodes"] if n["role"] == "client"}

    @property
    def start_ns(self) -> int:
        """The scenario's time zero."""
        return int(self.manifest["start_ns"])

    @property
    def settle_ns(self) -> int:
        """How long a change of subscriptions may take to be known, and a message to arrive."""
        return int(self.plan["timing"]["settle_ns"])

    def of(self, *kinds: str) -> Iterator[Event]:
        """The events of some kinds, in order."""
        return (event for event in self.events if event["event"] in kinds)


def read_run(path: Path) -> Run:
    """All of a run directory."""
    manifest, plan = _json(path / "manifest.json"), _json(path / "plan.json")
    lines = (path / "events.jsonl").read_text(encoding="utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    rows = [r for r in _json(path / "captures" / "index.json")["interfaces"] if r["role"] == "router"]
    access = [row for row in rows if row["peer_role"] == "client"]
    return Run(path, manifest, plan, events, _captures(path / "captures", rows, plan), access)


def _captures(folder: Path, rows: Sequence[Mapping[str, Any]], plan: Mapping[str, Any]) -> Captures:
    found = Captures()
    peers = {i["name"]: i["peer_mac"] for node in plan["nodes"] for i in node["interfaces"]}
    for row in rows:
        _read_interface(folder, row, peers[row["interface"]], found)
    return found


def _read_interface(folder: Path, row: Mapping[str, Any], peer_mac: str, found: Captures) -> None:
    macs = [bytes.fromhex(mac.replace(":", "")) for mac in (row["mac"], peer_mac)]
    ends = row["interface"], row["node_id"], row["peer_id"], row["peer_role"] == "client"
    skipped: Counter[str] = Counter()
    records = 0
    for name in row["files"]:
        if not (folder / name).exists():
            found.incomplete[row["interface"]] = f"{name} is missing"
            continue
        capture = read_capture(folder / name)
        skipped += capture.skipped
        records += len(capture.records)
        for record in capture.records:
            try:
                frame = open_frame(record.data, record.original_bytes)
                sent = _direction(frame, macs)
            except SkippedError as why:
                skipped[str(why)] += 1
                continue
            packets, malformed = split(frame.payload, frame.partial)
            skipped["malformed"] += malformed
            skipped["truncated"] += frame.partial
            found.sights += [Sight(*ends, sent, record.time_ns, packet) for packet in packets]
    found.frames += records
    found.skipped += skipped
    if row["drops"] or records != row["frames"] or LACKING & {*+skipped}:
        found.incomplete.setdefault(row["interface"], "frames are lacking")


def _direction(frame: Frame, macs: Sequence[bytes]) -> bool:
    """Whether the capturing interface, the first, sent it to the second.

    Raises:
        SkippedError: It is of another link.
    """
    for mac, first_is_sender in ((frame.source_mac, True), (frame.target_mac, False)):
        if mac in macs:
            return (mac == macs[0]) is first_is_sender
    raise SkippedError("foreign")


def _json(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document
