"""Runs written by hand, and simulated ones."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from nodes.model import format_message, parse_message
from nodes.wire.codec import encode
from nodes.wire.packets import PORT, Message, Role
from testbed.cli.progress import SilentProgress
from testbed.plan.load import read_scenario
from testbed.plan.model import InterfacePlan, LinkPlan, NodePlan, Plan, TimingPlan
from testbed.plan.recorded import FORMAT, plan_digest, plan_to_json
from testbed.runs.conduct import conduct
from testbed.runs.directory import RunDirectory
from testbed.sim.world import SimulatedWorld

START_NS = 1_000_000_000_000
SETTLE_NS = 1_000_000
_INTERFACES = (("r1", "p"), ("r1", "a"), ("r1", "r2"), ("r2", "r1"), ("r2", "c"))
_LINKS = (("r1", "r2"), ("r1", "p"), ("r1", "a"), ("r2", "c"))


class HandMadeRun:
    """A run directory written by hand, packet by packet.

    p and a at r1, c at r2; times count from the scenario's time zero.
    """

    ids: ClassVar[dict[str, int]] = {"r1": 1, "r2": 2, "p": 3, "a": 4, "c": 5}

    def __init__(self, path: Path) -> None:
        self.path = path
        self.events: list[dict[str, Any]] = []
        self.published_ns: dict[int, int] = {}
        self.frames: dict[str, list[bytes]] = {f"{node}-{peer}": [] for node, peer in _INTERFACES}
        self.drops: dict[str, int] = {}
        self.plan = self._plan()
        self.manifest: dict[str, Any] = {
            "format": FORMAT,
            "run_id": "by-hand",
            "dilate": 1,
            "world": "sim",
            "scenario": "by-hand",
            "scheme": "pif",
            "seed": 7,
            "overrides": {},
            "outcome": "complete",
            "message": "",
            "start_ns": START_NS,
            "end_ns": START_NS + 10_000_000_000,
            "phases": {"ready_s": 1.0},
            "versions": {"python": "3.11"},
            "implementation": {"links": "simulated"},
        }

    def event(self, node: str, event: str, at_ns: int, **fields: Any) -> None:
        common = {"time_ns": START_NS + at_ns, "node": node, "n": len(self.events), "event": event}
        self.events.append(common | fields)

    def subscribe(self, client: str, predicate: str, at_ns: int = -1, number: int = 1) -> None:
        self.event(client, "subscribe", at_ns, subscription=number, predicate=predicate)

    def publish(self, sequence: int, text: str, at_ns: int) -> None:
        """Client p says that it publishes, and r1 receives it."""
        message = format_message(parse_message(text))
        self.event("p", "publish", at_ns, source=self.ids["p"], sequence=sequence, message=message)
        self.packet("r1", "p", False, at_ns + 10, sequence, text, 0)

    def deliver(self, router: str, client: str, sequence: int, text: str, at_ns: int, hops: int) -> None:
        """A router sends it to a client, which says so."""
        self.packet(router, client, True, at_ns, sequence, text, hops)
        self.event(client, "deliver", at_ns + 5, source=self.ids["p"], sequence=sequence, hop_count=hops)

    def cross(self, sequence: int, text: str, at_ns: int, hops: int = 1) -> None:
        """r1 sends it to r2; both ends of the link see it."""
        self.packet("r1", "r2", True, at_ns, sequence, text, hops)
        self.packet("r2", "r1", False, at_ns + 100, sequence, text, hops)

    def packet(
        self, node: str, peer: str, sent: bool, at_ns: int, sequence: int, text: str, hops: int
    ) -> None:
        message = Message(
            self.ids["p"],
            sequence,
            START_NS + self.published_ns.setdefault(sequence, at_ns),
            parse_message(text),
            hop_limit=64 - hops,
            hop_count=hops,
        )
        self.datagram(node, peer, sent, at_ns, encode(message))

    def datagram(self, node: str, peer: str, sent: bool, at_ns: int, *packets: bytes) -> None:
        """Note a datagram of these packets on an interface."""
        data = b"".join(packets)
        ends = (self.mac(node, peer), self.mac(peer, node))
        source, destination = ends if sent else reversed(ends)
        udp = struct.pack(">HHHH", PORT, PORT, 8 + len(data), 0) + data
        ip = struct.pack(
            ">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, b"\x0a\0\0\1", b"\x0a\0\0\2"
        )
        frame = bytes.fromhex((destination + source).replace(":", "")) + b"\x08\0" + ip + udp
        seconds, rest = divmod(START_NS + at_ns, 10**9)
        header = struct.pack("<IIII", seconds, rest, len(frame), len(frame))
        self.frames[f"{node}-{peer}"].append(header + frame)

    def mac(self, node: str, peer: str) -> str:
        return f"02:00:00:00:{self.ids[node]:02x}:{self.ids[peer]:02x}"

    def write(self) -> Path:
        """The whole directory, as `docs/run-directory.md` has it."""
        captures = self.path / "captures"
        captures.mkdir(parents=True, exist_ok=True)
        for name, records in self.frames.items():
            header = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 1)
            (captures / f"{name}.pcap").write_bytes(header + b"".join(records))
        self._json("captures/index.json", {"interfaces": [self._index(n, p) for n, p in _INTERFACES]})
        text = plan_to_json(self.plan)
        (self.path / "plan.json").write_text(text, encoding="utf-8")
        self._json("manifest.json", {**self.manifest, "plan_sha256": plan_digest(text)})
        lines = sorted(self.events, key=lambda e: (e["time_ns"], e["node"], e["n"]))
        text = "".join(json.dumps(e, separators=(",", ":")) + "\n" for e in lines)
        (self.path / "events.jsonl").write_text(text, encoding="utf-8")
        return self.path

    def _json(self, name: str, value: object) -> None:
        (self.path / name).write_text(json.dumps(value), encoding="utf-8")

    def _index(self, node: str, peer: str) -> dict[str, object]:
        name = f"{node}-{peer}"
        return {
            "files": [f"{name}.pcap"],
            "interface": name,
            "role": "router",
            "frames": len(self.frames[name]),
            "drops": self.drops.get(name, 0),
        }

    def _plan(self) -> Plan:
        links = tuple(LinkPlan(f"{a}-{b}", a, b, f"{a}-{b}", f"{b}-{a}") for a, b in _LINKS)
        return Plan(
            name="by-hand",
            description="By hand.",
            seed=7,
            scheme="pif",
            scheme_options={},
            nodes=tuple(map(self._node, self.ids)),
            links=links,
            timing=TimingPlan(settle_ns=SETTLE_NS, hop_delay_ns=0),  # delays that are not known
        )

    def _node(self, name: str) -> NodePlan:
        role = Role.ROUTER if name.startswith("r") else Role.CLIENT
        ends = [(n, end) for n, link in enumerate(_LINKS) for end in (link, link[::-1]) if end[0] == name]
        interfaces = tuple(self._interface(i, n, *end) for i, (n, end) in enumerate(ends))
        return NodePlan(name, self.ids[name], role, interfaces)

    def _interface(self, index: int, link: int, node: str, peer: str) -> InterfacePlan:
        macs = (self.mac(node, peer), self.mac(peer, node))
        return InterfacePlan(
            index, f"{node}-{peer}", link, "10.0.0.1", 30, macs[0], peer, "10.0.0.2", macs[1]
        )


@pytest.fixture
def hand_made(tmp_path: Path) -> HandMadeRun:
    return HandMadeRun(tmp_path / "run")


@pytest.fixture(scope="session")
def simulate(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """Runs a scenario, given as text, in the simulator; the path of its run directory."""

    def run(name: str, text: str) -> Path:
        folder = tmp_path_factory.mktemp(name)
        (folder / "run.yaml").write_text(text)
        directory = RunDirectory.create(folder / "run", name)
        scenario = read_scenario(folder / "run.yaml")
        plan = scenario.plan()
        outcome = conduct(plan, SimulatedWorld(), directory, SilentProgress(), scenario=scenario.text)
        assert outcome.outcome == "complete", outcome.message
        return directory.path

    return run
