"""The world `cluster`: a plan on machines that are reached over SSH."""

from __future__ import annotations

import shutil
from dataclasses import replace

from testbed.cluster.attackers import between_machines
from testbed.cluster.hosts import Hosts
from testbed.cluster.placement import Placement
from testbed.cluster.program_files import TooMuchError, pack
from testbed.emu.options import EmuOptions
from testbed.emu.programs import folder_of
from testbed.emu.world import at_its_pace
from testbed.live.live import attack_problems
from testbed.live.supervisor import Supervision, SupervisorProgress
from testbed.plan.model import Plan
from testbed.runs.directory import RunDirectory
from testbed.runs.world import Outcome, Progress


class ClusterWorld:
    """See `testbed.runs.world.World`.

    Args:
        hosts: the machines.
        placement: which node of the plan is on which of them.
        bring_captures: bring captures home as they are, and not as tables.
        options: what carries links inside machines, and how slow time is to go.
    """

    name = "cluster"

    def __init__(
        self,
        hosts: Hosts,
        placement: Placement,
        *,
        bring_captures: bool = False,
        options: EmuOptions | None = None,
    ) -> None:
        self._hosts = hosts
        self._options = options or EmuOptions()
        self._placement = placement
        self._bring_captures = bring_captures

    def problems(self, plan: Plan) -> list[str]:
        """What this plan asks for that clusters do not offer."""
        found = [*attack_problems(plan), *between_machines(plan, self._placement)]
        if shutil.which("ssh") is None:
            found.append("the program `ssh` is missing: `apt install openssh-client`")
        if plan.programs:
            try:
                pack(folder_of(plan.scenario_path))
            except (TooMuchError, OSError) as error:
                found.append(str(error))
        return found

    def run(self, plan: Plan, directory: RunDirectory, progress: Progress) -> Outcome:
        """Run the plan; leaves nothing on the machines, however it ends."""
        from testbed.cluster.run import ClusterRun

        def attempt(options: EmuOptions) -> Outcome:
            return ClusterRun(
                plan,
                self._hosts.machines,
                self._placement,
                directory,
                progress,
                bring_captures=self._bring_captures,
                options=options,
            ).outcome()

        return at_its_pace(attempt, directory, progress, self._options)


class SupervisedClusterWorld(ClusterWorld):
    """The same, for a network that is left running until somebody ends it."""

    def __init__(self, world: ClusterWorld, supervision: Supervision) -> None:
        super().__init__(
            world._hosts,
            world._placement,
            bring_captures=world._bring_captures,
            options=replace(world._options, adjustable=True),
        )
        self._supervision = supervision

    def run(self, plan: Plan, directory: RunDirectory, progress: Progress) -> Outcome:  # noqa: ARG002
        """Build the network, let it run until it is to end, and leave nothing on the machines."""
        from testbed.cluster.supervised_run import SupervisedClusterRun

        assert isinstance(progress, SupervisorProgress)
        return SupervisedClusterRun(
            self._supervision,
            self._hosts.machines,
            self._placement,
            progress,
            bring_captures=self._bring_captures,
            options=self._options,
        ).outcome()
