"""`--dilate auto`: a run that is degraded is done again, slower, as long as that may help."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from testbed.emu.options import EmuOptions
from testbed.runs.directory import RunDirectory
from testbed.runs.fidelity import Attempt
from testbed.runs.world import Outcome, Progress

MOST_ATTEMPTS = 4
SLOWEST = 64
"""Beyond this nobody waits without having asked for it."""


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
