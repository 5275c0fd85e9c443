"""An emulated network that is left running for people.

The stages of any emulated run; only what happens between ready and drain differs (`testbed.live.supervised`).
"""

from __future__ import annotations

import time
from dataclasses import replace

from testbed.emu.attachment import end_attached, write_rc
from testbed.emu.network import EmulatedLive
from testbed.emu.options import EmuOptions
from testbed.emu.run import EmulatedRun
from testbed.live.faults import LiveFaults
from testbed.live.stages import Stages
from testbed.live.supervised import Kept, SupervisedStages
from testbed.live.supervisor import Supervision, SupervisorProgress
from testbed.runs.world import Outcome


class SupervisedRun(EmulatedRun):
    """The run of one network that is left running. Use `outcome` once."""

    def __init__(self, supervision: Supervision, progress: SupervisorProgress, options: EmuOptions) -> None:
        super().__init__(supervision.plan, supervision.directory, progress, options)
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
        registration = live.nodes.registration
        write_rc(registration.folder)
        kept = Kept(
            registration,
            carriers=live.network.chosen,
            where={node.name: {"pid": live.network.pid(node.name)} for node in self._plan.nodes},
            lender=live.nodes,
        )
        return SupervisedStages(
            self._supervision,
            live,
            faults,
            self._reports,
            kept=kept,
            defects=self._defects,
            began=self._began,
        )
