"""The run's side of capturing: starts the capture process, waits for it, writes the index."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from testbed.emu.capture import Orders, Target
from testbed.emu.processes import Child, ProcessDiedError, Watch, drop_empty_errors, start
from testbed.plan.model import InterfacePlan, NodePlan, Plan
from testbed.runs.captures import Captured, capture_name, write_capture_index
from testbed.runs.directory import RunDirectory

READY_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 60.0
SOURCE_ROOT = Path(__file__).resolve().parents[2]


@dataclass(slots=True)
class Recorder:
    """Captures every router interface of a plan into its own file."""

    plan: Plan
    directory: RunDirectory
    child: Child | None = None
    counters: list[dict[str, int]] = field(default_factory=list)

    @property
    def interfaces(self) -> list[tuple[NodePlan, InterfacePlan]]:
        """What is captured, ordered by node id and interface index."""
        return [(node, interface) for node in self.plan.routers for interface in node.interfaces]

    @property
    def packets(self) -> int:
        """All packets captured; known once stopped."""
        return sum(row["packets"] for row in self.counters)

    @property
    def drops(self) -> int:
        """All packets that went by uncaptured; known once stopped."""
        return sum(_drops(row) for row in self.counters)

    def start(self, pid_of: Callable[[str], int], environment: Mapping[str, str], watch: Watch) -> None:
        """Start the capture process."""
        targets = tuple(
            Target(pid_of(node.name), i.name, str(self._file(i).resolve())) for node, i in self.interfaces
        )
        orders = self.directory.config / "capture.json"
        orders.write_text(Orders(targets, self.plan.record.snap_bytes).to_json(), encoding="utf-8")
        self.child = start(
            "the capture process",
            [sys.executable, "-m", "testbed.emu.capture", str(orders.resolve())],
            environment,
            self.directory.logs / "capture.stderr",
            death_signal="TERM",
            cwd=SOURCE_ROOT,
            pipes=True,
        )
        watch.add(self.child)

    def stop(self) -> list[str]:
        """End capturing, all that is in flight written; what went wrong, for people."""
        if self.child is None or self.counters:
            return []
        process = self.child.process
        if process.poll() is None:
            process.terminate()
        try:
            output, _ = process.communicate(timeout=STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return [f"the capture process did not end within {STOP_TIMEOUT_S:.0f} s and was killed"]
        if process.returncode != 0:
            return [self.child.death() or ""]
        drop_empty_errors([self.child])
        self.counters = json.loads(output)["counters"]
        return []

    def losses(self) -> list[str]:
        """What was not captured, for people; known once stopped."""
        if not self.counters:
            return []
        named = [(i.name, row) for (_, i), row in zip(self.interfaces, self.counters, strict=True)]
        lost = [f"{name}: {_drops(row)} packets were not captured" for name, row in named if _drops(row)]
        errors = [(name, row["read_errors"]) for name, row in named if row["read_errors"]]
        return lost + [f"{name}: capturing met {n} errors of the interface" for name, n in errors]

    def write_index(self, start_ns: int) -> None:
        """Write `captures/index.json`."""
        captured = {
            interface.name: Captured(counters["packets"], counters["bytes"], _drops(counters))
            for (_, interface), counters in zip(self.interfaces, self.counters, strict=True)
        }
        write_capture_index(self.plan, self.directory, start_ns, captured)

    def await_ready(self, watch: Watch) -> None:
        """Wait until no packet can be missed any more.

        Raises:
            ProcessDiedError: the capture process could not begin.
        """
        assert self.child is not None
        stream = self.child.process.stdout
        assert stream is not None
        deadline = time.monotonic() + READY_TIMEOUT_S
        while time.monotonic() < deadline:
            if watch.readable(stream, deadline - time.monotonic()):
                line = stream.readline()
                if line and json.loads(line) == {"ready": True}:
                    return
                self.child.process.wait()  # it said something else, or closed its output: it is ending
                watch.wait(0)
        raise ProcessDiedError(f"the capture process was not ready in time (log: {self.child.errors})")

    def _file(self, interface: InterfacePlan) -> Path:
        return self.directory.captures / capture_name(interface)


def _drops(row: Mapping[str, int]) -> int:
    return row["kernel_drops"] + row["write_errors"]
