"""The run's side of capturing: starts the capture process, waits for it, writes the index."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nodes.records import to_plain
from testbed.emu.capture import Orders, Target
from testbed.emu.children import Child, Watch, start_helper
from testbed.live.fabric import ProcessDiedError
from testbed.plan.model import InterfacePlan, NodePlan, Plan
from testbed.runs.captures import (
    Captured,
    CaptureFigures,
    capture_name,
    captured_interfaces,
    write_capture_index,
)
from testbed.runs.directory import RunDirectory

READY_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 60.0


@dataclass(slots=True)
class Recorder:
    """Captures every interface of a plan that is to be captured into files of its own."""

    plan: Plan
    directory: RunDirectory
    dilate: int = 1
    """How many times slower than real time the run's time goes; captures are stamped in the run's."""
    dilate_from_ns: int = 0
    child: Child | None = None
    counters: list[dict[str, int]] = field(default_factory=list)
    cpu_s: float = 0.0
    """Processor time that capturing took; known once stopped."""

    @property
    def interfaces(self) -> list[tuple[NodePlan, InterfacePlan]]:
        """What is captured, ordered by node id and interface index."""
        return list(captured_interfaces(self.plan))

    @property
    def frames(self) -> int:
        """All frames captured; known once stopped."""
        return sum(row["packets"] for row in self.counters)

    @property
    def drops(self) -> int:
        """All frames that went by uncaptured; known once stopped."""
        return sum(_drops(row) for row in self.counters)

    def figures(self) -> list[CaptureFigures]:
        """What capturing met, interface by interface; known once stopped."""
        named = ((i.name, row) for (_, i), row in zip(self.interfaces, self.counters, strict=False))
        return [
            CaptureFigures(
                name,
                row["packets"],
                row["bytes"],
                row["kernel_drops"],
                row["write_errors"],
                row["read_errors"],
                bool(row["gone"]),
            )
            for name, row in named
        ]

    def start(self, pid_of: Callable[[str], int], environment: Mapping[str, str], watch: Watch) -> None:
        """Start the capture process."""
        targets = tuple(
            Target(pid_of(node.name), i.name, str(self._file(i).resolve())) for node, i in self.interfaces
        )
        orders = self.directory.config / "capture.json"
        self.directory.write_json("config/capture.json", to_plain(self._orders(targets)))
        self.child = start_helper(
            "the capture process",
            "testbed.emu.capture",
            [str(orders.resolve())],
            environment,
            self.directory.logs / "capture.stderr",
            death_signal="TERM",
        )
        watch.add(self.child)

    def await_ready(self) -> None:
        """Wait until no packet can be missed any more.

        Raises:
            ProcessDiedError: the capture process could not begin.
        """
        assert self.child is not None
        self.child.ready(READY_TIMEOUT_S)

    def stop(self) -> list[str]:
        """End capturing, all that is in flight written; what went wrong, for people."""
        if self.child is None or self.counters:
            return []
        try:
            counted = self.child.last_words(STOP_TIMEOUT_S)
        except ProcessDiedError:
            return self.child.stop(0)
        self.counters, self.cpu_s = counted["counters"], counted["cpu_s"]
        return self.child.stop(STOP_TIMEOUT_S)

    def losses(self) -> list[str]:
        """What was not captured, for people; known once stopped."""
        figures = self.figures()
        slow = [(f.interface, f.kernel_drops) for f in figures if f.kernel_drops]
        said = [_sum("the machine was too slow to capture", slow)] if slow else []
        full = [(f.interface, f.write_errors) for f in figures if f.write_errors]
        if full:
            why = os.strerror(next(row["last_errno"] for row in self.counters if row["write_errors"]))
            said.append(f"{_sum('the captures lost', full)}: {why}")
        return said + [f"{f.interface} was no more when its capture ended" for f in figures if f.gone]

    def write_index(self, start_ns: int) -> list[str]:
        """Write `captures/index.json`; what went wrong, for people."""
        captured = {
            i.name: Captured(row["packets"], row["bytes"], _drops(row), row["files"])
            for (_, i), row in zip(self.interfaces, self.counters, strict=True)
        }
        try:
            write_capture_index(self.plan, self.directory, start_ns, captured)
        except OSError as error:
            where = self.directory.captures / "index.json"
            return [f"the captures' index could not be written: {where}: {error.strerror}"]
        return []

    def _orders(self, targets: tuple[Target, ...]) -> Orders:
        record = self.plan.record
        return Orders(
            targets, record.snap_bytes, record.format, record.rotate_bytes, self.dilate, self.dilate_from_ns
        )

    def _file(self, interface: InterfacePlan) -> Path:
        return self.directory.captures / capture_name(interface, self.plan)


def _drops(row: Mapping[str, int]) -> int:
    return row["kernel_drops"] + row["write_errors"]


def _sum(what: str, lost: Sequence[tuple[str, int]]) -> str:
    """`what` 12 frames of r1-eth0 and 2 more interfaces."""
    worst = max(lost, key=lambda pair: pair[1])[0]
    others = f" and {len(lost) - 1} more interfaces" if len(lost) > 1 else ""
    return f"{what} {sum(n for _, n in lost)} frames of {worst}{others}"
