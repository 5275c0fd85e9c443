"""The emulated world: a plan as Mininet hosts and real node processes on this machine."""

from __future__ import annotations

from testbed.emu import preflight
from testbed.emu.options import EmuOptions
from testbed.emu.pacing import at_its_pace
from testbed.plan.model import Plan
from testbed.runs.directory import RunDirectory
from testbed.runs.world import Outcome, Progress


class EmulatedWorld:
    """See `testbed.runs.world.World`."""

    name = "emu"

    def __init__(self, options: EmuOptions | None = None) -> None:
        self.options = options or EmuOptions()

    def problems(self, plan: Plan) -> list[str]:
        """Why this plan cannot be emulated here and what to do about it; empty if it can."""
        return preflight.problems(plan, self.options)

    def run(self, plan: Plan, directory: RunDirectory, progress: Progress) -> Outcome:
        """Emulate the plan; leaves nothing behind, however it ends."""
        from testbed.emu.run import EmulatedRun  # Mininet is imported only where it is used

        def attempt(options: EmuOptions) -> Outcome:
            return EmulatedRun(plan, directory, progress, options).outcome()

        return at_its_pace(attempt, directory, progress, self.options)
