"""A run that is kept: its network is left to people's hands instead of to a workload alone.

The stages of any emulated run; only what happens between ready and drain differs.
Not here: what can be asked for (`hands`), the process around it (`keeper`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from testbed.emu.attachment import end_attached, write_rc
from testbed.emu.control import ControlServer
from testbed.emu.faults import EmulatedFaults
from testbed.emu.hands import Hands, Kept
from testbed.emu.keeper_progress import KeeperProgress
from testbed.emu.live import FaultError, Live
from testbed.emu.nodes import POLL_S, Life
from testbed.emu.processes import ProcessDiedError
from testbed.emu.run import EmulatedRun
from testbed.emu.running import CONTROL_SOCKET
from testbed.emu.scripts import failed_actions
from testbed.emu.stages import Stages
from testbed.plan.model import Fault, Plan
from testbed.runs.world import Outcome

if TYPE_CHECKING:
    from testbed.emu.keeper import Keeping

IDLE_S = 0.25
"""How long a death may go unnoticed while nobody asks for anything."""
STREAM_S = 0.02


class KeptRun(EmulatedRun):
    """The run of one kept network. Use `outcome` once."""

    def __init__(self, keeping: Keeping, progress: KeeperProgress) -> None:
        super().__init__(keeping.plan, keeping.directory, progress, keeping.options)
        self._keeping = keeping
        self._keeper_progress = progress
        self._began = time.monotonic()

    def outcome(self) -> Outcome:
        """Keep the network until it is to end; who is still attached to a node is hung up on."""
        try:
            return super().outcome()
        finally:
            end_attached(self._keeping.directory.run_id)

    def _facts(self) -> dict[str, object]:
        return {**super()._facts(), "kind": "network", "name": self._keeping.name, "state": "starting"}

    def _staged(self, live: Live, faults: EmulatedFaults) -> Stages:
        carriers = self._links.chosen if self._links is not None else {}
        return KeptStages(
            self._keeping,
            live,
            faults,
            self._keeper_progress,
            carriers=carriers,
            defects=self._defects,
            began=self._began,
        )


class KeptStages(Stages):
    """Ready and drain are those of any run; the workload is what people do."""

    def __init__(
        self,
        keeping: Keeping,
        live: Live,
        faults: EmulatedFaults,
        progress: KeeperProgress,
        *,
        carriers: Mapping[str, str],
        defects: list[str],
        began: float,
    ) -> None:
        super().__init__(keeping.plan, live, faults, progress)
        self._keeping = keeping
        self._keeper_progress = progress
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
        hands = Hands(
            Kept(
                name=self._keeping.name,
                live=self._live,
                directory=self._keeping.directory,
                since_ns=self.start_ns,
                apply=self._faults.apply,
                bury=self._bury,
                carriers=self._carriers,
            )
        )
        write_rc(folder)
        server = ControlServer(folder / CONTROL_SOCKET, hands.answer)
        try:
            self._announce()
            while not hands.leaving:
                self._turn_hands(server, hands)
            self._nodes.registration.note(state="stopping")
            self.remarks += [*failed_actions(self._nodes.client_statuses()), *self._faults.late]
            for caller in hands.leaving:
                self._keeper_progress.follow(caller)
        finally:
            server.close()

    def _begin_time(self) -> None:
        """Time zero: at once, or with the scripts, which are told before it."""
        if self._keeping.workload:
            self._start_scripts()
        else:
            self.start_ns = self._clock.now_ns()

    def _announce(self) -> None:
        registration = self._nodes.registration
        registration.note(state="running", **described(self._plan, self._live))
        took_s = time.monotonic() - self._began
        print(f"ready after {took_s:.1f} s; keeper: process {os.getpid()}", flush=True)
        self._keeper_progress.ready(
            {
                "run_id": registration.run_id,
                "name": self._keeping.name,
                "pid": os.getpid(),
                "directory": str(self._keeping.directory.path.resolve()),
                "control": str(registration.folder / CONTROL_SOCKET),
                "took_s": round(took_s, 3),
            }
        )

    def _turn_hands(self, server: ControlServer, hands: Hands) -> None:
        """One round: what is due, what came, who died, who asks."""
        try:
            self._faults.apply_due()
        except FaultError as error:
            self.remarks.append(f"a fault of the scenario did not happen: {error}")
        busy = False
        try:
            self._look()
            busy = hands.streams.turn()
            self._nodes.watch.wait(0)
        except ProcessDiedError as error:
            self._bury(error)
        server.turn(0 if busy else self._wait_s(hands))

    def _look(self) -> None:
        """See whether the network has found its state, but do not spend all time on it."""
        if self._faults.tracker.converged or time.monotonic() < self._next_look:
            return
        began = time.monotonic()
        self._faults.look()
        now = time.monotonic()
        self._next_look = now + max(POLL_S, 9 * (now - began))

    def _wait_s(self, hands: Hands) -> float:
        longest_s = STREAM_S if len(hands.streams) or not self._faults.tracker.converged else IDLE_S
        return self._faults.wait_s(longest_s)

    def _bury(self, error: ProcessDiedError) -> None:
        """Nodes have died that nobody told to: a fault like any other, but the run is not as planned.

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
            self._keeper_progress.say(why)


def described(plan: Plan, live: Live) -> dict[str, object]:
    """What other processes need to take part: who is where."""
    return {
        "nodes": {
            node.name: {
                "id": node.node_id,
                "role": node.role.name.lower(),
                "pid": live.network.pid(node.name),
                "interfaces": [
                    {
                        "name": i.name,
                        "index": i.index,
                        "address": i.address,
                        "prefix_length": i.prefix_length,
                        "mac": i.mac,
                        "peer": i.peer,
                        "peer_address": i.peer_address,
                    }
                    for i in node.interfaces
                ],
            }
            for node in plan.nodes
        },
        "links": [
            {
                "name": link.name,
                "a": link.a,
                "b": link.b,
                "a_interface": link.a_interface,
                "b_interface": link.b_interface,
            }
            for link in plan.links
        ],
    }
