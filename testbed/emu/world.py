"""The emulated world: a plan as Mininet hosts and real node processes on this machine.

Here also `--dilate auto`: a run that is degraded is done again, slower, as long as that may help.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from testbed.emu import preflight
from testbed.emu.options import EmuOptions
from testbed.live.supervisor import Supervision, SupervisorProgress
from testbed.plan.model import Plan
from testbed.runs.directory import RunDirectory
from testbed.runs.fidelity import Attempt
from testbed.runs.world import Outcome, Progress

MOST_ATTEMPTS = 4
SLOWEST = 64
"""Beyond this nobody waits without having asked for it."""


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


class SupervisedWorld:
    """The emulated world, for a network that is left running until somebody ends it."""

    name = "emu"

    def __init__(self, supervision: Supervision, options: EmuOptions) -> None:
        self.options = options
        self._supervision = supervision

    def problems(self, plan: Plan) -> list[str]:
        """See `EmulatedWorld`."""
        return preflight.problems(plan, self.options)

    def run(self, plan: Plan, directory: RunDirectory, progress: Progress) -> Outcome:  # noqa: ARG002
        """Build the network, let it run until it is to end, and leave nothing behind."""
        from testbed.emu.supervised_run import SupervisedRun  # Mininet is imported only where it is used

        assert isinstance(progress, SupervisorProgress)
        return SupervisedRun(self._supervision, progress, self.options).outcome()


def at_its_pace(
    attempt: Callable[[EmuOptions], Outcome],
    directory: RunDirectory,
    progress: Progress,
    options: EmuOptions,
) -> Outcome:
    """Run once as the options say; where they leave it open, again as slowly as each certificate advises.

    Only the last run's results are kept; why there were others stands in its certificate.
    """
    before: tuple[Attempt, ...] = ()
    while True:
        outcome = attempt(options)
        if outcome.fidelity is not None and before:
            outcome = replace(outcome, fidelity=replace(outcome.fidelity, attempts=before))
        slower = _slower(outcome, options, len(before) + 1)
        if slower is None:
            return outcome
        assert outcome.fidelity is not None
        reasons = outcome.fidelity.reasons
        before = (*before, Attempt(options.dilate, reasons))
        progress.say(f"degraded: {reasons[0]}")
        progress.say(f"once more with time slowed {slower}-fold")
        directory.forget_results()
        options = replace(options, dilate=slower)


def _slower(outcome: Outcome, options: EmuOptions, attempts: int) -> int | None:
    """How slow to go next; None: what there is has to do."""
    found = outcome.fidelity
    if not options.dilate_auto or outcome.outcome != "complete" or found is None or found.advised is None:
        return None
    if attempts >= MOST_ATTEMPTS or options.dilate >= SLOWEST:
        return None
    return min(found.advised, SLOWEST)
