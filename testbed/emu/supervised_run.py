"""A run whose network is left running for people, with or without a workload.

The stages of any emulated run; only what happens between ready and drain differs.
Not here: what can be asked for (`control`), the process around it (`supervisor`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from nodes.daemon.json_lines import Server
from nodes.daemon.loop import Selector
from testbed.emu.attachment import end_attached, write_rc
from testbed.emu.control import LIMITS, Control, Controlled
from testbed.emu.network import EmulatedLive
from testbed.emu.nodes import Nodes
from testbed.emu.run import EmulatedRun
from testbed.live.fabric import POLL_S, Life, ProcessDiedError
from testbed.live.faults import LiveFaults
from testbed.live.live import FaultError
from testbed.live.registry import CONTROL_SOCKET
from testbed.live.stages import Stages
from testbed.live.traffic import failed_actions
from testbed.plan.model import Fault, Plan
from testbed.runs.world import Outcome

if TYPE_CHECKING:
    from testbed.emu.supervisor import Supervision, SupervisorProgress

IDLE_S = 0.25
"""How long a death may go unnoticed while nobody asks for anything."""
STREAM_S = 0.02


class SupervisedRun(EmulatedRun):
    """The run of one network that is left running. Use `outcome` once."""

    def __init__(self, supervision: Supervision, progress: SupervisorProgress) -> None:
        super().__init__(supervision.plan, supervision.directory, progress, supervision.options)
        self._supervision = supervision
        self._reports = progress
        self._began = time.monotonic()

    def outcome(self) -> Outcome:
        """Let the network run until it is to end; who is still attached to a node is hung up on."""
        try:
            return replace(super().outcome(), live=True)
        finally:
            end_attached(self._supervision.directory.run_id)

    def _facts(self) -> dict[str, object]:
        return {**super()._facts(), "kind": "network", "name": self._supervision.name, "state": "starting"}

    def _staged(self, live: EmulatedLive, faults: LiveFaults) -> Stages:
        return SupervisedStages(
            self._supervision,
            live,
            faults,
            self._reports,
            carriers=live.network.chosen,
            defects=self._defects,
            began=self._began,
        )


class SupervisedStages(Stages):
    """Ready and drain are those of any run; the workload is what people do."""

    def __init__(
        self,
        supervision: Supervision,
        live: EmulatedLive,
        faults: LiveFaults,
        progress: SupervisorProgress,
        *,
        carriers: Mapping[str, str],
        defects: list[str],
        began: float,
    ) -> None:
        super().__init__(supervision.plan, live, faults, progress)
        self._live: EmulatedLive = live
        self._nodes: Nodes = live.nodes
        self._supervision = supervision
        self._reports = progress
        self._carriers = carriers
        self._defects = defects
        self._began = began
        self._next_look = 0.0

    def work(self) -> None:
        """Serve until somebody asks for the end.

        Raises:
            ProcessDiedError: something has ended without which there is no network.
        """
        self._begin_time()
        folder = self._nodes.registration.folder
        control = Control(
            Controlled(
                name=self._supervision.name,
                live=self._live,
                directory=self._supervision.directory,
                since_ns=self.start_ns,
                apply=self._faults.apply,
                note=self._faults.note,
                note_deaths=self._note_deaths,
                carriers=self._carriers,
            )
        )
        write_rc(folder)
        selector = Selector()
        server = Server(folder / CONTROL_SOCKET, selector, control.answer, LIMITS)
        try:
            self._announce()
            while not control.leaving:
                self._turn_control(selector, control)
            self._nodes.registration.note(state="stopping")
            self.remarks += [
                *self._nodes.end_programs(),
                *failed_actions(self._nodes.client_statuses()),
                *self._faults.late,
            ]
            for caller in control.leaving:
                self._reports.follow(caller)
        finally:
            server.close()
            selector.close()

    def _begin_time(self) -> None:
        """Time zero: at once, or with the scripts, whose clients hear of it before."""
        if self._supervision.workload:
            self._start_scripts()
            self._start_programs()
        else:
            self.start_ns = self._clock.now_ns()

    def _announce(self) -> None:
        registration = self._nodes.registration
        registration.note(state="running", **described(self._plan, self._live))
        took_s = time.monotonic() - self._began
        print(f"ready after {took_s:.1f} s; supervisor: process {os.getpid()}", flush=True)
        self._reports.ready(
            {
                "run_id": registration.run_id,
                "name": self._supervision.name,
                "pid": os.getpid(),
                "directory": str(self._supervision.directory.path.resolve()),
                "control": str(registration.folder / CONTROL_SOCKET),
                "took_s": round(took_s, 3),
            }
        )

    def _turn_control(self, selector: Selector, control: Control) -> None:
        """One round: what is due, what came, who died, who asks."""
        try:
            self._look_at_programs()
            self._faults.apply_due()
        except FaultError as error:
            self.remarks.append(f"a fault of the scenario did not happen: {error}")
        busy = False
        try:
            self._look()
            busy = control.streams.turn()
            self._nodes.watch.wait(0)
        except ProcessDiedError as error:
            self._note_deaths(error)
        selector.turn(0 if busy else self._wait_s(control))

    def _look(self) -> None:
        """See whether the network has found its state, but do not spend all time on it."""
        if self._faults.tracker.converged or time.monotonic() < self._next_look:
            return
        began = time.monotonic()
        self._faults.look()
        now = time.monotonic()
        self._next_look = now + max(POLL_S, 9 * (now - began))

    def _wait_s(self, control: Control) -> float:
        longest_s = STREAM_S if len(control.streams) or not self._faults.tracker.converged else IDLE_S
        return self._faults.wait_s(longest_s)

    def _note_deaths(self, error: ProcessDiedError) -> None:
        """Nodes have ended unasked: a fault like any other, but the run is not as planned.

        Raises:
            ProcessDiedError: it was no node.
        """
        nodes, life = self._nodes, self._nodes.life
        dead = [n for n, child in nodes.children.items() if life[n] is not Life.CRASHED and child.death()]
        if not dead:
            raise error
        for name in dead:
            why = nodes.children[name].death() or name
            nodes.crash(name)
            self._faults.note(Fault(0, "crash", name))
            self._defects.append(why)
            self._reports.say(why)


def described(plan: Plan, live: EmulatedLive) -> dict[str, object]:
    """What other processes need to take part: who is where."""
    return {
        "nodes": {
            node.name: {
                "id": node.node_id,
                "role": node.role.name.lower(),
                "pid": live.network.pid(node.name),
                "interfaces": [asdict(interface) for interface in node.interfaces],
            }
            for node in plan.nodes
        },
        "links": [
            {key: getattr(link, key) for key in ("name", "a", "b", "a_interface", "b_interface")}
            for link in plan.links
        ],
    }
