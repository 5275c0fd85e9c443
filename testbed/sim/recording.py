"""What a simulated run keeps on disk: captures, logs, and each node's last account of itself."""

from __future__ import annotations

from collections.abc import Iterable

from fastpath.capture import CaptureWriter
from testbed.plan.model import InterfacePlan, Plan
from testbed.runs.captures import Captured, capture_name, captured_interfaces, write_capture_index
from testbed.runs.directory import RunDirectory
from testbed.runs.events import JsonLines
from testbed.sim.node import Record, SimulatedNode


class Recording:
    """The files of a run, but for its events."""

    def __init__(self, plan: Plan, directory: RunDirectory) -> None:
        self._plan = plan
        self._directory = directory
        self._logs = {n.name: JsonLines(directory.logs / f"{n.name}.jsonl") for n in plan.nodes}
        self.captures = {i.name: self._capture(i) for _, i in captured_interfaces(plan)}
        """By the interface's name."""

    @property
    def packets(self) -> int:
        """How many frames were captured."""
        return sum(capture.packets for capture in self.captures.values())

    def log_of(self, node: str) -> Record:
        """Where a node's log goes."""
        return self._logs[node].write

    def finish(self, nodes: Iterable[SimulatedNode], start_ns: int) -> None:
        """Write what is held, the statuses, and the captures' index."""
        for capture in self.captures.values():
            capture.close()
        for log in self._logs.values():
            log.flush()
        for node in nodes:
            self._directory.write_json(f"logs/{node.config.name}.status.json", node.final_status())
        if self._plan.record.captures:
            captured = {
                name: Captured(capture.packets, capture.frame_bytes, drops=0, files=capture.files)
                for name, capture in self.captures.items()
            }
            write_capture_index(self._plan, self._directory, start_ns, captured)

    def _capture(self, interface: InterfacePlan) -> CaptureWriter:
        record = self._plan.record
        return CaptureWriter(
            self._directory.captures / capture_name(interface, self._plan),
            record.snap_bytes,
            format=record.format,
            rotate_bytes=record.rotate_bytes,
            name=interface.name,
        )
