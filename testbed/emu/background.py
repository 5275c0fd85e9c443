"""Background traffic of a run in the emulated world, from the run's side: the process `flows` sends it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from nodes.records import to_plain
from testbed.emu.children import Child, Watch, start_helper
from testbed.emu.flows import Orders, Sender
from testbed.live.fabric import ProcessDiedError
from testbed.plan.model import Plan
from testbed.runs.background import background_frame
from testbed.runs.directory import RunDirectory
from topologies.quantities import counted

READY_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 30.0
LATE_NS = 50_000_000
"""Frames that come so much later are worth a word."""


@dataclass(slots=True)
class Background:
    """Starts the process if the plan has background traffic, and says how it went."""

    plan: Plan
    directory: RunDirectory
    dilate: int = 1
    dilate_from_ns: int = 0
    child: Child | None = None

    def start(self, pid_of: Callable[[str], int], environment: Mapping[str, str], watch: Watch) -> None:
        """Start the process, and wait until it can send.

        Raises:
            ProcessDiedError: it cannot.
        """
        ends = {i.name: (node.name, i) for node in self.plan.nodes for i in node.interfaces}
        senders = []
        for flow in self.plan.background:
            node, interface = ends[flow.interface]
            senders.append(Sender(pid_of(node), flow, background_frame(interface, flow).hex()))
        orders = Orders(tuple(senders), self.dilate, self.dilate_from_ns)
        self.directory.write_json("config/background.json", to_plain(orders))
        self.child = start_helper(
            "the process that sends background traffic",
            "testbed.emu.flows",
            [str((self.directory.config / "background.json").resolve())],
            environment,
            self.directory.logs / "background.stderr",
        )
        watch.add(self.child)
        self.child.ready(READY_TIMEOUT_S)

    def begin(self, start_ns: int) -> None:
        """Tell it the scenario's time zero.

        Raises:
            ProcessDiedError: it has ended.
        """
        if self.child is not None:
            self.child.ask("begin", READY_TIMEOUT_S, start_ns=start_ns)

    def stop(self) -> tuple[list[str], list[str]]:
        """End it; what went wrong, and what is worth knowing, for people."""
        if self.child is None:
            return [], []
        try:
            counts = self.child.last_words(STOP_TIMEOUT_S)
        except ProcessDiedError:
            return self.child.stop(0), []
        said = []
        if counts["refused"]:
            said.append(f"{counted(counts['refused'], 'frame')} of background traffic found no room")
        if counts["latest_ns"] > LATE_NS:
            said.append(f"background traffic was up to {counts['latest_ns'] // 1_000_000} ms late")
        return self.child.stop(STOP_TIMEOUT_S), said
