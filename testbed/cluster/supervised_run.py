"""A network on several machines that is left running for people.

The stages of any run on a cluster; only what happens between ready and drain differs
(`testbed.live.supervised`). Here also: what somebody needs to log in to the namespace of a node.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from testbed.cluster.attachment import LOGIN
from testbed.cluster.hosts import Machine
from testbed.cluster.placement import Placement
from testbed.cluster.run import ClusterRun
from testbed.cluster.ssh import ssh_command
from testbed.emu.options import EmuOptions
from testbed.live.faults import LiveFaults
from testbed.live.interruption import Shield
from testbed.live.live import Live
from testbed.live.registry import Registration
from testbed.live.stages import Stages
from testbed.live.supervised import Kept, SupervisedStages
from testbed.live.supervisor import Supervision, SupervisorProgress
from testbed.runs.world import Outcome


class SupervisedClusterRun(ClusterRun):
    """The run of one network that is left running. Use `outcome` once."""

    def __init__(
        self,
        supervision: Supervision,
        machines: Sequence[Machine],
        placement: Placement,
        progress: SupervisorProgress,
        *,
        bring_captures: bool = False,
        options: EmuOptions,
    ) -> None:
        directory = supervision.directory
        super().__init__(
            supervision.plan,
            machines,
            placement,
            directory,
            progress,
            bring_captures=bring_captures,
            options=options,
        )
        self._supervision = supervision
        self._reports = progress
        self._began = time.monotonic()
        self._registration: Registration | None = None

    def outcome(self) -> Outcome:
        """Let the network run until it is to end."""
        return replace(super().outcome(), live=True)

    def _build(self, made: ExitStack, shield: Shield, registration: Registration) -> tuple[Live, int]:
        self._registration = registration
        return super()._build(made, shield, registration)

    def _facts(self) -> dict[str, object]:
        return {**super()._facts(), "kind": "network", "name": self._supervision.name, "state": "starting"}

    def _staged(self, live: Live, faults: LiveFaults) -> Stages:
        assert self._registration is not None, "it is registered before it is built"
        assert self._cluster is not None
        logins = {machine.name: ssh_command(machine) for machine in self._machines}
        where = {
            node: {"machine": machine, LOGIN: logins[machine]}
            for node, machine in self._placement.machine_of.items()
        }
        kept = Kept(
            self._registration,
            carriers=self._carriers,
            where=where,
            lender=self._cluster,
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
