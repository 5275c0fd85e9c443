"""The stages of a network that is left running for people, with or without a workload.

Ready and drain are those of any run; only what happens between them differs. Not here: what can be asked for
(`control`), the process around it (`supervisor`), how the network is made (the worlds).
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from nodes.daemon.json_lines import Server
from nodes.daemon.loop import Selector
from testbed.live.control import LIMITS, Control, Controlled, Lender
from testbed.live.fabric import POLL_S, FaultError, ProcessDiedError
from testbed.live.faults import LiveFaults
from testbed.live.live import Live
from testbed.live.registry import CONTROL_SOCKET, Registration
from testbed.live.stages import Stages
from testbed.live.supervisor import Supervision, SupervisorProgress
from testbed.live.traffic import failed_actions
from testbed.plan.model import Fault, Plan

IDLE_S = 0.25
"""How long a death may go unnoticed while nobody asks for anything."""
STREAM_S = 0.02
CHECK_S = 1.0


@dataclass(frozen=True, slots=True)
class Kept:
    """What a world knows of a network that is left running."""

    registration: Registration
    carriers: Mapping[str, str]
    """What carries each link."""
    where: Mapping[str, Mapping[str, object]]
    """By node: what who attaches to it needs."""
    lender: Lender


class SupervisedStages(Stages):
    """Ready and drain are those of any run; the workload is what people do."""

    def __init__(
        self,
        supervision: Supervision,
        live: Live,
        faults: LiveFaults,
        progress: SupervisorProgress,
        *,
        kept: Kept,
        defects: list[str],
        began: float,
    ) -> None:
        super().__init__(supervision.plan, live, faults, progress)
        self._supervision = supervision
        self._reports = progress
        self._kept = kept
        self._defects = defects
        self._began = began
        self._next_look = 0.0
        self._next_check = 0.0

    def work(self) -> None:
        """Serve until somebody asks for the end.

        Raises:
            ProcessDiedError: something has ended without which there is no network.
        """
        self._begin_time()
        folder = self._kept.registration.folder
        control = Control(
            Controlled(
                name=self._supervision.name,
                live=self._live,
                directory=self._supervision.directory,
                since_ns=self.start_ns,
                apply=self._faults.apply,
                note=self._faults.note,
                note_deaths=self._note_deaths,
                carriers=self._kept.carriers,
                lender=self._kept.lender,
            )
        )
        selector = Selector()
        server = Server(folder / CONTROL_SOCKET, selector, control.answer, LIMITS)
        try:
            self._announce()
            while not control.leaving:
                self._turn_control(selector, control)
            self._kept.registration.note(state="stopping")
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
        registration = self._kept.registration
        registration.note(state="running", **_described(self._plan, self._kept))
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
            self._check()
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

    def _check(self) -> None:
        """See whether something has died, but do not spend all time on it."""
        began = time.monotonic()
        if began >= self._next_check:
            self._nodes.check()
            self._next_check = time.monotonic() + min(CHECK_S, 9 * (time.monotonic() - began))
        else:
            self._nodes.watch.wait(0)

    def _note_deaths(self, error: ProcessDiedError) -> None:
        """Nodes have ended unasked: a fault like any other, but the run is not as planned.

        Raises:
            ProcessDiedError: it was no node.
        """
        dead = self._nodes.deaths()
        if not dead:
            raise error
        for name, why in dead.items():
            self._nodes.crash(name)
            self._faults.note(Fault(0, "crash", name))
            self._defects.append(why)
            self._reports.say(why)


def _described(plan: Plan, kept: Kept) -> dict[str, object]:
    """What other processes need to take part: who is where."""
    return {
        "nodes": {
            node.name: {
                "id": node.node_id,
                "role": node.role.name.lower(),
                **kept.where[node.name],
                "interfaces": [asdict(interface) for interface in node.interfaces],
            }
            for node in plan.nodes
        },
        "links": [
            {key: getattr(link, key) for key in ("name", "a", "b", "a_interface", "b_interface")}
            for link in plan.links
        ],
    }
